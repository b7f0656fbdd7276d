package question

import (
	"errors"
	"slices"
	"strings"

	"throughline/assume"
	"throughline/engine"
	"throughline/hardware"
	"throughline/model"
	"throughline/number"
	"throughline/plan"
	"throughline/workload"
)

// Bounds are far beyond any deployment, yet avoid overflow and fit the memory of a search.
const (
	mostTokens       = 1_000_000_000
	mostParts        = 1_000_000 // ranks, stages, replicas
	mostGPUs         = 1 << 20   // of a search
	mostRedundant    = 10_000
	mostRanked       = 1_000
	mostMilliseconds = 1_000_000_000 // eleven days
	leastRate        = 1e-6          // a request in eleven days
	mostRate         = 1_000_000_000
	mostDollars      = 1_000_000  // per processor and hour
	mostWatts        = 1_000_000  // of a processor
	mostPrompts      = 10_000_000 // 0.4 GB, should all of them wait at once
	mostSteps        = 1_000_000
	leastGBps        = 0.001
	mostGBps         = 1_000_000
	leastInterval    = 1e-6      // s
	mostSeconds      = 1_000_000 // eleven days
	mostSeed         = 1 << 52   // which every JSON reader keeps whole
	mostExchanged    = 1_000_000 // ranks, tokens
	mostJobs         = 4_096     // more processors than any machine has
	mostRows         = 1_000_000
	mostSimulated    = 1_000_000 // requests of each run
)

// AnyOverlap stands for the best overlap of a deployment.
const AnyOverlap = "any"

// settings is the one table of what can be asked.
var settings = grouped(slices.Concat(ofDeployments, ofMeasured, ofTraffic, ofExchanges, ofCommands, ofBenchmarks, ofEmulation, ofRuns))

func checkEngine(name string) error { _, err := engine.Choices(name); return err }

// checkOneEngine refuses what only a search among deployments takes.
func checkOneEngine(name string) error {
	if name == engine.Each {
		return errors.New("each is for plan, which compares engines; one deployment has one: any is the best for it")
	}
	return checkEngine(name)
}

func checkPlan(text string) error { _, err := plan.ParseWords(text); return err }

// ofMeasured are the settings that start from measured runs.
var ofMeasured = []Setting{
	{Name: "fitted", Opens: true, For: Plan | Deployed | Serving,
		Doc: "file that throughline calibrate serving wrote: what measured runs of the deployment correct",
		Ref: func(q *Question) any { return &q.Fitted }, Idle: uncorrected},
}

// ofDeployments are the settings of a deployment and its load, and of a search among deployments.
var ofDeployments = []Setting{
	{Name: "model", Short: "m", Opens: true, For: Plan | Deployed | Comm, Choices: model.Catalogue.Names(), Open: true,
		Doc: "model: a built-in name, a model file, a Hugging Face config.json or its folder (required)",
		As:  map[Command]string{Comm: "expert model whose tokens are sent: a built-in name, a model file, a Hugging Face config.json or its folder"},
		Ref: func(q *Question) any { return &q.Model }},
	{Name: "system", Short: "s", Opens: true, For: Plan | Deployed | Comm | Ops | Forward | Power | Serving | Requests | Calibrate | CalibratePower | CalibrateServing, Choices: hardware.Catalogue.Names(), Open: true,
		Doc: "system: a built-in name or a system file (required)",
		As: map[Command]string{
			Ops | Forward | Power:      "system: a built-in name or a system file (default H200)",
			Serving | CalibrateServing: "system: a built-in name or a system file (default: the one each row names)",
			Requests:                   "system of own times: a built-in name or a system file (default H200)",
			Calibrate | CalibratePower: "system to calibrate: a built-in name or a system file (required)",
		},
		Ref: func(q *Question) any { return &q.System }, Idle: unless(ownTimes, "only own times of steps are those of a system")},
	{Name: "gpus", For: Plan, Low: 1, High: mostGPUs, Optional: true,
		Doc: "GPUs to use; the most of them for objective min-gpus (required, but for rate: up to 1024)",
		Ref: func(q *Question) any { return &q.GPUs }},
	{Name: "gpus", For: Point, Low: 1, High: mostGPUs, Optional: true,
		Doc: "GPUs of one instance, in place of tp and pp: layers are split over them with llamacpp, tensors with other engines (default: what tp, pp and dp take)",
		Ref: func(q *Question) any { return &q.Over }},
	{Name: "prefill-gpus", For: Plan, Low: 1, High: mostGPUs, Optional: true,
		Doc: "GPUs of the prefill pool of disaggregated deployments; the others decode (default: searched)",
		Ref: func(q *Question) any { return &q.PrefillGPUs }, Idle: onePool},
	{Name: "gpus-per-node", For: Plan | Deployed, Low: 1, High: mostGPUs,
		Doc: "GPUs of one node; a first network of up to 8 joins no more than these",
		As:  map[Command]string{Plan: "GPUs of one node; an instance fills whole nodes or divides one, and a first network of up to 8 joins no more than these"},
		Ref: func(q *Question) any { return &q.GPUsPerNode }, Idle: nodesWithoutEngine},
	{Name: "engine", For: Deployed, Choices: engine.Names(), Open: true, Check: checkOneEngine,
		Doc: "serving engine: sglang, vllm, trtllm or, on a desk, llamacpp; any: the best one that can run the deployment; none: a generic engine that runs everything",
		Ref: func(q *Question) any { return &q.Engine }, Idle: engineNotAssumed},
	{Name: "engine", For: Plan, Choices: append(engine.Names(), engine.Each), Open: true, Check: checkEngine,
		Doc: "serving engine: sglang, vllm, trtllm or, on a desk, llamacpp; any: the best one that can run each deployment; each: rows of every one that can; none: a generic engine that runs everything",
		Ref: func(q *Question) any { return &q.Engine }},
	{Name: "phase", For: Point, Choices: []string{string(Prefill), string(Decode), string(BothPhases)},
		Doc: "show bare steps: prefill, decode or both (default: what clients see)",
		Ref: func(q *Question) any { return &q.Phase }},
	{Name: "batch", For: Point, Low: 1, High: mostTokens, Optional: true,
		Doc: "batch: sequences per data-parallel rank; with reference assumptions and an expert model, per GPU (default: what the concurrency takes, or 1)",
		Ref: func(q *Question) any { return &q.Batch }},
	{Name: "concurrency", For: Point | Simulate, Aliases: []string{"max-concurrency"}, Low: 1, High: mostTokens, Optional: true,
		Doc: "concurrent clients (default: as many as fill the batches of all ranks)",
		As:  map[Command]string{Simulate: "clients that wait for their answers; requests above that wait (default: any number)"},
		Ref: func(q *Question) any { return &q.Concurrency }, Idle: noClients},
	{Name: "isl", Aliases: []string{"random-input-len"}, For: Plan | Deployed, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "input tokens of a request (default 1024)",
		As:  map[Command]string{Emulate: "mean input tokens of requests, for which memory is laid out (default 1024)"},
		Ref: func(q *Question) any { return &q.Input }, Idle: either(drawnRequests, lengthsGiven)},
	{Name: "osl", Aliases: []string{"random-output-len"}, For: Plan | Deployed, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "output tokens of a request (default 1024)",
		As:  map[Command]string{Emulate: "mean output tokens of requests that may end by themselves (default 1024)"},
		Ref: func(q *Question) any { return &q.Output }, Idle: either(drawnRequests, lengthsGiven)},
	{Name: "context", For: Point, Low: 2, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "context length of a decode step, in place of isl and osl",
		Ref: func(q *Question) any { return &q.Context }},
	{Name: "prefix", For: Plan | Point, Low: 0, High: mostTokens, Unit: "tokens",
		Doc: "leading input tokens that are in the prefix cache",
		Ref: func(q *Question) any { return &q.Prefix }, Idle: noPrompt},
	{Name: "prefix-hit", For: Plan | Point, Low: 0, High: 1, Below: true,
		Doc: "share of the input tokens that are in the prefix cache, in place of prefix",
		Ref: func(q *Question) any { return &q.PrefixHit }, Idle: noPrompt},
	{Name: "lengths", Opens: true, For: Plan | Deployed | Serving | CalibrateServing, Choices: []string{"fixed", "uniform:", "lognormal:", workload.ShareGPT, "trace:"}, Open: true, Check: workload.CheckSpread,
		Doc: "distribution of the lengths: fixed, uniform:R, lognormal:S, sharegpt or trace:FILE (default fixed)",
		As: map[Command]string{Serving | CalibrateServing: "distribution of the lengths: fixed, uniform:R, lognormal:S, sharegpt or trace:FILE (default: that of the benchmark)",
			Emulate: "distribution of the lengths of answers: fixed, uniform:R, lognormal:S or sharegpt (default fixed)"},
		Ref: func(q *Question) any { return &q.Distribution }, Idle: drawnRequests},
	{Name: "ttft", For: Explain, Low: 0, Above: true, Optional: true, High: mostMilliseconds, Unit: milliseconds,
		Doc: "limit on the time to first token: 2s, 500ms, or a number of ms (default: none)",
		Ref: func(q *Question) any { return &q.TTFT }, Idle: bareStep},
	{Name: "tpot", For: Explain, Low: 0, Above: true, Optional: true, High: mostMilliseconds, Unit: milliseconds,
		Doc: "limit on the time per output token: 50ms, or a number of ms (default: none)",
		Ref: func(q *Question) any { return &q.TPOT }, Idle: bareStep},
	{Name: "ttft", For: Plan, Check: checkGoal, Unit: milliseconds,
		Doc: "limit on the time to first token: 2s, 500ms or a number of ms, of the mean in closed form; p99:2s: of a percentile, simulated at rate (default: none)",
		Ref: func(q *Question) any { return &q.Goals.TTFT }},
	{Name: "tpot", For: Plan, Check: checkGoal, Unit: milliseconds,
		Doc: "limit on the time per output token, likewise: 50ms, p95:50ms (default: none)",
		Ref: func(q *Question) any { return &q.Goals.TPOT }},
	{Name: "mode", For: Plan, Choices: []string{string(Aggregated), string(Disaggregated), string(BothModes)},
		Doc: "agg: prefill and decode share GPUs; disagg: a pool of GPUs for each; both: try both",
		Ref: func(q *Question) any { return &q.Mode }},
	{Name: "objective", For: Plan, Choices: []string{string(Throughput), string(Cost), string(Energy), string(Latency), string(MinGPUs)},
		Doc: "what to optimise: throughput, cost (dollars per token), energy (tokens per joule), latency or min-gpus",
		Ref: func(q *Question) any { return &q.Objective }},
	{Name: "rate", For: Plan, Low: leastRate, Optional: true, High: mostRate, Unit: "requests/s",
		Doc: "request rate to serve, in requests per second: for objective min-gpus, which it stands for without gpus, and limits of percentiles (default, of a trace: its own)",
		Ref: func(q *Question) any { return &q.Rate }, Idle: noRate},
	{Name: "chance", For: Plan, Low: 1, High: 99.9, Optional: true, Unit: percent,
		Doc: "least chance that all limits hold, such as 90%, by the bands of the predictions and how far runs differ (default: the prediction itself holds)",
		Ref: func(q *Question) any { return &q.Chance }, Idle: unlimited},
	{Name: "part-nodes", For: Plan,
		Doc: "let the fewest GPUs be any number, in place of whole nodes or an even part of one",
		Ref: func(q *Question) any { return &q.PartNodes }, Idle: givenGPUs},
	{Name: "top", For: Plan, Low: 1, High: mostRanked,
		Doc: "number of deployments to rank",
		Ref: func(q *Question) any { return &q.Top }},
	{Name: "pools", For: Plan, Low: 0, High: mostRanked,
		Doc: "number of pools of prefill and of decode to rank by themselves",
		Ref: func(q *Question) any { return &q.Pools }, Idle: onePool},
	{Name: "price", For: Plan | Point | Simulate, List: Text, Unit: "$/h", Check: checkRate(mostDollars),
		Doc: "price of a GPU in dollars per hour: a number, or SYSTEM=NUMBER for each kind (default: that of the system, where it has one)",
		Ref: func(q *Question) any { return &q.Price }},
	{Name: "power", For: Plan, List: Text, Unit: "W", Check: checkRate(mostWatts),
		Doc: "power of a GPU in watts: a number, or SYSTEM=NUMBER for each kind",
		Ref: func(q *Question) any { return &q.Power }},
	{Name: "pool", Opens: true, For: Plan, List: Text, Check: func(word string) error { _, err := shareOf(word); return err },
		Doc: "GPUs of one kind, SYSTEM:GPUS, in place of system and gpus; may be repeated. What each does is searched, unless it is said: prefill=SYSTEM:GPUS, decode=SYSTEM:GPUS",
		Ref: func(q *Question) any { return &q.Fleet }},

	{Name: "power-limit", For: Plan | Deployed | Run, List: Text, Each: Simulate | Run, Unit: "W", Check: checkPowerLimit,
		Doc: "power limit of a GPU in watts, such as 500W, under which clocks fall, where the system has a block power; several, with commas between them, are compared (default: as delivered)",
		As:  map[Command]string{Plan: "power limit of a GPU in watts, such as 500W, under which clocks fall, where the system has a block power; several, with commas between them, are compared; auto: the one with the least energy per token"},
		Ref: func(q *Question) any { return &q.PowerLimit }, Idle: asDelivered},
	{Name: "energy-price", For: Plan | Point | Simulate | Run, Low: 0, High: mostDollars, Optional: true, Unit: "$/kWh",
		Doc: "price of energy in dollars per kWh",
		Ref: func(q *Question) any { return &q.Tariff.PerKWh }, Idle: unmetered},
	{Name: "pue", For: Plan | Point | Simulate | Run, Low: 1, High: 10, Optional: true,
		Doc: "energy of the building per energy of its GPUs, which price and carbon of energy then are of",
		Ref: func(q *Question) any { return &q.Tariff.PUE }, Idle: either(unmetered, unless(priced, "it scales energy-price and carbon"))},
	{Name: "carbon", For: Plan | Point | Simulate | Run, Low: 0, High: 1e4, Optional: true, Unit: "g/kWh",
		Doc: "CO₂ of energy in grams per kWh",
		Ref: func(q *Question) any { return &q.Tariff.Carbon }, Idle: unmetered},
	{Name: "tp", Aliases: []string{"tensor-parallel-size"}, For: Deployed, Low: 1, High: mostParts,
		Doc: "tensor parallel size",
		Ref: func(q *Question) any { return &q.TP }, Idle: bothPlans},
	{Name: "pp", Aliases: []string{"pipeline-parallel-size"}, For: Deployed, Low: 1, High: mostParts,
		Doc: "pipeline parallel size",
		Ref: func(q *Question) any { return &q.PP }, Idle: bothPlans},
	{Name: "dp", Aliases: []string{"data-parallel-size"}, For: Deployed, Low: 1, High: mostParts,
		Doc: "data parallel size of attention",
		Ref: func(q *Question) any { return &q.DP }, Idle: bothPlans},
	{Name: "cp", For: Deployed, Low: 1, High: mostParts,
		Doc: "context parallel size, in prefill",
		Ref: func(q *Question) any { return &q.CP }, Idle: prefillPlan},
	{Name: "sp", For: Deployed,
		Doc: "sequence parallelism between tensor-parallel ranks",
		Ref: func(q *Question) any { return &q.SequenceParallel }, Idle: oneRank},
	{Name: "dense-tp", For: Deployed,
		Doc: "dense layers of an expert model split over all GPUs of a stage, in place of a copy in every attention replica",
		Ref: func(q *Question) any { return &q.WideDense }, Idle: oneReplica},
	{Name: "head-tp", For: Deployed,
		Doc: "output projection of an expert model split likewise",
		Ref: func(q *Question) any { return &q.WideHead }, Idle: oneReplica},
	{Name: "ep", For: Deployed, Low: 1, High: mostParts, Optional: true,
		Doc: "expert parallel size (default: 1 where nothing is said of experts and dp is 1, as engines start; else it fills the GPUs of a pipeline stage)",
		Ref: func(q *Question) any { return &q.EP }, Idle: bothPlans},
	{Name: "moe-tp", For: Deployed, Low: 1, High: mostParts, Optional: true,
		Doc: "tensor parallel size of each expert (default: tp where nothing is said of experts and dp is 1, as engines start; else 1)",
		Ref: func(q *Question) any { return &q.MoETP }, Idle: bothPlans},
	{Name: "moe-dp", For: Deployed, Low: 1, High: mostParts, Optional: true,
		Doc: "copies of all experts (default: what ep leaves, else 1)",
		Ref: func(q *Question) any { return &q.MoEDP }, Idle: bothPlans},
	{Name: "prefill-plan", For: Deployed, Check: checkPlan,
		Doc: "plan of a separate prefill pool, such as 2x tp4",
		Ref: func(q *Question) any { return &q.PrefillPlan }},
	{Name: "decode-plan", For: Deployed, Check: checkPlan,
		Doc: "plan of a separate decode pool, such as dp8·tp1 ep8",
		Ref: func(q *Question) any { return &q.DecodePlan }},
	{Name: "decode-system", Opens: true, For: Plan | Deployed, Choices: hardware.Catalogue.Names(), Open: true,
		Doc: "system of the decode pool, if it differs",
		Ref: func(q *Question) any { return &q.DecodeSystem }},
	{Name: "redundant", For: Plan | Deployed, Low: 0, High: mostRedundant,
		Doc: "redundant experts: extra copies of routed experts",
		As:  map[Command]string{Plan: "redundant experts: tries up to this many, as far as they even out the load or the ranks"},
		Ref: func(q *Question) any { return &q.Redundant }, Idle: noExperts},
	{Name: "drafts", Aliases: []string{"num_nextn_predict_layers", "num-speculative-tokens", "speculative-num-steps"}, For: Plan | Deployed, Low: 0, High: float64(len(workload.DraftAcceptance)), Free: func(q *Question) bool { return q.Acceptance != "" },
		Doc: "draft tokens per decode step (multi-token prediction)",
		As:  map[Command]string{Plan: "draft tokens per decode step (multi-token prediction): tries up to this many"},
		Ref: func(q *Question) any { return &q.Drafts }, Idle: noDrafts},
	{Name: "overlap", For: Plan | Deployed, Choices: append(plan.OverlapNames(), AnyOverlap), Also: plan.OverlapWords(),
		Doc: "overlap of the exchange between experts with computation: " + strings.Join(plan.OverlapNames(), ", ") + " (default off)",
		As:  map[Command]string{Plan: "overlap of the exchange between experts with computation: " + strings.Join(plan.OverlapNames(), ", ") + "; any: the best of them"},
		Ref: func(q *Question) any { return &q.Overlap }, Idle: noExperts},
	{Name: "popularity", Opens: true, For: Plan | Deployed, Choices: starts(popularities), Open: true,
		Doc: "how often experts are visited: uniform, served (as those of DeepSeek-V3 in service), alike (all tokens the same, as one token repeated), zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default: as served, by all ranks alike)",
		Ref: func(q *Question) any { return &q.Popularity }, Idle: balanced},
	{Name: "weights", For: Plan | Deployed | Forward, Choices: number.Words(),
		Doc: "number format of the weights: " + strings.Join(number.Names(), ", ") + " (default: as published, where the system computes it; else bf16)",
		Ref: func(q *Question) any { return &q.Formats.Weights }},
	{Name: "activations", For: Plan | Deployed, Choices: number.ElementWords(),
		Doc: "number format of the activations (default: that of the weights, if the system has a rate for it)",
		Ref: func(q *Question) any { return &q.Formats.Activations }},
	{Name: "cache", Aliases: []string{"kv-cache-dtype"}, For: Plan | Deployed | Forward, Choices: append(number.ElementWords(), "q8_0"),
		Doc: "number format of the KV cache (default: what the engine uses)",
		Ref: func(q *Question) any { return &q.Formats.Cache }},
	{Name: "comm", For: Plan | Deployed, Choices: number.ElementWords(),
		Doc: "number format of communication, except expert dispatch and combine (default bf16)",
		Ref: func(q *Question) any { return &q.Formats.Comm }, Idle: oneProcessor},
	{Name: "dispatch", For: Plan | Deployed | Comm, Choices: number.ElementWords(),
		Doc: "number format of expert dispatch (default fp8 with scales, as the libraries send it)",
		Ref: func(q *Question) any { return &q.Formats.Dispatch }, Idle: dense},
	{Name: "combine", For: Plan | Deployed | Comm, Choices: number.ElementWords(),
		Doc: "number format of expert combine (default bf16)",
		Ref: func(q *Question) any { return &q.Formats.Combine }, Idle: dense},
	{Name: "attention", For: Plan | Deployed, Choices: number.ElementWords(),
		Doc: "number format of attention (default bf16)",
		Ref: func(q *Question) any { return &q.Formats.Attention }},
	{Name: "vector", For: Plan | Deployed, Choices: number.ElementWords(),
		Doc: "number format of the vector unit (default bf16)",
		Ref: func(q *Question) any { return &q.Formats.Vector }},
	{Name: "offload-weights", For: Plan | Deployed, Low: 0, High: 1,
		Doc: "share of the weights in the second memory tier",
		Ref: func(q *Question) any { return &q.Offload.Weights }},
	{Name: "offload-cache", For: Plan | Deployed, Low: 0, High: 1,
		Doc: "share of the KV cache of running requests in the second memory tier, read over the link in every step; engines keep idle blocks there instead: host-cache",
		Ref: func(q *Question) any { return &q.Offload.Cache }},
	{Name: "gpu-layers", Aliases: []string{"n-gpu-layers", "ngl"}, For: Plan | Deployed, Low: 1, High: mostParts, Optional: true,
		Doc: "layers on GPUs, counting the output head as one, with engine llamacpp; the host runs the others (default: all)",
		Ref: func(q *Question) any { return &q.GPULayers }},
	{Name: "assume", For: Plan | Deployed | Forward | Power | CalibratePower | Joules | Steps | Serving | CalibrateServing | Requests | Run, Choices: assume.Presets(), Open: true, Check: func(text string) error { _, err := assume.Parse(text); return err },
		Doc: "modelling assumptions: physical or reference, and changes such as physical,causal=false",
		As:  map[Command]string{Requests: "modelling assumptions of own times: physical or reference, and changes such as physical,causal=false"},
		Ref: func(q *Question) any { return &q.Assume }, Idle: unless(ownTimes, "only own times of steps are estimated")},
	{Name: "set", For: Plan | Deployed | Run, List: Text, Check: func(word string) error { _, err := parseChange(word); return err },
		Doc: "numbers of the files of the system, the model or the engine to change, as PATH=VALUE: sys.mem1.GBps=6000, sys.networks[0].bandwidth=x2 (twice what the file has), model.num_blocks=40; may be repeated",
		Ref: func(q *Question) any { return &q.Changed }},
}
