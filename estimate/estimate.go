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
	ComputeBound float64 // time of the operators that computation bounds
	MemoryBound  float64 // time of those that memory bounds
	Exposed      float64 // communication that is not hidden
	Block        [op.BlockCount]BlockTotals
	ClassTime    [op.ClassCount]float64
}

// Time of the stage.
func (b *Breakdown) Time() float64 { return b.ComputeBound + b.MemoryBound + b.Exposed }

// BlockTotals are the sums over one half of the layers.
type BlockTotals struct {
	Time    float64
	Compute float64 // of all operators, bound by it or not
	Memory  float64 // likewise; communication buffers included
	Bytes   float64
	Flops   float64
	// Time of the linear and of the attention products, split by what bounds them.
	Bound [op.ClassCount]Bound
}

// Bound is time split by the resource that bounds it.
type Bound struct{ Compute, Memory float64 }

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
}

// NewEvaluator prepares a problem.
func NewEvaluator(p *Problem) (*Evaluator, error) {
	pricer, err := cost.NewPricer(p.System, &p.Precision, p.Assume)
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

// Ops are the operators of the plan evaluated last.
func (e *Evaluator) Ops() []op.Op { return e.list.All() }

// Price prices one operator as Evaluate does.
func (e *Evaluator) Price(o *op.Op) cost.Cost { return e.pricer.Price(o, e.step.Phase) }

// MemoryOf is what a processor must hold under a plan.
func (e *Evaluator) MemoryOf(p *plan.Plan) float64 {
	e.lowerer.Stage(p, e.step, &e.list)
	var m Memory
	ops := e.list.All()
	for i := range ops {
		m.add(&ops[i], ops[i].Kind.Info().Block)
	}
	m.Cache = e.CacheOf(p)
	return m.Total()
}

// add accounts for the parameters and the result of an operator.
func (m *Memory) add(o *op.Op, block op.Block) {
	m.Weights[block] += o.Repeat * o.Weights
	if o.Output > m.Working[block] {
		m.Working[block] = o.Output
	}
}

// Evaluate fills in what a plan does.
func (e *Evaluator) Evaluate(p *plan.Plan, out *Estimate) {
	e.lowerer.Stage(p, e.step, &e.list)
	*out = Estimate{Plan: *p}
	var tpExposed, epExposed, tpMessage, epMessage float64
	ops := e.list.All()
	for i := range ops {
		o := &ops[i]
		info := o.Kind.Info()
		c := e.pricer.Price(o, e.step.Phase)
		n := o.Repeat
		block := &out.Stage.Block[info.Block]
		t := n * c.Time

		block.Time += t
		block.Memory += n * c.Memory
		block.Bytes += n * o.Bytes()
		block.Flops += n * o.Flops
		out.Memory.add(o, info.Block)
		out.Stage.ClassTime[info.Class] += t
		if info.Class == op.Comm {
			out.Stage.Exposed += t
			rate := &e.problem.System.Level(o.Span).Ops[o.Collective]
			if o.Collective == hardware.AllReduce {
				tpExposed += t
				tpMessage += n * o.Message * rate.Scale
			} else if o.Group > 1 {
				epExposed += t
				epMessage += n * o.Message * rate.Scale
			}
			continue
		}
		block.Compute += n * c.Compute
		if c.ComputeBound {
			out.Stage.ComputeBound += t
			block.Bound[info.Class].Compute += t
		} else {
			out.Stage.MemoryBound += t
			block.Bound[info.Class].Memory += t
		}
	}
	e.total(out, tpExposed, epExposed, tpMessage, epMessage)
}

// total combines the stages of the pipeline: one batch is in flight, so they run one after another.
func (e *Evaluator) total(out *Estimate, tpExposed, epExposed, tpMessage, epMessage float64) {
	p := &out.Plan
	pp, count := float64(p.Attention.PP), float64(p.Batch.Count)
	sequences := float64(p.Sequences(e.moe))
	output := float64(e.problem.Lengths.Output)

	out.TransferTime = count * e.pricer.StageTransfer(p.Attention.PP, p.Attention.TP*p.Attention.PP, e.stageMessage(p))
	out.TimePerToken = count*pp*out.Stage.Time() + out.TransferTime
	out.Throughput = float64(p.Attention.DP) * sequences * count * e.step.Queries / out.TimePerToken
	out.TPTime, out.EPTime = count*pp*tpExposed, count*pp*epExposed
	out.TPTraffic = count * pp * tpMessage * output
	out.EPTraffic = count * epMessage * output
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
