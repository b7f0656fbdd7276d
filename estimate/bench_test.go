package estimate_test

import (
	"math/rand/v2"
	"testing"

	"throughline/assume"
	"throughline/estimate"
	"throughline/internal/test/builtin"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// problem is a catalogue model on a catalogue system, at the precision of the reference sample.
func problem(t testing.TB, modelName, systemName string) *estimate.Problem {
	t.Helper()
	m, set := builtin.Model(t, modelName)
	return &estimate.Problem{
		Model: m, Settings: set, System: builtin.System(t, systemName), Assume: &assume.Reference,
		Lengths: workload.Lengths{Input: 4096, Output: 1024},
		Precision: plan.Precision{
			Weight: 0.5, Activation: 0.5, Cache: 1, Comm: 1,
			MatrixType: "float4", AttentionType: "float8", VectorType: "float4",
		},
	}
}

// randomPlans are valid plans of an expert model on 256 processors, with all kinds of parallelism
// among them. Pipelined, the experts are spread over the processors of a stage.
func randomPlans(t testing.TB, m *model.Model, n int, pipelined bool) []plan.Plan {
	t.Helper()
	const procs = 256
	rng := rand.New(rand.NewPCG(1, 2))
	layouts := plan.Splits(procs, 1)
	var out []plan.Plan
	var tp, pp, moeTP int
	for len(out) < n {
		p := plan.Plan{
			Layout:    plan.Layout{Attention: layouts[rng.IntN(len(layouts))], SharedReplicas: 32, SharedPerCard: rng.IntN(4) == 0, Pipelined: pipelined},
			Batch:     plan.Batch{Count: 1, Size: 1 + rng.IntN(300)},
			Redundant: rng.IntN(97),
		}
		over := procs
		if pipelined {
			over /= p.Attention.PP
		}
		experts := plan.ExpertSplits(over)
		p.Experts = experts[rng.IntN(len(experts))]
		if !plan.ValidSplit(m, p.Attention) || !p.ValidExperts(m) {
			continue
		}
		if p.Attention.TP > 1 {
			tp++
		}
		if p.Attention.PP > 1 {
			pp++
		}
		if p.Experts.TP > 1 {
			moeTP++
		}
		out = append(out, p)
	}
	if tp < n/4 || pp < n/4 || moeTP < n/4 {
		t.Fatalf("only %d plans with tp > 1, %d with pp > 1 and %d with moe_tp > 1 of %d", tp, pp, moeTP, n)
	}
	return out
}

// cases are DeepSeek-V3 at the precision of the reference sample on the system of that sample, and
// as it is served on others, under either preset.
var cases = []struct {
	name, system string
	assume       *assume.Assumptions
}{
	{"SOW-U1-POR", "SOW-U1-POR", &assume.Reference},
	{"H800_IB", "H800_IB", &assume.Reference},
	{"H200", "H200", &assume.Reference},
	{"H200/physical", "H200", &assume.Physical},
}

// caseProblem is the problem of one of the cases.
func caseProblem(t testing.TB, i int) *estimate.Problem {
	t.Helper()
	c := cases[i]
	p := problem(t, "deepseek_v3_flash_mla_absorb", c.system)
	p.Assume = c.assume
	if c.system != "SOW-U1-POR" {
		p.Precision = plan.Precision{
			Weight: 1, Activation: 1, Cache: 1, Comm: 2,
			MatrixType: "float8", AttentionType: "float16", VectorType: "float16",
		}
	}
	return p
}

// evaluation is one of the cases, with its plans.
func evaluation(t testing.TB, i, plans int) (*estimate.Evaluator, []plan.Plan) {
	t.Helper()
	p := caseProblem(t, i)
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	return e, randomPlans(t, p.Model, plans, p.Assume.Pipelined)
}

// BenchmarkEvaluate is one full evaluation: lowering, pricing, sums and memory, all that a column
// of the results needs.
func BenchmarkEvaluate(b *testing.B) {
	for i, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			e, plans := evaluation(b, i, 4096)
			evaluateAll(b, e, plans)
		})
	}
}

// evaluateAll evaluates 4096 plans over and over.
func evaluateAll(b *testing.B, e *estimate.Evaluator, plans []plan.Plan) {
	var out estimate.Estimate
	for i := range plans { // the balance of experts is worked out once
		e.Evaluate(&plans[i], &out)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		e.Evaluate(&plans[i&4095], &out)
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
}

func TestEvaluateDoesNotAllocate(t *testing.T) {
	for n, c := range cases {
		for _, drafts := range []int{0, 1} {
			p := caseProblem(t, n)
			p.Acceptance = []float64{0.8}
			e, err := estimate.NewEvaluator(p)
			if err != nil {
				t.Fatal(err)
			}
			plans := randomPlans(t, p.Model, 64, p.Assume.Pipelined)
			for i := range plans {
				plans[i].Drafts = drafts
			}
			var out estimate.Estimate
			for i := range plans { // the balance of experts is worked out once
				e.Evaluate(&plans[i], &out)
			}
			i := 0
			if n := testing.AllocsPerRun(1000, func() { e.Evaluate(&plans[i%64], &out); i++ }); n != 0 {
				t.Errorf("%s, %d drafts: %v allocations per evaluation, want 0", c.name, drafts, n)
			}
			var step op.Step
			e.Add(&step, op.Group{Phase: op.Decode, Sequences: 8, New: float64(1 + drafts), Context: 100})
			e.Add(&step, op.Group{Phase: op.Prefill, Sequences: 1, New: 50, Context: 60})
			for i := range plans { // the first prepares the other phase
				e.Step(&plans[i], &step)
			}
			if n := testing.AllocsPerRun(1000, func() { e.Step(&plans[i%64], &step); i++ }); n != 0 {
				t.Errorf("%s, %d drafts: %v allocations per mixed step, want 0", c.name, drafts, n)
			}
		}
	}
}
