package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"throughline/deploy"
	"throughline/internal/test/long"
	"throughline/workload"
)

// drawServers is a deployment of one or two pools.
func drawServers(t *rapid.T) Options {
	o := Options{
		FrontEnd: deploy.FrontEnd{FirstSeconds: rapid.SampledFrom([]float64{0, 0.01}).Draw(t, "first")},
		Seed:     7,
		Routing:  deploy.Routing(rapid.SampledFrom(deploy.Routings).Draw(t, "routing")),
	}
	pool := drawPool(t)
	o.Pools = []Pool{pool}
	if rapid.Bool().Draw(t, "split") {
		o.Pools[0].Role = deploy.Prefill
		pool.Role, pool.Policy = deploy.Decode, drawPolicy(t)
		o.Pools = append(o.Pools, pool)
		o.Transfer = func(tokens int) (float64, float64) { return 1e-4 * float64(tokens), 1e-5 * float64(tokens) }
	}
	return o
}

// drawList is requests whose arrivals are known.
func drawList(t *rapid.T) []workload.Request {
	traffic := drawTraffic(t)
	traffic.Clients, traffic.Turns, traffic.Groups = 0, 1, rapid.SampledFrom([]int{0, 3}).Draw(t, "groups")
	traffic.Prefix = 48 * min(1, traffic.Groups)
	var list []workload.Request
	for source := traffic.Source(); ; {
		q, more, err := source.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return list
		}
		list = append(list, q)
	}
}

// stream is what the client of a request sees.
type stream struct {
	tokens      int
	first, last float64
}

// TestLiveIsRun: requests that come while time passes, by pieces of any size, run as they do when
// all are known from the start, and every token comes out at its time.
func TestLiveIsRun(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		o, list := drawServers(t), drawList(t)
		var want, got []Ended
		o.Each = func(e *Ended) { want = append(want, *e) }
		record, err := Run(context.Background(), o, &workload.List{Requests: list})
		if err != nil {
			t.Skip(err) // a request that never fits
		}
		seen := map[int]*stream{}
		o.Each = func(e *Ended) { got = append(got, *e) }
		o.Tokens = func(k Token) {
			client, n, at := k.Client, k.Count, k.Time
			s := seen[client]
			if s == nil {
				s = &stream{first: at}
				seen[client] = s
			}
			if at < s.last {
				t.Fatalf("request %d: a token at %g after one at %g", client, at, s.last)
			}
			s.tokens += n
			s.last = at
		}
		l, err := NewLive(o, func(client int, at float64) { t.Fatalf("request %d is lost", client) })
		if err != nil {
			t.Fatal(err)
		}
		piece := rapid.SampledFrom([]float64{1e-4, 0.03, 10}).Draw(t, "piece")
		for _, q := range list {
			for now := l.now; now+piece < q.Arrival; now += piece {
				advance(t, l, now+piece)
			}
			if err := l.Submit(q); err != nil {
				t.Fatal(err)
			}
		}
		advance(t, l, math.MaxFloat64)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, e := range got {
			if diff := cmp.Diff(&stream{e.Output, e.First, e.Finish}, seen[e.Client], cmp.AllowUnexported(stream{})); diff != "" {
				t.Errorf("request %d: %s", e.ID, diff)
			}
		}
		if r := l.Record(); r.Steps != record.Steps || r.Kinds != record.Kinds || r.End != record.End || r.Preemptions != record.Preemptions || r.Present != record.Present {
			t.Errorf("%+v, not %+v", r, record)
		}
	})
}

func advance(t *rapid.T, l *Live, until float64) {
	t.Helper()
	if err := l.Advance(until); err != nil {
		t.Fatal(err)
	}
}

// TestLiveFaults: whoever goes, and whatever fails or stands still, every other request ends once
// with all its tokens, and nothing is held in the end.
func TestLiveFaults(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		o, list := drawServers(t), drawList(t)
		for i := range list {
			list[i].Arrival = min(list[i].Arrival, 1)
		}
		tokens, over := map[int]int{}, map[int]string{}
		end := func(client int, how string) {
			if over[client] != "" {
				t.Fatalf("request %d: %s after %s", client, how, over[client])
			}
			over[client] = how
		}
		o.Tokens = func(k Token) {
			if over[k.Client] != "" {
				t.Fatalf("request %d: a token after it was %s", k.Client, over[k.Client])
			}
			tokens[k.Client] += k.Count
		}
		o.Each = func(e *Ended) { end(e.Client, "ended") }
		l, err := NewLive(o, func(client int, _ float64) { end(client, "lost") })
		if err != nil {
			t.Fatal(err)
		}
		moment := rapid.Float64Range(0, 1.5)
		gone := map[int]bool{}
		for range rapid.IntRange(0, 8).Draw(t, "gone") {
			client := list[rapid.IntRange(0, len(list)-1).Draw(t, "client")].Client
			gone[client] = true
			l.Cancel(client, moment.Draw(t, "goes"))
		}
		servers, killed := len(l.run.servers), rapid.IntRange(0, 2).Draw(t, "killed")
		which := rapid.IntRange(0, servers-1)
		for range killed {
			s, at := which.Draw(t, "server"), moment.Draw(t, "fails")
			l.Kill(s, at)
			l.Revive(s, at+rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "down"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "stalls") {
			l.Stall(which.Draw(t, "stalled"), moment.Draw(t, "stalls"), 0.3)
		}
		refused := map[int]bool{}
		for _, q := range list {
			advance(t, l, q.Arrival)
			refused[q.Client] = l.Submit(q) != nil
		}
		advance(t, l, math.MaxFloat64)
		for _, q := range list {
			how := over[q.Client]
			switch {
			case how == "ended" && tokens[q.Client] != q.Output:
				t.Errorf("request %d: %d tokens, want %d", q.Client, tokens[q.Client], q.Output)
			case how == "" && !gone[q.Client] && !refused[q.Client]:
				t.Errorf("request %d: never ended", q.Client)
			case how == "lost" && killed == 0:
				t.Errorf("request %d: lost, and no server failed", q.Client)
			}
		}
		nothingHeld(t, l)
	})
}

func nothingHeld(t *rapid.T, l *Live) {
	r := l.run
	if r.live != 0 || r.queue != 0 || len(l.jobs) != 0 || r.record.present != 0 || len(r.jobs.free) != int(r.jobs.count) {
		t.Errorf("%d live, %d queue, %d jobs, %d present, %d of %d free", r.live, r.queue, len(l.jobs), r.record.present, len(r.jobs.free), r.jobs.count)
	}
	for _, s := range r.servers {
		for _, k := range s.ranks {
			sum := 0
			for _, n := range k.residues {
				sum += n
			}
			if k.used != 0 || k.context != 0 || k.decoding != 0 || sum != 0 || k.head != none || k.partial != none || slices.ContainsFunc(k.wheel[:], func(at int32) bool { return at != none }) {
				t.Errorf("server %d: %d blocks, %d keys, %d decode, %d residues", s.index, k.used, k.context, k.decoding, sum)
			}
		}
	}
}

// TestLiveByHand: steps of a second. The first request goes in the middle of a step, the second
// waits for it; the third is on a server that fails, the fourth stands still for half a second.
func TestLiveByHand(t *testing.T) {
	p := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 8, Sequences: 1}, Blocks: 100, BlockTokens: 4}
	var got []string
	note := func(what string, client int, t float64) {
		got = append(got, fmt.Sprintf("%s %c %g", what, 'a'+client, t))
	}
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Policy: p, Times: second{}}}, Tokens: func(k Token) { note("token", k.Client, k.Time) },
		Each: func(e *Ended) { note("end", e.Client, e.Finish) }}
	l, err := NewLive(o, func(client int, t float64) { note("lost", client, t) })
	if err != nil {
		t.Fatal(err)
	}
	submit := func(q workload.Request) {
		t.Helper()
		if err := l.Advance(q.Arrival); err != nil {
			t.Fatal(err)
		}
		if err := l.Submit(q); err != nil {
			t.Error(err)
		}
	}
	submit(workload.Request{Client: 0, Input: 4, Output: 9})
	submit(workload.Request{Client: 1, Input: 4, Output: 2, Arrival: 0.25})
	l.Cancel(0, 1.5)
	submit(workload.Request{Client: 2, Input: 4, Output: 9, Arrival: 4})
	l.Kill(0, 5.5)
	if l.Advance(6); l.Submit(workload.Request{Client: 9, Input: 1, Output: 1}) != ErrNoServer {
		t.Error("a server that failed takes requests")
	}
	l.Revive(0, 7)
	submit(workload.Request{Client: 3, Input: 4, Output: 2, Arrival: 8})
	l.Stall(0, 8.25, 0.5)
	if err := l.Advance(20); err != nil {
		t.Fatal(err)
	}
	want := []string{"token a 1", "token a 2", "token b 3", "token b 4", "end b 4", "token c 5", "lost c 5.5", "token d 9.5", "token d 10.5", "end d 10.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFlush: a prompt that came before is found again, in whole blocks, until the cache is flushed,
// which no request may run for.
func TestFlush(t *testing.T) {
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: linear{step: 0.01}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 512, Sequences: 8}, Blocks: 64, BlockTokens: 16, PrefixCache: true}}}}
	hit := -1
	o.Tokens = func(k Token) { hit = k.Cached }
	l, err := NewLive(o, func(int, float64) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 32, 0} {
		if i == 2 && !l.Flush() {
			t.Fatal("not flushed")
		}
		if err := l.Submit(workload.Request{Arrival: l.now, Input: 40, Output: 2, Hashes: []uint64{1, 2}, HashTokens: 16}); err != nil {
			t.Fatal(err)
		}
		if l.Flush() {
			t.Error("flushed before a request")
		}
		if err := l.Advance(l.now + 0.005); err != nil || l.Flush() {
			t.Error("flushed beside a request", err)
		}
		if err := l.Advance(l.now + 1); err != nil || hit != want {
			t.Errorf("request %d: %d tokens cached, want %d (%v)", i, hit, want, err)
		}
	}
}
