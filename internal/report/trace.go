package report

import (
	"fmt"
	"io"
	"sort"

	"throughline/internal/trace"
	"throughline/serving/simulate"
)

// Processes of the trace of a simulation: the requests, then a process for each server.
const (
	requestProcess = 1
	serverProcess  = 2
)

// mostSlots limits the requests shown beside each other; the rest is left out and counted.
const mostSlots = 512

// SimulationTrace writes a simulation as a timeline while it runs.
type SimulationTrace struct {
	w       *trace.Writer
	blocks  []int                      // cache blocks of a rank, by server
	ranks   map[simulate.Place]*[]span // the steps of each, in order
	free    []float64                  // when the request of each slot ended
	skipped int
	idle    []float64 // watts of a processor that waits, by server; 0: unknown
	busy    []float64 // when the last step of each server ended
}

// span is when a step ran.
type span struct{ start, end float64 }

func (s span) middle() float64 { return (s.start + s.end) / 2 }

func NewSimulationTrace(out io.Writer, o *simulate.Options) *SimulationTrace {
	w := trace.New(out)
	t := &SimulationTrace{w: w, ranks: map[simulate.Place]*[]span{}}
	w.Process(requestProcess, "requests")
	for i := range o.Pools {
		p := &o.Pools[i]
		for range p.Servers {
			w.Process(serverProcess+len(t.blocks), fmt.Sprintf("server %d, %s", len(t.blocks), p.Role))
			t.blocks = append(t.blocks, p.Policy.Blocks)
			idle := 0.0
			if p.Power != nil {
				idle = p.Power.On
			}
			t.idle, t.busy = append(t.idle, idle), append(t.busy, 0)
		}
	}
	return t
}

// Step writes a step of a rank, and what the rank holds.
func (t *SimulationTrace) Step(s *simulate.Step) {
	pid := serverProcess + s.Server
	place := simulate.Place{Server: s.Server, Rank: s.Rank}
	if t.ranks[place] == nil {
		t.ranks[place] = &[]span{}
		t.w.Thread(pid, 1+s.Rank, fmt.Sprintf("rank %d", s.Rank))
	}
	*t.ranks[place] = append(*t.ranks[place], span{s.Start, s.End})
	t.w.Span(pid, 1+s.Rank, s.Work.KindName(), "step", s.Start, s.End,
		trace.Arg{Key: "step", Value: s.Index}, trace.Arg{Key: "decodes", Value: s.Work.Decodes}, trace.Arg{Key: "context_tokens", Value: int(s.Work.Context)},
		trace.Arg{Key: "prompt_tokens", Value: s.Work.Tokens()}, trace.Arg{Key: "prompts", Value: len(s.Work.Chunks)}, trace.Arg{Key: "preempted", Value: s.Preempted})
	t.w.Counter(pid, fmt.Sprintf("KV use %%, rank %d", s.Rank), s.Start, trace.Arg{Key: "percent", Value: 100 * float64(s.Blocks) / float64(t.blocks[s.Server])})
	t.w.Counter(pid, fmt.Sprintf("requests, rank %d", s.Rank), s.Start, trace.Arg{Key: "running", Value: s.Running}, trace.Arg{Key: "waiting", Value: s.Waiting})
	t.watts(s)
}

// watts writes what a GPU of the server draws: idle between steps. Ranks of one step say the same.
func (t *SimulationTrace) watts(s *simulate.Step) {
	if s.Watts == 0 || s.End <= t.busy[s.Server] {
		return
	}
	count := func(at, watts float64) {
		t.w.Counter(serverProcess+s.Server, "watts per GPU", at, trace.Arg{Key: "W", Value: watts})
	}
	if s.Start-t.busy[s.Server] > trace.Shortest {
		count(t.busy[s.Server], t.idle[s.Server])
	}
	count(s.Start, s.Watts)
	t.busy[s.Server] = s.End
}

// Request writes a finished request into the slot that became free last before it came, or a new
// one. Requests arrive in order of their ends, so a slot never overlaps.
func (t *SimulationTrace) Request(e *simulate.Ended) {
	slot := -1
	for i, free := range t.free {
		if free <= e.Arrival && (slot < 0 || free > t.free[slot]) {
			slot = i
		}
	}
	if slot < 0 {
		if len(t.free) == mostSlots {
			t.skipped++
			return
		}
		slot = len(t.free)
		t.free = append(t.free, 0)
		t.w.Thread(requestProcess, 1+slot, fmt.Sprintf("slot %d", slot))
	}
	t.free[slot] = e.Finish
	t.w.Span(requestProcess, 1+slot, fmt.Sprintf("request %d", e.ID), "request", e.Arrival, e.Finish,
		trace.Arg{Key: "input_tokens", Value: e.Input}, trace.Arg{Key: "output_tokens", Value: e.Output}, trace.Arg{Key: "preemptions", Value: e.Preemptions},
		trace.Arg{Key: "ttft_ms", Value: 1e3 * (e.First - e.Arrival)})
	for _, part := range []struct {
		name       string
		start, end float64
	}{{"waiting", e.Arrival, e.Scheduled}, {"prefill", e.Scheduled, e.First}, {"decode", e.First, e.Finish}} {
		if part.end > part.start {
			t.w.Span(requestProcess, 1+slot, part.name, "request", part.start, part.end)
		}
	}
	t.flow(slot, e)
}

// flow leads from a request to the steps that served it: the first, that of its first token, the
// last.
func (t *SimulationTrace) flow(slot int, e *simulate.Ended) {
	marks := []trace.Mark{{PID: requestProcess, TID: 1 + slot, At: e.Arrival}}
	mark := func(p simulate.Place, s span, ok bool) {
		if m := (trace.Mark{PID: serverProcess + p.Server, TID: 1 + p.Rank, At: s.middle()}); ok && m.At > marks[len(marks)-1].At {
			marks = append(marks, m)
		}
	}
	from, ok := t.after(e.Began, e.Scheduled)
	mark(e.Began, from, ok)
	for _, end := range []float64{e.First, e.Finish} {
		to, ok := t.until(e.Ended, end)
		mark(e.Ended, to, ok)
	}
	if len(marks) > 1 {
		t.w.Flow(e.ID, "served", marks...)
	}
}

// after is the first step of a rank that starts at a time or later.
func (t *SimulationTrace) after(p simulate.Place, time float64) (span, bool) {
	steps := t.ranks[p]
	if steps == nil {
		return span{}, false
	}
	i := sort.Search(len(*steps), func(i int) bool { return (*steps)[i].start >= time-trace.Shortest })
	if i == len(*steps) {
		return span{}, false
	}
	return (*steps)[i], true
}

// until is the last step of a rank that has ended by a time.
func (t *SimulationTrace) until(p simulate.Place, time float64) (span, bool) {
	steps := t.ranks[p]
	if steps == nil {
		return span{}, false
	}
	i := sort.Search(len(*steps), func(i int) bool { return (*steps)[i].end > time+trace.Shortest })
	if i == 0 {
		return span{}, false
	}
	return (*steps)[i-1], true
}

func (t *SimulationTrace) Close() error {
	for i, idle := range t.idle {
		if idle > 0 {
			t.w.Counter(serverProcess+i, "watts per GPU", t.busy[i], trace.Arg{Key: "W", Value: idle})
		}
	}
	return t.w.Close(trace.Arg{Key: "requests_left_out", Value: t.skipped})
}

// LeftOut describes what the trace leaves out, if anything.
func (t *SimulationTrace) LeftOut() string {
	if t.skipped+t.w.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("the trace leaves out %d requests beyond %d at a time, and %d events beyond %d", t.skipped, mostSlots, t.w.LeftOut, trace.MostEvents)
}
