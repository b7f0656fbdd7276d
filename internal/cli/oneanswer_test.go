package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"throughline/internal/test/questions"
	"throughline/internal/test/racing"
)

// TestOneAnswer: the winner of a plan is priced to the same digits by estimate, by explain and by
// what is validated, and can be simulated.
func TestOneAnswer(t *testing.T) {
	if racing.Enabled {
		t.Skip("one command after another, which other tests run under the race detector")
	}
	dir := t.TempDir()
	modes, engines := map[string]int{}, map[string]int{}
	overlaps := 0
	for i, q := range questions.Plans() {
		t.Run(q, func(t *testing.T) {
			file := filepath.Join(dir, fmt.Sprintf("plan%d.json", i))
			out := answer(t, append(strings.Fields("plan --json "+q), "--jobs", "2")...)
			if err := os.WriteFile(file, out, 0o644); err != nil {
				t.Fatal(err)
			}
			var plan struct {
				Question map[string]string
				Ranked   []planRow
			}
			if err := json.Unmarshal(out, &plan); err != nil || len(plan.Ranked) == 0 {
				t.Fatalf("%v in %s", err, out)
			}
			row := &plan.Ranked[0]
			modes[row.Mode]++
			engines[row.Engine]++
			if row.Prefill.Overlap+row.Decode.Overlap != "" {
				overlaps++
			}

			for _, command := range []string{"estimate", "explain"} {
				var got struct {
					Engine  string
					Clients *seenFigures

					Prefill, Decode *seenStep
				}
				if err := json.Unmarshal(answer(t, command, "--from", file+"#1", "--json"), &got); err != nil {
					t.Fatal(err)
				}
				if command == "estimate" && row.Mode == "agg" {
					got.Prefill.sameAs(t, "prefill", &row.Prefill)
					got.Decode.sameAs(t, "decode", &row.Decode)
				}
				if got.Engine != row.Engine || got.Clients == nil || *got.Clients != row.figures() {
					t.Errorf("%s: %s %+v, plan says %s %+v", command, got.Engine, got.Clients, row.Engine, row.figures())
				}
			}
			answer(t, "simulate", "--from", file+"#1", "--num-prompts", "4", "--json")
			table := filepath.Join(dir, fmt.Sprintf("row%d.csv", i))
			if err := os.WriteFile(table, []byte(row.csv(plan.Question)), 0o644); err != nil {
				t.Fatal(err)
			}
			predicted := filepath.Join(dir, fmt.Sprintf("predicted%d.csv", i))
			answer(t, "validate", "serving", table, "--out", predicted)
			row.compare(t, predicted)
		})
	}
	for _, want := range []string{"agg", "disagg"} {
		if modes[want] < 5 {
			t.Errorf("only %d winners are %s", modes[want], want)
		}
	}
	if overlaps < 2 {
		t.Errorf("only %d winners overlap", overlaps)
	}
	for _, want := range []string{"sglang", "vllm", "trtllm", "none"} {
		if engines[want] < 3 {
			t.Errorf("only %d winners run on %s", engines[want], want)
		}
	}
}

// seenFigures are what clients see, as estimate writes it.
type seenFigures struct {
	Concurrency int     `json:"concurrency"`
	TTFT        float64 `json:"ttft_ms"`
	TPOT        float64 `json:"tpot_ms"`
	Requests    float64 `json:"requests_per_s"`
	Tokens      float64 `json:"tokens_per_s"`
	Memory      float64 `json:"memory_gib"`
}

// seenStep is a bare step, as estimate writes it.
type seenStep struct {
	Batch int
	Step  float64  `json:"step_ms"`
	Band  *float64 `json:"error_band_percent"`
}

// sameAs checks that a plan says the same of a step of processors that do both phases.
func (s *seenStep) sameAs(t *testing.T, phase string, p *planSide) {
	t.Helper()
	if s == nil || s.Batch != p.Batch || math.Abs(s.Step/(1e3*p.Step)-1) > 1e-9 || (s.Band == nil) != (p.Band == nil) || s.Band != nil && *s.Band != *p.Band {
		t.Errorf("%s: estimate says %+v, plan %+v", phase, s, p)
	}
}

// planRow is a row of a plan.
type planRow struct {
	Mode, Engine    string
	GPUs            int `json:"gpus"`
	Spare           int `json:"spare_gpus"`
	Concurrency     int
	TTFT            float64 `json:"ttft_s"`
	TPOT            float64 `json:"tpot_s"`
	Requests        float64 `json:"requests_per_s"`
	Tokens          float64 `json:"tokens_per_s"`
	Memory          float64 `json:"memory_gib"`
	Running         int     `json:"max_running_requests"`
	MemoryShare     float64 `json:"memory_share"`
	Prefill, Decode planSide
}

type planSide struct {
	Instances, DP, PP, TP, EP int
	MoETP                     int `json:"moe_tp"`
	MoEDP                     int `json:"moe_dp"`
	Redundant                 int `json:"redundant_experts"`
	Drafts                    int
	Overlap                   string
	Batch                     int
	Step                      float64  `json:"step_s"`
	Band                      *float64 `json:"error_band_percent"`
}

func (r *planRow) figures() seenFigures {
	return seenFigures{r.Concurrency, r.TTFT * 1e3, r.TPOT * 1e3, r.Requests, r.Tokens, r.Memory}
}

// csv is the row as a table of serving runs that nobody has measured.
func (r *planRow) csv(question map[string]string) string {
	header := []string{"model_path", "system", "backend", "precision", "kv_cache", "mode", "isl", "osl", "concurrency", "num_gpus", "drafts"}
	cells := []string{question["model"], question["system"], r.Engine, question["weights"], question["cache"], r.Mode, question["isl"], question["osl"],
		strconv.Itoa(r.Concurrency), strconv.Itoa(r.GPUs - r.Spare), strconv.Itoa(r.Decode.Drafts)}
	side := func(prefix string, s *planSide) {
		for _, c := range []struct {
			name  string
			value int
		}{{"tp_size", s.TP}, {"pp_size", s.PP}, {"attention_dp_size", s.DP}, {"moe_tp_size", s.MoETP}, {"moe_ep_size", s.EP}, {"redundant_experts", s.Redundant}} {
			header, cells = append(header, prefix+c.name), append(cells, strconv.Itoa(c.value))
		}
		header, cells = append(header, prefix+"overlap"), append(cells, s.Overlap)
	}
	if r.Mode == "agg" {
		side("", &r.Decode)
	} else {
		side("prefill_", &r.Prefill)
		side("decode_", &r.Decode)
		header, cells = append(header, "prefill_num_workers", "decode_num_workers"), append(cells, strconv.Itoa(r.Prefill.Instances), strconv.Itoa(r.Decode.Instances))
	}
	header, cells = append(header, "max-running-requests", "memory-share"), append(cells, strconv.Itoa(r.Running), fmt.Sprint(r.MemoryShare))
	return strings.Join(header, ",") + "\n" + strings.Join(cells, ",") + "\n"
}

// compare checks the predictions of the row, which are written with nine digits.
func (r *planRow) compare(t *testing.T, predicted string) {
	t.Helper()
	f, err := os.Open(predicted)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v: %v", err, rows)
	}
	cell := map[string]string{}
	for i, name := range rows[0] {
		cell[name] = rows[1][i]
	}
	for name, want := range map[string]float64{
		"predicted_ttft_ms": r.TTFT * 1e3, "predicted_tpot_ms": r.TPOT * 1e3, "predicted_tokens_per_s": r.Tokens, "predicted_memory_gib": r.Memory,
	} {
		if want == 0 && cell[name] == "" {
			continue // a request of one token has no time per output token
		}
		got, err := strconv.ParseFloat(cell[name], 64)
		if err != nil || math.Abs(got-want) > 1e-8*want {
			t.Errorf("validate serving: %s is %q, plan says %v (%s)", name, cell[name], want, cell["reason"])
		}
	}
}
