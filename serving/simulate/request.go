package simulate

import (
	"fmt"
	"math"
	"slices"

	"throughline/deploy"
	"throughline/workload"
)

// arrivals are the requests that have not reached a server. A front end takes in, reads and passes
// on one after another: vLLM's API server tokenizes in a single thread (vllm/utils/async_utils.py,
// AsyncMicrobatchTokenizer), SGLang's in its event loop (tokenizer_manager.py,
// _tokenize_one_request), TensorRT-LLM's before it enqueues (tensorrt_llm/llmapi/llm.py,
// generate_async). These places are named from memory. So equal requests that end together do not
// come back together.
type arrivals struct {
	source workload.Source
	deploy.FrontEnd
	free     []float64        // when each front end can take in the next request
	ahead    workload.Request // next of the source
	more     bool
	sent     queue              // follow-ups of ended requests, by arrival
	inside   queue              // by the time at which they reach the scheduler
	together []workload.Request // that a front end takes in at once
	count    int64
}

// arrival is a request on its way to a server.
type arrival struct {
	workload.Request
	at    float64
	order int64
}

func (a *arrival) before(b *arrival) bool {
	return a.at < b.at || a.at == b.at && a.order < b.order
}

// queue is a heap of requests on their way; the first is the next.
type queue []arrival

func (q *queue) push(a arrival) {
	*q = append(*q, a)
	q.up(len(*q)-1, &a)
}

// up and down leave an element at a place, or where those were that come before it or after.
func (q queue) up(i int, a *arrival) {
	for i > 0 && a.before(&q[(i-1)/2]) {
		q[i] = q[(i-1)/2]
		i = (i - 1) / 2
	}
	q[i] = *a
}

func (q queue) down(i int, a *arrival) {
	for {
		least := 2*i + 1
		if least+1 < len(q) && q[least+1].before(&q[least]) {
			least++
		}
		if least >= len(q) || !q[least].before(a) {
			q[i] = *a
			return
		}
		q[i] = q[least]
		i = least
	}
}

// remove takes out the element at a place.
func (q *queue) remove(i int) workload.Request {
	out, last := (*q)[i].Request, (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	switch {
	case i == len(*q):
	case i > 0 && last.before(&(*q)[(i-1)/2]):
		q.up(i, &last)
	default:
		q.down(i, &last)
	}
	return out
}

// pull fetches the next request of the source.
func (a *arrivals) pull() error {
	var err error
	a.ahead, a.more, err = a.source.Next()
	if err != nil || !a.more {
		return err
	}
	if !(a.ahead.Arrival >= 0) || math.IsInf(a.ahead.Arrival, 1) {
		return fmt.Errorf("request %d: an arrival must be a time from 0 on, not %g", a.count, a.ahead.Arrival)
	}
	a.count++
	return nil
}

// first is when the next request is sent, and whether it is a follow-up.
func (a *arrivals) first() (t float64, later bool) {
	t = math.Inf(1)
	if a.more {
		t = a.ahead.Arrival
	}
	if len(a.sent) > 0 && a.sent[0].at < t {
		return a.sent[0].at, true
	}
	return t, false
}

// next is when a front end takes in a request, or one reaches the scheduler; +Inf if there is none.
func (a *arrivals) next() float64 {
	t, _ := a.first()
	if !math.IsInf(t, 1) {
		t = max(t, slices.Min(a.free))
	}
	if len(a.inside) > 0 {
		t = min(t, a.inside[0].at)
	}
	return t
}

// takeIn lets a front end take in the next request, if it can until then, or all that have come
// where none goes on before the others.
func (a *arrivals) takeIn(until float64) (took bool, err error) {
	start := max(a.nextSent(), slices.Min(a.free))
	if math.IsInf(start, 1) || start > until {
		return false, nil
	}
	a.together = a.together[:0]
	for one := true; one || a.TogetherSeconds > 0 && a.nextSent() <= start; one = false {
		r, err := a.pop()
		if err != nil {
			return false, err
		}
		if r.UnderWay {
			a.order(&a.inside, r, start)
		} else {
			a.together = append(a.together, r)
		}
	}
	through := start + a.TogetherSeconds*math.Ceil(float64(len(a.together))/float64(len(a.free)))
	for _, r := range a.together {
		end := slices.Index(a.free, slices.Min(a.free))
		t := max(through, a.free[end])
		a.free[end] = t + a.Each(r.Input)
		a.order(&a.inside, r, t+a.Entry(r.Input, false))
	}
	return true, nil
}

// nextSent is when the next request is sent.
func (a *arrivals) nextSent() float64 {
	t, _ := a.first()
	return t
}

// pop removes and returns the next request that is sent.
func (a *arrivals) pop() (workload.Request, error) {
	if _, later := a.first(); later {
		return a.sent.remove(0), nil
	}
	r := a.ahead
	return r, a.pull()
}

// take removes and returns the next request that has reached the scheduler until then.
func (a *arrivals) take(until float64) (workload.Request, bool) {
	if len(a.inside) == 0 || a.inside[0].at > until {
		return workload.Request{}, false
	}
	return a.inside.remove(0), true
}

func (a *arrivals) order(to *queue, r workload.Request, at float64) {
	a.count++
	to.push(arrival{r, at, a.count})
}

// ended asks the source for the follow-up of a request.
func (a *arrivals) ended(r *workload.Request, t float64) {
	if next, ok := a.source.Ended(r.Client, r, t); ok {
		a.order(&a.sent, next, next.Arrival)
	}
}
