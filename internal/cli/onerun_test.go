package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunIsTheSameAnswer: under physical assumptions a run prices a deployment as estimate does
// behind the generic engine, on the same processors or on two pools.
func TestRunIsTheSameAnswer(t *testing.T) {
	dir := t.TempDir()
	common := `"model_list": ["llama_3_8b"], "sequence_length_list": [[2000, 300]], "wac_bytes_list": [[2, 2, 2, 2]],
		"flops_type_list": [["bfloat16", "bfloat16", "bfloat16"]], "output": "out",`
	for name, c := range map[string]struct {
		section string
		flags   []string
	}{
		"fused": {
			`"pd-fusion": {` + common + `"num_procs_list": [4], "sys_list": ["H200"], "time_limit_list": [[null, null]], "parallel_config": [[2, 1, 2]], "batch_config": [[24, 1, 24]]}`,
			[]string{"--dp", "2", "--tp", "2", "--batch", "24"},
		},
		"split": {
			`"pd-split-request-optimal": {` + common + `"num_procs_list": [6], "pd_num_procs_list": [[2, 4]], "sys_list": [["H200", "H100_SXM"]], "time_limit_list": [[null, null]],
				"p_parallel_config": [[2, 1, 1]], "d_parallel_config": [[1, 1, 4]], "d_micro_batch_size": [[32, 1, 32]]}`,
			[]string{"--prefill-plan", "dp2", "--decode-plan", "tp4", "--decode-system", "H100_SXM", "--batch", "32"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := filepath.Join(dir, name+".json")
			if err := os.WriteFile(config, []byte("{"+c.section+"}"), 0o644); err != nil {
				t.Fatal(err)
			}
			run := func(args ...string) []byte {
				t.Helper()
				var stdout, stderr bytes.Buffer
				if code := Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}); code != exitOK {
					t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
				}
				return stdout.Bytes()
			}
			var runs []struct {
				Result map[string]any `json:"result_best"`
			}
			if err := json.Unmarshal(run("run", "-c", config, "-o", filepath.Join(dir, name), "--assume", "physical", "--json"), &runs); err != nil {
				t.Fatal(err)
			}
			result := runs[0].Result
			var answer struct{ Clients *seenFigures }
			args := append([]string{"estimate", "--model", "llama_3_8b", "--system", "H200", "--isl", "2000", "--osl", "300", "--engine", "none", "--json"}, c.flags...)
			if err := json.Unmarshal(run(args...), &answer); err != nil {
				t.Fatal(err)
			}
			seen := answer.Clients
			if result["TTFT(s)"] != seen.TTFT/1e3 || result["TPOT(s)"] != seen.TPOT/1e3 || result["request_per_second"] != seen.Requests || result["concurrency"] != float64(seen.Concurrency) {
				t.Errorf("run says %v s, %v s, %v/s at %v clients, estimate %+v", result["TTFT(s)"], result["TPOT(s)"], result["request_per_second"], result["concurrency"], seen)
			}
		})
	}
}
