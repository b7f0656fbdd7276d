package validate

import (
	"math"
	"strings"
	"testing"

	"throughline/engine"
	"throughline/internal/point"
	"throughline/internal/question"
)

const stepHeader = "model,chip,gpus,engine,tp,dp,ep,precision,phase,sequences_per_rank,new_tokens_per_rank,kv_tokens_per_rank,time_ms\n"

// TestSteps: a step takes what estimate says of it and, since no other is under way, what the host
// of the engine adds: for its sequences, for handing 2513 tokens of prompts to a replica of one
// GPU, which is sent none, or one to eight, and for four more tables of blocks than other models
// have. 13 sequences that decode run in the graph of 16, with as many cached tokens, and so do 13
// prompts of a token more than is cached.
func TestSteps(t *testing.T) {
	const rows = "meta-llama/Llama-3.1-70B-Instruct,h200,8,vllm,8,1,1,fp8,decode,13,13,15987,10\n" +
		"deepseek-ai/DeepSeek-V3.2,b200,8,vllm,1,8,8,nvfp4,prefill,2,513,2000,100\n" +
		"deepseek-ai/DeepSeek-V4-Flash,b200,4,vllm,4,1,4,fp8+mxfp4 (checkpoint),decode,8,8,64,9\n" +
		"meta-llama/Llama-3.1-70B-Instruct,h200,8,vllm,8,1,1,fp8,prefill,13,13,12987,10\n"
	r, err := Steps(t.Context(), "steps.csv", strings.NewReader(stepHeader+rows), question.DefaultOf(question.Steps))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(model, system, weights string, tp, dp, ep, moeTP int) question.Question {
		q := question.Default()
		q.Model, q.System, q.Engine, q.Formats.Weights, q.TP, q.DP, q.EP, q.MoETP = model, system, "vllm", weights, tp, dp, ep, moeTP
		return q
	}
	dense := ask("Llama-3.1-70B", "H200", "fp8", 8, 1, 0, 1)
	dense.Phase, dense.Batch, dense.Context = question.Decode, 16, 1000
	prompts := ask("DeepSeek-V3.2", "B200", "nvfp4", 1, 8, 8, 1)
	prompts.Phase, prompts.Batch, prompts.Prefix, prompts.Input, prompts.Output = question.Prefill, 2, 1000, 1257, 1
	published := ask("DeepSeek-V4-Flash", "B200", "", 4, 1, 4, 1)
	published.Phase, published.Batch, published.Context = question.Decode, 8, 9
	engines, err := engine.Choices("vllm")
	if err != nil {
		t.Fatal(err)
	}
	host := engines[0].Scheduling.Scheduling
	more := []float64{
		13 * host.SequenceSeconds, 2*host.SequenceSeconds + host.PreparedSeconds + 2513*host.HandedSeconds,
		8*host.SequenceSeconds + 4*(host.GroupSeconds+8*host.GroupSequenceSeconds),
		13*host.SequenceSeconds + host.PreparedSeconds + 13000*(host.HandedSeconds+host.SentSeconds),
	}
	for i, q := range []question.Question{dense, prompts, published, dense} {
		answer, err := point.NewEstimator().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		f := r.Rows[i].Figures[0]
		want := 1e3 * (answer.Phases[0].Estimate.StepTime + host.StepSeconds + more[i])
		if math.Abs(f.Predicted-want) > 1e-9 || f.Reason != "" {
			t.Errorf("row %d: %v ms (%s), want %v", i, f.Predicted, f.Reason, want)
		}
	}
	var b strings.Builder
	if err := r.WriteCSV(&b); err != nil || !strings.HasPrefix(b.String(), strings.TrimSpace(stepHeader)+",predicted_ms,error_percent,reason\n") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestStepReasons: what cannot be predicted says why, all of it, and leaves the other rows alone.
func TestStepReasons(t *testing.T) {
	const rows = "no-such-model,b200,8,vllm,8,1,8,nvfp4,decode,16,16,16000,10\n" +
		"GLM-5.2,b200,16,vllm,8,1,8,nvfp4,decode,16,16,16000,10\n" +
		"GLM-5.2,b200,8,vllm,8,1,8,nvfp4,mixed,,16,x,10\n" +
		"GLM-5.2,b200,8,vllm,8,1,8,nvfp4,decode,16,8,16000,10\n" +
		"GLM-5.2,b200,8,vllm,8,1,8,nvfp9,decode,16,16,16000,10\n" +
		"GLM-5.2,b200,8,vllm,8,1,8,nvfp4,decode,16,16,16000,\n"
	r, err := Steps(t.Context(), "steps.csv", strings.NewReader(stepHeader+rows), question.DefaultOf(question.Steps))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"no-such-model"}, {"not the 16 GPUs"}, {"neither prefill nor decode", "sequences_per_rank", "kv_tokens_per_rank"}, {"less than one"}, {"nvfp9"}} {
		for _, w := range want {
			if reason := r.Rows[i].Figures[0].Reason; !strings.Contains(reason, w) {
				t.Errorf("row %d: reason %q, want %q", i, reason, w)
			}
		}
	}
	if f := r.Rows[5].Figures[0]; f.Reason != "" || !(f.Predicted > 0) {
		t.Errorf("a step that nobody timed: %+v", f)
	}
	if _, err := Steps(t.Context(), "steps.csv", strings.NewReader("model,chip\n"), question.DefaultOf(question.Steps)); err == nil || !strings.Contains(err.Error(), `"gpus"`) {
		t.Errorf("a table without columns: %v", err)
	}
}

// TestAlikePrompts: prompts of one token repeated read the experts that one token visits, and so
// take less than others where tokens are few; many take no longer.
func TestAlikePrompts(t *testing.T) {
	const model = "Qwen/Qwen3-235B-A22B,b200,4,vllm,4,1,"
	const rows = model + "1,fp8,prefill,1,128,0,,\n" + model + "1,fp8,prefill,1,128,0,,engine self-benchmark grid\n" +
		model + "4,fp8,prefill,1,8192,0,,\n" + model + "4,fp8,prefill,1,8192,0,,engine self-benchmark grid\n"
	header := strings.TrimSuffix(stepHeader, "\n") + ",measured_by\n"
	r, err := Steps(t.Context(), "steps.csv", strings.NewReader(header+rows), question.DefaultOf(question.Steps))
	if err != nil {
		t.Fatal(err)
	}
	ms := func(i int) float64 { return r.Rows[i].Figures[0].Predicted }
	// 128 tokens of even experts visit nearly all of 128, alike ones 8: 94 layers read 3·4096·1536
	// bytes of each expert less, on four GPUs of 7.7 TB/s.
	if saved, least := ms(0)-ms(1), 1e3*94*(0.9*128-8)*3*4096*1536/4/7.7e12; !(saved > least) {
		t.Errorf("128 tokens that are alike take %.2f ms less, at least %.2f", saved, least)
	}
	if ms(3) > ms(2) {
		t.Errorf("8192 tokens that are alike take %.1f ms, others %.1f", ms(3), ms(2))
	}
}

// TestUncapturedSteps: 513 sequences of a model that nothing compiles are launched one by one,
// which takes three times as long as the graph of 512 at least; those of one that is compiled take
// as long as prompts of 513 tokens, if the host decides, and less than twice as long as the graph.
// Behind cached tokens the scores of an indexer are
// bounded by 512 MiB: 128 queries see a million entries at a time, so that eight times as many take
// longer by eight launches.
func TestUncapturedSteps(t *testing.T) {
	const v4, glm = "deepseek-ai/DeepSeek-V4-Flash,b200,4,vllm,4,1,4,fp8+mxfp4 (checkpoint),", "nvidia/GLM-5.2-NVFP4,b200,8,vllm,8,1,8,nvfp4,"
	const rows = v4 + "decode,512,512,1024,\n" + v4 + "decode,513,513,1026,\n" + glm + "decode,512,512,1024,\n" + glm + "decode,513,513,1026,\n" +
		glm + "prefill,1,128,1048448,\n" + glm + "prefill,1,1024,1047552,\n"
	r, err := Steps(t.Context(), "steps.csv", strings.NewReader(stepHeader+rows), question.DefaultOf(question.Steps))
	if err != nil {
		t.Fatal(err)
	}
	ms := func(i int) float64 { return r.Rows[i].Figures[0].Predicted }
	if ms(1) < 3*ms(0) {
		t.Errorf("513 sequences take %.1f ms, 512 take %.1f", ms(1), ms(0))
	}
	if ms(3) > 2*ms(2) || ms(3) <= ms(2) {
		t.Errorf("compiled: 513 sequences take %.1f ms, 512 take %.1f", ms(3), ms(2))
	}
	// A tile takes 2·128·128 operations for each of 2^20 entries on one of 148 multiprocessors that
	// reach 0.45 of 4500 T/s together, in 21 layers.
	launch := 1e3 * 21 * 2 * 128 * 128 * (1 << 20) * 148 / (0.45 * 4500e12)
	if more := ms(5) - ms(4); more < 7*launch || more > 8*launch+100 {
		t.Errorf("seven more launches of %.1f ms take %.1f", launch, more)
	}
}
