package question

import (
	"fmt"
	"strings"

	"throughline/assume"
	"throughline/engine"
	"throughline/hardware"
	"throughline/model"
	"throughline/number"
	"throughline/plan"
	"throughline/workload"
)

// Bounds of numbers: far beyond what anyone deploys, far from any overflow, and within what a search holds in memory.
const (
	mostTokens       = 1_000_000_000
	mostParts        = 1_000_000 // ranks, stages, replicas
	mostGPUs         = 100_000   // of a search
	mostRedundant    = 10_000
	mostTurns        = 100_000
	mostRanked       = 1_000
	mostMilliseconds = 1_000_000_000 // eleven days
	mostRate         = 1_000_000_000
	mostDollars      = 1_000_000 // per processor and hour
	mostWatts        = 1_000_000 // of a processor
)

// AnyOverlap stands for the best overlap of a deployment.
const AnyOverlap = "any"

// settings is the one table of what can be asked.
var settings = []Setting{
	{Name: "model", Short: "m", For: Plan | Point, Choices: model.Catalogue.Names(), Open: true,
		Doc: "model: a built-in name, a model file, a Hugging Face config.json or its folder (required)",
		Ref: func(q *Question) any { return &q.Model }},
	{Name: "system", Short: "s", For: All, Choices: hardware.Catalogue.Names(), Open: true,
		Doc: "system: a built-in name or a system file (required)",
		As: map[Command]string{
			Forward: "system: a built-in name or a system file (default H200)",
			Serving: "system: a built-in name or a system file (default: the one each row names)",
		},
		Ref: func(q *Question) any { return &q.System }, Idle: aggregatedSystem},
	{Name: "gpus", For: Plan, Low: 1, High: mostGPUs, Optional: true,
		Doc: "GPUs to use (required)",
		Ref: func(q *Question) any { return &q.GPUs }},
	{Name: "gpus-per-node", For: Plan | Point, Low: 1, High: mostGPUs,
		Doc: "GPUs of one node",
		As:  map[Command]string{Plan: "GPUs of one node; an instance fills whole nodes or divides one"},
		Ref: func(q *Question) any { return &q.GPUsPerNode }, Idle: nodesWithoutEngine},
	{Name: "engine", For: Plan | Point, Choices: engine.Names(), Open: true, Check: func(name string) error { _, err := engine.Choices(name); return err },
		Doc: "serving engine: sglang, vllm or trtllm; any: the best one that can run the deployment; none: a generic engine that runs everything",
		Ref: func(q *Question) any { return &q.Engine }, Idle: engineNotAssumed},
	{Name: "phase", For: Point, Choices: []string{string(Prefill), string(Decode), string(BothPhases)},
		Doc: "show bare steps: prefill, decode or both (default: what clients see)",
		Ref: func(q *Question) any { return &q.Phase }},
	{Name: "batch", For: Point, Low: 1, High: mostTokens, Optional: true,
		Doc: "batch: sequences per data-parallel rank; with reference assumptions and an expert model, per GPU (default: what the concurrency takes, or 1)",
		Ref: func(q *Question) any { return &q.Batch }},
	{Name: "concurrency", For: Point, Low: 1, High: mostTokens, Optional: true,
		Doc: "concurrent clients (default: as many as fill the batches of all ranks)",
		Ref: func(q *Question) any { return &q.Concurrency }, Idle: noClients},
	{Name: "isl", For: Plan | Point, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "input tokens of a request (default 1024)",
		Ref: func(q *Question) any { return &q.Input }, Idle: lengthsOfTrace},
	{Name: "osl", For: Plan | Point, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "output tokens of a request (default 1024)",
		Ref: func(q *Question) any { return &q.Output }, Idle: lengthsOfTrace},
	{Name: "context", For: Point, Low: 2, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "context length of a decode step, in place of isl and osl",
		Ref: func(q *Question) any { return &q.Context }},
	{Name: "prefix", For: Plan | Point, Low: 0, High: mostTokens, Unit: "tokens",
		Doc: "leading input tokens that are in the prefix cache",
		Ref: func(q *Question) any { return &q.Prefix }},
	{Name: "prefix-hit", For: Plan | Point, Low: 0, High: 1, Below: true,
		Doc: "share of the input tokens that are in the prefix cache, in place of prefix",
		Ref: func(q *Question) any { return &q.PrefixHit }},
	{Name: "lengths", For: Plan | Point | Serving, Choices: []string{"fixed", "uniform:", "lognormal:", "trace:"}, Open: true,
		Doc: "distribution of the lengths: fixed, uniform:R, lognormal:S or trace:FILE (default fixed)",
		As:  map[Command]string{Serving: "distribution of the lengths: fixed, uniform:R, lognormal:S or trace:FILE (default: that of the benchmark)"},
		Ref: func(q *Question) any { return &q.Distribution }},
	{Name: "random-range-ratio", For: Plan | Point, Choices: []string{"0", "0.5", "1"}, Open: true,
		Doc: "lengths are spread evenly from this share of isl and osl to all of them, as in sglang.bench_serving (default 1: fixed)",
		Ref: func(q *Question) any { return &q.RangeRatio }},
	{Name: "trace", For: Plan | Point,
		Doc: "file of requests in place of drawn ones: Mooncake (JSON lines), Azure or Vidur (CSV); plain or .gz. Arrivals and shared prefixes count in simulate, means of the lengths everywhere",
		Ref: func(q *Question) any { return &q.Trace }},
	{Name: "arrival", For: Plan | Point, Choices: []string{"poisson", "gamma:", "constant", "bursts:"}, Open: true,
		Doc: "how requests come in simulate: poisson, gamma:CV, constant or bursts:N (default poisson)",
		Ref: func(q *Question) any { return &q.Arrival }, Idle: closedLoop},
	{Name: "gsp-num-groups", For: Plan | Point, Low: 1, High: mostTokens, Optional: true,
		Doc: "groups of requests that share a prefix",
		Ref: func(q *Question) any { return &q.Groups }},
	{Name: "gsp-system-prompt-len", For: Plan | Point, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "tokens of the prefix that a group shares, besides isl",
		Ref: func(q *Question) any { return &q.GroupPrompt }},
	{Name: "turns", For: Plan | Point, Low: 1, High: mostTurns,
		Doc: "turns of a conversation, each prompt being all that was said before and isl tokens more",
		Ref: func(q *Question) any { return &q.Turns }},
	{Name: "prefix-cache", For: Plan | Point,
		Doc: "blocks of prompts are kept for others that begin alike",
		Ref: func(q *Question) any { return &q.PrefixCache }, Idle: nothingAlike},
	{Name: "ttft", For: Plan | Explain, Low: 0, High: mostMilliseconds, Unit: milliseconds,
		Doc: "limit on the time to first token: 2s, 500ms, or a number of ms (default: none)",
		Ref: func(q *Question) any { return &q.TTFT }, Idle: bareStep},
	{Name: "tpot", For: Plan | Explain, Low: 0, High: mostMilliseconds, Unit: milliseconds,
		Doc: "limit on the time per output token: 50ms, or a number of ms (default: none)",
		Ref: func(q *Question) any { return &q.TPOT }, Idle: bareStep},
	{Name: "mode", For: Plan, Choices: []string{string(Aggregated), string(Disaggregated), string(BothModes)},
		Doc: "agg: prefill and decode share GPUs; disagg: a pool of GPUs for each; both: try both",
		Ref: func(q *Question) any { return &q.Mode }},
	{Name: "objective", For: Plan, Choices: []string{string(Throughput), string(Cost), string(Latency), string(MinGPUs)},
		Doc: "what to optimise: throughput, cost, latency or min-gpus",
		Ref: func(q *Question) any { return &q.Objective }},
	{Name: "rate", For: Plan, Low: 0, High: mostRate, Unit: "requests/s",
		Doc: "request rate to serve, in requests per second, for objective min-gpus",
		Ref: func(q *Question) any { return &q.Rate }, Idle: noRate},
	{Name: "top", For: Plan, Low: 1, High: mostRanked,
		Doc: "number of deployments to rank",
		Ref: func(q *Question) any { return &q.Top }},
	{Name: "price", For: Plan, Low: 0, High: mostDollars, Unit: "$/h",
		Doc: "price of a GPU in dollars per hour",
		Ref: func(q *Question) any { return &q.Price }},
	{Name: "power", For: Plan, Low: 0, High: mostWatts, Unit: "W",
		Doc: "power of a GPU in watts",
		Ref: func(q *Question) any { return &q.Power }},

	{Name: "tp", For: Point, Low: 1, High: mostParts,
		Doc: "tensor parallel size",
		Ref: func(q *Question) any { return &q.TP }, Idle: bothPlans},
	{Name: "pp", For: Point, Low: 1, High: mostParts,
		Doc: "pipeline parallel size",
		Ref: func(q *Question) any { return &q.PP }, Idle: bothPlans},
	{Name: "dp", For: Point, Low: 1, High: mostParts,
		Doc: "data parallel size of attention",
		Ref: func(q *Question) any { return &q.DP }, Idle: bothPlans},
	{Name: "cp", For: Point, Low: 1, High: mostParts,
		Doc: "context parallel size, in prefill",
		Ref: func(q *Question) any { return &q.CP }, Idle: prefillPlan},
	{Name: "sp", For: Point,
		Doc: "sequence parallelism between tensor-parallel ranks",
		Ref: func(q *Question) any { return &q.SequenceParallel }, Idle: oneRank},
	{Name: "ep", For: Point, Low: 1, High: mostParts, Optional: true,
		Doc: "expert parallel size (default: fills the GPUs of a pipeline stage)",
		Ref: func(q *Question) any { return &q.EP }, Idle: bothPlans},
	{Name: "moe-tp", For: Point, Low: 1, High: mostParts,
		Doc: "tensor parallel size of each expert",
		Ref: func(q *Question) any { return &q.MoETP }, Idle: bothPlans},
	{Name: "moe-dp", For: Point, Low: 1, High: mostParts, Optional: true,
		Doc: "copies of all experts (default: what ep leaves, else 1)",
		Ref: func(q *Question) any { return &q.MoEDP }, Idle: bothPlans},
	{Name: "prefill-plan", For: Point,
		Doc: "plan of a separate prefill pool, such as 2x tp4",
		Ref: func(q *Question) any { return &q.PrefillPlan }},
	{Name: "decode-plan", For: Point,
		Doc: "plan of a separate decode pool, such as dp8·tp1 ep8",
		Ref: func(q *Question) any { return &q.DecodePlan }},
	{Name: "decode-system", For: Plan | Point, Choices: hardware.Catalogue.Names(), Open: true,
		Doc: "system of the decode pool, if it differs",
		Ref: func(q *Question) any { return &q.DecodeSystem }},
	{Name: "redundant", For: Plan | Point, Low: 0, High: mostRedundant,
		Doc: "redundant experts: extra copies of routed experts",
		As:  map[Command]string{Plan: "redundant experts: tries up to this many, and two more on a rank than it must hold"},
		Ref: func(q *Question) any { return &q.Redundant }, Idle: noExperts},
	{Name: "drafts", For: Plan | Point, Low: 0, High: float64(len(workload.DraftAcceptance)),
		Doc: "draft tokens per decode step (multi-token prediction)",
		As:  map[Command]string{Plan: "draft tokens per decode step (multi-token prediction): tries up to this many"},
		Ref: func(q *Question) any { return &q.Drafts }, Idle: noDrafts},
	{Name: "overlap", For: Plan | Point, Choices: append(plan.OverlapNames(), AnyOverlap),
		Doc: "overlap of the exchange between experts with computation: " + strings.Join(plan.OverlapNames(), ", ") + " (default off)",
		As:  map[Command]string{Plan: "overlap of the exchange between experts with computation: " + strings.Join(plan.OverlapNames(), ", ") + "; any: the best of them (default off)"},
		Ref: func(q *Question) any { return &q.Overlap }, Idle: noExperts},
	{Name: "popularity", For: Plan | Point, Choices: []string{"uniform", served, "zipf:", "lognormal:", "counts:"}, Open: true,
		Doc: "how often experts are visited: uniform, served (as those of DeepSeek-V3 in service), zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default uniform)",
		Ref: func(q *Question) any { return &q.Popularity }, Idle: balanced},
	{Name: "weights", For: Plan | Point | Forward, Choices: number.Words(),
		Doc: "number format of the weights: " + strings.Join(number.Names(), ", ") + " (default: as published, where the system computes it; else bf16)",
		Ref: func(q *Question) any { return &q.Formats.Weights }},
	{Name: "activations", For: Plan | Point, Choices: number.Words(),
		Doc: "number format of the activations (default: that of the weights, if the system has a rate for it)",
		Ref: func(q *Question) any { return &q.Formats.Activations }},
	{Name: "cache", For: Plan | Point | Forward, Choices: number.Words(),
		Doc: "number format of the KV cache (default: what the engine uses)",
		Ref: func(q *Question) any { return &q.Formats.Cache }},
	{Name: "comm", For: Plan | Point, Choices: number.Words(),
		Doc: "number format of communication, except expert dispatch and combine (default bf16)",
		Ref: func(q *Question) any { return &q.Formats.Comm }},
	{Name: "dispatch", For: Plan | Point, Choices: number.Words(),
		Doc: "number format of expert dispatch (default fp8 with scales, as the libraries send it)",
		Ref: func(q *Question) any { return &q.Formats.Dispatch }},
	{Name: "combine", For: Plan | Point, Choices: number.Words(),
		Doc: "number format of expert combine (default bf16)",
		Ref: func(q *Question) any { return &q.Formats.Combine }},
	{Name: "attention", For: Plan | Point, Choices: number.Words(),
		Doc: "number format of attention (default bf16)",
		Ref: func(q *Question) any { return &q.Formats.Attention }},
	{Name: "vector", For: Plan | Point, Choices: number.Words(),
		Doc: "number format of the vector unit (default bf16)",
		Ref: func(q *Question) any { return &q.Formats.Vector }},
	{Name: "offload-weights", For: Plan | Point, Low: 0, High: 1,
		Doc: "share of the weights in the second memory tier",
		Ref: func(q *Question) any { return &q.Offload.Weights }},
	{Name: "offload-cache", For: Plan | Point, Low: 0, High: 1,
		Doc: "share of the KV cache in the second memory tier",
		Ref: func(q *Question) any { return &q.Offload.Cache }},
	{Name: "assume", For: All, Choices: assume.Presets(), Open: true, Check: func(text string) error { _, err := assume.Parse(text); return err },
		Doc: "modelling assumptions: physical or reference, and changes such as physical,causal=false",
		Ref: func(q *Question) any { return &q.Assume }},
}

// The following say why a setting has no effect.

func aggregatedSystem(l *Loaded, of Command) string {
	if of == Plan && l.Mode == Aggregated && l.DecodeSystem != "" {
		return "aggregated deployments run on the decode-system"
	}
	return ""
}

func engineNotAssumed(l *Loaded, of Command) string {
	if of != Plan && !l.Assumptions.Engine {
		return fmt.Sprintf("the assumptions %q have no serving engine", l.Assumptions.Name)
	}
	return ""
}

func nodesWithoutEngine(l *Loaded, of Command) string {
	if of != Plan && (l.Engine == engine.Generic.Name || !l.Assumptions.Engine) {
		return "only serving engines are limited by nodes"
	}
	return ""
}

func noClients(l *Loaded, _ Command) string {
	switch {
	case !l.Clients():
		return "a bare step has no clients"
	case !l.Assumptions.Engine:
		return fmt.Sprintf("the assumptions %q have no clients", l.Assumptions.Name)
	}
	return ""
}

func bareStep(l *Loaded, of Command) string {
	if of == Explain && !l.Clients() && l.Assumptions.Engine {
		return "a bare step has neither TTFT nor TPOT, which clients see"
	}
	return ""
}

func lengthsOfTrace(l *Loaded, _ Command) string {
	if strings.HasPrefix(l.Spreading(), "trace:") && l.Prefix == 0 {
		return "the trace gives the lengths"
	}
	return ""
}

func closedLoop(*Loaded, Command) string {
	return "clients send a request when their last has ended; simulate lets them come by themselves"
}

func nothingAlike(l *Loaded, _ Command) string {
	switch {
	case l.Groups > 0 || l.Turns > 1:
		return ""
	case l.Trace != "":
		return "which prompts of a trace begin alike counts in simulate"
	}
	return "no prompts begin alike: give groups or turns"
}

func noRate(l *Loaded, _ Command) string {
	if l.Objective != MinGPUs {
		return "only objective min-gpus serves a given rate"
	}
	return ""
}

func bothPlans(l *Loaded, _ Command) string {
	if l.PrefillPlan != "" && l.DecodePlan != "" {
		return "prefill-plan and decode-plan say everything"
	}
	return ""
}

func prefillPlan(l *Loaded, _ Command) string {
	if l.PrefillPlan != "" {
		return "only a prefill splits the context, and prefill-plan says how"
	}
	return ""
}

func oneRank(l *Loaded, _ Command) string {
	if l.TP == 1 && l.PrefillPlan == "" && l.DecodePlan == "" {
		return "there is one tensor-parallel rank"
	}
	return ""
}

func noExperts(l *Loaded, of Command) string {
	if of == Plan && !l.Shape.IsMoE() {
		return l.Shape.Name + " has no experts"
	}
	return bothPlans(l, of)
}

func balanced(l *Loaded, _ Command) string {
	switch {
	case !l.Shape.IsMoE():
		return l.Shape.Name + " has no experts"
	case !l.Assumptions.Imbalance:
		return "the assumptions have all processors do the same"
	}
	return ""
}

func noDrafts(l *Loaded, of Command) string {
	if l.Phase == Prefill {
		return "a prefill drafts nothing"
	}
	if l.DecodePlan != "" {
		return "decode-plan says it"
	}
	return ""
}
