package op

import "throughline/model"

// Phase is one of the two halves of serving a request.
type Phase uint8

const (
	Decode  Phase = iota // the next token of a sequence, and those that were drafted behind it
	Prefill              // all tokens of a prompt at once, or a chunk of them
	PhaseCount
)

// Step is the work of one forward pass of a data-parallel rank: any mixture of sequences that decode and of prompts, or
// chunks of them. It holds the sums that operators need, not the sequences; Lowerer.Add adds some. Engines run one
// attention kernel over the sequences that decode and another over the prompts; all else sees their tokens together.
type Step [PhaseCount]Sums

// Sums are those over the sequences of one phase. They need not be whole numbers.
type Sums struct {
	Sequences float64
	Tokens    float64 // new ones, which pass through the layers
	Wanted    float64 // of them, those whose successor is wanted
	Context   float64 // tokens of the sequences, cached and new
	// Absent is how many fewer new tokens the mean of the data-parallel ranks has: others may have no such sequences.
	Absent float64

	// Seen is what every kind of attention of the model does: the main one, then those of model.Mixed.
	Seen [1 + model.MaxMixed]Seen
	// One is what the main attention does with a single token of every sequence: what a draft module works on.
	One Seen
}

// Seen is what an attention sees of the contexts of sequences. Windows, an indexer and compression leave a part of them.
type Seen struct {
	Pairs  float64 // of a new token and an entry that it attends to
	Scored float64 // pairs that an indexer scores
	Read   float64 // cached entries that are read; one that several tokens of a sequence see is read once
}

// Group is equal sequences in a step.
type Group struct {
	Phase     Phase
	Sequences float64
	New       float64 // tokens of each that pass through the layers
	Context   float64 // tokens of each, cached and new
	// Ends: the prompt ends in this step, so that its first output token is wanted. Decoding, every token is.
	Ends bool
	// Share is of the data-parallel ranks, those that have such sequences; 0 stands for 1.
	Share float64
	// Scale is how much more a token of a prompt attends to than the mean length says, prompts being of different lengths; 0
	// stands for 1.
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

// add adds what an attention does with so many new tokens of each of equal sequences. One that decodes sees the context; one
// of a prompt the whole prompt, or, where attention is causal, the tokens before it and itself: the mean over the new
// tokens counts. Entries that several queries see are read once, unless each reads those that an indexer has picked for it apart.
func (s *Seen) add(a *model.Attention, g *Group, tokens float64, causal, apart bool) {
	n, each, context := g.Sequences*tokens, tokens, g.Context
	if g.Phase == Prefill && g.Scale > 1 {
		tokens, context = tokens*g.Scale, context*g.Scale
	}
	whole := context
	if causal {
		whole -= (tokens - 1) / 2
	}
	if a.Window == 0 && a.IndexTopK == 0 && a.Compress <= 1 {
		s.Pairs += n * whole
		s.Scored += n * whole
		s.Read += g.Sequences * g.Context
		return
	}
	if a.Compress > 1 {
		whole /= float64(a.Compress)
	}
	seen := a.Seen(context)
	if causal {
		seen = a.SeenOnAverage(tokens, context)
	}
	s.Pairs += n * seen
	s.Scored += n * whole
	if apart && a.Picks(g.Context) {
		s.Read += n * seen
	} else {
		s.Read += g.Sequences * a.Read(each, g.Context)
	}
}

// Repeat sets the sums of one phase of a step to so many times those of another, which costs less than adding a group.
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

// Tokens is the new tokens of a step.
func (s *Step) Tokens() float64 { return s[Decode].Tokens + s[Prefill].Tokens }

// absent is how many fewer the mean of the data-parallel ranks has.
func (s *Step) absent() float64 { return s[Decode].Absent + s[Prefill].Absent }

// Phase is that by which kernels are chosen which all tokens of a step share: with a prompt among them, prefill.
func (s *Step) Phase() Phase {
	if s[Prefill].Tokens > 0 {
		return Prefill
	}
	return Decode
}

// part is the sequences of one phase, as the attention being lowered sees them in one part of the context.
type part struct {
	phase                      Phase
	sequences, tokens, context float64
	pairs, scored, read        float64
	seen                       float64 // entries that a token attends to on average
}
