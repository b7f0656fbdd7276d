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

// OneRun is a measured run, read and predicted as a row of validate serving is, for those who ask what would change the prediction.
type OneRun struct {
	Loaded     *question.Loaded
	Deployment deploy.Deployment
	Load       workload.Load // its clients, also where requests come at a rate: those under way on average
	Rate       float64       // requests per second; 0: clients wait for their answers
	Inferred   bool          // the run does not say its clients, and they are those under way

	run       *servingRun
	predictor *serving.Predictor
	ctx       context.Context
}

// ReadRun reads a run from its cells by column. What the question says besides its deployment and lengths is as in all rows.
func ReadRun(ctx context.Context, cells map[string]string, q question.Question) (*OneRun, error) {
	if err := checkServing(&q); err != nil {
		return nil, err
	}
	p := newServingPredictor(ctx, q, everything)
	p.figures, _ = presentFigures(slices.Collect(maps.Keys(cells)))
	of := p.run(func(column string) string { return cells[column] })
	run, err := p.read(of)
	if err != nil {
		return nil, err
	}
	out := &OneRun{Loaded: run.loaded, Load: run.load, Rate: run.rate, run: run, ctx: ctx}
	out.Inferred = cells[runs.InferredClients] != "" || run.rate == 0 && of.plain("concurrency") == ""
	if run.rate > 0 {
		underWay, _ := strconv.ParseFloat(cmp.Or(cells[runs.UnderWay], of.plain("achieved_concurrency")), 64)
		out.Load.Clients = max(1, run.load.Clients, int(math.Round(underWay)))
	}
	out.predictor, err = p.predictor(run)
	out.Deployment = run.deployment
	return out, err
}

// Predict is what clients see of the run if its deployment, clients and rate were others: by the simulation at a rate, else in closed form.
func (r *OneRun) Predict(d *deploy.Deployment, load workload.Load, rate float64) (serving.Prediction, error) {
	if rate == 0 {
		return r.predictor.Predict(d, load)
	}
	run := *r.run
	run.deployment, run.rate = *d, rate
	record, err := simulated(r.ctx, &run)
	if err != nil {
		return serving.Prediction{}, err
	}
	return serving.Prediction{TTFT: record.TTFT.Mean(), TPOT: record.TPOT.Mean(), Latency: record.E2E.Mean(), Requests: float64(record.Requests) / record.Duration()}, nil
}
