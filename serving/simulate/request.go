package simulate

import (
	"container/heap"
	"fmt"
	"math"

	"throughline/deploy"
)

// Request is what a client sends.
type Request struct {
	Arrival       float64 // seconds from the start of the run
	Input, Output int     // tokens

	// What a prompt shares with others, so that its keys and values may be cached. Hashes names its leading blocks of
	// HashTokens tokens each, every name standing for the block and all before it. Where there are none, Chain names them by
	// their number: a prefix of so many tokens that is common to a group, or a conversation whose turns grow.
	Hashes     []uint64
	HashTokens int
	Chain      uint64
	Shared     int // tokens at the front that the chain covers; the answer too where it covers all of the input

	// Burst: one of many that came at once, not the successor of another. The front end takes them in one after another.
	Burst bool
	// Client is who sent it: for sources that answer an end with another request.
	Client int
}

// hash is the name of a leading block.
func (r *Request) hash(i int) uint64 {
	if len(r.Hashes) > 0 {
		return r.Hashes[i]
	}
	return mix(r.Chain + uint64(i)*0x9e3779b97f4a7c15)
}

// hashed is how many whole blocks of so many tokens have names.
func (r *Request) hashed(tokens int) int {
	switch {
	case len(r.Hashes) > 0:
		return min(len(r.Hashes), tokens/r.HashTokens)
	case r.Chain != 0 && r.HashTokens > 0:
		covered := r.Shared
		if covered >= r.Input { // a conversation: what is answered is part of the next turn
			covered = tokens
		}
		return min(covered, tokens) / r.HashTokens
	}
	return 0
}

// mix spreads the bits of a number (splitmix64, Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Source is where requests come from.
type Source interface {
	// Next is the next request, in the order of arrival, or false when there are no more that do not wait for an end.
	Next() (Request, bool, error)
	// Ended tells that a request has ended, and may answer with another, which arrives at that time or later.
	Ended(client int, r *Request, t float64) (Request, bool)
}

// List is requests that are known from the start.
type List struct {
	Requests []Request
	next     int
}

// Next is the next of the list.
func (l *List) Next() (Request, bool, error) {
	if l.next == len(l.Requests) {
		return Request{}, false, nil
	}
	r := l.Requests[l.next]
	if l.next > 0 && r.Arrival < l.Requests[l.next-1].Arrival {
		return r, false, fmt.Errorf("request %d arrives at %g s, before the one in front of it", l.next, r.Arrival)
	}
	l.next++
	return r, true, nil
}

// Ended answers with nothing.
func (l *List) Ended(int, *Request, float64) (Request, bool) { return Request{}, false }

// ClosedLoop is clients that each send a request, wait for its end and send the next of a list which they share.
type ClosedLoop struct {
	Requests []Request
	Clients  int
	next     int
	began    int // clients
}

// Next is the first request of a client.
func (c *ClosedLoop) Next() (Request, bool, error) {
	if c.began == c.Clients || c.next == len(c.Requests) {
		return Request{}, false, nil
	}
	r := c.Requests[c.next]
	r.Arrival, r.Burst = 0, true
	c.next++
	c.began++
	return r, true, nil
}

// Ended is the next request of the list.
func (c *ClosedLoop) Ended(_ int, _ *Request, t float64) (Request, bool) {
	if c.next >= len(c.Requests) {
		return Request{}, false
	}
	r := c.Requests[c.next]
	r.Arrival = t
	c.next++
	return r, true
}

// arrivals are the requests that are yet to reach a server, by the time at which they do.
type arrivals struct {
	source Source
	deploy.FrontEnd
	later  queue   // successors of others
	ahead  Request // of the source
	more   bool
	late   float64 // what the one ahead waits for those that came at once with it
	enters float64 // when the one ahead reaches the scheduler
	count  int64
}

// arrival is a request on its way to a server.
type arrival struct {
	Request
	enters float64
	order  int64
}

type queue []arrival

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].enters < q[j].enters || q[i].enters == q[j].enters && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(arrival)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// pull looks at the next request of the source.
func (a *arrivals) pull() error {
	last, first := a.ahead, !a.more
	var err error
	a.ahead, a.more, err = a.source.Next()
	if err != nil || !a.more {
		return err
	}
	if !(a.ahead.Arrival >= 0) || math.IsInf(a.ahead.Arrival, 1) {
		return fmt.Errorf("request %d: an arrival must be a time from 0 on, not %g", a.count, a.ahead.Arrival)
	}
	a.count++
	a.late += a.taking(&last)
	if first || a.ahead.Arrival != last.Arrival || !a.ahead.Burst {
		a.late = 0
	}
	a.enters = max(a.enters, a.ahead.Arrival+a.entry(&a.ahead)+a.late)
	return nil
}

// entry is the time before a request reaches the scheduler that has the front end for itself.
func (a *arrivals) entry(r *Request) float64 { return a.Entry(r.Input, false) }

// taking is what a request adds to the wait of others that came at once with it.
func (a *arrivals) taking(r *Request) float64 {
	return a.RequestSeconds + a.WaveRequestSeconds + a.TokenSeconds*float64(r.Input)
}

// next is when the next request reaches the scheduler.
func (a *arrivals) next() (t float64, ok bool) {
	if len(a.later) > 0 && (!a.more || a.later[0].enters < a.enters) {
		return a.later[0].enters, true
	}
	return a.enters, a.more
}

// take takes it.
func (a *arrivals) take() (Request, error) {
	if len(a.later) > 0 && (!a.more || a.later[0].enters < a.enters) {
		return heap.Pop(&a.later).(arrival).Request, nil
	}
	r := a.ahead
	return r, a.pull()
}

// ended asks the source for the successor of a request.
func (a *arrivals) ended(r *Request, t float64) {
	if next, ok := a.source.Ended(r.Client, r, t); ok {
		a.count++
		heap.Push(&a.later, arrival{Request: next, enters: next.Arrival + a.entry(&next), order: a.count})
	}
}
