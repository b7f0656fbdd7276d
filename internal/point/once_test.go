package point

import (
	"testing"

	"throughline/internal/question"
)

// TestOnce: each step of an answer is evaluated once, however much is told of it.
func TestOnce(t *testing.T) {
	for name, phase := range map[string]question.Phase{"clients": "", "decode": question.Decode, "both": question.BothPhases} {
		for _, examined := range []bool{false, true} {
			q := llama()
			q.System, q.Engine, q.Batch, q.Phase = "H200", "vllm", 16, phase
			e := NewEstimator()
			e.examines = examined
			a, err := e.Answer(&q)
			if err != nil {
				t.Fatal(err)
			}
			steps := 0
			for _, o := range e.opened {
				for key, ready := range o.phases {
					steps++
					if n := ready.evaluator.Evaluations(); n != 1 {
						t.Errorf("%s, %v examined: the step of phase %v is evaluated %d times", name, examined, key.phase, n)
					}
				}
			}
			if steps != len(a.Phases) {
				t.Errorf("%s: %d steps for %d phases", name, steps, len(a.Phases))
			}
		}
	}
}
