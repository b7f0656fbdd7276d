package simulate

import (
	"math"

	"throughline/deploy"
)

// Record is what a run was like.
type Record struct {
	Requests        int64 // that have ended
	Input, Output   int64 // tokens of these
	Computed        int64 // prompt tokens that were computed, again ones included
	Start, End      float64
	LastArrival     float64
	TTFT, TPOT, E2E Distribution // of requests
	ITL             Distribution // of tokens
	Queued          Distribution // from arrival to the first step
	Preemptions     int64
	Steps           int64
	Kinds           [3]int64 // steps that prefill, do both, decode
	Pools           []PoolRecord
	PeakBlocks      int // of a rank
	HitTokens       int64
	AskedTokens     int64 // of prompts, that might have been hits

	Residence float64 // seconds that requests were in the system, summed
	Present   float64 // integral of the requests in the system over time

	First BatchMeans // of the times to first tokens, in the order of ends
	Whole BatchMeans // of the times of requests

	Trend Trend // of what arriving requests found

	Good     int64     // requests that kept all limits
	Timeline *Timeline // nil: none

	each     func(*Ended)
	limits   Limits
	present  int64
	presentT float64
}

// PoolRecord is what the servers of a pool did.
type PoolRecord struct {
	Role           deploy.Role
	Servers, Ranks int // ranks of all servers
	Blocks         int // of the cache of a rank
	Busy           float64
	Steps          float64              // seconds of the steps of all ranks
	Cache          float64              // of them, times the share of the cache that was used
	PeakCache      float64              // the largest share
	Waits          [reasonCount]float64 // of them, those in which requests waited, by the reason
}

// Limits are those that a request keeps to be counted as good, in seconds; 0: none.
type Limits struct{ TTFT, TPOT, E2E float64 }

// Ended is a request that has ended.
type Ended struct {
	ID                                int64
	Arrival, Scheduled, First, Finish float64
	Input, Output, Preemptions        int
	Client                            int
}

func newRecord(o *Options) *Record {
	r := &Record{each: o.Each, limits: o.Limits}
	for i := range o.Pools {
		p := &o.Pools[i]
		r.Pools = append(r.Pools, PoolRecord{Role: p.Role, Servers: p.Servers, Ranks: p.Servers * p.Ranks, Blocks: p.Policy.Blocks})
	}
	if o.Every > 0 {
		r.Timeline = &Timeline{Every: o.Every}
	}
	return r
}

// arrived notes a request.
func (r *Record) arrived(q *Request, waiting int64) {
	r.moved(q.Arrival)
	r.Trend.add(q.Arrival, float64(r.present), float64(waiting))
	r.present++
	r.LastArrival = max(r.LastArrival, q.Arrival)
}

// moved notes that the number of requests in the system changes.
func (r *Record) moved(t float64) {
	if t > r.presentT {
		r.Present += float64(r.present) * (t - r.presentT)
		r.presentT = t
	}
}

func (r *Record) token(gap float64, count int) { r.ITL.Add(gap, count) }

// step notes a step that starts.
func (r *Record) step(s *server) {
	r.Steps++
	seconds := s.at - s.start
	pool := &r.Pools[s.which]
	pool.Busy += seconds
	kind := 0
	for _, k := range s.ranks {
		if !k.decodes && len(k.chunks) == 0 {
			continue
		}
		r.Preemptions += int64(k.preempted)
		for i := range k.work.Chunks {
			r.Computed += int64(k.work.Chunks[i].New)
		}
		r.PeakBlocks = max(r.PeakBlocks, k.used)
		share := float64(k.used) / float64(pool.Blocks)
		pool.PeakCache = max(pool.PeakCache, share)
		pool.Steps += seconds
		pool.Cache += share * seconds
		pool.Waits[k.blocked] += seconds
		if k.decodes {
			kind |= 1
		}
		if len(k.chunks) > 0 {
			kind |= 2
		}
	}
	switch kind {
	case 1:
		r.Kinds[2]++
	case 2:
		r.Kinds[0]++
	default:
		r.Kinds[1]++
	}
	if r.Timeline != nil {
		r.Timeline.step(s)
	}
}

func (r *Record) endStep(_ *server, t float64) { r.End = max(r.End, t) }

// ended notes the end of a request.
func (r *Record) ended(j *job, t float64) {
	r.moved(t)
	r.present--
	r.Requests++
	r.End = max(r.End, t)
	r.Input += int64(j.Input)
	r.Output += int64(j.Output)
	first, whole := j.first-j.Arrival, t-j.Arrival
	r.Residence += whole
	r.TTFT.Add(first, 1)
	r.E2E.Add(whole, 1)
	r.Queued.Add(j.scheduled-j.Arrival, 1)
	r.First.Add(first)
	r.Whole.Add(whole)
	tpot := 0.0
	if j.Output > 1 {
		tpot = (t - j.first) / float64(j.Output-1)
		r.TPOT.Add(tpot, 1)
	}
	l := &r.limits
	if (l.TTFT == 0 || first <= l.TTFT) && (l.TPOT == 0 || tpot <= l.TPOT) && (l.E2E == 0 || whole <= l.E2E) {
		r.Good++
	}
	if r.each != nil {
		r.each(&Ended{ID: j.id, Arrival: j.Arrival, Scheduled: j.scheduled, First: j.first, Finish: t, Input: j.Input, Output: j.Output,
			Preemptions: j.preemptions, Client: j.Client})
	}
}

// close completes the record when all has ended.
func (r *Record) close(run *run) {
	for _, s := range run.servers {
		for _, k := range s.ranks {
			if k.prefix != nil {
				r.HitTokens += k.prefix.hits
				r.AskedTokens += k.prefix.asked
			}
		}
	}
}

// Duration is the time from the start of the run to its end.
func (r *Record) Duration() float64 { return r.End - r.Start }

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

// Interval is half the width of the 95% confidence interval of the mean, leaving out so many batches at the front. It is
// not a number with fewer than ten batches.
func (b *BatchMeans) Interval(skip int) (mean, half float64) {
	if len(b.sums)-skip < 10 {
		return math.NaN(), math.NaN()
	}
	list := b.sums[skip:]
	n := float64(len(list))
	var sum, squares float64
	for _, s := range list {
		m := s / float64(b.size)
		sum += m
		squares += m * m
	}
	mean = sum / n
	variance := max(0, squares-n*mean*mean) / (n - 1)
	return mean, student(len(list)-1) * math.Sqrt(variance/n)
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

// Busy is the share of the time in which the servers of a pool were busy.
func (r *Record) Busy(pool int) float64 {
	p := &r.Pools[pool]
	return p.Busy / (r.Duration() * float64(p.Servers))
}
