package question_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/names"
	"throughline/internal/question"
	"throughline/internal/rows"
	"throughline/internal/test/golden"
	"throughline/internal/test/questions"
	"throughline/op"
	"throughline/workload"
)

// TestSums: what is made of settings, questions and rows of tables, right ones and wrong ones, and
// what is said of them.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	r := rand.New(rand.NewPCG(33, 5))
	addSettings(sums)
	for _, d := range questions.Draw(150, 33) {
		for of, words := range map[question.Command]questions.Settings{question.Estimate: d.AllSettings(), question.Explain: d.AllSettings(), question.Simulate: d.ToSimulate(), question.Plan: d.Plan()} {
			asked := map[string]string{}
			for _, s := range words {
				asked[s.Name] = s.Value
			}
			addQuestion(sums, of, asked)
		}
	}
	for _, c := range question.Commands {
		for range 25 {
			addQuestion(sums, c.Command, drawWords(r, c.Command))
		}
	}
	for _, line := range asked {
		for _, c := range []question.Command{question.Plan, question.Estimate, question.Simulate} {
			words := map[string]string{}
			for _, s := range questions.Parse(line) {
				words[s.Name] = s.Value
			}
			addQuestion(sums, c, words)
		}
	}
	plans, err := question.PlannedWords(door, []byte(planned))
	for _, words := range append(plans, map[string]string{"from": said(err)}) {
		texts(sums, "planned", words)
	}
	reader := rows.NewReader(question.Default())
	for range 600 {
		addRow(sums, reader, drawRow(r), r.IntN(2) == 0)
	}
	for _, column := range append(rowColumns, "rate") {
		for _, other := range []string{"isl", "concurrency", "tp"} {
			sums.Fields("says", rows.Says(column, other))
		}
	}
	sums.Fields("numbers", question.Numbers("3, 5,,70"))
	for _, text := range []string{"0/1", "4/5", "5/5", "-1/5", "1", "a/5", "1/b", "1/0", "auto/7"} {
		for _, at := range []string{"", "3"} {
			number, of, err := question.ParseShard(text, func(name string) string { return at })
			sums.Fields("shard", []any{number, of, said(err)})
		}
	}
	sums.Check(t, "testdata/sums.tsv")
}

// planned is the rows of a plan, as far as questions read them.
const planned = `{"question": {"model": "Mixtral-8x7B", "pool": "H200:16,H100_SXM:8", "isl": "2000", "osl": "500", "ttft": "p99:2s", "tpot": "50ms", "objective": "energy", "gpus": "24"},
"ranked": [
{"mode": "agg", "engine": "sglang", "concurrency": 64, "max_running_requests": 70, "memory_share": 0.85, "power_limit_w": 500,
 "prefill": {"system": "H200"}, "decode": {"system": "H200", "instances": 2, "batch": 16, "dp": 2, "pp": 2, "tp": 2, "ep": 4, "moe_tp": 1, "moe_dp": 1, "redundant_experts": 8, "drafts": 2, "overlap": "two-batch"}},
{"mode": "disagg", "engine": "vllm", "concurrency": 9, "prefill": {"system": "H100_SXM", "plan": "2x tp4 ep4"}, "decode": {"system": "H200", "plan": "dp2·tp4 ep8", "batch": 5, "dp": 2, "tp": 4}}],
"frontier": [{"mode": "agg", "engine": "trtllm", "concurrency": 3, "prefill": {"system": "H100_SXM"}, "decode": {"system": "H100_SXM", "tp": 8, "batch": 3}}]}`

// asked are questions that words drawn one by one seldom are.
var asked = []string{
	"--model Llama-3.1-8B --system H200 --fitted fitted.json --isl 1024 --osl 128", "--model Llama-3.1-8B --system H200 --fitted fitted.json --isl 1024 --osl 100 --engine vllm", "--model Llama-3.1-8B --system H200 --fitted fitted.json --engine sglang", "--model Llama-3.1-8B --system B200 --fitted fitted.json --engine vllm,sglang",
	"--model Llama-3.1-8B --system H200 --fitted fitted.json --assume reference --phase decode", "--model Llama-3.1-8B --system H200 --fitted broken.json", "--model Llama-3.1-8B --system H200 --fitted none.json --phase decode", "--model Llama-3.1-8B --system H200 --lengths lengths.csv --gpus 8", "--model none.json --system H200 --lengths none.csv --gpus 8",
	"--model Llama-3.1-8B --system H200 --isl 1000,2000 --engine vllm,sglang --gpus 8,16", "--model Llama-3.1-8B --system H200 --phase decode --concurrency 7", "--model Llama-3.1-8B --system H200 --turns 3 --rate 2 --isl 200 --osl 20", "--model Llama-3.1-8B --system H200 --lengths uniform:0.5 --prefix-hit 0.3", "--model Llama-3.1-8B --system H200 --lengths lognormal:3000 --isl 9000",
	"--from plan.json", "--from plan.json#2 --batch 7", "--from plan.json#f1 --tp 4", "--from plan.json#3", "--from plan.json#0", "--from plan.json#x", "--from none.json", "--from plan.json#f1 --model Llama-3.1-8B --system H200 --engine sglang",
	"--model Llama-3.1-8B --pool H200:8,H100_SXM:8", "--model Llama-3.1-8B --pool H200:8,H200:4", "--model Mixtral-8x7B --pool prefill=H200:8,decode=H100_SXM:16 --price H200=3,H100_SXM=2 --objective cost",
	"--model Llama-3.1-8B --pool prefill=H200:8 --mode agg", "--model Llama-3.1-8B --pool prefill=H200:8,decode=H200:8 --mode agg --power 700", "--model Llama-3.1-8B --pool H200:0,x:1,y=H200:1,H200 --gpus 8 --system H200 --decode-system H200 --prefill-gpus 2 --objective min-gpus --ttft p99:2s",
	"--model Llama-3.1-8B --pool H200:8,SOW-S1:8 --objective energy --power SOW-S1=300", "--model Llama-3.1-8B --pool H200:8,SOW-S1:8 --objective energy", "--model Llama-3.1-8B --pool H200:8,SOW-S1:8 --objective cost --price 2,H200=1,H200=3,B200=1",
	"--model Llama-3.1-8B --system H200 --decode-system SOW-S1 --gpus 8 --prefill-gpus 4 --objective cost --price H200=3", "--model Llama-3.1-8B --system H200 --decode-system SOW-S1 --gpus 8 --objective energy --power 700", "--model Llama-3.1-8B --system SOW-S1 --gpus 8 --objective cost",
	"--model Llama-3.1-8B --system H200 --gpus 8 --set sys.mem1.GBps=6000,sys.mem1.GiB=x2", "--model Llama-3.1-8B --system H200 --gpus 8 --set model.num_hidden_layers=x2,sys.networks[0].bandwidth=x0.5", "--model Llama-3.1-8B --system H200 --gpus 8 --set sys.mem1.GBs=6000,sys.nothing=3,model.none=1",
	"--model Llama-3.1-8B --system H200 --gpus 8 --set sys.mem1.GBps=1e99,sys.mem1.GiB=-1", "--model Llama-3.1-8B --system H200 --gpus 8 --engine sglang --set engine.scheduling.step_tokens=x2", "--model Llama-3.1-8B --system H200 --gpus 8 --engine vllm@0.9.0 --set engine.none=2", "--model Llama-3.1-8B --system H200 --set mem1=2,sys.a=b,sys.a=Inf,sys.a=xNaN",
	"--model Llama-3.1-8B --system H200 --gpus 8 --power-limit 300,500W --objective energy", "--model Llama-3.1-8B --system H200 --gpus 8 --objective energy", "--model Llama-3.1-8B --system H200 --gpus 8 --power-limit auto --gpus-per-node 4", "--model Llama-3.1-8B --system SOW-S1 --gpus 8 --power-limit 300", "--model Llama-3.1-8B --system H200 --gpus 8 --gpus-per-node 9",
	"--model Llama-3.1-8B --system H200 --gpus 8 --prefix 100 --isl 100", "--model Llama-3.1-8B --system H200 --gpus 8 --isl 130000 --osl 2000", "--model Llama-3.1-8B --system H200 --gpus 8 --isl 100000 --osl 2000 --rate 1 --turns 9", "--model Llama-3.1-8B --system H200 --gpus 8 --prefill-gpus 8", "--model Llama-3.1-8B --system H200 --gpus 8 --objective min-gpus", "--model Llama-3.1-8B --system H200 --gpus 8 --ttft p99:2s",
	"--model Llama-3.1-8B --system H200 --tp 2 --ep 2 --moe-tp 3 --moe-dp 2 --redundant 1 --overlap two-batch", "--model Mixtral-8x7B --system H200 --tp 4 --ep 3 --overlap two-batch", "--model Mixtral-8x7B --system H200 --tp 4 --ep 1 --overlap two-batch", "--model Mixtral-8x7B --system H200 --tp 4 --pp 2 --moe-tp 2 --redundant 4", "--model Mixtral-8x7B --system H200 --tp 4 --overlap any",
	"--model Mixtral-8x7B --system H200 --tp 4 --pp 2 --dp 2 --moe-dp 2 --concurrency 100", "--model DeepSeek-V3 --system H200 --tp 3 --drafts 9", "--model DeepSeek-V3 --system H200 --dp 64 --tp 64 --pp 8 --ep 7", "--model DeepSeek-V3 --system H200 --prefill-plan 2x·tp8·ep8 --decode-plan dp16·tp1·ep16·mtp2 --concurrency 300",
	"--model DeepSeek-V3 --system H200 --prefill-plan tp8·mtp1 --decode-plan tp8·cp2", "--model DeepSeek-V3 --system H200 --prefill-plan 8x·tp8·batch4 --decode-plan tp8", "--model DeepSeek-V3 --system H200 --prefill-plan tp8 --decode-plan what", "--model Llama-3.1-8B --system H200 --over 4 --engine llama.cpp", "--model Llama-3.1-8B --system H200 --over 4 --concurrency 5 --pp 1",
	"--model Llama-3.1-8B --system H200 --context 2000 --isl 3 --phase prefill", "--model Llama-3.1-8B --system H200 --context 2000 --phase decode --cp 2", "--model Llama-3.1-8B --system H200 --gpu-layers 10 --engine llama.cpp", "--model Llama-3.1-8B --system none --decode-system nothing", "--model Llama-31-8B --system H20", "--model Llama-3.1-8B --system H200 --ep-size 2 --engine vllm",
	"--model Llama-3.1-8B --system H200 --isl 1000 --prefix 10 --prefix-hit 0.5", "--model Llama-3.1-8B --system H200 --isl 100:400:100 --tp 1,2 --engine vllm,sglang", "--model Llama-3.1-8B --system H200 --isl 100:x --rate 1,2,x2", "--model Llama-3.1-8B --system H200 --assume physical,causal=false", "--model Llama-3.1-8B --system H200 --assume none",
}

// corrections are what measured runs of a deployment correct.
const corrections = `{"model": "Llama-3.1-8B", "system": "H200", "engine": "vllm", "weights": "bf16", "plan": "dp1·pp1·tp1",
"lengths": [[1024, 128]], "runs": 4, "source": "runs.csv", "decode_scale": 1.1, "prefill_scale": 0.9, "first_token_ms": 12, "first_wave_ms": 20}`

// door leads to these files alone.
var door = files.Held(map[string][]byte{
	"plan.json": []byte(planned), "fitted.json": []byte(corrections), "broken.json": []byte(corrections[:90]),
	"lengths.csv": []byte("input,output,weight\n100,10,3\n3000,200,1\n"),
})

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// texts adds words by what they are of, in the order of their names.
func texts(sums golden.Sums, of string, words map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(words)) {
		sums.Fields(of, name+"="+words[name])
	}
}

// values are words for settings: numbers on both sides of bounds, lists, and what is neither.
var values = []string{
	"0", "1", "2", "8", "64", "0.5", "1.5", "-1", "1e3", "1e999", "NaN", "4k", "2M", "50ms", "2s", "0.5kW", "400W,500W", "true", "false", "",
	"1,2,4", "1:8:*2", "1:4", "p99:2s", "fp8", "FP4", "sglang", "vllm@0.10.0", "trtllm,vllm", "H200", "Llama-3.1-8B", "Mixtral-8x7B", "none", "auto", "uniform:0.5", "lognormal:100",
	"physical", "reference", "prefill", "decode", "both", "agg", "disagg", "2x tp4", "tp2 mtp1", "H200:8,H100_SXM:8", "prefill=H200:8,decode=B200:8", "sys.mem1.GBps=x2", "model.num_hidden_layers=8,engine.x=1",
	"H200=2.5,B200=4", "http://localhost:8000/v1", "X-Key: a", "poisson", "gamma:2", "random", "ttft:200 tpot:50",
}

func drawWords(r *rand.Rand, of question.Command) map[string]string {
	known := question.Settings(of)
	words := map[string]string{}
	if len(known) == 0 {
		return words
	}
	for _, usual := range [][2]string{{"model", "Llama-3.1-8B"}, {"system", "H200"}, {"gpus", "8"}} {
		if _, ok := question.Known(of, usual[0]); ok && r.IntN(6) > 0 {
			words[usual[0]] = usual[1]
		}
	}
	for range 1 + r.IntN(4) {
		s := known[r.IntN(len(known))]
		name := s.Name
		if n := len(s.Aliases); n > 0 && r.IntN(3) == 0 {
			name = s.Aliases[r.IntN(n)]
		}
		switch text := values[r.IntN(len(values))]; {
		case len(s.Choices) > 0 && r.IntN(3) > 0:
			words[name] = s.Choices[r.IntN(len(s.Choices))]
		case s.Kind() == question.Switch && r.IntN(3) > 0:
			words[name] = "true"
		default:
			words[name] = text
		}
	}
	return words
}

// addSettings adds what is said of each setting, and what becomes of words that it is given.
func addSettings(sums golden.Sums) {
	for _, c := range question.Commands {
		for _, s := range question.Settings(c.Command) {
			name := c.Path + " " + s.Name
			sums.Fields("help", s.Help(c.Command))
			found, ok := question.Column(c.Command, strings.ReplaceAll(strings.ToUpper(s.Name), "-", "_"))
			sums.Fields("column", []any{ok, found != nil && found.Name == s.Name})
			for _, text := range values {
				q := question.DefaultOf(c.Command)
				sums.Fields("set", said(s.Set(&q, text))+s.Get(&q))
				a, err := s.Several(door, text)
				if sums.Fields("several", said(err)); a != nil {
					sums.Fields("several", a.Texts)
				}
			}
			sums.Fields("unknown", said(question.Unknown(c.Command, name)))
		}
		sums.Fields("columns", question.Columns(c.Command))
	}
}

// addQuestion adds a question, and the deployment that it fixes, without what the files say.
func addQuestion(sums golden.Sums, of question.Command, words map[string]string) {
	name := of.Paths()[0]
	curves, rest, err := question.Curves(door, of, words)
	for _, c := range curves {
		if sums.Fields(name+" curves", c.Name+said(err)); c.Axis != nil {
			sums.Fields(name+" curves", c.Texts)
		}
	}
	q := question.NewFixedQuery(door, of, rest)
	sums.Fields(name+" wrong", said(q.Wrong))
	sums.Fields(name+" refused", said(q.Refused()))
	texts(sums, name+" words", q.Question.Words(of))
	sums.Fields(name+" check", said(q.Check(of)))
	ttft, tpot := q.GoalsOf()
	sums.Fields(name+" goals", []any{ttft, tpot, q.Limits(), q.Simulates(), q.Clients(), q.Split(), len(q.Phases()), q.OpenBatch(), q.PowerLimits(), q.DatasetName()})
	sums.Fields(name+" lengths", q.Lengths())
	n, err := q.Spread()
	sums.Fields(name+" spread", []any{n, said(err)})
	terms, err := q.Terms(q.Given)
	sums.Fields(name+" terms", []any{terms, said(err)})
	sums.Fields(name+" problems", fmt.Sprint(q.Problems()))
	sums.Fields(name+" files", fmt.Sprint(q.Files(), q.Watched()))
	contents, err := q.Contents()
	sums.Fields(name+" contents", said(err))
	for name := range contents {
		sums.Fields("content", name)
	}
	l, err := q.Load()
	sums.Fields(name+" once", said(question.Once(document.Join(err, err, q.Wrong))))
	if sums.Fields(name+" load", said(err)); err != nil || l == nil {
		l, err = q.Read()
		if sums.Fields(name+" read", said(err)); err != nil || l == nil {
			return
		}
	}
	addLoaded(sums, name, l)
	for _, remark := range question.Warnings(l.Warnings) {
		sums.Fields(name+" warning", remark.String())
	}
	for _, remark := range q.Ineffective(l) {
		sums.Fields(name+" without effect", remark.String())
	}
	for _, p := range l.Idle(of, func(string) bool { return true }) {
		sums.Fields(name+" idle", p.Path+p.Message)
	}
	addDeployed(sums, name, l, &q.Question)
}

func addDeployed(sums golden.Sums, name string, l *question.Loaded, q *question.Question) {
	d, errs := l.Deploy(q)
	sums.Fields(name+" refuses", fmt.Sprint(errs))
	sums.Fields(name+" deploys", []any{d.Acceptance, d.Unstated, d.Versioned, d.OpenBatch, d.GPUsPerNode, d.ServerOptions, d.Precision, d.Offload})
	for i := range d.Pools {
		sums.Fields(name+" pool", []any{int(d.Pools[i].Role), d.Pools[i].Count, &d.Pools[i].Plan})
	}
}

func addLoaded(sums golden.Sums, name string, l *question.Loaded) {
	sums.Fields(name+" on", l.On(l.GPUs))
	sums.Fields(name+" searched", []any{l.SearchedLimits(), l.PerHour, l.Watts, len(l.Shares), l.Lengths, l.Fit(l.Lengths)})
	for _, s := range l.Shares {
		sums.Fields(name+" share", []any{int(s.Role), s.Ref, s.GPUs, s.PerHour, s.Watts})
	}
	under := l.Under(300)
	sums.Add(name+" under", "watts", under.Prefill.PowerLimit+under.Decode.PowerLimit)
	prices, err := l.Prices(l.Price)
	sums.Fields(name+" prices", said(err))
	for _, s := range []*hardware.System{l.Prefill, l.Decode} {
		dollars, own := prices(s)
		sums.Fields(name+" price", []any{dollars, own != nil})
	}
	engines, err := l.Engines(l.Engine)
	sums.Fields(name+" engines", said(err))
	for _, e := range engines {
		sums.Fields(name+" engine", e.Name)
	}
	if l.Clients() {
		served := l.Service(l.Lengths)
		texts(sums, name+" serves", served.Words(question.Estimate))
	}
	for _, phase := range l.Phases() {
		sums.Fields(name+" phase", phase == op.Prefill)
	}
}

// rowCells are columns of public tables, and words for each.
var rowCells = map[string][]string{
	"model": {"Qwen/Qwen3-32B", "meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-V3", "Qwen3-9B", "openai/gpt-oss-120b", "Qwen3-235B-A22B-FP8", "nobody"}, "model_path": {"Mixtral-8x7B"},
	"system": {"h200_sxm", "H100", "b200", "8xH200", "GB200 NVL72", "H100 (limited to 500 W)", "TPU v5e"}, "gpu": {"H200"},
	"engine": {"sglang 0.5.9", "vllm", "trtllm", "TensorRT-LLM 1.0.0rc3", "dynamo-sglang", "tgi"}, "version": {"0.5.9", "0.10.1", "", "1.0"}, "backend": {"vllm"}, "backend_version": {"0.9.2"},
	"precision": {"fp8", "fp4", "bf16", "int4", "w4a16", "nvfp4", "mxfp4"}, "weights": {"fp8", "NVFP4", "awq"}, "cache": {"fp8", "bf16", "auto"}, "gemm_quant_mode": {"fp8_block", "nvfp4", "int4_wo"}, "moe_quant_mode": {"fp8", "nvfp4", "w4a16"},
	"mode": {"agg", "disagg", "Disagg", "half"}, "disagg": {"yes", "no", "true"},
	"isl": {"1024", "8192", "1000.5", "0", "-1", "many"}, "osl": {"1024", "128", "500.4", "0", ""}, "isl_osl": {"1024/1024", "8k/1k", "512+64", "x"},
	"concurrency": {"16", "64", "1024", "4/GPU", "inf", "0"}, "achieved_concurrency": {"15.6", "0.2", "-3"}, "request_rate": {"4", "inf", "0.5", "x"}, "arrival": {"poisson", "gamma:2", "burst"},
	"num_gpus": {"8", "4", "1", "16"}, "gpus": {"8", "2x8", "1 node"}, "instances": {"1", "2", "3"}, "num_prompts": {"500", "1000", "10 per client", "all"},
	"tp": {"1", "2", "4", "8", "8.0", "0", "x"}, "tp_size": {"8"}, "pp": {"1", "2", "0"}, "dp": {"1", "2", "0"}, "ep": {"1", "8", "0"}, "moe_tp": {"1", "4"}, "layout": {"TP8", "TP4 EP4", "DP8 TP1", "tp2pp2", "2 x TP4", "whole"},
	"batch_size": {"16", "1"}, "dp_attention": {"yes", "no", "true"}, "redundant": {"32"}, "overlap": {"two-batch", "none", "tbo", "x"},
	"prefill_num_workers": {"1", "2", "0"}, "prefill_tp_size": {"4", "8", "0"}, "prefill_attention_dp_size": {"4", "1"}, "prefill_moe_ep_size": {"8"}, "prefill_workers": {"3 (of 2 nodes)"},
	"decode_num_workers": {"1", "3"}, "decode_tp_size": {"8", "4"}, "decode_attention_dp_size": {"8", "16"}, "decode_moe_ep_size": {"8", "32"}, "decode_batch_size": {"64"}, "decode_overlap": {"two-batch", "x"},
	"spec": {"mtp", "eagle3", "none", "unknown", "MTP 3"}, "spec_tokens": {"3", "1", "x"}, "drafts": {"2", "0"}, "accept_length": {"2.4", "1", "9"},
	"lengths": {"fixed", "uniform:0.5", "lognormal:300"}, "length_spread": {"random, range ratio 0.8", "sharegpt", "fixed", "lengths uniform 1..nominal", "means in=1741 out=760"}, "measured_output_mean": {"760", "128.4"}, "measured_output_len_mean": {"900"},
	"benchmark": {"InferenceMAX", "mlperf", "sglang.bench_serving", "genai-perf"}, "date": {"2025-10-29", "2026-04"}, "prefix_hit": {"0.5", "50%"}, "prefix": {"512"}, "printed": {"tok/s"}, "note": {"one of three"},
	"flags":                {"--max-running-requests 64 --mem-fraction-static 0.8", "--enable-dp-attention --dp 8", "--no-enable-prefix-caching --max-num-seqs=128", "--disable-cuda-graph"},
	"max-running-requests": {"64", "1000"}, "max_running_requests": {"64"}, "max-num-seqs": {"128", "256.0"}, "chunked_prefill_size": {"8192", "-1"}, "power_limit": {"500 W", "400"}, "seed": {"7"}, "full": {"true"},
	"acceptance": {"0.8,0.6", "0.9"}, "requests_per_client": {"10"}, "repeated": {"0.5"}, "prompt_tokens": {"1100"}, "workers": {"2"}, "attention_backend": {"flashinfer", "fa3"},
}

// rowColumns are the columns in an order that does not change.
var rowColumns = slices.Sorted(maps.Keys(rowCells))

func drawRow(r *rand.Rand) map[string]string {
	row := map[string]string{}
	for i, name := range []string{"model", "system", "engine", "precision", "isl", "osl", "concurrency", "tp"} {
		if r.IntN(8) > 0 {
			row[name] = rowCells[name][r.IntN(max(1, min(len(rowCells[name]), 2+(i+r.IntN(2)*5))))]
		}
	}
	for range 2 + r.IntN(9) {
		name := rowColumns[r.IntN(len(rowColumns))]
		row[name] = rowCells[name][r.IntN(len(rowCells[name]))]
	}
	return row
}

// addRow adds what a row is in the columns of questions, and the question that it asks.
func addRow(sums golden.Sums, reader *rows.Reader, row map[string]string, measured bool) {
	header := slices.Sorted(maps.Keys(row))
	var cells []string
	for _, name := range header {
		cells = append(cells, row[name])
		sums.Fields("run column", []any{question.IsRunColumn(name), rows.Replaced(name)})
	}
	of := rows.Row{Cell: names.Header(header).Of(cells)}
	read := reader.Cells(of, measured)
	texts(sums, "cells", read)
	sums.Fields("weights", of.Weights())
	drafts, err := of.Drafts()
	sums.Fields("drafts", []any{drafts, said(err)})
	for _, name := range header {
		sums.Fields("completed", of.Completed().Get(name))
	}
	for from, cell := range map[string]func(string) string{"canonical": reader.Canonical(of, measured).Cell, "plain": of.Cell} {
		q, err := question.OfRun(question.Default(), cell)
		again := map[string]string{}
		question.RunCells(&q, again)
		texts(sums, from, again)
		if l, wrong := q.Read(); err == nil && wrong == nil {
			addDeployed(sums, from, l, &q)
		}
		sums.Fields(from, []any{said(err), q.Measurement, q.Traffic.Requests, q.FittedBy(workload.Lengths{Input: 7, Output: 5})})
	}
}
