package measurement

import (
	"fmt"
	"slices"
	"strings"

	"throughline/internal/document"
)

var (
	exchanged = []string{"nodes", "ranks", "hidden", "tokens", "topk", "experts"}
	convolved = []string{"b", "s", "h", "hk", "dk", "dv", "conv"}
)

// needs are the dimensions without which a row says nothing.
var needs = map[Kind][]string{
	Gemm:          {"m", "n", "k"},
	GroupedGemm:   {"experts", "m", "n", "k"},
	Experts:       {"tokens", "hidden", "inter", "topk", "experts", "tp", "ep"},
	Prefill:       {"b", "s", "h", "hk", "dq", "dv"},
	Decode:        {"b", "s", "h", "hk", "d"},
	LatentPrefill: {"b", "s", "h"},
	LatentDecode:  {"b", "s", "h"},
	Absorb:        {"tokens", "h", "n", "k"},
	ConvPrefill:   convolved, ConvDecode: convolved,
	LinearPrefill: convolved[:6], LinearDecode: convolved[:6],
	AddNorm:    {"m", "h"},
	SiluMul:    {"m", "i"},
	DeviceCopy: {"n"}, ToHost: {"n"}, ToDevice: {"n"},
	AllReduce: {"group", "n"}, AllGather: {"group", "n"}, ReduceScatter: {"group", "n"}, AllToAll: {"group", "n"},
	Dispatch: exchanged, Combine: exchanged, LowLatencyDispatch: exchanged, LowLatencyCombine: exchanged,
}

// copied are the kinds whose column dtype says something other than a number type: how the host keeps its memory.
var copied = map[Kind]bool{DeviceCopy: true, ToHost: true, ToDevice: true}

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
		r := Row{Kind: Kind(rec[at["kind"]]), Type: numberType(rec[at["dtype"]])}
		need, ok := needs[r.Kind]
		if !ok {
			return nil, fmt.Errorf("unknown kind %q", r.Kind)
		}
		if !copied[r.Kind] && !slices.Contains(numberTypes, r.Type) {
			return nil, fmt.Errorf("dtype %s", document.NotOneOf(rec[at["dtype"]], []string{"bf16", "fp16", "fp8", "fp4", "fp32", "int8", "int4"}))
		}
		var l layout
		for p := range strings.SplitSeq(rec[at["params"]], ";") {
			name, value, ok := strings.Cut(p, "=")
			if !ok {
				return nil, fmt.Errorf("parameter %q is not name=value", p)
			}
			if slices.Contains(l.dims, name) || slices.Contains(l.labels, name) {
				return nil, fmt.Errorf("parameter %s twice", name)
			}
			if name == "model" || name == "backend" {
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
		for _, n := range need {
			i := slices.Index(l.dims, n)
			if i < 0 {
				return nil, fmt.Errorf("%s without %s", r.Kind, n)
			}
			if r.dims[i] == 0 {
				return nil, fmt.Errorf("%s is 0", n)
			}
		}
		var err error
		if r.Seconds, err = seconds(rec[at["time_us"]], 1e-6); err != nil {
			return nil, err
		}
		key := strings.Join(l.dims, ",") + ";" + strings.Join(l.labels, ",")
		if layouts[key] == nil {
			layouts[key] = &l
		}
		r.layout = layouts[key]
		return []Row{r}, nil
	}, nil
}
