package experts

import (
	"sync"
	"sync/atomic"
)

// points says which points of a curve have been worked out. Any number of plans that are searched side by side may ask.
type points struct {
	known atomic.Uint32
	lock  sync.Mutex
}

func (p *points) has(i int) bool { return p.known.Load()>>i&1 == 1 }

// learn works a point out, unless another has done so meanwhile.
func (p *points) learn(i int, work func()) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if !p.has(i) {
		work()
		p.known.Or(1 << i)
	}
}
