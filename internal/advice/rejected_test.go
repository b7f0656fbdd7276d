package advice_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/plan"
)

// tried asks what became of the deployments that practitioners would try.
func tried(t *testing.T, gpus int, mode advice.Mode, set func(*question.Question)) (map[string]advice.Tried, *advice.Advice) {
	t.Helper()
	q := question.DefaultOf(question.Plan)
	q.GPUs, q.Input, q.Output, q.Mode = gpus, 4000, 1000, mode
	set(&q)
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	o := advice.Options{Search: question.Search{GPUs: gpus, Mode: mode, Objective: advice.Throughput, Top: 100}, GPUsPerNode: 8, Engines: engine.All(), Workers: 2,
		Overlaps: []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}}
	got := advise(t, l, o)
	list, err := advice.Rejected(context.Background(), l, &o, got)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]advice.Tried{}
	for _, one := range list {
		out[one.Name+" "+string(one.Mode)] = one
	}
	return out, got
}

// What lets a deployment through does: asked again with that limit or those weights it is ruled out
// no more. A limit just below does not.
func TestRejectedLets(t *testing.T) {
	long.NotRacing(t)
	llama := func(q *question.Question) { q.Model, q.System, q.TPOT = "Llama-3.1-70B", "H100_SXM", 20 }
	got, _ := tried(t, 8, advice.Aggregated, llama)
	// 70.55 billion weights of two bytes, 131.4 GiB, do not fit into 79.65 GiB.
	one := got["tp1 agg"]
	if one.Rule != "memory" || !slices.Contains(one.Lets, advice.Let{Setting: "weights", Value: "fp8"}) || !slices.Contains(one.Lets, advice.Let{Value: "2 GPUs for an instance"}) {
		t.Errorf("tp1: %+v", one)
	}
	narrow, _ := tried(t, 8, advice.Aggregated, func(q *question.Question) { llama(q); q.Formats.Weights, q.TPOT = "fp8", 0 })
	if narrow["tp1 agg"].Rule != "rank" {
		t.Errorf("tp1 with 8 bits: %+v", narrow["tp1 agg"])
	}
	two := got["tp2 agg"]
	if two.Rule != "TPOT" || len(two.Lets) != 1 || two.Lets[0].Setting != "tpot" {
		t.Fatalf("tp2: %+v", two)
	}
	limit, err := strconv.ParseFloat(two.Lets[0].Value, 64)
	if err != nil || limit <= 20 {
		t.Fatalf("tp2: %+v, %v", two, err)
	}
	for tpot, want := range map[float64]string{limit: "rank", limit - 1: "TPOT"} {
		again, _ := tried(t, 8, advice.Aggregated, func(q *question.Question) { llama(q); q.TPOT = tpot })
		if again["tp2 agg"].Rule != want {
			t.Errorf("--tpot %v: %+v", tpot, again["tp2 agg"])
		}
	}
}

// A deployment that nothing rules out does what its row says.
func TestTriedAsRanked(t *testing.T) {
	long.NotRacing(t)
	got, ranked := tried(t, 16, advice.Aggregated, func(q *question.Question) { q.Model, q.System, q.TPOT, q.Redundant = "DeepSeek-V3", "H200", 60, 0 })
	compared := 0
	for name, words := range map[string]string{"tp8 EP8 agg": "dp2·pp1·tp8 ep8·etp1·edp2", "DEP16 agg": "dp16·pp1·tp1 ep16·etp1·edp1", "tp8 agg": "dp2·pp1·tp8 ep1·etp8·edp2"} {
		for i := range ranked.Ranked {
			c := &ranked.Ranked[i]
			if p := c.Deployment.Pools[0].Plan; p.String() != words {
				continue
			}
			compared++
			if got[name].Rate != c.PerGPU() {
				t.Errorf("%s: %v tokens/s/GPU, its row %v", name, got[name].Rate, c.PerGPU())
			}
			break // behind the best engine, as it was tried; other rows are of other engines
		}
	}
	if compared < 2 {
		t.Errorf("only %d are ranked", compared)
	}
}

// Limits are those of plan, which are words: nothing that is tried does more within them than the
// first row.
func TestTriedWithinGoals(t *testing.T) {
	long.NotRacing(t)
	got, ranked := tried(t, 8, advice.Aggregated, func(q *question.Question) { q.Model, q.System, q.Goals.TPOT = "Llama-3.1-70B", "H100_SXM", "30ms" })
	loose, _ := tried(t, 8, advice.Aggregated, func(q *question.Question) { q.Model, q.System = "Llama-3.1-70B", "H100_SXM" })
	within := 0
	for name, one := range got {
		if one.Rule != "rank" {
			continue
		}
		if best := ranked.Ranked[0].PerGPU(); one.Rate > best*1.001 {
			t.Errorf("%s: %v tokens/s/GPU within the limit, the first row %v", name, one.Rate, best)
		}
		if one.Rate < loose[name].Rate {
			within++
		}
	}
	if within == 0 {
		t.Error("the limit holds nothing back")
	}
}
