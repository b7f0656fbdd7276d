package validate

import (
	"math"
	"slices"
	"strings"
	"testing"

	"throughline/estimate"
	"throughline/internal/question"
	"throughline/op"
	"throughline/serving/simulate"
	"throughline/workload"
)

// naturalTable is what a person would write, without an engine.
const naturalTable = `model,system,tp,concurrency,isl,osl,ttft_ms,tpot_ms,ttft_p50_ms,ttft_p99_ms,tpot_p99,e2el_p50
Llama-3.1-8B,H200,1,16,1000,200,60,8,50,400,9,1700
Llama-3.1-8B,H200,1,16,1000,200,60,8,,,,
`

// TestPercentiles: a percentile stands beside a percentile of the simulation, in the columns of the table, and only where the
// row has one; means are those of the closed form unless the simulation is asked for.
func TestPercentiles(t *testing.T) {
	figure := func(r *Report, row int, name string) Figure {
		return r.Rows[row].Figures[slices.Index(r.Figures, name)]
	}
	predict := func(simulated bool) *Report {
		q := question.Default()
		q.BySimulation = simulated
		r, err := Serving(t.Context(), "mine.csv", strings.NewReader(naturalTable), q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	closed, simulated := predict(false), predict(true)
	want := []string{"predicted_ttft_ms", "predicted_tpot_ms", "predicted_ttft_p50_ms", "predicted_ttft_p99_ms", "predicted_tpot_p99", "predicted_e2el_p50", "predicted_tokens_per_s", "predicted_memory_gib", "ttft_error_band_percent", "tpot_error_band_percent", "reason"}
	if got := closed.Header[12:]; !slices.Equal(got, want) {
		t.Errorf("columns %v", got)
	}
	p50, p99 := figure(closed, 0, "TTFT p50"), figure(closed, 0, "TTFT p99")
	if !(p50.Predicted > 1 && p99.Predicted > p50.Predicted) || p99.Measured != 400 {
		t.Errorf("TTFT %+v and %+v", p50, p99)
	}
	if f := figure(closed, 1, "TTFT p99"); f != (Figure{}) {
		t.Errorf("a row without percentiles has one: %+v", f)
	}
	if a, b := figure(simulated, 0, "TTFT p99"), p99; a != b {
		t.Errorf("%v and %v by the same simulation", a, b)
	}
	for _, name := range []string{"TTFT", "TPOT"} {
		a, b := figure(closed, 0, name), figure(simulated, 0, name)
		if a.Predicted == b.Predicted || math.Abs(a.Predicted/b.Predicted-1) > 0.25 {
			t.Errorf("%s: %v ms in closed form, %v simulated", name, a.Predicted, b.Predicted)
		}
	}
	if closed.Answered() != 2 {
		t.Errorf("%d rows answered", closed.Answered())
	}
}

// TestSameSimulation: a row is the run of its deployment under its load, to the same digits.
func TestSameSimulation(t *testing.T) {
	const table = "model,system,engine,tp,request_rate,concurrency,arrival,num_prompts,length_spread,isl,osl,ttft_p90\n" +
		"Llama-3.1-8B,H200,vllm,1,4,,\"open loop, gamma burstiness=4\",300,random fixed,1000,200,50\n"
	p := servingPredictor{ctx: t.Context(), asked: question.Default(), loaded: map[servingFiles]*question.Loaded{}, failed: map[servingFiles]error{}}
	var predicted float64
	_, err := rawTable(t.Context(), "mine.csv", strings.NewReader(table), (&servingPredictor{}).checkHeader, func(_ []string, cell func(string) string) Row {
		r, err := p.read(run{cell})
		if err != nil {
			t.Fatal(err)
		}
		if r.rate != 4 || r.arrival != (workload.Arrival{Kind: "gamma", By: 0.5}) || r.requests != 300 {
			t.Errorf("rate %v, arrivals %+v, %d requests", r.rate, r.arrival, r.requests)
		}
		record, err := simulated(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		predicted = 1e3 * record.TTFT.Quantile(0.9)

		o, err := simulate.Of(&r.deployment, workload.Lengths{Input: 1000, Output: 200}, &simulate.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		traffic := workload.Traffic{
			Requests: 300, Rate: 4, Arrival: workload.Arrival{Kind: "gamma", By: 0.5},
			Input: workload.Length{Mean: 1000, Kind: "fixed"}, Output: workload.Length{Mean: 200, Kind: "fixed"},
		}
		again, err := simulate.Run(t.Context(), o, traffic.Source())
		if err != nil || 1e3*again.TTFT.Quantile(0.9) != predicted || again.Requests != 300 {
			t.Errorf("%v ms, %v by hand (%v)", predicted, 1e3*again.TTFT.Quantile(0.9), err)
		}
		return Row{}
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Serving(t.Context(), "mine.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Rows[0].Figures[slices.Index(r.Figures, "TTFT p90")]; got.Predicted != predicted {
		t.Errorf("%+v, want %v ms", got, predicted)
	}
}

// TestBounded: many clients have fewer requests each, never fewer than five.
func TestBounded(t *testing.T) {
	for clients, want := range map[int]int{1: 10, 100: 1000, 3000: 20000, 16384: 81920} {
		r := servingRun{load: workload.Load{Clients: clients, Requests: 10}, drawn: workload.Lengths{Input: 10, Output: 10}}
		if traffic, err := r.traffic(); err != nil || traffic.Requests != want {
			t.Errorf("%d clients send %d requests, want %d (%v)", clients, traffic.Requests, want, err)
		}
	}
}

// TestAcceptLength: drafts are accepted so that a step has the tokens that were counted.
func TestAcceptLength(t *testing.T) {
	said := run{func(column string) string {
		return map[string]string{"other_settings": "accept length 2.88; x"}[column]
	}}
	got, err := said.acceptance([]float64{0.9}, 3, "")
	if err != nil || len(got) != 3 || math.Abs(estimate.TokensPerStep(got, 3)-2.88) > 1e-9 {
		t.Errorf("%v: %v tokens (%v)", got, estimate.TokensPerStep(got, 3), err)
	}
	if _, err := said.acceptance(nil, 1, ""); err == nil {
		t.Error("2.88 tokens of a step with one draft")
	}
	silent := run{func(string) string { return "" }}
	if got, _ := silent.acceptance([]float64{0.8, 0.6}, 4, ""); !slices.Equal(got, []float64{0.8, 0.6, 0.6, 0.6}) {
		t.Errorf("beyond what is known: %v", got)
	}
	if got, err := silent.acceptance([]float64{0.8}, 1, "2"); err != nil || math.Abs(got[0]-1) > 1e-9 {
		t.Errorf("told that all are accepted: %v (%v)", got, err)
	}
}

// TestUnsized: a row without GPUs and sizes is a server on the fewest GPUs that hold it; ShareGPT has the lengths that were
// counted.
func TestUnsized(t *testing.T) {
	const table = "model,system,engine,request_rate,concurrency,isl,osl,num_gpus,tp,length_spread,output_tput_per_gpu,req_per_s,other_settings\n" +
		"meta-llama/Llama-3.x-70B,h100,vllm,2,,75,20,,,fixed,,,replicas=2\n" +
		"meta-llama/Llama-3.1-405B-FP8,h100,vllm,4,,ShareGPT mean 215,ShareGPT,8,8,ShareGPT,50,2,\n"
	p := servingPredictor{ctx: t.Context(), asked: question.Default(), loaded: map[servingFiles]*question.Loaded{}, failed: map[servingFiles]error{}}
	var runs []*servingRun
	if _, err := rawTable(t.Context(), "mine.csv", strings.NewReader(table), (&servingPredictor{}).checkHeader, func(_ []string, cell func(string) string) Row {
		r, err := p.read(run{cell})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
		return Row{}
	}); err != nil {
		t.Fatal(err)
	}
	// 141 GB of weights: two cards of 80 GB.
	if pool := runs[0].deployment.Of(op.Decode); pool.Plan.Attention.TP != 2 || pool.Count != 2 {
		t.Errorf("tp %d, %d servers", pool.Plan.Attention.TP, pool.Count)
	}
	// 50 · 8 tokens over 2 requests.
	if n := runs[1].load.Lengths; n.Input != 215 || n.Output != 200 {
		t.Errorf("lengths %+v", n)
	}
}

// TestDraftSequences: a server of SGLang with drafts runs 48 requests over its data-parallel ranks unless its row says how many;
// without drafts it runs as many as memory holds.
func TestDraftSequences(t *testing.T) {
	table := "model,system,backend,precision,tp,num_gpus,isl,osl,concurrency,drafts,length_spread,other_settings,ttft_ms,tpot_ms\n" +
		"DeepSeek-R1,H200,sglang,fp8,8,8,1024,1024,256,3,fixed,,1,1\n" +
		"DeepSeek-R1,H200,sglang,fp8,8,8,1024,1024,256,3,fixed,max-running-requests 256,1,1\n" +
		"DeepSeek-R1,H200,sglang,fp8,8,8,1024,1024,256,0,fixed,,1,1\n"
	r, err := Serving(t.Context(), "runs.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	var first [3]float64
	for i := range r.Rows {
		first[i] = r.Rows[i].Figures[0].Predicted
	}
	if !(first[0] > 5*first[1] && first[2] > 0 && first[0] > 5*first[2]) {
		t.Errorf("TTFT %v ms: 208 of 256 requests wait in the first row alone", first)
	}
}
