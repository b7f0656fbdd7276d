package estimate_test

import (
	"math/rand/v2"
	"testing"

	"throughline/assume"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/model"
	"throughline/plan"
	"throughline/workload"
)

// problem is a catalogue model on a catalogue system, at the precision of the reference sample.
func problem(t testing.TB, modelName, systemName string) *estimate.Problem {
	t.Helper()
	src, ok := model.Catalogue.Find(modelName)
	if !ok {
		t.Fatalf("no model %s", modelName)
	}
	m, set, doc := model.Read(modelName, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	src, ok = hardware.Catalogue.Find(systemName)
	if !ok {
		t.Fatalf("no system %s", systemName)
	}
	sys, doc := hardware.Read(systemName, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return &estimate.Problem{
		Model: m, Settings: set, System: sys, Assume: &assume.Reference,
		Lengths: workload.Lengths{Input: 4096, Output: 1024},
		Precision: plan.Precision{
			Weight: 0.5, Activation: 0.5, Cache: 1, Comm: 1,
			MatrixType: "float4", AttentionType: "float8", VectorType: "float4",
		},
	}
}

// randomPlans are valid plans of an expert model on 256 processors, with all kinds of parallelism among them.
func randomPlans(t testing.TB, m *model.Model, n int) []plan.Plan {
	t.Helper()
	const procs = 256
	rng := rand.New(rand.NewPCG(1, 2))
	layouts, experts := plan.Layouts(procs, 1), plan.ExpertLayouts(procs)
	var out []plan.Plan
	var tp, moeTP int
	for len(out) < n {
		p := plan.Plan{
			Attention: layouts[rng.IntN(len(layouts))], Experts: experts[rng.IntN(len(experts))],
			Batch:     plan.Batch{Count: 1, Size: 1 + rng.IntN(300)},
			Redundant: rng.IntN(97), SharedReplicas: 32, SharedPerCard: rng.IntN(4) == 0,
		}
		if !plan.ValidLayout(m, p.Attention) || !p.ValidExperts(m) {
			continue
		}
		if p.Attention.TP > 1 {
			tp++
		}
		if p.Experts.TP > 1 {
			moeTP++
		}
		out = append(out, p)
	}
	if tp < n/4 || moeTP < n/4 {
		t.Fatalf("only %d plans with tp > 1 and %d with moe_tp > 1 of %d", tp, moeTP, n)
	}
	return out
}

// BenchmarkEvaluate is one full evaluation: lowering, pricing, sums and memory, all that a column of the results needs.
func BenchmarkEvaluate(b *testing.B) {
	for _, system := range []string{"SOW-U1-POR", "H800_IB"} {
		b.Run(system, func(b *testing.B) {
			p := problem(b, "deepseek_v3_flash_mla_absorb", "SOW-U1-POR")
			if system != "SOW-U1-POR" {
				p = problem(b, "deepseek_v3_flash_mla_absorb", system)
				p.Precision = plan.Precision{
					Weight: 1, Activation: 1, Cache: 1, Comm: 2,
					MatrixType: "float8", AttentionType: "float16", VectorType: "float16",
				}
			}
			e, err := estimate.NewEvaluator(p)
			if err != nil {
				b.Fatal(err)
			}
			plans := randomPlans(b, p.Model, 4096)
			var out estimate.Estimate
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				e.Evaluate(&plans[i&4095], &out)
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
		})
	}
}

func TestEvaluateDoesNotAllocate(t *testing.T) {
	p := problem(t, "deepseek_v3_flash_mla_absorb", "SOW-U1-POR")
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	plans := randomPlans(t, p.Model, 64)
	var out estimate.Estimate
	i := 0
	if n := testing.AllocsPerRun(1000, func() { e.Evaluate(&plans[i%64], &out); i++ }); n != 0 {
		t.Errorf("%v allocations per evaluation, want 0", n)
	}
}
