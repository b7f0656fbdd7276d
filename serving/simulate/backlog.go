package simulate

import (
	"encoding/binary"
	"math"
	"math/bits"
	"throughline/workload"
)

// backlog stores queued requests in a few bytes: a trace may have millions that arrive too fast.
type backlog struct {
	pages [][]byte // complete entries, oldest first
	read  int      // bytes consumed of the first page
	n     int
	home  target // shared by all entries
}

const backlogPage = 1 << 16

// add appends a job that has not been scheduled yet, and frees its place among the jobs.
func (b *backlog) add(at int32, time float64, all *jobs) {
	j := all.at(at)
	last := len(b.pages) - 1
	if last < 0 || len(b.pages[last]) > backlogPage {
		b.pages = append(b.pages, make([]byte, 0, backlogPage+1<<10))
		last++
	}
	p := b.pages[last]
	for _, f := range []float64{time, j.Arrival} {
		p = binary.AppendUvarint(p, bits.ReverseBytes64(math.Float64bits(f)))
	}
	for _, n := range []int{int(j.id), j.Input, j.Output, j.HashTokens, j.Shared, j.Client, j.Request.Cached, len(j.Hashes)} {
		p = binary.AppendVarint(p, int64(n))
	}
	p = binary.AppendUvarint(p, j.Chain)
	before := uint64(0)
	for _, h := range j.Hashes {
		p = binary.AppendVarint(p, int64(h-before)) // blocks of a prompt often have neighbouring hashes
		before = h
	}
	b.pages[last], b.home, b.n = p, j.home, b.n+1
	all.remove(at)
}

// take restores the first entry as a job.
func (b *backlog) take(all *jobs) entered {
	p := b.pages[0][b.read:]
	size := len(p)
	natural := func() uint64 {
		v, n := binary.Uvarint(p)
		p = p[n:]
		return v
	}
	number := func() int {
		v, n := binary.Varint(p)
		p = p[n:]
		return int(v)
	}
	real := func() float64 { return math.Float64frombits(bits.ReverseBytes64(natural())) }
	e, r := entered{time: real()}, workload.Request{Arrival: real()}
	id := number()
	r.Input, r.Output, r.HashTokens, r.Shared, r.Client = number(), number(), number(), number(), number()
	r.Cached = number()
	hashes := number()
	r.Chain = natural()
	if hashes > 0 {
		r.Hashes = make([]uint64, hashes)
		before := uint64(0)
		for i := range r.Hashes {
			before += uint64(number())
			r.Hashes[i] = before
		}
	}
	if b.read += size - len(p); b.read == len(b.pages[0]) {
		b.pages[0] = nil
		b.pages, b.read = b.pages[1:], 0
	}
	b.n--
	e.job = all.add(r, int64(id))
	all.at(e.job).home = b.home
	return e
}

// inbox holds requests that the scheduler of a rank has not seen yet.
type inbox struct {
	first  []entered
	behind backlog
	jobs   *jobs
}

func (b *inbox) len() int { return len(b.first) + b.behind.n }

func (b *inbox) add(e entered) {
	if (b.behind.n > 0 || len(b.first) >= b.jobs.most) && b.jobs.at(e.job).scheduled < 0 {
		b.behind.add(e.job, e.time, b.jobs)
		return
	}
	b.first = append(b.first, e)
}

// hand moves the requests that arrived by then to a queue.
func (b *inbox) hand(to *ring, until float64) {
	for {
		n := 0
		for n < len(b.first) && b.first[n].time <= until {
			to.push(b.first[n].job)
			n++
		}
		b.first = append(b.first[:0], b.first[n:]...)
		if len(b.first) > 0 || b.behind.n == 0 {
			return
		}
		for range min(b.jobs.most, b.behind.n) {
			b.first = append(b.first, b.behind.take(b.jobs))
		}
	}
}
