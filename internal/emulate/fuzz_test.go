package emulate

import (
	"errors"
	"strings"
	"testing"

	"throughline/internal/test/damage"
)

// FuzzRequest: whatever a client sends is refused with a status of its own and a message, or is a
// request of some tokens that ends within the context.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"model":"tiny","prompt":"a","max_tokens":2.0,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		`{"prompt":[1,2,3],"min_tokens":5,"temperature":0.5,"top_k":-1}`, `{"prompt":[[1, 2 ]]}`, `{"prompt":[""]}`, `{"prompt":[null]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"max_completion_tokens":3}`,
		`{"text":"a","sampling_params":{"max_new_tokens":9223372036854775807,"min_new_tokens":-1}}`, `{"input_ids":[4294967295],"text":null}`, `null`, `{"prompt":null}`,
	} {
		f.Add(body)
	}
	e, err := New(config())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, of := range []*protocol{&completions, &chat, &generate} {
			q, err := of.read([]byte(body))
			output := 0
			if err == nil {
				output, _, err = e.lengths(q)
			}
			var known *apiError
			switch {
			case err == nil && (q.prompt.tokens() < 1 || output < 1 || q.prompt.tokens()+output > e.Context):
				t.Errorf("%q: %d + %d tokens", body, q.prompt.tokens(), output)
			case err != nil && (!errors.As(err, &known) || known.status < 400 || known.status > 499 || strings.TrimSpace(known.Message) == ""):
				t.Errorf("%q: %v", body, err)
			}
		}
	})
}

// FuzzFaults: faults that are read have values within their bounds.
func FuzzFaults(f *testing.F) {
	damage.Add(f, "errors:0.25,status=429", "die:replica=1,after=2min,for=500ms", "slow-start:30s,stall:after=1,for=2s,every=10s")
	f.Fuzz(func(t *testing.T, src []byte) {
		list, err := ParseFaults(strings.Split(string(src), ","))
		if err != nil {
			return
		}
		for _, fault := range list {
			kind := findFault(fault.Kind)
			if kind == nil {
				t.Fatalf("there is no fault %q", fault.Kind)
			}
			for _, field := range kind.fields {
				if v, given := fault.values[field.name]; given && !(v >= field.low && v <= field.high) {
					t.Errorf("%s: %s is %g", fault.Kind, field.name, v)
				}
			}
		}
	})
}
