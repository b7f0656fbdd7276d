package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"throughline/internal/test/long"
)

// measuredFiles are results in the keys of each client, with numbers of our own:
// sglang.bench_serving (python/sglang/bench_serving.py of sgl-project/sglang), vLLM's bench serve
// (vllm/benchmarks/serve.py), genai-perf (genai_perf/export_data/json_exporter.py of
// triton-inference-server/perf_analyzer), aiperf, and what InferenceX makes of vLLM's
// (utils/process_result.py). Loads are how compare tells what it read.
var measuredFiles = []struct{ file, load string }{
	{"sglang.jsonl", "Load: 16 clients, 10 requests each"},
	{"sglang_sharegpt.jsonl", "Load: 8 clients, 10 requests each"},
	{"sglang_rate.jsonl", "Load: 4 requests/s, simulated; 2 under way on average (completed · E2E / duration)"}, // 60 · 0.406 s / 16 s = 1.5
	{"vllm.json", "Load: 8 clients, 10 requests each"},
	{"vllm_rate.json", "Load: 4 requests/s, simulated; 2 under way on average"}, // 60 · (41.5 + 63 · 7.75) ms / 16 s = 2.0
	{"genai_perf.json", "Load: 4 clients, 25 requests each"},
	{"genai_perf_rate.json", "Load: 4 requests/s, simulated; 2 under way"}, // 3.9/s · 0.532 s = 2.1
	{"genai_perf_inferred.json", "Load: 6 clients, inferred"},              // 11.5/s · 0.532 s = 6.1
	{"aiperf.json", "Load: 8 clients, 8 requests each"},
	{"inferencex.json", "Load: 64 clients, 10 requests each"},
	{"agg_inferencex.json", "Load: 64 clients, 10 requests each"},
	{"bench.jsonl", "Load: 8 clients, 8 requests each"},
	{"matrix.csv#1", "Load: 4 clients"},
	{"matrix.csv#2", "Load: 4 clients, inferred"},
}

// TestOneFileOnePrediction: of each result file, compare, validate serving and calibrate serving
// predict the same TTFT and TPOT to the digit.
func TestOneFileOnePrediction(t *testing.T) {
	notRacing(t)
	const deployment = "model=Llama-3.1-8B,system=H200,engine=vllm,tp=1"
	digits := func(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }
	for _, c := range measuredFiles {
		t.Run(c.file, func(t *testing.T) {
			name, place, _ := strings.Cut(filepath.Join("testdata", "results", c.file), "#")
			row := max(1, len(place)) // rows are single digits
			if place != "" {
				row, _ = strconv.Atoi(place)
			}
			predicted := filepath.Join(t.TempDir(), "predicted.csv")
			call(t, "validate", "serving", name, "--deployment", deployment, "--out", predicted)
			table := csvRows(t, predicted)
			if place == "" {
				row = len(table) - 1 // the last result of a file
			}
			var fitted struct {
				Runs []struct {
					Run, Figure string
					Before      float64 `json:"before_ms"`
				}
			}
			if err := json.Unmarshal([]byte(call(t, "calibrate", "serving", name, "--deployment", deployment, "--json")), &fitted); err != nil {
				t.Fatal(err)
			}
			measured := []string{"compare", "--measured", filepath.Join("testdata", "results", c.file), "--model", "Llama-3.1-8B", "--system", "H200", "--engine", "vllm", "--tp", "1"}
			if out := call(t, measured...); !strings.Contains(strings.Join(strings.Fields(out), " "), c.load) {
				t.Errorf("compare says\n%s, want %q", out, c.load)
			}
			for _, figure := range []string{"ttft", "tpot"} {
				validated := table[row][slices.Index(table[0], "predicted_"+figure+"_ms")]
				var why struct{ Predicted float64 }
				if err := json.Unmarshal([]byte(call(t, append(measured, "--explain", figure, "--json")...)), &why); err != nil {
					t.Fatal(err)
				}
				if got := digits(why.Predicted); validated == "" || got != validated {
					t.Errorf("%s: compare predicts %s ms, validate %s", figure, got, validated)
				}
				seen, before := 0, ""
				for _, r := range fitted.Runs {
					if r.Figure == strings.ToUpper(figure) {
						if seen++; seen == row {
							before = digits(r.Before)
						}
					}
				}
				if before != validated {
					t.Errorf("%s: calibrate predicts %s ms, validate %s", figure, before, validated)
				}
			}
		})
	}
}

// TestOtherModel: a file of another model than the one that is asked for is refused, by both names;
// organisations, trainings and formats of a name make no other model, and names that only a server
// knows say nothing.
func TestOtherModel(t *testing.T) {
	file := filepath.Join("testdata", "results", "vllm.json")
	for _, args := range [][]string{
		{"compare", "--measured", file, "--model", "Qwen3-32B", "--system", "H200"},
		{"calibrate", "serving", file, "--deployment", "model=Qwen3-32B,system=H200,engine=vllm"},
	} {
		if said := refused(t, args...); !strings.Contains(said, "Qwen3-32B is asked for, but the run is of meta-llama/Llama-3.1-8B-Instruct") {
			t.Errorf("%v: %s", args, said)
		}
	}
	for _, model := range []string{"meta-llama/Llama-3.1-8B", "llama-3.1-8b-instruct", "Llama-3.1-8B-FP8"} {
		call(t, "compare", "--measured", file, "--model", model, "--system", "H200", "--engine", "vllm")
	}
	out := call(t, "compare", "--measured", filepath.Join("testdata", "results", "sglang.jsonl"), "--model", "Qwen3-8B", "--system", "H200") // names none
	if !strings.Contains(out, "Qwen3-8B") {
		t.Error(out)
	}
}

// TestCompareColumns: what the other figure would be stands below its title also where the first
// cause cannot explain anything; where no cause is left that is said, and the figure to explain can
// be chosen.
func TestCompareColumns(t *testing.T) {
	long.NotRacing(t)
	asked := func(measured string, more ...string) string {
		return call(t, append([]string{"compare", "--measured", measured, "--model", "Llama-3.1-8B", "--system", "H200", "--engine", "vllm", "--concurrency", "32"}, more...)...)
	}
	// Nothing that decode kernels do makes the first token wait for seconds.
	out := asked("tpot=9ms,ttft=4s", "--explain", "ttft")
	cells := func(line string) (out []string) {
		for cell := range strings.SplitSeq(strings.Trim(line, "│"), "│") {
			out = append(out, strings.TrimSpace(cell))
		}
		return out
	}
	rows := map[string][]string{}
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, "│") {
			rows[cells(line)[0]] = cells(line)
		}
	}
	if head := rows["cause"]; !slices.Equal(head, []string{"cause", "would have to be", "then TPOT (9)", "so"}) {
		t.Errorf("columns %q in\n%s", head, out)
	}
	if row := rows["decode kernels"]; len(row) != 4 || !strings.HasPrefix(row[1], "cannot") || row[2] != "" || row[3] != "no" {
		t.Errorf("decode kernels: %q", row)
	}
	if row := rows["waiting"]; len(row) != 4 || !strings.HasSuffix(row[2], "ms") || row[3] == "no" {
		t.Errorf("waiting: %q", row)
	}
	for figure, want := range map[string]string{"ttft": "TTFT 4000 ms measured", "tpot": "TPOT 9 ms measured"} {
		if out := asked("tpot=9ms,ttft=4s", "--explain", figure); !strings.Contains(out, want) {
			t.Errorf("figure %s:\n%s", figure, out)
		}
	}
	if said := refused(t, "compare", "--measured", "tpot=9ms", "--model", "Llama-3.1-8B", "--system", "H200", "--explain", "ttft"); !strings.Contains(said, "--explain: ttft was not measured: tpot") {
		t.Error(said)
	}
	// A token cannot take 0.01 ms, whatever is off.
	if out := strings.Join(strings.Fields(asked("tpot=0.0001ms,ttft=1000s")), " "); !strings.Contains(out, "several things are off") {
		t.Errorf("no conclusion:\n%s", out)
	}
}

// TestImplausibleTimes: a time that nothing can have taken is named with its line, and makes no
// error of infinity.
func TestImplausibleTimes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "forward.csv")
	text := "kind,model,params,time_ms\ndecode,Llama-3.1-8B,b=1;s=512,5\ndecode,Llama-3.1-8B,b=1;s=512,1e-308\n"
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out := call(t, "validate", "forward", name, "--system", "H200")
	if strings.Contains(out, "Inf") || !strings.Contains(strings.Join(strings.Fields(out), " "), fmt.Sprintf("%s:3: \"1e-308\" is no time that can have been measured", name)) {
		t.Error(out)
	}
}
