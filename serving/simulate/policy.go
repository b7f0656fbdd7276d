package simulate

import (
	"math"

	"throughline/deploy"
)

// Policy is how a rank batches requests into steps.
type Policy struct {
	deploy.Scheduling
	CutsPrompts bool // where prompts come first: chunk those longer than a step, or give them their own
	Blocks      int  // of the KV cache
	BlockTokens int
	// Watermark is the share of blocks that admission keeps free where prompts come first.
	Watermark   float64
	PrefixCache bool
	// HostBlocks is the blocks of the prefix cache that the host keeps when their room is needed,
	// and LoadSeconds the time of a token that comes back from there.
	HostBlocks  int
	LoadSeconds float64
	// SwapSeconds per token moved to or from the host on preemption; 0: it is recomputed.
	SwapSeconds float64

	// Drafts are verified besides the next token; each is accepted with its Acceptance, in order.
	Drafts     int
	Acceptance []float64
}

// Reason is why the first waiting request was not admitted.
type Reason uint8

const (
	Nothing   Reason = iota // none waits
	Budget                  // the step is full
	Sequences               // the limit on running requests
	Cache                   // not enough free blocks
	Holding                 // prompts wait for others
	reasonCount
)

func (r Reason) String() string {
	return [...]string{"nothing", "the tokens of a step", "the requests that may run", "the KV cache", "the wait for other prompts"}[r]
}

// watermark in blocks.
func (p *Policy) watermark() int {
	const rounding = 1e-9 // 1% of 700 is 7, though not in binary
	return int(math.Ceil(p.Watermark*float64(p.Blocks) - rounding))
}

// schedule plans the next step, allocates its blocks and reports whether there is work. While
// earlier steps are in a pipeline, only the partial prompt goes on. A held rank starts no prompts.
func (r *rank) schedule(t float64, piped, held bool) bool {
	r.work.Chunks, r.chunks = r.work.Chunks[:0], r.chunks[:0]
	r.decodes, r.preempted, r.extra, r.blocked = false, 0, 0, Nothing
	r.begun = r.begun[:0]
	r.queued = r.waiting.n
	if piped {
		r.continuePrompt(r.rules.StepTokens)
		r.sum()
		return len(r.chunks) > 0
	}
	r.resume(t)
	if held || r.hold() {
		r.decode()
		r.blocked = Holding
	} else {
		switch r.rules.Prefill {
		case deploy.First:
			r.promptsFirst(t)
		default:
			r.mixPrompts(t)
		}
	}
	r.sum()
	return r.decodes || len(r.chunks) > 0
}

// prompts reports whether the next step may contain prompt tokens.
func (r *rank) prompts() bool {
	if r.partial != none {
		return true
	}
	if r.waiting.n == 0 || r.running() >= r.rules.Sequences {
		return false
	}
	j := r.jobs.at(r.waiting.at(0))
	return !j.elsewhere && r.room(j, min(j.target(), r.rules.StepTokens)) <= r.free()
}

// hold reports whether prompts wait for others to fill a step.
func (r *rank) hold() bool {
	if r.rules.WaitSteps == 0 || r.decoding == 0 || r.waiting.n == 0 || r.partial != none {
		r.waited = 0
		return false
	}
	tokens := 0
	for i := 0; i < r.waiting.n && tokens < r.rules.StepTokens; i++ {
		tokens += r.jobs.at(r.waiting.at(i)).target()
	}
	if r.waited == r.rules.WaitSteps || tokens+r.decoding*(1+r.rules.Drafts) >= r.rules.StepTokens || r.waiting.n+r.running() >= r.rules.Sequences {
		r.waited = 0
		return false
	}
	r.waited++
	return true
}

// resume lets requests decode whose cache only has to be brought here.
func (r *rank) resume(t float64) {
	for r.waiting.n > 0 && r.running() < r.rules.Sequences {
		at := r.waiting.at(0)
		j := r.jobs.at(at)
		if !j.elsewhere {
			return
		}
		need := r.room(j, j.cached)
		// Without room for its next token it would be preempted again.
		if r.free()-r.room(j, j.cached+1+r.rules.Drafts) < r.margin() {
			r.blocked = Cache
			return
		}
		r.waiting.pop()
		*r.queue--
		r.allocate(j, need)
		if !j.sent {
			r.extra += float64(j.cached) * r.rules.SwapSeconds
		}
		if j.first < 0 {
			j.first, j.last = t, t
			r.begun = append(r.begun, at)
		}
		j.elsewhere, j.sent = false, false
		r.admit(at)
		r.start(at, j.last)
	}
}

// margin is the watermark, which applies only while others run.
func (r *rank) margin() int {
	if r.running()+len(r.chunks) == 0 {
		return 0
	}
	return r.rules.watermark()
}

// room is the number of blocks needed to admit a job with this many tokens.
func (r *rank) room(j *job, tokens int) int {
	if r.rules.ReservesOutput {
		tokens = j.Input + j.Output
	}
	return r.blocks(tokens) - j.held - r.sharedBlocks(j)
}

func (r *rank) sharedBlocks(j *job) int {
	if len(j.shared) == 0 {
		return 0
	}
	return len(j.shared) * (j.HashTokens / r.rules.BlockTokens)
}

// promptsFirst fills a step with complete prompts while decodes wait; without any, all decode.
func (r *rank) promptsFirst(t float64) {
	tokens := r.continuePrompt(r.rules.StepTokens)
	for r.waiting.n > 0 && r.preempted == 0 {
		at := r.waiting.at(0)
		j := r.jobs.at(at)
		if j.elsewhere {
			break // it decodes from the next step on
		}
		if r.decoding+len(r.chunks) >= r.rules.Sequences {
			r.blocked = Sequences
			break
		}
		hit := r.cachedPrefix(j)
		size := j.target() - hit
		left := r.rules.StepTokens - tokens
		if tokens > 0 && size > left && (!r.rules.FillsSteps || left <= 0) {
			r.blocked = Budget
			break
		}
		cut := r.rules.CutsPrompts && size > left
		if cut {
			size = left
		}
		if r.free()-r.fresh(j, hit, r.firstRoom(j, hit+size)) < r.margin() {
			r.blocked = Cache
			break
		}
		r.take(at, hit, t)
		r.chunk(at, size)
		tokens += size
		if cut {
			r.partial = at
			break
		}
	}
	if len(r.chunks) == 0 {
		r.decode()
	}
}

// continuePrompt adds the next tokens of the partial prompt to the step and returns their number.
// It preempts others if their blocks are not free.
func (r *rank) continuePrompt(most int) int {
	at := r.partial
	if at == none || most <= 0 {
		return 0
	}
	j := r.jobs.at(at)
	size := min(j.target()-j.cached, most)
	if !r.chunk(at, size) {
		r.blocked = Cache
		r.preempt()
		return 0
	}
	if j.cached+size == j.target() {
		r.partial = none // from the end of the step it decodes
	}
	return size
}

// mixPrompts runs prompts together with decodes, in chunks of the remaining budget or complete.
func (r *rank) mixPrompts(t float64) {
	r.decode()
	budget := r.rules.StepTokens - r.decoding*(1+r.rules.Drafts)
	budget -= r.continuePrompt(budget)
	complete := r.rules.Prefill == deploy.Prompts
	for r.waiting.n > 0 {
		at := r.waiting.at(0)
		j := r.jobs.at(at)
		switch {
		case j.elsewhere:
			return // it decodes from the next step on
		case r.preempted > 0:
			r.blocked = Cache
			return
		case r.decoding+len(r.chunks) >= r.rules.Sequences:
			r.blocked = Sequences
			return
		case budget <= 0 || r.partial != none:
			r.blocked = Budget
			return
		}
		hit := r.cachedPrefix(j)
		size := j.target() - hit
		if complete && size > budget && len(r.chunks) > 0 {
			r.blocked = Budget
			return
		}
		if !complete {
			size = min(size, budget)
		}
		if r.free() < r.fresh(j, hit, r.firstRoom(j, hit+size)) {
			r.blocked = Cache
			return
		}
		r.take(at, hit, t)
		r.chunk(at, size)
		if hit+size < j.target() {
			r.partial = at
		}
		budget -= size
	}
}

// firstRoom is the tokens that must have room before a job's first chunk, up to some, is computed.
func (r *rank) firstRoom(j *job, chunk int) int {
	if r.rules.ReservesPrompt {
		return j.target()
	}
	return chunk
}

// cachedPrefix is the leading cached tokens of a job, short of its last: one must be computed.
func (r *rank) cachedPrefix(j *job) int {
	if j.Request.Cached > 0 {
		return min(j.Request.Cached, j.target()-1)
	}
	if r.prefix == nil || j.HashTokens == 0 || j.cached > 0 || j.preemptions == 0 && !r.rules.PrefixCache {
		return 0
	}
	n := r.prefix.match(&j.Request, j.target())
	if n*j.HashTokens >= j.target() {
		n--
	}
	return n * j.HashTokens
}

// fresh is the free blocks that a job takes to be admitted, including idle blocks of its hit.
func (r *rank) fresh(j *job, hit, tokens int) int {
	n := r.room(j, tokens)
	for i := range j.found(hit) {
		if r.prefix.blocks[r.prefix.names[j.Hash(i)]].refs > 0 {
			n -= j.HashTokens / r.rules.BlockTokens
		}
	}
	return n
}

// found are the blocks of a hit that the prefix cache has; tokens from before the run have none.
func (j *job) found(hit int) int {
	if j.HashTokens == 0 || j.Request.Cached > 0 {
		return 0
	}
	return hit / j.HashTokens
}

// take admits the first waiting job, with its cached prefix.
func (r *rank) take(at int32, hit int, t float64) {
	r.waiting.pop()
	*r.queue--
	j := r.jobs.at(at)
	if j.scheduled < 0 {
		j.scheduled, j.hit, j.began = t, hit, j.home
	}
	if r.prefix != nil && j.HashTokens > 0 {
		if r.rules.PrefixCache && j.Request.Cached == 0 {
			r.prefix.lookups += int64(j.target())
			r.prefix.hits += int64(hit)
		}
		for i := range j.found(hit) {
			block := r.prefix.names[j.Hash(i)]
			size, away := r.prefix.ref(block)
			if r.used += size; away {
				r.prefix.loaded += int64(j.HashTokens)
				r.extra += float64(j.HashTokens) * r.rules.LoadSeconds
			}
			j.shared = append(j.shared, block)
		}
	}
	j.cached, j.named = hit, len(j.shared)
	r.admit(at)
}

// chunk adds tokens of a running job to the step; false if their blocks are not free.
func (r *rank) chunk(at int32, tokens int) bool {
	j := r.jobs.at(at)
	need := r.room(j, j.cached+tokens)
	if need > r.free() {
		return false
	}
	r.allocate(j, need)
	r.chunks = append(r.chunks, at)
	r.work.Chunks = append(r.work.Chunks, Chunk{New: tokens, Past: j.cached, Ends: j.cached+tokens >= j.target()})
	return true
}

// decode adds all decodes to the step, preempting where blocks run out.
func (r *rank) decode() {
	if r.rules.Drafts > 0 {
		r.decodeEach()
		return
	}
	for r.decoding > 0 && !r.rules.ReservesOutput && r.need() > r.free() {
		r.preempt()
	}
	if r.decoding == 0 {
		return
	}
	r.decodes = true
	if !r.rules.ReservesOutput {
		r.used += r.need()
		if r.prefix != nil {
			r.prefix.evict(r.rules.Blocks - r.used)
		}
	}
}

// decodeEach allocates blocks for what each sequence may write.
func (r *rank) decodeEach() {
	for at := r.head; at != none; at = r.jobs.at(at).next {
		j := r.jobs.at(at)
		if !j.decodes {
			continue
		}
		for {
			need := r.room(j, j.cached+1+r.rules.Drafts)
			if need <= 0 {
				break
			}
			if need <= r.free() {
				r.allocate(j, need)
				break
			}
			if r.preempt() == at {
				r.decodes = r.decoding > 0
				return
			}
		}
	}
	r.decodes = r.decoding > 0
}

// sum totals the decodes of the step.
func (r *rank) sum() {
	w := &r.work
	w.Decodes, w.Context = 0, 0
	clear(w.Bounded)
	if !r.decodes {
		return
	}
	fresh := int64(1 + r.rules.Drafts)
	w.Decodes, w.Context = r.decoding, r.context+fresh*int64(r.decoding)
	if r.rules.Drafts == 0 {
		for i := range r.within {
			w.Bounded[i] = r.within[i].keys(r.decoding, r.tick)
		}
		return
	}
	if len(r.bounds) == 0 {
		return
	}
	for at := r.head; at != none; at = r.jobs.at(at).next {
		j := r.jobs.at(at)
		if !j.decodes {
			continue
		}
		for i, bound := range r.bounds {
			w.Bounded[i] += min(int64(j.cached)+fresh, int64(bound))
		}
	}
}
