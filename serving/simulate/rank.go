package simulate

import (
	"math/rand/v2"

	"throughline/cost"
	"throughline/workload"
)

// job is a request under way.
type job struct {
	workload.Request
	id int64

	scheduled, first float64
	last             float64 // time of its latest token, unless it decodes
	emitted          int     // tokens, as of base
	cached           int     // tokens in the cache, as of base
	base             int64   // decode step of its rank that the two above refer to
	joined           float64 // when it began to decode
	preemptions      int
	hit              int    // tokens found in the prefix cache when first scheduled
	home             target // its rank; none during a transfer
	began            target // the rank that it was first scheduled on
	gone             bool   // cancelled; ends when its cache has arrived

	held      int     // blocks of its own
	shared    []int32 // blocks of the prefix cache that it refers to
	named     int     // leading blocks found there or offered to it
	decodes   bool
	elsewhere bool // its cache is complete but was swapped out, or
	sent      bool // comes from a prefill pool

	next, prev   int32 // in the order of admission
	wnext, wprev int32 // among jobs in the same slot of the wheel
}

const none = -1

// target is the tokens that must be cached before the next one: the prompt and what was emitted.
func (j *job) target() int { return j.Input + j.emitted }

// jobs holds all requests under way and reuses the places of those that have ended.
type jobs struct {
	pages []*[jobsPerPage]job // never moved: one slice would be copied as it grows
	count int32
	free  []int32
	most  int // queued per rank; others are in its backlog
}

// waitingJobs is more than any scheduler examines in a step.
const waitingJobs = 1 << 12

const jobsPerPage = 1 << 7

func (p *jobs) at(i int32) *job { return &p.pages[i/jobsPerPage][i%jobsPerPage] }

func (p *jobs) add(r workload.Request, id int64) int32 {
	var at int32
	if n := len(p.free); n > 0 {
		at, p.free = p.free[n-1], p.free[:n-1]
	} else {
		at = p.count
		if p.count++; at%jobsPerPage == 0 {
			p.pages = append(p.pages, new([jobsPerPage]job))
		}
	}
	j := p.at(at)
	*j = job{Request: r, id: id, next: none, prev: none, wnext: none, wprev: none, scheduled: -1, first: -1,
		shared: j.shared[:0]}
	return at
}

func (p *jobs) remove(at int32) { p.free = append(p.free, at) }

// ring is a queue that jobs can be put back to the front of.
type ring struct {
	buf     []int32
	head, n int // n includes the backlog
	behind  backlog
	jobs    *jobs
}

// inMemory is the number of jobs outside the backlog.
func (r *ring) inMemory() int { return r.n - r.behind.n }

func (r *ring) grow() {
	if r.inMemory() < len(r.buf) {
		return
	}
	buf := make([]int32, max(16, 2*len(r.buf)))
	for i := range r.inMemory() {
		buf[i] = r.at(i)
	}
	r.buf, r.head = buf, 0
}

func (r *ring) at(i int) int32 {
	for i >= r.inMemory() {
		at := r.behind.take(r.jobs).job
		r.n-- // one fewer in the backlog
		r.append(at)
	}
	return r.buf[(r.head+i)&(len(r.buf)-1)]
}

func (r *ring) push(v int32) {
	if (r.behind.n > 0 || r.n >= r.jobs.most) && r.jobs.at(v).scheduled < 0 {
		r.behind.add(v, 0, r.jobs)
		r.n++
		return
	}
	if r.behind.n > 0 {
		r.at(r.n - 1) // leaves the backlog empty
	}
	r.append(v)
}

func (r *ring) append(v int32) {
	r.grow()
	r.buf[(r.head+r.inMemory())&(len(r.buf)-1)] = v
	r.n++
}

func (r *ring) pushFront(v int32) {
	r.grow()
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.buf[r.head] = v
	r.n++
}

func (r *ring) pop() int32 {
	v := r.at(0)
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return v
}

// wheelSize is the slots of the timing wheel: a job sits in the slot of its last decode step,
// modulo the size, and is examined once per turn.
const wheelSize = 1024

// join is the jobs that began to decode since the last decode step.
type join struct {
	time  float64
	count int
}

// rank is a data-parallel rank of a server. Its sequences decode in lockstep, so sums describe a
// step; single ones are touched only when they join, end or are preempted.
type rank struct {
	rules  *Policy
	jobs   *jobs
	random *rand.Rand
	bounds []int
	within []within     // each bound
	prefix *prefixCache // may be nil

	queue   *int64 // waiting requests on all ranks
	inbox   inbox
	coming  int // requests whose cache is on its way from another pool
	waiting ring

	head, tail int32 // running, in order of admission
	admitted   int   // running
	decoding   int
	context    int64 // cached tokens of decoding jobs
	partial    int32 // the job with a partial prompt

	tick     int64 // decode steps so far
	residues []int // decoding jobs, by the step in which they need a new block
	wheel    [wheelSize]int32
	lastEnd  float64 // of the last decode step
	joins    []join
	used     int // blocks, without idle ones of the prefix cache

	// The step under way.
	work      Work
	effort    cost.Effort
	spent     cost.Spent // by each of its processors, where their power is known
	chunks    []int32    // jobs of the chunks
	ended     []int32    // jobs whose prompt it completes
	begun     []int32    // jobs of a prefill pool that it admits, whose first token is out
	decodes   bool
	preempted int
	queued    int     // waiting before it was scheduled
	extra     float64 // seconds of swapping
	blocked   Reason  // why requests wait
	waited    int     // steps that prompts have been held back
	more      int     // blocks of the steps ahead
}

// works reports whether the step under way has work for the rank.
func (k *rank) works() bool { return k.decodes || len(k.chunks) > 0 }

// entered is a request that has reached the scheduler.
type entered struct {
	job  int32
	time float64
}

func newRank(rules *Policy, jobs *jobs, bounds []int, random *rand.Rand) *rank {
	r := &rank{rules: rules, jobs: jobs, random: random, bounds: bounds, head: none, tail: none, partial: none,
		inbox: inbox{jobs: jobs}, waiting: ring{jobs: jobs}}
	r.residues = make([]int, rules.BlockTokens)
	for _, b := range bounds {
		r.within = append(r.within, within{bound: int64(b)})
	}
	r.work.Bounded = make([]int64, len(r.bounds))
	for i := range r.wheel {
		r.wheel[i] = none
	}
	if rules.PrefixCache || rules.FindsPreempted {
		r.prefix = newPrefixCache(rules.HostBlocks)
	}
	return r
}

// load is the requests of a rank, those of the step under way included.
func (r *rank) load() int { return r.inbox.len() + r.waiting.n + r.admitted }

// expected is the load with the requests that are on their way.
func (r *rank) expected() int { return r.load() + r.coming }

// running counts jobs that decode or have a partial prompt.
func (r *rank) running() int {
	n := r.decoding
	if r.partial != none {
		n++
	}
	return n
}

func (r *rank) idle() bool { return r.load() == 0 }

// blocks is how many this many tokens fill.
func (r *rank) blocks(tokens int) int {
	return (tokens + r.rules.BlockTokens - 1) / r.rules.BlockTokens
}

// free is the number of unused and idle blocks.
func (r *rank) free() int { return r.rules.Blocks - r.used }

// admit makes a job the newest of the running ones.
func (r *rank) admit(at int32) {
	j := r.jobs.at(at)
	j.prev, j.next = r.tail, none
	if r.tail == none {
		r.head = at
	} else {
		r.jobs.at(r.tail).next = at
	}
	r.tail = at
	r.admitted++
}

// leave removes a job from the running ones.
func (r *rank) leave(at int32) {
	r.admitted--
	j := r.jobs.at(at)
	if j.prev == none {
		r.head = j.next
	} else {
		r.jobs.at(j.prev).next = j.next
	}
	if j.next == none {
		r.tail = j.prev
	} else {
		r.jobs.at(j.next).prev = j.prev
	}
}

// allocate gives blocks to a job, evicting idle ones of the prefix cache.
func (r *rank) allocate(j *job, n int) {
	j.held += n
	r.used += n
	if r.prefix != nil {
		r.prefix.evict(r.rules.Blocks - r.used)
	}
}

// release frees all blocks of a job; shared ones stay in the cache as idle.
func (r *rank) release(j *job) {
	r.used -= j.held
	j.held = 0
	if r.prefix != nil {
		r.used -= r.prefix.unref(j)
	}
}

// residue is the class of a job by the decode steps in which it needs a new block.
func (r *rank) residue(cached int, base int64) int {
	n := int64(r.rules.BlockTokens)
	return int(((int64(cached)-base)%n + n) % n)
}

// need is the new blocks of the next decode step: one per sequence whose blocks are full.
func (r *rank) need() int { return r.needAt(r.tick) }

// needAt is need at a decode step, counted from the begin of the run.
func (r *rank) needAt(tick int64) int {
	n := int64(r.rules.BlockTokens)
	return r.residues[(n-tick%n)%n]
}

// start lets a job with a complete cache decode.
func (r *rank) start(at int32, t float64) {
	j := r.jobs.at(at)
	j.base, j.joined, j.last, j.decodes = r.tick, t, t, true
	r.decoding++
	r.context += int64(j.cached)
	if r.rules.Drafts > 0 {
		return // each advances by itself
	}
	if n := len(r.joins); n > 0 && r.joins[n-1].time == t {
		r.joins[n-1].count++
	} else {
		r.joins = append(r.joins, join{t, 1})
	}
	r.residues[r.residue(j.cached, j.base)]++
	for i := range r.within {
		r.within[i].add(int64(j.cached), r.tick, 1)
	}
	slot := &r.wheel[(r.tick+int64(j.Output-j.emitted))%wheelSize]
	j.wnext, j.wprev = *slot, none
	if *slot != none {
		r.jobs.at(*slot).wprev = at
	}
	*slot = at
}

// now updates the counts of a decoding job, and reports whether it has decoded since it joined.
func (r *rank) now(j *job) bool {
	if r.rules.Drafts > 0 {
		return true
	}
	steps := int(r.tick - j.base)
	if steps == 0 {
		return j.last > j.joined
	}
	if !r.rules.ReservesOutput {
		j.held += r.blocks(j.cached+steps) - r.blocks(j.cached) // counted as used when the steps were scheduled
	}
	j.last = r.lastEnd
	j.cached, j.emitted, j.base = j.cached+steps, j.emitted+steps, r.tick
	return true
}

// stop removes an up-to-date job from the decoding ones.
func (r *rank) stop(at int32) {
	j := r.jobs.at(at)
	j.decodes = false
	r.decoding--
	r.context -= int64(j.cached)
	if r.rules.Drafts > 0 {
		return
	}
	r.residues[r.residue(j.cached, j.base)]--
	for i := range r.within {
		r.within[i].add(int64(j.cached), r.tick, -1)
	}
	slot := &r.wheel[(j.base+int64(j.Output-j.emitted))%wheelSize]
	if j.wprev == none {
		*slot = j.wnext
	} else {
		r.jobs.at(j.wprev).wnext = j.wnext
	}
	if j.wnext != none {
		r.jobs.at(j.wnext).wprev = j.wprev
	}
}

// preempt moves the newest running request, or first the one with a partial prompt, to the front of
// the queue. It loses its cache or has it swapped out.
func (r *rank) preempt() int32 {
	at := r.tail
	if r.partial != none {
		at = r.partial
	}
	j := r.jobs.at(at)
	if at == r.partial {
		r.partial = none
	} else {
		if !r.now(j) {
			r.unjoin(j.joined)
		}
		r.stop(at)
		if j.elsewhere = r.rules.SwapSeconds > 0; j.elsewhere {
			r.extra += float64(j.cached) * r.rules.SwapSeconds
		}
	}
	r.leave(at)
	if r.prefix != nil && !j.elsewhere && j.Request.Cached == 0 {
		r.keep(j)
	}
	r.release(j)
	if !j.elsewhere {
		j.cached = 0
	}
	j.preemptions++
	r.preempted++
	*r.queue++
	r.waiting.pushFront(at)
	return at
}

// keep leaves the blocks of a preempted job in the prefix cache, where it finds those that nobody
// has needed meanwhile (vllm/v1/core/sched/scheduler.py, _preempt_request, and
// vllm/v1/core/kv_cache_manager.py, free: freed blocks keep their hashes).
func (r *rank) keep(j *job) {
	if j.HashTokens == 0 { // its own, which no other prompt starts with
		j.Chain, j.Shared, j.HashTokens, j.named = ^uint64(j.id), j.Input, r.rules.BlockTokens, 0
	}
	r.prefix.offer(j, r.rules.BlockTokens)
}

// unjoin forgets that a job began to decode.
func (r *rank) unjoin(t float64) {
	for i := range r.joins {
		if r.joins[i].time == t && r.joins[i].count > 0 {
			r.joins[i].count--
			return
		}
	}
}
