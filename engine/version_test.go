package engine

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"throughline/assume"
	"throughline/deploy"
	"throughline/internal/document"
	"throughline/internal/test/builtin"
	"throughline/plan"
)

// changed is SGLang with a text of its file replaced, and what is wrong with it then.
func changed(t *testing.T, old, text string) (*Engine, error) {
	t.Helper()
	src, err := files.ReadFile("data/sglang.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(src), old) != 1 {
		t.Fatalf("%q is not once in the file", old)
	}
	e := &Engine{Attention: readAttention("sglang")}
	if err := e.decode(document.Parse("sglang.json", []byte(strings.Replace(string(src), old, text, 1))).Root()); err != nil {
		return e, err
	}
	_, err = e.versions()
	return e, err
}

// TestPatchedFact: any fact of scheduling can differ in a version, and in those that differ from
// it, by one key of its patch.
func TestPatchedFact(t *testing.T) {
	e, err := changed(t, `"captured_tokens": 160,`, `"captured_tokens": 160, "first_seconds": 7, "memory": {"taken_gib": 3},`)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]float64{"0.4": 7, "0.4.6": 7, "0.4.8": 7, "0.5.10": e.Scheduling.FirstSeconds} {
		was, err := e.At(version)
		if err != nil {
			t.Fatal(err)
		}
		if s := &was.Scheduling; s.FirstSeconds != want || (s.Memory.TakenGiB == 3) != (want == 7) || s.Memory.GroupGiB != e.Scheduling.Memory.GroupGiB {
			t.Errorf("%s: %g s before a request, memory %+v", version, s.FirstSeconds, s.Memory)
		}
	}
}

// TestPatchProblems: what is wrong with a patch is told by its place in the file.
func TestPatchProblems(t *testing.T) {
	for _, c := range []struct{ old, text, want string }{
		{`"index_kernels": 9`, `"index_kernel": 9`, `versions.0.5.10.patch.scheduling.index_kernel: unknown key "index_kernel"; did you mean "index_kernels"?`},
		{`"launches_both": true`, `"launches_both": 1`, "versions.0.4.8.patch.scheduling.launches_both: must be true or false"},
		{`"index_kernels": 4, "fuses_index": ""`, `"step_tokens": null`, `missing required key "step_tokens"`},
		{"\"of\": \"0.4\",\n      \"patch\": {\"scheduling\": {\"launches_both\"", "\"of\": \"0.3\",\n      \"patch\": {\"scheduling\": {\"launches_both\"", `there is no version "0.3" to differ from`},
		{"\"of\": \"0.4\",\n      \"patch\": {\"scheduling\": {\"launches_both\"", "\"of\": \"0.4.8\",\n      \"patch\": {\"scheduling\": {\"launches_both\"", "differs from itself"},
	} {
		_, err := changed(t, c.old, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "sglang.json:") {
			t.Errorf("%s: %v, want %q at its place", c.text, err, c.want)
		}
	}
}

// TestNoEngineNoBehaviour: where no engine is assumed a plan is as no engine in particular runs it,
// whatever ran it before.
func TestNoEngineNoBehaviour(t *testing.T) {
	d := exchanging(16, 8)
	d.Assume = &assume.Assumptions{}
	d.ServerOptions = deploy.ServerOptions{Captured: 8, CapturedPrompts: 8, SharedApart: true, Exchange: "none"}
	for _, e := range append(slices.Clone(engines), Generic, find(t, "sglang@0.4.6"), find(t, "vllm@0.9")) {
		d.Pools[0].Plan.Behaviour = plan.Behaviour{Gathered: true, Launch: 1, LightLast: true}
		if got := e.Apply(d).Pools[0].Plan.Behaviour; got != (plan.Behaviour{}) {
			t.Errorf("%s: %+v", e.Name, got)
		}
	}
}

// TestVersionsAtOnce: whoever asks for a version at the same time gets the same one.
func TestVersionsAtOnce(t *testing.T) {
	e := &Engine{Attention: readAttention("sglang")}
	if err := e.decode(parse("data/sglang.json")); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var got [8]*Engine
	for i := range got {
		group.Go(func() { got[i], _ = e.At("0.4.6") })
	}
	group.Wait()
	for _, was := range got {
		if was == nil || was != got[0] {
			t.Fatalf("%p and %p", was, got[0])
		}
	}
}

// TestSmallChips: a vLLM server on an A100 or a chip below 70 GiB runs 256 sequences and 2048
// tokens a step unless it is told others.
func TestSmallChips(t *testing.T) {
	e, err := Find("vllm")
	if err != nil {
		t.Fatal(err)
	}
	small := e.Scheduling.Small
	if small.StepTokens != 2048 || small.Sequences != 256 {
		t.Errorf("%+v", small)
	}
	for name, want := range map[string]bool{"A100_SXM": true, "A100_40GB": true, "L40S": true, "H100_SXM": false, "RTX_PRO_6000": false, "MI300X": false} {
		if got := small.is(builtin.System(t, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestNearest: a version has the facts of the first known one that is not before it, which a note
// says.
func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"vllm@0.5.4": "0.5", "vllm@0.6": "0.9.1", "vllm@0.9.2": "0.9", "vllm@0.10.2": "0.10", "vllm@v0.11.0": "0.11.0", "vllm@0.11.2": "0.12", "vllm@0.13": "0.13", "vllm@0.14.0rc3": "0.16", "vllm@0.18": "0.20", "vllm@0.25.1": "",
		"sglang@0.4.3": "0.4.6", "sglang@0.4.7": "0.4.8", "sglang@0.4.9": "0.4", "sglang@0.5.3": "0.5.5", "sglang@0.5.7": "0.5.8", "sglang@0.5.9": "0.5.9", "sglang@0.5.10.post1": "0.5.10", "sglang@0.5.15": "", "trtllm@1.2": "",
	} {
		of, version, _ := strings.Cut(name, "@")
		if got := find(t, of).Nearest(version); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if e := find(t, name); want == "" && e != find(t, of) || want != "" && e != find(t, of+"@"+want) {
			t.Errorf("%s is not %s", name, want)
		}
	}
	for name, want := range map[string]string{
		"vllm": "", "vllm@0.16": "", "vllm@0.11": "vllm@0.11: what is known of vLLM 0.11.0 stands in for it",
		"trtllm@1.2": "trtllm@1.2: what is known of TensorRT-LLM now stands in for it",
	} {
		if got := StandIn(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestDefaultProducts: SGLang 0.5.6 to 0.5.9 takes the Triton kernels of AITER on both chips of
// CDNA 3, whatever the day of a run.
func TestDefaultProducts(t *testing.T) {
	for name, want := range map[string]float64{"sglang@0.5.4": 0, "sglang@0.5.6": 2112, "sglang@0.5.9": 2112, "sglang@0.5.10": 0, "sglang": 0} {
		for _, chip := range []string{"MI300X", "MI325X", "MI355X"} {
			d := exchanging(1, 8)
			d.Pools[0].System = builtin.System(t, chip)
			of := want
			if chip == "MI355X" {
				of = 0
			}
			if got := find(t, name).Apply(d).Precision.BlockKernels.N; got != of {
				t.Errorf("%s on %s: products of %g", name, chip, got)
			}
		}
	}
}

// TestPaddedExperts: vLLM 0.11.1 to 0.12 multiplies tiles of 128 rows in FP8 of blocks on Hopper
// and Blackwell, over fewer than 8 ranks.
func TestPaddedExperts(t *testing.T) {
	for _, c := range []struct {
		engine, chip, weights string
		blocks                bool
		ranks, want           int
	}{
		{"vllm@0.12", "H200", "fp8", true, 4, 128}, {"vllm@0.11.2", "B200", "fp8", true, 1, 128}, {"vllm@0.12", "H200", "fp8", true, 8, 0},
		{"vllm@0.12", "H200", "fp8", false, 4, 0}, {"vllm@0.12", "H200", "bf16", false, 4, 0}, {"vllm@0.12", "A100_SXM", "fp8", true, 4, 0},
		{"vllm@0.11.0", "H200", "fp8", true, 4, 0}, {"vllm@0.13", "H200", "fp8", true, 4, 0}, {"vllm", "H200", "fp8", true, 4, 0}, {"sglang", "H200", "fp8", true, 4, 0},
	} {
		d := exchanging(1, 8)
		d.Pools[0].System = builtin.System(t, c.chip)
		d.Pools[0].Plan.Attention.TP, d.Pools[0].Plan.Experts = c.ranks, plan.ExpertSplit{EP: 1, TP: c.ranks, DP: 1}
		d.Precision.Name = c.weights
		if c.blocks {
			d.Precision.Weight += 4. / (128 * 128)
		}
		if got := find(t, c.engine).Apply(d).Pools[0].Plan.ExpertTile; got != c.want {
			t.Errorf("%+v: tiles of %d rows", c, got)
		}
	}
}

// TestLogits: what choosing next tokens takes per logit: FlashInfer's sampler in the images of vLLM
// 0.10 and 0.11.0, sorting elsewhere before 0.17.
func TestLogits(t *testing.T) {
	for name, want := range map[[2]string]float64{{"vllm@0.10.2", "H100_SXM"}: 14, {"vllm@0.10.2", "MI300X"}: 41, {"vllm@0.9.2", "H100_SXM"}: 41, {"vllm@0.11.0", "H100_SXM"}: 14, {"vllm@0.11.0", "MI300X"}: 41, {"vllm@0.11.1", "H100_SXM"}: 41, {"vllm", "H100_SXM"}: 8} {
		d := exchanging(1, 8)
		d.Pools[0].System = builtin.System(t, name[1])
		if got := find(t, name[0]).Apply(d).Engine.Memory.LogitBytes; got != want {
			t.Errorf("%v: %g bytes", name, got)
		}
	}
}

// TestPaddedInputs: kernels of vLLM and SGLang fill up the inputs of gpt-oss's experts on Hopper.
func TestPaddedInputs(t *testing.T) {
	for _, c := range []struct {
		engine, chip, model, weights string
		want                         int
	}{
		{"vllm", "H100_SXM", "gpt-oss-120b", "mxfp4", 512}, {"sglang", "H200", "gpt-oss-20b", "mxfp4", 512}, {"trtllm", "H200", "gpt-oss-20b", "mxfp4", 0},
		{"vllm", "B200", "gpt-oss-120b", "mxfp4", 0}, {"vllm", "H100_SXM", "gpt-oss-120b", "bf16", 0}, {"sglang", "H200", "DeepSeek-V4-Pro", "mxfp4", 0},
	} {
		d := exchanging(1, 8)
		named := *d.Model
		named.Name, d.Model, d.Precision.Name = c.model, &named, c.weights
		d.Pools[0].System = builtin.System(t, c.chip)
		if got := find(t, c.engine).Apply(d).Pools[0].Plan.ExpertInputs; got != c.want {
			t.Errorf("%+v: a multiple of %d", c, got)
		}
	}
}

// TestWithoutGraphs: vllm-ascend 0.9.1 runs engine V0, which captures nothing there, takes whole
// prompts first and 256 sequences; later ones capture 512 tokens.
func TestWithoutGraphs(t *testing.T) {
	for version, want := range map[string]int{"vllm@0.9.1": 0, "vllm@0.20": 512} {
		d := exchanging(1, 8)
		d.Pools[0].System = builtin.System(t, "Ascend_910B")
		d = find(t, version).Apply(d)
		p, s := &d.Pools[0].Plan, &d.Engine.Scheduling
		if p.Captured != want*max(1, p.Attention.DP) || p.Launch != 121e-6 || (s.Prefill == "first") != (want == 0) || (s.Sequences == 256 && s.StepTokens == 40960) != (want == 0) {
			t.Errorf("%s: %d tokens are captured, others take %g s; %+v", version, p.Captured, p.Launch, s)
		}
	}
}
