package rawdata

import (
	"context"
	"fmt"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/version"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Quantization returns the bits of numbers, as in W8A8 KV8.
func Quantization(p *plan.Precision) string {
	return fmt.Sprintf("W%gA%g KV%g", 8*p.Weight, 8*p.Activation, 8*p.Cache)
}

// Of returns the row of a deployment under a load, simulated or, without requests, predicted.
func Of(ctx context.Context, d *deploy.Deployment, load workload.Load, seen *serving.Prediction, requests *workload.Traffic) (Row, error) {
	options, err := simulate.Of(d, load.Lengths, &simulate.Settings{Routing: deploy.RoundRobin})
	if err != nil {
		return nil, err
	}
	r := NewRow()
	r.describe(d, load, &options)
	throughput, tpot, ttft := seen.Requests*float64(load.Lengths.Output), seen.TPOT, seen.TTFT
	r.Set("Source", Estimated)
	r.Set("Client", "throughline estimate")
	if requests != nil {
		record, err := simulate.Run(ctx, options, requests.Source())
		if err != nil {
			return nil, err
		}
		throughput, tpot, ttft = float64(record.Output)/record.Duration(), record.TPOT.Mean(), record.TTFT.Mean()
		r.Set("Achieved concurrency", record.Present/record.Duration())
		r.Set("Source", Simulated)
		r.Set("Client", "throughline simulate")
	}
	r.Set("Output throughput", throughput)
	if load.Lengths.Output > 1 { // a single token has none after it
		r.Set("TPOT", 1e3*tpot)
	}
	r.Set("TTFT", 1e3*ttft)
	return r, nil
}

// describe fills in how a deployment is launched.
func (r Row) describe(d *deploy.Deployment, load workload.Load, options *simulate.Options) {
	pool, policy := d.Of(op.Decode), &options.Pools[len(options.Pools)-1]
	p := &pool.Plan
	for name, v := range map[string]any{
		"Model": d.Model.Name, "Quantization": Quantization(&d.Precision), "Framework": d.Engine.Name, "Version": version.Number, "GPU": pool.System.Name,
		"Num GPUs": float64(d.Procs()), "ISL": float64(load.Lengths.Input), "OSL": float64(load.Lengths.Output), "Concurrency": float64(load.Clients),
		"Max bs": float64(p.Sequences(d.Model.IsMoE())), "Max num tokens": float64(policy.Policy.StepTokens), "Mem fraction": d.MemoryShare(pool),
		"TP": float64(p.Attention.TP), "PP": float64(p.Attention.PP), "EP": float64(max(1, p.Experts.EP)), "DP": float64(p.Attention.DP),
		"Attn": d.Model.Attention.Kind.Name(), "MTP": float64(p.Drafts),
		"KV_cache_objs": float64(policy.Servers*policy.Ranks) * float64(policy.Policy.Blocks*policy.Policy.BlockTokens),
	} {
		r.Set(name, v)
	}
	if e, err := engine.Find(d.Engine.Name); err == nil && e != engine.Generic {
		asks := "no"
		if strings.Contains(strings.Join(e.Launch(d, pool).Commands, " "), "deepep") {
			asks = "yes"
		}
		r.Set("DeepEP", asks)
	}
}
