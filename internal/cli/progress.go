package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progress shows on a terminal how far a long search is and when it will be done. It stays silent
// for the first second.
type progress struct {
	w     io.Writer // nil: no terminal
	total int
	start time.Time

	mu    sync.Mutex
	phase string // what is going on; may be empty
	done  int
	shown time.Time // when the line was last drawn; zero: never
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{total: total, start: time.Now()}
	if isTerminal(w) {
		p.w = w
	}
	return p
}

func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	now := time.Now()
	if p.w == nil || now.Sub(p.start) < time.Second || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	fmt.Fprint(p.w, "\r", progressLine(p.phase, p.done, p.total, now.Sub(p.start)), "\x1b[K")
}

func (p *progress) add(parts, done int) {
	p.mu.Lock()
	p.total += parts
	p.mu.Unlock()
	for range done {
		p.tick()
	}
}

func (p *progress) enter(phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = phase
}

// progressLine shows a bar and how many parts of a phase are done. What has a known end also shows
// the share, and the time left at the speed so far; it never claims to be done.
func progressLine(phase string, done, total int, elapsed time.Duration) string {
	if phase != "" {
		return fmt.Sprintf("%s, %d of at least %d done, %v", phase, done, total, elapsed.Round(time.Second))
	}
	const width = 30
	share := min(float64(done)/float64(total), 0.99)
	full := int(share * width)
	left := time.Duration(float64(elapsed) * (1 - share) / share).Round(time.Second)
	return fmt.Sprintf("[%s%s] %3.0f%%  %v left", strings.Repeat("=", full), strings.Repeat(" ", width-full), 100*share, left)
}

// finish erases the line.
func (p *progress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = time.Time{}
	}
}
