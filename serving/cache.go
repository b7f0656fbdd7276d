package serving

import (
	"throughline/deploy"
	"throughline/op"
	"throughline/workload"
)

// CacheTokens is the capacity of a data-parallel rank's KV cache, besides weights and working
// space, for requests of these lengths. Windows bound what a sequence keeps, so more tokens of long
// ones fit.
func (p *Predictor) CacheTokens(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths) (float64, error) {
	phase := op.Decode
	if pool.Role == deploy.Prefill {
		phase = op.Prefill
	}
	q := *pool
	q.Plan.Batch = p.servers[phase].batch(&q.Plan, 1)
	m := p.Memory(d, &q, n)
	one, tokens := float64(n.Final()), float64(n.Final())
	if phase == op.Prefill { // its memory counts all prompts of a step
		one, tokens = float64(n.Input), float64(n.Input*d.Engine.PerStep(n.Uncached()))
	}
	room := d.CacheBytes(&q, &m)
	if alone := m.Cache * one / tokens; room < alone {
		m.Cache = alone
		return 0, d.NoRoom(&q, &m)
	}
	if m.Cache == 0 {
		return 0, nil
	}
	return room / m.Cache * tokens, nil
}

// Fit reduces batches to what fits at the full length of requests, at least 1.
func (p *Predictor) Fit(d *deploy.Deployment, n workload.Lengths) {
	for i := range d.Pools {
		pool := &d.Pools[i]
		most := p.largest(d, pool, n)
		if pool.Role == deploy.Prefill {
			tokens, err := p.CacheTokens(d, pool, n)
			if err == nil && tokens == 0 {
				continue // nothing is cached
			}
			most = int(tokens) / n.Input
		}
		pool.Plan.Batch.Size = max(1, min(pool.Plan.Batch.Size, most))
	}
}

// Transfer is how long a prompt's cache occupies the link between pools, and what is left of that
// when its prefill has ended.
func (p *Predictor) Transfer(d *deploy.Deployment, input int) (busy, left float64, err error) {
	kv, err := p.servers[op.Prefill].handover(d, workload.Lengths{Input: input, Output: 1})
	return kv.Time, kv.Exposed, err
}
