package formatstest

// modelTests change a key of the model file. The tables in base_test.go have the numbers before the change; all counts
// are for two layers.
var modelTests = []keyTest{
	{"model", dense, set{"model.model": `"other"`}, wants{"model_name": "other"}},
	// norm 7·8, gate and up 2·2·4·32, activation and multiply as before, down 2·2·16·4, residual 8
	{"hidden", dense, set{"model.hidden": `4`}, wants{mlpFlops: 2 * (56 + 512 + 96 + 32 + 256 + 8)}},
	{"num_blocks", dense, set{"model.num_blocks": `3`}, wants{attnFlops: 3 * 2000, mlpFlops: 3 * 1792}},
	// gate and up 2·2·8·64, activation 3·64, multiply 64, down 2·2·32·8
	{"feedforward", dense, set{"model.feedforward": `32`}, wants{mlpFlops: 2 * (112 + 2048 + 192 + 64 + 1024 + 16)}},

	// The cache holds, for each of 2 sequences, 10 tokens and 2 layers, keys and values: 4 heads of 2 elements each.
	{"attn_type", dense, set{"model.attn_type": `"multi-head"`, "model.kv_heads": ``}, wants{cacheSpace: 2. * 10 * 2 * (2 * 4 * 2) / GB}},
	// One head.
	{"attn_type", dense, set{"model.attn_type": `"multi-query"`, "model.kv_heads": ``}, wants{cacheSpace: 2. * 10 * 2 * (2 * 1 * 2) / GB}},
	// Instead of absorbing: latent up 2·18·4·2·4 for 2 sequences of 9 tokens, query concat 16, fused attention 2·36·(4 + 2),
	// softmax 180. The seven operators before them have 576 flops, output projection and residual 144.
	// In prefill, with 12 tokens and 144 scores: latent up 2·12·4·2·4, query concat 96, fused attention 2·144·(4 + 2), softmax
	// 5·144, and six times as many tokens in the others.
	{"attn_type", experts, set{"model.attn_type": `"mla"`}, wants{
		attnFlops:        2 * (576 + 1152 + 16 + 432 + 180 + 144),
		prefillAttnFlops: 2 * (6*576 + 768 + 96 + 1728 + 720 + 6*144),
	}},
	// Queries of 4: qkv projection 2·2·8·12, query head norm 7·8; 36 scores; output projection 2·2·4·8.
	{"attn_heads", dense, set{"model.attn_heads": `2`}, wants{attnFlops: 2 * (112 + 384 + 56 + 56 + 2*36*4 + 5*36 + 128 + 16)}},
	{"kv_heads", dense, set{"model.kv_heads": `4`}, wants{cacheSpace: 2. * 10 * 2 * (2 * 4 * 2) / GB}},
	{"attn_size", dense, set{"model.attn_size": `4`}, wants{cacheSpace: 2. * 10 * 2 * (2 * 2 * 4) / GB}},
	{"qk_norm", dense, set{"model.qk_norm": `false`}, wants{attnFlops: 2 * (2000 - 112 - 56)}},
	// A projection of 8 to 8, two operations for each of 16 sigmoids, 16 products.
	{"has_attn_gate", dense, set{"model.has_attn_gate": `true`}, wants{attnFlops: 2 * (2000 + 256 + 32 + 16)}},
	// The same with 2 heads of values of 2: 8 to 4.
	{"has_attn_gate", experts, set{"model.has_attn_gate": `true`}, wants{attnFlops: 2 * (1840 + 128 + 16 + 8)}},
	// 72 scores are written by the first product (16 + 72 + 72), read and written by the softmax, read by the second
	// product (72 + 16 + 72).
	{"use_flash_attn", dense, set{"model.use_flash_attn": `false`}, wants{attnBytes: 2 * (588 - 176 + 160 + 144 + 160)}},
	// 36 scores are written, read, written, read.
	{"use_flash_attn", experts, set{"model.use_flash_attn": `false`}, wants{attnBytes: 2 * (812 + 4*36)}},
	// A prompt of 12 tokens: 24 tokens of 2 heads with 12 scores each need 576 bytes of working space, unless they stay on the
	// chip. Then the joined queries are the largest result: 24 · 2 · (4 + 2).
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
	// latent up split 2·(2 + 4)·4, absorb value 2·4·4·4, output projection 2·2·8·8
	{"v_head_dim", experts, set{"model.v_head_dim": `4`}, wants{attnFlops: 2 * (1840 + (48 - 32) + (128 - 64) + (256 - 128))}},

	// The router has 6 outputs; 6 + 2 + 2 experts are deployed.
	{"num_experts", experts, set{"model.num_experts": `6`}, wants{mlpFlops: 2 * (1726 - 128 + 192), mlpWeights: 2. * (16 + 48 + 10*96) / GB}},
	// A token visits 4 experts, so they see 8: gate and up 2·8·8·8, activation 3·32, multiply 32, down 2·8·4·8, weighting 64.
	{"top_experts_activation", experts, set{"model.top_experts_activation": `3`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 1024 + 96 + 32 + 512 + 64 + 16)}},
	{"n_shared_experts", experts, set{"model.n_shared_experts": `2`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 1024 + 96 + 32 + 512 + 64 + 16)}},
	// 4 + 2 + 4 experts are deployed.
	{"num_shared_experts", experts, set{"model.num_shared_experts": `4`}, wants{mlpWeights: 2. * (16 + 32 + 10*96) / GB}},
	// Left out: as many as a token visits, which makes 4 + 2 + 1.
	{"num_shared_experts", experts, set{"model.num_shared_experts": ``}, wants{mlpWeights: 2. * (16 + 32 + 7*96) / GB}},
	{"num_redundant_experts", experts, set{"model.num_redundant_experts": `4`}, wants{mlpWeights: 2. * (16 + 32 + 10*96) / GB, "decoder_moe_redundant_expert_num": 4}},
	// gate and up 2·6·8·16, activation 3·48, multiply 48, down 2·6·8·8
	{"moe_intermediate_size", experts, set{"model.moe_intermediate_size": `8`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 1536 + 144 + 48 + 768 + 48 + 16)}},
	// 12 instead of 6 tokens in every operator of the experts.
	{"moe_capacity_factor", experts, set{"model.moe_capacity_factor": `2`}, wants{mlpFlops: 2 * (224 + 128 + 62 + 2*(768+72+24+384+48) + 16)}},
	// One of the two layers has experts, the other is dense, with two norms as latent attention has none.
	{"moe_block_interval", experts.with("model.feedforward", `16`), set{"model.moe_block_interval": `2`}, wants{mlpFlops: 1726 + (1792 + 112)}},

	// Of 2 · 6 tokens 2 · 3 are left to compute, all with a context of 6: 144 scores. Input norm 7·48, qkv projection 2·6·8·16,
	// head norms 7·48 + 7·24, fused attention 2·144·4, softmax 5·144, output projection 2·6·8·8, residual 48. The cache that
	// fused attention reads stays 96 bytes.
	{"cache_len", dense, set{"model.cache_len": `3`}, wants{
		prefillAttnFlops: 2 * (336 + 1536 + 336 + 168 + 1152 + 720 + 768 + 48),
		prefillAttnBytes: 2 * (104 + 272 + 98 + 50 + (48 + 48 + 96) + 160 + 144),
	}},
	// One of up to 4 drafts is the best, see drafting.
	{"num_nextn_predict_layers", drafting.with("runtime.decode_mtp_token_config", `null`), set{"model.num_nextn_predict_layers": `1`}, wants{"decoder_mtp_token": 1, tokenTime: oneDraft / 1.79}},

	{key: "ffn_dim_multiplier", base: dense.with("model.multiple_of", `16`), change: set{"model.ffn_dim_multiplier": `0.9`}},
	{key: "multiple_of", base: dense, change: set{"model.multiple_of": `8`}},
	{key: "seq_size", base: dense, change: set{"model.seq_size": `99`}},
	{key: "output_seq", base: dense, change: set{"model.output_seq": `99`}},
	{key: "first_k_dense_replace", base: experts.with("model.feedforward", `16`), change: set{"model.first_k_dense_replace": `1`}},
	{key: "vocab_size", base: dense, change: set{"model.vocab_size": `1000`}},
	{key: "weight_byte", base: dense, change: set{"model.weight_byte": `2`}},
	{key: "activation_byte", base: dense, change: set{"model.activation_byte": `2`}},
	{key: "cache_byte", base: dense, change: set{"model.cache_byte": `2`}},
	{key: "sources.*", base: dense, change: set{"model.sources.hidden": `"a guess"`}},
}
