package calibrate

import (
	"strings"

	"throughline/kernel"
	"throughline/measurement"
)

// What a row of measurements says to a model, for fits and for predictions.

// cacheType is the number type of the KV cache.
func cacheType(r *measurement.Row) string {
	if strings.HasPrefix(r.Label("kv"), "fp8") {
		return "float8"
	}
	return r.Type
}

// decodeShape is the heads of attention in decode, and the bytes of one token in the cache of one KV head. Latent attention
// has one: keys of 512 elements and 64 rotated ones, of which the first 512 are the values.
func decodeShape(r *measurement.Row) (h kernel.Heads, token float64) {
	element := bytesOf(cacheType(r))
	if r.Kind == measurement.LatentDecode {
		h = kernel.Heads{Query: r.Get("h"), KV: 1, Key: 576, Value: 512}
		return h, h.Key * element
	}
	h = kernel.Heads{Query: r.Get("h"), KV: r.Get("hk"), Key: r.Get("d"), Value: r.Get("d")}
	return h, 2 * h.Key * element
}

// prefillShape is the heads of attention in prefill. Latent attention has keys of 128 elements and 64 rotated ones.
func prefillShape(r *measurement.Row) kernel.Heads {
	if r.Kind == measurement.LatentPrefill {
		return kernel.Heads{Query: r.Get("h"), KV: r.Get("h"), Key: 192, Value: 128}
	}
	return kernel.Heads{Query: r.Get("h"), KV: r.Get("hk"), Key: r.Get("dq"), Value: r.Get("dv")}
}

// linearHeads is the shape of linear attention: query heads are those of values.
func linearHeads(r *measurement.Row) kernel.Heads {
	return kernel.Heads{Query: r.Get("h"), KV: r.Get("hk"), Key: r.Get("dk"), Value: r.Get("dv")}
}

// curveShape is the rows that a kernel moves, and the bytes of each: element-wise operators are of bfloat16, copies within
// the device read and write, and so do convolutions queries, keys and values.
func curveShape(r *measurement.Row) (rows, bytes float64) {
	switch r.Kind {
	case measurement.AddNorm:
		return r.Get("m"), 4 * 2 * r.Get("h")
	case measurement.SiluMul:
		return 1, 3 * 2 * r.Get("m") * r.Get("i")
	case measurement.DeviceCopy:
		return 1, 2 * r.Get("n")
	case measurement.ConvPrefill, measurement.ConvDecode:
		h := linearHeads(r)
		return 1, 2 * 2 * r.Get("b") * r.Get("s") * (2*h.KV*h.Key + h.Query*h.Value)
	}
	return 1, r.Get("n")
}
