package validate

import (
	"strings"
	"testing"

	"throughline/internal/question"
)

// predictedBy is what is said of a table.
func predictedBy(t *testing.T, text string) *Report {
	t.Helper()
	r, err := Serving(t.Context(), "mine.csv", strings.NewReader(text), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestToldExchange: gathering is another time than sending, and what a row says of itself counts.
func TestToldExchange(t *testing.T) {
	const head = "model,system,engine,precision,concurrency,isl,osl,attention_dp_size,moe_ep_size,moe-a2a-backend,ttft_ms,tpot_ms\n"
	row := "DeepSeek-V3,B200,sglang,fp8_block,1024,3000,300,8,8,"
	r := predictedBy(t, head+row+",1,1\n"+row+"deepep,1,1\n"+row+"none,1,1\n"+row+"deepe,1,1\n")
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
		words := table.String()
		if column != "backend" {
			words = strings.NewReplacer("model,", "backend,model,", "DeepSeek", "sglang,DeepSeek").Replace(words)
		}
		r := predictedBy(t, words)
		for i := range r.Rows {
			if f := &r.Rows[i].Figures[1]; f.Reason != "" || f.Predicted != r.Rows[0].Figures[1].Predicted {
				t.Errorf("%s %s: TPOT %g ms, of %s %g; %s", column, values[i], f.Predicted, values[0], r.Rows[0].Figures[1].Predicted, f.Reason)
			}
		}
	}
}

// TestPromptTokens: a server that made five times the tokens of a prompt, as on 2026-04-17, takes
// more than five times as long for the first token of a single client, as attention sees more
// besides, and longer for the others, which see more.
func TestPromptTokens(t *testing.T) {
	const table = "model,system,engine,precision,tp,isl,osl,concurrency,date,source,ttft_ms,tpot_ms\n" +
		"DeepSeek-V3,B300,sglang,fp8,8,8192,1024,1,2026-04-17,InferenceX,1,1\n" +
		"DeepSeek-V3,B300,sglang,fp8,8,8192,1024,1,2026-05-17,InferenceX,1,1\n"
	r := predictedBy(t, table)
	made, usual := r.Rows[0].Figures, r.Rows[1].Figures
	if !(made[0].Predicted > 5*usual[0].Predicted) || !(made[1].Predicted > usual[1].Predicted) {
		t.Errorf("TTFT %v and %v ms, TPOT %v and %v", made[0].Predicted, usual[0].Predicted, made[1].Predicted, usual[1].Predicted)
	}
}

// TestToldProducts: the kernels of products that a row says of itself count, and its prompts take
// longer.
func TestToldProducts(t *testing.T) {
	const head = "model,system,engine,precision,concurrency,isl,osl,tp,fp8-gemm-backend,ttft_ms,tpot_ms\n"
	row := "DeepSeek-V3,B200,sglang,fp8_block,1,3000,300,8,"
	r := predictedBy(t, head+row+",1,1\n"+row+"deep_gemm,1,1\n"+row+"flashinfer_trtllm,1,1\n")
	ttft := func(i int) float64 { return r.Rows[i].Figures[0].Predicted }
	if ttft(0) != ttft(1) || ttft(2) < 1.05*ttft(0) {
		t.Errorf("TTFT is %g, %g with deep_gemm and %g ms with flashinfer_trtllm", ttft(0), ttft(1), ttft(2))
	}
}

// TestColumnsAsTheyAre: rows in the columns of public tables are read as they are. What a column
// says of drafts, ranks and caches is answered or refused, never passed over.
func TestColumnsAsTheyAre(t *testing.T) {
	const head = "source,model,system,num_gpus,framework,precision,isl,osl,length_spread,arrival,num_prompts,concurrency,request_rate,tp,dp_attention,ep,disagg,spec,spec_tokens,flags,ttft_mean_ms,tpot_mean_ms\n"
	row := func(ranks, spec, tokens, flags string) string {
		return "InferenceX,deepseek-ai/DeepSeek-R1-0528,b200,8,sglang,fp8,1024,1024,\"random, range ratio 0.8\",\"closed loop, request-rate inf\",10 x conc,64,inf,8," + ranks + ",8,False," + spec + "," + tokens + "," + flags + ",150,11\n"
	}
	r := predictedBy(t, head+row("False", "none", "", "")+row("True", "none", "", "")+row("False", "mtp", "4", "")+row("False", "dflash", "4", "")+row("False", "none", "", "prefix_cache"))
	tpot := func(i int) float64 { return r.Rows[i].Figures[1].Predicted }
	if !(tpot(0) > 0) || tpot(1) == tpot(0) || !(tpot(2) > 0 && tpot(2) < tpot(0)) {
		t.Errorf("TPOT is %g ms, %g with data-parallel attention and %g with drafts", tpot(0), tpot(1), tpot(2))
	}
	for i, want := range map[int]string{0: "", 1: "", 2: "", 3: `spec "dflash"`, 4: "prefix cache"} {
		if why := r.Reason(&r.Rows[i]); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("row %d: %q, want %q", i, why, want)
		}
	}
}
