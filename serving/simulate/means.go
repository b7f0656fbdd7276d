package simulate

import "math"

// BatchMeans estimates the error of the mean of correlated values: means of batches are nearly
// independent. Neighbours are joined to keep 32 to 64 batches (Law, Simulation Modeling and
// Analysis, 9.5.3).
type BatchMeans struct {
	size int64 // values per batch
	sums []float64
	last float64
	n    int64 // values in the open batch
}

const mostBatches = 64

func (b *BatchMeans) Add(v float64) {
	if b.size == 0 {
		b.size = 1
	}
	b.last += v
	b.n++
	if b.n < b.size {
		return
	}
	b.sums = append(b.sums, b.last)
	b.last, b.n = 0, 0
	if len(b.sums) == mostBatches {
		for i := range mostBatches / 2 {
			b.sums[i] = b.sums[2*i] + b.sums[2*i+1]
		}
		b.sums = b.sums[:mostBatches/2]
		b.size *= 2
	}
}

// restless is the drift of latencies that are not steady; TTFT, of fewer seconds, may drift twice
// as far. The mean of both halves is off by half of it.
const restless = 0.03

// drift is by how much the mean of the second half differs from that of the first, relatively.
func (b *BatchMeans) drift() float64 {
	half := len(b.sums) / 2
	var sums [2]float64
	for i := range 2 * half {
		sums[i/half] += b.sums[i]
	}
	return math.Abs(sums[1]/sums[0] - 1)
}

// Requirements of an interval. Successive requests see the same queue: in an M/D/1 queue at load
// 0.8, batches of one gave 95% intervals that held the mean in one of three runs of 100 requests.
const (
	leastBatch      = 16  // values per batch
	fewestBatches   = 10  // for a meaningful deviation
	enoughBatches   = 16  // more are joined: larger ones are less correlated
	mostCorrelation = 0.4 // of neighbours; above it the run is too short
)

// Interval is a mean with half the width of its 95% confidence interval.
type Interval struct {
	Mean, Half float64
	Batches    int
	Size       int64 // of a batch
}

// Interval of the mean without the first skip batches; NaN where values are too few or batches too
// correlated. A correlation r of neighbours scales the variance by (1 + r)/(1 − r).
func (b *BatchMeans) Interval(skip int) Interval {
	list, size := b.sums[skip:], b.size
	for len(list) >= 2*enoughBatches || size < leastBatch && len(list) >= 2 {
		odd := len(list) % 2
		joined := make([]float64, len(list)/2)
		for i := range joined {
			joined[i] = list[odd+2*i] + list[odd+2*i+1]
		}
		list, size = joined, 2*size
	}
	out := Interval{Mean: math.NaN(), Half: math.NaN(), Batches: len(list), Size: size}
	if len(list) < fewestBatches {
		return out
	}
	n := float64(len(list))
	var sum, squares, neighbours, last float64
	for _, s := range list {
		sum += s / float64(size)
	}
	mean := sum / n
	for _, s := range list {
		d := s/float64(size) - mean
		squares += d * d
		neighbours += d * last
		last = d
	}
	correlation := 0.0
	if squares > 0 {
		correlation = max(0, neighbours/squares+1/n) // the estimate is biased by −1/n
	}
	if correlation > mostCorrelation {
		return out
	}
	wider := (1 + correlation) / (1 - correlation)
	out.Mean, out.Half = mean, student(len(list)-1)*math.Sqrt(wider*squares/(n-1)/n)
	return out
}

// WarmUp is the leading batches, at most half, that maximise the precision (MSER, White 1997).
func (b *BatchMeans) WarmUp() int {
	best, least := 0, math.Inf(1)
	n := len(b.sums)
	var sum, squares float64
	for i := n - 1; i >= 0; i-- {
		m := b.sums[i] / float64(b.size)
		sum += m
		squares += m * m
		if i > n/2 {
			continue
		}
		k := float64(n - i)
		if v := (squares - sum*sum/k) / (k * k); v <= least {
			best, least = i, v
		}
	}
	return best
}

// Batches returns their number and the values in each.
func (b *BatchMeans) Batches() (n int, size int64) { return len(b.sums), b.size }

// student is the 97.5% quantile of Student's t distribution, expanded in powers of 1/ν (Abramowitz
// and Stegun 26.7.5), good to 0.1% from 9 degrees of freedom on.
func student(freedom int) float64 {
	const z = 1.959963984540054
	v := float64(freedom)
	g1 := (z*z*z + z) / 4
	g2 := (5*math.Pow(z, 5) + 16*z*z*z + 3*z) / 96
	g3 := (3*math.Pow(z, 7) + 19*math.Pow(z, 5) + 17*z*z*z - 15*z) / 384
	return z + g1/v + g2/(v*v) + g3/(v*v*v)
}

// Trend is the requests in the system and in the queue that arrivals found, as means of at most 64
// batches of successive arrivals.
type Trend struct {
	size  int
	list  []trendBatch
	batch trendBatch
}

type trendBatch struct{ n, time, present, waiting float64 }

func (b *trendBatch) add(c *trendBatch) {
	b.n += c.n
	b.time += c.time
	b.present += c.present
	b.waiting += c.waiting
}

func (t *Trend) add(at, present, waiting float64) {
	t.size = max(1, t.size)
	t.batch.add(&trendBatch{1, at, present, waiting})
	if t.batch.n < float64(t.size) {
		return
	}
	t.list = append(t.list, t.batch)
	t.batch = trendBatch{}
	if len(t.list) == mostBatches {
		for i := range mostBatches / 2 {
			t.list[i] = t.list[2*i]
			t.list[i].add(&t.list[2*i+1])
		}
		t.list = t.list[:mostBatches/2]
		t.size *= 2
	}
}

// Growth is the rate per second at which the system and its queue grow in the second half of the
// arrivals: the slope of a straight line through the means of batches.
func (t *Trend) Growth() (present, waiting float64) {
	list := t.list[len(t.list)/2:]
	var n, at, p, w float64
	for i := range list {
		b := &list[i]
		n++
		at += b.time / b.n
		p += b.present / b.n
		w += b.waiting / b.n
	}
	if n < 4 {
		return 0, 0
	}
	at, p, w = at/n, p/n, w/n
	var tt, tp, tw float64
	for i := range list {
		b := &list[i]
		d := b.time/b.n - at
		tt += d * d
		tp += d * (b.present/b.n - p)
		tw += d * (b.waiting/b.n - w)
	}
	if tt == 0 {
		return 0, 0
	}
	return tp / tt, tw / tt
}
