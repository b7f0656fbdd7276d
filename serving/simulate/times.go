package simulate

// Work is what a data-parallel rank does in one step.
type Work struct {
	Decodes int   // sequences that get their next token
	Context int64 // keys that these read, those of the new tokens included
	// Bounded is, for each bound of the times, the keys read where no sequence reads more than the bound.
	Bounded []int64
	Chunks  []Chunk // of prompts
	// Absent is how many fewer tokens of prompts the mean of the ranks has that share experts.
	Absent float64
	// Under is the batches that are under way in a pipeline, this one among them; 0: one for every stage.
	Under int
}

// Chunk is the tokens of one prompt that a step computes.
type Chunk struct {
	New, Past int  // tokens to compute, and those that are in the cache before them
	Ends      bool // the prompt is complete with them
}

// Tokens is the tokens of prompts in a step.
func (w *Work) Tokens() (n int) {
	for i := range w.Chunks {
		n += w.Chunks[i].New
	}
	return n
}

// Sequences is all that take part in a step.
func (w *Work) Sequences() int { return w.Decodes + len(w.Chunks) }

// Kind is D for a step that only decodes, P for one of prompts alone, M for both.
func (w *Work) Kind() byte {
	switch {
	case len(w.Chunks) == 0:
		return 'D'
	case w.Decodes == 0:
		return 'P'
	}
	return 'M'
}

// Pairs is the pairs of a query and a key in the prompts of a step: every token attends to itself and all before it.
func (w *Work) Pairs() (pairs float64) {
	for _, c := range w.Chunks {
		n, past := float64(c.New), float64(c.Past)
		pairs += n*past + n*(n+1)/2
	}
	return pairs
}

// Times is how long the steps of a rank take.
type Times interface {
	// Seconds is the time of a step, the host included.
	Seconds(w *Work) float64
	// Bounds are the lengths beyond which an attention of the model reads no more keys.
	Bounds() []int
}

// Clock says when the steps of a server start and end. The usual one starts a step when the last has ended, and lets it
// take its time; a recorded one replays.
type Clock interface {
	Start(step int, ready float64) float64
	End(step int, start float64, seconds float64) float64
}

// untold is the clock of a server that is told nothing.
type untold struct{}

func (untold) Start(_ int, ready float64) float64        { return ready }
func (untold) End(_ int, start, seconds float64) float64 { return start + seconds }
