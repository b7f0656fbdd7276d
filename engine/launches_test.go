package engine

import (
	"strings"
	"testing"

	"throughline/assume"
	"throughline/deploy"
	"throughline/internal/test/builtin"
	"throughline/op"
	"throughline/plan"
)

// callsOf is the calls of all layers of a model with a prompt of 1,024 tokens on two ranks of an
// H200.
func callsOf(t *testing.T, name, shape, weights string) float64 {
	t.Helper()
	m, set := builtin.Model(t, shape)
	sys := builtin.System(t, "H200")
	precision, _, err := deploy.Formats{Weights: weights}.Resolve(m, sys)
	if err != nil {
		t.Fatal(err)
	}
	d := find(t, name).Apply(deploy.Deployment{Model: m, Precision: precision, Assume: &assume.Physical, Pools: []deploy.Pool{{
		Role: deploy.Both, System: sys, Count: 1,
		Plan: plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 2, DP: 1}, SharedPerCard: true, Pipelined: true},
			Batch:  plan.Batch{Count: 1, Size: 1},
		},
	}}})
	p := d.Pools[0].Plan
	l := op.NewLowerer(m, set, &d.Precision, &assume.Physical)
	var step op.Step
	var list op.List
	l.Add(&step, &op.Group{Phase: op.Prefill, Sequences: 1, New: 1024, Context: 1024, Ends: true})
	l.Stage(&p, &step, &list)
	return list.Launched(p.Launches)
}

// TestCalls: of a layer of Llama a host calls norm, qkv, positions, cache, attention, projection,
// all-reduce, norm, gate and up, activation, down and all-reduce, 12; TensorRT-LLM has the
// all-reduces in the norms, positions and cache in attention, 8. Qwen3-MoE has norms of queries and
// of keys in place of a dense block, and of experts the router, the choice, the sorting,
// quantisation before two products, these, the activation and the sum; blocks are quantised before
// projections unless a norm does so.
func TestCalls(t *testing.T) {
	for _, c := range []struct {
		engine, model, weights string
		layers, calls          float64
	}{
		{"vllm", "Llama-3.1-70B", "bf16", 80, 12},
		{"sglang", "Llama-3.1-70B", "bf16", 80, 12},
		{"trtllm", "Llama-3.1-70B", "bf16", 80, 8},
		{"vllm", "Qwen3-235B-A22B", "fp8_block", 94, 9 + 1 + 2 + 9},
		{"sglang", "Qwen3-235B-A22B", "fp8_block", 94, 9 + 2 + 2 + 9},
		{"trtllm", "Qwen3-235B-A22B", "fp8_block", 94, 5 + 2 + 1 + 4},
	} {
		if got := callsOf(t, c.engine, c.model, c.weights) / c.layers; got != c.calls {
			t.Errorf("%s: %g calls of a layer of %s, want %g", c.engine, got, c.model, c.calls)
		}
	}
}

// TestShared: SGLang has the shared expert of DeepSeek-V3 among the routed ones unless these lie on
// several ranks, on AMD's chips even then; that of others is apart. vLLM has none among them.
func TestShared(t *testing.T) {
	for _, c := range []struct {
		engine, model, system string
		ep                    int
		apart                 bool
		beside                int
	}{
		{"sglang", "DeepSeek-V3", "H200", 1, false, 0},
		{"sglang", "DeepSeek-V3", "H200", 8, false, 512},
		{"sglang", "DeepSeek-V3", "MI300X", 8, false, 0},
		{"sglang", "GLM-5", "MI355X", 1, true, 0},
		{"sglang", "GLM-5", "B200", 1, false, 512},
		{"sglang", "Kimi-K2-Instruct", "H200", 1, false, 512},
		{"sglang", "Qwen3.5-397B-A17B", "H200", 1, false, 512},
		{"vllm", "DeepSeek-V3", "H200", 1, false, 256},
		{"vllm", "DeepSeek-V3", "MI300X", 1, false, 0},
		{"trtllm", "DeepSeek-V3", "H200", 1, false, 0},
	} {
		m, _ := builtin.Model(t, c.model)
		u := &unit{Deployment: &deploy.Deployment{}, Shape: m, ep: c.ep}
		if apart, beside := find(t, c.engine).Scheduling.shared(u, builtin.System(t, c.system)); apart != c.apart || beside != c.beside {
			t.Errorf("%s of %s on %s, ep %d: apart %v, beside %d", c.model, c.engine, c.system, c.ep, apart, beside)
		}
	}
}

// TestUnknownLength: a server is told how long requests may be where the model file says how long
// the model takes them; beyond that engines do not start.
func TestUnknownLength(t *testing.T) {
	for name, option := range map[string]string{"sglang": "--context-length", "vllm": "--max-model-len", "trtllm": "--max_seq_len"} {
		for _, known := range []bool{true, false} {
			d := exchanging(1, 8)
			m := *d.Model
			m.Positions = 0
			if known {
				m.Positions = 163840
			}
			d.Model, d.Context, d.MaxContext = &m, 888832, 2048
			l := find(t, name).Launch(&d, &d.Pools[0])
			if got := strings.Contains(l.Commands[0], option); got != known {
				t.Errorf("%s, length known %v: %s", name, known, l.Commands[0])
			}
			if got := strings.Contains(strings.Join(l.Remarks, "; "), "does not say how long requests may be"); got == known {
				t.Errorf("%s, length known %v: %q", name, known, l.Remarks)
			}
		}
	}
}

// TestRefusedPrompts: TensorRT-LLM refuses prompts beyond its step unless it cuts them, which
// launches say beside how long requests may be.
func TestRefusedPrompts(t *testing.T) {
	for _, cut := range []int{0, 1} {
		d := exchanging(1, 8)
		d.Model, _ = builtin.Model(t, "DeepSeek-V3")
		d.Context, d.MaxContext, d.ServerOptions.ChunkedPrefill = 65536, 2048, cut
		said := strings.Join(find(t, "trtllm").Launch(&d, &d.Pools[0]).Remarks, "; ")
		if !strings.Contains(said, "up to 65536 tokens are taken") || strings.Contains(said, "max_num_tokens, are refused") != (cut == 0) {
			t.Errorf("cuts prompts: %d: %s", cut, said)
		}
	}
}
