package simulate

import "math"

// BatchMeans estimates how far a mean may be off that successive values depend on each other for: means of batches are
// nearly independent. The number of batches stays between 32 and 64; where there would be more, neighbours are joined
// (Law, Simulation Modeling and Analysis, 9.5.3).
type BatchMeans struct {
	size int64 // values of a batch
	sums []float64
	last float64
	n    int64 // values of the batch that is not full
}

const mostBatches = 64

// Add adds the next value.
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

// What an interval takes. Requests one after another see the same queue: for an M/D/1 queue at a load of 0.8, single requests as
// batches gave 95% intervals that held the mean in one run of 100 requests out of three.
const (
	leastBatch      = 16  // values of a batch
	fewestBatches   = 10  // of which the deviation tells something
	enoughBatches   = 16  // more are joined: the larger they are, the less they depend on each other
	mostCorrelation = 0.4 // of neighbours; where it is more, the run is too short to tell
)

// Interval is a mean with half the width of its 95% confidence interval, and the batches that it comes from.
type Interval struct {
	Mean, Half float64
	Batches    int
	Size       int64 // of a batch
}

// Interval of the mean, leaving out so many batches at the front. It is not a number where there are too few values, or where
// batches still depend on each other too much. What is left of that makes it wider: a correlation r of neighbours makes the
// variance of the mean (1 + r)/(1 − r) times as large.
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
		correlation = max(0, neighbours/squares+1/n) // which comes out too small by 1/n
	}
	if correlation > mostCorrelation {
		return out
	}
	wider := (1 + correlation) / (1 - correlation)
	out.Mean, out.Half = mean, student(len(list)-1)*math.Sqrt(wider*squares/(n-1)/n)
	return out
}

// WarmUp is the batches at the front that are best left out: those without which the standard error of the rest is least
// (MSER, White 1997), at most half.
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

// Batches is how many there are, and how many values each has.
func (b *BatchMeans) Batches() (n int, size int64) { return len(b.sums), b.size }

// student is the 97.5% quantile of Student's t distribution, by the expansion in powers of 1/ν (Abramowitz and Stegun
// 26.7.5), which is good to 0.1% from 9 degrees of freedom on.
func student(freedom int) float64 {
	const z = 1.959963984540054
	v := float64(freedom)
	g1 := (z*z*z + z) / 4
	g2 := (5*math.Pow(z, 5) + 16*z*z*z + 3*z) / 96
	g3 := (3*math.Pow(z, 7) + 19*math.Pow(z, 5) + 17*z*z*z - 15*z) / 384
	return z + g1/v + g2/(v*v) + g3/(v*v*v)
}

// Trend is how many requests were under way and how many of them waited when others arrived: means of batches of
// successive arrivals, of which there are at most 64.
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

// Growth is by how much the requests under way, and those of them that wait, grow per second in the second half of the
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
