package plan

// Behaviour is how an engine runs a layout on a chip; zero is no engine in particular.
type Behaviour struct {
	Facts

	// SharedApart: the engine runs shared experts as a dense block rather than as routed ones.
	SharedApart bool

	// LateGather: with latent attention and sequence parallelism, ranks gather the latent vectors
	// of their tokens instead of the wider input. SequenceFrom is the fewest tokens of such a step.
	LateGather   bool
	SequenceFrom int

	// Gathered: every processor of an expert group has all its tokens and adds up the results of
	// its own experts, as engines do without an all-to-all; data-parallel ranks gather their tokens
	// first. Otherwise each token is sent to its experts and comes back.
	Gathered bool
	// Reduced is the steps in which all-reduces of padded tokens and of results replace that.
	Reduced Reduced

	// Captured is the most tokens, of all replicas, of a decode step captured as one graph;
	// operators of larger steps take Launch seconds each to launch. 0 seconds: all are captured.
	Captured int
	Launch   float64
	// CapturedPrompts and PromptLaunch are the same for steps with prompts.
	CapturedPrompts int
	PromptLaunch    float64
	// AbsorbedPrompt is the most tokens of a prompt whose latent attention is that of decode.
	AbsorbedPrompt int
	// Launches is how many kernels the engine launches for an operator; nil: as they are priced.
	Launches *Launches
	// JoinedTile: beside prompts, the kernel of prompts computes sequences that decode, each head
	// of which takes a tile of so many queries; 0: they have a kernel of their own.
	JoinedTile int
	// WindowApart: of decodes within a window, every head reads keys and values for itself.
	WindowApart bool
	// Pieces: graphs of steps with prompts end at every attention, launched operator by operator.
	Pieces bool

	// Staged is the bytes of all-reduces that go through a buffer, into it and out of it by copies.
	Staged Range

	// TunedExchange: with nothing beside it, an exchange runs on as many units as it can use.
	TunedExchange bool
	// SlowPrefill and SlowDecode are the times of exchanges in an older library over the tables'.
	SlowPrefill, SlowDecode Slowdown
	// IndexFused: the kernel that quantises what an indexer makes does the work of the small ones
	// before it, and one product makes key and head weights.
	IndexFused bool
	// RowPicks is the most entries of a row that one block picks from, whatever the step; longer
	// rows are shared. 0: rows that decode have a kernel of their own.
	RowPicks float64
	// SharedBeside is the most tokens of a step whose shared experts run beside the routed ones
	// rather than behind them. 0: as routed ones that all tokens visit.
	SharedBeside int
	// ExpertTile is the rows that every expert of a processor has in its products at least, with or
	// without tokens; 0: those that tokens bring.
	ExpertTile int
	// ExpertInputs: memory holds as many inputs of experts as fill a multiple of it; 0: no more.
	ExpertInputs int
	// SparePairs: where ranks gather tokens, kernels of experts also clear, activate and add up the
	// places of tokens that other ranks' experts compute.
	SparePairs bool
	// UntunedExperts: kernels of experts have no tiles tuned for their shape.
	UntunedExperts bool
	// FewRouted is the most tokens whose router is a small kernel of the engine's own.
	FewRouted int

	// FusedQuantise: norms and activations quantise inputs of products; else separate kernels do.
	FusedQuantise bool

	// LightLast: the last of unequal pipeline stages, with the output head, gets no extra layer.
	LightLast bool
}

// Facts are what an engine does alike with every plan: keys of its file, priced as they stand.
type Facts struct {
	// SharedLaunches is the kernels per layer of shared experts apart from the routed ones.
	SharedLaunches int `json:"shared_launches"`
	// PieceSeconds of the host per layer if graphs end at every attention; 0: one graph.
	PieceSeconds float64 `json:"piece_seconds"`
	// CopyKernels choose the copies of experts that tokens go to; 0: as many as engines have now.
	CopyKernels int `json:"copy_kernels" range:"[0,100]"`
	// Unfused are small kernels around exchanges that most engines fuse; zero: there are none.
	Unfused Unfused `json:"unfused"`
	// IndexKernels is how many small kernels of a sparse-attention indexer precede its
	// quantisation; 0: one.
	IndexKernels int `json:"index_kernels" range:"[0,100]"`
	// IndexBytes is the most bytes of prompt scores that an indexer makes at a time; 0: unlimited.
	IndexBytes float64 `json:"index_bytes" range:"[0,1e15]"`
	// SkipsIndex: for prompts no longer than its selection, the indexer makes the keys alone.
	SkipsIndex bool `json:"skips_index"`
	// SparsePrompts: prompt queries read what an indexer picked even where that is everything.
	SparsePrompts bool `json:"sparse_prompts"`
	// SparseApart: sparse latent attention has separate kernels for positions, cache, queries and
	// picked places, and its experts for inputs, scales of results and the sum with shared ones.
	SparseApart bool `json:"sparse_apart"`
	// LinearInputs is in how many products gated delta attention makes its inputs: 2: those of the
	// gates of heads apart; 4: these one by one, and the output gate apart. 0: one product.
	LinearInputs int `json:"linear_inputs" range:"[0,4]"`
	// JoinedStates: beside prompts, gated delta attention computes sequences that decode as
	// prompts.
	JoinedStates bool `json:"joined_states"`
	// WideRouter: routers multiply in 32 bits where the model requires it.
	WideRouter bool `json:"wide_router"`
	// HostEmbedding: the host looks up embeddings, which take no memory of the processors.
	HostEmbedding bool `json:"host_embedding"`
}

// Launches is the kernels that a host launches for operators, by kind, plus one; 0: as priced.
type Launches [192]uint8

// Range is what is more than From and at most To; zero is nothing.
type Range struct{ From, To float64 }

func (r Range) Holds(x float64) bool { return x > r.From && x <= r.To }

// Unfused is the small kernels around an exchange that most engines fuse with others.
type Unfused struct {
	// ScaleRows is the tokens of a rank whose scales each expert transposes, used or not.
	ScaleRows float64 `json:"scale_rows" required:"true"`
	// Transposed is the time of transposing over that of moving in order.
	Transposed float64 `json:"transposed" required:"true"`
}

// Slowdown is the times of the two directions of an exchange over those in the tables; 0: equal.
type Slowdown struct {
	Dispatch float64 `json:"dispatch" required:"true" range:"[1,100]"`
	Combine  float64 `json:"combine" required:"true" range:"[1,100]"`
}

// Reduced is steps that gather tokens by all-reduce instead of all-gather and reduce-scatter.
type Reduced uint8

const (
	NoSteps     Reduced = iota
	PromptSteps         // with prompts, of which data-parallel ranks have unequal numbers of tokens
	AllSteps
)
