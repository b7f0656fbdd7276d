package validate

import (
	"slices"
	"strings"
	"testing"

	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/op"
	"throughline/serving/simulate"
	"throughline/workload"
)

// naturalTable is what a person would write, without an engine.
const naturalTable = `model,system,tp,concurrency,isl,osl,lengths,ttft_ms,tpot_ms,ttft_p50_ms,ttft_p99_ms,tpot_p99,e2el_p50
Llama-3.1-8B,H200,1,16,1000,200,lognormal:0.5,60,8,50,400,9,1700
Llama-3.1-8B,H200,1,16,1000,200,lognormal:0.5,60,8,,,,
`

// TestPercentiles: a percentile stands beside a percentile of the simulation, in the columns of the
// table, and only where the row has one.
func TestPercentiles(t *testing.T) {
	figure := func(r *Report, row int, name string) Figure {
		return r.Rows[row].Figures[slices.Index(r.Figures, name)]
	}
	r, err := Serving(t.Context(), "mine.csv", strings.NewReader(naturalTable), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"predicted_ttft_ms", "predicted_tpot_ms", "predicted_ttft_p50_ms", "predicted_ttft_p99_ms", "predicted_tpot_p99", "predicted_e2el_p50", "predicted_tokens_per_s", "predicted_memory_gib", "ttft_error_band_percent", "tpot_error_band_percent", "ttft_kind", "prediction_note", "reason"}
	if got := r.Header[13:]; !slices.Equal(got, want) {
		t.Errorf("columns %v", got)
	}
	p50, p99 := figure(r, 0, "TTFT p50"), figure(r, 0, "TTFT p99")
	if !(p50.Predicted > 1 && p99.Predicted > p50.Predicted) || p99.Measured != 400 {
		t.Errorf("TTFT %+v and %+v", p50, p99)
	}
	if f := figure(r, 1, "TTFT p99"); f != (Figure{}) {
		t.Errorf("a row without percentiles has one: %+v", f)
	}
	if r.Answered() != 2 {
		t.Errorf("%d rows answered", r.Answered())
	}
}

// TestOverload: a row whose requests come faster than the server answers says so, and by how much;
// one that keeps up does not.
func TestOverload(t *testing.T) {
	const table = `model,system,engine,tp,isl,osl,concurrency,request_rate,num_prompts,ttft_ms,tpot_ms
Llama-3.1-8B,H200,vllm,1,1024,256,,80,2000,100,10
Llama-3.1-8B,H200,vllm,1,1024,256,,5,500,100,10
`
	r, err := Serving(t.Context(), "mine.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	if note := r.Rows[0].Note; !strings.HasPrefix(note, "overloaded: 80 requests/s come and 2") {
		t.Errorf("80 requests/s: %q", note)
	}
	if note := r.Rows[1].Note; note != "" {
		t.Errorf("5 requests/s: %q", note)
	}
}

// TestBounded: clients send as many requests as their benchmark says, of a long one 20,000, but ten
// each where they are many: the first ones of all weigh as much in the mean as they do there.
func TestBounded(t *testing.T) {
	for _, c := range []struct {
		clients, each, want int
	}{{1, 10, 10}, {100, 10, 1000}, {100, 1000, 20000}, {3000, 10, 30000}, {16384, 10, 163840}, {16384, 20, 163840}} {
		clients, want := c.clients, c.want
		q := question.Default()
		q.Input, q.Output, q.Traffic.Requests = 10, 10, 0
		r := servingRun{q: q, Answer: &point.Answer{Load: workload.Load{Clients: clients, Requests: float64(c.each)}}}
		traffic, err := r.traffic()
		if parts := thin(&traffic, &simulate.Options{}); err != nil || traffic.Requests != want || parts != 1 {
			t.Errorf("%d clients send %d requests, want %d (%v)", clients, traffic.Requests, want, err)
		}
	}
}

// TestThinned: of six or seven servers that a hundred thousand requests come to at 90 a second, one
// answers the requests of one for as long; a single one answers the first.
func TestThinned(t *testing.T) {
	for servers, want := range map[int]struct {
		parts, requests int
		rate            float64
	}{6: {6, 16666, 15}, 7: {7, 14285, 90. / 7}, 1: {1, 20000, 90}} {
		traffic, o := workload.Traffic{Requests: 100_000, Rate: 90}, simulate.Options{Pools: []simulate.Pool{{Servers: servers}}, FrontEnds: servers}
		if parts := thin(&traffic, &o); parts != want.parts || traffic.Requests != want.requests || traffic.Rate != want.rate || o.Pools[0].Servers*parts != servers {
			t.Errorf("%d servers: %d parts, %d requests at %g a second", servers, parts, traffic.Requests, traffic.Rate)
		}
	}
}

// TestDraftSequences: a server of SGLang with drafts runs 48 requests over its data-parallel ranks
// unless its row says how many; without drafts it runs as many as memory holds.
func TestDraftSequences(t *testing.T) {
	table := "model,system,backend,precision,tp,num_gpus,isl,osl,concurrency,drafts,lengths,max_running_requests,ttft_ms,tpot_ms\n" +
		"DeepSeek-R1,H200,sglang,fp8,8,8,1024,1024,256,3,fixed,,1,1\n" +
		"DeepSeek-R1,H200,sglang,fp8,8,8,1024,1024,256,3,fixed,256,1,1\n" +
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

// readRow reads the only row of a table.
func readRow(t *testing.T, table string) *servingRun {
	t.Helper()
	p := newServingPredictor(t.Context(), question.Default(), Trial{})
	var out *servingRun
	check := func(header []string) error { p.figures, _ = presentFigures(header); return p.checkHeader(header) }
	_, err := predictRows(t.Context(), "mine.csv", strings.NewReader(table), check, func(_ []string, cell func(string) string) Row {
		var err error
		if out, err = p.read(cell); err != nil {
			t.Fatal(err)
		}
		return Row{}
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSameSimulation: a row is the run of its deployment under its load, to the same digits.
func TestSameSimulation(t *testing.T) {
	const table = "model,system,engine,tp,request_rate,concurrency,arrival,num_prompts,lengths,isl,osl,ttft_p90\n" +
		"Llama-3.1-8B,H200,vllm,1,4,,gamma:0.5,300,fixed,1000,200,50\n"
	r := readRow(t, table)
	record, _, err := simulated(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	predicted := 1e3 * record.TTFT.Quantile(0.9)
	o, err := simulate.Of(&r.Served, workload.Lengths{Input: 1000, Output: 200}, &simulate.Settings{})
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
	rows, err := Serving(t.Context(), "mine.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	if got := rows.Rows[0].Figures[slices.Index(rows.Figures, "TTFT p90")]; got.Predicted != predicted {
		t.Errorf("%+v, want %v ms", got, predicted)
	}
}

// TestUnsized: a row without GPUs and sizes is a server on the fewest GPUs that hold it: 141 GB of
// weights take two cards of 80 GB.
func TestUnsized(t *testing.T) {
	r := readRow(t, "model,system,engine,request_rate,concurrency,isl,osl,gpus,replicas\nmeta-llama/Llama-3.x-70B,h100,vllm,2,,75,20,,2\n")
	measured := readRow(t, "model,system,engine,request_rate,concurrency,isl,osl,gpus,replicas,tpot_ms\nmeta-llama/Llama-3.x-70B,h100,vllm 0.9.0,2,,75,20,,2,27.8\n")
	for _, run := range []*servingRun{r, measured} {
		if pool := run.Served.Of(op.Decode); pool.Plan.Attention.TP != 2 || pool.Count != 2 {
			t.Errorf("tp %d, %d servers", pool.Plan.Attention.TP, pool.Count)
		}
	}
}
