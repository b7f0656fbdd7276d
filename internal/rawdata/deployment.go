package rawdata

import (
	"context"
	"fmt"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/version"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// quantization is the bits of numbers, as in W8A8 KV8.
func quantization(p *plan.Precision) string {
	return fmt.Sprintf("W%gA%g KV%g", 8*p.Weight, 8*p.Activation, 8*p.Cache)
}

// Planned is the row of a model on some GPUs by a plan, with nothing of an engine.
func Planned(m *model.Model, precision *plan.Precision, system string, gpus int, n workload.Lengths, p *plan.Plan) Row {
	r := NewRow()
	for name, v := range map[string]any{
		"Model": m.Name, "Quantization": quantization(precision), "GPU": system, "Num GPUs": float64(gpus),
		"ISL": float64(n.Input), "OSL": float64(n.Output), "Max bs": float64(p.Sequences(m.IsMoE())),
		"TP": float64(p.Attention.TP), "PP": float64(p.Attention.PP), "EP": float64(max(1, p.Experts.EP)), "DP": float64(p.Attention.DP), "MTP": float64(p.Drafts),
		"Source": Estimated,
	} {
		r.Set(name, v)
	}
	return r
}

// Of returns the row of a deployment under a load, simulated or, without requests, predicted.
func Of(ctx context.Context, d *deploy.Deployment, load workload.Load, seen *serving.Prediction, requests *workload.Traffic) (Row, error) {
	options, err := simulate.Of(d, load.Lengths, &simulate.Settings{Routing: deploy.RoundRobin})
	if err != nil {
		return nil, err
	}
	pool := d.Of(op.Decode)
	r := Planned(d.Model, &d.Precision, pool.System.Name, d.Procs(), load.Lengths, &pool.Plan)
	r.describe(d, load, &options)
	throughput, tpot, ttft := seen.Requests*float64(load.Lengths.Output), seen.TPOT, seen.TTFT
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

// describe fills in how the engine of a deployment is launched.
func (r Row) describe(d *deploy.Deployment, load workload.Load, options *simulate.Options) {
	pool, policy := d.Of(op.Decode), &options.Pools[len(options.Pools)-1]
	for name, v := range map[string]any{
		"Framework": d.Engine.Name, "Version": version.Number, "Concurrency": float64(load.Clients),
		"Max num tokens": float64(policy.Policy.StepTokens), "Mem fraction": d.MemoryShare(pool), "Attn": d.Model.Attention.Kind.Name(),
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
