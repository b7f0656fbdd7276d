package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"throughline/hardware"
)

// small is a run of a second or less.
var smallRun = []string{"simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--engine", "vllm", "--isl", "256", "--osl", "32", "--num-prompts", "100", "--rate", "20"}

// TestSimulateBlock: the lines of the report are those of sglang.bench_serving, in their order.
func TestSimulateBlock(t *testing.T) {
	out := call(t, smallRun...)
	want := []string{
		"============ Serving Benchmark Result ============", "Backend:", "Traffic request rate:", "Max request concurrency:", "Successful requests:", "Benchmark duration (s):",
		"Total input tokens:", "Total generated tokens:", "Total generated tokens (retokenized):", "Request throughput (req/s):", "Input token throughput (tok/s):",
		"Output token throughput (tok/s):", "Total token throughput (tok/s):", "Concurrency:", "----------------End-to-End Latency----------------", "Mean E2E Latency (ms):",
		"Median E2E Latency (ms):", "P90 E2E Latency (ms):", "P95 E2E Latency (ms):", "P99 E2E Latency (ms):",
		"---------------Time to First Token----------------", "Mean TTFT (ms):", "Median TTFT (ms):", "P90 TTFT (ms):", "P95 TTFT (ms):", "P99 TTFT (ms):",
		"-----Time per Output Token (excl. 1st token)------", "Mean TPOT (ms):", "Median TPOT (ms):", "P90 TPOT (ms):", "P95 TPOT (ms):", "P99 TPOT (ms):",
		"---------------Inter-Token Latency----------------", "Mean ITL (ms):", "Median ITL (ms):", "P90 ITL (ms):", "P95 ITL (ms):", "P99 ITL (ms):", "Max ITL (ms):",
		"==================================================",
	}
	answer, block, _ := strings.Cut(out, "\n\n====")
	for _, part := range []string{"vLLM on 1 × H200 answers 100 requests", "p99 TTFT is", "p99 TPOT", "Llama-3.1-8B (bf16) on 1 × H200"} {
		if !strings.Contains(answer, part) {
			t.Errorf("%q is not told first: %s", part, answer)
		}
	}
	var got []string
	for line := range strings.Lines("====" + block) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		if i := strings.Index(line, ":  "); i >= 0 {
			if len(line) < 42 || line[40] != ' ' || line[41] == ' ' {
				t.Errorf("%q: values begin at column 42", line)
			}
			line = line[:i+1]
		} else if len(line) > 41 && line[0] != '=' && line[0] != '-' && line[40] == ' ' {
			line = strings.TrimSpace(line[:40])
		}
		got = append(got, line)
		if strings.HasPrefix(line, "====") && len(got) > 1 {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := call(t, smallRun...); again != out {
		t.Error("the same seed gives other bytes")
	}
	if other := call(t, append(smallRun, "--seed", "1")...); other == out {
		t.Error("another seed gives the same bytes")
	}
}

// TestSimulateJSON: the keys of sglang's result file are there, and say what the block says. Names
// of sglang.bench_serving stand for ours.
func TestSimulateJSON(t *testing.T) {
	var ours, theirs map[string]any
	if err := json.Unmarshal([]byte(call(t, append(smallRun, "--json")...)), &ours); err != nil {
		t.Fatal(err)
	}
	alias := strings.NewReplacer("--isl", "--random-input-len", "--osl", "--random-output-len", "--rate", "--request-rate")
	var args []string
	for _, a := range append(smallRun, "--json") {
		args = append(args, alias.Replace(a))
	}
	if err := json.Unmarshal([]byte(call(t, args...)), &theirs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ours, theirs); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{
		"tag", "dataset_name", "sharegpt_output_len", "random_input_len", "random_output_len", "random_range_ratio", "server_info", "total_input_text_tokens",
		"total_input_vision_tokens", "p95_e2e_latency_ms", "p90_ttft_ms", "p95_ttft_ms", "p90_tpot_ms", "p95_tpot_ms", "p90_itl_ms", "accept_length",
		"max_output_tokens_per_s", "max_concurrent_requests", "completed", "duration", "total_input_tokens", "total_output_tokens", "total_output_tokens_retokenized", "request_throughput", "input_throughput", "output_throughput",
		"total_throughput", "mean_e2e_latency_ms", "median_e2e_latency_ms", "std_e2e_latency_ms", "p90_e2e_latency_ms", "p99_e2e_latency_ms", "mean_ttft_ms", "median_ttft_ms",
		"std_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "median_tpot_ms", "std_tpot_ms", "p99_tpot_ms", "mean_itl_ms", "median_itl_ms", "std_itl_ms", "p95_itl_ms", "p99_itl_ms",
		"max_itl_ms", "concurrency", "request_rate", "max_concurrency", "backend",
	} {
		if _, ok := ours[key]; !ok {
			t.Errorf("no %s", key)
		}
	}
	if ours["dataset_name"] != "random" || ours["random_input_len"] != 256.0 || ours["random_output_len"] != 32.0 || ours["random_range_ratio"] != 1.0 {
		t.Errorf("%v", ours)
	}
	if ours["completed"] != 100.0 || ours["total_input_tokens"] != 25600.0 || ours["total_output_tokens"] != 3200.0 {
		t.Errorf("%v", ours)
	}
}

// TestSimulateFiles: requests and the timeline are written, a row each.
func TestSimulateFiles(t *testing.T) {
	dir := t.TempDir()
	requests, timeline := filepath.Join(dir, "r.csv"), filepath.Join(dir, "t.csv.gz")
	call(t, append(smallRun, "--requests-out", requests, "--timeline-out", timeline, "--timeline-every", "0.5")...)
	src, err := os.ReadFile(requests)
	if err != nil {
		t.Fatal(err)
	}
	const header = "request,client,arrival,scheduled,first_token,finish,input,output,preemptions,ttft_ms,tpot_ms,e2e_ms\n"
	if n := strings.Count(string(src), "\n"); n != 101 || !strings.HasPrefix(string(src), header) {
		t.Errorf("%d lines", n)
	}
	if info, err := os.Stat(timeline); err != nil || info.Size() < 100 {
		t.Error(err)
	}
}

// TestSimulateParquet: files whose names end in .parquet are such, with the columns and rows of the
// CSV.
func TestSimulateParquet(t *testing.T) {
	dir := t.TempDir()
	var csv, packed []string
	for _, of := range []string{"requests", "steps", "timeline"} {
		csv = append(csv, "--"+of+"-out", filepath.Join(dir, of+".csv"))
		packed = append(packed, "--"+of+"-out", filepath.Join(dir, of+".parquet"))
	}
	call(t, append(smallRun, csv...)...)
	call(t, append(smallRun, packed...)...)
	for _, of := range []string{"requests", "steps", "timeline"} {
		src, err := os.ReadFile(filepath.Join(dir, of+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(src)), "\n")
		src, err = os.ReadFile(filepath.Join(dir, of+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(src), int64(len(src)))
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		var names []string
		for _, c := range f.Schema().Fields() {
			names = append(names, c.Name())
		}
		if got := strings.Join(names, ","); got != want[0] || f.NumRows() != int64(len(want)-1) {
			t.Errorf("%s: %d rows of %s, want %d of %s", of, f.NumRows(), got, len(want)-1, want[0])
		}
		rows := make([]parquet.Row, 1)
		if n, err := f.RowGroups()[0].Rows().ReadRows(rows); n != 1 {
			t.Fatal(err)
		}
		for i, cell := range strings.Split(want[1], ",") {
			got := fmt.Sprint(rows[0][i])
			if a, err := strconv.ParseFloat(cell, 64); err == nil {
				b, _ := strconv.ParseFloat(got, 64)
				if math.Abs(a-b) > 1e-3*max(1, math.Abs(a)) {
					t.Errorf("%s: %s is %s, want %s", of, names[i], got, cell)
				}
			} else if got != cell {
				t.Errorf("%s: %s is %s, want %s", of, names[i], got, cell)
			}
		}
	}
}

// TestSimulateRecordedLengths: lengths of a trace are taken one after another, from the start again
// at its end; it need not say when its requests came. Seven requests of 100+10, 300+30 and 50+5
// tokens are two rounds and one more.
func TestSimulateRecordedLengths(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lengths.csv")
	if err := os.WriteFile(name, []byte("isl,osl\n100,10\n300,30\n50,5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	out := call(t, "simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--rate", "5", "--num-prompts", "7", "--lengths", "trace:"+name, "--json")
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got["total_input_tokens"] != 2*450.0+100 || got["total_output_tokens"] != 2*45.0+10 || got["dataset_name"] != name || got["random_input_len"] != nil {
		t.Errorf("%v", got)
	}
}

// TestSimulateRefuses: bad input is refused with its place and what is allowed; nothing is written.
func TestSimulateRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	base := []string{"simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--num-prompts", "10"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--rate", "0"}, "--rate: must be from 0.000001 to 1000000000 requests/s, or inf, not 0"},
		{[]string{"--rate", "-3"}, "--rate: must be from 0.000001 to 1000000000 requests/s, or inf, not -3"},
		{[]string{"--rate", "NaN"}, "--rate: must be from 0.000001 to 1000000000 requests/s, or inf, not NaN"},
		{[]string{"--rate", "fast"}, `--rate: must be a number, or inf, not "fast"`},
		{[]string{"--replicas", "0"}, "--replicas: must be from 1 to 1000000, not 0"},
		{[]string{"--dp", "0"}, "dp: must be from 1 to 1000000, not 0"},
		{[]string{"--max-concurrency", "0"}, "concurrency: must be from 1 to 1000000000, not 0"},
		{[]string{"--routing", "roundrobin"}, `routing: "roundrobin" is not one of "round-robin", "least-loaded", "prefix-aware"; did you mean "round-robin"?`},
		{[]string{"--policy", "chunks"}, `policy: "chunks" is not one of "prefill-first", "chunked", "whole-prompts"; did you mean "chunked"?`},
		{[]string{"--arrival", "gamma:-1"}, `arrival: gamma:CV needs a coefficient of variation from 0.001 to 100, not "-1"`},
		{[]string{"--rate", "5", "--arrival", "gamma:1e-300"}, `arrival: gamma:CV needs a coefficient of variation from 0.001 to 100, not "1e-300"`},
		{[]string{"--rate", "1e-308"}, "--rate: must be from 0.000001 to 1000000000 requests/s, or inf, not 1e-308"},
		{[]string{"--timeline-out", filepath.Join(dir, "t.csv"), "--timeline-every", "5e-324"}, "--timeline-every: must be from 0.000001 to 1000000 s, not 5e-324"},
		{[]string{"--rate", "5", "--trace", file("same.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n1,3,4\n1,3,4\n")}, "same.csv: all requests come at one time; such a trace cannot be played at a rate"},
		{[]string{"--lengths", "zipf:2"}, `lengths: length distribution "zipf:2" is not one of fixed, uniform:R, lognormal:S`},
		{[]string{"--ttft", "p99:-2s"}, `ttft: "p99:-2s" is no limit: "-2s" must be a time above 0 and at most 1000000000 ms`},
		{[]string{"--num-prompts", "0"}, "--num-prompts: must be from 1 to 10000000, not 0"},
		{[]string{"--isl", "9000", "--max-context", "8192"}, "request 0: one of 9000 + 1024 tokens is longer than the model takes: 8192 (--max-context)"},
		{[]string{"--max-context", "1000", "--isl", "300", "--osl", "64", "--turns", "3"}, "request 20: one of 1028 + 64 tokens is longer than the model takes: 1000 (--max-context)"},
		{[]string{"--max-context", "1000", "--isl", "500", "--osl", "64", "--lengths", "lognormal:1", "--max-concurrency", "1"}, "is longer than the model takes: 1000 (--max-context)"},
		{[]string{"--max-context", "10", "--trace", file("long.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n1,1,1\n2,9,2\n")}, "long.csv: line 3: a request of 11 tokens is longer than the 10 that the model takes (--max-context)"},
		{[]string{"--isl", "131072"}, "request 0: one of 131072 + 1024 tokens is longer than the model takes: 131072 (--max-context)"},
		{[]string{"--turns", "0"}, "turns: must be from 1 to 1000000, not 0"},
		{[]string{"--lengths", "uniform:0.5", "--random-range-ratio", "0.5"}, "random-range-ratio: says the same as lengths; give one of them"},
		{[]string{"--isl", "9000", "--kv-tokens", "8192"}, "request 0: 9000 + 1024 tokens can never run: the KV cache of a rank holds 8192"},
		{[]string{"--trace", file("back.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n2,1,1\n1,1,1\n")}, "back.csv: line 3: arrives at 1 s, before the request in front of it at 2 s; a trace must not go back in time"},
		{[]string{"--trace", filepath.Join(dir, "none.csv")}, "none.csv"},
		{[]string{"--step-times", file("steps.csv", "n_decode,wall_ms\n1,-4\n")}, `steps.csv: line 2: wall_ms must be a number from 0 on, not "-4"`},
		{[]string{"--model", "Llama-3.1-405B"}, "one request does not fit: weights, working space and its cache need"},
		{[]string{"--batch", "4"}, "simulate has no flag --batch; these have: estimate, explain, compare"},
		{[]string{"--turns", "2", "--gsp-num-groups", "3", "--gsp-system-prompt-len", "64"}, "--turns: conversations and groups that share a prefix do not go together; give turns or gsp-num-groups"},
		{[]string{"--rate", "1e300"}, "--rate: must be from 0.000001 to 1000000000 requests/s, or inf, not 1e+300"},
		{[]string{"--rate", "1", "--request-rate", "2"}, "--rate: says the same as --request-rate; give one of them"},
		{[]string{"--concurrency", "1", "--max-concurrency", "2"}, "--concurrency: says the same as --max-concurrency; give one of them"},
		{[]string{"--request-rate", "0"}, "--request-rate: must be from 0.000001"},
		{[]string{"--num-prompts", "99999999999"}, "--num-prompts: must be from 1 to 10000000, not 99999999999"},
		{[]string{"--turns", "0"}, "--turns: must be from 1 to 1000000, not 0"},
		{[]string{"--requests-out", "-"}, "--requests-out: - is no file; /dev/stdout writes to standard output"},
		{[]string{"--lengths", "uniform:0.5", "--random-range-ratio", "0.5"}, "--random-range-ratio: says the same as lengths; give one of them"},
		{[]string{"--think-time", "soon"}, `--think-time: must be a time like 2s, 50ms or 300us, or a number of s, not "soon"`},
		{[]string{"--max-rate", "--max-concurrency", "4"}, "--max-rate: asks for a rate, which concurrency bounds; give one of them"},
	} {
		var out, errs bytes.Buffer
		code := Run(context.Background(), append(base, c.args...), Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != exitBadInput || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v: exit code %d, %q and %q; want %q", c.args, code, errs.String(), out.String(), c.want)
		}
	}
	var out, errs bytes.Buffer
	code := Run(context.Background(), append(base, "--rate", "0", "--replicas", "0", "--routing", "x"), Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if code != exitBadInput || !strings.Contains(errs.String(), "3 problems; nothing was written") {
		t.Errorf("all at once: %q", errs.String())
	}
}

// TestSimulateStepTimes: a table of steps in place of the estimate: every request takes 1 s, one at
// a time.
func TestSimulateStepTimes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "steps.csv")
	if err := os.WriteFile(name, []byte("prefill_tokens,prefill_seqs,wall_ms\n1,1,1000\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out := call(t, "simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--engine", "none", "--step-times", name, "--isl", "1", "--osl", "1",
		"--num-prompts", "10", "--max-concurrency", "1")
	for _, line := range []string{"Benchmark duration (s):                  10.00", "Mean TTFT (ms):                          1000.00"} {
		if !strings.Contains(out, line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
}

// TestWorkedExample: the steps that docs/serving.md works out by hand are those of the command that
// it shows.
func TestWorkedExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, f := range kept.FindAllStringSubmatch(string(page), -1) {
		if err := os.WriteFile(f[1], []byte(f[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range shown.FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(m[1], "--steps-out steps.csv") {
			call(t, strings.Fields(m[1])...)
		}
	}
	if diff := cmp.Diff(string(readFile(t, "drawn.csv")), string(readFile(t, "steps.csv"))); diff != "" {
		t.Error(diff)
	}
}

// TestNoRoom: where not one request fits, estimate has the bare steps and says so, and nothing is
// simulated; with the share that they name there is room for one, on two GPUs whose weights leave
// few GiB.
func TestNoRoom(t *testing.T) {
	name := filepath.Join(t.TempDir(), "smaller.json")
	src, _ := hardware.Catalogue.Find("H100_SXM")
	if err := os.WriteFile(name, []byte(strings.Replace(string(src), `"mem1": {"GiB": 79.65`, `"mem1": {"GiB": 75`, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		assume string
		code   int
		want   string
	}{
		{[]string{"estimate"}, "physical", 0, "with mem-fraction-static 0.911 (memory-share 0.911) it does"},
		{[]string{"simulate", "--num-prompts", "2"}, "physical", exitBadInput, "with mem-fraction-static 0.911 (memory-share 0.911) it does"},
		{[]string{"estimate"}, "physical,memory-fraction=0.911", 0, ""},
		{[]string{"simulate", "--num-prompts", "2"}, "physical,memory-fraction=0.911", 0, ""},
	} {
		args := append(c.args, "--model", "llama_3_70b", "--system", name, "--tp", "2", "--engine", "sglang", "--assume", c.assume)
		var out, errs bytes.Buffer
		code := Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != c.code || !strings.Contains(errs.String(), c.want) || c.want == "" && errs.Len() > 0 || c.code != 0 && out.Len() > 0 {
			t.Errorf("%v: exit code %d, %q, %d bytes; want %d, %q", args, code, errs.String(), out.Len(), c.code, c.want)
		}
	}
}
