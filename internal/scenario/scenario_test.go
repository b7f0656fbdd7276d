package scenario

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/files"
)

const gpt2 = `{"model": "gpt2", "weights": "fp32", "requests": 100, "input": 64, "output": 512, "scenarios": [
	{"prefill": "H200", "decode": "H200"}, {"prefill": "H200", "decode": "Xeon_16"}, {"prefill": "Xeon_16", "decode": "Xeon_16"}]}`

func ask(t *testing.T, text string) (*Question, []Row) {
	t.Helper()
	q, _, err := Read(files.Machine, "scenario.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Rows(q)
	if err != nil {
		t.Fatal(err)
	}
	return q, rows
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got/want-1) > share {
		t.Errorf("%s: %g, not %g", what, got, want)
	}
}

// TestLaunches: a step of GPT-2 on a GPU is 19 kernels of each of 12 layers and 6 of the ends,
// which the host launches more slowly than an H200 runs them.
func TestLaunches(t *testing.T) {
	q, rows := ask(t, gpt2)
	near(t, "decode", rows[0].Decode, 512*(12*19+6)*q.Framework.LaunchSeconds, 1e-9)
	if rows[0].Waiting < rows[0].Decode/2 {
		t.Errorf("only %g s of waiting for the host", rows[0].Waiting)
	}
}

// TestTransfer: 2 × 12 tensors of 100 × 12 × 64 × 64 numbers of 4 bytes go to pageable memory, and
// into new pages at 4 GB/s. The copy of one was measured: 19.7 MB at 64 GB/s and 5.3 times as long.
func TestTransfer(t *testing.T) {
	_, rows := ask(t, gpt2)
	bytes := 24 * 100 * 12 * 64 * 64 * 4.
	near(t, "transfer", rows[1].Transfer, bytes/4e9+24*25e-6+5.3*bytes/64e9, 0.02)
	if rows[0].Transfer != 0 || rows[2].Transfer != 0 {
		t.Error("what stays is not moved")
	}
}

// cpuStep is a pass of GPT-2 through the Xeon_16 by hand: so many tokens, of which each of 100
// sequences has context of them to look at, and so many logits. Products run at 0.695 · 1.54 T/s,
// memory at 0.8 · 104 GB/s; results of 32 MiB and more are touched at 12 GB/s; every kernel is
// launched in 40.2 µs.
func cpuStep(tokens, context, pairs, logits float64) float64 {
	const h, inner, vocab, layers, b = 768, 3072, 50257, 12, 4
	product := func(m, k, n float64) float64 {
		return max(2*m*k*n/(0.695*1.54e12), b*(m*k+k*n+m*n)/(0.8*104e9)) + fresh(b*m*n)
	}
	pass := func(n, elements, kernels float64) float64 {
		return elements*b*n/(0.8*104e9) + kernels*fresh(b*n)
	}
	// Weights of a norm are as wide as a row.
	norm := func(m float64) float64 { return (2*m+1)*h*b/(0.8*104e9) + fresh(b*m*h) }
	kv := 100 * context * 2 * h * b // read by attention, copied before
	attention := max(2*2*pairs*h/(0.695*1.54e12), (kv+2*b*tokens*h)/(0.8*104e9)) + fresh(b*tokens*h)
	layer := norm(tokens) + product(tokens, h, 3*h) + 2*kv/(0.8*104e9) + 2*fresh(kv/2) + attention + product(tokens, h, h) + pass(tokens*h, 3, 1) +
		norm(tokens) + product(tokens, h, inner) + pass(tokens*inner, 18, 8) + product(tokens, inner, h) + pass(tokens*h, 3, 1)
	ends := pass(tokens*h, 7, 3) + norm(logits) + product(logits, h, vocab) + pass(100*vocab, 2, 1)
	return layers*layer + ends + (12*19+6)*40.2e-6
}

func fresh(bytes float64) float64 {
	if bytes < 32<<20 {
		return 0
	}
	return bytes / 12e9
}

// TestCPU compares both phases on a CPU with that arithmetic. Vector operations, of which softmax
// is one, are left out of it.
func TestCPU(t *testing.T) {
	_, rows := ask(t, gpt2)
	near(t, "prefill", rows[2].Prefill, cpuStep(6400, 64, 100*64*65/2, 6400), 0.01)
	var decode float64
	for i := range 512 {
		context := float64(64 + i + 1)
		decode += cpuStep(100, context, 100*context, 100)
	}
	near(t, "decode", rows[2].Decode, decode, 0.01)
	if rows[1].Decode != rows[2].Decode || rows[1].Prefill != rows[0].Prefill {
		t.Error("a phase takes the same wherever the other runs")
	}
}

// TestRates: throughputs are those of the script that such tables come from.
func TestRates(t *testing.T) {
	r := Row{Prefill: 0.1, Transfer: 0.2, Decode: 9.7, question: &Question{Requests: 100, Input: 64, Output: 512}}
	near(t, "prompts", r.PromptRate(), 64000, 1e-12)
	near(t, "output", r.OutputRate(), 51200/9.7, 1e-12)
	near(t, "all", r.Rate(), 5760, 1e-12)
}

// TestOther: without an engine nothing waits, and steps are no longer; a model that does not fit
// says what it needs.
func TestOther(t *testing.T) {
	_, eager := ask(t, gpt2)
	_, fused := ask(t, strings.Replace(gpt2, `"weights"`, `"engine": "none", "weights"`, 1))
	for i := range fused {
		if fused[i].Waiting != 0 || fused[i].Total() >= eager[i].Total() {
			t.Errorf("%s takes %g s and waits %g, eagerly %g", fused[i].Pair.Name, fused[i].Total(), fused[i].Waiting, eager[i].Total())
		}
	}
	q, _, err := Read(files.Machine, "x", []byte(`{"model": "llama_3_70b", "requests": 1, "input": 8, "output": 8, "scenarios": [{"prefill": "A100_SXM", "decode": "A100_SXM"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Rows(q); err == nil || !strings.Contains(err.Error(), "GiB of each A100_SXM") || !strings.Contains(err.Error(), "decode_tp") {
		t.Errorf("%v", err)
	}
	// Two GPUs of another kind share no NVLink: the cache goes over the slower of the networks
	// between their nodes.
	_, pair := ask(t, `{"model": "llama_3_8b", "engine": "none", "requests": 4, "input": 1000, "output": 2, "scenarios": [{"prefill": "H200", "decode": "A100_SXM"}, {"prefill": "H200", "decode": "H200", "decode_tp": 2}]}`)
	bytes := 4 * 1000 * 32 * 2 * 8 * 128 * 2.
	near(t, "to the A100", pair[0].Transfer, bytes/(0.8*25e9), 0.001)
	if pair[1].Transfer == 0 {
		t.Error("a cache of one GPU comes to two for nothing")
	}
}

func TestVerdict(t *testing.T) {
	_, rows := ask(t, gpt2)
	for want, of := range map[string][]Row{
		"Not worth it: prefill on H200 and decode on Xeon_16 take": rows, "there is no scenario on one system": rows[1:2], "All-H200 takes": rows[:1],
		"All-H200 is the fastest with": {rows[0], rows[2]}, "Worth it: prefill on H200 and decode on Xeon_16": rows[1:],
	} {
		if got := Verdict(of); !strings.Contains(got, want) || strings.Count(got, ". ") > 0 {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// TestProblems: all at once, each with its place.
func TestProblems(t *testing.T) {
	_, _, err := Read(files.Machine, "bad.json", []byte(`{"model": "gtp2", "engine": "transformer", "weights": "fp3", "requests": 0, "inputs": 4, "input": 1000, "output": 1000, "scenarios": [
		{"prefill": "H2000", "decode": "H200"}, {"decode": "H200"}]}`))
	if err == nil {
		t.Fatal("no problem")
	}
	for _, want := range []string{`model: "gtp2" is no file and no built-in model; did you mean "gpt2"?`, `engine: "transformer" is not one of`, "requests: must be", `unknown key "inputs"`,
		`scenarios[0].prefill: "H2000" is no file and no built-in system`, `scenarios[1]`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said in\n%v", want, err)
		}
	}
	_, _, err = Read(files.Machine, "bad.json", []byte(`{"model": "gpt2", "weights": "fp3", "requests": 1, "input": 1000, "output": 1000, "scenarios": [
		{"prefill": "H200", "decode": "H200", "decode_tp": 5}, {"prefill": "H200", "decode": "H200", "decode_tp": 5}, {"prefill": "H200", "decode": "Xeon_16"}]}`))
	if err == nil {
		t.Fatal("no problem")
	}
	for _, want := range []string{`"fp3" is not one of`, "output: a request has 2000 tokens, and gpt2 takes at most 1024", "scenarios[0].decode_tp: ", "as another one is"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said in\n%v", want, err)
		}
	}
}

func TestCompare(t *testing.T) {
	q, rows := ask(t, gpt2)
	for _, table := range []string{
		"kind,model,params,time_ms\ngpt2_all_gpu,gpt2,b=100;s=64;g=512;phase=decode,5000\ngpt2_pd_split,gpt2,b=100;s=64;g=512;phase=kv_transfer,100\ngpt2_all_cpu,gpt2,b=1;s=64;g=512;phase=decode,1\nprefill,llama,b=1,3\n",
		"scenario,prefill_time_s,kv_tx_time_s,decode_time_s\nAll-H200,0,0.0000,5\nP(H200)-D(Xeon_16),0,0.1,0\nelsewhere,1,1,1\n",
	} {
		got, err := Compare(q, rows, strings.NewReader(table))
		if err != nil || len(got) != 2 {
			t.Fatalf("%v, %v", got, err)
		}
		if got[0] != (Compared{"All-H200", "decode", 5, rows[0].Decode}) || got[1] != (Compared{"P(H200)-D(Xeon_16)", "kv_transfer", 0.1, rows[1].Transfer}) {
			t.Errorf("%v", got)
		}
	}
	for table, want := range map[string]string{
		"": "empty", "a,b\n": "unknown columns a,b", "scenario,decode_time_s\nAll-H200,soon\n": `line 2: time "soon"`, "scenario,decode_time_s\nx,1\n": "no row is of one of these scenarios",
		"scenario,decode_time_s\nAll-H200\n": "line 2: 1 fields, not 2",
	} {
		if _, err := Compare(q, rows, strings.NewReader(table)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", table, err)
		}
	}
}

// TestMeasured: the whole table that was measured on one H200 and 16 vCPUs of its host, each cell
// within a fifth.
func TestMeasured(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "measurements", "h200", "forward.csv"))
	if err != nil {
		t.Skip("the measured table is not beside the project")
	}
	defer f.Close()
	q, rows := ask(t, gpt2)
	got, err := Compare(q, rows, f)
	if err != nil || len(got) != 7 {
		t.Fatalf("%d cells, %v", len(got), err)
	}
	for _, c := range got {
		if math.Abs(c.Error()) > 0.2 {
			t.Errorf("%s %s: %.1f%%", c.Scenario, c.Phase, 100*c.Error())
		}
	}
}

// TestSharedExperts: a processor of eight holds an eighth of each of the 256 routed experts of
// DeepSeek-V3, and of the shared one; a step without a host reads that one, too: at least 1/8 of
// 58 · 3 · 7168 · 2048 bytes at 4.8 TB/s, 66 µs more than without it.
func TestSharedExperts(t *testing.T) {
	const text = `{"model": "%s", "engine": "none", "weights": "fp8", "requests": 8, "input": 512, "output": 1, "scenarios": [{"prefill": "H200", "decode": "H200", "prefill_tp": 8, "decode_tp": 8}]}`
	q, with := ask(t, fmt.Sprintf(text, "DeepSeek-V3"))
	d, errs := q.deployment(&q.Pairs[0], q.Pairs[0].Decode)
	if n := d.Pools[0].Plan.ExpertsPerProc(q.Model); len(errs) > 0 || n != 257 {
		t.Errorf("%d experts, %v", n, errs)
	}
	q.Model.Experts.Shared = 0
	without, err := Rows(q)
	if err != nil {
		t.Fatal(err)
	}
	if more := with[0].Decode - without[0].Decode; more < 66e-6 || more > 4*66e-6 {
		t.Errorf("the shared expert takes %g s", more)
	}
}
