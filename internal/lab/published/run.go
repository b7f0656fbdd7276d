package published

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/model"
	"throughline/op"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// run is a benchmark from first request to last, as such programs also count the batch filling and
// emptying: much of a run with hardly more requests than fit at a time.
//
// trtllm-bench queues all requests at its start, inside the engine's process. Clients of a server
// either send all theirs at once, with weights and cache in the given share of memory, or start at
// once and each send the next request after the last answer.
type run struct {
	requests int
	static   float64 // 0, without clients: trtllm-bench
	clients  int     // 0: as many as requests
}

// requestsOf is how many requests a run queued at once, by lengths
// (docs/source/performance/perf-overview.md of TensorRT-LLM at 00f3768 and
// docs/source/developer-guide/perf-overview.md at 03e27c7).
var requestsOf = map[[2]int]int{
	{128, 128}: 30000, {128, 2048}: 3000, {128, 4096}: 1500, {500, 2000}: 3000, {1000, 1000}: 3000, {1000, 2000}: 1500,
	{2048, 128}: 3000, {2048, 2048}: 1500, {5000, 500}: 1500, {20000, 2000}: 1000,
	{1024, 1024}: 3000, {8192, 1024}: 1500, {1024, 8192}: 1500, {32768, 1024}: 1000, {1024, 32768}: 1000,
}

// usualRequests is those of lengths that no table names: as most there have.
const usualRequests = 1500

// Defaults of trtllm-bench and TensorRT-LLM (tensorrt_llm/bench/build/tuning.py and build.py at
// 04cba88, tensorrt_llm/bench/benchmark/utils/general.py at 0171265).
const (
	benchFree     = 0.95 // share of free memory for cache, as both overviews set where it works
	benchBatch    = 4096
	benchTokens   = 32768
	leastBatch    = 64
	leastTokens   = 2048
	defaultBatch  = 2048 // of formats for which it has no rule: MXFP4
	defaultTokens = 8192
)

// rounding is to which multiple a number is rounded up, by its size.
type rounding []struct{ below, to float64 }

func (r rounding) up(x float64) int {
	for _, part := range r {
		if x < part.below {
			return int(part.to * math.Ceil(x/part.to))
		}
	}
	panic("the last part has no end")
}

var (
	batchRounding = rounding{{256, 32}, {1024, 128}, {math.Inf(1), 256}}
	tokenRounding = rounding{{4096, 256}, {8192, 512}, {math.Inf(1), 1024}}
)

// chosen is trtllm-bench's own choice: as many sequences as it thinks fit, and their share of a
// request's tokens per step, at least a whole prompt. It counts keys and values of every head, even
// if a model caches less, and all processors' memory, even if each is a replica of attention.
func chosen(d *deploy.Deployment, n workload.Lengths) (sequences, tokens int) {
	sequences, tokens = defaultBatch, defaultTokens
	if d.Precision.Name != "mxfp4" {
		m, pool := d.Model, d.Of(op.Decode)
		procs := float64(pool.Procs())
		heads, dim := float64(m.Attention.KVHeads), float64(m.Attention.HeadDim)
		if m.Attention.Kind == model.Latent {
			heads = float64(m.Attention.Heads)
			dim = float64(m.Hidden) / heads
		}
		params, _ := m.Params()
		weights := d.Precision.Of(model.ExpertModule).Weight
		if weights < 1 {
			weights *= 0.5 // it takes a byte of packed numbers for one of them
		}
		token := 2 * float64(m.Layers) * max(heads, procs) * dim * d.Precision.Cache
		free := procs*pool.System.Memory.GiB*estimate.GiB - params*weights
		room := min(benchBatch, benchFree*free/(token*float64(n.Final())))
		sequences = max(leastBatch, batchRounding.up(room))
		tokens = max(leastTokens, tokenRounding.up(min(benchTokens, room*(1+float64(n.Input)/float64(n.Output)))))
	}
	return sequences, max(tokens, n.Input+sequences)
}

// simulated runs the requests of a benchmark through a deployment.
func (r *run) simulated(ctx context.Context, d deploy.Deployment, n workload.Lengths) (*simulate.Record, error) {
	settings := &simulate.Settings{}
	if r.clients == 0 {
		if err := r.queued(&d, n, settings); err != nil {
			return nil, err
		}
	}
	options, err := simulate.Of(&d, n, settings)
	if err != nil {
		return nil, err
	}
	traffic := workload.Traffic{Requests: r.requests, Clients: r.clients, Rate: math.Inf(1), Input: workload.Fixed(n.Input), Output: workload.Fixed(n.Output), Turns: 1}
	return simulate.Run(ctx, options, traffic.Source())
}

// queued is what holds where all requests wait for the engine from the start.
func (r *run) queued(d *deploy.Deployment, n workload.Lengths, settings *simulate.Settings) error {
	var err error
	if settings.CacheTokens, err = r.cacheTokens(*d, n); err != nil {
		return err
	}
	rules := &d.Engine.Scheduling
	// No server is between requests and trtllm-bench.
	rules.RequestSeconds = 0
	if r.static > 0 {
		return nil
	}
	rules.Sequences, rules.StepTokens = chosen(d, n)
	times, err := simulate.NewStepTimes(d, d.Of(op.Decode))
	settings.Times = &padded{StepTimes: times}
	return err
}

// graphSizes are the batches with captured CUDA graphs (llm_options.yml of both overviews).
var graphSizes = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 1024, 2048, 4096, 8192}

// padded fills steps that only decode with empty sequences up to the next graph size.
type padded struct {
	*simulate.StepTimes
	work simulate.Work
}

func (p *padded) Seconds(w *simulate.Work) float64 {
	i, _ := slices.BinarySearch(graphSizes, w.Decodes)
	if len(w.Chunks) > 0 || w.Decodes == 0 || i == len(graphSizes) {
		return p.StepTimes.Seconds(w)
	}
	empty := int64(graphSizes[i] - w.Decodes) // each reads one key
	p.work.Decodes, p.work.Context, p.work.Bounded = graphSizes[i], w.Context+empty, append(p.work.Bounded[:0], w.Bounded...)
	for b := range p.work.Bounded {
		p.work.Bounded[b] += empty
	}
	return p.StepTimes.Seconds(&p.work)
}

// cacheTokens is how many tokens fit a rank's cache in the server's share of memory. TensorRT-LLM
// keeps all tokens even of windowed layers unless told the windows
// (kv_cache_config.max_attention_window), which no overview does.
func (r *run) cacheTokens(d deploy.Deployment, n workload.Lengths) (int, error) {
	d.Model = unwindowed(d.Model)
	p, err := serving.NewPredictor(&d)
	if err != nil {
		return 0, err
	}
	pool := *d.Of(op.Decode)
	d.ServerOptions.MemoryShare = cmp.Or(r.static, benchFree)
	m := p.Memory(&d, &pool, n)
	free := d.CacheBytes(&pool, &m)
	sequences := float64(pool.Plan.Sequences(d.Model.IsMoE()))
	tokens := free / m.Cache * sequences * float64(n.Final())
	if !(tokens >= float64(n.Final())) {
		return 0, fmt.Errorf("the cache of a request of %d tokens finds no room", n.Final())
	}
	return int(min(tokens, 1<<40)), nil
}

// unwindowed is a model all of whose layers see all tokens.
func unwindowed(m *model.Model) *model.Model {
	out := *m
	out.Attention.Window = 0
	out.Mixed = slices.Clone(m.Mixed)
	for i := range out.Mixed {
		out.Mixed[i].Attention.Window = 0
	}
	return &out
}
