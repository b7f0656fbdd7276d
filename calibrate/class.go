package calibrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/kernel"
	"throughline/measurement"
)

// Result is what calibration reached for one class of kernels.
type Result struct {
	Class   string // gemm, decode, ...
	Kernel  string // the software that was measured, where the table names it
	Type    string // number type; for attention with another type of cache "computed/cached"
	Numbers int    // fitted
	Validation
}

// class is rows that are fitted together.
type class struct {
	name, kernel, numberType string
	nodes                    int // of exchanges
}

// classOf sorts a row into its class; false for rows that no model covers.
func classOf(r *measurement.Row) (class, bool) {
	c := class{kernel: strings.TrimPrefix(r.Label("kernel"), "sglang_"), numberType: r.Type}
	if d := r.Label("dtype"); d == "fp8_block" {
		c.numberType = "float8 blocks"
	} else if strings.HasPrefix(d, "w4a8") {
		c.numberType = computed(r) + "/" + r.Type
	} else if d != "" && hardware.TypeBytes(r.Type) == 0 {
		return c, false
	}
	cached := func() {
		if kv := r.Label("kv"); strings.HasPrefix(kv, "fp8") && r.Type != "float8" {
			c.numberType += "/float8"
		}
	}
	switch r.Kind {
	case measurement.Gemm:
		c.name = "gemm"
	case measurement.GroupedGemm:
		c.name = "grouped gemm"
	case measurement.Experts:
		// With experts spread over ranks the measured kernels also handle tokens of other ranks, and skewed load is
		// another question.
		c.name = "fused experts"
		if tuned(r) {
			c.kernel += " tuned"
		}
		if r.Label("op") != "moe" || r.Get("ep") != 1 || r.Label("distribution") != "balanced" {
			return c, false
		}
	case measurement.Decode:
		c.name = "decode attention"
		cached()
	case measurement.LatentDecode:
		c.name = "latent decode"
		cached()
	case measurement.Prefill:
		c.name = "prefill attention"
		cached()
	case measurement.LatentPrefill:
		c.name = "latent prefill"
		cached()
	case measurement.Absorb:
		c.name = "absorbed products"
	case measurement.ConvPrefill, measurement.ConvDecode:
		c.name = linear[r.Kind]
		if r.Kind == measurement.ConvPrefill && r.Label("version") == loopVersion {
			return c, false
		}
	case measurement.LinearPrefill, measurement.LinearDecode:
		c.name = linear[r.Kind]
	case measurement.AllReduce, measurement.AllGather, measurement.ReduceScatter, measurement.AllToAll:
		c.name = strings.ReplaceAll(string(r.Kind), "_", "-")
	case measurement.AddNorm, measurement.SiluMul, measurement.DeviceCopy, measurement.ToHost, measurement.ToDevice:
		c.name = string(r.Kind)
	case measurement.Dispatch, measurement.Combine, measurement.LowLatencyDispatch, measurement.LowLatencyCombine:
		c.name = exchanges[r.Kind].class
		c.nodes, _ = r.Dim("nodes")
		if n, ok := r.Dim("sms"); ok && n != exchangeUnits {
			return c, false
		}
	default:
		return c, false
	}
	// Windows are another kernel in all but name; whole layers are not kernels.
	if r.Get("window") > 0 || r.Label("gemm_type") != "" {
		return c, false
	}
	return c, true
}

// Classes fits every class of the rows on a system, and adds the models to the set where that has a place for them and
// none yet: the first of several kernels of a class stays. It also says how many rows no model covers.
func Classes(rows []measurement.Row, s *hardware.System, set *kernel.Set) (results []Result, uncovered int) {
	byClass := map[class][]measurement.Row{}
	for i := range rows {
		c, ok := classOf(&rows[i])
		if !ok {
			uncovered++
			continue
		}
		byClass[c] = append(byClass[c], rows[i])
	}
	keys := slices.SortedFunc(maps.Keys(byClass), func(a, b class) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(len(byClass[b]), len(byClass[a])),
			cmp.Compare(a.numberType, b.numberType), cmp.Compare(a.kernel, b.kernel), cmp.Compare(a.nodes, b.nodes))
	})
	for _, c := range keys {
		part := byClass[c]
		numberType, _, _ := strings.Cut(computed(&part[0]), "/")
		p := Peak{Rate: rate(s, numberType) * 1e12, Bandwidth: s.Memory.GBps * 1e9}
		r := Result{Class: c.name, Kernel: c.kernel, Type: c.numberType}
		count := func(b *kernel.Base) { r.Numbers = len(b.Compute.Slowdown) + len(b.Memory.Slowdown) + 1 }
		cache := cacheType(&part[0])
		switch kind := part[0].Kind; kind {
		case measurement.Gemm:
			g, v := Gemm(part, p)
			r.Validation = v
			count(&g.Base)
			put(&set.Gemm, part[0].Type, g, v)
		case measurement.GroupedGemm, measurement.Experts:
			fit := GroupedGemm
			if kind == measurement.Experts {
				fit = Experts
			}
			g, v := fit(part, p)
			r.Validation = v
			count(&g.Base)
			if kind == measurement.Experts {
				put(&set.Experts, part[0].Type, g, v)
			} else {
				put(&set.GroupedGemm, part[0].Type, g, v)
			}
		case measurement.Decode, measurement.LatentDecode:
			g, v := Decode(part, p)
			r.Validation = v
			count(&g.Base)
			if kind == measurement.Decode {
				put(&set.Decode, cache, g, v)
			} else {
				put(&set.LatentDecode, cache, g, v)
			}
		case measurement.Prefill, measurement.LatentPrefill:
			g, v := Prefill(part, p)
			r.Validation = v
			count(&g.Base)
			if kind == measurement.Prefill {
				put(&set.Prefill, part[0].Type, g, v)
			} else {
				put(&set.LatentPrefill, part[0].Type, g, v)
			}
		case measurement.Absorb:
			g, v := Absorb(part, p)
			r.Validation = v
			count(&g.Base)
			put(&set.Absorb, part[0].Type, g, v)
		case measurement.LinearPrefill, measurement.LinearDecode:
			g, v := Linear(part, p)
			r.Validation = v
			count(&g.Base)
			if kind == measurement.LinearDecode {
				put(&set.LinearDecode, "gated_delta", g, v)
			} else {
				put(&set.LinearPrefill, "gated_delta", g, v)
			}
		case measurement.ConvPrefill, measurement.ConvDecode:
			g, v := Convolution(part, p.Bandwidth)
			r.Validation, r.Numbers = v, len(g.Memory.Slowdown)+1
			if kind == measurement.ConvDecode {
				put(&set.Convolution, "decode", g, v)
			} else {
				put(&set.Convolution, "prefill", g, v)
			}
		case measurement.AddNorm, measurement.SiluMul:
			g, v := Curve(part, p.Bandwidth)
			r.Validation, r.Numbers = v, len(g.Memory.Slowdown)+1
			put(&set.Elementwise, string(kind), g, v)
		case measurement.DeviceCopy:
			g, v := Curve(part, p.Bandwidth)
			r.Validation, r.Numbers = v, len(g.Memory.Slowdown)+1
			put(&set.Copy, string(kind), g, v)
		case measurement.ToHost, measurement.ToDevice:
			if s.Memory2 == nil {
				uncovered += len(part)
				continue
			}
			g, v := Curve(part, s.Memory2.GBps*1e9)
			r.Validation, r.Numbers = v, len(g.Memory.Slowdown)+1
			put(&set.Copy, fmt.Sprint(kind, " ", c.numberType), g, v)
		case measurement.Dispatch, measurement.Combine, measurement.LowLatencyDispatch, measurement.LowLatencyCombine:
			network := 0
			if c.nodes > 1 {
				network = 1
			}
			if network >= len(s.Networks) {
				uncovered += len(part)
				continue
			}
			g, v := Exchange(part, s.Networks[network].Bandwidth*1e9)
			r.Validation, r.Numbers = v, len(g.Memory.Slowdown)+1
			r.Kernel = fmt.Sprintf("%s, nodes: %d", c.kernel, c.nodes)
			addExchange(set, kind, g)
		default:
			g, v := Collective(part, s.Networks[0].Bandwidth*1e9)
			r.Validation, r.Numbers = v, len(g.Memory.Slowdown)+1
			put(&set.Collective, collectiveKey(&part[0]), g, v)
		}
		if r.Fitted.Rows == 0 { // all of them faster than the peaks allow, or too short
			uncovered += len(part)
			continue
		}
		results = append(results, r)
	}
	noteErrors(results, set)
	return results, uncovered
}

// errorKinds are the classes whose errors a set carries: the kind of kernel, and its key where that is not the number type.
var errorKinds = map[string]struct{ kind, key string }{
	"gemm": {"gemm", ""}, "grouped gemm": {"grouped_gemm", ""}, "fused experts": {"experts", ""},
	"decode attention": {"decode", ""}, "latent decode": {"latent_decode", ""},
	"prefill attention": {"prefill", ""}, "latent prefill": {"latent_prefill", ""},
	"absorbed products": {"absorb", ""}, "linear prefill": {"linear_prefill", "gated_delta"}, "linear decode": {"linear_decode", "gated_delta"},
	"convolution in prefill": {"convolution", "prefill"}, "convolution in decode": {"convolution", "decode"},
	"add_rmsnorm": {"elementwise", "add_rmsnorm"}, "silu_mul": {"elementwise", "silu_mul"},
	"all-reduce": {"collective", "all_reduce"}, "all-gather": {"collective", "all_gather"},
	"reduce-scatter": {"collective", "reduce_scatter"}, "all-to-all": {"collective", "all2all"},
	"dispatch": {"exchange", "dispatch_normal"}, "combine": {"exchange", "combine_normal"},
	"low-latency dispatch": {"exchange", "dispatch_low_latency"}, "low-latency combine": {"exchange", "combine_low_latency"},
}

// linear is the classes of linear attention.
var linear = map[measurement.Kind]string{
	measurement.ConvPrefill: "convolution in prefill", measurement.ConvDecode: "convolution in decode",
	measurement.LinearPrefill: "linear prefill", measurement.LinearDecode: "linear decode",
}

// noteErrors gives the set the errors of its models on shapes that the fits did not see, those of the first of a number
// type, which the set keeps. Where no shape was held out, the error on the largest sizes stands for it.
func noteErrors(results []Result, set *kernel.Set) {
	for _, r := range results {
		at, ok := errorKinds[r.Class]
		if !ok {
			continue
		}
		key := at.key
		if key == "" {
			key = strings.TrimSuffix(r.Type, " blocks")
			// Attention in decode goes by the type of the cache.
			if _, cache, mixed := strings.Cut(key, "/"); mixed && (at.kind == "decode" || at.kind == "latent_decode") {
				key = cache
			}
		}
		e := r.Shapes
		if e.Rows == 0 {
			e = r.Largest
		}
		if set.Errors == nil {
			set.Errors = map[string]float64{}
		}
		if _, known := set.Errors[at.kind+"."+key]; !known && e.Rows > 0 {
			set.Errors[at.kind+"."+key] = digits(e.Mean / 100)
		}
	}
}

// collectives are the names of the patterns in the system format.
var collectives = map[measurement.Kind]string{
	measurement.AllReduce: "all_reduce", measurement.AllGather: "all_gather",
	measurement.ReduceScatter: "reduce_scatter", measurement.AllToAll: "all2all",
}

// collectiveKey is the key of the model of a pattern: kernels of an engine, for small messages, have one of their own.
func collectiveKey(r *measurement.Row) string {
	if k := r.Label("kernel"); k != "" && k != "NCCL" {
		return collectives[r.Kind] + "_custom"
	}
	return collectives[r.Kind]
}

// put adds a model that is not there yet and was fitted to something.
func put[V any](m *map[string]*V, key string, model *V, fit Validation) {
	if fit.Fitted.Rows == 0 {
		return
	}
	if *m == nil {
		*m = map[string]*V{}
	}
	if (*m)[key] == nil {
		(*m)[key] = model
	}
}

// rate of a number type in T operations per second; kernels that only store in a type compute in bfloat16.
func rate(s *hardware.System, numberType string) float64 {
	if m, ok := s.Matrix[numberType]; ok {
		return m.TFlops
	}
	return s.Matrix["bfloat16"].TFlops
}
