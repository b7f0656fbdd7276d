package op

import (
	"cmp"
	"math"

	"throughline/experts"
	"throughline/hardware"
	"throughline/model"
	"throughline/plan"
)

// experts is the feed-forward block of an expert layer: tokens are sent to their experts, and the
// results come back to be weighted and added up.
func (s *stage) experts() {
	e := &s.model.Experts
	p := s.plan
	tp := float64(p.Experts.TP)
	width := float64(e.Width) / tp
	hidden := s.expertHidden

	// Shared experts see tokens at full width.
	sent := float64(e.TopK) * hidden
	if !p.SharedPerCard {
		sent += float64(e.Shared) * s.hidden
	}
	// The slices of a split expert process the tokens of all their processors.
	group := s.meanTokens * tp
	shared := s.sharedVisits()
	mean := group * (float64(e.TopK) + shared) * e.CapacityFactor
	tokens, crowd := mean, 1.0
	s.times = 1
	if s.assume.Imbalance {
		var visits float64
		s.visits = group * float64(e.TopK)
		visits, crowd = s.busiest(s.visits)
		s.times = visits / s.visits
		tokens = (visits + group*shared) * e.CapacityFactor
	}
	x := expertProduct{resident: s.resident(), tokens: tokens}
	read, most := s.read(x.resident, group)
	x.read, x.rows = most, mean/read
	s.fillTiles(&x, group)

	normed := s.cardTokens
	if p.Gathered {
		normed = s.normTokens
	}
	s.blockNorms(normed)
	s.route(float64(e.Routed))
	if s.assume.GateElementsPerToken > 0 {
		s.unary(GateWeights, s.cardTokens*s.assume.GateElementsPerToken, 1)
	} else {
		s.selectExperts(float64(e.Routed), float64(e.TopK))
	}
	s.chooseCopies(float64(e.TopK))
	s.widenIndices(float64(e.TopK))
	if e.Hidden > 0 {
		s.linear(ExpertNarrow, s.cardTokens, s.hidden, hidden)
	}
	s.sharedExperts()
	between := s.narrowTokens(hidden)
	if p.Gathered {
		s.gatherTokens(hidden)
	} else {
		s.exchange(Dispatch, &dispatching, s.cardTokens*sent, hidden, s.sent, crowd, s.slowdown().Dispatch)
		s.slices(SliceGather, hardware.AllGather, tokens*hidden)
	}
	s.kinds = between
	s.expertBlock(x, tokens, hidden, width)
	s.kinds = &kinds
	if p.Gathered {
		s.scatterTokens(hidden)
	} else {
		s.slices(SliceScatter, hardware.ReduceScatter, tokens*hidden)
		s.exchange(Combine, &combining, s.cardTokens*sent, hidden, s.back, crowd, s.slowdown().Combine)
	}
	if e.Hidden > 0 {
		s.linear(ExpertWiden, s.cardTokens, hidden, s.hidden)
	}
	s.kinds = between
	o := s.unary(ExpertWeighting, tokens*hidden, 1)
	s.kinds = &kinds
	if p.Gathered && p.SparePairs {
		s.sparePairs(o, group*float64(e.TopK)*float64(p.Experts.EP-1), hidden, width)
	}
	if (s.unfused() || s.sparseApart()) && s.attn.Kind == model.Latent { // DeepSeek's routed_scaling_factor
		s.unary(ExpertScaling, s.cardTokens*s.hidden, 1)
	}
	s.sumShared()
	s.residual(MLPResidual, MLPPostNorm, normed)
}

// sparePairs adds what kernels move for tokens whose experts lie on other ranks: zeros of both
// products, which the activation and the sum read, and what the activation writes and quantises.
func (s *stage) sparePairs(o *Op, pairs, hidden, width float64) {
	if pairs == 0 {
		return
	}
	up := width
	if s.model.MLP == model.Gated {
		up *= 2
	}
	moved := (2*(up+hidden) + width) * s.r
	if s.quantises {
		moved += width * (s.r + s.a)
	}
	o.Kernels = moving
	o.Moved = pairs * moved
	o.Activations += o.Moved
}

// narrowTokens quantises the experts' input in a kernel of its own, and returns the kinds to use.
func (s *stage) narrowTokens(hidden float64) *[KindCount]Info {
	if s.sparseApart() {
		s.quantiser(QuantiseTokens, s.tokens*hidden)
	}
	if !s.exchanges() && s.plan.ExpertTile == 0 {
		return &kinds
	}
	if o := s.quantise(QuantiseTokens, s.cardTokens*hidden); o != nil && s.phase == Decode {
		o.Kernels = sentQuantised
	}
	return &exchangedKinds
}

// slowdown is the time of an exchange relative to the measured one, by direction; 0 means equal.
func (s *stage) slowdown() plan.Slowdown {
	if s.phase == Prefill {
		return s.plan.SlowPrefill
	}
	return s.plan.SlowDecode
}

// exchanges reports whether tokens are sent to their experts, which receive them sorted.
func (s *stage) exchanges() bool { return !s.plan.Gathered && s.plan.Experts.EP > 1 }

func (s *stage) expertBlock(x expertProduct, tokens, hidden, width float64) {
	s.sortRows(tokens, hidden, float64(s.model.Experts.TopK))
	if s.model.MLP == model.Gated {
		s.expertLinear(ExpertGateUp, x, hidden, 2*width)
		s.list.last().Gated, s.list.last().Untuned = true, s.plan.UntunedExperts
		s.activate(ExpertActivation, x.tokens*width, siluFlops)
		s.unary(ExpertGateMultiply, x.tokens*width, 1)
	} else {
		s.expertLinear(ExpertUp, x, hidden, width)
		s.list.last().Untuned = s.plan.UntunedExperts
		s.activate(ExpertActivation, x.tokens*width, geluFlops)
	}
	s.quantise(ExpertQuantise, x.tokens*width)
	s.transposeScales(width)
	s.expertLinear(ExpertDown, x, width, hidden)
}

// read returns the experts that a processor reads, on average and on the rank that reads most.
func (s *stage) read(held, group float64) (mean, most float64) {
	if s.sizes || !s.assume.TouchedExperts {
		return held, held
	}
	ep := s.plan.Experts.EP
	routed := float64(s.model.Experts.Routed+s.plan.Redundant) / float64(ep)
	others := held - routed // shared experts, which are always read
	tokens := group * float64(ep)
	if s.assume.Imbalance && !s.popularity[s.phase].Even() {
		all, busiest := s.touches(ep).Shares(tokens)
		return others + routed*all, others + routed*busiest
	}
	if s.touching[s.phase].Even() {
		mean = routed * s.routes().TouchedShare(tokens)
	} else {
		mean = routed * s.touches(1).Share(tokens)
	}
	most = mean
	if s.assume.Imbalance {
		most = s.routes().MostTouched(mean, routed, ep) // by chance alone
	}
	return others + mean, others + most
}

// touches is how many experts on the given ranks tokens touch.
func (s *stage) touches(ranks int) *experts.Touched {
	l := s.loaded(s.phase, 0, ranks)
	if l.touched == nil {
		var err error
		if l.touched, err = experts.TouchedOf(&s.touching[s.phase], s.sharing(s.phase, ranks)); err != nil {
			panic(err) // sharing leaves room for every expert
		}
	}
	return l.touched
}

// loaded returns the cached loads of a phase; prefill rounds prompts to a power of two.
func (s *stage) loaded(phase Phase, prompts, ranks int) *loads {
	key := loadsKey(ranks)<<44 | loadsKey(s.plan.Experts.TP)<<32 | loadsKey(s.plan.Redundant)<<12 | loadsKey(prompts)<<4 | loadsKey(phase)
	recent := &s.recent[key.place()]
	if l := *recent; l != nil && l.of == key {
		return l
	}
	l := s.loads[key]
	if l == nil {
		l = &loads{of: key}
		s.loads[key] = l
	}
	*recent = l
	return l
}

// sharing places routed experts and their copies on ranks. EPLB spreads groups of experts over
// nodes in prefill, where a token visits few groups; in decode placement is global
// (github.com/deepseek-ai/EPLB, README).
func (s *stage) sharing(phase Phase, ranks int) experts.Sharing {
	e := &s.model.Experts
	out := experts.Sharing{Experts: e.Routed, Visited: e.TopK, Redundant: s.plan.Redundant, Ranks: ranks, Groups: 1, Nodes: 1}
	procs := ranks * s.plan.Experts.TP
	if phase == Decode || e.Groups == 0 || s.near == 0 || procs <= s.near || procs%s.near != 0 {
		return out
	}
	if nodes := procs / s.near; e.Groups%nodes == 0 && ranks%nodes == 0 && (e.Routed+out.Redundant)%ranks == 0 {
		out.Groups, out.Nodes = e.Groups, nodes
	}
	return out
}

// sharedApart reports whether shared experts are a separate dense block, as engines run them where
// tokens are exchanged (python/sglang/srt/models/deepseek_v2.py, forward_deepep of DeepseekV2MoE)
// or on request. Otherwise they count as routed experts that all tokens visit.
func (s *stage) sharedApart() bool {
	p := s.plan
	if !s.assume.Engine || s.model.Experts.Shared == 0 || !p.SharedPerCard {
		return false
	}
	if p.SharedBeside > 0 && p.Gathered {
		return true
	}
	return p.Gathered && p.SharedApart || !p.Gathered && p.Experts.EP > 1 && p.Experts.TP == 1
}

// sharedVisits is how many shared experts count as routed ones that every token visits.
func (s *stage) sharedVisits() float64 {
	if s.sharedApart() {
		return 0
	}
	return float64(s.model.Experts.Shared) * s.sharedScale
}

// sharedExperts is the separate block, on a processor's own tokens or split by tensor parallelism.
func (s *stage) sharedExperts() {
	if !s.sharedApart() {
		return
	}
	e := &s.model.Experts
	width, tokens := float64(e.Shared*cmp.Or(e.SharedWidth, e.Width)), s.sharedTokens()
	if s.plan.Gathered {
		width /= float64(s.plan.Attention.TP)
	}
	first := s.list.n
	defer func() { s.hideShared(first) }()
	s.quantiseNormed(QuantiseShared, tokens*s.hidden)
	if s.model.MLP == model.Gated {
		s.linear(SharedGateUp, tokens, s.hidden, 2*width)
		s.activate(SharedActivation, tokens*width, siluFlops)
		s.binary(SharedGateMultiply, tokens*width)
	} else {
		s.linear(SharedUp, tokens, s.hidden, width)
		s.activate(SharedActivation, tokens*width, geluFlops)
	}
	s.quantiseNormed(QuantiseSharedInner, tokens*width)
	s.linear(SharedDown, tokens, width, s.hidden)
	if e.SharedGate {
		s.linear(SharedScore, tokens, s.hidden, 1)
		s.unary(SharedScale, tokens*s.hidden, 1)
	}
}

// hideShared runs the shared experts beside the routed ones in steps short enough for the engine:
// what they read counts, their latency does not.
func (s *stage) hideShared(first int) {
	if s.plan.SharedBeside == 0 || s.tokens > float64(s.plan.SharedBeside) {
		return
	}
	for i := first; i < s.list.n; i++ {
		o := &s.list.ops[i]
		o.Kernels, o.Moved = besideNorm, o.Weights
	}
}

// sharedTokens is the tokens that the separate block of shared experts sees.
func (s *stage) sharedTokens() float64 {
	if s.plan.Gathered {
		return s.tokens
	}
	return s.cardTokens
}

// expertReplicas is the number of data-parallel attention ranks that an expert group serves.
func (s *stage) expertReplicas() int {
	a, x := s.plan.Attention, s.plan.Experts
	return max(1, x.EP*x.TP/(a.TP*a.Context()))
}

// gatherTokens collects the tokens of an expert group's data-parallel ranks on all its processors.
func (s *stage) gatherTokens(hidden float64) {
	if s.expertReplicas() == 1 {
		s.gather(MLPGather, s.tokens*hidden)
		return
	}
	s.amongReplicas(Dispatch, hardware.AllGather, hidden)
}

// joined returns the collective that joins data-parallel ranks: the given one, or an all-reduce.
func (s *stage) joined(c hardware.Collective) hardware.Collective {
	if r := s.plan.Reduced; r == plan.AllSteps || r == plan.PromptSteps && s.phase == Prefill {
		return hardware.AllReduce
	}
	return c
}

// scatterTokens adds up partial results and leaves every rank its own tokens.
func (s *stage) scatterTokens(hidden float64) {
	if s.expertReplicas() == 1 {
		s.allReduce(MLPAllReduce, s.tokens*hidden)
		s.scatter(MLPScatter, s.tokens*hidden)
		return
	}
	s.amongReplicas(Combine, hardware.ReduceScatter, hidden)
}

// amongReplicas sends the tokens of all replicas through an expert group.
func (s *stage) amongReplicas(k Kind, c hardware.Collective, hidden float64) {
	mean := s.tokens - s.step.absent()/float64(max(1, s.plan.Attention.CP))
	s.together(k, c, mean*float64(s.expertReplicas())*hidden, s.plan.Experts.EP*s.plan.Experts.TP)
}

// busiest returns the visits to the busiest rank, and its load over the mean without chance.
func (s *stage) busiest(mean float64) (visits, crowd float64) {
	ranks := s.plan.Experts.EP
	visits = s.routes().Busiest(mean, ranks)
	if ranks < 2 || s.popularity[s.phase].Even() {
		return visits, 1
	}
	var times float64
	total := s.step.Tokens() - s.step.absent()
	for phase := range s.step {
		if w := &s.step[phase]; w.Tokens > 0 {
			t, c := s.uneven(Phase(phase), ranks, mean)
			share := (w.Tokens - w.Absent) / total
			times += share * t
			crowd += share * c
		}
	}
	return max(visits, mean*times), crowd
}

// uneven returns the load of the busiest rank and of the exchange, relative to the mean.
func (s *stage) uneven(phase Phase, ranks int, mean float64) (times, crowd float64) {
	few, more, part := s.balances(phase, ranks)
	return between(few.Busiest(mean), more.Busiest(mean), part), between(few.Uneven(), more.Uneven(), part)
}

// balances returns the balances of the two nearest powers of two of prompts and the position
// between them. What the prompts of a step prefer evens out with one over the root of their number.
func (s *stage) balances(phase Phase, ranks int) (few, more *experts.Balance, part float64) {
	if phase == Decode {
		few = s.balance(phase, 0, ranks)
		return few, few, 0
	}
	prompts := s.prompts()
	before := min(math.Ilogb(prompts), mostPrompts-1)
	part = min(1, (1-math.Sqrt(math.Ldexp(1, before)/prompts))/(1-math.Sqrt(0.5)))
	return s.balance(phase, before, ranks), s.balance(phase, before+1, ranks), part
}

// between interpolates linearly.
func between(from, to, part float64) float64 { return from + part*(to-from) }

// prompts is the number of prompts in a step on all ranks that share experts.
func (s *stage) prompts() float64 {
	w := &s.step[Prefill]
	return max(1, w.Sequences*(1-w.Absent/w.Tokens)*float64(s.expertReplicas()))
}

// mostPrompts is the power of two beyond which preferences of single prompts have evened out.
const mostPrompts = 16

// balance is how evenly a phase loads the experts on the given ranks.
func (s *stage) balance(phase Phase, prompts, ranks int) *experts.Balance {
	l := s.loaded(phase, prompts, ranks)
	if l.balance == nil {
		var err error
		p := s.popularity[phase]
		if phase == Prefill {
			p.Drift = s.drift(prompts)
		}
		if l.balance, err = experts.BalanceOf(&p, s.sharing(phase, ranks)); err != nil {
			panic(err) // sharing leaves room for every expert
		}
	}
	return l.balance
}

// routes is the statistics of how tokens visit the copies of routed experts.
func (s *stage) routes() *experts.Routing {
	e := &s.model.Experts
	s.routing.Set(e.Routed+s.plan.Redundant, e.TopK)
	return &s.routing
}

// Busiest is the load of the busiest expert rank in the last lowering, relative to the mean.
func (l *Lowerer) Busiest() float64 { return l.times }

// BusiestByLayer is the same per layer, or for a sample of layers; nil where they do not differ.
func (l *Lowerer) BusiestByLayer() []float64 {
	s := &l.stage
	if !s.assume.Imbalance || s.plan.Experts.EP < 2 || s.popularity[s.phase].Even() {
		return nil
	}
	few, more, part := s.balances(s.phase, s.plan.Experts.EP)
	out := few.ByLayer(s.visits)
	for layer, l := range more.ByLayer(s.visits) {
		out[layer] = between(out[layer], l, part)
	}
	return out
}

// Slowest is by how many standard deviations the slowest of several ranks lags behind their mean.
func (l *Lowerer) Slowest(ranks int) float64 { return l.routing.Largest(ranks) }

// Rebalances reports whether a plan moves copies of experts to where tokens go.
func (l *Lowerer) Rebalances(p *plan.Plan) bool {
	return p.Redundant > 0 && p.Experts.EP > 1 && l.assume.Imbalance && !l.popularity[Decode].Even()
}

func (l *Lowerer) prepareExperts() {
	e := &l.model.Experts
	l.expertHidden = float64(cmp.Or(e.Hidden, l.model.Hidden))
	l.sharedScale = float64(cmp.Or(e.SharedWidth, e.Width)) * l.hidden / (float64(e.Width) * l.expertHidden)
	l.sharedWeight = l.formats[model.SharedModule].Weight / l.formats[model.ExpertModule].Weight
}

// resident is the number of experts on one processor, in units of a routed one.
func (s *stage) resident() float64 {
	local := float64(s.plan.ExpertsPerProc(s.model))
	if s.sharedApart() {
		return local - float64(s.model.Experts.Shared)
	}
	scale := s.sharedScale
	if s.plan.Gathered && s.plan.SharedPerCard {
		// Shared experts are split over the tensor-parallel ranks like a dense block.
		scale *= min(1, float64(s.plan.Experts.TP)/float64(s.plan.Attention.TP))
	}
	scale *= s.sharedWeight
	if scale == 1 {
		return local
	}
	shared := float64(s.plan.SharedReplicas) / float64(s.plan.Experts.EP)
	if s.plan.SharedPerCard {
		shared = float64(s.model.Experts.Shared)
	}
	return local + shared*(scale-1)
}

// expertProduct is a product with resident experts, of which some are read, each with mean rows.
type expertProduct struct{ resident, read, rows, tokens float64 }

// fillTiles makes the products those of a whole buffer: with a row for every choice of every token
// and a tile less one row for every expert, in whole tiles (compute_aligned_M of
// vllm/model_executor/layers/fused_moe/deep_gemm_utils.py).
func (s *stage) fillTiles(x *expertProduct, group float64) {
	tile := float64(s.plan.ExpertTile)
	if tile == 0 || s.sizes {
		return
	}
	choices := group * float64(s.plan.Experts.EP) * float64(s.model.Experts.TopK)
	x.tokens = math.Ceil((choices+x.resident*(tile-1))/tile) * tile
	x.rows = x.tokens / x.read // rows without a token are one expert's, which is read once
}

func (s *stage) expertLinear(k Kind, x expertProduct, in, out float64) {
	s.linears(k, x.read, x.rows, x.tokens, in, out)
	o := s.list.last()
	if m := float64(s.plan.ExpertInputs); m > 0 {
		in = math.Ceil(in/m) * m
	}
	o.Resident = x.resident * in * out * s.formats[o.Module].Weight
	o.Rows, o.Uneven = x.tokens/x.read, s.assume.Imbalance
}
