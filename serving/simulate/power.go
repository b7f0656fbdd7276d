package simulate

import (
	"fmt"
	"math"

	"throughline/hardware"
	"throughline/number"
	"throughline/op"
)

// Power is what the processors of a pool draw.
type Power struct {
	Procs   float64 // of a rank; those of a pipeline are shared by the batches in flight
	Waiting float64 // watts of a processor that waits for work
	// More is the joules of a processor in a step beyond those of waiting as long.
	More func(w *Work) float64
}

// promptParts is how finely the share of steps with prompts is told.
const promptParts = 8

// prompted is the share of the last seconds that was of steps with prompts.
type prompted struct{ share, until float64 }

// pass lets time pass until a moment, with prompts or without; a window later little is left of
// what was before.
func (p *prompted) pass(until, window float64, with bool) {
	d := until - p.until
	if d <= 0 || window == 0 {
		return
	}
	now := 0.0
	if with {
		now = 1
	}
	p.share += (now - p.share) * d / (d + window)
	p.until = until
}

// parts is the share, rounded.
func (p *prompted) parts() int { return int(math.Round(promptParts * p.share)) }

// prompted is that of the processors of a server.
func (s *server) prompted() *prompted {
	if s.pipe != nil {
		return &s.pipe.prompted
	}
	return &s.own
}

// draws is the joules of a server's step beyond those of waiting.
func (s *server) draws() (joules float64) {
	p := s.pool.Power
	if p == nil {
		return 0
	}
	for _, k := range s.ranks {
		if k.decodes || len(k.chunks) > 0 {
			joules += p.Procs * float64(max(1, s.pool.Stages)) * p.More(&k.work)
		}
	}
	return joules
}

// waitingWatts is those of all processors that wait for work; false: not known.
func (o *Options) waitingWatts() (watts float64, known bool) {
	for i := range o.Pools {
		p := &o.Pools[i]
		if p.Power == nil {
			return 0, false
		}
		watts += float64(p.Servers*p.Ranks) * p.Power.Procs * p.Power.Waiting
	}
	return watts, true
}

// watts is what a processor of a server draws during its step; 0: unknown.
func (s *server) watts() float64 {
	p := s.pool.Power
	if p == nil || !(s.at > s.start) {
		return 0
	}
	return p.Waiting + s.joules/(s.at-s.start)/(p.Procs*float64(len(s.ranks)))
}

// Energy is what the processors of a run drew.
type Energy struct {
	Procs   float64
	Waiting float64 // watts of all processors that wait for work
	More    float64 // joules of steps beyond those of waiting as long
	Tariff  hardware.Tariff
}

// Joules of all processors, from the first request to the last token.
func (r *Record) Joules() float64 { return r.Energy.Waiting*r.Duration() + r.Energy.More }

// WattsPerProcessor on average.
func (r *Record) WattsPerProcessor() float64 { return r.Joules() / r.Duration() / r.Energy.Procs }

// energyNotes say what the processors drew, and what that costs as far as prices are given.
func (r *Result) energyNotes() []string {
	e := r.Energy
	if e == nil {
		return []string{"watts are not known"}
	}
	per := func(n int64) string { return number.Plain(r.Joules()/float64(max(1, n)), 3) }
	text := fmt.Sprintf("energy: %.0f W per GPU on average; %s J per request, %s J per output token", r.WattsPerProcessor(), per(r.Requests), per(r.Output))
	if e.Tariff.PerKWh > 0 {
		text += fmt.Sprintf("; $%s for all", number.Plain(e.Tariff.Dollars(r.Joules()), 3))
	}
	if e.Tariff.Carbon > 0 {
		text += fmt.Sprintf("; %s g of CO₂", number.Plain(e.Tariff.Grams(r.Joules()), 3))
	}
	return []string{text}
}

// energyFields are those of the result; none where nothing is known.
func (r *Result) energyFields() Fields {
	e := r.Energy
	if e == nil {
		return nil
	}
	joules := r.Joules()
	out := Fields{
		{"watts_per_gpu", orNil(r.WattsPerProcessor())}, {"joules", joules},
		{"joules_per_request", orNil(joules / float64(r.Requests))}, {"joules_per_output_token", orNil(joules / float64(r.Output))},
	}
	if e.Tariff.PerKWh > 0 {
		out = append(out, Field{"energy_dollars", e.Tariff.Dollars(joules)})
	}
	if e.Tariff.Carbon > 0 {
		out = append(out, Field{"grams_of_co2", e.Tariff.Grams(joules)})
	}
	return out
}

// Watts of all processors in an interval of the timeline.
func (e *Energy) Watts(p *Point, every float64) float64 { return e.Waiting + p.Joules/every }

// More is the joules of a processor in a step beyond those of waiting as long. Decode steps draw as
// many watts as those at the next lower place of the table.
func (s *StepTimes) More(w *Work) float64 {
	on := s.evaluator.System().Power.On
	if len(w.Chunks) > 0 || s.direct {
		seconds := s.Direct(w)
		spent := s.evaluator.Spent(&s.plan, &s.step, seconds)
		return (spent.Joules - on*seconds) / float64(s.plan.Underway())
	}
	seconds := s.uncorrected(w)
	at := place{sequences: int32(w.Decodes), under: int32(w.Under)}
	for i := range len(w.Bounded) + 1 {
		at.mean[i] = s.corner[i].lowest()
	}
	watts, ok := s.watts[at]
	if !ok {
		var step op.Step
		s.decodes(&at, &step)
		t := s.evaluator.Step(&s.plan, &step).Step
		watts = s.evaluator.Spent(&s.plan, &step, t).Watts()
		s.watts[at] = watts
	}
	s.plan.Under = w.Under
	return (watts - on) * seconds / float64(s.plan.Underway())
}
