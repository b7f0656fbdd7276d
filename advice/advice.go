// Package advice answers a platform engineer's question: what to launch on these processors. It searches aggregated and
// disaggregated deployments under a range of latency limits, ranks them, and finds the frontier between the speed a user
// sees and the throughput of a processor.
package advice

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"throughline/engine"
	"throughline/plan"
	"throughline/scenario"
	"throughline/search"
)

// Mode is how the phases share processors.
type Mode string

const (
	Aggregated    Mode = "agg"
	Disaggregated Mode = "disagg"
	Both          Mode = "both"
)

// Objective is what the best deployment is best at.
type Objective string

const (
	Throughput Objective = "throughput" // output tokens per second and processor
	Cost       Objective = "cost"       // the same in money: fewest dollars per token
	Latency    Objective = "latency"    // shortest request
	MinGPUs    Objective = "min-gpus"   // fewest processors that serve a request rate
)

// Options are what is asked beyond the scenario.
type Options struct {
	GPUs        int
	GPUsPerNode int
	Mode        Mode
	Objective   Objective
	Rate        float64        // requests per second to serve, for MinGPUs
	Engine      *engine.Engine // restrict to what it can run; nil: do not
	Redundant   search.Range
	Drafts      search.Range
	Top         int     // deployments to rank
	PerHour     float64 // dollars per processor and hour; 0: not known
	Watts       float64 // power of a processor; 0: not known
	Workers     int
}

// Candidate is one deployment.
type Candidate struct {
	Mode    Mode
	Outcome search.Outcome
	GPUs    int // asked for; spare ones included

	TTFT, TPOT float64 // seconds that a user sees; aggregated, decoding waits for the prefills of others
	Latency    float64 // of a whole request
	PerGPU     float64 // output tokens per second
	Requests   float64 // per second

	DollarsPerMillion float64 // dollars per million output tokens; 0: no price is known
	TokensPerJoule    float64 // output tokens; 0: no power is known
}

// PerUser is the output tokens per second that a user sees.
func (c *Candidate) PerUser() float64 { return 1 / c.TPOT }

// Advice is the answer.
type Advice struct {
	Ranked   []Candidate // the best first
	Frontier []Candidate // from the fastest for a user to the highest throughput
	Reasons  []string    // why there is nothing, by mode
}

// adviser holds a question while it is worked on.
type adviser struct {
	ctx    context.Context
	loaded *scenario.Loaded
	o      Options
}

// Give answers a question.
func Give(ctx context.Context, l *scenario.Loaded, o Options) (*Advice, error) {
	a := &adviser{ctx, l, o}
	if o.Objective == MinGPUs {
		return a.fewest()
	}
	return a.on(o.GPUs)
}

// fewest looks for the smallest number of processors that serves the rate.
func (a *adviser) fewest() (*Advice, error) {
	var last *Advice
	for _, n := range sizes(a.o.GPUs, a.o.GPUsPerNode) {
		got, err := a.on(n)
		if err != nil {
			return nil, err
		}
		got.Ranked = slices.DeleteFunc(got.Ranked, func(c Candidate) bool { return c.Requests < a.o.Rate })
		if len(got.Ranked) > 0 {
			return got, nil
		}
		last = got
	}
	reason := fmt.Sprintf("no deployment on up to %d processors serves %.4g requests per second", a.o.GPUs, a.o.Rate)
	if last != nil && len(last.Frontier) > 0 {
		reason += fmt.Sprintf("; %d of them serve %.4g", a.o.GPUs, last.Frontier[len(last.Frontier)-1].Requests)
	}
	return &Advice{Reasons: []string{reason}}, nil
}

// on answers on exactly so many processors.
func (a *adviser) on(gpus int) (*Advice, error) {
	var out Advice
	var all []Candidate
	for _, m := range []struct {
		mode   Mode
		search func(gpus int) ([]Candidate, []string, error)
	}{{Aggregated, a.aggregated}, {Disaggregated, a.disaggregated}} {
		if a.o.Mode != Both && a.o.Mode != m.mode {
			continue
		}
		found, reasons, err := m.search(gpus)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if len(found) == 0 {
			for _, r := range reasons {
				out.Reasons = append(out.Reasons, fmt.Sprintf("%s: %s", m.mode, r))
			}
		}
	}
	out.Frontier = frontier(all)
	out.Ranked = a.rank(all)
	return &out, nil
}

// limits are the limits on the time per output token to search under, in seconds: a range that shows the whole frontier,
// and the one that was asked for, last. 0 is no limit.
func (a *adviser) limits() []float64 {
	asked := 0.0
	if l := a.loaded.Limits.TPOT; l != nil {
		asked = *l / 1e3
	}
	var out []float64
	for _, ms := range []float64{4, 6, 8, 11, 15, 20, 28, 40, 60, 100} {
		if t := ms / 1e3; asked == 0 || t < asked {
			out = append(out, t)
		}
	}
	return append(out, asked)
}

// prepare restricts the searches of both phases.
func (a *adviser) prepare(prefill, decode *search.Problem) {
	decode.Redundant, decode.Drafts = a.o.Redundant, a.o.Drafts
	if a.o.Engine == nil {
		return
	}
	accept := func(role engine.Role) func(*plan.Plan) bool {
		return func(p *plan.Plan) bool {
			return len(a.o.Engine.Refuses(&engine.Deployment{
				Shape: a.loaded.Shape, Plan: *p, Precision: a.loaded.Precision, Role: role, GPUsPerNode: a.o.GPUsPerNode,
			})) == 0
		}
	}
	prefill.Accept, decode.Accept = accept(engine.Prefill), accept(engine.Decode)
}

func (a *adviser) aggregated(gpus int) ([]Candidate, []string, error) {
	p := a.loaded.Fused(gpus)
	a.prepare(&p.Prefill, &p.Decode)
	if a.o.Objective == Latency {
		p.Decode.Batches = []plan.Batch{{Count: 1, Size: 1}}
		p.Thorough = true
		p.Top = 1 << 20
		top, none, err := search.FusedTop(a.ctx, p, a.o.Workers)
		return a.fused(top, gpus), []string{p.Decode.Reason(&none.Decode)}, err
	}
	var out []Candidate
	var reason string
	p.Top = a.o.Top
	try := func(limit float64) (kept bool, err error) {
		p.Decode.Limit = limit
		top, none, err := search.FusedTop(a.ctx, p, a.o.Workers)
		if err != nil {
			return false, err
		}
		reason = p.Decode.Reason(&none.Decode)
		found := a.fused(top, gpus)
		out = append(out, found...)
		return len(found) > 0, nil
	}
	// A user sees more than the time of a decode step, so that the limit on the step must be tighter than the one asked
	// for. Its best value lies between the last that kept the promise and the first that did not.
	low, high := 0.0, 0.0
	for _, limit := range a.limits() {
		kept, err := try(limit)
		switch {
		case err != nil:
			return nil, nil, err
		case kept:
			low, high = limit, 0
		case high == 0:
			high = limit
		}
	}
	for range 6 {
		if low == 0 || high == 0 {
			break
		}
		mid := (low + high) / 2
		kept, err := try(mid)
		if err != nil {
			return nil, nil, err
		}
		if kept {
			low = mid
		} else {
			high = mid
		}
	}
	return out, []string{reason}, nil
}

// fused makes candidates of fused outcomes that keep the limit in the eyes of a user.
func (a *adviser) fused(outcomes []search.Outcome, gpus int) []Candidate {
	var out []Candidate
	for i := range outcomes {
		c := a.candidate(Aggregated, &outcomes[i], gpus)
		// As many requests are in flight as the decode batches hold. At the rate of the deployment that is how long each
		// stays, the prefills of others included.
		d := &outcomes[i].Decode.Best.Plan
		inFlight := float64(d.Attention.DP * d.Sequences(a.loaded.Shape.IsMoE()) * d.Batch.Count * d.InFlight())
		c.Latency = inFlight / c.Requests
		if o := a.loaded.Lengths.Output; o > 1 {
			c.TPOT = max(c.TPOT, (c.Latency-c.TTFT)/float64(o-1))
		}
		if l := a.loaded.Limits.TPOT; l != nil && c.TPOT > *l/1e3 {
			continue
		}
		out = append(out, c)
	}
	return out
}

func (a *adviser) disaggregated(gpus int) ([]Candidate, []string, error) {
	if gpus < 2 {
		return nil, []string{"two pools need at least two processors"}, nil
	}
	p := a.loaded.Split(gpus)
	a.prepare(&p.Prefill, &p.Decode)
	p.Sizes = sizes(gpus, a.o.GPUsPerNode)
	limits := a.limits()
	if a.o.Objective == Latency {
		p.Decode.Batches = []plan.Batch{{Count: 1, Size: 1}}
		p.Prefill.Batches = p.Decode.Batches
		limits = limits[len(limits)-1:]
	}
	outcomes, err := search.SplitUnder(a.ctx, p, limits, a.o.Workers)
	if err != nil {
		return nil, nil, err
	}
	var out []Candidate
	var reasons []string
	for i := range outcomes {
		o := &outcomes[i]
		if o.Found() {
			out = append(out, a.candidate(Disaggregated, o, gpus))
			continue
		}
		reasons = nil
		if !o.Prefill.Found {
			reasons = append(reasons, "prefill: "+p.Prefill.Reason(&o.Prefill))
		}
		if !o.Decode.Found {
			reasons = append(reasons, "decode: "+p.Decode.Reason(&o.Decode))
		}
	}
	return out, reasons, nil
}

// candidate is the numbers of an outcome.
func (a *adviser) candidate(mode Mode, o *search.Outcome, gpus int) Candidate {
	output := float64(a.loaded.Lengths.Output)
	c := Candidate{
		Mode: mode, Outcome: *o, GPUs: gpus, Requests: o.Requests,
		TTFT: o.Prefill.Best.Latency, TPOT: o.Decode.Best.Latency,
	}
	c.Latency = c.TTFT + (output-1)*c.TPOT
	tokens := o.Requests * output
	c.PerGPU = tokens / float64(gpus)
	if a.o.PerHour > 0 {
		c.DollarsPerMillion = a.o.PerHour * float64(gpus) / 3600 / tokens * 1e6
	}
	if a.o.Watts > 0 {
		c.TokensPerJoule = tokens / (a.o.Watts * float64(gpus))
	}
	return c
}

// rank orders candidates by the objective and keeps the best, each deployment once, and the best of either mode in any
// case.
func (a *adviser) rank(all []Candidate) []Candidate {
	better := func(x, y Candidate) int { return cmp.Compare(y.PerGPU, x.PerGPU) }
	if a.o.Objective == Latency {
		better = func(x, y Candidate) int { return cmp.Compare(x.Latency, y.Latency) }
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, better)
	var out []Candidate
	seen, modes := map[string]bool{}, map[Mode]bool{}
	for _, c := range sorted {
		if key := c.describe(); !seen[key] && (len(out) < max(1, a.o.Top) || !modes[c.Mode]) {
			seen[key], modes[c.Mode] = true, true
			out = append(out, c)
		}
	}
	return out
}

// describe names a deployment but for its batches.
func (c *Candidate) describe() string {
	p, d := &c.Outcome.Prefill, &c.Outcome.Decode
	return fmt.Sprintf("%s %d %v %d %v %d %d", c.Mode, p.Instances, &p.Best.Plan, d.Instances, &d.Best.Plan, d.Best.Plan.Redundant, d.Best.Plan.Drafts)
}

// frontier is the candidates that no other beats in both what a user sees and what a processor does, the fastest for a
// user first.
func frontier(all []Candidate) []Candidate {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(x, y Candidate) int {
		return cmp.Or(cmp.Compare(x.TPOT, y.TPOT), cmp.Compare(y.PerGPU, x.PerGPU))
	})
	var out []Candidate
	for _, c := range sorted {
		if len(out) == 0 || c.PerGPU > out[len(out)-1].PerGPU*(1+1e-9) {
			out = append(out, c)
		}
	}
	return out
}

// sizes are the sizes of an instance that fit nodes: parts of a node, and whole nodes.
func sizes(gpus, perNode int) []int {
	var out []int
	for n := 1; n <= gpus; n++ {
		if n <= perNode && perNode%n == 0 || n%perNode == 0 || n == gpus {
			out = append(out, n)
		}
	}
	return out
}
