// Package plan describes one deployment of a model: how its layers and experts are split over processors, the batches,
// the byte widths. It holds the rules that make a plan valid, and says why when one is not.
package plan

import (
	"fmt"

	"throughline/model"
)

// Plan is one deployment of one phase: a layout that an engine runs in its own way, with what a search or the load varies.
type Plan struct {
	Layout
	Behaviour

	// A search keeps the best of the batches, redundant experts and overlaps of a layout.
	Batch     Batch
	Redundant int // extra copies of routed experts
	Overlap   Overlap
	// Under is the batches that are under way in a pipeline at a time, where the load has fewer than there are stages; 0: one for
	// every stage.
	Under int
}

// Layout is how a model lies over processors. Plans of the same layout are the same deployment, whichever engine runs it.
type Layout struct {
	Attention Split
	Experts   ExpertSplit // zero in a dense model

	SharedReplicas int  // copies of the shared expert, spread over the processors like routed ones
	SharedPerCard  bool // instead, every processor holds the shared experts itself

	// SequenceParallel spreads the work between the tensor-parallel parts over the ranks: norms and residuals on a share
	// of the tokens, a reduce-scatter and an all-gather in place of each all-reduce.
	SequenceParallel bool
	Drafts           int // tokens drafted per decode step (multi-token prediction)

	// WideDense and WideHead: the dense layers and the output projection of an expert model with several attention replicas are
	// split over all processors of a stage, which gather the tokens of all replicas for it. Otherwise every replica has them.
	WideDense, WideHead bool

	// Pipelined: every stage works on a batch of its own; otherwise one batch passes through all stages.
	Pipelined bool
}

// Split is the parallel sizes of attention and dense layers: DP replicas, each of PP stages of CP parts of the context of TP ranks.
// TP ranks are consecutive processors, then CP, PP and DP; in a pipelined plan of an expert model, then CP, DP and PP.
type Split struct{ DP, PP, TP, CP int }

// Context is the number of parts the context is cut into: CP, which may be left 0 for 1.
func (l Split) Context() int { return max(1, l.CP) }

// Replica is the number of processors that hold one copy of the model's attention.
func (l Split) Replica() int { return l.PP * l.TP * l.Context() }

// Procs is the number of processors of the split.
func (l Split) Procs() int { return l.DP * l.Replica() }

func (l Split) String() string {
	s := fmt.Sprintf("dp%d·pp%d·tp%d", l.DP, l.PP, l.TP)
	if l.CP > 1 {
		s += fmt.Sprintf("·cp%d", l.CP)
	}
	return s
}

// ExpertSplit is the parallel sizes of expert layers over all processors, in a pipelined plan over those of one stage: DP copies of the
// experts, each spread over EP groups whose experts are cut into TP slices.
type ExpertSplit struct{ EP, TP, DP int }

// Procs is the number of processors of the split.
func (l ExpertSplit) Procs() int { return l.EP * l.TP * l.DP }

func (l ExpertSplit) String() string { return fmt.Sprintf("ep%d·etp%d·edp%d", l.EP, l.TP, l.DP) }

// Batch is the work in flight: Count micro-batches of Size sequences, one after another. Size counts the sequences of one
// data-parallel rank; in an expert model that is not pipelined, as in the reference tool, those of one processor.
type Batch struct{ Count, Size int }

// Sequences is the attention micro-batch of one data-parallel rank.
func (p *Plan) Sequences(moe bool) int {
	if moe && !p.Pipelined {
		return p.Batch.Size * p.Attention.Replica()
	}
	return p.Batch.Size
}

// InFlight is the batches that the pipeline holds at a time, where there is work for all of its stages.
func (p *Plan) InFlight() int {
	if p.Pipelined {
		return p.Attention.PP
	}
	return 1
}

// Underway is those of them that there are.
func (p *Plan) Underway() int {
	if p.Under > 0 {
		return min(p.Under, p.InFlight())
	}
	return p.InFlight()
}

// StageSpan is the consecutive processors within which one stage lies apart from the next.
func (p *Plan) StageSpan(moe bool) int {
	if moe && p.Pipelined {
		return p.Attention.Procs() // the processors of a stage, which share its experts, come first
	}
	return p.Attention.Replica()
}

// String is the plan in a few characters, for tables.
func (p *Plan) String() string {
	s := p.Attention.String()
	if p.Experts.EP > 0 {
		s += " " + p.Experts.String()
	}
	return s
}

// Precision is the number formats of a deployment: bytes per element, and the number types whose rates apply.
type Precision struct {
	Weight, Activation, Cache, Comm float64
	// Dispatch and Combine are of tokens on their way to experts and back, with their scales; 0: what libraries send, FP8 with
	// a scale of four bytes for every 128 elements, and 16 bits back.
	Dispatch, Combine                     float64
	MatrixType, AttentionType, VectorType string

	// Residual is the bytes of what passes between products: the residual stream, what products put out, norms and their
	// weights; 0: as activations and weights.
	Residual float64
	// Modules are the formats of parts of the model; one without bytes is as the rest.
	Modules [model.ModuleCount]Product
	Stored  string // the number type that weights are stored in, where products have another; empty: not said
	// ReadsNarrow: attention reads a cache of 8 bits with kernels that are as good as those for 16.
	ReadsNarrow bool
	// Library: products of 8 bits with one scale run in the library of those of 16.
	Library bool
	// PrefillBy and DecodeBy are the software whose kernels attention takes, as kernel.Asked has them.
	PrefillBy, DecodeBy string
	// Told are the kernels of products of weights with scales of blocks that a server runs in place of those of the tables.
	Told Kernels
	// Name is the format of the narrowest weights as engines know it; empty: as their bytes say.
	Name string
}

// Kernels are how kernels of products fall short of others; the zero value does not.
type Kernels struct {
	TFlops  float64 // TFLOP/s at most; 0: any
	N, K    float64 // the weights that they are not tuned for; 0: none
	Seconds float64 // what a product with those takes at least
}

// Product is how the weights of a module are stored, and what they are multiplied with.
type Product struct {
	Weight, Activation float64 // bytes of an element
	Type               string  // the number type whose rate applies
	Stored             string  // that of the weights themselves, where it is another; empty: not said
}

// Unpacked reports whether some weights of fewer than 16 bits are multiplied in 16.
func (p *Precision) Unpacked() bool {
	for m := range model.ModuleCount {
		if f := p.Of(m); f.Weight < 2 && f.Activation == 2 {
			return true
		}
	}
	return false
}

// Of is the format of a module.
func (p *Precision) Of(m model.Module) Product {
	if f := p.Modules[m]; f.Weight > 0 {
		return f
	}
	return Product{p.Weight, p.Activation, p.MatrixType, p.Stored}
}

// Blocks reports whether there are weights of 8 bits with a scale for every block.
func (p *Precision) Blocks() bool {
	for m := range model.ModuleCount {
		if n := p.Of(m).Weight; n > 1 && n < 1.1 {
			return true
		}
	}
	return false
}

// Between is the bytes of what passes between products.
func (p *Precision) Between() float64 {
	if p.Residual > 0 {
		return p.Residual
	}
	return p.Activation
}

// Norms is the bytes of the weights of norms.
func (p *Precision) Norms() float64 {
	if p.Residual > 0 {
		return p.Residual
	}
	return p.Weight
}

// Narrowest is the bytes of the narrowest weights.
func (p *Precision) Narrowest() float64 {
	least := p.Weight
	for m := range model.ModuleCount {
		least = min(least, p.Of(m).Weight)
	}
	return least
}

// What libraries send of an element unless told otherwise, with its share of a scale.
const (
	LibraryDispatch = 1 + 4./128
	LibraryCombine  = 2
)

// Exchanged is the bytes of an element on its way to experts and back. Without a serving engine, as in the reference tool,
// there is one format for all communication.
func (p *Precision) Exchanged(engine bool) (dispatch, combine float64) {
	dispatch, combine = LibraryDispatch, LibraryCombine
	if !engine {
		dispatch, combine = p.Comm, p.Comm
	}
	if p.Dispatch > 0 {
		dispatch = p.Dispatch
	}
	if p.Combine > 0 {
		combine = p.Combine
	}
	return dispatch, combine
}
