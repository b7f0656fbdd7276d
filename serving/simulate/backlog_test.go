package simulate

import (
	"context"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"throughline/deploy"
	"throughline/internal/test/long"
	"throughline/workload"
)

// TestBacklog: whatever waits in bytes, a run is the same.
func TestBacklog(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		o, traffic := drawServers(t), drawTraffic(t)
		var ended [2][]Ended
		var records [2]*Record
		for i, most := range []int{1 << 20, rapid.IntRange(1, 3).Draw(t, "waiting jobs")} {
			o.waiting = most
			o.Each = func(e *Ended) { ended[i] = append(ended[i], *e) }
			var err error
			if records[i], err = Run(context.Background(), o, traffic.Source()); err != nil {
				t.Skip(err) // a request that never fits
			}
		}
		if diff := cmp.Diff(ended[0], ended[1]); diff != "" {
			t.Fatal(diff)
		}
		if a, b := records[0], records[1]; a.Steps != b.Steps || a.End != b.End || a.Preemptions != b.Preemptions || a.HitTokens != b.HitTokens || a.Present != b.Present {
			t.Errorf("%+v, not %+v", b, a)
		}
	})
}

// TestBacklogKeepsAll: a job that was packed is the request that it was.
func TestBacklogKeepsAll(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		number := rapid.IntRange(-1, 1<<40)
		var all jobs
		var want []workload.Request
		var times []float64
		b := backlog{}
		for i := range rapid.IntRange(1, 2000).Draw(t, "requests") {
			r := workload.Request{Arrival: rapid.Float64Range(0, 1e9).Draw(t, "arrival"), Input: number.Draw(t, "input"), Output: 5, Client: i, Cached: i % 3, HashTokens: 16,
				Chain: rapid.Uint64().Draw(t, "chain"), Shared: i, Hashes: rapid.SliceOfN(rapid.Uint64(), 1, 4).Draw(t, "hashes")}
			want, times = append(want, r), append(times, float64(i)/3)
			b.add(all.add(r, int64(i)), times[i], &all)
		}
		for i := range want {
			e := b.take(&all)
			if diff := cmp.Diff(want[i], all.at(e.job).Request); diff != "" || e.time != times[i] || all.at(e.job).id != int64(i) {
				t.Fatal(i, diff, e)
			}
			all.remove(e.job)
		}
		if b.n != 0 || len(b.pages) > 1 {
			t.Errorf("%d left in %d pages", b.n, len(b.pages))
		}
	})
}

// TestBacklogIsSmall: a request that waits behind many takes 50 bytes, with the names of three
// blocks.
func TestBacklogIsSmall(t *testing.T) {
	const n = 200_000
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Times: linear{step: 1}, Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 100, Sequences: 10}, Blocks: 1000, BlockTokens: 16}}}}
	r, err := newRun(o, &flood{left: n})
	if err != nil {
		t.Fatal(err)
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	if err := r.arrive.pull(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := r.process(context.Background(), r.next()); err != nil {
			t.Fatal(err)
		}
	}
	if each := float64(held()-before) / n; r.live < n-100 || each > 50 {
		t.Errorf("%d requests wait, and take %.0f bytes each", r.live, each)
	}
	runtime.KeepAlive(r)
}

// flood is requests that all come at once, of which nothing is kept.
type flood struct{ left int }

func (f *flood) Next() (workload.Request, bool, error) {
	if f.left == 0 {
		return workload.Request{}, false, nil
	}
	f.left--
	i := uint64(f.left)
	return workload.Request{Input: 500, Output: 20, HashTokens: 512, Hashes: []uint64{i % 977, i%7919 + 1000, i + 10_000}, Client: f.left}, true, nil
}

func (*flood) Ended(int, *workload.Request, float64) (workload.Request, bool) {
	return workload.Request{}, false
}
