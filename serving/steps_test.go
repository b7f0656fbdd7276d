package serving

import (
	"testing"

	"throughline/internal/question"
	"throughline/plan"
	"throughline/workload"
)

// TestMixedSteps: on kernels that were measured, too, prompts and decoding sequences take longer
// together than either, and less than one after the other; a step of two and a half sequences lies
// between those of two and three. A chunk that does not end its prompt does without the output
// projection.
func TestMixedSteps(t *testing.T) {
	for _, model := range []string{"Llama-3.1-8B", "gpt-oss-120b", "DeepSeek-R1", "Qwen3-Next-80B-A3B"} {
		lengths := workload.Lengths{Input: 1024, Output: 1024}
		q := question.Default()
		q.Model, q.System, q.Formats.Weights, q.Input, q.Output, q.GPUs = model, "H200", "fp8", lengths.Input, lengths.Output, 1
		l, err := q.Load()
		if err != nil {
			t.Fatal(err)
		}
		p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 4, CP: 1}, Pipelined: true}}
		if l.Shape.IsMoE() {
			p.Experts, p.SharedPerCard, p.Gathered = plan.ExpertSplit{EP: 4, TP: 1, DP: 1}, true, true
		}
		d := l.Deployment()
		at, err := newServer(&d, l.Decode)
		if err != nil {
			t.Fatal(err)
		}
		s := at.steps(&d, &p, lengths)
		prefill, decode := s.Mixed(Prompts{Count: 1, Tokens: 1024}, 0, 0), s.Decode(64, 1536)
		if mixed := s.Mixed(Prompts{Count: 1, Tokens: 1024}, 64, 1536); mixed <= prefill || mixed <= decode || mixed >= prefill+decode {
			t.Errorf("%s: %v s mixed, %v and %v apart", model, mixed, prefill, decode)
		}
		two, half, three := s.Decode(2, 1536), s.Decode(2.5, 1536), s.Decode(3, 1536)
		if half < min(two, three) || half > max(two, three) {
			t.Errorf("%s: %v s of two and a half sequences, %v of two, %v of three", model, half, two, three)
		}
		if whole, chunk := s.Mixed(Prompts{Count: 1, Tokens: 512, Past: 512}, 0, 0), s.Mixed(Prompts{Count: 1, Tokens: 512}, 0, 0); !(chunk < whole) || !(chunk > 0) {
			t.Errorf("%s: %v s of the first half of a prompt, %v of the second", model, chunk, whole)
		}
	}
}
