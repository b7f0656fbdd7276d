package advice

import (
	"cmp"
	"slices"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
)

// Alone is a pool of one phase by itself: what it does where it never waits for the other.
type Alone struct {
	Pool    deploy.Pool // one instance, with the batch of a step
	Engine  *engine.Engine
	Seconds float64 // from the start to the end of a prefill, or between two tokens of a sequence
	Tokens  float64 // per second and processor: those of prompts that are computed, or of outputs
}

// alone is the pools of prefill and then of decode that do the most per processor within the limits, each layout once.
func (f *field) alone() []Alone {
	var out []Alone
	for _, list := range [][]*option{f.prefills, f.decodes} {
		var all []Alone
		for i := range list {
			if one, ok := f.byItself(list[i]); ok {
				all = append(all, one)
			}
		}
		slices.SortStableFunc(all, func(a, b Alone) int { return cmp.Compare(b.Tokens, a.Tokens) })
		seen := map[identity]bool{}
		for _, one := range all {
			key := identity{decode: one.Pool.Plan.Layout}
			if f.o.EachEngine {
				key.engine = slices.Index(f.o.Engines, one.Engine)
			}
			if len(seen) < f.o.Pools && !seen[key] {
				seen[key] = true
				out = append(out, one)
			}
		}
	}
	return out
}

// byItself is a pool at the batch at which it does the most within the limits, if there is one.
func (f *field) byItself(o *option) (Alone, bool) {
	d, p := &f.templates[o.engine], f.workers[0].predictors[o.engine]
	tokens := estimate.TokensPerStep(d.Acceptance, o.pool.Plan.Drafts)
	out, curve := Alone{Pool: o.pool, Engine: f.o.Engines[o.engine]}, p.Steps(d, &o.pool, f.lengths, tokens)
	each := float64(curve.Ranks) / float64(curve.Procs)
	if o.pool.Role == deploy.Prefill {
		out.Pool.Plan.Batch.Size = curve.Prompts
		out.Seconds = curve.Prompt * float64(curve.Prompts)
		out.Tokens = each * float64(f.lengths.Uncached()) / curve.Prompt
		return out, d.Engine.Entry(f.lengths.Input, true)+curve.Own+d.Engine.HandoverSeconds <= f.ttft
	}
	batch, token := p.Fullest(d, &o.pool, f.lengths, &curve, f.asked(), tokens)
	if batch == 0 {
		return out, false
	}
	out.Pool.Plan.Batch.Size, out.Seconds, out.Tokens = batch, token, each*float64(batch)/token
	return out, true
}
