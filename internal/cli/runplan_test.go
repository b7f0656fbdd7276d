package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"throughline/internal/jobfile"
	"throughline/internal/test/long"
	"throughline/internal/test/racing"
)

// planned is a question that both plan and a runtime file can ask. Limits of 0 ms are none, and so
// are drafts and redundant experts of -1: as the command has it.
type planned struct {
	model, system, weights, mode, engine string
	gpus, isl, osl, drafts, redundant    int
	ttft, tpot                           float64
}

// ofWeights are the words of the weights in a runtime file.
var ofWeights = map[string]string{
	"fp8":  `"wac_bytes_list": [[1, 1, 2, 2]], "flops_type_list": [["float8", "bfloat16", "bfloat16"]]`,
	"bf16": `"wac_bytes_list": [[2, 2, 2, 2]], "flops_type_list": [["bfloat16", "bfloat16", "bfloat16"]]`,
	"int4": `"wac_bytes_list": [[0.5, 2, 2, 2]], "flops_type_list": [["bfloat16", "bfloat16", "bfloat16"]]`,
}

// asked are the two answers to the question: what clients see by plan and by run, nil where there
// is no plan.
func (q *planned) asked(t rapid.TB, dir string) (plan, run map[string]any) {
	t.Helper()
	ask := func(args ...string) []byte {
		var stdout, stderr bytes.Buffer
		code := Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		if code != exitOK && code != exitNoPlan {
			t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
		}
		return stdout.Bytes()
	}
	args := []string{"plan", "--json", "--jobs", "2", "--model", q.model, "--system", q.system, "--weights", q.weights, "--cache", "bf16", "--mode", q.mode, "--engine", q.engine,
		"--gpus", strconv.Itoa(q.gpus), "--isl", strconv.Itoa(q.isl), "--osl", strconv.Itoa(q.osl)}
	if q.weights == "int4" {
		args = append(args, "--activations", "bf16")
	}
	section, limits := jobfile.Fusion, []string{"null", "null"}
	if q.mode == "disagg" {
		section = jobfile.Split
	}
	for i, ms := range []float64{q.ttft, q.tpot} {
		if ms > 0 {
			limits[i] = fmt.Sprint(ms)
			args = append(args, []string{"--ttft", "--tpot"}[i], limits[i])
		}
	}
	more := ""
	if q.drafts >= 0 {
		args, more = append(args, "--drafts", strconv.Itoa(q.drafts)), more+fmt.Sprintf(`"decode_mtp_token_config": [0, %d], `, q.drafts)
	}
	if q.redundant >= 0 {
		args, more = append(args, "--redundant", strconv.Itoa(q.redundant)), more+fmt.Sprintf(`"num_redundant_experts_config": [0, %d], `, q.redundant)
	}
	file := filepath.Join(dir, "runtime.json")
	text := fmt.Sprintf(`{%q: {"model_list": [%q], "sequence_length_list": [[%d, %d]], "num_procs_list": [%d], %s, %s"time_limit_list": [[%s]], "sys_list": [%q],
		"search": "plan", "engine": %q, "output": %q}}`, section, q.model, q.isl, q.osl, q.gpus, ofWeights[q.weights], more, strings.Join(limits, ","), q.system, q.engine, dir)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	var plans struct{ Ranked []map[string]any }
	if err := json.Unmarshal(ask(args...), &plans); err != nil {
		t.Fatal(err)
	}
	var runs []struct {
		Result map[string]any `json:"result_best"`
	}
	if err := json.Unmarshal(ask("run", "-c", file, "--assume", "physical", "--json"), &runs); err != nil || len(runs) != 1 {
		t.Fatalf("%v: %d runs", err, len(runs))
	}
	if len(plans.Ranked) > 0 {
		plan = plans.Ranked[0]
	}
	if runs[0].Result["request_per_second"] != nil {
		run = runs[0].Result
	}
	return plan, run
}

// check compares the two answers.
func (q *planned) check(t rapid.TB, dir string) {
	t.Helper()
	plan, run := q.asked(t, dir)
	if (plan == nil) != (run == nil) {
		t.Fatalf("%+v: plan has %v, run %v", q, plan, run)
	}
	for of, as := range map[string]string{
		"requests_per_s": "request_per_second", "ttft_s": "TTFT(s)", "tpot_s": "TPOT(s)", "concurrency": "concurrency", "engine": "engine",
		"watts_per_gpu": "watts_per_gpu", "joules_per_output_token": "joules_per_output_token", "dollars_per_million_tokens": "dollars_per_million_tokens",
	} {
		if plan != nil && plan[of] != run[as] {
			t.Errorf("%+v: %s is %v in a plan, %s %v in a run", q, of, plan[of], as, run[as])
		}
	}
}

// TestRunPlansAsPlan: a run that searches what a plan searches finds its first row, to the digit.
func TestRunPlansAsPlan(t *testing.T) {
	if racing.Enabled {
		t.Skip("one command after another, which other tests run under the race detector")
	}
	for _, q := range []planned{
		{"DeepSeek-V3", "H200", "fp8", "disagg", "none", 32, 4000, 1000, -1, -1, 0, 50},
		{"DeepSeek-V3", "H200", "fp8", "agg", "sglang", 16, 2000, 300, 1, 8, 0, 60},
		{"Qwen3-30B-A3B", "H100_SXM", "bf16", "disagg", "any", 4, 4000, 1000, -1, -1, 3000, 0},
		{"Llama-3.1-70B", "H200", "fp8", "agg", "vllm", 8, 4000, 1000, -1, -1, 500, 30},
		{"Llama-3.1-8B", "L40S", "int4", "agg", "any", 2, 500, 100, -1, -1, 0, 0},
		{"Llama-3.1-70B", "L40S", "bf16", "agg", "any", 1, 500, 100, -1, -1, 0, 0},
	} {
		q.check(t, t.TempDir())
	}
	dir := t.TempDir()
	long.Some(t, 6, func(t *rapid.T) {
		q := planned{
			model:   rapid.SampledFrom([]string{"Llama-3.1-8B", "Qwen3-32B", "Qwen3-30B-A3B", "gpt-oss-20b"}).Draw(t, "model"),
			system:  rapid.SampledFrom([]string{"H100_SXM", "H200", "L40S"}).Draw(t, "system"),
			weights: rapid.SampledFrom([]string{"fp8", "bf16", "int4"}).Draw(t, "weights"),
			mode:    rapid.SampledFrom([]string{"agg", "disagg"}).Draw(t, "mode"),
			engine:  rapid.SampledFrom([]string{"any", "sglang", "vllm", "none"}).Draw(t, "engine"),
			gpus:    rapid.IntRange(2, 4).Draw(t, "gpus"), isl: rapid.IntRange(16, 8000).Draw(t, "isl"), osl: rapid.IntRange(1, 1000).Draw(t, "osl"),
			drafts: -1, redundant: rapid.IntRange(-1, 4).Draw(t, "redundant"),
			ttft: rapid.SampledFrom([]float64{0, 300, 2000}).Draw(t, "ttft"), tpot: rapid.SampledFrom([]float64{0, 15, 60}).Draw(t, "tpot"),
		}
		q.check(t, dir)
	})
}

// TestRunSaysWhatItLeavesOut: runs that rank what clients see say in one line what a plan would
// have searched besides.
func TestRunSaysWhatItLeavesOut(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		more, assume, want string
		code               int
	}{
		"listed":    {``, "physical", "not searched: overlap of the exchange between experts, redundant experts unless the file lists them, and serving engines", exitOK},
		"planned":   {`"search": "plan", "engine": "none", `, "physical", "", exitOK},
		"reference": {``, "reference", "", exitOK},
		"neither":   {`"search": "plan", `, "reference", "add --assume physical", exitBadInput},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".json")
			text := `{"pd-fusion": {"model_list": ["llama_3_8b"], "sequence_length_list": [[500, 100]], "num_procs_list": [1], ` + ofWeights["bf16"] + `,
				"time_limit_list": [[null, null]], "sys_list": ["H200"], ` + c.more + `"output": ` + strconv.Quote(dir) + `}}`
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := Run(t.Context(), []string{"run", "-c", file, "--assume", c.assume}, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
			if code != c.code || !strings.Contains(stderr.String(), c.want) || c.want == "" && strings.Contains(stderr.String(), "searched") {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
		})
	}
}
