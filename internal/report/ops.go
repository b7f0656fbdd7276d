package report

import (
	"bufio"
	"io"

	"throughline/internal/opdetail"
	"throughline/internal/result"
	"throughline/op"
)

// OpColumn is a column of the table of operators.
type OpColumn struct {
	Name  string
	Unit  result.Unit
	Doc   string
	value func(r *opdetail.Row) any
}

// OpColumns are those behind the phase. Where the reference tool has a word for something, it is the same.
var OpColumns = []OpColumn{
	{"name", result.None, "the operator", func(r *opdetail.Row) any { return r.Name }},
	{"block", result.None, "attention, mlp, draft, ends (embedding, output projection, sampling), pipeline, host or memory", func(r *opdetail.Row) any { return r.Block }},
	{"engine", result.None, "cube, vector or comm; empty where the step waits", func(r *opdetail.Row) any { return r.Engine }},
	{"shape", result.None, "m, n and k of a product (tokens, outputs, inputs); processors and message of a communication", func(r *opdetail.Row) any { return r.Shape }},
	{"dtype", result.None, "number type of the rate it computes at", func(r *opdetail.Row) any { return r.DType }},
	{"flops", result.Flop, "operations of one execution", func(r *opdetail.Row) any { return r.Flops }},
	{"bytes", result.Bytes, "what one execution reads and writes in device memory, buffers of communication included", func(r *opdetail.Row) any { return r.Bytes }},
	{"flops_time", result.Seconds, "time of the operations alone", func(r *opdetail.Row) any { return r.FlopsTime }},
	{"mem_time", result.Seconds, "time of that traffic alone", func(r *opdetail.Row) any { return r.MemTime }},
	{"static_latency", result.Seconds, "of `process_time`, what is left on a chip of unlimited rates: launches, floors of kernels, hops of the network", func(r *opdetail.Row) any { return r.Static }},
	{"process_time", result.Seconds, "what one execution adds to the step. 0 where it is hidden, or done by the kernel of another operator", func(r *opdetail.Row) any { return r.ProcessTime }},
	{"bound", result.None, "what most of it is: compute, memory, network, static latency, hidden, waiting", func(r *opdetail.Row) any { return r.Bound }},
	{"utilisation", result.None, "share of the peak of the engine, or of the memory bandwidth where memory bounds it, fused operators included; empty for communication", func(r *opdetail.Row) any {
		if u, ok := r.Utilisation(); ok {
			return u
		}
		return nil
	}},
	{"repeat", result.None, "executions in a step, one after another: layers × stages × micro-batches", func(r *opdetail.Row) any { return r.Repeat }},
	{"start", result.Seconds, "start of the first execution, from the start of the step", func(r *opdetail.Row) any { return r.Start }},
	{"end", result.Seconds, "end of the last one", func(r *opdetail.Row) any { return r.End }},
	{"lane", result.None, "what it runs on: matrix, vector, a level of the network, second tier; or waiting", func(r *opdetail.Row) any { return r.Lane }},
	{"sent", result.Bytes, "what one execution sends", func(r *opdetail.Row) any { return r.Sent }},
	{"busy_time", result.Seconds, "how long one execution keeps its lane busy, hidden or not", func(r *opdetail.Row) any { return r.Busy }},
}

var phaseNames = [op.PhaseCount]string{op.Prefill: "prefill", op.Decode: "decode"}

// WriteOps writes the table of operators of a record: a row for each of both phases.
func WriteOps(w io.Writer, r *result.Record) error {
	b := bufio.NewWriter(w)
	b.WriteString("phase")
	for i := range OpColumns {
		b.WriteByte(',')
		b.WriteString(OpColumns[i].Name)
	}
	b.WriteByte('\n')
	var line []byte
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		side, name := r.Sides[phase], phaseNames[phase]
		if side == nil {
			continue
		}
		for i := range side.Ops {
			line = append(line[:0], name...)
			for j := range OpColumns {
				line = appendCell(append(line, ','), OpColumns[j].value(&side.Ops[i]))
			}
			b.Write(append(line, '\n'))
		}
	}
	return b.Flush()
}
