package advice

import (
	"cmp"
	"context"
	"math"
	"slices"

	"throughline/internal/question"
)

// underLimits searches under each of the power limits that a question asks for. The answer is the
// first of them or, for the least energy, the one whose best deployment takes it.
func underLimits(ctx context.Context, l *question.Loaded, o Options) (*Advice, error) {
	limits := l.SearchedLimits()
	if len(limits) == 0 {
		return leastEnergy(ctx, l, o)
	}
	least := o.Objective == Energy || l.PowerLimit == question.AnyLimit
	var best *Advice
	var limited []Candidate
	for _, limit := range limits {
		got, err := leastEnergy(ctx, l.Under(limit), o)
		if err != nil {
			return got, err
		}
		if least && got.exceeds() {
			break // nor does it keep to a lower one
		}
		if len(got.Ranked) > 0 {
			limited = append(limited, got.Ranked[0])
		}
		if best == nil || least && got.joules() < best.joules() {
			best = got
		}
		if got.Partial {
			break
		}
	}
	best.Limited = limited
	return best, nil
}

// exceeds tells whether the best deployment draws more than its limit even at the lowest clock.
func (a *Advice) exceeds() bool {
	if len(a.Ranked) == 0 || a.Ranked[0].Energy == nil {
		return false
	}
	return a.Ranked[0].Energy.Beyond > 0
}

// joules per output token of the best deployment.
func (a *Advice) joules() float64 {
	if len(a.Ranked) == 0 {
		return math.Inf(1)
	}
	return a.Ranked[0].joules()
}

func (c *Candidate) joules() float64 {
	if c.Energy == nil {
		return math.Inf(1)
	}
	return c.Energy.Output
}

// searchWithChance is what a search finds, with the chance that is asked for.
func searchWithChance(ctx context.Context, l *question.Loaded, o Options) (*Advice, error) {
	if o.Chance > 0 {
		return likely(ctx, l, o)
	}
	return advise(ctx, l, o)
}

// Of so many deployments of each mode with the most throughput, those with the least energy in
// closed form are simulated and ranked: what serves more from the same processors takes less, but
// for the watts that they draw.
const considered, thrifty = 64, 8

// sparing keeps the layouts that take the least energy in closed form, and the first of each mode.
func (a *adviser) sparing(ranked []weighed, gpus int) ([]weighed, error) {
	slices.SortStableFunc(ranked, func(x, y weighed) int { return better(&x, &y) })
	type layout struct {
		identity
		mode   Mode
		joules float64
	}
	var layouts []layout
	known := map[identity]bool{}
	for i := range ranked {
		w := &ranked[i]
		key := w.field.layout(w.contender)
		if known[key] {
			continue
		}
		known[key] = true
		c := w.field.candidate(w, gpus)
		if err := c.describe(w.predictor(), a.o.Tariff); err != nil {
			return nil, err
		}
		layouts = append(layouts, layout{key, w.field.mode, c.joules()})
	}
	slices.SortStableFunc(layouts, func(x, y layout) int { return cmp.Compare(x.joules, y.joules) })
	kept, modes := map[identity]bool{}, map[Mode]bool{}
	for _, l := range layouts {
		if len(kept) < a.o.Top || !modes[l.mode] {
			kept[l.identity], modes[l.mode] = true, true
		}
	}
	return slices.DeleteFunc(ranked, func(w weighed) bool { return !kept[w.field.layout(w.contender)] }), nil
}

// leastEnergy searches, and ranks by what is drawn where the objective is energy and nobody says
// which power is paid for.
func leastEnergy(ctx context.Context, l *question.Loaded, o Options) (*Advice, error) {
	if o.Objective != Energy || o.Watts > 0 || slices.ContainsFunc(l.Shares, func(s question.Share) bool { return s.Watts > 0 }) {
		return searchWithChance(ctx, l, o)
	}
	wide := o
	wide.Top, wide.spares = max(o.Top, thrifty), true
	got, err := searchWithChance(ctx, l, wide)
	if got == nil {
		return got, err
	}
	slices.SortStableFunc(got.Ranked, func(a, b Candidate) int { return cmp.Compare(a.joules(), b.joules()) })
	kept, modes := 0, map[string]bool{}
	got.Ranked = slices.DeleteFunc(got.Ranked, func(c Candidate) bool {
		if kept >= o.Top && modes[c.Mode] {
			return true
		}
		kept, modes[c.Mode] = kept+1, true
		return false
	})
	return got, err
}
