package simulate

import (
	"container/heap"
	"fmt"
	"math"

	"throughline/deploy"
	"throughline/workload"
)

// arrivals are the requests that have not reached a server, by the time at which they do.
type arrivals struct {
	source workload.Source
	deploy.FrontEnd
	later  queue            // follow-ups of ended requests
	ahead  workload.Request // next of the source
	more   bool
	late   float64 // its delay behind others of the same burst
	enters float64 // when it reaches the scheduler
	count  int64
}

// arrival is a request on its way to a server.
type arrival struct {
	workload.Request
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

// pull fetches the next request of the source.
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
	a.late += a.burstDelay(&last)
	if first || a.ahead.Arrival != last.Arrival || !a.ahead.Burst {
		a.late = 0
	}
	a.enters = max(a.enters, a.ahead.Arrival+a.entry(&a.ahead)+a.late)
	return nil
}

// entry is the time before a lone request reaches the scheduler.
func (a *arrivals) entry(r *workload.Request) float64 { return a.Entry(r.Input, false) }

// burstDelay is the delay that a request adds to others of the same burst.
func (a *arrivals) burstDelay(r *workload.Request) float64 {
	return a.RequestSeconds + a.WaveRequestSeconds + a.TokenSeconds*float64(r.Input)
}

// next is when the next request reaches the scheduler.
func (a *arrivals) next() (t float64, ok bool) {
	if len(a.later) > 0 && (!a.more || a.later[0].enters < a.enters) {
		return a.later[0].enters, true
	}
	return a.enters, a.more
}

// take removes and returns the next request.
func (a *arrivals) take() (workload.Request, error) {
	if len(a.later) > 0 && (!a.more || a.later[0].enters < a.enters) {
		return heap.Pop(&a.later).(arrival).Request, nil
	}
	r := a.ahead
	return r, a.pull()
}

// ended asks the source for the follow-up of a request.
func (a *arrivals) ended(r *workload.Request, t float64) {
	if next, ok := a.source.Ended(r.Client, r, t); ok {
		a.count++
		heap.Push(&a.later, arrival{Request: next, enters: next.Arrival + a.entry(&next), order: a.count})
	}
}
