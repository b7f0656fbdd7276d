package estimate

import (
	"throughline/collective"
	"throughline/cost"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Evaluator evaluates plans of one problem. It is not safe for concurrent use.
type Evaluator struct {
	problem *Problem
	lowerer op.Lowerer
	pricer  cost.Pricer
	moe     bool
	step    op.Step
	list    op.List
	draft   op.List
	ends    op.List
	// handover is the networks of the two ends of a transfer of the cache.
	handover []collective.Net
}

// NewEvaluator prepares a problem. It fails when the system has no rate for a number type.
func NewEvaluator(p *Problem) (*Evaluator, error) {
	pricer, err := cost.NewPricer(p.System, &p.Precision, p.Assume, p.Phase)
	if err != nil {
		return nil, err
	}
	e := &Evaluator{
		problem: p,
		lowerer: op.NewLowerer(p.Model, p.Settings, &p.Precision, p.Assume),
		pricer:  pricer,
		moe:     p.Model.IsMoE(),
		step:    plainStep(p),
	}
	if h := p.Handover; h != nil {
		e.handover = []collective.Net{collective.NewNet(p.System, p.Assume.BytesPerGB), collective.NewNet(h.System, p.Assume.BytesPerGB)}
	}
	return e, nil
}

// SetLengths changes the lengths of the problem, which is cheaper than another evaluator.
func (e *Evaluator) SetLengths(l workload.Lengths) {
	e.problem.Lengths = l
	e.step = plainStep(e.problem)
}

// plainStep is the work of one step without drafts.
func plainStep(p *Problem) op.Step {
	if p.Phase == op.Prefill {
		return op.Step{
			Phase: p.Phase, Queries: float64(p.Lengths.Uncached()), Context: float64(p.Lengths.Input),
			Scale: p.Lengths.AttentionScale(),
		}
	}
	return op.Step{Phase: p.Phase, Queries: 1, Context: float64(p.Lengths.DecodeContext())}
}

// stepOf is the work of one step under a plan: in decode the drafted tokens are verified together with the next one.
func (e *Evaluator) stepOf(p *plan.Plan) op.Step {
	s := e.step
	if s.Phase == op.Decode {
		s.Queries += float64(p.Drafts)
	}
	return s
}

// TokensPerStep is the output that a decode step with drafts yields on average: the token that is always right, and
// each draft if it and all before it are accepted.
func TokensPerStep(acceptance []float64, drafts int) float64 {
	tokens, all := 1.0, 1.0
	for _, a := range acceptance[:drafts] {
		all *= a
		tokens += all
	}
	return tokens
}

// Ops are the operators of a stage under the plan evaluated last.
func (e *Evaluator) Ops() []op.Op { return e.list.All() }

// Price is the cost of one operator.
func (e *Evaluator) Price(o *op.Op) cost.Cost { return e.pricer.Price(o) }

// MemoryOf is what a processor must hold under a plan.
func (e *Evaluator) MemoryOf(p *plan.Plan) Memory {
	e.lowerer.Stage(p, e.stepOf(p), &e.list)
	var m Memory
	for b := range op.BlockCount {
		m.Weights[b], m.Working[b] = residence(e.list.Of(b))
	}
	if p.Drafts > 0 {
		e.lowerer.Draft(p, e.step, &e.draft)
		addMemory(&m, &e.draft)
	}
	if e.problem.Assume.Ends {
		e.lowerer.Ends(p, e.stepOf(p), &e.ends)
		addMemory(&m, &e.ends)
	}
	m.Cache = e.CacheOf(p)
	m.offload(e.problem.Offload)
	return m
}

// addMemory adds a module that the last stage holds besides its layers.
func addMemory(m *Memory, list *op.List) {
	for b := range op.BlockCount {
		weights, working := residence(list.Of(b))
		m.Weights[b] += weights
		m.Working[b] = max(m.Working[b], working)
	}
}

// residence is the parameters of a block, and the largest result of its operators.
func residence(ops []op.Op) (weights, working float64) {
	for i := range ops {
		weights += ops[i].Repeat * ops[i].Resident
		if ops[i].Output > working {
			working = ops[i].Output
		}
	}
	return weights, working
}

// Evaluate fills in what a plan does.
func (e *Evaluator) Evaluate(p *plan.Plan, out *Estimate) {
	*out = Estimate{}
	out.Plan = *p
	if p.Drafts > 0 {
		e.lowerer.Draft(p, e.step, &e.draft)
		out.DraftTime = e.timeOf(&e.draft)
	}
	if e.problem.Assume.Ends {
		e.lowerer.Ends(p, e.stepOf(p), &e.ends)
		out.EndsTime = e.timeOf(&e.ends)
	}
	e.lowerer.Stage(p, e.stepOf(p), &e.list)
	for b := range op.BlockCount {
		t := &out.Stage.Block[b]
		e.pricer.Sum(e.list.Of(b), t)
		out.Memory.Weights[b], out.Memory.Working[b] = t.Resident, t.Working
	}
	ops := e.list.All()
	for _, i := range e.list.Comms() {
		e.pricer.AddComm(&ops[i], &out.Stage.Block[e.list.BlockOf(int(i))])
	}
	if p.Drafts > 0 {
		addMemory(&out.Memory, &e.draft)
	}
	if e.problem.Assume.Ends {
		addMemory(&out.Memory, &e.ends)
	}
	out.Memory.Cache = e.CacheOf(p)
	e.total(out)
	out.Memory.offload(e.problem.Offload)
}

// timeOf is the time of the operators of a list.
func (e *Evaluator) timeOf(list *op.List) float64 {
	var t cost.Totals
	ops := list.All()
	e.pricer.Sum(ops, &t)
	for _, i := range list.Comms() {
		e.pricer.AddComm(&ops[i], &t)
	}
	return t.Time()
}

// total combines the stages of the pipeline, the micro-batches, the drafts and the ends of the model. A batch passes
// through the stages one after another; in a pipeline the other stages work on other batches meanwhile, so that as many
// are done in the time of a step as are in flight. The slowest stage then sets the pace. That is the last, with the
// drafts and the ends; what the batches spend between the stages makes up for a part of the waiting.
func (e *Evaluator) total(out *Estimate) {
	p := &out.Plan
	pp, count := float64(p.Attention.PP), float64(p.Batch.Count)
	sequences := count * float64(p.InFlight()) * float64(p.Attention.DP) * float64(p.Sequences(e.moe))

	out.TransferTime = count * e.pricer.StageTransfer(p.Attention.PP, p.StageSpan(e.moe), e.stageMessage(p))
	out.DraftTime *= count * float64(p.Drafts)
	out.EndsTime *= count
	if e.problem.Offload != (Offload{}) {
		out.OffloadTime = count * pp * max(0, e.linkTime(out)-out.Stage.Time())
	}
	if p.Pipelined {
		out.WaitTime = max(0, (pp-1)*(out.DraftTime+out.EndsTime)-out.TransferTime)
	}
	out.StepTime = count*pp*out.Stage.Time() + out.TransferTime + out.DraftTime + out.EndsTime + out.OffloadTime + out.WaitTime
	steps := 1.0 // that a request takes
	if e.step.Phase == op.Prefill {
		out.Throughput = sequences * float64(e.problem.Lengths.Input) / out.StepTime
		if e.problem.Handover != nil {
			out.KV = e.transfer(out)
		}
		out.Latency = out.StepTime + out.KV.Exposed
		out.Requests = sequences / max(out.StepTime, float64(p.InFlight())*out.KV.Time)
	} else {
		steps = float64(e.problem.Lengths.Output)
		out.Latency = out.StepTime
		out.Throughput = sequences / out.StepTime
		if p.Drafts > 0 {
			tokens := TokensPerStep(e.problem.Acceptance, p.Drafts)
			out.Latency /= tokens
			out.Throughput *= tokens
			steps /= tokens
		}
		out.Requests = out.Throughput / float64(e.problem.Lengths.Output)
	}
	attention, mlp := &out.Stage.Block[op.AttentionBlock].Comm, &out.Stage.Block[op.MLPBlock].Comm
	for t := range out.Comm {
		stages := pp
		// Of the expert traffic the reference tool counts one stage, of the rest all.
		if op.Traffic(t) == op.ExpertTraffic {
			stages = 1
		}
		out.Comm[t] = cost.Comm{
			Exposed: count * pp * (attention[t].Exposed + mlp[t].Exposed),
			Bytes:   count * steps * stages * (attention[t].Bytes + mlp[t].Bytes),
		}
	}
}

// stageMessage is the activations that a processor of one stage hands to the next, in bytes.
func (e *Evaluator) stageMessage(p *plan.Plan) float64 {
	tokens := float64(p.Sequences(e.moe)) * e.stepOf(p).Queries / float64(p.Attention.Context())
	return tokens * float64(e.problem.Model.Hidden) * e.problem.Precision.Comm
}

// CacheOf is the KV cache of one processor at the end of the phase. All layers are counted, not only those of the
// stage: so the reference tool does. In a pipeline a stage keeps its own layers for every batch in flight, which is as
// much, or a little more where the stages are not equal.
func (e *Evaluator) CacheOf(p *plan.Plan) float64 {
	m := e.problem.Model
	tokens := float64(e.problem.Lengths.Final())
	if e.step.Phase == op.Prefill {
		tokens = float64(e.problem.Lengths.Input)
	}
	tp, bytes, inFlight := p.Attention.TP, e.problem.Precision.Cache, float64(p.InFlight())
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
