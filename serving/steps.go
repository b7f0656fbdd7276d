package serving

import (
	"math"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Steps is how long steps take on the processors of a server under a plan, without the host, for
// the closed form: at the mean context of given lengths. A simulation, whose contexts vary, keeps
// places of a table instead: a plan of DeepSeek-V3 shares 17 of 5,017 steps with its simulations.
type Steps struct {
	server  *server
	plan    plan.Plan
	lengths workload.Lengths
	cache   map[step]float64
	// layers is work per layer for all pipelines of the same stages; if set, times are bounds.
	layers map[step]estimate.Layered
}

// step is the work of a rank: prompts, and sequences that decode at a context.
type step struct {
	prompts            Prompts
	sequences, context int
}

// Prompts of a step of a rank, each with tokens to compute after those cached.
type Prompts struct {
	Count, Tokens, Past int
	// Ranks in lockstep, of Of, that have as many prompts, the others having none; 0: all have.
	Ranks, Of int
}

func (p *Prompts) share() float64 {
	if p.Ranks == 0 {
		return 1
	}
	return float64(p.Ranks) / float64(p.Of)
}

func newSteps(s *server, p plan.Plan, n workload.Lengths) *Steps {
	p.Batch = s.batch(&p, 1)
	return &Steps{server: s, plan: p, lengths: n, cache: map[step]float64{}}
}

// least bounds step times from below, cheaply for successive plans that differ only in stages.
func (s *server) least(d *deploy.Deployment, p *plan.Plan, n workload.Lengths) *Steps {
	if !s.phases[op.Decode].Stacks(p) {
		return s.steps(d, p, n)
	}
	s.fitted = d.Fitted
	if shape := p.Unstaged(); shape != s.shape || n != s.shapeLengths {
		s.shape, s.shapeLengths = shape, n
		clear(s.layers)
	}
	q := *p
	q.Batch = s.batch(&q, 1)
	return &Steps{server: s, plan: q, lengths: n, layers: s.layers}
}

// Room is the sequences that a rank has memory for beside the working space of its prompts, or why
// none fits. A sequence needs room for its entire output if the engine reserves it, else for half.
func (s *Steps) Room(d *deploy.Deployment, pool *deploy.Pool, prompts *estimate.Memory, reserved bool) (float64, error) {
	held := func(n workload.Lengths) estimate.Memory {
		m := s.server.phases[op.Decode].At(n).MemoryOf(&s.plan)
		for b := range m.Working {
			m.Working[b] = max(m.Working[b], prompts.Working[b])
		}
		return m
	}
	n := s.lengths
	m := held(n)
	if d.CacheBytes(pool, &m) < m.Cache {
		return 0, d.NoRoom(pool, &m)
	}
	if m.Cache == 0 {
		return math.Inf(1), nil
	}
	if !reserved {
		n.Output /= 2
		m = held(n)
	}
	return d.CacheBytes(pool, &m) / m.Cache, nil
}

// Decode is the time of a step in which every sequence of a rank gets one token.
func (s *Steps) Decode(sequences, context float64) float64 {
	return s.Mixed(Prompts{}, max(1, sequences), context)
}

// Mixed is the time of a step with prompts and decodes. Fractional numbers of sequences are
// interpolated between integers, which recur and are cached.
func (s *Steps) Mixed(prompts Prompts, sequences, context float64) float64 {
	time := s.uncorrected(prompts, sequences, context)
	return s.server.fitted.Step(prompts.Count > 0, sequences > 0, time, func() float64 { return s.uncorrected(Prompts{}, sequences, context) })
}

// uncorrected is the time before measurements of the deployment correct it.
func (s *Steps) uncorrected(prompts Prompts, sequences, context float64) float64 {
	low := math.Floor(sequences)
	w := step{prompts, int(low), int(math.Round(context))}
	t := s.time(w)
	if part := sequences - low; part > 0 {
		w.sequences++
		t += part * (s.time(w) - t)
	}
	return t
}

func (s *Steps) time(w step) float64 {
	if w.prompts.Count == 0 && w.sequences == 0 {
		return 0 // interpolated where less than one sequence decodes beside prompts
	}
	if s.layers != nil {
		return s.evaluate(&w)
	}
	t, ok := s.cache[w]
	if !ok {
		t = s.evaluate(&w)
		s.cache[w] = t
	}
	return t
}

func (s *Steps) evaluate(w *step) float64 {
	e := s.server.phases[op.Decode]
	work := &s.server.work
	*work = op.Step{}
	if p := &w.prompts; p.Count > 0 {
		e.Add(work, op.Group{
			Phase: op.Prefill, Sequences: float64(p.Count), New: float64(p.Tokens), Context: float64(p.Past + p.Tokens),
			Ends: p.Past+p.Tokens >= s.lengths.Input, Share: p.share(), Scale: s.lengths.AttentionScale(),
		})
	}
	if w.sequences > 0 {
		e.Add(work, op.Group{
			Phase: op.Decode, Sequences: float64(w.sequences), New: float64(1 + s.plan.Drafts), Context: float64(w.context),
		})
	}
	if s.layers == nil {
		return e.Step(&s.plan, work).Step
	}
	l, ok := s.layers[*w]
	if !ok {
		l = e.Layered(&s.plan, work)
		s.layers[*w] = l
	}
	return e.Staged(&s.plan, work, &l)
}
