package serving

import (
	"throughline/deploy"
	"throughline/estimate"
	"throughline/op"
	"throughline/workload"
)

// Confidence is how far what clients see can be trusted.
type Confidence struct{ TTFT, TPOT estimate.Confidence }

// Confidence in a prediction: TTFT rests on the kernels of prefill steps, TPOT on those of decode.
func (p *Predictor) Confidence(d *deploy.Deployment, l workload.Load, seen *Prediction) Confidence {
	first, later := estimate.TTFT, estimate.TPOT
	if d.Unstated {
		first, later = estimate.UntoldTTFT, estimate.UntoldTPOT
	}
	if d.Split() {
		first = estimate.HandedTTFT
	}
	prefill := d.Of(op.Prefill)
	prompts := min(float64(d.Engine.PerStep(l.Lengths.Uncached())), float64(l.Clients)/float64(prefill.Ranks()))
	return Confidence{
		TTFT: p.confidenceIn(first, d, op.Prefill, l.Lengths, prompts),
		TPOT: p.confidenceIn(later, d, op.Decode, l.Lengths, seen.Batch),
	}
}

// confidenceIn a quantity that rests on a step with this many sequences per rank.
func (p *Predictor) confidenceIn(q estimate.Quantity, d *deploy.Deployment, phase op.Phase, n workload.Lengths, sequences float64) estimate.Confidence {
	s, plan := p.servers[phase], d.Of(phase).Plan
	if phase == op.Prefill {
		plan.Drafts = 0
	}
	plan.Batch = s.batch(&plan, sequences)
	step := s.phases[phase].At(n).Detail(&plan).Confidence
	out := estimate.Known(q, step.Level, step.Kernels, estimate.Circumstance{Experts: s.moe, Drafts: plan.Drafts > 0})
	if !step.HasBand() {
		out.Band = 0
	}
	return out
}
