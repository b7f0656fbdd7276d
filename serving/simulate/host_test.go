package simulate

import (
	"testing"

	"throughline/workload"
)

// prompt is a request whose blocks have these hashes, of two tokens each.
func prompt(hashes ...uint64) *job {
	j := &job{}
	j.Request = workload.Request{Input: 2*len(hashes) + 1, Output: 1, HashTokens: 2, Hashes: hashes}
	j.cached = 2 * len(hashes)
	return j
}

// TestHostKeepsIdleBlocks: blocks that lose their room in the cache go to the host, oldest first,
// and come back on a hit; what the host has no room for is gone.
func TestHostKeepsIdleBlocks(t *testing.T) {
	p := newPrefixCache(2)
	first, second := prompt(1, 2), prompt(3, 4)
	for _, j := range []*job{first, second} {
		p.offer(j, 2)
		p.unref(j)
	}
	p.evict(2) // of four idle blocks, those of the first prompt
	if p.idle.size != 2 || p.host.size != 2 || p.match(&first.Request, 4) != 2 {
		t.Fatalf("%d blocks in the cache, %d on the host", p.idle.size, p.host.size)
	}
	if size, away := p.ref(p.names[1]); size != 1 || !away || p.host.size != 1 {
		t.Errorf("a hit on the host takes %d blocks, away %v", size, away)
	}
	if size, away := p.ref(p.names[3]); size != 1 || away {
		t.Errorf("a hit in the cache takes %d blocks, away %v", size, away)
	}
	p.evict(0) // block 4 joins block 2 on the host
	third := prompt(5)
	p.offer(third, 2)
	p.unref(third)
	p.evict(0) // and block 5 pushes block 2 out
	if _, kept := p.names[2]; kept || p.host.size != 2 || p.match(&first.Request, 4) != 1 {
		t.Errorf("the host has %d blocks; of the first prompt %d are left", p.host.size, p.match(&first.Request, 4))
	}
	p.flush()
	if p.match(&third.Request, 2) != 0 || p.host.size != 0 {
		t.Error("a flushed cache has a block")
	}
}
