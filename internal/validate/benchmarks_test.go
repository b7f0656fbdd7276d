package validate

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/question"
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

// TestVersions: which earlier version of an engine ran follows from what the row says, and from the scripts of its benchmark. All that are named
// are known.
func TestVersions(t *testing.T) {
	of := benchmarkNamed("InferenceMAX tables")
	for _, c := range []struct {
		f    facts
		want string
	}{
		{facts{model: "GLM-5", system: "B200", engine: "sglang", mode: "agg", day: "2026-03-20", version: "nightly-dev"}, "0.5.10"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", mode: "agg", day: "2026-05-20", version: "0.5.12"}, "0.5.14"},
		{facts{model: "GLM-5", system: "B200", engine: "sglang", mode: "agg", day: "2026-07-20"}, ""},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", mode: "agg", version: "0.5.10.post1"}, "0.5.10"},
		{facts{model: "DeepSeek-R1", system: "B200", engine: "sglang", mode: "agg", version: "0.5.15"}, ""},
	} {
		if got := of.version(&c.f); got != c.want {
			t.Errorf("%+v: version %q, want %q", c.f, got, c.want)
		}
	}
	known := func(name, version string) {
		if _, err := engine.Find(name + "@" + version); err != nil {
			t.Error(err)
		}
	}
	for _, r := range releases {
		known(r.Engine, r.Version)
	}
	for _, b := range benchmarks {
		for _, s := range b.Scripts {
			if s.Version != "" {
				known(s.Engine, s.Version)
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

// TestToldExchange: gathering is another time than sending, and what a row says of itself counts.
func TestToldExchange(t *testing.T) {
	const head = "model,system,engine,precision,concurrency,isl,osl,attention_dp_size,moe_ep_size,moe-a2a-backend,ttft_ms,tpot_ms\n"
	row := "DeepSeek-V3,B200,sglang,fp8_block,1024,3000,300,8,8,"
	r, err := Serving(t.Context(), "made.csv", strings.NewReader(head+row+",1,1\n"+row+"deepep,1,1\n"+row+"none,1,1\n"+row+"deepe,1,1\n"), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	if why := r.Rows[3].Figures[1].Reason; !strings.Contains(why, "deepep") {
		t.Errorf("a name that SGLang does not know: %q", why)
	}
	tpot := func(i int) float64 { return r.Rows[i].Figures[1].Predicted }
	if tpot(0) != tpot(1) || tpot(2) == tpot(0) || !(tpot(2) > 0) {
		t.Errorf("TPOT is %g, %g with deepep and %g ms with none", tpot(0), tpot(1), tpot(2))
	}
}

// TestOptionsInAnyCase: what a row tells its engine counts in any case of letters.
func TestOptionsInAnyCase(t *testing.T) {
	for column, values := range map[string][]string{
		"moe-a2a-backend": {"none", "None", "NONE"}, "fp8-gemm-backend": {"cutlass", "Cutlass"}, "attention-backend": {"triton", "Triton"},
		"kv_cache": {"fp8_e4m3", "FP8_E4M3", "FP8"}, "overlap": {"two-batch", "Two-Batch"}, "backend": {"sglang", "SGLang"}, "weights": {"fp8_block", "FP8_block"},
	} {
		var table strings.Builder
		table.WriteString("model,system,precision,concurrency,isl,osl,attention_dp_size,moe_ep_size,ttft_ms,tpot_ms," + column + "\n")
		system := "B200"
		if column == "fp8-gemm-backend" {
			system = "RTX_PRO_6000"
		}
		for _, v := range values {
			table.WriteString("DeepSeek-V3," + system + ",fp8_block,1024,3000,300,32,32,1,1," + v + "\n")
		}
		text := table.String()
		if column != "backend" {
			text = strings.NewReplacer("model,", "backend,model,", "DeepSeek", "sglang,DeepSeek").Replace(text)
		}
		r, err := Serving(t.Context(), "made.csv", strings.NewReader(text), question.Default())
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Rows {
			if f := &r.Rows[i].Figures[1]; f.Reason != "" || f.Predicted != r.Rows[0].Figures[1].Predicted {
				t.Errorf("%s %s: TPOT %g ms, of %s %g; %s", column, values[i], f.Predicted, values[0], r.Rows[0].Figures[1].Predicted, f.Reason)
			}
		}
	}
}

// TestHeldOut: a constant that is wrong for all engines alike is found on other groups; what is measured here is what the program
// itself predicts, so that held-out errors are small beside those of a wrong start.
func TestHeldOut(t *testing.T) {
	var table strings.Builder
	table.WriteString("model,system,engine,precision,concurrency,isl,osl,tp,ttft_ms,tpot_ms\n")
	for _, run := range []string{"Llama-3.1-8B,H200,vllm,bf16,4,1024,256,1", "Qwen3-8B,H200,vllm,bf16,4,1024,256,1", "Llama-3.1-70B,H200,vllm,fp8,4,1024,256,4"} {
		r, err := Serving(t.Context(), "made.csv", strings.NewReader("model,system,engine,precision,concurrency,isl,osl,tp,ttft_ms,tpot_ms\n"+run+",1,1\n"), question.Default())
		if err != nil {
			t.Fatal(err)
		}
		f := r.Rows[0].Figures
		table.WriteString(run + "," + strings.Join([]string{text(f[0].Predicted), text(f[1].Predicted)}, ",") + "\n")
	}
	kept, _, err := HeldOut(t.Context(), "made.csv", strings.NewReader(table.String()), question.Default(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 2 || kept[0].Runs != 3 || kept[0].Groups != 3 {
		t.Fatalf("%+v", kept)
	}
	for _, k := range kept {
		if k.Shipped > 0.1 || k.Held > 12 {
			t.Errorf("%s: %.1f%% and held out %.1f%%", k.Name, k.Shipped, k.Held)
		}
	}
}

func text(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// TestPromptTokens: a server that made five times the tokens of a prompt, as on 2026-04-17, takes more than four times as long for the first
// token as one that did not, since attention sees more besides, and longer for the others, which wait for prompts.
func TestPromptTokens(t *testing.T) {
	const table = "model,system,engine,precision,tp,isl,osl,concurrency,date,source,ttft_ms,tpot_ms\n" +
		"DeepSeek-V3,B300,sglang,fp8,8,8192,1024,4,2026-04-17,InferenceX,1,1\n" +
		"DeepSeek-V3,B300,sglang,fp8,8,8192,1024,4,2026-05-17,InferenceX,1,1\n"
	r, err := Serving(t.Context(), "tokens.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	made, usual := r.Rows[0].Figures, r.Rows[1].Figures
	if !(made[ttft].Predicted > 4*usual[ttft].Predicted) || !(made[tpot].Predicted > usual[tpot].Predicted) {
		t.Errorf("TTFT %v and %v ms, TPOT %v and %v", made[ttft].Predicted, usual[ttft].Predicted, made[tpot].Predicted, usual[tpot].Predicted)
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
// SGLang 0.5.7 to 0.5.9 as long as it took their images. What a row says of itself counts the same, and its prompts take longer.
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
	const head = "model,system,engine,precision,concurrency,isl,osl,tp,fp8-gemm-backend,ttft_ms,tpot_ms\n"
	row := "DeepSeek-V3,B200,sglang,fp8_block,1,3000,300,8,"
	r, err := Serving(t.Context(), "made.csv", strings.NewReader(head+row+",1,1\n"+row+"deep_gemm,1,1\n"+row+"flashinfer_trtllm,1,1\n"), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	ttft := func(i int) float64 { return r.Rows[i].Figures[0].Predicted }
	if ttft(0) != ttft(1) || ttft(2) < 1.05*ttft(0) {
		t.Errorf("TTFT is %g, %g with deep_gemm and %g ms with flashinfer_trtllm", ttft(0), ttft(1), ttft(2))
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
