package simulate

import (
	"context"
	"errors"
	"math"
	"slices"
	"throughline/workload"
)

// Live is a deployment that takes requests while it runs, with the same events as Run. Its caller
// advances the time, which never goes back.
type Live struct {
	run     *run
	lost    func(client int, t float64)
	jobs    map[int]int32 // by client, once they have reached a scheduler
	leaving []int         // clients that cancelled during the step of their request
	now     float64
}

// order is an external action on servers or requests.
type order struct {
	time float64
	do   func(t float64)
}

// ErrNoServer means that no server takes the request.
var ErrNoServer = errors.New("no server is left that takes requests")

// silent is an empty source.
type silent struct{}

func (silent) Next() (workload.Request, bool, error) { return workload.Request{}, false, nil }
func (silent) Ended(int, *workload.Request, float64) (workload.Request, bool) {
	return workload.Request{}, false
}

// NewLive starts a deployment without requests. Requests under way must have different clients;
// lost is called for those that a failing server takes along.
func NewLive(o Options, lost func(client int, t float64)) (*Live, error) {
	r, err := newRun(o, silent{})
	if err != nil {
		return nil, err
	}
	l := &Live{run: r, lost: lost, jobs: map[int]int32{}}
	r.online, r.jobs.most = l, math.MaxInt // jobs never move to a backlog
	return l, nil
}

// Submit adds a request at its arrival, or now if that has passed.
func (l *Live) Submit(q workload.Request) error {
	r := l.run
	if err := r.fits(&q); err != nil {
		return err
	}
	if !l.Takes() {
		return ErrNoServer
	}
	q.Arrival = max(q.Arrival, l.now)
	r.arrive.order(&r.arrive.sent, q, q.Arrival)
	return nil
}

// Next is the time of the next event; +Inf if there is none.
func (l *Live) Next() float64 { return l.run.next() }

// Advance processes all events up to a time.
func (l *Live) Advance(until float64) error {
	for {
		t := l.run.next()
		if t > until {
			l.now = max(l.now, until)
			return nil
		}
		l.now = max(l.now, t)
		if err := l.run.process(context.Background(), l.now); err != nil {
			return err
		}
	}
}

// Record of the run so far.
func (l *Live) Record() *Record { return l.run.record }

// Cancel ends the request of a client, at the end of its step where it is in one.
func (l *Live) Cancel(client int, t float64) {
	l.At(t, func(t float64) { l.cancel(client, t) })
}

// Kill stops a server and loses all its requests.
func (l *Live) Kill(server int, t float64) {
	l.At(t, func(t float64) { l.kill(l.run.servers[server], t) })
}

// Revive restarts a server.
func (l *Live) Revive(server int, t float64) {
	l.At(t, func(float64) { l.run.servers[server].down = false; l.run.connect() })
}

// Stall freezes a server for some seconds, even in the middle of a step.
func (l *Live) Stall(server int, t, seconds float64) {
	l.At(t, func(t float64) {
		s := l.run.servers[server]
		s.held = t + seconds
		if s.state == busy && s.place != none {
			l.run.unschedule(s)
			s.at += seconds
			l.run.schedule(s)
		}
		l.run.delay(s, seconds)
	})
}

// At calls a function at a time.
func (l *Live) At(t float64, do func(t float64)) {
	r := l.run
	i := len(r.orders)
	for i > 0 && r.orders[i-1].time > t {
		i--
	}
	r.orders = slices.Insert(r.orders, i, order{max(t, l.now), do})
}

// entered registers a request that reaches a scheduler; false if no server is up.
func (l *Live) entered(at int32, q *workload.Request, t float64) bool {
	l.jobs[q.Client] = at
	if len(l.run.entry) == 0 {
		l.lose(at, t)
		return false
	}
	return true
}

// lose ends a request whose server has failed; its blocks are released or gone as well.
func (l *Live) lose(at int32, t float64) {
	l.lost(l.run.jobs.at(at).Client, t)
	l.run.forget(at, t)
}

// Server is the one that has the request of a client; 0 if none has.
func (l *Live) Server(client int) int {
	if at, known := l.jobs[client]; known {
		if s := l.run.jobs.at(at).home.server; s != nil {
			return s.index
		}
	}
	return 0
}

// Flush empties the prefix caches; as in engines, it does nothing and reports false under load.
func (l *Live) Flush() bool {
	if l.run.live > 0 || len(l.run.arrive.sent)+len(l.run.arrive.inside) > 0 {
		return false
	}
	for _, s := range l.run.servers {
		for _, k := range s.ranks {
			if k.prefix != nil {
				k.prefix.flush()
			}
		}
	}
	return true
}

// forget ends a request early.
func (r *run) forget(at int32, t float64) {
	r.live--
	r.record.dropped(t)
	delete(r.online.jobs, r.jobs.at(at).Client)
	r.jobs.remove(at)
}

func (l *Live) cancel(client int, t float64) {
	r := l.run
	at, known := l.jobs[client]
	if !known {
		for _, q := range []*queue{&r.arrive.sent, &r.arrive.inside} {
			if i := slices.IndexFunc(*q, func(a arrival) bool { return a.Client == client }); i >= 0 {
				q.remove(i)
			}
		}
		return // or it has ended
	}
	j := r.jobs.at(at)
	switch {
	case j.home.rank == nil:
		j.gone = true
	case j.home.server.state == busy || j.home.server.flights > 0:
		l.leaving = append(l.leaving, client)
	default:
		r.leave(at, t)
		r.wake(j.home.server, t) // others may have room now
	}
}

// stepEnded removes requests that were cancelled during the step.
func (l *Live) stepEnded(s *server, t float64) {
	l.leaving = slices.DeleteFunc(l.leaving, func(client int) bool {
		at, known := l.jobs[client]
		if !known {
			return true
		}
		switch j := l.run.jobs.at(at); {
		case j.home.rank == nil:
			j.gone = true
		case j.home.server != s:
			return false
		default:
			l.run.leave(at, t)
		}
		return true
	})
}

// leave removes a request from its rank between two steps.
func (r *run) leave(at int32, t float64) {
	if r.jobs.at(at).home.drop(at) {
		r.queue--
	}
	r.forget(at, t)
}

// drop removes a job from a rank between two steps, and reports whether it was waiting.
func (r *rank) drop(at int32) (waited bool) {
	if i := slices.IndexFunc(r.inbox.first, func(e entered) bool { return e.job == at }); i >= 0 {
		r.inbox.first = slices.Delete(r.inbox.first, i, i+1)
		return true
	}
	if r.waiting.remove(at) {
		return true
	}
	j := r.jobs.at(at)
	if at == r.partial {
		r.partial = none
	} else if j.decodes {
		if !r.now(j) {
			r.unjoin(j.joined)
		}
		r.stop(at)
	}
	r.leave(at)
	r.release(j)
	return false
}

// remove deletes a job anywhere in the queue.
func (r *ring) remove(job int32) bool {
	for i := range r.n {
		if r.at(i) != job {
			continue
		}
		for ; i < r.n-1; i++ {
			r.buf[(r.head+i)&(len(r.buf)-1)] = r.at(i + 1)
		}
		r.n--
		return true
	}
	return false
}

func (l *Live) kill(s *server, t float64) {
	r := l.run
	if s.down {
		return
	}
	s.down = true
	r.connect()
	if s.place != none {
		r.unschedule(s)
	}
	r.ready = slices.DeleteFunc(r.ready, func(other *server) bool { return other == s })
	r.leaveLine(s, t)
	r.flights = slices.DeleteFunc(r.flights, func(f flight) bool { return f.server == s })
	s.state, s.flights = idle, 0
	for i := len(r.moves) - 1; i >= 0; i-- {
		m := r.moves[i]
		if m.from.server != s && m.to.server != s {
			continue
		}
		r.moves = slices.Delete(r.moves, i, i+1)
		m.to.coming--
		if m.from.server != s {
			m.from.release(r.jobs.at(m.job))
			r.wake(m.from.server, t)
		}
		l.lose(m.job, t)
	}
	for _, k := range s.ranks {
		for _, at := range k.clear() {
			l.lose(at, t)
		}
	}
}

// clear resets a rank to its initial state and returns its jobs.
func (r *rank) clear() []int32 {
	var all []int32
	for _, e := range r.inbox.first {
		all = append(all, e.job)
	}
	for i := range r.waiting.n {
		all = append(all, r.waiting.at(i))
	}
	*r.queue -= int64(len(all))
	for at := r.head; at != none; at = r.jobs.at(at).next {
		all = append(all, at)
	}
	fresh := newRank(r.rules, r.jobs, r.bounds, r.random)
	fresh.queue = r.queue
	*r = *fresh
	return all
}

// State of a server.
type State struct {
	Pool             int
	Down             bool
	Running, Waiting int
	Used, Blocks     int   // blocks, over its ranks
	Hits, Lookups    int64 // prompt tokens found in the prefix cache, and looked up
}

// States of all servers.
func (l *Live) States() []State {
	var out []State
	for _, s := range l.run.servers {
		st := State{Pool: s.which, Down: s.down}
		for _, k := range s.ranks {
			waiting := k.inbox.len() + k.waiting.n
			st.Waiting += waiting
			st.Running += k.load() - waiting
			st.Used += k.used
			st.Blocks += k.rules.Blocks
			if k.prefix != nil {
				st.Hits += k.prefix.hits
				st.Lookups += k.prefix.lookups
			}
		}
		out = append(out, st)
	}
	return out
}

// Takes reports whether any server takes requests.
func (l *Live) Takes() bool {
	return len(l.run.entry) > 0 && (!l.run.split() || len(l.run.decode) > 0)
}
