package explain

import (
	"fmt"

	"throughline/estimate"
	"throughline/internal/opdetail"
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
	p := &c.now.Plan
	stages := max(1, p.Attention.PP)
	lanes := map[[2]int]bool{}
	for stage := range stages {
		name := fmt.Sprintf("%s of %s on %s, %s", c.title(), c.problem.Model.Name, c.problem.System.Name, p.String())
		if stages > 1 {
			name = fmt.Sprintf("stage %d: %s", stage, name)
		}
		w.Process(pid+stage, name)
		w.Thread(pid+stage, batchThread, "micro-batches")
		w.Thread(pid+stage, layerThread, "layers")
	}
	spans := c.evaluator.Timeline(p)
	passes, layers := newGroups(), newGroups()
	for i := range spans {
		s := &spans[i]
		at, thread := pid+s.Stage, laneThread+int(s.Lane)
		if key := [2]int{at, thread}; !lanes[key] {
			lanes[key] = true
			w.Thread(at, thread, s.Lane.String())
		}
		name, args := c.told(s)
		w.Span(at, thread, name, s.Lane.String(), s.Start, s.End, args...)
		passes.add([3]int{at, s.Batch, 0}, s)
		if s.Part == schedule.LayersPart && p.Overlap != plan.TwoBatch { // whose layers overlap
			layers.add([3]int{at, s.Batch, s.Layer}, s)
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

func (c *subject) title() string {
	if c.problem.Phase == op.Prefill {
		return "prefill step"
	}
	return "decode step"
}

// otherParts are the names of what is no operator.
var otherParts = [schedule.PartCount]string{
	schedule.HandOnPart: "stage transfer", schedule.SecondPart: "reading the second tier", schedule.WaitPart: "waiting for the slowest stage",
	schedule.MovingPart: "moving experts", schedule.CachePart: "KV cache to the decode",
}

// told is the name of what a span is, and what is to be said of it.
func (c *subject) told(s *schedule.Span) (string, []trace.Arg) {
	args := []trace.Arg{{Key: "micro_batch", Value: s.Batch}, {Key: "exposed_us", Value: s.Exposed * 1e6}}
	if s.Layer >= 0 {
		args = append(args, trace.Arg{Key: "layer", Value: s.Layer})
	}
	if c.now.Plan.Overlap == plan.TwoBatch && s.Part == schedule.LayersPart {
		args = append(args, trace.Arg{Key: "half", Value: s.Micro})
	}
	if otherParts[s.Part] != "" {
		return otherParts[s.Part], args
	}
	kind := map[schedule.Part]estimate.PartKind{schedule.LayersPart: estimate.StagePart, schedule.DraftPart: estimate.DraftPart, schedule.EndsPart: estimate.EndsPart}[s.Part]
	o := &c.parts[kind].Ops[s.Op]
	args = append(args, trace.Arg{Key: "block", Value: opdetail.BlockOf(kind, o)}, trace.Arg{Key: "flops", Value: o.Flops}, trace.Arg{Key: "bytes", Value: o.Bytes()})
	if o.Class == op.Comm {
		return o.Kind.String(), append(args, trace.Arg{Key: "sent_bytes", Value: o.Sent}, trace.Arg{Key: "group", Value: int(o.Group)})
	}
	return o.Kind.String(), append(args, trace.Arg{Key: "bound", Value: boundNames[o.Bound]})
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
