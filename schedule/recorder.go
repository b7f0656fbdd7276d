package schedule

import (
	"fmt"

	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
)

// Lane is a resource on which one thing runs at a time.
type Lane uint8

const (
	Matrix   Lane = iota // unit
	Vector               // unit
	Second               // link to the second memory tier
	Handover             // link to the processors that decode
	Waiting              // for other stages: no resource is busy
	Network              // innermost level; the next ones follow
)

var laneNames = [Network]string{Matrix: "matrix", Vector: "vector", Second: "second tier", Handover: "handover", Waiting: "waiting"}

func (l Lane) String() string {
	if l < Network {
		return laneNames[l]
	}
	return fmt.Sprintf("network %d", l-Network)
}

// LaneOf is the lane of an operator: its unit, or the outermost network level of a collective.
func (r *Rules) LaneOf(o *op.Op) Lane {
	switch {
	case o.Class == op.Comm:
		return r.network(o.Members())
	case o.Unit == op.VectorUnit:
		return Vector
	}
	return Matrix
}

func (r *Rules) network(m hardware.Members) Lane {
	level := 0
	for level < len(r.levels)-1 && !m.Within(r.levels[level]) {
		level++
	}
	return Network + Lane(level)
}

// Part is the part of a step that a span belongs to.
type Part uint8

const (
	LayersPart Part = iota
	DraftPart
	EndsPart
	HandOnPart // activations from stage to stage
	SecondPart // reading from the second memory tier
	WaitPart   // for the slowest stage
	RanksPart  // for the slowest rank
	MovingPart // of experts to other processors
	LaunchPart // for the host
	CachePart  // the KV cache to other processors
	PartCount
)

// Span is one execution of an operator, a transfer or a wait.
type Span struct {
	Part Part
	Op   int // index in its pass
	Lane Lane

	Batch, Stage, Layer int // the layer counts from 0 in its stage; -1 outside of layers
	Micro               int // of two micro-batches that take turns

	// Start and End in seconds from the start of the step. A collective starts early, as far as
	// computation hides it and its lane is free.
	Start, End float64
	// Exposed is what the span adds to the step: its end, during which nothing else advances.
	Exposed float64
}

// Recorder collects the spans of a step, in the order in which they end.
type Recorder struct {
	Spans []Span

	rules *Rules
	now   float64
	free  map[Lane]float64 // from when on
	batch int
	stage int
	layer int

	turn turn // of two micro-batches
}

// step records the batches of a step one after another.
func (r *Recorder) step(rules *Rules, w *Work, t *Times) {
	*r = Recorder{Spans: r.Spans[:0], rules: rules, free: map[Lane]float64{}, layer: -1}
	front := min(1, len(w.Ends.Ops)) // the embedding
	for r.batch = range w.Batches {
		r.stage = 0
		r.pass(EndsPart, &w.Ends, 0, front, 1)
		for r.stage = range w.Stages {
			start, from := r.now, len(r.Spans)
			r.layers(&w.Layers)
			if w.Pipelined && w.Filled < 1 {
				r.shorten(start, from, w.Filled)
			}
			if w.Second > 0 {
				// The average stage of a pipeline, shorter than the fullest, reads less as well.
				waits := max(0, w.Second-w.Beside*t.Stage)
				r.beside(SecondPart, Second, start, min(w.Second, r.now+waits-start), waits)
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
	if t.Ranks > 0 {
		r.add(RanksPart, 0, Waiting, 0, t.Ranks)
	}
	if w.Moving > 0 {
		r.add(MovingPart, 0, Waiting, 0, w.Moving)
	}
	if t.Launch > 0 {
		r.add(LaunchPart, 0, Waiting, 0, t.Launch)
	}
	if w.Cache > 0 {
		r.beside(CachePart, Handover, r.now+t.Cache-w.Cache, w.Cache, t.Cache)
	}
}

// shorten scales the spans of a stage to the mean length of unequal stages.
func (r *Recorder) shorten(start float64, from int, by float64) {
	at := func(t float64) float64 { return start + (t-start)*by }
	for i := from; i < len(r.Spans); i++ {
		s := &r.Spans[i]
		s.Start, s.End, s.Exposed = at(s.Start), at(s.End), s.Exposed*by
	}
	for lane, t := range r.free {
		if t > start {
			r.free[lane] = at(t)
		}
	}
	r.now = at(r.now)
}

func (r *Recorder) layers(p *Pass) {
	if p.Overlap == plan.TwoBatch {
		r.twoBatches(p)
		return
	}
	o := order{runs: p.Runs}
	o.survey()
	for o.layer = 0; o.layer < o.depth; o.layer++ {
		r.layer = o.layer
		for b := range op.BlockCount {
			if i := o.next(b); i >= 0 {
				r.pass(LayersPart, p, p.Runs[i].From, p.Runs[i].To, float64(p.Runs[i].Layers))
			}
		}
	}
	r.layer = -1
}

// pass records a range of operators, of one of several equal layers.
func (r *Recorder) pass(part Part, p *Pass, from, to int, layers float64) {
	for i := from; i < to; i++ {
		o := &p.Ops[i]
		times := o.Repeat / layers
		exposed, hidden := r.rules.Exposed(o, p.Busy[i]), 0.0
		switch {
		case p.Overlap == plan.SingleBatch && o.Exchanges():
			all := exposed
			share, _ := p.uncovered()
			exposed *= share
			hidden = all - exposed
		case o.Class == op.Comm:
			hidden = r.rules.overlap * p.Busy[i].Time
		}
		r.add(part, i, r.rules.LaneOf(o), times*hidden, times*exposed)
	}
}

// add records what runs hidden for a time before it holds up the step.
func (r *Recorder) add(part Part, index int, lane Lane, hidden, exposed float64) {
	start := max(r.free[lane], r.now-hidden)
	r.now += exposed
	r.free[lane] = r.now
	r.Spans = append(r.Spans, Span{part, index, lane, r.batch, r.stage, r.layer, 0, start, r.now, exposed})
}

// beside records what runs beside computation, and holds up the step by what remains.
func (r *Recorder) beside(part Part, lane Lane, start, busy, exposed float64) {
	r.now += exposed
	r.free[lane] = start + busy
	r.Spans = append(r.Spans, Span{part, 0, lane, r.batch, r.stage, r.layer, 0, start, start + busy, exposed})
}

// turn is what a micro-batch computes until it exchanges tokens.
type turn struct {
	start float64 // of the layers
	spans []Span  // in seconds of computation, end to end
	send  int     // operator that exchanges; -1: none
	layer int     // of it
	last  [2]int  // indices of the last exchange of either micro-batch; -1: none
}

// twoBatches records the layers of a stage as two micro-batches.
func (r *Recorder) twoBatches(p *Pass) {
	r.turn = turn{start: r.now, last: [2]int{-1, -1}, send: -1}
	r.now += twoBatches(p, r)
}

func (r *Recorder) span(s Span) {
	r.free[s.Lane] = max(r.free[s.Lane], s.End)
	r.Spans = append(r.Spans, s)
}

// leg collects the operators of a leg of a block.
func (r *Recorder) leg(p *Pass, b *Block, index, layer int) {
	r.turn.layer = layer
	leg := 0
	for i := b.From; i < b.To; i++ {
		o := &p.Ops[i]
		if o.Exchanges() {
			if leg == index {
				r.turn.send = i
				return
			}
			leg++
			continue
		}
		if leg == index {
			time := o.Repeat / float64(b.Layers) * r.rules.Exposed(o, p.Busy[i])
			r.turn.spans = append(r.turn.spans, Span{LayersPart, i, r.rules.LaneOf(o), r.batch, r.stage, layer, 0, 0, time, time})
		}
	}
}

// turns lets both micro-batches compute a leg, and records it if there is a recorder.
func (r *Recorder) turns(p *Pass, s *lanes, l *Leg) {
	for i := range s.sent {
		free := s.computed
		start := s.turn(i, l)
		if r == nil {
			continue
		}
		t := &r.turn
		if last := t.last[i]; last >= 0 {
			r.Spans[last].Exposed = start - free // how long it was waited for
			t.last[i] = -1
		}
		// Where the other's exchange takes units, all operators of the turn are slowed alike.
		pace := 1.0
		if l.Computing > 0 {
			pace = (s.computed - start) / l.Computing
		}
		at := t.start + start
		for _, span := range t.spans {
			span.Micro, span.Start, span.Exposed = i, at, span.Exposed*pace
			at += span.Exposed
			span.End = at
			r.span(span)
		}
		if t.send >= 0 {
			end := t.start + s.sent[i]
			t.last[i] = len(r.Spans)
			r.span(Span{LayersPart, t.send, r.rules.LaneOf(&p.Ops[t.send]), r.batch, r.stage, t.layer, i, end - l.Exchange - l.Contended, end, 0})
		}
	}
	if r != nil {
		r.turn.spans, r.turn.send = r.turn.spans[:0], -1
	}
}
