package serving

import (
	"math"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/op"
	"throughline/workload"
)

// Confidence is how far what clients see can be trusted.
type Confidence struct{ TTFT, TPOT estimate.Confidence }

// Given is the confidence once a fact is known.
func (c *Confidence) Given(f *estimate.Fact) Confidence {
	return Confidence{c.TTFT.Given(f), c.TPOT.Given(f)}
}

// Narrower is the fact that would narrow the bands most, a measured run only where no word would,
// and the confidence once it is known; nil: nothing would.
func (c *Confidence) Narrower() (best *estimate.Fact, known Confidence) {
	most := 0.0
	for i := range estimate.Facts {
		f := &estimate.Facts[i]
		given := c.Given(f)
		by := math.Log(c.TTFT.Band/given.TTFT.Band) + math.Log(c.TPOT.Band/given.TPOT.Band)
		if last := i == len(estimate.Facts)-1; by > most+1e-9 && !(last && best != nil) {
			best, known, most = f, given, by
		}
	}
	return best, known
}

// Confidence in a prediction: TTFT rests on the kernels of prefill steps, TPOT on those of decode.
func (p *Predictor) Confidence(d *deploy.Deployment, l workload.Load, seen *Prediction) Confidence {
	prefill := d.Of(op.Prefill)
	prompts := min(float64(d.Engine.PerStep(l.Lengths.Uncached())), float64(l.Clients)/float64(prefill.Ranks()))
	return Confidence{
		TTFT: p.confidenceIn(estimate.TTFT, d, op.Prefill, l, prompts),
		TPOT: p.confidenceIn(estimate.TPOT, d, op.Decode, l, seen.Batch),
	}
}

// confidenceIn a quantity that rests on a step with this many sequences per rank.
func (p *Predictor) confidenceIn(q estimate.Quantity, d *deploy.Deployment, phase op.Phase, l workload.Load, sequences float64) estimate.Confidence {
	s, plan := p.servers[phase], d.Of(phase).Plan
	if phase == op.Prefill {
		plan = plan.Prefilling()
	}
	plan.Batch = s.batch(&plan, sequences)
	step := s.phases[phase].At(l.Lengths).Detail(&plan).Confidence
	out := estimate.Known(q, step.Level, step.Kernels, estimate.Causes{
		estimate.Pairs: true, estimate.Unseen: !d.Unstated && !estimate.Seen(d.Engine.Name, d.Model.Name, d.Of(phase).System.Name),
		estimate.Experts: s.moe, estimate.Drafts: plan.Drafts > 0,
		estimate.Pools: d.Split(), estimate.Wave: phase == op.Prefill && l.Requests > 0, estimate.Settings: d.Unstated, estimate.Version: !d.Versioned,
	})
	if !step.HasBand() {
		out.Band = 0
	}
	if !d.Fitted.IsNone() {
		out = out.Given(&estimate.MeasuredRun)
	}
	return out
}
