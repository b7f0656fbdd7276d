package op

import (
	"throughline/hardware/kernel"
	"throughline/model"
)

// Kind identifies an operator of the transformer.
type Kind uint8

// Block is the half of a layer that an operator belongs to.
type Block uint8

const (
	AttentionBlock Block = iota
	MLPBlock
	BlockCount
)

// Class groups operators by what executes them.
type Class uint8

const (
	Linear Class = iota // product with a weight matrix
	BMM                 // product of activations with activations or cache
	Vector              // element-wise, normalisation, softmax
	Comm                // between processors
	ClassCount
)

// Unit is the rate at which an operator computes.
type Unit uint8

const (
	MatrixUnit          Unit = iota // matrix unit, number type of the matrices
	AttentionMatrixUnit             // matrix unit, number type of attention
	VectorUnit
	IndexUnit // matrix unit, 8 bits where the chip supports them, else the number type of attention
	WideUnit  // 32 bits
	UnitCount
)

const (
	// Grouped attention, and what both families share.
	InputNorm Kind = iota
	QKV
	QKNormAllReduce
	QueryHeadNorm
	KeyHeadNorm
	FusedAttention
	Scores
	Softmax
	Values
	AttentionGate
	AttentionGateSigmoid
	AttentionGateMultiply
	OutputProjection
	AttentionAllReduce
	AttentionReduceCopy
	AttentionGather
	AttentionScatter
	RingExchange
	AttentionResidual
	AttentionPostNorm

	// Latent attention (MLA).
	QueryDown
	QueryLatentDown
	QueryDownNorm
	QueryUp
	LatentDown
	LatentNorm
	LatentUp
	LatentUpSplit
	QueryConcat
	LatentSplit
	KeyRotate
	AbsorbQuery
	ScoreAdd
	AbsorbValue
	HeadsTranspose

	// Small kernels of any attention.
	QuantiseInput
	QuantiseQuery
	QuantiseLatent
	QuantiseHeads
	Rotary
	CacheWrite
	CacheGrowth
	LinearGates

	// The indexer of sparse attention.
	IndexQuery
	IndexKey
	IndexWeights
	IndexRotary
	IndexQuantise
	IndexWrite
	IndexScores
	IndexSelect

	// Linear attention.
	LinearInput
	LinearHeadGates
	LinearDecay
	LinearGate
	ShortConvolution
	LinearState
	LinearNorm
	OutputDown

	// Compression of neighbouring tokens into one entry, for attention and for its indexer.
	CompressorInput
	CompressorState
	CompressorWrite
	IndexCompressorInput
	IndexCompressorState
	IndexCompressorWrite
	IndexPlaces
	HeadsRotate

	// Hyper-connections in front of the two blocks of a layer.
	AttentionHyperPost
	AttentionHyperMix
	AttentionHyperPre
	MLPHyperPost
	MLPHyperMix
	MLPHyperPre

	// Dense feed-forward.
	AttentionInputNorm
	MLPNorm
	QuantiseMLP
	GateUp
	Up
	Activation
	GateMultiply
	QuantiseInner
	Down
	MLPAllReduce
	MLPReduceCopy
	MLPGather
	MLPScatter
	MLPResidual
	MLPPostNorm

	// Experts.
	RouterWiden
	Router
	GateWeights
	ExpertSelection
	ExpertCopies
	ExpertIndices
	QuantiseTokens
	Dispatch
	ExpertAlign
	ExpertPermute
	SliceGather
	ExpertGateUp
	ExpertUp
	ExpertActivation
	ExpertGateMultiply
	ExpertQuantise
	ScaleTranspose
	ExpertDown
	SliceScatter
	Combine
	ExpertScaling
	ExpertWeighting
	ExpertNarrow
	ExpertWiden

	// Shared experts that are a separate block.
	QuantiseShared
	SharedGateUp
	SharedUp
	SharedActivation
	SharedGateMultiply
	SharedScore
	SharedScale
	QuantiseSharedInner
	SharedDown
	SharedSum // of shared and routed results

	// The ends of the model.
	Embedding
	FinalNorm
	HeadGather
	OutputHead
	LogitCap
	LogitsGather
	Sampling

	// The draft module of multi-token prediction.
	DraftProjection

	KindCount
)

// Traffic is the kind of parallelism that processors communicate for.
type Traffic uint8

const (
	TensorTraffic   Traffic = iota // sums over the tensor-parallel ranks
	ExpertTraffic                  // tokens to experts and back
	ContextTraffic                 // keys and values around the ring
	SequenceTraffic                // tokens between the sequence-parallel parts
	TrafficCount
)

// Info holds what is fixed for a kind of operator.
type Info struct {
	Name    string
	Block   Block
	Class   Class
	Traffic Traffic // of a communication operator
	// Module is the part of the model whose weights it multiplies by, or whose kernel it runs in.
	Module model.Module
	// Kernels of the operator; those of attention, exchanges and messages depend on the step.
	Kernels kernel.Uses
	// Launched: a host launches it even where other kernels hide its latency.
	Launched bool
	// Normed: its input was written by a norm or an activation, which may have quantised it.
	Normed bool
}

func (k Kind) Info() Info { return kinds[k] }

// Traffic is what a communication operator is for.
func (k Kind) Traffic() Traffic { return kinds[k].Traffic % TrafficCount }

func (k Kind) String() string { return kinds[k].Name }

func KindOf(name string) (Kind, bool) {
	for k := range kinds {
		if kinds[k].Name == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// The kernels of operators.
var (
	product          = kernel.Uses{{Slot: kernel.Gemm}}
	quantising       = kernel.Uses{{Slot: kernel.Gemm, Role: kernel.Quantised}, {Slot: kernel.Quantise}, moving[0]}
	absorbed         = kernel.Uses{{Slot: kernel.Absorb}, {Slot: kernel.GroupedGemm}}
	narrowing        = kernel.Uses{{Slot: kernel.Quantise}, moving[0]} // no product follows
	norm             = kernel.Uses{{Slot: kernel.AddNorm}}
	besideNorm       = kernel.Uses{{Slot: kernel.AddNorm, Role: kernel.Beside}}
	moving           = kernel.Uses{{Slot: kernel.AddNorm, Role: kernel.Alone}}
	activation       = kernel.Uses{{Slot: kernel.SiluMul}}
	withinActivation = kernel.Uses{{Slot: kernel.SiluMul, Role: kernel.Within}}

	// Experts run in one kernel, charged to the first product, or in one kernel per product.
	expertUp         = kernel.Uses{{Slot: kernel.Experts}, {Slot: kernel.GroupedGemm}}
	expertActivation = inBlock(kernel.Use{Slot: kernel.SiluMul})
	expertMultiply   = inBlock(kernel.Use{Slot: kernel.SiluMul, Role: kernel.Within})
	expertDown       = launchedInBlock(kernel.Use{Slot: kernel.GroupedGemm})
	expertSort       = launchedInBlock(kernel.Use{Slot: kernel.Align})
	expertCopy       = inBlock(kernel.Use{Slot: kernel.Permute})
	expertSum        = inBlock(kernel.Use{Slot: kernel.Unpermute})
	expertQuantise   = launchedInBlock(kernel.Use{Slot: kernel.Quantise})
)

// inBlock is an operator that is part of a fused expert kernel, where there is one.
func inBlock(alone kernel.Use) kernel.Uses {
	return kernel.Uses{{Slot: kernel.Experts, Role: kernel.Within}, alone}
}

// launchedInBlock is an operator measured with a block of experts but launched separately. AITER
// sorts, quantises, multiplies, quantises and multiplies (fused_moe_2stages of aiter/fused_moe.py);
// its products contain activation, copies and sums.
func launchedInBlock(alone kernel.Use) kernel.Uses {
	return kernel.Uses{{Slot: kernel.Experts, Role: kernel.Following}, alone}
}

// dispatched puts the kernel for blocks between dispatch and combine first.
func dispatched(u kernel.Uses) kernel.Uses {
	return kernel.Uses{{Slot: kernel.DispatchedExperts, Role: u[0].Role}, u[0], u[1]}
}

// exchangedKinds are the kinds as they run between dispatch and combine.
var exchangedKinds = func() [KindCount]Info {
	out := kinds
	for k := range out {
		out[k].Kernels = dispatched(out[k].Kernels)
	}
	return out
}()

var kinds = [KindCount]Info{
	InputNorm:             {Name: "input norm", Block: AttentionBlock, Class: Vector, Kernels: norm},
	QKV:                   {Name: "qkv projection", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	QKNormAllReduce:       {Name: "head norm all-reduce", Block: AttentionBlock, Class: Comm, Traffic: TensorTraffic},
	QueryHeadNorm:         {Name: "query head norm", Block: AttentionBlock, Class: Vector, Kernels: norm},
	KeyHeadNorm:           {Name: "key head norm", Block: AttentionBlock, Class: Vector, Kernels: norm},
	FusedAttention:        {Name: "fused attention", Block: AttentionBlock, Class: BMM},
	Scores:                {Name: "scores", Block: AttentionBlock, Class: BMM},
	Softmax:               {Name: "softmax", Block: AttentionBlock, Class: Vector},
	Values:                {Name: "values", Block: AttentionBlock, Class: BMM},
	AttentionGate:         {Name: "attention gate", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	AttentionGateSigmoid:  {Name: "attention gate sigmoid", Block: AttentionBlock, Class: Vector, Kernels: besideNorm},
	AttentionGateMultiply: {Name: "attention gate multiply", Block: AttentionBlock, Class: Vector, Kernels: besideNorm},
	OutputProjection:      {Name: "output projection", Block: AttentionBlock, Class: Linear, Kernels: product},
	AttentionReduceCopy:   {Name: "attention all-reduce copy", Block: AttentionBlock, Class: Vector, Kernels: moving},
	AttentionAllReduce:    {Name: "attention all-reduce", Block: AttentionBlock, Class: Comm, Traffic: TensorTraffic},
	AttentionGather:       {Name: "attention all-gather", Block: AttentionBlock, Class: Comm, Traffic: SequenceTraffic},
	AttentionScatter:      {Name: "attention reduce-scatter", Block: AttentionBlock, Class: Comm, Traffic: SequenceTraffic},
	RingExchange:          {Name: "ring exchange", Block: AttentionBlock, Class: Comm, Traffic: ContextTraffic},
	AttentionResidual:     {Name: "attention residual", Block: AttentionBlock, Class: Vector, Kernels: besideNorm},
	AttentionPostNorm:     {Name: "attention post norm", Block: AttentionBlock, Class: Vector, Kernels: norm},

	QueryDown:       {Name: "query down", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	QueryLatentDown: {Name: "query and latent down", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	QueryDownNorm:   {Name: "query norm", Block: AttentionBlock, Class: Vector, Kernels: norm},
	QueryUp:         {Name: "query up", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	LatentDown:      {Name: "latent down", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	LatentNorm:      {Name: "latent norm", Block: AttentionBlock, Class: Vector, Kernels: norm},
	LatentUp:        {Name: "latent up", Block: AttentionBlock, Class: Linear, Kernels: product},
	LatentUpSplit:   {Name: "latent up split", Block: AttentionBlock, Class: Vector, Kernels: besideNorm},
	QueryConcat:     {Name: "query concat", Block: AttentionBlock, Class: Vector, Kernels: besideNorm},
	LatentSplit:     {Name: "latent split", Block: AttentionBlock, Class: Vector, Kernels: besideNorm},
	KeyRotate:       {Name: "key rotate", Block: AttentionBlock, Class: Vector, Kernels: moving},
	AbsorbQuery:     {Name: "absorb query", Block: AttentionBlock, Class: Linear, Kernels: absorbed},
	ScoreAdd:        {Name: "score add", Block: AttentionBlock, Class: Vector, Kernels: besideNorm},
	AbsorbValue:     {Name: "absorb value", Block: AttentionBlock, Class: Linear, Kernels: absorbed},
	HeadsTranspose:  {Name: "heads transpose", Block: AttentionBlock, Class: Vector, Kernels: moving},

	QuantiseInput:  {Name: "quantise input", Block: AttentionBlock, Class: Vector, Kernels: quantising},
	QuantiseQuery:  {Name: "quantise query", Block: AttentionBlock, Class: Vector, Kernels: quantising},
	QuantiseLatent: {Name: "quantise latent", Block: AttentionBlock, Class: Vector, Kernels: quantising},
	QuantiseHeads:  {Name: "quantise heads", Block: AttentionBlock, Class: Vector, Kernels: quantising},
	CacheWrite:     {Name: "cache write", Block: AttentionBlock, Class: Vector, Kernels: moving},
	Rotary:         {Name: "rotary and cache write", Block: AttentionBlock, Class: Vector, Kernels: rotating},
	CacheGrowth:    {Name: "cache growth", Block: AttentionBlock, Class: Vector, Kernels: moving},
	LinearGates:    {Name: "linear attention gates", Block: AttentionBlock, Class: Vector, Kernels: gating[Prefill]},

	IndexQuery:    {Name: "index query", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	IndexKey:      {Name: "index key", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	IndexWeights:  {Name: "index weights", Block: AttentionBlock, Class: Linear, Module: model.EndModule, Kernels: product, Launched: true},
	IndexRotary:   {Name: "index rotary", Block: AttentionBlock, Class: Vector, Kernels: moving},
	IndexQuantise: {Name: "quantise index query", Block: AttentionBlock, Class: Vector, Kernels: narrowing},
	IndexWrite:    {Name: "index cache write", Block: AttentionBlock, Class: Vector, Kernels: narrowing},
	IndexScores:   {Name: "index scores", Block: AttentionBlock, Class: BMM},
	IndexSelect:   {Name: "index select", Block: AttentionBlock, Class: Vector, Kernels: moving},

	LinearInput:      {Name: "linear attention input", Block: AttentionBlock, Class: Linear, Kernels: product, Normed: true},
	LinearHeadGates:  {Name: "linear attention head gates", Block: AttentionBlock, Class: Linear, Module: model.EndModule, Kernels: product},
	LinearDecay:      {Name: "linear attention decay", Block: AttentionBlock, Class: Linear, Kernels: product},
	LinearGate:       {Name: "linear attention gate", Block: AttentionBlock, Class: Linear, Kernels: product},
	ShortConvolution: {Name: "short convolution", Block: AttentionBlock, Class: Vector},
	LinearState:      {Name: "linear attention state", Block: AttentionBlock, Class: BMM},
	LinearNorm:       {Name: "linear attention norm", Block: AttentionBlock, Class: Vector, Kernels: norm},
	OutputDown:       {Name: "output down", Block: AttentionBlock, Class: Linear, Kernels: product},

	CompressorInput:      {Name: "compressor input", Block: AttentionBlock, Class: Linear, Module: model.EndModule, Kernels: product, Launched: true},
	CompressorState:      {Name: "compressor state", Block: AttentionBlock, Class: Vector, Kernels: moving, Launched: true},
	CompressorWrite:      {Name: "compressor write", Block: AttentionBlock, Class: Vector, Kernels: moving, Launched: true},
	IndexCompressorInput: {Name: "index compressor input", Block: AttentionBlock, Class: Linear, Module: model.EndModule, Kernels: product, Launched: true},
	IndexCompressorState: {Name: "index compressor state", Block: AttentionBlock, Class: Vector, Kernels: moving, Launched: true},
	IndexCompressorWrite: {Name: "index compressor write", Block: AttentionBlock, Class: Vector, Kernels: moving, Launched: true},
	IndexPlaces:          {Name: "index places", Block: AttentionBlock, Class: Vector, Kernels: moving},
	HeadsRotate:          {Name: "heads rotate back", Block: AttentionBlock, Class: Vector, Kernels: moving},

	AttentionHyperPost: {Name: "attention hyper-connection post", Block: AttentionBlock, Class: Vector, Kernels: moving},
	AttentionHyperMix:  {Name: "attention hyper-connection mix", Block: AttentionBlock, Class: Linear, Module: model.EndModule, Kernels: moving},
	AttentionHyperPre:  {Name: "attention hyper-connection pre", Block: AttentionBlock, Class: Vector, Kernels: norm},
	MLPHyperPost:       {Name: "mlp hyper-connection post", Block: MLPBlock, Class: Vector, Kernels: moving},
	MLPHyperMix:        {Name: "mlp hyper-connection mix", Block: MLPBlock, Class: Linear, Module: model.EndModule, Kernels: moving},
	MLPHyperPre:        {Name: "mlp hyper-connection pre", Block: MLPBlock, Class: Vector, Kernels: norm},

	AttentionInputNorm: {Name: "attention input norm", Block: MLPBlock, Class: Vector, Kernels: norm},
	MLPNorm:            {Name: "mlp norm", Block: MLPBlock, Class: Vector, Kernels: norm},
	QuantiseMLP:        {Name: "quantise mlp input", Block: MLPBlock, Class: Vector, Module: model.FeedForwardModule, Kernels: quantising},
	GateUp:             {Name: "gate and up", Block: MLPBlock, Class: Linear, Module: model.FeedForwardModule, Kernels: product, Normed: true},
	Up:                 {Name: "up", Block: MLPBlock, Class: Linear, Module: model.FeedForwardModule, Kernels: product, Normed: true},
	Activation:         {Name: "activation", Block: MLPBlock, Class: Vector, Kernels: activation},
	GateMultiply:       {Name: "gate multiply", Block: MLPBlock, Class: Vector, Kernels: withinActivation},
	QuantiseInner:      {Name: "quantise inner", Block: MLPBlock, Class: Vector, Module: model.FeedForwardModule, Kernels: quantising},
	Down:               {Name: "down", Block: MLPBlock, Class: Linear, Module: model.FeedForwardModule, Kernels: product, Normed: true},
	MLPReduceCopy:      {Name: "mlp all-reduce copy", Block: MLPBlock, Class: Vector, Kernels: moving},
	MLPAllReduce:       {Name: "mlp all-reduce", Block: MLPBlock, Class: Comm, Traffic: TensorTraffic},
	MLPGather:          {Name: "mlp all-gather", Block: MLPBlock, Class: Comm, Traffic: SequenceTraffic},
	MLPScatter:         {Name: "mlp reduce-scatter", Block: MLPBlock, Class: Comm, Traffic: SequenceTraffic},
	MLPResidual:        {Name: "mlp residual", Block: MLPBlock, Class: Vector, Kernels: besideNorm},
	MLPPostNorm:        {Name: "mlp post norm", Block: MLPBlock, Class: Vector, Kernels: norm},

	RouterWiden:        {Name: "widen router input", Block: MLPBlock, Class: Vector, Kernels: moving},
	Router:             {Name: "router", Block: MLPBlock, Class: Linear, Module: model.EndModule, Kernels: product},
	GateWeights:        {Name: "gate weights", Block: MLPBlock, Class: Vector, Kernels: besideNorm},
	ExpertSelection:    {Name: "expert selection", Block: MLPBlock, Class: Vector, Module: model.ExpertModule, Kernels: moving},
	ExpertCopies:       {Name: "expert copies", Block: MLPBlock, Class: Vector, Module: model.ExpertModule, Kernels: moving},
	ExpertIndices:      {Name: "expert indices", Block: MLPBlock, Class: Vector, Module: model.ExpertModule, Kernels: moving},
	QuantiseTokens:     {Name: "quantise tokens", Block: MLPBlock, Class: Vector, Kernels: quantisingSent},
	ExpertAlign:        {Name: "expert sort", Block: MLPBlock, Class: Vector, Kernels: expertSort},
	ExpertPermute:      {Name: "expert permute", Block: MLPBlock, Class: Vector, Kernels: expertCopy},
	Dispatch:           {Name: "dispatch", Block: MLPBlock, Class: Comm, Traffic: ExpertTraffic},
	SliceGather:        {Name: "slice all-gather", Block: MLPBlock, Class: Comm, Traffic: ExpertTraffic},
	ExpertGateUp:       {Name: "expert gate and up", Block: MLPBlock, Class: Linear, Module: model.ExpertModule, Kernels: expertUp},
	ExpertUp:           {Name: "expert up", Block: MLPBlock, Class: Linear, Module: model.ExpertModule, Kernels: expertUp},
	ExpertActivation:   {Name: "expert activation", Block: MLPBlock, Class: Vector, Module: model.ExpertModule, Kernels: expertActivation},
	ExpertGateMultiply: {Name: "expert gate multiply", Block: MLPBlock, Class: Vector, Module: model.ExpertModule, Kernels: expertMultiply},
	ExpertQuantise:     {Name: "expert quantise", Block: MLPBlock, Class: Vector, Module: model.ExpertModule, Kernels: expertQuantise},
	ScaleTranspose:     {Name: "scale transpose", Block: MLPBlock, Class: Vector, Module: model.ExpertModule, Kernels: moving},
	ExpertDown:         {Name: "expert down", Block: MLPBlock, Class: Linear, Module: model.ExpertModule, Kernels: expertDown},
	SliceScatter:       {Name: "slice reduce-scatter", Block: MLPBlock, Class: Comm, Traffic: ExpertTraffic},
	Combine:            {Name: "combine", Block: MLPBlock, Class: Comm, Traffic: ExpertTraffic},
	ExpertScaling:      {Name: "expert scaling", Block: MLPBlock, Class: Vector, Kernels: moving},
	ExpertWeighting:    {Name: "expert weighting", Block: MLPBlock, Class: Vector, Kernels: expertSum},
	ExpertNarrow:       {Name: "expert narrow", Block: MLPBlock, Class: Linear, Module: model.ExpertModule, Kernels: product},
	ExpertWiden:        {Name: "expert widen", Block: MLPBlock, Class: Linear, Module: model.ExpertModule, Kernels: product},

	QuantiseShared:      {Name: "quantise shared input", Block: MLPBlock, Class: Vector, Module: model.SharedModule, Kernels: quantising},
	SharedGateUp:        {Name: "shared gate and up", Block: MLPBlock, Class: Linear, Module: model.SharedModule, Kernels: product, Normed: true, Launched: true},
	SharedUp:            {Name: "shared up", Block: MLPBlock, Class: Linear, Module: model.SharedModule, Kernels: product, Normed: true, Launched: true},
	SharedActivation:    {Name: "shared activation", Block: MLPBlock, Class: Vector, Kernels: activation, Launched: true},
	SharedGateMultiply:  {Name: "shared gate multiply", Block: MLPBlock, Class: Vector, Kernels: withinActivation},
	SharedScore:         {Name: "shared expert score", Block: MLPBlock, Class: Linear, Module: model.EndModule, Kernels: product, Launched: true},
	SharedScale:         {Name: "shared expert scale", Block: MLPBlock, Class: Vector, Kernels: moving, Launched: true},
	QuantiseSharedInner: {Name: "quantise shared inner", Block: MLPBlock, Class: Vector, Module: model.SharedModule, Kernels: quantising},
	SharedDown:          {Name: "shared down", Block: MLPBlock, Class: Linear, Module: model.SharedModule, Kernels: product, Normed: true, Launched: true},
	SharedSum:           {Name: "shared sum", Block: MLPBlock, Class: Vector, Kernels: moving},

	Embedding:    {Name: "embedding", Block: MLPBlock, Class: Vector, Kernels: moving},
	FinalNorm:    {Name: "final norm", Block: MLPBlock, Class: Vector, Kernels: norm},
	HeadGather:   {Name: "output head all-gather", Block: MLPBlock, Class: Comm, Traffic: TensorTraffic},
	LogitsGather: {Name: "logits all-gather", Block: MLPBlock, Class: Comm, Traffic: TensorTraffic},
	OutputHead:   {Name: "output head", Block: MLPBlock, Class: Linear, Module: model.EndModule, Kernels: product},
	LogitCap:     {Name: "logit cap", Block: MLPBlock, Class: Vector, Kernels: moving},
	Sampling:     {Name: "sampling", Block: MLPBlock, Class: Vector, Kernels: moving},

	DraftProjection: {Name: "draft projection", Block: AttentionBlock, Class: Linear, Module: model.EndModule, Kernels: product},
}

// OfSharedExperts reports whether an operator belongs to a separate block of shared experts.
func (k Kind) OfSharedExperts() bool { return k >= QuantiseShared && k <= SharedDown }

// OfExperts reports whether an operator is part of what experts compute.
func (k Kind) OfExperts() bool { return k >= ExpertGateUp && k <= ExpertDown }
