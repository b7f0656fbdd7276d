package measurement

import (
	"fmt"
	"slices"
	"strings"

	"throughline/hardware/kernel"
	"throughline/internal/document"
)

var (
	exchanged = []string{"nodes", "ranks", "hidden", "tokens", "topk", "experts"}
	block     = []string{"tokens", "hidden", "inter", "topk", "experts", "tp", "ep"}
	convolved = []string{"b", "s", "h", "hk", "dk", "dv", "conv"}
)

// needs are the dimensions a row must have. Attention may also have a window and earlier tokens
// (step), and expert blocks a load distribution; n of copies and messages is bytes.
var needs = map[kernel.Slot][]string{
	kernel.Gemm:               {"m", "n", "k"},
	kernel.GroupedGemm:        {"experts", "m", "n", "k"}, // m: rows of each expert
	kernel.Experts:            block,                      // and touched: experts with a token
	kernel.DispatchedExperts:  block,
	kernel.Prefill:            {"b", "s", "h", "hk", "dq", "dv"},
	kernel.Decode:             {"b", "s", "h", "hk", "d"}, // s: the context
	kernel.LatentPrefill:      {"b", "s", "h"},
	kernel.LatentDecode:       {"b", "s", "h"},
	kernel.Absorb:             {"tokens", "h", "n", "k"}, // for every head tokens × k by k × n
	kernel.ConvolutionPrefill: convolved,                 // queries, keys of hk heads, values of h
	kernel.ConvolutionDecode:  convolved,
	kernel.LinearPrefill:      convolved[:6],
	kernel.LinearDecode:       convolved[:6],
	kernel.AddNorm:            {"m", "h"},
	kernel.SiluMul:            {"m", "i"},
	kernel.Quantise:           {"m", "k"},
	kernel.RopeCache:          {"m", "h", "hk", "d"}, // d of 576: latent vector, rotated key
	kernel.TopK:               {"m", "experts", "topk"},
	kernel.Align:              {"m", "experts", "topk"},
	kernel.Permute:            {"m", "h", "topk"},
	kernel.Unpermute:          {"m", "h", "topk"},
	kernel.ArgMax:             {"m", "n"},
	kernel.DeltaGates:         {"m", "h"},
	kernel.SiluQuantise:       {"m", "i"},
	kernel.Draw:               {"m", "n"},
	kernel.DeviceCopy:         {"n"},
	kernel.ToHost:             {"n"}, // the number type says pinned or pageable
	kernel.ToDevice:           {"n"},
	kernel.AllReduce:          {"group", "n"},
	kernel.AllGather:          {"group", "n"},
	kernel.ReduceScatter:      {"group", "n"},
	kernel.AllToAll:           {"group", "n"},
	kernel.DispatchNormal:     exchanged,
	kernel.CombineNormal:      exchanged,
	kernel.DispatchLowLatency: exchanged,
	kernel.CombineLowLatency:  exchanged,
}

// copied are kinds whose dtype column says how the host keeps its memory, not a number type.
var copied = map[kernel.Slot]bool{kernel.DeviceCopy: true, kernel.ToHost: true, kernel.ToDevice: true}

// aliases are other names of kinds in tables of this schema, and of their dimensions.
var aliases = map[string]struct {
	kind kernel.Slot
	dims map[string]string
}{
	"gemm_qkv": {kernel.Gemm, nil}, "gemm_o": {kernel.Gemm, nil}, "lm_head": {kernel.Gemm, nil}, "router_gemm": {kernel.Gemm, nil},
	"quant_fp8_group128": {kernel.Quantise, nil},
	"topk_softmax":       {kernel.TopK, nil},
	"moe_align":          {kernel.Align, nil},
	"moe_sum":            {kernel.Unpermute, map[string]string{"n": "h"}},
	"rope_cache":         {kernel.RopeCache, heads},
	"attn_decode":        {kernel.Decode, heads},
	"silu_mul":           {kernel.SiluMul, map[string]string{"n": "i"}},
	"add_rmsnorm":        {kernel.AddNorm, map[string]string{"n": "h"}},
}

var heads = map[string]string{"heads": "h", "kv_heads": "hk"}

// newParams reads the schema with a column of parameters.
func newParams(head []string) (func([]string) ([]Row, error), error) {
	at := map[string]int{}
	for _, c := range []string{"kind", "dtype", "params", "time_us"} {
		i := slices.Index(head, c)
		if i < 0 {
			return nil, fmt.Errorf("no column %s", c)
		}
		at[c] = i
	}
	layouts := map[string]*layout{}
	return func(rec []string) ([]Row, error) {
		alias, known := aliases[rec[at["kind"]]]
		kind, ok := kernel.Measured(rec[at["kind"]])
		if !ok && !known {
			return nil, fmt.Errorf("unknown kind %q", rec[at["kind"]])
		} else if !ok {
			kind = alias.kind
		}
		from, _, _ := strings.Cut(rec[at["dtype"]], "->") // what is quantised, and to what
		r := Row{Kind: kind, Type: numberType(from)}
		if !copied[r.Kind] && !slices.Contains(numberTypes, r.Type) {
			return nil, fmt.Errorf("dtype %s", document.NotOneOf(rec[at["dtype"]], []string{"bf16", "fp16", "fp8", "fp4", "fp32", "int8", "int4"}))
		}
		l, err := r.readParams(rec[at["params"]], alias.dims)
		if err != nil {
			return nil, err
		}
		if r.Seconds, err = seconds(rec[at["time_us"]], 1e-6); err != nil {
			return nil, err
		}
		key := strings.Join(l.dims, ",") + ";" + strings.Join(l.labels, ",")
		if layouts[key] == nil {
			layouts[key] = l
		}
		r.layout = layouts[key]
		return []Row{r}, nil
	}, nil
}

// readParams reads "m=1;n=2", with the names of an alias for its dimensions, into the row.
func (r *Row) readParams(text string, names map[string]string) (*layout, error) {
	var l layout
	for p := range strings.SplitSeq(text, ";") {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fmt.Errorf("parameter %q is not name=value", p)
		}
		if to, ok := names[name]; ok {
			name = to
		}
		if slices.Contains(l.dims, name) || slices.Contains(l.labels, name) {
			return nil, fmt.Errorf("parameter %s twice", name)
		}
		if name == "model" || name == "backend" || name == "cfg" {
			l.labels = append(l.labels, name)
			r.labels = append(r.labels, value)
			continue
		}
		n, err := integer(name, value)
		if err != nil {
			return nil, err
		}
		l.dims = append(l.dims, name)
		r.dims = append(r.dims, n)
	}
	for _, n := range needs[r.Kind] {
		i := slices.Index(l.dims, n)
		if i < 0 {
			return nil, fmt.Errorf("%s without %s", r.Kind, n)
		}
		if r.dims[i] == 0 {
			return nil, fmt.Errorf("%s is 0", n)
		}
	}
	return &l, nil
}
