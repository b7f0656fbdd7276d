package engine

import (
	"cmp"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
)

// Generic is an engine that does not exist: it can run every plan, mixes prompts in chunks into the steps of the sequences
// that decode, sends each token to its experts and takes no time of its own. What is priced with it is what the processors
// alone would allow. It has the tokens of a step that the engines have by default.
var Generic = &Engine{
	Name: "none", Title: "no engine", Attention: readAttention("none"),
	Scheduling: Scheduling{
		Scheduling:     deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 8192, Sequences: 1 << 20, PipelinesChunks: true},
		QuantizedCache: "never", GathersExperts: "never", TunesExchange: true, GathersByAllReduce: "never", PipelineRest: "before the last", GathersLatents: true,
	},
}

const (
	Any  = "any"  // the best of the engines that can run a deployment
	Each = "each" // every one of them, in a search that compares them
)

// IsOpen reports whether a name leaves the choice among all engines; an empty one does.
func IsOpen(name string) bool {
	return name == "" || strings.EqualFold(name, Any) || strings.EqualFold(name, Each)
}

// Choices are the engines of a name: all of them where it leaves the choice.
func Choices(name string) ([]*Engine, error) {
	if IsOpen(name) {
		return All(), nil
	}
	e, err := Find(name)
	if err != nil {
		return nil, err
	}
	return []*Engine{e}, nil
}

// Names are the names of engines, with those for any and for none.
func Names() []string {
	out := []string{Any}
	for _, e := range engines {
		out = append(out, e.Name)
	}
	return append(out, Generic.Name)
}

// Apply is the deployment as the engine runs it: the one place where facts of an engine enter a deployment. Where no engine
// is assumed, as in the reference tool, only what is left open is filled in.
func (e *Engine) Apply(d deploy.Deployment) deploy.Deployment {
	d.Pools = slices.Clone(d.Pools)
	if d.Precision.Cache == 0 {
		d.Precision.Cache = e.cacheBytes(&d)
	}
	d.Precision.ReadsNarrow = d.Assume.Engine && e.Scheduling.ReadsNarrowCache
	d.Precision.Library = d.Assume.Engine && e.Scheduling.LibraryProducts
	d.Precision.PrefillBy, d.Precision.DecodeBy = e.asks(&d, true), e.asks(&d, false)
	d.Precision.Told = plan.Kernels{}
	if p, told := e.Products[d.Told.Products]; told && d.Assume.Engine {
		d.Precision.Told = plan.Kernels{TFlops: p.TFlops, N: p.N, K: p.K, Seconds: p.Seconds}
	}
	d.Engine = deploy.Engine{Name: e.Name, Title: e.Title, Scheduling: d.Told.Of(e.launched(&d))}
	if d.Told.Unprepared {
		d.Engine.Scheduling.DraftSeconds += e.Scheduling.UnpreparedSeconds
	}
	d.Fitted.Apply(&d.Engine)
	for i := range d.Pools {
		d.Pools[i].Plan = e.Place(&d, &d.Pools[i])
	}
	return d
}

// launched is how a server schedules that is told nothing.
func (e *Engine) launched(d *deploy.Deployment) deploy.Scheduling {
	out := e.Scheduling.Scheduling
	if p := d.Of(op.Decode); p != nil && p.Plan.Drafts > 0 && e.Scheduling.DraftSequences > 0 && d.Assume.Engine {
		out.Sequences = max(1, e.Scheduling.DraftSequences/p.Sharing(d.Model))
	}
	return out
}

// Place is the plan of a pool with its tokens and experts where the engine puts them.
func (e *Engine) Place(d *deploy.Deployment, p *deploy.Pool) plan.Plan {
	q := p.Plan
	q.FusedQuantise = d.Assume.Engine && e.Scheduling.fuses(&d.Precision)
	q.SharedApart = d.Assume.Engine && (d.Told.SharedApart || e.Scheduling.SharedApart)
	if d.Told.Captured > 0 && d.Assume.Engine {
		q.Captured, q.Launch = d.Told.Captured*max(1, q.Attention.DP), e.Scheduling.LaunchSeconds
		if e.Scheduling.CapturesBy == "sequences" {
			q.Captured *= 1 + q.Drafts
		}
	}
	q.TunedExchange = d.Assume.Engine && e.Scheduling.TunesExchange && p.System != nil && p.System.Kernels != nil && p.System.Kernels.Unfilled()
	if d.Assume.Engine {
		q.CapturedPrompts, q.PromptLaunch = e.capturedPrompts(&d.Told)*max(1, q.Attention.DP), e.Scheduling.PromptLaunchSeconds
	}
	if q.SequenceParallel && d.Assume.Engine {
		q.LateGather = e.Scheduling.GathersLatents
		if s := e.Sequence; s != nil {
			const element = 2 // bytes of an activation
			q.SequenceFrom = s.RankBytes * max(1, q.Attention.TP) / (d.Model.Hidden * element)
		}
	}
	if d.Assume.Engine {
		q.IndexFused = e.Scheduling.FusesIndex != "" && (p.System == nil || p.System.Maker == "" || p.System.Maker == e.Scheduling.FusesIndex)
		q.IndexKernels, q.IndexSkips = e.Scheduling.IndexKernels, e.Scheduling.SkipsIndex
	}
	q.LightLast = d.Assume.Engine && q.Attention.PP > 1 && e.Scheduling.PipelineRest == "before the last"
	if d.Model.IsMoE() && d.Assume.Engine {
		// Tensor-parallel ranks have all tokens of their replica, and slices of all experts need all tokens: only between
		// replicas is there something to send.
		u := shape(d, p)
		sends := u.ep > 1 && u.dp > 1 && (u.etp == 1 || e == Generic)
		gathers, told := d.Told.Gathers(p.Role)
		q.Gathered = u.fits && (!sends || gathers || !told && e.gathers(&u, p.System))
		q.CopyKernels, q.Unfused = e.release.CopyKernels, e.release.Unfused
		if !q.Gathered && p.System != nil {
			nodes := (u.ep + p.System.Networks[0].Size - 1) / p.System.Networks[0].Size
			q.SlowPrefill, q.SlowDecode = then(e.release.Exchange, nodes), then(e.release.LowLatency, nodes)
		}
		if most := e.Scheduling.capturedTokens(p.System); q.Gathered && most > 0 {
			q.Captured, q.Launch = most, e.Scheduling.LaunchSeconds
		}
		if e.release.LaunchesBoth && !q.Gathered && p.Role == deploy.Both {
			q.Captured, q.Launch = 1, e.Scheduling.LaunchSeconds
		}
		if q.Gathered && u.dp > 1 {
			q.Reduced = map[string]plan.Reduced{"always": plan.AllSteps, "prefill": plan.PromptSteps}[e.Scheduling.GathersByAllReduce]
		}
	}
	if d.Assume.Engine {
		e.capture(&q, p.System, cmp.Or(d.Told.Sequences, e.Scheduling.Sequences), d.Told.Captured > 0)
	}
	return q
}

// capturedTokens is the most tokens of a decode step that is captured on a chip; 0: all are.
func (s *Scheduling) capturedTokens(sys *hardware.System) int {
	if s.LargeCapturedTokens > 0 && sys != nil && sys.Memory.GiB > s.LargeGiB {
		return s.LargeCapturedTokens
	}
	return s.CapturedTokens
}

// capturedPrompts is the most tokens of a step with prompts of a data-parallel rank that a server captures. Graphs of so many tokens, and not
// sequences, hold prompts, too.
func (e *Engine) capturedPrompts(t *deploy.Told) int {
	if e.Scheduling.CapturesBy == "tokens" {
		return cmp.Or(t.CapturedPrompts, t.Captured, e.Scheduling.CapturedPrompts)
	}
	return cmp.Or(t.CapturedPrompts, e.Scheduling.CapturedPrompts)
}

// capture says what the port of the engine to a chip, if it has one, captures of a plan, unless it is told.
func (e *Engine) capture(q *plan.Plan, sys *hardware.System, sequences int, told bool) {
	if sys == nil {
		return
	}
	port, ok := e.Ports[sys.Maker]
	if !ok {
		return
	}
	if !told {
		q.Captured = graphSize(sequences, 1+q.Drafts, port.LargestGraph) * q.Attention.DP
	}
	q.Launch, q.Piece = port.LaunchSeconds, port.PieceSeconds
	q.CapturedPrompts, q.PromptLaunch = q.Captured, q.Launch
	q.SharedLaunches = port.SharedLaunches
}

// graphSize is the tokens of the largest decode step that vLLM captures a graph of, where so many sequences of so many tokens may run and
// no graph has more than most: of 1, 2, 4, multiples of 8 below 256 and of 16 from there on (vllm/config/vllm.py, _set_cudagraph_sizes),
// made whole sequences (vllm/config/compilation.py, adjust_cudagraph_sizes_for_spec_decode).
func graphSize(sequences, tokens, most int) int {
	limit := min(sequences*tokens, most)
	step := 16
	switch {
	case limit < 4:
		step = min(2, limit)
	case limit < 8:
		step = 4
	case limit < 256:
		step = 8
	}
	if step == 0 {
		return 0
	}
	size := limit / step * step
	if whole := (size + tokens - 1) / tokens * tokens; whole <= limit {
		return whole
	}
	return size / tokens * tokens
}

// gathers reports whether a server gathers tokens that it could send. Processors that share no memory over NVLink beyond a node
// have nothing better in TensorRT-LLM.
func (e *Engine) gathers(u *unit, sys *hardware.System) bool {
	switch e.Scheduling.GathersExperts {
	case "always":
		return true
	case "aggregated":
		return u.Role == deploy.Both
	case "in nodes":
		return sys == nil || len(sys.Networks) == 0 || sys.Networks[0].Size <= usualNode
	}
	return false
}

// usualNode is the processors of a node whose NVLink ends at its border.
const usualNode = 8

// cacheBytes is what an element of the KV cache takes where nobody says: as much as 16 bits, or 8 bits besides quantised
// weights where the engine does so on all systems of the deployment.
func (e *Engine) cacheBytes(d *deploy.Deployment) float64 {
	quantised := d.Precision.Narrowest() < 2
	for i := range d.Pools {
		quantised = quantised && e.Scheduling.narrowCache(d.Pools[i].System, d.Precision.Blocks())
	}
	if quantised && d.Assume.Engine {
		return 1
	}
	return 2
}

// fuses reports whether norms write what products of a precision read.
func (s *Scheduling) fuses(p *plan.Precision) bool {
	switch s.FusesQuantization {
	case "8 bits":
		return p.Activation == 1
	case "one scale of 8 bits":
		return p.Activation == 1 && p.Weight == 1
	}
	return false
}

// narrowCache reports whether servers of quantised weights, with scales of blocks or one, keep an FP8 cache on a system.
func (s *Scheduling) narrowCache(sys *hardware.System, blocks bool) bool {
	_, fp4 := sys.Matrix["float4"]
	switch s.QuantizedCache {
	case "always":
		return true
	case "one scale or fp4":
		return fp4 || !blocks
	case "with fp4":
		return fp4
	}
	return false
}
