package report

import (
	"fmt"
	"io"
	"strconv"

	"throughline/estimate"
	"throughline/internal/result"
	"throughline/internal/table"
	"throughline/op"
)

type opRow struct {
	phase op.Phase
	*estimate.Operator
}

func opColumn(name string, u result.Unit, doc string, value func(*estimate.Operator) any) table.Column[opRow] {
	return table.Column[opRow]{Name: name, Unit: string(u), Doc: doc, Value: func(r opRow) any { return value(r.Operator) }}
}

// OpColumns are those of the table of operators, in the words of the reference tool where it has
// them.
var OpColumns = []table.Column[opRow]{
	{Name: "phase", Doc: "prefill or decode", Value: func(r opRow) any { return r.phase.Name() }},
	opColumn("name", result.None, "the operator", func(o *estimate.Operator) any { return o.Name }),
	opColumn("block", result.None, "attention, mlp, draft, ends (embedding, output projection, sampling), pipeline, host or memory", func(o *estimate.Operator) any { return o.Block }),
	opColumn("engine", result.None, "cube, vector or comm; empty where the step waits", func(o *estimate.Operator) any { return o.Peak.Engine }),
	opColumn("shape", result.None, "m, n and k of a product (tokens, outputs, inputs); GPUs and message of a communication", func(o *estimate.Operator) any { return opShape(o) }),
	opColumn("dtype", result.None, "number type of the rate it computes at", func(o *estimate.Operator) any { return o.Peak.DType }),
	opColumn("flops", result.Flop, "operations of one execution", func(o *estimate.Operator) any { return o.Flops }),
	opColumn("bytes", result.Bytes, "what one execution reads and writes in device memory, buffers of communication included", func(o *estimate.Operator) any { return o.Bytes() }),
	opColumn("flops_time", result.Seconds, "time of the operations alone", func(o *estimate.Operator) any { return o.Compute }),
	opColumn("mem_time", result.Seconds, "time of that traffic alone", func(o *estimate.Operator) any { return o.Memory }),
	opColumn("static_latency", result.Seconds, "of `process_time`, what is left on a chip of unlimited rates: launches, floors of kernels, hops of the network", func(o *estimate.Operator) any { return o.Static }),
	opColumn("process_time", result.Seconds, "what one execution adds to the step. 0 where it is hidden, or done by the kernel of another operator", func(o *estimate.Operator) any { return o.Exposed }),
	opColumn("bound", result.None, "what most of it is: compute, memory, network, static latency, hidden, waiting", func(o *estimate.Operator) any { return opBound(o) }),
	opColumn("utilisation", result.None, "share of the peak of the engine, or of the memory bandwidth where memory bounds it, fused operators included; empty for communication", func(o *estimate.Operator) any {
		if u := o.Utilisation(); u > 0 {
			return u
		}
		return nil
	}),
	opColumn("repeat", result.None, "executions in a step, one after another: layers × stages × micro-batches", func(o *estimate.Operator) any { return o.Times }),
	opColumn("start", result.Seconds, "start of the first execution, from the start of the step", func(o *estimate.Operator) any { return o.Start }),
	opColumn("end", result.Seconds, "end of the last one", func(o *estimate.Operator) any { return o.End }),
	opColumn("lane", result.None, "what it runs on: matrix, vector, a level of the network, second tier; or waiting", func(o *estimate.Operator) any { return o.Lane.String() }),
	opColumn("sent", result.Bytes, "what one execution sends", func(o *estimate.Operator) any { return o.Sent }),
	opColumn("busy_time", result.Seconds, "how long one execution keeps its lane busy, hidden or not", func(o *estimate.Operator) any { return o.Time }),
}

// opShape describes the product of an operator, or its message.
func opShape(o *estimate.Operator) string {
	switch {
	case o.Class == op.Comm && o.Group > 1 && o.Moved > 0:
		return fmt.Sprintf("group=%d bytes=%s", o.Group, strconv.FormatFloat(o.Moved, 'f', -1, 64))
	case o.Class != op.Comm && o.M > 0 && o.N > 0 && o.K > 0:
		return fmt.Sprintf("m=%.6g n=%.6g k=%.6g", o.M, o.N, o.K)
	}
	return ""
}

// opBound names what takes most of the time of an operator.
func opBound(o *estimate.Operator) string {
	switch {
	case o.Waits():
		return "waiting"
	case o.Computes() && o.Static > o.Exposed/2:
		return "static latency"
	}
	return o.BoundBy()
}

// WriteOps writes the operators of both phases of a record.
func WriteOps(w io.Writer, r *result.Record) error {
	t := table.Table[opRow]{Columns: OpColumns}
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		if side := r.Sides[phase]; side != nil && side.Found {
			for i := range side.Step.Operators {
				t.Rows = append(t.Rows, opRow{phase, &side.Step.Operators[i]})
			}
		}
	}
	return t.Write(w, table.CSV)
}
