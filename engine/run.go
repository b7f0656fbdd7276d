package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/deploy"
)

// RunOption is a scheduling option of servers.
type RunOption struct {
	Setting string            // its name among the settings of this program
	Names   map[string]string // by engine
	// Shared are the engines whose value covers all data-parallel ranks of a server, not each.
	Shared []string
	of     func(*deploy.ServerOptions) *int
	off    int // values up to this change nothing
}

// RunOptions that the model of scheduling supports.
var RunOptions = []RunOption{
	{"step-tokens", map[string]string{"sglang": "chunked-prefill-size", "vllm": "max-num-batched-tokens", "trtllm": "max_num_tokens", "llamacpp": "ubatch-size"}, []string{"sglang"},
		func(t *deploy.ServerOptions) *int { return &t.StepTokens }, 0},
	{"max-running-requests", map[string]string{"sglang": "max-running-requests", "vllm": "max-num-seqs", "trtllm": "max_batch_size", "llamacpp": "parallel"}, []string{"sglang"},
		func(t *deploy.ServerOptions) *int { return &t.Sequences }, 0},
	{"poll-steps", map[string]string{"sglang": "scheduler-recv-interval"}, nil,
		func(t *deploy.ServerOptions) *int { return &t.PollSteps }, 1},
	{"wait-steps", map[string]string{"trtllm": "batch_wait_timeout_iters"}, nil,
		func(t *deploy.ServerOptions) *int { return &t.WaitSteps }, 0},
	{"balance-steps", map[string]string{"trtllm": "timeout_iters"}, nil,
		func(t *deploy.ServerOptions) *int { return &t.BalanceSteps }, 0},
	{"captured-batch", map[string]string{"sglang": "cuda-graph-max-bs", "vllm": "max-cudagraph-capture-size", "trtllm": "cuda_graph_max_batch_size"}, nil,
		func(t *deploy.ServerOptions) *int { return &t.Captured }, 0},
	// vLLM has none of its own: graphs of captured-batch tokens hold prompts, too, unless
	// cudagraph_mode is FULL_DECODE_ONLY. That of TensorRT-LLM is a list of sizes.
	{"captured-prompts", map[string]string{"sglang": "piecewise-cuda-graph-max-tokens", "vllm": "captured-prompts", "trtllm": "captured-prompts"}, nil,
		func(t *deploy.ServerOptions) *int { return &t.CapturedPrompts }, 0},
	// vLLM cuts prompts unasked.
	{"chunked-prefill", map[string]string{"sglang": "enable-mixed-chunk", "trtllm": "enable_chunked_prefill"}, nil,
		func(t *deploy.ServerOptions) *int { return &t.ChunkedPrefill }, 0},
}

// MemorySetting is the share of memory that servers take, which each engine counts differently.
const MemorySetting = "memory-share"

// MemoryOptions are its names by engine.
func MemoryOptions() map[string]string {
	out := map[string]string{}
	for _, e := range engines {
		if option := e.Scheduling.Memory.Option; option != "" {
			out[e.Name] = option
		}
	}
	return out
}

// Aliases are the sorted names that engines have for a setting, without its own.
func Aliases(setting string) []string {
	if setting == MemorySetting {
		return slices.Sorted(maps.Values(MemoryOptions()))
	}
	var byEngine map[string]string
	for i := range RunOptions {
		if o := &RunOptions[i]; o.Setting == setting {
			byEngine = o.Names
		}
	}
	for i := range AttentionOptions {
		if o := &AttentionOptions[i]; o.Setting == setting {
			byEngine = o.Names
		}
	}
	names := slices.Sorted(maps.Values(byEngine))
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == setting })
}

// OnlyOf is the engine that alone understands an option name, where another that supports the
// setting has no name for it; so is its name for the share of memory. Empty: others have names of
// their own.
func OnlyOf(name string) string {
	for e, own := range MemoryOptions() {
		if own == name {
			return e
		}
	}
	for i := range RunOptions {
		o := &RunOptions[i]
		if name == o.Setting || !slices.Contains(slices.Collect(maps.Values(o.Names)), o.Setting) {
			continue
		}
		for e, own := range o.Names {
			if own == name {
				return e
			}
		}
	}
	return ""
}

// SharedByRanks reports whether an option counts for all data-parallel ranks of a server together.
func SharedByRanks(name string) bool {
	return slices.ContainsFunc(RunOptions, func(o RunOption) bool {
		return slices.ContainsFunc(o.Shared, func(e string) bool { return o.Names[e] == name })
	})
}

// Exchanges are SGLang's ways to bring tokens to their experts; none gathers them
// (python/sglang/srt/server_args.py, MOE_A2A_BACKEND_CHOICES).
var Exchanges = []string{"none", "deepep", "megamoe", "mooncake", "nixl", "ascend_fuseep", "flashinfer", "mori", "pplx", "ascend_tp"}

// DefaultStepTokens is the default tokens of a step of a data-parallel rank. An engine that divides
// its setting among ranks also divides the default (python/sglang/srt/server_args.py of SGLang:
// "The chunked prefill size is adjusted"). Launch commands always set what was priced.
func (e *Engine) DefaultStepTokens(ranks int) int {
	tokens := e.Scheduling.StepTokens
	for i := range RunOptions {
		if o := &RunOptions[i]; o.Setting == "step-tokens" && slices.Contains(o.Shared, e.Name) {
			tokens = max(1, tokens/max(1, ranks))
		}
	}
	return tokens
}

// unknown are the run options set that the engine lacks, as other engines call them.
func (e *Engine) unknown(t *deploy.ServerOptions) (out []string) {
	if *t == (deploy.ServerOptions{}) || e == Generic {
		return nil
	}
	for i := range RunOptions {
		o := &RunOptions[i]
		if _, has := o.Names[e.Name]; !has && *o.of(t) > o.off {
			out = append(out, fmt.Sprintf("%s (%s)", o.Setting, strings.Join(slices.Sorted(maps.Values(o.Names)), ", ")))
		}
	}
	return out
}
