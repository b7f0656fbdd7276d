package engine

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"throughline/model"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
)

// Generic is an idealised engine: it runs every plan, mixes chunks of prompts into decode steps,
// sends each token to its experts and has no overhead of its own, so prices are what the processors
// alone allow. Its steps have the engines' default number of tokens.
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

// IsOpen reports whether a name leaves the choice of the engine open; an empty one does.
func IsOpen(name string) bool {
	return name == "" || strings.EqualFold(name, Any) || strings.EqualFold(name, Each)
}

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

func Names() []string {
	out := []string{Any}
	for _, e := range engines {
		out = append(out, e.Name)
	}
	return append(out, Generic.Name)
}

// Apply is the deployment as the engine runs it: the only place where facts of an engine enter.
// Without an engine, as in the reference tool, only open values are filled in.
func (e *Engine) Apply(d deploy.Deployment) deploy.Deployment {
	d.Pools = slices.Clone(d.Pools)
	if d.Precision.Cache == 0 {
		d.Precision.Cache = e.cacheBytes(&d)
	}
	d.Precision.ReadsNarrow = d.Assume.Engine && e.Scheduling.ReadsNarrowCache
	d.Precision.Library = d.Assume.Engine && e.Scheduling.LibraryProducts
	d.Precision.Fused = d.Assume.Engine && e.Scheduling.FusesElementwise
	d.Precision.Unpacking = e.unpacking(&d)
	d.Precision.AllReduce = 0
	elsewhere := func(p deploy.Pool) bool { return p.System == nil || p.System.Maker != "NVIDIA" }
	if d.Assume.Engine && !slices.ContainsFunc(d.Pools, elsewhere) {
		d.Precision.AllReduce = e.Scheduling.AllReduceSeconds
		if uncompiled(d.Model) {
			d.Precision.AllReduce = max(d.Precision.AllReduce, e.Scheduling.UncompiledAllReduceSeconds)
		}
	}
	d.Precision.PrefillBy, d.Precision.DecodeBy = e.requestedKernels(&d, true), e.requestedKernels(&d, false)
	d.Precision.Own = plan.OwnKernels{}
	if d.Assume.Engine {
		d.Precision.Own, d.Offload = e.ownKernels(&d), e.offload(&d)
	}
	d.Precision.BlockKernels = plan.Kernels{}
	if p, found := e.Products[e.products(&d)]; found && d.Assume.Engine {
		d.Precision.BlockKernels = p.Kernels
	}
	d.Engine = deploy.Engine{Name: e.Name, Title: e.Title, Scheduling: e.scheduling(&d)}
	if compiled := e.compiled(&d); compiled != nil {
		d.Engine.Compiling = compiled.Compiling
		if !d.ServerOptions.FillsSteps { // one that keeps prefixes has met cached tokens as it started
			d.Engine.Compiling.CutSeconds = 0
		}
		if d.ServerOptions.Copied {
			d.Engine.WaveSeconds, d.Engine.Compiling.CutSeconds, d.Engine.Compiling.Copies = 0, 0, true
		}
	}
	if d.ServerOptions.Warmed {
		d.Engine.WaveSeconds, d.Engine.Compiling = 0, deploy.Compiling{}
	}
	if d.ServerOptions.Unprepared {
		d.Engine.Scheduling.DraftSeconds += e.Scheduling.UnpreparedSeconds
	}
	if d.ServerOptions.Chat && !begins(d.Model.Name, e.Scheduling.ChatOwn) {
		d.Engine.Scheduling.TogetherSeconds = e.Scheduling.ChatSeconds
	}
	d.Fitted.Apply(&d.Engine)
	for i := range d.Pools {
		d.Pools[i].Plan.Behaviour = e.Behaviour(&d, &d.Pools[i])
	}
	return d
}

// compiled is what servers of a deployment compile while they serve; nil: it is not known.
func (e *Engine) compiled(d *deploy.Deployment) *Compiled {
	if !d.Assume.Engine || d.Split() || len(d.Pools) == 0 || d.Pools[0].System == nil {
		return nil
	}
	for i := range e.Scheduling.Compiles {
		c := &e.Scheduling.Compiles[i]
		if slices.Contains(c.Chips, d.Pools[0].System.Generation) && (!c.Blocks || d.Precision.Blocks()) &&
			(!c.Latent || d.Model.Attention.Kind == model.Latent && !sparseLatent(d.Model)) {
			return c
		}
	}
	return nil
}

// unpacking is the share of the rate of 16-bit products that those of narrower weights reach.
func (e *Engine) unpacking(d *deploy.Deployment) float64 {
	u := e.Scheduling.Unpacking
	if u == nil || !d.Assume.Engine {
		return 0
	}
	for i := range d.Pools {
		if s := d.Pools[i].System; s != nil && slices.Contains(u.Chips, s.Generation) {
			return u.Share
		}
	}
	return 0
}

// ownKernels are those of the engine on the chips of a deployment; zero: it has none.
func (e *Engine) ownKernels(d *deploy.Deployment) plan.OwnKernels {
	for i := range d.Pools {
		if s := d.Pools[i].System; s != nil {
			k, ok := e.Kernels[s.Name]
			if !ok {
				k = e.Kernels[s.Generation]
			}
			return k.OwnKernels
		}
	}
	return plan.OwnKernels{}
}

func RunsOnHost(name string) bool {
	e, err := Find(name)
	return err == nil && e.Scheduling.HostShare > 0
}

// offload is what is offloaded, with how fast the host runs it where the engine lets it.
func (e *Engine) offload(d *deploy.Deployment) estimate.Offload {
	out, p := d.Offload, d.Of(op.Decode)
	if p == nil || p.System == nil || p.System.Memory2 == nil || out == (estimate.Offload{}) {
		return out
	}
	tier := p.System.Memory2
	out.Host, out.Link = e.Scheduling.HostShare*tier.HostGBps, e.Scheduling.LinkShare*tier.GBps
	return out
}

// products is the kernels of block-scaled products that servers take.
func (e *Engine) products(d *deploy.Deployment) string {
	if d.ServerOptions.Products != "" || len(d.Pools) == 0 {
		return d.ServerOptions.Products
	}
	return e.DefaultProducts[generation(d.Pools[0].System)]
}

// scheduling with the launch settings of the deployment. With data-parallel attention prompts do
// not wait to fill a step (tensorrt_llm/_torch/pyexecutor/py_executor.py, _schedule). Where prompts
// share steps with decodes, a step whose tokens are set holds no more sequences than these.
func (e *Engine) scheduling(d *deploy.Deployment) deploy.Scheduling {
	out := d.ServerOptions.Of(e.launched(d))
	if p := d.Of(op.Prefill); p != nil && replicated(shape(d, p)) {
		out.WaitSteps = 0
	}
	out.FillsSteps = d.ServerOptions.FillsSteps && out.Prefill == deploy.First
	if p := d.Of(op.Decode); p != nil && out.Prefill != deploy.First && d.ServerOptions.StepTokens > 0 {
		out.Sequences = max(1, min(out.Sequences, out.StepTokens/(1+p.Plan.Drafts)))
	}
	return out
}

// launched is the scheduling without launch settings.
func (e *Engine) launched(d *deploy.Deployment) deploy.Scheduling {
	out := e.Scheduling.Scheduling
	if p := d.Of(op.Decode); p != nil {
		out = e.on(p.System).Scheduling
	}
	for i := range d.Pools {
		if small := e.on(d.Pools[i].System).Small; d.Assume.Engine && small.is(d.Pools[i].System) {
			out.StepTokens, out.Sequences = small.StepTokens, small.Sequences
		}
	}
	if p := d.Of(op.Decode); p != nil && p.Plan.Drafts > 0 && e.Scheduling.DraftSequences > 0 && d.Assume.Engine {
		out.Sequences = max(1, e.Scheduling.DraftSequences/p.Sharing(d.Model))
	}
	return out
}

// Behaviour is what the engine does with the plan of a pool; zero without an engine.
func (e *Engine) Behaviour(d *deploy.Deployment, p *deploy.Pool) plan.Behaviour {
	if !d.Assume.Engine {
		return plan.Behaviour{}
	}
	s, u := e.on(p.System), shape(d, p)
	gathered := e.gathered(&u, p)
	captured, launch := s.capturedDecode(&u, p.System, gathered)
	slowPrefill, slowDecode := s.slowdowns(&u, p.System, gathered)
	apart, beside := s.shared(&u, p.System)
	return plan.Behaviour{
		Facts:           s.Facts,
		SharedApart:     apart,
		LateGather:      p.Plan.SequenceParallel && s.GathersLatents,
		SequenceFrom:    e.sequenceFrom(&u),
		Gathered:        gathered,
		Reduced:         s.reduced(&u, gathered),
		Captured:        captured,
		Launch:          launch,
		CapturedPrompts: s.capturedPrompts(&u, p.System, captured),
		PromptLaunch:    s.promptLaunch(d.Model),
		Launches:        s.launches(p.System),
		AbsorbedPrompt:  s.absorbedPrompt(p.System),
		JoinedTile:      e.joinedTile(d, p.System),
		WindowApart:     e.apart(d, p.System),
		Pieces:          s.CapturesBy == "tokens" && sparseLatent(d.Model),
		Staged:          s.staged(&u, p.System),
		TunedExchange:   s.TunesExchange && p.System != nil && p.System.Kernels != nil && p.System.Kernels.Unfilled(),
		SlowPrefill:     slowPrefill,
		SlowDecode:      slowDecode,
		IndexFused:      s.fusesIndex(p.System),
		FewRouted:       s.fewRouted(d.Model, p.System),
		RowPicks:        s.rowPicks(d.Model),
		SharedBeside:    beside,
		ExpertTile:      s.expertTile(&u, p.System),
		ExpertInputs:    s.expertInputs(&u, p.System),
		SparePairs:      p.System != nil && slices.Contains(s.SparePairs, p.System.Generation),
		UntunedExperts:  e.untuned(&u, p.System),
		FusedQuantise:   s.fuses(&d.Precision) && !d.Model.Hyper(), // hyper-connections write 16 bits
		LightLast:       s.PipelineRest == "before the last",
	}
}

// expertTile is the rows of the tiles that experts fill, used or not; 0: there are none.
func (s *Scheduling) expertTile(u *unit, sys *hardware.System) int {
	padded, kind := s.PaddedExperts, u.kindOfWeights()
	if padded == nil || kind == nil || kind.name != "fp8_block" || sys == nil || !slices.Contains(padded.Chips, sys.Generation) || padded.BelowTP > 0 && u.etp >= padded.BelowTP {
		return 0
	}
	return padded.Rows
}

// expertInputs is what rows of experts are filled up to a multiple of; 0: they are as they are.
func (s *Scheduling) expertInputs(u *unit, sys *hardware.System) int {
	padded, kind := s.PaddedInputs, u.kindOfWeights()
	if padded == nil || kind == nil || kind.name != "mxfp4" || sys == nil || !slices.Contains(padded.Chips, sys.Generation) || !begins(u.Shape.Name, padded.Models) {
		return 0
	}
	return padded.Multiple
}

// fewRouted is the most tokens that a small kernel routes on a system.
func (s *Scheduling) fewRouted(m *model.Model, sys *hardware.System) int {
	for _, r := range s.FewRouters {
		if sys != nil && r.Inputs == m.Hidden && slices.Contains(r.Experts, m.Experts.Routed) && slices.Contains(r.Chips, sys.Generation) {
			return r.Tokens
		}
	}
	return 0
}

// rowPicks is the most entries that one block picks from, by the indexers of a model.
func (s *Scheduling) rowPicks(m *model.Model) float64 {
	if sparseLatent(m) {
		return s.RowPicks.Latent
	}
	return s.RowPicks.Compressed
}

// staged is the bytes of all-reduces through a buffer.
func (s *Scheduling) staged(u *unit, sys *hardware.System) plan.Range {
	for _, a := range s.StagedAllReduce {
		if sys != nil && a.Chips == sys.Generation && a.Ranks == u.tp && (!a.Uncompiled || uncompiled(u.Shape)) {
			return plan.Range{From: a.Over, To: a.UpTo}
		}
	}
	return plan.Range{}
}

// uncompiled reports whether engines run a model without torch.compile, which fuses all-reduces.
func uncompiled(m *model.Model) bool { return m.Hyper() }

// promptLaunch is the launch time per operator of prompt steps too long to be captured.
func (s *Scheduling) promptLaunch(m *model.Model) float64 {
	if uncompiled(m) {
		return cmp.Or(s.EagerLaunchSeconds, s.PromptLaunchSeconds)
	}
	return s.PromptLaunchSeconds
}

func sparseLatent(m *model.Model) bool {
	return m.Attention.Kind == model.Latent && m.Attention.IndexTopK > 0
}

// Padded is the tokens of a decode step when padded to the next larger captured graph.
func (s *Scheduling) Padded(tokens int) int {
	if s.CapturesBy != "tokens" || tokens > s.CapturedPrompts {
		return tokens
	}
	switch {
	case tokens <= 4:
		return 1 << bits.Len(uint(tokens-1))
	case tokens <= 256:
		return (tokens + 7) / 8 * 8
	}
	return (tokens + 15) / 16 * 16
}

// shared is whether shared experts are apart from the routed ones, and the most tokens of a step
// in which they run beside these.
func (s *Scheduling) shared(u *unit, sys *hardware.System) (apart bool, beside int) {
	e, a := &u.Shape.Experts, &u.Shape.Attention
	amd := sys != nil && sys.Maker == "AMD"
	among := e.Routed == s.SharedAmong && e.Shared == 1 && !e.SharedGate && a.Kind == model.Latent && a.IndexTopK == 0 && (u.ep == 1 || amd)
	switch {
	case s.SharedBeside == 0 || among || amd && s.SharedAmong == 0:
		return s.SharedApart || u.ServerOptions.SharedApart, 0
	case amd:
		return true, 0
	}
	return s.SharedApart || u.ServerOptions.SharedApart, s.SharedBeside
}

// gathered reports whether experts see the tokens of all ranks: tensor-parallel ranks have all
// tokens of their replica, so only different replicas have something to send.
func (e *Engine) gathered(u *unit, p *deploy.Pool) bool {
	if !u.moe || !u.fits {
		return false
	}
	if sends := u.ep > 1 && u.dp > 1 && (u.etp == 1 || e == Generic); !sends {
		return true
	}
	gathers, set := u.ServerOptions.Gathers(p.Role)
	return gathers || !set && e.gathers(u, p.System)
}

// reduced is the steps whose tokens are gathered by an all-reduce.
func (s *Scheduling) reduced(u *unit, gathered bool) plan.Reduced {
	if !gathered || u.dp == 1 {
		return plan.NoSteps
	}
	return map[string]plan.Reduced{"always": plan.AllSteps, "prefill": plan.PromptSteps}[s.GathersByAllReduce]
}

// slowdowns of the exchanges of prompt and decode tokens.
func (s *Scheduling) slowdowns(u *unit, sys *hardware.System, gathered bool) (prefill, decode plan.Slowdown) {
	if !u.moe || gathered || sys == nil {
		return prefill, decode
	}
	node := sys.Networks[0].Size
	nodes := (u.ep + node - 1) / node
	return slowdown(s.SlowPrefill, nodes), slowdown(s.SlowDecode, nodes)
}

// sequenceFrom is the least tokens of steps with sequence parallelism; 0: all are, or none.
func (e *Engine) sequenceFrom(u *unit) int {
	if !u.Plan.SequenceParallel || e.Sequence == nil {
		return 0
	}
	const element = 2 // bytes of an activation
	return e.Sequence.RankBytes * u.tp / (u.Shape.Hidden * element)
}

// absorbedPrompt is the most tokens of a prompt that latent attention takes for decode on a chip.
func (s *Scheduling) absorbedPrompt(sys *hardware.System) int {
	if sys == nil {
		return 0
	}
	return s.AbsorbedPrompts[sys.Generation]
}

// fusesIndex reports whether the indexer of sparse attention is fused on a chip.
func (s *Scheduling) fusesIndex(sys *hardware.System) bool {
	return s.FusesIndex != "" && (sys == nil || sys.Maker == "" || sys.Maker == s.FusesIndex)
}

// capturedDecode is the most tokens of a captured decode step over all replicas, and the launch
// time per operator of a longer one; 0 and 0: all are captured.
func (s *Scheduling) capturedDecode(u *unit, sys *hardware.System, gathered bool) (tokens int, launch float64) {
	replicas, most := max(1, u.Plan.Attention.DP), s.capturedTokens(sys)
	switch {
	case s.LaunchesBoth && u.moe && !gathered && u.Role == deploy.Both:
		tokens = 1
	case s.LargestGraph < 0: // there is none
	case gathered && most > 0:
		tokens = most
	case u.ServerOptions.Captured > 0 && s.CapturesBy == "sequences":
		tokens = u.ServerOptions.Captured * replicas * u.drafting()
	case s.LargestGraph > 0 && u.ServerOptions.Captured == 0:
		tokens = graphSize(cmp.Or(u.ServerOptions.Sequences, s.Sequences), u.drafting(), s.LargestGraph) * replicas
	case s.LargestGraph > 0:
		tokens = u.ServerOptions.Captured * replicas
	case s.CapturesBy == "tokens" && s.CapturedPrompts > 0:
		// No graph holds the operators of a longer step, with prompts or without.
		return cmp.Or(u.ServerOptions.Captured, s.CapturedPrompts) * replicas, s.promptLaunch(u.Shape)
	default:
		return 0, 0
	}
	return tokens, s.LaunchSeconds
}

// capturedTokens is the most tokens of a captured decode step on a chip; 0: all are captured.
func (s *Scheduling) capturedTokens(sys *hardware.System) int {
	if s.LargeCapturedTokens > 0 && sys != nil && sys.Memory.GiB > s.LargeGiB {
		return s.LargeCapturedTokens
	}
	return s.CapturedTokens
}

// capturedPrompts is the most tokens of a captured step with prompts over all replicas. Graphs that
// count tokens rather than sequences hold prompts, too.
func (s *Scheduling) capturedPrompts(u *unit, sys *hardware.System, decode int) int {
	t, replicas := &u.ServerOptions, max(1, u.Plan.Attention.DP)
	switch {
	case s.CapturesBy == "tokens" && s.LargestGraph != 0:
		return decode
	case s.CapturesBy == "tokens":
		return cmp.Or(t.CapturedPrompts, t.Captured, s.CapturedPrompts) * replicas
	case t.CapturedPrompts > 0:
		return t.CapturedPrompts * replicas
	case uncompiled(u.Shape) || sys != nil && sys.Maker != "" && sys.Maker != "NVIDIA":
		return 0
	case u.Shape.Attention.Kind == model.Latent && s.CapturedLatents > 0:
		return s.CapturedLatents * replicas
	}
	return s.CapturedPrompts * replicas
}

// graphSize is the tokens of the largest decode step that vLLM captures, with no graph above most:
// of 1, 2, 4, multiples of 8 below 256 and of 16 from there on (vllm/config/vllm.py,
// _set_cudagraph_sizes), rounded to full sequences (vllm/config/compilation.py,
// adjust_cudagraph_sizes_for_spec_decode).
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
	if padded := (size + tokens - 1) / tokens * tokens; padded <= limit {
		return padded
	}
	return size / tokens * tokens
}

// gathers reports whether a server gathers tokens; TensorRT-LLM must without NVLink across nodes.
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

// cacheBytes is the default size of a cache element: 16 bits, or 8 bits besides quantised weights
// where the engine does so on all systems of the deployment.
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

// fuses reports whether norms write the inputs of products in their precision.
func (s *Scheduling) fuses(p *plan.Precision) bool {
	switch s.FusesQuantization {
	case "8 bits":
		return p.Activation == 1
	case "one scale of 8 bits":
		return p.Activation == 1 && p.Weight == 1
	}
	return false
}

// narrowCache reports whether servers of quantised weights keep an FP8 cache on a system.
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
