package estimate

import (
	"throughline/cost"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// fitting is the share of the full clock at which a step, repeated over and over, draws no more
// than the power limit on average; its times are those at the full clock. The stages of a
// pipeline rest between the batches that pass them. What other steps leave to those with prompts is
// left to simulations: it shrinks as memory gets faster, and a search that knew of it would find
// that better hardware serves less.
func (e *Evaluator) fitting(p *plan.Plan, s *op.Step, t *schedule.Times) float64 {
	power, limit := e.system.Power, e.system.Limit()
	batches, seconds := 1.0, t.Step
	visit, launching := seconds, t.Launch // batches that follow one another without a rest are one
	if under := p.Underway(); under < p.InFlight() {
		batches, visit, launching = float64(under), seconds/float64(p.InFlight()), launching/float64(p.InFlight())
	}
	heat := 0.0
	e.parts(p, s, func(_ PartKind, of *workspace, times float64) { heat += times * e.pricer.Heat(of.list.All()) })
	if heat+batches*(power.On+power.Busy)*visit <= power.Held*limit*batches*visit { // even if nothing of it waits
		return 1
	}
	average := power.Average(power.Held*limit, power.On, (seconds-batches*visit)/batches)
	var each cost.Effort
	all := e.effort(p, s)
	each.Add(1/batches, &all)
	each = each.Lasting(visit, launching)
	return each.Behind(power, limit, average).Clock
}

// Full is the time of a step at the full clock.
func (e *Evaluator) Full(p *plan.Plan, s *op.Step) float64 {
	e.lower(p, s)
	return e.at(1, p, s, false, nil).Step
}

// Effort is what a step takes of one processor, as a function of the clock; only its time where the
// power of the system is not known.
func (e *Evaluator) Effort(p *plan.Plan, s *op.Step) cost.Effort {
	e.lower(p, s)
	if e.system.Power == nil {
		return cost.Effort{Steady: e.at(1, p, s, false, nil).Step}
	}
	effort := e.effort(p, s)
	t := e.at(1, p, s, false, nil)
	return effort.Lasting(t.Step, t.Launch)
}

// slowed is the step priced last at another clock, without pricing it again.
func (e *Evaluator) slowed(clock float64) schedule.Times {
	e.clock = clock
	e.pricer.SetClock(clock)
	for part, pass := range [PartCount]*schedule.Pass{StagePart: &e.work.Layers, DraftPart: &e.work.Draft, EndsPart: &e.work.Ends} {
		pass.Computing += (1/clock - 1) * e.follows[part]
	}
	return e.rules.Step(&e.work, nil)
}

// priced is an operator with its launches, its seconds at the full clock and its effort or, of
// communication, the bytes that it sends and the joules of each.
type priced struct {
	op.Op
	cost.Effort
	full, launches float64
	bytes, perByte float64
}

// Mixed steps differ by the sequences that decode, which are few numbers: where steps come often,
// operators are kept for as many numbers of tokens, a power of two. Memory and its clearing cost
// more than they spare for the first operators that are priced on a system.
const (
	recentTokens = 32
	often        = 2048
)

// recent is the operators of the latest step of as many tokens, or of any where steps are few.
func (e *Evaluator) recent(s *op.Step) *[PartCount][]priced {
	kept, tokens := 1, 0.0
	if e.repriced > often {
		kept = recentTokens
	}
	for len(e.priced) < kept {
		e.priced = append(e.priced, [PartCount][]priced{})
	}
	for phase := range s {
		tokens += s[phase].Tokens
	}
	return &e.priced[uint(tokens)%uint(len(e.priced))]
}

// effort is that of the operators of a step on one processor. Most are those of a step before, at
// the same places, and are not priced again.
func (e *Evaluator) effort(p *plan.Plan, s *op.Step) (sum cost.Effort) {
	e.follows = [PartCount]float64{}
	if e.counts != p.Launches {
		e.counts, e.priced = p.Launches, e.priced[:0]
	}
	recent := e.recent(s)
	e.parts(p, s, func(part PartKind, of *workspace, times float64) {
		ops, known := of.list.All(), recent[part]
		if more := len(ops) - len(known); more > 0 {
			known = append(known, make([]priced, more)...)
			recent[part] = known
		}
		of.kept = known[:len(ops)]
		for i := range ops {
			o, last := &ops[i], &known[i]
			if last.Op != *o {
				e.repriced++
				*last = priced{Op: *o, launches: o.Launched(p.Launches)}
				if o.Class != op.Comm {
					last.full = e.pricer.Full(o)
					last.Effort = e.pricer.Effort(o, last.full)
				} else {
					bytes, level := e.pricer.Sent(o)
					last.bytes, last.perByte = bytes, e.system.Power.LinkByte(level)
				}
			}
			sum.Add(times*o.Repeat, &last.Effort)
			sum.Moved += times * o.Repeat * last.perByte * last.bytes
			e.follows[part] += o.Repeat * last.Clocked
		}
	})
	return sum
}

// parts are the operators of a step, and how often one processor runs them.
func (e *Evaluator) parts(p *plan.Plan, s *op.Step, visit func(part PartKind, of *workspace, times float64)) {
	count := float64(p.Batch.Count)
	filled, _ := p.Filled(e.problem.Model.Layers)
	visit(StagePart, &e.stage, count*filled*float64(p.Attention.PP)*turns(p)*overlapOf(p, s).Batches())
	if p.Drafts > 0 {
		visit(DraftPart, &e.draft, count*float64(p.Drafts))
	}
	if e.problem.Assume.Ends {
		visit(EndsPart, &e.ends, count)
	}
}

func (e *Evaluator) System() *hardware.System { return e.system }

// turns is the share of the stages of a step that each processor runs.
func turns(p *plan.Plan) float64 { return min(1, float64(p.Underway())/float64(p.Attention.PP)) }

// Spent is what the step evaluated last takes on one processor; nil where its power is not known.
func (e *Evaluator) Spent(p *plan.Plan, s *op.Step, seconds float64) *cost.Spent {
	power := e.system.Power
	if power == nil {
		return nil
	}
	effort := e.effort(p, s)
	effort.Static += max(0, seconds-effort.Seconds(e.clock))
	return &cost.Spent{Clock: e.clock, Seconds: seconds, Joules: effort.Joules(power, e.clock)}
}

// draw adds what the operators of the step evaluated last take.
func (e *Evaluator) draw(c *Contents) {
	c.Works = c.works(e.pricer)
	power := e.system.Power
	if power == nil {
		return
	}
	c.Drawn = &cost.Spent{Clock: e.clock, Seconds: c.StepTime}
	for i := range c.Works {
		effort := c.Works[i].Effort(power)
		joules := effort.Joules(power, e.clock)
		c.Drawn.Joules += joules
		if i < len(c.Operators) {
			c.Operators[i].Joules = joules + c.elsewhere(&c.Operators[i])*cost.OnWatts(power, e.clock)
		}
	}
}

// elsewhere is the seconds of a step in which a processor waits while other stages run an operator.
func (c *Contents) elsewhere(o *Operator) float64 {
	if o.Part != schedule.LayersPart && o.Part != schedule.HandOnPart {
		return 0
	}
	return (1 - turns(&c.Plan)) * o.Takes()
}

// works are what the operators of a step do on one processor, in their order; the last is its wait
// for other stages, each of which runs what is under way once per step.
func (c *Contents) works(pricer *cost.Pricer) []cost.Work {
	out := make([]cost.Work, 0, len(c.Operators)+1)
	waits := 0.0
	for i := range c.Operators {
		o := &c.Operators[i]
		w := cost.Work{Seconds: o.Exposed, Static: o.Exposed}
		switch {
		case o.Computes():
			w = pricer.Work(&o.Op, o.Full, o.Static)
		case o.Class == op.Comm && o.Group > 1:
			w.Sent, w.Level = pricer.Sent(&o.Op)
		}
		if w.Times = o.Times; o.Part == schedule.LayersPart || o.Part == schedule.HandOnPart {
			w.Times *= turns(&c.Plan)
		}
		waits += c.elsewhere(o)
		out = append(out, w)
	}
	return append(out, cost.Work{Times: 1, Seconds: waits, Static: waits})
}
