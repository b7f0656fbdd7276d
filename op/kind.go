package op

// Kind says which operator of the transformer this is.
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
	UnitCount
)

const (
	// Attention of grouped heads (and what both families share).
	InputNorm Kind = iota
	QKV
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
	AttentionResidual

	// Latent attention (MLA).
	QueryDown
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

	// Dense feed-forward.
	AttentionInputNorm
	MLPNorm
	GateUp
	Up
	Activation
	GateMultiply
	Down
	MLPAllReduce
	MLPResidual

	// Experts.
	Router
	GateWeights
	Dispatch
	ExpertGateUp
	ExpertUp
	ExpertActivation
	ExpertGateMultiply
	ExpertDown
	Combine
	ExpertWeighting

	KindCount
)

// Info is what is fixed for a kind of operator.
type Info struct {
	Name  string
	Block Block
	Class Class
}

// Info looks the kind up.
func (k Kind) Info() Info { return kinds[k] }

func (k Kind) String() string { return kinds[k].Name }

var kinds = [KindCount]Info{
	InputNorm:             {"input norm", AttentionBlock, Vector},
	QKV:                   {"qkv projection", AttentionBlock, Linear},
	QueryHeadNorm:         {"query head norm", AttentionBlock, Vector},
	KeyHeadNorm:           {"key head norm", AttentionBlock, Vector},
	FusedAttention:        {"fused attention", AttentionBlock, BMM},
	Scores:                {"scores", AttentionBlock, BMM},
	Softmax:               {"softmax", AttentionBlock, Vector},
	Values:                {"values", AttentionBlock, BMM},
	AttentionGate:         {"attention gate", AttentionBlock, Linear},
	AttentionGateSigmoid:  {"attention gate sigmoid", AttentionBlock, Vector},
	AttentionGateMultiply: {"attention gate multiply", AttentionBlock, Vector},
	OutputProjection:      {"output projection", AttentionBlock, Linear},
	AttentionAllReduce:    {"attention all-reduce", AttentionBlock, Comm},
	AttentionResidual:     {"attention residual", AttentionBlock, Vector},

	QueryDown:     {"query down", AttentionBlock, Linear},
	QueryDownNorm: {"query norm", AttentionBlock, Vector},
	QueryUp:       {"query up", AttentionBlock, Linear},
	LatentDown:    {"latent down", AttentionBlock, Linear},
	LatentNorm:    {"latent norm", AttentionBlock, Vector},
	LatentUp:      {"latent up", AttentionBlock, Linear},
	LatentUpSplit: {"latent up split", AttentionBlock, Vector},
	QueryConcat:   {"query concat", AttentionBlock, Vector},
	LatentSplit:   {"latent split", AttentionBlock, Vector},
	KeyRotate:     {"key rotate", AttentionBlock, Vector},
	AbsorbQuery:   {"absorb query", AttentionBlock, Linear},
	ScoreAdd:      {"score add", AttentionBlock, Vector},
	AbsorbValue:   {"absorb value", AttentionBlock, Linear},

	AttentionInputNorm: {"attention input norm", MLPBlock, Vector},
	MLPNorm:            {"mlp norm", MLPBlock, Vector},
	GateUp:             {"gate and up", MLPBlock, Linear},
	Up:                 {"up", MLPBlock, Linear},
	Activation:         {"activation", MLPBlock, Vector},
	GateMultiply:       {"gate multiply", MLPBlock, Vector},
	Down:               {"down", MLPBlock, Linear},
	MLPAllReduce:       {"mlp all-reduce", MLPBlock, Comm},
	MLPResidual:        {"mlp residual", MLPBlock, Vector},

	Router:             {"router", MLPBlock, Linear},
	GateWeights:        {"gate weights", MLPBlock, Vector},
	Dispatch:           {"dispatch", MLPBlock, Comm},
	ExpertGateUp:       {"expert gate and up", MLPBlock, Linear},
	ExpertUp:           {"expert up", MLPBlock, Linear},
	ExpertActivation:   {"expert activation", MLPBlock, Vector},
	ExpertGateMultiply: {"expert gate multiply", MLPBlock, Vector},
	ExpertDown:         {"expert down", MLPBlock, Linear},
	Combine:            {"combine", MLPBlock, Comm},
	ExpertWeighting:    {"expert weighting", MLPBlock, Vector},
}
