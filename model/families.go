package model

// A family is the meaning of config keys in one architecture, with transformers' defaults.
type family struct {
	types         []string // model_type
	wrappers      []string // model_type of a config that holds one of this family in text_config
	architectures []string

	layers       func(c *config) []string                                    // kind of attention per layer
	kinds        map[string]func(*config) attentionFile                      // readers of each kind
	scoreCap     option                                                      // scores are bounded
	blocks       func(c *config) (mixers []string, feedForward, experts int) // of a config that lists single blocks
	heads        headKeys                                                    // unless attention is latent
	qkNorm, gate option                                                      // norm of queries and keys; gate on the attention output

	width      string // key of the width of dense layers
	widthTimes int    // default width as a multiple of hidden; 0: required
	plain      bool   // two matrices instead of three
	experts    *expertKeys
	tied       bool           // default of tie_word_embeddings
	postNorms  bool           // a norm behind each block, too
	logitCap   option         // logits are bounded
	absent     map[string]int // sizes that published configs leave to transformers' defaults
	wideRouter bool           // the router always multiplies in 32 bits
	leftOut    []string       // what the simulation does without
	harmless   []string       // keys that change no shape in this family
}

type headKeys struct {
	kvAsHeads bool // num_key_value_heads defaults to num_attention_heads; else it is required
	dim       int  // default of head_dim; 0: hidden_size / num_attention_heads
}

// option is a switch: a key and its default. Without a key it is always on.
type option struct {
	key string
	on  bool
}

// isGiven reports whether an option whose key is a number or null is on.
func (c *config) isGiven(o option) bool {
	if o.key == "" {
		return o.on
	}
	inner, innerGiven := c.inner.values[o.key]
	if !innerGiven {
		return o.on
	}
	c.inner.seen[o.key] = true
	return isSet(inner)
}

func (c *config) option(o option) bool {
	if o.key == "" {
		return o.on
	}
	return c.flag(o.on, o.key)
}

// expertKeys are the keys of experts that differ in name or meaning. The number of experts and
// their layers are read alike everywhere.
type expertKeys struct {
	width       string   // of one expert
	shared      []string // number of shared experts as wide as the routed ones
	sharedWidth string   // width of the only shared expert; 0: there is none
	sharedGate  bool     // which tokens weigh
	inner       string   // width of the tokens that routed experts see
}

// Kinds of attention in the layers of one model.
const (
	full              = "full"
	sliding           = "sliding"
	linear            = "linear"
	state             = "state"   // a state space
	indexed           = "indexed" // an indexer picks what is seen
	reused            = "reused"  // sees what the indexer of another layer picked
	compressed        = "compressed"
	heavilyCompressed = "heavily compressed"
)

type kinds = map[string]func(*config) attentionFile

// omissions are keys of things that the simulation does without.
var omissions = []struct{ key, what string }{
	{"attention_bias", "biases of the attention projections"},
	{"mlp_bias", "biases of the feed-forward block"},
	{"add_swa_attention_sink_bias", "attention sinks"},
	{"add_full_attention_sink_bias", "attention sinks"},
	{"vision_config", "the vision tower"},
	{"audio_config", "the audio tower"},
	{"num_hash_layers", "routing by hash in the first layers: all routers are taken to compute scores"},
	{"attn_res_block_size", "attention over the residuals of earlier layers"},
	{"latent_moe_use_norm", "the norm in front of routed experts"},
}

var families = []family{
	{
		types: []string{"llama", "seed_oss"}, architectures: []string{"LlamaForCausalLM", "SeedOssForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{kvAsHeads: true},
		width: "intermediate_size",
	},
	{
		types: []string{"smollm3"}, architectures: []string{"SmolLM3ForCausalLM"},
		layers: slidingAbove, kinds: kinds{full: grouped, sliding: windowed}, width: "intermediate_size", tied: true,
		harmless: []string{"no_rope_layers", "no_rope_layer_interval"},
	},
	{
		types: []string{"granite"}, architectures: []string{"GraniteForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{kvAsHeads: true},
		width: "intermediate_size", harmless: graniteScales,
	},
	{
		types: []string{"granitemoehybrid"}, architectures: []string{"GraniteMoeHybridForCausalLM"},
		layers: byBlockType, kinds: kinds{full: grouped, state: graniteMamba}, heads: headKeys{kvAsHeads: true},
		width: "shared_intermediate_size", experts: &expertKeys{width: "intermediate_size", sharedWidth: "shared_intermediate_size"},
		harmless: append([]string{"position_embedding_type", "intermediate_size", "num_experts_per_tok", "normalization_function",
			"mamba_chunk_size", "mamba_conv_bias", "mamba_proj_bias", "time_step_limit", "init_method"}, graniteScales...),
	},
	{
		types: []string{"phi3"}, architectures: []string{"Phi3ForCausalLM"},
		layers: slidingIfGiven, kinds: kinds{full: grouped, sliding: windowed}, heads: headKeys{kvAsHeads: true},
		width: "intermediate_size", harmless: []string{"full_attn_mod", "interpolate_factor", "lm_head_bias", "mlp_bias"},
	},
	{
		types: []string{"glm"}, architectures: []string{"GlmForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{dim: 128}, width: "intermediate_size",
	},
	{
		types: []string{"glm4"}, architectures: []string{"Glm4ForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{dim: 128}, width: "intermediate_size", postNorms: true,
	},
	{
		types: []string{"gemma"}, architectures: []string{"GemmaForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{dim: 256},
		width: "intermediate_size", tied: true, harmless: gemmaScales,
	},
	{
		types: []string{"starcoder2"}, architectures: []string{"Starcoder2ForCausalLM"}, plain: true,
		layers: slidingIfGiven, kinds: kinds{full: grouped, sliding: windowed}, width: "intermediate_size", tied: true,
		leftOut:  []string{"biases"},
		harmless: []string{"use_bias", "norm_type", "norm_epsilon", "mlp_type", "residual_dropout", "embedding_dropout"},
	},
	{
		types: []string{"gemma2"}, architectures: []string{"Gemma2ForCausalLM"},
		layers: slidingBut(2), kinds: kinds{full: grouped, sliding: windowed}, heads: headKeys{dim: 256},
		scoreCap: option{"attn_logit_softcapping", true}, logitCap: option{"final_logit_softcapping", true},
		width: "intermediate_size", tied: true, postNorms: true, absent: map[string]int{"sliding_window": 4096},
		harmless: gemmaScales,
	},
	{
		types: []string{"gemma3_text"}, wrappers: []string{"gemma3"},
		architectures: []string{"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
		layers:        slidingByPattern(6), kinds: kinds{full: grouped, sliding: windowed}, heads: headKeys{dim: 256},
		qkNorm: option{on: true}, scoreCap: option{"attn_logit_softcapping", false}, logitCap: option{"final_logit_softcapping", false},
		width: "intermediate_size", tied: true, postNorms: true,
		absent:   map[string]int{"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262208},
		harmless: append([]string{"mm_tokens_per_image", "rope_local_base_freq"}, gemmaScales...),
	},
	{
		types: []string{"gemma4_text"}, wrappers: []string{"gemma4"},
		architectures: []string{"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"},
		layers:        slidingByPattern(6), kinds: kinds{full: globalHeads, sliding: windowed}, heads: headKeys{dim: 256},
		qkNorm: option{on: true}, logitCap: option{"final_logit_softcapping", false},
		width: "intermediate_size", tied: true, postNorms: true,
		// The dense block beside the experts is what a shared expert is elsewhere.
		experts: &expertKeys{width: "moe_intermediate_size", sharedWidth: "intermediate_size"},
		leftOut: []string{"norms of values, and of the dense block and the experts apart"},
		harmless: append([]string{"enable_moe_block", "expert_intermediate_size", "use_double_wide_mlp", "vocab_size_per_layer_input",
			"top_k_experts", "vision_soft_tokens_per_image", "boa_token_id", "boi_token_id", "eoa_token_id", "eoa_token_index", "eoi_token_id"}, gemmaScales...),
	},
	{
		types: []string{"mistral", "ministral3"}, wrappers: []string{"mistral3"},
		architectures: []string{"MistralForCausalLM", "Ministral3ForCausalLM", "Mistral3ForConditionalGeneration"},
		layers:        slidingIfGiven, kinds: kinds{full: grouped, sliding: windowed}, width: "intermediate_size",
		harmless: []string{"multimodal_projector_bias", "projector_hidden_act", "spatial_merge_size", "vision_feature_layer"},
	},
	{
		types: []string{"mixtral", "phimoe"}, architectures: []string{"MixtralForCausalLM", "PhiMoEForCausalLM"},
		layers: slidingIfGiven, kinds: kinds{full: grouped, sliding: windowed},
		width: "intermediate_size", experts: &expertKeys{width: "intermediate_size"},
		harmless: []string{"lm_head_bias", "input_jitter_noise", "router_jitter_noise"},
	},
	{
		types:         []string{"qwen2", "qwen2_5_vl", "qwen2_5_vl_text", "mimo"},
		architectures: []string{"Qwen2ForCausalLM", "Qwen2_5_VLForConditionalGeneration", "MiMoForCausalLM"},
		layers:        slidingAbove, kinds: kinds{full: grouped, sliding: windowed}, width: "intermediate_size",
		leftOut:  []string{"biases of the attention projections"},
		harmless: []string{"vision_token_id", "use_mrope"},
	},
	{
		types: []string{"qwen3", "qwen3_vl_text"}, wrappers: []string{"qwen3_vl"},
		architectures: []string{"Qwen3ForCausalLM", "Qwen3VLForConditionalGeneration"},
		layers:        slidingAbove, kinds: kinds{full: grouped, sliding: windowed}, heads: headKeys{dim: 128},
		qkNorm: option{on: true}, width: "intermediate_size",
	},
	{
		types: []string{"qwen3_moe", "qwen3_vl_moe_text"}, wrappers: []string{"qwen3_vl_moe"},
		architectures: []string{"Qwen3MoeForCausalLM", "Qwen3VLMoeForConditionalGeneration"},
		layers:        slidingAbove, kinds: kinds{full: grouped, sliding: windowed},
		qkNorm: option{on: true}, width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size"},
	},
	{
		types: []string{"qwen3_next"}, architectures: []string{"Qwen3NextForCausalLM"},
		layers: linearBut(4), kinds: kinds{full: grouped, linear: gatedDelta},
		qkNorm: option{on: true}, gate: option{on: true},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", sharedWidth: "shared_expert_intermediate_size", sharedGate: true},
		harmless: []string{"use_sliding_window"},
	},
	{
		types: []string{"qwen3_5_text"}, wrappers: []string{"qwen3_5"},
		architectures: []string{"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"},
		layers:        linearBut(4), kinds: kinds{full: grouped, linear: gatedDelta},
		qkNorm: option{on: true}, gate: option{"attn_output_gate", true},
		width: "intermediate_size", harmless: []string{"mlp_only_layers", "language_model_only", "output_gate_type"},
	},
	{
		types: []string{"qwen3_5_moe_text"}, wrappers: []string{"qwen3_5_moe"},
		architectures: []string{"Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"},
		layers:        linearBut(4), kinds: kinds{full: grouped, linear: gatedDelta},
		qkNorm: option{on: true}, gate: option{"attn_output_gate", true},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", sharedWidth: "shared_expert_intermediate_size", sharedGate: true},
	},
	{
		types: []string{"deepseek_v2"}, architectures: []string{"DeepseekV2ForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: latent},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", shared: []string{"n_shared_experts"}},
		harmless: latentHeads,
	},
	{
		types: []string{"nemotron_h"}, architectures: []string{"NemotronHForCausalLM"}, plain: true,
		blocks: byPattern, layers: func(c *config) []string { return c.mixers },
		kinds: kinds{full: grouped, state: nemotronMamba},
		width: "intermediate_size",
		experts: &expertKeys{
			width: "moe_intermediate_size", shared: []string{"n_shared_experts"}, sharedWidth: "moe_shared_expert_intermediate_size",
			inner: "moe_latent_size",
		},
		harmless: []string{"chunk_size", "expand", "mamba_hidden_act", "mamba_proj_bias", "mamba_ssm_cache_dtype", "mlp_hidden_act",
			"moe_shared_expert_overlap", "mtp_hybrid_override_pattern", "mtp_layers_block_type", "norm_eps", "num_logits_to_keep",
			"rescale_prenorm_residual", "residual_in_fp32", "time_step_floor", "time_step_limit", "time_step_max", "time_step_min",
			"time_step_rank", "use_bias", "use_conv_bias", "use_mamba_kernels", "n_routed_experts", "n_shared_experts",
			"moe_intermediate_size", "moe_shared_expert_intermediate_size", "moe_latent_size", "num_experts_per_tok", "n_group", "topk_group"},
	},
	{
		types: []string{"ernie4_5"}, architectures: []string{"Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{kvAsHeads: true},
		width: "intermediate_size", tied: true, harmless: []string{"use_bias"},
	},
	{
		types: []string{"ernie4_5_moe"}, architectures: []string{"Ernie4_5_MoeForCausalLM", "Ernie4_5_MoEForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{kvAsHeads: true},
		width: "intermediate_size", tied: true,
		experts:  &expertKeys{width: "moe_intermediate_size", shared: []string{"moe_num_shared_experts"}},
		harmless: []string{"use_bias", "moe_norm_min", "moe_layer_end_index", "moe_use_aux_free", "moe_capacity", "moe_gate", "moe_use_hard_gate"},
	},
	{
		types: []string{"hy_v3"}, architectures: []string{"HYV3ForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{dim: 128}, qkNorm: option{on: true},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", shared: []string{"num_shared_experts"}},
		harmless: []string{"router_scaling_factor"},
	},
	{
		types: []string{"deepseek_v3", "kimi_k2"}, wrappers: []string{"kimi_k25"},
		architectures: []string{"DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration"},
		layers:        everyLayer(full), kinds: kinds{full: latent},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", shared: []string{"n_shared_experts"}},
		harmless: latentHeads,
	},
	{
		types: []string{"deepseek_v32"}, architectures: []string{"DeepseekV32ForCausalLM"},
		layers: everyLayer(indexed), kinds: kinds{indexed: latentIndexed},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", shared: []string{"n_shared_experts"}},
		harmless: latentHeads,
	},
	{
		types: []string{"glm_moe_dsa"}, architectures: []string{"GlmMoeDsaForCausalLM"}, wideRouter: true,
		layers: byIndexer, kinds: kinds{indexed: latentIndexed, reused: latentReused},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", shared: []string{"n_shared_experts"}},
		harmless: append([]string{"index_skip_topk_offset", "index_share_for_mtp_iteration", "indexer_rope_interleave"}, latentHeads...),
	},
	{
		types: []string{"deepseek_v4"}, architectures: []string{"DeepseekV4ForCausalLM"},
		layers:   byCompression,
		kinds:    kinds{compressed: compressedBy4, heavilyCompressed: compressedBy128, sliding: compressedNot},
		experts:  &expertKeys{width: "moe_intermediate_size", shared: []string{"n_shared_experts"}},
		width:    "intermediate_size",
		leftOut:  []string{"attention sinks"},
		harmless: []string{"hc_eps", "hc_sinkhorn_iters", "compress_rope_theta", "num_key_value_heads"},
	},
	{
		types: []string{"glm4_moe"}, architectures: []string{"Glm4MoeForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, qkNorm: option{"use_qk_norm", false},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", shared: []string{"n_shared_experts"}},
	},
	{
		types: []string{"kimi_linear"}, wrappers: []string{"kimi_k3"},
		architectures: []string{"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"},
		layers:        byLinearConfig, kinds: kinds{full: latent, linear: kimiDelta}, gate: option{"mla_use_output_gate", false},
		width:    "intermediate_size",
		experts:  &expertKeys{width: "moe_intermediate_size", shared: []string{"num_shared_experts"}, inner: "routed_expert_hidden_size"},
		harmless: append([]string{"mla_use_nope", "model_max_length", "activation_situ_beta", "activation_situ_linear_beta"}, latentHeads...),
	},
	{
		types: []string{"llama4_text"}, wrappers: []string{"llama4"},
		architectures: []string{"Llama4ForConditionalGeneration", "Llama4ForCausalLM"},
		layers:        byChunks, kinds: kinds{full: unrotated, sliding: chunked}, qkNorm: option{"use_qk_norm", true},
		width: "intermediate_size_mlp", experts: &expertKeys{width: "intermediate_size", sharedWidth: "intermediate_size"},
	},
	{
		types: []string{"gpt_oss"}, architectures: []string{"GptOssForCausalLM"},
		layers: slidingBut(2), kinds: kinds{full: grouped, sliding: windowed}, heads: headKeys{dim: 64},
		width: "intermediate_size", experts: &expertKeys{width: "intermediate_size"},
		leftOut: []string{"attention sinks", "biases of experts and router"},
	},
	{
		types: []string{"mimo_v2_flash"}, architectures: []string{"MiMoV2FlashForCausalLM"},
		layers: byHybridPattern, kinds: kinds{full: grouped, sliding: slidingHeads},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", shared: []string{"n_shared_experts"}},
		harmless: []string{"attention_chunk_size", "attention_value_scale"},
	},
	{
		harmless: []string{"postnorm"}, // the residual is taken behind the norm instead of in front
		types:    []string{"minimax_m1", "minimax_text_01"}, architectures: []string{"MiniMaxM1ForCausalLM", "MiniMaxText01ForCausalLM"},
		layers: byAttentionType(8), kinds: kinds{full: grouped, linear: lightning},
		width: "intermediate_size", experts: &expertKeys{width: "intermediate_size", sharedWidth: "shared_intermediate_size"},
	},
	{
		types: []string{"minimax_m2"}, architectures: []string{"MiniMaxM2ForCausalLM"}, wideRouter: true,
		layers: byAttentionType(1), kinds: kinds{full: grouped, linear: lightning}, qkNorm: option{"use_qk_norm", false},
		width: "intermediate_size", experts: &expertKeys{width: "intermediate_size", sharedWidth: "shared_intermediate_size"},
		harmless: []string{"mlp_intermediate_size"},
	},
	{
		types: []string{"gpt2"}, architectures: []string{"GPT2LMHeadModel"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{kvAsHeads: true},
		width: "n_inner", widthTimes: 4, plain: true, tied: true,
		leftOut: []string{"learned positions", "biases"},
	},
}

// graniteScales and gemmaScales are factors that are multiplied into other operators.
var (
	graniteScales = []string{"attention_multiplier", "embedding_multiplier", "logits_scaling", "residual_multiplier"}
	gemmaScales   = []string{"query_pre_attn_scalar", "hidden_activation", "cache_implementation", "use_bidirectional_attention"}
)

// latentHeads are keys of heads that latent attention does not use.
var latentHeads = []string{"num_key_value_heads", "head_dim", "qk_head_dim"}

// harmless are keys that do not change the shape of a model: training, generation, positions,
// tokens, the choice of experts, precision of single steps, and what transformers always writes.
var harmless = setOf(
	// Positions.
	"n_ctx", "initial_context_length", "original_max_position_embeddings",
	"rope_theta", "rope_scaling", "rope_parameters", "rope_interleave", "rope_type", "partial_rotary_factor", "rotary_dim",
	"swa_rope_theta", "attn_temperature_tuning", "attn_scale", "floor_scale",
	// Tokens.
	"bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id", "image_token_id", "image_token_index",
	"video_token_id", "audio_token_id", "vision_start_token_id", "vision_end_token_id", "boi_token_index", "eoi_token_index",
	"media_placeholder_token_id", "image_placeholder", "video_placeholder", "ignore_index", "tokenizer_class", "prefix",
	"use_unified_vision_chunk",
	// Training.
	"initializer_range", "attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop", "aux_loss_alpha",
	"router_aux_loss_coef", "router_jitter_noise", "router_z_loss_coef", "seq_aux", "output_router_logits", "pretraining_tp",
	"ep_size", "rescale_layer", "mtp_use_dedicated_embeddings",
	// Norms and activations.
	"rms_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "layer_norm_eps", "hidden_act", "activation_function",
	"swiglu_limit", "layernorm_full_attention_alpha", "layernorm_full_attention_beta",
	"layernorm_linear_attention_alpha", "layernorm_linear_attention_beta", "layernorm_mlp_alpha", "layernorm_mlp_beta",
	"gate_lower_bound",
	// The choice of experts.
	"topk_method", "norm_topk_prob", "scoring_func", "routed_scaling_factor", "use_routing_bias",
	"moe_renormalize", "moe_router_activation_func", "num_expert_group", "use_grouped_topk", "shared_moe_mode",
	// Precision.
	"moe_router_dtype", "mamba_ssm_dtype", "for_llm_compressor",
	// What transformers writes.
	"auto_map", "transformers_version", "use_cache", "return_dict", "output_attentions", "output_hidden_states", "torchscript",
	"use_bfloat16", "pruned_heads", "chunk_size_feed_forward", "is_decoder", "is_encoder_decoder", "add_cross_attention",
	"cross_attention_hidden_size", "tie_encoder_decoder", "finetuning_task", "id2label", "label2id", "task_specific_params",
	"problem_type", "tf_legacy_loss", "remove_invalid_values", "bad_words_ids", "begin_suppress_tokens", "suppress_tokens",
	"forced_bos_token_id", "forced_eos_token_id", "exponential_decay_length_penalty", "diversity_penalty", "do_sample",
	"early_stopping", "encoder_no_repeat_ngram_size", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size",
	"num_beam_groups", "num_beams", "num_return_sequences", "output_scores", "repetition_penalty", "return_dict_in_generate",
	"temperature", "top_k", "top_p", "typical_p", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
	"summary_type", "summary_use_proj", "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx", "scale_attn_weights",
	"model_parallel",
)

func setOf(keys ...string) map[string]bool {
	set := map[string]bool{}
	for _, k := range keys {
		set[k] = true
	}
	return set
}
