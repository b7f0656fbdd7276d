// Package schedule orders the priced operators of a step and finds what each adds to it: what
// computation hides of a collective, of a KV cache transfer, of reading from a second memory tier,
// and how long the stages of a pipeline wait for each other. It prices nothing.
//
// Sums are all that a search needs. A Recorder also collects when every operator runs, and on which
// lane.
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
	silent  int     // collectives within this many processors are hidden and displace no computation
	levels  []int   // sizes of the network levels, in processors
}

func NewRules(s *hardware.System) Rules {
	var r Rules
	r.On(s)
	return r
}

// On moves the rules to another system, or to changed numbers.
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

// Exposed is what an operator adds to a step: computation all of its time, a collective what is not
// hidden and the computation that the hidden share displaces.
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
	// Computing is how long the units are busy with all repetitions of computing operators.
	Computing float64

	Ops   []op.Op
	Comms []uint8     // indices of communication operators
	Busy  []cost.Busy // of communication; for a recorder, of all
	Runs  []op.Run    // blocks of the layers, for a recorder and overlapping exchanges

	// Apart is how far the slowest rank in exchanges lags behind, as a share of what it computes.
	Apart float64

	// Overlap is how exchanges run beside computation, in which case Blocks are set; of two
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

// lag is how long ranks that exchange tokens wait for the slowest of them, with both lanes idle.
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

// Work is a step: for each batch, one after another, the layers of every pipeline stage, the ends
// of the model, and the passes of a draft module.
type Work struct {
	Stages, Batches, Drafts int
	// Pipelined: other stages work on other batches meanwhile, Underway in all.
	Pipelined bool
	Underway  int

	Layers Pass // of one stage
	Draft  Pass // one drafted token
	Ends   Pass // the embedding before the first layer, the rest behind the last

	HandOn float64          // activations from one stage to the next, or from the last to the first
	Pipe   hardware.Members // the stages that do so
	Second float64          // time of the second memory tier to deliver what one stage reads
	Beside float64          // share of the stage's own time that passes meanwhile
	Cache  float64          // sending the KV cache of all batches, layer by layer
	Depth  int              // layers of a stage
	// Filled is how full the stages of a pipeline are, and Last the last one, relative to Layers.
	Filled, Last float64
	Moving       float64 // experts to other processors, averaged over all steps
	Launching    float64 // host time to launch operators one by one; 0: they are captured
}

// Times are what the parts of a step add to it, in seconds.
type Times struct {
	Step   float64 // everything below, for all stages
	Stage  float64 // the layers of one stage, for one batch
	HandOn float64 // passing activations from stage to stage
	Draft  float64
	Ends   float64
	Wait   float64 // for the slowest stage of a pipeline
	Ranks  float64 // for the slowest of the ranks that exchange tokens
	Second float64 // for the second memory tier
	Moving float64 // moving experts to other processors
	Launch float64 // for a host that launches operators more slowly than they run
	// Cache is what remains of sending the cache when the step is over.
	Cache float64
}

// Uncovered is the share of the layers' exchanges that the step waits for, 1 without overlap, and
// how much longer other operators take where no exchange that takes time slows them.
func (w *Work) Uncovered() (share, pace float64) {
	if w.Layers.Overlap == plan.NoOverlap {
		return 1, 1
	}
	return w.Layers.uncovered()
}

// Step computes the times of a step, and records it if there is a recorder.
//
// A batch passes through the stages one after another; in a pipeline other stages work on other
// batches, so as many finish within a step as are under way. The slowest stage may set the pace:
// the last, with the drafts and the ends, or the fullest. A batch waits where that takes longer
// than its own way through all stages; by itself it never does.
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
		t.Second = batches * stages * max(0, w.Second-w.Beside*t.Stage)
	}
	full := batches * stages * t.Stage
	if w.Pipelined {
		fullest := batches * t.Stage
		slowest := max(fullest, fullest*w.Last+t.Draft+t.Ends)
		full *= w.Filled
		if w.Underway > 1 { // by itself it only takes its way, but for rounding
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

// trailing is what remains of sending layer by layer when the layers have been computed: the last
// layer or, if sending is slower than computing, all that did not fit behind the other layers.
func trailing(sending, computing, layers float64) float64 {
	behind := computing * (layers - 1) / layers
	return max(sending/layers, sending-behind)
}
