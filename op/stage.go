package op

import (
	"throughline/assume"
	"throughline/model"
	"throughline/plan"
)

// Phase is one of the two halves of serving a request.
type Phase uint8

const (
	Decode  Phase = iota // one new token per sequence and step
	Prefill              // all tokens of the prompt at once
)

// Step is the work of one forward pass, per sequence.
type Step struct {
	Phase   Phase
	Queries float64 // tokens that pass through the layers
	Context float64 // tokens that each of them attends to
}

// Lowerer lowers one model at one precision. It is built once and used for many plans.
type Lowerer struct {
	model         *model.Model
	w, a, c, q    float64 // bytes per element of weights, activations, cache, communication
	hidden        float64
	absorb, flash bool
	fusedUnit     Unit
	gateElements  float64
}

// NewLowerer prepares the lowering of a model.
func NewLowerer(m *model.Model, set *model.Settings, prec *plan.Precision, as *assume.Assumptions) Lowerer {
	l := Lowerer{
		model: m, hidden: float64(m.Hidden),
		w: prec.Weight, a: prec.Activation, c: prec.Cache, q: prec.Comm,
		absorb: set.Absorb, flash: set.Flash,
		fusedUnit:    AttentionMatrixUnit,
		gateElements: as.GateElementsPerToken,
	}
	if as.FusedAttentionAtMatrixType {
		l.fusedUnit = MatrixUnit
	}
	return l
}

// stage is the lowering of one pipeline stage under way.
type stage struct {
	*Lowerer
	list   *List
	plan   *plan.Plan
	repeat float64 // layers that hold the block being lowered

	sequences  float64 // of the attention batch of one data-parallel rank
	tokens     float64 // that pass through the attention of one part of the context
	normTokens float64 // that pass through the norms and residuals around it
	cardTokens float64 // that pass through the expert block of one processor
	context    float64
	phase      Phase
}

// Stage fills the list with the operators of the fullest pipeline stage: every layer is attention followed by a dense
// or an expert block.
func (l *Lowerer) Stage(p *plan.Plan, step Step, list *List) {
	layers := plan.LayersPerStage(l.model.Layers, p.Attention.PP)
	s := l.start(p, step, list)
	s.layers(layers, l.model.ExpertLayers(layers))
}

// Draft fills the list with the operators of the draft module of multi-token prediction, for one drafted token: the
// hidden state and the embedding of the last token are projected together and pass through one more layer.
func (l *Lowerer) Draft(p *plan.Plan, step Step, list *List) {
	step.Queries = 1
	s := l.start(p, step, list)
	s.repeat = 1
	s.linear(DraftProjection, s.tokens, 2*s.hidden, s.hidden)
	s.layers(1, l.model.ExpertLayers(1))
}

func (l *Lowerer) start(p *plan.Plan, step Step, list *List) stage {
	list.n = 0
	s := stage{Lowerer: l, list: list, plan: p, context: step.Context, phase: step.Phase}
	s.sequences = float64(p.Sequences(l.model.IsMoE()))
	s.tokens = s.sequences * step.Queries
	if cp := p.Attention.CP; cp > 1 {
		s.tokens /= float64(cp)
	}
	s.normTokens = s.tokens
	if s.sequenceParallel() {
		s.normTokens /= float64(p.Attention.TP)
	}
	s.cardTokens = float64(p.Batch.Size) * step.Queries
	return s
}

// sequenceParallel reports whether the work between the tensor-parallel parts is spread over the ranks.
func (s *stage) sequenceParallel() bool { return s.plan.SequenceParallel && s.plan.Attention.TP > 1 }

// layers lowers a number of layers, of which some are expert layers.
func (s *stage) layers(layers, expertLayers int) {
	s.repeat = float64(layers)
	if s.model.Attention.Kind == model.Latent {
		s.latentAttention()
	} else {
		s.groupedAttention()
	}
	s.list.end[AttentionBlock] = s.list.n
	if dense := layers - expertLayers; dense > 0 {
		s.repeat = float64(dense)
		s.denseMLP()
	}
	if expertLayers > 0 {
		s.repeat = float64(expertLayers)
		s.experts()
	}
	s.list.end[MLPBlock] = s.list.n
}

// blockNorms are the norms in front of the feed-forward block. Latent attention has no norm of its own: in the
// reference tool both norms of such a layer are accounted here.
func (s *stage) blockNorms(tokens float64) {
	if s.model.Attention.Kind == model.Latent {
		s.norm(AttentionInputNorm, tokens*s.hidden, s.hidden)
	}
	s.norm(MLPNorm, tokens*s.hidden, s.hidden)
}
