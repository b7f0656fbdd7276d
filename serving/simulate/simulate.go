// Package simulate runs requests through a deployment as discrete events of scheduler steps. Times
// alone decides how long a step takes. Equal seeds give equal runs.
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
	place int     // in the heap of events, or none
	held  float64 // no step starts before
	down  bool    // takes no requests

	pipe       *pipe     // shared with others; nil: none
	drawn      []average // of its ranks, unless a pipeline has them
	flights    int       // its steps in the pipeline besides the one under way
	works      float64   // seconds of its processors in the step under way
	ahead      []ahead   // the step under way and those that follow it; none: it is alone
	drawnAhead []average // what drawn is in each of them
	joules     float64   // of the step under way, beyond those of waiting
	worked     float64   // seconds of its processors in which something runs in it
	beyond     float64   // the power limit, where even the lowest clock has exceeded it

	sends     *float64  // when its front end has passed on the tokens of all earlier steps
	past      []float64 // starts of the last steps, latest first, one per step scheduled ahead
	sincePoll int       // steps since it last took new requests
	lone      int       // steps since all ranks had prompts, or prompts were released
	warm      bool      // a step has had several prompts
	compiled
}

type state uint8

const (
	idle state = iota
	pausing
	busy
)

type run struct {
	Options
	record  *Record
	jobs    jobs
	arrive  arrivals
	servers []*server
	entry   []target // ranks that take new requests
	decode  []target // ranks that take requests from a prefill pool
	turn    [2]int
	chance  *rand.Rand // which rank takes a prompt that a server scatters
	events  []*server  // a heap by time
	ready   []*server  // to start now
	moves   []move     // transfers under way, by end
	flights []flight   // steps in pipelines, by end
	links   map[*rank]float64
	count   int64
	live    int64
	queue   int64   // waiting requests
	skipped int64   // of the first, those that have ended
	looks   bool    // ahead
	online  *Live   // nil: all requests come from a source
	orders  []order // by time
}

// target is a rank of a server.
type target struct {
	*rank
	server *server
}

// ErrTooLong means that a request exceeds the model's context.
var ErrTooLong = errors.New("is longer than the model takes")

// ErrStuck means that a run can never end.
var ErrStuck = errors.New("the run can never end")

// Run simulates the requests of a source.
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

// chanceStream keeps the ranks of prompts apart from the drafts of ranks, which draw by server.
const chanceStream = math.MaxUint64

func newRun(o Options, source workload.Source) (*run, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &run{Options: o, record: newRecord(&o), looks: o.looksAhead(), links: map[*rank]float64{}, chance: rand.New(rand.NewPCG(o.Seed, chanceStream))}
	r.jobs.most = cmp.Or(o.waiting, waitingJobs)
	r.arrive = arrivals{source: source, FrontEnd: o.FrontEnd, free: make([]float64, max(1, o.FrontEnds))}
	for i := range o.Pools {
		r.addServers(i)
	}
	r.connect()
	return r, nil
}

func (r *run) addServers(which int) {
	p := &r.Pools[which]
	pipes := make([]pipe, p.Servers/max(1, p.Stages))
	for i := range pipes {
		pipes[i] = pipe{stages: p.Stages, chunks: p.Policy.PipelinesChunks}
	}
	for n := range p.Servers {
		s := &server{pool: p, which: which, index: len(r.servers), clock: steadyClock{}, place: none, sends: new(float64), past: make([]float64, p.Policy.StepsAhead)}
		if p.Stages > 1 {
			s.pipe = &pipes[n%len(pipes)] // servers take requests in turn: neighbours are in different pipelines
			s.sends = &s.pipe.sends
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

// connect lists the ranks that take requests.
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

// split reports whether prefill has a pool of its own.
func (r *run) split() bool { return len(r.Pools) == 2 }

// loop processes events in order of time.
func (r *run) loop(ctx context.Context) error {
	now := 0.0
	for n := 0; ; n++ {
		if n&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t := r.next()
		if math.IsInf(t, 1) {
			break
		}
		if r.Count > 0 && r.record.Requests >= r.Count {
			r.catchUpAll(now, true)
			if t = r.next(); r.settled(t) {
				return nil
			}
		}
		if err := r.process(ctx, t); err != nil {
			return err
		}
		now = t
	}
	if r.live > 0 {
		return r.stuck()
	}
	return nil
}

// settled reports whether the means of the counted requests have come to rest, or else counts twice
// as many, from now on.
func (r *run) settled(t float64) bool {
	if r.Count >= r.Most || r.record.First.drift() < 2*restless && r.record.Latency.drift() < restless {
		return true
	}
	r.Count = min(2*r.Count, r.Most)
	r.record.restart(&r.Options, t)
	return false
}

// next is the time of the next event; +Inf if there is none.
func (r *run) next() float64 {
	t := r.arrive.next()
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

// process handles an instant: steps end, caches arrive, orders run, requests arrive, steps start.
func (r *run) process(ctx context.Context, t float64) error {
	if math.IsNaN(t) {
		return errors.New("a step takes no number of seconds")
	}
	for len(r.events) > 0 && r.events[0].at <= t {
		s := r.events[0]
		r.catchUp(s, t, true)
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

// enter admits the requests that have arrived.
func (r *run) enter(ctx context.Context, t float64) error {
	for {
		if r.count&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		q, any := r.arrive.take(t)
		if !any {
			took, err := r.arrive.takeIn(t)
			if err != nil || !took {
				return err
			}
			continue
		}
		if err := r.fits(&q); err != nil {
			return err
		}
		job := r.jobs.add(q, r.count)
		r.count++
		r.live++
		r.record.Arrived(q.Arrival, r.queue)
		if r.online != nil && !r.online.entered(job, &q, t) {
			continue
		}
		if q.UnderWay && r.split() && len(r.decode) > 0 {
			r.jobs.at(job).cached = q.Input
			r.decodeAt(r.route(r.decode, &q, &r.turn[1]), job, t)
			continue
		}
		r.give(r.take(&q), job, t)
	}
}

// fits rejects a request that can never run, or shortens its prompt.
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
		if over := tokens - most; over > 0 && r.Shortens && q.Input > over {
			q.Input -= over
		} else if over > 0 {
			return fmt.Errorf("request %d: %d + %d tokens can never run: the KV cache of a rank holds %d", r.count, q.Input, q.Output, p.Blocks*p.BlockTokens)
		}
		if q.HashTokens%p.BlockTokens != 0 {
			return fmt.Errorf("request %d: blocks of %d tokens share prefixes; it must be a multiple of the %d tokens of a cache block", r.count, q.HashTokens, p.BlockTokens)
		}
	}
	return nil
}

// Longest is the most tokens, of a request and its answer, that a rank has room for.
func (p *Policy) Longest() int {
	if p.ReservesOutput {
		return p.Blocks * p.BlockTokens
	}
	return p.Blocks*p.BlockTokens + 1 - p.Drafts // the last token is not written to the cache
}

// give queues a job at a rank.
func (r *run) give(to target, job int32, t float64) {
	r.catchUp(to.server, t, false)
	r.queue++
	r.jobs.at(job).home = to
	to.inbox.add(entered{job, t})
	r.wake(to.server, t)
}

// wake starts an idle server.
func (r *run) wake(s *server, t float64) {
	if s.state != idle {
		return
	}
	for i := range s.past {
		s.past[i] = math.Inf(1) // nothing was scheduled before this
	}
	r.pause(s, t)
}

// pause waits until the clock allows the next step.
func (r *run) pause(s *server, t float64) {
	s.state = pausing
	if s.at = s.clock.Start(s.step, t); s.at > t {
		r.schedule(s)
	} else {
		r.ready = append(r.ready, s)
	}
}

// meanTokens is the prompt tokens per rank in the step about to start.
func (s *server) meanTokens() float64 {
	tokens := 0
	for _, k := range s.ranks {
		if len(k.chunks) > 0 {
			tokens += k.work.Tokens()
		}
	}
	return float64(tokens) / float64(len(s.ranks))
}

// begin schedules and starts a step, if there is work.
func (r *run) begin(s *server, t float64) {
	if s.held > t {
		s.at = s.held
		r.schedule(s)
		return
	}
	if !r.mayEnter(s, t) {
		return
	}
	s.poll(t)
	held, works := s.holdsPrompts(), false
	for _, k := range s.ranks {
		if k.schedule(t, s.flights > 0, held) {
			works = true
		}
		for _, at := range k.begun {
			r.emit(r.jobs.at(at), 1, t)
		}
	}
	if !works {
		if s.state = idle; s.flights > 0 {
			s.state = busy
		}
		r.leaveLine(s, t)
		return
	}
	pass, pace := s.seconds(t)
	if !s.warm && slices.ContainsFunc(s.ranks, func(k *rank) bool { return len(k.chunks) > 1 }) {
		s.warm = true
		pass, pace = pass+r.WaveSeconds, pace+r.WaveSeconds
	}
	compiling := r.compiling(s)
	r.start(s, t, pass+compiling, pace+compiling)
}

// start starts the scheduled step.
func (r *run) start(s *server, t, pass, pace float64) {
	s.state = busy
	s.started(t, s.clock.End(s.step, t, pass))
	s.works = s.at - t
	leaves, goesOn := s.at, s.goesOn()
	if p := s.pipe; p != nil {
		s.works = pace * float64(p.stages)
		leaves = p.enter(t, s.at-t, pace)
		if s.at = leaves; goesOn && !s.awaited() {
			s.at = p.enters
		}
	}
	s.joules, s.worked = s.draw(t)
	r.record.step(s)
	if r.Watch != nil {
		r.watch(s)
	}
	if goesOn || s.flights > 0 {
		r.depart(s, leaves, goesOn)
	} else {
		r.lookAhead(s)
		r.schedule(s)
	}
	r.leaveLine(s, t)
}

// started is the begin and end of the step under way.
func (s *server) started(t, end float64) {
	s.start, s.at = t, end
	if len(s.past) > 0 {
		copy(s.past[1:], s.past)
		s.past[0] = t
	}
}

func (r *run) watch(s *server) {
	watts := s.watts()
	for i, k := range s.ranks {
		if k.decodes || len(k.chunks) > 0 {
			r.Watch(&Step{Server: s.index, Rank: i, Index: s.step, Start: s.start, End: s.at, Work: &k.work,
				Queued: k.queued, Waiting: k.waiting.n, Running: k.decoding + len(k.chunks), Blocks: k.used, Preempted: k.preempted, Watts: watts})
		}
	}
}

// poll passes new requests to the schedulers; a step scheduled ahead misses the latest. PollSteps
// counts decode steps alone (python/sglang/srt/managers/scheduler_recv_skipper.py), and a decode
// pool has heard of its requests before their prefills end.
func (s *server) poll(t float64) {
	alone, prompted := true, false
	for _, k := range s.ranks {
		if k.waiting.n > 0 || k.head != none {
			alone = false
		}
		prompted = prompted || len(k.chunks) > 0
	}
	s.sincePoll++
	if !alone && !prompted && s.pool.Role != deploy.Decode && s.sincePoll < s.pool.Policy.PollSteps {
		return
	}
	s.sincePoll = 0
	until := t
	if n := len(s.past); n > 0 && !alone {
		until = min(t, s.past[n-1])
	}
	for _, k := range s.ranks {
		if k.inbox.len() > 0 {
			k.inbox.hand(&k.waiting, until)
		}
	}
}

// holdsPrompts reports whether ranks hold back prompts since others have none: at most
// BalanceSteps, and never if a rank with prompts decodes nothing. As in TensorRT-LLM with
// attention_dp_config (tensorrt_llm/_torch/pyexecutor/py_executor.py, _balance_adp_requests; idle
// ranks decode a dummy).
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

func (r *run) endStep(s *server, t float64) {
	r.record.endStep(s, t)
	r.passOn(s, t, func(i int) outcome { return s.ranks[i].computed() })
	s.step++
	r.between(s, t)
}

// between leaves a server without a step under way.
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

// finished ends a request.
func (r *run) finished(at int32, t float64) {
	j := r.jobs.at(at)
	r.live--
	if j.id < r.Skip {
		r.skipped++
	}
	switch {
	case r.skipped == r.Skip && j.id >= r.Skip || r.Skip == 0:
		r.record.ended(j, t)
	case r.skipped == r.Skip:
		r.catchUpAll(t, false)
		r.record.Left(t)
		r.record.restart(&r.Options, t)
	default:
		r.record.Left(t)
	}
	if r.online != nil {
		delete(r.online.jobs, j.Client)
	}
	r.arrive.ended(&j.Request, t)
	r.jobs.remove(at)
}

// emit reports tokens that come out.
func (r *run) emit(j *job, tokens int, t float64) {
	if r.Tokens != nil {
		r.Tokens(Token{j.Client, j.home.server.index, tokens, j.hit, t})
	}
}

// stuck says why requests are left over.
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
