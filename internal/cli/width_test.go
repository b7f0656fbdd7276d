package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"throughline/hardware"

	"throughline/internal/test/racing"
)

// printed is what a command prints on a terminal of a width, on both streams.
func printed(width int, args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = Run(formsOnly, args, Streams{In: strings.NewReader(""), Out: &o, Err: &e, Width: width})
	return o.String(), e.String(), code
}

// shownAt is the result that a command prints on a terminal of a width.
func shownAt(t *testing.T, width int, args ...string) string {
	t.Helper()
	out, errs, code := printed(width, args...)
	if code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
	return out
}

// inputsOfWidths are small inputs of commands that need some, in a folder: those of the scripts,
// and recorded runs.
func inputsOfWidths(t *testing.T) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	files := map[string]string{
		"ops.csv":        syntheticOps(),
		"matrix.yaml":    "servers: [{name: a_server_with_a_long_name, command: 'echo \"it is up\"; exec sleep 60', ready: {line: is up}, deployment: {model: Llama-3.1-8B, system: H200}}]\nclients: [{name: quick, command: 'echo hello'}, {name: broken, command: 'echo all is lost >&2; exit 5'}]\n",
		"runs.csv":       "run,model,policy,budget,max_running,kv_tokens,arrival,clients,ttft_mean_ms,steps\na,m,A,64,4,160,poisson,,15,5\n",
		"requests.csv":   "run,req,arrival,input,output\na,0,0,16,2\na,1,0.005,32,3\n",
		"steps.csv":      "run,step,t_start,t_end,n_decode,prefill_tokens,prefill_seqs,n_waiting,kv_blocks_used,sum_ctx\na,0,0,0.01,0,16,1,0,1,0\na,1,0.01,0.02,0,32,1,0,3,0\n",
		"step_times.csv": "model,kind,n_decode,ctx,sum_ctx,prefill_tokens,prefill_seqs,past_per_seq,gpu_ms,wall_ms\nm,P,0,0,0,16,1,0,9,10\nm,D,1,16,16,0,0,0,9,10\n",
	}
	for script, renamed := range map[string]map[string]string{
		"serving": {"runs.csv": "serving.csv"}, "published": {"figures.csv": "figures.csv"}, "overlap": {"kernels.txt": "kernels.txt"},
	} {
		archive, err := txtar.ParseFile("testdata/script/" + script + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if to, ok := renamed[f.Name]; ok {
				files[to] = string(f.Data)
			}
		}
	}
	files["plan.json"] = shownAt(t, 80, "plan", "--model", "DeepSeek-V3", "--system", "H200", "--gpus", "16", "--json")
	for name, content := range files {
		if err := os.WriteFile(at(name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// commandsOfWidths are command lines with what people ask; every command is there, and so are
// errors and warnings.
func commandsOfWidths(t *testing.T) [][]string {
	at := inputsOfWidths(t)
	dir := t.TempDir()
	deepseek := []string{"--model", "deepseek_v3_flash_mla_absorb", "--system", "H200", "--weights", "fp8"}
	llama := []string{"--model", "Llama-3.1-8B", "--system", "H200"}
	and := func(command []string, more ...string) []string { return append(slices.Clone(command), more...) }
	out := [][]string{
		{"validate", "--help"}, {"sweep", "--help"}, {"sweep", "run", "--help"}, {"check", "../../configs/reference_sample.json", "../../internal/cli/../../configs/../configs/reference_sample.json"}, {"models"}, {"models", "show", "DeepSeek-V3"}, {"models", "show", "Qwen3-Next-80B-A3B"}, {"models", "show", "DeepSeek-V4"}, {"systems"},
		{"run", "-c", "../../configs/split_and_fusion.json", "-o", filepath.Join(dir, "runs")},
		{"run", "-c", "../../configs/split_and_fusion.json", "-o", filepath.Join(dir, "rejected"), "--explain-rejected"},
		{"run", "-c", "../../configs/reference_sample.json", "-o", filepath.Join(dir, "physical"), "--assume", "physical"},
		{"run", "-c", "../../configs/reference_sample.json", "-o", filepath.Join(dir, "columns"), "--columns", "model_name,ttft,TPOT,decoder_bound_by,decoder_plans"},
		{"run", "--columns", "help"}, {"run", "-c", "../../configs/reference_sample.json", "--columns", "TPTO,decoder_bond,nonsense"},
		{"plan", "--model", "Kimi-K2", "--system", "H200", "--gpus", "16"},
		{"plan", "--model", "Llama-3.1-70B", "--system", "L40S", "--gpus", "1"},
		strings.Fields("plan --model DeepSeek-V3 --system H200 --gpus 32 --isl 4000 --osl 1000 --tpot 50ms --weights fp8 --explain-rejected"), // the example of its help, which TestExamples searches
		and([]string{"plan", "--gpus", "8", "--mode", "disagg", "--engine", "sglang"}, llama...),
		and([]string{"plan", "--gpus", "16", "--tpot", "20", "--price", "2", "--power", "700", "--explain-rejected", "--launch-for", "all", "--launch", "f2"}, llama...),
		{"diff", "H100_SXM", "B200"}, {"diff", at("plan.json") + "#1", at("plan.json") + "#f1"}, {"diff", at("plan.json"), "H2000"}, {"diff", "H200"},
		and([]string{"estimate", "--dp", "16", "--batch", "64"}, deepseek...),
		and([]string{"estimate", "--batch", "100000", "--phase", "decode"}, llama...),
		and([]string{"estimate", "--prefill-plan", "2x tp1", "--decode-plan", "tp2", "--batch", "16"}, llama...),
		and([]string{"explain", "--dp", "16", "--batch", "64", "--seek", "mem1.GBps", "--until", "tpot=40ms"}, deepseek...),
		and([]string{"explain", "--dp", "2", "--pp", "8", "--batch", "64", "--drafts", "1", "--tpot", "100"}, deepseek...),
		and([]string{"simulate", "--rate", "5", "--isl", "256", "--osl", "64", "--num-prompts", "300", "--ttft", "p99:2s"}, llama...),
		{"mcp"}, {"web", "--listen", "0.0.0.0:0"}, // refused
		and([]string{"emulate", "--fault", "die:replica=7,after=1s", "--fault", "eror:0.1"}, llama...), // which ends at once
		and([]string{"simulate", "--rate", "500", "--isl", "256", "--osl", "64", "--num-prompts", "300"}, llama...),
		and([]string{"simulate", "--prefill-plan", "tp1", "--decode-plan", "tp2", "--num-prompts", "64", "--isl", "256", "--osl", "64", "--prefix-cache"}, llama...),
		{"calibrate", "--system", "H200", "--measurements", at("ops.csv"), "-o", filepath.Join(dir, "system.json")},
		{"validate", "ops", "../../measure/H200/ops.csv", "--system", "H200", "--worst", "3"},
		{"validate", "forward", "../../measure/H200/forward.csv", "--system", "H200", "--worst", "3"},
		{"validate", "serving", at("serving.csv"), "--worst", "2"},
		{"validate", "published", at("figures.csv"), "--worst", "1"},
		{"validate", "requests", filepath.Dir(at("runs.csv"))},
		{"scenario", "../../configs/gpt2_scenario.json"}, {"scenario"}, {"init", "--scenario", filepath.Join(dir, "scenario.json")},
		{"bench", "--base-url", "http://127.0.0.1:1"}, {"bench", "--tokenizer", "x", "--apply-chat-template", "--backend", "trt", "--goodput", "tpto:5"},
		{"matrix"}, {"matrix", "-c", at("matrix.yaml"), "-o", filepath.Join(dir, "results")}, {"check", "../../configs/matrix/h20_frameworks.yaml"},
		{"comm", "--system", "H200"}, {"comm"}, {"comm", "--system", "H200", "--library", "deepep,nccl", "--ep", "16,x"},
		{"compare", "--kernels", at("kernels.txt"), "--model", "DeepSeek-V3", "--system", "H200", "--dp", "8", "--batch", "64"},
		{"compare", "--measured", "tpot=31ms,ttft=400ms", "--model", "Llama-3.1-70B", "--system", "H100_SXM", "--tp", "8", "--concurrency", "64"},
		{"compare", "--measured", "../../docs/runs/deepseek_v3_triton_16.csv"},
		{"calibrate", "serving", "../../docs/runs/deepseek_v3_triton_16.csv", "--against", "../../docs/runs/deepseek_v3_triton_32.csv"},
		{"check", "../../configs/reference_sample.json"}, {"check", "testdata/bad/model/many_problems.json"}, {"init", filepath.Join(dir, "start.json")}, {"version"},
		{"models", "import", "testdata/bad/model/config_unknown_type.json"}, {"schema"}, {"nonsense"}, {"plan", "--modle", "x"},
	}
	for _, name := range hardware.Catalogue.Names() {
		out = append(out, []string{"systems", "show", name})
	}
	var help func(cmd *cobra.Command, path []string)
	help = func(cmd *cobra.Command, path []string) {
		out = append(out, and([]string{"help"}, path...))
		for _, c := range cmd.Commands() {
			help(c, and(path, c.Name()))
		}
	}
	help(newRoot(Streams{}), nil)
	return out
}

// tooLong are the lines that are longer than the terminal is wide though they could be broken.
// Commands are to be pasted, and stand as they are: those of a launch, and examples.
func tooLong(text string, width int) (out []string) {
	launch := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		note := strings.HasPrefix(line, "  # ")
		launch = note || launch && line != ""
		pasted := launch && !note || strings.HasPrefix(line, "  throughline ") || strings.HasPrefix(line, "To change it: ")
		if displayed(line) > width && !pasted && !unbreakable(line, width) {
			out = append(out, line)
		}
	}
	return out
}

// unbreakable reports whether one word is too long for a line of its own: a path.
func unbreakable(line string, width int) bool {
	words := strings.Fields(line)
	return slices.ContainsFunc(words, func(word string) bool { return displayed(word) > width-4 })
}

func displayed(line string) int { return text.StringWidthWithoutEscSequences(line) }

// exponent is a number that people should not have to decode. Sources and notes of files are as
// their authors wrote them.
var exponent = regexp.MustCompile(`[0-9]e\+[0-9]`)

// missing tells of columns that must be shown on any terminal: the latencies and the throughput per
// card, and what was paid attention to.
func missing(t *testing.T, args []string, width int, out string) {
	t.Helper()
	columns := map[string][]string{"plan": {"plan", "TTFT", "TPOT", "tokens/s/GPU"}, "run": {"plan", "latency", "per GPU"}}[args[0]]
	if slices.Contains(args, "--price") && width > 80 { // there the first sentences say it
		columns = append(columns, "$/M tokens")
	}
	if slices.Contains(args, "--columns") {
		columns = nil
	}
	header, _, _ := strings.Cut(out, "├")
	for _, c := range columns {
		if !strings.Contains(header, " "+c+" │") && !strings.Contains(header, "│ "+c+" ") {
			t.Errorf("%v at %d: no column %s", args, width, c)
		}
	}
}

// On terminals of 80 and 120 columns no command prints a longer line. What a pipe gets is wide, and
// so is --wide.
func TestOutputFits(t *testing.T) {
	if racing.Enabled {
		t.Skip("what is printed is the same without the race detector")
	}
	t.Setenv("COLUMNS", "")
	named := map[string]bool{}
	for _, args := range commandsOfWidths(t) {
		named[args[0]] = true
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			for _, width := range []int{80, 120} {
				fits(t, width, args)
			}
		})
	}
	for _, c := range newRoot(Streams{}).Commands() {
		if !named[c.Name()] && c.Name() != "completion" {
			t.Errorf("no line is about %s", c.Name())
		}
	}
}

// fits runs a command on a terminal of a width.
func fits(t *testing.T, width int, args []string) {
	t.Helper()
	out, errs, code := printed(width, args...)
	if code == exitFailed {
		t.Errorf("%v: %s", args, errs)
	}
	for _, line := range tooLong(out+errs, width) {
		t.Errorf("%v at %d: %d columns: %s", args, width, displayed(line), line)
	}
	if exponent.MatchString(out+errs) && args[0] != "systems" {
		t.Errorf("%v prints %s", args, exponent.FindString(out+errs))
	}
	if width == 80 && strings.Contains(out, "--wide shows all") {
		wide, errs, _ := printed(width, append(slices.Clone(args), "--wide")...)
		if pipe, _, _ := printed(0, args...); wide != pipe || strings.Contains(wide, "not shown") {
			t.Errorf("%v --wide is not what a pipe gets: %s", args, errs)
		}
	}
	if code == exitOK {
		missing(t, args, width, out)
	}
}

// --columns shows the fields that it names, with or without their unit.
func TestColumns(t *testing.T) {
	out := shownAt(t, 0, "run", "-c", "../../configs/reference_sample.json", "-o", t.TempDir(), "--columns", "model_name,TPOT,decoder_bound_by")
	_, below, _ := strings.Cut(out, "┐\n")
	header, _, _ := strings.Cut(below, "\n")
	if strings.Join(strings.Fields(strings.ReplaceAll(header, "│", "")), " ") != "run model_name TPOT(s) decoder_bound_by" {
		t.Errorf("printed\n%s", out)
	}
	if !strings.Contains(out, "0.0348293") || !strings.Contains(out, "memory 8") {
		t.Errorf("printed\n%s", out)
	}
	var errs bytes.Buffer
	code := Run(context.Background(), []string{"run", "-c", "../../configs/reference_sample.json", "--columns", "TPTO"}, Streams{Out: &errs, Err: &errs})
	if code != exitBadInput || !strings.Contains(errs.String(), `did you mean "TPOT"`) {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	// All wrong names stand in one short message; case does not matter.
	errs.Reset()
	Run(context.Background(), []string{"run", "-c", "../../configs/reference_sample.json", "--columns", "tpot,TPTO,decoder_bond,zzzz"}, Streams{Out: &errs, Err: &errs})
	want := `--columns: no fields are called "TPTO" (did you mean "TPOT"?), "decoder_bond" (did you mean "decoder_bound"?), "zzzz"; columns help lists all`
	if first, _, _ := strings.Cut(errs.String(), "\n"); first != want {
		t.Errorf("said\n%s\nwant\n%s", first, want)
	}
	if list := shownAt(t, 80, "plan", "--columns", "help"); !strings.Contains(list, "decoder_bound_share(%)") || !strings.Contains(list, "TPOT(s)") {
		t.Errorf("listed\n%s", list)
	}
}
