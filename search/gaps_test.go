package search_test

import (
	"context"
	"testing"

	"throughline/assume"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/test/builtin"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// pair is llama on two tensor-parallel ranks of a roofline.
func pair(t *testing.T) *search.Problem {
	t.Helper()
	m, set := builtin.Model(t, "llama_3_8b")
	s := builtin.System(t, "H200")
	s.Kernels = nil
	return &search.Problem{
		Problem: estimate.Problem{
			Model: m, Settings: set, System: s, Assume: &assume.Reference, Phase: op.Decode,
			Lengths: workload.Lengths{Input: 1000, Output: 1000},
			Precision: plan.Precision{
				Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16",
			},
		},
		Procs: 2, Layouts: []plan.Split{{DP: 1, PP: 1, TP: 2, CP: 1}},
	}
}

func bestOn(t *testing.T, p *search.Problem) search.Result {
	t.Helper()
	r, err := search.Best(context.Background(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// only is the best of one batch.
func only(t *testing.T, p *search.Problem, batch int) search.Result {
	t.Helper()
	q := *p
	q.Limit, q.Batches = 0, []plan.Batch{{Count: 1, Size: batch}}
	return bestOn(t, &q)
}

// TestExactFit: a memory that one sequence fills to the last byte holds it.
func TestExactFit(t *testing.T) {
	p := pair(t)
	for _, batch := range []int{1, 7} {
		p.System.Memory.GiB = 1000
		one := only(t, p, batch)
		p.System.Memory.GiB = one.Best.Memory.Total() / estimate.GiB
		r := bestOn(t, p)
		if !r.Found || r.Best.Plan.Batch.Size != batch {
			t.Errorf("batch %d of a memory that holds %d: found %v", r.Best.Plan.Batch.Size, batch, r.Found)
		}
	}
}

// TestExactLimit: a batch that takes as long as the limit is in time, and the next is not.
func TestExactLimit(t *testing.T) {
	p := pair(t)
	for batch := 1; batch <= 300; batch++ {
		one := only(t, p, batch)
		if !one.Found {
			t.Fatalf("batch %d does not fit; the test shows nothing", batch)
		}
		p.Limit = one.Best.Latency
		r := bestOn(t, p)
		if only(t, p, batch+1).Best.Latency == p.Limit {
			continue // the next is in time as well
		}
		if !r.Found || r.Best.Plan.Batch.Size != batch {
			t.Errorf("batch %d within the time of %d: found %v", r.Best.Plan.Batch.Size, batch, r.Found)
		}
	}
}

// TestMessageSizes: short messages are slow, so that a batch may be in time where smaller ones are
// not.
func TestMessageSizes(t *testing.T) {
	p := pair(t)
	p.System.CollectiveOverlap = 0
	for i := range p.System.Networks {
		// A sequence makes 4096 elements of 2 bytes, 0.008 MB.
		p.System.Networks[i].MessageSize = hardware.SizeTable{{AtLeast: 0.05, Efficiency: 1}, {AtLeast: 0, Efficiency: 1e-3}}
	}
	first := 0
	for batch := 1; batch < 100 && first == 0; batch++ {
		if only(t, p, batch+1).Best.Latency < only(t, p, batch).Best.Latency {
			first = batch + 1
		}
	}
	if first == 0 {
		t.Fatal("no message is long enough; the test shows nothing")
	}
	last := first + 5
	p.Limit = only(t, p, last).Best.Latency
	if only(t, p, 1).Best.Latency <= p.Limit {
		t.Fatal("one sequence is in time; the test shows nothing")
	}
	if r := bestOn(t, p); !r.Found || r.Best.Plan.Batch.Size != last {
		t.Errorf("batch %d, found %v; batches %d to %d are in time", r.Best.Plan.Batch.Size, r.Found, first, last)
	}
}
