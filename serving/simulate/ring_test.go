package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"throughline/workload"
)

// TestRing: a queue of jobs is a list, whatever is put behind or before it, taken off or taken out,
// and whether those behind wait in memory or in the backlog.
func TestRing(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		all := &jobs{most: math.MaxInt}
		if seed%2 == 1 {
			all.most = 1 + random.IntN(8)
		}
		r := ring{jobs: all}
		var want []int64 // ids
		is := func(at int32, id int64) {
			t.Helper()
			if got := all.at(at); got.id != id || got.Input != int(id) {
				t.Fatalf("seed %d: job %d of %d tokens, not %d", seed, got.id, got.Input, id)
			}
		}
		for id := range int64(300) {
			switch at := all.add(workload.Request{Input: int(id)}, id); random.IntN(5) {
			case 0: // was scheduled and comes back
				all.at(at).scheduled = 1
				r.pushFront(at)
				want = slices.Insert(want, 0, id)
			case 1:
				all.at(at).scheduled = 1 // which a backlog does not keep
				r.push(at)
				want = append(want, id)
			default:
				r.push(at)
				want = append(want, id)
			}
			if r.n != len(want) || all.most < math.MaxInt && r.behind.n > r.n {
				t.Fatalf("seed %d: %d jobs, %d of them behind, not %d", seed, r.n, r.behind.n, len(want))
			}
			for len(want) > 0 && random.IntN(3) == 0 {
				if k := random.IntN(len(want)); all.most == math.MaxInt && random.IntN(2) == 0 {
					job := r.at(k)
					is(job, want[k])
					if !r.remove(job) || r.remove(job) {
						t.Fatalf("seed %d: a job is not taken out once", seed)
					}
					want = slices.Delete(want, k, k+1)
					continue
				}
				is(r.pop(), want[0])
				want = want[1:]
			}
		}
		for i, id := range want {
			is(r.at(i), id)
		}
	}
}
