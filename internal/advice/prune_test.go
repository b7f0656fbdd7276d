package advice

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"throughline/engine"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/internal/test/long"
	"throughline/internal/test/racing"
	"throughline/plan"
	"throughline/search"
)

// drawn is a question with all that a search goes over, and its options.
func drawn(t *rapid.T, gpus []int) (*question.Loaded, Options) {
	s := question.Default()
	s.GPUs = rapid.SampledFrom(gpus).Draw(t, "gpus")
	s.Model = rapid.SampledFrom([]string{"Llama-3.1-8B", "Qwen3-32B", "Qwen3-30B-A3B", "DeepSeek-V3", "gpt-oss-20b"}).Draw(t, "model")
	s.System = rapid.SampledFrom([]string{"H100_SXM", "H200", "B200", "L40S", "MI300X", "A100_SXM"}).Draw(t, "system")
	s.Input, s.Output = rapid.IntRange(16, 20000).Draw(t, "isl"), rapid.IntRange(1, 3000).Draw(t, "osl")
	s.Distribution = rapid.SampledFrom([]string{"", "lognormal:0.5"}).Draw(t, "lengths")
	s.Popularity = rapid.SampledFrom([]string{"", "served", "zipf:0.6"}).Draw(t, "popularity")
	if s.Input > 100 && rapid.Bool().Draw(t, "prefix") {
		s.Prefix = s.Input / 2
	}
	if rapid.Bool().Draw(t, "limited") {
		s.TPOT = rapid.Float64Range(5, 200).Draw(t, "tpot")
	}
	if rapid.Bool().Draw(t, "first limited") {
		s.TTFT = rapid.Float64Range(50, 20000).Draw(t, "ttft")
	}
	l, err := s.Load()
	if err != nil {
		t.Skip(err)
	}
	choice, err := engine.Choices(rapid.SampledFrom([]string{"any", "sglang", "vllm", "trtllm", "none"}).Draw(t, "engine"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Search: question.Search{GPUs: s.GPUs, Mode: Both, Top: 3, Objective: rapid.SampledFrom([]Objective{Throughput, Latency}).Draw(t, "objective")}, GPUsPerNode: 8, Engines: choice, Workers: 2,
		Drafts:    search.Range{High: rapid.IntRange(0, 1).Draw(t, "drafts")},
		Redundant: search.Range{High: rapid.SampledFrom([]int{0, 2, 32}).Draw(t, "redundant")},
		Overlaps:  rapid.SampledFrom([][]plan.Overlap{nil, {plan.TwoBatch}, {plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}}).Draw(t, "overlaps"),
	}
	if o.GPUs > 1 && rapid.Bool().Draw(t, "shares") {
		o.PrefillGPUs = rapid.IntRange(1, o.GPUs-1).Draw(t, "prefill")
	}
	return l, o
}

// TestNothingPrunedWouldHaveWon: predicting every plan, pair of pools, number of instances and
// batch gives the same ranking and the same frontier as predicting what the bounds leave.
func TestNothingPrunedWouldHaveWon(t *testing.T) {
	long.Some(t, draws(10), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4, 8, 16})
		sameExhaustively(t, l, o)
	})
}

// TestBoundsHold: no client sees a higher rate than the bound of a contender, or a shorter time per
// output token than the steps of its pool, whatever limit there is; on more processors than all
// contenders can be predicted on.
func TestBoundsHold(t *testing.T) {
	long.NotRacing(t)
	long.Some(t, draws(15), func(t *rapid.T) {
		l, o := drawn(t, []int{16, 24, 64, 320})
		mode := rapid.SampledFrom([]Mode{Aggregated, Disaggregated}).Draw(t, "mode")
		a := newAdviser(context.Background(), l, o)
		f, err := a.newField(mode, o.GPUs)
		if err != nil || len(f.decodes) == 0 {
			t.Skip("nothing to launch")
		}
		a.o.exhaustive = true // all batches
		for range 20 {
			c := contender{decode: rapid.SampledFrom(f.decodes).Draw(t, "decode"), counts: [2]int{0, 1}}
			if mode == Disaggregated {
				first, last := f.counts(c.decode, make([]float64, len(f.limits)))
				groups := f.groups[c.decode.engine]
				if first > last || len(groups) == 0 {
					continue
				}
				c.counts[1] = rapid.IntRange(first, last).Draw(t, "instances")
				c.prefill = rapid.SampledFrom(rapid.SampledFrom(groups).Draw(t, "size")).Draw(t, "prefill pool")
				if c.counts[0] = (o.GPUs - c.counts[1]*c.decode.curve.Procs) / c.prefill.curve.Procs; c.counts[0] < 1 {
					continue
				}
			}
			for _, w := range f.predict(f.workers[0], &c, f.span(&c)) {
				for k, limit := range f.limits {
					if most := min(c.maxRate(f, k), c.allowed(k)); o.Objective == Throughput && w.seen.TPOT <= limit && w.seen.TTFT <= f.ttft && w.seen.Requests > most {
						d := c.deployment(f, w.batch)
						t.Fatalf("%s: %v/s, at most %v/s under %v s", describe(&Candidate{Deployment: d, Record: result.Record{Mode: string(mode), Prediction: w.seen}}), w.seen.Requests, most, limit)
					}
				}
			}
		}
	})
}

// TestFewerMayDoMore: gpt-oss-20b on the L40S decodes 512 sequences at a time faster than as many
// as there is room for.
func TestFewerMayDoMore(t *testing.T) {
	if racing.Enabled {
		t.Skip("TestNothingPrunedWouldHaveWon has the same accesses")
	}
	s := question.Default()
	s.GPUs, s.Model, s.System, s.Input, s.Output, s.Distribution, s.TPOT = 16, "gpt-oss-20b", "L40S", 40, 18, "lognormal:0.5", 70
	l, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	choice, err := engine.Choices("vllm")
	if err != nil {
		t.Fatal(err)
	}
	sameExhaustively(t, l, Options{Search: question.Search{GPUs: s.GPUs, Mode: Both, Top: 3, Objective: Throughput}, GPUsPerNode: 8, Engines: choice, Workers: 2})
}

// sameExhaustively compares what the bounds leave with everything.
func sameExhaustively(t rapid.TB, l *question.Loaded, o Options) {
	t.Helper()
	survey := func(mode Mode, exhaustive bool) (ranked, points []weighed) {
		o.exhaustive = exhaustive
		f, err := newAdviser(context.Background(), l, o).newField(mode, o.GPUs)
		if err == nil {
			err = f.survey()
		}
		if err != nil {
			t.Fatal(err)
		}
		return f.ranked, f.points()
	}
	for _, mode := range []Mode{Aggregated, Disaggregated} {
		ranked, points := survey(mode, false)
		allRanked, allPoints := survey(mode, true)
		for _, list := range []struct {
			name      string
			got, want []weighed
		}{{"ranked", ranked, allRanked}, {"frontier", pareto(points), pareto(allPoints)}} {
			for i, want := range list.want {
				got := "nothing"
				if i < len(list.got) {
					got = list.got[i].describe()
				}
				if want := want.describe(); got != want {
					t.Fatalf("%s %d: %s, exhaustively %s", list.name, i+1, got, want)
				}
			}
		}
	}
}

func (w *weighed) describe() string {
	c := w.field.candidate(w, w.field.gpus)
	return describe(&c)
}

func describe(c *Candidate) string {
	if c == nil {
		return "nothing"
	}
	text := fmt.Sprintf("%s %s, %d clients, %v s, %v s, %v/s:", c.Mode, c.Deployment.Engine.Name, c.Load.Clients, c.TTFT, c.TPOT, c.Requests)
	for i := range c.Deployment.Pools {
		p := &c.Deployment.Pools[i]
		text += fmt.Sprintf(" %d × %v %v batch %d", p.Count, &p.Plan, p.Plan.Overlap, p.Plan.Batch.Size)
	}
	return text
}

// draws are fewer under the race detector, which looks for accesses and not for answers.
func draws(n int) int {
	if racing.Enabled {
		return n / 6
	}
	return n
}

// TestForemost: the first of the ranked deployments is that of the whole answer.
func TestForemost(t *testing.T) {
	long.NotRacing(t)
	long.Some(t, draws(6), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4, 8})
		all, err := Give(t.Context(), l, o)
		if err != nil {
			t.Skip(err)
		}
		o.Foremost = true
		some, err := Give(t.Context(), l, o)
		if err != nil || (len(some.Ranked) > 0) != (len(all.Ranked) > 0) || len(some.Frontier) > 0 {
			t.Fatalf("%d of %d deployments, %d on a frontier: %v", len(some.Ranked), len(all.Ranked), len(some.Frontier), err)
		}
		if len(all.Ranked) == 0 {
			return
		}
		if got, want := describe(&some.Ranked[0]), describe(&all.Ranked[0]); got != want || some.Ranked[0].Requests != all.Ranked[0].Requests {
			t.Errorf("%s, in the whole answer %s", got, want)
		}
	})
}
