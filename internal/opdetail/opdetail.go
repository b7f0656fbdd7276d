// Package opdetail is what a step consists of as rows: what each operator does, on which engine, what bounds it, and when it runs.
// The rows add up to the step.
package opdetail

import (
	"fmt"
	"strconv"

	"throughline/estimate"
	"throughline/op"
	"throughline/plan"
)

// Engines of operators. What waits has none.
const (
	Cube   = "cube"
	Vector = "vector"
	Comm   = "comm"
)

// What bounds an operator.
const (
	Compute = "compute"
	Memory  = "memory"
	Network = "network"
	Static  = "static latency"
	Hidden  = "hidden" // communication that computation covers
	Waiting = "waiting"
)

// Row is one operator of a step. Flops, bytes and times are those of one execution; times are in seconds.
type Row struct {
	Name   string
	Block  string // attention, mlp, draft, ends, pipeline, host, memory
	Engine string
	Shape  string
	DType  string
	Flops  float64
	Bytes  float64 // read and written in device memory, buffers of communication included
	Sent   float64 // by communication

	FlopsTime   float64 // at the rate of its engine
	MemTime     float64 // its traffic at the memory bandwidth
	Static      float64 // of the process time, what no faster chip or network would shorten
	Busy        float64 // of its engine or network
	ProcessTime float64 // what it adds to the step
	Bound       string
	// Ideal is its time at the peak rate of its engine, or of the memory where memory bounds it, with the work that is fused
	// with it; 0 where that is not known.
	Ideal    float64
	PeakTime float64 // the time of its operations at the peak of its engine

	Repeat float64 // executions in a step, one after another: layers, stages, micro-batches, drafts

	Lane       string
	Start, End float64 // of the first and the last execution, from the start of the step
}

// Utilisation is the share of the peak of what bounds it that an operator reaches; false where there is none.
func (r *Row) Utilisation() (float64, bool) {
	if r.Ideal == 0 || r.ProcessTime == 0 {
		return 0, false
	}
	return r.Ideal / r.ProcessTime, true
}

// Time is what all executions add to the step.
func (r *Row) Time() float64 { return r.Repeat * r.ProcessTime }

// Of is what a step consists of under a plan: its operators in their order, and behind them what it waits for.
func Of(p *estimate.Problem, of *plan.Plan) ([]Row, error) {
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		return nil, err
	}
	c := e.Contents(of)
	static := e.Static(c)
	out := make([]Row, len(c.Items))
	for i := range c.Items {
		item := &c.Items[i]
		switch {
		case item.Op != nil:
			out[i] = row(p, item.Op, static[i])
		case item.Waits():
			out[i] = Row{Bound: Waiting, Busy: item.Adds}
		default:
			out[i] = Row{Engine: Comm, Bound: Network, Busy: item.Adds}
		}
		r := &out[i]
		r.Name, r.Block, r.ProcessTime, r.Repeat = item.Name, item.Block, item.Adds, item.Times
		r.Lane, r.Start, r.End = item.Lane.String(), item.Start, item.End
	}
	return out, nil
}

// row tells about one operator, of whose time so much is static.
func row(p *estimate.Problem, o *estimate.Operator, static float64) Row {
	r := Row{
		Shape: shape(o), Flops: o.Flops, Bytes: o.Bytes(), FlopsTime: o.Compute, MemTime: o.Memory,
		Busy: o.Time, ProcessTime: o.Exposed, Static: min(static, o.Exposed),
	}
	if o.Class == op.Comm {
		r.Engine, r.Bound, r.Sent = Comm, Network, o.Sent
		switch {
		case o.Group < 2:
			r.Bound = "" // alone there is nothing to send
		case o.Exposed == 0:
			r.Bound = Hidden
		}
		return r
	}
	peak := PeakOf(p, o)
	r.Engine, r.DType = peak.Engine, peak.DType
	r.PeakTime = (o.Flops + o.Fused.Flops) / peak.Flops
	bounds := [...]string{Compute, Memory}
	r.Bound = bounds[o.Bound]
	r.Ideal = r.PeakTime
	if r.Bound == Memory {
		r.Ideal = (o.Bytes() + o.Fused.Bytes) / (p.System.Memory.GBps * p.Assume.BytesPerGB)
	}
	if r.Static > r.ProcessTime/2 {
		r.Bound = Static
	}
	return r
}

// shape is the product that an operator is, or the message that it sends.
func shape(o *estimate.Operator) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	switch {
	case o.Class == op.Comm && o.Group > 1:
		return fmt.Sprintf("group=%d bytes=%s", o.Group, strconv.FormatFloat(o.Moved, 'f', -1, 64))
	case o.Class != op.Comm && o.M > 0 && o.N > 0 && o.K > 0:
		return "m=" + number(o.M) + " n=" + number(o.N) + " k=" + number(o.K)
	}
	return ""
}

// Peak is the engine of an operator, the number type it computes in, and its operations per second without calibration.
type Peak struct {
	Engine, DType string
	Flops         float64
}

// PeakOf is the engine that computes an operator.
func PeakOf(p *estimate.Problem, o *estimate.Operator) Peak {
	sys, types := p.System, &p.Precision
	rate := func(dtype string) Peak { return Peak{Cube, dtype, sys.Matrix[dtype].TFlops * p.Assume.FlopsPerTFlop} }
	switch o.Unit {
	case op.MatrixUnit:
		return rate(types.Of(o.Module).Type)
	case op.AttentionMatrixUnit:
		return rate(types.AttentionType)
	case op.WideUnit:
		return rate("float32")
	case op.IndexUnit:
		if _, ok := sys.Matrix["float8"]; ok {
			return rate("float8")
		}
		return rate(types.AttentionType)
	}
	return Peak{Vector, types.VectorType, sys.Vector[types.VectorType].TFlops * p.Assume.FlopsPerTFlop}
}
