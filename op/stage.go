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
	stage      // in progress; too large to clear for every plan
	one   Step // of the draft module being lowered
}

// given is what lowerings of the same model have in common.
type given struct {
	model      *model.Model
	w, a, c, q float64                         // bytes per element of norm weights, product inputs, cache and communication
	r          float64                         // of other activations: results of products, queries, the residual stream
	sent, back float64                         // of tokens on their way to experts and back
	formats    [model.ModuleCount]plan.Product // of products with weights
	hidden     float64
	// expertHidden is the width of tokens in routed experts. A shared expert counts as sharedScale
	// routed ones; an element of its weights is sharedWeight times as wide.
	expertHidden, sharedScale, sharedWeight float64

	flash      bool
	absorb     [PhaseCount]bool
	quantises  bool // kernels quantise the inputs of products
	fusedUnit  Unit
	assume     *assume.Assumptions
	routing    experts.Routing
	popularity [PhaseCount]experts.Popularity
	touching   [PhaseCount]experts.Popularity // popularity as it affects the number of experts read
	near       int                            // processors per node, over which prefill spreads experts first; 0: one node
	loads      map[loadsKey]*loads
	recent     [recentLoads]*loads // recently used, by hash: a search repeats the same few keys
	times      float64             // load of the busiest expert rank in the last lowering, relative to the mean
	visits     float64             // that a rank got on average then
	eager      *Eager              // nil: a serving engine
	sizes      bool                // only sizes held and written are needed, not what is read
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

// Visit changes how tokens visit experts, including the assumed drift from step to step.
func (l *Lowerer) Visit(p experts.Popularity) {
	l.popularity = l.drifting(p)
	l.touching = l.popularity
	l.forget()
}

func (l *Lowerer) forget() { l.loads, l.recent = map[loadsKey]*loads{}, [recentLoads]*loads{} }

// Sizes restricts lowerings to what operators hold and write, which is faster.
func (l *Lowerer) Sizes(only bool) { l.sizes = only }

// drifting adds the assumed change from step to step to a popularity.
func (l *Lowerer) drifting(p experts.Popularity) (out [PhaseCount]experts.Popularity) {
	drifts := [PhaseCount]float64{Prefill: l.assume.ExpertDriftPrefill, Decode: l.assume.ExpertDriftDecode}
	for phase := range out {
		out[phase] = p
		out[phase].Drift = min(drifts[phase], p.Varies()) // a popularity that is even over many steps cannot drift more
	}
	return out
}

// driftPrompts is the prompts per step that prefill drift is stated for: two on each of 32 ranks,
// half of the 16384 tokens of a rank in the run whose balance is published.
const driftPrompts = 64

// drift is how popularity changes between prefill steps: what all tokens have in common, as in
// decode, plus the preferences of single prompts, whose variance is divided by their number.
func (l *given) drift(prompts int) float64 {
	variance := func(phase Phase) float64 { return math.Expm1(l.popularity[phase].Drift * l.popularity[phase].Drift) }
	common := variance(Decode)
	own := max(0, variance(Prefill)-common)
	return math.Sqrt(math.Log1p(common + math.Ldexp(own*driftPrompts, -prompts)))
}

// InNodes sets the number of processors in a node.
func (l *Lowerer) InNodes(procs int) {
	l.near = procs
	l.forget()
}

// loads is how experts on ranks are loaded and touched; both are computed on demand.
type loads struct {
	of      loadsKey
	balance *experts.Balance
	touched *experts.Touched
}

// loadsKey packs ranks, slices, copies, prompts and phase into one number, which a map finds fast.
type loadsKey uint64

// recentLoads is a power of two.
const recentLoads = 256

// place hashes a key to its slot among the recent ones.
func (k loadsKey) place() uint64 { return uint64(k) * 0x9e3779b97f4a7c15 >> 56 % recentLoads }

// stage is the lowering of one pipeline stage in progress.
type stage struct {
	given
	list   *List
	plan   *plan.Plan
	attn   *model.Attention // of the layers being lowered
	repeat float64          // layers that contain the block being lowered
	kinds  *[KindCount]Info // as they run in that block

	step  *Step
	phase Phase            // of the step as a whole
	parts [PhaseCount]part // sequences of each phase in the step, for the attention being lowered
	n     int

	tokens     float64 // in the attention of one part of the context
	spread     bool    // work between tensor-parallel parts is spread over the ranks
	normTokens float64 // in the norms and residuals around attention
	cardTokens float64 // that one processor sends to experts
	meanTokens float64 // that the mean processor sends to experts
}

// Stage fills the list with the operators of the fullest pipeline stage.
func (l *Lowerer) Stage(p *plan.Plan, step *Step, list *List) {
	layers := plan.LayersPerStage(l.model.Layers, p.Attention.PP)
	s := l.start(p, step, list)
	s.layers(layers, l.ExpertLayers(layers))
	s.unfuse()
}

// ExpertLayers is the number of expert layers in the fullest stage. Leading dense layers all lie in
// the first stage; if there is another, it has none of them.
func (l *Lowerer) ExpertLayers(layers int) int {
	n := l.model.ExpertLayers(l.model.FeedForwardLayers(layers))
	if l.assume.LeadingDense {
		n = min(n, l.model.ExpertLayers(l.model.FeedForwardLayers(l.model.Layers)-l.model.FirstDense))
	}
	return n
}

// draftedTokens is the tokens per sequence in an engine's draft module per drafted token. The first
// pass takes all D + 1 verified tokens, to cache their keys and values; each of the D − 1 others
// takes the last draft: two on average for any D
// (github.com/NVIDIA/TensorRT-LLM/blob/main/docs/source/blogs/tech_blog/
// blog2_DeepSeek_R1_MTP_Implementation_and_Optimization.md, MTP Eagle).
const draftedTokens = 2

// Draft fills the list with the draft module of multi-token prediction, for one token per sequence:
// the last hidden state and embedding are projected and pass one more layer, of the main attention.
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
	s.list.bounds = 0 // a single layer, not blocks of layers
	if l.assume.Ends {
		// A draft passes the ends of the model like any token; their weights are in memory already.
		n := list.n
		s.ends(wanted)
		for i := n; i < list.n; i++ {
			list.ops[i].Resident = 0
		}
	}
}

// Ends fills the list with the embedding, the output projection of the tokens whose successors are
// wanted, and sampling. The last stage holds the output projection; it also holds an untied
// embedding where it is the first stage too, or drafts tokens.
func (l *Lowerer) Ends(p *plan.Plan, step *Step, list *List) {
	s := l.start(p, step, list)
	s.list.end[AttentionBlock] = 0
	s.ends(step[Decode].Wanted + step[Prefill].Wanted)
	s.unfuse()
	if !l.model.Tied && !p.HostEmbedding && (p.Attention.PP == 1 || p.Drafts > 0) {
		s.list.ops[0].Resident += s.hidden * s.vocab() * s.formats[model.EndModule].Weight
	}
}

// ends lowers the ends of the model for the tokens whose successors are wanted: none for a chunk in
// the middle of a prompt, or for a plan without a batch, used to count weights.
func (s *stage) ends(wanted float64) {
	s.repeat = 1
	ranks, replicas := s.across(s.plan.WideHead)
	s.unary(Embedding, s.tokens*s.hidden, 0)
	if wanted == 0 && s.tokens > 0 {
		// A chunk that does not end its prompt skips the output projection, which stays resident.
		s.list.last().Resident = s.hidden * (s.vocab()/replicas + 1) * s.w
		s.list.end[MLPBlock] = s.list.n
		return
	}
	next := wanted // tokens whose successors are sampled
	if s.eager != nil && s.eager.AllLogits {
		wanted = s.tokens
	}
	s.norm(FinalNorm, wanted*s.hidden, s.hidden)
	if replicas > 1 {
		// Ranks project all tokens to their part of the vocabulary and gather their own logits.
		s.together(HeadGather, hardware.AllGather, wanted*replicas*s.hidden, ranks)
		s.linear(OutputHead, wanted*replicas, s.hidden, float64(s.model.Vocab)/float64(ranks))
		s.together(LogitsGather, hardware.AllGather, wanted*replicas*float64(s.model.Vocab), ranks)
	} else {
		s.linear(OutputHead, wanted, s.hidden, s.vocab())
	}
	if s.model.LogitCap { // in engines a kernel for each operation
		s.unary(LogitCap, wanted*s.vocab(), 1).Repeat *= capFlops
	}
	s.choose(next)
	s.list.end[MLPBlock] = s.list.n
}

// wide is the bytes of a 16-bit number.
const wide = 2

// vocab is the part of the vocabulary on one rank.
func (s *stage) vocab() float64 { return float64(s.model.Vocab) / float64(s.plan.Attention.TP) }

func (l *Lowerer) start(p *plan.Plan, step *Step, list *List) *stage {
	s := &l.stage
	list.reset()
	s.list, s.plan, s.step, s.phase, s.kinds = list, p, step, step.Phase(), &kinds
	s.tokens = step.Tokens()
	// A stage shares the tokens of its replica; in the reference tool all stages do.
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

// sequenceParallel reports whether work between tensor-parallel parts is spread over the ranks.
func (s *stage) sequenceParallel() bool { return s.spread }

// spreads reports whether a step is sequence-parallel. Engines spread only steps with prompts:
// SGLang by kind (python/sglang/srt/layers/communicator.py, use_input_scattered), vLLM by a token
// count that no decode step reaches (vllm/compilation/passes/fusion/sequence_parallelism.py,
// get_sequence_parallelism_threshold).
func (s *stage) spreads(tokens float64) bool {
	if !s.plan.SequenceParallel || s.plan.Attention.TP == 1 {
		return false
	}
	return !s.assume.Engine || s.phase == Prefill && tokens >= float64(s.plan.SequenceFrom)
}

// layers lowers a number of layers, some of which are expert layers.
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
	s.feedForward(s.model.FeedForwardLayers(layers), expertLayers)
}

func (s *stage) feedForward(blocks, expertLayers int) {
	s.list.end[AttentionBlock] = s.list.n
	s.list.leading = s.model.Experts.Interval <= 1
	if dense := blocks - expertLayers; dense > 0 {
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

func (s *stage) attention(kind, layers int) {
	a := s.model.AttentionOf(kind)
	s.attn, s.repeat = a, float64(layers)
	s.setParts(kind)
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

// setParts sets what attention sees of each phase. Context-parallel ranks share the new tokens.
func (s *stage) setParts(kind int) {
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
			p.read = p.pairs // every query reads its own entries, even if it sees all
		}
		if cp := s.plan.Attention.CP; cp > 1 {
			p.tokens /= float64(cp)
			p.pairs /= float64(cp)
			p.scored /= float64(cp)
		}
		s.n++
	}
}

// amongPrompts reports whether sequences decode in a step that has prompts.
func (s *stage) amongPrompts(p *part) bool { return p.phase == Decode && s.phase == Prefill }

// context is the tokens of all sequences, cached and new.
func (s *stage) context() float64 { return s.step[Decode].Context + s.step[Prefill].Context }

// blockNorms are the norms in front of the feed-forward block. If all attention is latent, the
// reference tool counts both norms of a layer here.
func (s *stage) blockNorms(tokens float64) {
	if s.allLatent() {
		s.norm(AttentionInputNorm, tokens*s.hidden, s.hidden)
	}
	s.connectNorm(MLPNorm, &hyperMLP, tokens)
}

func (s *stage) allLatent() bool {
	return s.model.Attention.Kind == model.Latent && len(s.model.Mixed) == 0
}
