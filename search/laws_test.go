package search_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/search"
)

func notLower(t *rapid.T, what string, before, after float64) {
	if after < before*(1-1e-12) {
		t.Fatalf("%s: the best rate falls from %v to %v", what, before, after)
	}
}

// TestFreeTransferIsBest: a transfer of the cache that costs nothing never gives a lower rate than
// one that does.
func TestFreeTransferIsBest(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := drawSplit(t, rapid.IntRange(2, 6).Draw(t, "procs"))
		limits(t, p)
		costly := split(t, p)

		none := *p
		none.Prefill.Handover = nil
		notLower(t, "no transfer", costly.Requests, split(t, &none).Requests)

		// The networks of the prefill carry more than the transfer. With instant ones it is as if
		// there were none.
		fast := *p
		instant := func(s *hardware.System) *hardware.System {
			out := *s
			out.Networks = slices.Clone(s.Networks)
			for i := range out.Networks {
				out.Networks[i].Bandwidth, out.Networks[i].Latency = math.Inf(1), 0
			}
			return &out
		}
		fast.Prefill.System = instant(p.Prefill.System)
		fast.Prefill.Handover = &estimate.Handover{System: instant(p.Decode.System), Span: p.Prefill.Handover.Span}
		got := split(t, &fast)
		notLower(t, "instant networks of the prefill", costly.Requests, got.Requests)
		if got.Found() && got.Prefill.Best.KV.Time != 0 {
			t.Fatalf("an instant transfer takes %v s", got.Prefill.Best.KV.Time)
		}
		fast.Prefill.Handover = nil
		if same := split(t, &fast); math.Abs(same.Requests-got.Requests) > 1e-12*same.Requests {
			t.Fatalf("%v requests/s with an instant transfer, %v with none", got.Requests, same.Requests)
		}
	})
}

// TestMoreProcessorsAreNeverWorse, where the network between the pools stays the same.
func TestMoreProcessorsAreNeverWorse(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := drawSplit(t, rapid.IntRange(2, 6).Draw(t, "procs"))
		limits(t, p)
		before := split(t, p)
		p.Procs += rapid.IntRange(1, 3).Draw(t, "more")
		notLower(t, "more processors", before.Requests, split(t, p).Requests)
	})
}

// TestLooserLimitIsNeverWorse for one phase alone, and for phases on processors of their own.
func TestLooserLimitIsNeverWorse(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := drawSplit(t, rapid.IntRange(2, 6).Draw(t, "procs"))
		limits(t, p)
		before := split(t, p)
		prefill, decode := alone(t, p.Prefill, p.Procs), alone(t, p.Decode, p.Procs)
		loosen := func(limit float64) float64 {
			if rapid.IntRange(0, 3).Draw(t, "lift") == 0 {
				return 0
			}
			return limit * rapid.Float64Range(1, 3).Draw(t, "looser")
		}
		p.Prefill.Limit, p.Decode.Limit = loosen(p.Prefill.Limit), loosen(p.Decode.Limit)
		notLower(t, "looser limits", before.Requests, split(t, p).Requests)
		after := alone(t, p.Prefill, p.Procs)
		notLower(t, "looser limit of prefill", prefill.Best.Requests, after.Best.Requests)
		after = alone(t, p.Decode, p.Procs)
		notLower(t, "looser limit of decode", decode.Best.Requests, after.Best.Requests)
	})
}

// TestLimitsAreKept, and the memory: by every search.
func TestLimitsAreKept(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		kept := func(p *search.Problem, r *search.Result) {
			if !r.Found {
				return
			}
			if p.Limit > 0 && r.Best.Latency > p.Limit {
				t.Fatalf("%v s, limit %v s", r.Best.Latency, p.Limit)
			}
			if m := r.Best.Memory.Total(); m > p.Assume.Usable(p.System.Memory.GiB) {
				t.Fatalf("%v bytes of %v GiB", m, p.System.Memory.GiB)
			}
		}
		p := drawSplit(t, rapid.IntRange(2, 6).Draw(t, "procs"))
		limits(t, p)
		got := split(t, p)
		kept(&p.Prefill, &got.Prefill)
		kept(&p.Decode, &got.Decode)

		f := &search.FusedProblem{}
		f.Prefill, f.Decode = draw.Pair(t, 4, true)
		if r := alone(t, f.Decode, 4); r.Found {
			f.Decode.Limit = r.Best.Latency * rapid.Float64Range(0.5, 1).Draw(t, "fused decode slack")
		}
		if r := alone(t, f.Prefill, 4); r.Found {
			f.Prefill.Limit = r.Best.Latency * rapid.Float64Range(0.5, 1).Draw(t, "fused prefill slack")
		}
		fused, err := search.Fused(context.Background(), f, 1)
		if err != nil {
			t.Fatal(err)
		}
		kept(&f.Prefill, &fused.Prefill)
		kept(&f.Decode, &fused.Decode)
		// The cache of the prompts lies within that of the decode.
		if fused.Found() && fused.Prefill.Best.Memory.Cache > fused.Decode.Best.Memory.Cache {
			t.Fatalf("a cache of %v bytes after the prefill, %v at the end", fused.Prefill.Best.Memory.Cache, fused.Decode.Best.Memory.Cache)
		}
	})
}

// TestThorough: plans that cannot win are passed over, and what wins is the same as if all were
// looked at.
func TestThorough(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := drawSplit(t, rapid.IntRange(2, 6).Draw(t, "procs"))
		limits(t, p)
		quick := split(t, p)
		p.Thorough = true
		thorough := split(t, p)
		if quick.Found() != thorough.Found() || quick.Prefill.Best != thorough.Prefill.Best || quick.Decode.Best != thorough.Decode.Best {
			t.Fatalf("found %+v, with all plans %+v", quick, thorough)
		}
		f := &search.FusedProblem{}
		f.Prefill, f.Decode = draw.Pair(t, 4, true)
		quick, err := search.Fused(context.Background(), f, 1)
		if err != nil {
			t.Fatal(err)
		}
		f.Thorough = true
		if thorough, err = search.Fused(context.Background(), f, 1); err != nil {
			t.Fatal(err)
		}
		if quick.Found() != thorough.Found() || quick.Prefill.Best != thorough.Prefill.Best || quick.Decode.Best != thorough.Decode.Best {
			t.Fatalf("fused: found %+v, with all plans %+v", quick, thorough)
		}
	})
}
