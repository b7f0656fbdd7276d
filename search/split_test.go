package search_test

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/search"
)

func drawSplit(t *rapid.T, procs int) *search.SplitProblem {
	prefill, decode := draw.Pair(t, procs, false)
	return &search.SplitProblem{Prefill: prefill, Decode: decode, Procs: procs}
}

func split(t *rapid.T, p *search.SplitProblem) search.Outcome {
	got, err := search.Split(context.Background(), p, 2)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// alone searches a phase on exactly n processors.
func alone(t *rapid.T, p search.Problem, n int) search.Result {
	p.Procs = n
	r, err := search.Best(context.Background(), &p, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// limits draws latency limits that rule something out: around what a plan of each phase takes.
func limits(t *rapid.T, p *search.SplitProblem) {
	for _, side := range []*search.Problem{&p.Prefill, &p.Decode} {
		if !rapid.Bool().Draw(t, "limited") {
			continue
		}
		if r := alone(t, *side, rapid.IntRange(1, p.Procs-1).Draw(t, "limiting size")); r.Found {
			side.Limit = r.Best.Latency * rapid.Float64Range(0.5, 1.5).Draw(t, "slack")
		}
	}
}

// TestSplitIsExact compares the search with trying every pair of instance sizes and every pair of
// their numbers.
func TestSplitIsExact(t *testing.T) {
	found := 0
	long.Check(t, func(t *rapid.T) {
		p := drawSplit(t, rapid.IntRange(2, 12).Draw(t, "procs"))
		limits(t, p)
		var prefill, decode [12]search.Result
		for n := 1; n < p.Procs; n++ {
			prefill[n], decode[n] = alone(t, p.Prefill, n), alone(t, p.Decode, n)
		}
		// Every split, and the rate of its slower side.
		type deployment struct {
			rate float64
			used int
		}
		var all []deployment
		for np := 1; np < p.Procs; np++ {
			for nd := 1; nd < p.Procs; nd++ {
				if !prefill[np].Found || !decode[nd].Found {
					continue
				}
				for cp := 1; cp <= p.Procs; cp++ {
					for cd := 1; cp*np+cd*nd <= p.Procs; cd++ {
						rate := math.Min(float64(cp)*prefill[np].Best.Requests, float64(cd)*decode[nd].Best.Requests)
						all = append(all, deployment{rate, cp*np + cd*nd})
					}
				}
			}
		}
		var highest float64
		for _, d := range all {
			highest = math.Max(highest, d.rate)
		}
		fewest := p.Procs
		for _, d := range all {
			if d.rate >= highest*(1-1e-12) {
				fewest = min(fewest, d.used)
			}
		}

		got := split(t, p)
		if got.Found() != (len(all) > 0) {
			t.Fatalf("found %v at %v requests/s; there are %d splits", got.Found(), got.Requests, len(all))
		}
		if !got.Found() {
			return
		}
		found++
		if math.Abs(got.Requests-highest) > 1e-12*highest {
			t.Fatalf("%v requests/s, want %v", got.Requests, highest)
		}
		if used := p.Procs - got.Spare(p.Procs); used != fewest {
			t.Fatalf("%d processors, but %d reach the same rate", used, fewest)
		}
		for _, side := range []struct{ got, want search.Result }{
			{got.Prefill, prefill[got.Prefill.Procs]}, {got.Decode, decode[got.Decode.Procs]},
		} {
			if side.got.Best != side.want.Best || side.got.Best.Plan.Attention.Procs() != side.got.Procs {
				t.Fatalf("%+v on %d processors, want %+v", side.got.Best.Plan, side.got.Procs, side.want.Best.Plan)
			}
			if got.Requests > float64(side.got.Instances)*side.want.Best.Requests {
				t.Fatalf("%v requests/s, but %d instances reach only %v each", got.Requests, side.got.Instances, side.want.Best.Requests)
			}
		}
	})
	// A short test draws too few problems to tell.
	if !testing.Short() && found < 20 {
		t.Errorf("only %d problems had a solution", found)
	}
}

// TestPools: given pools hold one instance each, and the slower one sets the rate.
func TestPools(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := drawSplit(t, 8)
		limits(t, p)
		p.Pools = &[2]int{rapid.IntRange(1, 4).Draw(t, "prefill pool"), rapid.IntRange(1, 4).Draw(t, "decode pool")}
		got := split(t, p)
		prefill, decode := alone(t, p.Prefill, p.Pools[0]), alone(t, p.Decode, p.Pools[1])
		if got.Prefill != prefill || got.Decode != decode {
			t.Fatalf("%+v and %+v, alone %+v and %+v", got.Prefill.Best.Plan, got.Decode.Best.Plan, prefill.Best.Plan, decode.Best.Plan)
		}
		if got.Found() != (prefill.Found && decode.Found) {
			t.Fatalf("found %v, the sides %v and %v", got.Found(), prefill.Found, decode.Found)
		}
		if !got.Found() {
			return
		}
		if want := math.Min(prefill.Best.Requests, decode.Best.Requests); got.Requests != want {
			t.Fatalf("%v requests/s, want %v", got.Requests, want)
		}
		if spare := got.Spare(8); spare != 8-p.Pools[0]-p.Pools[1] {
			t.Fatalf("%d spare processors of pools %v", spare, *p.Pools)
		}
		// A split that is searched can take the same pools.
		searched := *p
		searched.Pools = nil
		if s := split(t, &searched); s.Requests < got.Requests*(1-1e-12) {
			t.Fatalf("%v requests/s when searched, %v with pools %v", s.Requests, got.Requests, *p.Pools)
		}
	})
}
