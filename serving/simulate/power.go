package simulate

import (
	"fmt"

	"throughline/cost"
	"throughline/hardware"
	"throughline/number"
)

// Power is what the processors of a pool draw, and the limit that their clocks follow.
type Power struct {
	*hardware.Power
	Limit float64 // watts of a processor
	Procs float64 // of a rank; those of a pipeline are shared by the batches in flight
	// Effort of a step on one processor, as a function of the clock.
	Effort func(w *Work, out *cost.Effort)
}

// everyStep holds each step to the limit by itself, as those of a pool for one phase that hardly
// differ.
func (p *Power) everyStep() {
	own := *p.Power
	own.Window = 0
	p.Power = &own
}

// average is what the controller of a processor's limit saw at a moment in watts, and the joules
// since then beyond those of waiting. Only what does not fit by itself asks for a later moment.
type average struct{ watts, at, more float64 }

// until moves it to a later moment.
func (a *average) until(t float64, p *Power) {
	if t > a.at {
		a.watts = p.Average(a.watts, p.On+a.more/(t-a.at), t-a.at)
		a.at, a.more = t, 0
	}
}

// spent is what a step takes behind what was seen before.
func (a *average) spent(t float64, p *Power, effort *cost.Effort) cost.Spent {
	out, fits := effort.Fitting(p.Power, p.Limit)
	if !fits {
		a.until(t, p)
		out = effort.Slowed(p.Power, p.Limit, a.watts, &out)
	}
	return out
}

// works lets a step pass that begins at a moment. What does not fit by itself is seen at its end.
// It reports whether the average is beyond the limit then, as no lower clock is left.
func (a *average) works(t float64, p *Power, s *cost.Spent) (beyond bool) {
	a.more += s.Joules - p.On*s.Seconds
	if limit := p.Held * p.Limit; s.Joules > limit*s.Seconds {
		a.until(t+s.Seconds, p)
		return a.watts > limit*(1+1e-9)
	}
	return false
}

// averages are those of the ranks of a server, or of its pipeline. A run begins as if the limit had
// just held: none draws more than that by starting after a rest.
func (s *server) averages() []average {
	list := &s.drawn
	if s.pipe != nil {
		list = &s.pipe.drawn
	}
	for i := len(*list); i < len(s.ranks); i++ {
		*list = append(*list, average{watts: s.pool.Power.Held * s.pool.Power.Limit})
	}
	return *list
}

// draw lets a step pass. It returns the joules that it takes beyond those of waiting, and the
// seconds of processors in which something runs.
func (s *server) draw(t float64) (joules, worked float64) {
	p := s.pool.Power
	if p == nil {
		return 0, 0
	}
	drawn, procs := s.averages(), p.Procs*float64(max(1, s.pool.Stages))
	for i, k := range s.ranks {
		if !k.works() {
			continue
		}
		if drawn[i].works(t, p, &k.spent) && s.beyond == 0 {
			s.beyond = p.Limit
		}
		joules += procs * (k.spent.Joules - p.On*k.spent.Seconds)
		worked += procs * k.spent.Working
	}
	return joules, worked
}

// waitingWatts is those of all processors that wait for work; false: not known.
func (o *Options) waitingWatts() (watts float64, known bool) {
	for i := range o.Pools {
		p := &o.Pools[i]
		if p.Power == nil {
			return 0, false
		}
		watts += float64(p.Servers*p.Ranks) * p.Power.Procs * p.Power.On
	}
	return watts, true
}

// watts is what a processor of a server draws during its step; 0: unknown.
func (s *server) watts() float64 {
	p := s.pool.Power
	if p == nil || !(s.at > s.start) {
		return 0
	}
	return p.On + s.joules/(s.at-s.start)/(p.Procs*float64(len(s.ranks)))
}

// Energy is what the processors of a run drew.
type Energy struct {
	Procs   float64
	Waiting float64 // watts of all processors that wait for work
	More    float64 // joules of steps beyond those of waiting as long
	Worked  float64 // seconds of processors in which something ran
	Beyond  float64 // a limit in watts that even the lowest clock exceeded for a while; 0: none
	Tariff  hardware.Tariff
}

// Joules of all processors, from the first request to the last token.
func (r *Record) Joules() float64 { return r.Energy.Waiting*r.Duration() + r.Energy.More }

// WattsPerProcessor on average.
func (r *Record) WattsPerProcessor() float64 { return r.Joules() / r.Duration() / r.Energy.Procs }

// Idle is the share of the time in which a processor waits for its host or for work.
func (r *Record) Idle() float64 {
	return max(0, 1-r.Energy.Worked/(r.Duration()*r.Energy.Procs))
}

// energyNotes say what the processors drew, and what that costs as far as prices are given.
func (r *Result) energyNotes() []string {
	e := r.Energy
	if e == nil {
		return []string{"watts are not known"}
	}
	per := func(n int64) string { return number.Plain(r.Joules()/float64(max(1, n)), 3) }
	text := fmt.Sprintf("energy: %.0f W per GPU on average; %s J per request, %s J per output token", r.WattsPerProcessor(), per(r.Requests), per(r.Output))
	if e.Beyond > 0 {
		text += fmt.Sprintf("; even the lowest clock exceeds the limit of %.0f W", e.Beyond)
	}
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
		{"output_tokens_per_joule", orNil(float64(r.Output) / joules)}, {"idle_percent", orNil(100 * r.Idle())},
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
