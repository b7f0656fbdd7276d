package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"throughline/internal/question"
)

// minimal is the least that a command needs besides the flag under test.
func minimal(t *testing.T) map[question.Command][]string {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	ops := file("ops.csv", "kind,dtype,params,flops,bytes,time_us\n")
	return map[question.Command][]string{
		question.Plan:      {"--model", "llama_3_8b", "--system", "H200", "--gpus", "1"},
		question.Estimate:  {"--model", "llama_3_8b", "--system", "H200"},
		question.Explain:   {"--model", "llama_3_8b", "--system", "H200"},
		question.Compare:   {"--model", "llama_3_8b", "--system", "H200", "--kernels", file("kernels.txt", "fp8_gemm_kernel 50%\n")},
		question.Simulate:  {"--model", "llama_3_8b", "--system", "H200", "--num-prompts", "2", "--osl", "2"},
		question.Emulate:   {"--model", "llama_3_8b", "--system", "H200", "--port", "0"},
		question.Comm:      {"--system", "H200"},
		question.Ops:       {ops},
		question.Forward:   {file("forward.csv", "kind,model,params,time_ms\n")},
		question.Steps:     {file("steps.csv", "model,chip,gpus,engine,tp,dp,ep,precision,phase,sequences_per_rank,new_tokens_per_rank,kv_tokens_per_rank,time_ms\n")},
		question.Serving:   {file("serving.csv", "model_path,system\n")},
		question.Published: {file("published.csv", "source,url\n")},
		question.Requests:  {dir},
		question.Calibrate: {"--system", "H200", "--measurements", ops, "-o", filepath.Join(dir, "out.json")},
		question.Run:       {"-c", file("run.json", "{}")},
		question.Scenario:  {"../../configs/gpt2_scenario.json"},
		question.Import:    {file("config.json", "{}")},

		question.Power:            {file("power.csv", "kind,dtype,params,flops,bytes,time_us,joules,limit_w\n")},
		question.Joules:           {file("energy.csv", "model,system,num_gpus,task,osl_mean,max_batch,joules_per_output_token\n")},
		question.CalibratePower:   {file("power.csv", "kind,dtype,params,flops,bytes,time_us,joules,limit_w\n"), "--system", "H200"},
		question.CalibrateServing: {file("runs.csv", "model_path,system\n")},
		question.SweepRun:         {file("scan.json", `{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1,2"}}`), "-o", filepath.Join(dir, "parts")},
		question.SweepVerify:      {dir},
		question.SweepJob:         {"slurm", file("scan.json", `{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1,2"}}`), "-o", filepath.Join(dir, "parts")},
		question.Bench:            {"--base-url", "http://127.0.0.1:1"},
		question.Matrix:           {"-c", file("matrix.yaml", "clients: [{name: c, command: 'true'}]\n"), "-o", filepath.Join(dir, "results")},
	}
}

// wrongValues are those that a setting must refuse, and what is said to each.
func wrongValues(s *question.Setting) map[string]string {
	bad := map[string]string{"": "is empty; give a value, or leave it out"}
	kind := s.Kind()
	if s.List != "" {
		kind = s.List
	}
	switch {
	case kind == question.Switch:
		return map[string]string{"maybe": `must be true or false, not "maybe"`, "": "is empty; give a value, or leave it out"}
	case kind == question.Text && len(s.Choices) > 0 && !s.Open:
		bad["no-such-word"] = `"no-such-word" is not one of`
	case kind == question.Text:
	case kind == question.Count && s.List == "":
		bad["NaN"], bad["Inf"], bad["1.5"] = "must be a whole number", "must be a whole number", "must be a whole number"
	case kind == question.Count:
		bad["NaN"], bad["Inf"], bad["1.5"] = "must be whole numbers", "must be whole numbers", "must be whole numbers"
	default:
		bad["NaN"], bad["1e999"] = "must be ", "must be "
		if !s.Infinite {
			bad["Inf"] = "must be "
		}
	}
	if kind != question.Text {
		number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
		low, high := number(s.Low), number(s.High)
		for _, text := range []string{number(s.Low - 1), number(s.High + 1), "99999999999999999999", "-99999999999999999999"} {
			bad[text] = high
		}
		if s.Above {
			bad[low] = "above " + low
		}
		if s.Below {
			bad[high] = "less than " + high
		}
	}
	return bad
}

// TestEveryFlag: every command refuses NaN, Inf, what is negative, empty or out of bounds, for
// every flag and every other name of it, with the bound and exit code 2, and prints nothing.
func TestEveryFlag(t *testing.T) {
	notRacing(t)
	base := minimal(t)
	tried := 0
	for _, c := range question.Commands {
		for _, s := range question.Settings(c.Command) {
			for _, name := range append([]string{s.Name}, s.Aliases...) {
				bad := wrongValues(s)
				for i, text := range slices.Sorted(maps.Keys(bad)) {
					want, args := bad[text], strings.Fields(c.Path)
					if i == len(bad)-1 { // nothing else is wrong; once is enough, as files are read
						args = append(args, base[c.Command]...)
					} else if c.Command&(question.Tables|question.Requests|question.Import|question.CalibrateServing|question.SweepRun|question.SweepVerify) != 0 {
						args = append(args, "none")
					}
					args = append(args, "--"+name+"="+text)
					code, out, said := attempt(args...)
					tried++
					if code != exitBadInput || out != "" || !strings.Contains(said, "--"+name+": ") || !strings.Contains(said, want) {
						t.Errorf("%s --%s=%q: exit code %d, want %q, said %.300s", c.Path, name, text, code, want, said)
					}
				}
			}
		}
	}
	if tried < 700 {
		t.Errorf("only %d values", tried)
	}
}

// TestEmptyOutputs: no output flag takes an empty value, and none a dash for a file.
func TestEmptyOutputs(t *testing.T) {
	notRacing(t)
	base := minimal(t)
	for _, c := range question.Commands {
		cmd := find(t, c.Path)
		for i := range outputFlags {
			f := cmd.Flags().Lookup(outputFlags[i].name)
			if f == nil || f.Value.Type() == "bool" {
				continue
			}
			if _, setting := f.Value.(*settingFlag); setting {
				continue
			}
			args := append(append(strings.Fields(c.Path), base[c.Command]...), "--"+f.Name+"=")
			if code, out, said := attempt(args...); code != exitBadInput || out != "" || !strings.Contains(said, "--"+f.Name+": is empty") {
				t.Errorf("%s --%s: exit code %d, said %s", c.Path, f.Name, code, said)
			}
		}
	}
}

// TestIdleFlags: a flag that has no effect is said, and has none: what is printed is the same
// without it.
func TestIdleFlags(t *testing.T) {
	notRacing(t)
	plan := []string{"plan", "--model", "llama_3_8b", "--system", "H200", "--gpus", "1", "--mode", "agg", "--top", "2"}
	sim := []string{"simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--engine", "vllm", "--isl", "64", "--osl", "8", "--num-prompts", "40"}
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace.csv")
	if err := os.WriteFile(trace, []byte("arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1,300,30\n2,50,5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	with := func(base []string, more ...string) []string { return append(append([]string{}, base...), more...) }
	traced := with(sim, "--trace", trace)
	for _, c := range []struct {
		base, idle []string
		why        string
	}{
		{plan, []string{"--drafts", "2"}, "llama-3-8B has no layers that draft tokens, which engines need"},
		{plan, []string{"--dispatch", "bf16"}, "llama-3-8B has no experts"},
		{plan, []string{"--combine", "fp8"}, "llama-3-8B has no experts"},
		{plan, []string{"--overlap", "any"}, "llama-3-8B has no experts"},
		{with(plan, "--json"), []string{"--wide"}, "with --json"},
		{with(plan, "--json"), []string{"--columns", "TTFT"}, "with --json"},
		{[]string{"estimate", "--model", "llama_3_8b", "--system", "H200"}, []string{"--comm", "fp8"}, "one GPU sends nothing"},
		{[]string{"estimate", "--model", "llama_3_8b", "--system", "H200"}, []string{"--force"}, "without --output"},
		{[]string{"comm", "--system", "H200", "--csv"}, []string{"--wide"}, "with --csv"},
		{[]string{"models", "--json"}, []string{"--wide"}, "with --json"},
		{with(sim, "--max-rate", "--ttft", "p99:200ms"), []string{"--rate", "7"}, "max-rate finds the rate"},
		{sim, []string{"--arrival", "constant"}, "at an infinite rate all requests come at once"},
		{sim, []string{"--think-time", "2s"}, "a conversation has one turn"},
		{sim, []string{"--routing", "least-loaded"}, "there is one replica"},
		{sim, []string{"--prefix-cache"}, "no prompts begin alike"},
		{sim, []string{"--swap-gbps", "50"}, "nobody was swapped out"},
		{[]string{"estimate", "--model", "llama_3_8b", "--system", "H200"}, []string{"--vector", "fp8"}, "no operator of these steps waits for the vector unit"},
		{sim, []string{"--seed", "3"}, "nothing is drawn at random"},
		{sim, []string{"--timeline-every", "50ms"}, "without --timeline-out"},
		{sim, []string{"--force"}, "without --output or --out or --requests-out or --timeline-out or --steps-out or --trace-out or --chart"},
		{with(sim, "--rate", "20", "--gsp-system-prompt-len", "32", "--gsp-num-groups", "2"), []string{"--gsp-num-groups", "5"}, "without prefix-cache no prompt is kept"},
		{traced, []string{"--arrival", "gamma:2"}, "the requests are those of the trace"},
		{traced, []string{"--isl", "500"}, "the requests are those of the trace"},
		{traced, []string{"--lengths", "uniform:0.2"}, "the requests are those of the trace"},
		{traced, []string{"--random-range-ratio", "0.2"}, "the requests are those of the trace"},
		{traced, []string{"--turns", "3"}, "the requests are those of the trace"},
		{traced, []string{"--seed", "3"}, "nothing is drawn at random"},
		{with(traced, "--prefill-plan", "tp1", "--decode-plan", "tp1"), []string{"--seed", "3"}, "nothing is drawn at random"},
		{with(sim, "--rate", "20", "--lengths", "trace:"+trace), []string{"--isl", "500"}, "the trace gives the lengths"},
	} {
		_, want, _ := attempt(c.base...)
		code, got, said := attempt(with(c.base, c.idle...)...)
		flag := c.idle[0]
		if code != exitOK || !strings.Contains(said, "note: "+flag+" has no effect") || !strings.Contains(said, c.why) {
			t.Errorf("%v: exit code %d, said %q, want %s", c.idle, code, said, c.why)
		}
		if want != got || want == "" {
			t.Errorf("%v beside %v changes the answer:\n%s\n%s", c.idle, c.base, want, got)
		}
	}
	// With what they need, nothing is said.
	for _, args := range [][]string{
		with(sim, "--rate", "20", "--arrival", "constant"), with(sim, "--turns", "2", "--think-time", "1s", "--prefix-cache"),
		with(sim, "--replicas", "2", "--routing", "least-loaded"), with(sim, "--rate", "20", "--seed", "3"), with(sim, "--dp", "2", "--routing", "least-loaded"),
		with(sim, "--timeline-out", filepath.Join(dir, "t.csv"), "--timeline-every", "50ms", "--force"), with(sim[:7], "--trace", trace, "--rate", "3"),
		with(sim[:7], "--num-prompts", "5", "--lengths", "trace:"+trace),
	} {
		if code, _, said := attempt(args...); code != exitOK || strings.Contains(said, "no effect") {
			t.Errorf("%v: exit code %d, said %q", args, code, said)
		}
	}
}
