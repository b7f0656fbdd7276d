// Package calibrate fits the models of package kernel to measurements and reports their error on
// shapes that the fit did not see.
package calibrate

import (
	"fmt"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Peak is what the hardware can do at best.
type Peak struct {
	Rate      float64 // operations per second at the number type
	Bandwidth float64 // bytes per second: of memory, or of a processor's links in one direction
}

// Conflict is rows of one shape whose times differ more than twofold, or a row that takes far
// longer than larger problems.
type Conflict struct {
	Shape  string
	Places []string
	Times  []float64
	Larger string // where one of the larger problems stands; it is not left out
	Faster float64
}

func (c Conflict) String() string {
	if c.Larger != "" {
		return fmt.Sprintf("%s: %s takes %.4g s, the larger %s %.4g s", c.Shape, c.Places[0], c.Times[0], c.Larger, c.Faster)
	}
	return fmt.Sprintf("%s: %s take %.4g to %.4g s", c.Shape, strings.Join(c.Places, ", "), slices.Min(c.Times), slices.Max(c.Times))
}

// Clean leaves out rows that contradict others and names them. Other rows of one shape all stay.
func Clean(rows []measurement.Row) (kept []measurement.Row, conflicts []Conflict) {
	byShape := make(map[string][]int, len(rows))
	shapes := make([]string, len(rows))
	for i := range rows {
		shapes[i] = rows[i].Shape()
		byShape[shapes[i]] = append(byShape[shapes[i]], i)
	}
	for i := range rows {
		same := byShape[shapes[i]]
		low, high := rows[i].Seconds, rows[i].Seconds
		for _, j := range same {
			low, high = min(low, rows[j].Seconds), max(high, rows[j].Seconds)
		}
		if high <= 2*low {
			kept = append(kept, rows[i])
			continue
		}
		if same[0] == i {
			c := Conflict{Shape: shapes[i]}
			for _, j := range same {
				c.Places, c.Times = append(c.Places, rows[j].Place()), append(c.Times, rows[j].Seconds)
			}
			conflicts = append(conflicts, c)
		}
	}
	kept, more := inOrder(kept)
	return kept, append(conflicts, more...)
}

// thin keeps about limit samples, evenly from the file.
func thin(data []sample, limit int) []sample {
	if len(data) <= limit {
		return data
	}
	out := make([]sample, 0, limit)
	step := float64(len(data)) / float64(limit)
	for i := 0.0; int(i) < len(data); i += step {
		out = append(out, data[int(i)])
	}
	return out
}

// limit of the samples of one fit.
const limit = 9000

func bytesOf(numberType string) float64 {
	if b := hardware.TypeBytes(numberType); b > 0 {
		return b
	}
	return 2
}

// octave nodes from low to high, each step times apart.
func nodes(low, high, step float64) []float64 {
	var out []float64
	for x := low; x < high*1.0001; x *= step {
		out = append(out, x)
	}
	return out
}

// span trims nodes to those that the samples reach, with one on either side.
func span(all []float64, data []sample, at func(*sample) float64) []float64 {
	if len(data) == 0 {
		return all[:1]
	}
	low, high := at(&data[0]), at(&data[0])
	for i := range data {
		low, high = min(low, at(&data[i])), max(high, at(&data[i]))
	}
	first, last := 0, len(all)-1
	for first < last && all[first+1] <= low {
		first++
	}
	for last > first && all[last-1] >= high {
		last--
	}
	return all[first : last+1]
}

func base(s *solution) kernel.Base {
	return kernel.Base{Latency: s.latency, Norm: s.norm, Compute: s.compute, Memory: s.memory}
}

var (
	onCompute = [3]func(*sample) float64{
		func(d *sample) float64 { return d.c.X }, func(d *sample) float64 { return d.c.Y }, func(d *sample) float64 { return d.c.Z },
	}
	onMemory = [3]func(*sample) float64{
		func(d *sample) float64 { return d.m.X }, func(d *sample) float64 { return d.m.Y }, func(d *sample) float64 { return d.m.Z },
	}
)

// trim is the axes, each as far as the samples reach.
func trim(data []sample, on [3]func(*sample) float64, axes ...[]float64) [][]float64 {
	out := make([][]float64, len(axes))
	for i, a := range axes {
		out[i] = span(a, data, on[i])
	}
	return out
}

// over is the work in seconds at peak.
func over(w kernel.Work, rate float64) kernel.Work {
	for i := range w {
		w[i] /= rate
	}
	return w
}
