package advice

import (
	"context"
	"errors"
	"slices"

	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
)

// unforeseen is how much more than in closed form a deployment may serve in a simulation.
const unforeseen = 1.05

// simulate replaces what the search saw of deployments by what their clients see in simulations.
// The closed form only ranks: it does not know how requests meet. Layouts are simulated behind the
// engine that it takes for the best, and behind others that may serve more; first those that it
// would show, then the others that may be shown instead. What is not simulated is left out.
func (a *adviser) simulate(ranked, frontier []weighed) (first, points []weighed, err error) {
	slices.SortStableFunc(ranked, func(x, y weighed) int { return better(&x, &y) })
	foremost := map[identity]*weighed{} // by layout
	layouts := map[Mode]int{}
	var best, others, along []*weighed
	for i := range ranked {
		w := &ranked[i]
		switch key := w.field.layout(w.contender); {
		case foremost[key] != nil:
			others = append(others, w)
		case layouts[w.field.mode] < max(leastKept, a.o.Top):
			layouts[w.field.mode]++
			foremost[key] = w
			best = append(best, w)
		}
	}
	again, both := map[*weighed]*weighed{}, map[*weighed]bool{} // those of the frontier that are ranked, too
	for i := range frontier {
		w := &frontier[i]
		at := slices.IndexFunc(best, func(r *weighed) bool {
			return w.clients == r.clients && identityOf(w.contender) == identityOf(r.contender)
		})
		if at < 0 {
			along = append(along, w)
		} else {
			again[w], both[best[at]] = best[at], true
		}
	}
	likely, rest := a.likely(best, both)
	err = a.simulateAll(append(along, likely...))
	least := a.leastShown(likely)
	rest = slices.DeleteFunc(rest, func(w *weighed) bool { return unforeseen*w.value() < least(w) })
	err = errors.Join(err, a.simulateAll(rest))
	others = slices.DeleteFunc(others, func(w *weighed) bool {
		return unforeseen*w.value() < max(least(w), foremost[w.field.layout(w.contender)].value())
	})
	err = errors.Join(err, a.simulateAll(others))
	for w, r := range again {
		*w = *r
	}
	unseen := func(w weighed) bool { return !w.simulated }
	return slices.DeleteFunc(ranked, unseen), slices.DeleteFunc(frontier, unseen), err
}

// likely are the deployments that are shown if simulations rank them as they are, those that are
// shown besides, and the rest.
func (a *adviser) likely(ranked []*weighed, besides map[*weighed]bool) (shown, rest []*weighed) {
	modes := map[Mode]bool{}
	for i, w := range ranked {
		m := w.field.mode
		if i < a.rows() || !modes[m] && !a.o.Foremost || besides[w] {
			modes[m] = true
			shown = append(shown, w)
		} else {
			rest = append(rest, w)
		}
	}
	return shown, rest
}

// rows is how many deployments are shown, whatever their mode.
func (a *adviser) rows() int {
	if a.o.Foremost {
		return 1
	}
	return max(1, a.o.Top)
}

// leastShown is what a deployment must serve to be shown instead of one of these.
func (a *adviser) leastShown(these []*weighed) func(*weighed) float64 {
	values, modes := []float64{}, map[Mode]float64{}
	for _, w := range these {
		values, modes[w.field.mode] = append(values, w.value()), max(modes[w.field.mode], w.value())
	}
	slices.Sort(values)
	last := 0.0
	if n := len(values); n >= a.rows() {
		last = values[n-a.rows()]
	}
	return func(w *weighed) float64 {
		if a.o.Foremost {
			return last
		}
		return min(last, modes[w.field.mode])
	}
}

// simulateAll is the same of a list. What has the same steps runs one after another.
func (a *adviser) simulateAll(all []*weighed) error {
	var order []layouts
	alike := map[layouts][]*weighed{}
	for _, w := range all {
		key := identityOf(w.contender).layouts
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], w)
	}
	a.progress(len(order), 0)
	return a.parallel(len(order), func(i int) error {
		list := alike[order[i]]
		d := list[0].launched()
		p, err := serving.NewPredictor(&d)
		if err != nil {
			return err
		}
		loops := simulate.NewLoops(p)
		for _, w := range list {
			if err := w.simulate(a.ctx, loops); err != nil {
				return err
			}
			if a.feed != nil && w.simulated {
				a.feed.add(*w)
			}
		}
		return nil
	})
}

// precisely is the share of its clients to which the most that keep the limits are found.
const precisely = 1. / 128

// simulate is the same for one, with fewer clients where these would miss a limit, or where fewer
// are served sooner: the closed form has a place for all of them.
func (w *weighed) simulate(ctx context.Context, loops *simulate.Loops) error {
	expected, tooMany, tooLong := w.seen.Requests, 0, 0.0
	var best weighed
	for ctx.Err() == nil {
		d := w.launched()
		seen, err := loops.Steady(&d, w.load())
		if err != nil {
			return err
		}
		w.seen, w.simulated = seen, true
		over := w.over()
		switch within := over <= 1 || w.clients == 1; {
		case !within:
			tooMany, tooLong = w.clients, over
		case best.simulated && w.seen.Requests <= best.seen.Requests:
			*w = best
			return nil
		case tooMany == 0 && (w.seen.Requests > 0.97*expected || w.clients < 16):
			return nil
		default:
			best = *w
		}
		least := max(1, int(precisely*float64(tooMany)))
		switch between := tooMany - best.clients; {
		case !best.simulated:
			w.lighten(over)
		case tooMany == 0:
			w.lighten(1.05)
		case between <= least:
			*w = best
			return nil
		default: // times grow about linearly between the two
			within := best.over()
			at := float64(between) * (1 - within) / (tooLong - within)
			w.carry(best.clients + max(least, min(between-least, int(at)-least/2)))
		}
	}
	return nil
}

// over is the time of the worse of TTFT and TPOT over its limit.
func (w *weighed) over() (over float64) {
	limits := w.field.space.limits
	if l := limits.TTFT; l != nil {
		over = max(over, 1e3*w.seen.TTFT / *l)
	}
	if l := limits.TPOT; l != nil {
		over = max(over, 1e3*w.seen.TPOT / *l)
	}
	return over
}

// lighten leaves clients away where a limit is exceeded, at least a fiftieth and at most half.
func (w *weighed) lighten(over float64) {
	w.carry(int(float64(w.clients) * max(0.5, min(0.98, 1/over))))
}

// carry sets the number of clients, and the batch that they need.
func (w *weighed) carry(clients int) {
	w.clients = max(1, clients)
	one := w.contender.deployment(w.field, plan.Batch{Count: 1, Size: 1})
	size := (w.clients + one.Clients() - 1) / one.Clients()
	w.batch = plan.Batch{Count: 1, Size: max(w.contender.decode.pool.Plan.Overlap.Least(), size)}
}
