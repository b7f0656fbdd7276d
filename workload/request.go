package workload

import "fmt"

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

// Hash is the name of a leading block.
func (r *Request) Hash(i int) uint64 {
	if len(r.Hashes) > 0 {
		return r.Hashes[i]
	}
	return mix(r.Chain + uint64(i)*0x9e3779b97f4a7c15)
}

// Hashed is how many whole blocks of so many tokens have names.
func (r *Request) Hashed(tokens int) int {
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

// byClients is a source whose requests come by a number of clients: each waits for an end before it sends the next.
type byClients struct {
	Source
	waiting int // clients that have sent nothing yet
}

// ByClients bounds the requests of a source that are under way; 0: there is no bound. A request that finds no free client is sent
// when there is one, and its time counts from then on.
func ByClients(s Source, clients int) Source {
	if clients == 0 {
		return s
	}
	return &byClients{s, clients}
}

// Next is the first request of a client.
func (c *byClients) Next() (Request, bool, error) {
	if c.waiting == 0 {
		return Request{}, false, nil
	}
	c.waiting--
	return c.Source.Next()
}

// Ended is what the source has behind a request, or what its client sends next.
func (c *byClients) Ended(client int, r *Request, t float64) (Request, bool) {
	if next, ok := c.Source.Ended(client, r, t); ok {
		return next, true
	}
	next, ok, err := c.Source.Next()
	next.Arrival, next.Burst = max(next.Arrival, t), false
	return next, ok && err == nil
}

// failed is a source that cannot be read.
type failed struct {
	List
	err error
}

func (f *failed) Next() (Request, bool, error) { return Request{}, false, f.err }
