package advice

import (
	"testing"

	"pgregory.net/rapid"

	"throughline/internal/test/long"
)

// place counts one by one: others first, each on the first node with room.
func place(gpus, perNode, count, others, size int) int {
	var free []int
	for left := gpus; left > 0; left -= perNode {
		free = append(free, min(left, perNode))
	}
	put := func(n int) bool {
		if n >= perNode {
			for first := range free {
				k := 0
				for k < n/perNode && first+k < len(free) && free[first+k] == perNode {
					k++
				}
				if k == n/perNode {
					for i := range k {
						free[first+i] = 0
					}
					return true
				}
			}
			return false
		}
		for i := range free {
			if free[i] >= n {
				free[i] -= n
				return true
			}
		}
		return false
	}
	for range count {
		if !put(others) {
			return -1
		}
	}
	n := 0
	for put(size) {
		n++
	}
	return n
}

// Room is what counting one by one finds.
func TestRoom(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		per := rapid.SampledFrom([]int{4, 8, 72}).Draw(t, "per node")
		sizes := []int{1, 2, 3, 4, 5, 6, 7, 8, per, 2 * per, 3 * per}
		gpus := rapid.IntRange(1, 6*per).Draw(t, "gpus")
		others, size := rapid.SampledFrom(sizes).Draw(t, "others"), rapid.SampledFrom(sizes).Draw(t, "size")
		if others > per && others%per != 0 || size > per && size%per != 0 {
			return
		}
		count := rapid.IntRange(0, 12).Draw(t, "count")
		if got, want := room(gpus, per, count, others, size), place(gpus, per, count, others, size); got != want {
			t.Fatalf("%d GPUs, %d on a node, %d of %d: room for %d of %d, one by one for %d", gpus, per, count, others, got, size, want)
		}
	})
}
