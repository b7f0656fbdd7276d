package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
	"throughline/serving"
	"throughline/serving/simulate"
)

// hold finds deployments that hold the demand in simulations.
func (a *adviser) hold() (*Advice, error) {
	a.o.Rate, a.o.rough = a.o.Demand.Rate, true
	if a.o.Objective == MinGPUs || a.o.Objective == Cost {
		return a.holdFewest()
	}
	return a.holdBest()
}

// holdFewest finds the fewest processors, starting from the closed form, which has no queueing.
func (a *adviser) holdFewest() (*Advice, error) {
	objective := a.o.Objective
	a.o.Objective = MinGPUs
	start, err := a.fewest()
	a.o.Objective = objective
	if err != nil {
		return nil, err
	}
	if start.Partial {
		return nil, a.ctx.Err() // nothing was simulated yet
	}
	if len(start.Ranked) == 0 {
		return a.explainNone(start)
	}
	modes := []func(*Demand, *ranking) error{a.aggregated, a.disaggregated}
	switch {
	case a.o.Mode == Aggregated:
		modes = modes[:1]
	case a.o.Mode == Disaggregated:
		modes = modes[1:]
	case start.Ranked[0].Mode == string(Disaggregated):
		slices.Reverse(modes) // results of the likelier mode prune more of the other
	}
	const least = 8 // processors to try
	r := &ranking{keep: max(1, a.o.Top)}
	for most := max(least, 2*start.Ranked[0].Procs); ; most *= 2 {
		r.most = min(most, a.o.GPUs)
		for _, mode := range modes {
			if err = mode(a.o.Demand, r); err != nil {
				break
			}
		}
		if err == nil {
			err = a.proveAll(r)
		}
		switch {
		case err != nil && (a.ctx.Err() == nil || len(r.list) == 0):
			return nil, err
		case err != nil || len(r.list) > 0:
			return a.answer(r, err != nil)
		case r.most == a.o.GPUs:
			return a.explainNone(start)
		}
	}
}

func (a *adviser) answer(r *ranking, partial bool) (*Advice, error) {
	r.list = slices.DeleteFunc(r.list, func(h held) bool { return h.n == 0 || h.capacity == nil && h.glanced == nil })
	out := &Advice{Ranked: make([]Candidate, len(r.list)), Partial: partial}
	a.phase("looking for headroom")
	a.progress(len(r.list), 0)
	err := a.parallel(len(r.list), func(i int) error {
		h := &r.list[i]
		if h.capacity == nil { // interrupted
			h.capacity = h.glanced
		} else if err := cmp.Or(a.fill(h), a.headroom(h.trial, h.capacity)); err != nil && a.ctx.Err() == nil {
			return err
		}
		w := weighed{field: h.field, contender: new(contender), batch: h.batch()}
		*w.contender = h.with(h.n)
		c := &out.Ranked[i]
		*c = a.candidate(&w, h.gpus)
		a.applySimulation(c, h.capacity)
		return nil
	})
	for i := 0; i < len(r.list) && err == nil; i++ {
		err = out.Ranked[i].describe(r.list[i].workers[0].predictors[r.list[i].decode.engine], a.o.Tariff)
	}
	out.Partial = out.Partial || a.ctx.Err() != nil
	return out, err
}

// surestFirst orders deployments on as many GPUs by the chance that limits hold, in whole percent.
func (a *Advice) surestFirst() {
	for rest := a.Ranked; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Procs == rest[0].Procs {
			n++
		}
		slices.SortStableFunc(rest[:n], func(x, y Candidate) int {
			return cmp.Compare(math.Round(100*y.Chance()), math.Round(100*x.Chance()))
		})
		rest = rest[n:]
	}
}

// headroom records how far the rate may grow and what breaks then.
func (a *adviser) headroom(t *simulate.Trial, c *simulate.Capacity) error {
	rate, first, err := t.Reach(a.ctx)
	c.Headroom, c.First = max(0, rate/c.Rate-1), first
	return err
}

// applySimulation replaces the predictions of a candidate by what its simulation saw.
func (a *adviser) applySimulation(c *Candidate, seen *simulate.Capacity) {
	c.Capacity = seen
	c.See(serving.Prediction{TTFT: seen.TTFT.Mean, TPOT: seen.TPOT.Mean, Latency: seen.Latency, Requests: seen.Rate})
	c.Load.Clients = max(1, int(math.Round(seen.Concurrency)))
	c.Clients = c.Load.Clients
	a.value(c)
}

// holdBest finds the deployments with the most headroom or, for latency, the shortest requests.
func (a *adviser) holdBest() (*Advice, error) {
	objective, top := a.o.Objective, a.o.Top
	a.o.Objective, a.o.Top = Throughput, max(shortlist/2, top)
	start, err := a.searchOn(a.o.GPUs)
	a.o.Objective, a.o.Top = objective, top
	if err != nil {
		return nil, err
	}
	if start.Partial {
		return nil, a.ctx.Err()
	}
	list, err := a.glance(start.Ranked, func(x, y *Candidate) int {
		if objective == Latency {
			return cmp.Compare(x.Latency, y.Latency)
		}
		return cmp.Compare(y.Capacity.Headroom, x.Capacity.Headroom)
	})
	if err == nil {
		list, err = a.confirm(list, max(1, top))
	}
	switch {
	case err != nil && (a.ctx.Err() == nil || len(list) == 0):
		return nil, err
	case len(list) == 0:
		return a.explainNone(start)
	}
	return &Advice{Ranked: list[:min(len(list), max(1, top))], Partial: err != nil}, nil
}

// glance keeps candidates that hold the demand in one run, sorted; interrupted, it returns what it
// has with the error.
func (a *adviser) glance(list []Candidate, order func(x, y *Candidate) int) ([]Candidate, error) {
	list = slices.Clone(list)
	a.phase("simulating deployments")
	a.progress(len(list), 0)
	err := a.parallel(len(list), func(i int) error {
		c := &list[i]
		t, p, err := a.o.Demand.candidate(c)
		if err != nil {
			return err
		}
		ok, got, err := t.Glance(a.ctx)
		if err != nil || !ok {
			return err
		}
		if err := a.headroom(t, got); err != nil {
			return err
		}
		a.applySimulation(c, got)
		return c.describe(p, a.o.Tariff)
	})
	list = slices.DeleteFunc(list, func(c Candidate) bool { return c.Capacity == nil })
	slices.SortStableFunc(list, func(x, y Candidate) int { return order(&x, &y) })
	return list, err
}

// confirm keeps the first candidates that hold in repeated runs, and any left unchecked.
func (a *adviser) confirm(list []Candidate, top int) ([]Candidate, error) {
	var out []Candidate
	for len(list) > 0 && len(out) < top {
		group := list[:min(len(list), top-len(out))]
		list = list[len(group):]
		a.progress(len(group), 0)
		if err := a.parallel(len(group), func(i int) error {
			c := &group[i]
			t, _, err := a.o.Demand.candidate(c)
			if err != nil {
				return err
			}
			t.Runs = simulate.Replications
			got, err := t.Decide(a.ctx)
			if err == nil {
				got.Headroom, got.First = c.Capacity.Headroom, c.Capacity.First
				a.applySimulation(c, got)
			}
			return err
		}); err != nil {
			return append(out, group...), err
		}
		for _, c := range group {
			if c.Capacity.Holds {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// candidate sets up the trial of a candidate whose ranks decode as many sequences as fit.
func (d *Demand) candidate(c *Candidate) (*simulate.Trial, *serving.Predictor, error) {
	on := &c.Deployment
	p, err := serving.NewPredictor(on)
	if err != nil {
		return nil, nil, err
	}
	on.Pools = slices.Clone(on.Pools)
	pool := on.Of(op.Decode)
	pool.Plan.Batch.Size = max(pool.Plan.Batch.Size, p.Curve(on, pool, c.Load.Lengths, 1).Largest)
	t, err := d.trial(on, nil)
	return t, p, err
}

// explainNone explains why nothing holds, and at which rate something would.
func (a *adviser) explainNone(start *Advice) (*Advice, error) {
	out := &Advice{Reasons: start.Reasons}
	objective, top := a.o.Objective, a.o.Top
	a.o.Objective, a.o.Top = Throughput, shapeGroupSize
	on, err := a.searchOn(a.o.GPUs)
	a.o.Objective, a.o.Top = objective, top
	if err != nil {
		return nil, err
	}
	if len(on.Ranked) == 0 {
		out.Reasons = on.Reasons
		return out, nil
	}
	list, err := a.reachRates(on.Ranked)
	if err != nil {
		return nil, err
	}
	best := slices.MaxFunc(list, func(x, y reached) int { return cmp.Compare(x.rate, y.rate) })
	what := fmt.Sprintf("no deployment that was simulated on up to %d GPUs holds the limits at %s requests per second; ", a.o.GPUs, number.Plain(a.o.Rate, 4))
	if best.rate == 0 {
		what += fmt.Sprintf("%s does at no rate: %s", best.name, brokenWords[best.first])
	} else {
		what += fmt.Sprintf("%s holds them at %s, and above that %s", best.name, number.Plain(best.rate, 3), brokenWords[best.first])
		less := number.Round(surely*best.rate, 2)
		if less > 0 && less < a.o.Rate {
			out.Nearest = []Near{{Let{"rate", number.Plain(less, 3)}, fmt.Sprintf("%s requests/s on %d GPUs", number.Plain(less, 3), a.o.GPUs)}}
		}
	}
	out.Reasons = []string{what}
	return out, nil
}

var brokenWords = map[simulate.Break]string{
	simulate.BreaksTTFT: "the limit on the time to the first token is missed", simulate.BreaksTPOT: "the limit on the time per output token is missed",
	simulate.BreaksQueue: "requests pile up", simulate.BreaksMemory: "requests wait for room in the KV cache",
}

// surely is the share of the rate which one run holds that is named without another run: several
// with other random numbers must hold it, too, which 0.9 of it did not in one case that was tried.
const surely = 0.75

// reached is the highest rate at which one run of a deployment holds.
type reached struct {
	name  string
	rate  float64
	first simulate.Break
}

func (a *adviser) reachRates(list []Candidate) ([]reached, error) {
	out := make([]reached, len(list))
	a.progress(len(list), 0)
	return out, a.parallel(len(list), func(i int) error {
		c := &list[i]
		t, _, err := a.o.Demand.candidate(c)
		if err != nil {
			return err
		}
		out[i].name = c.name()
		out[i].rate, out[i].first, err = t.Reach(a.ctx)
		return err
	})
}

func (c *Candidate) name() string {
	text := c.Deployment.Engine.Name
	for i := range c.Deployment.Pools {
		p := &c.Deployment.Pools[i]
		text += fmt.Sprintf(", %s %s", p.Role, result.Instances(p.Count, &p.Plan))
	}
	return text
}
