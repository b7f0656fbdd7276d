// Package schedule puts the priced operators of a step in their order and says what each adds to the step: what
// computation hides of a collective, of a transfer of the KV cache, of reading from a second memory tier, and how long
// the stages of a pipeline wait for each other. It prices nothing.
//
// Sums are all that a search needs. A Recorder takes down besides when every operator runs, and on which lane.
package schedule

import (
	"throughline/cost"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
)

// Rules are what runs beside what on a system.
type Rules struct {
	overlap float64 // share of every collective that computation hides
	silent  int     // collectives within so many processors are hidden and displace no computation
	levels  []int   // processors within which the levels of the network lie
}

// NewRules are those of a system.
func NewRules(s *hardware.System) Rules {
	var r Rules
	r.On(s)
	return r
}

// On makes the rules those of another system, or of one whose numbers have changed.
func (r *Rules) On(s *hardware.System) {
	*r = Rules{overlap: s.CollectiveOverlap, levels: r.levels[:0]}
	for i := range s.Networks {
		r.levels = append(r.levels, s.Networks[i].Size)
		if r.overlap == 1 && s.Networks[i].ProcessorUsage == 0 && (i == 0 || r.silent == s.Networks[i-1].Size) {
			r.silent = s.Networks[i].Size
		}
	}
}

// Silent reports that a collective adds nothing to a step, however long it takes.
func (r *Rules) Silent(o *op.Op) bool { return o.Members().Within(r.silent) }

// Exposed is what an operator adds to a step. Computation adds all of its time. Of a collective computation hides a share;
// it adds the rest, and the computation that the hidden share displaces.
func (r *Rules) Exposed(o *op.Op, b cost.Busy) float64 {
	if o.Class == op.Comm {
		if r.silent > 0 && r.Silent(o) {
			return 0
		}
		return (1-r.overlap)*b.Time + r.overlap*b.Displaced
	}
	return b.Time
}

// Pass is operators that follow one another.
type Pass struct {
	// Computing is how long the units are busy with those that compute, each as often as it repeats.
	Computing float64

	Ops   []op.Op
	Comms []uint8     // the indices of those that communicate
	Busy  []cost.Busy // of those that communicate; for a recorder, of all
	Runs  []op.Run    // of layers, for a recorder and where exchanges overlap: the blocks that they make up

	// Apart is how far the slowest of the ranks that exchange tokens lags behind the others, as a share of what it computes.
	Apart float64

	// Overlap is how the exchanges of layers run beside computation, and Blocks then what these consist of; of two
	// micro-batches the operators are those of one.
	Overlap plan.Overlap
	Blocks  []Block
}

// Time is what the operators of a pass add to a step.
func (r *Rules) Time(p *Pass) float64 {
	if p.Overlap != plan.NoOverlap {
		return p.overlapped()
	}
	t := p.Computing
	for _, i := range p.Comms {
		o := &p.Ops[i]
		t += o.Repeat * r.Exposed(o, p.Busy[i])
	}
	return t
}

// lag is how long the ranks that exchange tokens wait for the slowest of them while they compute what is in a pass. Neither lane
// goes on meanwhile.
func (p *Pass) lag() float64 {
	if p.Apart == 0 {
		return 0
	}
	computing := p.Computing
	if p.Overlap != plan.NoOverlap {
		computing = 0
		for i := range p.Blocks {
			b := &p.Blocks[i]
			for j := range b.Legs[:b.Count] {
				computing += float64(b.Layers) * (b.Legs[j].Computing + b.Legs[j].Longer)
			}
		}
	}
	return p.Apart * p.Overlap.Batches() * computing
}

// Work is what a step consists of: for each of so many batches, one after another, the layers of every stage of a
// pipeline, the ends of the model, and so many passes of a draft module.
type Work struct {
	Stages, Batches, Drafts int
	// Pipelined: other stages have batches of their own meanwhile, so many in all.
	Pipelined bool
	Underway  int

	Layers Pass // of one stage
	Draft  Pass // one drafted token
	Ends   Pass // the embedding in front of the first layer, the rest behind the last

	HandOn float64          // activations from one stage to the next, or from the last back to the first
	Pipe   hardware.Members // the stages that do so
	Second float64          // what the second memory tier takes to deliver what one stage reads from it
	Cache  float64          // sending the KV cache of all batches to other processors, layer by layer
	Depth  int              // layers of a stage
	// Filled is how full the stages of a pipeline are, and the last of them, in units of the one that Layers is.
	Filled, Last float64
	Moving       float64 // of experts to other processors, as a mean of all steps
	Launching    float64 // what a host takes that launches operators one by one; 0: they are captured
}

// Times are what the parts of a step add to it, in seconds.
type Times struct {
	Step   float64 // all of the following, the stages included
	Stage  float64 // the layers of one stage, for one batch
	HandOn float64 // handing activations from stage to stage
	Draft  float64
	Ends   float64
	Wait   float64 // for the slowest stage of a pipeline
	Ranks  float64 // for the slowest rank of those that exchange tokens
	Second float64 // for the second memory tier
	Moving float64 // moving experts to other processors
	Launch float64 // for a host that launches operators more slowly than they run
	// Cache is what remains of sending the cache when the step is over.
	Cache float64
}

// Uncovered is the share of the exchanges between experts in the layers that the step waits for, 1 where nothing overlaps, and how
// many times as long other operators take where no exchange that takes time slows them.
func (w *Work) Uncovered() (share, pace float64) {
	if w.Layers.Overlap == plan.NoOverlap {
		return 1, 1
	}
	return w.Layers.uncovered()
}

// Step works out the times of a step. What is recorded, if anything, goes to the recorder.
//
// A batch passes through the stages one after another; in a pipeline other stages work on other batches meanwhile, so
// that as many are done in the time of a step as are under way. The slowest stage, through which all of them pass, may then set the
// pace: the last, with the drafts and the ends, or the fullest. A batch waits where that takes longer than its own way through all
// stages; by itself it never does.
func (r *Rules) Step(w *Work, rec *Recorder) (t Times) {
	stages, batches := float64(w.Stages), float64(w.Batches)
	t.Stage = r.Time(&w.Layers)
	if w.Stages > 1 {
		t.HandOn = batches * (stages * w.HandOn)
	}
	if w.Drafts > 0 {
		t.Draft = r.Time(&w.Draft) * (batches * float64(w.Drafts))
	}
	t.Ends = r.Time(&w.Ends) * batches
	if w.Second > 0 {
		// It delivers beside the computation, which waits only if that takes longer.
		t.Second = batches * stages * max(0, w.Second-t.Stage)
	}
	full := batches * stages * t.Stage
	if w.Pipelined {
		fullest := batches * t.Stage
		slowest := max(fullest, fullest*w.Last+t.Draft+t.Ends)
		full *= w.Filled
		if w.Underway > 1 { // by itself it has no more than its way, but for rounding
			t.Wait = max(0, float64(w.Underway)*slowest-full-t.HandOn-t.Draft-t.Ends)
		}
	}
	if w.Layers.Apart > 0 {
		t.Ranks = batches * stages * w.Layers.lag()
		if w.Pipelined {
			t.Ranks *= w.Filled
		}
	}
	t.Moving = w.Moving
	t.Step = full + t.HandOn + t.Draft + t.Ends + t.Second + t.Wait + t.Ranks + t.Moving
	if w.Launching > t.Step {
		t.Launch = w.Launching - t.Step
		t.Step = w.Launching
	}
	if w.Cache > 0 {
		t.Cache = trailing(w.Cache, batches*t.Stage, float64(w.Depth))
	}
	if rec != nil {
		rec.step(r, w, &t)
	}
	return t
}

// trailing is what remains of sending something layer by layer when the layers have been computed. What belongs to a layer
// leaves while the next ones are computed: what remains is the last layer, or, where sending is slower than computing, all
// that did not fit behind the other layers.
func trailing(sending, computing, layers float64) float64 {
	behind := computing * (layers - 1) / layers
	return max(sending/layers, sending-behind)
}
