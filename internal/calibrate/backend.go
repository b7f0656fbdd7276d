package calibrate

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Engines have several attention kernels and a server may pick one; tables name the one they ran.

// Attention is the slots of which there are kernels of several names.
var Attention = []kernel.Slot{kernel.Prefill, kernel.LatentPrefill, kernel.Decode, kernel.LatentDecode}

// softwareNames are aliases in tables: SGLang's say flash_attention where FlashAttentionBackend
// ran, which --attention-backend fa3 chooses (ai-dynamo/aiconfigurator,
// collector/sglang/collect_mla.py).
var softwareNames = map[string]string{"flash_attention": "fa3"}

// SoftwareOf is the name of the kernels of attention that a row is of; empty of others.
func SoftwareOf(r *measurement.Row) string {
	if !slices.Contains(Attention, r.Kind) {
		return ""
	}
	name := strings.TrimPrefix(r.Label("kernel"), "sglang_")
	return cmp.Or(softwareNames[name], name)
}

// software is that of the rows of a result.
func (r *Result) software() string { return cmp.Or(r.derived, SoftwareOf(r.row)) }

// named reports whether a result may be asked for by name. Slow software may, but doubtful kernels
// of latent attention may not: they did other work than engines ask of them.
func (r *Result) named() bool {
	return r.Doubt == "" || r.Reason != "" || r.slow && (r.slot == kernel.Prefill || r.slot == kernel.Decode)
}

// putBy adds a model under the name of its software, and records the name if it is the default.
func putBy(set *kernel.Set, r *Result, software string) {
	key := KeyOf(r.row)
	if set.Model(r.slot, key) == r.model {
		set.By(r.slot, key, software)
	}
	set.Put(r.slot, kernel.KeyBy(key, software), r.model, missed(r.row, &r.Validation))
}

// ByDifference fits latent decode kernels measured only within whole layers, by comparing them with
// a backend whose kernel was also measured alone.
func ByDifference(rows []measurement.Row, modules []measurement.Row, s *hardware.System, set *kernel.Set) []Result {
	type shape struct{ b, s, h int }
	at := func(r *measurement.Row) shape { return shape{int(r.Get("b")), int(r.Get("s")), int(r.Get("h"))} }
	layers := map[string]map[shape]float64{}
	for i := range modules {
		r := &modules[i]
		if layers[SoftwareOf(r)] == nil {
			layers[SoftwareOf(r)] = map[shape]float64{}
		}
		layers[SoftwareOf(r)][at(r)] = r.Seconds
	}
	var out []Result
	for _, software := range slices.Sorted(maps.Keys(layers)) {
		var part []measurement.Row
		for i := range rows {
			r := rows[i]
			alone := SoftwareOf(&r)
			if r.Kind != kernel.LatentDecode || cacheType(&r) != r.Type || alone == software {
				continue
			}
			other, one := layers[software][at(&r)], layers[alone][at(&r)]
			if r.Seconds += other - one; other > 0 && one > 0 && r.Seconds > 0 {
				part = append(part, r)
			}
		}
		if len(part) < fewestFound {
			continue
		}
		p, ok := PeakOf(&part[0], s, 1)
		if !ok {
			continue
		}
		m, v := Decode(part, p)
		r := Result{
			Class: kernel.LatentDecode.Name(), Kernel: software + ", by difference", Type: part[0].Type, Numbers: m.Numbers(), Validation: v,
			slot: kernel.LatentDecode, row: &part[0], rows: part, model: m, derived: software,
		}
		putBy(set, &r, software)
		out = append(out, r)
	}
	return out
}

// ByName reports how much longer each named kernel takes than the default at shapes both have.
func ByName(out *bytes.Buffer, results []Result, set *kernel.Set) {
	for i := range results {
		r := &results[i]
		usual := usualModel(results, r, set)
		if usual == nil || r.software() == "" || r.software() == usual.software() || !r.named() {
			continue
		}
		ratios := ratios(r.rows, usual.rows)
		if len(ratios) == 0 {
			fmt.Fprintf(out, "\nBy name: %s %s of %s, at no shape of %s.\n", r.Class, r.Type, r.software(), usual.software())
			continue
		}
		sum := 0.0
		for _, v := range ratios {
			sum += math.Log(v)
		}
		fmt.Fprintf(out, "\nBy name: %s %s of %s takes %.2f times as long as %s at the %d shapes of both (a tenth under %.2f, a tenth over %.2f).\n",
			r.Class, r.Type, r.software(), math.Exp(sum/float64(len(ratios))), usual.software(), len(ratios), ratios[len(ratios)/10], ratios[len(ratios)*9/10])
	}
}

// usualModel is the result whose model is taken where no software is asked for, in place of another
// one.
func usualModel(results []Result, of *Result, set *kernel.Set) *Result {
	for i := range results {
		if r := &results[i]; r.slot == of.slot && r.Type == of.Type && set.Model(r.slot, KeyOf(r.row)) == r.model {
			return r
		}
	}
	return nil
}

// ratios are sorted ratios of times at shapes both have, without rows too short to be fitted.
func ratios(rows, others []measurement.Row) (out []float64) {
	shape := subjects[rows[0].Kind].shape
	times := make(map[kernel.Shape]float64, len(others))
	for i := range others {
		times[shape(&others[i])] = others[i].Seconds
	}
	for i := range rows {
		if t := times[shape(&rows[i])]; t > 0 && !TooShort(&rows[i]) {
			out = append(out, rows[i].Seconds/t)
		}
	}
	slices.Sort(out)
	return out
}

// TooShort reports whether a row of attention is shorter than what is fitted.
func TooShort(r *measurement.Row) bool {
	switch r.Kind {
	case kernel.Decode, kernel.LatentDecode:
		return r.Get("s") < leastCache
	case kernel.Prefill, kernel.LatentPrefill:
		return r.Get("s") < fewestNew
	}
	return false
}
