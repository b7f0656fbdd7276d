package op

import (
	"math"

	"throughline/assume"
	"throughline/experts"
	"throughline/hardware"
	"throughline/model"
	"throughline/plan"
)

// Lowerer lowers one model at one precision. It is built once and used for many plans.
type Lowerer struct {
	stage      // under way: too large to be cleared for every plan
	one   Step // of the draft module under way
}

// given is what lowerings of the same model have in common.
type given struct {
	model      *model.Model
	w, a, c, q float64                         // bytes per element of the weights of norms, of what products read, of the cache, of communication
	r          float64                         // of all other activations: results of products, queries, the residual stream
	sent, back float64                         // of tokens on their way to experts and back
	formats    [model.ModuleCount]plan.Product // of the products with weights
	hidden     float64
	// expertHidden is the width of the tokens that routed experts see. A shared expert counts as sharedScale routed ones, in
	// weights, operations and traffic; an element of its weights is sharedWeight times as wide.
	expertHidden, sharedScale, sharedWeight float64

	flash      bool
	absorb     [PhaseCount]bool
	quantises  bool // kernels make what products read narrow
	fusedUnit  Unit
	assume     *assume.Assumptions
	routing    experts.Routing
	popularity [PhaseCount]experts.Popularity
	touching   [PhaseCount]experts.Popularity // as the number of experts sees it that a step reads
	near       int                            // processors of a node, over which experts are spread first in prefill; 0: there is one
	loads      map[loadsKey]*loads
	recent     [recentLoads]*loads // of them, those asked for last, by a hash: a search asks for the same few over and over
	times      float64             // the mean that the busiest rank of the experts got last
	visits     float64             // that a rank got on average then
	eager      *Eager              // nil: a serving engine
	sizes      bool                // only what operators hold and make is wanted, not what they read
}

// NewLowerer prepares the lowering of a model.
func NewLowerer(m *model.Model, set *model.Settings, prec *plan.Precision, as *assume.Assumptions) Lowerer {
	l := Lowerer{stage: stage{given: given{
		model: m, hidden: float64(m.Hidden), assume: as,
		w: prec.Norms(), a: prec.Activation, r: prec.Between(), c: prec.Cache, q: prec.Comm,
		flash:     set.Flash,
		absorb:    [PhaseCount]bool{Decode: set.Absorb, Prefill: set.Absorb && as.AbsorbPrefill},
		fusedUnit: AttentionMatrixUnit,
	}}}
	if as.WideResidual {
		l.r = max(l.r, wide)
	}
	l.sent, l.back = prec.Exchanged(as.Engine)
	for module := range l.formats {
		l.formats[module] = prec.Of(model.Module(module))
	}
	l.quantises = as.SmallKernels && l.a < wide
	l.prepareExperts()
	if as.FusedAttentionAtMatrixType {
		l.fusedUnit = MatrixUnit
	}
	l.Visit(experts.Popularity{})
	l.touching = l.drifting(experts.Popularity{Spread: as.ExpertSpread, Blocks: as.ExpertBlocks})
	return l
}

// Visit makes tokens visit experts in another way, which from step to step changes as is assumed.
func (l *Lowerer) Visit(p experts.Popularity) {
	l.popularity = l.drifting(p)
	l.touching = l.popularity
	l.forget()
}

// forget drops what is known of experts that lie or are visited in another way.
func (l *Lowerer) forget() { l.loads, l.recent = map[loadsKey]*loads{}, [recentLoads]*loads{} }

// Sizes says whether of operators only what they hold and make is wanted, which takes less to work out.
func (l *Lowerer) Sizes(only bool) { l.sizes = only }

// drifting is a popularity with how it changes from step to step.
func (l *Lowerer) drifting(p experts.Popularity) (out [PhaseCount]experts.Popularity) {
	drifts := [PhaseCount]float64{Prefill: l.assume.ExpertDriftPrefill, Decode: l.assume.ExpertDriftDecode}
	for phase := range out {
		out[phase] = p
		out[phase].Drift = min(drifts[phase], p.Varies()) // what is hardly uneven over many steps changes as little
	}
	return out
}

// driftPrompts is the prompts of a step that drift in prefill is stated for: two on each of 32 ranks, half of the 16384 tokens of a rank in the run whose
// balance is published.
const driftPrompts = 64

// drift is how the popularity of experts changes from step to step in prefill, where a step has a power of two of prompts: what all tokens have in
// common, as in decode, and what each prompt prefers, whose variance is divided by their number.
func (l *given) drift(prompts int) float64 {
	variance := func(phase Phase) float64 { return math.Expm1(l.popularity[phase].Drift * l.popularity[phase].Drift) }
	common := variance(Decode)
	own := max(0, variance(Prefill)-common)
	return math.Sqrt(math.Log1p(common + math.Ldexp(own*driftPrompts, -prompts)))
}

// InNodes puts so many processors into a node.
func (l *Lowerer) InNodes(procs int) {
	l.near = procs
	l.forget()
}

// loads is how experts on ranks are loaded and touched, each nil until it is asked for.
type loads struct {
	of      loadsKey
	balance *experts.Balance
	touched *experts.Touched
}

// loadsKey is experts on ranks of processors, with redundant copies, in a phase of some prompts: one number, which a map finds fast.
type loadsKey uint64

// recentLoads is a power of two.
const recentLoads = 256

// place spreads keys over those that were asked for last.
func (k loadsKey) place() uint64 { return uint64(k) * 0x9e3779b97f4a7c15 >> 56 % recentLoads }

// stage is the lowering of one pipeline stage under way.
type stage struct {
	given
	list   *List
	plan   *plan.Plan
	attn   *model.Attention // of the layers being lowered
	repeat float64          // layers that hold the block being lowered
	kinds  *[KindCount]Info // as they run in that block

	step  *Step
	phase Phase            // of the step as a whole
	parts [PhaseCount]part // the sequences of each phase that the step has, for the attention being lowered
	n     int

	tokens     float64 // that pass through the attention of one part of the context
	spread     bool    // over the tensor-parallel ranks: the work between their parts
	normTokens float64 // that pass through the norms and residuals around it
	cardTokens float64 // that one processor sends to experts
	meanTokens float64 // that the mean of the processors does: the experts see those of all
}

// Stage fills the list with the operators of the fullest pipeline stage: every layer is attention followed by a dense
// or an expert block.
func (l *Lowerer) Stage(p *plan.Plan, step *Step, list *List) {
	layers := plan.LayersPerStage(l.model.Layers, p.Attention.PP)
	s := l.start(p, step, list)
	s.layers(layers, l.ExpertLayers(layers))
	s.unfuse(0)
}

// ExpertLayers is how many of the layers of the fullest stage are expert layers. Leading dense layers all lie in the
// first stage; where there is another, it has none of them.
func (l *Lowerer) ExpertLayers(layers int) int {
	n := l.model.ExpertLayers(layers)
	if l.assume.LeadingDense {
		n = min(n, l.model.ExpertLayers(l.model.Layers-l.model.FirstDense))
	}
	return n
}

// draftedTokens is the tokens of a sequence that pass through the draft module of an engine for each token that it drafts. Its
// first pass takes all D + 1 tokens that have just been verified, so that their keys and values are cached; each of the D − 1
// others takes the last draft: two on average, whatever D is
// (github.com/NVIDIA/TensorRT-LLM/blob/main/docs/source/blogs/tech_blog/blog2_DeepSeek_R1_MTP_Implementation_and_Optimization.md, MTP Eagle).
const draftedTokens = 2

// Draft fills the list with the operators of the draft module of multi-token prediction, for one drafted token of every
// sequence: the hidden state and the embedding of the last token are projected together and pass through one more layer,
// of the main kind of attention.
func (l *Lowerer) Draft(p *plan.Plan, step *Step, list *List) {
	one, wanted := &l.one, 0.0
	for phase := range step {
		w, each := &step[phase], 1.0
		if l.assume.Engine && Phase(phase) == Decode {
			each = draftedTokens
		}
		one[phase] = Sums{Sequences: w.Sequences, Tokens: each * w.Sequences, Wanted: w.Sequences, Context: w.Context}
		one[phase].Seen[0] = Seen{Pairs: each * w.One.Pairs, Scored: each * w.One.Scored, Read: w.One.Read}
		wanted += w.Sequences
	}
	s := l.start(p, one, list)
	s.repeat = 1
	s.linear(DraftProjection, s.tokens, 2*s.hidden, s.hidden)
	s.attention(0, 1)
	s.feedForward(1, l.model.ExpertLayers(1))
	s.list.bounds = 0 // one layer, whose operators just follow one another
	if l.assume.Ends {
		// A draft is a token like any other; it passes the ends of the model itself, which are in memory already.
		n := list.n
		s.ends(wanted)
		for i := n; i < list.n; i++ {
			list.ops[i].Resident = 0
		}
	}
}

// Ends fills the list with what comes before the first and after the last layer: the embedding, the output projection
// of the tokens whose successor is wanted, split over the tensor-parallel ranks, and the choice of that successor. The
// processors of the last stage hold the output projection; they hold the embedding besides, unless it is the same, where
// they are those of the first stage, too, or draft tokens.
func (l *Lowerer) Ends(p *plan.Plan, step *Step, list *List) {
	s := l.start(p, step, list)
	s.list.end[AttentionBlock] = 0
	s.ends(step[Decode].Wanted + step[Prefill].Wanted)
	s.unfuse(0)
	if !l.model.Tied && (p.Attention.PP == 1 || p.Drafts > 0) {
		s.list.ops[0].Resident += s.hidden * s.vocab() * s.formats[model.EndModule].Weight
	}
}

// ends lowers the ends of the model for so many tokens whose successor is wanted. A chunk that does not end its prompt has
// none: nothing is done after the last layer. A plan without a batch, of which only the weights are asked, has no tokens.
func (s *stage) ends(wanted float64) {
	s.repeat = 1
	ranks, replicas := s.across(s.plan.WideHead)
	s.unary(Embedding, s.tokens*s.hidden, 0)
	if wanted == 0 && s.tokens > 0 {
		// A part of a prompt that is not its end passes the output projection by, which is there all the same.
		s.list.last().Resident = s.hidden * (s.vocab()/replicas + 1) * s.w
		s.list.end[MLPBlock] = s.list.n
		return
	}
	next := wanted // the tokens whose successors are chosen
	if s.eager != nil && s.eager.AllLogits {
		wanted = s.tokens
	}
	s.norm(FinalNorm, wanted*s.hidden, s.hidden)
	if replicas > 1 {
		// Every rank has a part of the vocabulary for the tokens of all, and then all of it for its own.
		s.together(HeadGather, hardware.AllGather, wanted*replicas*s.hidden, ranks)
		s.linear(OutputHead, wanted*replicas, s.hidden, float64(s.model.Vocab)/float64(ranks))
		s.together(LogitsGather, hardware.AllGather, wanted*replicas*float64(s.model.Vocab), ranks)
	} else {
		s.linear(OutputHead, wanted, s.hidden, s.vocab())
	}
	s.choose(next)
	s.list.end[MLPBlock] = s.list.n
}

// wide is the bytes of a number of 16 bits.
const wide = 2

// vocab is the part of the vocabulary on one rank.
func (s *stage) vocab() float64 { return float64(s.model.Vocab) / float64(s.plan.Attention.TP) }

// start prepares the lowering of a plan.
func (l *Lowerer) start(p *plan.Plan, step *Step, list *List) *stage {
	s := &l.stage
	list.reset()
	s.list, s.plan, s.step, s.phase, s.kinds = list, p, step, step.Phase(), &kinds
	s.tokens = step.Tokens()
	// The processors of a stage share the tokens of their replica; in the reference tool those of all stages.
	share := p.Attention.TP * p.Attention.Context()
	if !p.Pipelined {
		share *= p.Attention.PP
	}
	s.cardTokens = s.tokens / float64(share)
	s.meanTokens = s.cardTokens - step.absent()/float64(share)
	if cp := p.Attention.CP; cp > 1 {
		s.tokens /= float64(cp)
	}
	s.normTokens = s.tokens
	s.spread = s.spreads(step.Tokens())
	if s.sequenceParallel() {
		s.normTokens /= float64(p.Attention.TP)
	}
	return s
}

// sequenceParallel reports whether the work between the tensor-parallel parts is spread over the ranks.
func (s *stage) sequenceParallel() bool { return s.spread }

// spreads reports whether that is so in a step of so many tokens. Engines spread steps with prompts alone: SGLang by their kind
// (python/sglang/srt/layers/communicator.py, use_input_scattered), vLLM by their tokens, of which no decode step has so many
// (vllm/compilation/passes/fusion/sequence_parallelism.py, get_sequence_parallelism_threshold).
func (s *stage) spreads(tokens float64) bool {
	if !s.plan.SequenceParallel || s.plan.Attention.TP == 1 {
		return false
	}
	return !s.assume.Engine || s.phase == Prefill && tokens >= float64(s.plan.SequenceFrom)
}

// layers lowers a number of layers, of which some are expert layers.
func (s *stage) layers(layers, expertLayers int) {
	if len(s.model.Mixed) == 0 {
		s.attention(0, layers)
		s.list.mark()
	} else {
		for kind, n := range s.model.AttentionLayers(layers) {
			s.attention(kind, n)
			s.list.mark()
		}
	}
	s.feedForward(layers, expertLayers)
}

// feedForward lowers the feed-forward blocks of the layers whose attention has been lowered.
func (s *stage) feedForward(layers, expertLayers int) {
	s.list.end[AttentionBlock] = s.list.n
	s.list.leading = s.model.Experts.Interval <= 1
	if dense := layers - expertLayers; dense > 0 {
		s.repeat = float64(dense)
		s.denseMLP()
		s.list.mark()
	}
	if expertLayers > 0 {
		s.repeat = float64(expertLayers)
		s.experts()
		s.list.mark()
	}
	s.list.end[MLPBlock] = s.list.n
}

// attention lowers the attention of a number of layers, of one of the kinds of the model.
func (s *stage) attention(kind, layers int) {
	a := s.model.AttentionOf(kind)
	s.attn, s.repeat = a, float64(layers)
	s.look(kind)
	switch {
	case a.Kind == model.ShortConv:
		s.shortConvolution()
	case a.IsLinear():
		s.linearAttention()
	case a.Kind == model.Latent:
		s.latentAttention()
	default:
		s.groupedAttention()
	}
}

// look works out what a kind of attention sees of the sequences of each phase. The parts of a context share the new
// tokens; each has all entries come by.
func (s *stage) look(kind int) {
	s.n = 0
	for phase := range s.step {
		w := &s.step[phase]
		if w.Tokens == 0 {
			continue
		}
		seen := &w.Seen[kind]
		p := &s.parts[s.n]
		p.phase, p.sequences, p.tokens, p.context = Phase(phase), w.Sequences, w.Tokens, w.Context
		p.pairs, p.scored, p.read, p.seen = seen.Pairs, seen.Scored, seen.Read, seen.Pairs/w.Tokens
		if s.plan.SparsePrompts && p.phase == Prefill && s.attn.Kind == model.Latent && s.attn.IndexTopK > 0 {
			p.read = p.pairs // each query reads its own, also where it sees all
		}
		if cp := s.plan.Attention.CP; cp > 1 {
			p.tokens /= float64(cp)
			p.pairs /= float64(cp)
			p.scored /= float64(cp)
		}
		s.n++
	}
}

// context is the tokens of all sequences, cached and new.
func (s *stage) context() float64 { return s.step[Decode].Context + s.step[Prefill].Context }

// blockNorms are the norms in front of the feed-forward block. Where all attention is latent it has no norm of its own: in
// the reference tool both norms of such a layer are accounted here.
func (s *stage) blockNorms(tokens float64) {
	if s.allLatent() {
		s.norm(AttentionInputNorm, tokens*s.hidden, s.hidden)
	}
	s.connectNorm(MLPNorm, &hyperMLP, tokens)
}

// allLatent reports whether every layer has latent attention.
func (s *stage) allLatent() bool {
	return s.model.Attention.Kind == model.Latent && len(s.model.Mixed) == 0
}
