package plan

// Behaviour is what an engine does with a layout on a chip. Package engine makes it; zero is what no engine in particular does.
type Behaviour struct {
	// SharedApart: an engine that could run the shared experts as routed ones that all tokens visit runs them as a dense block.
	SharedApart bool

	// LateGather: with latent attention and sequence parallelism, every rank makes the latent vectors of its share of the tokens, and
	// these are gathered in place of what is in front of them. SequenceFrom is the least tokens of a step that is spread so.
	LateGather   bool
	SequenceFrom int

	// Gathered: every processor of an expert group has all tokens of the group and adds up what its own experts make of
	// them, as engines do without an all-to-all. Tensor-parallel ranks have them anyway; the tokens of data-parallel ranks
	// are gathered. Otherwise each token is sent to its experts and comes back.
	Gathered bool
	// Reduced is the steps in which that is an all-reduce of what all have, zeros but for one's own, and one of the results.
	Reduced Reduced

	// Captured is the most tokens of a decode step whose kernels are launched as one, those of all replicas together; the operators of
	// longer ones are launched one by one, each in Launch seconds. 0 seconds: all are captured.
	Captured int
	Launch   float64
	// CapturedPrompts and PromptLaunch are the same of steps with prompts, which engines capture by other rules.
	CapturedPrompts int
	PromptLaunch    float64
	// Pieces: graphs of steps with prompts end at every attention, whose operators are launched as those of longer steps are.
	Pieces bool
	// SharedLaunches is how often the host launches something for the shared experts of a layer besides the operators that are counted,
	// where they are launched apart from the routed ones.
	SharedLaunches int
	// Piece is the seconds of the host for each layer of a captured step whose graphs end at every attention; 0: one graph is the step.
	Piece float64

	// TunedExchange: where nothing computes beside it, an exchange runs on as many units as it can use.
	TunedExchange bool
	// SlowPrefill and SlowDecode are how many times as long exchanges of prompts and of tokens that decode take as in the tables, with an
	// older library.
	SlowPrefill, SlowDecode Slowdown
	// CopyKernels is how many kernels choose the copies of experts that tokens go to; 0: as many as engines have now.
	CopyKernels int
	// Unfused are small kernels where tokens are sent to experts that most engines do without; zero: there are none.
	Unfused Unfused
	// IndexKernels is how many small kernels give the queries and the key of an indexer their positions and weigh its heads, before they
	// are made narrow; 0: one. IndexFused: what makes them narrow does that as well, and the key and the weights of the heads are one product.
	IndexKernels int
	IndexFused   bool
	// IndexBytes is the most bytes of scores that an indexer makes of prompts at a time; 0: all at once.
	IndexBytes float64
	// SparsePrompts: every query of a prompt reads what an indexer picked for it, also where that is all there is.
	SparsePrompts bool
	// SparseApart: sparse latent attention has kernels of its own for positions, the cache, the queries and the places of what was picked,
	// and its experts some for what goes in, the scale of what comes out and the sum with the shared ones.
	SparseApart bool
	// SharedBeside is the most tokens of a step whose shared experts run beside the routed ones; those of longer ones follow them. 0: as
	// routed ones that all tokens visit.
	SharedBeside int
	// WideRouter: routers multiply in 32 bits where the model asks for it.
	WideRouter bool
	// IndexSkips: of prompts that are no longer than an indexer picks, it makes the keys alone.
	IndexSkips bool

	// FusedQuantise: norms and activations write what narrow products behind them read, as some engines have it; otherwise
	// kernels of their own quantise it.
	FusedQuantise bool

	// LightLast: of layers that do not divide evenly, the last stage of a pipeline, which has the output projection, gets no more
	// than the others.
	LightLast bool
}

// Unfused is the small kernels around an exchange that most engines fuse with others.
type Unfused struct {
	ScaleRows  float64 // tokens of a rank that each expert turns the scales of, whether they came or not
	Transposed float64 // how many times as long what is turned around takes as what is moved in order
}

// Slowdown is how many times as long the two directions of an exchange take; 0: as long.
type Slowdown struct{ Dispatch, Combine float64 }

// Reduced is steps whose tokens are gathered by an all-reduce, and not by an all-gather and a reduce-scatter.
type Reduced uint8

const (
	NoSteps     Reduced = iota
	PromptSteps         // those with prompts, of which data-parallel ranks have unequally many tokens
	AllSteps
)
