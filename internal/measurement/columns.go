package measurement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/hardware/kernel"
)

// operations translates op_name.
var operations = map[string]kernel.Slot{
	"gemm": kernel.Gemm, "moe": kernel.Experts, "moe_context": kernel.DispatchedExperts, "moe_generation": kernel.DispatchedExperts,
	"context_attention": kernel.Prefill, "generation_attention": kernel.Decode,
	"mla_context": kernel.LatentPrefill, "mla_generation": kernel.LatentDecode, "mla_gen_pre": kernel.Absorb, "mla_gen_post": kernel.Absorb,
	"gdn":        kernel.LinearPrefill, // or another kind of linear attention: linearKind
	"all_reduce": kernel.AllReduce, "all_gather": kernel.AllGather, "reduce_scatter": kernel.ReduceScatter, "alltoall": kernel.AllToAll,
	"ll": kernel.DispatchLowLatency, "normal": kernel.DispatchNormal,
}

// columnDims maps columns to dimensions, columnLabels those of text; other columns are dropped.
var columnDims = map[string]string{
	"m": "m", "n": "n", "k": "k",
	"batch_size": "b", "isl": "s", "num_heads": "h", "num_key_value_heads": "hk", "head_dim": "d",
	"window_size": "window", "step": "step", "tp_size": "tp",
	"num_tokens": "tokens", "num_token": "tokens", "hidden_size": "hidden", "inter_size": "inter", "topk": "topk",
	"num_topk": "topk", "num_experts": "experts", "moe_tp_size": "tp", "moe_ep_size": "ep",
	"num_gpus": "group", "message_size": "n", "node_num": "nodes", "dispatch_sms": "sms",
	"seq_len": "s", "num_k_heads": "hk", "head_k_dim": "dk", "num_v_heads": "h", "head_v_dim": "dv", "d_conv": "conv",
}

var columnLabels = map[string]string{
	"kernel_source": "kernel", "kv_cache_dtype": "kv", "distribution": "distribution", "op_name": "op",
	"gemm_type": "gemm_type", "implementation": "implementation", "device": "device", "version": "version",
}

// typeColumns hold the number type.
var typeColumns = []string{"gemm_dtype", "attn_dtype", "mla_dtype", "moe_dtype", "nccl_dtype", "allreduce_dtype", "bmm_dtype"}

// times are columns of times: one in most files, one per direction in those of expert exchanges.
var times = []struct {
	column string
	unit   float64
	kind   kernel.Slot // where it is not that of the row
	plus   string      // column of time that belongs to it
}{
	{"latency", 1e-3, kernel.None, ""},
	{"dispatch_avg_t_us", 1e-6, kernel.DispatchLowLatency, ""}, {"combine_avg_t_us", 1e-6, kernel.CombineLowLatency, ""},
	// Ranks first announce what will come; across nodes some of the sending happens in that time.
	{"dispatch_transmit_us", 1e-6, kernel.DispatchNormal, "dispatch_notify_us"}, {"combine_transmit_us", 1e-6, kernel.CombineNormal, "combine_notify_us"},
}

// perNode is the GPUs of a node: with four on Grace boards and eight elsewhere, large exchanges
// take as long as copying their tokens, whatever the number of experts per token.
func perNode(device string) int {
	if strings.Contains(device, "GB200") || strings.Contains(device, "GB300") {
		return 4
	}
	return 8
}

// linearKind is what a kernel of linear attention does, which the tables call by one name.
func linearKind(source, phase string) (kernel.Slot, error) {
	i := slices.Index([]string{"context", "generation"}, phase)
	if i < 0 {
		return kernel.None, fmt.Errorf("unknown phase %q", phase)
	}
	switch {
	case strings.HasPrefix(source, "causal_conv1d"):
		return [...]kernel.Slot{kernel.ConvolutionPrefill, kernel.ConvolutionDecode}[i], nil
	case strings.Contains(source, "delta_rule"):
		return [...]kernel.Slot{kernel.LinearPrefill, kernel.LinearDecode}[i], nil
	}
	return kernel.None, fmt.Errorf("unknown kernel %q of linear attention", source)
}

// absorbed is the n and k of latent attention's per-head products, before and after attention.
var absorbed = map[string][2]int{"mla_gen_pre": {512, 128}, "mla_gen_post": {128, 512}}

// columns locates the fields of the schema with a column per dimension; -1 is an absent column.
type columns struct {
	head                                    []string
	dims, labels                            []int // of the layout's dimensions and labels
	operation, numbers, kernel, phase, node int
	times                                   []timeAt

	// plain is the layout of most rows. Those of others have dimensions that follow from the rest.
	plain, prefill, exchange, products layout
	// Dimensions of the layout.
	headDim, length, step, nodes, message int
}

// timeAt is a column of times.
type timeAt struct {
	column int
	of     int // in times
}

// newColumns reads the schema with a column per dimension.
func newColumns(head []string) (func([]string) ([]Row, error), error) {
	c := &columns{
		head: head, operation: slices.Index(head, "op_name"), numbers: -1, kernel: slices.Index(head, "kernel_source"),
		phase: slices.Index(head, "phase"), node: slices.Index(head, "device"),
	}
	for i, name := range head {
		if d, ok := columnDims[name]; ok {
			c.plain.dims, c.dims = append(c.plain.dims, d), append(c.dims, i)
		}
		if n, ok := columnLabels[name]; ok {
			c.plain.labels, c.labels = append(c.plain.labels, n), append(c.labels, i)
		}
		if slices.Contains(typeColumns, name) {
			c.numbers = i
		}
	}
	c.plain.labels = append(c.plain.labels, "dtype")
	for i, t := range times {
		if at := slices.Index(head, t.column); at >= 0 {
			c.times = append(c.times, timeAt{at, i})
		}
	}
	if c.times == nil {
		return nil, fmt.Errorf("no column latency")
	}
	dim := func(name string) int { return slices.Index(c.plain.dims, name) }
	c.headDim, c.length, c.step, c.nodes, c.message = dim("d"), dim("s"), dim("step"), dim("nodes"), dim("n")
	with := func(more ...string) layout {
		return layout{append(slices.Clone(c.plain.dims), more...), c.plain.labels}
	}
	c.prefill, c.exchange, c.products = with("dq", "dv"), with("ranks"), with("n", "k")
	return c.read, nil
}

// read is the rows of a record: one for each of its times.
func (c *columns) read(rec []string) ([]Row, error) {
	kind, ok := operations[rec[c.operation]]
	if !ok {
		return nil, fmt.Errorf("operation %q is not modelled", rec[c.operation])
	}
	r := Row{Kind: kind, layout: &c.plain}
	r.dims = make([]int, len(c.dims), len(c.dims)+2)
	for i, at := range c.dims {
		n, err := integer(c.head[at], rec[at])
		if err != nil {
			return nil, err
		}
		r.dims[i] = n
	}
	r.labels = make([]string, len(c.plain.labels))
	for i, at := range c.labels {
		r.labels[i] = rec[at]
	}
	if c.numbers >= 0 {
		r.Type = numberType(rec[c.numbers])
		r.labels[len(c.labels)] = rec[c.numbers]
	}
	if err := c.complete(&r, rec); err != nil {
		return nil, err
	}
	for _, n := range needs[r.Kind] {
		if v, ok := r.Dim(n); !ok || v == 0 {
			return nil, fmt.Errorf("%s without %s", r.Kind, n)
		}
	}
	return c.timed(r, rec)
}

// complete adds the dimensions of a kind that follow from the others.
func (c *columns) complete(r *Row, rec []string) (err error) {
	switch r.Kind {
	case kernel.Prefill:
		// Attention with one width for keys and values gets both names.
		if c.headDim >= 0 {
			r.layout = &c.prefill
			r.dims = append(r.dims, r.dims[c.headDim], r.dims[c.headDim])
		}
	case kernel.Decode, kernel.LatentDecode:
		// The context is what was there and the new token.
		if c.length >= 0 && c.step >= 0 {
			r.dims[c.length] += r.dims[c.step]
		}
	case kernel.Absorb:
		w := absorbed[rec[c.operation]]
		r.layout, r.dims = &c.products, append(r.dims, w[0], w[1])
	case kernel.LinearPrefill:
		if c.kernel < 0 || c.phase < 0 {
			return fmt.Errorf("linear attention without its kernel or phase")
		}
		r.Kind, err = linearKind(rec[c.kernel], rec[c.phase])
	case kernel.DispatchNormal, kernel.DispatchLowLatency:
		if c.nodes >= 0 && c.node >= 0 {
			r.layout = &c.exchange
			r.dims = append(r.dims, r.dims[c.nodes]*perNode(rec[c.node]))
		}
	case kernel.AllReduce, kernel.AllGather, kernel.ReduceScatter, kernel.AllToAll:
		// Messages are counted in elements, of two bytes unless they are int8.
		if r.Type != "int8" && c.message >= 0 {
			r.dims[c.message] *= 2
		}
	}
	return err
}

// timed is a row for each of the times of a record.
func (c *columns) timed(r Row, rec []string) ([]Row, error) {
	var rows []Row
	for _, at := range c.times {
		t := &times[at.of]
		v, err := seconds(rec[at.column], t.unit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.column, err)
		}
		if at := slices.Index(c.head, t.plus); at >= 0 {
			more, err := strconv.ParseFloat(rec[at], 64)
			if err != nil || !(more >= 0) || math.IsInf(more, 1) {
				return nil, fmt.Errorf("%s: time %q is not a number of at least 0", t.plus, rec[at])
			}
			v += more * t.unit
		}
		r.Seconds = v
		if t.kind != kernel.None {
			r.Kind = t.kind
		}
		rows = append(rows, r)
	}
	return rows, nil
}
