package model_test

import (
	"math"
	"testing"

	"throughline/internal/test/builtin"
	"throughline/model"
)

// What publishers count as active.
const (
	everything   = iota // all that a token uses, embedding and output head among it
	outputHead          // the input embedding, of which a token looks up one row, is left out
	noEmbeddings        // neither embedding nor output head
	notPublished
)

// TestParams compares numbers of parameters with what the publishers say, in units of 1e9. They
// must agree to 1%; off and offTotal are larger tolerances, with the reason for them.
func TestParams(t *testing.T) {
	for _, c := range []struct {
		name          string
		total, active float64
		counted       int
		off, offTotal float64
	}{
		// DeepSeek-V3 repository, README_WEIGHTS.md: 671 B, 36.7 B active; the technical report
		// rounds to 37 B.
		{"DeepSeek-V3", 671, 36.7, outputHead, 0, 0},
		{"deepseek_v3_flash_mla_absorb", 671, 36.7, outputHead, 0, 0},
		{"DeepSeek-R1", 671, 36.7, outputHead, 0, 0},
		// Model card of DeepSeek-V3.2-Exp: 671 B as before; the indexer adds 0.9 B.
		{"DeepSeek-V3.2", 671, 0, notPublished, 0, 0},
		// DeepSeek-V2 paper, appendix B: 15.7 B, 2.4 B active, which 2.451 would be cut off, not
		// rounded.
		{"DeepSeek-V2-Lite", 15.7, 2.4, outputHead, 0.025, 0},
		// Model cards: 284 B with 13 B active, 1.6 T with 49 B, rounded to the digits shown.
		{"DeepSeek-V4-Flash", 284, 13, outputHead, 0.02, 0},
		{"DeepSeek-V4-Pro", 1600, 49, outputHead, 0, 0.02},
		// Weights of Kimi-K2-Instruct: 1.03 T (the report says 1.04 T); Kimi K2 report, table 2:
		// 32.6 B active.
		{"Kimi-K2-Instruct", 1030, 32.6, everything, 0, 0},
		{"Kimi-K2.5", 1030, 32.6, everything, 0, 0},
		// Model cards of Qwen3: 235 B and 22 B; 30.5 B and 3.3 B, which 3.353 would be cut off, not
		// rounded; 32.8 B; 8.2 B.
		{"Qwen3-235B-A22B", 235, 22, everything, 0, 0},
		{"Qwen3-30B-A3B", 30.5, 3.3, everything, 0.02, 0},
		{"Qwen3-32B", 32.8, 32.8, everything, 0, 0},
		{"qwen3_32b_flash", 32.8, 32.8, everything, 0, 0},
		{"Qwen3-8B", 8.2, 8.2, everything, 0, 0},
		// Model card: 80 B in total and 3 B activated, a single digit; 3.25 B without embeddings.
		{"Qwen3-Next-80B-A3B", 80, 3, noEmbeddings, 0.09, 0},
		// The names say 35 B and 3 B, 122 B and 10 B, 397 B and 17 B, rounded; what counts as
		// active is not said.
		{"Qwen3.5-35B-A3B", 35, 3, outputHead, 0.02, 0},
		{"Qwen3.5-122B-A10B", 122, 10, everything, 0.03, 0},
		{"Qwen3.5-397B-A17B", 397, 17, everything, 0.025, 0},
		// Llama 3 paper and model cards: 8.03 B, 70.6 B, 405.9 B by the weights; Llama 2: 6.74 B.
		{"Llama-2-7B", 6.74, 6.74, everything, 0, 0},
		{"llama_3_8b", 8.03, 8.03, everything, 0, 0},
		{"Llama-3.1-8B", 8.03, 8.03, everything, 0, 0},
		{"llama_3_70b", 70.6, 70.6, everything, 0, 0},
		{"Llama-3.1-70B", 70.6, 70.6, everything, 0, 0},
		{"Llama-3.1-405B", 405.9, 405.9, everything, 0, 0},
		// Model card of Llama 4: 400 B and 17 B, 109 B and 17 B. The vision tower, left out here,
		// makes up 0.8% of Scout.
		{"Llama-4-Maverick-17B-128E", 400, 17, everything, 0.011, 0},
		{"Llama-4-Scout-17B-16E", 109, 17, everything, 0.011, 0.012},
		// Model card of gpt-oss, table 1: 116.83 B and 5.13 B, 20.91 B and 3.61 B; the embedding
		// does not count as active.
		{"gpt-oss-120b", 116.83, 5.13, outputHead, 0, 0},
		{"gpt-oss-20b", 20.91, 3.61, outputHead, 0, 0},
		// Mixtral paper: 46.7 B and 12.9 B. Announcement of 8x22B: 141 B and 39 B.
		{"Mixtral-8x7B", 46.7, 12.9, everything, 0, 0},
		{"Mixtral-8x22B", 140.6, 39, everything, 0, 0},
		// GLM-4.5 report, table 1: 355 B and 32 B, 106 B and 12 B; active without embeddings, in
		// whole billions.
		{"GLM-4.5", 355, 32, noEmbeddings, 0, 0},
		{"GLM-4.5-Air", 106, 12, noEmbeddings, 0.02, 0},
		// Model cards of GLM-5: 744 B and 40 B.
		{"GLM-5", 744, 40, noEmbeddings, 0, 0},
		{"GLM-5.2", 744, 40, outputHead, 0, 0},
		// MiniMax-01 paper: 456 B and 45.9 B. Model card of M2: 230 B and 10 B, a round number.
		{"MiniMax-M1", 456, 45.9, noEmbeddings, 0, 0},
		{"MiniMax-M2", 230, 10, noEmbeddings, 0.025, 0},
		{"MiniMax-M2.5", 230, 10, noEmbeddings, 0.025, 0},
		// Model card of MiMo-V2-Flash: 309 B and 15 B.
		{"MiMo-V2-Flash", 309, 15, outputHead, 0.015, 0},
		// GPT-2: 124 M with learned positions and biases, left out here. GPT-3 paper, table 2.1:
		// 175.0 B.
		{"gpt2", 0.1244, 0.1244, everything, 0, 0},
		{"gpt_3_175b", 175, 175, everything, 0, 0},
		// Model cards of Qwen2.5: 1.54 B, 7.61 B, 14.7 B, 32.5 B; the distilled one of 1.5 B has an
		// output head of its own. Qwen3: 14.8 B; 480 B and 35 B.
		{"Qwen2.5-1.5B", 1.54, 1.54, everything, 0, 0},
		{"DeepSeek-R1-Distill-Qwen-1.5B", 1.78, 1.78, everything, 0, 0},
		{"Qwen2.5-7B", 7.61, 7.61, everything, 0, 0},
		{"Qwen2.5-14B", 14.7, 14.7, everything, 0, 0},
		{"Qwen2.5-32B", 32.5, 32.5, everything, 0, 0},
		{"Qwen3-14B", 14.8, 14.8, everything, 0, 0},
		{"Qwen3-Coder-480B-A35B", 480, 35, everything, 0.02, 0},
		// DeepSeek-V2 paper: 236 B and 21 B, a round number.
		{"DeepSeek-V2", 236, 21, outputHead, 0.02, 0},
		// Model card of GLM-4.7-Flash: 30 B and 3 B, round numbers.
		{"GLM-4.7-Flash", 30, 3, noEmbeddings, 0.1, 0},
		// Weights of Code Llama (33.7 B), Gemma (2.51 B, 8.54 B), StarCoder2 (3.03 B, 7.17 B, 15.96
		// B); the name of Qwen3.5-2B says 2 B.
		{"CodeLlama-34B", 33.7, 33.7, everything, 0, 0},
		{"Gemma-2B", 2.51, 2.51, everything, 0, 0},
		{"Gemma-7B", 8.54, 8.54, everything, 0, 0},
		{"StarCoder2-3B", 3.03, 3.03, everything, 0, 0},
		{"StarCoder2-7B", 7.17, 7.17, everything, 0, 0},
		{"StarCoder2-15B", 15.96, 15.96, everything, 0, 0},
		{"Qwen3.5-2B", 2, 2, everything, 0.07, 0.07},
		// Weights of Llama 2 and 3.2: 13.0 B, 69.0 B, 1.24 B, 3.21 B.
		{"Llama-2-13B", 13.02, 13.02, everything, 0, 0},
		{"Llama-2-70B", 68.98, 68.98, everything, 0, 0},
		{"Llama-3.2-1B", 1.24, 1.24, everything, 0, 0},
		{"Llama-3.2-3B", 3.21, 3.21, everything, 0, 0},
		// Model cards of Qwen: 0.49 B, 3.09 B, 72.7 B; 111 B; 7.72 B; 0.6 B, 1.7 B, 4.0 B in the
		// names and cards.
		{"Qwen2.5-0.5B", 0.494, 0.494, everything, 0, 0},
		{"Qwen2.5-3B", 3.09, 3.09, everything, 0, 0},
		{"Qwen2.5-72B", 72.7, 72.7, everything, 0, 0},
		{"Qwen1.5-110B", 111, 111, everything, 0, 0},
		{"Qwen-7B", 7.72, 7.72, everything, 0, 0},
		{"Qwen3-0.6B", 0.596, 0.596, everything, 0, 0},
		{"Qwen3-1.7B", 1.72, 1.72, everything, 0, 0},
		{"Qwen3-4B", 4.02, 4.02, everything, 0, 0},
		// The names of Qwen3.5 say 0.8 B, 4 B and 9 B, rounded, with a vision tower and a draft
		// layer.
		{"Qwen3.5-0.8B", 0.8, 0.8, everything, 0.07, 0.07},
		{"Qwen3.5-4B", 4, 4, everything, 0.06, 0.06},
		{"Qwen3.5-9B", 9, 9, everything, 0, 0},
		// Gemma 2 report, table 2: 2.0 B + 0.59 B, 8.3 B + 0.92 B, 26.0 B + 1.18 B. Gemma 3 report,
		// table 1: 0.70 B + 0.30 B, 3.2 B + 0.68 B, 10.8 B + 1.0 B, 25.6 B + 1.4 B, without the
		// vision tower.
		{"Gemma-2-2B", 2.61, 2.61, everything, 0, 0},
		{"Gemma-2-9B", 9.24, 9.24, everything, 0, 0},
		{"Gemma-2-27B", 27.2, 27.2, everything, 0, 0},
		{"Gemma-3-1B", 1.0, 1.0, everything, 0, 0},
		{"Gemma-3-4B", 3.88, 3.88, everything, 0, 0},
		{"Gemma-3-12B", 11.77, 11.77, everything, 0, 0},
		{"Gemma-3-27B", 27.0, 27.0, everything, 0, 0},
		// Model cards of Gemma 4: 25.2 B with 3.8 B active, 30.7 B; counted here with 10
		// projections of keys more than there are.
		{"Gemma-4-26B-A4B", 25.2, 3.8, everything, 0.015, 0},
		{"Gemma-4-31B", 30.7, 30.7, everything, 0, 0},
		// Weights of Mistral's: 7.24 B, 7.25 B, 12.2 B, 8.02 B, 23.6 B, 123 B. The name of Devstral
		// 2 says 123 B, its weights are 125 B.
		{"Mistral-7B-v0.1", 7.24, 7.24, everything, 0, 0},
		{"Mistral-7B", 7.25, 7.25, everything, 0, 0},
		{"Mistral-Nemo-12B", 12.25, 12.25, everything, 0, 0},
		{"Ministral-8B", 8.02, 8.02, everything, 0, 0},
		{"Mistral-Small-24B", 23.57, 23.57, everything, 0, 0},
		{"Mistral-Large-2", 122.6, 122.6, everything, 0, 0},
		{"Devstral-2-123B", 125, 125, everything, 0, 0},
		// Model cards of Mistral 3: 3.4 B, 8.4 B, 13.5 B, and 673 B with 39 B active, without the
		// vision tower; Small 4: 119 B.
		{"Ministral-3-3B", 3.4, 3.4, everything, 0.012, 0.012},
		{"Ministral-3-8B", 8.4, 8.4, everything, 0.012, 0.012},
		{"Ministral-3-14B", 13.5, 13.5, everything, 0, 0},
		{"Mistral-Large-3", 673, 39, outputHead, 0, 0},
		{"Mistral-Small-4-119B", 119, 0, notPublished, 0, 0},
		// Phi-3 and Phi-4 reports and cards: 3.8 B, 14 B, 14.7 B, 3.84 B.
		{"Phi-3-mini", 3.82, 3.82, everything, 0, 0},
		{"Phi-3.5-mini", 3.82, 3.82, everything, 0, 0},
		// Model cards: 41.9 B and 6.6 B; 36 B, as the name says.
		{"Phi-3.5-MoE", 41.9, 6.6, everything, 0, 0},
		{"Seed-OSS-36B", 36.15, 36.15, everything, 0, 0},
		{"Phi-3-medium", 14.0, 14.0, everything, 0, 0},
		{"Phi-4", 14.7, 14.7, everything, 0, 0},
		{"Phi-4-mini", 3.84, 3.84, everything, 0, 0},
		// Weights of SmolLM and Granite.
		{"SmolLM2-135M", 0.135, 0.135, everything, 0, 0},
		{"SmolLM2-360M", 0.362, 0.362, everything, 0, 0},
		{"SmolLM2-1.7B", 1.71, 1.71, everything, 0, 0},
		{"SmolLM3-3B", 3.08, 3.08, everything, 0, 0},
		{"Granite-3.3-2B", 2.53, 2.53, everything, 0, 0},
		{"Granite-3.3-8B", 8.17, 8.17, everything, 0, 0},
		// Model cards of Granite 4: 32 B and 9 B, 7 B and 1 B, 3 B, in whole billions.
		{"Granite-4.0-H-Small", 32.2, 9, everything, 0.03, 0},
		{"Granite-4.0-H-Tiny", 6.94, 0, notPublished, 0, 0},
		{"Granite-4.0-H-Micro", 3.19, 3.19, everything, 0, 0},
		// Weights of GLM-4-9B (9.4 B), MiMo-7B (7.6 B, 7.8 B with its draft layer), MiniCPM-2B
		// (2.72 B).
		{"GLM-4-9B", 9.4, 9.4, everything, 0, 0},
		{"GLM-4-9B-0414", 9.4, 9.4, everything, 0, 0},
		{"MiMo-7B", 7.6, 7.6, everything, 0, 0},
		{"MiniCPM-2B", 2.72, 2.72, everything, 0, 0},
		// Model cards: Hy3 295 B and 21 B; ERNIE 4.5 0.36 B, 21 B and 3 B (weights 21.8 B), 300 B
		// and 47 B.
		{"Hy3", 295, 21, everything, 0.016, 0},
		{"ERNIE-4.5-0.3B", 0.36, 0.36, everything, 0, 0},
		{"ERNIE-4.5-21B-A3B", 21.8, 3, outputHead, 0.05, 0},
		{"ERNIE-4.5-300B-A47B", 300, 47, outputHead, 0, 0},
		// Model card of Kimi Linear: 48 B and 3 B; its weights are 49.1 B.
		{"Kimi-Linear-48B-A3B", 49.1, 3, outputHead, 0.04, 0},
		// Nemotron-H report, table 1: 8.1 B, 56.3 B. Nemotron Nano 2 report: 8.89 B, 12.31 B.
		{"Nemotron-H-4B", 4.5, 4.5, everything, 0, 0},
		{"Nemotron-H-8B", 8.1, 8.1, everything, 0, 0},
		{"Nemotron-H-56B", 56.3, 56.3, everything, 0, 0},
		{"Nemotron-Nano-9B-v2", 8.89, 8.89, everything, 0, 0},
		{"Nemotron-Nano-12B-v2", 12.31, 12.31, everything, 0, 0},
		{"Nemotron-3-Nano-4B", 3.97, 3.97, everything, 0, 0},
		// Nemotron 3 reports: 31.6 B with 3.2 B active, 3.6 B with embeddings; 120.6 B with 12.7 B,
		// 12.1 B without embeddings; 550 B and 55 B.
		{"Nemotron-3-Nano-30B-A3B", 31.6, 3.6, everything, 0, 0},
		{"Nemotron-3.5-Lightning-30B-A3B", 31.6, 3.6, everything, 0, 0},
		{"Nemotron-3-Super-120B-A12B", 120.6, 12.7, everything, 0, 0},
		{"Nemotron-3-Ultra-550B-A55B", 550, 55, outputHead, 0, 0},
		// Nothing is published in detail that would tell which parts count.
		{"Kimi-K3", 0, 0, notPublished, 0, 0},
	} {
		src, ok := model.Catalogue.Find(c.name)
		if !ok {
			t.Errorf("no model %s", c.name)
			continue
		}
		m, _, doc := model.Read(c.name, src)
		if err := doc.Err(); err != nil {
			t.Fatal(err)
		}
		total, active := m.Params()
		embeddings := m.EmbeddingParams()
		switch c.counted {
		case outputHead:
			active -= embeddings
		case noEmbeddings:
			active -= 2 * embeddings
		}
		if c.total > 0 && math.Abs(total/1e9/c.total-1) > max(0.01, c.offTotal) {
			t.Errorf("%s: %.4g B parameters, published are %.4g", c.name, total/1e9, c.total)
		}
		if c.counted != notPublished && math.Abs(active/1e9/c.active-1) > max(0.01, c.off) {
			t.Errorf("%s: %.4g B active, published are %.4g", c.name, active/1e9, c.active)
		}
	}
}

// Counts by hand, for attention that no published number isolates.
func TestAttentionParams(t *testing.T) {
	for _, c := range []struct {
		what string
		a    model.Attention
		want float64
	}{
		// q 8·4·2, k and v 8·2·(2 + 3), output 4·3·8
		{"values of another size", model.Attention{Kind: model.GroupQuery, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3}, 64 + 80 + 96},
		// q 8·3 + 3 + 3·4·2, one vector 8·2, output 4·2·8
		{"shared keys and values", model.Attention{Kind: model.MultiQuery, Heads: 4, KVHeads: 1, HeadDim: 2, SharedKV: true, QueryRank: 3}, 51 + 16 + 64},
		// as above without rank, 4·2·5 + 2·5·8 for the output, index 8·3·6 + 8·3, compressors
		// 2·2·8·2 and 2·2·8·6
		{"compressed past", model.Attention{Kind: model.MultiQuery, Heads: 4, KVHeads: 1, HeadDim: 2, SharedKV: true,
			OutputRank: 5, OutputGroups: 2, IndexHeads: 3, IndexDim: 6, IndexTopK: 9, Compress: 4}, 64 + 16 + 40 + 80 + 144 + 24 + 64 + 192},
		// what another layer picked costs nothing: q 8·2·5, latent 8·(4 + 2) + 4, up 4·2·(3 + 2),
		// output 2·2·8
		{"picked by another layer", model.Attention{Kind: model.Latent, Heads: 2, KVRank: 4, NopeDim: 3, RopeDim: 2, ValueDim: 2, IndexTopK: 9}, 80 + 52 + 40 + 32},
		// q, k 8·2·2 each, v and gate 8·4·3 each, two gates per head 8·2·4, convolution 4·(8 + 12),
		// output 12·8
		{"gated delta", model.Attention{Kind: model.GatedDelta, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}, 64 + 192 + 64 + 80 + 96},
		// the same with a decay per channel, 3·(8 + 8), one strength per head, 8·4, and a gate
		// through a rank, 5·(8 + 12)
		{"Kimi delta", model.Attention{Kind: model.GatedDelta, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4, DecayRank: 3, GateRank: 5},
			64 + 96 + 48 + 32 + 100 + 80 + 96},
		// gate and x 8·4·3 each, B and C 8·2·2 each, steps 8·4, filters 4·(12 + 8), decay, skip and
		// bias 3·4, norm 12, output 12·8
		{"Mamba", model.Attention{Kind: model.Mamba, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}, 192 + 64 + 32 + 80 + 12 + 12 + 96},
		// q, k, v 8·8 each, gate 8·8, output 8·8
		{"lightning", model.Attention{Kind: model.Lightning, Heads: 4, KVHeads: 4, HeadDim: 2}, 5 * 64},
		// two gates and what is convolved 3·8·8, filters 3·8, output 8·8
		{"short convolution", model.Attention{Kind: model.ShortConv, Heads: 4, KVHeads: 4, HeadDim: 2, Conv: 3}, 192 + 24 + 64},
	} {
		m := &model.Model{Hidden: 8, Layers: 1, Attention: c.a}
		if got, _ := m.Params(); got != c.want+3*8 { // three norms
			t.Errorf("%s: %g parameters, by hand %g", c.what, got-24, c.want)
		}
	}
}

// A gate on the shared experts is one more score of the router's input, in each of two expert
// layers.
func TestSharedGateParams(t *testing.T) {
	m := &model.Model{Hidden: 8, Layers: 2, Experts: model.Experts{Routed: 4, TopK: 2, Shared: 1, Width: 4, Interval: 1}}
	without, _ := m.Params()
	m.Experts.SharedGate = true
	if with, _ := m.Params(); with-without != 2*8 {
		t.Errorf("%v parameters of a gate", with-without)
	}
}

// What a sequence of 100 tokens keeps, at 1 byte per element, and what one more token of a long one
// adds.
func TestCache(t *testing.T) {
	for _, c := range []struct {
		what          string
		a             model.Attention
		bytes, growth float64
	}{
		{"grouped", model.Attention{Kind: model.GroupQuery, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3}, 100 * 2 * 5, 2 * 5},
		{"window", model.Attention{Kind: model.GroupQuery, Heads: 4, KVHeads: 2, HeadDim: 2, Window: 8}, 8 * 2 * 4, 0},
		{"shared", model.Attention{Kind: model.MultiQuery, Heads: 4, KVHeads: 1, HeadDim: 2, SharedKV: true}, 100 * 2, 2},
		// 25 entries with keys of an indexer, 8 tokens without; 2·4 tokens of 2·2·(2 + 6) numbers
		// of 4 bytes on their way to an entry
		{"compressed", model.Attention{Kind: model.MultiQuery, Heads: 4, KVHeads: 1, HeadDim: 2, SharedKV: true, Compress: 4, Window: 8, IndexHeads: 3, IndexDim: 6}, 25*8 + 8*2 + 4*8*32, 2},
		{"latent with indexer", model.Attention{Kind: model.Latent, Heads: 2, KVRank: 4, RopeDim: 2, IndexDim: 3}, 100 * 9, 9},
		// 4 states of 2·3, and 3 inputs of the convolution of 2·2·2 + 4·3, in 4 bytes each
		{"gated delta", model.Attention{Kind: model.GatedDelta, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}, 4 * (24 + 60), 0},
		{"short convolution", model.Attention{Kind: model.ShortConv, Heads: 4, KVHeads: 4, HeadDim: 2, Conv: 3}, 4 * 2 * 8, 0},
		// 4 states of 2·3, and 3 inputs of the convolution: x of 12, B and C of 4 each
		{"Mamba", model.Attention{Kind: model.Mamba, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}, 4 * (24 + 60), 0},
	} {
		m := &model.Model{Hidden: 8, Layers: 1, Attention: c.a}
		if got := m.CacheBytes(1, 100, 1); got != c.bytes {
			t.Errorf("%s: %g bytes, by hand %g", c.what, got, c.bytes)
		}
		if got := m.CacheGrowth(1); math.Abs(got-c.growth) > 1e-6 {
			t.Errorf("%s: %g bytes per token, by hand %g", c.what, got, c.growth)
		}
	}
}

// TestCompressedCache: a sequence of a million tokens of DeepSeek-V4-Flash, by hand, with a byte
// for an element. 21 layers keep an entry of 512 elements and a key of 128 for every 4 tokens and
// compress 8 tokens of 2·2·640 numbers of 32 bits at a time; 20 keep an entry for every 128, and
// compress 128 tokens of 2·512; all 43 keep the last 128 as they are. Five tables of blocks: what
// grows, the windows of 22 layers and of 21, the states of each compression.
func TestCompressedCache(t *testing.T) {
	m, _ := builtin.Model(t, "DeepSeek-V4-Flash")
	const tokens = 1 << 20
	want := 21*(tokens/4*640+4*8*2*2*640.) + 20*(tokens/128*512+4*128*2*512.) + 43*128*512
	if got := m.CacheBytes(4, tokens, 1); got != want {
		t.Errorf("%.0f bytes, by hand %.0f", got, want)
	}
	if got := m.CacheGroups(); got != 5 {
		t.Errorf("%d tables of blocks", got)
	}
	latent, _ := builtin.Model(t, "GLM-5.2")
	if got := latent.CacheGroups(); got != 1 {
		t.Errorf("GLM-5.2: %d tables of blocks", got)
	}
	// From 4 streams of 4096 to what a block reads of each, gives to each, and what each gets of 4:
	// 24 numbers.
	if got := m.MixParams(); got != 24*4*4096 {
		t.Errorf("%v parameters of a hyper-connection", got)
	}
}
