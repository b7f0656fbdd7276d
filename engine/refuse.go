package engine

import (
	"fmt"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/model"
	"throughline/plan"
)

// A feature is something that engines may lack: its key in the data, its name in the documentation,
// and when a deployment needs it. Without needs, no model has it yet.
type feature struct {
	key, title string
	needs      func(unit) bool
}

const featureCount = 23

var features = [featureCount]feature{
	{"tensor_parallel", "tensor parallel", nil},
	{"pipeline_parallel", "pipeline parallel", piped},
	{"expert_parallel", "expert parallel", spread},
	{"dp_attention", "data-parallel attention", replicated},
	{"expert_tp", "tensor parallel inside experts, with expert parallel", sliced},
	{"context_parallel", "context parallel", contextual},
	{"sequence_parallel", "sequence parallel", sequential},
	{"disaggregation", "disaggregated prefill and decode", split},
	{"fp8_cache", "FP8 KV cache", func(u unit) bool { return u.cache == "fp8" }},
	{"fp4_cache", "FP4 KV cache", func(u unit) bool { return u.cache == "fp4" }},
	{"mtp", "multi-token prediction, speculative decoding", drafts},
	{"deep_ep", "DeepEP", nil},
	{"redundant_experts", "redundant experts (EPLB)", redundant},
	{"two_batch_overlap", "overlap of two batches", twoBatch},
	{"single_batch_overlap", "overlap within a batch", singleBatch},
	{"mla", "latent attention (MLA)", latent},
	{"sliding_window", "sliding window", nil},
	{"linear_attention", "linear attention", nil},
	{"sparse_attention", "sparse attention (DSA)", nil},
	{"deep_gemm", "DeepGEMM", nil},
	{"cuda_graphs", "CUDA graphs", nil},
	{"torch_compile", "torch.compile", nil},
	{"chunked_prefix", "chunked prefix cache (MLA)", nil},
}

// A limit is a deployment that cannot run.
type limit struct {
	breaks func(unit) bool
	why    func(unit) string
}

// stateGroups: several groups of a Mamba-2 state are split whole, a single one is repeated. See
// MambaMixer2 of vllm/model_executor/layers/mamba/mamba_mixer2.py (a014e35) and of
// python/sglang/srt/layers/attention/mamba/mamba.py (cce0a124).
var stateGroups = limit{
	func(u unit) bool { return unevenGroups(u) > 0 },
	func(u unit) string {
		return fmt.Sprintf("tp %d does not divide the %d groups of the Mamba-2 states of %s", u.tp, unevenGroups(u), u.Shape.Name)
	},
}

// unevenGroups is the groups of states that tensor parallelism would cut; 0: it cuts none.
func unevenGroups(u unit) int {
	for kind := range 1 + len(u.Shape.Mixed) {
		if a := u.Shape.AttentionOf(kind); a.Kind == model.Mamba && a.KVHeads > 1 && a.KVHeads%u.tp != 0 {
			return a.KVHeads
		}
	}
	return 0
}

// limits hold for every engine.
var limits = []limit{
	{
		func(u unit) bool { return !u.fits },
		func(u unit) string {
			return fmt.Sprintf("ep %d · moe_tp %d is not a number of whole attention replicas of one pipeline stage (%d GPUs each)", u.ep, u.etp, u.tp*u.cp)
		},
	},
	{
		func(u unit) bool { return u.moe && (u.Shape.Experts.Routed+u.Plan.Redundant)%u.ep != 0 },
		func(u unit) string {
			return fmt.Sprintf("ep %d does not divide the %d routed and redundant experts; engines do not spread shared experts with them", u.ep, u.Shape.Experts.Routed+u.Plan.Redundant)
		},
	},
	{
		func(u unit) bool { return u.Plan.WideDense && u.Shape.FeedForward%u.ranks != 0 },
		func(u unit) string {
			return fmt.Sprintf("the %d ranks of a stage do not divide the feed-forward width %d", u.ranks, u.Shape.FeedForward)
		},
	},
	{
		func(u unit) bool { return redundant(u) && u.ep == 1 },
		text("redundant experts need ep above 1"),
	},
	{
		func(u unit) bool { return overlaps(u) && !dispatched(u) },
		text("overlap hides the exchange between experts: it needs whole experts on the ranks of several attention replicas"),
	},
	{
		func(u unit) bool { return twoBatch(u) && batched(u) && u.step < 2 && !computes(u) },
		text("two micro-batches need two sequences"),
	},
	{
		func(u unit) bool { return drafts(u) && u.Shape.DraftLayers == 0 },
		func(u unit) string {
			return fmt.Sprintf("%s has no layers for multi-token prediction; drafts would need another model", u.Shape.Name)
		},
	},
	{
		func(u unit) bool { return u.nodes > 1 && u.procs%u.perNode != 0 },
		func(u unit) string {
			return fmt.Sprintf("the %d GPUs of a server do not fill nodes of %d", u.procs, u.perNode)
		},
	},
	{
		func(u unit) bool { return u.weights == "" },
		func(u unit) string {
			return fmt.Sprintf("no number format has weights of %g bytes", u.Precision.Weight)
		},
	},
	{
		func(u unit) bool { return u.cache == "" },
		func(u unit) string { return fmt.Sprintf("no number format has a cache of %g bytes", u.Precision.Cache) },
	},
}

// Pairs reports whether prefill servers of one plan can hand over to decode servers of another.
func (e *Engine) Pairs(prefill, decode *plan.Plan) bool {
	return e.pairs == nil || e.pairs(prefill, decode)
}

// Refuses says why the engine cannot run a pool of the deployment; empty if it can.
func (e *Engine) Refuses(d *deploy.Deployment, p *deploy.Pool) []string {
	var out []string
	u := shape(d, p)
	e.refuse(u, p, func(why func(unit) string) bool { out = append(out, why(u)); return true })
	return out
}

// Runs reports whether the engine can run a pool: Refuses without the texts.
func (e *Engine) Runs(d *deploy.Deployment, p *deploy.Pool) bool {
	runs := true
	e.refuse(shape(d, p), p, func(func(unit) string) bool { runs = false; return false })
	return runs
}

// refuse yields what stands in the way of a server.
func (e *Engine) refuse(u unit, p *deploy.Pool, yield func(why func(unit) string) bool) {
	for _, why := range append(e.refusedChip(p.System), e.refusedOptions(u, p.System)...) {
		if !yield(func(unit) string { return why }) {
			return
		}
	}
	if e == Generic {
		return
	}
	if w := u.kindOfWeights(); e.weightsOn(p.System, w) == notRun && !yield(func(unit) string { return e.refusedWeights(p.System, w) }) {
		return
	}
	if x := e.PrefillExchange; x != nil && prefills(u) && dispatched(u) && !slices.Contains(x.Ranks, u.ranks) && !yield(e.notAmong) {
		return
	}
	if why := e.refusedSequence(u, p.System); why != "" && !yield(func(unit) string { return why }) {
		return
	}
	for i := range features {
		f := &features[i]
		if e.support[i] == No && f.needs != nil && f.needs(u) && !yield(func(unit) string { return e.lacks(f) }) {
			return
		}
	}
	for _, list := range [...][]limit{limits, e.limits} {
		for i := range list {
			if list[i].breaks(u) && !yield(list[i].why) {
				return
			}
		}
	}
}

// refusedSequence says why the requested sequence parallelism applies to no step.
func (e *Engine) refusedSequence(u unit, chip *hardware.System) string {
	s := e.Sequence
	switch {
	case s == nil || !sequential(u):
		return ""
	case u.Shape.Hidden < s.Hidden:
		return fmt.Sprintf("%s turns sequence parallelism off for models less than %d wide; %s is %d wide", e.Title, s.Hidden, u.Shape.Name, u.Shape.Hidden)
	case chip != nil && !runOn(s.Chips, chip):
		return fmt.Sprintf("%s turns sequence parallelism off on chips that are not %s", e.Title, strings.Join(s.Chips, ", "))
	}
	return ""
}

// refusedOptions says which settings the engine lacks on a chip; the generic one has all.
func (e *Engine) refusedOptions(u unit, s *hardware.System) (out []string) {
	for _, option := range e.unknown(&u.ServerOptions) {
		out = append(out, fmt.Sprintf("%s %s has no option %s", e.Title, e.Options.Version, option))
	}
	if e.SplitsLayers && u.procs > 1 && s != nil && s.Memory2 == nil {
		out = append(out, fmt.Sprintf("a machine has one %s, whose memory is the host's; several machines (--rpc) are not priced", s.Name))
	}
	if u.ServerOptions.Attention+u.ServerOptions.PrefillAttention+u.ServerOptions.DecodeAttention != "" {
		out = append(out, e.refusedAttention(u, s)...)
	}
	return out
}

// Takes says what prevents the engine from running a deployment whatever the plans: the chips, and
// the launch settings there, weights included.
func (e *Engine) Takes(d *deploy.Deployment) (chip, settings []string) {
	for i := range d.Pools {
		p := &d.Pools[i]
		u := shape(d, p)
		refused := e.refusedOptions(u, p.System)
		if on := e.refusedChip(p.System); len(on) > 0 {
			chip = append(chip, on...)
		} else if w := u.kindOfWeights(); e.weightsOn(p.System, w) == notRun {
			refused = append(refused, e.refusedWeights(p.System, w))
		}
		settings = append(settings, refused...)
	}
	slices.Sort(chip)
	return slices.Compact(chip), unique(settings)
}

// unique removes repetitions.
func unique(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// notAmong says that the kernels that send prompt tokens do not support the ranks of a server.
func (e *Engine) notAmong(u unit) string {
	return fmt.Sprintf("DeepEP sends the tokens of prompts among so many ranks: %s; not among %d", strings.Trim(fmt.Sprint(e.PrefillExchange.Ranks), "[]"), u.ranks)
}

func (e *Engine) lacks(f *feature) string {
	why := fmt.Sprintf("%s %s has no %s", e.Title, e.Options.Version, f.title)
	if r := e.Capabilities[f.key].Remark; r != "" {
		why += ": " + r
	}
	return why
}
