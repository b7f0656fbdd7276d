package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/internal/files"
	"throughline/workload"
)

func mustRun(t testing.TB, o Options, s workload.Source) *Record {
	t.Helper()
	r, err := Run(context.Background(), o, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPrefixCache: of three requests with a common prefix of 8 tokens and a fourth without, the
// second and third compute only what is theirs. When the cache is needed for a large one, the
// prefix goes.
func TestPrefixCache(t *testing.T) {
	p := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 64, Sequences: 4}, Blocks: 8, BlockTokens: 4, PrefixCache: true}
	prefix := func(at float64, input int) workload.Request {
		return workload.Request{Arrival: at, Input: input, Output: 1, Chain: 9, Shared: 8, HashTokens: 4}
	}
	steps, _ := drawnSteps(t, p, []workload.Request{prefix(0, 10), prefix(2, 12), prefix(4, 8), {Arrival: 6, Input: 30, Output: 1}, prefix(8, 10)})
	// The third is the prefix itself: its last block is computed again, for one token at least has
	// to be.
	want := "0: 0 decode (0) +10@0, 0 wait, 3 blocks\n2: 0 decode (0) +4@8, 0 wait, 3 blocks\n4: 0 decode (0) +4@4, 0 wait, 2 blocks\n" +
		"6: 0 decode (0) +30@0, 0 wait, 8 blocks\n8: 0 decode (0) +10@0, 0 wait, 3 blocks\n"
	if steps != want {
		t.Errorf("steps\n%s\nwant\n%s", steps, want)
	}
}

// TestConversations: a turn finds all that was said before in the cache, but for what is left of a
// block.
func TestConversations(t *testing.T) {
	traffic := workload.Traffic{Requests: 5, Rate: 1, Arrival: workload.Arrival{Kind: "constant"}, Input: workload.Length{Mean: 100, Kind: "fixed"}, Output: workload.Length{Mean: 60, Kind: "fixed"}, Turns: 3, Think: 1, HashTokens: 16}
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: linear{1e-3, 0, 0}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 512, Sequences: 4}, Blocks: 1000, BlockTokens: 16, PrefixCache: true}}}}
	r := mustRun(t, o, traffic.Source())
	// Prompts of 100, 260 and 420 tokens. After the first turn 159 tokens are in the cache, 9
	// blocks of 16; after the second 319, 19 blocks.
	if want := int64(5 * (100 + 260 - 9*16 + 420 - 19*16)); r.Requests != 15 || r.Computed != want {
		t.Errorf("%d requests, %d tokens computed, want %d", r.Requests, r.Computed, want)
	}
	if want := int64(5 * (9 + 19) * 16); r.HitTokens != want {
		t.Errorf("%d tokens hit, want %d", r.HitTokens, want)
	}
}

// TestDrafts: a step yields 1 + a + a·b tokens on average.
func TestDrafts(t *testing.T) {
	p := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 1024, Sequences: 8}, Blocks: 1 << 20, BlockTokens: 16, Drafts: 2, Acceptance: []float64{0.8, 0.5}}
	o := Options{Seed: 3, Pools: []Pool{{Servers: 1, Ranks: 1, Times: second{}, Policy: p}}}
	decodes := 0
	o.Watch = func(s *Step) { decodes += s.Work.Decodes }
	traffic := workload.Traffic{Requests: 8, Rate: math.Inf(1), Input: workload.Length{Mean: 10, Kind: "fixed"}, Output: workload.Length{Mean: 20_001, Kind: "fixed"}}
	r := mustRun(t, o, traffic.Source())
	if got, want := float64(r.Output-8)/float64(decodes), 1+0.8+0.4; math.Abs(got/want-1) > 0.005 {
		t.Errorf("%v tokens a step, want %v", got, want)
	}
	if got := r.ITL.Mean(); math.Abs(got*2.2-1) > 0.005 {
		t.Errorf("%v s between tokens of steps of 1 s", got)
	}
}

// TestRanksWait: two ranks of one server step together, as long as the slower one takes; two
// servers do not.
func TestRanksWait(t *testing.T) {
	long, short := workload.Request{Input: 100, Output: 5}, workload.Request{Input: 1, Output: 5}
	for _, c := range []struct{ servers, ranks int }{{1, 2}, {2, 1}} {
		o := Options{Pools: []Pool{{Servers: c.servers, Ranks: c.ranks, Times: linear{0, 1, 0}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 1024, Sequences: 8}, Blocks: 1000, BlockTokens: 16}}}}
		ends := map[int64]float64{}
		o.Each = func(e *Ended) { ends[e.ID] = e.Finish }
		mustRun(t, o, &workload.List{Requests: []workload.Request{long, short}})
		// Prompts of 100 s and 1 s, then four steps of 1 s.
		want := map[int64]float64{0: 104, 1: 5}
		if c.ranks == 2 {
			want[1] = 104
		}
		if ends[0] != want[0] || ends[1] != want[1] {
			t.Errorf("%d servers of %d ranks: ends at %v, want %v", c.servers, c.ranks, ends, want)
		}
	}
}

// TestPools: two prefill servers and one that decodes. Transfers of 2 s each, of which half a
// second is left when a prefill ends, share the link of the decode server.
func TestPools(t *testing.T) {
	policy := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 1024, Sequences: 8}, Blocks: 1000, BlockTokens: 16}
	o := Options{
		FrontEnd: deploy.FrontEnd{HandoverSeconds: 0.25},
		Pools:    []Pool{{Role: deploy.Prefill, Servers: 2, Ranks: 1, Policy: policy, Times: second{}}, {Role: deploy.Decode, Servers: 1, Ranks: 1, Policy: policy, Times: second{}}},
		Transfer: func(int) (float64, float64) { return 2, 0.5 },
	}
	var got []string
	o.Each = func(e *Ended) { got = append(got, fmt.Sprintf("%d: %g-%g", e.ID, e.First, e.Finish)) }
	mustRun(t, o, &workload.List{Requests: []workload.Request{{Input: 10, Output: 3}, {Input: 10, Output: 3}, {Input: 10, Output: 1}}})
	// The prompts of the first and the third share a step, so that all three end at 1. The link was
	// free: it takes the first until 2, the third, from the same server, until 4, and the second
	// until 6.
	want := []string{"0: 2.25-4.25", "1: 6.25-8.25", "2: 4.25-4.25"}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFewestFirst: of two ranks one has a long answer when the third request comes, whose turn it
// would be. Caches that are on their way to a rank count: four that leave at once go two and two.
func TestFewestFirst(t *testing.T) {
	policy := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 100, Sequences: 8}, Blocks: 1000, BlockTokens: 16}
	for _, fewest := range []bool{false, true} {
		o := Options{Pools: []Pool{{Servers: 1, Ranks: 2, Fewest: fewest, Policy: policy, Times: second{}}}}
		ranks := map[int64]int{}
		o.Each = func(e *Ended) { ranks[e.ID] = e.Began.Rank }
		mustRun(t, o, &workload.List{Requests: []workload.Request{{Input: 10, Output: 50}, {Input: 10, Output: 2}, {Arrival: 10, Input: 10, Output: 50}}})
		if want := map[bool]int{true: 1}[fewest]; ranks[0] != 0 || ranks[1] != 1 || ranks[2] != want {
			t.Errorf("fewest first %v: ranks %v", fewest, ranks)
		}
	}
	prefill := Pool{Role: deploy.Prefill, Servers: 1, Ranks: 1, Policy: policy, Times: second{}}
	o := Options{Pools: []Pool{prefill, {Role: deploy.Decode, Servers: 1, Ranks: 2, Fewest: true, Policy: policy, Times: second{}}},
		Transfer: func(int) (float64, float64) { return 5, 5 }}
	took := map[int]int{}
	o.Each = func(e *Ended) { took[e.Ended.Rank]++ }
	mustRun(t, o, &workload.List{Requests: slices.Repeat([]workload.Request{{Input: 10, Output: 9}}, 4)})
	if took[0] != 2 || took[1] != 2 {
		t.Errorf("ranks took %v caches", took)
	}
}

// TestScattered: of 400 prompts of a second each that come at once, two servers get 200 each. Their
// four ranks take 50 each, and 50 s, where these take turns; at random they take 50 with a standard
// deviation of √(200·¼·¾) = 6.1, and the last prompt of a server ends later.
func TestScattered(t *testing.T) {
	for _, scatters := range []bool{false, true} {
		policy := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 10, Sequences: 1000}, Blocks: 1000, BlockTokens: 16}
		o := Options{
			Pools: []Pool{{Role: deploy.Prefill, Servers: 2, Ranks: 4, Scatters: scatters, Policy: policy, Times: second{}},
				{Role: deploy.Decode, Servers: 1, Ranks: 1, Policy: policy, Times: second{}}},
			Transfer: func(int) (float64, float64) { return 0, 0 },
		}
		took, last := map[Place]int{}, 0.0
		o.Each = func(e *Ended) {
			took[e.Began]++
			last = max(last, e.Finish)
		}
		mustRun(t, o, &workload.List{Requests: slices.Repeat([]workload.Request{{Input: 10, Output: 1}}, 400)})
		servers, uneven := map[int]int{}, false
		for at, n := range took {
			servers[at.Server] += n
			uneven = uneven || n != 50
			if math.Abs(float64(n)-50) > 5*6.1 {
				t.Errorf("scatters %v: %v took %d of 200 prompts", scatters, at, n)
			}
		}
		if servers[0] != 200 || servers[1] != 200 || uneven != scatters || (last > 50) != scatters {
			t.Errorf("scatters %v: servers took %v, ranks %v, until %g s", scatters, servers, took, last)
		}
	}
}

// TestDistribution: quantiles are those of numpy.percentile, and within 0.05% where values are
// counted in buckets.
func TestDistribution(t *testing.T) {
	var d Distribution
	d.Add(4, 1)
	d.Add(1, 2)
	d.Add(10, 1)
	// 1, 1, 4, 10: the middle is half of the way from 1 to 4, three quarters a quarter of the way
	// from 4 to 10.
	for share, want := range map[float64]float64{0: 1, 0.5: 2.5, 0.75: 5.5, 1: 10} {
		if got := d.Quantile(share); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %g: %v, want %v", share, got, want)
		}
	}
	if d.Mean() != 4 || d.Above(4) != 0.25 {
		t.Errorf("mean %v, %v above 4", d.Mean(), d.Above(4))
	}
	var many Distribution
	var all []float64
	random := rand.New(rand.NewPCG(1, 1))
	for range 300_000 {
		v := math.Exp(5*random.NormFloat64() - 5)
		many.Add(v, 1)
		all = append(all, v)
	}
	slices.Sort(all)
	for _, share := range []float64{0, 0.01, 0.5, 0.99, 0.9999, 1} {
		at := share * float64(len(all)-1)
		low, high := all[int(at)], all[int(math.Ceil(at))]
		if want := low + (at-math.Floor(at))*(high-low); math.Abs(many.Quantile(share)/want-1) > 5e-4 && want > 1e-9 {
			t.Errorf("quantile %g: %v, want %v", share, many.Quantile(share), want)
		}
	}
}

// TestIntervals: intervals of batch means cover the true mean of a series whose values depend on
// each other in about 95 of 100 cases, and a start that is far off is left out.
func TestIntervals(t *testing.T) {
	covered, trials := 0, 400
	for seed := range trials {
		var b BatchMeans
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		x := 0.0
		for range 20_000 {
			x = 0.9*x + random.NormFloat64()
			b.Add(x + 5)
		}
		if i := b.Interval(0); math.Abs(i.Mean-5) <= i.Half {
			covered++
		}
	}
	if share := float64(covered) / float64(trials); share < 0.92 || share > 0.98 {
		t.Errorf("%v of the intervals cover the mean", share)
	}
	var b BatchMeans
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 6400 {
		v := random.NormFloat64()
		if i < 1000 {
			v += 20
		}
		b.Add(v)
	}
	n, size := b.Batches()
	if skip := b.WarmUp(); int64(skip)*size < 1000 || int64(skip)*size > 1600 || n < 32 {
		t.Errorf("%d of %d batches of %d are left out", skip, n, size)
	}
	// Quantiles of Student's t in tables: 2.262, 2.042.
	if got := []float64{student(9), student(30)}; math.Abs(got[0]-2.262) > 0.002 || math.Abs(got[1]-2.042) > 0.001 {
		t.Error(got)
	}
}

// TestShortRunsSayLittle: waiting times of an M/D/1 queue at a load of 0.8, which starts empty. A
// hundred requests give no interval; of a thousand, runs in which neighbouring batches are alike
// give none, and most of the others cover the mean; long ones nearly all do.
func TestShortRunsSayLittle(t *testing.T) {
	const load, trials = 0.8, 300
	for _, c := range []struct {
		requests            int
		leastSaid, mostSaid float64
		leastCovered        float64 // of those that say something
	}{{100, 0, 0, 0}, {1000, 0.5, 0.95, 0.7}, {20_000, 0.9, 1, 0.92}} {
		var said, covered float64
		for seed := range trials {
			var b BatchMeans
			random := rand.New(rand.NewPCG(uint64(seed), 2))
			wait := 0.0
			for range c.requests {
				b.Add(wait)
				wait = max(0, wait+1-random.ExpFloat64()/load)
			}
			i := b.Interval(0)
			if math.IsNaN(i.Half) {
				continue
			}
			said++
			if math.Abs(i.Mean-load/(2*(1-load))) <= i.Half {
				covered++
			}
		}
		if share := said / trials; share < c.leastSaid || share > c.mostSaid {
			t.Errorf("%d requests: %v of the runs give an interval", c.requests, share)
		}
		if said > 0 && covered/said < c.leastCovered {
			t.Errorf("%d requests: %v of the intervals cover the mean", c.requests, covered/said)
		}
		t.Logf("%d requests: %.2f give an interval, %.2f of these cover the mean", c.requests, said/trials, covered/max(1, said))
	}
}

// TestBottleneck: requests that wait name what they wait for; busy servers without a queue are
// bound by their steps; idle ones by nothing.
func TestBottleneck(t *testing.T) {
	run := func(rate float64, running int) string {
		traffic := workload.Traffic{Requests: 500, Rate: rate, Arrival: workload.Arrival{Kind: "constant"}, Input: workload.Length{Mean: 10, Kind: "fixed"}, Output: workload.Length{Mean: 100, Kind: "fixed"}}
		p := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 4096, Sequences: running}, Blocks: 1 << 20, BlockTokens: 16}
		o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: linear{1e-3, 0, 0}, Policy: p}}}
		r := Result{Record: mustRun(t, o, traffic.Source()), Terms: workload.Terms{Traffic: workload.Traffic{Rate: rate}}}
		return fmt.Sprintf("%.0f%% busy: %s", 100*r.Utilisation(), r.Bottleneck())
	}
	// A request takes 100 steps of 1 ms. At 2 a second the server is idle for four fifths of the
	// time; at 100 never. Of 500 requests, 4 at a time, the last 4 take 0.1 of 12.5 s and find no
	// queue.
	for _, c := range []struct {
		rate    float64
		running int
		want    string
	}{
		{2, 64, "20% busy: none (servers are idle 80% of the time, and requests hardly wait)"},
		{100, 64, "100% busy: the time of steps (servers are busy, and requests hardly wait)"},
		{100, 4, "100% busy: the requests that may run (requests wait for it 99% of the time)"},
	} {
		if got := run(c.rate, c.running); got != c.want {
			t.Errorf("%g requests/s, %d at a time: %q, want %q", c.rate, c.running, got, c.want)
		}
	}
}

// TestSaturation: a load of 0.7 is held, one of 1.4 is not, and the queue grows by what is too
// much.
func TestSaturation(t *testing.T) {
	result := func(rate float64) *Result {
		traffic := workload.Traffic{Requests: 4000, Rate: rate, Arrival: workload.Arrival{Kind: "poisson"}, Input: workload.Length{Mean: 1, Kind: "fixed"}, Output: workload.Length{Mean: 1, Kind: "fixed"}}
		o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: second{}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.First, StepTokens: 1, Sequences: 1}, Blocks: 10, BlockTokens: 1}}}}
		return &Result{Record: mustRun(t, o, traffic.Source()), Terms: workload.Terms{Traffic: workload.Traffic{Rate: rate}}}
	}
	for _, rate := range []float64{0.3, 0.7, 0.9} {
		if r := result(rate); r.Saturated() || r.Rising() {
			t.Errorf("at %g: saturated", rate)
		}
	}
	for _, rate := range []float64{1.2, 1.4} {
		r := result(rate)
		if _, growth := r.Trend.Growth(); !r.Saturated() || math.Abs(growth-(rate-1)) > 0.05 {
			t.Errorf("at %g: the queue grows by %v", rate, growth)
		}
		if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, "arrivals exceed capacity: the queue grows by 0.") {
			t.Error(notes)
		}
	}
	best, err := MaxRate(func(rate float64, times int) (*Result, error) { return result(rate), nil })
	if err != nil || best.Traffic.Rate < 0.9 || best.Traffic.Rate > 1.05 {
		t.Errorf("%v, %v", best, err)
	}
}

// TestSharedTraces: the published traces run, and the hits of a cache that keeps everything are
// those that their hashes allow.
func TestSharedTraces(t *testing.T) {
	name := "../../../shared/measurements/traces/mooncake_conversation_trace.jsonl"
	if _, err := os.Stat(name); err != nil {
		t.Skip("the traces are not here")
	}
	trace, err := workload.OpenTrace(files.Machine, name)
	if err != nil {
		t.Fatal(err)
	}
	if trace.Requests != 12031 || !trace.Hashed {
		t.Fatalf("%+v", trace)
	}
	// All that came before is in the cache where every request ends before the next one comes.
	seen := map[uint64]bool{}
	var hits int64
	const mooncakeBlock = 512
	traffic := workload.Traffic{Trace: trace, Rate: math.Inf(1)}
	s := traffic.Source()
	for {
		r, ok, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		n, whole := 0, r.Input/mooncakeBlock
		for n < min(whole, len(r.Hashes)) && seen[r.Hashes[n]] {
			n++
		}
		if n*mooncakeBlock >= r.Input {
			n--
		}
		hits += int64(n * mooncakeBlock)
		for _, h := range r.Hashes[:min(whole, len(r.Hashes))] {
			seen[h] = true
		}
	}
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: linear{1e-12, 0, 0}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 1 << 20, Sequences: 100}, Blocks: 1 << 40, BlockTokens: 16, PrefixCache: true}}}}
	traffic.Clients = 1
	if r := mustRun(t, o, traffic.Source()); r.HitTokens != hits || r.Requests != 12031 {
		t.Errorf("%d tokens hit by %d requests, want %d", r.HitTokens, r.Requests, hits)
	}
}

// TestMaxRateOfFew: a hundred requests that were asked for find no other rate than ten thousand.
func TestMaxRateOfFew(t *testing.T) {
	find := func(requests int) float64 {
		r, err := MaxRate(func(rate float64, times int) (*Result, error) {
			traffic := workload.Traffic{Requests: times * requests, Rate: rate, Arrival: workload.Arrival{Kind: "poisson"}, Input: workload.Length{Mean: 1, Kind: "fixed"}, Output: workload.Length{Mean: 1, Kind: "fixed"}, Seed: 3}
			o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: second{}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.First, StepTokens: 1, Sequences: 1}, Blocks: 10, BlockTokens: 1}}}}
			return &Result{Record: mustRun(t, o, traffic.Source()), Terms: workload.Terms{Traffic: workload.Traffic{Rate: rate}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Traffic.Rate
	}
	few, many := find(100), find(10_000)
	if many > 1.05 || few != many {
		t.Errorf("%v requests/s of a server that does 1, by few %v", many, few)
	}
}

// TestClientsComeOneByOne: all clients are there in the end, though those who entered first have
// sent their next requests before the last one enters.
func TestClientsComeOneByOne(t *testing.T) {
	const clients, requests = 4, 100
	file := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(file, []byte("arrived_at,num_prefill_tokens,num_decode_tokens\n0,10,1\n2,10,1\n4,10,1\n"+strings.Repeat("6,10,1\n", requests)), 0o666); err != nil {
		t.Fatal(err)
	}
	trace, err := workload.OpenTrace(files.Machine, file)
	if err != nil {
		t.Fatal(err)
	}
	played := workload.Traffic{Trace: trace, Rate: math.Inf(1), Clients: clients}
	drawn := workload.Traffic{Requests: requests, Clients: clients, Rate: math.Inf(1), Input: workload.Length{Mean: 10, Kind: "fixed"}, Output: workload.Length{Mean: 1, Kind: "fixed"}}
	for name, source := range map[string]workload.Source{
		"drawn": drawn.Source(), "trace": played.Source(),
		"list": workload.ByClients(&workload.List{Requests: slices.Repeat([]workload.Request{{Input: 10, Output: 1}}, requests)}, clients),
	} {
		// A request takes a step of a second, and a fifth of it of the front end.
		o := Options{FrontEnd: deploy.FrontEnd{RequestSeconds: 0.2}, Pools: []Pool{{Servers: clients, Ranks: 1, Times: second{}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 64, Sequences: 4}, Blocks: 8, BlockTokens: 16}}}}
		late := 0
		o.Each = func(e *Ended) {
			if e.Finish > 10 && e.Finish <= 20 {
				late++
			}
		}
		mustRun(t, o, source)
		if late != 10*clients {
			t.Errorf("%s: %d requests end in ten seconds, of %d clients", name, late, clients)
		}
	}
}

// TestFrontEnd: the front end takes 0.1 s for a token, a second for a prompt of ten. Of three
// requests that come at once the second waits for that of the first, too, and the third for both.
// Steps take a second. The successor of the first comes at 2, while the third is read until 3, and
// has its token at 5; the next two follow it a second apart, as they were sent.
func TestFrontEnd(t *testing.T) {
	var first, later []float64
	o := Options{FrontEnd: deploy.FrontEnd{TokenSeconds: 0.1}, Pools: []Pool{{Servers: 3, Ranks: 1, Times: second{}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 64, Sequences: 4}, Blocks: 8, BlockTokens: 16}}}}
	o.Each = func(e *Ended) {
		if e.Arrival == 0 {
			first = append(first, e.First)
		} else {
			later = append(later, e.First-e.Arrival)
		}
	}
	mustRun(t, o, workload.ByClients(&workload.List{Requests: slices.Repeat([]workload.Request{{Input: 10, Output: 1}}, 6)}, 3))
	slices.Sort(first)
	for i, want := range []float64{2, 3, 4} {
		if math.Abs(first[i]-want) > 1e-9 || math.Abs(later[i]-3) > 1e-9 {
			t.Errorf("request %d has its token after %v s, and its successor after %v", i, first[i], later[i])
		}
	}
}

// TestFewRequests: how many requests are missing is told of those behind the warm-up; with as many,
// the means are trusted.
func TestFewRequests(t *testing.T) {
	for _, c := range []struct {
		warm, steady int
		want         string
	}{
		{0, 100, "(at least 160 are needed"},
		{20, 141, "(at least 160 are needed after the warm-up, which is 20)"},
		{20, 160, "after a warm-up of 20 requests: TTFT "},
		{0, 160, "after a warm-up of 0 requests: TTFT "},
	} {
		r := &Seen{Summary: &Summary{}}
		for i := range c.warm + c.steady {
			v := 1.0
			if i < c.warm {
				v = 100
			}
			v += 0.1 * float64(i*i%7) // no two neighbours alike
			r.First.Add(v)
			r.Latency.Add(v)
		}
		if got := strings.Join(r.Trust(), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%d + %d: %s, want %s", c.warm, c.steady, got, c.want)
		}
	}
}

// TestFindsPreempted: a cache of 36 tokens holds two requests of 16 + 2 tokens and no more. Those
// of 16 + 8 run into its end, and the later one is preempted: it finds the blocks of its prompt
// where nobody has needed them, and computes all of it again without. Prompts that begin alike stay
// apart either way.
func TestFindsPreempted(t *testing.T) {
	run := func(finds bool) *Record {
		p := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 64, Sequences: 4, FindsPreempted: finds}, Blocks: 10, BlockTokens: 4}
		traffic := workload.Traffic{Requests: 8, Rate: math.Inf(1), Input: workload.Fixed(16), Output: workload.Fixed(8)}
		return mustRun(t, Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: second{}, Policy: p}}}, traffic.Source())
	}
	found, again := run(true), run(false)
	if found.Preemptions == 0 || again.Preemptions == 0 {
		t.Fatalf("%d and %d preemptions", found.Preemptions, again.Preemptions)
	}
	if found.Computed >= again.Computed || found.Computed < 8*16 {
		t.Errorf("%d tokens are computed where preempted requests find their blocks, %d where they do not", found.Computed, again.Computed)
	}
}

// TestReservesPrompt: in a cache of 100 tokens prompts of 60 tokens, cut into chunks of 20, run one
// after another where all of a prompt must have room. Where only its first chunk must, others are
// begun and lose what they have.
func TestReservesPrompt(t *testing.T) {
	for _, policy := range []deploy.Policy{deploy.Chunks, deploy.First} {
		computed := func(reserves bool) int64 {
			p := Policy{Scheduling: deploy.Scheduling{Prefill: policy, StepTokens: 20, Sequences: 4, ReservesPrompt: reserves}, CutsPrompts: true, Blocks: 25, BlockTokens: 4}
			traffic := workload.Traffic{Requests: 6, Rate: math.Inf(1), Input: workload.Fixed(60), Output: workload.Fixed(8)}
			return mustRun(t, Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: second{}, Policy: p}}}, traffic.Source()).Computed
		}
		if got, more := computed(true), computed(false); got != 6*60 || more <= got {
			t.Errorf("%v: %d tokens are computed, want %d; %d where only the first chunk must have room", policy, got, 6*60, more)
		}
	}
}

// TestTimelineOfClients: the timeline of clients that have been there for long begins with what is
// counted: none of its intervals is idle, and they are as long together as the run.
func TestTimelineOfClients(t *testing.T) {
	p := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 64, Sequences: 8}, Blocks: 1000, BlockTokens: 4}
	traffic := workload.Traffic{Requests: 64, Clients: 8, Rate: math.Inf(1), Input: workload.Fixed(16), Output: workload.Fixed(8)}
	r := mustRun(t, Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: second{}, Policy: p}}, Every: 1, Skip: 8}, traffic.Source())
	if r.Start == 0 {
		t.Fatal("all of the run is counted")
	}
	for i := range int(r.Duration() / r.Timeline.Every) {
		if r.Timeline.Points[i].Running == 0 {
			t.Errorf("interval %d of %d is idle", i, len(r.Timeline.Points))
		}
	}
	if long := float64(len(r.Timeline.Points)) * r.Timeline.Every; math.Abs(long-r.Duration()) > 2 {
		t.Errorf("intervals of %g s of a run of %g", long, r.Duration())
	}
}
