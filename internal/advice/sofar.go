package advice

import (
	"slices"
	"sync"
	"time"
)

// feed hands over what is simulated of a search while the rest still is.
type feed struct {
	give func(seen []weighed)

	mu   sync.Mutex
	seen []weighed
	busy bool
	next time.Time // when the next may be given
	wait time.Duration
}

// sofarPause is the time between the first two answers so far, and doubles with each: all describe
// their deployments anew.
const sofarPause = 150 * time.Millisecond

// begin tells that nothing is simulated yet, and has the rest told, too.
func (a *adviser) begin(f *found, gpus int) {
	if a.o.Sofar == nil {
		return
	}
	a.feed = &feed{give: func(seen []weighed) {
		sofar := Advice{Dots: f.dots, Partial: true}
		if a.list(&sofar, rank(slices.Clone(seen), a.o.Top), pareto(seen), gpus) == nil { // an error comes again with the answer
			a.o.Sofar(&sofar)
		}
	}}
	a.o.Sofar(&Advice{Dots: f.dots, Partial: true})
}

// add gives what is there when it is time.
func (t *feed) add(w weighed) {
	t.mu.Lock()
	t.seen = append(t.seen, w)
	due := !t.busy && !time.Now().Before(t.next)
	seen := slices.Clone(t.seen)
	t.busy = t.busy || due
	t.mu.Unlock()
	if !due {
		return
	}
	t.give(seen)
	t.mu.Lock()
	t.wait = max(sofarPause, 2*t.wait)
	t.busy, t.next = false, time.Now().Add(t.wait)
	t.mu.Unlock()
}

// list describes the deployments of an answer.
func (a *adviser) list(out *Advice, ranked, frontier []weighed, gpus int) error {
	for _, list := range []struct {
		from []weighed
		to   *[]Candidate
	}{{ranked, &out.Ranked}, {frontier, &out.Frontier}} {
		for _, w := range list.from {
			c := w.field.candidate(&w, gpus)
			if err := c.describe(w.predictor(), a.o.Tariff); err != nil {
				return err
			}
			*list.to = append(*list.to, c)
		}
	}
	return nil
}
