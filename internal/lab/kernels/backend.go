package kernels

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/measurement"
)

// once takes out what a set has under the name of its software and is there without it.
func once(set *kernel.Set) {
	for _, of := range calibrate.Attention {
		for _, key := range set.Keys(of) {
			if plain := kernel.PlainKey(key); plain != key && set.SoftwareOf(of.Section(), plain) == set.SoftwareOf(of.Section(), key) {
				set.Drop(of, key)
			}
		}
	}
}

// modules are tables of whole attention layers of DeepSeek-V3, by backend. Projections are the same
// in all, so times differ by their kernels only: what fa3 leaves beside its kernel does not depend
// on the context (33 us with 16 heads and 1024 to 16384 tokens, H100).
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

// byBackend reports the error of named attention kernels: of one chip on tables of another, and of
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

// carriedBy is the mean error and median ratio to measured times of a software's kernels on rows of
// a kind. Latent attention is compared with kernels of grouped attention within one chip.
func carriedBy(rows []measurement.Row, of kernel.Slot, software string, set *kernel.Set, s *hardware.System, within bool) string {
	if within != (of == kernel.LatentDecode) {
		return " – |"
	}
	var all []float64
	missed := 0.0
	for i := range rows {
		r := &rows[i]
		if slot, ok := calibrate.Slot(r); !ok || slot != of || calibrate.SoftwareOf(r) != software || calibrate.TooShort(r) {
			continue
		}
		slot := of
		if of == kernel.LatentDecode {
			slot = kernel.Decode
		}
		key := kernel.PlainKey(calibrate.KeyOf(r))
		if set.SoftwareOf(slot.Section(), key) != software {
			key = kernel.KeyBy(key, software)
		}
		timing, ok := set.Timing(slot, key)
		p, has := calibrate.PeakOf(r, s, 1)
		if !ok || !has {
			continue
		}
		if of == kernel.LatentDecode {
			timing = kernel.LatentBy(timing)
		}
		shape, _ := calibrate.ShapeOf(r)
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
