// Package estimate adds up a phase: the time of a step, its memory, its throughput and where the time goes. It chooses
// nothing.
package estimate

import (
	"throughline/assume"
	"throughline/cost"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// GiB is the unit of capacities.
const GiB = 1 << 30

// Problem is what stays the same while plans vary.
type Problem struct {
	Model     *model.Model
	Settings  *model.Settings
	System    *hardware.System
	Lengths   workload.Lengths
	Precision plan.Precision
	Assume    *assume.Assumptions
}

// Estimate is what one plan does. Times are in seconds, sizes in bytes.
type Estimate struct {
	Plan plan.Plan

	Stage  Breakdown // one pipeline stage, one step
	Memory Memory

	TransferTime float64 // handing activations from stage to stage, per step
	TimePerToken float64 // all stages, all micro-batches
	Throughput   float64 // tokens per second of the whole machine

	TPTime, EPTime       float64 // exposed communication per token, all stages
	TPTraffic, EPTraffic float64 // bytes sent over a whole output
}

// Breakdown is where the time of a stage goes.
type Breakdown struct {
	Block [op.BlockCount]BlockTotals
}

// BlockTotals are the sums over one half of the layers.
type BlockTotals struct {
	Compute float64 // of all operators, bound by it or not
	Memory  float64 // likewise; communication buffers included
	Bytes   float64
	Flops   float64
	Exposed float64 // communication that is not hidden
	// Time of the operators, by class and by the resource that bounds them.
	Bound [op.ClassCount][cost.BoundCount]float64
}

// Time of the block.
func (b *BlockTotals) Time() float64 {
	t := b.Exposed
	for c := range b.Bound {
		t += b.Bound[c][cost.Compute] + b.Bound[c][cost.Memory]
	}
	return t
}

// Time of the stage.
func (b *Breakdown) Time() float64 {
	return b.Block[op.AttentionBlock].Time() + b.Block[op.MLPBlock].Time()
}

// BoundBy is the time of the operators that a resource bounds.
func (b *Breakdown) BoundBy(r cost.Bound) float64 {
	var t float64
	for i := range b.Block {
		for c := range b.Block[i].Bound {
			t += b.Block[i].Bound[c][r]
		}
	}
	return t
}

// ClassTime is the time of one class of operators.
func (b *Breakdown) ClassTime(c op.Class) float64 {
	var t float64
	for i := range b.Block {
		t += b.Block[i].Bound[c][cost.Compute] + b.Block[i].Bound[c][cost.Memory]
	}
	return t
}

// Exposed is the communication that is not hidden.
func (b *Breakdown) Exposed() float64 {
	return b.Block[op.AttentionBlock].Exposed + b.Block[op.MLPBlock].Exposed
}

// Memory is what a processor must hold.
type Memory struct {
	Weights [op.BlockCount]float64
	Working [op.BlockCount]float64 // largest result of the block's operators
	Cache   float64
}

// WithoutCache is weights and working space.
func (m *Memory) WithoutCache() float64 {
	return m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock] + max(m.Working[op.AttentionBlock], m.Working[op.MLPBlock])
}

// Total is all of it.
func (m *Memory) Total() float64 { return m.WithoutCache() + m.Cache }

// Evaluator evaluates plans of one problem. It is not safe for concurrent use; copies are.
type Evaluator struct {
	problem *Problem
	lowerer op.Lowerer
	pricer  cost.Pricer
	moe     bool
	step    op.Step
	list    op.List
	costs   [op.MaxOps]cost.Cost
}

// NewEvaluator prepares a problem.
func NewEvaluator(p *Problem) (*Evaluator, error) {
	pricer, err := cost.NewPricer(p.System, &p.Precision, p.Assume, op.Decode)
	if err != nil {
		return nil, err
	}
	return &Evaluator{
		problem: p,
		lowerer: op.NewLowerer(p.Model, p.Settings, &p.Precision, p.Assume),
		pricer:  pricer,
		moe:     p.Model.IsMoE(),
		step:    op.Step{Phase: op.Decode, Queries: 1, Context: float64(p.Lengths.DecodeContext())},
	}, nil
}

// Ops are the operators of the plan evaluated last, and their costs.
func (e *Evaluator) Ops() ([]op.Op, []cost.Cost) {
	ops := e.list.All()
	return ops, e.costs[:len(ops)]
}

// MemoryOf is what a processor must hold under a plan.
func (e *Evaluator) MemoryOf(p *plan.Plan) float64 {
	e.lowerer.Stage(p, e.step, &e.list)
	var m Memory
	for b := range op.BlockCount {
		m.Weights[b], m.Working[b] = residence(e.list.Of(b))
	}
	m.Cache = e.CacheOf(p)
	return m.Total()
}

// Evaluate fills in what a plan does.
func (e *Evaluator) Evaluate(p *plan.Plan, out *Estimate) {
	e.lowerer.Stage(p, e.step, &e.list)
	*out = Estimate{}
	out.Plan = *p
	e.pricer.Price(e.list.All(), e.costs[:])
	var comm commTotals
	costs := e.costs[:]
	for b := range op.BlockCount {
		ops := e.list.Of(b)
		e.sum(ops, costs, &out.Stage.Block[b], &comm)
		out.Memory.Weights[b], out.Memory.Working[b] = residence(ops)
		costs = costs[len(ops):]
	}
	e.total(out, &comm)
}

// residence is the parameters of a block, and the largest result of its operators.
func residence(ops []op.Op) (weights, working float64) {
	for i := range ops {
		weights += ops[i].Repeat * ops[i].Weights
		if ops[i].Output > working {
			working = ops[i].Output
		}
	}
	return weights, working
}

// commTotals are the sums over the communication of a stage.
type commTotals struct{ tpTime, epTime, tpBytes, epBytes float64 }

// sum adds up the operators of a block.
func (e *Evaluator) sum(ops []op.Op, costs []cost.Cost, out *BlockTotals, comm *commTotals) {
	costs = costs[:len(ops)]
	var compute, memory, bytes, flops float64
	for i := range ops {
		o, c := &ops[i], &costs[i]
		n := o.Repeat
		compute += n * c.Compute
		memory += n * c.Memory
		bytes += n * o.Bytes()
		flops += n * o.Flops
		if o.Class == op.Comm {
			out.Exposed += n * c.Time
			e.sumComm(o, n*c.Time, comm)
			continue
		}
		out.Bound[o.Class][c.Bound] += n * c.Time
	}
	out.Compute, out.Memory, out.Bytes, out.Flops = compute, memory, bytes, flops
}

// sumComm accounts for one kind of communication. Traffic is counted with the scale of the collective, not with the
// share that stays on the processor itself: so the reference tool counts it.
func (e *Evaluator) sumComm(o *op.Op, exposed float64, comm *commTotals) {
	if o.Group < 2 {
		return
	}
	bytes := o.Repeat * o.Message * e.problem.System.Level(int(o.Span)).Ops[o.Collective].Scale
	if o.Collective == hardware.AllReduce {
		comm.tpTime += exposed
		comm.tpBytes += bytes
		return
	}
	comm.epTime += exposed
	comm.epBytes += bytes
}

// total combines the stages of the pipeline: one batch is in flight, so they run one after another.
func (e *Evaluator) total(out *Estimate, comm *commTotals) {
	p := &out.Plan
	pp, count := float64(p.Attention.PP), float64(p.Batch.Count)
	sequences := float64(p.Sequences(e.moe))
	output := float64(e.problem.Lengths.Output)

	out.TransferTime = count * e.pricer.StageTransfer(p.Attention.PP, p.Attention.TP*p.Attention.PP, e.stageMessage(p))
	out.TimePerToken = count*pp*out.Stage.Time() + out.TransferTime
	out.Throughput = float64(p.Attention.DP) * sequences * count * e.step.Queries / out.TimePerToken
	out.TPTime, out.EPTime = count*pp*comm.tpTime, count*pp*comm.epTime
	out.TPTraffic = count * pp * comm.tpBytes * output
	out.EPTraffic = count * comm.epBytes * output
	out.Memory.Cache = e.CacheOf(p)
}

// stageMessage is the activations that one stage hands to the next, in bytes.
func (e *Evaluator) stageMessage(p *plan.Plan) float64 {
	return float64(p.Sequences(e.moe)) * e.step.Queries * float64(e.problem.Model.Hidden) * e.problem.Precision.Comm
}

// CacheOf is the KV cache of one processor at the end of its requests. All layers are counted, not only those of
// the stage: the reference tool does not divide the cache by the pipeline.
func (e *Evaluator) CacheOf(p *plan.Plan) float64 {
	m := e.problem.Model
	perToken := float64(m.Attention.CacheElements(p.Attention.TP)) * float64(m.Layers) * e.problem.Precision.Cache
	return float64(p.Sequences(e.moe)*p.Batch.Count) * float64(e.problem.Lengths.Final()) * perToken
}
