package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"throughline/deploy"
	"throughline/internal/test/long"
	"throughline/workload"
)

// linear is steps whose time grows with what they do.
type linear struct{ step, token, key float64 }

func (l linear) Seconds(w *Work) float64 {
	return l.step + l.token*float64(w.Tokens()+w.Decodes) + l.key*(float64(w.Context)+w.Pairs())
}
func (linear) Bounds() []int { return []int{20, 50} }

func drawPolicy(t *rapid.T) Policy {
	p := Policy{
		Scheduling: deploy.Scheduling{
			Prefill:      rapid.SampledFrom([]deploy.Policy{deploy.First, deploy.Chunks, deploy.Prompts}).Draw(t, "prefill"),
			StepTokens:   rapid.IntRange(8, 200).Draw(t, "step tokens"),
			Sequences:    rapid.IntRange(1, 12).Draw(t, "running"),
			StepsAhead:   rapid.IntRange(0, 2).Draw(t, "ahead"),
			PollSteps:    rapid.IntRange(0, 4).Draw(t, "polls"),
			WaitSteps:    rapid.IntRange(0, 3).Draw(t, "waits"),
			BalanceSteps: rapid.IntRange(0, 3).Draw(t, "balances"),
		},
		CutsPrompts: rapid.Bool().Draw(t, "cuts"),
		BlockTokens: rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "block"),
		Watermark:   rapid.SampledFrom([]float64{0, 0.01, 0.1}).Draw(t, "watermark"),
		PrefixCache: rapid.Bool().Draw(t, "prefix cache"),
		SwapSeconds: rapid.SampledFrom([]float64{0, 0, 1e-5}).Draw(t, "swap"),
		Drafts:      rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "drafts"),
		Acceptance:  []float64{0.8, 0.5},
	}
	p.ReservesOutput = p.Drafts == 0 && rapid.Bool().Draw(t, "reserves")
	p.StepTokens = max(p.StepTokens, (1+p.Drafts)*p.Sequences+1)
	p.Blocks = rapid.IntRange(130, 400).Draw(t, "tokens")/p.BlockTokens + 1
	return p
}

func drawTraffic(t *rapid.T) *workload.Traffic {
	f := &workload.Traffic{
		Requests: rapid.IntRange(1, 60).Draw(t, "requests"), Rate: rapid.SampledFrom([]float64{1, 20, math.Inf(1)}).Draw(t, "rate"),
		Arrival: workload.Arrival{Kind: rapid.SampledFrom([]string{"poisson", "constant"}).Draw(t, "arrival")},
		Clients: rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "clients"),
		Input:   workload.Length{Mean: rapid.IntRange(1, 30).Draw(t, "input"), Kind: "uniform"}, Output: workload.Length{Mean: rapid.IntRange(1, 30).Draw(t, "output"), Kind: "uniform"},
		HashTokens: 16, Seed: rapid.Uint64().Draw(t, "seed"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "shares") {
	case 0:
		f.Groups, f.Prefix = 3, 48
	case 1:
		f.Turns, f.Think = 2, 0.05
	}
	return f
}

// drawPool is a few servers, by themselves or as the batches in flight of pipelines.
func drawPool(t *rapid.T) Pool {
	p := Pool{Servers: rapid.IntRange(1, 3).Draw(t, "servers"), Ranks: rapid.IntRange(1, 2).Draw(t, "ranks"), Policy: drawPolicy(t), Times: linear{1e-3, 1e-5, 1e-7}}
	if p.Stages = rapid.IntRange(1, 4).Draw(t, "stages"); p.Stages > 1 {
		p.Servers *= p.Stages
		p.Policy.PipelinesChunks = rapid.Bool().Draw(t, "pipelines chunks")
	}
	return p
}

// TestLaws: whatever the policy, every request ends once, nothing comes before its cause, no bound
// is broken, the same seed gives the same run, and the requests in the system over time are their
// times in it (Little).
func TestLaws(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		traffic := drawTraffic(t)
		o := Options{Seed: 7, Routing: deploy.Routing(rapid.SampledFrom(deploy.Routings).Draw(t, "routing"))}
		pool := drawPool(t)
		o.Pools = []Pool{pool}
		if rapid.Bool().Draw(t, "split") {
			o.Pools[0].Role = deploy.Prefill
			pool.Role, pool.Policy = deploy.Decode, drawPolicy(t)
			o.Pools = append(o.Pools, pool)
			o.Transfer = func(tokens int) (float64, float64) { return 1e-4 * float64(tokens), 1e-5 * float64(tokens) }
			o.HandoverSeconds = 1e-3
		}
		want := traffic.Requests * max(1, traffic.Turns)
		one, first := runLaws(t, o, traffic, want)
		_, second := runLaws(t, o, traffic, want)
		if !bytes.Equal(first, second) {
			t.Fatalf("two runs of one seed differ:\n%s\n%s", first, second)
		}
		if math.Abs(one.Present-one.Residence) > 1e-9*one.Residence {
			t.Fatalf("%v requests · s in the system, %v s in it", one.Present, one.Residence)
		}
	})
}

func runLaws(t *rapid.T, o Options, traffic *workload.Traffic, want int) (*Record, []byte) {
	var b bytes.Buffer
	ended := map[int64]bool{}
	tokens := int64(0)
	var spans []Ended
	o.Each = func(e *Ended) {
		spans = append(spans, *e)
		fmt.Fprintln(&b, *e)
		switch {
		case ended[e.ID]:
			t.Fatalf("request %d ends twice", e.ID)
		case !(e.Arrival <= e.Scheduled && e.Scheduled < e.First && e.First <= e.Finish) || e.Output > 1 && e.First >= e.Finish:
			t.Fatalf("out of order: %+v", e)
		}
		ended[e.ID] = true
		tokens += int64(e.Output)
	}
	o.Watch = func(s *Step) {
		p := &o.Pools[0].Policy
		if len(o.Pools) > 1 && s.Server >= o.Pools[0].Servers {
			p = &o.Pools[1].Policy
		}
		if s.Blocks > p.Blocks || s.Running > p.Sequences || s.End <= s.Start {
			t.Fatalf("%+v of %d blocks and %d requests", s, p.Blocks, p.Sequences)
		}
		if n := s.Work.Tokens() + s.Work.Decodes*(1+p.Drafts); n > p.StepTokens && len(s.Work.Chunks) > 1 {
			t.Fatalf("%d tokens in a step of %d", n, p.StepTokens)
		}
		if s.Work.Bounded[0] > 20*int64(s.Work.Decodes) || s.Work.Bounded[1] > s.Work.Context || s.Work.Bounded[0] > s.Work.Bounded[1] {
			t.Fatalf("bounded contexts %v of %d", s.Work.Bounded, s.Work.Context)
		}
	}
	r, err := Run(context.Background(), o, traffic.Source())
	if err != nil {
		t.Fatal(err)
	}
	if len(ended) != want || r.Requests != int64(want) {
		t.Fatalf("%d of %d requests end", len(ended), want)
	}
	if r.Output != tokens || r.ITL.Weight+r.Requests != tokens {
		t.Fatalf("%d tokens, %d gaps between them and %d first ones", tokens, r.ITL.Weight, r.Requests)
	}
	// Clients have one request under way each, and none while they think.
	for i := range spans {
		n := 0
		for k := range spans {
			if spans[k].Arrival <= spans[i].Arrival && spans[i].Arrival < spans[k].Finish {
				n++
			}
		}
		if traffic.Clients > 0 && n > traffic.Clients {
			t.Fatalf("%d requests of %d clients", n, traffic.Clients)
		}
	}
	// The gaps between tokens make up the time from the first to the last.
	if gaps, spans := r.ITL.Sum, r.E2E.Sum-r.TTFT.Sum; math.Abs(gaps-spans) > 1e-9*(spans+1) {
		t.Fatalf("gaps of %v s, requests decode for %v s", gaps, spans)
	}
	return r, b.Bytes()
}

// queue is one server that takes one request at a time: requests of one output token, and a step
// for each.
func queueOf(t *testing.T, rate float64, n int, service func(tokens float64) float64, input workload.Length) *Record {
	t.Helper()
	table, err := NewTable([]TableRow{{Tokens: 1, Prompts: 1, Seconds: service(1)}, {Tokens: 1000, Prompts: 1, Seconds: service(1000)}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: table, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.First, StepTokens: 1, Sequences: 1}, Blocks: 1 << 30, BlockTokens: 1}}}}
	traffic := workload.Traffic{Requests: n, Rate: rate, Arrival: workload.Arrival{Kind: "poisson"}, Input: input, Output: workload.Length{Mean: 1, Kind: "fixed"}, Seed: 5}
	r, err := Run(context.Background(), o, traffic.Source())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestConstantService: the mean wait of M/D/1 is ρ·s / (2·(1 − ρ)).
func TestConstantService(t *testing.T) {
	for load, n := range map[float64]int{0.5: 1_000_000, 0.8: 2_000_000, 0.95: 12_000_000} {
		if load > 0.9 && !long.Mode() {
			continue
		}
		r := queueOf(t, load, n, func(float64) float64 { return 1 }, workload.Length{Mean: 1, Kind: "fixed"})
		if want := load / (2 * (1 - load)); math.Abs(r.Queued.Mean()/want-1) > 0.02 {
			t.Errorf("load %g: a wait of %v s, want %v s", load, r.Queued.Mean(), want)
		}
		if used := r.Busy(0); math.Abs(used/load-1) > 0.01 {
			t.Errorf("load %g: busy %v", load, used)
		}
	}
}

// TestLognormalService: the mean wait of M/G/1 is λ·E[S²] / (2·(1 − ρ)) (Pollaczek and Khinchine),
// with service times in proportion to log-normal lengths.
func TestLognormalService(t *testing.T) {
	input := workload.Length{Mean: 500, Kind: "lognormal", By: 0.8}
	random := rand.New(rand.NewPCG(5, 1)) // as the traffic draws them
	var n, sum, squares float64
	for range 2_000_000 {
		s := 1e-3 * float64(input.Draw(random))
		n++
		sum += s
		squares += s * s
	}
	mean := sum / n
	for _, load := range []float64{0.5, 0.8} {
		rate := load / mean
		r := queueOf(t, rate, 2_000_000, func(tokens float64) float64 { return 1e-3 * tokens }, input)
		if want := rate * squares / n / (2 * (1 - load)); math.Abs(r.Queued.Mean()/want-1) > 0.02 {
			t.Errorf("load %g: a wait of %v s, want %v s", load, r.Queued.Mean(), want)
		}
	}
}

// TestWorkIsConserved: where no wait is configured, a server steps as long as it has requests: it
// is idle only when nobody is in the system.
func TestWorkIsConserved(t *testing.T) {
	for _, prefill := range []deploy.Policy{deploy.First, deploy.Chunks, deploy.Prompts} {
		var busy []Step
		o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: linear{1e-3, 1e-4, 1e-7}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: prefill, StepTokens: 64, Sequences: 8}, Blocks: 100, BlockTokens: 4}}}}
		o.Watch = func(s *Step) { busy = append(busy, Step{Start: s.Start, End: s.End}) }
		var spans []Ended
		o.Each = func(e *Ended) { spans = append(spans, *e) }
		traffic := workload.Traffic{Requests: 300, Rate: 60, Arrival: workload.Arrival{Kind: "poisson"}, Input: workload.Length{Mean: 40, Kind: "uniform"}, Output: workload.Length{Mean: 20, Kind: "uniform"}, Seed: 3}
		if _, err := Run(context.Background(), o, traffic.Source()); err != nil {
			t.Fatal(err)
		}
		idle := 0
		for i := 1; i < len(busy); i++ {
			from, to := busy[i-1].End, busy[i].Start
			if to < from {
				t.Fatalf("%s: two steps at a time", prefill)
			}
			if to == from {
				continue
			}
			idle++
			for _, e := range spans {
				if e.Arrival < to && e.Finish > from {
					t.Errorf("%s: idle from %v to %v while a request of %v to %v is there", prefill, from, to, e.Arrival, e.Finish)
				}
			}
		}
		if idle < 5 {
			t.Errorf("%s: %d pauses tell nothing", prefill, idle)
		}
	}
}

// TestPrefixesUnderWay: requests that a steady run begins with have tokens from before it, which
// are in no block of the prefix cache; those that follow find the 512 tokens that prompts begin
// with, whose 51 ms their first tokens then come earlier at least.
func TestPrefixesUnderWay(t *testing.T) {
	for _, prefill := range []deploy.Policy{deploy.First, deploy.Chunks, deploy.Prompts} {
		var ttft [2]float64
		for i, kept := range []bool{false, true} {
			o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: linear{1e-3, 1e-4, 1e-7},
				Policy: Policy{Scheduling: deploy.Scheduling{Prefill: prefill, StepTokens: 1024, Sequences: 16}, Blocks: 1000, BlockTokens: 16, PrefixCache: kept}}}}
			traffic := workload.Traffic{Requests: 200, Rate: math.Inf(1), Clients: 4, Steady: true, Groups: 2, Prefix: 512, HashTokens: 16,
				Input: workload.Length{Mean: 600}, Output: workload.Length{Mean: 50}, Seed: 3}
			o.Settle(&traffic)
			r, err := Run(context.Background(), o, traffic.Source())
			if err != nil {
				t.Fatal(err)
			}
			ttft[i] = r.TTFT.Mean()
		}
		if !(ttft[1] < ttft[0]-512*1e-4) {
			t.Errorf("%s: first tokens after %v s, without shared blocks after %v", prefill, ttft[1], ttft[0])
		}
	}
}

// TestReplicas: every replica gets work under every routing, and about as much under those that
// look at the load.
func TestReplicas(t *testing.T) {
	for _, routing := range deploy.Routings {
		o := Options{Routing: deploy.Routing(routing), Pools: []Pool{{Servers: 4, Ranks: 1, Times: linear{1e-3, 1e-4, 1e-7},
			Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 256, Sequences: 16}, Blocks: 1000, BlockTokens: 16, PrefixCache: true}}}}
		seconds := map[int]float64{}
		o.Watch = func(s *Step) { seconds[s.Server] += s.End - s.Start }
		traffic := workload.Traffic{Requests: 2000, Rate: 60, Arrival: workload.Arrival{Kind: "poisson"}, Groups: 40, Prefix: 64, HashTokens: 16,
			Input: workload.Length{Mean: 100, Kind: "lognormal", By: 1}, Output: workload.Length{Mean: 60, Kind: "lognormal", By: 1}, Seed: 3}
		if _, err := Run(context.Background(), o, traffic.Source()); err != nil {
			t.Fatal(err)
		}
		low, high := math.Inf(1), 0.0
		for i := range 4 {
			low, high = min(low, seconds[i]), max(high, seconds[i])
		}
		if low == 0 || low < 0.5*high {
			t.Errorf("%s: from %v s to %v s of work", routing, low, high)
		}
	}
}

// TestLeastLoadedCountsPrompts: a prompt that is being computed is a load. The first request takes
// 100 s on one server; the second has ended on the other when the third comes, which goes there.
func TestLeastLoadedCountsPrompts(t *testing.T) {
	for _, p := range []deploy.Policy{deploy.First, deploy.Chunks, deploy.Prompts} {
		o := Options{Routing: deploy.LeastLoaded, Pools: []Pool{{Servers: 2, Ranks: 1, Times: linear{0, 1, 0},
			Policy: Policy{Scheduling: deploy.Scheduling{Prefill: p, StepTokens: 1024, Sequences: 8}, Blocks: 1000, BlockTokens: 16}}}}
		var got []int
		o.Watch = func(s *Step) { got = append(got, s.Server) }
		mustRun(t, o, &workload.List{Requests: []workload.Request{{Input: 100, Output: 1}, {Arrival: 1, Input: 1, Output: 1}, {Arrival: 3, Input: 1, Output: 1}}})
		if want := []int{0, 1, 1}; !slices.Equal(got, want) {
			t.Errorf("%s: steps on servers %v, want %v", p, got, want)
		}
	}
}

// TestBandwidthDoesNotHurt: the mean times do not grow where every step is shorter.
func TestBandwidthDoesNotHurt(t *testing.T) {
	for _, prefill := range []deploy.Policy{deploy.First, deploy.Chunks, deploy.Prompts} {
		last := math.Inf(1)
		for _, speed := range []float64{1, 1.25, 1.5, 2, 4} {
			o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: linear{1e-3, 1e-4, 1e-6 / speed}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: prefill, StepTokens: 512, Sequences: 32}, Blocks: 1 << 20, BlockTokens: 16}}}}
			traffic := workload.Traffic{Requests: 3000, Rate: 20, Arrival: workload.Arrival{Kind: "poisson"}, Input: workload.Length{Mean: 200, Kind: "uniform"}, Output: workload.Length{Mean: 80, Kind: "uniform"}, Seed: 3}
			r, err := Run(context.Background(), o, traffic.Source())
			if err != nil {
				t.Fatal(err)
			}
			if mean := r.E2E.Mean(); mean > last {
				t.Errorf("%s: %v s at a speed of %g, %v s below it", prefill, mean, speed, last)
			} else {
				last = mean
			}
		}
	}
}

// TestRefusals: what can never run is refused with the reason.
func TestRefusals(t *testing.T) {
	policy := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 8, Sequences: 4}, Blocks: 6, BlockTokens: 4}
	run := func(change func(*Options), list ...workload.Request) error {
		o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Policy: policy, Times: second{}}}}
		if change != nil {
			change(&o)
		}
		_, err := Run(context.Background(), o, &workload.List{Requests: list})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"long":     {run(nil, workload.Request{Input: 20, Output: 6}), "request 0: 20 + 6 tokens can never run: the KV cache of a rank holds 24"},
		"fits":     {run(nil, workload.Request{Input: 20, Output: 5}), ""},
		"empty":    {run(nil, workload.Request{Output: 6}), "request 0: input and output must be at least 1 token, not 0 and 6"},
		"nan":      {run(nil, workload.Request{Arrival: math.NaN(), Input: 1, Output: 6}), "request 0: an arrival must be a time from 0 on, not NaN"},
		"back":     {run(nil, workload.Request{Arrival: 2, Input: 1, Output: 6}, workload.Request{Arrival: 1, Input: 1, Output: 1}), "request 1 arrives at 1 s, before the one in front of it"},
		"none":     {run(func(o *Options) { o.Pools[0].Servers = 0 }), "the aggregated pool needs at least 1 replica of 1 rank, not 0 of 1"},
		"blocks":   {run(func(o *Options) { o.Pools[0].Policy.Blocks = 0 }), "the KV cache has no room for a block"},
		"hashes":   {run(nil, workload.Request{Input: 8, Output: 1, Hashes: []uint64{1}, HashTokens: 6}), "request 0: blocks of 6 tokens share prefixes; it must be a multiple of the 4 tokens of a cache block"},
		"negative": {run(func(o *Options) { o.Pools[0].Times = linear{step: math.NaN()} }, workload.Request{Input: 8, Output: 1}), "a step takes no number of seconds"},
	} {
		if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
}

// TestStuck: a run that can never end says so, and what it waits for.
func TestStuck(t *testing.T) {
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: second{}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.First, StepTokens: 8, Sequences: 4}, Blocks: 6, BlockTokens: 4, Watermark: 0}}}}
	k := newRank(&o.Pools[0].Policy, &jobs{}, nil, nil)
	r := &run{Options: o, servers: []*server{{ranks: []*rank{k}}}}
	k.jobs.add(workload.Request{Input: 3, Output: 2}, 0)
	k.waiting.push(0)
	k.blocked = Cache
	if err := r.stuck(); !errors.Is(err, ErrStuck) || err.Error() != "the run can never end: request 0 of 3 + 2 tokens waits for the KV cache, and nothing runs" {
		t.Error(err)
	}
}

// replayed is a clock that replays the steps of a run.
type replayed []Step

func (p replayed) Start(step int, _ float64) float64  { return p[step].Start }
func (p replayed) End(step int, _, _ float64) float64 { return p[step].End }

// TestReplay: a run on the recorded times of another, without its times of steps, gives the same
// bytes.
func TestReplay(t *testing.T) {
	for _, prefill := range []deploy.Policy{deploy.First, deploy.Chunks, deploy.Prompts} {
		run := func(times Times, clock Clock) (string, replayed) {
			var b strings.Builder
			var steps replayed
			o := Options{Clock: clock, Pools: []Pool{{Servers: 1, Ranks: 1, Times: times, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: prefill, StepTokens: 64, Sequences: 8}, Blocks: 30, BlockTokens: 4}}}}
			o.Watch = func(s *Step) {
				steps = append(steps, *s)
				fmt.Fprintf(&b, "%+v %+v\n", [...]float64{s.Start, s.End}, *s.Work)
			}
			o.Each = func(e *Ended) { fmt.Fprintf(&b, "%+v\n", *e) }
			traffic := workload.Traffic{Requests: 300, Rate: 60, Arrival: workload.Arrival{Kind: "poisson"}, Input: workload.Length{Mean: 40, Kind: "uniform"}, Output: workload.Length{Mean: 20, Kind: "uniform"}, Seed: 3}
			if _, err := Run(context.Background(), o, traffic.Source()); err != nil {
				t.Fatal(err)
			}
			return b.String(), steps
		}
		first, steps := run(linear{1e-3, 1e-4, 1e-7}, nil)
		if again, _ := run(second{}, steps); strings.ReplaceAll(again, "Bounded:[]", "") != dropBounded(first) {
			t.Errorf("%s: the replay differs", prefill)
		}
	}
}

// dropBounded leaves out sums that only some times ask for.
func dropBounded(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "Bounded:[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "]")
	}
}
