// Package plan describes one deployment of a model: how layers and experts are split over
// processors, batches, byte widths. Its rules decide whether a plan is valid, and explain why not.
package plan

import (
	"cmp"
	"fmt"

	"throughline/model"
)

// Plan is one deployment of one phase: a layout, an engine's behaviour, and what a search varies.
type Plan struct {
	Layout
	Behaviour

	// A search keeps the best of the batches, redundant experts and overlaps of a layout.
	Batch     Batch
	Redundant int // extra copies of routed experts
	Overlap   Overlap
	// Under is the batches under way in a pipeline, if fewer than stages; 0: one per stage.
	Under int
}

// Layout is how a model lies over processors, whichever engine runs it.
type Layout struct {
	Attention Split
	Experts   ExpertSplit // zero in a dense model

	SharedReplicas int  // copies of the shared expert, spread over the processors like routed ones
	SharedPerCard  bool // instead, every processor holds the shared experts itself

	// SequenceParallel spreads the work between tensor-parallel parts over the ranks: a
	// reduce-scatter and an all-gather, with norms and residuals between, in place of each
	// all-reduce.
	SequenceParallel bool
	Drafts           int // tokens drafted per decode step (multi-token prediction)

	// WideDense and WideHead split dense layers and the output projection of an expert model over a
	// whole stage, which gathers the tokens of all replicas. Otherwise every replica has them.
	WideDense, WideHead bool

	// Pipelined: every stage works on a batch of its own; otherwise one batch passes through all.
	Pipelined bool
}

// Prefilling is the plan as it computes prompts: only decode steps draft tokens.
func (p Plan) Prefilling() Plan {
	p.Drafts = 0
	return p
}

// Unbatched is the plan whatever its batch, to know by what does not depend on that.
func (p Plan) Unbatched() Plan {
	p.Batch = Batch{}
	return p
}

// Unstaged is the plan whatever its batch and the number of its stages.
func (p Plan) Unstaged() Plan {
	p.Attention.PP, p.Under, p.Batch = 1, 0, Batch{}
	return p
}

// Split is the parallel sizes of attention and dense layers: DP replicas of PP stages of CP parts
// of the context of TP ranks. TP ranks are consecutive processors, then CP, PP and DP; in a
// pipelined plan of an expert model, then CP, DP and PP.
type Split struct{ DP, PP, TP, CP int }

// Context is the number of parts the context is cut into: CP, which may be left 0 for 1.
func (l Split) Context() int { return max(1, l.CP) }

// Replica is the number of processors that hold one copy of the model's attention.
func (l Split) Replica() int { return l.PP * l.TP * l.Context() }

func (l Split) Procs() int { return l.DP * l.Replica() }

func (l Split) String() string {
	s := fmt.Sprintf("dp%d·pp%d·tp%d", l.DP, l.PP, l.TP)
	if l.CP > 1 {
		s += fmt.Sprintf("·cp%d", l.CP)
	}
	return s
}

// ExpertSplit is the parallel sizes of expert layers over all processors or, pipelined, those of a
// stage: DP copies of the experts, each spread over EP groups whose experts are cut into TP slices.
type ExpertSplit struct{ EP, TP, DP int }

func (l ExpertSplit) Procs() int { return l.EP * l.TP * l.DP }

func (l ExpertSplit) String() string { return fmt.Sprintf("ep%d·etp%d·edp%d", l.EP, l.TP, l.DP) }

// Batch is the work in flight: Count micro-batches of Size sequences, one after another. Size is
// per data-parallel rank or, in unpipelined expert models, as in the reference tool, per processor.
type Batch struct{ Count, Size int }

// Sequences is the attention micro-batch of one data-parallel rank.
func (p *Plan) Sequences(moe bool) int {
	if moe && !p.Pipelined {
		return p.Batch.Size * p.Attention.Replica()
	}
	return p.Batch.Size
}

// InFlight is the batches that the pipeline can hold at a time.
func (p *Plan) InFlight() int {
	if p.Pipelined {
		return p.Attention.PP
	}
	return 1
}

// Underway is the batches that the pipeline does hold.
func (p *Plan) Underway() int {
	if p.Under > 0 {
		return min(p.Under, p.InFlight())
	}
	return p.InFlight()
}

// StageSpan is the consecutive processors within which a pipeline's stages lie.
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

// Precision is a deployment's bytes per element, and the number types whose rates apply.
type Precision struct {
	Weight, Activation, Cache, Comm float64
	// Dispatch and Combine are of tokens on their way to experts and back, with their scales; 0:
	// what libraries send, FP8 with a 4-byte scale per 128 elements, and 16 bits back.
	Dispatch, Combine                     float64
	MatrixType, AttentionType, VectorType string

	// Residual is the bytes of what passes between products: residual stream, results, norms and
	// their weights; 0: as activations and weights.
	Residual float64
	// Modules are the formats of parts of the model; one without bytes is as the rest.
	Modules [model.ModuleCount]Product
	Stored  string // the number type that weights are stored in, if not that of products; empty: unknown
	// ReadsNarrow: attention kernels read an 8-bit cache as well as a 16-bit one.
	ReadsNarrow bool
	// Unpacking is the share of the rate of 16-bit products that those with narrower weights reach,
	// which are unpacked on the way; 0: all of it.
	Unpacking float64
	// Library: 8-bit products with one scale run in the library of 16-bit ones.
	Library bool
	// AllReduce is the seconds by which the engine's all-reduce takes longer than the measured one.
	AllReduce float64
	// PrefillBy and DecodeBy are the software of attention kernels, in the form of kernel.Backends.
	PrefillBy, DecodeBy string
	// Fused: the engine fuses what operators of PyTorch do one by one to activations.
	Fused bool
	// BlockKernels are the server's kernels of block-scaled products, if not those of the tables.
	BlockKernels Kernels
	// Name is the engines' name of the narrowest weights' format; empty: by their bytes.
	Name string
	// Own are the kernels of an engine that brings its own; zero: those measured of the chip.
	Own OwnKernels
}

// OwnKernels are an engine's kernels by the shares of a chip's peaks that they reach. One after
// another each reads its memory and computes: the two times add up.
type OwnKernels struct {
	Wide      float64 `json:"wide" required:"true" range:"(0,2]"`           // of products with 16-bit weights
	Narrow    float64 `json:"narrow" required:"true" range:"(0,1]"`         // of products with narrower weights
	Experts   float64 `json:"experts" required:"true" range:"(0,1]"`        // of products of routed experts
	Attention float64 `json:"attention" required:"true" range:"(0,1]"`      // of attention
	Memory    float64 `json:"memory" required:"true" range:"(0,1]"`         // of the bandwidth
	Launch    float64 `json:"launch_seconds" required:"true" range:"[0,1]"` // that each operator takes besides
}

// share of the peak rate in products of a module, by the bytes of its weights.
func (k *OwnKernels) share(m model.Module, weight float64) float64 {
	switch {
	case m == model.ExpertModule:
		return k.Experts
	case weight < 2:
		return k.Narrow
	}
	return k.Wide
}

// HasOwn reports whether the engine brings its own kernels.
func (p *Precision) HasOwn() bool { return p.Own.Memory > 0 }

// ProductShare, AttentionShare and MemoryShare are the shares of peaks that operators reach: of the
// engine's own kernels, else what the file of the chip says.
func (p *Precision) ProductShare(m model.Module, calibration float64) float64 {
	if p.HasOwn() {
		return p.Own.share(m, p.Of(m).Weight)
	}
	return calibration
}

func (p *Precision) AttentionShare(calibration float64) float64 {
	if p.HasOwn() {
		return p.Own.Attention
	}
	return calibration
}

func (p *Precision) MemoryShare(calibration float64) float64 {
	if p.HasOwn() {
		return p.Own.Memory
	}
	return calibration
}

// Kernels are how kernels of products fall short of others; the zero value does not.
type Kernels struct {
	TFlops  float64 `json:"tflops"` // TFLOP/s at most; 0: any
	N       float64 `json:"n"`      // of the weights that they are not tuned for; 0: none
	K       float64 `json:"k"`
	Seconds float64 `json:"seconds"` // least time of a product with those
}

// Product is how the weights of a module are stored, and what they are multiplied with.
type Product struct {
	Weight, Activation float64 // bytes of an element
	Type               string  // the number type whose rate applies
	Stored             string  // that of the weights themselves, if another; empty: unknown
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

func (p *Precision) Of(m model.Module) Product {
	if f := p.Modules[m]; f.Weight > 0 {
		return f
	}
	return Product{p.Weight, p.Activation, p.MatrixType, p.Stored}
}

// Blocks reports whether there are 8-bit weights with a scale per block.
func (p *Precision) Blocks() bool {
	for m := range model.ModuleCount {
		if n := p.Of(m).Weight; n > 1 && n < 1.1 {
			return true
		}
	}
	return false
}

// Between is the bytes of what passes between products.
func (p *Precision) Between() float64 { return cmp.Or(p.Residual, p.Activation) }

// Norms is the bytes of the weights of norms.
func (p *Precision) Norms() float64 { return cmp.Or(p.Residual, p.Weight) }

func (p *Precision) Narrowest() float64 {
	least := p.Weight
	for m := range model.ModuleCount {
		least = min(least, p.Of(m).Weight)
	}
	return least
}

// What libraries send of an element by default, with its share of a scale.
const (
	LibraryDispatch = 1 + 4./128
	LibraryCombine  = 2
)

// Exchanged is the bytes of an element on its way to experts and back. Without a serving engine, as
// in the reference tool, all communication has one format.
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
