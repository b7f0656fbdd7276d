package calibrate

import (
	"cmp"
	"strings"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// subject is how the rows of one kernel are read, fitted and predicted.
type subject struct {
	// sort refines the class of a row, and says whether the model covers it; nil: it does.
	sort func(*measurement.Row, *class) bool
	// predictsAll: rows that are not fitted are predicted all the same.
	predictsAll bool
	// key of the model in its section, where neither the slot nor the number type is.
	key   func(*measurement.Row) string
	shape func(*measurement.Row) kernel.Shape
	fit   func([]measurement.Row, Peak) (kernel.Model, Validation)
	// best takes the fastest kernel of a key on shared shapes, not the one with most rows.
	best bool
	// join adds a model to one that is there; nil: what is there stays as it is.
	join func(to, from kernel.Model)
}

// subjects are those of all slots. Filled at start: fits look their own up.
var subjects [kernel.SlotCount]subject

func init() {
	subjects = [kernel.SlotCount]subject{
		kernel.Gemm:               gemms,
		kernel.GroupedGemm:        groupedGemms,
		kernel.Experts:            fusedExperts,
		kernel.DispatchedExperts:  dispatchedExperts,
		kernel.Absorb:             absorbed,
		kernel.Decode:             decodes,
		kernel.LatentDecode:       latentDecodes,
		kernel.Prefill:            prefills,
		kernel.LatentPrefill:      latentPrefills,
		kernel.LinearDecode:       linears,
		kernel.LinearPrefill:      linears,
		kernel.ConvolutionDecode:  convolutionsInDecode,
		kernel.ConvolutionPrefill: convolutionsInPrefill,
		kernel.AddNorm:            addNorms,
		kernel.SiluMul:            siluMuls,
		kernel.Quantise:           quantisations,
		kernel.RopeCache:          rotations,
		kernel.TopK:               choices,
		kernel.Align:              alignments,
		kernel.Permute:            permutations,
		kernel.Unpermute:          sums,
		kernel.ArgMax:             nextTokens,
		kernel.DeltaGates:         deltaGates,
		kernel.SiluQuantise:       siluQuantisations,
		kernel.Draw:               nextTokens,
		kernel.DeviceCopy:         deviceCopies,
		kernel.ToHost:             hostCopies,
		kernel.ToDevice:           hostCopies,
		kernel.AllReduce:          collectives,
		kernel.AllGather:          collectives,
		kernel.ReduceScatter:      collectives,
		kernel.AllToAll:           collectives,
		kernel.DispatchNormal:     exchange(kernel.ExchangeModel{Element: 1 + 4./128}),
		kernel.CombineNormal:      exchange(kernel.ExchangeModel{Element: 2}),
		kernel.DispatchLowLatency: exchange(kernel.ExchangeModel{Element: 1 + 4./128, Header: 16, Direct: true}),
		kernel.CombineLowLatency:  exchange(kernel.ExchangeModel{Element: 2, Direct: true}),
	}
}

// KeyOf is the key of the model of a row in its section.
func KeyOf(r *measurement.Row) string {
	if key := subjects[r.Kind].key; key != nil {
		return key(r)
	}
	return cmp.Or(r.Kind.Key(), r.Type)
}

// fitting is a fit whose result is of one kind.
func fitting[M kernel.Model](fit func([]measurement.Row, Peak) (M, Validation)) func([]measurement.Row, Peak) (kernel.Model, Validation) {
	return func(rows []measurement.Row, p Peak) (kernel.Model, Validation) { return fit(rows, p) }
}

// cacheType is the number type of the KV cache.
func cacheType(r *measurement.Row) string {
	if strings.HasPrefix(r.Label("kv"), "fp8") {
		return "float8"
	}
	return r.Type
}

// byCache tells rows of attention apart by the type of their cache.
func byCache(r *measurement.Row, c *class) bool {
	if r.Type != "float8" && cacheType(r) == "float8" {
		c.numberType += "/float8"
	}
	return true
}
