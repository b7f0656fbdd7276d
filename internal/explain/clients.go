package explain

import (
	"errors"
	"math"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/op"
	"throughline/serving"
	"throughline/workload"
)

// figures are what a deployment does: a bare step of the phase that is explained, and what clients see.
type figures struct {
	step   estimate.Estimate
	ttft   float64
	tpot   float64
	tokens float64 // output tokens per second of all clients; of bare steps, those of the phase
	free   float64 // bytes that the fullest processor may still take; less than 0: it does not hold all
}

// serves reports whether the answer says what clients see.
func (c *subject) serves() bool { return c.answer.Seen != nil }

// now is what the deployment does, as far as the answer says it.
func (c *subject) now() *figures {
	out := &figures{step: c.Estimate, tokens: c.Throughput}
	if seen := c.answer.Seen; seen != nil {
		out.seen(seen, &c.answer.Load)
	}
	return out
}

// seen takes what clients see under a load.
func (f *figures) seen(p *serving.Prediction, l *workload.Load) {
	f.ttft, f.tpot, f.tokens = p.TTFT, p.TPOT, p.Requests*float64(l.Lengths.Output)
}

// on is what the deployment does on a changed system, in the place of the one that is explained.
func (c *subject) on(sys *hardware.System) (*figures, error) {
	if err := c.elsewhere.On(sys); err != nil {
		return nil, err
	}
	var out figures
	c.elsewhere.Evaluate(&c.Estimate.Plan, &out.step)
	out.tokens, out.free = out.step.Throughput, c.usable(sys, &out.step.Memory)-out.step.Memory.Total()
	if !c.serves() {
		if c.Phase == op.Prefill {
			out.ttft = out.step.Latency
		} else {
			out.tpot = out.step.Latency
		}
		return &out, nil
	}
	d := c.answer.Served
	d.Pools = append([]deploy.Pool(nil), d.Pools...)
	for i := range d.Pools {
		if d.Pools[i].System == c.Problem.System {
			d.Pools[i].System = sys
		}
	}
	return &out, c.see(&d, &out)
}

// see fills in what the clients of a deployment see.
func (c *subject) see(d *deploy.Deployment, out *figures) error {
	p, err := serving.NewPredictor(d)
	if err != nil {
		return err
	}
	load := c.answer.Load
	if d.Clients() != c.answer.Served.Clients() {
		load.Clients = d.Clients() // another batch
	}
	out.free = p.Free(d, load.Lengths)
	seen, err := p.Predict(d, load)
	var full *deploy.NoRoom
	if errors.As(err, &full) {
		out.ttft, out.tpot, out.tokens = math.Inf(1), math.Inf(1), 0
		return nil
	}
	out.seen(&seen, &load)
	return err
}

// sizedClients is the times that clients see at another batch of the pool that decodes.
func (c *subject) sizedClients(batch int) (ttft, tpot float64) {
	d := c.answer.Served
	d.Pools = append([]deploy.Pool(nil), d.Pools...)
	d.Of(op.Decode).Plan.Batch.Size = batch
	var out figures
	if err := c.see(&d, &out); err != nil {
		return 0, 0 // it was served at another batch, so that it only can be too much for the memory, which is another limit
	}
	return out.ttft, out.tpot
}
