package advice

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"throughline/estimate"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/number"
	"throughline/workload"
)

// mostTightenings bounds the searches for a chance: bands differ between deployments, so a second
// search may find one whose band asks for more.
const mostTightenings = 4

// likely searches with tighter limits until the first row keeps the given ones with the chance that
// is asked for, and drops rows that do not.
func likely(ctx context.Context, l *question.Loaded, o Options) (*Advice, error) {
	want := o.Chance / 100
	var last *Advice
	for range mostTightenings {
		got, err := advise(ctx, l, o)
		if err != nil || got.Partial || len(got.Ranked) == 0 {
			return unlikely(got, last, want), err
		}
		got.judge(l, &o)
		if len(got.Ranked[0].Verdicts()) == 0 { // nothing to hold
			return got, nil
		}
		if got.Ranked[0].Chance() >= want {
			got.Ranked = slices.DeleteFunc(got.Ranked, func(c Candidate) bool { return c.Chance() < want })
			return got, nil
		}
		o.tighten(&got.Ranked[0], want)
		last = got
	}
	return unlikely(nil, last, want), nil
}

// unlikely is the answer where no deployment has the chance: how near the best comes.
func unlikely(got, last *Advice, want float64) *Advice {
	if last == nil {
		return got
	}
	best := slices.MaxFunc(last.Ranked, func(x, y Candidate) int { return cmp.Compare(x.Chance(), y.Chance()) })
	reason := fmt.Sprintf("no deployment keeps the limits with a chance of %s%%; the best that was found, %s, does with %.0f%%", number.Plain(100*want, 3), best.name(), 100*best.Chance())
	return &Advice{Reasons: []string{reason}, Notes: last.Notes}
}

// tighten lowers the limits so far that a row with the bands of this one keeps the given ones with
// a chance: of two limits, each with its square root.
func (o *Options) tighten(c *Candidate, want float64) {
	verdicts := c.Verdicts()
	each := math.Pow(want, 1/float64(len(verdicts)))
	for _, v := range verdicts {
		factor := &o.tightened[0]
		if v.Figure == "TPOT" {
			factor = &o.tightened[1]
		}
		*factor = min(cmp.Or(*factor, 1), estimate.Margin(each, v.Band, v.Noise))
	}
}

// limits are those of a search: tightened, where a chance is asked for.
func (o *Options) limits(given workload.Limits) workload.Limits {
	for i, ms := range []**float64{&given.TTFT, &given.TPOT} {
		if *ms != nil {
			tight := **ms * cmp.Or(o.tightened[i], 1)
			*ms = &tight
		}
	}
	return given
}

// demand is the one to hold, likewise.
func (o *Options) demand() *Demand {
	if o.Demand == nil || o.tightened == [2]float64{} {
		return o.Demand
	}
	d := *o.Demand
	d.TTFT.Seconds *= cmp.Or(o.tightened[0], 1)
	d.TPOT.Seconds *= cmp.Or(o.tightened[1], 1)
	return &d
}

// judge hands the limits to all rows, which tell by them whether they hold.
func (a *Advice) judge(l *question.Loaded, o *Options) {
	ttft, tpot := l.GoalsOf()
	for _, list := range [][]Candidate{a.Ranked, a.Frontier} {
		for i := range list {
			list[i].Goals = result.Goals{TTFT: ttft, TPOT: tpot}
		}
	}
	if o.Objective == MinGPUs && o.Demand != nil && len(l.Shares) == 0 { // fleets are ordered by price
		a.surestFirst()
	}
}
