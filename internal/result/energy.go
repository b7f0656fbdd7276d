package result

import (
	"fmt"
	"strings"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/number"
	"throughline/op"
)

// Energy is what a deployment draws while its clients are served.
type Energy struct {
	Watts   float64 // of a processor, on average
	Machine float64 // watts of a node, its host included where that is known
	Idle    float64 // share of the time in which a processor waits for its host or for work
	Output  float64 // joules of all processors per output token, prompts and waiting included
	Input   float64 // joules of all processors per prompt token, in its step alone
	Limit   float64 // watts, of the decode pool
	Lowered bool    // the limit is below that as delivered
	Beyond  float64 // a limit in watts that even the lowest clock exceeds; 0: none
	Origin  string  // of the power of the systems: the least certain
	Host    bool    // whether the watts of the host are known
	Tariff  hardware.Tariff
}

// Held says how the limit bears on what is drawn, where it is below that as delivered or exceeded.
func (e *Energy) Held() string {
	switch {
	case e.Beyond > 0 && e.Watts > e.Beyond:
		return fmt.Sprintf(", above the limit of %.0f W even at the lowest clock", e.Beyond)
	case e.Beyond > 0:
		return fmt.Sprintf(", at times above the limit of %.0f W even at the lowest clock", e.Beyond)
	case e.Lowered:
		return fmt.Sprintf(" under a limit of %.0f W", e.Limit)
	}
	return ""
}

// Dollars of a million output tokens, and Grams of CO₂.
func (e *Energy) Dollars() float64 { return e.Tariff.Dollars(1e6 * e.Output) }
func (e *Energy) Grams() float64   { return e.Tariff.Grams(1e6 * e.Output) }

// Bill is what the energy of a million output tokens costs, in words; empty: nobody has said.
func (e *Energy) Bill() string {
	var parts []string
	if e.Tariff.PerKWh > 0 {
		parts = append(parts, fmt.Sprintf("$%s of energy", number.Plain(e.Dollars(), 3)))
	}
	if e.Tariff.Carbon > 0 {
		parts = append(parts, number.Plain(e.Grams(), 3)+" g of CO₂")
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, " and ") + " per million output tokens"
	if e.Tariff.PUE > 0 {
		text += fmt.Sprintf(" at a PUE of %s", number.Plain(e.Tariff.PUE, 3))
	}
	return text
}

// origins are those of the power of systems, from certain to least certain.
var origins = map[string]int{hardware.MeasuredPower: 0, hardware.FittedPower: 1, "estimated": 2}

// drawing is what the processors of a pool do on average: those at work, and their watts. Steps
// that hold prompts and answers do more than bare ones: all may seem to be at work, and more.
type drawing struct{ busy, watts float64 }

// Draw fills in what a deployment draws at its request rate, by its bare steps of each phase, where
// both phases and their power are known. Spare processors rest.
func (r *Record) Draw(d *deploy.Deployment, steps [op.PhaseCount]*estimate.Contents, tariff hardware.Tariff) {
	out := &Energy{Origin: hardware.MeasuredPower, Host: true, Tariff: tariff}
	work := map[*deploy.Pool]*drawing{}
	for phase := range op.PhaseCount {
		step, pool := steps[phase], d.Of(phase)
		if step == nil || step.Drawn == nil || !r.Served {
			return
		}
		if work[pool] == nil {
			work[pool] = new(drawing)
		}
		busy := min(1, r.Requests/(float64(pool.Count)*step.Requests)) * float64(pool.Procs())
		work[pool].busy += busy
		work[pool].watts += busy * step.Drawn.Watts()
		if phase == op.Prefill {
			out.Input = float64(pool.Plan.Attention.Procs()) * step.Drawn.Watts() / step.Throughput
		}
		out.Limit = pool.System.Limit()
		out.Lowered = out.Limit < pool.System.Power.Limit
		if o := pool.System.Power.Origin; origins[o] > origins[out.Origin] {
			out.Origin = o
		}
	}
	total := 0.0
	for i := range d.Pools {
		pool := &d.Pools[i]
		w, procs, power := work[pool], float64(pool.Procs()), pool.System.Power
		total += w.watts*min(1, procs/w.busy) + max(0, procs-w.busy)*power.On
		out.Idle += max(0, procs-w.busy) / float64(d.Procs())
	}
	if r.Prediction.Watts > 0 { // which are simulated, step by step
		total, out.Idle, out.Beyond = r.Prediction.Watts*float64(d.Procs()), r.Prediction.Idle, r.Prediction.Beyond
	}
	out.share(d, total, r.Spare)
	if r.Prediction.Watts == 0 && out.Watts > out.Limit {
		out.Beyond = out.Limit
	}
	out.Output = out.Watts * float64(d.Procs()+r.Spare) / r.Tokens()
	r.Energy = out
}

// share fills in what a processor and a node draw on average, of the watts of all that serve.
// Spare ones rest.
func (e *Energy) share(d *deploy.Deployment, total float64, spare int) {
	power := d.Of(op.Decode).System.Power
	resting, procs, host := float64(spare), float64(d.Procs()+spare), float64(spare)*power.Host
	for i := range d.Pools {
		p := d.Pools[i].System.Power
		host += float64(d.Pools[i].Procs()) * p.Host
		e.Host = e.Host && p.Host > 0
	}
	total += resting * power.Rest
	e.Idle = (e.Idle*float64(d.Procs()) + resting) / procs
	e.Watts = total / procs
	e.Machine = min(procs, float64(d.PerNode())) * (total + host) / procs
}

// energy is a field of answers whose watts are known.
func energy(name string, u Unit, doc string, value func(*Energy) any) Field {
	return Field{name, u, Costs, doc, func(r *Record) any {
		if r.Energy == nil {
			return nil
		}
		return value(r.Energy)
	}}
}

// energyFields are what a deployment draws.
var energyFields = []Field{
	energy("watts_per_gpu", Watts, "watts of a GPU while clients are served, on average", func(e *Energy) any { return e.Watts }),
	energy("watts_per_machine", Watts, "watts of the GPUs of a node, and of the rest of it where `host_W` is known", func(e *Energy) any { return e.Machine }),
	energy("joules_per_output_token", Joules, "joules of all GPUs per output token, what its prompt and waiting take included", func(e *Energy) any { return e.Output }),
	energy("joules_per_input_token", Joules, "joules of all GPUs per prompt token, in its step alone", func(e *Energy) any { return e.Input }),
	energy("output_tokens_per_joule", None, "output tokens per joule that the GPUs draw", func(e *Energy) any { return 1 / e.Output }),
	energy("idle(%)", Percent, "share of the time in which a GPU waits for its host or for work", func(e *Energy) any { return 100 * e.Idle }),
	energy("power_limit(W)", Watts, "power limit of a GPU", func(e *Energy) any { return e.Limit }),
	energy("power_origin", None, "what the watts rest on: measured, fitted or estimated", func(e *Energy) any { return e.Origin }),
	energy("energy_dollars_per_million_tokens", "$", "dollars of the energy of a million output tokens, where `energy-price` is given; of the building, where `pue` is", func(e *Energy) any { return nonzero(e.Dollars()) }),
	energy("grams_of_CO2_per_million_tokens", None, "grams of CO₂ of a million output tokens, where `carbon` is given; of the building, where `pue` is", func(e *Energy) any { return nonzero(e.Grams()) }),
}
