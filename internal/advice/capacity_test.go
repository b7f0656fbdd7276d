package advice

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/internal/test/racing"
	"throughline/plan"
	"throughline/search"
	"throughline/serving/simulate"
	"throughline/workload"
)

// capacityCase is a question of the fewest processors, or the best on some.
type capacityCase struct {
	model, system, weights, engine string
	input, output                  int
	lengths, arrival, trace        string
	rate                           float64
	ttft, tpot                     string
	mode                           Mode
	objective                      Objective
	gpus                           int
	long                           bool
}

// capacityCases are those of the test, and with more time what the documentation answers for.
var capacityCases = []capacityCase{
	{model: "Llama-3.1-8B", system: "L40S", engine: "vllm", input: 500, output: 100, rate: 20, ttft: "p99:500ms", tpot: "p95:60ms", mode: Aggregated, gpus: 64},
	{model: "Llama-3.1-8B", system: "H100_SXM", engine: "sglang", input: 2000, output: 60, lengths: "uniform:0.3", arrival: "gamma:2", rate: 30, ttft: "p95:600ms", tpot: "p95:40ms", mode: Disaggregated, gpus: 64},
	{model: "Qwen3-30B-A3B", system: "H100_SXM", engine: "any", input: 1000, output: 100, rate: 60, ttft: "p99:1s", tpot: "mean:20ms", mode: Both, gpus: 64},
	{model: "Llama-3.1-8B", system: "H100_SXM", engine: "sglang", input: 2000, output: 60, lengths: "uniform:0.3", arrival: "gamma:2", rate: 30, ttft: "p95:400ms", tpot: "p95:40ms", mode: Disaggregated, gpus: 64, long: true},
	{model: "Llama-3.1-70B", system: "H100_SXM", weights: "fp8", engine: "any", input: 1000, output: 300, rate: 50, ttft: "p99:2s", tpot: "p95:50ms", mode: Both, gpus: 512, long: true},
	{model: "Qwen3-32B", system: "H200", engine: "any", input: 4000, output: 500, rate: 10, ttft: "p99:2s", tpot: "p95:50ms", mode: Both, gpus: 512, long: true},
	{model: "DeepSeek-V3", system: "H200", engine: "any", input: 2000, output: 500, rate: 40, ttft: "p99:2s", tpot: "p95:50ms", mode: Aggregated, gpus: 512, long: true},
	{model: "DeepSeek-V3", system: "H200", engine: "any", input: 2000, output: 500, rate: 40, ttft: "p99:2s", tpot: "p95:50ms", mode: Disaggregated, gpus: 512, long: true},
}

func (c *capacityCase) give(t testing.TB) (*Advice, *Demand) {
	t.Helper()
	q := question.DefaultOf(question.Plan)
	q.In = files.Machine
	q.Model, q.System, q.Formats.Weights, q.Engine, q.Input, q.Output = c.model, c.system, c.weights, c.engine, c.input, c.output
	q.Distribution, q.Rate, q.Goals, q.Mode, q.GPUs = c.lengths, c.rate, question.Goals{TTFT: c.ttft, TPOT: c.tpot}, c.mode, c.gpus
	q.Traffic.Trace = c.trace
	if c.arrival != "" {
		q.Traffic.Arrival = c.arrival
	}
	q.Objective = MinGPUs
	if c.objective != "" {
		q.Objective = c.objective
	}
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDemand(l)
	if err != nil {
		t.Fatal(err)
	}
	engines, err := engine.Choices(q.Engine)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Give(context.Background(), l, Options{
		Search: question.Search{GPUs: q.GPUs, Mode: q.Mode, Objective: q.Objective, Rate: q.Rate, Top: 3}, GPUsPerNode: q.GPUsPerNode, Engines: engines, Workers: 2, Demand: d,
		Redundant: search.Range{High: q.Redundant}, Overlaps: []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch},
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, d
}

// heldIn is how many of 20 runs of a deployment hold, as simulate tells it, with random numbers
// that no search has seen.
func heldIn(t testing.TB, d *Demand, on *deploy.Deployment, requests int) (held int) {
	t.Helper()
	trial, err := d.trial(on, nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		o := trial.Options
		o.Seed = 5000 + seed
		source, err := trial.Source(d.Rate, o.Seed, requests)
		if err != nil {
			t.Fatal(err)
		}
		record, err := simulate.Run(context.Background(), o, source)
		if err != nil {
			t.Fatal(err)
		}
		if r := (&simulate.Result{Record: record, Terms: workload.Terms{Traffic: workload.Traffic{Rate: d.Rate}, TTFT: d.TTFT, TPOT: d.TPOT}}); r.Holds() {
			held++
		}
	}
	return held
}

// oneFewer is the deployments with one instance less, by the pool that has it.
func oneFewer(d *deploy.Deployment) map[string]*deploy.Deployment {
	out := map[string]*deploy.Deployment{}
	for i := range d.Pools {
		less := *d
		less.Pools = slices.Clone(d.Pools)
		p := &less.Pools[i]
		servers := p.Plan.Attention.DP
		if p.Plan.Experts.EP > 0 {
			servers = p.Plan.Experts.DP
		}
		switch {
		case p.Count > 1:
			p.Count--
		case p.Role == deploy.Both && servers > 1:
			p.Plan.Attention.DP = p.Plan.Attention.DP / servers * (servers - 1)
			p.Plan.Experts.DP = p.Plan.Experts.DP / servers * (servers - 1)
		default:
			continue
		}
		out[p.Role.String()] = &less
	}
	return out
}

// TestCapacityHolds: with 20 other seeds the answer holds in 19, and one instance fewer fails in
// 15.
func TestCapacityHolds(t *testing.T) {
	if racing.Enabled {
		t.Skip("too slow under the race detector")
	}
	for _, c := range capacityCases {
		if c.long && !long.Mode() {
			continue
		}
		t.Run(fmt.Sprintf("%s %s", c.model, c.mode), func(t *testing.T) {
			got, d := c.give(t)
			if len(got.Ranked) == 0 {
				t.Fatal(got.Reasons)
			}
			best := &got.Ranked[0]
			at := best.Capacity
			if !at.Holds || at.Runs != simulate.Replications || at.TTFT.P99Low > at.TTFT.P99 || at.TTFT.P99High < at.TTFT.P99 || best.Requests != c.rate {
				t.Errorf("%+v", at)
			}
			held := heldIn(t, d, &best.Deployment, at.Requests)
			t.Logf("%d processors, %s: holds in %d of 20 runs of %d requests", best.Procs, best.name(), held, at.Requests)
			if held < 19 {
				t.Errorf("the answer holds in %d of 20 runs", held)
			}
			for pool, less := range oneFewer(&best.Deployment) {
				held := heldIn(t, d, less, at.Requests)
				t.Logf("one fewer, %s: holds in %d of 20", pool, held)
				if held > 5 {
					t.Errorf("with one instance fewer, %s, it holds in %d of 20 runs", pool, held)
				}
			}
		})
	}
}

// TestCapacityOnGiven: on a given number of processors the best holds with the most to spare, and
// the same question has the same answer on any number of workers.
func TestCapacityOnGiven(t *testing.T) {
	if racing.Enabled {
		t.Skip("too slow under the race detector; TestInterrupted has the same workers")
	}
	c := capacityCase{model: "Llama-3.1-8B", system: "L40S", engine: "vllm", input: 500, output: 50, rate: 10, ttft: "p99:500ms", tpot: "p95:60ms", mode: Both, gpus: 4, objective: Throughput}
	got, _ := c.give(t)
	if len(got.Ranked) < 2 {
		t.Fatalf("%d rows, %v", len(got.Ranked), got.Reasons)
	}
	for i := range got.Ranked {
		at := got.Ranked[i].Capacity
		if !at.Holds || at.First == "" || i > 0 && at.Headroom > got.Ranked[i-1].Capacity.Headroom {
			t.Errorf("row %d: %+v", i, at)
		}
	}
	c.objective = Latency
	if got, _ := c.give(t); got.Ranked[0].Latency > got.Ranked[1].Latency {
		t.Error("the first row does not have the shortest requests")
	}
}

// TestCapacityOutOfReach: where nothing holds, the answer says which rate does and what breaks
// above it.
func TestCapacityOutOfReach(t *testing.T) {
	long.NotRacing(t)
	c := capacityCase{model: "Llama-3.1-8B", system: "L40S", engine: "vllm", input: 500, output: 50, rate: 500, ttft: "p99:500ms", tpot: "p95:60ms", mode: Aggregated, gpus: 2}
	got, _ := c.give(t)
	if len(got.Ranked) > 0 || len(got.Reasons) != 1 || !strings.Contains(got.Reasons[0], "holds them at") || !strings.Contains(got.Reasons[0], "above that") {
		t.Errorf("%d rows, %q", len(got.Ranked), got.Reasons)
	}
	c.ttft = "p99:1ms"
	if got, _ := c.give(t); len(got.Ranked) > 0 || len(got.Reasons) == 0 {
		t.Errorf("%d rows, %q", len(got.Ranked), got.Reasons)
	}
}

// TestCapacityOfTrace: the requests are those of the trace, at its own rate.
func TestCapacityOfTrace(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": 40, \"hash_ids\": [%d]}\n", 100*i, 512+i%300, i%7)
	}
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	c := capacityCase{model: "Llama-3.1-8B", system: "L40S", engine: "vllm", trace: name, ttft: "p99:500ms", tpot: "p95:60ms", mode: Aggregated, gpus: 8}
	got, d := c.give(t)
	if len(got.Ranked) == 0 {
		t.Fatal(got.Reasons)
	}
	if at := got.Ranked[0].Capacity; at.Requests != 2000 || at.Runs != 1 || !at.Holds || d.Rate < 9.9 || d.Rate > 10.1 {
		t.Errorf("%+v at %g", at, d.Rate)
	}
}

// TestTimesOfOneInstance: what steps of a shape take does not depend on its instances, for which
// their table is shared.
func TestTimesOfOneInstance(t *testing.T) {
	long.NotRacing(t)
	c := capacityCases[2]
	got, d := c.give(t)
	for _, row := range got.Ranked {
		alone, err := d.trial(&row.Deployment, nil)
		if err != nil {
			t.Fatal(err)
		}
		for pool, less := range oneFewer(&row.Deployment) {
			other, err := d.trial(less, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range alone.Options.Pools {
				for _, w := range []simulate.Work{{Decodes: 7, Context: 9000}, {Chunks: []simulate.Chunk{{New: 900, Ends: true}}}, {Decodes: 3, Context: 2500, Chunks: []simulate.Chunk{{New: 300, Past: 600}}}} {
					if a, b := alone.Options.Pools[i].Times.Seconds(&w), other.Options.Pools[i].Times.Seconds(&w); a != b {
						t.Errorf("%s, one fewer %s: a step takes %g s, and %g", row.name(), pool, a, b)
					}
				}
			}
		}
	}
}

// TestInterrupted: whoever interrupts a search gets the best so far, marked as such, or the
// interruption where there is nothing yet.
func TestInterrupted(t *testing.T) {
	long.NotRacing(t)
	for _, c := range []struct {
		name      string
		goal      string
		objective Objective
		rate      float64
		gpus      int
	}{{"closed form", "60", Throughput, 10, 32}, {"fewest", "60", MinGPUs, 300, 32}, {"capacity", "p95:60ms", MinGPUs, 10, 4}, {"capacity on some", "p95:60ms", Throughput, 10, 2}} {
		t.Run(c.name, func(t *testing.T) {
			q := question.DefaultOf(question.Plan)
			q.In = files.Machine
			q.Model, q.System, q.Input, q.Output, q.Rate, q.GPUs, q.Objective = "Qwen3-30B-A3B", "H100_SXM", 1000, 50, c.rate, c.gpus, c.objective
			q.Goals.TPOT = c.goal
			l, err := q.Load()
			if err != nil {
				t.Fatal(err)
			}
			d, err := NewDemand(l)
			if err != nil {
				t.Fatal(err)
			}
			engines, err := engine.Choices("vllm")
			if err != nil {
				t.Fatal(err)
			}
			// give is the answer of a search that is interrupted when so many parts of its work are
			// done.
			give := func(after int) (*Advice, int, error) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				all := 0
				got, err := Give(ctx, l, Options{Search: question.Search{GPUs: c.gpus, Mode: Both, Objective: c.objective, Rate: q.Rate, Top: 2}, GPUsPerNode: 8, Engines: engines, Workers: 1, Demand: d,
					Progress: func(_, done int) {
						if all += done; all >= after {
							cancel()
						}
					}})
				return got, all, err
			}
			whole, parts, err := give(1 << 30)
			if err != nil || whole.Partial || len(whole.Ranked) == 0 {
				t.Fatalf("%v, %+v", err, whole)
			}
			partial := 0
			for _, after := range []int{1, parts / 2, parts - 2} {
				got, _, err := give(after)
				switch {
				case err != nil && got == nil:
				case err != nil || !got.Partial || len(got.Ranked) == 0 || got.Ranked[0].Decoding() == nil:
					t.Errorf("after %d of %d: %v, %+v", after, parts, err, got)
				default:
					partial++
				}
			}
			if partial == 0 {
				t.Error("no interruption gave anything")
			}
		})
	}
}
