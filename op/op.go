// Package op lowers a model under a plan to the operators of one pipeline stage: their
// floating-point operations, bytes moved and sent, and shapes. Package cost prices them.
//
// The files read like the transformer: step.go is its input, stage.go assembles layers, grouped.go,
// latent.go and linear.go are the families of attention, dense.go and experts.go the feed-forward
// blocks, primitive.go the operators they are made of.
package op

import (
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/model"
	"throughline/plan"
)

// Op is one operator of one layer on one processor. Multiples of 16 bytes are cleared fastest.
type Op struct {
	Kind  Kind
	Class Class
	Unit  Unit
	Phase Phase // of the sequences an attention treats; else of the step
	// Module sets the number format of products with weights.
	Module     model.Module
	Collective hardware.Collective

	// Kernels and the shape they run with; efficiency tables also use M, N and K.
	Kernels kernel.Uses
	// A communication operator runs its Collective in groups, each within Span consecutive
	// processors, that follow one another through World processors; 0: no group crosses a node
	// border needlessly.
	Span int32
	kernel.Shape
	World int32

	Repeat float64 // layers of the stage that contain it

	Flops       float64
	Weights     float64 // bytes of parameters read
	Resident    float64 // bytes of parameters kept in memory
	Activations float64 // bytes of activations read and written
	Cache       float64 // bytes of KV cache read, or of recurrent state read and written
	Output      float64 // bytes of its result, which count as working space
}

// Members is the placement of the processors that a communication operator joins.
func (o *Op) Members() hardware.Members {
	return hardware.Members{Group: int(o.Group), Span: int(o.Span), World: int(o.World)}
}

// Exchanges reports whether the operator sends tokens to their experts or returns the results.
func (o *Op) Exchanges() bool {
	return (o.Kind == Dispatch || o.Kind == Combine) && o.Collective == hardware.AllToAll && o.Group > 1
}

// Slowness is how many times as many tokens a measured exchange would send in its time.
func (o *Op) Slowness() float64 {
	if o.Rows == 0 || o.Kind != Dispatch && o.Kind != Combine {
		return 1
	}
	return o.Rows / o.M
}

// Launches is how often a host launches something for an operator: once, unless it is part of
// another. An all-reduce that gathers tokens adds copies into zeros and back on each rank
// (_dp_gather and dp_scatter in python/sglang/srt/layers/dp_attention.py of SGLang 0.4.6).
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
	role := kernel.Full
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

// List holds the operators of a stage, block by block, with room for the longest stage.
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

// Run is the operators [From, To) of one block, and the number of layers that have it.
type Run struct {
	From, To int
	Block    Block
	Layers   int
	// Leading: these are the first layers; otherwise they are spread evenly among the others.
	Leading bool
}

// MostRuns is one for each kind of attention, a dense and an expert block.
const MostRuns = 1 + model.MaxMixed + 2

// mark ends a block of layers.
func (l *List) mark() {
	l.bound[l.bounds] = uint8(l.n)
	l.bounds++
}

// AppendRuns appends the blocks of a stage's layers.
func (l *List) AppendRuns(out []Run) []Run {
	from := 0
	for _, bound := range l.bound[:l.bounds] {
		to := int(bound)
		out = append(out, Run{})
		r := &out[len(out)-1] // in place: a copy would wait for what was just written
		r.From, r.To, r.Block, r.Layers = from, to, l.BlockOf(from), int(l.ops[from].Repeat)
		r.Leading = l.leading && r.Block == MLPBlock && from == l.end[AttentionBlock] && to < l.n
		from = to
	}
	return out
}

// Launched is how many launches a host makes that runs operators one by one, with the counts of an
// engine where it has some.
func (l *List) Launched(counts *plan.Launches) (n float64) {
	for i := range l.ops[:l.n] {
		n += l.ops[i].Repeat * l.ops[i].Launched(counts)
	}
	return n
}

// Launched is how many of these are for one execution of an operator.
func (o *Op) Launched(counts *plan.Launches) float64 {
	if counts != nil && counts[o.Kind] > 0 && (o.Class != Comm || o.Group > 1) {
		return float64(counts[o.Kind] - 1)
	}
	return o.Launches()
}

// Every kind has a place among the counts of engines.
var _ [len(plan.Launches{}) - int(KindCount)]struct{}

// Pieces is how many launches a step makes whose graphs end at every attention.
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

func (l *List) BlockOf(index int) Block {
	if index < l.end[AttentionBlock] {
		return AttentionBlock
	}
	return MLPBlock
}

// MaxOps is enough for any stage: a dense and an expert block have 38 operators together, each of
// up to four kinds of attention up to 36, plus 6 for steps of both phases. A few are spare.
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

func (l *List) last() *Op { return &l.ops[l.n-1] }

// reset empties the list. Clearing all operators at once is faster than one by one.
func (l *List) reset() {
	clear(l.ops[:l.n])
	l.n, l.comms, l.bounds = 0, 0, 0
}

// next returns a cleared slot at the end of the list.
func (l *List) next() *Op {
	o := &l.ops[l.n]
	l.n++
	return o
}
