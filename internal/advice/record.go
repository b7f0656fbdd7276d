package advice

import (
	"fmt"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
)

// Held is the bytes of the fullest processor.
func (c *Candidate) Held() (most float64) {
	for i := range c.Sides {
		most = max(most, c.Sides[i].Held)
	}
	return most
}

// Running is the requests that an instance of the pool that decodes is told to run at a time.
func (c *Candidate) Running() int {
	p := &c.Deployment.Of(op.Decode).Plan
	return c.Deployment.Told.Sequences * p.Attention.DP * p.Attention.PP
}

// Record is all that is said about a candidate. One that does both phases with the same processors is known by its decode.
func (c *Candidate) Record() *result.Record {
	d := &c.Deployment
	r := &result.Record{
		Mode: string(c.Mode), Model: d.Model, Settings: d.Settings, Lengths: c.Load.Lengths, Precision: d.Precision, Assume: d.Assume,
		Procs: c.GPUs, Spare: c.Spare(), Cards: result.CardsOf(d), Shared: !d.Split(),
		Whole: true, TTFT: c.Seen.TTFT, TPOT: c.Seen.TPOT, Latency: c.Seen.Latency, Requests: c.Seen.Requests,
		Served: true, Engine: d.Engine.Name, Clients: c.Load.Clients, Held: c.Held(), Trusted: &c.Trusted,
		DollarsPerMillion: c.DollarsPerMillion, TokensPerJoule: c.TokensPerJoule, Capacity: c.Capacity,
		Remark: strings.Join(d.StandIns(), "; "),
	}
	for i := range d.Pools {
		pool, side := &d.Pools[i], &c.Sides[i]
		phase, latency := op.Decode, c.Seen.TPOT
		if pool.Role == deploy.Prefill {
			phase, latency = op.Prefill, c.Seen.TTFT
		}
		step := *side.Step
		s := result.NewSide(phase, pool.System, &step, d.Model.IsMoE())
		step.Plan = pool.Plan // as it is launched; its step may hold more prompts
		s.Instances, s.Held, s.Usable, s.Latency = pool.Count, side.Held, side.Usable, latency
		r.Sides[phase] = s
	}
	return r
}

// Both is the record with both phases, also where the same processors do them.
func (c *Candidate) Both() *result.Record {
	r := c.Record()
	if c.Prefill == nil {
		return r
	}
	decode := r.Sides[op.Decode]
	s := result.NewSide(op.Prefill, decode.System, c.Prefill.Step, r.Model.IsMoE())
	s.Instances, s.Held, s.Usable, s.Latency = decode.Instances, c.Prefill.Held, decode.Usable, r.TTFT
	r.Sides[op.Prefill] = s
	return r
}

// Part is how to start one pool of a deployment.
type Part struct {
	What string `json:"what"`
	engine.Launch
}

// Engine is the one that a candidate is priced with, nil where it is priced without one.
func (c *Candidate) Engine() *engine.Engine {
	if e, err := engine.Find(c.Deployment.Engine.Name); err == nil && e != engine.Generic {
		return e
	}
	return nil
}

// Launch is how to start a candidate with an engine.
func (c *Candidate) Launch(e *engine.Engine) []Part {
	d := &c.Deployment
	var parts []Part
	for i := range d.Pools {
		p := &d.Pools[i]
		on := func(procs int) string { return number.Count(procs, "processor") }
		if d.Split() && d.Pools[0].System != d.Pools[1].System {
			on = func(procs int) string { return fmt.Sprintf("%d × %s", procs, p.System.Name) }
		}
		what := fmt.Sprintf("%s, on %s", p.Role, on(p.Procs()))
		if p.Count > 1 {
			what = fmt.Sprintf("%s, %d instances of %s", p.Role, p.Count, on(p.Plan.Attention.Procs()))
		}
		parts = append(parts, Part{what, e.Launch(d, p)})
	}
	return parts
}

// Versus is the best of each mode, where both are ranked, and the throughput of the disaggregated one over that of the other.
func (a *Advice) Versus() (aggregated, disaggregated *Candidate, ratio float64) {
	aggregated, disaggregated = a.Best(Aggregated), a.Best(Disaggregated)
	if aggregated == nil || disaggregated == nil {
		return nil, nil, 0
	}
	return aggregated, disaggregated, disaggregated.PerGPU / aggregated.PerGPU
}

// Best is the best of those that are ranked, by mode.
func (a *Advice) Best(mode Mode) *Candidate {
	for i := range a.Ranked {
		if a.Ranked[i].Mode == mode {
			return &a.Ranked[i]
		}
	}
	return nil
}
