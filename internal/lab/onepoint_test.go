package lab

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/internal/validate"
)

const fitHeader = "model,system,engine,tp,isl,osl,concurrency,ttft_ms,tpot_ms\n"

// madeRuns is a table of runs of a deployment as a fit predicts them.
func madeRuns(t *testing.T, on string, fit deploy.Fit, runs ...[3]int) string {
	t.Helper()
	f := validate.NewFitter(t.Context(), question.Default())
	table := fitHeader
	for _, r := range runs {
		row := fmt.Sprintf("Llama-3.1-8B,%s,%d,%d,%d,1,1\n", on, r[0], r[1], r[2])
		var b bytes.Buffer
		if err := tableOf(t, strings.NewReader(fitHeader+row)).Write(&b); err != nil {
			t.Fatal(err)
		}
		points, err := f.Rows("made", &b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Predicted(points[0], fit)
		if err != nil {
			t.Fatal(err)
		}
		table += strings.Replace(row, ",1,1\n", fmt.Sprintf(",%v,%v\n", got[0], got[1]), 1)
	}
	return table
}

// TestOnePoint: deployments whose steps take longer than predicted, each by its own factor, are
// predicted better from one run of each than from none.
func TestOnePoint(t *testing.T) {
	long.NotRacing(t)
	table := fitHeader
	for on, scale := range map[string]float64{"H200,vllm,1": 1.12, "H100_SXM,vllm,2": 1.1} {
		runs := madeRuns(t, on, deploy.Fit{Decode: scale}, [3]int{1024, 1024, 4}, [3]int{1024, 1024, 16}, [3]int{1024, 1024, 64}, [3]int{8192, 1024, 16})
		table += strings.TrimPrefix(runs, fitHeader)
	}
	r, err := tableOf(t, strings.NewReader(table)).OnePoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]OnePointRow{}
	for _, row := range r.Rows {
		rows[row.Fitted+", "+row.Others] = row
	}
	before, after := rows["nothing, equal lengths"], rows["one run, equal lengths"]
	if r.Deployments != 2 || r.Runs != 8 || before.Rows != 4 || after.TPOT > before.TPOT/2 {
		t.Errorf("%d deployments, %d runs; TPOT off by %v%% of %d rows, then %v%%", r.Deployments, r.Runs, before.TPOT, before.Rows, after.TPOT)
	}
	if r.Worse != [2]int{} {
		t.Errorf("the fit makes %v runs worse", r.Worse)
	}
}

// TestOnePointOfPublicRuns: what one run tells of the others of its deployment, over the public
// runs.
func TestOnePointOfPublicRuns(t *testing.T) {
	if !long.Mode() {
		t.Skip("takes minutes; docs/validation/one_run.md has the table, and its test")
	}
	table, err := Import(t.Context(), besideProject(t, evidence.serving))
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.OnePoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Fitted == "one run" && row.Others == "equal lengths" && (row.TPOT > 4 || row.TTFT > 8) {
			t.Errorf("equal lengths: TPOT %.1f%%, TTFT %.1f%%; want 4%% and 8%%", row.TPOT, row.TTFT)
		}
		if row.Fitted == "one run" && row.Others == "other lengths" && (row.TPOT > 5.5 || row.TTFT > 11) {
			t.Errorf("other lengths: TPOT %.1f%%, TTFT %.1f%%; want 5.5%% and 11%%", row.TPOT, row.TTFT)
		}
	}
	if worse := r.Worse[tpot] + r.Worse[ttft]; worse > r.Runs/100 {
		t.Errorf("%d figures of %d runs are further off than without the fit by more than their band", worse, r.Runs)
	}
}

// anomalous rows of the table of serving runs: by what its notes name, of runs that something else
// than the engine and the processors decided. "ttft": only that figure.
func anomalous(get func(string) string) string {
	m, system, engine, version := filepath.Base(get("model_path")), get("system"), get("backend"), get("backend_version")
	c := get("concurrency")
	deepSeek := strings.HasPrefix(m, "DeepSeek")
	switch {
	case m == "DeepSeek-R1" && system == "b200_sxm" && get("precision") == "fp8" && version == "0.5.9", // drafts, unlabelled
		strings.HasPrefix(m, "Qwen3.5") && system == "b300_sxm" && get("precision") == "fp8" && version == "0.5.9" && get("tp_size") == "4",
		get("tp_size") == "72",                            // several servers
		get("isl") == "15000" && get("mode") == "agg",     // the clients of many servers
		version == "1.3.0rc1", m == "DeepSeek-V3.1-NVFP4", // not limited by the processors; too fast for its processors
		strings.HasPrefix(m, "gpt-oss") && system == "h100_sxm" && engine == "vllm" && c == "512",
		deepSeek && system == "b300_sxm",
		strings.HasPrefix(m, "Qwen3-235B") && system == "h200_sxm" && engine == "vllm",
		m == "Llama-3.1-8B-Instruct-FP8", c == "":
		return "both"
	case deepSeek && system == "b200_sxm" && get("precision") == "fp4" && version == "", // start-up
		m == "Llama-3.1-8B-Instruct" && system == "h100_sxm", // one request always waits
		deepSeek && get("mode") == "disagg":                  // start-up, cannot be told apart
		return "ttft"
	}
	return ""
}

// TestMeasuredServing: errors over the clean rows of measured serving runs stay within what has
// been reached, on the calibrated systems.
func TestMeasuredServing(t *testing.T) {
	long.NotRacing(t)
	src, err := os.ReadFile(besideProject(t, evidence.serving))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(src)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	header := rows[0]
	var why []string
	for _, cells := range rows[1:] {
		get := func(column string) string { return cells[slices.Index(header, column)] }
		why = append(why, anomalous(get))
	}
	r := predictedBy(t, string(src))
	for i := range r.Rows {
		switch why[i] {
		case "both":
			r.Rows[i].Class = "anomalous"
		case "ttft":
			r.Rows[i].Figures[0].Measured = 0
		}
	}
	limits := map[string]float64{"agg TTFT": 25, "agg TPOT": 14, "disagg TTFT": 35, "disagg TPOT": 17}
	for _, s := range r.Totals() {
		limit, ok := limits[s.Group+" "+s.Figure]
		if !ok {
			continue
		}
		t.Logf("%s %s: %d rows, median error %.1f%%, mean %.1f%%, bias %+.1f%%", s.Group, s.Figure, s.Rows, s.Median, s.Mean, s.Bias)
		if s.Rows == 0 || math.IsNaN(s.Mean) || s.Median > limit || s.Unpredicted > 10 {
			t.Errorf("%s %s: median error %.1f%% over %d rows, want at most %v%%; %d not predicted", s.Group, s.Figure, s.Median, s.Rows, limit, s.Unpredicted)
		}
	}
}
