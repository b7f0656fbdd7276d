package advice

import (
	"cmp"
	"slices"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
)

// Alone is a pool of one phase that never waits for the other.
type Alone struct {
	Pool    deploy.Pool // one instance, with the batch of a step
	Engine  *engine.Engine
	Seconds float64 // of a prefill, or between two tokens of a sequence
	Tokens  float64 // per second and processor: computed prompt tokens, or output tokens
}

// alone ranks prefill and decode pools by throughput within the limits, each layout once.
func (f *field) alone() []Alone {
	var out []Alone
	for _, list := range [][]*option{f.prefills, f.decodes} {
		var all []Alone
		for i := range list {
			if one, ok := f.bestAlone(list[i]); ok {
				all = append(all, one)
			}
		}
		slices.SortStableFunc(all, func(a, b Alone) int { return cmp.Compare(b.Tokens, a.Tokens) })
		seen := map[layouts]bool{}
		for _, one := range all {
			key := layouts{decode: one.Pool.Plan.Layout}
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

// bestAlone returns a pool at its best batch within the limits, if any.
func (f *field) bestAlone(o *option) (Alone, bool) {
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
	batch, token := p.Fullest(d, &o.pool, f.lengths, &curve, f.tpotLimit(), tokens)
	if batch == 0 {
		return out, false
	}
	out.Pool.Plan.Batch.Size, out.Seconds, out.Tokens = batch, token, each*float64(batch)/token
	return out, true
}
