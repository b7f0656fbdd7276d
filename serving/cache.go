package serving

import (
	"fmt"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/number"
	"throughline/op"
	"throughline/workload"
)

// CacheTokens is how many tokens the KV cache of a data-parallel rank has room for, beside the weights and the working space
// of its steps, requests being as long as these. What windows bound does not grow with a sequence, so that more tokens of
// long ones fit.
func (p *Predictor) CacheTokens(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths) (float64, error) {
	phase := op.Decode
	if pool.Role == deploy.Prefill {
		phase = op.Prefill
	}
	s := p.servers[phase]
	q := *pool
	q.Plan.Batch = s.batch(&q.Plan, 1)
	m := p.Memory(d, &q, n)
	tokens := float64(n.Final())
	if phase == op.Prefill {
		tokens = float64(n.Input * d.Engine.PerStep(n.Uncached())) // of the prompts of a step, which are counted there
	}
	if m.Cache == 0 {
		return 0, nil
	}
	if t := d.CacheBytes(&q, &m) / m.Cache * tokens; t >= tokens {
		return t, nil
	}
	// Whoever starts such a server gives it all the memory there is.
	if t := (s.all - m.WithoutCache()) / m.Cache * tokens; t >= tokens {
		return t, nil
	}
	return 0, fmt.Errorf("a processor of %s has %s GiB; weights and working space need %s GiB, and the cache of one request %s GiB",
		pool.System.Name, number.Plain(s.all/estimate.GiB, 4), number.Plain(m.WithoutCache()/estimate.GiB, 4), number.Plain(m.Cache/estimate.GiB, 4))
}

// Transfer is how long the cache of a prompt keeps the link between two pools busy, and what is left of that when its
// prefill has ended.
func (p *Predictor) Transfer(d *deploy.Deployment, input int) (busy, left float64, err error) {
	kv, err := p.servers[op.Prefill].handover(d, workload.Lengths{Input: input, Output: 1})
	return kv.Time, kv.Exposed, err
}
