package advice

import (
	"context"

	"throughline/engine"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/question"
)

// Plans is a search and, once run, its result.
type Plans struct {
	Loaded  *question.Loaded
	Options Options
	*Advice // nil before the search
}

// mostPlanned limits the GPUs for a rate when no number is given.
const mostPlanned = 1024

// Ask loads the files of a question and prepares its search.
func Ask(a *question.Query) (*Plans, []question.Remark, error) {
	arriving := a.Rate > 0 || a.Simulates() && a.Traffic.Trace != ""
	if arriving && !a.Given("gpus") && a.Fleet == "" && (!a.Given("objective") || a.Objective == question.MinGPUs) {
		a.Objective, a.GPUs = question.MinGPUs, mostPlanned
	}
	refused := a.Refused()
	l, err := a.Load()
	if err := document.Join(a.Wrong, refused, err); err != nil {
		return nil, nil, question.Once(err)
	}
	remarks := append(question.Warnings(l.Warnings), a.Ineffective(l)...)
	engines, err := l.Engines(a.Engine)
	demand, wrong := NewDemand(l)
	if err = document.Join(err, wrong); err != nil {
		return nil, remarks, err
	}
	o := OptionsOf(l, engines)
	o.Workers, o.Demand = a.Workers(), demand
	return &Plans{Loaded: l, Options: o}, remarks, nil
}

// Search runs it. An interrupted search may return partial results.
func (p *Plans) Search(ctx context.Context) (err error) {
	if p.Advice, err = Give(ctx, p.Loaded, p.Options); err != nil || len(p.Ranked) > 0 || len(p.Nearest) > 0 || !engine.RunsOnHost(p.Loaded.Question.Engine) {
		return err
	}
	q := p.Loaded.Question
	q.Over = q.GPUs
	if near := point.NewEstimator().Nearest(&q); near != "" {
		p.Reasons = append(p.Reasons, near)
	}
	return nil
}
