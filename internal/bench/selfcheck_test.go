package bench

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"throughline/internal/test/racing"
)

// TestOwnDelay: of 1,000 streams that write every 100 ms at times of their own, half of the chunks
// are read within 0.2 ms after they were written, and all but one in a hundred within 2 ms. Where
// other programs have the processors it takes longer, which is not this program's doing: the best
// of some tries counts, and a machine that lets none of them through is told.
func TestOwnDelay(t *testing.T) {
	if testing.Short() || racing.Enabled {
		t.Skip("takes seconds, at full speed")
	}
	const p50, p99, tries = 0.2e-3, 2e-3, 5
	best := [2]float64{math.Inf(1), math.Inf(1)}
	for range tries {
		r, err := SelfCheck(context.Background(), 1000, 15, true)
		if err != nil {
			t.Fatal(err)
		}
		if r.Failed > 0 || r.Reading.Weight != 15_000 || r.Seen.Output != 15_000 {
			t.Fatalf("%v; %d chunks with a time, %d tokens", r.Wrong(), r.Reading.Weight, r.Seen.Output)
		}
		best[0], best[1] = min(best[0], r.Reading.Quantile(0.5)), min(best[1], r.Reading.Quantile(0.99))
		if best[0] <= p50 && best[1] <= p99 {
			t.Logf("p50 %.3f ms, p99 %.3f ms", 1e3*best[0], 1e3*best[1])
			return
		}
	}
	late(t, "p50 %.3f ms, p99 %.3f ms", 1e3*best[0], 1e3*best[1])
}

// TestMemory: a stream takes less than 64 KB, and that of the server, which is in the same process
// here, is counted.
func TestMemory(t *testing.T) {
	if testing.Short() || racing.Enabled {
		t.Skip("takes seconds, and a process without the race detector")
	}
	const streams, each = 2000, 64 << 10
	runtime.GC()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan error)
	go func() {
		_, err := SelfCheck(context.Background(), streams, 12, true)
		done <- err
	}()
	time.Sleep(1500 * time.Millisecond) // half of the tokens
	runtime.ReadMemStats(&during)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	used := func(m *runtime.MemStats) uint64 { return m.HeapInuse + m.StackInuse }
	got := (used(&during) - used(&before)) / streams
	t.Logf("%d KB a stream", got>>10)
	if got > each {
		t.Errorf("%d bytes a stream, more than %d", got, each)
	}
}
