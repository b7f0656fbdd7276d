package explain

import (
	"fmt"

	"throughline/internal/point"
	"throughline/internal/trace"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// Trace writes the steps of an answer as a timeline: a process for each stage of the pipeline, with a thread for each lane, one
// for the micro-batches that pass and one for the layers.
func Trace(w *trace.Writer, a *point.Answer) error {
	pid := 1
	for i := range a.Phases {
		c, err := newSubject(a, i)
		if err != nil {
			return err
		}
		pid = c.trace(w, pid)
	}
	return nil
}

// Threads of a stage: what passes, then its lanes.
const (
	batchThread = 1
	layerThread = 2
	laneThread  = 3
)

// trace writes the step, with processes from a number on, and returns the next number.
func (c *subject) trace(w *trace.Writer, pid int) int {
	p := &c.step.Plan
	stages := max(1, p.Attention.PP)
	lanes := map[[2]int]bool{}
	for stage := range stages {
		name := fmt.Sprintf("%s of %s on %s, %s", c.StepTitle(), c.problem.Model.Name, c.problem.System.Name, p.String())
		if stages > 1 {
			name = fmt.Sprintf("stage %d: %s", stage, name)
		}
		w.Process(pid+stage, name)
		w.Thread(pid+stage, batchThread, "micro-batches")
		w.Thread(pid+stage, layerThread, "layers")
	}
	passes, layers := newGroups(), newGroups()
	for _, m := range c.timeline() {
		at, thread := pid+m.Stage, laneThread+int(m.span.Lane)
		if key := [2]int{at, thread}; !lanes[key] {
			lanes[key] = true
			w.Thread(at, thread, m.Lane)
		}
		w.Span(at, thread, m.Name, m.Lane, m.span.Start, m.span.End, c.told(&m)...)
		passes.add([3]int{at, m.Batch, 0}, m.span)
		if m.span.Part == schedule.LayersPart && p.Overlap != plan.TwoBatch { // whose layers overlap
			layers.add([3]int{at, m.Batch, m.Layer}, m.span)
		}
	}
	passes.write(func(k [3]int, start, end float64) {
		w.Span(k[0], batchThread, fmt.Sprintf("micro-batch %d", k[1]), "batch", start, end)
	})
	layers.write(func(k [3]int, start, end float64) {
		w.Span(k[0], layerThread, fmt.Sprintf("layer %d", k[2]), "layer", start, end, trace.Arg{Key: "micro_batch", Value: k[1]})
	})
	return pid + stages
}

// told is what is to be said of a moment.
func (c *subject) told(m *Moment) []trace.Arg {
	args := []trace.Arg{{Key: "micro_batch", Value: m.Batch}, {Key: "exposed_us", Value: m.Exposed}}
	if m.Layer >= 0 {
		args = append(args, trace.Arg{Key: "layer", Value: m.Layer})
	}
	if c.step.Plan.Overlap == plan.TwoBatch && m.span.Part == schedule.LayersPart {
		args = append(args, trace.Arg{Key: "half", Value: m.Micro})
	}
	o := m.op
	if o == nil {
		return args
	}
	args = append(args, trace.Arg{Key: "block", Value: m.Part}, trace.Arg{Key: "flops", Value: o.Flops}, trace.Arg{Key: "bytes", Value: o.Bytes()})
	if o.Class == op.Comm {
		return append(args, trace.Arg{Key: "sent_bytes", Value: o.Sent}, trace.Arg{Key: "group", Value: int(o.Group)})
	}
	return append(args, trace.Arg{Key: "bound", Value: boundNames[o.Bound]})
}

// groups are the last moments of what belongs together, in the order in which it comes.
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

// write hands over the groups. Where a collective of one starts behind the computation of the one before, the group begins when
// that has ended: a thread does one thing at a time.
func (g *groups) write(span func(k [3]int, start, end float64)) {
	free := map[int]float64{}
	for _, k := range g.order {
		start := max(g.first[k], free[k[0]])
		free[k[0]] = max(start, g.last[k])
		span(k, start, free[k[0]])
	}
}
