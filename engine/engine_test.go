package engine

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/test/golden"
	"throughline/internal/test/racing"
	"throughline/model"
	"throughline/plan"
)

var (
	deepseek = &model.Model{
		Positions: 163840,
		Name:      "DeepSeek-V3", Hidden: 7168, Layers: 61, FeedForward: 18432, DraftLayers: 1,
		Attention: model.Attention{Kind: model.Latent, Heads: 128, QueryRank: 1536, KVRank: 512, NopeDim: 128, RopeDim: 64, ValueDim: 128},
		Experts:   model.Experts{Routed: 256, TopK: 8, Shared: 1, Width: 2048, Interval: 1},
	}
	llama = &model.Model{
		Positions: 131072,
		Name:      "Llama-3.1-70B", Hidden: 8192, Layers: 80, FeedForward: 28672,
		Attention: model.Attention{Kind: model.GroupQuery, Heads: 64, KVHeads: 8, HeadDim: 128},
	}
	bf16 = plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16"}
	fp8  = plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 1, MatrixType: "float8"}
)

// served is a deployment of one pool, in the few words that these tests need.
type served struct {
	Model          string
	Shape          *model.Model
	Plan           plan.Plan
	Precision      plan.Precision
	Role           deploy.Role
	Instances      int
	GPUsPerNode    int
	MaxContext     int
	MemoryFraction float64
	Published      bool // the checkpoint has these weights
	ServerOptions  deploy.ServerOptions
}

func (s *served) parts() (*deploy.Deployment, *deploy.Pool) {
	d := &deploy.Deployment{
		Name: s.Model, Model: s.Shape, Precision: s.Precision, Assume: &assume.Assumptions{MemoryFraction: s.MemoryFraction, Engine: true},
		GPUsPerNode: s.GPUsPerNode, MaxContext: s.MaxContext, ServerOptions: s.ServerOptions,
		Pools:  []deploy.Pool{{Role: s.Role, Plan: s.Plan, Count: s.Instances}},
		Stored: deploy.Stored{Published: s.Published},
	}
	return d, &d.Pools[0]
}

func find(t *testing.T, name string) *Engine {
	t.Helper()
	e, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// emitted lists the options of a command line.
func emitted(t *testing.T, e *Engine, command string) []string {
	t.Helper()
	_, args, ok := strings.Cut(command, e.Program+" ")
	if !ok {
		t.Fatalf("%q does not run %s", command, e.Program)
	}
	var out []string
	lines := strings.Split(args, "\\\n")
	for _, line := range lines {
		if later, ok := strings.CutPrefix(strings.TrimSpace(line), `$([ "$NODE_RANK" -gt 0 ] && echo `); ok {
			for word := range strings.FieldsSeq(later) {
				if strings.HasPrefix(word, "-") {
					out = append(out, strings.TrimSuffix(word, ")"))
				}
			}
			continue
		}
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(word, "-") {
			out = append(out, word)
		}
	}
	if n := strings.Count(command, "\n"); n != len(lines)-1 {
		t.Errorf("%q: %d line breaks, %d of them escaped", command, n, len(lines)-1)
	}
	return out
}

// keys lists the keys of a YAML file in its simplest form, nested ones behind dots.
func keys(t *testing.T, config string) []string {
	t.Helper()
	var out, open []string
	for line := range strings.Lines(config) {
		line = strings.TrimSuffix(line, "\n")
		name := strings.TrimLeft(line, " ")
		depth := (len(line) - len(name)) / 2
		name, value, ok := strings.Cut(name, ":")
		if !ok || depth > len(open) {
			t.Fatalf("no YAML: %q in\n%s", line, config)
		}
		open = append(open[:depth], name)
		if value != "" {
			out = append(out, strings.Join(open, "."))
		}
	}
	return out
}

// deployments calls f with a broad set of them.
func deployments(f func(*served)) {
	int8, fp4, int4 := fp8, fp8, fp8
	int8.MatrixType = "int8"
	fp4.Weight, fp4.MatrixType, fp4.Cache = 0.5, "float4", 0.5
	int4.Weight, int4.MatrixType = 0.5, "bfloat16"
	for _, shape := range []*model.Model{llama, deepseek} {
		for _, procs := range []int{1, 8, 12, 16} {
			for _, cp := range []int{1, 2} {
				for _, layout := range plan.Splits(procs, cp) {
					experts := []plan.ExpertSplit{{}}
					if shape.IsMoE() {
						experts = plan.ExpertSplits(procs)
					}
					for _, x := range experts {
						for i, precision := range []plan.Precision{bf16, fp8, int8, fp4, int4} {
							for role := deploy.Both; role <= deploy.Decode; role++ {
								for variant := range 4 {
									d := &served{
										Model: "some/model", Shape: shape, Precision: precision, Role: role, Instances: 1 + variant,
										GPUsPerNode: 8, MaxContext: 8192 * (i % 3), MemoryFraction: 0.3 * float64(variant),
										Plan: plan.Plan{Layout: plan.Layout{Attention: layout, Experts: x}, Batch: plan.Batch{Count: layout.PP, Size: 16 * variant}},
									}
									d.Plan.Drafts = variant % 3
									d.ServerOptions.Captured = 8 * (variant % 2)
									d.Plan.SequenceParallel = variant == 3
									d.Plan.TunedExchange = variant == 1
									d.Plan.Overlap = plan.Overlap((variant + i) % int(plan.OverlapCount))
									if shape.IsMoE() && variant > 1 {
										d.Plan.Redundant, d.Plan.SharedReplicas = 32, 32
									}
									f(d)
								}
							}
						}
					}
				}
			}
		}
	}
}

// told is all that servers of an engine can be told of their scheduling.
func told(e *Engine) (out deploy.ServerOptions) {
	for i := range RunOptions {
		if o := &RunOptions[i]; o.Names[e.Name] != "" {
			*o.of(&out) = 20
		}
	}
	for _, o := range AttentionOptions {
		if o.Names[e.Name] != "" {
			*o.of(&out) = map[string]string{"trtllm": "trtllm-gen"}[e.Name]
			if e.Name != "trtllm" {
				*o.of(&out) = "triton"
			}
		}
	}
	return out
}

// Every option and key that is emitted exists in the version that the data names, given once,
// whether the engine takes the deployment or not. Every option of the tables is emitted for some
// deployment that it does take.
func TestOptionsExist(t *testing.T) {
	if racing.Enabled {
		t.Skip("one deployment after another")
	}
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			used, taken := map[string]bool{}, 0
			deployments(func(d *served) {
				if d.Instances%2 == 0 {
					d.ServerOptions = told(e)
				}
				l := e.Launch(d.parts())
				var names []string
				for i, c := range l.Commands {
					names = emitted(t, e, c)
					for _, name := range names {
						if !slices.Contains(e.Options.Options, name) {
							t.Fatalf("%s has no option %s in command %d:\n%s", e.Name, name, i, c)
						}
					}
					if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
						t.Fatalf("an option occurs twice:\n%s", c)
					}
				}
				config := keys(t, l.Config)
				for _, key := range config {
					if !slices.Contains(e.Options.Keys, key) {
						t.Fatalf("%s has no key %s:\n%s", e.Name, key, l.Config)
					}
				}
				if slices.Sort(config); len(slices.Compact(slices.Clone(config))) != len(config) {
					t.Fatalf("a key occurs twice:\n%s", l.Config)
				}
				if len(e.Refuses(d.parts())) == 0 {
					taken++
					u := e.unit(d.parts())
					u.placed = true
					for _, c := range append(l.Commands, e.command(u)) {
						for _, name := range emitted(t, e, c) {
							used[name] = true
						}
					}
					for _, key := range config {
						used[key] = true
					}
				}
			})
			if taken == 0 {
				t.Error("every deployment is refused")
			}
			for _, a := range slices.Concat(e.args, e.later, e.config) {
				if a.option != "" && !used[a.option] {
					t.Errorf("%s is never emitted", a.option)
				}
			}
		})
	}
}

// One command serves every node: a shell makes of it what each of them needs. Only nodes behind the
// first are headless and say where their replicas start.
func TestNodes(t *testing.T) {
	d := &served{
		Model: "m", Shape: deepseek, Precision: fp8, GPUsPerNode: 8,
		Plan: plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 24, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: 24, TP: 1, DP: 1}},
			Batch:  plan.Batch{Count: 1, Size: 3},
		},
	}
	for _, c := range []struct {
		engine, rank string
		has, lacks   []string
	}{
		{"sglang", "0", []string{"--nnodes 3", "--node-rank 0", "--dist-init-addr 10.0.0.1:20000"}, nil},
		{"sglang", "2", []string{"--nnodes 3", "--node-rank 2", "--dist-init-addr 10.0.0.1:20000"}, nil},
		{"vllm", "0", []string{"--data-parallel-size 24", "--data-parallel-size-local 8"}, []string{"--headless", "--data-parallel-start-rank"}},
		{"vllm", "2", []string{"--headless --data-parallel-start-rank 16", "--data-parallel-address 10.0.0.1"}, nil},
	} {
		l := find(t, c.engine).Launch(d.parts())
		if len(l.Commands) != 1 {
			t.Fatalf("%s: %d commands", c.engine, len(l.Commands))
		}
		shell := exec.Command("sh", "-c", "echo "+l.Commands[0])
		shell.Env = []string{"NODE_RANK=" + c.rank, "HEAD_IP=10.0.0.1"}
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, want := range c.has {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s on node %s lacks %s: %s", c.engine, c.rank, want, out)
			}
		}
		for _, not := range c.lacks {
			if strings.Contains(string(out), not) {
				t.Errorf("%s on node %s has %s: %s", c.engine, c.rank, not, out)
			}
		}
	}
}

// The sizes of a server multiply to its processors, and servers to those of the deployment.
func TestSizes(t *testing.T) {
	deployments(func(d *served) {
		u := shape(d.parts())
		if !u.fits {
			return
		}
		if got, want := u.servers*u.procs, d.Instances*d.Plan.Attention.Procs(); got != want {
			t.Fatalf("%s %s: %d servers of %d processors, want %d in all", d.Plan.Attention, d.Plan.Experts, u.servers, u.procs, want)
		}
		if u.moe && u.ep*u.etp != u.ranks {
			t.Fatalf("%s %s: ep %d · tp %d over %d ranks", d.Plan.Attention, d.Plan.Experts, u.ep, u.etp, u.ranks)
		}
	})
}

// value is what a command gives an option.
func value(command, option string) string {
	_, rest, _ := strings.Cut(command+"\n", "  "+option+" ")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSuffix(line, " \\")
}

// Engines count sequences and ranks in their own ways: here 4 replicas of tp 2 with 3·2 sequences
// each.
func TestMeaningOfLimits(t *testing.T) {
	d := &served{
		Model: "m", Shape: deepseek, Precision: fp8, GPUsPerNode: 8,
		Plan: plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 4, PP: 1, TP: 2}, Experts: plan.ExpertSplit{EP: 8, TP: 1, DP: 1}},
			Batch:  plan.Batch{Count: 1, Size: 3},
		},
	}
	sgl, vl := find(t, "sglang").Launch(d.parts()).Commands[0], find(t, "vllm").Launch(d.parts()).Commands[0]
	d.Plan.Attention = plan.Split{DP: 8, PP: 1, TP: 1}
	trt := find(t, "trtllm").Launch(d.parts()).Commands[0]
	for _, c := range []struct{ command, option, want string }{
		{sgl, "--tp-size", "8"}, {sgl, "--dp-size", "4"}, {sgl, "--ep-size", "8"}, {sgl, "--max-running-requests", "24"},
		{vl, "--tensor-parallel-size", "2"}, {vl, "--data-parallel-size", "4"}, {vl, "--max-num-seqs", "6"},
		{trt, "--tp_size", "8"}, {trt, "--ep_size", "8"}, {trt, "--max_batch_size", "3"},
	} {
		if got := value(c.command, c.option); got != c.want {
			t.Errorf("%s is %q, want %s in\n%s", c.option, got, c.want, c.command)
		}
	}
}

func TestGoldens(t *testing.T) {
	prefill := &served{
		Model: "deepseek-ai/DeepSeek-V3", Shape: deepseek, Precision: fp8, Role: deploy.Prefill, Instances: 1, GPUsPerNode: 8, MaxContext: 8192, MemoryFraction: 0.85, Published: true,
		Plan: plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 16, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: 16, TP: 1, DP: 1}},
			Batch:  plan.Batch{Count: 1, Size: 2},
		},
	}
	decode := *prefill
	decode.Role, decode.Plan.Redundant, decode.Plan.Drafts, decode.Plan.Batch.Size = deploy.Decode, 32, 1, 128
	cases := map[string]*served{
		"deepseek_v3_prefill_16": prefill,
		"deepseek_v3_decode_16":  &decode,
		"llama_70b_8": {
			Model: "meta-llama/Llama-3.1-70B-Instruct", Shape: llama, Precision: fp8, GPUsPerNode: 8, MaxContext: 16384, MemoryFraction: 0.9,
			Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: 1, TP: 4}}, Batch: plan.Batch{Count: 1, Size: 64}},
		},
		"llama_70b_pp2": {
			Model: "/models/Llama 3.1 70B", Shape: llama, Precision: bf16, Instances: 2, GPUsPerNode: 4, MaxContext: 32768,
			Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 4}}, Batch: plan.Batch{Count: 2, Size: 32}},
		},
	}
	for name, d := range cases {
		for _, e := range engines {
			l := e.Launch(d.parts())
			var b strings.Builder
			for _, c := range l.Commands {
				fmt.Fprintf(&b, "%s\n\n", c)
			}
			if l.Config != "" {
				fmt.Fprintf(&b, "# configuration\n%s\n", l.Config)
			}
			for _, r := range l.Remarks {
				fmt.Fprintf(&b, "- %s\n", r)
			}
			golden.File(t, filepath.Join("testdata", name+"."+e.Name+".txt"), []byte(b.String()))
		}
	}
}

func TestRefuses(t *testing.T) {
	moe := func(attention plan.Split, experts plan.ExpertSplit) *served {
		return &served{Shape: deepseek, Precision: fp8, Plan: plan.Plan{Layout: plan.Layout{Attention: attention, Experts: experts}}}
	}
	dense := func(l plan.Split) *served {
		return &served{Shape: llama, Precision: fp8, Plan: plan.Plan{Layout: plan.Layout{Attention: l}}}
	}
	with := func(d *served, change func(*served)) *served { change(d); return d }
	wide := func() *served {
		return moe(plan.Split{DP: 8, PP: 1, TP: 1}, plan.ExpertSplit{EP: 8, TP: 1, DP: 1})
	}
	drafted := func(d *served) { d.Plan.Drafts = 1 }
	states := func(groups int) func(*served) {
		return func(d *served) {
			shape := *d.Shape
			shape.Mixed = []model.MixedAttention{{Attention: model.Attention{Kind: model.Mamba, Heads: 64, KVHeads: groups, HeadDim: 128, ValueDim: 64}, Layers: 2}}
			d.Shape = &shape
		}
	}
	for _, c := range []struct {
		name   string
		d      *served
		sglang string // part of the reason; empty if it runs
		vllm   string
		trtllm string
	}{
		{"wide ep", wide(), "", "", ""},
		{"ep and moe_tp", moe(plan.Split{DP: 8, PP: 1, TP: 1}, plan.ExpertSplit{EP: 4, TP: 2, DP: 1}), "", "not by both", ""},
		{"moe_tp only", moe(plan.Split{DP: 1, PP: 1, TP: 8}, plan.ExpertSplit{EP: 1, TP: 8, DP: 1}), "", "", ""},
		{"replicas of tp 2", moe(plan.Split{DP: 4, PP: 1, TP: 2}, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}), "", "", "not of tp 2"},
		{"two copies of the experts", moe(plan.Split{DP: 8, PP: 1, TP: 1}, plan.ExpertSplit{EP: 4, TP: 1, DP: 2}), "", "", ""},
		{"a replica over two copies of the experts", moe(plan.Split{DP: 1, PP: 1, TP: 8}, plan.ExpertSplit{EP: 4, TP: 1, DP: 2}), "whole attention replicas", "whole attention replicas", "whole attention replicas"},
		{"experts over all stages", moe(plan.Split{DP: 4, PP: 2, TP: 1}, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}), "pipeline stage", "pipeline stage", "pipeline stage"},
		{"experts in each stage", moe(plan.Split{DP: 4, PP: 2, TP: 1}, plan.ExpertSplit{EP: 4, TP: 1, DP: 2}), "", "", ""},
		{"experts that only shared ones even out", with(moe(plan.Split{DP: 6, PP: 1, TP: 1}, plan.ExpertSplit{EP: 6, TP: 1, DP: 1}), func(d *served) { d.Plan.SharedReplicas = 2 }), "ep 6", "ep 6", "ep 6"},
		{"drafts", with(wide(), drafted), "", "", ""},
		{"drafts of a dense model", with(dense(plan.Split{DP: 1, PP: 1, TP: 8}), drafted), "multi-token", "multi-token", "multi-token"},
		{"drafts in a pipeline", with(moe(plan.Split{DP: 4, PP: 2, TP: 1}, plan.ExpertSplit{EP: 4, TP: 1, DP: 2}), drafted), "in a pipeline", "", "in a pipeline"},
		{"prefill over nine nodes", with(moe(plan.Split{DP: 72, PP: 1, TP: 1}, plan.ExpertSplit{EP: 72, TP: 1, DP: 1}), func(d *served) { d.Role, d.Plan.Redundant = deploy.Prefill, 32 }), "not among 72", "not among 72", ""},
		{"decode over nine nodes", with(moe(plan.Split{DP: 72, PP: 1, TP: 1}, plan.ExpertSplit{EP: 72, TP: 1, DP: 1}), func(d *served) { d.Role, d.Plan.Redundant = deploy.Decode, 32 }), "", "", ""},
		{"a pipeline that prefills", with(moe(plan.Split{DP: 8, PP: 2, TP: 1}, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}), func(d *served) { d.Role = deploy.Prefill }), "", "cache of a pipeline", ""},
		{"redundant experts in a pipeline", with(moe(plan.Split{DP: 8, PP: 2, TP: 1}, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}), func(d *served) { d.Plan.Redundant = 8 }), "redundant experts in a pipeline", "side by side", ""},
		{"experts of a stage in one node", moe(plan.Split{DP: 4, PP: 2, TP: 1}, plan.ExpertSplit{EP: 4, TP: 1, DP: 1}), "", "", ""},
		{"sequence parallel", with(dense(plan.Split{DP: 1, PP: 1, TP: 8}), func(d *served) { d.Plan.SequenceParallel = true }), "latent attention alone", "", "sequence parallel"},
		{"latents over ranks", with(moe(plan.Split{DP: 1, PP: 1, TP: 8}, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}), func(d *served) { d.Plan.SequenceParallel = true }), "", "less than 8192 wide", "sequence parallel"},
		{"sequence parallel without tp", with(dense(plan.Split{DP: 1, PP: 1, TP: 1}), func(d *served) { d.Plan.SequenceParallel = true }), "", "", ""},
		{"int8", with(dense(plan.Split{DP: 1, PP: 1, TP: 8}), func(d *served) { d.Precision.MatrixType = "int8" }), "", "", "INT8"},
		{"fp4 cache", with(dense(plan.Split{DP: 1, PP: 1, TP: 8}), func(d *served) { d.Precision.Cache = 0.5 }), "", "FP4 KV cache", "FP4 KV cache"},
		{"float32", with(dense(plan.Split{DP: 1, PP: 1, TP: 8}), func(d *served) { d.Precision.Weight = 4 }), "4 bytes", "4 bytes", "4 bytes"},
		{"a part of a node", dense(plan.Split{DP: 1, PP: 3, TP: 4}), "do not fill nodes", "do not fill nodes", "do not fill nodes"},
		{"half a group of states", with(dense(plan.Split{DP: 1, PP: 1, TP: 8}), states(4)), "the 4 groups", "the 4 groups", ""},
		{"whole groups of states", with(dense(plan.Split{DP: 1, PP: 1, TP: 8}), states(8)), "", "", ""},
		{"one group of states", with(dense(plan.Split{DP: 1, PP: 1, TP: 8}), states(1)), "", "", ""},
		{"context of a dense model", with(dense(plan.Split{DP: 1, PP: 1, TP: 4, CP: 2}), func(d *served) { d.Role = deploy.Decode }), "context parallel", "key/value heads", "latent"},
		{"context in decode", with(moe(plan.Split{DP: 1, PP: 1, TP: 4, CP: 2}, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}), func(d *served) { d.Role = deploy.Decode }), "context parallel", "", ""},
		{"context in both phases", moe(plan.Split{DP: 1, PP: 1, TP: 4, CP: 2}, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}), "context parallel", "servers of one phase", "only in decode"},
	} {
		for name, want := range map[string]string{"sglang": c.sglang, "vllm": c.vllm, "trtllm": c.trtllm} {
			got := strings.Join(find(t, name).Refuses(c.d.parts()), "; ")
			if runs := find(t, name).Runs(c.d.parts()); runs != (got == "") {
				t.Errorf("%s: runs %v, but refuses %q", name, runs, got)
			}
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%s, %s: %q, want %q", c.name, name, got, want)
			}
		}
	}
}

func TestRefusesCheaply(t *testing.T) {
	d := &served{
		Shape: deepseek, Precision: fp8,
		Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 8, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: 8, TP: 1, DP: 1}}},
	}
	deployment, pool := d.parts()
	for _, e := range All() {
		if n := testing.AllocsPerRun(10, func() { e.Refuses(deployment, pool) }); n > 0 {
			t.Errorf("%s: %g allocations", e.Name, n)
		}
	}
}

func BenchmarkRefuses(b *testing.B) {
	d := &served{
		Shape: deepseek, Precision: fp8,
		Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 8, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: 8, TP: 1, DP: 1}}},
	}
	e := engines[0]
	for b.Loop() {
		e.Refuses(d.parts())
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{"sglang": "sglang", "tensorrt-llm": "trtllm", "trt-llm": "trtllm", "vllm": "vllm", "SGLang": "sglang", "TensorRT-LLM": "trtllm", "None": "none"} {
		if got := find(t, name).Name; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"vlm": `did you mean "vllm"?`, "ollama": "there are sglang, vllm, trtllm"} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// A pipelined plan has a batch in every stage: the launch is that of as many micro-batches.
func TestPipelinedLaunch(t *testing.T) {
	micro := &served{
		Model: "m", Shape: &model.Model{Layers: 8, Attention: model.Attention{Kind: model.GroupQuery, Heads: 8, KVHeads: 8, HeadDim: 8}},
		Precision: plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "float16", AttentionType: "float16", VectorType: "float16"},
		Instances: 1, GPUsPerNode: 8, MaxContext: 4096,
		Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 4}}, Batch: plan.Batch{Count: 2, Size: 32}},
	}
	pipelined := *micro
	pipelined.Plan.Batch.Count, pipelined.Plan.Pipelined = 1, true
	for _, e := range engines {
		if a, b := fmt.Sprint(e.Launch(micro.parts())), fmt.Sprint(e.Launch(pipelined.parts())); a != b {
			t.Errorf("two micro-batches\n%s\npipelined\n%s", a, b)
		}
	}
}

// TestPairs: SGLang hands caches over from stage to stage, or from all stages to one.
func TestPairs(t *testing.T) {
	stages := func(n int) *plan.Plan {
		return &plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: n, TP: 8}}}
	}
	for _, c := range []struct {
		prefill, decode int
		sglang          bool
	}{{1, 1, true}, {4, 1, true}, {4, 4, true}, {4, 2, false}, {1, 2, false}} {
		for _, e := range engines {
			want := c.sglang || e.Name != "sglang"
			if got := e.Pairs(stages(c.prefill), stages(c.decode)); got != want {
				t.Errorf("%s: %d stages hand over to %d: %v", e.Name, c.prefill, c.decode, got)
			}
		}
	}
}

// TestMakers: TensorRT-LLM runs on chips of NVIDIA, and on those whose maker nobody said.
func TestMakers(t *testing.T) {
	for _, c := range []struct {
		engine, maker string
		refused       bool
	}{{"trtllm", "AMD", true}, {"trtllm", "NVIDIA", false}, {"trtllm", "", false}, {"sglang", "AMD", false}, {"vllm", "Google", false}} {
		d, p := (&served{Model: "llama", Shape: llama, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 8}}}, Precision: bf16, Instances: 1}).parts()
		p.System = &hardware.System{Name: "chip", Maker: c.maker}
		if why := find(t, c.engine).Refuses(d, p); (len(why) > 0) != c.refused {
			t.Errorf("%s on a chip of %q: %v", c.engine, c.maker, why)
		}
	}
}

// TestPadded: graphs of vLLM have 1, 2, 4, multiples of 8 up to 256 and of 16 up to 512 tokens
// (vllm/config/vllm.py, _set_cudagraph_sizes); longer steps run as they are, and so do those of
// engines that capture by sequences.
func TestPadded(t *testing.T) {
	vllm, err := Find("vllm")
	if err != nil {
		t.Fatal(err)
	}
	for tokens, want := range map[int]int{1: 1, 2: 2, 3: 4, 5: 8, 9: 16, 17: 24, 256: 256, 257: 272, 433: 448, 512: 512, 513: 513} {
		if got := vllm.Scheduling.Padded(tokens); got != want {
			t.Errorf("%d tokens run as %d, want %d", tokens, got, want)
		}
	}
	if other, _ := Find("sglang"); other.Scheduling.Padded(9) != 9 {
		t.Error("SGLang's steps are padded")
	}
}
