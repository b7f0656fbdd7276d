package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"throughline/estimate"
	"throughline/internal/result"
	"throughline/op"
)

// OpColumn is a column of the table of operators.
type OpColumn struct {
	Name  string
	Unit  result.Unit
	Doc   string
	value func(o *estimate.Operator) any
}

// OpColumns are those behind the phase. Where the reference tool has a word for something, it is the same.
var OpColumns = []OpColumn{
	{"name", result.None, "the operator", func(o *estimate.Operator) any { return o.Name }},
	{"block", result.None, "attention, mlp, draft, ends (embedding, output projection, sampling), pipeline, host or memory", func(o *estimate.Operator) any { return o.Block }},
	{"engine", result.None, "cube, vector or comm; empty where the step waits", func(o *estimate.Operator) any { return o.Peak.Engine }},
	{"shape", result.None, "m, n and k of a product (tokens, outputs, inputs); processors and message of a communication", func(o *estimate.Operator) any { return opShape(o) }},
	{"dtype", result.None, "number type of the rate it computes at", func(o *estimate.Operator) any { return o.Peak.DType }},
	{"flops", result.Flop, "operations of one execution", func(o *estimate.Operator) any { return o.Flops }},
	{"bytes", result.Bytes, "what one execution reads and writes in device memory, buffers of communication included", func(o *estimate.Operator) any { return o.Bytes() }},
	{"flops_time", result.Seconds, "time of the operations alone", func(o *estimate.Operator) any { return o.Compute }},
	{"mem_time", result.Seconds, "time of that traffic alone", func(o *estimate.Operator) any { return o.Memory }},
	{"static_latency", result.Seconds, "of `process_time`, what is left on a chip of unlimited rates: launches, floors of kernels, hops of the network", func(o *estimate.Operator) any { return o.Static }},
	{"process_time", result.Seconds, "what one execution adds to the step. 0 where it is hidden, or done by the kernel of another operator", func(o *estimate.Operator) any { return o.Exposed }},
	{"bound", result.None, "what most of it is: compute, memory, network, static latency, hidden, waiting", func(o *estimate.Operator) any { return opBound(o) }},
	{"utilisation", result.None, "share of the peak of the engine, or of the memory bandwidth where memory bounds it, fused operators included; empty for communication", func(o *estimate.Operator) any {
		if u := o.Utilisation(); u > 0 {
			return u
		}
		return nil
	}},
	{"repeat", result.None, "executions in a step, one after another: layers × stages × micro-batches", func(o *estimate.Operator) any { return o.Times }},
	{"start", result.Seconds, "start of the first execution, from the start of the step", func(o *estimate.Operator) any { return o.Start }},
	{"end", result.Seconds, "end of the last one", func(o *estimate.Operator) any { return o.End }},
	{"lane", result.None, "what it runs on: matrix, vector, a level of the network, second tier; or waiting", func(o *estimate.Operator) any { return o.Lane.String() }},
	{"sent", result.Bytes, "what one execution sends", func(o *estimate.Operator) any { return o.Sent }},
	{"busy_time", result.Seconds, "how long one execution keeps its lane busy, hidden or not", func(o *estimate.Operator) any { return o.Time }},
}

// opShape is the product that an operator is, or the message that it sends.
func opShape(o *estimate.Operator) string {
	switch {
	case o.Class == op.Comm && o.Group > 1 && o.Moved > 0:
		return fmt.Sprintf("group=%d bytes=%s", o.Group, strconv.FormatFloat(o.Moved, 'f', -1, 64))
	case o.Class != op.Comm && o.M > 0 && o.N > 0 && o.K > 0:
		return fmt.Sprintf("m=%.6g n=%.6g k=%.6g", o.M, o.N, o.K)
	}
	return ""
}

// opBound names what most of the time of an operator is.
func opBound(o *estimate.Operator) string {
	switch {
	case o.Waits():
		return "waiting"
	case o.Computes() && o.Static > o.Exposed/2:
		return "static latency"
	}
	return o.BoundBy()
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
		if side == nil || !side.Found {
			continue
		}
		for i := range side.Step.Operators {
			line = append(line[:0], name...)
			for j := range OpColumns {
				line = appendCell(append(line, ','), OpColumns[j].value(&side.Step.Operators[i]))
			}
			b.Write(append(line, '\n'))
		}
	}
	return b.Flush()
}
