// Package serving predicts what the clients of a serving engine see: the time to the first token and the time per output
// token under load. How long a step of the engine takes comes from package estimate; how requests share the steps is
// worked out here, in closed form.
package serving

import (
	"errors"
	"fmt"
	"math"

	"throughline/assume"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/model"
	"throughline/plan"
	"throughline/workload"
)

// Deployment is a model behind an engine.
type Deployment struct {
	Model     *model.Model
	Settings  *model.Settings
	System    *hardware.System
	Precision plan.Precision
	Assume    *assume.Assumptions
	Engine    *engine.Engine

	// StepTokens is the tokens that a step may hold, if not what the engine does by default.
	StepTokens int
	// PollSteps is the steps between two looks for new requests; 0 for 1.
	PollSteps int

	// Prefill is the servers that only prefill. Without any, those of Decode do both.
	Prefill, Decode Pool
}

// Pool is equal servers of a plan. The batch of the plan does not matter.
type Pool struct {
	Plan    plan.Plan
	Workers int
}

// Ranks is the data-parallel ranks of the pool, which share its requests evenly; of a pipeline, as many as batches are in
// flight.
func (p *Pool) Ranks() int { return p.Workers * p.Plan.Attention.DP * p.Plan.InFlight() }

// Split reports whether prefill and decode have servers of their own.
func (d *Deployment) Split() bool { return d.Prefill.Workers > 0 }

// Load is a closed loop: every client sends a request, waits for its end and sends the next.
type Load struct {
	Lengths workload.Lengths
	Clients int
	// Requests of each client, all of whom start at once: the first of them meet those of all others, and the next are
	// spread by their lengths. 0: the clients have been at it for long, and come evenly spread over time.
	Requests float64
}

// deviation is the standard deviation of the lengths in units of their mean. Where it is 0, requests which start together
// end together.
func (l *Load) deviation() float64 { return math.Sqrt(max(0, l.Lengths.Squares-1)) }

// Prediction is what the clients see on average. Times are in seconds.
type Prediction struct {
	TTFT float64 // time to the first token
	TPOT float64 // time per output token after the first

	Steady float64 // time to the first token after the first requests
	Burst  float64 // and that of the first requests
	Batch  float64 // sequences that decode on a data-parallel rank
	Room   float64 // sequences that find room on a data-parallel rank
}

// Predict works out what the clients of a deployment see.
func (d *Deployment) Predict(l Load) (Prediction, error) {
	if l.Clients < 1 || l.Lengths.Input < 1 || l.Lengths.Output < 1 {
		return Prediction{}, errors.New("a load needs clients, inputs and outputs")
	}
	decode, err := NewSteps(d, &d.Decode, l.Lengths)
	if err != nil {
		return Prediction{}, err
	}
	room := decode.Room(d.Engine.Scheduling.ReservesOutput)
	if room < 1 {
		return Prediction{}, fmt.Errorf("the weights need %.4g GiB, more than a processor of %s has", decode.weights/estimate.GiB, d.System.Name)
	}
	s := d.Engine.Scheduling
	if d.StepTokens > 0 {
		s.StepTokens = d.StepTokens
	}
	c := closed{load: l, rules: &s, polls: float64(max(1, d.PollSteps)), decode: decode, ranks: float64(d.Decode.Ranks()), room: min(room, float64(s.Sequences))}
	if !d.Split() {
		return c.aggregated(), nil
	}
	prefill, err := NewSteps(d, &d.Prefill, l.Lengths)
	if err != nil {
		return Prediction{}, err
	}
	return c.split(prefill, float64(d.Prefill.Ranks())), nil
}
