// Package assume holds the modelling assumptions as data. Each field is one choice that a simulator of this kind has
// to make; a preset is one consistent set of them.
package assume

// Assumptions is one set of modelling choices.
type Assumptions struct {
	Name string

	// FlopsPerTFlop is what one unit of a system file's "tflops" means, in operations per second.
	FlopsPerTFlop float64
	// BytesPerGB is what one unit of a system file's "GBps" means, for memory and for networks.
	BytesPerGB float64

	// FusedAttentionAtMatrixType runs the fused attention of grouped heads at the rate of the matrix type; otherwise
	// at the rate of the attention type, as the two products of MLA always do.
	FusedAttentionAtMatrixType bool
	// GateElementsPerToken is the size of the element-wise work on the gate values of one token in an expert layer.
	GateElementsPerToken float64
}

// Reference gives the numbers of the reference tool. Its units are forced by the digits of its published sample:
// a T of 1024e9, a GB of 2^30. GateElementsPerToken is fitted: 31 elements, read and written once, are what the
// sample's memory traffic holds beyond the operators that can be named.
var Reference = Assumptions{
	Name:                       "reference",
	FlopsPerTFlop:              1024e9,
	BytesPerGB:                 1 << 30,
	FusedAttentionAtMatrixType: true,
	GateElementsPerToken:       31,
}
