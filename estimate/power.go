package estimate

import (
	"cmp"

	"throughline/cost"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// AttentionTile is the rows of a matrix tile, which the queries that share a key fill in decode
// steps: wgmma.m64 of PTX, 16 of each of four warps before.
const AttentionTile = 64

// Draw adds what the operators of a step draw under a power limit in watts, 0 or more than that of
// the system for that, where its power is known.
func (c *Contents) Draw(p *hardware.Power, limit float64) {
	if p == nil || len(c.Operators) == 0 {
		return
	}
	works := Works(&c.Plan, c.Operators)
	efforts := make([]cost.Effort, len(works))
	for i := range works {
		efforts[i] = works[i].Effort(p)
	}
	drawn := cost.Under(p, efforts, min(cmp.Or(limit, p.Limit), p.Limit))
	c.Drawn = &drawn
	for i := range c.Operators {
		c.Operators[i].Joules = efforts[i].Joules(p, drawn.Clock)
	}
}

// Works are what the operators of a step do on one processor, in their order; the last is its wait
// for other stages, each of which runs what is under way once per step.
func Works(p *plan.Plan, ops []Operator) []cost.Work {
	turns := min(1, float64(p.Underway())/float64(p.Attention.PP))
	out := make([]cost.Work, 0, len(ops)+1)
	waits := 0.0
	for i := range ops {
		o := &ops[i]
		w := o.workload()
		if o.Part == schedule.LayersPart || o.Part == schedule.HandOnPart {
			w.Times *= turns
			waits += (1 - turns) * o.Takes()
		}
		out = append(out, w)
	}
	return append(out, cost.Work{Times: 1, Seconds: waits, Static: waits})
}

// workload is what an operator does.
func (o *Operator) workload() cost.Work {
	if !o.Computes() {
		w := cost.Work{Times: o.Times, Seconds: o.Exposed, Static: o.Exposed}
		if o.Class == op.Comm && len(o.Levels) > 0 {
			w.Sent, w.Level = o.Sent, o.Levels[len(o.Levels)-1]
		}
		return w
	}
	w := cost.Work{Times: o.Times, Seconds: o.Burst, Static: o.Static, Rate: o.Peak.Flops, Pace: o.Peak.Bytes}
	w.Flops, w.Bytes = o.Work()
	w.ThroughCores = o.Peak.Engine == Vector
	if o.Peak.Engine == Cube {
		w.Type = o.Peak.DType
	}
	if o.Class == op.BMM && o.Phase == op.Decode && o.KVHeads > 0 {
		w.ThroughCores = true
		w.Filled = min(1, o.M/o.Count*float64(o.Heads)/float64(o.KVHeads)/AttentionTile)
	}
	return w
}
