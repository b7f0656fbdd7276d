package serving

import (
	"throughline/deploy"
	"throughline/estimate"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Step is a bare step of a phase under a plan, including the handover to a decode pool.
func (p *Predictor) Step(d *deploy.Deployment, phase op.Phase, q *plan.Plan, n workload.Lengths) (*estimate.Contents, error) {
	s := p.servers[phase]
	if phase != op.Prefill || !d.Split() {
		return s.phases[phase].At(n).Totals(q), nil
	}
	if err := s.prepareHandover(d, n); err != nil {
		return nil, err
	}
	return s.handing.At(n).Across(d.Span()).Totals(q), nil
}
