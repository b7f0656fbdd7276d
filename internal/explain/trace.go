package explain

import (
	"fmt"

	"throughline/estimate"
	"throughline/internal/point"
	"throughline/internal/trace"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// Trace writes steps one after another as a timeline: a process for each pipeline stage, with a
// thread for each lane, one for micro-batches and one for layers, and counters of use, watts and
// memory.
func Trace(w *trace.Writer, a *point.Answer) {
	pid, start := 1, 0.0
	for i := range a.Phases {
		r, first := &a.Phases[i], pid
		pid = traceStep(w, r, pid, start)
		end := r.Estimate.StepTime
		for k := range r.Spans {
			end = max(end, r.Spans[k].End)
		}
		traceMemory(w, r, first, pid, start, start+end)
		start += end
	}
}

// traceMemory writes what the memory of a GPU holds during a step, for the processes of its stages.
func traceMemory(w *trace.Writer, r *point.Result, first, next int, start, end float64) {
	m := &r.Estimate.Memory
	weights := m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
	for pid := first; pid < next; pid++ {
		count := func(at, share float64) {
			w.Counter(pid, "memory GiB", at, trace.Arg{Key: "weights", Value: share * weights / estimate.GiB},
				trace.Arg{Key: "working space", Value: share * (m.WithoutCache() - weights) / estimate.GiB}, trace.Arg{Key: "KV cache", Value: share * m.Cache / estimate.GiB})
		}
		count(start, 1)
		count(end, 0)
	}
}

// count writes what an operator uses of its chip while it runs.
func count(w *trace.Writer, pid int, m *schedule.Span, o *estimate.Operator, start float64) {
	if m.Batch != 0 || !o.Computes() || !(m.End > m.Start) {
		return
	}
	peak, bandwidth := o.Use()
	part := m.Exposed / (m.End - m.Start)
	w.Counter(pid, "use %", start+m.Start, trace.Arg{Key: "of peak", Value: 100 * peak * part}, trace.Arg{Key: "of bandwidth", Value: 100 * bandwidth * part})
	w.Counter(pid, "use %", start+m.End, trace.Arg{Key: "of peak", Value: 0.0}, trace.Arg{Key: "of bandwidth", Value: 0.0})
	if time := o.Executions() * o.Exposed; o.Joules > 0 && time > 0 {
		w.Counter(pid, "watts", start+m.Start, trace.Arg{Key: "W", Value: o.Joules / time})
	}
}

// Threads of a stage: what passes, then its lanes.
const (
	batchThread = 1
	layerThread = 2
	laneThread  = 3
)

// traceStep writes a step from a time on, with process ids from pid on, and returns the next free
// one.
func traceStep(w *trace.Writer, r *point.Result, pid int, start float64) int {
	p := &r.Plan
	stages := max(1, p.Attention.PP)
	lanes := map[[2]int]bool{}
	for stage := range stages {
		name := fmt.Sprintf("%s of %s on %s, %s", r.StepTitle(), r.Problem.Model.Name, r.Problem.System.Name, p.String())
		if stages > 1 {
			name = fmt.Sprintf("stage %d: %s", stage, name)
		}
		w.Process(pid+stage, name)
		w.Thread(pid+stage, batchThread, "micro-batches")
		w.Thread(pid+stage, layerThread, "layers")
	}
	passes, layers := newGroups(), newGroups()
	for i := range r.Spans {
		m := &r.Spans[i]
		o, at, thread := r.Running(m), pid+m.Stage, laneThread+int(m.Lane)
		if key := [2]int{at, thread}; !lanes[key] {
			lanes[key] = true
			w.Thread(at, thread, m.Lane.String())
		}
		w.Span(at, thread, o.Name, m.Lane.String(), start+m.Start, start+m.End, arguments(p, m, o)...)
		count(w, at, m, o, start)
		passes.add([3]int{at, m.Batch, 0}, m)
		if m.Part == schedule.LayersPart && p.Overlap != plan.TwoBatch { // layers overlap otherwise
			layers.add([3]int{at, m.Batch, m.Layer}, m)
		}
	}
	passes.write(func(k [3]int, from, end float64) {
		w.Span(k[0], batchThread, fmt.Sprintf("micro-batch %d", k[1]), "batch", start+from, start+end)
	})
	layers.write(func(k [3]int, from, end float64) {
		w.Span(k[0], layerThread, fmt.Sprintf("layer %d", k[2]), "layer", start+from, start+end, trace.Arg{Key: "micro_batch", Value: k[1]})
	})
	return pid + stages
}

func arguments(p *plan.Plan, m *schedule.Span, o *estimate.Operator) []trace.Arg {
	args := []trace.Arg{{Key: "micro_batch", Value: m.Batch}, {Key: "exposed_us", Value: m.Exposed * 1e6}}
	if m.Layer >= 0 {
		args = append(args, trace.Arg{Key: "layer", Value: m.Layer})
	}
	if p.Overlap == plan.TwoBatch && m.Part == schedule.LayersPart {
		args = append(args, trace.Arg{Key: "half", Value: m.Micro})
	}
	if m.Part >= estimate.PartCount {
		return args
	}
	args = append(args, trace.Arg{Key: "block", Value: o.Block}, trace.Arg{Key: "flops", Value: o.Flops}, trace.Arg{Key: "bytes", Value: o.Bytes()})
	if o.Class == op.Comm {
		return append(args, trace.Arg{Key: "sent_bytes", Value: o.Sent}, trace.Arg{Key: "group", Value: int(o.Group)})
	}
	return append(args, trace.Arg{Key: "bound", Value: o.BoundBy()})
}

// groups collects the time ranges of micro-batches and layers, in order of appearance.
type groups struct {
	order [][3]int // process, batch, layer
	first map[[3]int]float64
	last  map[[3]int]float64
}

func newGroups() groups {
	return groups{first: map[[3]int]float64{}, last: map[[3]int]float64{}}
}

func (g *groups) add(k [3]int, s *schedule.Span) {
	if _, ok := g.last[k]; !ok {
		g.order, g.first[k] = append(g.order, k), s.Start
	}
	g.first[k], g.last[k] = min(g.first[k], s.Start), max(g.last[k], s.End)
}

// write passes on the groups. A group whose collective starts during the one before begins when
// that ends, since a thread does one thing at a time.
func (g *groups) write(span func(k [3]int, start, end float64)) {
	free := map[int]float64{}
	for _, k := range g.order {
		start := max(g.first[k], free[k[0]])
		free[k[0]] = max(start, g.last[k])
		span(k, start, free[k[0]])
	}
}
