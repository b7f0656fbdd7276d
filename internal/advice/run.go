package advice

import (
	"cmp"
	"context"
	"fmt"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/jobfile"
	"throughline/internal/question"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
)

// Run finds the best deployment of a run of a runtime file: the one a plan would rank first if the
// file asks for that, otherwise the candidate of the file that serves the most requests within the
// limits on the generic engine. If none does, the outcome explains why.
func Run(ctx context.Context, r *jobfile.Run, workers int) (search.Outcome, *Candidate, error) {
	return run(ctx, r, workers, false)
}

func run(ctx context.Context, r *jobfile.Run, workers int, rough bool) (search.Outcome, *Candidate, error) {
	a := candidateSearch(ctx, r)
	if r.Plan != nil {
		var err error
		if a, err = planSearch(ctx, r); err != nil {
			return search.Outcome{}, nil, err
		}
	}
	a.o.Workers, a.o.rough = workers, a.o.rough || rough
	mode := Aggregated
	if r.Mode == jobfile.Split {
		mode = Disaggregated
	}
	f, err := a.newField(mode, a.o.GPUs)
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
	if len(f.ranked) == 0 {
		return out, nil, nil
	}
	ranked := f.ranked
	if !rough {
		if ranked, _, err = a.simulate(ranked, nil); err != nil || ctx.Err() != nil {
			return out, nil, cmp.Or(err, ctx.Err())
		}
	}
	best := &rank(ranked, 1)[0]
	c := a.candidate(best, r.Procs)
	if err := c.describe(best.predictor(), hardware.Tariff{}); err != nil {
		return out, nil, err
	}
	c.Pay(&c.Deployment, (*hardware.System).OwnPrice)
	out.Requests = c.Requests
	for phase := range op.PhaseCount {
		result := &out.Decode
		if phase == op.Prefill {
			result = &out.Prefill
		}
		pool := c.Deployment.Of(phase)
		result.Found, result.Procs, result.Instances = true, pool.Plan.Attention.Procs(), pool.Count
		result.Best = c.steps[phase].Estimate
	}
	return out, &c, nil
}

func candidateSearch(ctx context.Context, r *jobfile.Run) *adviser {
	a := &adviser{ctx: ctx, worth: 1, space: space{
		base: deploy.Deployment{
			Name: r.Model.Name, Model: r.Model, Settings: r.Settings, Precision: r.Precision, Assume: r.Decode.Assume,
			Acceptance: r.Decode.Acceptance, MaxContext: r.Lengths.Final(),
		},
		lengths: r.Lengths, limits: r.Limits, prefill: r.Prefill, decode: r.Decode, pools: r.Pools, batches: mergeMicroBatches(r.Decode.Batches),
		sizes: []int{r.Procs},
	}, o: Options{
		Search: question.Search{GPUs: r.Procs, Objective: Throughput, Top: 1}, GPUsPerNode: hardware.NodeSize, Engines: []*engine.Engine{engine.Generic},
		rough: true, // thousands of runs: the first is simulated
	}}
	if r.Mode == jobfile.Split {
		a.sizes = nil
		for n := 1; n < r.Procs; n++ {
			a.sizes = append(a.sizes, n)
		}
	}
	return a
}

// planSearch prepares the search of a plan; what the file leaves open takes the defaults of `plan`.
func planSearch(ctx context.Context, r *jobfile.Run) (*adviser, error) {
	q := question.DefaultOf(question.Plan)
	q.GPUs, q.Engine = r.Procs, r.Plan.Engine
	if r.Pools != nil {
		q.GPUs, q.PrefillGPUs = r.Pools[0]+r.Pools[1], r.Pools[0]
	}
	l := &question.Loaded{
		Question: q, Shape: r.Model, Settings: r.Settings, Prefill: r.Prefill.System, Decode: r.Decode.System,
		Assumptions: r.Decode.Assume, Lengths: r.Lengths,
	}
	var err error
	if l.Precision, l.Stored, err = formats(&r.Precision).Resolve(r.Model, r.Prefill.System, r.Decode.System); err != nil {
		return nil, err
	}
	engines, err := engine.Choices(r.Plan.Engine)
	if err != nil {
		return nil, err
	}
	a := newAdviser(ctx, l, OptionsOf(l, engines))
	a.limits, a.base.Acceptance, a.decode.Drafts = r.Limits, r.Decode.Acceptance, r.Decode.Drafts
	if r.Plan.Redundant {
		a.prefill.Redundant, a.decode.Redundant = r.Decode.Redundant, r.Decode.Redundant
	}
	return a, a.checkSettings()
}

// formats maps the widths and number types of a runtime file to those of a plan.
func formats(p *plan.Precision) deploy.Formats {
	wide := map[float64]string{0.5: "int4", 1: "fp8", 2: number.Half, 4: "fp32"}
	out := deploy.Formats{Weights: formatOf(p.MatrixType), Cache: wide[p.Cache], Comm: wide[p.Comm], Attention: formatOf(p.AttentionType), Vector: formatOf(p.VectorType)}
	if hardware.TypeBytes(p.MatrixType) != p.Weight { // otherwise activations follow from the weights
		out.Weights, out.Activations = wide[p.Weight], out.Weights
	}
	return out
}

func formatOf(numberType string) string {
	for i := range number.Formats {
		if f := &number.Formats[i]; len(f.Types) > 0 && f.Types[0] == numberType {
			return f.Name
		}
	}
	panic(fmt.Sprintf("advice: no format has numbers of type %s", numberType))
}

// mergeMicroBatches merges micro-batches into one batch, as engines run them.
func mergeMicroBatches(batches []plan.Batch) []plan.Batch {
	var out []plan.Batch
	for _, b := range batches {
		out = append(out, plan.Batch{Count: 1, Size: max(1, b.Count) * b.Size})
	}
	return out
}

func (c *Candidate) Problem(phase op.Phase) estimate.Problem {
	return c.Deployment.Problem(phase, c.Deployment.Of(phase).System, c.Load.Lengths)
}
