// Package assume holds the modelling assumptions as data. Each field is one choice that a simulator
// of this kind has to make; a preset is one consistent set of them.
package assume

import "strings"

// Assumptions is one set of modelling choices. The tags name the fields on the command line, and
// bound their values: numbers are from 0 to 1e18 by default.
type Assumptions struct {
	Name string

	// FlopsPerTFlop is one unit of a system file's "tflops", in operations per second.
	FlopsPerTFlop float64 `assume:"tflop" bound:"positive" doc:"operations per second in one T of a system file"`
	// BytesPerGB is one unit of a system file's "GBps", for memory and for networks.
	BytesPerGB float64 `assume:"gb" bound:"positive" doc:"bytes in one GB of a system file's bandwidths"`

	// Engine: a serving engine with its facts runs the deployment, and TTFT and TPOT are what its
	// clients see; otherwise they are those of a prefill and of a decode step alone.
	Engine bool `assume:"engine" doc:"a serving engine runs the deployment; times are what its clients see"`
	// Pipelined: as many batches as stages are in flight, and a stage's experts are spread over its
	// processors. Otherwise one batch passes through the stages, and experts are spread over all.
	Pipelined bool `assume:"pipelined" doc:"as many batches as pipeline stages are in flight"`
	// LeadingDense: leading dense layers of an expert model are dense; otherwise all have experts.
	LeadingDense   bool `assume:"leading-dense" doc:"the leading dense layers of an expert model are dense"`
	Ends           bool `assume:"ends" doc:"embedding, output projection and sampling take part"`
	TouchedExperts bool `assume:"touched-experts" doc:"a step reads only the experts its tokens are expected to visit"`
	// Imbalance: the busiest processor decides how long the experts take, at its load by chance.
	Imbalance bool `assume:"imbalance" doc:"the busiest GPU of an expert group decides"`
	// Borders: groups of GPUs that do not divide a node cross its borders, and the slowest
	// decides. Otherwise every group is taken to begin where a node begins.
	Borders bool `assume:"borders" doc:"groups of GPUs that do not divide a node cross its borders"`
	// ExpertSpread and ExpertBlocks are the standard deviations of the logarithm of expert visits
	// in service, and of what neighbouring experts have in common; ExpertDriftPrefill and
	// ExpertDriftDecode those of its change from step to step. They count with TouchedExperts,
	// unless visits are set to be even, and with Imbalance where they are set to be uneven.
	ExpertSpread       float64 `assume:"expert-spread" doc:"standard deviation of the logarithm of visits of experts"`
	ExpertBlocks       float64 `assume:"expert-blocks" doc:"of what neighbouring eighths of the experts have in common"`
	ExpertDriftPrefill float64 `assume:"expert-drift-prefill" doc:"of the visits of an expert from step to step, in prefill of 64 prompts"`
	ExpertDriftDecode  float64 `assume:"expert-drift-decode" doc:"and in decode"`
	// RebalanceSteps is the steps between moves of experts with redundant copies; 0: never.
	RebalanceSteps float64 `assume:"rebalance-steps" doc:"steps between two moves of experts with redundant copies; 0: none"`
	// Causal: a prompt's token attends to those before it and to itself; otherwise to the prompt.
	Causal bool `assume:"causal" doc:"prefill attends to earlier tokens only"`
	// AbsorbPrefill: absorbed latent attention stays absorbed in prefill; otherwise it expands keys
	// and values there, as serving engines do, unless an indexer picks tokens for every query.
	AbsorbPrefill bool `assume:"absorb-prefill" doc:"absorbed latent attention stays absorbed in prefill"`
	// LatentBookkeeping: the reference sample's element-wise work around latent attention,
	// splitting the up-projection at every step and adding the two parts of the scores in memory.
	LatentBookkeeping bool `assume:"latent-bookkeeping" doc:"latent attention splits weights and adds scores in memory at every step"`

	// FusedAttentionAtMatrixType runs fused grouped attention at the rate of the matrix type;
	// otherwise at that of the attention type, as the two products of MLA always do.
	FusedAttentionAtMatrixType bool `assume:"fused-at-matrix-type" doc:"fused attention of grouped heads runs at the rate of the matrix type"`
	// GateElementsPerToken is the element-wise work per token on gate values in an expert layer.
	GateElementsPerToken float64 `assume:"gate-elements" doc:"elements of the gate that an expert layer reads and writes per token"`
	ExchangeBuffers      bool    `assume:"exchange-buffers" doc:"expert exchange buffers hold the tokens of the whole group"`

	// SmallKernels: work between products takes part as engines fuse it: quantisation, rotary
	// positions with cache writes, routing, sampling, the gates of linear attention.
	SmallKernels bool `assume:"small-kernels" doc:"the small kernels between products take part, as engines fuse them"`
	WideResidual bool `assume:"wide-residual" doc:"activations between products have at least 16 bits"`
	NarrowIndex  bool `assume:"narrow-index" doc:"the indexer of sparse attention keeps and scores its keys in 8 bits"`
	PickedApart  bool `assume:"picked-apart" doc:"every query of a prompt reads the entries that an indexer has picked for it, once there are more than it picks"`

	// MemoryFraction of the capacity is usable, less ReserveGiB for the runtime.
	MemoryFraction float64 `assume:"memory-fraction" bound:"share" doc:"usable share of the memory"`
	ReserveGiB     float64 `assume:"reserve-gib" doc:"memory kept for the runtime, in GiB"`
}

// Compared reports whether predictions with these assumptions were compared with measurements, so
// that their bands are known: those of the physical preset, changed or not.
func (a *Assumptions) Compared() bool {
	preset, _, _ := strings.Cut(a.Name, ",")
	return preset == Physical.Name
}

// Reference gives the numbers of the reference tool. The digits of its published sample imply its
// units: a T of 1024e9, a GB of 2^30. GateElementsPerToken is fitted: 31 elements, read and written
// once, are the sample's memory traffic beyond the known operators.
var Reference = Assumptions{
	Name:                       "reference",
	FlopsPerTFlop:              1024e9,
	BytesPerGB:                 1 << 30,
	AbsorbPrefill:              true,
	LatentBookkeeping:          true,
	FusedAttentionAtMatrixType: true,
	GateElementsPerToken:       31,
	ExchangeBuffers:            true,
	MemoryFraction:             1,
}

// Physical is what hardware and serving engines do. The usable memory is the engines' default: a
// fraction of 0.9 (vLLM's gpu_memory_utilization), and a reserve of 1 GiB for context and
// communication buffers, which is an estimate. Experts are visited as those of DeepSeek-V3 in
// service, by what SGLang's authors print of the balance of ranks
// (lmsys.org/blog/2025-05-05-large-scale-ep): mean over busiest 0.673 on 8 and 0.55 on 32 ranks
// with experts in their order; with 32 redundant copies placed by EPLB 0.80 on 32 ranks that
// prefill, and 0.81 on 72 that decode.
var Physical = Assumptions{
	Name:           "physical",
	FlopsPerTFlop:  1e12,
	BytesPerGB:     1e9,
	Engine:         true,
	Pipelined:      true,
	LeadingDense:   true,
	Ends:           true,
	TouchedExperts: true,
	Imbalance:      true,
	Borders:        true,
	Causal:         true,
	SmallKernels:   true,
	WideResidual:   true,
	NarrowIndex:    true,
	PickedApart:    true,
	MemoryFraction: 0.9,
	ReserveGiB:     1,

	ExpertSpread: 0.50, ExpertBlocks: 0.26, ExpertDriftPrefill: 0.28, ExpertDriftDecode: 0.175,
	RebalanceSteps: 1000, // SGLang's --eplb-rebalance-num-iterations
}

// Usable is how many bytes of a capacity in GiB a deployment may take.
func (a *Assumptions) Usable(gib float64) float64 {
	return (gib*a.MemoryFraction - a.ReserveGiB) * (1 << 30)
}
