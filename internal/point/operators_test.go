package point

import (
	"testing"

	"throughline/internal/question"
)

// TestOperatorsByHand counts what a token of three families multiplies behind 1,000 others, weight
// by weight, as vLLM has them (a014e35f: vllm/model_executor/models/nemotron_h.py,
// vllm/model_executor/layers/mamba/gdn/kimi_gdn_linear_attn.py) and Hugging Face (ernie4_5_moe).
func TestOperatorsByHand(t *testing.T) {
	const context = 1000
	e := NewEstimator()
	e.examines = true
	for model, c := range map[string]struct {
		weights, besides float64 // multiplied once; operations of attention and states
	}{
		"ERNIE-4.5-21B-A3B": {
			// 20 and 4 heads of 128; a dense layer; 6 of 64 experts and two shared ones; the head.
			28*2560*128*(20+2*4+20) + 3*2560*12288 + 27*(8*3*2560*1536+2560*64) + 103424*2560,
			28 * 4 * context * 20 * 128,
		},
		"Nemotron-3-Nano-30B-A3B": {
			// Mamba: two inputs of 64 heads of 64, B and C of 8 groups of 128, a step for each head;
			// 6 layers of 32 and 2 heads of 128; 6 of 128 experts and one of twice their width.
			23*2688*(2*4096+2*8*128+64+4096) + 6*2688*128*(32+2*2+32) + 23*(2*2688*(6*1856+3712)+2688*128) + 131072*2688,
			23*4*64*64*128 + 6*4*context*32*128,
		},
		"Kimi-Linear-48B-A3B": {
			// Delta attention: queries, keys, values of 32 heads of 128, decays and gates by way of 128,
			// a step for each head. Seven layers of latent attention, absorbed into 512. 8 of 256 and one.
			20*(2304*(3*4096+2*128+32+4096)+2*128*4096) +
				7*(2304*(32*192+512+64+4096)+32*512*(128+128)) +
				3*2304*9216 + 26*(9*3*2304*1024+2304*256) + 163840*2304,
			20*6*32*128*128 + 7*2*context*32*(512+64+512),
		},
	} {
		q := llama()
		q.Model, q.TP, q.Batch, q.Engine, q.System = model, 1, 1, "vllm", "H200"
		q.Phase, q.Assume, q.Context = question.Decode, "physical", context
		a, err := e.Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, o := range a.Phases[0].Operators {
			if o.Peak.Engine == "cube" {
				got += o.Flops * o.Repeat
			}
		}
		near(t, model, got, 2*c.weights+c.besides)
	}
}
