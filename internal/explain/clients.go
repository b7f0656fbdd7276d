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

// figures are what a deployment does: a bare step of the explained phase, and what clients see.
type figures struct {
	step   estimate.Estimate
	ttft   float64
	tpot   float64
	tokens float64 // output tokens per second of all clients; of a bare step, those of the phase
	free   float64 // bytes left on the fullest processor; negative: it does not fit
}

func (c *subject) serves() bool { return c.answer.Seen != nil }

// present returns the figures that the answer already has.
func (c *subject) present() *figures {
	out := &figures{step: c.Estimate, tokens: c.Throughput}
	if seen := c.answer.Seen; seen != nil {
		out.setClients(seen, &c.answer.Load)
	}
	return out
}

func (f *figures) setClients(p *serving.Prediction, l *workload.Load) {
	f.ttft, f.tpot, f.tokens = p.TTFT, p.TPOT, p.Requests*float64(l.Lengths.Output)
}

// onSystem evaluates the deployment on a changed system.
func (c *subject) onSystem(sys *hardware.System) (*figures, error) {
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
	return &out, c.predictClients(&d, &out)
}

func (c *subject) predictClients(d *deploy.Deployment, out *figures) error {
	p, err := serving.NewPredictor(d)
	if err != nil {
		return err
	}
	load := c.answer.Load
	if d.Clients() != c.answer.Served.Clients() {
		load.Clients = d.Clients() // another batch
	}
	out.free = p.Free(d, load.Lengths)
	seen, err := p.Predict(d, load) // smooth, where a simulation would jump
	var full *deploy.NoRoom
	if errors.As(err, &full) {
		out.ttft, out.tpot, out.tokens = math.Inf(1), math.Inf(1), 0
		return nil
	}
	if err == nil {
		err = c.scale(&seen)
	}
	out.setClients(&seen, &load)
	return err
}

// scale changes what the closed form says as the simulation of the answer differs from it.
func (c *subject) scale(seen *serving.Prediction) error {
	if c.closed == nil {
		closed, err := serving.Predict(&c.answer.Served, c.answer.Load)
		if err != nil {
			return err
		}
		c.closed = &closed
	}
	is := c.answer.Seen
	seen.TTFT *= is.TTFT / c.closed.TTFT
	seen.Requests *= is.Requests / c.closed.Requests
	if is.TPOT > 0 {
		seen.TPOT *= is.TPOT / c.closed.TPOT
	}
	return nil
}

// sizedClients returns TTFT and TPOT at another decode batch.
func (c *subject) sizedClients(batch int) (ttft, tpot float64) {
	d := c.answer.Served
	d.Pools = append([]deploy.Pool(nil), d.Pools...)
	d.Of(op.Decode).Plan.Batch.Size = batch
	var out figures
	if err := c.predictClients(&d, &out); err != nil {
		return 0, 0 // it fits at another batch, so this is only the memory limit, which is reported apart
	}
	return out.ttft, out.tpot
}
