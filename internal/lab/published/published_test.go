package published

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/test/builtin"
	"throughline/model"
	"throughline/op"
)

// small is rows of every class and of every quantity, so that no test needs the public tables.
const small = `source,url,model,hardware,num_gpus,parallelism,precision,isl,osl,concurrency_or_batch,metric,value,unit,evidence,notes
SGLang PD,u,DeepSeek-V3,"H100 SXM 80GB, 8/node",32,"prefill DP32 attn + EP32 (4x8), TBO off",FP8,4096,,8192 tokens/GPU,prefill_throughput,36140,tok/s/node,chart_read,
SGLang PD,u,DeepSeek-V3,"H100 SXM 80GB, 8/node",32,"prefill DP32 attn + EP32 (4x8), TBO on",FP8,4096,,8192 tokens/GPU,prefill_throughput,47860,tok/s/node,chart_read,
SGLang PD,u,DeepSeek-V3,H100,72,"decode DP72 attn + EP72 (9x8)",FP8,2000,100,256 req/GPU,decode_throughput,22282,tok/s/node,table,
SGLang PD,u,DeepSeek-V3,H100,72,"decode DP72 attn + EP72, simulated MTP",FP8,4000,100,128 req/GPU,decode_throughput,17373,tok/s/node,table,
SGLang PD,u,DeepSeek-V3,H100,16,TP16 + DP attention (2 nodes),FP8,2000,100,64 req/GPU,decode_throughput,4080,tok/s/node,table,
SGLang PD,u,DeepSeek-V3,H100,72 vs 16,decode EP72 vs TP16 + DP attention,FP8,2000,100,256 req/GPU vs 64 req/GPU,decode_speedup,5.2,x,text,
SGLang PD,u,DeepSeek-V3,H100,72,PD 4P:9D; MTP draft2 vs none,FP8,2000,100,256 req/GPU,mtp_throughput_gain,14.2,%,text,
SGLang PD,u,DeepSeek-V3,H100,,"prefill: SGLang default (H100 EP32)",FP8,4096,,16384 tokens/GPU,prefill_time_per_layer_moe,10.5,ms/layer,chart_read,
SGLang PD,u,DeepSeek-V3,H100,,"prefill: SGLang default (H100 EP32)",FP8,4096,,16384 tokens/GPU,prefill_time_per_layer_comm_bubble,0.9,ms/layer,chart_read,
SGLang Kimi,u,Kimi-K2,H200,96,"decode 12 nodes EP96, 96 redundant experts",FP8,2000,100,480 req/GPU,decode_throughput,288000,tok/s (12 nodes),table,
SGLang GB200,u,DeepSeek-V3,GB200 NVL72,48,decode EP48,"BF16 attn, FP8 MoE",2000,100,,decode_throughput,7583,tok/s/GPU,text,
InferSim README,u,Qwen3-30B-A3B-BF16,H20,1 (P) / 4 (D),P: 1 GPU; D: DP4+EP4,bf16,4096,2048,P 16384 tok; D 100 req/GPU,decode_tgs_actual,2749,tok/s/GPU,table,
TensorRT-LLM perf-overview (v1.2-era),u,GPT-OSS 120B,GB200,1,TP1,FP4 weights,1024,1024,"max load (offline, all requests queued)",output_throughput_per_gpu,26609,tok/s/GPU,table,
TensorRT-LLM best practice,u,DeepSeek-R1,B200,8,"TP8 EP2, MTP=3, min-latency",FP4,1024,2048,batch 1,avg_request_latency_ms,7456,ms,table,
TensorRT-LLM perf-overview (v1.0),u,Qwen3-235B-A22B,H200,8,TP8,FP8 weights,1000,1000,"max load (offline, all requests queued)",output_throughput_total,23789,tok/s,table,MoE: enable_attention_dp
DeepEP V1 low-latency kernels,u,DeepSeek-V3/R1 MoE,H800 + CX7 400Gb/s,16,EP16,FP8 dispatch/BF16 combine,,,128 tokens/rank,dispatch_latency,118,us,table,
DeepEP V1 normal kernels,u,DeepSeek-V3/R1 MoE,H800,32,EP32 internode,FP8 dispatch/BF16 combine,,,4096 tokens/rank,combine_bottleneck_bandwidth,57,GB/s,table,top-4 groups
UCCL-EP normal kernels,u,DeepSeek-V3 MoE,8xH200 + EFA (p5en),16,EP16 internode,FP8 dispatch/BF16 combine,,,4096 tokens/rank,dispatch_latency,1196,us,table,
DeepSeek (production),u,DeepSeek-V3,H800,8,decode EP144,FP8,,,,decode_output_throughput,14800,tok/s/node,text,
SGLang X,u,DeepSeek-V3,H100,8,,FP8,1024,1024,8 req/GPU,decode_throughput,100,tok/s,text,
Who,u,DeepSeek-V3,H100,8,EP8,FP8,1024,1024,8 req/GPU,beauty,100,,text,
`

// root is the folder of the project.
const root = "../../.."

func readSmall(t *testing.T) *Table {
	t.Helper()
	var table Table
	if err := table.read(t.Context(), "small.csv", strings.NewReader(small)); err != nil {
		t.Fatal(err)
	}
	return &table
}

// public is the tables beside the project, and the built-in figures.
func public(t *testing.T) *Table {
	t.Helper()
	var table Table
	if err := table.BuiltIn(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("..", "..", "..", "..", "shared", "measurements", "published")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the public figures are not beside the project")
	}
	if err := table.ReadFile(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	return &table
}

func TestClasses(t *testing.T) {
	want := []Class{
		Target, Target, Target, Target, Target, Relation, Relation, Breakdown, Breakdown, Target, Target, Target, Target, Target, Target, Target, Target,
		NotCompared, NotCompared, NotCompared, NotCompared,
	}
	reasons := map[int]string{
		8:  "a gap between overlapping parts, no part by itself",
		17: "no system with this NIC",
		18: "a daily average of production: neither the load nor the lengths are those of a run",
		19: "configuration not stated: no layout",
		20: `nothing here predicts "beauty"`,
	}
	for i, row := range readSmall(t).Rows {
		if row.Class != want[i] || row.Reason != reasons[i] {
			t.Errorf("row %d is a %s (%s), want a %s (%s)", i+1, row.Class, row.Reason, want[i], reasons[i])
		}
	}
}

// TestClassKnowsNoValue: a class follows from what a row says of its figure. Other figures change
// none, and nothing that classes may look at has the figure.
func TestClassKnowsNoValue(t *testing.T) {
	var table Table
	if err := table.BuiltIn(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	table.Rows = append(table.Rows, readSmall(t).Rows...)
	folder := filepath.Join("..", "..", "..", "..", "shared", "measurements", "published")
	if _, err := os.Stat(folder); err == nil {
		if err := table.ReadFile(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
	}
	at := slices.Index(Columns, "value")
	for i := range table.Rows {
		row := &table.Rows[i]
		if row.plain {
			continue
		}
		for _, other := range []string{"", "1", "-3", "1e12", "many"} {
			cells := slices.Clone(row.Cells)
			cells[at] = other
			class, asks, reason := classify(inputs{cells})
			if class != row.Class || asks != row.asks || reason != row.Reason {
				t.Fatalf("with a value of %q, %s is a %s (%s), with its own a %s (%s)", other, row.label, class, reason, row.Class, row.Reason)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the figure can be looked at")
		}
	}()
	inputs{table.Rows[0].Cells}.get("value")
}

// TestPublicTargets: the figures that matter most are among the targets, and every row that is not
// compared says why.
func TestPublicTargets(t *testing.T) {
	table := public(t)
	if n := len(table.Rows); n < 1032 {
		t.Fatalf("%d rows", n)
	}
	is := func(source, metric, value string) {
		t.Helper()
		for i := range table.Rows {
			r := &table.Rows[i]
			if strings.HasPrefix(r.column("source"), source) && strings.HasPrefix(r.column("metric"), metric) && r.column("value") == value {
				if r.Class != Target {
					t.Errorf("%s %s %s is %s: %s", source, metric, value, r.Class, r.Reason)
				}
				return
			}
		}
		t.Errorf("no row %s %s %s", source, metric, value)
	}
	for _, v := range []string{"50302", "54543", "57674", "59337", "62713"} {
		is("SGLang PD", "prefill_throughput", v)
	}
	for _, v := range []string{"22282", "17373", "18598", "22310", "17740", "640", "17552", "12929"} {
		is("SGLang PD", "decode_throughput", v)
	}
	is("SGLang GB200", "prefill_throughput", "26156")
	is("SGLang GB200", "decode_throughput", "7583")
	is("SGLang Kimi-K2", "decode_throughput", "288000")
	is("SGLang+Ant", "decode_throughput", "785")
	is("SGLang+Ant", "prefill_throughput", "2067")
	is("TensorRT-LLM perf-overview (v1.2", "output_throughput", "1620.0")
	is("TensorRT-LLM perf-overview (v1.0", "output_throughput", "23789.0")
	is("DeepEP V1 low-latency", "dispatch_latency", "192")
	is("DeepEP V1 normal", "combine_bottleneck_bandwidth", "50")
	is("UCCL-EP normal", "dispatch_latency", "500")
	for i := range table.Rows {
		r := &table.Rows[i]
		if r.Class == NotCompared && r.Reason == "" || strings.HasPrefix(r.Reason, "nothing here predicts") && r.column("metric") != "tpot" {
			t.Errorf("%s, %s: %q", r.column("source"), r.label, r.Reason)
		}
		if r.Class != Target || r.plain || strings.Contains(r.column("num_gpus"), "(") {
			continue
		}
		// A layout fills the processors that the row counts.
		list, err := sides(inputs{r.Cells}, r.asks)
		if err != nil {
			t.Fatal(err)
		}
		if n := parseCount(r.column("num_gpus")); n > 0 && n != list[0].cut.procs() {
			t.Errorf("%s: a layout of %d on %d processors", r.label, list[0].cut.procs(), n)
		}
	}
}

// TestRead: what rows say, as deployments.
func TestRead(t *testing.T) {
	rows := readSmall(t).Rows
	type said struct {
		system, engine, phase                     string
		dp, tp, ep, etp, redundant, batch, drafts int
		input, clients, requests                  int
		weights, cache, dispatch                  string
		overlap, popularity, library              string
		accepted                                  float64
	}
	want := map[int]said{
		0:  {system: "H100_SXM", engine: "sglang@0.4.6", phase: "prefill", dp: 32, tp: 1, ep: 32, etp: 1, redundant: 32, batch: 2, input: 4096, weights: "fp8", popularity: "served"},
		1:  {system: "H100_SXM", engine: "sglang@0.4.6", phase: "prefill", dp: 32, tp: 1, ep: 32, etp: 1, redundant: 32, batch: 2, input: 4096, weights: "fp8", overlap: "two-batch", popularity: "served"},
		2:  {system: "H100_SXM", engine: "sglang@0.4.6", phase: "decode", dp: 72, tp: 1, ep: 72, etp: 1, redundant: 32, batch: 256, input: 2000, weights: "fp8", popularity: "served"},
		3:  {system: "H100_SXM", engine: "sglang@0.4.6", phase: "decode", dp: 72, tp: 1, ep: 72, etp: 1, redundant: 32, batch: 128, input: 4000, drafts: 1, accepted: 0.7, weights: "fp8", popularity: "served"},
		4:  {system: "H100_SXM", engine: "sglang@0.4.6", phase: "decode", dp: 16, tp: 1, ep: 1, etp: 16, batch: 64, input: 2000, weights: "fp8", popularity: "served"},
		9:  {system: "H200", engine: "sglang@0.4", phase: "decode", dp: 96, tp: 1, ep: 96, etp: 1, redundant: 96, batch: 480, input: 2000, weights: "fp8"},
		11: {system: "H20_96G", engine: "sglang@0.4", phase: "decode", dp: 4, tp: 1, ep: 4, etp: 1, batch: 100, input: 4096, weights: "bf16"},
		12: {system: "GB200_NVL72", engine: "trtllm", dp: 1, tp: 1, ep: 1, etp: 1, input: 1024, requests: 3000, weights: "fp4"},
		13: {system: "B200", engine: "trtllm", dp: 1, tp: 8, ep: 2, etp: 4, input: 1024, clients: 1, drafts: 3, weights: "fp4"},
		14: {system: "H200", engine: "trtllm", dp: 8, tp: 1, ep: 1, etp: 8, input: 1000, requests: 3000, weights: "fp8"},
		15: {system: "H800", engine: "none", phase: "decode", dp: 16, tp: 1, ep: 16, etp: 1, batch: 128, weights: "fp8", dispatch: "fp8"},
		16: {system: "H800", engine: "none", phase: "prefill", dp: 32, tp: 1, ep: 32, etp: 1, batch: 1, input: 4096, weights: "fp8", dispatch: "fp8"},
	}
	p := predictor{points: point.NewEstimator(), shapes: map[string]*model.Model{}}
	for i, w := range want {
		list, err := sides(inputs{rows[i].Cells}, rows[i].asks)
		if err != nil {
			t.Fatal(err)
		}
		c := &list[0]
		m, err := p.shape(c.point.Model)
		if err != nil {
			t.Fatal(err)
		}
		c.lay(m)
		q := &c.point
		share, _ := strconv.ParseFloat(q.Acceptance, 64)
		accepted := math.Round(1e9*share) / 1e9
		got := said{
			q.System, q.Engine, string(q.Phase), q.DP, q.TP, q.EP, q.MoETP, q.Redundant, q.Batch, q.Drafts, q.Input, q.Concurrency, c.run.requests,
			q.Formats.Weights, q.Formats.Cache, q.Formats.Dispatch, q.Overlap, q.Popularity, c.library, accepted,
		}
		if got != w {
			t.Errorf("row %d: %+v, want %+v", i+1, got, w)
		}
	}
}

// launched is rows whose tokens per step, copies and overlap only the launch commands of their
// sources say.
const launched = `source,url,model,hardware,num_gpus,parallelism,precision,isl,osl,concurrency_or_batch,metric,value,unit,evidence,notes
SGLang GB200 NVL72 part 2,u,DeepSeek-V3,GB200 NVL72,4,prefill EP4,"BF16 attn, FP8 MoE",2000,,,prefill_throughput,1,tok/s/GPU,text,
SGLang GB200 NVL72 part 2,u,DeepSeek-V3,GB200 NVL72,2,prefill EP2,"FP8 attn/KV, NVFP4 MoE",1000,,,prefill_throughput,1,tok/s/GPU,text,
SGLang GB200 NVL72 part 2,u,DeepSeek-V3,GB200 NVL72,48,decode EP48,"FP8 attn/KV, NVFP4 MoE",2000,100,1408 req/GPU,decode_throughput,1,tok/s/GPU,text,
SGLang GB200 NVL72 part 2,u,DeepSeek-V3,GB200 NVL72,48,decode EP48,"BF16 attn, FP8 MoE",2000,100,,decode_throughput,1,tok/s/GPU,text,
SGLang Kimi-K2 128xH200,u,Kimi-K2,H200,32,prefill 4 nodes (PD 4P:12D),FP8,2000,100,,prefill_throughput,1,tok/s,text,
SGLang Kimi-K2 128xH200,u,Kimi-K2,H200,96,"decode 12 nodes EP96, 96 redundant experts",FP8,2000,100,480 req/GPU,decode_throughput,1,tok/s,text,
SGLang+Ant Group,u,DeepSeek-R1,H20-96G,8,prefill TP8 1 node; +MHA+MoE+QKV,FP8 GEMM,4096,1,512 prompts,prefill_throughput,1,tok/s/GPU,text,
SGLang+Ant Group,u,DeepSeek-R1,H20-96G,8,prefill TP8 1 node; +MHA+MoE,FP8 GEMM,4096,1,512 prompts,prefill_throughput,1,tok/s/GPU,text,
`

// TestLaunchCommands: 16384 tokens of a rank are 8 prompts of 2000, 16 of 1000 or 4 of 4096.
func TestLaunchCommands(t *testing.T) {
	var table Table
	if err := table.read(t.Context(), "launched.csv", strings.NewReader(launched)); err != nil {
		t.Fatal(err)
	}
	type said struct {
		batch, redundant    int
		overlap, popularity string
		scattered           bool
	}
	p := predictor{points: point.NewEstimator(), shapes: map[string]*model.Model{}}
	for i, want := range []said{
		{8, 32, "", "served", false}, {16, 0, "", "served", false}, {1408, 32, "single-batch", "served", false}, {768, 32, "single-batch", "served", false},
		{8, 32, "two-batch", "served", false}, {480, 96, "two-batch", "served", false},
		{4, 0, "", "", true}, {4, 0, "", "", false},
	} {
		row := &table.Rows[i]
		if row.Class != Target {
			t.Fatalf("row %d is a %s: %s", i+1, row.Class, row.Reason)
		}
		list, err := sides(inputs{row.Cells}, row.asks)
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.shape(list[0].point.Model)
		if err != nil {
			t.Fatal(err)
		}
		list[0].lay(m)
		q := &list[0].point
		if got := (said{q.Batch, q.Redundant, q.Overlap, q.Popularity, q.SequenceParallel}); got != want {
			t.Errorf("row %d: %+v, want %+v", i+1, got, want)
		}
	}
}

// TestAtOnce: 10000 clients of DeepSeek-V2 on 8 H100. Under TP8 a token takes 576 elements of two
// bytes in each of 60 layers on every rank, and finds room in 0.78 of 79.65 GiB beside the weights;
// with replicas of attention each rank has a cache of its own. In the kernel of Triton each 16
// heads read the cache for themselves, of which FA3 reads it once for all.
func TestAtOnce(t *testing.T) {
	const row = `source,url,model,hardware,num_gpus,parallelism,precision,isl,osl,concurrency_or_batch,metric,value,unit,evidence,notes
DeepSeek inference notes,,DeepSeek-V2,H100,8 vs 8,"TP8 + DP attention, attention in Triton vs TP8, attention in Triton",FP8,1,512,"10000 requests at once, weights and cache in 0.78 of the memory",output_speedup_dp_attention,1.9,x,text,
`
	var table Table
	if err := table.read(t.Context(), "row.csv", strings.NewReader(row)); err != nil {
		t.Fatal(err)
	}
	list, err := sides(inputs{table.Rows[0].Cells}, table.Rows[0].asks)
	if err != nil {
		t.Fatal(err)
	}
	p := predictor{ctx: t.Context(), points: point.NewEstimator(), shapes: map[string]*model.Model{}}
	var rates []float64
	for i := range list {
		c := &list[i]
		if c.run != (run{requests: 10000, static: 0.78}) || c.point.Traffic.Attention != "triton" {
			t.Fatalf("side %d: %+v, attention %q", i, c.run, c.point.Traffic.Attention)
		}
		v, err := p.value(c)
		if err != nil {
			t.Fatal(err)
		}
		rates = append(rates, v)
		a, err := p.points.Answer(&c.point)
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := c.run.cacheTokens(a.Deployment, a.Load.Lengths)
		if err != nil {
			t.Fatal(err)
		}
		weights := a.Phases[0].Estimate.Memory.Weights
		const taken = 2.5 // GiB that are gone before weights are loaded
		want := (0.78*(79.65-taken)*(1<<30) - weights[op.AttentionBlock] - weights[op.MLPBlock]) / (576 * 2 * 60)
		if math.Abs(float64(tokens)-want) > 0.001*want {
			t.Errorf("side %d: room for %d tokens, want %.0f", i, tokens, want)
		}
	}
	if err := table.Predict(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := table.Rows[0].Predicted
	if want := rates[0] / rates[1]; math.Abs(got-want) > 1e-12*want || got < 1 {
		t.Errorf("%v, want %v", got, want)
	}
	// The front end of the server hides in rates what steps show.
	slower := func(side *config) float64 {
		var scores []float64
		for _, attention := range []string{"triton", ""} {
			q := side.point
			q.Traffic.Attention, q.Batch, q.Phase = attention, 100, question.Decode
			a, err := point.NewExaminer().Answer(&q)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(a.Phases[0].Operators, func(o estimate.Operator) bool { return o.Kind == op.Scores })
			scores = append(scores, a.Phases[0].Operators[at].Exposed)
		}
		return scores[0] / scores[1]
	}
	if replicas, split := slower(&list[0]), slower(&list[1]); replicas < 2*split {
		t.Errorf("Triton takes %.2f times as long as FA3 with 128 heads, %.2f times with 16", replicas, split)
	}
}

// TestBytes: the bytes behind the bandwidths of exchanges are those of tables that print bandwidths
// and times side by side (UCCL, ep/README.md: 4096 tokens, 8 of 256 experts, H200 with EFA).
func TestBytes(t *testing.T) {
	m, _ := builtin.Model(t, "DeepSeek-V3")
	for _, c := range []struct {
		ranks        int
		narrow       bool
		gbps, micros float64
	}{{8, true, 320, 500}, {16, true, 50, 1196}, {24, true, 53, 1633}, {32, true, 54, 2022}, {8, false, 319, 973}, {24, false, 26, 6365}, {32, false, 43, 4899}} {
		n := counted{tokens: 4096, ranks: c.ranks, narrow: c.narrow, limited: true}
		got, want := n.bytes(m), c.gbps*1e9*c.micros*1e-6
		// Bandwidths are printed without decimals.
		if limit := 0.5/c.gbps + 0.012; math.Abs(got/want-1) > limit {
			t.Errorf("EP%d: %.4g bytes, printed %.4g", c.ranks, got, want)
		}
	}
}

// TestPredict: rows are priced like the same deployments by themselves, units are taken into
// account, ratios are those of two such figures.
func TestPredict(t *testing.T) {
	table := readSmall(t)
	if err := table.Predict(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range table.Rows {
		r := &table.Rows[i]
		if compared := r.asks != nothing; compared != (r.Predicted > 0) || compared && r.Reason != "" {
			t.Errorf("row %d: %v, %q", i+1, r.Predicted, r.Reason)
		}
	}
	q := question.Default()
	q.Model, q.System, q.Engine, q.Phase, q.Formats.Weights = "DeepSeek-V3", "H100_SXM", "sglang@0.4.6", "decode", "fp8"
	q.DP, q.EP, q.Redundant, q.Batch, q.Input, q.Output, q.Popularity = 72, 72, 32, 256, 2000, 100, "served"
	sglang, err := engine.Find("sglang")
	if err != nil {
		t.Fatal(err)
	}
	// With the time of the host.
	rate := func(a *point.Answer, sequences float64) float64 {
		e := &a.Phases[0].Estimate
		return e.Throughput * e.StepTime / (e.StepTime + sglang.Scheduling.Host(sequences))
	}
	a, err := point.NewEstimator().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("a node of 72 GPUs", table.Rows[2].Predicted, rate(a, 256)/9)
	near("a ratio", table.Rows[5].Predicted, table.Rows[2].Predicted/table.Rows[4].Predicted)
	// One draft of 70% in place of the 86.25% that are assumed; the rest of the step is the same.
	q.Batch, q.Input, q.Drafts = 128, 4000, 1
	if a, err = point.NewEstimator().Answer(&q); err != nil {
		t.Fatal(err)
	}
	near("accepted drafts", table.Rows[3].Predicted, rate(a, 128)/9*1.7/1.8625)
	// 12 nodes together.
	q.Model, q.System, q.Engine, q.DP, q.EP, q.Redundant, q.Batch, q.Input, q.Drafts = "Kimi-K2-Instruct", "H200", "sglang@0.4", 96, 96, 96, 480, 2000, 0
	q.Popularity = ""
	if a, err = point.NewEstimator().Answer(&q); err != nil {
		t.Fatal(err)
	}
	near("12 nodes", table.Rows[9].Predicted, rate(a, 480))
}

// TestChosen: what trtllm-bench chooses, by hand. A 70B model in FP4 on a B200 of 179.1 GiB: a
// token has 2 · 80 · 8 · 128 bytes in an FP8 cache, a request of 2000 tokens 328 MB. Of 192.3 GB,
// 70.6e9 · 0.5625 / 2 = 19.8 are thought to be weights; 0.95 of the rest holds 500 requests,
// rounded up to 512, and half of their tokens are those of prompts: 1000, of at least 2048.
func TestChosen(t *testing.T) {
	q := question.Default()
	q.Model, q.System, q.Engine, q.Formats.Weights, q.Batch, q.Input, q.Output = "Llama-3.1-70B", "B200", "trtllm", "fp4", 1, 1000, 1000
	limits := func() (int, int) {
		t.Helper()
		a, err := point.NewEstimator().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		return chosen(&a.Deployment, a.Load.Lengths)
	}
	if n, tokens := limits(); n != 512 || tokens != 2048 {
		t.Errorf("%d sequences and %d tokens", n, tokens)
	}
	q.Input, q.Output = 20000, 2000 // 45 requests; a step holds a prompt
	if n, tokens := limits(); n != 64 || tokens != 20064 {
		t.Errorf("long requests: %d sequences and %d tokens", n, tokens)
	}
	q.Model, q.Formats.Weights, q.Input, q.Output = "gpt-oss-120b", "", 1024, 1024
	if n, tokens := limits(); n != 2048 || tokens != 8192 {
		t.Errorf("MXFP4: %d sequences and %d tokens", n, tokens)
	}
}

// TestRun: a run of requests that all find room takes their prompts and as many steps as they have
// outputs; twice as many that do not take twice as long. Windows do not make room.
func TestRun(t *testing.T) {
	q := question.Default()
	q.Model, q.System, q.Engine, q.Batch, q.Input, q.Output = "gpt-oss-120b", "B200", "trtllm", 1, 1024, 8192
	a, err := point.NewEstimator().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	n := a.Load.Lengths
	room, err := (&run{}).cacheTokens(a.Deployment, n)
	if err != nil {
		t.Fatal(err)
	}
	// 36 layers of 2 · 8 · 64 bytes for each token, and 95% of what 61 GiB of weights and the steps
	// leave of 179.
	if most := 0.95 * (179.1 - 61) * (1 << 30) / (36 * 1024); float64(room) > most || float64(room) < 0.9*most {
		t.Errorf("a cache of %d tokens, at most %.0f", room, most)
	}
	fits := room / n.Final()
	times := map[int]float64{}
	for _, requests := range []int{fits / 2, fits - 1, 2 * (fits - 1)} {
		r, err := (&run{requests: requests}).simulated(t.Context(), a.Deployment, n)
		if err != nil || r.Requests != int64(requests) {
			t.Fatalf("%+v, %v", r, err)
		}
		times[requests] = r.Duration()
	}
	if ratio := times[2*(fits-1)] / times[fits-1]; ratio < 1.9 || ratio > 2.1 {
		t.Errorf("twice the requests take %.3g times as long", ratio)
	}
	if ratio := times[fits-1] / times[fits/2]; ratio < 1 || ratio > 2 {
		t.Errorf("twice the requests that find room take %.3g times as long", ratio)
	}
}

// TestSkipped: a folder's tables in another schema are skipped and named; a missing file is an
// error.
func TestSkipped(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.csv": small, "b.csv": "kind,dtype\nx,y\n", "c.txt": "no table", "empty.csv": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var table Table
	if err := table.ReadFile(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	want := []Skipped{{"b.csv", `no columns "source", "url", "model" and 12 more`}, {"empty.csv", `no columns "source", "url", "model" and 12 more`}}
	if len(table.Rows) != 21 || !slices.Equal(table.Skipped, want) {
		t.Errorf("%d rows, skipped %v", len(table.Rows), table.Skipped)
	}
	if err := table.ReadFile(t.Context(), filepath.Join(dir, "none.csv")); err == nil {
		t.Error("a file that is not there is read")
	}
	if err := table.read(t.Context(), "short.csv", strings.NewReader(strings.Join(Columns, ",")+"\na,b\n")); err == nil || !strings.Contains(err.Error(), "short.csv:2: ") {
		t.Errorf("a row of two cells: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := table.BuiltIn(ctx, root); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := table.Predict(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestFill: a batch that the source does not state is what memory has room for. Usable are 165 GiB,
// weights take 32; a sequence of 600 tokens has 61 · 576 bytes for each in an 8-bit latent cache,
// 21 MB: over 6,000 fit, the engine allows fewer.
func TestFill(t *testing.T) {
	q := question.Default()
	q.Model, q.System, q.Engine, q.Phase, q.Batch = "DeepSeek-V3", "GB200_NVL72", "sglang", "decode", 1
	q.DP, q.EP, q.Redundant, q.Input, q.Output, q.Traffic.MemoryShare = 48, 48, 32, 500, 200, 0.9
	c := config{point: q}
	p := predictor{points: point.NewEstimator()}
	if err := p.fill(&c); err != nil || c.point.Batch < 1000 {
		t.Errorf("batch %d, %v", c.point.Batch, err)
	}
}
