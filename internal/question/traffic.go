package question

import (
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/plan"
	"throughline/workload"
)

// Traffic is what is asked about requests besides their lengths, and how a simulation schedules
// them. The closed form uses means. A number of 0 stands for the engine's default.
type Traffic struct {
	deploy.ServerOptions // in place of the defaults of the engine

	Requests     int
	Rate         float64 // requests per second; +Inf: all at once
	Arrival      string  // as workload.ParseArrival reads it
	Ratio        float64 // of the least to the largest length; 1: as the distribution says
	Groups       int     // of requests that share a prefix
	SharedTokens int     // of that prefix
	Turns        int
	Think        float64 // seconds
	Trace        string  // file

	Replicas      int
	Routing       string
	Policy        string
	CacheTokens   int
	Cold          bool
	BlockTokens   int
	MaxContext    int // 0: what the model takes
	PrefixCache   bool
	HostGiB       float64 // of a rank, for idle blocks of the prefix cache
	SwapGBps      float64 // 0: computed again
	StepsAhead    int     // -1: as the engine has them
	StepTimes     string  // file
	TTFT, TPOT    string  // as workload.ParseLimit reads them
	MaxRate       bool
	Seed          int
	TimelineEvery float64 // seconds
}

// Service is the question for the deployment that serves the traffic, at these mean lengths. Its
// batch is the smallest possible, since arrivals decide; two micro-batches need two sequences.
func (q *Question) Service(n workload.Lengths) Question {
	out := *q
	out.Input, out.Output, out.Distribution, out.Batch = n.Input, n.Output, "", 1
	if o, _ := plan.FindOverlap(q.Overlap); o == plan.TwoBatch || strings.Contains(q.DecodePlan, plan.TwoBatch.Word()) {
		out.Batch = 2
	}
	out.Traffic = Default().Traffic
	out.Traffic.ServerOptions = q.Traffic.ServerOptions
	return out
}

// toldNothing: who serves clients behind an engine can be told how to schedule them.
var toldNothing = either(engineNotAssumed, bareStep)

// Policies are those of the prefill, by their names here.
var Policies = []struct {
	Name string
	Is   deploy.Policy
}{{"prefill-first", deploy.First}, {"chunked", deploy.Chunks}, {"whole-prompts", deploy.Prompts}}

func policyNames() (out []string) {
	for _, p := range Policies {
		out = append(out, p.Name)
	}
	return out
}

func checkLimit(text string) error { _, err := workload.ParseLimit(text); return err }

// ofTraffic are the settings of a simulation besides those of its deployment.
var ofTraffic = []Setting{
	{Name: "num-prompts", For: Simulate, Low: 1, High: mostPrompts,
		Doc: "requests; conversations where these have several turns (of a trace: all, unless given)",
		Ref: func(q *Question) any { return &q.Traffic.Requests }},
	{Name: "rate", Aliases: []string{"request-rate"}, For: Simulate | Runs, Low: leastRate, High: mostRate, Infinite: true, Unit: "requests/s",
		Doc: "requests per second, or inf for all at once; of a trace, the mean rate it is played at",
		Ref: func(q *Question) any { return &q.Traffic.Rate }, Idle: unless(givenRate, "max-rate finds the rate")},
	{Name: "arrival", Aliases: []string{"arrivals"}, For: Drawn, Choices: []string{"poisson", "gamma:", "constant", "bursts:"}, Open: true,
		Check: func(text string) error { _, err := workload.ParseArrival(text); return err },
		Doc:   "how requests come: poisson, gamma:CV, constant or bursts:N",
		Ref:   func(q *Question) any { return &q.Traffic.Arrival },
		Idle:  either(closedLoop, drawnRequests, unless(finiteRate, "at an infinite rate all requests come at once"))},
	{Name: "random-range-ratio", For: Drawn, Low: 0, High: 1,
		Doc: "lengths are spread evenly from this share of isl and osl to all of them, as in sglang.bench_serving; 1: fixed",
		Ref: func(q *Question) any { return &q.Traffic.Ratio }, Idle: drawnRequests},
	{Name: "gsp-num-groups", For: Drawn, Low: 1, High: mostPrompts, Optional: true,
		Doc: "groups of requests that share a prefix",
		Ref: func(q *Question) any { return &q.Traffic.Groups }, Idle: either(drawnRequests, unless(keptPrompts, "without prefix-cache no prompt is kept"))},
	{Name: "gsp-system-prompt-len", For: Drawn, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "tokens of the prefix that a group shares, besides isl",
		Ref: func(q *Question) any { return &q.Traffic.SharedTokens }, Idle: drawnRequests},
	{Name: "turns", For: Drawn, Low: 1, High: mostSteps,
		Doc: "turns of a conversation, each prompt being all that was said before and isl tokens more",
		Ref: func(q *Question) any { return &q.Traffic.Turns }, Idle: drawnRequests},
	{Name: "think-time", For: Simulate | Plan, Low: 0, High: mostSeconds, Unit: seconds,
		Doc: "time from an answer to the next turn, like 2s; a bare number is seconds",
		Ref: func(q *Question) any { return &q.Traffic.Think }, Idle: either(closedLoop, drawnRequests, unless(turns, "a conversation has one turn"))},
	{Name: "trace", Opens: true, For: Drawn,
		Doc: "file of requests in place of drawn ones: Mooncake (JSON lines), Azure or Vidur (CSV); plain or .gz. Arrivals and shared prefixes count in simulate and, with limits of percentiles, in plan; lengths everywhere",
		Ref: func(q *Question) any { return &q.Traffic.Trace }},
	{Name: "replicas", For: Served, Low: 1, High: mostParts,
		Doc: "copies of the deployment",
		Ref: func(q *Question) any { return &q.Traffic.Replicas }},
	{Name: "routing", For: Served | Plan, Choices: deploy.Routings,
		Doc: "which replica gets a request: round-robin, least-loaded or prefix-aware",
		Ref: func(q *Question) any { return &q.Traffic.Routing }, Idle: either(closedLoop, unless(several, "there is one replica"))},
	{Name: "policy", For: Served, Choices: policyNames(),
		Doc: "prompts and decodes in steps: prefill-first, chunked or whole-prompts (default: the engine's)",
		Ref: func(q *Question) any { return &q.Traffic.Policy }},
	{Name: "step-tokens", Aliases: engine.Aliases("step-tokens"), For: Plan | Deployed, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "tokens that a step may hold (default: the engine's)",
		Ref: func(q *Question) any { return &q.Traffic.StepTokens }, Idle: toldNothing},
	{Name: "max-running-requests", Aliases: engine.Aliases("max-running-requests"), For: Plan | Deployed, Low: 1, High: mostTokens, Optional: true,
		Doc: "requests of a rank at a time (default: the engine's, which may be fewer with drafts)",
		As:  map[Command]string{Plan: "requests of a rank at a time, at most (default: as many as fill the batch)"},
		Ref: func(q *Question) any { return &q.Traffic.Sequences }, Idle: toldNothing},
	{Name: engine.MemorySetting, Aliases: engine.Aliases(engine.MemorySetting), For: Plan | Deployed, Low: 0, Above: true, High: 1, Optional: true,
		Doc: "share of the memory that servers take, in what the engine counts (default: what it takes by itself; of two pools, as assumed)",
		As:  map[Command]string{Plan: "share of the memory that servers are told to take, in what the engine counts (default: as assumed)"},
		Ref: func(q *Question) any { return &q.Traffic.MemoryShare }, Idle: engineNotAssumed},
	{Name: "kv-tokens", For: Served, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "tokens that the KV cache of a rank holds (default: what memory has room for)",
		Ref: func(q *Question) any { return &q.Traffic.CacheTokens }},
	{Name: "cold", For: Estimate | Simulate,
		Doc: "as a benchmark: all clients start at once on servers that have just started (default: all have been at it for long)",
		As:  map[Command]string{Estimate: "add the TTFT of a benchmark whose clients all start at once on servers that have just started"},
		Ref: func(q *Question) any { return &q.Traffic.Cold }},
	{Name: "block-size", For: Served, Low: 1, High: mostTokens, Unit: "tokens",
		Doc: "tokens of a block of the KV cache",
		Ref: func(q *Question) any { return &q.Traffic.BlockTokens }},
	{Name: "max-context", For: Served, Low: 2, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "tokens of a prompt and its output that the model takes (default: the model's)",
		Ref: func(q *Question) any { return &q.Traffic.MaxContext }},
	{Name: "prefix-cache", For: Plan | Deployed,
		Doc: "blocks of prompts are kept for others that begin alike",
		Ref: func(q *Question) any { return &q.Traffic.PrefixCache }, Idle: but(Emulate, either(recordedPrompts, unless(sharedPrompts, "no prompts begin alike: see turns and gsp-num-groups")))},
	{Name: "host-cache", For: Served, Low: 0, High: mostGBps, Unit: "GiB",
		Doc: "memory of the host for each data-parallel rank in which idle blocks of the prefix cache stay, to be loaded on a hit, as LMCache, HiCache and vLLM's connectors do",
		Ref: func(q *Question) any { return &q.Traffic.HostGiB }, Idle: unless(func(l *Loaded) bool { return l.Traffic.PrefixCache && l.Decode.Memory2 != nil }, "it keeps blocks of a prefix cache, over the link to a second memory tier (mem2): see prefix-cache")},
	{Name: "swap-gbps", For: Served, Low: leastGBps, Optional: true, High: mostGBps, Unit: "GB/s",
		Doc: "who has to make room in the cache is swapped out over a link of so many GB/s (default: computed again)",
		Ref: func(q *Question) any { return &q.Traffic.SwapGBps }},
	{Name: "steps-ahead", For: Served, Low: -1, High: mostSteps,
		Doc: "steps that are scheduled before the one under way has ended; -1: the engine's",
		Ref: func(q *Question) any { return &q.Traffic.StepsAhead }},
	{Name: "poll-steps", Aliases: engine.Aliases("poll-steps"), For: Plan | Deployed, Low: 1, High: mostSteps, Optional: true,
		Doc: "steps between two looks for new requests (default: the engine's)",
		Ref: func(q *Question) any { return &q.Traffic.PollSteps }, Idle: either(toldNothing, onePhase)},
	{Name: "wait-steps", Aliases: engine.Aliases("wait-steps"), For: Plan | Deployed, Low: 0, High: mostSteps,
		Doc: "steps for which prompts wait for others to fill a step, while others decode",
		Ref: func(q *Question) any { return &q.Traffic.WaitSteps }, Idle: either(toldNothing, onePhase, but(Plan, replicas))},
	{Name: "balance-steps", Aliases: engine.Aliases("balance-steps"), For: Plan | Deployed, Low: 0, High: mostSteps,
		Doc: "steps for which the data-parallel ranks of experts wait until each of them has a prompt",
		Ref: func(q *Question) any { return &q.Traffic.BalanceSteps }, Idle: either(toldNothing, onePhase, but(Plan, oneReplica))}, // a plan finds out how many there are
	{Name: "captured-batch", Aliases: engine.Aliases("captured-batch"), For: Plan | Deployed, Low: 1, High: mostTokens, Optional: true,
		Doc: "sequences (vLLM: tokens) of the largest decode step of a rank that is captured as a graph; the host launches the operators of longer ones (default: all are captured)",
		Ref: func(q *Question) any { return &q.Traffic.Captured }, Idle: toldNothing},
	{Name: "captured-prompts", Aliases: engine.Aliases("captured-prompts"), For: Deployed, Low: 1, High: mostTokens, Optional: true,
		Doc: "tokens of the largest step with prompts of a rank that is captured as a graph; the host launches the operators of longer ones (default: the engine's)",
		Ref: func(q *Question) any { return &q.Traffic.CapturedPrompts }, Idle: toldNothing},
	{Name: "chunked-prefill", Aliases: engine.Aliases("chunked-prefill"), For: Deployed, Low: 0, High: 1,
		Doc: "1: TensorRT-LLM cuts prompts to fill a step, and SGLang lets them share steps with decodes, as vLLM does unasked",
		Ref: func(q *Question) any { return &q.Traffic.ChunkedPrefill }, Idle: toldNothing},
	{Name: "attention-backend", Aliases: engine.Aliases("attention-backend"), For: Plan | Deployed, Choices: engine.AllAttentionNames(), Open: true, Check: engine.CheckAttention,
		Doc: "kernels of attention, by the engine's own name or what all engines call them: fa3, flashinfer, triton, trtllm-gen (default: the engine's)",
		Ref: func(q *Question) any { return &q.Traffic.Attention }, Idle: engineNotAssumed},
	{Name: "prefill-attention-backend", For: Plan | Deployed, Choices: engine.AllAttentionNames(), Open: true, Check: engine.CheckAttention,
		Doc: "those of prefill (default: attention-backend)",
		Ref: func(q *Question) any { return &q.Traffic.PrefillAttention }, Idle: engineNotAssumed},
	{Name: "decode-attention-backend", For: Plan | Deployed, Choices: engine.AllAttentionNames(), Open: true, Check: engine.CheckAttention,
		Doc: "those of decode (default: attention-backend)",
		Ref: func(q *Question) any { return &q.Traffic.DecodeAttention }, Idle: engineNotAssumed},
	{Name: "step-times", Opens: true, For: Served,
		Doc: "CSV table of measured steps in place of estimated ones: n_decode, sum_ctx, prefill_tokens, prefill_seqs, past_per_seq, wall_ms",
		Ref: func(q *Question) any { return &q.Traffic.StepTimes }},
	{Name: "ttft", For: Simulate, Check: checkLimit, Unit: milliseconds,
		Doc: "limit on the time to the first token, like p99:2s; a bare number is milliseconds, of p99",
		Ref: func(q *Question) any { return &q.Traffic.TTFT }},
	{Name: "tpot", For: Simulate, Check: checkLimit, Unit: milliseconds,
		Doc: "limit on the time per output token, like p95:50ms",
		Ref: func(q *Question) any { return &q.Traffic.TPOT }},
	{Name: "max-rate", For: Simulate,
		Doc: "find the highest rate at which the limits hold and the queue does not grow",
		Ref: func(q *Question) any { return &q.Traffic.MaxRate }},
	{Name: "seed", For: Served | Plan | Runs, Low: 0, High: mostSeed,
		Doc: "of the random numbers",
		Ref: func(q *Question) any { return &q.Traffic.Seed }, Idle: but(Emulate, either(closedLoop, unless(chance, "nothing is drawn at random")))},
	{Name: "timeline-every", For: Simulate, Low: leastInterval, High: mostSeconds, Unit: seconds,
		Doc: "an interval of timeline-out, like 500ms; a bare number is seconds",
		Ref: func(q *Question) any { return &q.Traffic.TimelineEvery }},
}
