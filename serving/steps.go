package serving

import (
	"math"

	"throughline/estimate"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Steps is how long the steps of a server take on its processors, the host left out. All predictions of serving, in
// closed form or simulated, ask here.
type Steps struct {
	plan      plan.Plan
	lengths   workload.Lengths
	usable    float64
	all       float64 // of the memory
	weights   float64
	evaluator *estimate.Evaluator
	prefill   *estimate.Evaluator // of servers that hand their caches over
	cache     map[step]float64
}

// step is the work of a rank: prompts of which so many tokens are computed after those that are cached, and sequences that
// decode at a context.
type step struct {
	prompts, tokens, past int
	sequences, context    float64
}

// NewSteps prepares the steps of a pool.
func NewSteps(d *Deployment, pool *Pool, lengths workload.Lengths) (*Steps, error) {
	s := &Steps{
		plan: pool.Plan, lengths: lengths, cache: map[step]float64{},
		usable: d.Assume.Usable(d.System.Memory.GiB), all: d.System.Memory.GiB * estimate.GiB,
	}
	s.plan.Batch = plan.Batch{Count: 1, Size: 1}
	p := estimate.Problem{
		Model: d.Model, Settings: d.Settings, System: d.System, Lengths: lengths, Precision: d.Precision,
		Assume: d.Assume, Phase: op.Decode, Acceptance: workload.DraftAcceptance,
	}
	var err error
	if s.evaluator, err = estimate.NewEvaluator(&p); err != nil {
		return nil, err
	}
	if d.Split() {
		span := d.Prefill.Workers*d.Prefill.Plan.Attention.Procs() + d.Decode.Workers*d.Decode.Plan.Attention.Procs()
		p.Phase, p.Handover = op.Prefill, &estimate.Handover{System: d.System, Span: span}
		if s.prefill, err = estimate.NewEvaluator(&p); err != nil {
			return nil, err
		}
	}
	m := s.evaluator.MemoryOf(&s.plan)
	s.weights = m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
	return s, nil
}

// Room is the sequences for which a rank has memory: 0 if not even the weights fit, and at least 1 if they do. A sequence
// needs room for its whole output where the engine reserves it from the start, else for half of it on average.
func (s *Steps) Room(reserved bool) float64 {
	if s.weights > s.all {
		return 0
	}
	n := s.lengths
	if !reserved {
		n.Output /= 2
	}
	m := s.evaluator.At(n).MemoryOf(&s.plan)
	if m.Cache == 0 {
		return math.Inf(1)
	}
	room := func(bytes float64) float64 { return (bytes - m.WithoutCache()) / m.Cache }
	if n := room(s.usable); n >= 1 {
		return n
	}
	// Whoever starts such a server gives it all the memory there is.
	return max(1, room(s.all))
}

// Prefill is the time of a step in which a rank computes a number of prompts, of each so many tokens after those that
// are cached already.
func (s *Steps) Prefill(prompts, tokens, past int) float64 {
	return s.Mixed(prompts, tokens, past, 0, 0)
}

// Decode is the time of a step in which every sequence of a rank gets one more token. The number of sequences may be a mean.
func (s *Steps) Decode(sequences, context float64) float64 {
	return s.Mixed(0, 0, 0, max(1, sequences), context)
}

// Mixed is the time of a step with prompts and decoding sequences together.
func (s *Steps) Mixed(prompts, tokens, past int, sequences, context float64) float64 {
	w := step{prompts, tokens, past, sequences, context}
	t, ok := s.cache[w]
	if !ok {
		t = s.time(&w)
		s.cache[w] = t
	}
	return t
}

func (s *Steps) time(w *step) float64 {
	var work op.Step
	if w.prompts > 0 {
		s.evaluator.Add(&work, op.Group{
			Phase: op.Prefill, Sequences: float64(w.prompts), New: float64(w.tokens), Context: float64(w.past + w.tokens),
			Ends: w.past+w.tokens >= s.lengths.Input, Scale: s.lengths.AttentionScale(),
		})
	}
	if w.sequences > 0 {
		s.evaluator.Add(&work, op.Group{
			Phase: op.Decode, Sequences: w.sequences, New: float64(1 + s.plan.Drafts), Context: w.context,
		})
	}
	return s.evaluator.Step(&s.plan, &work).Step
}

// Handover is what remains of sending the cache of one prompt when its prefill is done. Servers that do both phases keep it.
func (s *Steps) Handover(tokens int) float64 {
	if s.prefill == nil {
		return 0
	}
	var out estimate.Estimate
	s.prefill.At(workload.Lengths{Input: tokens, Output: 1, Squares: s.lengths.Squares}).Evaluate(&s.plan, &out)
	return out.KV.Exposed
}
