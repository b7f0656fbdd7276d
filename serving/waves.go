package serving

import (
	"math"

	"throughline/deploy"
)

// waves is the prefills of a rank: how long they take, and how they arrive.
type waves struct {
	clients   float64
	step      float64 // a decode step of the others, which a prefill meets
	cuts      float64 // steps per prompt
	alone     float64 // a single prompt, with the decodes beside it
	other     float64 // added by one of another rank in lockstep
	full      float64 // per prompt, in a full step
	holds     float64 // prompts per step
	pollSteps float64 // decode steps whose prompts are computed together, if a step holds them
	more      float64 // added by another prompt of the same step
	group     float64 // clients of all ranks in lockstep
	own       float64 // of these, without other batches in flight, which it only follows
	away      float64 // seconds of a request's life spent at no prefill rank
	// ahead is what a prompt gains by filling the stages of a pipeline, alone and among others.
	ahead, aheadTogether float64
	// joined: nothing decodes before the last prompt of a wave is done.
	joined bool
	// hold is the steps that prompts of a rank wait to fill a step; balance the steps that ranks,
	// balanced of them, wait until each has a prompt.
	hold, balance, balanced float64
}

// waves prepares the prefills of a number of clients.
func (c *closed) waves(s times, clients, sharing, step float64) waves {
	all := c.prompts(s, 1, sharing) // each rank with clients has one
	w := waves{clients: clients, group: c.group(clients), away: c.entry(), step: step, cuts: c.cuts(), alone: all}
	w.own = max(clients, w.group/max(1, c.inFlight))
	w.joined = c.joined() && step > 0 // a prefill server has no decode steps
	if used := c.used(); c.shares && step > 0 && used > 1 {
		w.alone = c.one(s, sharing)
		w.other = (all - w.alone) / (used - 1)
	}
	w.holds, w.full = c.filled(s, clients, sharing)
	w.more = max(0, w.full-w.cuts*step)
	if w.holds > 1 {
		w.more = max(0, (w.full*w.holds-all)/(w.holds-1))
	}
	w.ahead, w.aheadTogether = c.ahead(s, sharing)
	w.pollSteps = c.pollSteps(&w)
	if w.hold = float64(c.rules.WaitSteps); c.shares && step > 0 {
		w.balance, w.balanced = float64(c.rules.BalanceSteps), c.together/max(1, c.inFlight)
	}
	return w
}

// filled is the prompts of the fullest step, and its time per prompt. Its remainder holds the
// beginning of the next prompt, unless the engine takes complete ones.
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

// ranks in lockstep that have clients.
func (w *waves) ranks() float64 { return w.group / w.clients }

// pollSteps is the decode steps whose prompts are prefilled together where prefills come first:
// those between two polls, or those ending so close before a prefill that their successors join it.
func (c *closed) pollSteps(w *waves) float64 {
	if !w.joined || w.group > w.clients {
		return 1
	}
	return max(1, c.polls, min(w.alone, c.entry())/w.step)
}

func (c *closed) group(clients float64) float64 {
	return max(clients, min(clients*c.together, float64(c.load.Clients)*c.together/c.ranks))
}

// joined reports whether requests that come together start to decode together.
func (c *closed) joined() bool { return c.rules.Prefill == deploy.First }

// delay is what the prefills of the others, of which a share decodes beside a request, add to the
// time between its first and last token: each has one in that time.
func (w *waves) delay(c *closed, share float64) float64 {
	if w.crosses() {
		return 0 // all prompts cross it alike
	}
	decodes := c.decodes()
	own := (w.clients - 1) * share / decodes
	laden, longer := w.laden(own, (w.group-1)*share/decodes)
	if c.rules.Prefill == deploy.First { // a rank does not decode in steps with its prompts
		longer += min(laden, max(own/w.holds, -math.Expm1(-own*w.pollSteps)/w.pollSteps)) * w.cuts * w.step
	}
	return decodes * longer
}

// laden is the share of steps with a prompt of any rank, and the mean extra time of steps, for
// prompts per step on a rank and on all in lockstep. Beyond the capacity the share exceeds 1.
func (w *waves) laden(own, all float64) (share, longer float64) {
	if all <= 0 {
		return 0, 0
	}
	come := -math.Expm1(-all*w.pollSteps) / w.pollSteps
	if w.group > w.clients && w.own == w.group { // batches in flight begin their steps one by one
		come = w.meeting(come)
	}
	if g := w.gather(own, all); g.wait > 0 {
		come = min(come, g.share)
	}
	share = max(come, own/w.holds)
	var more float64 // prompts beyond the first of a step
	switch {
	case w.cuts >= 2: // they follow one another
	case w.group > w.clients: // ranks take requests in turn: each has one before any has two
		more = min(w.holds-1, max(0, all*w.clients/w.group-0.5))
	default:
		more = own - share
	}
	// Experts process every prompt once, those beyond the first of a rank included.
	longer = share*(w.alone-w.cuts*w.step) + max(0, all-share)*w.other
	if w.group > w.clients || !w.joined { // others decode in them
		longer = max(0, longer)
	}
	longer += more * max(0, w.more-w.ranks()*w.other)
	return share, longer
}

// meeting is the share of steps with a prompt where requests end with a share of the steps. The
// successors of two successive steps come to one step if that is longer than the step between them.
// With a share of long steps that is a long one, met as often as it is long, for the time that it
// is longer.
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

// crosses reports whether prompts delay all batches in flight alike, which shared experts prevent.
func (w *waves) crosses() bool { return w.ahead > 0 && w.group <= w.clients }

// crossing is what prompts of other batches in flight add between a first and a last token where
// chunks fill the stages of a pipeline. Batches never overtake: while a client of these has a
// prompt in the pipeline, each step follows a chunk through all stages. Others hardly end
// meanwhile, so all the time in which they neither decode nor are away is a part of this.
func (w *waves) crossing(c *closed, share, decoding float64) float64 {
	if w.ahead == 0 || share == 0 {
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

// first is the mean TTFT of a request.
func (w *waves) first(c *closed, decoding, ttft float64) float64 {
	switch {
	case w.own <= 1 && w.ahead == 0:
		return max(w.alone, w.saturated(decoding))
	case w.clients <= 1 && w.ahead > 0:
		// It shares the first stage with chunks of others, and follows them through the rest.
		takes := w.alone / c.stages
		load := min(1-1/c.piped(), (c.piped()-1)*takes/(decoding+ttft))
		return max(w.alone-w.ahead+takes*load/(1-load), c.piped()*max(w.alone, w.full)/c.stages-decoding-w.away)
	}
	return max(w.arriving(c, decoding+ttft), w.saturated(decoding))
}

// saturated is the least TTFT: every client gets a prefill within the life of a request.
func (w *waves) saturated(decoding float64) float64 { return w.clients*w.full - decoding - w.away }

// arriving is the mean TTFT of requests that arrive evenly within the life of one.
func (w *waves) arriving(c *closed, life float64) float64 {
	rate, all := (w.clients-1)/life, (w.group-1)/life
	full := w.full * w.holds
	load := min(1, rate*w.full)
	// A queue with constant service, bounded by the clients, and what exceeds its capacity.
	queue := math.Pow(load, w.holds+1) * w.full / 2 / (1 - load + 1/math.Sqrt(w.clients))
	behind := queue + max(0, w.clients*w.full-life)/2
	if w.step == 0 {
		return w.served(rate, all) + behind
	}
	l := w.lengths(rate, all)
	// The rest of the current step or to the next poll, and steps already scheduled, if any run.
	busy := 0.0
	if c.rules.Prefill == deploy.First {
		busy = min(1, rate*w.alone) // it polls after each prefill
	}
	// A successor arrives a random time after the step of its predecessor, so anywhere in a step.
	// Without that delay it is in the next step, unless another server takes its turn.
	left := l.left()
	if c.entry() == 0 {
		left *= 1 - min(1, max(1, c.together)/c.ranks)
	}
	g := w.gather(rate*w.step, all*w.step) // the steps meanwhile have no prompts
	met := (c.polls-1)*(1-busy)*w.step/2 + left + float64(c.rules.StepsAhead)*l.mean + g.wait*w.step
	present := 1 - math.Pow(min(1, w.away/life), w.own-1)
	others := min(w.ranks()-1, present*max(g.elsewhere, (all-rate)*l.mean)) * w.other
	prompt := min(max(w.alone, full), w.alone+others+present*(rate*max(l.mean, c.polls*w.step)+g.beside)*w.more) - w.ahead - load*(w.aheadTogether-w.ahead)
	return present*met + prompt + behind
}

// served is the mean TTFT behind a prefill rank, which takes up at the end of a step what has
// arrived in it. At these rates for the rank and for all in lockstep, a step of s seconds is
// followed by another unless nothing arrives in it, which has the probability e^(-all·s).
func (w *waves) served(rate, all float64) float64 {
	// Solves s = alone + more·(rate·s − 1 + e^(−rate·s)), which is convex, by Newton from the left.
	s, longest := w.alone, max(w.alone, w.full*w.holds)
	for range 64 {
		come := -math.Expm1(-rate * s) // share of steps with an arrival
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

// lengths of decode steps: short ones, and a share of long ones, in which some rank has a prompt.
type lengths struct{ short, long, share, mean float64 }

// lengths at these arrival rates for the rank and for all in lockstep. A step takes up what arrived
// in one before it, so longer steps make steps longer.
func (w *waves) lengths(rate, all float64) lengths {
	l := lengths{short: w.step, long: w.alone / w.cuts, mean: w.step}
	longest := max(w.step, w.alone/w.cuts, w.full*w.holds/w.cuts)
	for range 64 {
		last := l.mean
		var longer float64
		l.share, longer = w.laden(min(w.holds, rate*last), all*last)
		l.mean = min(longest, w.step+longer)
		if longer < 0 {
			l.mean = (last + l.mean) / 2 // prefills shorter than a step would oscillate
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

// prompts is the share of time for prompts: long steps, or their excess if all decode in them.
func (l *lengths) prompts(first bool) float64 {
	if first {
		return l.share * l.long / l.mean
	}
	return 1 - l.short/l.mean
}

// left is the mean residual time of the current step.
func (l *lengths) left() float64 {
	return ((1-l.share)*l.short*l.short + l.share*l.long*l.long) / (2 * l.mean)
}
