package benchmark

import (
	"math"
	"testing"

	"throughline/engine"
	"throughline/estimate"
	"throughline/workload"
)

// TestScripts: what the scripts of InferenceX tell some servers, by hand from these scripts.
func TestScripts(t *testing.T) {
	of := benchmarkNamed("InferenceMAX tables")
	for _, c := range []struct {
		f            facts
		option, want string
	}{
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", weights: "fp8", mode: "agg", tp: 8, clients: 64}, "scheduler-recv-interval", "30"},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", weights: "fp8", mode: "agg", tp: 8, clients: 8}, "scheduler-recv-interval", "10"},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", weights: "fp8", mode: "agg", tp: 4, clients: 64}, "max-running-requests", "32"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", weights: "fp8", mode: "agg", tp: 8, clients: 64}, "scheduler-recv-interval", ""},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", weights: "fp4", mode: "agg", tp: 8, clients: 64}, "scheduler-recv-interval", "10"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", weights: "fp4", mode: "agg", tp: 8, clients: 64, day: "2026-03-29"}, "kv-cache-dtype", "bf16"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", weights: "fp4", mode: "agg", tp: 8, clients: 64, day: "2026-03-29"}, "scheduler-recv-interval", "1"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", weights: "fp4", mode: "agg", tp: 8, clients: 64, day: "2026-04-09"}, "kv-cache-dtype", "fp8"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", weights: "fp8", mode: "agg", tp: 8, clients: 64, day: "2026-03-20"}, "kv-cache-dtype", "fp8"},
		{facts{model: "MiniMax-M2.5", system: "B200", engine: "vllm", weights: "fp8", mode: "agg", clients: 64, day: "2026-03-28"}, "max-num-batched-tokens", ""},
		{facts{model: "MiniMax-M2.5", system: "B200", engine: "vllm", weights: "fp8", mode: "agg", clients: 64, day: "2026-04-03"}, "max-num-batched-tokens", "2*isl"},
		{facts{model: "MiniMax-M2.5", system: "B200", engine: "vllm", weights: "fp4", mode: "agg", clients: 64, day: "2026-04-03"}, "max-cudagraph-capture-size", ""},
		{facts{model: "MiniMax-M2.5", system: "B200", engine: "vllm", weights: "fp4", mode: "agg", clients: 64, day: "2026-04-08"}, "max-cudagraph-capture-size", "2048"},
		{facts{model: "Llama-3.1-70B", system: "B200", engine: "vllm", weights: "fp8", mode: "agg", clients: 64}, "captured-prompts", "1"},
		{facts{model: "DeepSeek-V3", system: "B300", engine: "sglang", weights: "fp8", mode: "agg", clients: 4, day: "2026-04-17"}, "prompt-tokens", "5*isl"},
		{facts{model: "DeepSeek-V3", system: "B300", engine: "sglang", weights: "fp8", mode: "agg", clients: 4, day: "2026-05-17"}, "prompt-tokens", ""},
		{facts{model: "DeepSeek-V3", system: "B300", engine: "sglang", weights: "fp8", mode: "agg", clients: 4}, "prompt-tokens", ""},
		{facts{model: "DeepSeek-R1", system: "H100_SXM", engine: "trtllm", weights: "fp8", mode: "disagg", clients: 30, lengths: workload.Lengths{Input: 1024, Output: 1024},
			prefill: servers{1, 16, true}, decode: servers{3, 16, false}}, "max-num-seqs", "8"},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", weights: "fp8", mode: "disagg", clients: 64}, exchangeOptions[0], "none"},
		{facts{model: "DeepSeek-R1", system: "GB200_NVL72", engine: "sglang", weights: "fp4", mode: "disagg", clients: 64}, exchangeOptions[0], ""},
		{facts{model: "DeepSeek-R1", system: "GB200_NVL72", engine: "sglang", weights: "fp4", mode: "disagg", clients: 64}, exchangeOptions[1], "none"},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", weights: "fp8", mode: "agg", clients: 64, drafting: true, day: "2026-02-06"}, preparedOption, "0"},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", weights: "fp8", mode: "agg", clients: 64, drafting: true, day: "2026-05-17"}, preparedOption, ""},
	} {
		if got := of.options(&c.f)[c.option]; got != c.want {
			t.Errorf("%+v: %s is %q, want %q", c.f, c.option, got, c.want)
		}
	}
	f := facts{clients: 64, lengths: workload.Lengths{Input: 1024}}
	if n, err := f.sum("isl+2*clients+64"); n != 1216 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := f.sum("fp8"); err == nil {
		t.Error("a word is a number")
	}
}

// TestVersions: which earlier version of an engine ran follows from the scripts of its benchmark, else from what the row says: the first known
// one that is not before it. All that are named are known.
func TestVersions(t *testing.T) {
	of := benchmarkNamed("InferenceMAX tables")
	find := func(name string) *engine.Engine {
		e, err := engine.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, c := range []struct {
		f    facts
		want string
	}{
		{facts{model: "GLM-5", system: "B200", engine: "sglang", mode: "agg", day: "2026-03-20", version: "nightly-dev"}, "0.5.10"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", mode: "agg", day: "2026-05-20", version: "0.5.12"}, "0.5.14"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", mode: "agg", day: "2026-07-20"}, ""},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", mode: "agg", version: "0.5.10.post1"}, "0.5.10"},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", mode: "agg", version: "0.5.15"}, ""},
		{facts{engine: "vllm", version: "0.9.2"}, "0.9"}, {facts{engine: "vllm", version: "0.5.4"}, "0.5"},
		{facts{engine: "vllm", version: "0.99"}, ""},
	} {
		got := of.version(&c.f)
		if got == "" && c.f.version != "" {
			got = find(c.f.engine).Nearest(c.f.version)
		}
		if got != c.want {
			t.Errorf("%+v: version %q, want %q", c.f, got, c.want)
		}
	}
	for _, d := range documents {
		find("vllm@" + d.Version)
	}
	for _, b := range benchmarks {
		for _, s := range b.Scripts {
			if s.Version != "" {
				find(s.Engine + "@" + s.Version)
			}
		}
	}
}

// TestAcceptanceByDay: while the first drafts of SGLang on Blackwell were wrong, the tokens that drafts add to a step were fewer in the
// ratio that was measured then (2.41 of 2.52 tokens with three drafts), whatever their number.
func TestAcceptanceByDay(t *testing.T) {
	of := benchmarkNamed("InferenceX")
	for _, c := range []struct {
		system, engine, day string
		clients             int
		ratio               float64
	}{
		{"B200", "sglang", "2026-02-13", 64, 1.41 / 1.52}, {"B200", "sglang", "2026-02-13", 16, 1.41 / 1.52},
		{"B200", "sglang", "2026-04-03", 64, 1}, {"B200", "sglang", "2026-01-16", 64, 1}, {"B200", "sglang", "", 64, 1},
		{"H100_SXM", "sglang", "2026-02-13", 64, 1}, {"GB300_NVL72", "trtllm", "2026-02-13", 64, 1},
	} {
		f := facts{model: "DeepSeek-R1", system: c.system, engine: c.engine, weights: "fp8", mode: "disagg", drafting: true, clients: c.clients, day: c.day}
		for drafts := 1; drafts <= 4; drafts++ {
			added := func(rates []float64) float64 { return estimate.TokensPerStep(rates, drafts) - 1 }
			if got, want := added(of.acceptance(&f)), c.ratio*added(of.Acceptance); math.Abs(got/want-1) > 1e-6 {
				t.Errorf("%+v: %d drafts add %v tokens, want %v", c, drafts, got, want)
			}
		}
	}
}

// TestAcceptanceByLength: the tokens of a step are those of a chunk in the runs that stream every step.
func TestAcceptanceByLength(t *testing.T) {
	of := benchmarkNamed("InferenceX")
	for _, c := range []struct {
		input, output, drafts int
		least, most           float64
	}{
		{1024, 1024, 2, 2.19, 2.22}, {8192, 1024, 2, 2.28, 2.42}, {1024, 8192, 2, 2.47, 2.52},
		{1024, 1024, 3, 2.35, 2.48}, {8192, 1024, 3, 2.60, 2.79}, {1024, 8192, 3, 2.83, 2.98},
	} {
		f := facts{model: "DeepSeek-R1", system: "H100_SXM", engine: "sglang", weights: "fp8", mode: "disagg", drafting: true, lengths: workload.Lengths{Input: c.input, Output: c.output}}
		if got := estimate.TokensPerStep(of.acceptance(&f), c.drafts); got < c.least || got > c.most {
			t.Errorf("%+v: %v tokens", c, got)
		}
	}
}

// TestEarlierScripts: InferenceX's servers on MI355X have been told a cache of 8 bits since a day of each format, and AITER's attention
// since the same day in FP4; SGLang 0.5.2, before, took Triton's for the 32 heads that four GPUs leave to each.
func TestEarlierScripts(t *testing.T) {
	of := benchmarkNamed("InferenceX")
	for _, c := range []struct {
		weights, day   string
		tp             int
		cache, backend string
	}{
		{"mxfp4", "2025-12-16", 8, "bf16", ""}, {"mxfp4", "2025-12-16", 4, "bf16", "triton"}, {"mxfp4", "2025-12-19", 4, "fp8", ""},
		{"fp8", "2025-12-19", 8, "bf16", ""}, {"fp8", "2026-03-04", 4, "bf16", ""}, {"fp8", "2026-03-05", 8, "fp8", ""},
		{"fp8", "", 8, "fp8", ""}, {"mxfp4", "", 4, "fp8", ""},
	} {
		f := facts{model: "DeepSeek-R1-0528", system: "MI355X", engine: "sglang", weights: c.weights, mode: "agg", day: c.day, tp: c.tp}
		options := of.options(&f)
		if apart := options[sharedOption] == "1"; apart != (c.day != "" && c.day < map[string]string{"mxfp4": "2025-12-17", "fp8": "2026-01-05"}[c.weights]) {
			t.Errorf("%+v: shared experts apart: %v", c, apart)
		}
		if cache, backend := options["kv-cache-dtype"], options["attention-backend"]; cache != c.cache || backend != c.backend {
			t.Errorf("%+v: a cache of %s, attention of %q", c, cache, backend)
		}
	}
}

// TestToldProducts: InferenceX's servers of DeepSeek-R1 in FP8 on Blackwell do not run DeepGEMM, others do; those on MI300X ran the kernels of
// SGLang 0.5.7 to 0.5.9 as long as it took their images.
func TestToldProducts(t *testing.T) {
	of := benchmarkNamed("InferenceX")
	for _, c := range []struct {
		system, weights, mode, day string
		input                      int
		told                       string
	}{
		{"B200", "fp8", "agg", "", 8192, "flashinfer_trtllm"}, {"B300", "fp8", "agg", "", 1024, "flashinfer_trtllm"},
		{"B200", "fp4", "agg", "", 1024, ""}, {"H200", "fp8", "agg", "", 1024, ""},
		{"B200", "fp8", "disagg", "", 1024, "flashinfer_trtllm"}, {"B200", "fp8", "disagg", "", 8192, ""},
		{"MI300X", "fp8", "agg", "2026-01-05", 1024, ""}, {"MI300X", "fp8", "agg", "2026-01-23", 1024, "aiter_triton"}, {"MI300X", "fp8", "agg", "2026-05-18", 1024, ""},
	} {
		f := facts{model: "DeepSeek-R1-0528", system: c.system, engine: "sglang", weights: c.weights, mode: c.mode, day: c.day}
		f.lengths.Input = c.input
		if got := of.options(&f)[engine.ProductsOption]; got != c.told {
			t.Errorf("%+v: %q", c, got)
		}
		if cache := of.options(&f)["kv-cache-dtype"]; c.system == "MI300X" && (cache == "fp8") != (c.day > "2026-01-21") {
			t.Errorf("%+v: a cache of %s", c, cache)
		}
	}
}

// TestRepeated: a run begins with the prompts of the one before, of which there may be more than clients; runs of others do not.
func TestRepeated(t *testing.T) {
	pages := benchmarkNamed("SGLang cookbook")
	for _, c := range []struct{ prompts, clients, want float64 }{{10, 1, 0}, {80, 16, 10. / 16}, {500, 100, 0.8}, {320, 64, 1}} {
		if got := pages.repeated(c.prompts, c.clients); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, source := range []string{"InferenceX", "SGLang cookbook config benchmarks"} {
		if got := benchmarkNamed(source).repeated(320, 64); got != 0 {
			t.Errorf("%s: %v", source, got)
		}
	}
}
