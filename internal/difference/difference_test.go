package difference

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
)

func find(t *testing.T, d *Difference, field string) *Row {
	t.Helper()
	for i := range d.Rows {
		if d.Rows[i].Field == field {
			return &d.Rows[i]
		}
	}
	t.Fatalf("no field %q", field)
	return nil
}

// H100 and H200 have one die and another memory: 80 GB at 3.35 TB/s and 141 GB at 4.8.
func TestSystems(t *testing.T) {
	d, err := Of(files.Machine, "H100_SXM", "H200")
	if err != nil {
		t.Fatal(err)
	}
	var differ []string
	for i := range d.Rows {
		if d.Rows[i].Differs() {
			differ = append(differ, d.Rows[i].Field)
		}
	}
	if got := strings.Join(differ, ", "); got != "mem1.GiB (GiB), mem1.GBps (GB/s)" {
		t.Errorf("%s differ", got)
	}
	if c := find(t, d, "mem1.GBps (GB/s)").Change.(float64); math.Abs(c-(4800./3350-1)) > 1e-12 {
		t.Errorf("change %v", c)
	}
	if len(d.Why) != 2 || !strings.Contains(d.Why[0], "1.43 times the mem1.GBps") || !strings.Contains(d.Why[1], "matrix.bfloat16.tflops") {
		t.Errorf("%q", d.Why)
	}
}

// Tables are compared by their first cells, or row by row; other JSON path by path.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a.csv": "run,tpot,engine\nx,10,vllm\ny,20,vllm\n", "b.csv": "run,tpot,engine\ny,30,vllm\nx,10,sglang\n",
		"a.jsonl": "{\"tpot\": 4}\n{\"tpot\": 5}\n",
		"a.json":  `{"rate": 5, "runs": [{"p99": 1.5}], "name": "s"}`, "b.json": `{"rate": 5, "runs": [{"p99": 3}], "name": "t"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("broken.csv", []byte("run,tpot\nx,10\ny,\"20\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Of(files.Machine, "broken.csv", "a.csv"); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a table that ends within quotes: %v", err)
	}
	d, err := Of(files.Machine, "a.csv", "b.csv")
	if err != nil {
		t.Fatal(err)
	}
	if r := find(t, d, "y.tpot"); r.A != 20. || r.B != 30. || r.Change != 0.5 {
		t.Errorf("%+v", r)
	}
	if r := find(t, d, "x.engine"); r.A != "vllm" || r.B != "sglang" || r.Change != nil {
		t.Errorf("%+v", r)
	}
	if d.Why[0] != "2 of 4 figures differ; the most in y.tpot: +50.0%." {
		t.Errorf("%q", d.Why)
	}
	if d, err = Of(files.Machine, "a.csv#1", "a.csv#2"); err != nil {
		t.Fatal(err)
	}
	if r := find(t, d, "tpot"); r.Change != 1. {
		t.Errorf("%+v", r)
	}
	if d, err = Of(files.Machine, "a.json", "b.json"); err != nil {
		t.Fatal(err)
	}
	if r := find(t, d, "runs[1].p99"); r.Change != 1. {
		t.Errorf("%+v", r)
	}
	if d, err = Of(files.Machine, "a.jsonl#1", "a.jsonl#2"); err != nil {
		t.Fatal(err)
	}
	if r := find(t, d, "tpot"); r.Change != 0.25 {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct{ a, b, want string }{
		{"a.json", "H200", "compare two of a kind"}, {"a.csv#9", "a.csv#1", "no row 9; it has 2"}, {"no.json#1", "a.csv", "no.json"},
		{"a.json#1", "a.json", "whose rows have numbers"}, {"H20O", "H200", "no system"},
	} {
		if _, err := Of(files.Machine, c.a, c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.a, c.b, err)
		}
	}
}

// planned writes a plan for requests of these lengths, and its rows.
func planned(t *testing.T, input, output int) (string, *advice.Advice) {
	t.Helper()
	q := question.DefaultOf(question.Plan)
	q.Model, q.System, q.GPUs, q.Input, q.Output, q.Engine = "Llama-3.1-8B", "H200", 4, input, output, "vllm"
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	engines, err := engine.Choices(q.Engine)
	if err != nil {
		t.Fatal(err)
	}
	o := advice.Options{Search: question.Search{GPUs: 4, Mode: advice.Both, Objective: advice.Throughput, Top: 5}, GPUsPerNode: 8, Engines: engines, Workers: 1}
	got, err := advice.Give(context.Background(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteObject(&b, report.AdviceJSON(&advice.Plans{Loaded: l, Options: o, Advice: got})); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, got
}

// Rows of a plan are estimated again to the same digits; what classes take of an output token adds
// up to all of it.
func TestRows(t *testing.T) {
	file, got := planned(t, 2000, 200)
	last := len(got.Ranked) - 1
	d, err := Of(files.Machine, file+"#1", file+"#"+string(rune('1'+last)))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string][2]float64{
		"tokens/s/GPU": {got.Ranked[0].PerGPU(), got.Ranked[last].PerGPU()},
		"TPOT ms":      {1e3 * got.Ranked[0].TPOT, 1e3 * got.Ranked[last].TPOT},
		"TTFT ms":      {1e3 * got.Ranked[0].TTFT, 1e3 * got.Ranked[last].TTFT},
	} {
		r := find(t, d, field)
		if math.Abs(r.A.(float64)/want[0]-1) > 1e-9 || math.Abs(r.B.(float64)/want[1]-1) > 1e-9 {
			t.Errorf("%s: %v and %v, planned %v", field, r.A, r.B, want)
		}
	}
	for k, perGPU := range []float64{got.Ranked[0].PerGPU(), got.Ranked[last].PerGPU()} {
		var sum, classes, step float64
		for i := range d.Rows {
			v, ok := [...]any{d.Rows[i].A, d.Rows[i].B}[k].(float64)
			switch {
			case !ok:
			case strings.HasPrefix(d.Rows[i].Field, "GPU ms/token "):
				sum += v
			case strings.HasPrefix(d.Rows[i].Field, "decode ms "):
				classes += v
			case d.Rows[i].Field == "decode step ms":
				step = v
			}
		}
		if math.Abs(sum*perGPU/1e3-1) > 1e-9 {
			t.Errorf("classes take %v ms of an output token, of %v", sum, 1e3/perGPU)
		}
		if math.Abs(classes/step-1) > 1e-6 {
			t.Errorf("classes take %v ms of a step of %v", classes, step)
		}
	}
	if len(d.Why) != 3 || !strings.Contains(d.Why[0], "#1 does ") || !strings.Contains(d.Why[1], "An output token takes") {
		t.Errorf("%q", d.Why)
	}
}

// Where prompts are long and outputs short, steps that hold both take less than those of either by
// itself: that is told by its name, and no GPU waits less than not at all. A row beside itself is
// the same.
func TestStepsInCommon(t *testing.T) {
	file, _ := planned(t, 8000, 10)
	d, err := Of(files.Machine, file+"#1", file+"#1")
	if err != nil {
		t.Fatal(err)
	}
	if v := find(t, d, "GPU ms/token "+idle).A; v != 0. {
		t.Errorf("GPUs wait %v ms", v)
	}
	if v := find(t, d, "GPU ms/token "+shared).A.(float64); v >= 0 {
		t.Errorf("steps in common take %v ms", v)
	}
	if len(d.Why) != 1 || !strings.HasSuffix(d.Why[0], "do the same.") {
		t.Errorf("%q", d.Why)
	}
}

// TestSingleTokens: rows of answers of one token, which have no speed of their own, are compared in
// finite numbers.
func TestSingleTokens(t *testing.T) {
	rows := join([]Figure{{"speed", math.Inf(1)}, {"gpus", 4.}}, []Figure{{"speed", math.NaN()}, {"gpus", 8.}})
	if r := rows[0]; r.A != nil || r.B != nil || r.Change != nil {
		t.Errorf("a speed that nothing has: %+v", r)
	}
	if r := rows[1]; r.A != 4. || r.B != 8. || r.Change != 1. {
		t.Errorf("twice as many: %+v", r)
	}
}
