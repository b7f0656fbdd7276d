package search_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"throughline/internal/test/draw"
	"throughline/internal/test/golden"
	"throughline/plan"
	"throughline/search"
)

// drawnSearches are the three kinds of searches, of small models on drawn chips.
type drawnSearches struct {
	one   *search.Problem
	fused search.FusedProblem
	split search.SplitProblem
}

// TestSums: what searches find with limits and overlaps of several kinds, and why they find
// nothing.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	drawn := rapid.Custom(func(t *rapid.T) *drawnSearches {
		s := &drawnSearches{one: draw.Problem(t, draw.Phase(t), 4, rapid.Bool().Draw(t, "steps"))}
		s.fused.Prefill, s.fused.Decode = draw.Pair(t, 4, true)
		s.split.Prefill, s.split.Decode = draw.Pair(t, 3, false)
		s.split.Procs, s.fused.Top, s.fused.Thorough = 4, 3, rapid.Bool().Draw(t, "thorough")
		return s
	})
	for i := range 60 {
		s := drawn.Example(i)
		for _, limit := range []float64{0, 1e-3, 0.1} {
			s.one.Limit, s.fused.Decode.Limit, s.split.Prefill.Limit = limit, limit, limit
			s.one.Slack, s.one.OneCopy = 0.05*float64(i%2), i%3 == 0
			s.one.Overlaps = []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}[:1+i%3]
			r, err := search.Best(context.Background(), s.one, 1)
			if err != nil {
				t.Fatal(err)
			}
			addResult(sums, "one phase", s.one, &r)
			top, none, err := search.FusedTop(context.Background(), &s.fused, 1)
			if err != nil {
				t.Fatal(err)
			}
			for j := range append(top, none) {
				addOutcome(sums, "fused", &s.fused.Prefill, &s.fused.Decode, &append(top, none)[j])
			}
			split, err := search.Split(context.Background(), &s.split, 1)
			if err != nil {
				t.Fatal(err)
			}
			addOutcome(sums, "split", &s.split.Prefill, &s.split.Decode, &split)
		}
		limits := []float64{0, 1e-4, 1e-3, 1e-2}
		under, err := search.SplitUnder(context.Background(), &s.split, limits, 1)
		if err != nil {
			t.Fatal(err)
		}
		for j := range under {
			one := s.split
			one.Decode.Limit = limits[j]
			alone, err := search.Split(context.Background(), &one, 1)
			if err != nil {
				t.Fatal(err)
			}
			if alone.Requests != under[j].Requests || alone.Decode.Found != under[j].Decode.Found {
				t.Errorf("%d: under %v together %v requests, alone %v", i, limits[j], under[j].Requests, alone.Requests)
			}
			addOutcome(sums, "split under limits", &one.Prefill, &one.Decode, &under[j])
		}
		sums.Fields("plans", s.one.Plans())
	}
	sums.Check(t, "testdata/sums.tsv")
}

func addResult(sums golden.Sums, of string, p *search.Problem, r *search.Result) {
	sums.Fields(of, *r)
	sums.Add(of, "rate", r.Rate())
	sums.Fields(of+" reason", p.Reason(r))
	if !r.Found && r.Plans > 0 {
		sums.Fields(of+" refusals", p.Refusals(r))
	}
}

func addOutcome(sums golden.Sums, of string, prefill, decode *search.Problem, o *search.Outcome) {
	addResult(sums, of+" prefill", prefill, &o.Prefill)
	addResult(sums, of+" decode", decode, &o.Decode)
	sums.Add(of, "requests", o.Requests)
	if o.Found() {
		sums.Add(of, "spare", float64(o.Spare(16)))
	}
}
