package calibrate

import (
	"slices"
	"strings"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// timedWith is what one call of the timed function runs besides the kernel in tables of
// aiconfigurator (ai-dynamo/aiconfigurator at 095f58a5, collector/). Other tables are of bare
// kernels: those of measure/measure.py, and InferSim's, where DeepGEMM's time is from a profile
// (kernel_benchmark/deepgemm_gemm.py).
var timedWith = []struct {
	of       kernel.Slot
	included string
	where    func(*measurement.Row) bool
}{
	// sglang/collect_gemm.py, run_gemm: gemm_op quantises 16 bits before every product of 8 or 4,
	// by sgl_per_token_quant_fp8, sglang_per_token_group_quant_fp8 or flashinfer_fp4_quantize.
	// trtllm/collect_gemm.py and vllm/collect_gemm.py call the linear layer with 16 bits, which
	// does too.
	{kernel.Gemm, "quantise", func(r *measurement.Row) bool {
		return slices.Contains([]string{"fp8", "fp8_block", "nvfp4"}, r.Label("dtype"))
	}},
	// sglang/collect_moe.py: run_op calls select_experts if all experts are on one rank, as in all
	// fitted rows; _benchmark_framework_quantized_moe calls the TopK layer or a kernel that routes
	// by itself (flashinfer_trtllm). collect_moe.py of trtllm and of vllm pass router scores.
	{kernel.Experts, "routing", func(*measurement.Row) bool { return true }},
	// sglang/collect_gdn.py, run_gdn_update: this kernel reads a, b, A_log and dt_bias; in the
	// collector for 0.5.10, fused_recurrent_gated_delta_rule gets g and beta.
	{kernel.LinearDecode, "gates", func(r *measurement.Row) bool { return strings.HasSuffix(r.Label("kernel"), "_packed_decode") }},
	// sglang/collect_mla.py, run_attention_torch: with an 8-bit cache, trtllm_mla gets
	// cos_sin_cache, rotates, quantises and writes to the cache (mla_quantize_and_rope_for_fp8).
	// Others only write to the cache, and positions are still to be applied.
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
