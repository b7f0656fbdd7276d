package op_test

import (
	"testing"

	"throughline/internal/test/builtin"
	"throughline/op"
)

// counted is a model counted by hand from its published config and modelling code: parameters that
// operators hold, those that a token is multiplied with, cached elements that a token adds, and
// bytes of state of a sequence.
type counted struct {
	name          string
	total, active float64
	cached, state float64
}

// gated is a feed-forward block of gate, up and down.
func gated(hidden, width float64) float64 { return 3 * hidden * width }

// grouped is queries, keys and values, and output, of heads of one size.
func grouped(hidden, heads, kv, dim float64) float64 {
	return hidden*(heads+2*kv)*dim + heads*dim*hidden
}

// TestFamiliesByHand counts a model of every family. Norms, which are held but not multiplied with,
// stand in brackets of their own; filters of convolutions and biases belong to no operator. Where
// embeddings are tied, the output projection is the embedding.
func TestFamiliesByHand(t *testing.T) {
	for _, c := range []counted{
		qwen25(), qwen3(), qwen35(), qwen3Next(), gemma2(), gemma3(), mistralSmall(), mistralLarge2(), mistralLarge3(), ernie(), gptOSS(),
		miniMaxM1(), miniMaxM2(), kimiLinear(), nemotronH(), nemotronNano(), nemotronSuper(), granite(), glm4(), phi4(), hy3(),
	} {
		m, set := builtin.Model(t, c.name)
		set.SharedReplicas = m.Experts.Shared
		weights, flops, state := wholeModel(t, m, set, op.Group{Phase: op.Decode, New: 1, Context: 1})
		bytes(t, c.name+": parameters", weights, c.total)
		bytes(t, c.name+": multiplied per token", flops/2, c.active)
		bytes(t, c.name+": cached per token", m.CacheGrowth(1), c.cached)
		bytes(t, c.name+": state of a sequence", state, c.state)
	}
}

// 28 layers of 28 heads, 4 of keys and values.
func qwen25() counted {
	const h = 3584
	layers := 28 * (grouped(h, 28, 4, 128) + gated(h, 18944))
	return counted{"Qwen2.5-7B", 2*152064*h + layers + (28*2*h + h), 152064*h + layers, 28 * 2 * 4 * 128, 0}
}

// Norms of queries and keys, over a head of 128.
func qwen3() counted {
	const h = 1024
	layers := 28 * (grouped(h, 16, 8, 128) + gated(h, 3072))
	return counted{"Qwen3-0.6B", 151936*h + layers + (28*(2*h+2*128) + h), 151936*h + layers, 28 * 2 * 8 * 128, 0}
}

// 24 layers of gated delta nets: queries and keys of 16 heads, values and gate of 32, decay and
// strength of 32; 8 of attention with a gate as wide as the queries, and norms of heads of 256.
func qwen35() counted {
	const h = 4096
	linear := h*(2*16*128+2*32*128+2*32) + 32.*128*h
	attention := grouped(h, 16, 4, 256) + h*16*256
	layers := 24*linear + 8*attention + 32*gated(h, 12288)
	return counted{
		"Qwen3.5-9B", 2*248320*h + layers + (24*128 + 8*2*256 + 32*2*h + h), 248320*h + layers,
		8 * 2 * 4 * 256, 24 * 4 * (32*128*128 + 3*(2*16*128+32*128)),
	}
}

// The same with 12 + 36 layers, and experts of width 512: 10 of 512, and one for all.
func qwen3Next() counted {
	const h, expert = 2048, 3 * 2048 * 512
	linear := h*(2*16*128+2*32*128+2*32) + 32.*128*h
	attention := grouped(h, 16, 2, 256) + h*16*256
	same := 36*linear + 12*attention + 48*h*512
	return counted{
		"Qwen3-Next-80B-A3B", 2*151936*h + same + 48*513*expert + (36*128 + 12*2*256 + 48*2*h + h), 151936*h + same + 48*11*expert,
		12 * 2 * 2 * 256, 36 * 4 * (32*128*128 + 3*(2*16*128+32*128)),
	}
}

// Four norms in a layer; every other layer has a window, which does not grow.
func gemma2() counted {
	const h = 3584
	layers := 42 * (grouped(h, 16, 8, 256) + gated(h, 14336))
	return counted{"Gemma-2-9B", 256000*h + layers + (42*4*h + h), 256000*h + layers, 21 * 2 * 8 * 256, 0}
}

// Six in a layer; five of six layers have a window.
func gemma3() counted {
	const h = 3840
	layers := 48 * (grouped(h, 16, 8, 256) + gated(h, 15360))
	return counted{"Gemma-3-12B", 262208*h + layers + (48*(4*h+2*256) + h), 262208*h + layers, 8 * 2 * 8 * 256, 0}
}

// Devstral and Magistral, too. Heads are narrower than the stream.
func mistralSmall() counted {
	const h = 5120
	layers := 40 * (grouped(h, 32, 8, 128) + gated(h, 32768))
	return counted{"Mistral-Small-24B", 2*131072*h + layers + (40*2*h + h), 131072*h + layers, 40 * 2 * 8 * 128, 0}
}

func mistralLarge2() counted {
	const h = 12288
	layers := 88 * (grouped(h, 96, 8, 128) + gated(h, 28672))
	return counted{"Mistral-Large-2", 2*32768*h + layers + (88*2*h + h), 32768*h + layers, 88 * 2 * 8 * 128, 0}
}

// Latent attention of 128 heads: queries through 1536, keys and values through 512 and 64; 3 dense
// layers, 58 with 4 of 128 experts and one for all.
func mistralLarge3() counted {
	const h, expert = 7168, 3 * 7168 * 4096
	attention := h*1536 + 1536.*128*(128+64) + h*(512+64) + 512.*128*(128+128) + 128.*128*h
	same := 61*attention + 3*gated(h, 16384) + 58*h*128
	return counted{
		"Mistral-Large-3", 2*131072*h + same + 58*129*expert + (61*(1536+512+2*h) + h), 131072*h + same + 58*5*expert, 61 * (512 + 64), 0,
	}
}

// One dense layer, 27 with 6 of 64 experts and two for all.
func ernie() counted {
	const h, expert = 2560, 3 * 2560 * 1536
	same := 28*grouped(h, 20, 4, 128) + gated(h, 12288) + 27*h*64
	return counted{"ERNIE-4.5-21B-A3B", 103424*h + same + 27*66*expert + (28*2*h + h), 103424*h + same + 27*8*expert, 28 * 2 * 4 * 128, 0}
}

// Every other layer has a window of 128; 4 of 32 experts. Sinks are one number for each head,
// biases one for each output.
func gptOSS() counted {
	const h, expert = 2880, 3 * 2880 * 2880
	same := 24*grouped(h, 64, 8, 64) + 24*h*32
	return counted{"gpt-oss-20b", 2*201088*h + same + 24*32*expert + (24*2*h + h), 201088*h + same + 24*4*expert, 12 * 2 * 8 * 64, 0}
}

// 70 layers of lightning attention: queries, keys, values and gate of 64 heads of 128; 10 of
// attention; 2 of 32 experts.
func miniMaxM1() counted {
	const h, expert = 6144, 3 * 6144 * 9216
	linear := h*4*64*128 + 64.*128*h
	same := 70*linear + 10*grouped(h, 64, 8, 128) + 80*h*32
	return counted{
		"MiniMax-M1", 2*200064*h + same + 80*32*expert + (70*128 + 80*2*h + h), 200064*h + same + 80*2*expert,
		10 * 2 * 8 * 128, 70 * 4 * 64 * 128 * 128,
	}
}

// Norms over all heads of queries, and of keys; 8 of 256 experts.
func miniMaxM2() counted {
	const h, expert = 3072, 3 * 3072 * 1536
	same := 62*grouped(h, 48, 8, 128) + 62*h*256
	return counted{
		"MiniMax-M2", 2*200064*h + same + 62*256*expert + (62*((48+8)*128+2*h) + h), 200064*h + same + 62*8*expert, 62 * 2 * 8 * 128, 0,
	}
}

// 20 layers of delta attention with 32 heads of 128: queries, keys and values; decays of channels
// and the output gate through a rank of 128, strengths of heads. 7 of latent attention with direct
// queries. One dense layer, 26 with 8 of 256 experts and one for all.
func kimiLinear() counted {
	const h, expert, inner = 2304, 3 * 2304 * 1024, 32 * 128
	delta := 3*h*inner + 2*128*(h+inner) + h*32. + inner*h
	latent := h*32.*(128+64) + h*(512+64) + 512.*32*(128+128) + 32.*128*h
	same := 20*delta + 7*latent + gated(h, 9216) + 26*h*256
	return counted{
		"Kimi-Linear-48B-A3B", 2*163840*h + same + 26*257*expert + (20*128 + 7*512 + 27*2*h + h), 163840*h + same + 26*9*expert,
		7 * (512 + 64), 20 * 4 * (32*128*128 + 3*3*inner),
	}
}

// mamba is a Mamba-2 block: gate and x, B and C of 8 groups, steps of the heads; output. The norm
// of what the state returns stands apart.
func mamba(hidden, heads, dim, groups, state float64) float64 {
	return hidden*(2*heads*dim+2*groups*state+heads) + heads*dim*hidden
}

// 52 blocks, each with one norm: 24 of Mamba, 4 of attention, 24 of up and down.
func nemotronH() counted {
	const h = 4096
	layers := 24*mamba(h, 128, 64, 8, 128) + 4*grouped(h, 32, 8, 128) + 24*2*h*21504.
	return counted{
		"Nemotron-H-8B", 2*131072*h + layers + (24*128*64 + 52*h + h), 131072*h + layers,
		4 * 2 * 8 * 128, 24 * 4 * (128*64*128 + 3*(128*64+2*8*128)),
	}
}

// 23 of Mamba, 6 of attention, 23 with 6 of 128 experts of up and down, and one of twice the width
// for all.
func nemotronNano() counted {
	const h, expert = 2688, 2 * 2688 * 1856
	same := 23*mamba(h, 64, 64, 8, 128) + 6*grouped(h, 32, 2, 128) + 23*(h*128+2*expert)
	return counted{
		"Nemotron-3-Nano-30B-A3B", 2*131072*h + same + 23*128*expert + (23*64*64 + 52*h + h), 131072*h + same + 23*6*expert,
		6 * 2 * 2 * 128, 23 * 4 * (64*64*128 + 3*(64*64+2*8*128)),
	}
}

// 40 of Mamba, 8 of attention, 40 with 22 of 512 experts, which see tokens projected down to 1024;
// the one for all sees them as they are.
func nemotronSuper() counted {
	const h, expert = 4096, 2 * 1024 * 2688
	same := 40*mamba(h, 128, 64, 8, 128) + 8*grouped(h, 32, 2, 128) + 40*(h*512+2*h*1024+2*h*5376)
	return counted{
		"Nemotron-3-Super-120B-A12B", 2*131072*h + same + 40*512*expert + (40*128*64 + 88*h + h), 131072*h + same + 40*22*expert,
		8 * 2 * 2 * 128, 40 * 4 * (128*64*128 + 3*(128*64+2*8*128)),
	}
}

// 36 layers of Mamba with one group, 4 of attention, each with 6 of 64 experts and one of twice the
// width for all.
func granite() counted {
	const h, expert = 1536, 3 * 1536 * 512
	same := 36*mamba(h, 48, 64, 1, 128) + 4*grouped(h, 12, 4, 128) + 40*(h*64+2*expert)
	return counted{
		"Granite-4.0-H-Tiny", 100352*h + same + 40*64*expert + (36*48*64 + 40*2*h + h), 100352*h + same + 40*6*expert,
		4 * 2 * 4 * 128, 36 * 4 * (48*64*128 + 3*(48*64+2*128)),
	}
}

// Four norms in a layer.
func glm4() counted {
	const h = 4096
	layers := 40 * (grouped(h, 32, 2, 128) + gated(h, 13696))
	return counted{"GLM-4-9B-0414", 2*151552*h + layers + (40*4*h + h), 151552*h + layers, 40 * 2 * 2 * 128, 0}
}

func phi4() counted {
	const h = 5120
	layers := 40 * (grouped(h, 40, 10, 128) + gated(h, 17920))
	return counted{"Phi-4", 2*100352*h + layers + (40*2*h + h), 100352*h + layers, 40 * 2 * 10 * 128, 0}
}

// One dense layer, 79 with 8 of 192 experts and one for all.
func hy3() counted {
	const h, expert = 4096, 3 * 4096 * 1536
	same := 80*grouped(h, 64, 8, 128) + gated(h, 13312) + 79*h*192
	return counted{"Hy3", 2*120832*h + same + 79*193*expert + (80*(2*h+2*128) + h), 120832*h + same + 79*9*expert, 80 * 2 * 8 * 128, 0}
}
