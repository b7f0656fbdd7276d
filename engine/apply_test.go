package engine

import (
	"math"
	"slices"
	"testing"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/model"
	"throughline/plan"
)

// exchanging is DeepSeek-V3 on as many replicas of attention as it has expert ranks, on chips whose
// innermost network has a size.
func exchanging(ranks, domain int) deploy.Deployment {
	s := &served{Shape: deepseek, Precision: fp8, Instances: 1, GPUsPerNode: 8, Plan: plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: ranks, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: ranks, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
	}}
	d, pool := s.parts()
	pool.System = &hardware.System{Networks: []hardware.Network{{Size: domain}}}
	d.Pools = []deploy.Pool{*pool}
	return *d
}

// TestGathers: TensorRT-LLM sends tokens to their experts only where NVLink reaches beyond a node;
// SGLang sends them anywhere.
func TestGathers(t *testing.T) {
	for _, c := range []struct {
		engine        string
		ranks, domain int
		want          bool
	}{
		{"trtllm", 8, 72, false}, {"trtllm", 16, 72, false}, {"trtllm", 16, 8, true}, {"sglang", 8, 8, false}, {"sglang", 16, 72, false},
	} {
		if d := find(t, c.engine).Apply(exchanging(c.ranks, c.domain)); d.Pools[0].Plan.Gathered != c.want {
			t.Errorf("%s on %d ranks, NVLink over %d: gathers is %v", c.engine, c.ranks, c.domain, !c.want)
		}
	}
}

// TestOlderExchange: DeepEP's tables of before and after its kernels for throughput sent over
// several queues, in GB/s, and those for low latency over NVLink, in µs, of which combine over 8
// nodes was as long in a run; on a straight line between the nodes of the tables. Within a node,
// and where tokens are gathered, nothing differs.
func TestOlderExchange(t *testing.T) {
	for _, c := range []struct {
		engine          string
		ranks, domain   int
		prefill, decode plan.Slowdown
	}{
		{"sglang@0.4.6", 16, 8, plan.Slowdown{Dispatch: 43. / 43, Combine: 43. / 43}, plan.Slowdown{Dispatch: 173. / 118, Combine: 329. / 195}},
		{"sglang@0.4.6", 32, 8, plan.Slowdown{Dispatch: 58. / 44, Combine: 57. / 47}, plan.Slowdown{Dispatch: 182. / 155, Combine: 350. / 273}},
		{"sglang@0.4.6", 64, 8, plan.Slowdown{Dispatch: 51. / 46, Combine: 50. / 45}, plan.Slowdown{Dispatch: 186. / 173, Combine: 1}},
		{"sglang@0.4.6", 72, 8, plan.Slowdown{Dispatch: 51. / 46, Combine: 50. / 45}, plan.Slowdown{Dispatch: (7*186./173 + 1) / 8, Combine: 1}},
		{"sglang@0.4.6", 256, 8, plan.Slowdown{Dispatch: 51. / 46, Combine: 50. / 45}, plan.Slowdown{Dispatch: 192. / 192, Combine: 369. / 369}},
		{engine: "sglang@0.4.6", ranks: 8, domain: 8}, {engine: "sglang@0.4.6", ranks: 32, domain: 72}, {engine: "sglang@0.4", ranks: 32, domain: 8},
		{engine: "sglang", ranks: 32, domain: 8},
	} {
		q := find(t, c.engine).Apply(exchanging(c.ranks, c.domain)).Pools[0].Plan
		for _, x := range [][2]plan.Slowdown{{q.SlowPrefill, c.prefill}, {q.SlowDecode, c.decode}} {
			if got, want := x[0], x[1]; math.Abs(got.Dispatch-want.Dispatch) > 5e-4 || math.Abs(got.Combine-want.Combine) > 5e-4 {
				t.Errorf("%s on %d ranks, NVLink over %d: %+v times as long, want %+v", c.engine, c.ranks, c.domain, got, want)
			}
		}
	}
	d := exchanging(32, 8)
	d.ServerOptions.Exchange = "none"
	if q := find(t, "sglang@0.4.6").Apply(d).Pools[0].Plan; q.SlowPrefill != (plan.Slowdown{}) || q.SlowDecode != (plan.Slowdown{}) || q.CopyKernels != 8 {
		t.Errorf("gathered: %+v and %+v times as long; %d kernels choose copies", q.SlowPrefill, q.SlowDecode, q.CopyKernels)
	}
}

// TestIndexed: which small kernels the indexer of sparse attention has follows from the engine, its
// version and the maker of the chip.
func TestIndexed(t *testing.T) {
	for _, c := range []struct {
		engine, maker string
		kernels       int
		fused, skips  bool
	}{
		{"sglang", "", 5, true, true}, {"sglang", "NVIDIA", 5, true, true}, {"sglang", "AMD", 5, false, true},
		{"sglang@0.5.14", "", 4, false, true}, {"sglang@0.5.10", "", 9, false, true}, {"vllm", "", 0, false, false}, {"trtllm", "", 0, false, false},
	} {
		d := exchanging(8, 8)
		sys := *d.Pools[0].System
		sys.Maker, d.Pools[0].System = c.maker, &sys
		q := find(t, c.engine).Apply(d).Pools[0].Plan
		if q.IndexKernels != c.kernels || q.IndexFused != c.fused || q.SkipsIndex != c.skips {
			t.Errorf("%s on a chip of %q: %d kernels, fused %v, skipped %v", c.engine, c.maker, q.IndexKernels, q.IndexFused, q.SkipsIndex)
		}
	}
}

// TestToldExchange: servers that are told an exchange send tokens by it, and gather them where that
// is none, whatever their engine does by itself; those that prefill alone may be told another.
func TestToldExchange(t *testing.T) {
	for _, c := range []struct {
		engine, exchange, prefill string
		role                      deploy.Role
		want                      bool
	}{
		{"sglang", "", "", deploy.Decode, false}, {"sglang", "none", "", deploy.Decode, true}, {"sglang", "none", "", deploy.Prefill, true},
		{"sglang", "deepep", "none", deploy.Decode, false}, {"sglang", "deepep", "none", deploy.Prefill, true}, {"sglang", "", "none", deploy.Both, false},
		{"trtllm", "", "", deploy.Decode, true}, {"trtllm", "deepep", "", deploy.Decode, false},
	} {
		d := exchanging(16, 8)
		d.ServerOptions.Exchange, d.ServerOptions.PrefillExchange, d.Pools[0].Role = c.exchange, c.prefill, c.role
		if got := find(t, c.engine).Apply(d).Pools[0].Plan.Gathered; got != c.want {
			t.Errorf("%+v: gathers is %v", c, got)
		}
	}
}

// TestChat: vLLM 0.11.0 parses the template of every chat for 11 ms, releases before and behind it
// do not, nor for gpt-oss; those up to 0.9.1 did for 7.
func TestChat(t *testing.T) {
	for _, c := range []struct {
		version, model string
		want           float64
	}{{"0.11.0", "Qwen3-32B", 11e-3}, {"0.11.0", "gpt-oss-120b", 0}, {"0.11.1", "Qwen3-32B", 0}, {"0.10.2", "Qwen3-32B", 0}, {"0.9.2", "Qwen3-32B", 0}, {"0.9.1", "Qwen3-32B", 7e-3}, {"0.8.5", "Qwen3-32B", 7e-3}, {"0.26", "Qwen3-32B", 0}} {
		e, err := find(t, "vllm").At(c.version)
		if err != nil {
			t.Fatal(err)
		}
		d := exchanging(16, 8)
		named := *d.Model
		named.Name, d.Model = c.model, &named
		if got := e.Apply(d).Engine.TogetherSeconds; got != 0 {
			t.Errorf("%+v: completions wait %g s", c, got)
		}
		d.ServerOptions.Chat = true
		if got := e.Apply(d).Engine.TogetherSeconds; got != c.want {
			t.Errorf("%+v: %g s", c, got)
		}
	}
}

// TestWarmed: a server that has had a load of the kind has no first wave.
func TestWarmed(t *testing.T) {
	d := exchanging(1, 8)
	e := find(t, "sglang")
	if cold := e.Apply(d).Engine.WaveSeconds; cold <= 0 {
		t.Errorf("a cold server: %g s", cold)
	}
	d.ServerOptions.Warmed = true
	if warm := e.Apply(d).Engine.WaveSeconds; warm != 0 {
		t.Errorf("a warmed server: %g s", warm)
	}
}

// TestUnprepared: a step that SGLang's host does not prepare takes as much longer as 512 tokens
// took, 2.3 of them in a step.
func TestUnprepared(t *testing.T) {
	e := find(t, "sglang")
	d := exchanging(16, 8)
	prepared := e.Apply(d)
	d.ServerOptions.Unprepared = true
	unprepared := e.Apply(d)
	longer := unprepared.Engine.Drafting(2).Host(1) - prepared.Engine.Drafting(2).Host(1)
	if want := (3.644 - 3.206) / (512 / 2.3); math.Abs(longer/want-1) > 0.03 {
		t.Errorf("%g s longer, want %g", longer, want)
	}
	if unprepared.Engine.Drafting(0).Host(1) != prepared.Engine.Drafting(0).Host(1) {
		t.Error("steps without drafts differ")
	}
}

// TestDraftSeconds: the host has every drafted token of a sequence to look at; that of SGLang 0.4
// waits besides.
func TestDraftSeconds(t *testing.T) {
	was := find(t, "sglang@0.4")
	for _, e := range append(slices.Clone(engines), was) {
		d := e.Apply(exchanging(16, 8))
		got := d.Engine.Drafting(2).Host(5) - d.Engine.Drafting(0).Host(5)
		waits, tokens := e.Scheduling.DraftSeconds, 2*5*e.Scheduling.SequenceSeconds
		if want := waits + tokens; got < want-1e-12 || got > want+1e-12 || (waits > 0) != (e == was) {
			t.Errorf("%s: drafts add %g s", e.Name, got)
		}
	}
}

// TestReadsNarrow: only TensorRT-LLM has kernels of its own for narrow caches, and leaves products
// of 8 bits to cuBLAS.
func TestReadsNarrow(t *testing.T) {
	for _, e := range engines {
		if d := e.Apply(exchanging(8, 8)); d.Precision.ReadsNarrow != (e.Name == "trtllm") || d.Precision.Library != (e.Name == "trtllm") {
			t.Errorf("%s: %v, %v", e.Name, d.Precision.ReadsNarrow, d.Precision.Library)
		}
	}
}

// TestToldProducts: the kernels of products that a server is told to take are those of its engine
// alone, and those of the tables where it chooses itself. The rate is that of 2048 × 24576 × 7168
// in 1632.5 µs. Those that are not tuned for a product take the 110 µs longer that tuning gained in
// each of 61 layers (28.76 ms in place of 22.05), beyond the 15 to 25 µs that it takes else.
func TestToldProducts(t *testing.T) {
	if p := find(t, "sglang").Products["aiter_triton"]; p.N != 2112 || p.K != 7168 || math.Abs(p.Seconds-(28.76e-3-22.05e-3)/61-20e-6) > 5e-6 {
		t.Errorf("%+v", p)
	}
	for _, e := range engines {
		for told, want := range map[string]float64{"": 0, "deep_gemm": 0, "flashinfer_trtllm": 2 * 2048 * 24576 * 7168 / 1632.5e-6 / 1e12} {
			d := exchanging(8, 8)
			d.ServerOptions.Products = told
			if e.Name != "sglang" {
				want = 0
			}
			if got := e.Apply(d).Precision.BlockKernels; math.Abs(got.TFlops-want) > 0.5 || got.Seconds != 0 {
				t.Errorf("%s, %q: %+v, want %g TFLOP/s", e.Name, told, got, want)
			}
		}
	}
}

// TestCacheOfBlocks: TensorRT-LLM keeps an FP8 cache beside weights with one scale; beside weights
// with scales of blocks only on chips with FP4.
func TestCacheOfBlocks(t *testing.T) {
	for _, c := range []struct {
		weight float64
		fp4    bool
		want   float64
	}{{1, false, 1}, {1 + 4./(128*128), false, 2}, {1 + 4./(128*128), true, 1}, {0.5625, true, 1}, {2, true, 2}} {
		d := exchanging(8, 8)
		d.Precision.Weight, d.Precision.Cache = c.weight, 0
		d.Pools[0].System.Matrix = map[string]hardware.MatrixEngine{}
		if c.fp4 {
			d.Pools[0].System.Matrix["float4"] = hardware.MatrixEngine{}
		}
		if got := find(t, "trtllm").Apply(d).Precision.Cache; got != c.want {
			t.Errorf("weights of %g bytes, FP4 %v: a cache of %g", c.weight, c.fp4, got)
		}
	}
	// Narrower experts beside weights in blocks come with no scale of the cache either.
	d := exchanging(8, 8)
	d.Precision.Weight, d.Precision.Cache = 1+4./(128*128), 0
	d.Precision.Modules[model.ExpertModule] = plan.Product{Weight: 0.5 + 2./128, Activation: 1, Type: "float8"}
	if got := find(t, "trtllm").Apply(d).Precision.Cache; got != 2 {
		t.Errorf("experts of four bits beside blocks of eight: a cache of %g", got)
	}
}

// TestCaptured: SGLang 0.4 captures 160 tokens of all ranks where it gathers them, 256 on chips of
// more than 96 GiB, and launches the operators of longer steps; where it sends them, and in other
// versions, all steps are captured. vLLM captures 512 tokens of each rank.
func TestCaptured(t *testing.T) {
	split := exchanging(16, 8)
	split.Pools[0].Plan.Experts = plan.ExpertSplit{EP: 1, TP: 16, DP: 1}
	large := exchanging(16, 8)
	large.Pools[0].Plan.Experts, large.Pools[0].System.Memory.GiB = split.Pools[0].Plan.Experts, 140.4
	for _, c := range []struct {
		engine string
		d      deploy.Deployment
		tokens int
	}{{"sglang@0.4", split, 160}, {"sglang@0.4", large, 256}, {"sglang", large, 0}, {"sglang@0.4", exchanging(16, 8), 0}, {"sglang", split, 0}, {"vllm", split, 512 * 16}, {"trtllm", split, 0}} {
		p := find(t, c.engine).Apply(c.d).Pools[0].Plan
		if p.Captured != c.tokens || (p.Launch > 0) != (c.tokens > 0) {
			t.Errorf("%s, %v: %d tokens are captured, %g s to launch", c.engine, p.Experts, p.Captured, p.Launch)
		}
	}
	// Told 32 of each rank, SGLang means sequences, of three tokens with two drafts; vLLM means
	// tokens.
	split.ServerOptions.Captured, split.Pools[0].Plan.Drafts = 32, 2
	dp := split.Pools[0].Plan.Attention.DP
	for name, tokens := range map[string]int{"sglang": 96 * dp, "vllm": 32 * dp} {
		if p := find(t, name).Apply(split).Pools[0].Plan; p.Captured != tokens || p.Launch == 0 {
			t.Errorf("%s: %d tokens are captured, want %d; %g s to launch", name, p.Captured, tokens, p.Launch)
		}
	}
}

// TestCapturedPrompts: steps with prompts are captured up to 512 tokens of a rank by vLLM, or as
// many as it is told for all steps; by SGLang up to those of a step, with latent attention 2048,
// whatever it is told of its decode steps, and up to 0.5.14, on AMD and with hyper-connections not
// at all. Told of steps with prompts, both do so.
func TestCapturedPrompts(t *testing.T) {
	d := exchanging(1, 8)
	told := func(all, prompts int) deploy.Deployment {
		d.ServerOptions.Captured, d.ServerOptions.CapturedPrompts = all, prompts
		return d
	}
	of := func(a model.Attention, streams int, maker string) deploy.Deployment {
		d, m, sys := told(0, 0), *d.Model, *d.Pools[0].System
		m.Attention, m.Streams, sys.Maker = a, streams, maker
		d.Model, d.Pools = &m, slices.Clone(d.Pools)
		d.Pools[0].System = &sys
		return d
	}
	for _, c := range []struct {
		engine string
		d      deploy.Deployment
		want   int
	}{
		{"vllm", told(0, 0), 512}, {"vllm", told(2048, 0), 2048}, {"vllm", told(2048, 1), 1},
		{"sglang", told(0, 0), 2048}, {"sglang", told(256, 0), 2048}, {"sglang", told(256, 4096), 4096},
		{"sglang", of(model.Attention{}, 1, "NVIDIA"), 16384}, {"sglang", of(model.Attention{}, 4, "NVIDIA"), 0},
		{"sglang", of(model.Attention{}, 1, "AMD"), 0}, {"sglang@0.5.14", told(0, 0), 0}, {"sglang@0.4", told(0, 0), 0},
	} {
		p := find(t, c.engine).Apply(c.d).Pools[0].Plan
		if want := c.want * p.Attention.DP; p.CapturedPrompts != want || p.PromptLaunch == 0 {
			t.Errorf("%s told %+v: prompts of %d tokens are captured, want %d; %g s to launch", c.engine, c.d.ServerOptions, p.CapturedPrompts, want, p.PromptLaunch)
		}
	}
	if p := find(t, "none").Apply(told(0, 0)).Pools[0].Plan; p.PromptLaunch != 0 {
		t.Errorf("without an engine the host takes %g s to launch an operator", p.PromptLaunch)
	}
}

// TestPorts: vLLM on Ascend captures the largest of 1, 2, 4, 8, 16, ... sequences, with their
// drafts, that a replica may have, up to 512; version 0.20 in pieces. On other chips it captures
// 512 tokens, whatever it may have.
func TestPorts(t *testing.T) {
	on := func(maker string, dp, drafts int) deploy.Deployment {
		d := exchanging(dp, 768)
		d.Pools[0].System.Maker, d.Pools[0].Plan.Drafts = maker, drafts
		return d
	}
	for _, c := range []struct {
		engine, maker         string
		dp, drafts, sequences int
		captured              int
		pieces                bool
	}{
		{"vllm", "Huawei", 1, 0, 12, 8, false}, {"vllm@0.20", "Huawei", 1, 0, 12, 8, true}, {"vllm", "Huawei", 4, 0, 12, 32, false},
		{"vllm", "Huawei", 1, 3, 12, 48, false}, {"vllm", "Huawei", 1, 0, 7, 4, false}, {"vllm", "Huawei", 1, 0, 3, 2, false},
		{"vllm", "Huawei", 1, 0, 1, 1, false}, {"vllm", "Huawei", 1, 0, 270, 256, false}, {"vllm", "Huawei", 1, 0, 0, 512, false},
		{"vllm", "Huawei", 1, 0, 2000, 512, false}, {"vllm", "Huawei", 1, 2, 1, 3, false}, {"vllm", "Huawei", 1, 2, 12, 33, false},
		{"vllm", "Huawei", 1, 2, 400, 510, false}, {"vllm@0.20", "AMD", 1, 0, 12, 512, false}, {"sglang", "Huawei", 1, 0, 12, 0, false},
	} {
		e := find(t, c.engine)
		before := on(c.maker, c.dp, c.drafts)
		before.ServerOptions.Sequences = c.sequences
		d := e.Apply(before)
		p := d.Pools[0].Plan
		if p.Captured != c.captured || (p.Launch > 0) != (c.captured > 0) || (p.PieceSeconds > 0) != c.pieces {
			t.Errorf("%+v: %d tokens are captured, %g s to launch, %g s for a piece", c, p.Captured, p.Launch, p.PieceSeconds)
		}
		if c.sequences > 0 && d.Engine.Sequences != c.sequences {
			t.Errorf("%+v: %d sequences", c, d.Engine.Sequences)
		}
	}
}

// TestPortSequences: a server on Ascend may run as many sequences more than its batch as it takes
// to have a graph of that; elsewhere and beyond the largest graph it is told its batch.
func TestPortSequences(t *testing.T) {
	for _, c := range []struct {
		maker               string
		batch, drafts, want int
	}{
		{"Huawei", 12, 0, 16}, {"Huawei", 3, 0, 4}, {"Huawei", 1, 0, 1}, {"Huawei", 16, 0, 16}, {"Huawei", 12, 2, 14}, {"Huawei", 600, 0, 600}, {"NVIDIA", 12, 0, 12},
	} {
		e, d := find(t, "vllm"), exchanging(1, 768)
		d.Pools[0].System.Maker, d.Pools[0].Plan.Drafts, d.Pools[0].Plan.Batch = c.maker, c.drafts, plan.Batch{Count: 1, Size: c.batch}
		d = e.Apply(d)
		if got := vllmSequences(shape(&d, &d.Pools[0])); got != c.want {
			t.Errorf("%+v: %d sequences", c, got)
		}
	}
}

// TestStaged: which all-reduces of vLLM go through a buffer follows from the generation of the chip
// and the ranks; models with hyper-connections are not compiled, and nothing is fused with theirs.
// SGLang has no such buffer, and vLLM 0.9 had none.
func TestStaged(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		engine, generation string
		tp, streams        int
		want               plan.Range
	}{
		{"vllm", "Blackwell", 8, 0, plan.Range{From: mib, To: 128 * mib}}, {"vllm", "Hopper", 8, 0, plan.Range{}},
		{"vllm", "Blackwell", 4, 0, plan.Range{}}, {"vllm", "Blackwell", 4, 4, plan.Range{From: 2 * mib, To: 32 * mib}},
		{"vllm", "CDNA 3", 8, 0, plan.Range{}}, {"vllm@0.9", "Blackwell", 8, 0, plan.Range{}}, {"sglang", "Blackwell", 8, 0, plan.Range{}},
	} {
		d := exchanging(1, 8)
		sys, shape := *d.Pools[0].System, *d.Model
		sys.Generation, shape.Streams = c.generation, c.streams
		d.Pools[0].System, d.Model = &sys, &shape
		d.Pools[0].Plan.Attention.TP = c.tp
		if got := find(t, c.engine).Apply(d).Pools[0].Plan.Staged; got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestAllReduceByEngine: SGLang's kernel takes longer than the measured one of TensorRT-LLM, on the
// chips of NVIDIA that it was compared on, and so does vLLM's own in a model with
// hyper-connections, which it does not compile.
func TestAllReduceByEngine(t *testing.T) {
	for _, c := range []struct {
		engine, maker string
		streams       int
		longer        bool
	}{
		{"sglang", "NVIDIA", 0, true}, {"sglang", "AMD", 0, false}, {"trtllm", "NVIDIA", 4, false},
		{"vllm", "NVIDIA", 0, false}, {"vllm", "NVIDIA", 4, true}, {"vllm", "AMD", 4, false},
	} {
		d := exchanging(8, 8)
		m := *d.Model
		m.Streams = c.streams
		d.Model = &m
		for i := range d.Pools {
			system := *d.Pools[i].System
			system.Maker = c.maker
			d.Pools[i].System = &system
		}
		if got := find(t, c.engine).Apply(d).Precision.AllReduce; got > 0 != c.longer {
			t.Errorf("%s on a chip of %s, %d streams: %v s longer", c.engine, c.maker, c.streams, got)
		}
	}
}

// TestCopied: copies of a prompt leave a server to compile what it is known to compile for others:
// products of FP8 blocks on AMD, nothing for latent attention on Blackwell, where SGLang up to 0.5.6
// has compiled for prompts that are cut. Where that is not known, the first wave stays.
func TestCopied(t *testing.T) {
	for _, c := range []struct {
		version, chip string
		blocks        bool
		wave          bool
		tile, cut     float64
	}{
		{"0.5.12", "CDNA 4", true, false, 1.6, 0}, {"0.5.12", "CDNA 4", false, true, 0, 0}, {"0.5.6", "CDNA 3", true, false, 1.6, 0},
		{"0.5.2", "CDNA 3", true, true, 0, 0}, {"0.5.12", "Blackwell", true, false, 0, 0}, {"0.5.6", "Blackwell", true, false, 0, 60},
		{"0.5.5", "Blackwell", false, false, 0, 60}, {"0.5.12", "Hopper", true, true, 0, 0},
	} {
		e, err := find(t, "sglang").At(c.version)
		if err != nil {
			t.Fatal(err)
		}
		d := exchanging(1, 8)
		sys := *d.Pools[0].System
		sys.Generation, d.Pools[0].System = c.chip, &sys
		if d.ServerOptions.FillsSteps = true; c.blocks {
			d.Precision.Weight += 4. / (128 * 128)
		}
		cold := e.Apply(d).Engine
		if cold.WaveSeconds <= 0 || cold.Compiling.TileSeconds != c.tile || cold.Compiling.CutSeconds != c.cut {
			t.Errorf("%+v, cold: a wave of %g s, %+v", c, cold.WaveSeconds, cold.Compiling)
		}
		d.ServerOptions.Copied = true
		if got := e.Apply(d).Engine; (got.WaveSeconds > 0) != c.wave || got.Compiling.TileSeconds != c.tile || got.Compiling.CutSeconds != 0 {
			t.Errorf("%+v: a wave of %g s, %+v", c, got.WaveSeconds, got.Compiling)
		}
		d.ServerOptions.Warmed, d.ServerOptions.FillsSteps = true, false
		if got := e.Apply(d).Engine; got.WaveSeconds != 0 || got.Compiling != (deploy.Compiling{}) {
			t.Errorf("%+v, warmed: a wave of %g s, %+v", c, got.WaveSeconds, got.Compiling)
		}
	}
}
