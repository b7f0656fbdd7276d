// Package serving predicts in closed form what clients of a deployment see under a load: TTFT, TPOT
// and throughput. Package estimate prices the steps; how requests share them is worked out here. It
// ranks and bounds: a search looks at thousands of deployments. What is shown is simulated.
package serving

import (
	"errors"
	"fmt"
	"math"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Prediction is what clients see on average. Times are in seconds.
type Prediction struct {
	TTFT float64 // time to the first token
	TPOT float64 // time per output token after the first

	Requests float64 // per second, of all clients
	Latency  float64 // from arrival to the last token

	ColdTTFT float64 // TTFT of a benchmark whose clients start at once on a cold server; 0: not asked for

	Batch float64 // decoding sequences per data-parallel rank
	Room  float64 // sequences that a data-parallel rank has room for
	// Prefilling is the share of a rank's time spent on prompts: beyond decode steps, or apart.
	Prefilling float64

	// Watts of a processor on average, the share of the time in which it waits for its host or for
	// work, and a limit in watts that even its lowest clock exceeds: where these are simulated and
	// power is known.
	Watts, Idle, Beyond float64
}

// Predict works out what the clients of a deployment see.
func Predict(d *deploy.Deployment, l workload.Load) (Prediction, error) {
	p, err := NewPredictor(d)
	if err != nil {
		return Prediction{}, err
	}
	return p.Predict(d, l)
}

// Predictor predicts deployments with the same model, precision and systems, which it prepares
// once. It is not safe for concurrent use.
type Predictor struct {
	servers [op.PhaseCount]*server // of the prefill pool and of the decode pool
}

// NewPredictor prepares the systems of a deployment.
func NewPredictor(d *deploy.Deployment) (*Predictor, error) {
	var p Predictor
	for phase := range op.PhaseCount {
		pool := d.Of(phase)
		if phase == op.Prefill && pool == d.Of(op.Decode) {
			p.servers[phase] = p.servers[op.Decode]
			continue
		}
		var err error
		if p.servers[phase], err = newServer(d, pool.System); err != nil {
			return nil, err
		}
	}
	return &p, nil
}

// Room is the sequences that a data-parallel rank may decode at a time, by memory, engine and plan;
// an error if a request finds none, in either pool.
func (p *Predictor) Room(d *deploy.Deployment, l workload.Load) (float64, error) {
	if l.Clients < 1 || l.Lengths.Input < 1 || l.Lengths.Output < 1 || l.Lengths.Uncached() < 1 {
		return 0, errors.New("a load needs clients, inputs and outputs")
	}
	pool := d.Of(op.Decode)
	under := pool.Under(l.Clients)
	rules := d.Engine.Drafting(pool.Plan.Drafts)
	prompts := p.prompts(d, pool, l.Lengths)
	room, err := p.servers[op.Decode].steps(d, &under, l.Lengths).Room(d, pool, &prompts, rules.ReservesOutput)
	if err == nil && d.Split() {
		_, err = p.CacheTokens(d, d.Of(op.Prefill), l.Lengths)
	}
	return min(room, float64(rules.Sequences), Bounded(d, pool)), err
}

// Predict works out roughly what clients of a deployment see in the steady state.
func (p *Predictor) Predict(d *deploy.Deployment, l workload.Load) (Prediction, error) {
	room, err := p.Room(d, l)
	if err != nil {
		return Prediction{}, err
	}
	pool := d.Of(op.Decode)
	under := pool.Under(l.Clients)
	decode := p.servers[op.Decode].steps(d, &under, l.Lengths)
	rules := d.Engine.Drafting(pool.Plan.Drafts)
	c := closed{
		load: l, rules: rules, polls: float64(max(1, rules.PollSteps)), decode: decode, ranks: float64(pool.Ranks()), together: float64(d.Together(pool, l.Lengths)),
		shares: d.Together(pool, l.Lengths) == pool.Sharing(d.Model),
		room:   room, tokens: estimate.TokensPerStep(d.Acceptance, pool.Plan.Drafts),
	}
	c.apart = d.Split()
	other := d.Of(op.Prefill)
	c.stages = chunkStages(rules, &other.Plan)
	if c.stages > 1 {
		c.paced = p.servers[op.Prefill].steps(d, &other.Plan, l.Lengths)
	}
	c.pipelines = float64(other.Ranks()) / c.stages
	c.inFlight = c.together / float64(pool.Sharing(d.Model))
	if !d.Split() {
		return c.aggregated().checked()
	}
	filling := other.Under(l.Clients)
	prefill := p.servers[op.Prefill].steps(d, &filling, l.Lengths)
	kv, err := p.servers[op.Prefill].handover(d, l.Lengths)
	if err != nil {
		return Prediction{}, err
	}
	first := c
	first.rules, first.shares = d.Engine.Drafting(other.Plan.Drafts), false // only decode ranks share experts so
	return c.split(&first, prefill, float64(other.Ranks()), kv.Exposed, float64(other.Plan.InFlight())*kv.Time).checked()
}

// chunkStages is the stages of a pipeline that the chunks of one prompt fill together.
func chunkStages(rules *deploy.Scheduling, p *plan.Plan) float64 {
	if !rules.PipelinesChunks {
		return 1
	}
	return float64(p.InFlight())
}

// Bounded is the sequences per rank that the batch of a server's launch allows; any without one.
func Bounded(d *deploy.Deployment, pool *deploy.Pool) float64 {
	p := &pool.Plan
	if p.Batch.Size == 0 || d.OpenBatch {
		return math.Inf(1)
	}
	return float64(max(1, p.Batch.Count) * p.Sequences(d.Model.IsMoE()))
}

// checked rejects a prediction that is not a number.
func (p Prediction) checked() (Prediction, error) {
	if math.IsNaN(p.TTFT+p.TPOT+p.Requests) || math.IsInf(p.TTFT+p.TPOT+p.Requests, 0) {
		return p, fmt.Errorf("no time can be given: TTFT %g s, TPOT %g s", p.TTFT, p.TPOT)
	}
	return p, nil
}

// Memory of a processor under a load that fills the batches: weights, the cache of running
// sequences, and working space for the larger of a decode and a prefill step.
func (p *Predictor) Memory(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths) estimate.Memory {
	m := p.prompts(d, pool, n)
	return p.with(&m, pool, n)
}

// prompts is the memory for a prefill step, if the pool has any.
func (p *Predictor) prompts(d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths) (m estimate.Memory) {
	if !pool.Role.Does(op.Prefill) {
		return m
	}
	rules, s := &d.Engine.Scheduling, p.servers[op.Prefill]
	chunk := rules.Chunk(n.Uncached())
	q := pool.Plan
	q.Batch = s.batch(&q, float64(rules.PerStep(n.Uncached())))
	return s.phases[op.Prefill].At(workload.Lengths{Input: n.Input, Output: n.Output, Cached: n.Input - chunk}).MemoryOf(&q)
}

// with adds the memory for decode steps, if the pool has any.
func (p *Predictor) with(prompts *estimate.Memory, pool *deploy.Pool, n workload.Lengths) estimate.Memory {
	if !pool.Role.Does(op.Decode) {
		return *prompts
	}
	m := p.servers[op.Decode].phases[op.Decode].At(n).MemoryOf(&pool.Plan)
	for b := range m.Working {
		m.Working[b] = max(m.Working[b], prompts.Working[b])
	}
	return m
}

// Held is the used bytes of the fullest processor.
func (p *Predictor) Held(d *deploy.Deployment, n workload.Lengths) float64 {
	var held float64
	for i := range d.Pools {
		m := p.Memory(d, &d.Pools[i], n)
		held = max(held, m.Total())
	}
	return held
}

// Free is the unused bytes of the fullest processor; negative if it does not hold everything.
func (p *Predictor) Free(d *deploy.Deployment, n workload.Lengths) float64 {
	free := math.Inf(1)
	for i := range d.Pools {
		pool := &d.Pools[i]
		m := p.Memory(d, pool, n)
		free = min(free, d.Usable(pool, &m)-m.Total())
	}
	return free
}

// server is the processors of a pool, prepared for both phases.
type server struct {
	system *hardware.System
	moe    bool
	phases [op.PhaseCount]*estimate.Evaluator
	// byPlan caches the steps of plans, at the same lengths.
	byPlan  map[plan.Plan]*Steps
	lengths workload.Lengths
	fitted  deploy.Fit
	// layers of the steps of plans that differ only in their pipeline stages.
	layers       map[step]estimate.Layered
	shape        plan.Plan
	shapeLengths workload.Lengths
	handing      *estimate.Evaluator // of prefills that hand over their cache, created on first use
	sent         sending             // last one computed
	work         op.Step             // evaluated last
}

func newServer(d *deploy.Deployment, sys *hardware.System) (*server, error) {
	s := &server{
		system: sys, moe: d.Model.IsMoE(),
		byPlan: map[plan.Plan]*Steps{}, layers: map[step]estimate.Layered{},
	}
	for phase := range op.PhaseCount {
		problem := d.Problem(phase, sys, workload.Lengths{Input: 1, Output: 1})
		problem.Handover = nil
		var err error
		if s.phases[phase], err = estimate.NewEvaluator(&problem); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// steps of a plan, as measurements of the deployment correct them.
func (s *server) steps(d *deploy.Deployment, p *plan.Plan, n workload.Lengths) *Steps {
	if n != s.lengths {
		clear(s.byPlan)
		s.lengths = n
	}
	s.fitted = d.Fitted
	q := p.Unbatched()
	out, ok := s.byPlan[q]
	if !ok {
		out = newSteps(s, q, n)
		s.byPlan[q] = out
	}
	return out
}

// batch of a plan with this many sequences per rank.
func (s *server) batch(p *plan.Plan, sequences float64) plan.Batch {
	if s.moe && !p.Pipelined {
		sequences /= float64(p.Attention.Replica()) // counted by processor there
	}
	return plan.Batch{Count: 1, Size: max(1, int(math.Round(sequences)))}
}

// handover of one prompt's cache to the decode pool.
func (s *server) handover(d *deploy.Deployment, n workload.Lengths) (estimate.Transfer, error) {
	span, p := d.Span(), d.Of(op.Prefill).Plan
	p.Batch = s.batch(&p, 1)
	if s.sent.of(span, &p, n) {
		return s.sent.transfer, nil
	}
	if err := s.prepareHandover(d, n); err != nil {
		return estimate.Transfer{}, err
	}
	var out estimate.Estimate
	s.handing.At(workload.Lengths{Input: n.Input, Output: 1, Cached: n.Cached, Squares: n.Squares}).Across(span).Evaluate(&p, &out)
	s.sent = sending{span, p, n, out.KV}
	return out.KV, nil
}

func (s *server) prepareHandover(d *deploy.Deployment, n workload.Lengths) (err error) {
	if s.handing == nil {
		problem := d.Problem(op.Prefill, s.system, n)
		s.handing, err = estimate.NewEvaluator(&problem)
	}
	return err
}

// sending is the transfer of one prompt's cache between pools of this many processors.
type sending struct {
	span     int
	plan     plan.Plan
	lengths  workload.Lengths
	transfer estimate.Transfer
}

func (s *sending) of(span int, p *plan.Plan, n workload.Lengths) bool {
	return s.span == span && s.lengths == n && s.plan == *p
}
