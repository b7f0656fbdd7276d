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

// Op is one operator of one layer, on one processor. A good part of a lowering is clearing operators, which is fastest
// where their size is a multiple of 16 bytes.
type Op struct {
	Kind  Kind
	Class Class
	Unit  Unit
	Phase Phase // of the sequences that an attention treats; of other operators, that of the step
	// Module is the part of the model whose number format products with weights have.
	Module     model.Module
	Collective hardware.Collective

	// Kernels it runs in, and the shape that it has there. M, N and K of the shape are also what efficiency tables look at.
	Kernels kernel.Uses
	// A communication operator sends what its shape moves by its Collective in the group of the shape, which lies within
	// Span consecutive processors. Such groups follow one another through World processors; 0: none of them crosses the
	// border of a node that it need not cross.
	Span int32
	kernel.Shape
	World int32

	Repeat float64 // layers of the stage that contain it

	Flops       float64
	Weights     float64 // bytes of parameters read
	Resident    float64 // bytes of parameters kept in memory
	Activations float64 // bytes of activations read and written
	Cache       float64 // bytes of the KV cache read, or of a recurrent state read and written
	Output      float64 // bytes of its result: what it needs as working space
}

// Members is where the processors lie that a communication operator joins.
func (o *Op) Members() hardware.Members {
	return hardware.Members{Group: int(o.Group), Span: int(o.Span), World: int(o.World)}
}

// Exchanges reports whether the operator sends tokens to their experts, or brings back the results.
func (o *Op) Exchanges() bool {
	return (o.Kind == Dispatch || o.Kind == Combine) && o.Collective == hardware.AllToAll && o.Group > 1
}

// Slowness is how many times the tokens of an exchange one of the tables would send in its time.
func (o *Op) Slowness() float64 {
	if o.Rows == 0 || o.Kind != Dispatch && o.Kind != Combine {
		return 1
	}
	return o.Rows / o.M
}

// Launches is how often a host launches something for an operator: once, unless it is a part of another. Tokens that an all-reduce
// gathers are copied into zeros and the sums copied back; each rank then copies its own results into zeros (_dp_gather and
// dp_scatter in python/sglang/srt/layers/dp_attention.py of SGLang 0.4.6).
func (o *Op) Launches() float64 {
	switch {
	case o.Class == Comm && o.Group < 2:
		return 0
	case o.Kind == Dispatch && o.Collective == hardware.AllReduce:
		return 4
	case o.Kind == Combine && o.Collective == hardware.AllReduce:
		return 3
	}
	if kinds[o.Kind].Launched {
		return 1
	}
	role := kernel.Whole
	for _, u := range o.Kernels {
		if u != (kernel.Use{}) {
			role = u.Role
		}
	}
	if role == kernel.Within || role == kernel.Beside {
		return 0
	}
	return 1
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

	bound   [MostRuns]uint8 // where the blocks of layers end
	bounds  int
	leading bool // dense layers come first
}

// Run is the operators of one block of a layer: those from From to before To, which so many layers have.
type Run struct {
	From, To int
	Block    Block
	Layers   int
	// Leading: the layers are the first ones; otherwise they are spread evenly among the others.
	Leading bool
}

// MostRuns is one for each kind of attention, a dense and an expert block.
const MostRuns = 1 + model.MaxMixed + 2

// mark ends a block of layers.
func (l *List) mark() {
	l.bound[l.bounds] = uint8(l.n)
	l.bounds++
}

// AppendRuns appends the blocks of the layers of a stage. Outside of a stage, where operators just follow one another,
// there are none.
func (l *List) AppendRuns(out []Run) []Run {
	from := 0
	for _, bound := range l.bound[:l.bounds] {
		to := int(bound)
		out = append(out, Run{})
		r := &out[len(out)-1] // not copied: that would wait for what was just written
		r.From, r.To, r.Block, r.Layers = from, to, l.BlockOf(from), int(l.ops[from].Repeat)
		// Of the feed-forward blocks the dense one comes first.
		r.Leading = l.leading && r.Block == MLPBlock && from == l.end[AttentionBlock] && to < l.n
		from = to
	}
	return out
}

// Launched is what a host launches that runs the operators one by one, each as often as it repeats.
func (l *List) Launched() (n float64) {
	for i := range l.ops[:l.n] {
		n += l.ops[i].Repeat * l.ops[i].Launches()
	}
	return n
}

// Pieces is what a host launches of a step whose graphs end at every attention: what is between graphs, and these.
func (l *List) Pieces() (n float64) {
	for i := range l.ops[:l.n] {
		switch o := &l.ops[i]; o.Kind {
		case CacheWrite, AbsorbQuery, QueryConcat, IndexPlaces, AbsorbValue, IndexWrite, IndexSelect:
			n += o.Repeat
		case Scores, IndexScores:
			n += 2 * o.Repeat // and the graph before
		}
	}
	return n
}

// Times is how often the operators of a kind run.
func (l *List) Times(k Kind) (n float64) {
	for i := range l.ops[:l.n] {
		if l.ops[i].Kind == k {
			n += l.ops[i].Repeat
		}
	}
	return n
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

// MaxOps is enough for any stage: a dense and an expert block have 38 operators together, each of the up to four kinds
// of attention of a model up to 36, and 6 more where it treats sequences of both phases. A few are spare.
const MaxOps = 38 + (1+model.MaxMixed)*(36+6) + 8

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

// reset empties the list. All at once the operators are cleared faster than one by one.
func (l *List) reset() {
	clear(l.ops[:l.n])
	l.n, l.comms, l.bounds = 0, 0, 0
}

// next is a slot at the end of the list, which is clear.
func (l *List) next() *Op {
	o := &l.ops[l.n]
	l.n++
	return o
}
