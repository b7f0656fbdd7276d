package lab

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/internal/validate"
)

const madeHeader = "source,model,system,engine,version,tp,isl,osl,concurrency,ttft_ms,tpot_ms\n"

// madeTable is two models behind an engine, as it would be with these seconds of its host per step;
// the second one's are others.
func madeTable(t *testing.T, one, other float64) *Table {
	t.Helper()
	text := madeHeader
	for model, step := range map[string]float64{"Llama-3.1-8B": one, "Qwen3-8B": other} {
		for _, clients := range []int{1, 2, 4, 8} {
			row := fmt.Sprintf("somebody,%s,H200,vllm,0.11,1,512,64,%d,1,1\n", model, clients)
			made := tableOf(t, strings.NewReader(madeHeader+row))
			r, err := made.report(t.Context(), validate.Trial{Tune: func(_ string, s *deploy.Scheduling) { starts.tune(s); s.StepSeconds = step }})
			if err != nil {
				t.Fatal(err)
			}
			f := r.Rows[0].Figures
			text += strings.Replace(row, ",1,1\n", fmt.Sprintf(",%v,%v\n", f[ttft].Predicted, f[tpot].Predicted), 1)
		}
	}
	return tableOf(t, strings.NewReader(text))
}

// TestHeldOut: of two models whose hosts take 0.5 and 8 ms a step, each is predicted with what the
// other one chooses, and so one is too slow and the other too fast; all runs together choose
// neither for one of them.
func TestHeldOut(t *testing.T) {
	table := madeTable(t, constants[0].start, constants[0].at(levels-1))
	h, err := HeldOut(t.Context(), &Partings[0], table)
	if err != nil {
		t.Fatal(err)
	}
	if h.Parts != 2 || len(h.runs) != 8 {
		t.Fatalf("%d parts, %d runs", h.Parts, len(h.runs))
	}
	for _, j := range h.runs {
		slow := j.held[tpot] > j.measured[tpot]
		if slow != (j.model == "Llama-3.1-8B") || math.Abs(math.Log(j.held[tpot]/j.measured[tpot])) < 0.1 {
			t.Errorf("%s: TPOT %.2f ms measured, held out %.2f", j.model, j.measured[tpot], j.held[tpot])
		}
	}
	// By source nothing is left to choose by: the starts.
	source := &Partings[1]
	if h, err = HeldOut(t.Context(), source, table); err != nil || h.Parts != 1 {
		t.Fatalf("%d sources, %v", h.Parts, err)
	}
	var csv bytes.Buffer
	if err := h.WriteCSV(&csv); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(csv.String()), "\n")
	if len(lines) != 1+2*len(h.runs) || !strings.HasPrefix(lines[0], "file,id,part,") || !strings.Contains(lines[1], "somebody") {
		t.Errorf("%d lines:\n%s", len(lines), csv.String())
	}
}

// TestPartings: the part of a run by each name.
func TestPartings(t *testing.T) {
	j := &judged{engine: "vllm", model: "Qwen3-8B", system: "H200", source: "somebody"}
	want := map[string]string{"pair": "vllm Qwen3-8B", "source": "somebody", "system": "H200", "model": "Qwen3-8B", "version": "vllm not told"}
	for i := range Partings {
		if p := &Partings[i]; p.of(j) != want[p.Name] {
			t.Errorf("%s: %q, want %q", p.Name, p.of(j), want[p.Name])
		}
	}
	if len(want) != len(Partings) {
		t.Errorf("%d partings", len(Partings))
	}
}

// TestKept: the mean and the median of errors, 0, 10 and 50% of runs of InferenceX on one server:
// 20% and 10%. One that has no mean of TTFT is judged by its median, a doubtful one not at all.
func TestKept(t *testing.T) {
	h := &Held{by: &Partings[0]}
	for i, off := range []float64{0, 0.1, 0.5, 9} {
		j := &judged{engine: "sglang", mode: "agg", source: "InferenceX", system: "B200", told: true}
		for f := range figureCount {
			j.measured[f], j.built[f], j.held[f] = 1, 1, 1+off
		}
		j.measured[ttft] = math.NaN()
		if off > 1 {
			j.doubtful = [figureCount]bool{true, true, true, true}
		}
		j.row = i
		h.runs = append(h.runs, j)
	}
	got := map[string]Kept{}
	for _, k := range h.Kept() {
		got[k.Name] = k
	}
	for name, want := range map[string]float64{"InferenceX on one server, TPOT, mean": 20, "InferenceX on one server, TTFT, mean": 20, "labelled, NVIDIA, TPOT": 10} {
		if k := got[name]; k.Runs != 3 || math.Abs(k.Held-want) > 1e-9 || k.Built != 0 {
			t.Errorf("%s: %+v, by hand %v%%", name, k, want)
		}
	}
	if _, ok := got["one pool, TPOT"]; ok {
		t.Error("runs that name their source are none of the table without sources")
	}
	if cells := (&Kept{Target: Target{Name: "x", Most: 9}, Held: 10}).Cells(); cells[len(cells)-1] != "missed" {
		t.Error(cells)
	}
}
