package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"throughline/deploy"
)

// TestAliases: engines have names of their own for a setting, one of which may count all ranks
// together.
func TestAliases(t *testing.T) {
	if got := Aliases("max-running-requests"); !slices.Equal(got, []string{"max-num-seqs", "max_batch_size", "parallel"}) {
		t.Error(got)
	}
	for name, want := range map[string]bool{"chunked-prefill-size": true, "max-running-requests": true, "max_batch_size": false, "step-tokens": false} {
		if SharedByRanks(name) != want {
			t.Errorf("%s counts for all ranks together: %v", name, !want)
		}
	}
}

// TestToldIsLaunched: what servers are told is in what starts them; an engine that has no such
// option does not run it, and the generic one does as it is told.
func TestToldIsLaunched(t *testing.T) {
	for _, c := range []struct {
		told     deploy.ServerOptions
		replicas int
		engine   string
		words    []string
		others   []string
	}{
		{deploy.ServerOptions{PollSteps: 30}, 8, "sglang", []string{"--scheduler-recv-interval 30"}, []string{"vllm", "trtllm"}},
		{deploy.ServerOptions{WaitSteps: 20}, 1, "trtllm", []string{"batch_wait_timeout_iters: 20", "batch_wait_max_tokens_ratio: 1"}, []string{"sglang", "vllm"}},
		{deploy.ServerOptions{BalanceSteps: 50}, 8, "trtllm", []string{"enable_balance: true", "timeout_iters: 50"}, []string{"sglang", "vllm"}},
		{deploy.ServerOptions{ChunkedPrefill: 1}, 1, "trtllm", []string{"enable_chunked_prefill: true"}, []string{"vllm"}},
		{deploy.ServerOptions{ChunkedPrefill: 1}, 1, "sglang", []string{"--enable-mixed-chunk"}, []string{"vllm"}},
		{deploy.ServerOptions{PollSteps: 1, StepTokens: 4096, Sequences: 8}, 8, "vllm", nil, nil},
	} {
		d := exchanging(c.replicas, 8)
		d.ServerOptions = c.told
		l := find(t, c.engine).Launch(&d, &d.Pools[0])
		text := strings.Join(l.Commands, " ") + l.Config
		for _, w := range c.words {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), w) {
				t.Errorf("%s: no %q in\n%s", c.engine, w, text)
			}
		}
		for _, e := range append(All(), Generic) {
			why := strings.Join(e.Refuses(&d, &d.Pools[0]), "; ")
			if refused := strings.Contains(why, "has no option"); refused != slices.Contains(c.others, e.Name) {
				t.Errorf("%s, told %+v: %q", e.Name, c.told, why)
			}
		}
	}
}

// TestReplicasDoNotWait: with data-parallel attention TensorRT-LLM does not let prompts wait for
// others to fill a step.
func TestReplicasDoNotWait(t *testing.T) {
	for replicas, want := range map[int]int{1: 20, 8: 0} {
		d := exchanging(replicas, 8)
		d.ServerOptions.WaitSteps = 20
		e := find(t, "trtllm")
		applied := e.Apply(d)
		if got := applied.Engine.WaitSteps; got != want || strings.Contains(e.Launch(&d, &d.Pools[0]).Config, "batch_wait") != (want > 0) {
			t.Errorf("%d replicas: prompts wait for %d steps, not %d", replicas, got, want)
		}
	}
}

// TestDefaultStepTokens: SGLang divides its chunks among its data-parallel ranks, also where it is
// told nothing; others give each rank all.
func TestDefaultStepTokens(t *testing.T) {
	for name, want := range map[string][2]int{"sglang": {8192, 1024}, "sglang@0.4.8": {8192, 1024}, "vllm": {8192, 8192}, "trtllm": {8192, 8192}} {
		e := find(t, name)
		if got := [2]int{e.DefaultStepTokens(1), e.DefaultStepTokens(8)}; got != want {
			t.Errorf("%s: %d tokens of one rank and of eight, want %d", name, got, want)
		}
	}
}

// TestEveryOptionIsLaunched: each engine starts with every option that it has for a setting, under
// its own name, with the value that a rank is told; for all ranks together where it counts so.
func TestEveryOptionIsLaunched(t *testing.T) {
	const amount = 48
	for i := range RunOptions {
		o := &RunOptions[i]
		layouts := []int{1, 8} // data-parallel ranks
		switch o.Setting {
		case "captured-prompts":
			continue // plan does not take it
		case "wait-steps":
			layouts = []int{1} // several do not wait
		case "balance-steps":
			layouts = []int{8}
		}
		for name, option := range o.Names {
			for _, ranks := range layouts {
				d, value := exchanging(ranks, 8), amount
				if slices.Contains(o.Shared, name) {
					value *= ranks
				}
				*o.of(&d.ServerOptions) = amount
				if d.Pools[0].Plan.Batch.Size = amount; d.ServerOptions.Captured > 0 {
					d.Pools[0].Plan.Batch.Size *= 2
				}
				e := find(t, name)
				d = e.Apply(d)
				l := e.Launch(&d, &d.Pools[0])
				text := strings.Join(strings.Fields(strings.Join(l.Commands, " ")+" "+l.Config), " ")
				text = strings.ReplaceAll(text, "cuda_graph_config: enable_padding: true max_batch_size", "cuda_graph_max_batch_size") // as its flag is called
				given := fmt.Sprint(value)
				switch option {
				case "enable_chunked_prefill":
					given = "true"
				case "enable-mixed-chunk":
					given = "" // a flag
				}
				if !strings.Contains(text, option+" "+given) && !strings.Contains(text, option+": "+given) {
					t.Errorf("%s, %d ranks: no %s of %s in %s", name, ranks, option, given, text)
				}
			}
		}
	}
}

// TestStepsHoldTheirSequences: where prompts share steps with decodes, no more sequences run than a
// step that is told its tokens holds, each with its draft. SGLang's limit is one of prompts alone.
func TestStepsHoldTheirSequences(t *testing.T) {
	for name, want := range map[string]int{"vllm": 32, "trtllm": 32, "sglang": 48 / 8} { // 48 of a server of SGLang with drafts
		d := exchanging(8, 8)
		d.Assume.Engine, d.ServerOptions.StepTokens, d.Pools[0].Plan.Drafts = true, 64, 1
		e := find(t, name)
		if got := e.Apply(d).Engine.Sequences; got != want {
			t.Errorf("%s: %d sequences in steps of 64 tokens, not %d", name, got, want)
		}
		if d.ServerOptions.StepTokens = 0; e.Apply(d).Engine.Sequences != e.launched(&d).Sequences {
			t.Errorf("%s: steps that are told nothing bound sequences", name)
		}
	}
}

// TestChunkedPrefill: TensorRT-LLM waits until a step has room for a complete prompt unless it is
// told to cut them.
func TestChunkedPrefill(t *testing.T) {
	for engine, untold := range map[string]deploy.Policy{"trtllm": deploy.Prompts, "sglang": deploy.First} {
		s := find(t, engine).Scheduling.Scheduling
		for told, want := range map[int]deploy.Policy{0: untold, 1: deploy.Chunks} {
			if got := (&deploy.ServerOptions{ChunkedPrefill: told}).Of(s).Prefill; got != want {
				t.Errorf("%s, chunked-prefill %d: %s, want %s", engine, told, got, want)
			}
		}
	}
}
