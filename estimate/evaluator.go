package estimate

import (
	"math"
	"slices"

	"throughline/collective"
	"throughline/cost"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
	"throughline/workload"
)

// Evaluator evaluates plans of one problem. Results depend on the problem and the arguments alone,
// but it reuses memory and must not be used concurrently.
type Evaluator struct {
	problem Problem
	group   op.Group // one sequence of a step without drafts; the plan sets their number
	one     op.Sums  // of that sequence
	*machinery
}

// machinery is what does not depend on the lengths of a problem, and reused memory.
type machinery struct {
	// First, so that the operators lie at a multiple of 16 bytes: see op.Op.
	stage, draft, ends workspace

	system  *hardware.System
	lowerer op.Lowerer
	pricer  *cost.Pricer
	rules   schedule.Rules
	moe     bool
	// handover is the networks at both ends of a cache transfer.
	handover []collective.Net

	step op.Step   // of sequences of the problem's phase
	half op.Step   // of a micro-batch, where two overlap
	only plan.Plan // of a single stage
	work schedule.Work
	runs []op.Run
	cut  [op.MostRuns]schedule.Block

	clock       float64               // share of the full one, of the step evaluated last
	follows     [PartCount]float64    // seconds of its parts that follow the clock, at the full one
	priced      [][PartCount][]priced // by tokens
	counts      *plan.Launches        // that their launches are of
	repriced    int                   // operators on this system
	evaluations int
}

// workspace is the operators of a part of a step, and how long each is busy.
type workspace struct {
	list op.List
	busy [op.MaxOps]cost.Busy
	kept []priced // the operators with their prices at the full clock; nil: they are priced anew
}

// computing is how long the operators from one to another compute.
func (e *Evaluator) computing(s *workspace, from, to int) (t float64) {
	if s.kept == nil || e.clock < 1 {
		return e.pricer.Computing(s.list.All()[from:to])
	}
	for i := from; i < to; i++ {
		if o := &s.kept[i]; o.Class != op.Comm {
			t += o.Repeat * o.full
		}
	}
	return t
}

// launched is how many launches a host makes that runs the operators one by one.
func (w *workspace) launched(counts *plan.Launches) (n float64) {
	if w.kept == nil {
		return w.list.Launched(counts)
	}
	for i := range w.kept {
		o := &w.kept[i]
		n += o.Repeat * o.launches
	}
	return n
}

// NewEvaluator prepares a problem. It fails when the system has no rate for a number type.
func NewEvaluator(p *Problem) (*Evaluator, error) {
	pricer, err := cost.NewPricer(p.System, &p.Precision, p.Assume)
	if err != nil {
		return nil, err
	}
	m := &machinery{
		system:  p.System,
		lowerer: op.NewLowerer(p.Model, p.Settings, &p.Precision, p.Assume),
		rules:   schedule.NewRules(p.System),
		moe:     p.Model.IsMoE(),
		runs:    make([]op.Run, 0, op.MostRuns),
	}
	m.lowerer.InNodes(p.System.Networks[0].Size)
	if p.Visited != nil {
		m.lowerer.Visit(*p.Visited)
	}
	m.lowerer.Eager(p.Eager)
	pricer.Eager(p.Eager)
	m.pricer = pricer
	if h := p.Handover; h != nil {
		m.handover = []collective.Net{collective.NewNet(p.System, p.Assume.BytesPerGB), collective.NewNet(h.System, p.Assume.BytesPerGB)}
	}
	e := &Evaluator{problem: *p, machinery: m}
	e.prepare()
	return e, nil
}

// At is an evaluator of the same problem with other lengths. It is cheaper than a new one and
// shares its memory: the two must not be used concurrently.
func (e *Evaluator) At(l workload.Lengths) *Evaluator {
	out := *e
	out.problem.Lengths = l
	out.prepare()
	return &out
}

// Across sets the processors of both pools for the cache handover of an evaluator made by At.
func (e *Evaluator) Across(span int) *Evaluator {
	h := *e.problem.Handover
	h.Span = span
	e.problem.Handover = &h
	return e
}

// prepare computes what a sequence of the problem does in a step.
func (e *Evaluator) prepare() {
	p := &e.problem
	e.group = op.Group{Phase: p.Phase, Sequences: 1, New: 1, Context: float64(p.Lengths.DecodeContext())}
	if p.Phase == op.Prefill {
		e.group = op.Group{
			Phase: p.Phase, Sequences: 1, New: float64(p.Lengths.Uncached()), Context: float64(p.Lengths.Input),
			Scale: p.Lengths.AttentionScale(), Ends: true,
		}
	}
	var s op.Step
	e.lowerer.Add(&s, &e.group)
	e.one = s[p.Phase]
}

// stepOf is the work of one step; in decode, drafts are verified together with the next token.
func (e *Evaluator) stepOf(p *plan.Plan, out *op.Step) {
	phase := e.group.Phase % op.PhaseCount
	w, sequences := &out[phase], float64(p.Sequences(e.moe))
	if phase == op.Prefill || p.Drafts == 0 {
		e.lowerer.Repeat(w, sequences, &e.one)
		return
	}
	g := e.group
	g.Sequences = sequences
	g.New += float64(p.Drafts)
	*w = op.Sums{}
	e.lowerer.Add(out, &g)
}

// TokensPerStep is the mean output of a decode step with drafts: the token that is always right,
// and each draft if it and all before it are accepted.
func TokensPerStep(acceptance []float64, drafts int) float64 {
	tokens, all := 1.0, 1.0
	for _, a := range acceptance[:drafts] {
		all *= a
		tokens += all
	}
	return tokens
}

// EqualShares are the shares of drafts, all alike, with which a step has this many tokens.
func EqualShares(length float64, drafts int) []float64 {
	low, high := 0.0, 1.0
	for range 50 {
		if mid := (low + high) / 2; TokensPerStep(slices.Repeat([]float64{mid}, drafts), drafts) < length {
			low = mid
		} else {
			high = mid
		}
	}
	return slices.Repeat([]float64{low}, drafts)
}

// Evaluate fills in what a plan does.
func (e *Evaluator) Evaluate(p *plan.Plan, out *Estimate) { e.evaluate(p, out, nil) }

// evaluate is Evaluate with an optional recorder. What was lowered and priced stays available.
func (e *Evaluator) evaluate(p *plan.Plan, out *Estimate, rec *schedule.Recorder) {
	e.evaluations++
	e.stepOf(p, &e.step)
	e.lower(p, &e.step)
	e.memory(p, &out.Memory)
	t := e.timed(p, &e.step, true, rec)
	e.offload(&out.Memory)
	out.Plan = *p
	e.total(&t, out)
}

// Evaluations is how many steps of its phase it has evaluated.
func (e *Evaluator) Evaluations() int { return e.evaluations }

// Step is the times of any step of a data-parallel rank, whatever the batch size of the plan.
func (e *Evaluator) Step(p *plan.Plan, s *op.Step) schedule.Times {
	e.lower(p, s)
	return e.timed(p, s, false, nil)
}

// timed prices the lowered operators at the clock that the power limit leads to. Handovers belong
// to complete prompts.
func (e *Evaluator) timed(p *plan.Plan, s *op.Step, complete bool, rec *schedule.Recorder) schedule.Times {
	if e.system.Power == nil || e.problem.Eager != nil {
		return e.at(1, p, s, complete, rec)
	}
	t := e.at(1, p, s, complete, nil)
	switch clock := e.fitting(p, s, &t); {
	case rec != nil || clock < 1 && e.work.Layers.Overlap != plan.NoOverlap:
		return e.at(clock, p, s, complete, rec)
	case clock < 1:
		return e.slowed(clock)
	}
	return t
}

// at prices the lowered operators at a share of the full clock.
func (e *Evaluator) at(clock float64, p *plan.Plan, s *op.Step, complete bool, rec *schedule.Recorder) schedule.Times {
	e.clock = clock
	e.pricer.SetClock(clock)
	e.price(p, s, rec != nil)
	if !complete {
		e.work.Cache = 0
	}
	return e.rules.Step(&e.work, rec)
}

func (e *Evaluator) Add(s *op.Step, g op.Group) { e.lowerer.Add(s, &g) }

// MemoryOf is what a processor must hold under a plan.
func (e *Evaluator) MemoryOf(p *plan.Plan) Memory {
	e.stepOf(p, &e.step)
	e.lowerer.Sizes(true)
	e.lower(p, &e.step)
	e.lowerer.Sizes(false)
	var m Memory
	e.memory(p, &m)
	e.offload(&m)
	return m
}

func (e *Evaluator) lower(p *plan.Plan, s *op.Step) {
	e.stage.kept, e.draft.kept, e.ends.kept = nil, nil, nil
	e.lowerLayers(p, s, &e.stage.list)
	if p.Drafts > 0 {
		e.lowerer.Draft(p, s, &e.draft.list)
	}
	if e.problem.Assume.Ends {
		e.lowerer.Ends(p, s, &e.ends.list)
	}
}

// stages are the members of a pipeline, one stage of which passes on to the next.
func (e *Evaluator) stages(p *plan.Plan) hardware.Members {
	m := hardware.Members{Group: p.Attention.PP, Span: p.StageSpan(e.moe)}
	if e.problem.Assume.Borders {
		m.World = p.Attention.Procs()
	}
	return m
}

// rank is where two ranks of an expert group lie that pass experts to each other.
func (e *Evaluator) rank(p *plan.Plan) hardware.Members {
	m := hardware.Members{Group: 2, Span: p.Experts.EP * p.Experts.TP}
	if e.problem.Assume.Borders {
		m.World = p.Attention.Procs()
	}
	return m
}

// price prices the lowered operators; what only a recorder needs is left out unless recorded.
func (e *Evaluator) price(p *plan.Plan, s *op.Step, recorded bool) {
	pricer, w := e.pricer, &e.work
	w.Stages, w.Batches, w.Drafts, w.Pipelined, w.Underway = p.Attention.PP, p.Batch.Count, p.Drafts, p.Pipelined, p.Underway()
	w.Filled, w.Last = p.Filled(e.problem.Model.Layers)
	overlap := overlapOf(p, s)
	pricer.Idle(p.TunedExchange && overlap == plan.NoOverlap)
	e.pass(pricer, &e.stage, overlap, recorded, &w.Layers)
	w.Layers.Apart = e.apart(pricer, p, s)
	if p.Drafts > 0 {
		e.pass(pricer, &e.draft, plan.NoOverlap, recorded, &w.Draft)
	}
	if e.problem.Assume.Ends {
		e.pass(pricer, &e.ends, plan.NoOverlap, recorded, &w.Ends)
	}
	w.HandOn, w.Pipe = 0, hardware.Members{}
	if p.Attention.PP > 1 {
		w.Pipe = e.stages(p)
		w.HandOn = pricer.HandOn(w.Pipe, e.stageMessage(p, s))
	}
	w.Moving = 0
	if steps := e.problem.Assume.RebalanceSteps; steps > 0 && e.lowerer.Rebalances(p) {
		// All experts of a processor may come from another one.
		w.Moving = pricer.HandOn(e.rank(p), expertWeights(&e.stage.list)) / steps
	}
	w.Launching = e.launching(p, s)
	w.Second = 0
	if e.problem.Offload != (Offload{}) {
		w.Second, w.Beside = e.second(p, s)
	}
	w.Cache, w.Depth = 0, 0
	if e.problem.Handover != nil {
		w.Cache, w.Depth = e.sending(p), plan.LayersPerStage(e.problem.Model.Layers, p.Attention.PP)
	}
}

// launching is how long the host takes to launch a step: operator by operator with a framework or
// for decode steps larger than captured; piece by piece where graphs end at every attention. Where
// the processor is the host, launches are in the time of the operators.
func (e *Evaluator) launching(p *plan.Plan, s *op.Step) float64 {
	switch {
	case e.problem.Eager != nil && e.system.IsHost():
		return 0
	case e.problem.Eager != nil:
		return e.problem.Eager.Launch * e.launches(p)
	}
	captured, launch := p.Captured, p.Launch
	if s.Phase() == op.Prefill {
		captured, launch = p.CapturedPrompts, p.PromptLaunch
	}
	if launch > 0 && s.Tokens()*float64(p.Attention.DP) > float64(captured) {
		return launch * e.launches(p)
	}
	if p.Pieces && s.Phase() == op.Prefill {
		return launch * float64(p.Batch.Count) * float64(p.Attention.PP) * e.stage.list.Pieces()
	}
	return p.PieceSeconds * float64(p.Batch.Count*(e.problem.Model.Layers+p.Drafts))
}

// launches is how often the host launches something in a step that is not captured.
func (e *Evaluator) launches(p *plan.Plan) float64 {
	stage := e.stage.launched(p.Launches)
	if p.SharedLaunches > 0 && p.SharedBeside == 0 && p.Gathered && e.problem.Model.Experts.Shared > 0 {
		stage += float64(p.SharedLaunches) * e.stage.list.Times(op.ExpertDown)
	}
	n := p.Overlap.Batches() * float64(p.Attention.PP) * stage
	if p.Drafts > 0 {
		n += float64(p.Drafts) * e.draft.launched(p.Launches)
	}
	if e.problem.Assume.Ends {
		n += e.ends.launched(p.Launches)
	}
	return float64(p.Batch.Count) * n
}

// pass prices a list. Only a recorder needs silent collectives and times of single operators.
func (e *Evaluator) pass(pricer *cost.Pricer, s *workspace, overlap plan.Overlap, recorded bool, out *schedule.Pass) {
	ops := e.communicating(pricer, s, recorded, out)
	if recorded {
		out.Runs = s.list.AppendRuns(nil)
		for i := range ops {
			out.Busy[i] = pricer.Price(&ops[i]).Busy
		}
	}
	if overlap != plan.NoOverlap {
		e.blocks(pricer, overlap, out)
		return
	}
	out.Computing = e.computing(s, 0, len(ops))
}

// communicating prices the collectives of a list, and returns all its operators.
func (e *Evaluator) communicating(pricer *cost.Pricer, s *workspace, recorded bool, out *schedule.Pass) []op.Op {
	ops, comms := s.list.All(), s.list.Comms()
	busy := s.busy[:len(ops)]
	out.Ops, out.Comms, out.Busy, out.Overlap = ops, comms, busy, plan.NoOverlap
	for _, i := range comms {
		if o := &ops[i]; !recorded && e.rules.Silent(o) {
			busy[i] = cost.Busy{}
		} else {
			busy[i] = pricer.Communicate(o)
		}
	}
	return ops
}

// memory is what a processor must hold of the lowered operators, all in the first tier.
func (e *Evaluator) memory(p *plan.Plan, m *Memory) {
	for b := range op.BlockCount {
		m.Weights[b], m.Working[b] = residence(e.stage.list.Of(b))
		m.Working[b] *= p.Overlap.Batches() // the operators are those of one micro-batch
	}
	if p.Drafts > 0 {
		m.add(&e.draft.list)
	}
	if e.problem.Assume.Ends {
		m.add(&e.ends.list)
	}
	m.Cache, m.Second = e.CacheOf(p), 0
}

// add adds a module that the last stage holds besides its layers.
func (m *Memory) add(list *op.List) {
	for b := range op.BlockCount {
		weights, working := residence(list.Of(b))
		m.Weights[b] += weights
		m.Working[b] = max(m.Working[b], working)
	}
}

// residence is the parameters of a block, and the largest result of its operators.
func residence(ops []op.Op) (weights, working float64) {
	var most uint64 // bits of non-negative numbers compare like the numbers, without branches
	for i := range ops {
		weights += ops[i].Repeat * ops[i].Resident
		most = max(most, math.Float64bits(ops[i].Output))
	}
	return weights, math.Float64frombits(most)
}

// total derives latency and rates from the times of a step.
func (e *Evaluator) total(t *schedule.Times, out *Estimate) {
	p := &out.Plan
	out.StepTime, out.StageTime, out.TransferTime, out.DraftTime = t.Step, t.Stage, t.HandOn, t.Draft
	out.EndsTime, out.WaitTime, out.OffloadTime, out.MovingTime, out.LaunchTime = t.Ends, t.Wait, t.Second, t.Moving, t.Launch
	out.RanksTime = t.Ranks
	out.KV = Transfer{}
	sequences := float64(p.Batch.Count) * float64(p.Underway()) * float64(p.Attention.DP) * float64(p.Sequences(e.moe))
	if e.problem.Phase == op.Prefill {
		out.Throughput = sequences * float64(e.problem.Lengths.Input) / t.Step
		if e.problem.Handover != nil {
			out.KV = Transfer{Bytes: e.cachePerRequest(), Time: e.work.Cache, Exposed: t.Cache}
		}
		out.Latency = t.Step + out.KV.Exposed
		out.Requests = sequences / max(t.Step, float64(p.Underway())*out.KV.Time)
		return
	}
	out.Latency = t.Step
	out.Throughput = sequences / t.Step
	if p.Drafts > 0 {
		tokens := TokensPerStep(e.problem.Acceptance, p.Drafts)
		out.Latency /= tokens
		out.Throughput *= tokens
	}
	out.Requests = out.Throughput / float64(e.problem.Lengths.Output)
}

// expertWeights is the bytes of the experts of a processor.
func expertWeights(list *op.List) (bytes float64) {
	ops := list.Of(op.MLPBlock)
	for i := range ops {
		if o := &ops[i]; o.Resident > 0 && o.Kind.OfExperts() {
			bytes += o.Repeat * o.Resident
		}
	}
	return bytes
}

// stageMessage is the bytes that a processor of one stage passes to the next.
func (e *Evaluator) stageMessage(p *plan.Plan, s *op.Step) float64 {
	tokens := s.Tokens() / float64(p.Attention.Context())
	return tokens * float64(e.problem.Model.Hidden) * e.problem.Precision.Comm
}

// CacheOf is the KV cache of one processor at the end of the phase, of all layers, as in the
// reference tool. In a pipeline a stage keeps its own layers for every batch in flight, which is as
// much or, with unequal stages, a little more.
func (e *Evaluator) CacheOf(p *plan.Plan) float64 {
	m := e.problem.Model
	tokens := float64(e.problem.Lengths.Final())
	if e.problem.Phase == op.Prefill {
		tokens = float64(e.problem.Lengths.Input)
	}
	tp, bytes, inFlight := p.Attention.TP, e.problem.Precision.Cache, float64(p.Underway())
	layers := m.Layers
	if p.Pipelined {
		layers = plan.LayersPerStage(m.Layers, p.Attention.PP)
	}
	perSequence := inFlight * m.CacheBytesOf(layers, tp, tokens, bytes)
	if p.Drafts > 0 {
		// The draft module caches, too.
		perSequence += inFlight * m.Attention.CacheBytes(tp, tokens, bytes)
	}
	return float64(p.Sequences(e.moe)*p.Batch.Count) * perSequence / float64(p.Attention.Context())
}
