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

// Curve bounds what clients of a pool see by its bare steps, including the host. It costs a dozen
// steps where a prediction costs a hundred, so a search predicts only the plans that no curve rules
// out.
//
// Latencies are never below it: a client waits at least for its own prefill, and gets tokens no
// sooner than their steps end. In the closed form a data-parallel rank decodes n sequences, at most
// one more than the decoding share of its clients, in steps of at least D(n); its rate is thus at
// most n / ((output − 1) · D(n)), less the prefills that decoding waits for. Steps grow with n,
// mostly slower than n.
type Curve struct {
	Ranks   int
	Procs   int
	Largest int       // batch that fits into memory; 0: none
	Batches []int     // up to the largest, half a power of two apart
	Token   []float64 // seconds between two tokens of a sequence, waiting for prompts included
	// Own is the least duration of a prefill. Alone is the time that a single prompt takes of a
	// rank, Prompt the least per prompt, reached with Prompts in a step.
	Own, Alone, Prompt float64
	Prompts            int

	waits  bool    // for prompts of other ranks, as its tokens do
	output float64 // tokens after the first
	tokens float64 // per sequence and step
	steps  []float64
	edges  []edge  // at limits per token between batches
	pipes  bool    // chunks of prompts fill a pipeline: one does not show what they delay others by
	cuts   float64 // steps that a prompt shares with decodes; 0 where these wait for it
	holds  float64 // prompts per step
}

// edge is the largest mean batch within a limit per token where memory allows more, and the largest
// integer one, which may do better where a step jumps behind it.
type edge struct{ limit, batch, token, step float64 }

// margin allows for curves between batches that are not linear, and for calibrated kernels that do
// not improve with the batch everywhere.
const margin = 1.02

// Curve is that of a pool, whose own batch does not matter, with up to most sequences per rank. It
// is exact at the given limits per output token. It holds for loads that fill pipelines, and for
// those that leave as few batches under way as the plan says.
func (p *Predictor) Curve(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, tokensPerStep float64, limits ...float64) Curve {
	c := p.curve(d, pool, n, tokensPerStep, (*server).least, limits)
	if least := pool.Plan.Overlap.Least(); least > 1 && len(c.Token) > 0 {
		// Fewer sequences than there is room for may be under way.
		k := closed{load: workload.Load{Lengths: n}, rules: d.Engine.Drafting(pool.Plan.Drafts), decode: p.servers[op.Decode].least(d, &pool.Plan, n)}
		c.Token[0] = min(c.Token[0], k.step(1)/tokensPerStep)
	}
	return c
}

// Steps is the curve of the exact steps, which Curve bounds from below.
func (p *Predictor) Steps(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, tokensPerStep float64) Curve {
	return p.curve(d, pool, n, tokensPerStep, (*server).steps, nil)
}

func (p *Predictor) curve(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, tokensPerStep float64, steps func(*server, *deploy.Deployment, *plan.Plan, workload.Lengths) *Steps, limits []float64) Curve {
	rules := d.Engine.Drafting(pool.Plan.Drafts)
	c := Curve{Ranks: pool.Ranks(), Procs: pool.Procs(), output: float64(n.Output - 1), tokens: tokensPerStep}
	full := *pool
	full.Plan.Under = 0 // all stages must have room for batches
	c.Largest = p.largest(d, &full, n)
	if c.Largest == 0 {
		return c
	}
	k := closed{load: workload.Load{Lengths: n}, rules: rules, stages: chunkStages(rules, &pool.Plan), together: float64(d.Together(pool, n))}
	if pool.Role.Does(op.Prefill) {
		c.prefill(&k, d, pool, func(q *plan.Plan) *Steps { return steps(p.servers[op.Prefill], d, q, n) })
	}
	if pool.Role.Does(op.Decode) {
		k.decode = steps(p.servers[op.Decode], d, &pool.Plan, n)
		c.decode(&k, pool, limits)
	}
	return c
}

// prefill fills in what the curve says of prompts.
func (c *Curve) prefill(k *closed, d *deploy.Deployment, pool *deploy.Pool, steps func(*plan.Plan) *Steps) {
	s := steps(&pool.Plan)
	holds, most := k.perStep(), math.Inf(1)
	if pool.Role == deploy.Both {
		holds, most = min(holds, c.Largest), float64(c.Largest)
	}
	c.Alone = k.prompts(s, 1, 0)
	c.Prompt, c.Prompts = c.Alone, 1
	if sharing := float64(pool.Sharing(d.Model)); pool.Role == deploy.Both && sharing > 1 && sharing == k.together {
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
		s = steps(&lone)
		ahead, _ := k.ahead(s, 0)
		c.Own = min(c.Own, k.prompts(s, 1, 0)-ahead)
	}
	if k.rules.Prefill != deploy.First {
		c.cuts = k.cuts()
	}
}

// decode fills in the batches and their times per token; without any, nothing fits.
func (c *Curve) decode(k *closed, pool *deploy.Pool, limits []float64) {
	least, cuts := pool.Plan.Overlap.Least(), k.cuts()
	if c.Largest < least {
		c.Largest = 0
		return
	}
	c.waits = k.together > 1 && pool.Role == deploy.Both
	rungs := 2*bits.Len(uint(c.Largest)) + 1
	c.Batches, c.steps, c.Token = make([]int, 0, rungs), make([]float64, 0, rungs), make([]float64, 0, rungs)
	at := func(b int) (token, step float64) {
		step = k.step(float64(b))
		token = step / c.tokens
		if c.waits {
			token += c.waiting(k.together*float64(b-least), step, cuts)
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

// cut finds the largest batches within limits per token. Steps are not linear between batches: a
// kernel takes as long for one token as for its full tile.
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
		part := (limit - low.token) / (high.token - low.token) // a mean number of sequences need not be an integer
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

// waiting is the least that prompts add to a token beside other sequences of ranks in lockstep:
// each of these has one prefill while another decodes, so a step holds a prompt unless none comes
// in it.
func (c *Curve) waiting(others, step, cuts float64) float64 {
	if c.output == 0 {
		return 0
	}
	steps := max(1, c.output/c.tokens)
	w := waves{alone: c.Alone, cuts: cuts, step: step}
	return w.meeting(-math.Expm1(-others/steps)) * max(0, c.Alone-cuts*step) * steps / c.output
}

// Fullest is the batch of highest decode throughput within a limit per token, and its time per
// token; 0 if there is none. It tries the batches of the curve and the largest within the limit.
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

// Token is the seconds between two tokens of a sequence at a batch per rank.
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

// largest batch that memory and engine allow; for a prefill pool 1, if any.
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

// Requests bounds the request rate of the pool within a limit per token, where every request takes
// at least first seconds before it decodes.
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
	var within float64 // if nothing else delayed those at the limit
	for _, e := range c.edges {
		if e.limit == limit {
			best = max(best, c.rate(e.batch, e.token, e.step))
			within = max(within, e.batch/(c.output*e.token))
		}
	}
	// All sequences that there is room for are always under way.
	last := float64(c.Largest)
	n := last
	for range 8 {
		z := c.output * c.at(n)
		n = last * z / (z + first)
	}
	most := max(within, last/(first+c.output*c.at(max(1, n))))
	for i, b := range c.Batches { // fewer may do better, where steps grow faster than batches
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

// delay is the least by which a prefill delays decodes: alone in a step, or in a full one.
func (c *Curve) delay(step float64) float64 {
	if c.Alone == 0 || c.pipes {
		return 0
	}
	return max(0, min(c.Alone-c.cuts*step, c.Prompt-c.cuts*step/c.holds))
}

// Prefills bounds the prefill rate of the pool, in requests per second.
func (c *Curve) Prefills() float64 { return margin * float64(c.Ranks) / c.Prompt }

// Fastest bounds the request rate of a single client.
func (c *Curve) Fastest(first float64) float64 { return margin / (first + c.output*c.Token[0]) }

// at interpolates the time per token between batches of the curve.
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
