// Package op lowers a model under a plan to the operators of one pipeline stage. Each operator says what it does: its
// floating-point operations, the bytes it moves and sends, its shape. What that costs is not decided here.
//
// The files read like the transformer: stage.go puts a layer together, grouped.go and latent.go are the two families of
// attention, dense.go and experts.go the two feed-forward blocks, primitive.go the handful of operators they are made
// of.
package op

import "throughline/hardware"

// Op is one operator of one layer, on one processor.
type Op struct {
	Kind   Kind
	Unit   Unit
	Repeat float64 // layers of the stage that contain it

	Flops       float64
	Weights     float64 // bytes of parameters read
	Activations float64 // bytes of activations read and written
	Cache       float64 // bytes of the KV cache read
	Output      float64 // bytes of its result: what it needs as working space

	M, N, K float64 // the shape of a matrix product: tokens, outputs, inputs

	// A communication operator sends Message bytes by a Collective in a group of Group processors; the group lies
	// within Span consecutive ones.
	Message    float64
	Collective hardware.Collective
	Group      int
	Span       int
}

// Bytes is the traffic of the operator in device memory.
func (o *Op) Bytes() float64 { return o.Weights + o.Activations + o.Cache }

// List holds the operators of a stage. It has room for the longest stage, so that filling it again costs no allocation.
type List struct {
	ops [maxOps]Op
	n   int
}

// maxOps is more than any stage needs: latent attention, a dense and an expert block have 41 together.
const maxOps = 48

// All is the operators in the order of execution.
func (l *List) All() []Op { return l.ops[:l.n] }

// next is a cleared slot at the end of the list.
func (l *List) next() *Op {
	o := &l.ops[l.n]
	l.n++
	*o = Op{}
	return o
}
