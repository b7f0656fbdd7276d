package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/deploy"
)

// RunOption is what a server may be told of its scheduling.
type RunOption struct {
	Setting string            // its name among the settings of this program
	Names   map[string]string // by engine
	// Shared are the engines that mean all data-parallel ranks of a server by it; others mean each.
	Shared []string
	of     func(*deploy.Told) *int
	off    int // up to this it asks for nothing that others do not do
}

// RunOptions are the options of engines that the model of their scheduling knows.
var RunOptions = []RunOption{
	{"step-tokens", map[string]string{"sglang": "chunked-prefill-size", "vllm": "max-num-batched-tokens", "trtllm": "max_num_tokens"}, []string{"sglang"},
		func(t *deploy.Told) *int { return &t.StepTokens }, 0},
	{"max-running-requests", map[string]string{"sglang": "max-running-requests", "vllm": "max-num-seqs", "trtllm": "max_batch_size"}, []string{"sglang"},
		func(t *deploy.Told) *int { return &t.Sequences }, 0},
	{"poll-steps", map[string]string{"sglang": "scheduler-recv-interval"}, nil,
		func(t *deploy.Told) *int { return &t.PollSteps }, 1},
	{"wait-steps", map[string]string{"trtllm": "batch_wait_timeout_iters"}, nil,
		func(t *deploy.Told) *int { return &t.WaitSteps }, 0},
	{"balance-steps", map[string]string{"trtllm": "timeout_iters"}, nil,
		func(t *deploy.Told) *int { return &t.BalanceSteps }, 0},
	{"captured-batch", map[string]string{"sglang": "cuda-graph-max-bs", "vllm": "max-cudagraph-capture-size", "trtllm": "cuda_graph_max_batch_size"}, nil,
		func(t *deploy.Told) *int { return &t.Captured }, 0},
	// vLLM has no option of its own for it: graphs of captured-batch tokens hold prompts, too, unless cudagraph_mode is FULL_DECODE_ONLY.
	{"captured-prompts", map[string]string{"sglang": "piecewise-cuda-graph-max-tokens", "vllm": "captured-prompts"}, nil,
		func(t *deploy.Told) *int { return &t.CapturedPrompts }, 0},
}

// MemorySetting is the setting of the share of the memory that servers take. Each engine counts something else by it, under a
// name of its own.
const MemorySetting = "memory-share"

// MemoryOptions are the names of engines for it, by engine.
func MemoryOptions() map[string]string {
	out := map[string]string{}
	for _, e := range engines {
		out[e.Name] = e.Scheduling.Memory.Option
	}
	return out
}

// Aliases are the names that engines have for a setting, sorted, without the setting's own.
func Aliases(setting string) []string {
	if setting == MemorySetting {
		return slices.Sorted(maps.Values(MemoryOptions()))
	}
	for i := range RunOptions {
		if o := &RunOptions[i]; o.Setting == setting {
			names := slices.Sorted(maps.Values(o.Names))
			return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == setting })
		}
	}
	for i := range AttentionOptions {
		if o := &AttentionOptions[i]; o.Setting == setting {
			names := slices.Sorted(maps.Values(o.Names))
			return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == setting })
		}
	}
	return nil
}

// OnlyOf is the engine whose option a name is, where another that can be told the same has no option for it: such a name is understood
// by that engine alone. So is its name for the share of the memory. Empty: others have names of their own for it, which mean the same.
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

// Tell sets an option of a run by one of its names: that of any engine, of which some mean all data-parallel ranks of a server
// together, or the setting's, which means each of them.
func Tell(t *deploy.Told, name string, value, ranks int) error {
	for i := range RunOptions {
		o := &RunOptions[i]
		for _, e := range slices.Sorted(maps.Keys(o.Names)) {
			if o.Names[e] == name {
				if slices.Contains(o.Shared, e) {
					value = max(1, value/max(1, ranks))
				}
				*o.of(t) = value
				return nil
			}
		}
		if o.Setting == name {
			*o.of(t) = value
			return nil
		}
	}
	return fmt.Errorf("no engine has an option %q that is modelled", name)
}

// UntoldTokens is the tokens of a step of a data-parallel rank of a server that is told nothing. An engine that divides among its ranks
// what it is told does so with what it has by itself, too (python/sglang/srt/server_args.py of SGLang: "The chunked prefill size is
// adjusted"). Launch commands do tell: what was priced.
func (e *Engine) UntoldTokens(ranks int) int {
	tokens := e.Scheduling.StepTokens
	for i := range RunOptions {
		if o := &RunOptions[i]; o.Setting == "step-tokens" && slices.Contains(o.Shared, e.Name) {
			tokens = max(1, tokens/max(1, ranks))
		}
	}
	return tokens
}

// unknown are the options of a run that a server is told and that the engine has not got, as the engines call them that have.
func (e *Engine) unknown(t *deploy.Told) (out []string) {
	if *t == (deploy.Told{}) || e == Generic {
		return nil
	}
	for i := range RunOptions {
		o := &RunOptions[i]
		if _, knows := o.Names[e.Name]; !knows && *o.of(t) > o.off {
			out = append(out, fmt.Sprintf("%s (%s)", o.Setting, strings.Join(slices.Sorted(maps.Values(o.Names)), ", ")))
		}
	}
	return out
}
