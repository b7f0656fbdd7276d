package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// shownWidth is the terminal of the examples in the documentation.
const shownWidth = 120

// call runs the program and returns what it prints.
func call(t *testing.T, args ...string) string {
	t.Helper()
	return callWith(t, "", args...)
}

// callWith runs the program on the content of a file as its standard input.
func callWith(t *testing.T, input string, args ...string) string {
	t.Helper()
	var in []byte
	if input != "" {
		var err error
		if in, err = os.ReadFile(input); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if code := Run(formsOnly, args, Streams{In: bytes.NewReader(in), Out: &out, Err: &errs, Width: shownWidth}); code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// The examples in the help of all commands run.
func TestExamples(t *testing.T) {
	notRacing(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(filepath.Join(root, "configs"), "configs"); err != nil {
		t.Fatal(err)
	}
	// The files that examples speak of.
	for name, from := range map[string]string{
		"scan.json": "configs/reference_sample.json", "my_scan.json": "configs/reference_sample.json",
		"systems/my_chip.json": "hardware/catalogue/H200.json", "models/my_model.json": "model/catalogue/llama_3_8b.json",
		"config.json": "model/testdata/configs/sliding_window_everywhere.json", "DeepSeek-V3/config.json": "model/testdata/configs/draft_modules_of_layers.json",
	} {
		src, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, src, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("ops.csv", []byte(syntheticOps()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("forward.csv", []byte("kind,model,params,time_ms\ndecode,llama3-8b,b=1;s=512,4.8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("serving.csv", []byte("model_path,system,backend,precision,mode,isl,osl,concurrency,tp_size,silicon_ttft_ms,silicon_tpot_ms\nLlama-3.1-8B,H200,vllm,fp8,agg,1024,1024,16,1,60,6\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kernels.csv", "profile.txt"} {
		if err := os.WriteFile(name, []byte("name,share\nflash,60\nfp8_gemm,40\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("engine", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"runs.csv":       "run,model,policy,budget,max_running,kv_tokens,arrival,ttft_mean_ms\na,Llama-3.1-8B,A,64,4,160,poisson,12.5\n",
		"requests.csv":   "run,req,arrival,input,output\na,0,0,16,2\n",
		"steps.csv":      "run,step,t_start,t_end\na,0,0,0.01\na,1,0.01,0.02\n",
		"step_times.csv": "model,n_decode,sum_ctx,prefill_tokens,wall_ms\nLlama-3.1-8B,0,0,16,10\n",
	} {
		if err := os.WriteFile(filepath.Join("engine", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"runs.csv": "model,system,engine,tp,isl,osl,concurrency,ttft_ms,tpot_ms\nLlama-3.1-70B,H100_SXM,vllm,8,1024,1024,64,350,23.5\n",
		"steps.csv": "model,chip,gpus,engine,tp,dp,ep,precision,phase,sequences_per_rank,new_tokens_per_rank,kv_tokens_per_rank,time_ms\n" +
			"Llama-3.1-70B,H200,8,vllm,8,1,1,fp8,decode,16,16,16000,10\n",
		"figures.csv": "model,hardware,parallelism,concurrency_or_batch,isl,osl,metric,value,unit\nLlama-3.1-70B,H200,TP8,64,1000,1000,output_throughput,3000,tok/s\n",
		"power.csv": "kind,dtype,params,flops,bytes,time_us,joules,limit_w\n" +
			"gemm,bf16,m=16384;n=8192;k=8192,2199023255552,671088640,3409,2.34,700\nidle,,state=before,0,0,1e6,80,700\n",
		"energy.csv":  "model,system,num_gpus,task,osl_mean,max_batch,joules_per_output_token\nQwen/Qwen3-14B,h100,1,gpqa,6930,8,0.874\n",
		"result.json": `{"max_concurrency": 64, "completed": 640, "total_input_tokens": 655360, "total_output_tokens": 655360, "mean_ttft_ms": 350, "mean_tpot_ms": 23.5}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("answers.jsonl", []byte(`{"throughline": "0.2.0"}`+"\n"+`{"ask": {"model": "Llama-3.1-8B", "system": "H200", "batch": "-1"}, "refused": "for good"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("points.csv", []byte("batch\n1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("matrix.yaml", []byte("clients: [{name: c, command: 'true'}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := streaming(t, time.Millisecond)
	if err := os.WriteFile("plan.json", []byte(call(t, "plan", "--model", "llama_3_8b", "--system", "H200", "--gpus", "2", "--json")), 0o644); err != nil {
		t.Fatal(err)
	}
	examples := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			// What a shell does with the output is not the program's business.
			line, _, _ = strings.Cut(strings.TrimSpace(line), " | ")
			line = strings.ReplaceAll(line, "http://127.0.0.1:8000", server.URL)
			line, _, _ = strings.Cut(line, " > ")
			line, input, _ := strings.Cut(line, " < ")
			// A sweep acts on folders and buckets of others: its script in testdata runs it.
			if args := strings.Fields(strings.ReplaceAll(line, "'", "")); len(args) > 0 && cmd.Name() != "completion" && args[1] != "sweep" {
				if args[1] == "init" && len(args) == 3 {
					os.Remove(args[2])
				}
				if anyPort[args[1]] != nil { // which ends when it is told to
					served(t, args[1:], func(string) {})
				} else {
					callWith(t, input, args[1:]...)
				}
				examples++
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(Streams{}))
	if examples < 25 {
		t.Errorf("only %d examples", examples)
	}
}

var (
	shown = regexp.MustCompile("(?s)```\n\\$ throughline ([^\n]*)\n(.*?)```\n")
	kept  = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```[a-z]*\n(.*?)```\n")
)

// What the pages under docs show is what the program prints.
func TestDocs(t *testing.T) {
	notRacing(t)
	commands := 0
	for _, page := range documents(t) {
		doc, err := filepath.Abs(page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(page), func(t *testing.T) { commands += checkDoc(t, doc) })
	}
	if commands < 5 {
		t.Errorf("%d commands are shown with their output", commands)
	}
}

// checkDoc runs the commands that a page shows with their output, on the files that it shows, and
// counts them.
func checkDoc(t *testing.T, doc string) (commands int) {
	src, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, f := range kept.FindAllStringSubmatch(string(src), -1) {
		if err := os.WriteFile(f[1], []byte(f[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := shown.ReplaceAllStringFunc(string(src), func(block string) string {
		commands++
		line := shown.FindStringSubmatch(block)[1]
		return "```\n$ throughline " + line + "\n" + call(t, strings.Fields(line)...) + "```\n"
	})
	if *update {
		if err := os.WriteFile(doc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("-shown +printed:\n%s", diff)
	}
	return commands
}

// syntheticOps is a table of products on an H200 that take 4 µs and 1.3 times the roofline.
func syntheticOps() string {
	var b strings.Builder
	b.WriteString("kind,dtype,params,flops,bytes,time_us\n")
	for _, m := range []float64{1, 4, 16, 64, 256, 1024, 4096} {
		for _, n := range []float64{1024, 4096, 16384} {
			for _, k := range []float64{1024, 4096, 8192} {
				flops, bytes := 2*m*n*k, 2*(m*k+k*n+m*n)
				us := 4 + 1.3e6*max(flops/989e12, bytes/4800e9)
				fmt.Fprintf(&b, "gemm,bf16,m=%g;n=%g;k=%g,%g,%g,%g\n", m, n, k, flops, bytes, us)
			}
		}
	}
	return b.String()
}

// TestCalibrate: a system fitted to a table predicts it, and is written with the file it came from
// otherwise unchanged.
func TestCalibrate(t *testing.T) {
	notRacing(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("ops.csv", []byte(syntheticOps()), 0o644); err != nil {
		t.Fatal(err)
	}
	out := call(t, "calibrate", "--system", "H200", "--measurements", "ops.csv", "-o", "measured.json")
	if !strings.Contains(out, "gemm") {
		t.Errorf("printed %s", out)
	}
	again := call(t, "calibrate", "--system", "H200", "--measurements", "ops.csv", "-o", "again.json")
	if out != again {
		t.Error("two calibrations differ")
	}
	first, _ := os.ReadFile("measured.json")
	second, _ := os.ReadFile("again.json")
	if !bytes.Equal(first, second) {
		t.Error("two calibrations write different files")
	}
	call(t, "check", "measured.json")
	call(t, "validate", "ops", "ops.csv", "--system", "measured.json", "--out", "predicted.csv")
	rows, err := csv.NewReader(bytes.NewReader(readFile(t, "predicted.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, row := range rows[1:] {
		measured, _ := strconv.ParseFloat(row[5], 64)
		predicted, _ := strconv.ParseFloat(row[6], 64)
		sum += math.Abs(predicted/measured - 1)
	}
	if mean := sum / float64(len(rows)-1); len(rows) != 64 || mean > 0.05 {
		t.Errorf("mean error %.3f over %d rows", mean, len(rows)-1)
	}
	var errs bytes.Buffer
	if code := Run(context.Background(), []string{"calibrate", "--system", "measured.json", "--measurements", "ops.csv", "-o", "again.json"}, Streams{Out: &errs, Err: &errs}); code != exitOK {
		t.Errorf("calibrated twice: exit code %d, %s", code, &errs)
	}
	if !bytes.Equal(readFile(t, "measured.json"), readFile(t, "again.json")) {
		t.Error("calibrated twice, the file is another")
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
