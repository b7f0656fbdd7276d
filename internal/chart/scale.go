package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// scale maps values to positions.
type scale struct {
	log       bool
	tail      bool
	low, high float64
	from, to  float64 // positions of low and high
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	switch {
	case s.log:
		v, low, high = math.Log10(v), math.Log10(low), math.Log10(high)
	case s.tail:
		v, low, high = nines(v), nines(low), nines(high)
	}
	return s.from + (s.to-s.from)*(v-low)/(high-low)
}

// nines counts the nines of a percentage, up to four: 99 has two.
func nines(percent float64) float64 { return -math.Log10(1 - min(percent, 99.99)/100) }

// within returns the position of a value, clamped to the ends.
func (s scale) within(v float64) float64 {
	return s.at(min(max(v, s.low), s.high))
}

// holds reports whether a value has a position.
func (s scale) holds(v float64) bool {
	return finite(v) && v >= s.low && v <= s.high
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

type extent struct{ low, high float64 }

func newExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

func (e *extent) add(v float64) {
	if finite(v) {
		e.low, e.high = min(e.low, v), max(e.high, v)
	}
}

// addLog adds a value of a logarithmic axis, if positive.
func (e *extent) addLog(v float64) {
	if v > 0 {
		e.add(v)
	}
}

// mostDecades limits a logarithmic axis; smaller values lie at its border.
const mostDecades = 14

// domain returns the range of an axis: round numbers around the values, unless bounds are given.
func (a *Axis) domain(e extent, ticks int) extent {
	if a.Zero {
		e.add(0)
	}
	if a.Low != nil {
		e.low = *a.Low
	}
	if a.High != nil {
		e.high = *a.High
	}
	switch {
	case !(e.low <= e.high):
		e = extent{0, 1}
		if a.Log {
			e = extent{1, 10}
		}
	case e.low == e.high && e.low == 0:
		e = extent{0, 1}
	case e.low == e.high && a.Log:
		e = extent{e.low / 2, e.high * 2}
	case e.low == e.high:
		e = extent{min(0, e.low), max(0, e.high)}
	}
	if a.Log {
		e.high = min(e.high, 1e300)
		e.low = max(e.low, e.high*math.Pow(10, -mostDecades))
		const room = 0.03 // of the axis, at its ends
		by := math.Pow(e.high/e.low, room)
		if a.Low == nil {
			e.low /= by
		}
		if a.High == nil {
			e.high *= by
		}
	}
	step := roundStep((e.high - e.low) / float64(max(ticks, 1)))
	if a.Log || a.Tail || !(step > 0) || !finite(step) {
		return e
	}
	if a.Low == nil {
		e.low = step * math.Floor(e.low/step+1e-9)
	}
	if a.High == nil {
		e.high = step * math.Ceil(e.high/step-1e-9)
	}
	return e
}

// ticks returns about want round numbers in a range.
func (a *Axis) ticks(e extent, want int) []float64 {
	want = max(want, 1)
	switch {
	case a.Log:
		return logTicks(e, want)
	case a.Tail:
		return slices.DeleteFunc([]float64{0, 50, 90, 99, 99.9, 99.99}, func(v float64) bool { return v < e.low || v > e.high })
	}
	return linearTicks(e, want)
}

// roundStep returns the smallest of 1, 2, 5, 10, ... that is not below v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func linearTicks(e extent, want int) []float64 {
	step := roundStep((e.high - e.low) / float64(want))
	if !(step > 0) || !finite(step) {
		return nil
	}
	var out []float64
	for k := math.Ceil(e.low/step - 1e-9); k*step <= e.high+step*1e-9; k++ {
		out = append(out, k*step+0) // no negative zero
	}
	return out
}

func logTicks(e extent, want int) []float64 {
	low, high := math.Log10(e.low), math.Log10(e.high)
	every := max(1, math.Ceil((high-low)/float64(want)))
	multiples := []float64{1}
	if every == 1 {
		for _, m := range [][]float64{{1, 2, 5}, {1, 3}} {
			if (high-low)*float64(len(m)) <= float64(want) {
				multiples = m
				break
			}
		}
	}
	var out []float64
	for k := math.Floor(low/every) * every; k <= high+1e-9; k += every {
		for _, m := range multiples {
			if v := m * math.Pow(10, k); v >= e.low*(1-1e-9) && v <= e.high*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	if len(out) < 2 && high-low < 1 {
		return linearTicks(e, want)
	}
	return out
}

// magnitudes are the suffixes of large numbers.
var magnitudes = []struct {
	size   float64
	letter string
}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}}

func (a *Axis) labels(ticks []float64) (out []string) {
	if a.Text == nil {
		return tickLabels(ticks, a.Log || a.Tail)
	}
	for _, v := range ticks {
		out = append(out, a.Text(v))
	}
	return out
}

// tickLabels formats ticks with as many decimals as tell them apart.
func tickLabels(ticks []float64, log bool) []string {
	var out []string
	if log {
		for _, v := range ticks {
			out = append(out, Number(v))
		}
		return out
	}
	var most float64
	for _, v := range ticks {
		most = max(most, math.Abs(v))
	}
	step := most
	if len(ticks) > 1 {
		step = ticks[1] - ticks[0]
	}
	unit, letter := 1.0, ""
	for _, m := range magnitudes {
		if most >= m.size {
			unit, letter = min(m.size, 1e3*math.Ceil(m.size/1e4)), m.letter
			break
		}
	}
	if letter == "" && most < 1e-3 && most > 0 || unit >= 1e12 && most >= 1e16 {
		for _, v := range ticks {
			out = append(out, minus(strconv.FormatFloat(v, 'g', 3, 64)))
		}
		return out
	}
	decimals := 0
	if step > 0 {
		decimals = min(6, max(0, int(math.Ceil(-math.Log10(step/unit)-1e-9))))
	}
	for _, v := range ticks {
		text := minus(strconv.FormatFloat(v/unit, 'f', decimals, 64))
		if v != 0 {
			text += letter
		}
		out = append(out, text)
	}
	return out
}

// Number formats three significant digits, with a suffix for thousands and more.
func Number(v float64) string {
	a := math.Abs(v)
	switch {
	case !finite(v):
		return "–"
	case v == 0:
		return "0"
	case a >= 1e16 || a < 1e-3:
		return minus(strings.Replace(strconv.FormatFloat(v, 'g', 3, 64), "e+", "e", 1))
	}
	unit, letter := 1.0, ""
	for _, m := range []struct {
		size   float64
		letter string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if a >= m.size*0.9995 && (m.size > 1e3 || a >= 9999.5) {
			unit, letter = m.size, m.letter
			break
		}
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(a/unit)+1e-12)))
	text := strconv.FormatFloat(v/unit, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return minus(text + letter)
}

func minus(text string) string { return strings.ReplaceAll(text, "-", "−") }
