package estimate

import (
	"slices"

	"throughline/cost"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// overlapOf is how exchanges of a step overlap. A single batch only does so in decode:
// github.com/sgl-project/sglang/pull/9660 changes the low-latency combine of DeepEP.
func overlapOf(p *plan.Plan, s *op.Step) plan.Overlap {
	if p.Overlap == plan.SingleBatch && s.Phase() == op.Prefill {
		return plan.NoOverlap
	}
	return p.Overlap
}

// Busiest is the load of the busiest expert rank over the mean, averaged over layers and by layer,
// or for a sample of layers; nil where layers do not differ.
func (e *Evaluator) Busiest(p *plan.Plan) (mean float64, byLayer []float64) {
	e.stepOf(p, &e.step)
	e.lowerLayers(p, &e.step, &e.stage.list) // half batches where two overlap
	return e.lowerer.Busiest(), e.lowerer.BusiestByLayer()
}

// lowerLayers fills a list with the layers of a stage, for one of two equal micro-batches.
func (e *Evaluator) lowerLayers(p *plan.Plan, s *op.Step, list *op.List) {
	if p.Overlap == plan.TwoBatch {
		for phase := range s {
			e.lowerer.Repeat(&e.half[phase], 0.5, &s[phase])
		}
		s = &e.half
	}
	e.lowerer.Stage(p, s, list)
}

// sendingShare is the multiprocessors that the exchange of a single batch takes: 3 of the 132 of a
// Hopper (sglang/srt/batch_overlap/single_batch_overlap.py, compute_overlap_args).
const sendingShare = 3.0 / 132

// blocks cuts the layers' operators where they exchange tokens between experts.
func (e *Evaluator) blocks(pricer *cost.Pricer, overlap plan.Overlap, out *schedule.Pass) {
	e.runs = e.stage.list.AppendRuns(e.runs[:0])
	out.Overlap, out.Runs, out.Blocks = overlap, e.runs, e.cut[:len(e.runs)]
	out.Computing = 0
	left := 1.0 // of the units, always available to products
	if overlap == plan.TwoBatch {
		for _, j := range slices.Backward(out.Comms) { // exchanges are alike, and among the last
			if o := &out.Ops[j]; o.Exchanges() {
				_, left = pricer.Contended(o)
				break
			}
		}
	}
	comms := out.Comms // of the remaining runs, in their order
	for i := range e.runs {
		b, run := &out.Blocks[i], &e.runs[i]
		// Field by field: a struct copy would wait for what was just written.
		b.From, b.To, b.Block, b.Layers, b.Leading, b.Count = run.From, run.To, run.Block, run.Layers, run.Leading, 0
		from, aside := b.From, 0.0 // communication that counts as computation
		for len(comms) > 0 && int(comms[0]) < b.To {
			j := int(comms[0])
			comms = comms[1:]
			o := &out.Ops[j]
			if !o.Exchanges() {
				aside += o.Repeat * e.rules.Exposed(o, out.Busy[j])
				continue
			}
			l := &b.Legs[b.Count]
			e.leg(pricer, out, b, from, j, left, aside, l)
			l.Exchange = e.rules.Exposed(o, out.Busy[j])
			if l.Exchange > 0 {
				l.Taken = out.Busy[j].Displaced / out.Busy[j].Time
			}
			if overlap == plan.SingleBatch {
				e.beside(pricer, out.Ops[from:j], o, l)
			} else {
				times, _ := pricer.Contended(o)
				l.Contended = (times - 1) * l.Exchange
			}
			b.Count++
			from, aside = j+1, 0
		}
		e.leg(pricer, out, b, from, b.To, left, aside, &b.Legs[b.Count])
		b.Count++
	}
}

// apart is how far the slowest of the ranks that exchange tokens lags in a step, as a share of its
// computation. Pipeline stages wait for each other, too.
func (e *Evaluator) apart(pricer *cost.Pricer, p *plan.Plan, s *op.Step) float64 {
	if s.Phase() != op.Prefill || !e.problem.Assume.Imbalance {
		return 0
	}
	ops := e.stage.list.All()
	for _, i := range e.stage.list.Comms() {
		if o := &ops[i]; o.Kind == op.Dispatch && o.Group > 1 {
			return pricer.Apart() * e.lowerer.Slowest(int(o.Group)*p.Underway())
		}
	}
	return 0
}

// leg fills in what operators compute in one layer, with products on a share of the units.
func (e *Evaluator) leg(pricer *cost.Pricer, p *schedule.Pass, b *schedule.Block, from, to int, left, aside float64, l *schedule.Leg) {
	ops := p.Ops[from:to]
	t := e.computing(&e.stage, from, to)
	p.Computing += t
	*l = schedule.Leg{Computing: (t + aside) / float64(b.Layers)}
	if left < 1 {
		products := pricer.Products(ops) / float64(b.Layers)
		l.Polite, l.Longer = products, products*(1/left-1)
	}
}

// beside is what a single batch computes beside an exchange: shared experts while tokens are
// dispatched, the last expert product, expert by expert, while results are combined.
func (e *Evaluator) beside(pricer *cost.Pricer, ops []op.Op, exchange *op.Op, l *schedule.Leg) {
	l.Taken = 0
	if exchange.Kind == op.Dispatch {
		for i := range ops {
			if o := &ops[i]; o.Kind.OfSharedExperts() {
				l.Beside += pricer.Time(o) // only the network is busy while tokens are awaited
			}
		}
		return
	}
	var time, products, last, flops float64
	for i := range ops {
		o := &ops[i]
		if !o.Kind.OfExperts() {
			continue
		}
		t := pricer.Time(o)
		time += t
		if o.Class == op.Linear {
			products += o.Flops
		}
		if o.Kind == op.ExpertDown {
			last, flops, l.Parts, l.Taken = t, o.Flops, max(1, o.Count), sendingShare
		}
	}
	if last == 0 && products > 0 { // one kernel does all products
		last = time * flops / products
	}
	l.Beside = last
}
