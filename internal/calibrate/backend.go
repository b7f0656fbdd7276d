package calibrate

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Engines have several kernels of attention, and a server may be told which to take. Tables of engines name what they ran.

// attention is the slots of which there are kernels of several names.
var attention = []kernel.Slot{kernel.Prefill, kernel.LatentPrefill, kernel.Decode, kernel.LatentDecode}

// softwareNames are other names of kernels in tables: those of SGLang say flash_attention where FlashAttentionBackend ran, which
// --attention-backend fa3 chooses (ai-dynamo/aiconfigurator, collector/sglang/collect_mla.py).
var softwareNames = map[string]string{"flash_attention": "fa3"}

// softwareOf is the name of the kernels of attention that a row is of; empty of others.
func softwareOf(r *measurement.Row) string {
	if !slices.Contains(attention, r.Kind) {
		return ""
	}
	name := strings.TrimPrefix(r.Label("kernel"), "sglang_")
	return cmp.Or(softwareNames[name], name)
}

// software is that of the rows of a result.
func (r *Result) software() string { return cmp.Or(r.derived, softwareOf(r.row)) }

// named reports whether a result counts for those who ask for its software by name. That software is slow is no reason to leave it
// out then, as it is for kernels that are taken unasked; but kernels of latent attention that are doubtful did other work than
// engines have them do.
func (r *Result) named() bool {
	return r.Doubt == "" || r.Reason != "" || r.slow && (r.slot == kernel.Prefill || r.slot == kernel.Decode)
}

// putBy adds the model of a result under the name of its software, and notes it where the model is the one that is taken unasked.
func putBy(set *kernel.Set, r *Result, software string) {
	key := keyOf(r.row)
	if set.Model(r.slot, key) == r.model {
		set.By(r.slot, key, software)
	}
	set.Put(r.slot, kernel.KeyBy(key, software), r.model, missed(r.row, &r.Validation))
}

// once takes out what a set has under the name of its software and is there without it.
func once(set *kernel.Set) {
	for _, of := range attention {
		for _, key := range set.Keys(of) {
			if plain := kernel.PlainKey(key); plain != key && set.SoftwareOf(of.Section(), plain) == set.SoftwareOf(of.Section(), key) {
				set.Drop(of, key)
			}
		}
	}
}

// modules are tables of whole attention layers of DeepSeek-V3, by backend. Their projections are the same whatever the backend, so
// that the times of two backends differ by those of their kernels. What fa3 leaves beside its kernel does not depend on the context
// (33 us with 16 heads and 1024 to 16384 tokens, H100): the difference is that of the kernels indeed.
func (m *measured) modules(folder string) (out []string, err error) {
	for _, pattern := range m.files {
		all, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range all {
			if strings.Contains(name, "wideep_generation_mla") {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// byDifference fits the kernels of latent decode that were measured within whole layers only: beside the kernel of another backend,
// which was measured alone as well.
func byDifference(rows []measurement.Row, modules []measurement.Row, s *hardware.System, set *kernel.Set) []Result {
	type shape struct{ b, s, h int }
	at := func(r *measurement.Row) shape { return shape{int(r.Get("b")), int(r.Get("s")), int(r.Get("h"))} }
	layers := map[string]map[shape]float64{}
	for i := range modules {
		r := &modules[i]
		if layers[softwareOf(r)] == nil {
			layers[softwareOf(r)] = map[shape]float64{}
		}
		layers[softwareOf(r)][at(r)] = r.Seconds
	}
	var out []Result
	for _, software := range slices.Sorted(maps.Keys(layers)) {
		var part []measurement.Row
		for i := range rows {
			r := rows[i]
			alone := softwareOf(&r)
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
		p, ok := peakOf(&part[0], s, 1)
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

// byName says how much longer kernels of other software take than those that are taken unasked, at the shapes that both were measured
// with.
func byName(out *bytes.Buffer, results []Result, set *kernel.Set) {
	for i := range results {
		r := &results[i]
		usual := taken(results, r, set)
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

// taken is the result whose model is taken where no software is asked for, in place of another one.
func taken(results []Result, of *Result, set *kernel.Set) *Result {
	for i := range results {
		if r := &results[i]; r.slot == of.slot && r.Type == of.Type && set.Model(r.slot, keyOf(r.row)) == r.model {
			return r
		}
	}
	return nil
}

// ratios of the times of rows to those of others at the same shapes, in order. Shorter ones than are fitted do not count.
func ratios(rows, others []measurement.Row) (out []float64) {
	shape := subjects[rows[0].Kind].shape
	times := make(map[kernel.Shape]float64, len(others))
	for i := range others {
		times[shape(&others[i])] = others[i].Seconds
	}
	for i := range rows {
		if t := times[shape(&rows[i])]; t > 0 && !tooShort(&rows[i]) {
			out = append(out, rows[i].Seconds/t)
		}
	}
	slices.Sort(out)
	return out
}

// tooShort reports whether a row of attention is shorter than what is fitted.
func tooShort(r *measurement.Row) bool {
	switch r.Kind {
	case kernel.Decode, kernel.LatentDecode:
		return r.Get("s") < leastCache
	case kernel.Prefill, kernel.LatentPrefill:
		return r.Get("s") < fewestNew
	}
	return false
}

// byBackend says how far off kernels of attention are that a set has by name: those of one chip on the tables of another, and those of
// grouped attention on the table of latent attention.
func byBackend(folder string, out *bytes.Buffer, sets map[string]*kernel.Set) error {
	out.WriteString(backends)
	for _, c := range []struct {
		software, from string
		to             measured
	}{
		{"fa3", "H100_SXM", h200Engine}, {"triton", "H100_SXM", h200Engine}, {"flashinfer", "L40S", b200Engine}, {"triton", "L40S", b200Engine},
		{"flashinfer", "B200", l40sEngine}, {"triton", "B200", l40sEngine}, {"triton", "H200", b200Engine},
		{"flashinfer", "B200", gb200Engine}, {"triton", "B200", gb200Engine}, {"triton", "L40S", l40sEngine},
	} {
		s, err := plain(c.to.system)
		if err != nil {
			return err
		}
		names, err := c.to.names(folder)
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !strings.Contains(n, "attention_perf") && !strings.Contains(n, "mla_perf") })
		rows, _, _, err := load(names)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %s | %s |", c.software, c.from, c.to.system)
		for _, of := range []kernel.Slot{kernel.Prefill, kernel.Decode, kernel.LatentDecode} {
			out.WriteString(carriedBy(rows, of, c.software, sets[c.from], s, c.from == c.to.system))
		}
		out.WriteString("\n")
	}
	return nil
}

// carriedBy is the mean error, and the median of predicted to measured times, of the kernels of a software of a set on rows of a kind.
// Latent attention by the kernels of grouped attention: within one chip.
func carriedBy(rows []measurement.Row, of kernel.Slot, software string, set *kernel.Set, s *hardware.System, within bool) string {
	if within != (of == kernel.LatentDecode) {
		return " – |"
	}
	var all []float64
	missed := 0.0
	for i := range rows {
		r := &rows[i]
		if c, ok := classOf(r); !ok || c.slot != of || softwareOf(r) != software || tooShort(r) {
			continue
		}
		slot := of
		if of == kernel.LatentDecode {
			slot = kernel.Decode
		}
		key := kernel.PlainKey(keyOf(r))
		if set.SoftwareOf(slot.Section(), key) != software {
			key = kernel.KeyBy(key, software)
		}
		timing, ok := set.Timing(slot, key)
		p, has := peakOf(r, s, 1)
		if !ok || !has {
			continue
		}
		if of == kernel.LatentDecode {
			timing = kernel.LatentBy(timing)
		}
		shape := subjects[of].shape(r)
		ratio := timing.Seconds(&kernel.Pace{Flop: 1 / p.Rate, Byte: 1 / p.Bandwidth}, &shape) / r.Seconds
		all = append(all, ratio)
		missed += math.Abs(ratio - 1)
	}
	if len(all) == 0 {
		return " – |"
	}
	slices.Sort(all)
	return fmt.Sprintf(" %.0f (×%.2f, %d rows) |", 100*missed/float64(len(all)), all[len(all)/2], len(all))
}

const backends = `
## Attention by backend

Sets hold the attention kernels of all software that was measured on a chip (setting ` + "`attention-backend`" + `): above, the rows of each with their
errors on shapes that the fit did not see, and under "By name" how much longer they take than those that are taken unasked. Slow
software is in the sets for those who ask for it. "By difference" are kernels that were measured within whole layers only: the time
of the layer, less that of the same layer with the backend whose kernel was measured alone as well, and that kernel.

How far off the kernels of one chip are on another, at that one's peaks: mean error in percent, and the median of predicted
to measured times. The last row is of one chip: latent attention in decode by the kernels of grouped attention, which
Triton's kernel treats alike.

| software | from | to | prefill attention | decode attention | latent decode by decode attention |
|---|---|---|--:|--:|--:|
`
