package report

import (
	"fmt"
	"io"

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
	blocks  []int // cache blocks of a rank, by server
	ranks   map[[2]int]bool
	free    []float64 // when the request of each slot ended
	skipped int
}

// NewSimulationTrace starts one.
func NewSimulationTrace(out io.Writer, o *simulate.Options) *SimulationTrace {
	w := trace.New(out)
	t := &SimulationTrace{w: w, ranks: map[[2]int]bool{}}
	w.Process(requestProcess, "requests")
	for i := range o.Pools {
		p := &o.Pools[i]
		for range p.Servers {
			w.Process(serverProcess+len(t.blocks), fmt.Sprintf("server %d, %s", len(t.blocks), p.Role))
			t.blocks = append(t.blocks, p.Policy.Blocks)
		}
	}
	return t
}

var stepNames = map[byte]string{'P': "prefill", 'M': "prefill and decode", 'D': "decode"}

// Step writes a step of a rank, and what the rank holds.
func (t *SimulationTrace) Step(s *simulate.Step) {
	pid := serverProcess + s.Server
	if key := [2]int{s.Server, s.Rank}; !t.ranks[key] {
		t.ranks[key] = true
		t.w.Thread(pid, 1+s.Rank, fmt.Sprintf("rank %d", s.Rank))
	}
	t.w.Span(pid, 1+s.Rank, stepNames[s.Work.Kind()], "step", s.Start, s.End,
		trace.Arg{Key: "step", Value: s.Index}, trace.Arg{Key: "decodes", Value: s.Work.Decodes}, trace.Arg{Key: "context_tokens", Value: int(s.Work.Context)},
		trace.Arg{Key: "prompt_tokens", Value: s.Work.Tokens()}, trace.Arg{Key: "prompts", Value: len(s.Work.Chunks)}, trace.Arg{Key: "preempted", Value: s.Preempted})
	t.w.Counter(pid, fmt.Sprintf("KV use %%, rank %d", s.Rank), s.Start, trace.Arg{Key: "percent", Value: 100 * float64(s.Blocks) / float64(t.blocks[s.Server])})
	t.w.Counter(pid, fmt.Sprintf("requests, rank %d", s.Rank), s.Start, trace.Arg{Key: "running", Value: s.Running}, trace.Arg{Key: "waiting", Value: s.Waiting})
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
}

// Close ends the trace.
func (t *SimulationTrace) Close() error {
	return t.w.Close(trace.Arg{Key: "requests_left_out", Value: t.skipped})
}

// LeftOut describes what the trace leaves out, if anything.
func (t *SimulationTrace) LeftOut() string {
	if t.skipped+t.w.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("the trace leaves out %d requests beyond %d at a time, and %d events beyond %d", t.skipped, mostSlots, t.w.LeftOut, trace.MostEvents)
}
