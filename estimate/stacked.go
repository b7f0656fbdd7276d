package estimate

import (
	"throughline/cost"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// Layered is the times of single layers in seconds, computed once for all pipelines of a stage.
type Layered struct {
	attention, dense, experts float64 // computation and exposed communication
	exchange                  float64 // of two micro-batches in an expert layer; 0 without overlap
	draft, ends               float64 // of the whole step
	launching                 float64
}

// Stacks reports whether layers of a stage differ only in having experts, and stages are alike, so
// that Layered describes them completely.
func (e *Evaluator) Stacks(p *plan.Plan) bool {
	m := e.problem.Model
	return p.Pipelined && len(m.Mixed) == 0 && m.Experts.Interval <= 1 && e.problem.Offload == (Offload{}) && e.alike(p)
}

// alike reports whether no stage crosses more network borders than a single one would. Crossing
// more is not always slower: some networks are fast only for certain group sizes.
func (e *Evaluator) alike(p *plan.Plan) bool {
	stage := p.Attention.Procs() / p.Attention.PP
	if p.Attention.PP == 1 || !e.problem.Assume.Borders {
		return true
	}
	networks := e.problem.System.Networks
	for i := range networks[:len(networks)-1] {
		if size := networks[i].Size; stage%size != 0 && size%stage != 0 {
			return false
		}
	}
	return true
}

// Layered is that of a step under a plan, whose number of stages does not matter.
func (e *Evaluator) Layered(p *plan.Plan, s *op.Step) Layered {
	one := &e.only
	*one = *p
	one.Attention.PP = 1
	e.lower(one, s)
	pricer, w := e.pricer, &e.work
	pricer.SetClock(1) // lower clocks only take longer
	out := Layered{ends: e.after(pricer, &e.ends, &w.Ends, e.problem.Assume.Ends), draft: e.after(pricer, &e.draft, &w.Draft, p.Drafts > 0)}
	out.launching = e.launching(one, s)
	overlap := overlapOf(p, s)
	pricer.Idle(p.TunedExchange && overlap == plan.NoOverlap)
	e.communicating(pricer, &e.stage, false, &w.Layers)
	if overlap != plan.NoOverlap {
		e.blocks(pricer, overlap, &w.Layers)
	}
	e.runs = e.stage.list.AppendRuns(e.runs[:0])
	for i, run := range e.runs {
		var t, sent float64
		if overlap == plan.NoOverlap {
			t = e.layer(pricer, &w.Layers, &run)
		} else {
			t, sent = w.Layers.Blocks[i].Least(overlap)
		}
		switch {
		case run.Block == op.AttentionBlock:
			out.attention = t
		case run.Leading || !e.moe:
			out.dense = t
		default:
			out.experts, out.exchange = t, sent
		}
	}
	return out
}

// layer is how long the operators of a run take in one layer, including communication.
func (e *Evaluator) layer(pricer *cost.Pricer, p *schedule.Pass, run *op.Run) float64 {
	t := pricer.Computing(p.Ops[run.From:run.To])
	for _, i := range p.Comms {
		if k := int(i); k >= run.From && k < run.To {
			t += p.Ops[k].Repeat * e.rules.Exposed(&p.Ops[k], p.Busy[k])
		}
	}
	return t / float64(run.Layers)
}

// after is how long a part of a step takes that is not cut into stages, if there is one.
func (e *Evaluator) after(pricer *cost.Pricer, s *workspace, w *schedule.Pass, any bool) float64 {
	if !any {
		return 0
	}
	e.pass(pricer, s, plan.NoOverlap, false, w)
	return e.rules.Time(w)
}

// Staged is the least time of a step by its layers, without waits and moved experts.
func (e *Evaluator) Staged(p *plan.Plan, s *op.Step, l *Layered) float64 {
	layers := plan.LayersPerStage(e.problem.Model.Layers, p.Attention.PP)
	experts := float64(e.lowerer.ExpertLayers(layers))
	dense := float64(e.problem.Model.FeedForwardLayers(layers)) - experts
	computing := float64(layers)*l.attention + dense*l.dense + experts*l.experts
	w := schedule.Work{
		Stages: p.Attention.PP, Batches: p.Batch.Count, Drafts: p.Drafts, Pipelined: p.Pipelined, Underway: p.Underway(), Launching: l.launching,
		Layers: schedule.Pass{Computing: max(computing, experts*l.exchange)},
		Draft:  schedule.Pass{Computing: l.draft}, Ends: schedule.Pass{Computing: l.ends},
	}
	w.Filled, w.Last = p.Filled(e.problem.Model.Layers)
	if p.Attention.PP > 1 {
		w.HandOn = e.pricer.HandOn(e.stages(p), e.stageMessage(p, s))
	}
	return e.rules.Step(&w, nil).Step
}
