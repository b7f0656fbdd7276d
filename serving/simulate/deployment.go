package simulate

import (
	"cmp"
	"fmt"
	"math"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/op"
	"throughline/serving"
	"throughline/workload"
)

// Settings change how a deployment is simulated; zero values follow the engine.
type Settings struct {
	Prefill     deploy.Policy
	Running     int // concurrent requests per rank
	CacheTokens int // per rank
	BlockTokens int
	PrefixCache bool
	HostGiB     float64 // of a rank, in which the host keeps idle blocks of the prefix cache
	SwapGBps    float64 // bandwidth for swapping out preempted requests; 0: they are recomputed
	Ahead       *int    // steps
	Routing     deploy.Routing
	// Cold servers have seen no such load before, as in benchmarks.
	Cold bool
	// Times replace those of the estimate.
	Times Times

	times     map[timed]*StepTimes // found by earlier runs; nil: none
	meansOnly bool
}

// defaultBlock is the block size of vLLM, in tokens.
const defaultBlock = 16

// Of returns the options of a run of a deployment under requests of these mean lengths.
func Of(d *deploy.Deployment, n workload.Lengths, set *Settings) (Options, error) {
	p, err := serving.NewPredictor(d)
	if err != nil {
		return Options{}, err
	}
	return of(p, d, n, set)
}

// of is the same with a predictor of the deployment.
func of(p *serving.Predictor, d *deploy.Deployment, n workload.Lengths, set *Settings) (Options, error) {
	rules := &d.Engine.Scheduling
	o := Options{Routing: set.Routing, FrontEnd: rules.FrontEnd, FrontEnds: d.Of(op.Prefill).Count}
	o.FirstSeconds, o.WaveSeconds = rules.Entry(0, d.Split()), 0
	if set.Cold {
		o.WaveSeconds = rules.Cold(d.Split()) + d.Fitted.Wave
		if o.Compiling = rules.Compiling; o.Compiling.Copies {
			o.Copied = n.Input
		}
	}
	var err error
	for i := range d.Pools {
		pool := &d.Pools[i]
		out := Pool{Role: pool.Role, Stages: pool.Plan.InFlight(), Ranks: pool.Sharing(d.Model), Times: set.Times}
		out.Servers, out.Shares = pool.Ranks()/out.Ranks, pool.Role == deploy.Both && out.Ranks > 1
		out.Scatters = pool.Role == deploy.Prefill && rules.ScattersPrompts
		out.Fewest = rules.FewestFirst
		if out.Policy, err = policyOf(p, d, pool, n, set); err != nil {
			return o, err
		}
		if out.Times == nil {
			times, err := set.stepTimes(d, pool)
			if err != nil {
				return o, err
			}
			out.Times = times
			out.Power = times.Power(float64(pool.Procs()) / float64(pool.Ranks()))
			if d.Split() && out.Power != nil {
				out.Power.everyStep()
			}
		}
		o.Pools = append(o.Pools, out)
	}
	if d.Split() {
		o.Transfer, err = transfers(p, d)
	}
	return o, err
}

// stepTimes are those of a pool, with what earlier runs have found.
func (set *Settings) stepTimes(d *deploy.Deployment, pool *deploy.Pool) (*StepTimes, error) {
	key := timed{pool.System, pool.Plan.Unbatched()}
	if known := set.times[key]; known != nil {
		return known, nil
	}
	times, err := NewStepTimes(d, pool)
	if err == nil && set.times != nil {
		set.times[key] = times
	}
	return times, err
}

// policyOf is how the ranks of a pool schedule.
func policyOf(p *serving.Predictor, d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths, set *Settings) (Policy, error) {
	out := Policy{
		Scheduling: *d.Engine.Drafting(pool.Plan.Drafts), CutsPrompts: true, BlockTokens: cmp.Or(set.BlockTokens, defaultBlock), PrefixCache: set.PrefixCache,
		Drafts: pool.Plan.Drafts, Acceptance: d.Acceptance,
	}
	out.Prefill, out.Sequences = cmp.Or(set.Prefill, out.Prefill), cmp.Or(set.Running, out.Sequences)
	if set.Ahead != nil {
		out.StepsAhead = *set.Ahead
	}
	if out.Prefill == deploy.First {
		out.Watermark = 0.01 // as in vLLM's block manager and the recorded engine
	}
	tokens := float64(set.CacheTokens)
	if tokens == 0 {
		var err error
		if tokens, err = p.CacheTokens(d, pool, n); err != nil {
			return out, err
		}
		if tokens == 0 {
			tokens = 1 << 40 // no KV cache: linear attention keeps states only
		}
	}
	if out.Blocks = int(min(tokens/float64(out.BlockTokens), 1<<40)); out.Blocks < 1 {
		return out, fmt.Errorf("a KV cache of %.0f tokens has no block of %d", tokens, out.BlockTokens)
	}
	bytes := d.Model.CacheBytes(pool.Plan.Attention.TP, float64(n.Final()), d.Precision.Cache) / float64(n.Final())
	if set.SwapGBps > 0 {
		out.SwapSeconds = bytes / (set.SwapGBps * 1e9)
	}
	if tier := pool.System.Memory2; set.HostGiB > 0 && tier != nil {
		out.HostBlocks = int(set.HostGiB * estimate.GiB / (bytes * float64(out.BlockTokens)))
		out.LoadSeconds = bytes / (tier.GBps * 1e9)
	}
	if pool.Role == deploy.Prefill {
		out.Drafts = 0
	}
	return out, nil
}

// transfers interpolates the transfer time of a prompt's cache between powers of two tokens.
func transfers(p *serving.Predictor, d *deploy.Deployment) (func(int) (busy, left float64), error) {
	type transfer struct{ busy, left float64 }
	var list []transfer
	for tokens := 1; tokens <= 1<<24; tokens *= 2 {
		busy, left, err := p.Transfer(d, tokens)
		if err != nil {
			return nil, err
		}
		list = append(list, transfer{busy, left})
	}
	return func(tokens int) (float64, float64) {
		at := math.Log2(float64(max(1, tokens)))
		i := min(int(at), len(list)-2)
		low := float64(int(1) << i)
		part := (float64(tokens) - low) / low
		a, b := list[i], list[i+1]
		return a.busy + part*(b.busy-a.busy), a.left + part*(b.left-a.left)
	}, nil
}
