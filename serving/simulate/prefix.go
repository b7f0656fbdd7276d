package simulate

import "throughline/workload"

// prefixCache is the shareable blocks of prompts, by hash. Idle blocks stay until their room is
// needed: the least recently used goes first, and of one prompt the last block. It goes to the host
// if that has room, which drops its own in the same order, and comes back where it is hit.
type prefixCache struct {
	names  map[uint64]int32
	blocks []cachedBlock
	free   []int32

	idle idleBlocks // in the cache
	host idleBlocks // in the memory of the host
	room int        // cache blocks that the host takes

	hits, lookups int64 // tokens
	loaded        int64 // tokens of these that came from the host
}

// idleBlocks are blocks without references, least recently used first.
type idleBlocks struct {
	oldest, newest int32
	size           int // in cache blocks
}

type cachedBlock struct {
	name       uint64
	refs       int
	size       int  // cache blocks
	away       bool // in the memory of the host
	next, prev int32
}

func newPrefixCache(hostBlocks int) *prefixCache {
	nobody := idleBlocks{oldest: none, newest: none}
	return &prefixCache{names: map[uint64]int32{}, idle: nobody, host: nobody, room: hostBlocks}
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

// ref adds a reference to a block and returns the cache blocks that this takes into use, and
// whether it comes from the host.
func (p *prefixCache) ref(at int32) (size int, away bool) {
	b := &p.blocks[at]
	b.refs++
	if b.refs > 1 {
		return 0, false
	}
	if away = b.away; away {
		p.unlink(&p.host, at)
		b.away = false
	} else {
		p.unlink(&p.idle, at)
	}
	return b.size, away
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
		p.link(&p.idle, at)
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

// evict moves idle blocks to the host until no more than room cache blocks of them are left.
func (p *prefixCache) evict(room int) {
	for p.idle.size > room {
		at := p.idle.oldest
		p.unlink(&p.idle, at)
		p.blocks[at].away = true
		p.link(&p.host, at)
	}
	for p.host.size > p.room {
		at := p.host.oldest
		p.unlink(&p.host, at)
		p.forget(at)
	}
}

// flush empties the cache and the host.
func (p *prefixCache) flush() {
	room := p.room
	p.room = 0
	p.evict(0)
	p.room = room
}

func (p *prefixCache) forget(at int32) {
	delete(p.names, p.blocks[at].name)
	p.free = append(p.free, at)
}

func (p *prefixCache) link(in *idleBlocks, at int32) {
	b := &p.blocks[at]
	b.prev, b.next = in.newest, none
	if in.newest == none {
		in.oldest = at
	} else {
		p.blocks[in.newest].next = at
	}
	in.newest = at
	in.size += b.size
}

func (p *prefixCache) unlink(in *idleBlocks, at int32) {
	b := &p.blocks[at]
	if b.prev == none {
		in.oldest = b.next
	} else {
		p.blocks[b.prev].next = b.next
	}
	if b.next == none {
		in.newest = b.prev
	} else {
		p.blocks[b.next].prev = b.prev
	}
	in.size -= b.size
}
