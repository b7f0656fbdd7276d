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

// TestSteps: a step takes what estimate says of it and, since no other is under way, what the host of the engine adds.
func TestSteps(t *testing.T) {
	const rows = "meta-llama/Llama-3.1-70B-Instruct,h200,8,vllm,8,1,1,fp8,decode,16,16,16000,10\n" +
		"deepseek-ai/DeepSeek-V3.2,b200,8,vllm,1,8,8,nvfp4,prefill,2,513,2000,100\n" +
		"deepseek-ai/DeepSeek-V4-Flash,b200,4,vllm,4,1,4,fp8+mxfp4 (checkpoint),decode,8,8,64,9\n"
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
	dense.Phase, dense.Batch, dense.Context = question.Decode, 16, 1001
	prompts := ask("DeepSeek-V3.2", "B200", "nvfp4", 1, 8, 8, 1)
	prompts.Phase, prompts.Batch, prompts.Prefix, prompts.Input, prompts.Output = question.Prefill, 2, 1000, 1257, 1
	published := ask("DeepSeek-V4-Flash", "B200", "", 4, 1, 4, 1)
	published.Phase, published.Batch, published.Context = question.Decode, 8, 9
	engines, err := engine.Choices("vllm")
	if err != nil {
		t.Fatal(err)
	}
	host := engines[0].Scheduling.Scheduling
	for i, q := range []question.Question{dense, prompts, published} {
		answer, err := point.NewEstimator().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		f := r.Rows[i].Figures[0]
		want := 1e3 * (answer.Phases[0].Estimate.StepTime + host.StepSeconds + float64(q.Batch)*host.SequenceSeconds)
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
