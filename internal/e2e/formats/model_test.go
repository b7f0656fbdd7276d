package formats

// modelTests change a key of the model file. The tables in base_test.go have the numbers before the
// change; all counts are for two layers.
var modelTests = []keyTest{
	{"model", dense, set{"model.model": `"other"`}, wants{"model_name": "other"}},
	// norm 7·8, gate and up 2·2·4·32, activation and multiply as before, down 2·2·16·4, residual 8
	{"hidden", dense, set{"model.hidden": `4`}, wants{mlpFlops: 2 * (56 + 512 + 96 + 32 + 256 + 8)}},
	{"num_blocks", dense, set{"model.num_blocks": `3`}, wants{attnFlops: 3 * 2000, mlpFlops: 3 * 1792}},
	// gate and up 2·2·8·64, activation 3·64, multiply 64, down 2·2·32·8
	{"feedforward", dense, set{"model.feedforward": `32`}, wants{mlpFlops: 2 * (112 + 2048 + 192 + 64 + 1024 + 16)}},

	// The cache holds, for each of 2 sequences, 10 tokens and 2 layers, keys and values: 4 heads of
	// 2 elements each.
	{"attn_type", dense, set{"model.attn_type": `"multi-head"`, "model.kv_heads": ``}, wants{cacheSpace: 2. * 10 * 2 * (2 * 4 * 2) / GB}},
	// One head.
	{"attn_type", dense, set{"model.attn_type": `"multi-query"`, "model.kv_heads": ``}, wants{cacheSpace: 2. * 10 * 2 * (2 * 1 * 2) / GB}},
	// Instead of absorbing: latent up 2·18·4·2·4 for 2 sequences of 9 tokens, query concat 16,
	// fused attention 2·36·(4 + 2), softmax 180. The seven operators before them have 576 flops,
	// output projection and residual 144. In prefill, with 12 tokens and 144 scores: latent up
	// 2·12·4·2·4, query concat 96, fused attention 2·144·(4 + 2), softmax 5·144, and six times as
	// many tokens in the others.
	{"attn_type", experts, set{"model.attn_type": `"mla"`}, wants{
		attnFlops:        2 * (576 + 1152 + 16 + 432 + 180 + 144),
		prefillAttnFlops: 2 * (6*576 + 768 + 96 + 1728 + 720 + 6*144),
	}},
	// Queries of 4: qkv projection 2·2·8·12, query head norm 7·8; 36 scores; output projection
	// 2·2·4·8.
	{"attn_heads", dense, set{"model.attn_heads": `2`}, wants{attnFlops: 2 * (112 + 384 + 56 + 56 + 2*36*4 + 5*36 + 128 + 16)}},
	{"kv_heads", dense, set{"model.kv_heads": `4`}, wants{cacheSpace: 2. * 10 * 2 * (2 * 4 * 2) / GB}},
	{"attn_size", dense, set{"model.attn_size": `4`}, wants{cacheSpace: 2. * 10 * 2 * (2 * 2 * 4) / GB}},
	{"qk_norm", dense, set{"model.qk_norm": `false`}, wants{attnFlops: 2 * (2000 - 112 - 56)}},
	// The weights of the two norms are as wide as queries and keys, 8 and 4 in place of 2 and 2, in
	// each of two layers.
	{"qk_norm_type", dense, set{"model.qk_norm_type": `"per_layer"`}, wants{attnBytes: 2 * (588 + 6 + 2)}},
	// A projection of 8 to 8, two operations for each of 16 sigmoids, 16 products.
	{"has_attn_gate", dense, set{"model.has_attn_gate": `true`}, wants{attnFlops: 2 * (2000 + 256 + 32 + 16)}},
	// The same with 2 heads of values of 2: 8 to 4.
	{"has_attn_gate", experts, set{"model.has_attn_gate": `true`}, wants{attnFlops: 2 * (1840 + 128 + 16 + 8)}},
	// 72 scores are written by the first product (16 + 72 + 72), read and written by the softmax,
	// read by the second product (72 + 16 + 72).
	{"use_flash_attn", dense, set{"model.use_flash_attn": `false`}, wants{attnBytes: 2 * (588 - 176 + 160 + 144 + 160)}},
	// 36 scores are written, read, written, read.
	{"use_flash_attn", experts, set{"model.use_flash_attn": `false`}, wants{attnBytes: 2 * (812 + 4*36)}},
	// A prompt of 12 tokens: 24 tokens of 2 heads with 12 scores each need 576 bytes of working
	// space, unless they stay on the chip. Then the joined queries are the largest result: 24 · 2 ·
	// (4 + 2).
	{"use_flash_attn", experts.with("model.use_flash_attn", `false`).with("runtime.sequence_length_list", `[[12, 4]]`), set{"model.use_flash_attn": `true`}, wants{"prefill_instance_attn_act_working_space(Gib)": 288. / GB}},
	// up 2·2·8·16, activation 8·32, no product with a gate
	{"mlp", dense, set{"model.mlp": `"plain"`}, wants{mlpFlops: 2 * (112 + 512 + 256 + 512 + 16)}},
	// up 2·6·8·4, activation 8·24
	{"mlp", experts, set{"model.mlp": `"plain"`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 384 + 192 + 384 + 48 + 16)}},

	// Queries come from the hidden vector directly: 2·2·8·8 instead of 128 + 56 + 128.
	{"q_lora_rank", experts, set{"model.q_lora_rank": `null`}, wants{attnFlops: 2 * (1840 - 312 + 256)}},
	// down 2·2·8·2, norm 7·4, up 2·2·2·8
	{"q_lora_rank", experts, set{"model.q_lora_rank": `2`}, wants{attnFlops: 2 * (1840 - 312 + 64 + 28 + 64)}},
	// The cache holds latent and rotary key of each token.
	{"kv_lora_rank", experts, set{"model.kv_lora_rank": `3`}, wants{cacheSpace: 2. * 10 * 2 * (3 + 2) / GB}},
	{"qk_rope_head_dim", experts, set{"model.qk_rope_head_dim": `1`}, wants{cacheSpace: 2. * 10 * 2 * (4 + 1) / GB}},
	// query up 2·2·4·12, latent up split 2·(4 + 2)·4, absorb query 2·4·4·4
	{"qk_nope_head_dim", experts, set{"model.qk_nope_head_dim": `4`}, wants{attnFlops: 2 * (1840 + (192 - 128) + (48 - 32) + (128 - 64))}},
	// latent up split 2·(2 + 4)·4, absorb value 2·4·4·4, output projection 2·2·8·8 Values of 3: qkv
	// projection 2·2·8·18, fused attention 2·72·(2 + 3), output projection 2·2·12·8.
	{"v_head_dim", dense, set{"model.v_head_dim": `3`}, wants{attnFlops: 2 * (2000 - 512 - 576 - 256 + 576 + 720 + 384)}},
	{"v_head_dim", experts, set{"model.v_head_dim": `4`}, wants{attnFlops: 2 * (1840 + (48 - 32) + (128 - 64) + (256 - 128))}},

	// 4 of 9 tokens are seen, 32 scores: fused attention 2·32·4, softmax 5·32. The cache keeps 4 of
	// 10.
	{"sliding_window", dense, set{"model.sliding_window": `4`}, wants{attnFlops: 2 * (2000 - 936 + 256 + 160), cacheSpace: 2. * 4 * 2 * 8 / GB}},
	// One vector of 2 elements per key/value head.
	{"shared_kv", dense, set{"model.shared_kv": `true`}, wants{cacheSpace: 2. * 10 * 2 * (2 * 2) / GB}},
	// Every 2 tokens share an entry: 4.5 are seen, 36 scores, and 5 kept. The compressor makes 2·2
	// elements of each of 2 tokens of 8, 2·2·8·4, adds their places, 2·4, and weighs, normalises
	// and rotates them, 4·2·4.
	{"compress_ratio", dense, set{"model.compress_ratio": `2`}, wants{attnFlops: 2 * (2000 - 936 + 288 + 180 + 168), cacheSpace: 2. * 5 * 2 * 8 / GB}},
	// Indexer: query 2·2·4·6, key 2·2·8·3, weights 2·2·8·2, scores 2·2·6·9, select 18. Of 9 tokens
	// 3 are seen, 12 scores instead of 36 in the four operators on scores, 2·12·6 + 12 + 5·12 +
	// 2·12·4.
	{"index_topk", sparse, set{"model.index_topk": `3`}, wants{attnFlops: 2 * (1840 - 936 + 312 + 490)}},
	// 3 heads, with 5 tokens seen: query 2·2·4·9, weights 2·2·8·3, scores 2·2·9·9.
	{"index_n_heads", sparse, set{"model.index_n_heads": `3`}, wants{attnFlops: 2 * (1840 - 936 + 520 + 144 + 96 + 96 + 324 + 18)}},
	// The key of the indexer is cached beside latent and rotary key.
	{"index_head_dim", sparse, set{"model.index_head_dim": `4`}, wants{cacheSpace: 2. * 10 * 2 * (4 + 2 + 4) / GB}},
	// Down 2·2·8·2 and up 2·2·2·8.
	{"o_lora_rank", dense, set{"model.o_lora_rank": `2`}, wants{attnFlops: 2 * (2000 - 256 + 64 + 64)}},
	// Two groups of 2 heads: down 2·2·2·4·2, up 2·2·4·8.
	{"o_groups", dense.with("model.o_lora_rank", `2`), set{"model.o_groups": `2`}, wants{attnFlops: 2 * (2000 - 256 + 64 + 128)}},
	// A state of 4 heads of 2·2, in 4 bytes, instead of a cache.
	{"attn_type", dense, set{"model.attn_type": `"gated-delta"`}, wants{cacheSpace: 2. * 2 * 64 / GB}},
	{"attn_type", dense, set{"model.attn_type": `"lightning"`, "model.kv_heads": ``}, wants{cacheSpace: 2. * 2 * 64 / GB}},
	// Four heads of 3 elements, a state of 2 for each.
	{"attn_type", dense, set{"model.attn_type": `"mamba2"`, "model.v_head_dim": `3`}, wants{cacheSpace: 2. * 2 * 96 / GB}},
	// And 2 past inputs of the convolution: queries and keys of 4, values of 8.
	{"conv_kernel", dense.with("model.attn_type", `"gated-delta"`), set{"model.conv_kernel": `3`}, wants{cacheSpace: 2. * 2 * (64 + 4*2*16) / GB}},

	// Three operations on each of 72 scores.
	{"attn_softcap", dense, set{"model.attn_softcap": `true`}, wants{attnFlops: 2 * (2000 + 216)}},
	// The input is projected to 16 of queries, keys and values, 8 of the gate, 4 strengths, and 4
	// decays or a rank of 3, from which a product makes 8. With norms, state, gate and output 1728.
	{"decay_rank", dense.with("model.attn_type", `"gated-delta"`), set{"model.decay_rank": `3`}, wants{attnFlops: 2 * (1728 - 2*2*8*4 + 2*2*8*3 + 2*2*3*8)}},
	{"gate_rank", dense.with("model.attn_type", `"gated-delta"`), set{"model.gate_rank": `3`}, wants{attnFlops: 2 * (1728 - 2*2*8*8 + 2*2*8*3 + 2*2*3*8)}},
	// A norm of 2·8 elements behind attention.
	{"post_norms", dense, set{"model.post_norms": `true`}, wants{attnFlops: 2 * (2000 + 112)}},
	// Of two layers one has a feed-forward block.
	{"layers_without_feedforward", dense, set{"model.layers_without_feedforward": `1`}, wants{mlpFlops: 1792}},
	{"logit_softcap", dense, set{"model.logit_softcap": `true`}, nil},

	// The router has 6 outputs; 6 + 2 + 2 experts are deployed.
	{"num_experts", experts, set{"model.num_experts": `6`}, wants{mlpFlops: 2 * (1726 - 128 + 192), mlpWeights: 2. * (16 + 48 + 10*96) / GB}},
	// Of 2 groups of 2 experts, one on each processor, a token picks one and both experts in it:
	// the other processor gets a copy of half of the tokens. Dispatch, of 2 tokens of 8 bytes in 2
	// layers, takes its kernel, combine the formula.
	{"n_group", grouped.with("model.topk_group", `1`).with("model.n_group", `1`), set{"model.n_group": `2`}, wants{epTime: 2*2*8*0.5/4e9 + exchanged/2/(4*GB)}},
	{"topk_group", grouped.with("model.n_group", `2`), set{"model.topk_group": `1`}, wants{epTime: 2*2*8*0.5/4e9 + exchanged/2/(4*GB)}},
	// A token visits 4 experts, so they see 8: gate and up 2·8·8·8, activation 3·32, multiply 32,
	// down 2·8·4·8, weighting 64.
	{"top_experts_activation", experts, set{"model.top_experts_activation": `3`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 1024 + 96 + 32 + 512 + 64 + 16)}},
	{"n_shared_experts", experts, set{"model.n_shared_experts": `2`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 1024 + 96 + 32 + 512 + 64 + 16)}},
	// 4 + 2 + 4 experts are deployed.
	{"num_shared_experts", experts, set{"model.num_shared_experts": `4`}, wants{mlpWeights: 2. * (16 + 32 + 10*96) / GB}},
	// Left out: as many as a token visits, which makes 4 + 2 + 1.
	{"num_shared_experts", experts, set{"model.num_shared_experts": ``}, wants{mlpWeights: 2. * (16 + 32 + 7*96) / GB}},
	{"num_redundant_experts", experts, set{"model.num_redundant_experts": `4`}, wants{mlpWeights: 2. * (16 + 32 + 10*96) / GB, "decoder_moe_redundant_expert_num": 4}},
	// gate and up 2·6·8·16, activation 3·48, multiply 48, down 2·6·8·8
	{"moe_intermediate_size", experts, set{"model.moe_intermediate_size": `8`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 1536 + 144 + 48 + 768 + 48 + 16)}},
	// The shared expert counts as two routed ones: a token visits 4, and 4 + 2 + 2·2 are deployed.
	{"shared_expert_intermediate_size", experts, set{"model.shared_expert_intermediate_size": `8`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 1024 + 96 + 32 + 512 + 64 + 16), mlpWeights: 2. * (16 + 32 + 10*96) / GB}},
	// The shared expert sees all 8 elements and counts as two: 8 visits. narrow 2·2·8·4, gate and
	// up 2·8·4·8, activation 3·32, multiply 32, down 2·8·4·4, widen 2·2·4·8, weighting 32
	{"routed_expert_hidden_size", experts, set{"model.routed_expert_hidden_size": `4`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 128 + 512 + 96 + 32 + 256 + 128 + 32 + 16)}},
	// 12 instead of 6 tokens in every operator of the experts.
	{"moe_capacity_factor", experts, set{"model.moe_capacity_factor": `2`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 2*(768+72+24+384+48) + 16)}},
	{"shared_expert_gate", experts, set{"model.shared_expert_gate": `true`}, nil},
	{"moe_router_dtype", experts, set{"model.moe_router_dtype": `"float32"`}, nil},
	// Two streams of 8 elements take the place of a norm, 7·2·8, and of a residual, 2·8, in front
	// of each block: each stream gets shares of two streams and of a result, 2·2·8·2·3; a product
	// of 16 elements has 2·(2 + 2) results, 2·2·128; what a block reads is their weighted sum,
	// 2·2·2·8, normalised, 7·2·8.
	{"hc_mult", dense, set{"model.hc_mult": `2`}, wants{attnFlops: 2 * (2000 - 112 - 16 + 192 + 512 + 64 + 112)}},
	// One of the two layers has experts, the other is dense, with two norms as latent attention has
	// none.
	{"moe_block_interval", experts.with("model.feedforward", `16`), set{"model.moe_block_interval": `2`}, wants{mlpFlops: 1726 + (1792 + 112)}},

	// Of 2 · 6 tokens 2 · 3 are left to compute, all with a context of 6: 144 scores. Input norm
	// 7·48, qkv projection 2·6·8·16, head norms 7·48 + 7·24, fused attention 2·144·4, softmax
	// 5·144, output projection 2·6·8·8, residual 48. The cache that fused attention reads stays 96
	// bytes.
	{"cache_len", dense, set{"model.cache_len": `3`}, wants{
		prefillAttnFlops: 2 * (336 + 1536 + 336 + 168 + 1152 + 720 + 768 + 48),
		prefillAttnBytes: 2 * (104 + 272 + 98 + 50 + (48 + 48 + 96) + 160 + 144),
	}},
	// One of up to 4 drafts is the best, see drafting.
	{"num_nextn_predict_layers", drafting.with("runtime.decode_mtp_token_config", `null`), set{"model.num_nextn_predict_layers": `1`}, wants{"decoder_mtp_token": 1, tokenTime: oneDraft / 1.79}},
	// 1.6 tokens with one draft, 1.9 with two: rates of 0.6 and 0.5.
	{"draft_lengths", drafting.with("runtime.decode_mtp_token_config", `2`), set{"model.draft_lengths": `[1.6, 1.9]`}, wants{"decoder_tokens_per_step": 1.9, tokenTime: twoDrafts / 1.9}},

	{key: "ffn_dim_multiplier", base: dense.with("model.multiple_of", `16`), change: set{"model.ffn_dim_multiplier": `0.9`}},
	{key: "multiple_of", base: dense, change: set{"model.multiple_of": `8`}},
	{key: "seq_size", base: dense, change: set{"model.seq_size": `99`}},
	{key: "output_seq", base: dense, change: set{"model.output_seq": `99`}},
	{key: "first_k_dense_replace", base: experts.with("model.feedforward", `16`), change: set{"model.first_k_dense_replace": `1`}},
	{key: "vocab_size", base: dense, change: set{"model.vocab_size": `1000`}},
	{key: "max_position_embeddings", base: dense, change: set{"model.max_position_embeddings": `1000000`}},
	{key: "tie_word_embeddings", base: dense.with("model.vocab_size", `1000`), change: set{"model.tie_word_embeddings": `true`}},
	{key: "weight_byte", base: dense, change: set{"model.weight_byte": `2`}},
	{key: "activation_byte", base: dense, change: set{"model.activation_byte": `2`}},
	{key: "cache_byte", base: dense, change: set{"model.cache_byte": `2`}},
	{key: "formats.*", base: dense, change: set{"model.formats": `{"feedforward": "mxfp4"}`}},
	{key: "sources.*", base: dense, change: set{"model.sources.hidden": `"a guess"`}},
}

// sparse is the expert model with an indexer of 2 heads of 3 elements that picks 5 tokens.
var sparse = experts.withAll(set{"model.index_n_heads": `2`, "model.index_head_dim": `3`, "model.index_topk": `5`})

// In the following, the second of two layers has an attention of its own: that of the dense model,
// at first, or that of the expert model.
var (
	mixed       = dense.with("model.attention_mix", `[{"layers": 1, "attn_type": "group-query", "attn_heads": 4, "kv_heads": 2, "attn_size": 2}]`)
	mixedLatent = dense.with("model.attention_mix", `[{
		"layers": 1, "attn_type": "mla-absorb", "attn_heads": 2,
		"q_lora_rank": 4, "kv_lora_rank": 4, "qk_nope_head_dim": 2, "qk_rope_head_dim": 2, "v_head_dim": 2
	}]`)
	mixedSparse = mixedLatent.withAll(mix("index_n_heads", `2`)).withAll(mix("index_head_dim", `3`)).withAll(mix("index_topk", `5`))
)

// mix sets a key of the second attention.
func mix(key, value string) set { return set{"model.attention_mix[0]." + key: value} }

// mixTests are those of the second attention. The numbers of the first layer stay, 2000 operations
// and 10 cached tokens of 8 elements; those of the second are as above. Latent attention beside
// another has a norm in front of it like that, 112.
var mixTests = []keyTest{
	// Of three layers one, then two have a window of 4.
	{"attention_mix[].layers", mixed.with("model.num_blocks", `3`).withAll(mix("sliding_window", `4`)), mix("layers", `2`), wants{cacheSpace: 2. * (10 + 4 + 4) * 8 / GB}},
	{"attention_mix[].attn_type", mixed, set{"model.attention_mix[0].attn_type": `"multi-query"`, "model.attention_mix[0].kv_heads": ``}, wants{cacheSpace: 2. * 10 * (8 + 4) / GB}},
	{"attention_mix[].attn_heads", mixed, mix("attn_heads", `2`), wants{attnFlops: 2000 + (112 + 384 + 56 + 56 + 2*36*4 + 5*36 + 128 + 16)}},
	{"attention_mix[].kv_heads", mixed, mix("kv_heads", `4`), wants{cacheSpace: 2. * 10 * (8 + 16) / GB}},
	{"attention_mix[].attn_size", mixed, mix("attn_size", `4`), wants{cacheSpace: 2. * 10 * (8 + 16) / GB}},
	{"attention_mix[].v_head_dim", mixed, mix("v_head_dim", `3`), wants{attnFlops: 2000 + (2000 - 512 - 576 - 256 + 576 + 720 + 384)}},
	{"attention_mix[].qk_norm", mixed, mix("qk_norm", `false`), wants{attnFlops: 2000 + (2000 - 112 - 56)}},
	{"attention_mix[].qk_norm_type", mixed, mix("qk_norm_type", `"per_layer"`), wants{attnBytes: 588 + (588 + 6 + 2)}},
	{"attention_mix[].has_attn_gate", mixed, mix("has_attn_gate", `true`), wants{attnFlops: 2000 + (2000 + 256 + 32 + 16)}},
	{"attention_mix[].sliding_window", mixed, mix("sliding_window", `4`), wants{cacheSpace: 2. * (10 + 4) * 8 / GB}},
	{"attention_mix[].shared_kv", mixed, mix("shared_kv", `true`), wants{cacheSpace: 2. * 10 * (8 + 4) / GB}},
	{"attention_mix[].compress_ratio", mixed, mix("compress_ratio", `2`), wants{cacheSpace: 2. * (10 + 5) * 8 / GB}},
	{"attention_mix[].o_lora_rank", mixed, mix("o_lora_rank", `2`), wants{attnFlops: 2000 + (2000 - 256 + 64 + 64)}},
	{"attention_mix[].o_groups", mixed.withAll(mix("o_lora_rank", `2`)), mix("o_groups", `2`), wants{attnFlops: 2000 + (2000 - 256 + 64 + 128)}},
	{"attention_mix[].conv_kernel", mixed.withAll(mix("attn_type", `"gated-delta"`)), mix("conv_kernel", `3`), wants{cacheSpace: 2. * (80 + 64 + 4*2*16) / GB}},
	{"attention_mix[].attn_softcap", mixed, mix("attn_softcap", `true`), wants{attnFlops: 2000 + (2000 + 216)}},
	{"attention_mix[].decay_rank", mixed.withAll(mix("attn_type", `"gated-delta"`)), mix("decay_rank", `3`), wants{attnFlops: 2000 + (1728 - 2*2*8*4 + 2*2*8*3 + 2*2*3*8)}},
	{"attention_mix[].gate_rank", mixed.withAll(mix("attn_type", `"gated-delta"`)), mix("gate_rank", `3`), wants{attnFlops: 2000 + (1728 - 2*2*8*8 + 2*2*8*3 + 2*2*3*8)}},
	{"attention_mix[].q_lora_rank", mixedLatent, mix("q_lora_rank", `2`), wants{attnFlops: 2000 + 112 + (1840 - 312 + 64 + 28 + 64)}},
	{"attention_mix[].kv_lora_rank", mixedLatent, mix("kv_lora_rank", `3`), wants{cacheSpace: 2. * 10 * (8 + 3 + 2) / GB}},
	{"attention_mix[].qk_rope_head_dim", mixedLatent, mix("qk_rope_head_dim", `1`), wants{cacheSpace: 2. * 10 * (8 + 4 + 1) / GB}},
	{"attention_mix[].qk_nope_head_dim", mixedLatent, mix("qk_nope_head_dim", `4`), wants{attnFlops: 2000 + 112 + (1840 + 64 + 16 + 64)}},
	{"attention_mix[].index_topk", mixedSparse, mix("index_topk", `3`), wants{attnFlops: 2000 + 112 + (1840 - 936 + 312 + 490)}},
	{"attention_mix[].index_n_heads", mixedSparse, mix("index_n_heads", `3`), wants{attnFlops: 2000 + 112 + (1840 - 936 + 520 + 144 + 96 + 96 + 324 + 18)}},
	{"attention_mix[].index_head_dim", mixedSparse, mix("index_head_dim", `4`), wants{cacheSpace: 2. * 10 * (8 + 6 + 4) / GB}},
}

// grouped has a measured dispatch, which sends a token once to each processor that has some of its
// experts.
var grouped = exchange.with("system.kernels", `{"exchange": {"dispatch_low_latency": {"element_bytes": 1,
	"levels": [{"nodes": 1, "latency": 0, "bytes": {"axes": [[1], [1], [1]], "slowdown": [1]}}]}}}`)
