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
	set     func(*deploy.Scheduling, int)
}

// RunOptions are the options of engines that the model of their scheduling knows.
var RunOptions = []RunOption{
	{"step-tokens", map[string]string{"sglang": "chunked-prefill-size", "vllm": "max-num-batched-tokens", "trtllm": "max_num_tokens"},
		func(s *deploy.Scheduling, n int) { s.StepTokens = n }},
	{"max-running-requests", map[string]string{"sglang": "max-running-requests", "vllm": "max-num-seqs", "trtllm": "max_batch_size"},
		func(s *deploy.Scheduling, n int) { s.Sequences = n }},
	{"poll-steps", map[string]string{"sglang": "scheduler-recv-interval"},
		func(s *deploy.Scheduling, n int) { s.PollSteps = n }},
	{"wait-steps", map[string]string{"trtllm": "batch_wait_timeout_iters"},
		func(s *deploy.Scheduling, n int) { s.WaitSteps = n }},
	{"balance-steps", map[string]string{"trtllm": "timeout_iters"},
		func(s *deploy.Scheduling, n int) { s.BalanceSteps = n }},
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

// Tell sets an option of a run by one of its names: the setting's, or that of any engine, with dashes or underscores.
func Tell(s *deploy.Scheduling, name string, value int) error {
	plain := func(n string) string { return strings.ReplaceAll(n, "_", "-") }
	for i := range RunOptions {
		o := &RunOptions[i]
		if o.Setting == name || slices.Contains(slices.Collect(maps.Values(o.Names)), name) || slices.ContainsFunc(slices.Collect(maps.Values(o.Names)), func(n string) bool { return plain(n) == plain(name) }) {
			o.set(s, value)
			return nil
		}
	}
	return fmt.Errorf("no engine has an option %q that is modelled", name)
}
