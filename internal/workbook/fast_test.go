//go:build unix

package workbook_test

import (
	"io"
	"runtime"
	"testing"

	"throughline/internal/test/cputime"
	"throughline/internal/workbook"
)

// TestTenThousandRuns: they take ten seconds of computing at most, and the memory of the file that
// is written and little more.
func TestTenThousandRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	runs := records(t)
	start := cputime.Now()
	w := workbook.New()
	for i := range 10_000 {
		r := *runs[i%len(runs)]
		r.Number = i
		if err := w.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	size := counter(0)
	if err := w.Write(io.MultiWriter(io.Discard, &size)); err != nil {
		t.Fatal(err)
	}
	seconds := (cputime.Now() - start).Seconds()
	t.Logf("%.1f s, %d MB of file, %d MB held before it is written", seconds, size>>20, m.HeapInuse>>20)
	if seconds > 10 || m.HeapInuse > 200<<20 {
		t.Errorf("%.1f s, %d MB held", seconds, m.HeapInuse>>20)
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
