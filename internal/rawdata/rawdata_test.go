package rawdata_test

import (
	"slices"
	"strings"
	"testing"

	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/rawdata"
)

func value(r rawdata.Row, name string) any {
	return r[slices.IndexFunc(rawdata.Columns, func(c rawdata.Column) bool { return c.Name == name })]
}

// TestSimulated: a row says how the deployment is launched, and what a simulation of it has seen.
// 16 clients that always wait keep nearly 16 requests under way.
func TestSimulated(t *testing.T) {
	q := question.DefaultOf(question.Estimate)
	q.Model, q.System, q.Engine, q.Input, q.Output, q.Concurrency = "llama_3_8b", "H200", "sglang", 512, 128, 16
	a, err := point.NewEstimator().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	estimated, err := rawdata.Of(t.Context(), &a.Deployment, a.Load, a.Seen, nil)
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := rawdata.Of(t.Context(), &a.Deployment, a.Load, a.Seen, a.Load.Sent(320))
	if err != nil {
		t.Fatal(err)
	}
	if value(estimated, "Source") != rawdata.Estimated || value(estimated, "Achieved concurrency") != nil {
		t.Errorf("estimated: %v", estimated)
	}
	if achieved := value(simulated, "Achieved concurrency").(float64); achieved < 15 || achieved > 16 {
		t.Errorf("%v requests under way, of 16 clients", achieved)
	}
	for _, name := range []string{"Output throughput", "TPOT"} {
		if ratio := value(simulated, name).(float64) / value(estimated, name).(float64); ratio < 0.8 || ratio > 1.25 {
			t.Errorf("%s: simulated over estimated is %v", name, ratio)
		}
	}
	// An H200 has 140 GiB and keeps some back; a token takes 2 × 32 layers × 8 heads × 128 × 2
	// bytes, the weights 15 GiB.
	if objects := value(simulated, "KV_cache_objs").(float64); objects < 600_000 || objects > 1_030_000 {
		t.Errorf("room for %v tokens", objects)
	}
	if value(simulated, "Framework") != "sglang" || value(simulated, "Quantization") != "W16A16 KV16" || value(simulated, "DeepEP") != "no" {
		t.Errorf("%v", simulated)
	}
}

// TestRead: measured tables have other names for the columns; what is no number has its place.
func TestRead(t *testing.T) {
	rows, err := rawdata.Read(strings.NewReader("backend,ISL,silicon_tpot_ms,nobody knows,max_num_tokens\nvllm,512,7.5,x,\n"), "m.csv")
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	if r := rows[0]; value(r, "Framework") != "vllm" || value(r, "ISL") != 512.0 || value(r, "TPOT") != 7.5 || value(r, "Max num tokens") != nil || value(r, "Source") != rawdata.Measured {
		t.Errorf("%v", r)
	}
	for table, want := range map[string]string{
		"backend,isl\nvllm,many\n": "m.csv: line 2: isl must be a number, not \"many\"", "a,b\n1,2\n": "no column of it", "": "no table",
	} {
		if _, err := rawdata.Read(strings.NewReader(table), "m.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", table, err, want)
		}
	}
}

// TestOneToken: answers of one token have no time per output token, and what is no number is not
// read as one.
func TestOneToken(t *testing.T) {
	q := question.DefaultOf(question.Estimate)
	q.Model, q.System, q.Engine, q.Input, q.Output, q.Concurrency = "llama_3_8b", "H200", "sglang", 512, 1, 16
	a, err := point.NewEstimator().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	for _, requests := range []int{0, 64} {
		row, err := rawdata.Of(t.Context(), &a.Deployment, a.Load, a.Seen, a.Load.Sent(requests))
		if err != nil || value(row, "TPOT") != nil || value(row, "TTFT").(float64) <= 0 {
			t.Errorf("%d requests: %v, %v", requests, row, err)
		}
	}
	for _, text := range []string{"NaN", "inf", "-Infinity"} {
		if err := rawdata.NewRow().SetText("TPOT", text); err == nil {
			t.Errorf("%s is taken for a time", text)
		}
	}
}
