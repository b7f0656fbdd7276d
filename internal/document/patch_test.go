package document_test

import (
	"strings"
	"testing"

	"throughline/internal/document"
)

// TestMerged: the examples of RFC 7386, appendix A, whose values are objects.
func TestMerged(t *testing.T) {
	for _, c := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		var both struct {
			Target document.Value `json:"target"`
			Patch  document.Value `json:"patch"`
		}
		f := document.Parse("both.json", []byte(`{"target": `+c.target+`, "patch": `+c.patch+`}`))
		f.Decode(&both)
		before := string(both.Target.JSON())
		if got := string(both.Target.Merged(both.Patch).JSON()); f.Err() != nil || got != c.want {
			t.Errorf("%s with %s is %s, want %s; %v", c.target, c.patch, got, c.want, f.Err())
		}
		if after := string(both.Target.JSON()); after != before {
			t.Errorf("%s with %s changed what was patched to %s", c.target, c.patch, after)
		}
	}
}

// TestMergedProblems: problems of a patch are told where it is, and a key that it takes away is
// missing.
func TestMergedProblems(t *testing.T) {
	f := document.Parse("engine.json", []byte(`{
		"facts": {"tokens": 1, "steps": 2},
		"patch": {
			"facts": {"token": 3,
				"steps": null}}}`))
	var file struct {
		Facts document.Value `json:"facts"`
		Patch struct {
			Facts document.Value `json:"facts"`
		} `json:"patch"`
	}
	f.Decode(&file)
	var facts struct {
		Tokens int `json:"tokens" required:"true"`
		Steps  int `json:"steps" required:"true"`
	}
	file.Facts.Merged(file.Patch.Facts).Decode(&facts)
	got := f.Err()
	for _, want := range []string{"engine.json:4:14", "patch.facts.token", `did you mean "tokens"`, `missing required key "steps"`} {
		if got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%v, want %q in it", got, want)
		}
	}
}
