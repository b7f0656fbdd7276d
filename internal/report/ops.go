package report

import (
	"io"

	"throughline/internal/opdetail"
	"throughline/internal/result"
	"throughline/internal/table"
	"throughline/op"
)

// opRow is an operator of a phase.
type opRow struct {
	phase op.Phase
	*opdetail.Row
}

// opColumn is a column of the table of operators.
func opColumn(name string, u result.Unit, doc string, value func(opRow) any) table.Column[opRow] {
	return table.Column[opRow]{Name: name, Unit: string(u), Doc: doc, Value: value}
}

// OpColumns are those of the table of operators. Where the reference tool has a word for something, it is the same.
var OpColumns = []table.Column[opRow]{
	opColumn("phase", result.None, "prefill or decode", func(r opRow) any { return phaseNames[r.phase] }),
	opColumn("name", result.None, "the operator", func(r opRow) any { return r.Name }),
	opColumn("block", result.None, "attention, mlp, draft, ends (embedding, output projection, sampling), pipeline, host or memory", func(r opRow) any { return r.Block }),
	opColumn("engine", result.None, "cube, vector or comm; empty where the step waits", func(r opRow) any { return r.Engine }),
	opColumn("shape", result.None, "m, n and k of a product (tokens, outputs, inputs); processors and message of a communication", func(r opRow) any { return r.Shape }),
	opColumn("dtype", result.None, "number type of the rate it computes at", func(r opRow) any { return r.DType }),
	opColumn("flops", result.Flop, "operations of one execution", func(r opRow) any { return r.Flops }),
	opColumn("bytes", result.Bytes, "what one execution reads and writes in device memory, buffers of communication included", func(r opRow) any { return r.Bytes }),
	opColumn("flops_time", result.Seconds, "time of the operations alone", func(r opRow) any { return r.FlopsTime }),
	opColumn("mem_time", result.Seconds, "time of that traffic alone", func(r opRow) any { return r.MemTime }),
	opColumn("static_latency", result.Seconds, "of `process_time`, what is left on a chip of unlimited rates: launches, floors of kernels, hops of the network", func(r opRow) any { return r.Static }),
	opColumn("process_time", result.Seconds, "what one execution adds to the step. 0 where it is hidden, or done by the kernel of another operator", func(r opRow) any { return r.ProcessTime }),
	opColumn("bound", result.None, "what most of it is: compute, memory, network, static latency, hidden, waiting", func(r opRow) any { return r.Bound }),
	opColumn("utilisation", result.None, "share of the peak of the engine, or of the memory bandwidth where memory bounds it, fused operators included; empty for communication", func(r opRow) any {
		if u, ok := r.Utilisation(); ok {
			return u
		}
		return nil
	}),
	opColumn("repeat", result.None, "executions in a step, one after another: layers × stages × micro-batches", func(r opRow) any { return r.Repeat }),
	opColumn("start", result.Seconds, "start of the first execution, from the start of the step", func(r opRow) any { return r.Start }),
	opColumn("end", result.Seconds, "end of the last one", func(r opRow) any { return r.End }),
	opColumn("lane", result.None, "what it runs on: matrix, vector, a level of the network, second tier; or waiting", func(r opRow) any { return r.Lane }),
	opColumn("sent", result.Bytes, "what one execution sends", func(r opRow) any { return r.Sent }),
	opColumn("busy_time", result.Seconds, "how long one execution keeps its lane busy, hidden or not", func(r opRow) any { return r.Busy }),
}

var phaseNames = [op.PhaseCount]string{op.Prefill: "prefill", op.Decode: "decode"}

// WriteOps writes the table of operators of a record: a row for each of both phases.
func WriteOps(w io.Writer, r *result.Record) error {
	t := table.Table[opRow]{Columns: OpColumns}
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		if side := r.Sides[phase]; side != nil {
			for i := range side.Ops {
				t.Rows = append(t.Rows, opRow{phase, &side.Ops[i]})
			}
		}
	}
	return t.Write(w, table.CSV)
}
