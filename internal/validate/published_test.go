package validate

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"throughline/internal/point"
	"throughline/internal/question"
)

func publishedRows(t *testing.T, rows string) *Report {
	t.Helper()
	const header = "source,url,model,hardware,num_gpus,parallelism,precision,isl,osl,concurrency_or_batch,metric,value,unit,evidence,notes,engine,context,drafts,acceptance\n"
	r, err := Published(t.Context(), "figures.csv", strings.NewReader(header+rows), question.DefaultOf(question.Published))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPublished: a row is the figure of the same deployment by itself, in the unit of the row.
func TestPublished(t *testing.T) {
	r := publishedRows(t, `A page,,DeepSeek-V3,H100,16,DP16 EP16,FP8,2000,100,64,decode_throughput,1,tok/s,table,,sglang,,,
A page,,DeepSeek-V3,H100,16,DP16 EP16,FP8,2000,100,64,decode_throughput,1,tok/s/GPU,table,,sglang,,,
A page,,DeepSeek-V3,H100,16,DP16 EP16,FP8,2000,100,64,decode_throughput,1,tok/s/node,table,,sglang,,,
A page,,DeepSeek-V3,H100,32,DP16 EP16,FP8,2000,100,64,decode_throughput,1,tok/s,table,two of them,sglang,,,
A page,,DeepSeek-V3,H100,16,DP16 EP16,FP8,,,64,decode_throughput,1,tok/s,table,,sglang,2050,,
A page,,Llama-3.1-70B,H200,4,TP4,FP8,1000,200,32,output_throughput,1,,table,,vllm,,,
A page,,Llama-3.1-70B,H200,4,TP4,FP8,1000,200,32,per_user_output_throughput,1,,table,,vllm,,,
A page,,Llama-3.1-70B,H200,4,TP4,FP8,1000,200,32,request_latency,1,ms,table,,vllm,,,
A page,,Llama-3.1-70B,H200,4,TP4,FP8,1000,200,32,ttft,1,s,table,,vllm,,,
A page,,Llama-3.1-70B,H200,4,TP4,FP8,1000,200,32,tpot,1,us,table,,vllm,,,
A page,,Llama-3.1-70B,H200,4,TP4,FP8,2048,,4,prefill_throughput,1,tok/s,table,,vllm,,,
`)
	for i := range r.Rows {
		if f := &r.Rows[i].Figures[0]; f.Reason != "" {
			t.Fatalf("row %d: %s", i+1, f.Reason)
		}
	}
	answer := func(change func(*question.Question)) *point.Answer {
		t.Helper()
		q := question.Default()
		q.Model, q.System, q.Engine, q.Formats.Weights = "Llama-3.1-70B", "H200", "vllm", "fp8"
		q.TP, q.Input, q.Output, q.Concurrency = 4, 1000, 200, 32
		change(&q)
		a, err := point.NewEstimator().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	decode := func(q *question.Question) {
		q.Model, q.System, q.Engine, q.Phase = "DeepSeek-V3", "H100_SXM", "sglang", question.Decode
		q.DP, q.TP, q.EP, q.Batch, q.Input, q.Output, q.Concurrency = 16, 1, 16, 64, 2000, 100, 0
	}
	rate := func(a *point.Answer, sequences float64) float64 { // with the time of the host
		e := &a.Phases[0].Estimate
		return e.Throughput * e.StepTime / (e.StepTime + a.Deployment.Engine.Host(sequences))
	}
	wide, context := answer(decode), answer(func(q *question.Question) { decode(q); q.Input, q.Output, q.Context = 0, 0, 2050 })
	seen := answer(func(*question.Question) {}).Seen
	prompts := answer(func(q *question.Question) {
		q.Phase, q.Input, q.Output, q.Batch, q.Concurrency = question.Prefill, 2048, 1, 4, 0
	})
	for i, want := range []float64{
		rate(wide, 64), rate(wide, 64) / 16, rate(wide, 64) / 2, 2 * rate(wide, 64), rate(context, 64),
		200 * seen.Requests, 200 / seen.Latency, 1e3 * seen.Latency, seen.TTFT, 1e6 * seen.TPOT, rate(prompts, 4),
	} {
		if got := r.Rows[i].Figures[0].Predicted; math.Abs(got-want) > 1e-12*want {
			t.Errorf("row %d, %s: %v, want %v", i+1, r.Rows[i].Label, got, want)
		}
	}
	if sums := r.Totals(); len(sums) != 1 || sums[0].Group != "all" || sums[0].Rows != len(r.Rows) {
		t.Errorf("%+v", sums)
	}
}

// TestPublishedDrafts: rows of one table differ in how many drafts are accepted, 1.9 tokens of a
// step in one and 1.4 in the next; the steps take as long.
func TestPublishedDrafts(t *testing.T) {
	const row = "A page,,DeepSeek-V3,H200,8,DP8 EP8,FP8,2000,100,64,decode_throughput,1,tok/s,table,,sglang,,1,"
	r := publishedRows(t, row+"0.9\n"+row+"0.4\n")
	first, second := &r.Rows[0].Figures[0], &r.Rows[1].Figures[0]
	if ratio := first.Predicted / second.Predicted; math.Abs(ratio-1.9/1.4) > 1e-12 {
		t.Errorf("%v times as fast, want %v: %q, %q", ratio, 1.9/1.4, first.Reason, second.Reason)
	}
}

// TestPublishedProblems: a row that is no question says all that is wrong with it.
func TestPublishedProblems(t *testing.T) {
	r := publishedRows(t, `A page,,DeepSeek-V3,H100,16,decode EP16,FP8,2000,100,64,decode_throughput,1,tok/s,table,,sglang,,,
A page,,DeepSeek-V3,H100,16,DP16 EP16,FP8,2000,100,64,decode_thruput,1,tok/s,table,,sglang,,,
A page,,DeepSeek-V3,H100,16,DP16 EP16,FP8,2000,100,64,decode_throughput,1,tok/min,table,,sglang,,,
A page,,DeepSeek-V3,H100,16,DP16 EP16,FP8,2000,100,64,decode_throughput,many,tok/s,table,,sglang,,,
A page,,DeepSeek-V3,H100,16,,FP8,2000,100,,output_throughput,1,tok/s,table,,sglang,,,
A page,,DeepSeek-V3,H100,16,DP16 EP16,FP8,2000,100,,decode_throughput,1,tok/s,table,,sglang,,,
`)
	for i, parts := range [][]string{
		{`parallelism: "decode EP16": "decode" is not one of dp`}, {`metric: "decode_thruput"`, `"decode_throughput"`}, {`unit: "tok/min"`, `"tok/s/GPU"`},
		{`figures.csv:5: value "many" is not a positive number`}, {"parallelism is missing", "concurrency_or_batch is missing: how many clients"},
		{"concurrency_or_batch is missing: the batch"},
	} {
		for _, part := range parts {
			if got := r.Rows[i].Figures[0].Reason; !strings.Contains(got, part) {
				t.Errorf("row %d: %q lacks %q", i+1, got, part)
			}
		}
	}
	if _, err := Published(t.Context(), "x.csv", strings.NewReader("model,value\na,1\n"), question.DefaultOf(question.Published)); err == nil || !strings.Contains(err.Error(), `no columns "hardware", "metric"`) {
		t.Errorf("%v", err)
	}
}

// TestStarts: what servers print of their caches when they start is predicted to within 5%, but for
// two models: one whose cache has several pools, and one whose weights an engine fills up. A line
// that has no prediction says why.
func TestStarts(t *testing.T) {
	const name = "../../measure/starts.csv"
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Published(t.Context(), name, f, question.DefaultOf(question.Published))
	if err != nil {
		t.Fatal(err)
	}
	caches := 0
	for i := range r.Rows {
		row, figure := &r.Rows[i], &r.Rows[i].Figures[0]
		cell := func(column string) string { return row.Cells[slices.Index(r.Header, column)] }
		if !strings.HasPrefix(cell("url"), "https://") || figure.Reason != cell("unpredictable") {
			t.Errorf("%s: %q, %q", row.Label, cell("url"), figure.Reason)
		}
		if figure.Reason != "" || cell("metric") == "weights_memory" || slices.Contains([]string{"DeepSeek-V4-Pro", "gpt-oss-120b"}, cell("model")) {
			continue
		}
		caches++
		if math.Abs(figure.Error()) > 0.05 {
			t.Errorf("%s: %v, printed %v", row.Label, figure.Predicted, figure.Measured)
		}
	}
	if caches != 9 {
		t.Errorf("%d caches", caches)
	}
}

// TestUsualMetrics: metrics in any usual name; percentiles, which no published figure is compared
// with, are none.
func TestUsualMetrics(t *testing.T) {
	for name, want := range map[string]string{
		"Mean TTFT": "ttft", "avg_itl": "tpot", "E2E latency": "request_latency", "tok/s/user": "per_user_output_throughput", "Output tokens/s/GPU": "output_throughput",
		"requests/s": "request_throughput", "ttft": "ttft", "kv_cache_tokens": "kv_cache_tokens",
	} {
		if m, err := FindMetric(name); err != nil || m.name != want {
			t.Errorf("%s: %q, %v, want %s", name, m.name, err, want)
		}
	}
	if m, err := FindMetric("P99 TTFT"); err == nil {
		t.Errorf("P99 TTFT is %s", m.name)
	}
}
