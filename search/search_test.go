package search_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"throughline/assume"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/model"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

func catalogueModel(t testing.TB, name string) (*model.Model, *model.Settings) {
	t.Helper()
	src, ok := model.Catalogue.Find(name)
	if !ok {
		t.Fatalf("no model %s", name)
	}
	m, set, doc := model.Read(name, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return m, set
}

func catalogueSystem(t testing.TB, name string) *hardware.System {
	t.Helper()
	src, ok := hardware.Catalogue.Find(name)
	if !ok {
		t.Fatalf("no system %s", name)
	}
	s, doc := hardware.Read(name, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

// sampleProblem is the problem of the reference sample for a model.
func sampleProblem(t testing.TB, modelName string, procs int) *search.Problem {
	t.Helper()
	m, set := catalogueModel(t, modelName)
	return &search.Problem{
		Problem: estimate.Problem{
			Model: m, Settings: set, System: catalogueSystem(t, "SOW-U1-POR"), Assume: &assume.Reference,
			Lengths: workload.Lengths{Input: 4096, Output: 1024},
			Precision: plan.Precision{
				Weight: 0.5, Activation: 0.5, Cache: 1, Comm: 1,
				MatrixType: "float4", AttentionType: "float8", VectorType: "float4",
			},
		},
		Procs: procs, Limit: 0.05, Redundant: search.Range{Low: set.Redundant, High: set.Redundant},
	}
}

// drawSystem is a small chip whose efficiencies may come in steps, so that a larger batch can be faster than a smaller
// one and throughput is not monotone.
func drawSystem(t *rapid.T) *hardware.System {
	sizes := func(label string, most float64) hardware.SizeTable {
		rows := rapid.IntRange(1, 4).Draw(t, label+" rows")
		table := make(hardware.SizeTable, rows)
		threshold := most
		for i := range table {
			table[i] = hardware.SizeRow{AtLeast: threshold, Efficiency: rapid.Float64Range(0.05, 1).Draw(t, label+" efficiency")}
			threshold *= rapid.Float64Range(0.05, 0.9).Draw(t, label+" ratio")
		}
		return table
	}
	shapes := func(label string) hardware.ShapeTable {
		rows := rapid.IntRange(0, 4).Draw(t, label+" rows")
		table := make(hardware.ShapeTable, 0, rows+1)
		for range rows {
			row := hardware.ShapeRow{Efficiency: rapid.Float64Range(0.05, 1).Draw(t, label+" efficiency")}
			if rapid.Bool().Draw(t, label+" bounds m") {
				row.M = float64(rapid.IntRange(0, 300).Draw(t, label+" m"))
			}
			if rapid.Bool().Draw(t, label+" bounds n") {
				row.N = float64(rapid.IntRange(0, 200).Draw(t, label+" n"))
			}
			table = append(table, row)
		}
		return append(table, hardware.ShapeRow{Efficiency: rapid.Float64Range(0.05, 1).Draw(t, label+" last")})
	}
	network := func(label string, size int) hardware.Network {
		n := hardware.Network{
			Bandwidth: rapid.Float64Range(0.01, 10).Draw(t, label+" bandwidth"), Efficiency: 0.8, Topology: "switch", Size: size,
			Latency:     rapid.Float64Range(0, 1e-5).Draw(t, label+" latency"),
			MessageSize: sizes(label+" message", 1), ProcessorUsage: rapid.Float64Range(0, 0.2).Draw(t, label+" usage"),
		}
		for c := range n.Ops {
			n.Ops[c] = hardware.CollectiveRate{Scale: 1, Offset: -0.5, Lowest: 0.7}
		}
		return n
	}
	mode := hardware.Roofline
	if rapid.IntRange(0, 3).Draw(t, "mode") == 0 {
		mode = hardware.NoOverlap
	}
	return &hardware.System{
		Name: "drawn", ProcsPerNPU: 1, Mode: mode,
		Matrix: map[string]hardware.MatrixEngine{"float8": {
			TFlops: rapid.Float64Range(1e-4, 1).Draw(t, "tflops"), Calibration: 0.8, Efficiency: shapes("matrix"),
		}},
		Vector: map[string]hardware.VectorEngine{"float8": {
			TFlops: rapid.Float64Range(1e-5, 1e-2).Draw(t, "vector tflops"), Calibration: 0.5, Efficiency: sizes("vector", 1e-4),
		}},
		Memory: hardware.Memory{
			GiB: rapid.Float64Range(1e-3, 3e-2).Draw(t, "GiB"), GBps: rapid.Float64Range(1e-2, 10).Draw(t, "GBps"),
			Calibration: 0.8, Efficiency: sizes("memory", 1),
			Attention: hardware.PhaseFactor{Decode: 0.9, Prefill: 1}, Cache: hardware.PhaseFactor{Decode: 0.7, Prefill: 1},
		},
		CollectiveOverlap: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "overlap"),
		Networks:          []hardware.Network{network("inner", 4), network("outer", 64)},
	}
}

func drawModel(t *rapid.T) (*model.Model, *model.Settings) {
	m := &model.Model{
		Name: "drawn", Hidden: 64, Layers: 3, FeedForward: 128,
		Attention: model.Attention{Kind: model.GroupQuery, Heads: 8, KVHeads: 4, HeadDim: 16, QKNorm: true},
	}
	if rapid.Bool().Draw(t, "latent") {
		m.Attention = model.Attention{Kind: model.Latent, Heads: 8, QueryRank: 24, KVRank: 32, NopeDim: 16, RopeDim: 8, ValueDim: 16}
	}
	if rapid.Bool().Draw(t, "experts") {
		m.Experts = model.Experts{Routed: 8, TopK: 2, Shared: 1, Width: 32, CapacityFactor: 1, Interval: rapid.IntRange(1, 2).Draw(t, "interval")}
	}
	return m, &model.Settings{
		Absorb: rapid.Bool().Draw(t, "absorb"), Flash: rapid.Bool().Draw(t, "flash"),
		SharedReplicas: 4, Redundant: 4,
	}
}

// everyBatch is the definition of the best batch: try each that fits, keep those in time, take the highest throughput,
// and of all that reach it (up to rounding) the smallest.
func everyBatch(t *rapid.T, p *search.Problem, pl plan.Plan) (best estimate.Estimate, found bool, tried int) {
	e, err := estimate.NewEvaluator(&p.Problem)
	if err != nil {
		t.Fatal(err)
	}
	var inTime []estimate.Estimate
	var out estimate.Estimate
	for size := 1; ; size++ {
		pl.Batch = plan.Batch{Count: 1, Size: size}
		e.Evaluate(&pl, &out)
		if out.Memory.Total() > p.System.Memory.GiB*estimate.GiB {
			break
		}
		tried++
		if p.Limit == 0 || out.Latency <= p.Limit {
			inTime = append(inTime, out)
		}
	}
	highest := 0.0
	for i := range inTime {
		highest = math.Max(highest, inTime[i].Throughput)
	}
	for i := range inTime {
		if inTime[i].Throughput >= highest*(1-1e-12) {
			return inTime[i], true, tried
		}
	}
	return best, false, tried
}

// TestBatchSearchIsExact compares the search with trying every batch, on systems whose efficiencies come in steps.
func TestBatchSearchIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, set := drawModel(t)
		p := &search.Problem{
			Problem: estimate.Problem{
				Model: m, Settings: set, System: drawSystem(t), Assume: &assume.Reference,
				Lengths: workload.Lengths{Input: rapid.IntRange(1, 64).Draw(t, "input"), Output: rapid.IntRange(1, 64).Draw(t, "output")},
				Precision: plan.Precision{
					Weight: 1, Activation: 1, Cache: 1, Comm: 1,
					MatrixType: "float8", AttentionType: "float8", VectorType: "float8",
				},
			},
			Procs: 8, Redundant: search.Range{Low: set.Redundant, High: set.Redundant},
		}
		plans := p.Plans()
		pl := plans[rapid.IntRange(0, len(plans)-1).Draw(t, "plan")]
		p.Layouts = []plan.Layout{pl.Attention}
		if m.IsMoE() {
			p.ExpertLayouts = []plan.ExpertLayout{pl.Experts}
		}
		want, found, tried := everyBatch(t, p, pl)
		if tried > 0 && rapid.Bool().Draw(t, "limited") {
			// A limit that rules some batches out: the time of one of them.
			e, _ := estimate.NewEvaluator(&p.Problem)
			var out estimate.Estimate
			pl.Batch = plan.Batch{Count: 1, Size: rapid.IntRange(1, tried).Draw(t, "limiting batch")}
			e.Evaluate(&pl, &out)
			p.Limit = out.Latency * rapid.Float64Range(0.9, 1.1).Draw(t, "slack")
			want, found, _ = everyBatch(t, p, pl)
		}
		got, err := search.Best(context.Background(), p, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got.Found != found {
			t.Fatalf("found %v, want %v (%d batches fit)", got.Found, found, tried)
		}
		if found && got.Best.Plan.Batch != want.Plan.Batch {
			t.Fatalf("batch %v at %v tokens/s, want %v at %v", got.Best.Plan.Batch, got.Best.Throughput, want.Plan.Batch, want.Throughput)
		}
	})
}

// TestResultDoesNotDependOnWorkers searches with one, two and seven workers.
func TestResultDoesNotDependOnWorkers(t *testing.T) {
	for _, name := range []string{"deepseek_v3_flash_mla_absorb", "qwen3_32b_flash"} {
		p := sampleProblem(t, name, 360)
		p.Redundant = search.Range{Low: 0, High: 40}
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
		single.Layouts, single.ExpertLayouts = []plan.Layout{pl.Attention}, []plan.ExpertLayout{pl.Experts}
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
	// Experts: 61 layers · 320 · 3·7168·2048 · 0.5 B = 400.31 GiB. Attention: 61/21 of the sample's 1.8297 GiB = 5.31 GiB.
	// Routers and norms 0.05, one sequence of cache 5120·576·61 B = 0.17, working space 0.01: 405.85 GiB in all.
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
