package experts

import (
	"sync"
	"sync/atomic"
)

// points records which points of curves have been computed, as most are never needed, concurrently.
type points struct {
	known atomic.Uint32
	lock  sync.Mutex
}

// has reports whether all the points are known, each a bit.
func (p *points) has(some uint32) bool { return p.known.Load()&some == some }

// learn computes those of the points that are not known.
func (p *points) learn(some uint32, work func(point int)) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for i := range 32 {
		if one := uint32(1) << i; some&one != 0 && !p.has(one) {
			work(i)
			p.known.Or(one)
		}
	}
}

// pair is a point and the next.
func pair(first int) uint32 { return 3 << first }
