package workload

import "fmt"

// Request is what a client sends.
type Request struct {
	Arrival       float64 // seconds from the start of the run
	Input, Output int     // tokens

	// What a prompt shares with others, so that its keys and values may be cached. Hashes names its
	// leading blocks of HashTokens tokens, each name standing for the block and all before it.
	// Without hashes, Chain names them by index: a prefix common to a group, or a conversation that
	// grows.
	Hashes     []uint64
	HashTokens int
	Chain      uint64
	Shared     int // leading tokens that the chain covers; if all of the input, the answer too

	// Cached is the leading tokens whose keys and values every server has from before.
	Cached int
	// UnderWay: it is being answered when the run begins, and has passed front ends and prefill.
	UnderWay bool
	// Client sent the request, for sources that answer an end with another request.
	Client int
}

// Hash is the name of a leading block.
func (r *Request) Hash(i int) uint64 {
	if len(r.Hashes) > 0 {
		return r.Hashes[i]
	}
	return mix(r.Chain + uint64(i)*0x9e3779b97f4a7c15)
}

// Hashed is how many complete blocks of a number of tokens have names.
func (r *Request) Hashed(tokens int) int {
	switch {
	case len(r.Hashes) > 0:
		return min(len(r.Hashes), tokens/r.HashTokens)
	case r.Chain != 0 && r.HashTokens > 0:
		covered := r.Shared
		if covered >= r.Input { // a conversation: the answer is part of the next turn
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

type Source interface {
	// Next is the next request by arrival, or false when no more come before another ends.
	Next() (Request, bool, error)
	// Ended reports the end of a request; another may follow at that time or later.
	Ended(client int, r *Request, t float64) (Request, bool)
}

// List is requests that are known from the start.
type List struct {
	Requests []Request
	next     int
}

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

// byClients is a source of several clients, each of which waits for an end before it sends again.
type byClients struct {
	Source
	waiting int       // clients that have sent nothing yet
	first   []Request // theirs, as far as others have ended before they were due
}

// ByClients bounds the requests of a source under way; 0: no bound. A request without a free client
// is sent, and timed, when there is one.
func ByClients(s Source, clients int) Source {
	if clients == 0 {
		return s
	}
	return &byClients{Source: s, waiting: clients}
}

func (c *byClients) Next() (Request, bool, error) {
	if c.waiting == 0 {
		return Request{}, false, nil
	}
	c.waiting--
	if len(c.first) > 0 {
		r := c.first[0]
		c.first = c.first[1:]
		return r, true, nil
	}
	return c.Source.Next()
}

// Ended is what follows a request in the source, or what its client sends next.
func (c *byClients) Ended(client int, r *Request, t float64) (Request, bool) {
	if next, ok := c.Source.Ended(client, r, t); ok {
		return next, true
	}
	for len(c.first) < c.waiting { // the next requests belong to clients that are still to send one
		r, ok, err := c.Source.Next()
		if !ok || err != nil {
			break
		}
		c.first = append(c.first, r)
	}
	next, ok, err := c.Source.Next()
	next.Arrival = max(next.Arrival, t)
	return next, ok && err == nil
}

// failed is a source that cannot be read.
type failed struct {
	List
	err error
}

func (f *failed) Next() (Request, bool, error) { return Request{}, false, f.err }
