package advice

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"throughline/engine"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/plan"
	"throughline/search"
)

// shortfall is by how much more processors may do less: as many prefill instances are tried as
// there is room for, whose caches then come from further away (1.2% was seen with outputs of two
// tokens).
const shortfall = 1.015

// TestMoreNeverGiveLess: in closed form, which ranks, on more processors the first deployment does
// as many requests per second as on fewer or more, and so does the last of the frontier, but for
// the shortfall below. Instances have to find room on nodes, of which the last may be smaller.
func TestMoreNeverGiveLess(t *testing.T) {
	long.NotRacing(t)
	long.Some(t, 6, func(t *rapid.T) {
		q := question.DefaultOf(question.Plan)
		q.Model = rapid.SampledFrom([]string{"Llama-3.1-8B", "Qwen3-30B-A3B", "gpt-oss-20b"}).Draw(t, "model")
		q.System = rapid.SampledFrom([]string{"H100_SXM", "L40S"}).Draw(t, "system")
		q.Input, q.Output = rapid.IntRange(100, 10000).Draw(t, "isl"), rapid.IntRange(2, 1000).Draw(t, "osl")
		if rapid.Bool().Draw(t, "limited") {
			q.TPOT = rapid.Float64Range(5, 60).Draw(t, "tpot")
		}
		q.GPUs = 8
		l, err := q.Load()
		if err != nil {
			t.Skip(err)
		}
		engines, err := engine.Choices(rapid.SampledFrom([]string{"sglang", "vllm", "trtllm"}).Draw(t, "engine"))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{
			Search:      question.Search{Top: 1, Mode: rapid.SampledFrom([]Mode{Aggregated, Disaggregated, Both}).Draw(t, "mode"), Objective: Throughput},
			GPUsPerNode: rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "per node"), Engines: engines, Workers: 2,
			Overlaps: []plan.Overlap{plan.NoOverlap, plan.TwoBatch}, Redundant: search.Range{High: 2}, rough: true,
		}
		fewer := rapid.IntRange(8, 79).Draw(t, "fewer")
		more := rapid.IntRange(fewer+1, 80).Draw(t, "more")
		most := func(gpus int) (first, last float64) {
			o.GPUs = gpus
			got, err := Give(context.Background(), l, o)
			if err != nil {
				t.Skip(err) // weights that the engine does not run on the chip
			}
			if len(got.Ranked) == 0 {
				return 0, 0
			}
			return got.Ranked[0].Requests, got.Frontier[len(got.Frontier)-1].Requests
		}
		first, last := most(fewer)
		firstOfMore, lastOfMore := most(more)
		if firstOfMore < first/shortfall || lastOfMore < last/shortfall {
			t.Fatalf("%d processors: %v/s, at most %v/s; %d: %v/s, at most %v/s", fewer, first, last, more, firstOfMore, lastOfMore)
		}
	})
}
