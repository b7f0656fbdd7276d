package bench

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Live is the progress of a run, for concurrent readers.
type Live struct {
	start              atomic.Int64 // nanoseconds since 1970; 0: not begun
	done, failed       atomic.Int64
	firsts, firstNanos atomic.Int64
	gaps, gapNanos     atomic.Int64
}

func (l *Live) begin(at time.Time) {
	for _, n := range []*atomic.Int64{&l.done, &l.failed, &l.firsts, &l.firstNanos, &l.gaps, &l.gapNanos} {
		n.Store(0)
	}
	l.start.Store(at.UnixNano())
}

// chunk counts one with text.
func (l *Live) chunk(a *answer, gap float64, start time.Time, arrival float64) {
	if a.chunks == 1 {
		l.firsts.Add(1)
		l.firstNanos.Add(int64(a.first.Sub(start)) - int64(arrival*1e9))
		return
	}
	l.gaps.Add(1)
	l.gapNanos.Add(int64(gap * 1e9))
}

func (l *Live) end(d *Done) {
	if d.Failure != nil {
		l.failed.Add(1)
	}
	l.done.Add(1)
}

// Glance is a snapshot of the progress.
type Glance struct {
	at                               time.Time
	done, failed                     int64
	firsts, firstNanos, gaps, gapsNs int64
}

func (l *Live) Snapshot() Glance {
	return Glance{time.Now(), l.done.Load(), l.failed.Load(), l.firsts.Load(), l.firstNanos.Load(), l.gaps.Load(), l.gapNanos.Load()}
}

// Line describes the progress of a run of total requests since an earlier snapshot.
func (g Glance) Line(before Glance, total int) string {
	text := fmt.Sprintf("%d of %d", g.done, total)
	if g.failed > 0 {
		text += fmt.Sprintf(", %d failed", g.failed)
	}
	mean := func(name string, sum, n int64) {
		if n > 0 {
			text += fmt.Sprintf("  %s %.4g ms", name, float64(sum)/float64(n)/1e6)
		}
	}
	mean("TTFT", g.firstNanos-before.firstNanos, g.firsts-before.firsts)
	mean("ITL", g.gapsNs-before.gapsNs, g.gaps-before.gaps)
	if s := g.at.Sub(before.at).Seconds(); s > 0 {
		text += fmt.Sprintf("  %.0f tok/s", float64(g.gaps-before.gaps+g.firsts-before.firsts)/s)
	}
	return text
}
