package advice

import (
	"context"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/jobfile"
	"throughline/op"
	"throughline/search"
)

// Run finds the best deployment of a run of a runtime file by what its clients see, behind the generic engine: the candidates
// and limits are those of the file, prefills are as large as the engine makes them. Where there is none, the outcome says
// what stood in the way.
func Run(ctx context.Context, r *jobfile.Run, workers int) (search.Outcome, *Candidate, error) {
	a := &adviser{ctx: ctx, space: space{
		base: deploy.Deployment{
			Name: r.Model.Name, Model: r.Model, Settings: r.Settings, Precision: r.Precision, Assume: r.Decode.Assume,
			Acceptance: r.Decode.Acceptance, MaxContext: r.Lengths.Final(),
		},
		lengths: r.Lengths, limits: r.Limits, prefill: r.Prefill, decode: r.Decode, pools: r.Pools, batches: r.Decode.Batches,
	}, o: Options{GPUs: r.Procs, GPUsPerNode: 8, Objective: Throughput, Engines: []*engine.Engine{engine.Generic}, Top: 1, Workers: workers}}
	mode := Aggregated
	if r.Mode == jobfile.Split {
		mode = Disaggregated
		for n := 1; n < r.Procs; n++ {
			a.sizes = append(a.sizes, n)
		}
	}
	f, err := a.newField(mode, r.Procs)
	if err != nil {
		return search.Outcome{}, nil, err
	}
	if err := f.weigh(); err != nil {
		return search.Outcome{}, nil, err
	}
	side := search.Result{Plans: f.plans, Procs: r.Procs, Instances: 1, Rejected: search.Rejections{Memory: f.memory, Latency: f.late, FirstToken: f.tooLate}}
	out := search.Outcome{Prefill: side, Decode: side, Shared: mode == Aggregated}
	if len(f.ranked) == 0 {
		return out, nil, nil
	}
	c := a.candidate(&f.ranked[0], r.Procs)
	if err := c.look(); err != nil {
		return out, nil, err
	}
	out.Requests = c.Seen.Requests
	for phase := range op.PhaseCount {
		result := &out.Decode
		if phase == op.Prefill {
			result = &out.Prefill
		}
		pool := c.Deployment.Of(phase)
		result.Found, result.Procs, result.Instances = true, pool.Plan.Attention.Procs(), pool.Count
		if result.Best, err = c.step(phase); err != nil {
			return out, nil, err
		}
	}
	return out, &c, nil
}

// step is a bare step of a phase, of a prefill with as many prompts as the engine puts into one.
func (c *Candidate) step(phase op.Phase) (out estimate.Estimate, err error) {
	d, n := &c.Deployment, c.Load.Lengths
	pool := d.Of(phase)
	problem := d.Problem(phase, pool.System, n)
	e, err := estimate.NewEvaluator(&problem)
	if err != nil {
		return out, err
	}
	q := pool.Plan
	if phase == op.Prefill {
		q.Drafts = 0
		q.Batch.Size = d.Engine.PerStep(n.Uncached())
		if pool.Role == deploy.Both {
			q.Batch.Size = min(q.Batch.Size, pool.Plan.Batch.Size)
		}
	}
	e.Evaluate(&q, &out)
	return out, nil
}
