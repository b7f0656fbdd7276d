package runs

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/files"
)

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOf: what result files say of a run, each kind of traffic.
func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"clients": {`{"tag":"a","completed":32,"max_concurrency":8,"request_rate":"inf","random_input_len":512,"random_output_len":64,"random_range_ratio":1,"seed":1,
			"mean_ttft_ms":201.9061234,"median_tpot_ms":37.2,"request_throughput":3.12,"began":"2026-11-15T18:33:46Z"}`,
			map[string]string{"tag": "a", "num_prompts": "32", "concurrency": "8", "isl": "512", "osl": "64", "lengths": "fixed", "seed": "1",
				"ttft_mean_ms": "201.906", "tpot_p50_ms": "37.2", "req_per_s": "3.12", "began": "2026-11-15T18:33:46Z"}},
		"genai-perf with its load in perf_analyzer": {`{"request_count":{"avg":64},"time_to_first_token":{"unit":"ms","avg":41.5},"input_sequence_length":{"avg":550},"output_sequence_length":{"avg":64},
			"input_config":{"endpoint":{"backend":"vllm"},"perf_analyzer":{"stimulus":{"concurrency":8}}}}`,
			map[string]string{"num_prompts": "64", "concurrency": "8", "isl": "550", "osl": "64", "lengths": "fixed", "ttft_mean_ms": "41.5"}},
		"a rate": {`{"completed":40,"max_concurrency":null,"request_rate":2.5,"random_input_len":512,"random_output_len":64,"random_range_ratio":0.1,"p99_itl_ms":63}`,
			map[string]string{"num_prompts": "40", "request_rate": "2.5", "isl": "512", "osl": "64", "lengths": "uniform:0.1", "itl_p99_ms": "63"}},
		"all at once, lengths as they came": {`{"completed":10,"request_rate":"inf","total_input_tokens":1234,"total_output_tokens":96,"mean_e2el_ms":1000}`,
			map[string]string{"num_prompts": "10", "concurrency": "10", "isl": "123", "osl": "10", "lengths": "fixed", "e2e_mean_ms": "1000"}},
	} {
		got, err := Of(parsed(t, c.text))
		for column, text := range got {
			if text == "" {
				delete(got, column)
			}
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		for column := range got {
			if !slices.Contains(Columns(), column) {
				t.Errorf("%s: no column %s", name, column)
			}
		}
	}
	if got, err := Of(parsed(t, `{"time_to_first_token":{"avg":41.5},"input_config":{"model_names":["llama"]}}`)); err != nil || got[ServedModel] != "llama" {
		t.Errorf("genai-perf asked for the model %q, %v", got[ServedModel], err)
	}
	if _, err := Of(parsed(t, `{"requests": 3}`)); err != ErrNone {
		t.Errorf("a file of something else: %v", err)
	}
}

// TestResultsOfPython: numbers that JSON does not have are left out of what Python wrote, in
// objects, lists and lines, and strings that contain their names stay as they are.
func TestResultsOfPython(t *testing.T) {
	const one = `{"request_rate": Infinity, "low":-Infinity,"accept_length": NaN, "tag": "to Infinity \"NaN\" \\", "n": [1, NaN], "completed": 3}`
	want := map[string]any{"request_rate": nil, "low": nil, "accept_length": nil, "tag": `to Infinity "NaN" \`, "n": []any{1.0, nil}, "completed": 3.0}
	for src, count := range map[string]int{one: 1, "[" + one + "," + one + "]": 2, one + "\n" + one + "\n" + one + "\n": 3} {
		list, err := Results([]byte(src))
		if err != nil || len(list) != count {
			t.Errorf("%s: %d results, %v", src, len(list), err)
			continue
		}
		for _, got := range list {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
	}
	for _, src := range []string{`{"a": Infinit}`, `{"a": nan}`, `{"a": "Infinity}`, `{"a": InfinityX}`, "NaN"} {
		if list, err := Results([]byte(src)); err == nil {
			t.Errorf("%s is taken for %v", src, list)
		}
	}
}

// TestUnderWay: requests under way are completed · E2E / duration, with E2E from its parts where
// that is all there is; they are the clients where a file says neither these nor a rate.
func TestUnderWay(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"completed":60,"duration":15,"request_rate":4,"mean_e2el_ms":500}`:                                                                   {"", "2"},     // 60 · 0.5 / 15
		`{"completed":60,"duration":15,"request_rate":4,"total_output_tokens":6000,"total_input_tokens":60,"mean_ttft_ms":5,"mean_tpot_ms":5}`: {"", "2"},     // 5 + 99 · 5 ms
		`{"request_throughput":12,"mean_e2el_ms":500}`:                                                                                         {"6", "6"},    // no completed, no duration
		`{"request_throughput":0.1,"mean_e2el_ms":500}`:                                                                                        {"1", "0.05"}, // somebody asked
		`{"completed":60,"duration":15,"max_concurrency":3,"mean_e2el_ms":500}`:                                                                {"3", "2"},
	} {
		got, err := Of(parsed(t, text))
		if err != nil || got["concurrency"] != want[0] || got[UnderWay] != want[1] {
			t.Errorf("%s: %q clients, %q under way, %v; want %q", text, got["concurrency"], got[UnderWay], err, want)
		}
		if inferred := got[InferredClients] != ""; inferred != (want[0] != "" && want[0] != "3") {
			t.Errorf("%s: inferred %v", text, inferred)
		}
	}
}

// TestDeployment: words become cells, and all that is wrong is said at once.
func TestDeployment(t *testing.T) {
	got, err := Deployment(strings.Split("model=Llama-3.1-8B,tp=4,weights=fp8,step-tokens=2048,max-running-requests=64", ","))
	want := map[string]string{"model": "Llama-3.1-8B", "tp": "4", "precision": "fp8", "step_tokens": "2048", "max_running_requests": "64"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	_, err = Deployment([]string{"modle=x", "tp="})
	if err == nil || !strings.Contains(err.Error(), `did you mean "model"`) || !strings.Contains(err.Error(), "tp has no value") {
		t.Error(err)
	}
}

// TestAppend: a table begins with the first row, others follow, also behind a line without an end;
// what it has no column for is told; another table is refused and left alone.
func TestAppend(t *testing.T) {
	name := filepath.Join(t.TempDir(), "runs.csv")
	row := map[string]string{"model": "m", "system": "H200", "isl": "1", "osl": "2", "concurrency": "3", "ttft_mean_ms": "4"}
	for range 2 {
		if lost, err := Append(name, row); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
	}
	text, _ := os.ReadFile(name)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 3 || lines[1] != lines[2] || lines[0] != strings.Join(Columns(), ",") {
		t.Errorf("%s", text)
	}
	own := "note,model,system,isl,osl,concurrency\nby hand,a,b,5,6,7"
	if err := os.WriteFile(name, []byte(own), 0o666); err != nil {
		t.Fatal(err)
	}
	if lost, err := Append(name, row); err != nil || !slices.Equal(lost, []string{"ttft_mean_ms"}) {
		t.Error(lost, err)
	}
	if text, _ := os.ReadFile(name); string(text) != own+"\n,m,H200,1,2,3\n" {
		t.Errorf("%q", text)
	}
	if err := os.WriteFile(name, []byte("a,b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(name, row); err == nil || !strings.Contains(err.Error(), "no column model, system, isl, osl, concurrency") {
		t.Error(err)
	}
	if text, _ := os.ReadFile(name); string(text) != "a,b\n" {
		t.Errorf("%q", text)
	}
}

// TestOpen: an object, lines and a list are tables; the results of matrix have its sheet's columns.
func TestOpen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.json")
	for text, want := range map[string]string{
		`{"mean_ttft_ms":1,"completed":2}`:                                                                                     ",1,",
		"{\"mean_ttft_ms\":1,\"completed\":2}\n{\"mean_ttft_ms\":3,\"completed\":2}\n":                                         ",3,",
		`[{"run":"x","framework":"vllm","gpu":"H200","model":"m","isl":100,"osl":200,"concurrency":8,"tpot":31.5,"mtp":null}]`: ",vllm,H200,x,31.5",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(files.Machine, name)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, _ := io.ReadAll(f)
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	if err := os.WriteFile(name, []byte("{\"mean_ttft_ms\":1}\nnonsense\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(files.Machine, name); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}
