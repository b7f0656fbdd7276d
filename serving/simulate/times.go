package simulate

// Work is what a data-parallel rank does in a step.
type Work struct {
	Decodes int   // sequences that get their next token
	Context int64 // keys that they read, those of the new tokens included
	// Bounded is, for each bound, the keys read if no sequence reads more than that.
	Bounded []int64
	Chunks  []Chunk // of prompts
	// Absent is this rank's prompt tokens beyond the mean of the ranks that share experts.
	Absent float64
	// Under is the batches under way in a pipeline, this one included; 0: one per stage.
	Under int
}

// Chunk is the tokens of one prompt in a step.
type Chunk struct {
	New, Past int  // tokens to compute, and those cached before them
	Ends      bool // completes the prompt
}

// Tokens of prompts in a step.
func (w *Work) Tokens() (n int) {
	for i := range w.Chunks {
		n += w.Chunks[i].New
	}
	return n
}

// Sequences in a step.
func (w *Work) Sequences() int { return w.Decodes + len(w.Chunks) }

// Kind is D for decode only, P for prompts only, M for mixed.
func (w *Work) Kind() byte {
	switch {
	case len(w.Chunks) == 0:
		return 'D'
	case w.Decodes == 0:
		return 'P'
	}
	return 'M'
}

// KindName is its kind in words.
func (w *Work) KindName() string {
	return map[byte]string{'D': "decode", 'P': "prefill", 'M': "prefill and decode"}[w.Kind()]
}

// Pairs of a query and a key in prompts: every token attends to itself and all before it.
func (w *Work) Pairs() (pairs float64) {
	for _, c := range w.Chunks {
		n, past := float64(c.New), float64(c.Past)
		pairs += n*past + n*(n+1)/2
	}
	return pairs
}

// Times is how long the steps of a rank take.
type Times interface {
	// Seconds of a step, including the host.
	Seconds(w *Work) float64
	// Bounds are the contexts beyond which an attention of the model reads no more keys.
	Bounds() []int
}

// Clock decides when steps start and end: by default one after another, or as recorded.
type Clock interface {
	Start(step int, ready float64) float64
	End(step int, start float64, seconds float64) float64
}

// steadyClock is the default clock.
type steadyClock struct{}

func (steadyClock) Start(_ int, ready float64) float64        { return ready }
func (steadyClock) End(_ int, start, seconds float64) float64 { return start + seconds }
