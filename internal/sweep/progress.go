package sweep

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// progress is the parts that are known to be there.
type progress struct {
	work   *Work
	lock   sync.Mutex
	done   map[int]bool
	handed map[int]bool // to a worker of this process
	vain   int
	ended  chan struct{} // a part has ended since
	ready  chan struct{} // a worker is free
	idle   bool          // one has said so, and waits for a part
	over   chan struct{} // closed: there is nothing more to do
	// marks of others, and when each was seen first: whoever left it is at work, or lost.
	marks map[string]time.Time
	busy  map[int]time.Time // when the youngest mark of a part was seen
	spent time.Duration     // on parts that ended here
	count int               // of those
}

// refresh finds the parts that are there by now, and those that others have begun.
func (p *progress) refresh(ctx context.Context) error {
	names, err := p.work.In.Names(ctx)
	p.lock.Lock()
	defer p.lock.Unlock()
	for part := range p.work.partsIn(names) {
		p.done[part] = true
	}
	clear(p.busy)
	for _, name := range names {
		low, _, ok := markOf(name)
		if !ok {
			continue
		}
		if _, seen := p.marks[name]; !seen {
			p.marks[name] = time.Now()
		}
		if part := p.work.Manifest.PartAt(low); p.marks[name].After(p.busy[part]) {
			p.busy[part] = p.marks[name]
		}
	}
	return err
}

// overdue is how many times as long as a part takes another process is left to end it, and no less
// than a busy machine may hold it up.
const (
	overdue = 2
	heldUp  = time.Second
	unseen  = 200 * time.Millisecond // times at which the last parts are taken differ by more than a mark needs
)

// free are the parts among some that nobody seems to be at, and how long to wait where there are
// none.
func (p *progress) free(parts []int) (out []int, wait time.Duration) {
	p.lock.Lock()
	defer p.lock.Unlock()
	each := p.spent / time.Duration(max(1, p.count))
	left := max(overdue*each, heldUp)
	for _, part := range parts {
		if begun, ok := p.busy[part]; !ok || time.Since(begun) >= left {
			out = append(out, part)
		}
	}
	return out, min(max(each/8, 5*time.Millisecond), time.Second)
}

func (p *progress) finish(part int, vain bool, spent time.Duration) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.spent += spent
	p.count++
	if p.done[part] = true; vain {
		p.vain++
	}
	select {
	case p.ended <- struct{}{}:
	default: // it says so already
	}
}

// missing are the parts among some that are not there.
func (p *progress) missing(from, to, step int) (out []int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for part := from; part < to; part += step {
		if !p.done[part] && !p.handed[part] {
			out = append(out, part)
		}
	}
	return out
}

// hand out the parts of a shard, then any that are missing, round by round: a round begins when all
// parts of the one before are there.
func (p *progress) hand(ctx context.Context, number, of int, queue chan<- int) error {
	for round := range max(1, len(p.work.Manifest.Rounds)-1) {
		if err := p.work.learn(ctx, round); err != nil {
			return err
		}
		if err := p.handRound(ctx, round, number, of, queue); err != nil {
			return err
		}
		if p.work.Manifest.Rounds != nil {
			if err := p.wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *progress) handRound(ctx context.Context, round, number, of int, queue chan<- int) error {
	from, to := p.work.Manifest.RoundParts(round)
	own := p.missing(from+number, to, of)
	for {
		if len(own) == 0 && of == 1 {
			return nil
		}
		if !p.idle { // a worker may have been ready since the last round
			select {
			case <-p.ready:
				p.idle = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		part := -1
		var err error
		if len(own) > 0 {
			part, own, err = p.own(ctx, own, of)
		} else if part, err = p.other(ctx, from, to, number, of); part < 0 {
			return err
		}
		if err != nil {
			return err
		}
		if part < 0 {
			continue
		}
		p.lock.Lock()
		p.handed[part] = true
		p.lock.Unlock()
		queue <- part // the worker that is ready takes it
		p.idle = false
	}
}

// own takes the first part of a list; -1: another process, to which a part is left, has begun it.
func (p *progress) own(ctx context.Context, list []int, of int) (part int, rest []int, err error) {
	part, rest = list[0], list[1:]
	if of == 1 {
		return part, rest, nil
	}
	if err := p.refresh(ctx); err != nil {
		return -1, nil, err
	}
	p.lock.Lock()
	there := p.done[part]
	p.lock.Unlock()
	if free, _ := p.free(list[:1]); there || len(free) == 0 {
		part = -1
	}
	return part, rest, nil
}

// other is a part that is missing and that nobody seems to be at; -1: none is missing. Each process
// begins at another place of the list, and near it anywhere. The last ones are taken at random
// times, as a mark takes a while to be seen.
func (p *progress) other(ctx context.Context, from, to, number, of int) (int, error) {
	for waited := false; ; waited = true {
		if err := p.refresh(ctx); err != nil {
			return -1, err
		}
		left := p.missing(from, to, 1)
		if len(left) == 0 {
			return -1, nil
		}
		free, wait := p.free(left)
		n := len(free)
		if n > 0 && !waited && n < of {
			wait = rand.N(max(4*wait, unseen))
		} else if n > 0 {
			return free[(number*n+rand.IntN(n))/of], nil
		}
		if err := sleep(ctx, wait); err != nil {
			return -1, err
		}
	}
}

// wait until the workers of this process have ended all parts that were handed to them.
func (p *progress) wait(ctx context.Context) error {
	for {
		p.lock.Lock()
		open := false
		for part := range p.handed {
			open = open || !p.done[part]
		}
		p.lock.Unlock()
		if !open {
			return nil
		}
		select {
		case <-p.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sleep waits, unless the work is ended before.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
