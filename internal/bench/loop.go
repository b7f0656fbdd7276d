package bench

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"throughline/workload"
)

type job struct {
	workload.Request
	turn    int
	fresh   int        // tokens of the prompt that are new in the conversation
	history []chatTurn // earlier turns of the conversation
	body    []byte     // nil: yet to be written
}

// ownKey marks what no other prompt has.
const ownKey = 1 << 63

// own is the key of what is new in a prompt, whenever it is sent.
func (j *job) own() uint64 { return ownKey | uint64(j.Client)<<20 | uint64(j.turn) }

// preparedAhead is how many requests are written before they are due.
const preparedAhead = 1024

type runner struct {
	*Bench
	start  time.Time
	closed bool // loop: arrivals are sends
	slots  chan struct{}

	source    workload.Source
	sourceMu  sync.Mutex
	texts     []string
	adapters  *rand.Rand
	sessions  sync.WaitGroup
	waiting   atomic.Int64 // sent, without a first token
	ids       atomic.Int64
	failed    error // of the source; valid once all are prepared
	cancelAll context.CancelCauseFunc

	mu     sync.Mutex
	over   bool // what ends now is not counted
	report *Report
}

var errHopeless = errors.New("the limits can no longer hold")

// Run sends all requests at a rate. A cancelled run reports what was measured, with the error.
func (b *Bench) Run(ctx context.Context, rate float64) (*Report, error) {
	return b.run(ctx, rate, 1, false)
}

// run multiplies the requests by times; a trial ends as soon as its limits cannot hold.
func (b *Bench) run(ctx context.Context, rate float64, times int, trial bool) (*Report, error) {
	source, texts, err := b.source(rate, times)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runner{Bench: b, closed: b.closedLoop(rate), source: source, texts: texts, adapters: rand.New(rand.NewPCG(b.o.Traffic.Seed, 5)), report: newReport(b, rate), cancelAll: cancel}
	r.report.trial, r.report.toSend = trial, times*b.o.Traffic.Count()
	if b.o.Traffic.Clients > 0 {
		r.slots = make(chan struct{}, b.o.Traffic.Clients)
	}
	if err := b.profile(ctx, "/start_profile"); err != nil {
		return nil, err
	}
	err = r.dispatch(ctx)
	ended := make(chan struct{})
	go func() { r.sessions.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errHopeless) {
			<-ended // before the next trial
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	report := r.report
	switch cause := context.Cause(ctx); {
	case err != nil && ctx.Err() == nil:
		return nil, err
	case errors.Is(cause, errHopeless):
		report.hopeless = true
		return report, nil
	case ctx.Err() != nil && r.start.IsZero():
		return nil, ctx.Err()
	case ctx.Err() != nil:
		report.Interrupted = true
		report.Unfinished = report.sent - report.Seen.Requests - report.Failed
		report.Seen.End = max(report.Seen.End, time.Since(r.start).Seconds())
		return report, ctx.Err()
	}
	if err := b.profile(ctx, "/stop_profile"); err != nil {
		return report, err
	}
	report.about(ctx)
	return report, nil
}

// profile controls SGLang's profiler.
func (b *Bench) profile(ctx context.Context, path string) error {
	if !b.o.Profile {
		return nil
	}
	return b.client.ask(ctx, http.MethodPost, path, nil)
}

// dispatch starts the requests when they are due.
func (r *runner) dispatch(ctx context.Context) error {
	prepared, ready := make(chan *job, preparedAhead), make(chan struct{})
	go r.prepare(ctx, prepared, ready)
	select {
	case <-ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.start = time.Now()
	if r.o.Live != nil {
		r.o.Live.begin(r.start)
	}
	for j := range prepared {
		if r.closed {
			if !r.acquire(ctx) {
				break
			}
		} else {
			if !r.until(ctx, j.Arrival) {
				break
			}
			r.arrived(j)
		}
		r.sessions.Go(func() { r.session(ctx, j) })
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return r.failed
}

// prepare writes requests before they are due, and closes ready when the first are. With bounded
// clients, prompts are written as these become free.
func (r *runner) prepare(ctx context.Context, to chan<- *job, ready chan<- struct{}) {
	signal := sync.OnceFunc(func() { close(ready) })
	defer close(to)
	defer signal()
	for n := 1; ; n++ {
		r.sourceMu.Lock()
		q, ok, err := r.source.Next()
		r.sourceMu.Unlock()
		if err != nil || !ok {
			r.failed = err
			return
		}
		j := &job{Request: q, fresh: q.Input}
		if r.slots == nil {
			r.write(j)
		}
		if n == preparedAhead {
			signal()
		}
		select {
		case to <- j:
		case <-ctx.Done():
			return
		}
	}
}

func (r *runner) write(j *job) {
	if j.body != nil {
		return
	}
	lora := ""
	if n := len(r.o.LoRA); n > 0 {
		r.sourceMu.Lock()
		lora = r.o.LoRA[r.adapters.IntN(n)]
		r.sourceMu.Unlock()
	}
	var prompt []byte
	switch {
	case j.Client < len(r.texts):
		prompt = transcript(r.backend.API, []chatTurn{{"user", r.texts[j.Client] + r.prompts.suffix}})
	case r.talks():
		j.history = append(j.history, chatTurn{"user", r.prompts.text(segments(&workload.Request{Input: j.fresh}, j.own()))})
		prompt = transcript(r.backend.API, j.history)
	default:
		prompt = r.prompt(&j.Request, j.own())
	}
	j.body = r.bodies.write(prompt, r.prompts.ids, j.Output, lora)
}

// talks reports whether requests are turns of conversations.
func (r *runner) talks() bool { return r.o.Traffic.Turns > 1 && r.o.Traffic.Trace == nil }

// until waits for a time of the run; false if the run ended before.
func (r *runner) until(ctx context.Context, at float64) bool {
	if d := at - time.Since(r.start).Seconds(); d > 0 {
		timer := time.NewTimer(time.Duration(d * float64(time.Second)))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

func (r *runner) acquire(ctx context.Context) bool {
	select {
	case r.slots <- struct{}{}:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (r *runner) arrived(j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.report.arrived(j.Arrival, r.waiting.Load())
	}
}

// lateness records how late a chunk was read.
func (r *runner) lateness(late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.report.Reading.Add(late.Seconds(), 1)
	}
}

// session sends a request, and those that follow it in a conversation.
func (r *runner) session(ctx context.Context, j *job) {
	held := 0.0
	if r.slots != nil {
		if !r.closed {
			from := time.Now()
			if !r.acquire(ctx) {
				return
			}
			held = time.Since(from).Seconds()
		}
		defer func() { <-r.slots }()
	}
	for j != nil {
		r.write(j)
		if r.closed && j.turn == 0 {
			j.Arrival = time.Since(r.start).Seconds()
		}
		if r.closed || j.turn > 0 {
			r.arrived(j)
		}
		d := r.send(ctx, j)
		d.held, held = held, 0
		j = r.ended(ctx, j, d)
	}
}

// send retries a request until it is answered, or cannot be.
func (r *runner) send(ctx context.Context, j *job) *Done {
	d := &Done{Turn: j.turn, Requested: j.Output}
	d.ID, d.Client, d.Arrival = r.ids.Add(1)-1, j.Client, j.Arrival
	d.Scheduled = time.Since(r.start).Seconds()
	body := j.body
	j.body = nil
	waits := true
	r.waiting.Add(1)
	var a answer
	for try := 0; ; try++ {
		a = answer{most: r.bodies.mostTokens(j.Output), keep: r.talks() || r.o.KeepText, written: r.lateness}
		a.on = func(a *answer, gap float64) {
			if waits {
				waits = false
				r.waiting.Add(-1)
			}
			if r.o.Live != nil {
				r.o.Live.chunk(a, gap, r.start, j.Arrival)
			}
		}
		d.Failure = r.client.send(ctx, body, &a)
		d.Resent += a.resent
		if d.Failure == nil || !d.Failure.again || try == r.o.Retries || !r.backOff(ctx, d.Failure, try) {
			break
		}
		d.Retries++
	}
	if waits {
		r.waiting.Add(-1)
	}
	r.describe(d, &a, j)
	return d
}

func (r *runner) describe(d *Done, a *answer, j *job) {
	d.Finish = time.Since(r.start).Seconds()
	d.Gaps, d.Chunks, d.Cached, d.Text = a.gaps, a.chunks, a.cached, r.o.Secrets.Redact(a.answered())
	d.Input, d.Output, d.Counted = a.prompt, a.tokens, a.tokens > 0
	if d.Input == 0 {
		d.Input = j.Input
	}
	if d.Output == 0 {
		d.Output = a.chunks
	}
	if !a.first.IsZero() {
		d.First = a.first.Sub(r.start).Seconds()
	}
	if d.Failure == nil {
		d.Finish = a.finish.Sub(r.start).Seconds()
	}
}

// Waits between tries.
const (
	firstWait = 100 * time.Millisecond
	mostWait  = 5 * time.Second
	// longestBackOff is the longest that a server may request.
	longestBackOff = time.Minute
)

// backOff waits before a retry: as the server requests, up to a minute, else doubling every time.
func (r *runner) backOff(ctx context.Context, f *Failure, try int) bool {
	wait := max(f.after, min(mostWait, time.Duration(float64(firstWait)*math.Pow(2, float64(try)))))
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// ended records the end of a request, and returns the next turn of its conversation.
func (r *runner) ended(ctx context.Context, j *job, d *Done) *job {
	r.mu.Lock()
	if r.over || ctx.Err() != nil {
		r.mu.Unlock()
		return nil
	}
	hopeless := r.report.add(d)
	if r.o.Each != nil {
		r.o.Each(d)
	}
	r.mu.Unlock()
	if r.o.Live != nil {
		r.o.Live.end(d)
	}
	if hopeless {
		r.cancelAll(errHopeless)
		return nil
	}
	if d.Failure != nil || !r.talks() {
		return nil
	}
	r.sourceMu.Lock()
	next, ok := r.source.Ended(j.Client, &j.Request, d.Finish)
	r.sourceMu.Unlock()
	if !ok || !r.until(ctx, next.Arrival) {
		return nil
	}
	return &job{Request: next, turn: j.turn + 1, fresh: max(1, next.Input-j.Input-j.Output), history: append(j.history, chatTurn{"assistant", d.Text})}
}
