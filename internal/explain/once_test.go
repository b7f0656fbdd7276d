package explain

import (
	"testing"

	"throughline/internal/files"
	"throughline/internal/question"
)

// TestOnce: what is explained is the step that was estimated. It is not evaluated again: of its
// kind there is one evaluation for each number of the hardware that is changed, and none at the
// batch that it has.
func TestOnce(t *testing.T) {
	for _, phase := range []string{"", "decode", "prefill", "both"} {
		words := map[string]string{"model": "Llama-3.1-8B", "system": "H200", "batch": "8"}
		if phase != "" {
			words["phase"] = phase
		}
		x, _, err := Ask(question.NewFixedQuery(files.Machine, question.Explain, words))
		if err != nil {
			t.Fatal(err)
		}
		for i, why := range x.Why {
			if why == nil {
				continue
			}
			if len(why.Operators) == 0 || &why.Operators[0] != &x.Phases[i].Operators[0] {
				t.Errorf("%s: step %d has other operators", phase, i)
			}
			if n := why.subject.elsewhere.Evaluations(); n != len(why.Sensitivity) {
				t.Errorf("%s: step %d is evaluated %d times for %d changes of the hardware", phase, i, n, len(why.Sensitivity))
			}
		}
	}
}
