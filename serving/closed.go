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

// closed predicts a closed loop: balance equations of the mean numbers of requests that wait,
// prefill and decode, solved together. docs/serving.md has the formulas.
type closed struct {
	load   workload.Load
	rules  *deploy.Scheduling
	decode times
	ranks  float64 // data-parallel ranks that decode
	// together is the ranks in lockstep; shares: because their tokens share experts.
	together float64
	shares   bool
	room     float64 // most sequences of a rank
	polls    float64 // steps between two polls for new requests
	tokens   float64 // per sequence and decode step: more than one with drafts
	apart    bool    // prefill has a pool of its own
	// stages of a pipeline that the chunks of a prompt fill; 1: they do not.
	stages, pipelines float64
	// paced is steps while all stages compute, which a power limit slows down more than a batch
	// that passes them alone; nil: as long.
	paced times
	// inFlight is the batches of a pipeline among the ranks in lockstep.
	inFlight float64
}

// input is the tokens of a request to compute, output those to generate.
func (c *closed) input() int { return c.load.Lengths.Uncached() }

func (c *closed) output() float64 { return float64(c.load.Lengths.Output) }

// entry is the time before a request is scheduled.
func (c *closed) entry() float64 { return c.rules.Entry(c.load.Lengths.Input, c.apart) }

// context of a representative decode step.
func (c *closed) context() float64 { return float64(c.load.Lengths.DecodeContext()) }

func (c *closed) step(sequences float64) float64 {
	return c.decode.Decode(sequences, c.context()) + c.rules.Host(sequences)
}

// decodes is the decode steps of a request.
func (c *closed) decodes() float64 { return max(1, (c.output()-1)/c.tokens) }

// perStep is how many complete prompts a step holds.
func (c *closed) perStep() int { return c.rules.PerStep(c.input()) }

// prompts is the time of the steps that prefill n prompts together while others decode, or wait
// where prefills come first. Longer prompts than a step are chunked, unless the engine forbids it.
func (c *closed) prompts(s times, n int, running float64) float64 {
	p := Prompts{Count: n}
	if c.shares && c.used() < c.together {
		p.Ranks, p.Of = int(c.used()), int(c.together)
	}
	t, _ := c.chunks(s, p, running)
	return t
}

// used is the number of ranks in lockstep that have clients.
func (c *closed) used() float64 {
	return max(1, min(c.together, math.Ceil(float64(c.load.Clients)*c.together/c.ranks)))
}

// one is the same for a single prompt while other ranks that share experts have none.
func (c *closed) one(s times, running float64) float64 {
	t, _ := c.chunks(s, Prompts{Count: 1, Ranks: 1, Of: int(c.together)}, running)
	return t
}

// cuts is the mean steps of a prompt for uniformly distributed lengths: half a step more than its
// tokens fill, if lengths span several steps.
func (c *closed) cuts() float64 {
	mean, chunk := float64(c.input()), float64(c.rules.StepTokens)
	half := min(mean, math.Sqrt(3)*c.load.Deviation()*mean)
	if c.rules.Prefill == deploy.Prompts || half < 0.5 || mean+half < chunk+0.5 {
		return float64(c.rules.Cuts(c.input()))
	}
	// steps is the integral of the steps over lengths up to x.
	steps := func(x float64) float64 {
		fullSteps := math.Floor(x / chunk)
		return chunk*fullSteps*(fullSteps+1)/2 + (x-fullSteps*chunk)*(fullSteps+1)
	}
	return max(1, (steps(mean+half)-steps(mean-half))/(2*half))
}

// chunks is the time of the steps of prompts, and the longest of them. All but the last step of a
// prompt are full; with varying lengths, some take one step more.
func (c *closed) chunks(s times, p Prompts, running float64) (all, longest float64) {
	cuts := c.cuts()
	if exact := c.rules.Cuts(c.input()); cuts == float64(exact) {
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

// cutInto is the same for a number of steps, the last of which is half full on average.
func (c *closed) cutInto(s times, p Prompts, running, steps float64) (all, longest float64) {
	all, longest = c.chunked(s, p, running, int(math.Ceil(float64(c.input())/steps)))
	if steps > 1 {
		p.Tokens = c.rules.StepTokens
		p.Past = c.load.Lengths.Cached + max(0, c.input()-p.Tokens*3/2)
		longest = min(all, max(longest, c.chunk(s, p, running)))
	}
	return all, longest
}

// chunked is the same for a chunk size.
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

// ahead is the time a prompt gains where its chunks follow one another through the stages of a
// pipeline, alone and on average among others. Chunks take equally long in every stage and never
// overtake, so the last is done after Σ s + (PP − 1)·s of the longest. Prompts that come together
// take turns, while each would have had the pipeline for a PP-th of the time: k of them are done
// after k·C·s + (PP − 1)·s in place of C·PP·s for each PP, which saves (PP − 1)·s·(C/2 − 1) of (PP
// − 1)·s·(C − 1).
func (c *closed) ahead(s times, running float64) (alone, together float64) {
	if c.stages <= 1 || c.rules.Cuts(c.input()) <= 1 { // batches in flight wait for unchunked prompts: deploy.Deployment.Together
		return 0, 0
	}
	cuts := c.cuts()
	all, longest := c.chunks(s, Prompts{Count: 1}, running)
	paced, slowest := all, longest
	if c.paced != nil {
		paced, slowest = c.chunks(c.paced, Prompts{Count: 1}, running)
	}
	alone = all - longest - (paced-slowest)/c.stages
	if cuts <= 2 { // neither one step nor two gain
		return alone, 0
	}
	return alone, alone * (cuts/2 - 1) / (cuts - 1)
}

// aggregated is servers that do both phases: prompts of some clients delay decoding of others.
func (c *closed) aggregated() Prediction {
	clients := max(1, float64(c.load.Clients)/c.ranks)
	running := min(clients, c.room)
	others := running - 1
	// Queued requests have been polled: they follow those that end without another poll.
	c.polls = max(1, c.polls-(clients-running)*c.decodes()/running)

	p := Prediction{Room: c.room}
	p.TTFT, p.TPOT = c.balance(func(share, ttft float64) (decoding, first float64) {
		var w waves
		beside := share // of the others that decode in the same steps
		// The step of its own prefill has no more prompts of others than any other, though it is
		// longer; the rest of them come while it decodes.
		for range 4 {
			sharing := others * beside
			p.Batch = 1 + sharing // a sequence and those beside it
			step := c.step(p.Batch)
			w = c.waves(c.decode, running, sharing, step)
			decoding = (c.output()-1)*step/c.tokens + w.delay(c, beside)
			if share == 0 {
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
	// Requests without room wait until others have ended.
	p.TTFT += (clients/running - 1) * (p.TTFT + (c.output()-1)*p.TPOT)
	return c.seen(p)
}

// balance finds the share of its life that a request decodes at which the time to the first token
// is what the steps make it: at (share, ttft), life is decoding / share, and the rest is TTFT. More
// decoding leaves less time to wait and makes waits longer, so there is one solution, which is
// bracketed. A request of one token does not decode; its TTFT is solved for directly.
func (c *closed) balance(at func(share, ttft float64) (decoding, first float64)) (ttft, tpot float64) {
	if c.output() <= 1 {
		_, low := at(0, math.Inf(1)) // no other request comes
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

// root is the zero of a function that rises from low to high, by the Illinois method.
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

// seen completes a prediction: each client always has one request under way.
func (c *closed) seen(p Prediction) Prediction {
	p.Latency = p.TTFT + (c.output()-1)*p.TPOT
	p.Requests = float64(c.load.Clients) / p.Latency
	return p
}

// split is separate prefill and decode servers: requests queue for a prefill server, which has
// rules of its own, and not for decode steps.
func (c *closed) split(first *closed, prefill times, prefillRanks, transfer, link float64) Prediction {
	clients := max(1, float64(c.load.Clients)/c.ranks)
	handover := c.rules.HandoverSeconds + transfer
	sources := max(1, float64(c.load.Clients)/prefillRanks) // clients per prefill rank

	w := first.waves(prefill, sources, 0, 0)
	w.away += handover
	// The links of a prefill rank send one cache after another.
	w.full, w.more = max(w.full, link), max(w.more, link)
	p := Prediction{Room: c.room}
	p.TTFT, p.TPOT = c.balance(func(share, ttft float64) (decoding, first float64) {
		p.Batch = max(1, min(c.room, clients*share))
		step := c.step(p.Batch)
		decoding = (c.output() - 1) * step / c.tokens
		// It arrives during a step, with others already scheduled, before its first token comes
		// out.
		met := min(1, p.Batch-1) * (0.5 + float64(c.rules.StepsAhead)) * step
		if share > 0 {
			ttft = decoding * (1/share - 1)
		}
		p.Prefilling = min(1, sources*w.full/(decoding+ttft))
		behind := w
		behind.away += met
		return decoding, behind.first(c, decoding, ttft) + c.entry() + handover + met
	})
	// Requests without room on a decode rank wait with their prompts done: between two requests of
	// a client, decoding takes as long as all clients need that share the room of the rank.
	decoding := (c.output() - 1) * p.TPOT
	p.TTFT += max(0, clients/c.room*decoding-p.TTFT-decoding)
	return c.seen(p)
}
