package published

import (
	"math"
	"slices"
	"strings"
	"testing"

	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/op"
)

// TestRouted: exchanges are routed as DeepEP's tests do, and UCCL's take the terms of its library.
func TestRouted(t *testing.T) {
	const rows = `source,url,model,hardware,num_gpus,parallelism,precision,isl,osl,concurrency_or_batch,metric,value,unit,evidence,notes
DeepEP V1 normal kernels,u,DeepSeek-V3/R1 MoE,H800,32,EP32 internode,FP8,,,4096 tokens/rank,dispatch_latency,1,us,table,top-4 groups
DeepEP V1 normal kernels,u,DeepSeek-V3/R1 MoE,H800,32,EP32 internode,BF16,,,4096 tokens/rank,dispatch_latency,1,us,table,top-4 groups
UCCL-EP normal kernels,u,DeepSeek-V3 MoE,MI300X + CX7 IB,8,EP8 intranode,BF16,,,4096 tokens/rank,combine_latency,1,us,table,
`
	var table Table
	if err := table.read(t.Context(), "rows.csv", strings.NewReader(rows)); err != nil {
		t.Fatal(err)
	}
	if err := table.Predict(t.Context()); err != nil {
		t.Fatal(err)
	}
	narrow, wide, uccl := table.Rows[0].Predicted, table.Rows[1].Predicted, table.Rows[2].Predicted
	// 4 nodes: 3 others, each with some of 8 of 256 experts by 1 - (3/4)^8 or so, 0.904; 7392 bytes
	// a copy over 50 GB/s, at most.
	if least := 4096 * 3 * 0.9 * 7392 / 50e9 * 1e6; narrow < least || narrow > 1.3*least {
		t.Errorf("%v us, at least %v", narrow, least)
	}
	if ratio := wide / narrow; ratio < 1.8 || ratio > 2 {
		t.Errorf("16 bits take %.3g times as long as 8", ratio)
	}
	// 30 us, and 7 · 0.66 copies of 14,336 bytes at 270 GB/s.
	if want := 30 + 4096*7*0.6616*14336/270e9*1e6; math.Abs(uccl/want-1) > 0.01 {
		t.Errorf("%v us, want %v", uccl, want)
	}
}

// TestLayer: the parts of a layer add up to it where nothing overlaps, with its waiting for the
// slowest rank, and an expert layer has no dense block.
func TestLayer(t *testing.T) {
	q := question.Default()
	q.Model, q.System, q.Engine, q.Phase, q.Formats.Weights = "DeepSeek-V3", "H100_SXM", "sglang", "prefill", "fp8"
	q.DP, q.EP, q.Batch, q.Input = 32, 32, 4, 4096
	a, err := point.NewEstimator().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	parts := layer(&a.Phases[0])
	sum := 0.0
	for _, v := range parts[1:] {
		sum += v
	}
	e := &a.Phases[0].Estimate
	sum += e.RanksTime / 61 // waiting for the slowest rank is no part by itself
	if math.Abs(sum-parts[wholeLayer]) > 1e-9*sum {
		t.Errorf("parts of %v make a layer of %v", sum, parts[wholeLayer])
	}
	// 58 layers with experts, and 3 more with attention and a dense block, make the step but for
	// its ends.
	dense := 0.0
	for _, o := range stageOf(&a.Phases[0]) {
		if o.Repeat == 3 || o.Kind.Info().Block == op.AttentionBlock {
			dense += 3 * o.Exposed
		}
	}
	dense += 3 * e.RanksTime / 61
	if got, want := 58*parts[wholeLayer]+dense+e.EndsTime, e.StepTime; math.Abs(got-want) > 1e-6*want {
		t.Errorf("layers make a step of %v, not %v", got, want)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		evidence  string
		predicted float64
		want      bool
	}{{"table", 110, true}, {"table", 112, false}, {"chart_read", 112, true}, {"chart_read", 114, false}, {"chart_label", 112, false}, {"table", 88, false}} {
		r := Row{Cells: make([]string, len(Columns)), Value: 100, Predicted: c.predicted}
		r.Cells[slices.Index(Columns, "evidence")] = c.evidence
		if r.Within(0.1+1e-12) != c.want {
			t.Errorf("%v of 100, %s: within 10%% is %v", c.predicted, c.evidence, !c.want)
		}
	}
}

func TestRatios(t *testing.T) {
	table := readSmall(t)
	if err := table.Predict(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := table.Ratios()
	if len(list) != 3 {
		t.Fatalf("%d ratios: %+v", len(list), list)
	}
	last := list[2]
	if want := 47860.0 / 36140; !strings.HasPrefix(last.Name, "TBO on: ") || math.Abs(last.Published-want) > 1e-12 || !(last.Predicted > 0) {
		t.Errorf("%+v", last)
	}
	// A gain of 14.2% is a ratio of 1.142, and is written as a gain.
	if gain := list[1]; math.Abs(gain.Published-1.142) > 1e-12 {
		t.Errorf("%+v", gain)
	}
}
