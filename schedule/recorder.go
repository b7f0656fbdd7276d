package schedule

import (
	"fmt"

	"throughline/hardware"
	"throughline/op"
)

// Lane is a resource on which one thing runs at a time.
type Lane uint8

const (
	Matrix   Lane = iota // unit
	Vector               // unit
	Second               // the link to the second memory tier
	Handover             // the link to the processors that decode
	Waiting              // for other stages: no resource is busy
	Network              // the innermost level; the lanes of the next ones follow
)

var laneNames = [Network]string{Matrix: "matrix", Vector: "vector", Second: "second tier", Handover: "handover", Waiting: "waiting"}

func (l Lane) String() string {
	if l < Network {
		return laneNames[l]
	}
	return fmt.Sprintf("network %d", l-Network)
}

// LaneOf is the lane of an operator: its unit, or the outermost level of the network that a collective needs.
func (r *Rules) LaneOf(o *op.Op) Lane {
	switch {
	case o.Class == op.Comm:
		return r.network(o.Members())
	case o.Unit == op.VectorUnit:
		return Vector
	}
	return Matrix
}

// network is the lane of a communication between the members of a group.
func (r *Rules) network(m hardware.Members) Lane {
	level := 0
	for level < len(r.levels)-1 && !m.Within(r.levels[level]) {
		level++
	}
	return Network + Lane(level)
}

// Part says what of a step a span belongs to.
type Part uint8

const (
	LayersPart Part = iota
	DraftPart
	EndsPart
	HandOnPart // activations from stage to stage
	SecondPart // reading from the second memory tier
	WaitPart   // for the slowest stage
	CachePart  // the KV cache on its way to other processors
	PartCount
)

// Span is one execution of an operator, or one transfer or waiting.
type Span struct {
	Part Part
	Op   int // index in its pass
	Lane Lane

	Batch, Stage, Layer int // the layer counts from 0 in its stage; -1 outside of the layers

	// Start and End in seconds from the start of the step. A collective starts before what is computed at the time has
	// ended, as far as computation hides it and its lane is free.
	Start, End float64
	// Exposed is what the span adds to the step: the part at its end during which nothing else advances.
	Exposed float64
}

// Recorder takes down the spans of a step, in the order in which they end.
type Recorder struct {
	Spans []Span

	rules *Rules
	now   float64
	free  map[Lane]float64 // from when on
	batch int
	stage int
	layer int
}

// step records the batches of a step one after another.
func (r *Recorder) step(rules *Rules, w *Work, t *Times) {
	*r = Recorder{Spans: r.Spans[:0], rules: rules, free: map[Lane]float64{}, layer: -1}
	front := min(1, len(w.Ends.Ops)) // the embedding
	for r.batch = range w.Batches {
		r.stage = 0
		r.pass(EndsPart, &w.Ends, 0, front, 1)
		for r.stage = range w.Stages {
			start := r.now
			r.layers(&w.Layers)
			if w.Second > 0 {
				r.beside(SecondPart, Second, start, w.Second, max(0, w.Second-t.Stage))
			}
			if w.HandOn > 0 {
				r.add(HandOnPart, 0, rules.network(w.Pipe), 0, w.HandOn)
			}
		}
		r.pass(EndsPart, &w.Ends, front, len(w.Ends.Ops), 1)
		for range w.Drafts {
			r.pass(DraftPart, &w.Draft, 0, len(w.Draft.Ops), 1)
		}
	}
	if t.Wait > 0 {
		r.add(WaitPart, 0, Waiting, 0, t.Wait)
	}
	if w.Cache > 0 {
		r.beside(CachePart, Handover, r.now+t.Cache-w.Cache, w.Cache, t.Cache)
	}
}

// layers records the layers of a stage in their order: of each its attention, then its feed-forward block.
func (r *Recorder) layers(p *Pass) {
	depth := 0
	for i := range p.Runs {
		if p.Runs[i].Block == op.AttentionBlock {
			depth += p.Runs[i].Layers
		}
	}
	done := make([]int, len(p.Runs))
	for r.layer = range depth {
		for b := range op.BlockCount {
			if i := next(p.Runs, b, done, r.layer, depth); i >= 0 {
				r.pass(LayersPart, p, p.Runs[i].From, p.Runs[i].To, float64(p.Runs[i].Layers))
				done[i]++
			}
		}
	}
	r.layer = -1
}

// next is the kind of block that a layer has: a leading one as long as there are any, then the one that lags most behind
// an even spread.
func next(runs []op.Run, b op.Block, done []int, layer, depth int) int {
	best, lag := -1, 0.0
	for i := range runs {
		n := &runs[i]
		if n.Block != b || done[i] == n.Layers {
			continue
		}
		if n.Leading {
			return i
		}
		if l := float64(n.Layers*(layer+1))/float64(depth) - float64(done[i]); best < 0 || l > lag {
			best, lag = i, l
		}
	}
	return best
}

// pass records the operators from one to before another, of one of so many equal layers.
func (r *Recorder) pass(part Part, p *Pass, from, to int, layers float64) {
	for i := from; i < to; i++ {
		o := &p.Ops[i]
		times := o.Repeat / layers
		exposed := r.rules.Exposed(o, p.Busy[i])
		hidden := 0.0
		if o.Class == op.Comm {
			hidden = r.rules.overlap * p.Busy[i].Time
		}
		r.add(part, i, r.rules.LaneOf(o), times*hidden, times*exposed)
	}
}

// add records what runs hidden for a time before it holds up the step for another.
func (r *Recorder) add(part Part, index int, lane Lane, hidden, exposed float64) {
	start := max(r.free[lane], r.now-hidden)
	r.now += exposed
	r.free[lane] = r.now
	r.Spans = append(r.Spans, Span{part, index, lane, r.batch, r.stage, r.layer, start, r.now, exposed})
}

// beside records what runs beside the computation from some time on, and holds up the step by what remains.
func (r *Recorder) beside(part Part, lane Lane, start, busy, exposed float64) {
	r.now += exposed
	r.free[lane] = start + busy
	r.Spans = append(r.Spans, Span{part, 0, lane, r.batch, r.stage, r.layer, start, start + busy, exposed})
}
