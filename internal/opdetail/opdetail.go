// Package opdetail is the operators of a step as rows: what each does, on which engine, what bounds it, and when it runs. The
// sums over the rows are those of the step.
package opdetail

import (
	"cmp"
	"fmt"
	"strconv"

	"throughline/estimate"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
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
	Block  string // attention, mlp, draft, ends, pipeline, memory
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

// Of is the operators of a step under a plan, in their order, and behind them what the step waits for.
func Of(p *estimate.Problem, of *plan.Plan) ([]Row, error) {
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		return nil, err
	}
	var whole estimate.Estimate
	e.Evaluate(of, &whole)
	parts := e.Parts(of)
	static := e.Static(&parts)
	spans := Spans(e.Timeline(of))
	var out []Row
	for kind := range parts {
		part := &parts[kind]
		for i := range part.Ops {
			r := row(p, &part.Ops[i], static[kind][i])
			r.Block, r.Repeat = BlockOf(estimate.PartKind(kind), &part.Ops[i]), part.Times*part.Ops[i].Repeat
			r.place(spans[SpanOf(estimate.PartKind(kind), i)])
			out = append(out, r)
		}
	}
	for _, w := range []struct {
		name, block, engine, bound string
		time                       float64
		in                         schedule.Part
	}{
		{"stage transfer", "pipeline", Comm, Network, whole.TransferTime, schedule.HandOnPart},
		{"moving experts", "mlp", "", Waiting, whole.MovingTime, schedule.MovingPart},
		{"waiting for the slowest rank", "mlp", "", Waiting, whole.RanksTime, schedule.RanksPart},
		{"waiting for the last stage", "pipeline", "", Waiting, whole.WaitTime, schedule.WaitPart},
		{"waiting for the second tier", "memory", "", Waiting, whole.OffloadTime, schedule.SecondPart},
	} {
		if w.time > 0 {
			r := Row{Name: w.name, Block: w.block, Engine: w.engine, Bound: w.bound, Busy: w.time, ProcessTime: w.time, Repeat: 1}
			r.place(spans[Key{w.in, 0}])
			out = append(out, r)
		}
	}
	return out, nil
}

func (r *Row) place(s schedule.Span) { r.Lane, r.Start, r.End = s.Lane.String(), s.Start, s.End }

// row tells about one operator, of whose time so much is static.
func row(p *estimate.Problem, o *estimate.Operator, static float64) Row {
	r := Row{
		Name: o.Kind.String(), Shape: shape(o), Flops: o.Flops, Bytes: o.Bytes(), FlopsTime: o.Compute, MemTime: o.Memory,
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
	case op.IndexUnit:
		if _, ok := sys.Matrix["float8"]; ok {
			return rate("float8")
		}
		return rate(types.AttentionType)
	}
	return Peak{Vector, types.VectorType, sys.Vector[types.VectorType].TFlops * p.Assume.FlopsPerTFlop}
}

// BlockOf names the part of the step that an operator belongs to.
func BlockOf(kind estimate.PartKind, o *estimate.Operator) string {
	block := ""
	if o.Kind.Info().Block == op.MLPBlock {
		block = "mlp"
	}
	return cmp.Or(map[estimate.PartKind]string{estimate.DraftPart: "draft", estimate.EndsPart: "ends"}[kind], block, "attention")
}

// Key is what of a timeline belongs together: the executions of one operator of a part.
type Key struct {
	Part schedule.Part
	Op   int
}

// SpanOf is the key of an operator.
func SpanOf(kind estimate.PartKind, index int) Key {
	return Key{[estimate.PartCount]schedule.Part{
		estimate.StagePart: schedule.LayersPart, estimate.DraftPart: schedule.DraftPart, estimate.EndsPart: schedule.EndsPart,
	}[kind], index}
}

// Spans are the first and the last moments of what a timeline has.
func Spans(timeline []schedule.Span) map[Key]schedule.Span {
	out := map[Key]schedule.Span{}
	for _, s := range timeline {
		key := Key{s.Part, s.Op}
		if first, ok := out[key]; ok {
			s.Start = min(s.Start, first.Start)
			s.End = max(s.End, first.End)
		}
		out[key] = s
	}
	return out
}
