package validate

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"

	"throughline/deploy"
	"throughline/internal/question"
	"throughline/internal/runs"
	"throughline/serving"
	"throughline/workload"
)

// OneRun is a measured run, read and predicted like a row of validate serving, so that callers can
// ask what would change the prediction.
type OneRun struct {
	Loaded     *question.Loaded
	Deployment deploy.Deployment
	Load       workload.Load // its clients, also where requests come at a rate: those under way on average
	Rate       float64       // requests per second; 0: clients wait for their answers
	Inferred   bool          // the run does not say its clients, and they are those under way

	run *servingRun
	ctx context.Context
}

// ReadRun reads a run from its cells by column; q supplies what applies to every row.
func ReadRun(ctx context.Context, cells map[string]string, q question.Question) (*OneRun, error) {
	if err := checkServing(&q); err != nil {
		return nil, err
	}
	p := newServingPredictor(ctx, q, Trial{})
	p.figures, _ = presentFigures(slices.Collect(maps.Keys(cells)))
	run, err := p.read(func(column string) string { return cells[column] })
	if err != nil {
		return nil, err
	}
	out := &OneRun{Loaded: run.Loaded, Deployment: run.Served, Load: run.Load, Rate: run.rate(), run: run, ctx: ctx}
	out.Inferred = cells[runs.InferredClients] != "" || out.Rate == 0 && cells["concurrency"]+cells["clients"] == ""
	if out.Rate > 0 {
		underWay, _ := strconv.ParseFloat(cmp.Or(cells[runs.UnderWay], cells["achieved_concurrency"]), 64)
		out.Load.Clients = max(1, run.q.Concurrency, int(math.Round(underWay)))
	}
	return out, nil
}

// Predict answers for another deployment, load or rate.
func (r *OneRun) Predict(d *deploy.Deployment, load workload.Load, rate float64) (serving.Prediction, error) {
	run, answer := *r.run, *r.run.Answer
	answer.Served, answer.Load, run.Answer = *d, load, &answer
	if rate > 0 {
		run.q.Traffic.Rate = rate
	}
	record, parts, err := simulated(r.ctx, &run)
	if err != nil {
		return serving.Prediction{}, err
	}
	return serving.Prediction{TTFT: record.TTFT.Mean(), TPOT: record.TPOT.Mean(), Latency: record.E2E.Mean(), Requests: float64(parts) * float64(record.Requests) / record.Duration()}, nil
}
