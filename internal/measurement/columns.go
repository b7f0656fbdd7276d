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

// columnDims translates the columns of dimensions, columnLabels those of text. What is in neither is not kept.
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

// times are the columns of times: most files have one, those of expert exchanges one for each direction.
var times = []struct {
	column string
	unit   float64
	kind   kernel.Slot // where it is not that of the row
	plus   string      // column of time that belongs to it
}{
	{"latency", 1e-3, kernel.None, ""},
	{"dispatch_avg_t_us", 1e-6, kernel.DispatchLowLatency, ""}, {"combine_avg_t_us", 1e-6, kernel.CombineLowLatency, ""},
	// Ranks first tell each other what will come; over nodes some of the sending happens in that time.
	{"dispatch_transmit_us", 1e-6, kernel.DispatchNormal, "dispatch_notify_us"}, {"combine_transmit_us", 1e-6, kernel.CombineNormal, "combine_notify_us"},
}

// perNode is the GPUs of a node. With four on the boards of Grace systems and eight on others, large exchanges take as
// long as the copies of their tokens do, whatever the number of experts per token.
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

// absorbed is the widths n and k of the products of every head that latent attention absorbs: queries before attention,
// its results behind.
var absorbed = map[string][2]int{"mla_gen_pre": {512, 128}, "mla_gen_post": {128, 512}}

// newColumns reads the schema with a column per dimension.
func newColumns(head []string) (func([]string) ([]Row, error), error) {
	var l layout
	var dimAt, labelAt []int
	typeAt, opAt := -1, slices.Index(head, "op_name")
	for i, c := range head {
		if d, ok := columnDims[c]; ok {
			l.dims, dimAt = append(l.dims, d), append(dimAt, i)
		}
		if n, ok := columnLabels[c]; ok {
			l.labels, labelAt = append(l.labels, n), append(labelAt, i)
		}
		if slices.Contains(typeColumns, c) {
			typeAt = i
		}
	}
	l.labels = append(l.labels, "dtype")
	var timeAt []int
	for i, t := range times {
		if at := slices.Index(head, t.column); at >= 0 {
			timeAt = append(timeAt, at, i)
		}
	}
	if timeAt == nil {
		return nil, fmt.Errorf("no column latency")
	}
	// Attention with one width for keys and values gets both names; the context of decode is what was there and the new
	// token.
	headDim, length, step := slices.Index(l.dims, "d"), slices.Index(l.dims, "s"), slices.Index(l.dims, "step")
	prefill := layout{append(slices.Clone(l.dims), "dq", "dv"), l.labels}
	nodes, device := slices.Index(l.dims, "nodes"), slices.Index(head, "device")
	exchange := layout{append(slices.Clone(l.dims), "ranks"), l.labels}
	products := layout{append(slices.Clone(l.dims), "n", "k"), l.labels}
	kernelAt, phaseAt := slices.Index(head, "kernel_source"), slices.Index(head, "phase")

	return func(rec []string) ([]Row, error) {
		kind, ok := operations[rec[opAt]]
		if !ok {
			return nil, fmt.Errorf("operation %q is not modelled", rec[opAt])
		}
		r := Row{Kind: kind, layout: &l}
		r.dims = make([]int, len(dimAt), len(dimAt)+2)
		for i, at := range dimAt {
			n, err := integer(head[at], rec[at])
			if err != nil {
				return nil, err
			}
			r.dims[i] = n
		}
		r.labels = make([]string, len(l.labels))
		for i, at := range labelAt {
			r.labels[i] = rec[at]
		}
		if typeAt >= 0 {
			r.Type = numberType(rec[typeAt])
			r.labels[len(labelAt)] = rec[typeAt]
		}
		switch kind {
		case kernel.Prefill:
			if headDim >= 0 {
				r.layout = &prefill
				r.dims = append(r.dims, r.dims[headDim], r.dims[headDim])
			}
		case kernel.Decode, kernel.LatentDecode:
			if length >= 0 && step >= 0 {
				r.dims[length] += r.dims[step]
			}
		case kernel.Absorb:
			w := absorbed[rec[opAt]]
			r.layout, r.dims = &products, append(r.dims, w[0], w[1])
		case kernel.LinearPrefill:
			if kernelAt < 0 || phaseAt < 0 {
				return nil, fmt.Errorf("linear attention without its kernel or phase")
			}
			var err error
			if kind, err = linearKind(rec[kernelAt], rec[phaseAt]); err != nil {
				return nil, err
			}
			r.Kind = kind
		case kernel.DispatchNormal, kernel.DispatchLowLatency:
			if nodes >= 0 && device >= 0 {
				r.layout = &exchange
				r.dims = append(r.dims, r.dims[nodes]*perNode(rec[device]))
			}
		case kernel.AllReduce, kernel.AllGather, kernel.ReduceScatter, kernel.AllToAll:
			// Messages are counted in elements.
			if r.Type != "int8" {
				if i := slices.Index(l.dims, "n"); i >= 0 {
					r.dims[i] *= 2
				}
			}
		}
		for _, n := range needs[kind] {
			if v, ok := r.Dim(n); !ok || v == 0 {
				return nil, fmt.Errorf("%s without %s", kind, n)
			}
		}
		var rows []Row
		for i := 0; i < len(timeAt); i += 2 {
			t := times[timeAt[i+1]]
			v, err := seconds(rec[timeAt[i]], t.unit)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.column, err)
			}
			if at := slices.Index(head, t.plus); at >= 0 {
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
	}, nil
}
