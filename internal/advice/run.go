package advice

import (
	"context"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/jobfile"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
)

// Run finds the deployment of a run of a runtime file that serves the most requests within its limits, by what clients see behind
// the generic engine: the candidates are those of the file, prefills are as large as the engine makes them. Where there is none,
// the outcome says what stood in the way.
func Run(ctx context.Context, r *jobfile.Run, workers int) (search.Outcome, *Candidate, error) {
	a := &adviser{ctx: ctx, worth: 1, space: space{
		base: deploy.Deployment{
			Name: r.Model.Name, Model: r.Model, Settings: r.Settings, Precision: r.Precision, Assume: r.Decode.Assume,
			Acceptance: r.Decode.Acceptance, MaxContext: r.Lengths.Final(),
		},
		lengths: r.Lengths, limits: r.Limits, prefill: r.Prefill, decode: r.Decode, pools: r.Pools, batches: asOne(r.Decode.Batches),
		everyBatch: true,
	}, o: Options{GPUs: r.Procs, GPUsPerNode: hardware.NodeSize, Objective: Throughput, Engines: []*engine.Engine{engine.Generic}, Top: 1, Workers: workers}}
	mode := Aggregated
	a.sizes = []int{r.Procs}
	if r.Mode == jobfile.Split {
		mode, a.sizes = Disaggregated, nil
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
	sides := f.rejected()
	out := search.Outcome{Prefill: sides[deploy.Prefill], Decode: sides[deploy.Decode]}
	if mode == Aggregated {
		out = search.Outcome{Prefill: sides[deploy.Both], Decode: sides[deploy.Both], Shared: true}
	}
	if f.fullest.contender == nil {
		return out, nil, nil
	}
	c := a.candidate(&f.fullest, r.Procs)
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

// asOne is batches as an engine runs them: the micro-batches of one that a file cuts are one.
func asOne(batches []plan.Batch) []plan.Batch {
	var out []plan.Batch
	for _, b := range batches {
		out = append(out, plan.Batch{Count: 1, Size: max(1, b.Count) * b.Size})
	}
	return out
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
	q := pool.Under(c.Load.Clients)
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
