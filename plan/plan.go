// Package plan describes one deployment of a model: how its layers and experts are split over processors, the batches,
// the byte widths. It holds the rules that make a plan valid, and says why when one is not.
package plan

import (
	"fmt"

	"throughline/model"
)

// Slowdown is how many times as long the two directions of an exchange take; 0: as long.
type Slowdown struct{ Dispatch, Combine float64 }

// Plan is one deployment of one phase.
type Plan struct {
	Attention Layout
	Experts   ExpertLayout // zero in a dense model
	Batch     Batch

	Redundant      int  // extra copies of routed experts
	SharedReplicas int  // copies of the shared expert, spread over the processors like routed ones
	SharedPerCard  bool // instead, every processor holds the shared experts itself
	// SharedApart: an engine that could run the shared experts as routed ones that all tokens visit runs them as a dense block.
	SharedApart bool

	// SequenceParallel spreads the work between the tensor-parallel parts over the ranks: norms and residuals on a share
	// of the tokens, a reduce-scatter and an all-gather in place of each all-reduce.
	SequenceParallel bool
	// LateGather: with latent attention every rank makes the latent vectors of its share of the tokens, and these are gathered in place of
	// what is in front of them. SequenceFrom is the least tokens of a step that an engine spreads so. Both are the engine's.
	LateGather   bool
	SequenceFrom int
	Drafts       int // tokens drafted per decode step (multi-token prediction)
	Overlap      Overlap

	// Gathered: every processor of an expert group has all tokens of the group and adds up what its own experts make of
	// them, as engines do without an all-to-all. Tensor-parallel ranks have them anyway; the tokens of data-parallel ranks
	// are gathered. Otherwise each token is sent to its experts and comes back.
	Gathered bool
	// Reduced is the steps in which that is an all-reduce of what all have, zeros but for one's own, and one of the results.
	Reduced Reduced

	// WideDense and WideHead: the dense layers and the output projection of an expert model with several attention replicas are
	// split over all processors of a stage, which gather the tokens of all replicas for it. Otherwise every replica has them.
	WideDense, WideHead bool

	// Captured is the most tokens of a decode step whose kernels are launched as one, those of all replicas together; the operators of
	// longer ones are launched one by one, each in Launch seconds. 0 seconds: all are captured.
	Captured int
	Launch   float64
	// CapturedPrompts and PromptLaunch are the same of steps with prompts, which engines capture by other rules.
	CapturedPrompts int
	PromptLaunch    float64
	// SharedLaunches is how often the host launches something for the shared experts of a layer besides the operators that are counted,
	// where they are launched apart from the routed ones.
	SharedLaunches int
	// Piece is the seconds of the host for each layer of a captured step whose graphs end at every attention; 0: one graph is the step.
	Piece float64

	// TunedExchange: where nothing computes beside it, an exchange runs on as many units as it can use.
	TunedExchange bool
	// SlowPrefill and SlowDecode are how many times as long exchanges of prompts and of tokens that decode take as in the tables, with an
	// older library.
	SlowPrefill, SlowDecode Slowdown
	// CopyKernels is how many kernels choose the copies of experts that tokens go to; 0: as many as engines have now.
	CopyKernels int
	// Unfused: where tokens are sent to experts there are small kernels besides, most of which engines do without now.
	Unfused bool
	// IndexKernels is how many small kernels give the queries and the key of an indexer their positions and weigh its heads, before they
	// are made narrow; 0: one. IndexFused: what makes them narrow does that as well, and the key and the weights of the heads are one product.
	IndexKernels int
	IndexFused   bool
	// IndexSkips: of prompts that are no longer than an indexer picks, it makes the keys alone.
	IndexSkips bool

	// FusedQuantise: norms and activations write what narrow products behind them read, as some engines have it; otherwise
	// kernels of their own quantise it.
	FusedQuantise bool

	// Pipelined: every stage works on a batch of its own; otherwise one batch passes through all stages.
	Pipelined bool
	// Under is the batches that are under way in a pipeline at a time, where they are fewer than its stages; 0: one for every stage.
	Under int
	// LightLast: of layers that do not divide evenly, the last stage of a pipeline, which has the output projection, gets no more
	// than the others.
	LightLast bool
}

// Reduced is steps whose tokens are gathered by an all-reduce, and not by an all-gather and a reduce-scatter.
type Reduced uint8

const (
	NoSteps     Reduced = iota
	PromptSteps         // those with prompts, of which data-parallel ranks have unequally many tokens
	AllSteps
)

// Layout splits attention and dense layers: DP replicas, each of PP stages of CP parts of the context of TP ranks.
// TP ranks are consecutive processors, then CP, PP and DP; in a pipelined plan of an expert model, then CP, DP and PP.
type Layout struct{ DP, PP, TP, CP int }

// Context is the number of parts the context is cut into: CP, which may be left 0 for 1.
func (l Layout) Context() int { return max(1, l.CP) }

// Replica is the number of processors that hold one copy of the model's attention.
func (l Layout) Replica() int { return l.PP * l.TP * l.Context() }

// Procs is the number of processors of the layout.
func (l Layout) Procs() int { return l.DP * l.Replica() }

func (l Layout) String() string {
	s := fmt.Sprintf("dp%d·pp%d·tp%d", l.DP, l.PP, l.TP)
	if l.CP > 1 {
		s += fmt.Sprintf("·cp%d", l.CP)
	}
	return s
}

// ExpertLayout splits expert layers over all processors, in a pipelined plan over those of one stage: DP copies of the
// experts, each spread over EP groups whose experts are cut into TP slices.
type ExpertLayout struct{ EP, TP, DP int }

// Procs is the number of processors of the layout.
func (l ExpertLayout) Procs() int { return l.EP * l.TP * l.DP }

func (l ExpertLayout) String() string { return fmt.Sprintf("ep%d·etp%d·edp%d", l.EP, l.TP, l.DP) }

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
