package gap

import (
	"slices"

	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/validate"
	"throughline/op"
)

// Answer predicts the deployment of a run or, without one, that of the question and the
// measurement.
func (m *Measured) Answer(a *question.Query, run *validate.OneRun) (*point.Answer, []question.Remark, error) {
	if run == nil {
		a.Wrong = m.Fill(&a.Question, a.Given)
		return point.NewExaminer().Ask(a)
	}
	d := run.Deployment
	d.Unstated = false // the measurement states the server settings
	d.Pools = slices.Clone(d.Pools)
	ranks := d.Of(op.Decode).Ranks()
	for i := range d.Pools {
		d.Pools[i].Plan.Batch.Size = max(1, (run.Load.Clients+ranks-1)/ranks)
	}
	answer, err := point.Served(d, run.Load, run.Loaded)
	if err != nil {
		return nil, nil, err
	}
	return answer, append(question.Warnings(run.Loaded.Warnings), answer.Overfull()...), nil
}
