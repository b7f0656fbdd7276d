package calibrate

import (
	"slices"
	"strings"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// timedWith is what the tables of aiconfigurator time together with a kernel, as its collectors show (ai-dynamo/aiconfigurator at
// 095f58a5, collector/): what one call of the timed function runs. Tables of others, measure/measure.py and InferSim's, are of bare
// kernels: DeepGEMM's time there is that of its kernel in a profile (kernel_benchmark/deepgemm_gemm.py).
var timedWith = []struct {
	of       kernel.Slot
	included string
	where    func(*measurement.Row) bool
}{
	// sglang/collect_gemm.py, run_gemm: gemm_op quantises 16 bits before every product of 8 and of 4, by sgl_per_token_quant_fp8,
	// sglang_per_token_group_quant_fp8 and flashinfer_fp4_quantize. So do trtllm/collect_gemm.py and vllm/collect_gemm.py, which call
	// the linear layer with 16 bits.
	{kernel.Gemm, "quantise", func(r *measurement.Row) bool {
		return slices.Contains([]string{"fp8", "fp8_block", "nvfp4"}, r.Label("dtype"))
	}},
	// sglang/collect_moe.py: run_op calls select_experts where all experts are on one rank, the only rows that are fitted, and
	// _benchmark_framework_quantized_moe the layer of TopK, or a kernel that routes by itself (flashinfer_trtllm). collect_moe.py of
	// trtllm and of vllm call the layer with the scores of the router.
	{kernel.Experts, "routing", func(*measurement.Row) bool { return true }},
	// sglang/collect_gdn.py, run_gdn_update: this kernel reads a, b, A_log and dt_bias; fused_recurrent_gated_delta_rule of the
	// collector for 0.5.10 gets g and beta.
	{kernel.LinearDecode, "gates", func(r *measurement.Row) bool { return strings.HasSuffix(r.Label("kernel"), "_packed_decode") }},
	// sglang/collect_mla.py, run_attention_torch: trtllm_mla with a cache of 8 bits gets cos_sin_cache, rotates, makes narrow and writes
	// to the cache (mla_quantize_and_rope_for_fp8). Others only write to the cache, beside which positions are still to be given.
	{kernel.LatentDecode, "rotary", func(r *measurement.Row) bool {
		return SoftwareOf(r) == "trtllm_mla" && cacheType(r) == "float8"
	}},
}

// include notes in a model what rows like this one were timed with.
func include(m kernel.Model, r *measurement.Row) {
	if r.Label("op") == "" { // not one of those tables
		return
	}
	for _, t := range timedWith {
		if to, ok := m.(interface{ Include(...string) }); ok && t.of == r.Kind && t.where(r) {
			to.Include(t.included)
		}
	}
}
