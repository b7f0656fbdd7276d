package simulate

import "throughline/workload"

// prefixCache is the shareable blocks of prompts, by hash. Idle blocks stay until their room is
// needed: the least recently used goes first, and of one prompt the last block.
type prefixCache struct {
	names  map[uint64]int32
	blocks []cachedBlock
	free   []int32
	// Idle blocks, least recently used first.
	oldest, newest int32
	idle           int // cache blocks of these

	hits, lookups int64 // tokens
}

type cachedBlock struct {
	name       uint64
	refs       int
	size       int // cache blocks
	next, prev int32
}

func newPrefixCache() *prefixCache {
	return &prefixCache{names: map[uint64]int32{}, oldest: none, newest: none}
}

// match is the number of leading blocks of a request that are cached.
func (p *prefixCache) match(r *workload.Request, tokens int) int {
	n := r.Hashed(tokens)
	for i := range n {
		if _, ok := p.names[r.Hash(i)]; !ok {
			return i
		}
	}
	return n
}

// ref adds a reference to a block and returns the cache blocks that this takes into use.
func (p *prefixCache) ref(at int32) int {
	b := &p.blocks[at]
	b.refs++
	if b.refs > 1 {
		return 0
	}
	p.unlink(at)
	p.idle -= b.size
	return b.size
}

// unref drops all references of a job and returns the cache blocks that became idle.
func (p *prefixCache) unref(j *job) (freed int) {
	for i := len(j.shared) - 1; i >= 0; i-- {
		at := j.shared[i]
		b := &p.blocks[at]
		if b.refs--; b.refs > 0 {
			continue
		}
		freed += b.size
		p.link(at)
		p.idle += b.size
	}
	j.shared = j.shared[:0]
	return freed
}

// offer shares the computed blocks of a job, unless others have.
func (p *prefixCache) offer(j *job, blockTokens int) {
	if j.HashTokens == 0 {
		return
	}
	size := j.HashTokens / blockTokens
	for n := j.Hashed(j.cached); j.named < n; j.named++ {
		name := j.Hash(j.named)
		if _, ok := p.names[name]; ok {
			continue
		}
		at := int32(len(p.blocks))
		if n := len(p.free); n > 0 {
			at, p.free = p.free[n-1], p.free[:n-1]
		} else {
			p.blocks = append(p.blocks, cachedBlock{})
		}
		p.blocks[at] = cachedBlock{name: name, refs: 1, size: size, next: none, prev: none}
		p.names[name] = at
		j.shared = append(j.shared, at)
		j.held -= size
	}
}

// evict drops idle blocks until no more than room cache blocks of them are left.
func (p *prefixCache) evict(room int) {
	for p.idle > room {
		at := p.oldest
		p.idle -= p.blocks[at].size
		p.unlink(at)
		p.forget(at)
	}
}

func (p *prefixCache) forget(at int32) {
	delete(p.names, p.blocks[at].name)
	p.free = append(p.free, at)
}

func (p *prefixCache) link(at int32) {
	b := &p.blocks[at]
	b.prev, b.next = p.newest, none
	if p.newest == none {
		p.oldest = at
	} else {
		p.blocks[p.newest].next = at
	}
	p.newest = at
}

func (p *prefixCache) unlink(at int32) {
	b := &p.blocks[at]
	if b.prev == none {
		p.oldest = b.next
	} else {
		p.blocks[b.prev].next = b.next
	}
	if b.next == none {
		p.newest = b.prev
	} else {
		p.blocks[b.next].prev = b.prev
	}
}
