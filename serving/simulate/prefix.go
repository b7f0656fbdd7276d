package simulate

import "throughline/workload"

// prefixCache is the blocks of prompts that others may share, by their names. A block to which nobody refers stays until
// its room is needed; the one that was used longest ago goes first, and of one prompt the last block before those that
// it follows.
type prefixCache struct {
	names  map[uint64]int32
	blocks []cachedBlock
	free   []int32
	// The blocks to which nobody refers, least recently used first.
	oldest, newest int32
	idle           int // cache blocks of these

	hits, asked int64 // tokens
}

type cachedBlock struct {
	name       uint64
	refs       int
	size       int // blocks of the cache
	next, prev int32
}

func newPrefixCache() *prefixCache {
	return &prefixCache{names: map[uint64]int32{}, oldest: none, newest: none}
}

// match is how many leading blocks of a request are there.
func (p *prefixCache) match(r *workload.Request, tokens int) int {
	n := r.Hashed(tokens)
	for i := range n {
		if _, ok := p.names[r.Hash(i)]; !ok {
			return i
		}
	}
	return n
}

// ref refers to a block, and reports the cache blocks that are in use by it which were not before.
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

// unref ends all references of a job, and reports the cache blocks that nobody refers to any more.
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

// offer makes blocks of a job, whose tokens have been computed, ones that others may share, where nobody else has done so.
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

// evict forgets blocks to which nobody refers until no more than so many cache blocks are left of them.
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
