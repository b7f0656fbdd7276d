package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plainOf is the value of a file as plain JSON, read again.
func plainOf(t *testing.T, f *File) any {
	t.Helper()
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal((Value{f, f.root}).JSON(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestYAML: YAML says the same as JSON.
func TestYAML(t *testing.T) {
	for yaml, want := range map[string]string{
		"a: 1\nb: text with blanks # and a comment\nc: true\nd:\ne: ~\nf: -1.5e3\ng: 08\nh: yes\n":                                                         `{"a":1,"b":"text with blanks","c":true,"d":null,"e":null,"f":-1.5e3,"g":"08","h":"yes"}`,
		"---\n# first\nservers:\n  - name: a\n    ready: {line: \"up: #1\", url: 'it''s'}\n\n  -   name: b\n      args: [x, 2, \"3\", [] ]\nclients: []\n": `{"servers":[{"name":"a","ready":{"line":"up: #1","url":"it's"}},{"name":"b","args":["x",2,"3",[]]}],"clients":[]}`,
		"a:\n- 1\n- - 2\n  - 3\n-\n  b: 4\n-\nc: d":                                             `{"a":[1,[2,3],{"b":4},null],"c":"d"}`,
		"a: |\n  one\n    two\n\n  # three\nb: >-\n  one\n  two\n\n  three\nc: >\n  x\n":        `{"a":"one\n  two\n\n# three\n","b":"one two\nthree","c":"x\n"}`,
		"command: python3 -m server\n  --tp 8\n  --port 1\nurl: http://127.0.0.1:8000/health\n": `{"command":"python3 -m server --tp 8 --port 1","url":"http://127.0.0.1:8000/health"}`,
		"a: [1,\n  2, # two\n  {b: c,\n   d: e}]\n\"q: 1\": 2\n'w': 3\n":                        `{"a":[1,2,{"b":"c","d":"e"}],"q: 1":2,"w":3}`,
		"a: \"\\u00e9\\n\"\nb: é\nc: \"\"\n":                                                    `{"a":"é\n","b":"é","c":""}`,
		"a: &x {b: 1}\nc: [*x, *x]\n":                                                           `{"a":{"b":1},"c":[{"b":1},{"b":1}]}`,
		"a:\r\n  b: 1\r\n":                                                                      `{"a":{"b":1}}`,
	} {
		got := plainOf(t, ParseYAML("x.yaml", []byte(yaml)))
		if diff := cmp.Diff(plainOf(t, Parse("x.json", []byte(want))), got); diff != "" {
			t.Errorf("%s\n-JSON +YAML:\n%s", yaml, diff)
		}
	}
	if got := plainOf(t, ParseYAML("x.json", []byte(`{"a": 1} # JSON`))); !cmp.Equal(got, any(map[string]any{"a": 1.0})) {
		t.Errorf("%v", got)
	}
}

// TestBadYAML: what is not read is refused with its place, never taken for something else.
func TestBadYAML(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" // each line stands for ten times the values of the one before
	for i := range 7 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for yaml, want := range map[string]string{
		"a:\n\tb: 1\n":                   "2:1: found character that cannot start any token: a tab indents the line",
		"a: !!str 1\n":                   "1:4: the tag !!str is not read; put a text in quotes",
		"a: *x\n":                        "unknown anchor 'x' referenced",
		"a: b: c\n":                      "1:1: mapping values are not allowed in this context: a text with a colon",
		"a: 1\n---\nb: 2\n":              "2:1: a second document begins here",
		"a: \"b\n":                       "found unexpected end of stream: a text in quotes is never closed",
		"a: 'b' c\n":                     "something follows a text in quotes",
		"a: [1, 2\n":                     "a comma or the closing bracket is missing",
		"a:\n    b: 1\n  c: 2\n":         "indented differently from the keys before it",
		"a: 1\n  b: 2\n":                 "2:1: mapping values are not allowed in this context: a text with a colon and a blank in it needs quotes, or the line is indented too far",
		"a: 1\nb\n":                      "2:1: could not find expected ':': a key and a colon are missing here",
		"a: 1\na: 2\n":                   "2:1: a: duplicate key \"a\"; it is first given on line 1",
		"# nothing\n":                    "1:1: the file is empty",
		"- 1\n":                          "must hold keys and their values, not a list",
		"[a]: 1\n":                       "1:1: a key must be a text",
		"a: [,]\n":                       "a value is missing between brackets or commas",
		"a: " + strings.Repeat("[", 100): "a value is missing",
		"a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100): "1:67: lists and objects may nest 64 levels",
		"a: &x [*x]\n": "may nest 64 levels",
		"a: \xff\n":    "not encoded in UTF-8",
		bomb:           "there are more than 1000000 values",
	} {
		f := ParseYAML("x.yml", []byte(yaml))
		if err := f.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", yaml, err, want)
		}
	}
}

// TestYAMLDecode: problems of values have their places.
func TestYAMLDecode(t *testing.T) {
	var into struct {
		Servers []struct {
			Name string `json:"name" required:"true"`
			Tp   int    `json:"tp" range:"[1,8]"`
		} `json:"servers"`
	}
	f := ParseYAML("x.yaml", []byte("servers:\n  - nme: a\n    tp: 9\n  - name: 5\n"))
	f.Decode(&into)
	const want = "x.yaml:2:5: servers[0].nme: unknown key \"nme\"; did you mean \"name\"?\nx.yaml:3:9: servers[0].tp: must be at most 8, not 9\nx.yaml:4:11: servers[1].name: must be a string, not the number 5"
	if err := f.Err(); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func FuzzYAML(f *testing.F) {
	f.Add("a: 1\nb:\n  - c: [d, {e: f}]\n  - |\n    x\n  - 'y'\n")
	f.Add("a: >-\n\n  b\n   c\n\n- d")
	f.Add("? x\n: y\n")
	f.Fuzz(func(t *testing.T, src string) {
		file := ParseYAML("x.yaml", []byte(src))
		if file.Err() == nil {
			plainOf(t, file)
		}
	})
}
