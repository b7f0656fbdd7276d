// Package emulate is a server of a language model without the model: it answers the protocols of
// OpenAI, vLLM and SGLang with tokens at the times of a simulation, in real or scaled time, to test
// gateways, autoscalers and dashboards.
package emulate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"throughline/deploy"
	"throughline/serving/simulate"
	"throughline/workload"
)

type Config struct {
	Simulation  simulate.Options
	Model       string          // as requests name it
	Context     int             // tokens of a prompt and its answer; 0: as much as the KV cache holds
	Answers     workload.Length // lengths of answers that end by themselves
	Speed       float64         // simulated seconds per second
	Faults      []Fault
	Connections int // most at a time
	Seed        uint64
}

// Emulator is a running deployment: one goroutine advances its time, handlers wait for tokens.
type Emulator struct {
	Config
	quoted string // name of the model, in JSON
	bodies *semaphore.Weighted
	start  time.Time
	wake   chan struct{} // signals that an event may precede the awaited one
	closed chan struct{}

	mu      sync.Mutex
	live    *simulate.Live
	streams map[int]*stream
	last    int // client
	random  *rand.Rand
	met     metrics
	late    float64 // most seconds that tokens came out late since it was last read
	shut    bool
}

// Replicas is the number of servers of a deployment, over both pools.
func Replicas(o *simulate.Options) (n int) {
	for i := range o.Pools {
		n += o.Pools[i].Servers
	}
	return n
}

// New prepares an emulator, whose time begins now.
func New(c Config) (*Emulator, error) {
	e := &Emulator{Config: c, start: time.Now(), wake: make(chan struct{}, 1), closed: make(chan struct{}), streams: map[int]*stream{},
		random: rand.New(rand.NewPCG(c.Seed, 4)), bodies: semaphore.NewWeighted(heldBytes)}
	quoted, err := json.Marshal(c.Model)
	if err != nil {
		return nil, err
	}
	e.quoted = string(quoted)
	o := c.Simulation
	for i := range o.Pools {
		if p := &o.Pools[i]; p.Role != deploy.Prefill {
			e.Context = min(cmp.Or(e.Context, math.MaxInt), p.Policy.Longest())
		}
	}
	e.met = newMetrics(&o, e.Context)
	o.Tokens, o.Each, o.Watch = e.token, e.end, e.met.step
	if e.live, err = simulate.NewLive(o, e.lost); err != nil {
		return nil, err
	}
	e.plan(Replicas(&o))
	return e, nil
}

// plan schedules the faults of servers.
func (e *Emulator) plan(replicas int) {
	for i := range e.Faults {
		f := &e.Faults[i]
		at, long := f.or("after", 0), f.or("for", math.Inf(1))
		switch f.Kind {
		case "die":
			replica := int(f.or("replica", 0))
			e.live.Kill(replica, at)
			if !math.IsInf(long, 1) {
				e.live.Revive(replica, at+long)
			}
		case "stall":
			for n := range replicas {
				if int(f.or("replica", float64(n))) == n {
					e.stall(n, at, long, f.or("every", 0))
				}
			}
		}
	}
}

// stall suspends a replica, and schedules the next stall.
func (e *Emulator) stall(replica int, at, long, every float64) {
	e.live.Stall(replica, at, long)
	if every > 0 {
		e.live.At(at, func(t float64) { e.stall(replica, t+every, long, every) })
	}
}

// share is the probability of a kind of fault.
func (e *Emulator) share(kind string) (p float64, f *Fault) {
	for i := range e.Faults {
		if e.Faults[i].Kind == kind {
			f = &e.Faults[i]
			p = 1 - (1-p)*(1-f.or("share", 0))
		}
	}
	return p, f
}

// now is the simulated time.
func (e *Emulator) now() float64 { return time.Since(e.start).Seconds() * e.Speed }

// ready reports whether the server has started and any replica is left.
func (e *Emulator) ready() bool {
	for i := range e.Faults {
		if f := &e.Faults[i]; f.Kind == "slow-start" && e.now() < f.or("for", 0) {
			return false
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.shut && e.live.Takes()
}

// Run advances time until the context ends, and then ends all streams.
func (e *Emulator) Run(ctx context.Context) error {
	defer e.close()
	for {
		wait, err := e.advance()
		if err != nil {
			return err
		}
		if !e.sleep(ctx, wait) {
			return nil
		}
	}
}

// Waiting for an event: a timer that may fire late, then naps with polls for earlier events.
const (
	timerLate = 1500 * time.Microsecond
	nappings  = 250 * time.Microsecond
)

// sleep waits, or until an earlier event comes; false when the context has ended.
func (e *Emulator) sleep(ctx context.Context, wait time.Duration) bool {
	until := time.Now().Add(wait)
	if wait > timerLate {
		timer := time.NewTimer(wait - timerLate)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-e.wake:
			return true
		case <-timer.C:
		}
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-e.wake:
			return true
		default:
		}
		left := time.Until(until)
		if left <= 0 {
			return true
		}
		nap(min(left, nappings))
	}
}

// turn is how long a late emulator processes events before it yields.
const turn = 2 * time.Millisecond

// advance processes due events, and returns the time until the next.
func (e *Emulator) advance() (time.Duration, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	began := time.Now()
	now := e.now()
	for {
		t := e.live.Next()
		if t > now {
			break
		}
		e.late = max(e.late, now-t)
		if err := e.live.Advance(t); err != nil {
			return 0, err
		}
		if time.Since(began) > turn {
			return 0, nil
		}
	}
	if err := e.live.Advance(now); err != nil {
		return 0, err
	}
	const longest = time.Hour
	wait := (e.live.Next() - e.now()) / e.Speed
	if !(wait < longest.Seconds()) {
		return longest, nil
	}
	return time.Duration(math.Ceil(max(0, wait) * 1e9)), nil
}

// close ends all streams.
func (e *Emulator) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shut = true
	for _, s := range e.streams {
		s.emit(0, 0, shutDown)
	}
	close(e.closed)
}

// errShut is a request to an emulator that ends.
var errShut = errors.New("the server is shutting down")

func (e *Emulator) submit(q workload.Request, s *stream) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shut {
		return errShut
	}
	e.last++
	q.Client, q.Arrival = e.last, e.now()
	s.client, s.arrival = q.Client, q.Arrival
	before := e.live.Next()
	if err := e.live.Submit(q); err != nil {
		return err
	}
	e.streams[s.client] = s
	if e.live.Next() < before {
		e.rouse()
	}
	return nil
}

func (e *Emulator) rouse() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// leave cancels a stream whose client has gone.
func (e *Emulator) leave(s *stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams[s.client] == nil {
		return
	}
	e.remove(s)
	e.met.engines[e.live.Server(s.client)].aborted++
	e.live.Cancel(s.client, e.now())
	e.rouse()
}

func (e *Emulator) remove(s *stream) {
	delete(e.streams, s.client)
}

// Callbacks of the simulation, which hold the lock.

func (e *Emulator) token(k simulate.Token) {
	s := e.streams[k.Client]
	if s == nil {
		return
	}
	if s.emitted == 0 {
		s.cached = k.Cached
	}
	e.met.token(s, &k)
	s.emit(k.Count, k.Time, running)
}

func (e *Emulator) end(d *simulate.Ended) {
	s := e.streams[d.Client]
	if s == nil {
		return
	}
	e.met.end(s, d)
	e.remove(s)
	s.emit(0, d.Finish, complete)
}

func (e *Emulator) lost(client int, t float64) {
	if s := e.streams[client]; s != nil {
		e.met.engines[e.live.Server(client)].failed++
		e.remove(s)
		s.emit(0, t, replicaLost)
	}
}

type ending uint8

const (
	running ending = iota
	complete
	replicaLost
	shutDown
)

// stream is the answer to a request under way.
type stream struct {
	client  int
	input   int
	output  int
	cached  int  // tokens of the input, set with the first token
	stops   bool // before its maximum length
	quiet   bool // only its end is awaited
	arrival float64

	emitted int     // tokens that came out
	latest  float64 // when the latest did

	mu     sync.Mutex
	bursts []burst
	ending ending
	wake   chan struct{}
}

// burst is tokens that come out at once.
type burst struct {
	tokens int
	time   float64
}

func newStream(input, output int) *stream {
	return &stream{input: input, output: output, wake: make(chan struct{}, 1)}
}

// emit passes tokens, or the end, to the waiting handler.
func (s *stream) emit(tokens int, t float64, end ending) {
	if s.quiet && end == running {
		return
	}
	s.mu.Lock()
	if tokens > 0 {
		s.bursts = append(s.bursts, burst{tokens, t})
	}
	s.ending = max(s.ending, end)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns what has come since the last call, reusing its slice.
func (s *stream) take(old []burst) ([]burst, ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.bursts
	s.bursts = old[:0]
	return got, s.ending
}
