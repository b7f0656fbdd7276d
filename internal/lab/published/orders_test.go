package published

import (
	"math"
	"strings"
	"testing"

	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/model"
)

const ordered = `source,url,model,hardware,num_gpus,parallelism,precision,isl,osl,concurrency_or_batch,metric,value,unit,evidence,notes
DeepSeek inference notes,,DeepSeek-R1,H20-3e 141GB,8 vs 16,"SGLang, TP8 or DEP8 vs vLLM, TP16 or DEP16",FP8 vs FP8,1000,1000,concurrency 64,order_output_throughput_per_gpu,>1,x,text,
DeepSeek inference notes,,DeepSeek-R1,H20-3e 141GB,8 vs 8,"TensorRT-LLM, TP8 EP8 vs SGLang, TP8",W4A8 vs FP8,1000,1000,concurrency 64,order_output_throughput_per_gpu,>1,x,text,
DeepSeek inference notes,,DeepSeek-V3,H100,72 vs 16,"decode DP72 attn + EP72 vs TP16 (2 nodes), aggregated",FP8,2000 vs 1024,100 vs 1024,256 req/GPU vs max load,decode_speedup_january_to_may,26,x,text,
DeepSeek inference notes,https://lmsys.org/blog/2025-05-05-large-scale-ep/,DeepSeek-V3,H100,32,prefill DP32 attn + EP32,FP8,4096,,16384 tokens/GPU,prefill_throughput,1,tok/s/node,text,
DeepSeek inference notes,https://lmsys.org/blog/2025-05-05-large-scale-ep/,DeepSeek-V3,H100,32,"prefill DP32 attn + EP32, simulated perfect EPLB",FP8,4096,,16384 tokens/GPU,prefill_throughput,1,tok/s/node,text,
DeepSeek-V3 technical report,,DeepSeek-V3,H800,320 vs 320,"DeepSeek's own, DP80 TP4 EP320, 64 redundant experts; MTP=1 vs none",FP8,4096,,8 req/replica,decode_speedup_mtp,1.8,x,text,
Two engines,,DeepSeek-R1,H200,8 vs 8,"SGLang, TP8 vs vLLM, TP8",FP8,1000,2000,200 req,decode_speedup_engine,1.2,x,derived,"SGLang 0.4.5.post3, vLLM 0.8.4"
TensorRT-LLM best practice,,DeepSeek-R1,H200,8,attention DP8 + EP8,FP8,1024,2048,"concurrency 1024 (128/rank), max_num_tokens 1151",output_throughput_total,1,tok/s,table,
`

// TestOrders: what a side says of its engine, its layouts and its number formats; of several
// layouts the best counts, and an order holds where the ratio is above 1. It has no error.
func TestOrders(t *testing.T) {
	var table Table
	if err := table.read(t.Context(), "ordered.csv", strings.NewReader(ordered)); err != nil {
		t.Fatal(err)
	}
	if err := table.Predict(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range table.Rows {
		if r := &table.Rows[i]; !(r.Predicted > 0) || r.Reason != "" {
			t.Fatalf("row %d is a %s: %v, %q", i+1, r.Class, r.Predicted, r.Reason)
		}
	}
	list := table.Orders()
	if len(list) != 2 || list[0].Ratio != table.Rows[0].Predicted || table.Rows[0].Has() || len(table.Reasons()) != 0 {
		t.Errorf("%+v, %+v", list, table.Reasons())
	}
	if up, down := (AsPublished{Ratio: 1.01}), (AsPublished{Ratio: 0.99}); !up.Holds() || down.Holds() {
		t.Error("an order holds above 1")
	}

	p := predictor{points: point.NewEstimator(), shapes: map[string]*model.Model{}}
	pair := func(row int) []config {
		list, err := sides(inputs{table.Rows[row].Cells}, table.Rows[row].asks)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	value := func(c config) float64 {
		v, err := p.value(&c)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := pair(0)
	if a, b := first[0].point, first[1].others[0].point; a.Engine != "sglang@0.4" || b.Engine != "vllm" || a.System != "H20_141G" || first[1].cut.tp != 16 || first[1].others[0].cut.ep != 16 {
		t.Errorf("%+v", first)
	}
	best := func(c config) float64 { return max(value(c), value(c.others[0])) }
	if got, want := table.Rows[0].Predicted, best(first[0])/best(first[1]); math.Abs(got-want) > 1e-12*want {
		t.Errorf("the best of two layouts against the best of two: %v, want %v", got, want)
	}
	if second := pair(1); second[0].point.Engine != "trtllm" || second[0].point.Formats.Weights != "w4a8" || second[1].point.Formats.Weights != "fp8" {
		t.Errorf("%+v", second)
	}
	// The notes name no copies of experts where they compare engines.
	if wide := first[0].others[0]; wide.cut.ep != 8 || wide.redundant != 0 || pair(3)[0].redundant != 32 {
		t.Errorf("%+v", wide)
	}
	// Versions that the notes of a row name. Both capture its 200 sequences, and are priced nearly
	// alike: the published 1.2 is not met.
	engines := pair(6)
	if a, b := engines[0], engines[1]; a.point.Engine != "sglang@0.4" || b.point.Engine != "vllm@0.9" {
		t.Errorf("%+v", engines)
	} else if ratio := value(a) / value(b); math.Abs(ratio-1) > 0.1 {
		t.Errorf("SGLang 0.4 has %v times the tokens/s of vLLM 0.9", ratio)
	}
	// What the row says of the steps and sequences of its server.
	if told := pair(7)[0].point; told.Traffic.StepTokens != 1151 || told.Traffic.Sequences != 128 || told.Concurrency != 1024 {
		t.Errorf("%+v", told.Traffic)
	}
	// A bare decode step against what clients of a server get.
	if third := pair(2); third[0].asks != decodeRate || third[1].asks != outputRate || third[1].run.requests == 0 || third[0].point.Input != 2000 || third[1].point.Output != 1024 {
		t.Errorf("%+v", third)
	}
	if real, even := pair(3)[0], pair(4)[0]; real.point.Popularity != "served" || even.point.Popularity != "" || !(value(real) < value(even)) {
		t.Errorf("routing %q and %q", real.point.Popularity, even.point.Popularity)
	}
	if own := pair(5); own[0].point.Engine != "none" || own[0].cut != (layout{80, 4, 320, 1, false}) || own[0].point.Drafts != 1 || own[1].point.Drafts != 0 || own[0].point.Acceptance != "" {
		t.Errorf("%+v", own)
	}
}

// TestClientsAtOnce: 16 clients of SGLang 0.4.7 on 8 ranks start at once and send four requests
// each, all equally long. A rank computes its 8192 / 8 tokens at a time, which is one of its two
// prompts, before any decodes; all end together, so that four waves of two prefill steps and 99
// decode steps follow one another.
func TestClientsAtOnce(t *testing.T) {
	const rows = `source,url,model,hardware,num_gpus,parallelism,precision,isl,osl,concurrency_or_batch,metric,value,unit,evidence,notes
DeepSeek inference notes,,DeepSeek-R1,H20-3e 141GB,8 vs 8,"SGLang, DEP8 vs SGLang, TP8 + DP attention",FP8 vs FP8,1000,100,"concurrency 16, 64 requests",order_output_throughput_per_gpu,>1,x,text,SGLang 0.4.7
`
	var table Table
	if err := table.read(t.Context(), "rows.csv", strings.NewReader(rows)); err != nil {
		t.Fatal(err)
	}
	list, err := sides(inputs{table.Rows[0].Cells}, table.Rows[0].asks)
	if err != nil {
		t.Fatal(err)
	}
	p := predictor{ctx: t.Context(), points: point.NewEstimator(), shapes: map[string]*model.Model{}}
	for i := range list {
		c := &list[i]
		if c.run != (run{requests: 64, clients: 16}) || c.point.Engine != "sglang@0.4.8" || c.point.Traffic.StepTokens != 0 {
			t.Fatalf("side %d: %+v, %s", i, c.run, c.point.Engine)
		}
		got, err := p.value(c)
		if err != nil {
			t.Fatal(err)
		}
		q := c.point
		q.Concurrency = 0
		step := func(phase string, batch int) float64 {
			q.Phase, q.Batch = question.Phase(phase), batch
			a, err := p.points.Answer(&q)
			if err != nil {
				t.Fatal(err)
			}
			return a.Phases[0].Estimate.StepTime + a.Deployment.Engine.Host(float64(batch))
		}
		entry := 0.016 + 1000*2.5e-6 + 15*(0.001+1000*2.5e-6)/2
		wave := entry + 2*step("prefill", 1) + 99*step("decode", 2)
		if want := 16 * 100 / wave / 8; math.Abs(got-want) > 0.05*want {
			t.Errorf("side %d: %.1f tokens/s of a GPU, want %.1f", i, got, want)
		}
		if i > 0 {
			continue
		}
		// A server that is told to compute both prompts at a time has larger products of experts,
		// which DeepGEMM likes better.
		told := *c
		told.point.Traffic.StepTokens = 2048
		if faster, err := p.value(&told); err != nil || !(faster > got) {
			t.Errorf("side %d: %.1f tokens/s with both prompts of a rank at a time, %.1f with one (%v)", i, faster, got, err)
		}
	}
}
