//go:build unix

package sweep_test

import (
	"io"
	"math"
	"runtime"
	"testing"

	"throughline/internal/report"
	"throughline/internal/test/cputime"
)

// TestFormatsAreFast: ten thousand runs take no more than a second of computing, and what is held
// of them is bounded.
func TestFormatsAreFast(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	all := records(t, "reference")
	for _, f := range report.Formats {
		best, held := math.Inf(1), uint64(0)
		for range 3 {
			sink := f.New(io.Discard)
			start := cputime.Now()
			for i := range 10_000 {
				r := *all[i%len(all)]
				r.Number = i
				if err := sink.Add(&r); err != nil {
					t.Fatal(err)
				}
			}
			if err := sink.Close(); err != nil {
				t.Fatal(err)
			}
			best = min(best, (cputime.Now() - start).Seconds())
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			held = m.HeapInuse
			runtime.KeepAlive(sink)
		}
		t.Logf("%s: %.2f s, %d MB", f.Name, best, held>>20)
		if best > 1 || held > 150<<20 {
			t.Errorf("%s takes %.2f s, and %d MB", f.Name, best, held>>20)
		}
	}
}
