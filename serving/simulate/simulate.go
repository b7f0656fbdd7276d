// Package simulate runs requests through a deployment: discrete events at the level of steps. Requests arrive, wait, are
// computed together with others as the scheduler of an engine puts them together, and end. How long a step takes is told
// by Times and nowhere else. A run is the same for the same seed.
package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"throughline/deploy"
	"throughline/workload"
)

// Pool is equal servers.
type Pool struct {
	Role    deploy.Role
	Servers int
	Ranks   int // of a server, data-parallel ones which wait for each other in every step
	// Shares: they do because their tokens share experts, which have less to do where few of them have prompts. Ranks that only
	// prefill are taken to have as many each.
	Shares bool
	// Stages of the pipeline through which as many servers pass, each a batch in flight; 0 for 1.
	Stages int

	Policy Policy
	Times  Times
}

// Options is what a run needs to know.
type Options struct {
	// Pools is one that does both phases, or one for the prefill and one for the decode.
	Pools   []Pool
	Routing deploy.Routing

	// FrontEnd is that of this run: servers that have served for a while take no time of a first wave. WaveSeconds are those of a
	// server in its first step with several prompts: those who start it warm it up with one.
	deploy.FrontEnd

	// Transfer is how long the cache of a prompt keeps the link between the pools busy, and what of it is left when the
	// prefill has ended, the link being free; HandoverSeconds comes on top.
	Transfer func(tokens int) (busy, left float64)

	Longest int // tokens of a request and its answer that the model takes; 0: any number

	Seed  uint64
	Clock Clock       // of a single server; nil: steps follow each other
	Watch func(*Step) // sees every step when it has been scheduled and its end is known; nil: none

	Each   func(*Ended) // sees every request that has ended; nil: none
	Tokens func(Token)  // sees tokens of requests when they come out; nil: no one does
	Limits Limits       // which a good request keeps
	Every  float64      // seconds of the intervals of the timeline; 0: none

	waiting int // jobs before the scheduler of a rank; 0: as many as usual
}

// Step is one step of a rank.
type Step struct {
	Server, Rank int
	Index        int // of the server
	Start, End   float64
	Work         *Work
	Queued       int // that waited before the step was scheduled
	Waiting      int // and still do
	Running      int // in the step, or waiting for it to end
	Blocks       int // in use, those of the step included
	Preempted    int
}

// Token is tokens of a request that come out at once: of a server, at a time.
type Token struct {
	Client, Server, Count int
	Cached                int // tokens of its prompt that were in the prefix cache when it was first scheduled
	Time                  float64
}

// server is ranks that step together.
type server struct {
	pool  *Pool
	which int // pool
	index int
	ranks []*rank
	step  int
	clock Clock

	state state
	at    float64 // when the step under way ends, or the next one starts
	start float64 // of the step under way
	place int     // in the heap of events; none: it waits for nothing
	held  float64 // no step starts before
	down  bool    // it takes no requests

	pipe    *pipe   // which others share with it; nil: none
	flights int     // its steps that are in the pipeline besides the one under way
	works   float64 // seconds of its processors in the step under way

	past []float64 // starts of the last steps, the latest first, as many as are scheduled ahead
	look int       // steps since the last look for new requests
	lone int       // steps since all ranks had prompts, or those that had any were let go
	warm bool      // a step has had several prompts
}

type state uint8

const (
	idle state = iota
	pausing
	busy
)

// run is a run under way.
type run struct {
	Options
	record  *Record
	jobs    jobs
	arrive  arrivals
	servers []*server
	entry   []target // ranks that requests are given to
	decode  []target // ranks that take over from a prefill pool
	turn    [2]int
	events  []*server // a heap by time
	ready   []*server // to start now
	moves   []move    // transfers under way, in the order of their ends
	flights []flight  // steps that were left to their pipelines, in the order of their ends
	links   map[*rank]float64
	count   int64
	live    int64
	queue   int64   // requests that wait
	online  *Live   // nil: all requests come from a source
	orders  []order // to servers and requests, by time
}

// target is a rank of a server.
type target struct {
	*rank
	server *server
}

// move is the cache of a job on its way from one pool to the other.
type move struct {
	time     float64
	job      int32
	from, to target
}

// ErrTooLong is a request that is longer than the model takes.
var ErrTooLong = errors.New("is longer than the model takes")

// ErrStuck is a run that can never end.
var ErrStuck = errors.New("the run can never end")

// Run lets the requests of a source run through a deployment.
func Run(ctx context.Context, o Options, source workload.Source) (*Record, error) {
	r, err := newRun(o, source)
	if err != nil {
		return nil, err
	}
	if err := r.arrive.pull(); err != nil {
		return nil, err
	}
	if err := r.loop(ctx); err != nil {
		return nil, err
	}
	r.record.close(r)
	return r.record, nil
}

func newRun(o Options, source workload.Source) (*run, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &run{Options: o, record: newRecord(&o), links: map[*rank]float64{}}
	r.jobs.most = cmp.Or(o.waiting, waitingJobs)
	r.arrive = arrivals{source: source, FrontEnd: o.FrontEnd, enters: math.Inf(-1)}
	for i := range o.Pools {
		r.addServers(i)
	}
	r.connect()
	return r, nil
}

func (o *Options) check() error {
	if len(o.Pools) == 0 || len(o.Pools) > 2 {
		return errors.New("a deployment has one pool or two")
	}
	for i := range o.Pools {
		p := &o.Pools[i]
		switch {
		case p.Servers < 1 || p.Ranks < 1:
			return fmt.Errorf("the %s pool needs at least 1 replica of 1 rank, not %d of %d", p.Role, p.Servers, p.Ranks)
		case p.Stages > 1 && p.Servers%p.Stages != 0:
			return fmt.Errorf("%d batches in flight are none of pipelines of %d stages", p.Servers, p.Stages)
		case p.Policy.StepTokens < 1 || p.Policy.Sequences < 1 || p.Policy.BlockTokens < 1:
			return errors.New("steps, running requests and blocks must be at least 1")
		case p.Policy.Blocks < 1:
			return errors.New("the KV cache has no room for a block")
		}
	}
	return nil
}

func (r *run) addServers(which int) {
	p := &r.Pools[which]
	pipes := make([]pipe, p.Servers/max(1, p.Stages))
	for i := range pipes {
		pipes[i] = pipe{stages: p.Stages, chunks: p.Policy.PipelinesChunks}
	}
	for n := range p.Servers {
		s := &server{pool: p, which: which, index: len(r.servers), clock: untold{}, place: none, past: make([]float64, p.Policy.StepsAhead)}
		if p.Stages > 1 {
			s.pipe = &pipes[n%len(pipes)] // neighbours are of different ones, which get requests in turn
		}
		if r.Clock != nil {
			s.clock = r.Clock
		}
		for i := range p.Ranks {
			k := newRank(&p.Policy, &r.jobs, p.Times.Bounds(), rand.New(rand.NewPCG(r.Seed, uint64(s.index)<<16|uint64(i))))
			k.queue = &r.queue
			s.ranks = append(s.ranks, k)
		}
		r.servers = append(r.servers, s)
	}
}

// connect finds the ranks that requests can be given to.
func (r *run) connect() {
	r.entry, r.decode = r.entry[:0], r.decode[:0]
	for _, s := range r.servers {
		to := &r.entry
		if s.pool.Role == deploy.Decode {
			to = &r.decode
		}
		for _, k := range s.ranks {
			if !s.down {
				*to = append(*to, target{k, s})
			}
		}
	}
}

// split reports whether one pool only prefills.
func (r *run) split() bool { return len(r.Pools) == 2 }

// loop takes events in the order of time.
func (r *run) loop(ctx context.Context) error {
	for n := 0; ; n++ {
		if n&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t := r.next()
		if math.IsInf(t, 1) {
			break
		}
		if err := r.happen(ctx, t); err != nil {
			return err
		}
	}
	if r.live > 0 {
		return r.stuck()
	}
	return nil
}

// next is when the next thing happens; +Inf: nothing does.
func (r *run) next() float64 {
	t, any := r.arrive.next()
	if !any {
		t = math.Inf(1)
	}
	if len(r.events) > 0 {
		t = min(t, r.events[0].at)
	}
	if len(r.flights) > 0 {
		t = min(t, r.flights[0].time)
	}
	if len(r.moves) > 0 {
		t = min(t, r.moves[0].time)
	}
	if len(r.orders) > 0 {
		t = min(t, r.orders[0].time)
	}
	return t
}

// happen does what happens at one time, in this order: steps end, caches arrive, orders are obeyed, requests arrive, steps
// start.
func (r *run) happen(ctx context.Context, t float64) error {
	if math.IsNaN(t) {
		return errors.New("a step takes no number of seconds")
	}
	for len(r.events) > 0 && r.events[0].at <= t {
		s := r.events[0]
		r.unschedule(s)
		if s.state == busy {
			r.endStep(s, t)
		} else {
			r.ready = append(r.ready, s)
		}
	}
	for len(r.flights) > 0 && r.flights[0].time <= t {
		r.land(t)
	}
	for len(r.moves) > 0 && r.moves[0].time <= t {
		r.arrived(t)
	}
	for len(r.orders) > 0 && r.orders[0].time <= t {
		do := r.orders[0].do
		r.orders = append(r.orders[:0], r.orders[1:]...)
		do(t)
	}
	if err := r.enter(ctx, t); err != nil {
		return err
	}
	for _, s := range r.ready {
		r.begin(s, t)
	}
	r.ready = r.ready[:0]
	return nil
}

// enter lets requests in that have come by now.
func (r *run) enter(ctx context.Context, t float64) error {
	for {
		if r.count&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at, any := r.arrive.next()
		if !any || at > t {
			return nil
		}
		q, err := r.arrive.take()
		if err == nil {
			err = r.fits(&q)
		}
		if err != nil {
			return err
		}
		job := r.jobs.add(q, r.count)
		r.count++
		r.live++
		r.record.Arrived(q.Arrival, r.queue)
		if r.online != nil && !r.online.entered(job, &q, t) {
			continue
		}
		to := r.route(r.entry, &q, &r.turn[0])
		r.give(to, job, t)
	}
}

// fits refuses a request that can never run.
func (r *run) fits(q *workload.Request) error {
	if q.Input < 1 || q.Output < 1 {
		return fmt.Errorf("request %d: input and output must be at least 1 token, not %d and %d", r.count, q.Input, q.Output)
	}
	if r.Longest > 0 && q.Input+q.Output > r.Longest {
		return fmt.Errorf("request %d: one of %d + %d tokens %w: %d", r.count, q.Input, q.Output, ErrTooLong, r.Longest)
	}
	for i := range r.Pools {
		p := &r.Pools[i].Policy
		tokens, most := q.Input+q.Output, p.Longest()
		if r.Pools[i].Role == deploy.Prefill && !p.ReservesOutput {
			tokens, most = q.Input, p.Blocks*p.BlockTokens
		}
		if tokens > most {
			return fmt.Errorf("request %d: %d + %d tokens can never run: the KV cache of a rank holds %d", r.count, q.Input, q.Output, p.Blocks*p.BlockTokens)
		}
		if q.HashTokens%p.BlockTokens != 0 {
			return fmt.Errorf("request %d: blocks of %d tokens share prefixes; it must be a multiple of the %d tokens of a cache block", r.count, q.HashTokens, p.BlockTokens)
		}
	}
	return nil
}

// Longest is the tokens of the longest request and its answer that a rank has room for.
func (p *Policy) Longest() int {
	if p.ReservesOutput {
		return p.Blocks * p.BlockTokens
	}
	return p.Blocks*p.BlockTokens + 1 - p.Drafts // the last token is not written to the cache
}

// give puts a job before the scheduler of a rank.
func (r *run) give(to target, job int32, t float64) {
	r.queue++
	r.jobs.at(job).home = to
	to.inbox.add(entered{job, t})
	r.wake(to.server, t)
}

// wake starts a server that has nothing to do.
func (r *run) wake(s *server, t float64) {
	if s.state != idle {
		return
	}
	for i := range s.past {
		s.past[i] = math.Inf(1) // nothing was scheduled before this came
	}
	r.pause(s, t)
}

// pause lets a server start its next step when its clock says.
func (r *run) pause(s *server, t float64) {
	s.state = pausing
	if s.at = s.clock.Start(s.step, t); s.at > t {
		r.schedule(s)
	} else {
		r.ready = append(r.ready, s)
	}
}

// meanTokens is the tokens of prompts in the steps that ranks are about to start, of a rank on average.
func (s *server) meanTokens() float64 {
	tokens := 0
	for _, k := range s.ranks {
		if len(k.chunks) > 0 {
			tokens += k.work.Tokens()
		}
	}
	return float64(tokens) / float64(len(s.ranks))
}

// begin starts a step, if there is anything to do.
func (r *run) begin(s *server, t float64) {
	if s.held > t {
		s.at = s.held
		r.schedule(s)
		return
	}
	if !r.mayEnter(s, t) {
		return
	}
	s.see(t)
	held, works := s.holdsPrompts(), false
	for _, k := range s.ranks {
		if k.schedule(t, s.flights > 0, held) {
			works = true
		}
	}
	if !works {
		if s.state = idle; s.flights > 0 {
			s.state = busy
		}
		r.leaveLine(s, t)
		return
	}
	pass, pace := s.seconds()
	if !s.warm && slices.ContainsFunc(s.ranks, func(k *rank) bool { return len(k.chunks) > 1 }) {
		s.warm = true
		pass, pace = pass+r.WaveSeconds, pace+r.WaveSeconds
	}
	r.start(s, t, pass, pace)
}

// start starts the step that was scheduled.
func (r *run) start(s *server, t, pass, pace float64) {
	s.state, s.start = busy, t
	s.at = s.clock.End(s.step, t, pass)
	s.works = s.at - t
	if len(s.past) > 0 {
		copy(s.past[1:], s.past)
		s.past[0] = t
	}
	leaves, goesOn := s.at, s.goesOn()
	if p := s.pipe; p != nil {
		s.works = pace * float64(p.stages)
		leaves = p.enter(t, s.at-t, pace)
		if s.at = leaves; goesOn && !s.awaited() {
			s.at = p.enters
		}
	}
	r.record.step(s)
	if r.Watch != nil {
		r.watch(s)
	}
	if goesOn || s.flights > 0 {
		r.depart(s, leaves, goesOn)
	} else {
		r.schedule(s)
	}
	r.leaveLine(s, t)
}

func (r *run) watch(s *server) {
	for i, k := range s.ranks {
		if k.decodes || len(k.chunks) > 0 {
			r.Watch(&Step{Server: s.index, Rank: i, Index: s.step, Start: s.start, End: s.at, Work: &k.work,
				Queued: k.queued, Waiting: k.waiting.n, Running: k.decoding + len(k.chunks), Blocks: k.used, Preempted: k.preempted})
		}
	}
}

// see lets the schedulers look at the requests that came in time for this step: one that is scheduled ahead has those which
// were there when the step before it started.
func (s *server) see(t float64) {
	alone := true
	for _, k := range s.ranks {
		if k.waiting.n > 0 || k.head != none {
			alone = false
		}
	}
	s.look++
	if !alone && s.look < s.pool.Policy.PollSteps {
		return
	}
	s.look = 0
	until := t
	if n := len(s.past); n > 0 && !alone {
		until = min(t, s.past[n-1])
	}
	for _, k := range s.ranks {
		k.inbox.hand(&k.waiting, until)
	}
}

// holdsPrompts reports whether ranks hold back the prompts of this step since some have none: not where one that has any decodes
// nothing, nor when their time is over, which also passes while nobody has a prompt. As in TensorRT-LLM with attention_dp_config
// (tensorrt_llm/_torch/pyexecutor/py_executor.py, _balance_adp_requests; ranks without requests get a dummy one to decode).
func (s *server) holdsPrompts() bool {
	most := s.pool.Policy.BalanceSteps
	if most == 0 || len(s.ranks) < 2 || s.flights > 0 {
		return false
	}
	s.lone++
	all := true
	for _, k := range s.ranks {
		prompts := k.prompts()
		if prompts && k.decoding == 0 {
			s.lone = most
		}
		all = all && prompts
	}
	if all || s.lone >= most {
		s.lone = 0
		return false
	}
	return true
}

// endStep applies a step.
func (r *run) endStep(s *server, t float64) {
	r.record.endStep(s, t)
	for _, k := range s.ranks {
		k.end(t, r)
	}
	s.step++
	r.between(s, t)
}

// between is when a server has no step under way.
func (r *run) between(s *server, t float64) {
	s.state = idle
	if r.online != nil {
		r.online.stepEnded(s, t)
	}
	for _, k := range s.ranks {
		if !k.idle() {
			r.pause(s, t)
			return
		}
	}
}

// finished is told of the end of a request.
func (r *run) finished(at int32, t float64) {
	j := r.jobs.at(at)
	r.live--
	r.record.ended(j, t)
	if r.online != nil {
		delete(r.online.jobs, j.Client)
	}
	r.arrive.ended(&j.Request, t)
	r.jobs.remove(at)
}

// told tells of tokens that come out.
func (r *run) told(j *job, tokens int, t float64) {
	if r.Tokens != nil {
		r.Tokens(Token{j.Client, j.home.server.index, tokens, j.hit, t})
	}
}

// handOver sends the cache of a prompt from a rank that only prefills to one that decodes. It reports false where the rank
// decodes itself.
func (r *run) handOver(k *rank, at int32, t float64) bool {
	if !r.split() {
		return false
	}
	j := r.jobs.at(at)
	from := j.home
	if from.server.pool.Role == deploy.Decode {
		return false // which computes again what it had preempted
	}
	k.leave(at)
	if len(r.decode) == 0 {
		k.release(j)
		r.online.lose(at, t)
		return true
	}
	to := r.route(r.decode, &j.Request, &r.turn[1])
	busy, left := r.Transfer(j.Input)
	done := max(t+left, r.links[from.rank]+busy, r.links[to.rank]+busy)
	r.links[from.rank], r.links[to.rank] = done, done
	m := move{time: done + r.HandoverSeconds, job: at, from: from, to: to}
	j.home = target{}
	i := len(r.moves)
	for i > 0 && r.moves[i-1].time > m.time {
		i--
	}
	r.moves = append(r.moves, move{})
	copy(r.moves[i+1:], r.moves[i:])
	r.moves[i] = m
	return true
}

// arrived ends a transfer: the first token is out, and the request waits to decode.
func (r *run) arrived(t float64) {
	m := r.moves[0]
	r.moves = append(r.moves[:0], r.moves[1:]...)
	j := r.jobs.at(m.job)
	m.from.release(j)
	r.wake(m.from.server, t)
	if j.gone {
		r.forget(m.job, t)
		return
	}
	j.home, j.first, j.last, j.emitted = m.to, t, t, 1
	r.told(j, 1, t)
	if j.emitted >= j.Output {
		r.finished(m.job, t)
		return
	}
	j.elsewhere, j.sent, j.named = true, true, 0
	r.give(m.to, m.job, t)
}

// stuck tells why requests are left that nobody works on.
func (r *run) stuck() error {
	for _, s := range r.servers {
		for _, k := range s.ranks {
			if k.waiting.n > 0 {
				j := k.jobs.at(k.waiting.at(0))
				return fmt.Errorf("%w: request %d of %d + %d tokens waits for %s, and nothing runs", ErrStuck, j.id, j.Input, j.Output, k.blocked)
			}
		}
	}
	return fmt.Errorf("%w: %d requests are left, and nothing runs", ErrStuck, r.live)
}
