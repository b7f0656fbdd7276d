package serving

import (
	"math"
	"slices"

	"throughline/deploy"
)

// keeps reports whether ranks in lockstep stay so: equally long requests that are sent at once end
// in one step, and their successors are computed together again on all ranks. Requests of one token
// end with their prefills, one after another. A single rank is left to the forms that runs with
// equal lengths have chosen (first, delay): TTFT of 479 runs of TensorRT-LLM is off by 16% there
// and by 19% here.
//
// Chosen: 479 runs of TensorRT-LLM in aiconfigurator's silicon_sample.csv; 2026-11-16.
func (c *closed) keeps() bool {
	return c.shares && c.together > 1 && c.output() > 1 && c.load.Deviation() == 0 && c.load.Requests > 0 && c.load.Repeated == 0
}

// cohort is requests sent at once, or computed in one step, on all ranks in lockstep.
type cohort struct {
	count float64
	wave  int     // requests of their clients before them
	sent  float64 // by their clients
	at    float64 // when they reach the scheduler
	first float64 // when their first tokens came out
	last  float64 // token count at which sequences end
}

// walk follows equal requests by cohorts: steps with prompts one by one, the others as many at a
// time as are alike. Ranks take requests in turn, so their counts differ by one at most.
type walk struct {
	*closed
	now     float64
	before  []float64 // starts of the last steps, latest first, one per step scheduled ahead
	tokens  float64   // per sequence since the start
	coming  []cohort  // to the scheduler, by time
	running []cohort  // by end
	decodes float64   // running requests
	begun   float64   // computed part of the next prompt of a rank
	warm    bool      // a step has had several prompts
	lone    float64   // steps since all ranks had prompts, or prompts were released

	first, rest sums    // of the first requests of clients, and of the others
	prompted    float64 // seconds for prompts
	decoding    float64 // seconds of all decode steps, and
	sequences   float64 // those times the sequences of a rank
}

// sums over ended requests.
type sums struct{ requests, ttft, decoding float64 }

func (s *sums) add(of *cohort, now float64) {
	s.requests += of.count
	s.ttft += of.count * (of.first - of.sent)
	s.decoding += of.count * (now - of.first)
}

// walked is servers that do both phases, with ranks in lockstep.
func (c *closed) walked() Prediction {
	w := walk{closed: c, before: make([]float64, c.rules.StepsAhead)}
	w.start()
	for len(w.coming)+len(w.running) > 0 {
		if len(w.running) == 0 {
			w.now = max(w.now, w.coming[0].at)
		}
		if waiting := w.waiting(); waiting > 0 && !w.holds(waiting) {
			w.prefill(waiting)
		} else {
			w.decode()
		}
	}
	p := Prediction{Room: c.room, Batch: w.sequences / w.decoding, Prefilling: w.prompted / w.now}
	p.Burst = w.first.ttft / w.first.requests
	p.Steady = p.Burst
	if w.rest.requests > 0 {
		p.Steady = w.rest.ttft / w.rest.requests
	}
	p.TPOT = (w.first.decoding + w.rest.decoding) / (w.first.requests + w.rest.requests) / (c.output() - 1)
	return c.seen(p)
}

// start sends the first requests, evenly to all servers, which the front end takes in one by one.
func (w *walk) start() {
	each := (w.rules.Each(w.load.Lengths.Input) + w.stallEach) * w.ranks / w.together
	clients := max(1, math.Round(float64(w.load.Clients)*w.together/w.ranks))
	for i := range int(clients) {
		w.coming = append(w.coming, cohort{count: 1, at: w.entry() + float64(i)*each})
	}
}

// own is the decoding sequences of a rank.
func (w *walk) own() float64 { return w.decodes / w.together }

// waiting is the requests that the next step sees: where some decode, those present when it was
// scheduled ahead, or at the last poll.
func (w *walk) waiting() (count float64) {
	until := w.now
	if w.decodes > 0 {
		if n := len(w.before); n > 0 {
			until = w.before[n-1]
		}
		until -= (w.polls - 1) / 2 * w.step(max(1, w.own()))
	}
	for i := range w.coming {
		if w.coming[i].at > until {
			break
		}
		count += w.coming[i].count
	}
	return min(count, w.room*w.together-w.decodes)
}

// holds reports whether prompts wait until every rank has one, within their time and while all
// decode.
func (w *walk) holds(waiting float64) bool {
	if most := float64(w.rules.BalanceSteps); waiting < w.together && w.decodes >= w.together && w.lone+1 < most {
		return true
	}
	w.lone = 0
	return false
}

// decode runs steps without prompts up to the next end or arrival.
func (w *walk) decode() {
	step := w.step(max(1, w.own()))
	steps := max(1, math.Ceil((w.running[0].last-w.tokens)/w.closed.tokens))
	if len(w.coming) > 0 {
		steps = min(steps, max(1, math.Floor((w.coming[0].at-w.now)/step)))
	}
	if most := float64(w.rules.BalanceSteps); most > 0 {
		w.lone = math.Mod(w.lone+steps, most) // time also passes without prompts
	}
	w.pass((steps-1)*step, (steps-1)*w.closed.tokens)
	w.pass(step, w.closed.tokens)
}

// prefill runs the steps of a prompt; where prompts come first, ranks that have any do not decode.
func (w *walk) prefill(waiting float64) {
	rows, ends := w.rows(waiting)
	seconds := w.rowSeconds(rows, waiting)
	tokens := w.cuts() * w.closed.tokens
	if w.rules.Prefill == deploy.First {
		tokens *= max(0, 1-waiting/w.together)
		w.prompted += seconds
	} else {
		w.prompted += max(0, seconds-w.cuts()*w.step(max(1, w.own())))
	}
	if !w.warm && rows > 1 {
		w.warm = true
		seconds += w.stall
	}
	w.begun = max(0, w.begun+rows-math.Ceil(ends/w.together))
	done := w.take(ends)
	w.pass(seconds, tokens)
	for i := range done {
		done[i].first, done[i].last = w.now, w.tokens+w.output()-1
		w.decodes += done[i].count
	}
	w.running = append(w.running, done...)
}

// rows is the prompts of the fullest rank in a step, a chunked one's part included, and how many
// end on all ranks.
func (w *walk) rows(waiting float64) (rows, ends float64) {
	all := math.Ceil(waiting / w.together)
	if w.rules.Prefill != deploy.Chunks || w.cuts() > 1 {
		rows = min(all, float64(w.perStep()))
		return rows, min(waiting, rows*w.together)
	}
	fits := max(0, float64(w.rules.StepTokens)-w.own()) / float64(w.input())
	if rows = all - w.begun; rows <= fits {
		return rows, waiting
	}
	return fits, min(waiting, math.Floor(w.begun+fits)*w.together)
}

// rowSeconds is the time of a step with this many prompts on the fullest rank.
func (w *walk) rowSeconds(rows, waiting float64) float64 {
	at := func(n int) float64 {
		if n == 0 {
			return w.step(max(1, w.own()))
		}
		ranks := min(w.together, max(1, math.Round(waiting/float64(n))))
		t, _ := w.chunks(w.closed.decode, Prompts{Count: n, Ranks: int(ranks), Of: int(w.together)}, w.own())
		return t
	}
	floor := math.Floor(rows)
	t := at(int(floor))
	if part := rows - floor; part > 0 {
		t += part * (at(int(floor)+1) - t)
	}
	return t
}

// take removes requests from those that have arrived.
func (w *walk) take(count float64) (out []cohort) {
	for count > 0 {
		next := &w.coming[0]
		one := *next
		one.count = min(count, next.count)
		count -= one.count
		if next.count -= one.count; next.count <= 0 {
			w.coming = w.coming[1:]
		}
		out = append(out, one)
	}
	return out
}

// pass advances time and tokens. Ended sequences are followed by the next request of their client.
func (w *walk) pass(seconds, tokens float64) {
	const rounding = 1e-9
	if n := len(w.before); n > 0 {
		copy(w.before[1:], w.before)
		w.before[0] = w.now
	}
	if tokens > 0 && w.decodes > 0 {
		w.decoding, w.sequences = w.decoding+seconds, w.sequences+seconds*w.own()
	}
	w.now, w.tokens = w.now+seconds, w.tokens+tokens
	for len(w.running) > 0 && w.running[0].last <= w.tokens+rounding {
		one := w.running[0]
		w.running = w.running[1:]
		w.decodes -= one.count
		sums := &w.rest
		if one.wave == 0 {
			sums = &w.first
		}
		sums.add(&one, w.now)
		if float64(one.wave+1) < w.load.Requests {
			w.send(cohort{count: one.count, wave: one.wave + 1, sent: w.now, at: w.now + w.entry()})
		}
	}
}

// send inserts requests by time.
func (w *walk) send(one cohort) {
	i := len(w.coming)
	for i > 0 && w.coming[i-1].at > one.at {
		i--
	}
	w.coming = slices.Insert(w.coming, i, one)
}
