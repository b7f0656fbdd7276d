package point

import (
	"math"
	"testing"

	"throughline/engine"
	"throughline/internal/question"
)

// TestPromptLaunches counts what hosts launch for a short prompt over 8 ranks, besides the embedding, the last norm, the head and the choice of a token.
// TensorRT-LLM: a layer of Llama-3.1-70B with one scale of 8 bits has two norms, in which the all-reduces are, four products, attention with positions
// and cache, the quantisation of its result, and the activation: 9. Qwen3-235B with experts: two norms, the products of attention, norms and positions
// of heads, attention, its quantisation; router, choice, quantisation and the experts: 11. DeepSeek-V3 in FP8 blocks: 11 in the attention of a layer, with four
// quantisations; 7 in the rest of 3 dense layers, with two norms, and 12 in that of 58 others, of which the shared experts are 6. In SGLang positions,
// both all-reduces and a quantisation in front of each of four products are launches of their own: 15.
func TestPromptLaunches(t *testing.T) {
	for _, c := range []struct {
		engine, model, weights string
		moeTP                  int
		want                   float64
	}{
		{"trtllm", "Llama-3.1-70B", "fp8", 1, 80 * 9}, {"trtllm", "Qwen3-235B-A22B", "fp8", 8, 94 * 11},
		{"trtllm", "DeepSeek-V3", "fp8", 8, 61*11 + 3*7 + 58*12}, {"sglang", "Llama-3.1-70B", "fp8", 1, 80 * 15},
	} {
		q := question.Default()
		q.Engine, q.Model, q.System, q.Formats.Weights = c.engine, c.model, "B200", c.weights
		q.TP, q.MoETP, q.EP, q.Batch, q.Phase, q.Input, q.Output = 8, c.moeTP, 1, 1, question.Prefill, 16, 1
		answer, err := NewEstimator().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		engines, err := engine.Choices(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		e := answer.Phases[0].Estimate
		if e.LaunchTime == 0 {
			t.Errorf("%s, %s: %v s do not wait for launches", c.engine, c.model, e.StepTime)
		}
		if got := e.StepTime/engines[0].Scheduling.PromptLaunchSeconds - 4; math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s, %s: %v launches, by hand %v", c.engine, c.model, got, c.want)
		}
	}
}
