package op

import (
	"throughline/assume"
	"throughline/experts"
	"throughline/model"
	"throughline/plan"
)

// Phase is one of the two halves of serving a request.
type Phase uint8

const (
	Decode  Phase = iota // one new token per sequence and step
	Prefill              // all tokens of the prompt at once
	PhaseCount
)

// Step is the work of one forward pass, per sequence.
type Step struct {
	Phase   Phase
	Queries float64 // tokens that pass through the layers
	Context float64 // tokens that each of them attends to
	// Scale is how much more a query of a prompt attends to than the mean length says, prompts being of different
	// lengths; 0 stands for 1.
	Scale float64
}

// Lowerer lowers one model at one precision. It is built once and used for many plans.
type Lowerer struct {
	model      *model.Model
	w, a, c, q float64 // bytes per element of weights, activations, cache, communication
	hidden     float64
	flash      bool
	absorb     [PhaseCount]bool
	fusedUnit  Unit
	assume     *assume.Assumptions
	routing    experts.Routing
}

// NewLowerer prepares the lowering of a model.
func NewLowerer(m *model.Model, set *model.Settings, prec *plan.Precision, as *assume.Assumptions) Lowerer {
	l := Lowerer{
		model: m, hidden: float64(m.Hidden), assume: as,
		w: prec.Weight, a: prec.Activation, c: prec.Cache, q: prec.Comm,
		flash:     set.Flash,
		absorb:    [PhaseCount]bool{Decode: set.Absorb, Prefill: set.Absorb && as.AbsorbPrefill},
		fusedUnit: AttentionMatrixUnit,
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
	attn   *model.Attention // of the layers being lowered
	repeat float64          // layers that hold the block being lowered

	sequences  float64 // of the attention batch of one data-parallel rank
	tokens     float64 // that pass through the attention of one part of the context
	normTokens float64 // that pass through the norms and residuals around it
	cardTokens float64 // that pass through the expert block of one processor
	queries    float64 // tokens of one sequence in this step
	context    float64 // tokens of one sequence, cached or not
	scale      float64 // of what a query of a prompt attends to
	phase      Phase

	// Of the attention being lowered: the entries that a query attends to on average, those that an indexer scores for it,
	// and the cached entries that are read for one sequence.
	seen, scored, read float64
}

// Stage fills the list with the operators of the fullest pipeline stage: every layer is attention followed by a dense
// or an expert block.
func (l *Lowerer) Stage(p *plan.Plan, step Step, list *List) {
	layers := plan.LayersPerStage(l.model.Layers, p.Attention.PP)
	var s stage
	s.start(l, p, step, list)
	s.layers(layers, l.expertLayers(layers))
}

// expertLayers is how many of the layers of the fullest stage are expert layers. Leading dense layers all lie in the
// first stage; where there is another, it has none of them.
func (l *Lowerer) expertLayers(layers int) int {
	n := l.model.ExpertLayers(layers)
	if l.assume.LeadingDense {
		n = min(n, l.model.ExpertLayers(l.model.Layers-l.model.FirstDense))
	}
	return n
}

// Draft fills the list with the operators of the draft module of multi-token prediction, for one drafted token: the
// hidden state and the embedding of the last token are projected together and pass through one more layer, of the main
// kind of attention.
func (l *Lowerer) Draft(p *plan.Plan, step Step, list *List) {
	step.Queries = 1
	var s stage
	s.start(l, p, step, list)
	s.repeat = 1
	s.linear(DraftProjection, s.tokens, 2*s.hidden, s.hidden)
	s.attention(&l.model.Attention, 1)
	s.feedForward(1, l.model.ExpertLayers(1))
	s.list.runs = 0 // one layer, whose operators just follow one another
	if l.assume.Ends {
		// A draft is a token like any other; it passes the ends of the model itself, which are in memory already.
		n := list.n
		s.ends(s.tokens)
		for i := n; i < list.n; i++ {
			list.ops[i].Resident = 0
		}
	}
}

// Ends fills the list with what comes before the first and after the last layer: the embedding, the output projection
// of the tokens whose successor is wanted, split over the tensor-parallel ranks, and the choice of that successor. The
// processors of the last stage hold the output projection; they hold the embedding besides, unless it is the same, where
// they are those of the first stage, too, or draft tokens.
func (l *Lowerer) Ends(p *plan.Plan, step Step, list *List) {
	var s stage
	s.start(l, p, step, list)
	s.list.end[AttentionBlock] = 0
	wanted := s.tokens
	if s.phase == Prefill {
		wanted = s.sequences
	}
	s.ends(wanted)
	if !l.model.Tied && (p.Attention.PP == 1 || p.Drafts > 0) {
		s.list.ops[0].Resident = s.hidden * s.vocab() * s.w
	}
}

// ends lowers the ends of the model for so many tokens whose successor is wanted.
func (s *stage) ends(wanted float64) {
	s.repeat = 1
	s.unary(Embedding, s.tokens*s.hidden, 0)
	s.norm(FinalNorm, wanted*s.hidden, s.hidden)
	s.linear(OutputHead, wanted, s.hidden, s.vocab())
	s.unary(Sampling, wanted*s.vocab(), softmaxFlops)
	s.list.end[MLPBlock] = s.list.n
}

// vocab is the part of the vocabulary on one rank.
func (s *stage) vocab() float64 { return float64(s.model.Vocab) / float64(s.plan.Attention.TP) }

// start prepares the lowering of a plan, in place: the struct is too large to hand around.
func (s *stage) start(l *Lowerer, p *plan.Plan, step Step, list *List) {
	list.n, list.comms, list.runs = 0, 0, 0
	s.Lowerer, s.list, s.plan = l, list, p
	s.queries, s.context, s.phase = step.Queries, step.Context, step.Phase
	s.scale = 1
	if step.Scale > 1 {
		s.scale = step.Scale
	}
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
	if p.Pipelined {
		// The processors of a stage share the tokens of their replica.
		s.cardTokens /= float64(p.Attention.TP * p.Attention.Context())
	}
}

// sequenceParallel reports whether the work between the tensor-parallel parts is spread over the ranks.
func (s *stage) sequenceParallel() bool { return s.plan.SequenceParallel && s.plan.Attention.TP > 1 }

// layers lowers a number of layers, of which some are expert layers.
func (s *stage) layers(layers, expertLayers int) {
	if len(s.model.Mixed) == 0 {
		s.attention(&s.model.Attention, layers)
		s.list.mark(AttentionBlock, layers, false)
	} else {
		for a, n := range s.model.AttentionLayers(layers) {
			s.attention(a, n)
			s.list.mark(AttentionBlock, n, false)
		}
	}
	s.feedForward(layers, expertLayers)
}

// feedForward lowers the feed-forward blocks of the layers whose attention has been lowered.
func (s *stage) feedForward(layers, expertLayers int) {
	s.list.end[AttentionBlock] = s.list.n
	if dense := layers - expertLayers; dense > 0 {
		s.repeat = float64(dense)
		s.denseMLP()
		s.list.mark(MLPBlock, dense, s.model.Experts.Interval <= 1)
	}
	if expertLayers > 0 {
		s.repeat = float64(expertLayers)
		s.experts()
		s.list.mark(MLPBlock, expertLayers, false)
	}
	s.list.end[MLPBlock] = s.list.n
}

// attention lowers the attention of a number of layers.
func (s *stage) attention(a *model.Attention, layers int) {
	s.attn, s.repeat = a, float64(layers)
	s.look()
	switch {
	case a.IsLinear():
		s.linearAttention()
	case a.Kind == model.Latent:
		s.latentAttention()
	default:
		s.groupedAttention()
	}
}

// look works out what the attention sees. A query of a decode step sees the context; one of a prefill the whole prompt,
// or, where attention is causal, the tokens before it and itself: the mean over the prompt counts. Of all that, windows,
// an indexer and compression leave a part.
func (s *stage) look() {
	a := s.attn
	queries, context := s.queries, s.context
	if s.phase == Prefill {
		queries, context = queries*s.scale, context*s.scale
	}
	causal := s.phase == Prefill && s.assume.Causal
	whole := context
	if causal {
		whole -= (queries - 1) / 2
	}
	s.seen, s.scored, s.read = whole, whole, s.context
	if a.Window == 0 && a.IndexTopK == 0 && a.Compress <= 1 {
		return
	}
	if a.Compress > 1 {
		s.scored /= float64(a.Compress)
	}
	s.seen, s.read = a.Seen(context), a.Read(s.queries, s.context)
	if causal {
		s.seen = a.SeenOnAverage(queries, context)
	}
}

// blockNorms are the norms in front of the feed-forward block. Where all attention is latent it has no norm of its own: in
// the reference tool both norms of such a layer are accounted here.
func (s *stage) blockNorms(tokens float64) {
	if s.allLatent() {
		s.norm(AttentionInputNorm, tokens*s.hidden, s.hidden)
	}
	s.norm(MLPNorm, tokens*s.hidden, s.hidden)
}

// allLatent reports whether every layer has latent attention.
func (s *stage) allLatent() bool {
	return s.model.Attention.Kind == model.Latent && len(s.model.Mixed) == 0
}
