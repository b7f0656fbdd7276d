package names

import (
	"slices"
	"testing"
)

// TestEngines: engines under usual other names, with qualifiers, versions and products around them.
func TestEngines(t *testing.T) {
	for text, want := range map[string]Found{
		"vLLM": {Name: "vllm"}, "vllm-v1": {Name: "vllm"}, "Dynamo (vLLM)": {Name: "vllm"}, "dynamo-vllm": {Name: "vllm"}, "llm-d(vllm)": {Name: "vllm", Around: true},
		"llm-d 0.3": {Name: "vllm", Around: true}, "Dynamo 0.6 (vLLM 0.11.0)": {Name: "vllm", Version: "0.11.0"}, "llm-d v0.3 / vLLM v0.10.2": {Name: "vllm", Version: "0.10.2", Around: true},
		"vLLM 0.11.0": {Name: "vllm", Version: "0.11.0"}, "vllm v0.10.2rc1 (V1 engine)": {Name: "vllm", Version: "0.10.2"}, "vllm-ascend": {Name: "vllm"},
		"TRT-LLM": {Name: "trtllm"}, "TensorRT-LLM": {Name: "trtllm"}, "dynamo-trt": {Name: "trtllm"}, "TensorRT LLM (PyTorch backend)": {Name: "trtllm"},
		"NVIDIA Dynamo + TensorRT-LLM 1.2.0rc6": {Name: "trtllm", Version: "1.2.0"}, "SGLang": {Name: "sglang"}, "sgl-project/sglang:v0.5.9": {Name: "sglang", Version: "0.5.9"},
		"Dynamo": {Around: true}, "llama.cpp": {Name: "llamacpp"}, "llama.cpp (b4500)": {Name: "llamacpp"},
	} {
		if got, ok := Engine(text); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for text, want := range map[string]string{"ATOM": "vllm", "vllm+atom plugin": "vllm", "sglang-jax": "sglang", "MindIE 2.1RC1": "sglang", "NIM": "trtllm", "TGI": "vllm", "LMDeploy (TurboMind)": "vllm"} {
		if got, ok := Engine(text); !ok || got.Name != want || got.Note == "" || !got.Around || got.Version != "" {
			t.Errorf("%q: %+v, want %s with a note", text, got, want)
		}
	}
	if got, ok := Engine("vlm"); ok {
		t.Errorf("vlm is %+v", got)
	}
}

// TestSystems: chips with makers, memory, modules, counts and watts; other chips are none of these.
func TestSystems(t *testing.T) {
	for text, want := range map[string]Found{
		"h100": {Name: "H100_SXM"}, "NVIDIA H100 80GB HBM3": {Name: "H100_SXM"}, "8xH100": {Name: "H100_SXM", Count: 8}, "8 x H100 SXM5": {Name: "H100_SXM", Count: 8},
		"H100x8": {Name: "H100_SXM", Count: 8}, "NVIDIA H200 (8x)": {Name: "H200", Count: 8}, "h200_sxm": {Name: "H200"}, "H200 141GB HBM3e": {Name: "H200"},
		"NVIDIA A100-SXM4-80GB": {Name: "A100_SXM"}, "a100-40gb": {Name: "A100_40GB"}, "A100-PCIE-80GB": {Name: "A100_PCIe"}, "H100 PCIe": {Name: "H100_PCIe"},
		"GB200 NVL72": {Name: "GB200_NVL72"}, "NVIDIA GB300-NVL72": {Name: "GB300_NVL72"}, "AMD Instinct MI300X": {Name: "MI300X"}, "AMD Instinct™ MI355X OAM": {Name: "MI355X"},
		"4x MI325X 256GB": {Name: "MI325X", Count: 4}, "h20-3e(141GB)": {Name: "H20_141G"}, "dgx-spark(gb10)": {Name: "DGX_Spark"}, "RTX4090": {Name: "RTX_4090"},
		"NVIDIA GeForce RTX 5090": {Name: "RTX_5090"}, "NVIDIA RTX PRO 6000 Blackwell Server Edition": {Name: "RTX_PRO_6000"}, "tpu-v7x": {Name: "TPU_v7"},
		"ascend-910C (Atlas 800I A3)": {Name: "Ascend_910C"}, "ascend A2 (910B)": {Name: "Ascend_910B"}, "gaudi3 (runner label gaudi25)": {Name: "Gaudi3"},
		"H100-500W": {Name: "H100_SXM", Watts: 500}, "H200 (power capped 450W)": {Name: "H200", Watts: 450}, "Intel(R) Arc Pro(R) B60": {Name: "Arc_B60"},
		"Intel Gaudi 3": {Name: "Gaudi3"}, "Intel Gaudi 3 HL-325L": {Name: "Gaudi3"}, "Ascend 910_93": {Name: "Ascend_910C"}, "b300_sxm": {Name: "B300"}, "L40S": {Name: "L40S"}, "1x NVIDIA L4 24GB": {Name: "L4", Count: 1},
	} {
		if got, ok := System(text); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"AD102 PCIe (not named; RTX 4090/L40-class)", "NVIDIA RTX PRO 4500 Blackwell", "blackwell (4 GPUs, model not named)", "H100 MIG 1g.10gb", "rx-9070-xt", "MI300A", "H800_BI", "V100", ""} {
		if got, ok := System(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
	if got, _ := System("A800-SXM4-80GB"); got.Name != "A100_SXM" || got.Note == "" {
		t.Errorf("A800: %+v", got)
	}
}

// TestFormats: formats with their methods, in brackets or mixed, the first that is stated.
func TestFormats(t *testing.T) {
	for text, want := range map[string]string{
		"w8a8": "w8a8", "FP8 (e4m3)": "fp8", "fp8_e4m3": "fp8", "bfloat16": "bf16", "BF16?": "bf16", "AWQ-INT4": "int4", "awq-int4": "int4", "MXFP4": "mxfp4", "NVFP4": "nvfp4", "fp4": "nvfp4",
		"w4a16(int4)": "int4", "w8a8/w4a8 (see table; modelslim)": "w8a8", "fp8+mxfp4 (checkpoint)": "fp8", "W8A8 INT8": "int8", "GPTQ 4-bit": "int4", "FP8-dynamic": "fp8", "Q4_K_M": "int4",
		"fp8 blockwise": "fp8_block", "mixed": "", "default": "", "W4AFP8": "w4a8", "float16": "fp16", "(fp8)": "fp8", "FP8 weights, BF16 KV": "fp8",
	} {
		if got, ok := Format(text); !ok || got.Name != want {
			t.Errorf("%q: %+v, %v, want %q", text, got, ok, want)
		}
	}
	if got, ok := Format("fp7"); ok {
		t.Errorf("fp7 is %+v", got)
	}
}

// TestFigures: figures in any usual name, and columns that are none.
func TestFigures(t *testing.T) {
	for text, want := range map[string]Figure{
		"silicon_ttft_ms": {"ttft", "mean", "ms", ""}, "ttft_mean_ms": {"ttft", "mean", "ms", ""}, "Mean TTFT (ms)": {"ttft", "mean", "ms", ""}, "P99 TTFT (s)": {"ttft", "p99", "s", ""},
		"median_itl_ms": {"itl", "p50", "ms", ""}, "tpot_p50": {"tpot", "p50", "", ""}, "avg_inter_token_latency_ms": {"itl", "mean", "ms", ""}, "e2el_p99": {"e2e", "p99", "", ""},
		"Time to First Token p90": {"ttft", "p90", "", ""}, "req_per_s": {"requests", "mean", "", ""}, "request_throughput": {"requests", "mean", "", ""}, "requests/s": {"requests", "mean", "", ""},
		"output_tput_per_gpu": {"output_throughput", "mean", "", "gpu"}, "tok/s/user": {"output_throughput", "mean", "", "user"}, "Output tokens/s/GPU": {"output_throughput", "mean", "", "gpu"},
		"per_user_output_throughput": {"output_throughput", "mean", "", "user"}, "total_tput_per_gpu": {"total_throughput", "mean", "", "gpu"}, "request_latency": {"e2e", "mean", "", ""},
		"output_tok_s": {"output_throughput", "mean", "", ""}, "p95_e2e_latency_ms": {"e2e", "p95", "ms", ""}, "prefill_throughput": {"prefill_throughput", "mean", "", ""},
	} {
		if got, ok := FigureOf(text); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"predicted_ttft_ms", "ttft_slo_ms", "output_tokens", "requests", "model", "ttft_error_band_percent", "tp", "cost"} {
		if got, ok := FigureOf(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// TestColumns: headers as tables have them; a cell under another name counts where the first is
// empty.
func TestColumns(t *testing.T) {
	c := Header([]string{"\uFEFFModel Path", "GPU", "Num GPUs", "concurrency", "clients", "prefill_tp_size", "silicon_data_source", "max-running-requests"})
	get := c.Of([]string{"m", "h100", "8", "", "64", "4", "model=x; measured=2025-10-20", "12"})
	for column, want := range map[string]string{"model": "m", "system": "h100", "gpus": "8", "num_gpus": "8", "concurrency": "64", "prefill_tp": "4", "date": "2025-10-20", "max-running-requests": "12", "tp": ""} {
		if got := get(column); got != want {
			t.Errorf("%s: %q, want %q", column, got, want)
		}
	}
	if names := c.Names(); !slices.Contains(names, "system") || slices.Contains(names, "osl") {
		t.Errorf("columns %v", names)
	}
}

// TestLengths: how lengths are spread.
func TestLengths(t *testing.T) {
	for text, want := range map[string]string{
		"random, range ratio 0.8 (len in 0.8..1.0 x nominal)": "uniform:0.8", "random, range ratio 1.0": "fixed", "random fixed": "fixed", "dataset random": "uniform:0",
		"ShareGPT (isl/osl are measured means)": "sharegpt", "random nominal; early EOS possible": "lognormal:0.5", "random, InferenceMAX range ratio (0.8 default)": "uniform:0.8",
	} {
		if got, _, ok := Lengths(text); !ok || got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if spread, means, _ := Lengths("dataset random; means in=512 out=510"); spread != "uniform:0" || len(means) != 2 || means[1] != "510" {
		t.Errorf("%s %v", spread, means)
	}
	if _, _, ok := Lengths("agentic trace"); ok {
		t.Error("a trace has a spread")
	}
}
