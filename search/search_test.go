package search_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"throughline/assume"
	"throughline/estimate"
	"throughline/internal/test/builtin"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/internal/test/racing"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// sampleProblem is the problem of the reference sample for a model.
func sampleProblem(t testing.TB, modelName string, procs int) *search.Problem {
	t.Helper()
	m, set := builtin.Model(t, modelName)
	return &search.Problem{
		Problem: estimate.Problem{
			Model: m, Settings: set, System: builtin.System(t, "SOW-U1-POR"), Assume: &assume.Reference,
			Lengths: workload.Lengths{Input: 4096, Output: 1024},
			Precision: plan.Precision{
				Weight: 0.5, Activation: 0.5, Cache: 1, Comm: 1,
				MatrixType: "float4", AttentionType: "float8", VectorType: "float4",
			},
		},
		Procs: procs, Limit: 0.05, Redundant: search.Range{Low: set.Redundant, High: set.Redundant},
	}
}

// inTime is all batches of a plan that fit and are in time, in order, and the number of those that
// fit.
func inTime(t *rapid.T, p *search.Problem, pl plan.Plan) (out []estimate.Estimate, fitting int) {
	e, err := estimate.NewEvaluator(&p.Problem)
	if err != nil {
		t.Fatal(err)
	}
	var est estimate.Estimate
	for size := 1; ; size++ {
		pl.Batch = plan.Batch{Count: 1, Size: size}
		e.Evaluate(&pl, &est)
		if est.Memory.Total() > p.Assume.Usable(p.System.Memory.GiB) {
			return out, fitting
		}
		fitting++
		if p.Limit == 0 || est.Latency <= p.Limit {
			out = append(out, est)
		}
	}
}

// best is the definition of the best batch: the highest request rate, and of all that reach it (up
// to rounding) the smallest.
func best(estimates []estimate.Estimate) (out estimate.Estimate, found bool) {
	highest := 0.0
	for i := range estimates {
		highest = math.Max(highest, estimates[i].Requests)
	}
	for i := range estimates {
		if estimates[i].Requests >= highest*(1-1e-12) {
			return estimates[i], true
		}
	}
	return out, false
}

// limitAt draws a limit that rules some batches of a plan out: about the time of one of them.
func limitAt(t *rapid.T, p *search.Problem, pl plan.Plan, most int) float64 {
	e, err := estimate.NewEvaluator(&p.Problem)
	if err != nil {
		t.Fatal(err)
	}
	var out estimate.Estimate
	pl.Batch = plan.Batch{Count: 1, Size: rapid.IntRange(1, most).Draw(t, "limiting batch")}
	e.Evaluate(&pl, &out)
	return out.Latency * rapid.Float64Range(0.9, 1.1).Draw(t, "slack")
}

// TestBatchSearchIsExact compares the search with trying every batch, on systems whose efficiencies
// come in steps: in decode with and without drafts, in prefill with and without a handover of the
// cache and parts of the context.
func TestBatchSearchIsExact(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := draw.Problem(t, draw.Phase(t), 8, true)
		pl := draw.Plan(t, p)
		p = draw.Only(*p, &pl)
		batches, fitting := inTime(t, p, pl)
		if fitting > 0 && rapid.Bool().Draw(t, "limited") {
			p.Limit = limitAt(t, p, pl, fitting)
			batches, _ = inTime(t, p, pl)
		}
		want, found := best(batches)
		got, err := search.Best(context.Background(), p, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got.Found != found {
			t.Fatalf("found %v, want %v (%d batches fit)", got.Found, found, fitting)
		}
		if found && got.Best.Plan != want.Plan {
			t.Fatalf("%+v at %v requests/s, want %+v at %v", got.Best.Plan, got.Best.Requests, want.Plan, want.Requests)
		}
	})
}

// TestResultDoesNotDependOnWorkers searches with one, two and seven workers.
func TestResultDoesNotDependOnWorkers(t *testing.T) {
	for _, name := range []string{"deepseek_v3_flash_mla_absorb", "qwen3_32b_flash"} {
		p := sampleProblem(t, name, 360)
		p.Redundant = search.Range{Low: 0, High: 40}
		if racing.Enabled {
			p.Redundant.High = 4 // the same accesses
		}
		one, err := search.Best(context.Background(), p, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{2, 7} {
			got, err := search.Best(context.Background(), p, workers)
			if err != nil {
				t.Fatal(err)
			}
			if got != one {
				t.Errorf("%s: %d workers found %+v, one found %+v", name, workers, got.Best.Plan, one.Best.Plan)
			}
		}
	}
}

// TestBestIsTheBestOfAllPlans searches each plan alone and compares.
func TestBestIsTheBestOfAllPlans(t *testing.T) {
	p := sampleProblem(t, "deepseek_v3_flash_mla_absorb", 36)
	whole, err := search.Best(context.Background(), p, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, pl := range p.Plans() {
		single := *p
		single.Layouts, single.ExpertLayouts = []plan.Split{pl.Attention}, []plan.ExpertSplit{pl.Experts}
		got, err := search.Best(context.Background(), &single, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got.Found && got.Best.Throughput > whole.Best.Throughput {
			t.Errorf("%v reaches %v, more than %v of the best plan", &pl, got.Best.Throughput, whole.Best.Throughput)
		}
	}
}

func TestReasonWhenNothingFits(t *testing.T) {
	p := sampleProblem(t, "deepseek_v3_flash_mla_absorb", 1)
	got, err := search.Best(context.Background(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.Found {
		t.Fatal("DeepSeek-V3 does not fit on one processor")
	}
	// Experts: 61 layers · 320 · 3·7168·2048 · 0.5 B = 400.31 GiB. Attention: 61/21 of the sample's
	// 1.8297 GiB = 5.31 GiB. Routers and norms 0.05, one sequence of cache 5120·576·61 B = 0.17,
	// working space 0.01: 405.85 GiB in all.
	const want = "1 plan does not fit into 72 GiB (the nearest, dp1·pp1·tp1 ep1·etp1·edp1 at batch 1, needs 333.9 GiB more)"
	if r := p.Reason(&got); r != want {
		t.Errorf("reason %q, want %q", r, want)
	}
	p = sampleProblem(t, "qwen3_32b_flash", 36)
	p.Limit = 1e-6
	got, err = search.Best(context.Background(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.Found || got.Rejected.Latency.Plans != got.Plans {
		t.Errorf("%d of %d plans miss a limit of one microsecond, want all", got.Rejected.Latency.Plans, got.Plans)
	}
}

func BenchmarkSearch(b *testing.B) {
	for _, c := range []struct {
		procs     int
		redundant [2]int
	}{{36, [2]int{32, 32}}, {4096, [2]int{32, 32}}, {4096, [2]int{0, 96}}} {
		b.Run(fmt.Sprintf("procs=%d/redundant=%d-%d", c.procs, c.redundant[0], c.redundant[1]), func(b *testing.B) {
			p := sampleProblem(b, "deepseek_v3_flash_mla_absorb", c.procs)
			p.Redundant = search.Range{Low: c.redundant[0], High: c.redundant[1]}
			plans := 0
			for b.Loop() {
				r, err := search.Best(context.Background(), p, 2)
				if err != nil || !r.Found {
					b.Fatal("no plan", err)
				}
				plans = r.Plans
			}
			b.ReportMetric(float64(plans), "plans")
		})
	}
}
