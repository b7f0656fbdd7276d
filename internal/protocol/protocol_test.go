package protocol

import (
	"maps"
	"math"
	"strconv"
	"testing"

	"throughline/engine"
	"throughline/estimate"
)

// row is what a table says of a run.
type row map[string]string

// told are its cells; without drafts and with prompts of 1024 tokens, unless it says others.
func (r row) told() row {
	out := row{"drafts": "no", "isl": "1024"}
	maps.Copy(out, r)
	return out
}

// TestScripts: what the scripts of InferenceX tell some servers, by hand from these scripts.
func TestScripts(t *testing.T) {
	of := Named("InferenceMAX tables")
	for _, c := range []struct {
		f            row
		option, want string
	}{
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "ranks": "8", "concurrency": "64"}, "scheduler-recv-interval", "30"},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "ranks": "8", "concurrency": "8"}, "scheduler-recv-interval", "10"},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "ranks": "4", "concurrency": "64"}, "max-running-requests", "32"},
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "ranks": "8", "concurrency": "64"}, "scheduler-recv-interval", ""},
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "weights": "fp4", "mode": "agg", "ranks": "8", "concurrency": "64"}, "scheduler-recv-interval", "10"},
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "weights": "fp4", "mode": "agg", "ranks": "8", "concurrency": "64", "date": "2026-03-29"}, "cache", "bf16"},
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "weights": "fp4", "mode": "agg", "ranks": "8", "concurrency": "64", "date": "2026-03-29"}, "scheduler-recv-interval", "1"},
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "weights": "fp4", "mode": "agg", "ranks": "8", "concurrency": "64", "date": "2026-04-09"}, "cache", "fp8"},
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "ranks": "8", "concurrency": "64", "date": "2026-03-20"}, "cache", "fp8"},
		{row{"model": "MiniMax-M2.5", "system": "B200", "engine": "vllm", "weights": "fp8", "mode": "agg", "concurrency": "64", "date": "2026-03-28"}, "max-num-batched-tokens", ""},
		{row{"model": "MiniMax-M2.5", "system": "B200", "engine": "vllm", "weights": "fp8", "mode": "agg", "concurrency": "64", "date": "2026-04-03"}, "max-num-batched-tokens", "2048"},
		{row{"model": "MiniMax-M2.5", "system": "B200", "engine": "vllm", "weights": "fp4", "mode": "agg", "concurrency": "64", "date": "2026-04-03"}, "max-cudagraph-capture-size", ""},
		{row{"model": "MiniMax-M2.5", "system": "B200", "engine": "vllm", "weights": "fp4", "mode": "agg", "concurrency": "64", "date": "2026-04-08"}, "max-cudagraph-capture-size", "2048"},
		{row{"model": "Llama-3.1-70B", "system": "B200", "engine": "vllm", "weights": "fp8", "mode": "agg", "concurrency": "64"}, "captured-prompts", "1"},
		{row{"model": "DeepSeek-V3", "system": "B300", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "4", "date": "2026-04-17"}, "prompt-tokens", "5120"},
		{row{"model": "DeepSeek-V3", "system": "B300", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "4", "date": "2026-05-17"}, "prompt-tokens", ""},
		{row{"model": "DeepSeek-V3", "system": "B300", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "4"}, "prompt-tokens", ""},
		{row{"model": "DeepSeek-R1", "system": "H100_SXM", "engine": "trtllm", "weights": "fp8", "mode": "disagg", "concurrency": "30", "isl": "1024", "osl": "1024",
			"prefill_workers": "1", "prefill_ranks": "16", "prefill_attention": "dp", "decode_workers": "3", "decode_ranks": "16", "decode_attention": "tp"}, "max_running_requests", "8"},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "disagg", "concurrency": "64"}, "moe-a2a-backend", "none"},
		{row{"model": "DeepSeek-R1", "system": "GB200_NVL72", "engine": "sglang", "weights": "fp4", "mode": "disagg", "concurrency": "64"}, "moe-a2a-backend", ""},
		{row{"model": "DeepSeek-R1", "system": "GB200_NVL72", "engine": "sglang", "weights": "fp4", "mode": "disagg", "concurrency": "64"}, "prefill-moe-a2a-backend", "none"},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "64", "drafts": "yes", "date": "2026-02-06"}, "unprepared", "true"},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "64", "drafts": "yes", "date": "2026-05-17"}, "unprepared", ""},
		{row{"model": "DeepSeek-R1", "system": "MI355X", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "64", "osl": "1024", "date": "2025-12-10"}, "requests-per-client", "50"},
		{row{"model": "DeepSeek-R1", "system": "MI355X", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "64", "osl": "8192", "date": "2025-12-10"}, "requests-per-client", "20"},
		{row{"model": "DeepSeek-R1", "system": "MI300X", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "64", "osl": "1024", "date": "2025-12-10"}, "requests-per-client", ""},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "64", "osl": "1024", "date": "2026-01-13"}, "requests-per-client", ""},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "weights": "fp8", "mode": "agg", "concurrency": "64", "date": "2026-01-13"}, "version", "0.5.6"},
		{row{"model": "gpt-oss-120b", "system": "H100_SXM", "engine": "vllm", "weights": "mxfp4", "mode": "agg", "concurrency": "64", "date": "2026-01-21"}, "copied", "true"},
		{row{"model": "gpt-oss-120b", "system": "H100_SXM", "engine": "vllm", "weights": "mxfp4", "mode": "agg", "concurrency": "64", "date": "2026-01-20"}, "copied", ""},
	} {
		if got := of.Cells(c.f.told())[c.option]; got != c.want {
			t.Errorf("%+v: %s is %q, want %q", c.f, c.option, got, c.want)
		}
	}
	for text, want := range map[string]string{"isl+2*concurrency+64": "1216", "fp8": "fp8", "0.9": "0.9", "2*fp8": "2*fp8"} {
		if got := sum(text, row{"isl": "1024", "concurrency": "64"}); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestVersions: which earlier version of an engine ran follows from the scripts of its benchmark,
// else from what the row says: the first known one that is not before it. All that are named are
// known.
func TestVersions(t *testing.T) {
	of := Named("InferenceMAX tables")
	find := func(name string) *engine.Engine {
		e, err := engine.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, c := range []struct {
		f    row
		want string
	}{
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "mode": "agg", "date": "2026-03-20", "version": "nightly-dev"}, "0.5.10"},
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "mode": "agg", "date": "2026-05-20", "version": "0.5.12"}, "0.5.14"},
		{row{"model": "GLM-5", "system": "B200", "engine": "sglang", "mode": "agg", "date": "2026-07-20"}, ""},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "mode": "agg", "version": "0.5.10.post1"}, "0.5.10"},
		{row{"model": "DeepSeek-R1", "system": "B200", "engine": "sglang", "mode": "agg", "version": "0.5.15"}, ""},
		{row{"engine": "vllm", "version": "0.9.2"}, "0.9"}, {row{"engine": "vllm", "version": "0.5.4"}, "0.5"},
		{row{"engine": "vllm", "version": "0.99"}, ""},
	} {
		got := of.Cells(c.f.told())["version"]
		if got == "" && c.f["version"] != "" {
			got = find(c.f["engine"]).Nearest(c.f["version"])
		}
		if got != c.want {
			t.Errorf("%+v: version %q, want %q", c.f, got, c.want)
		}
	}
	for _, d := range known().Documents {
		find("vllm@" + d.Then["version"])
	}
	for _, b := range known().Protocols {
		for _, s := range b.Rows {
			if s.Then["version"] != "" {
				find(s.When["engine"] + "@" + s.Then["version"])
			}
		}
	}
}

// TestAcceptanceByDay: while the first drafts of SGLang on Blackwell were wrong, the tokens that
// drafts add to a step were fewer in the ratio that was measured then (2.41 of 2.52 tokens with
// three drafts), whatever their number.
func TestAcceptanceByDay(t *testing.T) {
	of := Named("InferenceX")
	for _, c := range []struct {
		system, engine, day string
		clients             int
		ratio               float64
	}{
		{"B200", "sglang", "2026-02-13", 64, 1.41 / 1.52}, {"B200", "sglang", "2026-02-13", 16, 1.41 / 1.52},
		{"B200", "sglang", "2026-04-03", 64, 1}, {"B200", "sglang", "2026-01-16", 64, 1}, {"B200", "sglang", "", 64, 1},
		{"H100_SXM", "sglang", "2026-02-13", 64, 1}, {"GB300_NVL72", "trtllm", "2026-02-13", 64, 1},
	} {
		f := row{"model": "DeepSeek-R1", "system": c.system, "engine": c.engine, "weights": "fp8", "mode": "disagg", "drafts": "yes", "concurrency": strconv.Itoa(c.clients), "date": c.day}
		for drafts := 1; drafts <= 4; drafts++ {
			added := func(rates []float64) float64 { return estimate.TokensPerStep(rates, drafts) - 1 }
			if got, want := added(of.Accepted(of.Cells(f.told()))), c.ratio*added(of.Accepted(nil)); math.Abs(got/want-1) > 1e-6 {
				t.Errorf("%+v: %d drafts add %v tokens, want %v", c, drafts, got, want)
			}
		}
	}
}

// TestAcceptanceByLength: the tokens of a step are those of a chunk in the runs that stream every
// step.
func TestAcceptanceByLength(t *testing.T) {
	of := Named("InferenceX")
	for _, c := range []struct {
		input, output, drafts int
		least, most           float64
	}{
		{1024, 1024, 2, 2.19, 2.22}, {8192, 1024, 2, 2.28, 2.42}, {1024, 8192, 2, 2.47, 2.52},
		{1024, 1024, 3, 2.35, 2.48}, {8192, 1024, 3, 2.60, 2.79}, {1024, 8192, 3, 2.83, 2.98},
	} {
		f := row{"model": "DeepSeek-R1", "system": "H100_SXM", "engine": "sglang", "weights": "fp8", "mode": "disagg", "drafts": "yes", "isl": strconv.Itoa(c.input), "osl": strconv.Itoa(c.output)}
		if got := estimate.TokensPerStep(of.Accepted(of.Cells(f.told())), c.drafts); got < c.least || got > c.most {
			t.Errorf("%+v: %v tokens", c, got)
		}
	}
}

// TestEarlierScripts: InferenceX's servers on MI355X have been told a cache of 8 bits since a day
// of each format, and AITER's attention since the same day in FP4; SGLang 0.5.2, before, took
// Triton's for the 32 heads that four GPUs leave to each.
func TestEarlierScripts(t *testing.T) {
	of := Named("InferenceX")
	for _, c := range []struct {
		weights, day   string
		tp             int
		cache, backend string
	}{
		{"mxfp4", "2025-12-16", 8, "bf16", ""}, {"mxfp4", "2025-12-16", 4, "bf16", "triton"}, {"mxfp4", "2025-12-19", 4, "fp8", ""},
		{"fp8", "2025-12-19", 8, "bf16", ""}, {"fp8", "2026-03-04", 4, "bf16", ""}, {"fp8", "2026-03-05", 8, "fp8", ""},
		{"fp8", "", 8, "fp8", ""}, {"mxfp4", "", 4, "fp8", ""},
	} {
		f := row{"model": "DeepSeek-R1-0528", "system": "MI355X", "engine": "sglang", "weights": c.weights, "mode": "agg", "date": c.day, "ranks": strconv.Itoa(c.tp)}
		options := of.Cells(f.told())
		if apart := options["shared-apart"] == "true"; apart != (c.day != "" && c.day < map[string]string{"mxfp4": "2025-12-17", "fp8": "2026-01-05"}[c.weights]) {
			t.Errorf("%+v: shared experts apart: %v", c, apart)
		}
		if cache, backend := options["cache"], options["attention-backend"]; cache != c.cache || backend != c.backend {
			t.Errorf("%+v: a cache of %s, attention of %q", c, cache, backend)
		}
	}
}

// TestToldProducts: InferenceX's servers of DeepSeek-R1 in FP8 on Blackwell do not run DeepGEMM,
// others do; those on MI300X ran the kernels of SGLang 0.5.7 to 0.5.9 as long as it took their
// images.
func TestToldProducts(t *testing.T) {
	of := Named("InferenceX")
	for _, c := range []struct {
		system, weights, mode, day string
		input                      int
		told                       string
	}{
		{"B200", "fp8", "agg", "", 8192, "flashinfer_trtllm"}, {"B300", "fp8", "agg", "", 1024, "flashinfer_trtllm"},
		{"B200", "fp4", "agg", "", 1024, ""}, {"H200", "fp8", "agg", "", 1024, ""},
		{"B200", "fp8", "disagg", "", 1024, "flashinfer_trtllm"}, {"B200", "fp8", "disagg", "", 8192, ""},
		{"B200", "fp8", "disagg", "2026-02-07", 8192, "flashinfer_trtllm"}, {"B200", "fp8", "disagg", "2026-03-18", 8192, ""}, {"B200", "fp8", "disagg", "2026-03-18", 1024, "flashinfer_trtllm"},
		{"MI300X", "fp8", "agg", "2026-01-05", 1024, ""}, {"MI300X", "fp8", "agg", "2026-01-23", 1024, "aiter_triton"}, {"MI300X", "fp8", "agg", "2026-05-18", 1024, ""},
	} {
		f := row{"model": "DeepSeek-R1-0528", "system": c.system, "engine": "sglang", "weights": c.weights, "mode": c.mode, "date": c.day}
		f["isl"] = strconv.Itoa(c.input)
		if got := of.Cells(f.told())["fp8-gemm-backend"]; got != c.told {
			t.Errorf("%+v: %q", c, got)
		}
		if cache := of.Cells(f.told())["cache"]; c.system == "MI300X" && (cache == "fp8") != (c.day > "2026-01-21") {
			t.Errorf("%+v: a cache of %s", c, cache)
		}
	}
}

// TestRepeated: a run begins with the prompts of the one before, of which there may be more than
// clients; runs of others do not.
func TestRepeated(t *testing.T) {
	pages := Named("SGLang cookbook")
	for _, c := range []struct{ prompts, clients, want float64 }{{10, 1, 0}, {80, 16, 10. / 16}, {500, 100, 0.8}, {320, 64, 1}} {
		if got := pages.Repeated(c.prompts, c.clients); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, source := range []string{"InferenceX", "SGLang cookbook config benchmarks"} {
		if got := Named(source).Repeated(320, 64); got != 0 {
			t.Errorf("%s: %v", source, got)
		}
	}
}
