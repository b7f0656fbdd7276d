package engine

import (
	"fmt"
	"maps"
	"slices"

	"throughline/deploy"
)

// RunOption is what a server may be told of its scheduling.
type RunOption struct {
	Setting string            // its name among the settings of this program
	Names   map[string]string // by engine
	// Shared are the engines that mean all data-parallel ranks of a server by it; others mean each.
	Shared []string
	set    func(*deploy.Told, int)
}

// RunOptions are the options of engines that the model of their scheduling knows.
var RunOptions = []RunOption{
	{"step-tokens", map[string]string{"sglang": "chunked-prefill-size", "vllm": "max-num-batched-tokens", "trtllm": "max_num_tokens"}, []string{"sglang"},
		func(s *deploy.Told, n int) { s.StepTokens = n }},
	{"max-running-requests", map[string]string{"sglang": "max-running-requests", "vllm": "max-num-seqs", "trtllm": "max_batch_size"}, []string{"sglang"},
		func(s *deploy.Told, n int) { s.Sequences = n }},
	{"poll-steps", map[string]string{"sglang": "scheduler-recv-interval"}, nil,
		func(s *deploy.Told, n int) { s.PollSteps = n }},
	{"wait-steps", map[string]string{"trtllm": "batch_wait_timeout_iters"}, nil,
		func(s *deploy.Told, n int) { s.WaitSteps = n }},
	{"balance-steps", map[string]string{"trtllm": "timeout_iters"}, nil,
		func(s *deploy.Told, n int) { s.BalanceSteps = n }},
	{"captured-batch", map[string]string{"sglang": "cuda-graph-max-bs", "vllm": "max-cudagraph-capture-size", "trtllm": "cuda_graph_max_batch_size"}, nil,
		func(s *deploy.Told, n int) { s.Captured = n }},
}

// Aliases are the names that engines have for a setting, sorted, without the setting's own.
func Aliases(setting string) []string {
	for i := range RunOptions {
		if o := &RunOptions[i]; o.Setting == setting {
			names := slices.Sorted(maps.Values(o.Names))
			return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == setting })
		}
	}
	return nil
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
				o.set(t, value)
				return nil
			}
		}
		if o.Setting == name {
			o.set(t, value)
			return nil
		}
	}
	return fmt.Errorf("no engine has an option %q that is modelled", name)
}
