package serving

import (
	"math"
	"math/bits"
	"slices"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// Curve bounds what clients of a pool see by its bare steps, the host included. It costs a dozen steps, where a prediction
// costs a hundred: a search looks at the curves of all plans, and predicts those that their curves do not rule out.
//
// Times of clients are never below it: a client waits at least for its own prefill, and gets its tokens no sooner than the
// steps end that make them. In the closed form a data-parallel rank decodes n sequences at a time, n being at most one more
// than the share of its clients that decode, in steps of D(n) or longer; so its rate is at most n / ((output − 1) · D(n)),
// and lower by the prefills that the decoding waits for. Steps get longer with n, mostly not as fast as n grows.
type Curve struct {
	Ranks   int
	Procs   int
	Largest int       // batch for which there is memory; 0: none
	Batches []int     // up to the largest, half a power of two apart
	Token   []float64 // seconds between two tokens of a sequence at each of them, waiting for prompts included
	// Own is the least from the start to the end of a prefill. Alone is the time that a prompt by itself takes of a rank, Prompt
	// that of each of as many as share a step to the best effect, Prompts.
	Own, Alone, Prompt float64
	Prompts            int

	waits  bool    // for prompts of other ranks, as its tokens do
	output float64 // tokens after the first
	tokens float64 // that a step yields for a sequence
	steps  []float64
	edges  []edge  // at limits on a token that lie between batches
	pipes  bool    // chunks of prompts fill a pipeline: what they delay others by is not known from one of them
	cuts   float64 // steps that a prompt shares with those who decode; 0 where these wait for it
	holds  float64 // prompts that a step holds
}

// edge is sequences within a limit on the time of a token, where there is memory for more: the most on average, and the most that are whole, which may do
// more where a step jumps behind them.
type edge struct{ limit, batch, token, step float64 }

// margin is what a bound allows for: between the batches of a curve times are taken to grow evenly, and calibrated kernels
// do not get better with the batch everywhere.
const margin = 1.02

// Curve is that of a pool, whose batch does not matter, with room for up to most sequences on a rank, and the limits on the time
// per output token that it will be asked about. It holds for loads that fill pipelines, or for those that leave as few batches under
// way as the plan says.
func (p *Predictor) Curve(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, tokensPerStep float64, limits ...float64) Curve {
	c := p.curve(d, pool, n, tokensPerStep, (*server).least, limits)
	if least := pool.Plan.Overlap.Least(); least > 1 && len(c.Token) > 0 {
		// There is room for as many, but fewer may be under way.
		k := closed{load: workload.Load{Lengths: n}, rules: d.Engine.Drafting(pool.Plan.Drafts), decode: p.servers[op.Decode].least(d, &pool.Plan, n)}
		c.Token[0] = min(c.Token[0], k.step(1)/tokensPerStep)
	}
	return c
}

// Steps is the curve of the very steps, where Curve bounds them from below.
func (p *Predictor) Steps(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, tokensPerStep float64) Curve {
	return p.curve(d, pool, n, tokensPerStep, (*server).steps, nil)
}

func (p *Predictor) curve(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, tokensPerStep float64, steps func(*server, *deploy.Deployment, *plan.Plan, workload.Lengths) *Steps, limits []float64) Curve {
	rules := d.Engine.Drafting(pool.Plan.Drafts)
	c := Curve{Ranks: pool.Ranks(), Procs: pool.Procs(), output: float64(n.Output - 1), tokens: tokensPerStep}
	full := *pool
	full.Plan.Under = 0 // there must be room for batches in all stages
	c.Largest = p.largest(d, &full, n)
	if c.Largest == 0 {
		return c
	}
	k := closed{load: workload.Load{Lengths: n}, rules: rules, stages: chunkStages(rules, &pool.Plan), together: float64(d.Together(pool, n))}
	if pool.Role.Does(op.Prefill) {
		s := steps(p.servers[op.Prefill], d, &pool.Plan, n)
		holds, most := k.perStep(), math.Inf(1)
		if pool.Role == deploy.Both {
			holds, most = min(holds, c.Largest), float64(c.Largest)
		}
		c.Alone = k.prompts(s, 1, 0)
		c.Prompt, c.Prompts = c.Alone, 1
		if sharing := pool.Sharing(d.Model); pool.Role == deploy.Both && sharing > 1 && sharing == d.Together(pool, n) {
			c.Alone = k.one(s, 0)
		}
		for n := range ladder(holds) {
			if each := k.prompts(s, n, 0) / float64(n); each < c.Prompt {
				c.Prompt, c.Prompts = each, n
			}
		}
		var each float64
		if c.holds, each = k.filled(s, most, 0); each < c.Prompt {
			c.Prompt, c.Prompts = each, holds
		}
		ahead, _ := k.ahead(s, 0)
		c.Own, c.pipes = c.Alone-ahead, ahead > 0 && k.together <= 1
		if lone := pool.Under(1); lone.Under != pool.Plan.Under { // which meets no other batch
			s = steps(p.servers[op.Prefill], d, &lone, n)
			ahead, _ := k.ahead(s, 0)
			c.Own = min(c.Own, k.prompts(s, 1, 0)-ahead)
		}
		if rules.Prefill != deploy.First {
			c.cuts = k.cuts()
		}
	}
	if pool.Role.Does(op.Decode) {
		k.decode = steps(p.servers[op.Decode], d, &pool.Plan, n)
		least, together, cuts := pool.Plan.Overlap.Least(), float64(d.Together(pool, n)), k.cuts()
		if c.Largest < least {
			c.Largest = 0
			return c
		}
		c.waits = together > 1 && pool.Role == deploy.Both
		rungs := 2*bits.Len(uint(c.Largest)) + 1
		c.Batches, c.steps, c.Token = make([]int, 0, rungs), make([]float64, 0, rungs), make([]float64, 0, rungs)
		at := func(b int) (token, step float64) {
			step = k.step(float64(b))
			token = step / tokensPerStep
			if c.waits {
				token += c.waiting(together*float64(b-least), step, cuts)
			}
			return token, step
		}
		for b := range ladder(c.Largest) {
			if b < least {
				continue
			}
			token, step := at(b)
			c.Batches, c.steps, c.Token = append(c.Batches, b), append(c.steps, step), append(c.Token, token)
		}
		for i := len(c.Token) - 2; i >= 0; i-- {
			c.Token[i] = min(c.Token[i], c.Token[i+1]) // longer steps hide more of a prompt
		}
		c.cut(limits, at)
	}
	return c
}

// cut finds the largest batches within limits on the time of a token. Steps do not grow evenly between the batches of a curve: a
// kernel takes as long for one token as for all of its tile.
func (c *Curve) cut(limits []float64, at func(batch int) (token, step float64)) {
	c.edges = make([]edge, 0, 2*len(limits))
	for _, limit := range limits {
		i := slices.IndexFunc(c.Token, func(t float64) bool { return t > limit })
		if i < 1 {
			continue
		}
		low, high := edge{limit, float64(c.Batches[i-1]), c.Token[i-1], c.steps[i-1]}, edge{limit, float64(c.Batches[i]), c.Token[i], c.steps[i]}
		for high.batch-low.batch > 1 {
			mid := math.Floor((low.batch + high.batch) / 2)
			if token, step := at(int(mid)); token <= limit {
				low = edge{limit, mid, token, step}
			} else {
				high = edge{limit, mid, token, step}
			}
		}
		part := (limit - low.token) / (high.token - low.token) // a mean number of sequences need not be whole
		c.edges = append(c.edges, low, edge{limit, low.batch + part*(high.batch-low.batch), limit, low.step + part*(high.step-low.step)})
	}
}

// Most bounds the request rate of the pool at each batch.
func (c *Curve) Most() []float64 {
	out, most := make([]float64, len(c.Batches)), 0.0
	for i, b := range c.Batches {
		most = max(most, margin*float64(c.Ranks*b)/(c.output*c.Token[i]))
		out[i] = most
	}
	return out
}

// waiting is the least that prompts add to a token beside so many other sequences of all ranks that wait for each other in every
// step: while one decodes every other has a prefill, so that a step holds a prompt unless none of them comes in it.
func (c *Curve) waiting(others, step, cuts float64) float64 {
	if c.output == 0 {
		return 0
	}
	steps := max(1, c.output/c.tokens)
	w := waves{alone: c.Alone, cuts: cuts, step: step}
	return w.meeting(-math.Expm1(-others/steps)) * max(0, c.Alone-cuts*step) * steps / c.output
}

// Fullest is the batch at which a pool that decodes yields the most tokens, none of which takes longer than a limit, and how
// long one takes; 0: none is within the limit. It tries the batches of its curve and the largest within the limit.
func (p *Predictor) Fullest(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, c *Curve, limit, tokensPerStep float64) (batch int, token float64) {
	try := func(b int, t float64) {
		if t <= limit && (batch == 0 || float64(b)*token > float64(batch)*t) {
			batch, token = b, t
		}
	}
	for i, b := range c.Batches {
		try(b, c.Token[i])
		if c.Token[i] > limit && i > 0 {
			low, high := c.Batches[i-1], b
			for high-low > 1 {
				if mid := low + (high-low)/2; p.Token(d, pool, n, mid, tokensPerStep) <= limit {
					low = mid
				} else {
					high = mid
				}
			}
			try(low, p.Token(d, pool, n, low, tokensPerStep))
			break
		}
	}
	return batch, token
}

// Token is the seconds between two tokens of a sequence, of as many as a rank of a pool decodes.
func (p *Predictor) Token(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, batch int, tokensPerStep float64) float64 {
	k := closed{load: workload.Load{Lengths: n}, rules: &d.Engine.Scheduling, decode: p.servers[op.Decode].steps(d, &pool.Plan, n)}
	return k.step(float64(batch)) / tokensPerStep
}

// ladder is 1, 2, 3, 4, 6, 8, 12 … and the last number.
func ladder(last int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for b := 1; b < last; b *= 2 {
			if !yield(b) || b > 1 && b+b/2 < last && !yield(b+b/2) {
				return
			}
		}
		yield(last)
	}
}

// largest is the batch for which a pool has memory, as far as the engine runs so many; of a prefill pool 1, if any.
func (p *Predictor) largest(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths) int {
	q, second := *pool, 0.0
	if t := pool.System.Memory2; t != nil {
		second = t.GiB * estimate.GiB
	}
	prompts := p.prompts(d, pool, n)
	over := func(batch int) float64 {
		q.Plan.Batch = p.servers[op.Decode].batch(&q.Plan, float64(batch))
		m := p.with(&prompts, &q, n)
		return max(m.Total()-d.Usable(&q, &m), m.Second-second)
	}
	one := over(1)
	switch {
	case one > 0:
		return 0
	case pool.Role == deploy.Prefill:
		return 1
	}
	return search.LastWithin(1, d.Engine.Sequences, 0, func(batch int) float64 {
		if batch == 1 {
			return one
		}
		return over(batch)
	})
}

// Requests bounds the request rate of the pool from above where no token takes longer than a limit, and every request
// takes first seconds at least until it decodes.
func (c *Curve) Requests(limit, first float64) float64 {
	if c.output == 0 {
		if c.Prompt > 0 {
			return margin * float64(c.Ranks) / c.Prompt
		}
		return math.Inf(1)
	}
	var best float64
	for i, b := range c.Batches {
		if c.Token[i] > limit {
			break
		}
		best = max(best, c.rate(float64(b), c.Token[i], c.steps[i]))
	}
	var within float64 // of all those at the limit, if nothing else delayed them
	for _, e := range c.edges {
		if e.limit == limit {
			best = max(best, c.rate(e.batch, e.token, e.step))
			within = max(within, e.batch/(c.output*e.token))
		}
	}
	// All the sequences that there is room for are under way all the time.
	last := float64(c.Largest)
	n := last
	for range 8 {
		z := c.output * c.at(n)
		n = last * z / (z + first)
	}
	most := max(within, last/(first+c.output*c.at(max(1, n))))
	for i, b := range c.Batches { // fewer may do more, where steps get longer faster than they get fuller
		if float64(b) < n {
			most = max(most, float64(b)/(c.output*c.Token[i]))
		}
	}
	best = min(best, most)
	if c.Prompt > 0 {
		best = min(best, 1/c.Prompt)
	}
	return margin * float64(c.Ranks) * best
}

// rate is the most requests per second of a rank that decodes n sequences at a time.
func (c *Curve) rate(n, token, step float64) float64 {
	each := c.output * token / n
	if !c.waits {
		each += (1 - 1/n) * c.delay(step)
	}
	return 1 / each
}

// delay is the least by which the prefill of another delays those who decode: alone in a step, or with as many as it holds.
func (c *Curve) delay(step float64) float64 {
	if c.Alone == 0 || c.pipes {
		return 0
	}
	return max(0, min(c.Alone-c.cuts*step, c.Prompt-c.cuts*step/c.holds))
}

// Prefills bounds the requests per second that the pool prefills.
func (c *Curve) Prefills() float64 { return margin * float64(c.Ranks) / c.Prompt }

// Fastest bounds the request rate of a single client.
func (c *Curve) Fastest(first float64) float64 { return margin / (first + c.output*c.Token[0]) }

// at is the token at a number of sequences, between batches of the curve in proportion.
func (c *Curve) at(n float64) float64 {
	i := 0
	for i+2 < len(c.Batches) && float64(c.Batches[i+1]) <= n {
		i++
	}
	if i+1 >= len(c.Batches) {
		return c.Token[i]
	}
	low, high := float64(c.Batches[i]), float64(c.Batches[i+1])
	return c.Token[i] + (n-low)/(high-low)*(c.Token[i+1]-c.Token[i])
}
