package serving

import (
	"math"

	"throughline/deploy"
	"throughline/workload"
)

// times is how long the steps of a server take on its processors.
type times interface {
	Decode(sequences, context float64) float64
	Mixed(prompts, tokens, past int, sequences, context float64) float64
}

// closed predicts a closed loop in closed form: balance equations of the mean numbers of requests that wait, prefill and
// decode, solved together. docs/serving.md has the formulas.
type closed struct {
	load   workload.Load
	rules  *deploy.Scheduling
	decode times
	ranks  float64 // data-parallel ranks that decode
	// together is the ranks among these that wait for each other in every step.
	together float64
	room     float64 // sequences that a rank may run
	polls    float64 // steps between two looks for new requests
	tokens   float64 // that a decode step yields for a sequence: more than one with drafts
}

// input is the tokens of a request that are to be computed, output those that it asks for.
func (c *closed) input() int      { return c.load.Lengths.Uncached() }
func (c *closed) output() float64 { return float64(c.load.Lengths.Output) }

// context is that of a representative decode step.
func (c *closed) context() float64 { return float64(c.load.Lengths.DecodeContext()) }

// step is one decode step with its host time.
func (c *closed) step(sequences float64) float64 {
	return c.decode.Decode(sequences, c.context()) + c.rules.Host(sequences)
}

// perStep is how many whole prompts a step holds at most.
func (c *closed) perStep() int { return c.rules.PerStep(c.input()) }

// prompts is the time of the steps that prefill a number of prompts together while some sequences decode, which wait
// for it where the engine runs prefills first. A prompt that is longer than a step may be is cut, unless the engine
// takes only whole ones.
func (c *closed) prompts(s times, n int, running float64) float64 {
	if c.rules.Prefill == deploy.First {
		running = 0
	}
	chunk, cached := c.rules.Chunk(c.input()), c.load.Lengths.Cached
	var t float64
	for past := 0; past < c.input(); past += chunk {
		tokens := min(chunk, c.input()-past)
		t += s.Mixed(n, tokens, cached+past, running, c.context()) + c.rules.Host(running+float64(n))
	}
	return t
}

// aggregated is servers that prefill and decode. Of the clients of a rank some decode while the prompt of another is
// computed, which delays them all.
func (c *closed) aggregated() Prediction {
	clients := max(1, float64(c.load.Clients)/c.ranks)
	running := min(clients, c.room)
	others := running - 1

	p := Prediction{Room: c.room}
	p.Steady, p.TPOT = c.balance(func(share, ttft float64) (decoding, first float64) {
		sharing := others * share // others that decode: so much of their lives they do
		if c.inStep() {
			sharing = others // all decode together
		}
		p.Batch = 1 + sharing // one that decodes, and those beside it
		step := c.step(p.Batch)
		w := c.waves(c.decode, running, sharing, step)
		decoding = (c.output()-1)*step/c.tokens + w.delay(c, sharing)
		if share > 0 {
			ttft = decoding * (1/share - 1)
		}
		return decoding, c.rules.FirstSeconds + w.first(c, decoding, ttft)
	})
	// Those who find no room wait until others have ended.
	wait := (clients/running - 1) * (p.Steady + (c.output()-1)*p.TPOT)
	p.Steady += wait
	beside := others / 2 // whose prefill is done decode beside those who wait
	if c.joined() {
		beside = 0
	}
	p.Burst = c.burst(c.decode, running, beside) + wait
	return c.seen(p)
}

// balance finds the share of its life that a request decodes, for which the time to the first token is what the steps of
// the server make it: at (share, ttft) the life of a request is decoding / share, of which the rest is the time to its
// first token. The more requests decode, the shorter the time that is left to wait, and the longer the one it takes: there
// is one balance, between two ends that are known. A request of one token does not decode; its ttft is sought itself.
func (c *closed) balance(at func(share, ttft float64) (decoding, first float64)) (ttft, tpot float64) {
	if c.output() <= 1 {
		_, low := at(0, math.Inf(1)) // nobody else comes
		high := low
		for range 64 {
			_, first := at(0, high)
			if first <= high {
				break
			}
			high = 2 * max(first, high)
		}
		ttft = root(low, high, func(t float64) float64 { _, first := at(0, t); return t - first })
		_, ttft = at(0, ttft)
		return ttft, 0
	}
	share := root(0, 1, func(share float64) float64 {
		if share == 0 {
			return -1
		}
		decoding, first := at(share, 0)
		return share - decoding/(decoding+first)
	})
	decoding, first := at(share, 0)
	return first, decoding / (c.output() - 1)
}

// root finds where a function that rises from below 0 at low to above 0 at high crosses it: by straight lines through the
// last two points on either side, of which the one that stays is weighed less and less (the Illinois method).
func root(low, high float64, f func(float64) float64) float64 {
	const close = 1e-13
	flow, fhigh := f(low), f(high)
	if fhigh <= 0 {
		return high
	}
	side := 0
	for range 100 {
		if high-low <= close*high {
			break
		}
		mid := (low*fhigh - high*flow) / (fhigh - flow)
		if !(mid > low && mid < high) {
			mid = low + (high-low)/2
		}
		switch v := f(mid); {
		case v == 0:
			return mid
		case v < 0:
			low, flow = mid, v
			if side < 0 {
				fhigh /= 2
			}
			side = -1
		default:
			high, fhigh = mid, v
			if side > 0 {
				flow /= 2
			}
			side = 1
		}
	}
	return high
}

// seen completes a prediction: the mean of the first request of a client and the others and, since in a closed loop
// every client always has one request under way, the rate.
func (c *closed) seen(p Prediction) Prediction {
	p.TTFT = p.Steady
	if c.load.Requests > 0 {
		p.TTFT += (p.Burst - p.Steady) / c.load.Requests
	}
	p.Latency = p.TTFT + (c.output()-1)*p.TPOT
	p.Requests = float64(c.load.Clients) / p.Latency
	return p
}

// waves is the prefills of a rank: how long they take, and how they come.
type waves struct {
	clients float64
	step    float64 // one decode step of the others, which a prefill meets
	cuts    float64 // steps of a prompt
	alone   float64 // a prompt by itself, with those who decode beside it
	full    float64 // a prompt in a step with as many as it holds, per prompt
	holds   float64 // prompts that a step holds
	adds    float64 // what one more prompt adds to a step
	all     float64 // all prompts of the clients, one wave of them
	queue   float64 // mean time to the end of its prefill in a wave that comes at once
	lag     float64 // what prompts of other ranks add to a step, on average
	// joined: nobody decodes before the last prompt of a wave is done.
	joined bool
}

// waves prepares the prefills of so many clients on the steps of a server.
func (c *closed) waves(s times, clients, sharing, step float64) waves {
	n := min(c.perStep(), max(1, int(clients)))
	w := waves{clients: clients, step: step, cuts: float64(c.rules.Cuts(c.input())), alone: c.prompts(s, 1, sharing), holds: float64(n)}
	w.joined = c.joined() && step > 0 // a server that only prefills has no steps of others
	w.full = c.prompts(s, n, sharing) / w.holds
	switch {
	case c.rules.Prefill != deploy.First:
		w.adds = max(0, w.full-w.cuts*step/w.holds)
	case n > 1:
		w.adds = max(0, (w.full*w.holds-w.alone)/(w.holds-1))
	default:
		w.adds = w.full
	}
	w.all, w.queue = c.all(s, clients), c.queue(s, clients, 0)
	return w
}

// joined reports whether requests that come together start to decode together.
func (c *closed) joined() bool { return c.rules.Prefill == deploy.First }

// inStep reports whether the requests of all clients come at once, again and again: where they are equally long and start
// to decode together, so that they end together.
func (c *closed) inStep() bool {
	return c.joined() && c.load.Deviation() == 0 && c.load.Requests > 0
}

// delay is what the prefills of the others add to the time from a first to a last token. Each of them has one in that time:
// in a step of its own or, where there are more of them than steps, several in each.
func (w *waves) delay(c *closed, sharing float64) float64 {
	if c.inStep() {
		return w.all - w.queue // those who come early wait for the others
	}
	steps := max(1, (c.output()-1)/c.tokens)
	each := min(max(1, sharing/steps), w.holds)
	takes := w.alone
	if each > 1 {
		takes += (each - 1) / (w.holds - 1) * (w.full*w.holds - w.alone)
	}
	beside := max(0, takes-w.cuts*w.step) // what it is longer than the steps of those who decode in it
	if c.rules.Prefill != deploy.First {
		takes = beside
	}
	laden := sharing / each // steps with a prompt of the rank
	// A prompt of any rank delays all that wait for each other. Those of several may meet in a step, as chance has it.
	others := max(0, steps*-math.Expm1(-(c.together*(sharing+1)-1)/steps/each)-laden)
	w.lag = others * beside / steps
	return laden*takes + others*beside
}

// first is the mean time to the end of its prefill of a request that is not among the first of its clients.
func (w *waves) first(c *closed, decoding, ttft float64) float64 {
	switch {
	case w.clients <= 1:
		return w.alone
	case w.joined && c.inStep():
		return w.queue
	case c.load.Requests == 0:
		return max(w.arriving(c, decoding+ttft), w.saturated(decoding))
	case c.load.Deviation() == 0:
		// Those that were computed together end together, and their successors are computed together, behind the steps
		// that are scheduled already, of which each has the successors of others.
		met := float64(1 + c.rules.StepsAhead)
		laden := min(met, max(0, math.Ceil(w.clients/w.holds)-1))
		return max(laden*w.full*w.holds+(met-laden)*w.step+w.full*w.holds, w.saturated(decoding))
	}
	// All start at once. The ends of the first requests are as far apart as their prefills were, unless the early ones
	// had to wait for the others, and as their lengths differ; those of later ones ever further.
	apart := w.all
	if w.joined {
		apart = 0
	}
	spread := c.load.Deviation() * decoding
	var sum, n float64
	for n = 0; n < max(1, c.load.Requests-1); n++ {
		// The width of an even distribution is √12 of its standard deviations.
		width := math.Sqrt(apart*apart + 12*(n+1)*spread*spread)
		sum += w.arriving(c, min(width, decoding+ttft))
	}
	return max(sum/n, w.saturated(decoding))
}

// saturated is the least time to the end of a prefill: in the life of a request all clients get a prefill.
func (w *waves) saturated(decoding float64) float64 { return w.clients*w.full - decoding }

// arriving is the mean time to the end of its prefill of requests that come evenly within some time.
func (w *waves) arriving(c *closed, within float64) float64 {
	if within <= 0 {
		return w.queue
	}
	rate := (w.clients - 1) / within
	full := w.full * w.holds
	load := min(1, rate*w.full)
	// A step takes up what has come during the one before it: it is longer by what these add. Engines that prefill first
	// have two kinds of steps, and look for new requests after each prefill.
	length, busy := w.step+w.lag, 0.0
	if c.rules.Prefill == deploy.First {
		busy = min(1, rate*w.alone)
		length = (1-busy)*length + busy*w.alone
	}
	longer := max(length, full)
	if rate*w.adds < 1 {
		longer = min(longer, length/(1-rate*w.adds))
	}
	// Half of the time until the engine looks for new requests, and the steps that are scheduled already.
	looks := (c.polls-1)*(1-busy)*w.step + longer
	current := looks/2*w.uneven(c, length, longer) + float64(c.rules.StepsAhead)*longer
	own := min(max(w.alone, full), w.alone+looks*rate*w.adds)
	// More than a step holds: a queue with even service, bounded by how many may come; and what comes faster than it can
	// be computed.
	queue := math.Pow(load, w.holds) * w.full / 2 / (1 - load + 1/math.Sqrt(w.clients))
	return current + own + queue + max(0, w.clients*w.full-within)/2
}

// uneven is by how much more than half of a mean step is left of the one that an arrival meets: the long steps, those with a
// prompt, are met more often than the short ones, E[L²] / E[L]² (the inspection paradox of renewals).
func (w *waves) uneven(c *closed, step, mean float64) float64 {
	long := w.alone / w.cuts
	if c.rules.Prefill == deploy.First || !(long > step && mean > step && mean < long) {
		return 1
	}
	share := (mean - step) / (long - step) // of long steps, which makes this mean
	return ((1-share)*step*step + share*long*long) / (mean * mean)
}

// queue is the mean time to the end of their prefill of so many requests that arrive at once. The steps are full but for
// the last; a request ends with its step.
func (c *closed) queue(s times, requests, running float64) float64 {
	n := max(1, int(math.Round(requests)))
	perStep := min(n, c.perStep())
	full := c.prompts(s, perStep, running)
	steps := n / perStep
	sum := float64(perStep) * full * float64(steps*(steps+1)) / 2
	if rest := n % perStep; rest > 0 {
		sum += float64(rest) * (float64(steps)*full + c.prompts(s, rest, running))
	}
	return sum / float64(n)
}

// all is the time until all of so many requests that arrive at once have been computed.
func (c *closed) all(s times, requests float64) float64 {
	n := max(1, int(math.Round(requests)))
	perStep := min(n, c.perStep())
	t := float64(n/perStep) * c.prompts(s, perStep, 0)
	if rest := n % perStep; rest > 0 {
		t += c.prompts(s, rest, 0)
	}
	return t
}

// burst is the time to the first token of the first requests, all sent at once. The front end takes them in one after
// another.
func (c *closed) burst(s times, requests, running float64) float64 {
	entering := float64(c.load.Clients-1) / 2 * c.rules.RequestSeconds
	return c.rules.FirstSeconds + entering + c.queue(s, requests, running)
}

// split is servers that prefill and others that decode. Requests wait for a prefill server, not for the steps of those
// who decode. The prefill servers have rules of their own.
func (c *closed) split(first *closed, prefill times, prefillRanks, transfer, link float64) Prediction {
	clients := max(1, float64(c.load.Clients)/c.ranks)
	running := min(clients, c.room)
	handover := c.rules.HandoverSeconds + transfer
	sources := max(1, float64(c.load.Clients)/prefillRanks) // clients of a rank that prefills

	w := first.waves(prefill, sources, 0, 0)
	// The links of a prefill rank send one cache after another.
	w.full, w.adds = max(w.full, link), max(w.adds, link)
	p := Prediction{Room: c.room}
	p.Steady, p.TPOT = c.balance(func(share, ttft float64) (decoding, first float64) {
		p.Batch = max(1, running*share)
		decoding = (c.output() - 1) * c.step(p.Batch) / c.tokens
		if share > 0 {
			ttft = decoding * (1/share - 1)
		}
		return decoding, w.first(c, decoding, ttft) + c.rules.FirstSeconds + handover
	})
	wait := (clients/running - 1) * (p.Steady + (c.output()-1)*p.TPOT)
	p.Steady += wait
	p.Burst = first.burst(prefill, sources, 0) + handover + wait
	return c.seen(p)
}
