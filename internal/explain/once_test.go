package explain

import (
	"testing"

	"throughline/internal/question"
)

// TestOnce: what is explained is the step that was estimated; it is not evaluated again.
func TestOnce(t *testing.T) {
	for _, phase := range []string{"decode", "prefill", "both"} {
		x, _, err := Ask(question.AskFixed(question.Explain, map[string]string{"model": "Llama-3.1-8B", "system": "H200", "batch": "8", "phase": phase}))
		if err != nil {
			t.Fatal(err)
		}
		for i, why := range x.Why {
			if step := x.Phases[i].Contents; step == nil || why.subject.step != step {
				t.Errorf("%s: step %d is evaluated again", phase, i)
			}
		}
	}
}
