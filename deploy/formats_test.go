package deploy_test

import (
	"math"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/deploy"
	"throughline/estimate"
	"throughline/internal/test/builtin"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// TestResolve: the checkpoint as it is where the chip computes it, and what it is multiplied with
// there.
func TestResolve(t *testing.T) {
	const (
		block = 1 + 4./(128*128)
		mx    = 0.5 + 1./32
		w4    = 0.5 + 2./128
	)
	half := plan.Product{Weight: 2, Activation: 2, Type: "bfloat16"}
	for _, c := range []struct {
		model, system      string
		formats            deploy.Formats
		attention, experts plan.Product
		stored, engine     string
	}{
		{"DeepSeek-V3", "H200", deploy.Formats{}, plan.Product{Weight: block, Activation: 1, Type: "float8"}, plan.Product{Weight: block, Activation: 1, Type: "float8"}, "fp8_block as published", "fp8"},
		{"DeepSeek-V3", "H200", deploy.Formats{Weights: "fp8"}, plan.Product{Weight: block, Activation: 1, Type: "float8"}, plan.Product{Weight: block, Activation: 1, Type: "float8"}, "fp8_block as published", "fp8"},
		{"DeepSeek-V3", "A100_SXM", deploy.Formats{}, plan.Product{Weight: block, Activation: 2, Type: "bfloat16"}, plan.Product{Weight: block, Activation: 2, Type: "bfloat16"}, "fp8_block as published", "fp8"},
		{"DeepSeek-V3", "Ascend_910C", deploy.Formats{}, half, half, "bf16 (published in fp8_block, which Ascend_910C does not compute)", "bf16"},
		{"DeepSeek-V3", "Ascend_910C", deploy.Formats{Weights: "w8a8"}, plan.Product{Weight: 1, Activation: 1, Type: "int8"}, plan.Product{Weight: 1, Activation: 1, Type: "int8"}, "w8a8", "int8"},
		{"DeepSeek-V3", "B200", deploy.Formats{Weights: "nvfp4"}, half, plan.Product{Weight: 0.5625, Activation: 0.5625, Type: "float4"}, "nvfp4", "fp4"},
		{"MiniMax-M2.5", "B200", deploy.Formats{Weights: "nvfp4"}, half, plan.Product{Weight: 0.5625, Activation: 0.5625, Type: "float4"}, "nvfp4", "fp4"},
		{"Llama-3.1-8B", "B200", deploy.Formats{Weights: "nvfp4"}, plan.Product{Weight: 0.5625, Activation: 0.5625, Type: "float4"}, plan.Product{Weight: 0.5625, Activation: 0.5625, Type: "float4"}, "nvfp4", "fp4"},
		{"gpt-oss-120b", "H200", deploy.Formats{}, half, plan.Product{Weight: mx, Activation: 2, Type: "bfloat16", Stored: "float4"}, "mxfp4 experts, rest bf16 as published", "mxfp4"},
		{"gpt-oss-120b", "H200", deploy.Formats{Weights: "fp4"}, half, plan.Product{Weight: mx, Activation: 2, Type: "bfloat16", Stored: "float4"}, "mxfp4 experts, rest bf16 as published", "mxfp4"},
		{"gpt-oss-120b", "B200", deploy.Formats{}, half, plan.Product{Weight: mx, Activation: 1, Type: "float8", Stored: "float4"}, "mxfp4 experts, rest bf16 as published", "mxfp4"},
		{"gpt-oss-120b", "B200", deploy.Formats{Activations: "bf16"}, half, plan.Product{Weight: mx, Activation: 2, Type: "bfloat16", Stored: "float4"}, "mxfp4 experts, rest bf16 as published", "mxfp4"},
		{"gpt-oss-120b", "B200", deploy.Formats{Weights: "bf16"}, half, half, "bf16", "bf16"},
		{"Kimi-K2.5", "H200", deploy.Formats{Weights: "w4a16"}, half, plan.Product{Weight: 0.5625, Activation: 2, Type: "bfloat16", Stored: "int4"}, "int4_g32 experts, rest bf16 as published", "int4"},
		{"Llama-3.1-8B", "H200", deploy.Formats{}, half, half, "bf16", "bf16"},
		// Checkpoints in W4A8 have int4 in the routed experts alone; the rest stays in the 8 bits
		// that it is published in, or gets 8.
		{"DeepSeek-R1", "H20_141G", deploy.Formats{Weights: "w4a8"}, plan.Product{Weight: block, Activation: 1, Type: "float8"}, plan.Product{Weight: w4, Activation: 1, Type: "float8", Stored: "int4"}, "w4a8 experts, rest fp8_block", "int4"},
		{"DeepSeek-R1", "Ascend_910C", deploy.Formats{Weights: "w4a8"}, plan.Product{Weight: 1, Activation: 1, Type: "int8"}, plan.Product{Weight: w4, Activation: 1, Type: "int8", Stored: "int4"}, "w4a8 experts, rest w8a8", "int4"},
		{"Kimi-K2.5", "H200", deploy.Formats{Weights: "w4a8"}, plan.Product{Weight: 1, Activation: 1, Type: "float8"}, plan.Product{Weight: w4, Activation: 1, Type: "float8", Stored: "int4"}, "w4a8 experts, rest w8a8", "int4"},
	} {
		m, _ := builtin.Model(t, c.model)
		p, stored, err := c.formats.Resolve(m, builtin.System(t, c.system))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := p.Of(model.AttentionModule); got != c.attention {
			t.Errorf("%s on %s %+v: attention %+v, want %+v", c.model, c.system, c.formats, got, c.attention)
		}
		if got := p.Of(model.ExpertModule); got != c.experts {
			t.Errorf("%s on %s %+v: experts %+v, want %+v", c.model, c.system, c.formats, got, c.experts)
		}
		if got := p.Of(model.EndModule); got != half {
			t.Errorf("%s on %s: ends %+v", c.model, c.system, got)
		}
		if stored.String() != c.stored || p.Name != c.engine || p.Residual != 2 {
			t.Errorf("%s on %s: %q, %s, residual %g", c.model, c.system, stored, p.Name, p.Residual)
		}
	}
	m, _ := builtin.Model(t, "Llama-3.1-8B")
	_, _, err := deploy.Formats{Weights: "fp9", Activations: "fp4", Cache: "x"}.Resolve(m, builtin.System(t, "H200"))
	for _, want := range []string{`weights: "fp9" is not one of`, `cache: "x" is not one of`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, _, err = (deploy.Formats{Activations: "fp4"}).Resolve(m, builtin.System(t, "H200")); err == nil || !strings.Contains(err.Error(), "activations: no matrix rate for nvfp4") {
		t.Error(err)
	}
}

// TestResident: what a processor holds of the checkpoint: all of gpt-oss-120b on one, and an eighth
// of DeepSeek-V3's 671 GB.
func TestResident(t *testing.T) {
	for _, c := range []struct {
		model string
		p     plan.Plan
		gib   float64
	}{
		{"gpt-oss-120b", plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 1, DP: 1}}}, 60.7},
		// 673.2 GB over 8 ranks, and on each what is not split: the latent projections of 61 layers
		// (13 M parameters), routers in 16 bits, and embedding and norms as they are cut or not.
		{"DeepSeek-V3", plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 8, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 8, DP: 1}, SharedPerCard: true, SharedReplicas: 1}, Behaviour: plan.Behaviour{Gathered: true}}, 673.2 / 8 * 1e9 / (1 << 30)},
	} {
		m, set := builtin.Model(t, c.model)
		sys := builtin.System(t, "H200")
		precision, _, err := deploy.Formats{}.Resolve(m, sys)
		if err != nil {
			t.Fatal(err)
		}
		precision.Cache = 2
		c.p.Pipelined, c.p.Batch = true, plan.Batch{Count: 1, Size: 1}
		e, err := estimate.NewEvaluator(&estimate.Problem{
			Model: m, Settings: set, System: sys, Precision: precision, Assume: &assume.Physical, Phase: op.Decode,
			Lengths: workload.Lengths{Input: 1, Output: 1}, Acceptance: workload.DraftAcceptance,
		})
		if err != nil {
			t.Fatal(err)
		}
		memory := e.MemoryOf(&c.p)
		got := (memory.Weights[op.AttentionBlock] + memory.Weights[op.MLPBlock]) / (1 << 30)
		if math.Abs(got/c.gib-1) > 0.02 {
			t.Errorf("%s: %.2f GiB, want %.2f", c.model, got, c.gib)
		}
	}
}

// TestFileBytes: the sizes of published GGUF files, as llama-bench prints them or their pages do,
// in GiB.
func TestFileBytes(t *testing.T) {
	for _, c := range []struct {
		model, format string
		gib           float64
	}{
		// LLaMA 3, github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference and the table of
		// ggerganov/llama.cpp pull 6745 that it quotes.
		{"Llama-3.1-8B", "q4_k_m", 4.58}, {"Llama-3.1-8B", "f16", 14.96},
		{"Llama-3.1-70B", "q4_k_m", 39.60}, {"Llama-3.1-70B", "q2_k", 24.56}, {"Llama-3.1-70B", "q3_k_s", 28.79}, {"Llama-3.1-70B", "q3_k_m", 31.91},
		{"Llama-3.1-70B", "q3_k_l", 34.59}, {"Llama-3.1-70B", "iq4_xs", 35.30}, {"Llama-3.1-70B", "q4_k_s", 37.58}, {"Llama-3.1-70B", "q5_k_s", 45.32},
		{"Llama-3.1-70B", "q5_k_m", 46.52}, {"Llama-3.1-70B", "q6_k", 53.91}, {"Llama-3.1-70B", "q8_0", 69.83},
		// ggml-org/llama.cpp at b21e4de7, benches/dgx-spark/dgx-spark.md.
		{"gpt-oss-20b", "mxfp4_moe", 11.27}, {"gpt-oss-120b", "mxfp4_moe", 59.02}, {"Qwen3-30B-A3B", "q8_0", 30.25},
		// geerlingguy/ai-benchmarks issue 48: Llama-3.2-3B, whose output projection is the
		// embedding.
		{"Llama-3.2-3B", "q4_k_m", 1.87},
	} {
		m, _ := builtin.Model(t, c.model)
		got := deploy.FileBytes(c.format, m) / estimate.GiB
		if off := got/c.gib - 1; math.Abs(off) > 0.005 {
			t.Errorf("%s in %s: %.2f GiB, published are %.2f (%+.2f%%)", c.model, c.format, got, c.gib, 100*off)
		}
	}
}
