package serving

import (
	"math"

	"throughline/deploy"
	"throughline/workload"
)

// times is how long the steps of a server take on its processors.
type times interface {
	Decode(sequences, context float64) float64
	Mixed(prompts Prompts, sequences, context float64) float64
}

// closed predicts a closed loop in closed form: balance equations of the mean numbers of requests that wait, prefill and
// decode, solved together. docs/serving.md has the formulas.
type closed struct {
	load   workload.Load
	rules  *deploy.Scheduling
	decode times
	ranks  float64 // data-parallel ranks that decode
	// together is the ranks among these that wait for each other in every step; shares: because their tokens share experts.
	together  float64
	shares    bool
	room      float64 // sequences that a rank may run
	polls     float64 // steps between two looks for new requests
	tokens    float64 // that a decode step yields for a sequence: more than one with drafts
	stall     float64 // of the first requests
	stallEach float64 // what each of them adds for the next
	apart     bool    // others prefill than those who decode
	// stages of a pipeline through which the chunks of a prompt follow one another, 1: they do not; and such pipelines.
	stages, pipelines float64
	// inFlight is the batches of a pipeline among the ranks that wait for each other.
	inFlight float64
}

// input is the tokens of a request that are to be computed, output those that it asks for.
func (c *closed) input() int      { return c.load.Lengths.Uncached() }
func (c *closed) output() float64 { return float64(c.load.Lengths.Output) }

// entry is the time before a request is scheduled.
func (c *closed) entry() float64 { return c.rules.Entry(c.load.Lengths.Input, c.apart) }

// context is that of a representative decode step.
func (c *closed) context() float64 { return float64(c.load.Lengths.DecodeContext()) }

// step is one decode step with its host time.
func (c *closed) step(sequences float64) float64 {
	return c.decode.Decode(sequences, c.context()) + c.rules.Host(sequences)
}

// decodes is the decode steps of a request.
func (c *closed) decodes() float64 { return max(1, (c.output()-1)/c.tokens) }

// perStep is how many whole prompts a step holds at most.
func (c *closed) perStep() int { return c.rules.PerStep(c.input()) }

// prompts is the time of the steps that prefill a number of prompts together while some sequences decode, which wait
// for it where the engine runs prefills first. A prompt that is longer than a step may be is cut, unless the engine
// takes only whole ones.
func (c *closed) prompts(s times, n int, running float64) float64 {
	p := Prompts{Count: n}
	if c.shares && c.used() < c.together {
		p.Ranks, p.Of = int(c.used()), int(c.together)
	}
	t, _ := c.chunks(s, p, running)
	return t
}

// used is those of the ranks that wait for each other which have clients.
func (c *closed) used() float64 {
	return max(1, min(c.together, math.Ceil(float64(c.load.Clients)*c.together/c.ranks)))
}

// one is the same of a single prompt, while the other ranks that share experts with this one have none.
func (c *closed) one(s times, running float64) float64 {
	t, _ := c.chunks(s, Prompts{Count: 1, Ranks: 1, Of: int(c.together)}, running)
	return t
}

// cuts is how many steps a prompt takes on average, where lengths differ evenly about their mean: half a step more than its tokens fill,
// if they differ by several.
func (c *closed) cuts() float64 {
	mean, chunk := float64(c.input()), float64(c.rules.StepTokens)
	half := min(mean, math.Sqrt(3)*c.load.Deviation()*mean)
	if c.rules.Prefill == deploy.Prompts || half < 0.5 || mean+half < chunk+0.5 {
		return float64(c.rules.Cuts(c.input()))
	}
	// steps is the steps of all lengths up to x, added up.
	steps := func(x float64) float64 {
		whole := math.Floor(x / chunk)
		return chunk*whole*(whole+1)/2 + (x-whole*chunk)*(whole+1)
	}
	return max(1, (steps(mean+half)-steps(mean-half))/(2*half))
}

// chunks is the time of the steps of prompts, and that of the longest of them. Where lengths differ, some take a step more than others,
// and all steps but the last of a prompt are full.
func (c *closed) chunks(s times, p Prompts, running float64) (all, longest float64) {
	cuts := c.cuts()
	if whole := c.rules.Cuts(c.input()); cuts == float64(whole) {
		return c.chunked(s, p, running, c.rules.Chunk(c.input()))
	}
	fewer := math.Floor(cuts)
	all, longest = c.cutInto(s, p, running, fewer)
	if part := cuts - fewer; part > 0 {
		a, l := c.cutInto(s, p, running, fewer+1)
		all, longest = all+part*(a-all), longest+part*(l-longest)
	}
	return all, longest
}

// cutInto is the same of prompts in so many steps, whose last one is half full on average.
func (c *closed) cutInto(s times, p Prompts, running, steps float64) (all, longest float64) {
	all, longest = c.chunked(s, p, running, int(math.Ceil(float64(c.input())/steps)))
	if steps > 1 {
		p.Tokens = c.rules.StepTokens
		p.Past = c.load.Lengths.Cached + max(0, c.input()-p.Tokens*3/2)
		longest = min(all, max(longest, c.chunk(s, p, running)))
	}
	return all, longest
}

// chunked is the same of prompts that are cut so.
func (c *closed) chunked(s times, p Prompts, running float64, chunk int) (all, longest float64) {
	cached := c.load.Lengths.Cached
	for past := 0; past < c.input(); past += chunk {
		p.Tokens, p.Past = min(chunk, c.input()-past), cached+past
		t := c.chunk(s, p, running)
		all, longest = all+t, max(longest, t)
	}
	return all, longest
}

// chunk is the time of a step with chunks of prompts.
func (c *closed) chunk(s times, p Prompts, running float64) float64 {
	if c.rules.Prefill == deploy.First {
		running = 0
	}
	return s.Mixed(p, running, c.context()) + c.rules.Host(running+float64(p.Count))
}

// ahead is how much sooner a prompt is done whose chunks follow one another through the stages of a pipeline than one whose
// chunks pass it one by one: by itself, and on average where others come with it. A chunk takes as long in every stage and none
// overtakes another, so that the last is done after Σ s + (PP − 1)·s of the longest. Prompts that come together take turns, while each
// would have had the pipeline for itself a PP-th of the time: k of them are done after k·C·s + (PP − 1)·s in place of C·PP·s for
// each PP, which saves (PP − 1)·s·(C/2 − 1) of (PP − 1)·s·(C − 1).
func (c *closed) ahead(s times, running float64) (alone, together float64) {
	if c.stages <= 1 || c.rules.Cuts(c.input()) <= 1 { // batches in flight wait for prompts that are not cut: deploy.Deployment.Together
		return 0, 0
	}
	cuts := c.cuts()
	all, longest := c.chunks(s, Prompts{Count: 1}, running)
	alone = (all - longest) * (1 - 1/c.stages)
	if cuts <= 2 { // of those in one step and of those in two none gains
		return alone, 0
	}
	return alone, alone * (cuts/2 - 1) / (cuts - 1)
}

// aggregated is servers that prefill and decode. Of the clients of a rank some decode while the prompt of another is
// computed, which delays them all.
func (c *closed) aggregated() Prediction {
	if c.keeps() {
		return c.walked()
	}
	clients := max(1, float64(c.load.Clients)/c.ranks)
	running := min(clients, c.room)
	others := running - 1
	// Those who wait for room have been seen: they follow the requests that end in as many steps without another look.
	c.polls = max(1, c.polls-(clients-running)*c.decodes()/running)

	p := Prediction{Room: c.room}
	p.Steady, p.TPOT = c.balance(func(share, ttft float64) (decoding, first float64) {
		var w waves
		beside := share // of the others decode in the steps in which one decodes
		if c.inStep() {
			beside = 1
		}
		// In the step of its own prefill no more prompts of others are computed than in any other, though it is longer: it
		// meets the rest of them while it decodes.
		for range 4 {
			sharing := others * beside
			p.Batch = 1 + sharing // one that decodes, and those beside it
			step := c.step(p.Batch)
			w = c.waves(c.decode, running, sharing, step)
			decoding = (c.output()-1)*step/c.tokens + w.delay(c, beside)
			if c.inStep() || share == 0 {
				break
			}
			life := decoding / share
			l := w.lengths((w.clients-1)/life, (w.group-1)/life)
			last := beside
			if beside = min(1, share/max(share, 1-max(0, w.alone-l.mean)/life)); math.Abs(beside-last) < 1e-6 {
				break
			}
		}
		decoding += w.crossing(c, share, decoding)
		if share > 0 {
			ttft = decoding * (1/share - 1)
		}
		l := w.lengths((w.clients-1)/(decoding+ttft), (w.group-1)/(decoding+ttft))
		p.Prefilling = l.prompts(c.rules.Prefill == deploy.First)
		return decoding, c.entry() + w.first(c, decoding, ttft)
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
	other   float64 // what one of another rank adds to it, which waits for this one
	full    float64 // a prompt in a step with as many as it holds, per prompt
	holds   float64 // prompts that a step holds
	looks   float64 // decode steps whose prompts are computed together, if a step holds them
	more    float64 // what one more prompt adds to a step that has one
	all     float64 // all prompts of the clients, one wave of them
	queue   float64 // mean time to the end of its prefill in a wave that comes at once
	group   float64 // clients of all ranks that wait for each other
	own     float64 // of these, those whose steps are the same: not of other batches in flight, which it only follows
	away    float64 // seconds of a life in which a request is at no rank that prefills
	// ahead is what a prompt gains by the stages of a pipeline that its chunks fill, by itself and among others.
	ahead, aheadTogether float64
	// joined: nobody decodes before the last prompt of a wave is done.
	joined bool
	// hold is the steps for which prompts of a rank wait for others to fill a step; balance those for which ranks do, so many, until
	// each of them has a prompt.
	hold, balance, balanced float64
}

// waves prepares the prefills of so many clients on the steps of a server.
func (c *closed) waves(s times, clients, sharing, step float64) waves {
	all := c.prompts(s, 1, sharing) // ranks that have clients have one
	w := waves{clients: clients, group: c.group(clients), away: c.entry(), step: step, cuts: c.cuts(), alone: all}
	w.own = max(clients, w.group/max(1, c.inFlight))
	w.joined = c.joined() && step > 0 // a server that only prefills has no steps of others
	if used := c.used(); c.shares && step > 0 && used > 1 {
		w.alone = c.one(s, sharing)
		w.other = (all - w.alone) / (used - 1)
	}
	w.holds, w.full = c.filled(s, clients, sharing)
	w.more = max(0, w.full-w.cuts*step)
	if w.holds > 1 {
		w.more = max(0, (w.full*w.holds-all)/(w.holds-1))
	}
	if c.load.Requests > 0 {
		w.all, w.queue = c.all(s, clients), c.queue(s, clients, 0)
	}
	w.ahead, w.aheadTogether = c.ahead(s, sharing)
	w.looks = c.looks(&w)
	if w.hold = float64(c.rules.WaitSteps); c.shares && step > 0 {
		w.balance, w.balanced = float64(c.rules.BalanceSteps), c.together/max(1, c.inFlight)
	}
	return w
}

// filled is the prompts of the fullest step, and the time of that for each of them. What is left behind whole prompts is filled with the
// beginning of the next, unless the engine takes only whole ones.
func (c *closed) filled(s times, clients, sharing float64) (holds, each float64) {
	n := int(min(float64(c.perStep()), max(1, clients)))
	holds = float64(n)
	full := c.prompts(s, n, sharing)
	if c.rules.Prefill != deploy.Prompts && c.input() < c.rules.StepTokens {
		if part := min(float64(c.rules.StepTokens)/float64(c.input()), clients) - holds; part > 0 {
			holds, full = holds+part, full+part*(c.prompts(s, n+1, sharing)-full)
		}
	}
	return holds, full / holds
}

// ranks is those that wait for each other and have clients.
func (w *waves) ranks() float64 { return w.group / w.clients }

// looks is the decode steps whose prompts are computed together, where the engine prefills first: those between two looks for new
// requests, or those whose requests ended so shortly before a prefill that their successors come while it runs, in which nobody ends.
func (c *closed) looks(w *waves) float64 {
	if !w.joined || w.group > w.clients {
		return 1
	}
	return max(1, c.polls, min(w.alone, c.entry())/w.step)
}

// group is the clients of all ranks that wait for each other, of which one has so many.
func (c *closed) group(clients float64) float64 {
	return max(clients, min(clients*c.together, float64(c.load.Clients)*c.together/c.ranks))
}

// joined reports whether requests that come together start to decode together.
func (c *closed) joined() bool { return c.rules.Prefill == deploy.First }

// inStep reports whether the requests of all clients come at once, again and again: where they are equally long and start
// to decode together, so that they end together. Those of one token end with their prefills, one after another.
func (c *closed) inStep() bool {
	return c.joined() && c.output() > 1 && c.load.Deviation() == 0 && c.load.Requests > 0
}

// delay is what the prefills of the others add to the time from a first to a last token, of whom a share decodes beside one:
// each of them has a prefill in that time.
func (w *waves) delay(c *closed, share float64) float64 {
	if c.inStep() {
		return w.all - w.queue // those who come early wait for the others
	}
	if w.crosses() {
		return 0 // all prompts cross it alike
	}
	decodes := c.decodes()
	own := (w.clients - 1) * share / decodes
	laden, longer := w.laden(own, (w.group-1)*share/decodes)
	if c.rules.Prefill == deploy.First { // nobody decodes in a step with prompts of his rank
		longer += min(laden, max(own/w.holds, -math.Expm1(-own*w.looks)/w.looks)) * w.cuts * w.step
	}
	return decodes * longer
}

// laden is the share of steps that hold a prompt, of some rank, and what steps are longer on average than those without:
// where so many prompts come to a step on a rank, and on all that wait for each other. More prompts than a step holds make
// the share more than 1.
func (w *waves) laden(own, all float64) (share, longer float64) {
	if all <= 0 {
		return 0, 0
	}
	come := -math.Expm1(-all*w.looks) / w.looks
	if w.group > w.clients {
		come = w.meeting(come)
	}
	if g := w.gather(own, all); g.wait > 0 {
		come = min(come, g.share)
	}
	share = max(come, own/w.holds)
	var more float64 // prompts, beyond the first of a step
	switch {
	case w.cuts >= 2: // they follow one another
	case w.group > w.clients: // ranks get their requests in turn: each has one before any has two
		more = min(w.holds-1, max(0, all*w.clients/w.group-0.5))
	default:
		more = own - share
	}
	// Experts work for every prompt once, those beyond the first of a rank included.
	longer = share*(w.alone-w.cuts*w.step) + max(0, all-share)*w.other
	if w.group > w.clients || !w.joined { // others decode in them
		longer = max(0, longer)
	}
	longer += more * max(0, w.more-w.ranks()*w.other)
	return share, longer
}

// meeting is the share of steps that hold a prompt, where requests end with a share of the steps: they are followed by others that come
// together, and those of two steps, one behind the other, come to one step if that is longer than the step between them. With long steps, of
// which there is that share, and short ones it is a long one, met as often as it is long, for the time that it is longer.
func (w *waves) meeting(ends float64) float64 {
	longer := w.alone/w.cuts - w.step
	if longer <= 0 {
		return ends
	}
	share := ends
	for range 4 {
		share = ends - ends*ends*share*(1-share)*longer/(w.step+share*longer)
	}
	return share
}

// crosses reports whether prompts delay all batches in flight alike, their own among them: not where ranks share experts besides.
func (w *waves) crosses() bool { return w.ahead > 0 && w.group <= w.clients }

// crossing is what prompts of other batches in flight add to the time from a first to a last token, so much of which is decoding, where
// chunks fill the stages of a pipeline. No batch overtakes another: as long as some client of these has a prompt in the pipeline, a step
// follows a chunk through all stages and takes as long. Others hardly end meanwhile, so that their prompts come while one decodes: all of
// the time in which they neither decode nor are away is a part of this.
func (w *waves) crossing(c *closed, share, decoding float64) float64 {
	if w.ahead == 0 || share == 0 || c.inStep() {
		return 0
	}
	prompt := min(1, max(0, 1-share*(1+w.away/decoding))/share)
	others := c.piped() - w.clients
	if w.crosses() {
		others = c.piped() - 1
	}
	met := 1 - math.Pow(1-prompt, others)
	met *= max(0, 1-w.step*w.cuts/w.alone)
	return decoding * met / (1 - met)
}

// piped is the clients of a pipeline, at least one.
func (c *closed) piped() float64 { return max(1, float64(c.load.Clients)/c.pipelines) }

// first is the mean time to the end of its prefill of a request that is not among the first of its clients.
func (w *waves) first(c *closed, decoding, ttft float64) float64 {
	switch {
	case w.own <= 1 && w.ahead == 0:
		return max(w.alone, w.saturated(decoding))
	case w.clients <= 1 && w.ahead > 0:
		// It shares the first stage with the chunks of others, and has the rest of its way behind them.
		takes := w.alone / c.stages
		load := min(1-1/c.piped(), (c.piped()-1)*takes/(decoding+ttft))
		return max(w.alone-w.ahead+takes*load/(1-load), c.piped()*max(w.alone, w.full)/c.stages-decoding-w.away)
	case w.joined && c.inStep():
		return max(w.queue, w.saturated(decoding))
	case c.load.Requests == 0:
		return max(w.arriving(c, decoding+ttft, decoding+ttft), w.saturated(decoding))
	case c.load.Deviation() == 0:
		// Those that were computed together end together, and their successors are computed together, behind the steps
		// that are scheduled already, of which each has the successors of others.
		met := float64(1 + c.rules.StepsAhead)
		laden := min(met, max(0, math.Ceil(w.clients/w.holds)-1))
		return max(laden*w.full*w.holds+(met-laden)*w.step+w.full*w.holds, w.saturated(decoding))
	}
	var sum, n float64
	for n = 0; n < max(1, c.load.Requests-1); n++ {
		sum += w.arriving(c, min(w.width(c, n+1, decoding), decoding+ttft), decoding+ttft)
	}
	return max(sum/n, w.saturated(decoding))
}

// width is the time within which the requests of all clients come that follow so many that have started at once. Their lengths make
// ends differ, of later ones ever more; the width of an even distribution is √12 of its standard deviations. Ends of the first are
// as far apart as their prefills were besides, unless the early ones had to wait for the others. Then nobody decodes during a
// prefill, so that the others come later by all of them.
func (w *waves) width(c *closed, after, decoding float64) float64 {
	if w.joined {
		return math.Sqrt(12*after)*c.load.Deviation()*min(decoding, (c.output()-1)*w.step/c.tokens) + w.all
	}
	spread := c.load.Deviation() * decoding
	return math.Sqrt(w.all*w.all + 12*after*spread*spread)
}

// saturated is the least time to the end of a prefill: in the life of a request all clients get a prefill.
func (w *waves) saturated(decoding float64) float64 { return w.clients*w.full - decoding - w.away }

// arriving is the mean time to the end of its prefill of requests that come evenly within some time.
func (w *waves) arriving(c *closed, within, life float64) float64 {
	if within <= 0 {
		return w.queue
	}
	rate, all := (w.clients-1)/within, (w.group-1)/within
	full := w.full * w.holds
	load := min(1, rate*w.full)
	// More than a step holds: a queue with even service, bounded by how many may come; and what comes faster than it can
	// be computed.
	queue := math.Pow(load, w.holds+1) * w.full / 2 / (1 - load + 1/math.Sqrt(w.clients))
	behind := queue + max(0, w.clients*w.full-within)/2
	if w.step == 0 {
		return w.served(rate, all) + behind
	}
	l := w.lengths(rate, all)
	// What is left of the step under way, or until the engine looks for new requests, and the steps that are scheduled
	// already: if anybody else is there.
	busy := 0.0
	if c.rules.Prefill == deploy.First {
		busy = min(1, rate*w.alone) // it looks after each prefill
	}
	// A request ends with a step, and its successor comes some time later, which is not always the same: at any time of a step. Where
	// that takes no time it is in the next one, but on another of several servers that take turns.
	left := l.left()
	if c.entry() == 0 {
		left *= 1 - min(1, max(1, c.together)/c.ranks)
	}
	g := w.gather(rate*w.step, all*w.step) // nobody has prompts in the steps meanwhile
	met := (c.polls-1)*(1-busy)*w.step/2 + left + float64(c.rules.StepsAhead)*l.mean + g.wait*w.step
	present := 1 - math.Pow(min(1, w.away/life), w.own-1)
	others := min(w.ranks()-1, present*max(g.elsewhere, (all-rate)*l.mean)) * w.other
	prompt := min(max(w.alone, full), w.alone+others+present*(rate*max(l.mean, c.polls*w.step)+g.beside)*w.more) - w.ahead - load*(w.aheadTogether-w.ahead)
	return present*met + prompt + behind
}

// served is the mean time to the end of its prefill behind a rank that only prefills, and takes up at the end of a step what
// has come in it. Of the requests that come at these rates to the rank, and to all that wait for each other, a step of s
// seconds is followed by another unless none comes in it, which is so in e^(-all·s) of the cases.
func (w *waves) served(rate, all float64) float64 {
	// It solves s = alone + more·(rate·s − 1 + e^(−rate·s)), whose right side curves upwards: from the left, Newton's steps stay there.
	s, longest := w.alone, max(w.alone, w.full*w.holds)
	for range 64 {
		come := -math.Expm1(-rate * s) // the share of steps in which one comes
		ahead, slope := w.alone+w.more*(rate*s-come)-s, 1-w.more*rate*come
		if ahead >= slope*(longest-s) {
			s = longest
			break
		}
		if s += ahead / slope; ahead <= 1e-9*s*slope {
			break
		}
	}
	busy := all * s / (all*s + math.Exp(-all*s))
	return w.alone + busy*(s/2+min(rate*s, w.holds-1)*w.more)
}

// lengths of the steps of a rank that decodes: short ones, and a share of long ones, in which some rank has a prompt.
type lengths struct{ short, long, share, mean float64 }

// lengths of steps when requests come at these rates to the rank, and to all that wait for each other. A step takes up what
// has come during one before it: the longer they are, the more that is, and the longer they are again.
func (w *waves) lengths(rate, all float64) lengths {
	l := lengths{short: w.step, long: w.alone / w.cuts, mean: w.step}
	longest := max(w.step, w.alone/w.cuts, w.full*w.holds/w.cuts)
	for range 64 {
		last := l.mean
		var longer float64
		l.share, longer = w.laden(min(w.holds, rate*last), all*last)
		l.mean = min(longest, w.step+longer)
		if longer < 0 {
			l.mean = (last + l.mean) / 2 // a prefill is shorter than a step: more would go to and fro
		}
		if math.Abs(l.mean-last) <= 1e-7*last {
			break
		}
	}
	if l.share > 0 {
		l.share = min(1, l.share*w.cuts)
		l.long = max(min(l.short, w.alone/w.cuts), l.short+(l.mean-l.short)/l.share)
	}
	return l
}

// prompts is the share of the time that goes to prompts: the long steps, or what they are longer if all decode in them.
func (l *lengths) prompts(first bool) float64 {
	if first {
		return l.share * l.long / l.mean
	}
	return 1 - l.short/l.mean
}

// left is what is left of the step under way on average over time.
func (l *lengths) left() float64 {
	return ((1-l.share)*l.short*l.short + l.share*l.long*l.long) / (2 * l.mean)
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
	alone, together := c.ahead(s, running)
	if c.piped() > 1 {
		alone = together
	}
	return sum/float64(n) - alone
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
	entering := float64(c.load.Clients-1) / 2 * (c.rules.Each(c.load.Lengths.Input) + c.stallEach)
	stall := c.stall
	if requests <= 1 { // servers have had steps of one prompt
		stall = 0
	}
	return c.entry() + entering + stall + c.queue(s, requests*(1-c.load.Repeated), running)
}

// split is servers that prefill and others that decode. Requests wait for a prefill server, not for the steps of those
// who decode. The prefill servers have rules of their own.
func (c *closed) split(first *closed, prefill times, prefillRanks, transfer, link float64) Prediction {
	clients := max(1, float64(c.load.Clients)/c.ranks)
	handover := c.rules.HandoverSeconds + transfer
	sources := max(1, float64(c.load.Clients)/prefillRanks) // clients of a rank that prefills

	w := first.waves(prefill, sources, 0, 0)
	w.away += handover
	// The links of a prefill rank send one cache after another.
	w.full, w.more = max(w.full, link), max(w.more, link)
	p := Prediction{Room: c.room}
	p.Steady, p.TPOT = c.balance(func(share, ttft float64) (decoding, first float64) {
		p.Batch = max(1, min(c.room, clients*share))
		step := c.step(p.Batch)
		decoding = (c.output() - 1) * step / c.tokens
		if p.Batch > 1 {
			// It comes while a step is under way, and others are scheduled.
			decoding += min(1, p.Batch-1) * (0.5 + float64(c.rules.StepsAhead)) * step
		}
		if share > 0 {
			ttft = decoding * (1/share - 1)
		}
		p.Prefilling = min(1, sources*w.full/(decoding+ttft))
		return decoding, w.first(c, decoding, ttft) + c.entry() + handover
	})
	// Those who find no room on a rank that decodes wait for it with their prompts done: of the time between two requests of
	// a client, decoding takes as much as all clients of the rank need who share its room.
	decoding := (c.output() - 1) * p.TPOT
	wait := max(0, clients/c.room*decoding-p.Steady-decoding)
	p.Steady += wait
	p.Burst = first.burst(prefill, sources, 0) + handover + wait
	return c.seen(p)
}
