package serving

import (
	"math"

	"throughline/estimate"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Steps is how long the steps of a server take on its processors under a plan, the host left out. All predictions of
// serving, in closed form or simulated, ask here.
type Steps struct {
	server  *server
	plan    plan.Plan
	lengths workload.Lengths
	weights float64
	out     estimate.Estimate
	cache   map[step]float64
}

// step is the work of a rank in one phase.
type step struct {
	phase        op.Phase
	sequences    int
	tokens, past int
	context      int
}

// newSteps prepares the steps of a plan.
func newSteps(s *server, p plan.Plan, n workload.Lengths) *Steps {
	out := &Steps{server: s, plan: p, lengths: n, cache: map[step]float64{}}
	m := out.memory(n)
	out.weights = m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
	return out
}

// memory is what a processor holds with one sequence of these lengths.
func (s *Steps) memory(n workload.Lengths) estimate.Memory {
	e := s.server.phases[op.Decode]
	e.SetLengths(n)
	p := s.plan
	p.Batch = s.server.batch(&p, 1)
	return e.MemoryOf(&p)
}

// Room is the sequences for which a rank has memory: 0 if not even the weights fit, and at least 1 if they do. A sequence
// needs room for its whole output where the engine reserves it from the start, else for half of it on average.
func (s *Steps) Room(reserved bool) float64 {
	if s.weights > s.server.all {
		return 0
	}
	n := s.lengths
	if !reserved {
		n.Output /= 2
	}
	m := s.memory(n)
	if m.Cache == 0 {
		return math.Inf(1)
	}
	room := func(bytes float64) float64 { return (bytes - m.WithoutCache()) / m.Cache }
	if n := room(s.server.usable); n >= 1 {
		return n
	}
	// Whoever starts such a server gives it all the memory there is.
	return max(1, room(s.server.all))
}

// Prefill is the time of a step in which a rank computes a number of prompts, of each so many tokens after those that
// are cached already.
func (s *Steps) Prefill(prompts, tokens, past int) float64 {
	return s.time(step{phase: op.Prefill, sequences: prompts, tokens: tokens, past: past})
}

// Decode is the time of a step in which every sequence of a rank gets one more token. Numbers of sequences between two
// whole ones are interpolated.
func (s *Steps) Decode(sequences, context float64) float64 {
	sequences = max(1, sequences)
	low := math.Floor(sequences)
	at := func(n float64) float64 {
		return s.time(step{phase: op.Decode, sequences: int(n), context: max(2, int(math.Round(context)))})
	}
	t := at(low)
	if part := sequences - low; part > 0 {
		t += part * (at(low+1) - t)
	}
	return t
}

// Mixed is the time of a step with prompts and decoding sequences together. The products see all their tokens, as if the
// prompts were longer; what attention takes for the contexts of the decoding sequences comes on top.
func (s *Steps) Mixed(prompts, tokens, past int, sequences, context float64) float64 {
	more := int(math.Round(sequences / float64(prompts)))
	t := s.Prefill(prompts, tokens+more, past)
	if sequences > 0 {
		t += max(0, s.Decode(sequences, context)-s.Decode(sequences, 2))
	}
	return t
}

func (s *Steps) time(w step) float64 {
	t, ok := s.cache[w]
	if !ok {
		s.evaluate(w)
		t = s.out.StepTime
		s.cache[w] = t
	}
	return t
}

func (s *Steps) evaluate(w step) {
	n := workload.Lengths{Input: w.context - 1, Output: 1}
	if w.phase == op.Prefill {
		n = workload.Lengths{Input: w.past + w.tokens, Output: 1, Cached: w.past, Squares: s.lengths.Squares}
	}
	e := s.server.phases[w.phase]
	e.SetLengths(n)
	p := s.plan
	p.Batch = s.server.batch(&p, float64(w.sequences))
	e.Evaluate(&p, &s.out)
}
