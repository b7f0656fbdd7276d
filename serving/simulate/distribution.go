package simulate

import (
	"math"
	"slices"
)

// Distribution keeps weighted values: exactly while they are few, then as counts in buckets 1/2048
// of an octave wide, so that errors stay below 0.03% and memory is bounded.
type Distribution struct {
	Weight   int64 // total
	Sum      float64
	Squares  float64
	Min, Max float64

	exact   []weighted
	buckets []int64 // nil while values are exact
	sorted  bool
	means   bool // no values are kept
}

type weighted struct {
	value  float64
	weight int64
}

const (
	exactValues = 1 << 16
	perOctave   = 2048
	lowest      = -30 // octave of the smallest bucket: a nanosecond
	octaves     = 64
)

func (d *Distribution) Add(v float64, weight int) {
	w := int64(weight)
	if d.Weight == 0 || v < d.Min {
		d.Min = v
	}
	if d.Weight == 0 || v > d.Max {
		d.Max = v
	}
	d.Weight += w
	d.Sum += v * float64(w)
	d.Squares += v * v * float64(w)
	if d.means {
		return
	}
	if d.buckets != nil {
		d.buckets[bucket(v)] += w
		return
	}
	d.sorted = false
	d.exact = append(d.exact, weighted{v, w})
	if len(d.exact) == exactValues {
		d.buckets = make([]int64, octaves*perOctave)
		for _, e := range d.exact {
			d.buckets[bucket(e.value)] += e.weight
		}
		d.exact = nil
	}
}

// bucket is found from the exponent and the leading bits of the mantissa.
func bucket(v float64) int {
	if v < 1.0/(1<<-lowest) {
		return 0
	}
	bits := math.Float64bits(v)
	const shift = 52 - 11 // 2048 = 2^11
	at := int(bits>>shift) - (1023+lowest)*perOctave
	return min(max(at, 0), octaves*perOctave-1)
}

// middle is the centre of a bucket.
func middle(at int) float64 {
	low := math.Ldexp(1+float64(at%perOctave)/perOctave, at/perOctave+lowest)
	return low + math.Ldexp(0.5/perOctave, at/perOctave+lowest)
}

// Mean of all values.
func (d *Distribution) Mean() float64 {
	if d.Weight == 0 {
		return math.NaN()
	}
	return d.Sum / float64(d.Weight)
}

// Deviation is the standard deviation.
func (d *Distribution) Deviation() float64 {
	m := d.Mean()
	return math.Sqrt(max(0, d.Squares/float64(d.Weight)-m*m))
}

// Quantile interpolates linearly between values, as numpy.percentile does.
func (d *Distribution) Quantile(share float64) float64 {
	if d.Weight == 0 {
		return math.NaN()
	}
	at := share * float64(d.Weight-1)
	low := int64(math.Floor(at))
	a := d.nth(low)
	if part := at - float64(low); part > 0 {
		return a + part*(d.nth(low+1)-a)
	}
	return a
}

// nth is the value at a rank in ascending order.
func (d *Distribution) nth(n int64) float64 {
	n = min(n, d.Weight-1)
	if d.buckets != nil {
		for i, w := range d.buckets {
			if n -= w; n < 0 {
				return min(max(middle(i), d.Min), d.Max)
			}
		}
		return d.Max
	}
	if !d.sorted {
		slices.SortFunc(d.exact, func(a, b weighted) int {
			switch {
			case a.value < b.value:
				return -1
			case a.value > b.value:
				return 1
			}
			return 0
		})
		d.sorted = true
	}
	for _, e := range d.exact {
		if n -= e.weight; n < 0 {
			return e.value
		}
	}
	return d.Max
}

// Counts returns the weights in n intervals of equal length between the extremes.
func (d *Distribution) Counts(n int) []float64 {
	out := make([]float64, n)
	add := func(v float64, w int64) {
		at := 0
		if d.Max > d.Min {
			at = min(n-1, max(0, int(float64(n)*(v-d.Min)/(d.Max-d.Min))))
		}
		out[at] += float64(w)
	}
	for _, e := range d.exact {
		add(e.value, e.weight)
	}
	for i, w := range d.buckets {
		if w > 0 {
			add(middle(i), w)
		}
	}
	return out
}

// Above is the share of values above a limit, to half a bucket unless values are exact.
func (d *Distribution) Above(limit float64) float64 {
	var n float64
	if d.buckets != nil {
		at := bucket(limit)
		for _, w := range d.buckets[at+1:] {
			n += float64(w)
		}
		n += float64(d.buckets[at]) / 2
	}
	for _, e := range d.exact {
		if e.value > limit {
			n += float64(e.weight)
		}
	}
	return n / float64(d.Weight)
}
