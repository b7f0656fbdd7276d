package engine

import (
	"slices"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/deploy"
	"throughline/estimate"
	"throughline/internal/test/builtin"
	"throughline/plan"
)

// desk is Llama-3.1-70B behind llama.cpp on GeForce cards.
func desk(t *testing.T, formats deploy.Formats, split plan.Split, change func(*deploy.Deployment)) (*Engine, deploy.Deployment) {
	t.Helper()
	m, settings := builtin.Model(t, "Llama-3.1-70B")
	chip := builtin.System(t, "RTX_4090")
	prec, stored, err := formats.Resolve(m, chip)
	if err != nil {
		t.Fatal(err)
	}
	physical := assume.Physical
	d := deploy.Deployment{
		Model: m, Settings: settings, Precision: prec, Stored: stored, Assume: &physical, MaxContext: 8192,
		Pools: []deploy.Pool{{Role: deploy.Both, System: chip, Count: 1, Plan: plan.Plan{Layout: plan.Layout{Attention: split, Pipelined: true}, Batch: plan.Batch{Count: 1, Size: 1}}}},
	}
	if change != nil {
		change(&d)
	}
	e := find(t, "llamacpp")
	return e, e.Apply(d)
}

// TestLlamaLaunch: what llama-server is started with, and that the version has every option, each
// of which some deployment gets.
func TestLlamaLaunch(t *testing.T) {
	q4 := deploy.Formats{Weights: "q4_k_m"}
	seen := map[string]bool{}
	for _, c := range []struct {
		formats deploy.Formats
		split   plan.Split
		change  func(*deploy.Deployment)
		want    string
	}{
		{q4, plan.Split{DP: 1, PP: 2, TP: 1}, nil,
			`llama-server --model "$MODEL" --gpu-layers 81 --ctx-size 16384 --parallel 2 --ubatch-size 512 --flash-attn on --split-mode layer --tensor-split 1,1`},
		{q4, plan.Split{DP: 1, PP: 1, TP: 4}, func(d *deploy.Deployment) { d.Pools[0].Plan.Batch.Size = 4 },
			`llama-server --model "$MODEL" --gpu-layers 81 --ctx-size 32768 --parallel 4 --ubatch-size 512 --flash-attn on --split-mode tensor --tensor-split 1,1,1,1`},
		{deploy.Formats{Weights: "q4_k_m", Cache: "q8_0"}, plan.Split{DP: 1, PP: 1, TP: 1}, func(d *deploy.Deployment) {
			d.Offload = estimate.Offload{Weights: 0.5, Cache: 0.5}
			d.ServerOptions.StepTokens = 4096
		},
			`llama-server --model "$MODEL" --gpu-layers 41 --ctx-size 8192 --parallel 1 --ubatch-size 4096 --batch-size 4096 --flash-attn on --cache-type-k q8_0 --cache-type-v q8_0`},
	} {
		e, d := desk(t, c.formats, c.split, c.change)
		if why := e.Refuses(&d, &d.Pools[0]); len(why) > 0 {
			t.Errorf("refused: %v", why)
		}
		got := strings.ReplaceAll(e.Launch(&d, &d.Pools[0]).Commands[0], " \\\n ", "")
		if got != c.want {
			t.Errorf("started as\n%s, want\n%s", got, c.want)
		}
		for word := range strings.FieldsSeq(got) {
			if seen[word] = true; strings.HasPrefix(word, "--") && !slices.Contains(e.Options.Options, word) {
				t.Errorf("%s has no option %s", e.Options.Version, word)
			}
		}
	}
	for _, a := range llamaArgs {
		if !seen[a.option] && a.option != "--host" && a.option != "--port" { // of scripts
			t.Errorf("%s is never given", a.option)
		}
	}
}

// TestDesk: the kernels, the embedding and the host are the engine's, where it is assumed; what it
// cannot do is refused.
func TestDesk(t *testing.T) {
	q4 := deploy.Formats{Weights: "q4_k_m"}
	e, d := desk(t, q4, plan.Split{DP: 1, PP: 1, TP: 1}, func(d *deploy.Deployment) { d.Offload.Weights = 0.25 })
	k := e.Kernels["RTX_4090"]
	if got := d.Precision.Own; got.Narrow != k.Narrow || got.Memory != k.Memory || got.Launch != k.Launch || !d.Pools[0].Plan.HostEmbedding {
		t.Errorf("kernels %+v, want %+v", got, k)
	}
	if want := e.Scheduling.HostShare * d.Pools[0].System.Memory2.HostGBps; d.Offload.Host != want || want == 0 {
		t.Errorf("the host runs at %g GB/s, want %g", d.Offload.Host, want)
	}
	refused := func(d *deploy.Deployment, want string) {
		t.Helper()
		if why := strings.Join(e.Refuses(d, &d.Pools[0]), "; "); !strings.Contains(why, want) {
			t.Errorf("refused for %q, want %q", why, want)
		}
	}
	_, d = desk(t, q4, plan.Split{DP: 1, PP: 2, TP: 2}, nil)
	refused(&d, "layers or tensors")
	_, d = desk(t, deploy.Formats{Weights: "fp8"}, plan.Split{DP: 1, PP: 1, TP: 1}, nil)
	refused(&d, "nearest there: weights q8_0")
	_, d = desk(t, q4, plan.Split{DP: 1, PP: 2, TP: 1}, func(d *deploy.Deployment) { d.Pools[0].System = builtin.System(t, "M4_Max") })
	refused(&d, "a machine has one M4_Max")
	_, d = desk(t, q4, plan.Split{DP: 1, PP: 1, TP: 1}, func(d *deploy.Deployment) {
		d.Pools[0].System = d.Pools[0].System.Clone()
		d.Pools[0].System.Memory2.HostGBps = 0
		d.Offload.Weights = 0.5
	})
	refused(&d, "mem2.host_GBps")
	if slices.ContainsFunc(All(), func(e *Engine) bool { return e.OnlyNamed }) {
		t.Error("llama.cpp is compared with others though it is not named")
	}
}
