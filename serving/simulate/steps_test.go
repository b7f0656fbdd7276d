package simulate

import (
	"math"
	"math/rand/v2"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/question"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// served is a model on H200s behind the generic engine.
func served(t testing.TB, model string, drafts int) deploy.Deployment {
	t.Helper()
	q := question.Default()
	q.Model, q.System, q.Formats.Weights, q.Input, q.Output, q.GPUs = model, "H200", "fp8", 512, 512, 1
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 8, CP: 1}, Pipelined: true, Drafts: drafts}, Batch: plan.Batch{Count: 1, Size: 1}}
	if l.Shape.IsMoE() {
		p.Experts, p.SharedPerCard, p.Gathered = plan.ExpertSplit{EP: 8, TP: 1, DP: 1}, true, true
	}
	d := l.Deployment()
	d.Pools = []deploy.Pool{{System: l.Decode, Plan: p, Count: 1}}
	return engine.Generic.Apply(d)
}

// TestStepsOfTheTable: times of the table are within 0.5% of those that are evaluated directly,
// sequence by sequence, for contexts of all lengths, with windows, compression, an indexer, latent
// and linear attention, and drafts.
func TestStepsOfTheTable(t *testing.T) {
	for _, c := range []struct {
		model  string
		drafts int
	}{
		{"Llama-3.1-8B", 0}, {"Llama-3.1-70B", 2}, {"gpt-oss-120b", 0}, {"gpt-oss-120b", 3}, {"DeepSeek-R1", 0}, {"DeepSeek-R1", 1},
		{"DeepSeek-V3.2", 0}, {"DeepSeek-V4-Flash", 0}, {"MiMo-V2-Flash", 0}, {"Qwen3-Next-80B-A3B", 0}, {"Llama-4-Scout-17B-16E", 0},
	} {
		d := served(t, c.model, c.drafts)
		s, err := NewStepTimes(&d, &d.Pools[0])
		if err != nil {
			t.Fatal(err)
		}
		problem := d.Problem(op.Decode, d.Pools[0].System, workload.Lengths{Input: 1, Output: 1})
		e, err := estimate.NewEvaluator(&problem)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		worst := 0.0
		for trial := range 400 {
			n := 1 + random.IntN(1<<random.IntN(9))
			scale := math.Exp2(4 + 13*random.Float64())
			var w Work
			w.Bounded = make([]int64, len(s.Bounds()))
			var step op.Step
			for range n {
				context := 1 + c.drafts + 1 + int(scale*random.ExpFloat64())
				w.Decodes++
				w.Context += int64(context)
				for i, b := range s.Bounds() {
					w.Bounded[i] += int64(min(context, b))
				}
				e.Add(&step, op.Group{Phase: op.Decode, Sequences: 1, New: float64(1 + c.drafts), Context: float64(context)})
			}
			if trial%4 == 0 { // and prompts
				for range 1 + random.IntN(3) {
					chunk := Chunk{New: 1 + random.IntN(2048), Past: random.IntN(4096), Ends: random.IntN(2) == 0}
					w.Chunks = append(w.Chunks, chunk)
					e.Add(&step, op.Group{Phase: op.Prefill, Sequences: 1, New: float64(chunk.New), Context: float64(chunk.Past + chunk.New), Ends: chunk.Ends})
				}
			}
			want := e.Step(&s.plan, &step).Step
			got := s.Seconds(&w)
			if off := math.Abs(got/want - 1); off > worst {
				worst = off
				if off > 0.005 {
					t.Errorf("%s, %d drafts: %d sequences of %d tokens in all, %d chunks: %v s, directly %v s", c.model, c.drafts, n, w.Context, len(w.Chunks), got, want)
				}
			}
		}
		t.Logf("%s, %d drafts: bounds %v, at most %.3f%% off, %d places", c.model, c.drafts, s.Bounds(), 100*worst, len(s.table))
	}
}
