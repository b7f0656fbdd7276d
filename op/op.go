// Package op lowers a model under a plan to the operators of one pipeline stage. Each operator says what it does: its
// floating-point operations, the bytes it moves and sends, its shape. What that costs is not decided here.
//
// The files read like the transformer: step.go is what passes through it, stage.go puts a layer together, grouped.go,
// latent.go and linear.go are the three families of attention, dense.go and experts.go the two feed-forward blocks,
// primitive.go the handful of operators they are made of.
package op

import (
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/model"
)

// Op is one operator of one layer, on one processor.
type Op struct {
	Kind  Kind
	Class Class
	Unit  Unit
	Phase Phase // of the sequences that an attention treats; of other operators, that of the step

	// Kernels it runs in, and the shape that it has there. M, N and K of the shape are also what efficiency tables look at.
	Kernels kernel.Uses
	kernel.Shape

	// A communication operator sends Message bytes by its Collective in the group of its shape, which lies within Span
	// consecutive processors.
	Message    float64
	Span       int32
	Collective hardware.Collective

	Repeat float64 // layers of the stage that contain it

	Flops       float64
	Weights     float64 // bytes of parameters read
	Resident    float64 // bytes of parameters kept in memory
	Activations float64 // bytes of activations read and written
	Cache       float64 // bytes of the KV cache read, or of a recurrent state read and written
	Output      float64 // bytes of its result: what it needs as working space
}

// Bytes is the traffic of the operator in device memory.
func (o *Op) Bytes() float64 { return o.Weights + o.Activations + o.Cache }

// List holds the operators of a stage, block by block. It has room for the longest stage, so that filling it again costs
// no allocation.
type List struct {
	ops [MaxOps]Op
	end [BlockCount]int // where each block ends
	n   int

	comm  [MaxOps]uint8 // indices of the communication operators
	comms int

	run  [mostRuns]Run
	runs int
}

// Run is the operators of one block of a layer: those from From to before To, in as many layers as they repeat.
type Run struct {
	From, To uint8
	Block    Block
	Layers   int32
	// Leading: the layers are the first ones; otherwise they are spread evenly among the others.
	Leading bool
}

// mostRuns is one for each kind of attention, a dense and an expert block.
const mostRuns = 1 + model.MaxMixed + 2

// Runs are the blocks of the layers of a stage. Outside of a stage, where operators just follow one another, there are
// none.
func (l *List) Runs() []Run { return l.run[:l.runs] }

// mark ends a block that so many layers have.
func (l *List) mark(b Block, layers int, leading bool) {
	var from uint8
	if l.runs > 0 {
		from = l.run[l.runs-1].To
	}
	l.run[l.runs] = Run{from, uint8(l.n), b, int32(layers), leading}
	l.runs++
}

// Comms are the indices of the communication operators.
func (l *List) Comms() []uint8 { return l.comm[:l.comms] }

// BlockOf is the block that the operator of an index belongs to.
func (l *List) BlockOf(index int) Block {
	if index < l.end[AttentionBlock] {
		return AttentionBlock
	}
	return MLPBlock
}

// MaxOps is enough for any stage: a dense and an expert block have 32 operators together, each of the up to four kinds
// of attention of a model up to 35, and 6 more where it treats sequences of both phases. A few are spare.
const MaxOps = 32 + (1+model.MaxMixed)*(35+6) + 8

// All is the operators in the order of execution.
func (l *List) All() []Op { return l.ops[:l.n] }

// Of is the operators of one block, in the order of execution.
func (l *List) Of(b Block) []Op {
	if b == AttentionBlock {
		return l.ops[:l.end[AttentionBlock]]
	}
	return l.ops[l.end[b-1]:l.end[b]]
}

// last is the operator added last.
func (l *List) last() *Op { return &l.ops[l.n-1] }

// next is a cleared slot at the end of the list.
func (l *List) next() *Op {
	o := &l.ops[l.n]
	l.n++
	*o = Op{}
	return o
}
