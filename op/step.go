package op

import "throughline/model"

// Phase is one of the two halves of serving a request.
type Phase uint8

const (
	Decode  Phase = iota // the next token of a sequence, and those that were drafted behind it
	Prefill              // all tokens of a prompt at once, or a chunk of them
	PhaseCount
)

func (p Phase) Name() string {
	if p == Prefill {
		return "prefill"
	}
	return "decode"
}

// Step is the work of one forward pass of a data-parallel rank, any mixture of decoding sequences
// and (chunks of) prompts, as sums that Lowerer.Add accumulates. Engines run separate attention
// kernels for decode and prefill; all else sees their tokens together.
type Step [PhaseCount]Sums

// Sums are taken over the sequences of one phase, and may be fractional.
type Sums struct {
	Sequences float64
	Tokens    float64 // that pass through the layers, not cached
	Wanted    float64 // new tokens whose successor is wanted
	Context   float64 // tokens of the sequences, cached and new
	// Absent is the new tokens by which the mean data-parallel rank falls short of this one.
	Absent float64

	// Seen is for each kind of attention: the main one, then those of model.Mixed.
	Seen [1 + model.MaxMixed]Seen
	// One is for a single token of each sequence in the main attention, as in a draft module.
	One Seen
}

// Seen is what attention sees of contexts, after windows, indexers and compression.
type Seen struct {
	Pairs  float64 // pairs of a new token and an entry it attends to
	Scored float64 // pairs that an indexer scores
	Read   float64 // cached entries read, once per sequence
}

// Group is equal sequences in a step.
type Group struct {
	Phase     Phase
	Sequences float64
	New       float64 // tokens of each that pass through the layers
	Context   float64 // tokens of each, cached and new
	// Ends: the prompt ends in this step, so its first output token is wanted; in decode all are.
	Ends bool
	// Share is the share of data-parallel ranks that have such sequences; 0 stands for 1.
	Share float64
	// Scale corrects the attention of prompts for their varying lengths; 0 stands for 1.
	Scale float64
}

// Add adds equal sequences to a step.
func (l *Lowerer) Add(s *Step, g *Group) {
	w := &s[g.Phase]
	tokens := g.Sequences * g.New
	w.Sequences += g.Sequences
	w.Tokens += tokens
	w.Context += g.Sequences * g.Context
	if g.Share > 0 {
		w.Absent += (1 - g.Share) * tokens
	}
	switch {
	case g.Phase == Decode:
		w.Wanted += tokens
	case g.Ends:
		w.Wanted += g.Sequences
	}
	causal, apart := g.Phase == Prefill && l.assume.Causal, g.Phase == Prefill && l.assume.PickedApart
	w.One.add(&l.model.Attention, g, 1, causal, apart)
	w.Seen[0].add(&l.model.Attention, g, g.New, causal, apart)
	for i := range l.model.Mixed {
		w.Seen[1+i].add(&l.model.Mixed[i].Attention, g, g.New, causal, apart)
	}
}

// add adds the attention of equal sequences, by new tokens of each. In decode a token sees the
// context; in prefill all of the prompt or, if causal, the tokens up to itself, on average. Entries
// that several queries see are read once, unless each reads the picks of its indexer apart.
func (s *Seen) add(a *model.Attention, g *Group, tokens float64, causal, apart bool) {
	n, each, context := g.Sequences*tokens, tokens, g.Context
	if g.Phase == Prefill && g.Scale > 1 {
		tokens, context = tokens*g.Scale, context*g.Scale
	}
	visible := context
	if causal {
		visible -= (tokens - 1) / 2
	}
	if a.Window == 0 && a.IndexTopK == 0 && a.Compress <= 1 {
		s.Pairs += n * visible
		s.Scored += n * visible
		s.Read += g.Sequences * g.Context
		return
	}
	if a.Compress > 1 {
		visible /= float64(a.Compress)
	}
	seen := a.Seen(context)
	if causal {
		seen = a.SeenOnAverage(tokens, context)
	}
	s.Pairs += n * seen
	s.Scored += n * visible
	if apart && a.Picks(g.Context) {
		s.Read += n * seen
	} else {
		s.Read += g.Sequences * a.Read(each, g.Context)
	}
}

// Repeat sets sums to a multiple of others, which is faster than adding a group.
func (l *Lowerer) Repeat(w *Sums, times float64, of *Sums) {
	w.Sequences, w.Tokens = times*of.Sequences, times*of.Tokens
	w.Wanted, w.Context, w.Absent = times*of.Wanted, times*of.Context, times*of.Absent
	w.One.repeat(times, &of.One)
	for i := range 1 + len(l.model.Mixed) {
		w.Seen[i].repeat(times, &of.Seen[i])
	}
}

func (s *Seen) repeat(times float64, of *Seen) {
	s.Pairs, s.Scored, s.Read = times*of.Pairs, times*of.Scored, times*of.Read
}

func (s *Step) Tokens() float64 { return s[Decode].Tokens + s[Prefill].Tokens }

// absent is how many tokens the mean data-parallel rank falls short of the fullest.
func (s *Step) absent() float64 { return s[Decode].Absent + s[Prefill].Absent }

// Phase selects the kernels that all tokens of a step share: prefill if it has a prompt.
func (s *Step) Phase() Phase {
	if s[Prefill].Tokens > 0 {
		return Prefill
	}
	return Decode
}

// part is the sequences of one phase as attention sees them on one context-parallel rank.
type part struct {
	phase                      Phase
	sequences, tokens, context float64
	pairs, scored, read        float64
	seen                       float64 // entries that a token attends to on average
}
