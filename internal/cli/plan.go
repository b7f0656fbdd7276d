package cli

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/document"
	"throughline/internal/report"
	"throughline/internal/scenario"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// planOptions are the flags of the plan command.
type planOptions struct {
	scenario   scenario.Scenario
	ttft, tpot float64
	prefixHit  float64
	advice     advice.Options
	mode       string
	objective  string
	engine     string
	redundant  int
	drafts     int
	overlap    string
	json       bool
}

func newPlan(s Streams) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan --model M --system S --gpus N",
		Short: "Find what to launch: the best deployments of a model on a number of processors",
		Long: `Plan searches the deployments of a model, aggregated (the same processors do prefill and
decode) and disaggregated (two pools), behind the engines that can run them: SGLang, vLLM
and TensorRT-LLM. It ranks them by what clients see under a closed loop that fills their
batches, shows the frontier between the speed a user sees and the throughput of a
processor, and prints the launch arguments of the winner.

A model or system is a built-in name (throughline models, throughline systems) or a file.`,
		Example: `  throughline plan --model deepseek_v3_flash_mla_absorb --system H200 --gpus 32 --isl 4000 --osl 1000 --tpot 50 --weights fp8
  throughline plan --model qwen3_32b_flash --system H100_SXM --gpus 8 --mode agg --engine vllm
  throughline plan --model llama_3_70b --system H100_SXM --gpus 16 --objective min-gpus --rate 5 --ttft 2000
  throughline plan --model llama_3_8b --system L40S --gpus 4 --price 1.2 --power 350 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return planFor(cmd.Context(), s, &o) },
	}
	f := cmd.Flags()
	addScenarioFlags(cmd, &o.scenario)
	f.StringVar(&o.scenario.DecodeSystem, "decode-system", "", "system of the decode pool, if it differs")
	f.IntVar(&o.advice.GPUs, "gpus", 0, "processors (required)")
	f.IntVar(&o.advice.GPUsPerNode, "gpus-per-node", 8, "processors of one node; instances fill whole nodes or divide one")
	f.Float64Var(&o.ttft, "ttft", 0, "limit on the time to the first token in ms; 0: none")
	f.Float64Var(&o.tpot, "tpot", 0, "limit on the time per output token in ms; 0: none")
	f.Float64Var(&o.prefixHit, "prefix-hit", 0, "share of the input tokens whose keys and values are cached")
	f.StringVar(&o.mode, "mode", string(advice.Both), "agg, disagg or both")
	f.StringVar(&o.objective, "objective", string(advice.Throughput), "throughput, cost, latency or min-gpus")
	f.Float64Var(&o.advice.Rate, "rate", 0, "requests per second to serve, for --objective min-gpus")
	f.StringVar(&o.engine, "engine", engine.Any, "sglang, vllm or trtllm; any: the best of those that can run a deployment; none: a generic one, which runs everything")
	f.IntVar(&o.redundant, "redundant", 32, "redundant experts, tried up to this number and two more on a rank than it must hold")
	f.IntVar(&o.drafts, "drafts", 0, "tokens drafted per decode step, tried up to this number")
	f.StringVar(&o.overlap, "overlap", anyOverlap, "how the exchange between experts hides behind computation: "+strings.Join(plan.OverlapNames(), ", ")+"; any: the best of them")
	f.IntVar(&o.advice.Top, "top", 5, "deployments to rank")
	f.Float64Var(&o.advice.PerHour, "price", 0, "dollars per processor and hour")
	f.Float64Var(&o.advice.Watts, "power", 0, "watts of a processor")
	f.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	f.IntVarP(&o.advice.Workers, "jobs", "j", runtime.GOMAXPROCS(0), "processors of this machine to use")
	return cmd
}

// anyOverlap stands for the best overlap of a deployment.
const anyOverlap = "any"

// addScenarioFlags adds the flags that name a model, a system and how they meet.
func addScenarioFlags(cmd *cobra.Command, sc *scenario.Scenario) {
	f := cmd.Flags()
	formats := strings.Join(scenario.FormatNames(), ", ")
	f.StringVarP(&sc.Model, "model", "m", "", "model: a built-in name or a file (required)")
	f.StringVarP(&sc.System, "system", "s", "", "system: a built-in name or a file (required)")
	f.IntVar(&sc.Lengths.Input, "isl", 1024, "input tokens of a request")
	f.IntVar(&sc.Lengths.Output, "osl", 1024, "output tokens of a request")
	f.StringVar(&sc.Formats.Weights, "weights", "", "number format of the weights: "+formats+" (default bf16)")
	f.StringVar(&sc.Formats.Activations, "activations", "", "of the activations in matrix products (default that of the weights, if the system computes in it)")
	f.StringVar(&sc.Formats.Cache, "cache", "", "of the KV cache (default: what the engine does)")
	f.StringVar(&sc.Formats.Comm, "comm", "", "of communication (default bf16)")
	f.StringVar(&sc.Formats.Attention, "attention", "", "of the products of attention (default bf16)")
	f.StringVar(&sc.Distribution, "lengths", "", "how lengths are spread: fixed, uniform:R, lognormal:S or trace:FILE (default fixed)")
	f.Float64Var(&sc.Offload.Weights, "offload-weights", 0, "share of the weights in the second memory tier")
	f.Float64Var(&sc.Offload.Cache, "offload-cache", 0, "share of the KV cache in the second memory tier")
	f.StringVar(&sc.Popularity, "popularity", "", "how often experts are visited: uniform, zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default: as assumed)")
	f.StringVar(&sc.Assume, "assume", "physical", "modelling assumptions: physical or reference, and changes like physical,causal=false")
}

// Bounds of the flags: beyond what anyone deploys, within what the search holds in memory.
const (
	maxGPUs      = 100_000
	maxRedundant = 10_000
	maxTop       = 1_000
	maxJobs      = 4_096
)

// check turns the words of the flags into options; all problems at once.
func (o *planOptions) check() error {
	var errs []error
	note := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	oneOf := func(flag, value string, allowed ...string) {
		for _, a := range allowed {
			if a == value {
				return
			}
		}
		note("%s: %s", flag, document.NotOneOf(value, allowed))
	}
	oneOf("--mode", o.mode, string(advice.Aggregated), string(advice.Disaggregated), string(advice.Both))
	oneOf("--objective", o.objective, string(advice.Throughput), string(advice.Cost), string(advice.Latency), string(advice.MinGPUs))
	o.advice.Mode, o.advice.Objective = advice.Mode(o.mode), advice.Objective(o.objective)
	for _, f := range []struct {
		flag             string
		value, low, high int
	}{
		{"--gpus", o.advice.GPUs, 1, maxGPUs}, {"--gpus-per-node", o.advice.GPUsPerNode, 1, maxGPUs},
		{"--redundant", o.redundant, 0, maxRedundant}, {"--drafts", o.drafts, 0, len(workload.DraftAcceptance)},
		{"--top", o.advice.Top, 1, maxTop}, {"--jobs", o.advice.Workers, 1, maxJobs},
	} {
		if f.value < f.low || f.value > f.high {
			note("%s must be from %d to %d, not %d", f.flag, f.low, f.high, f.value)
		}
	}
	if o.ttft < 0 || o.tpot < 0 || o.advice.PerHour < 0 || o.advice.Watts < 0 {
		note("--ttft, --tpot, --price and --power must not be negative")
	}
	if o.prefixHit < 0 || o.prefixHit >= 1 {
		note("--prefix-hit must be at least 0 and less than 1, not %g", o.prefixHit)
	}
	if o.advice.Objective == advice.MinGPUs && o.advice.Rate <= 0 {
		note("--objective min-gpus needs --rate, the requests per second to serve")
	}
	if o.advice.Objective == advice.Cost && o.advice.PerHour == 0 {
		note("--objective cost needs --price, the dollars per processor and hour")
	}
	if overlap, ok := plan.FindOverlap(o.overlap); ok {
		o.advice.Overlaps = []plan.Overlap{overlap}
	} else {
		oneOf("--overlap", o.overlap, append(plan.OverlapNames(), anyOverlap)...)
		o.advice.Overlaps = []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}
	}
	var err error
	if o.advice.Engines, err = engine.Choices(o.engine); err != nil {
		note("--engine: %v", err)
	}
	return document.Join(errs...)
}

func planFor(ctx context.Context, s Streams, o *planOptions) error {
	wrong := o.check()
	sc := &o.scenario
	if o.ttft > 0 {
		sc.Limits.TTFT = &o.ttft
	}
	if o.tpot > 0 {
		sc.Limits.TPOT = &o.tpot
	}
	sc.Lengths.Cached = int(o.prefixHit * float64(sc.Lengths.Input))
	o.advice.Redundant, o.advice.Drafts = search.Range{High: o.redundant}, search.Range{High: o.drafts}
	loaded, err := sc.Load()
	if err := document.Join(wrong, err); err != nil {
		return err
	}
	warn(s, loaded.Warnings)
	got, err := advice.Give(ctx, loaded, o.advice)
	if err != nil {
		return err
	}
	if o.json {
		err = report.AdviceJSON(s.data, loaded, &o.advice, got)
	} else {
		err = report.Advice(s.Out, loaded, &o.advice, got)
	}
	if err != nil {
		return systemError{err}
	}
	if len(got.Ranked) == 0 {
		for _, r := range got.Reasons {
			fmt.Fprintln(s.Err, "no plan:", r)
		}
		return exitError{exitNoPlan}
	}
	return nil
}
