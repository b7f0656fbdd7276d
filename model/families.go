package model

// A family is what the keys of a Hugging Face config mean in one architecture, where that differs between architectures.
// What transformers assumes of a key that is left out is part of it.
type family struct {
	types         []string // model_type
	wrappers      []string // model_type of a config that holds one of this family in text_config
	architectures []string

	layers       func(c *config) []string               // the kind of attention of each layer
	kinds        map[string]func(*config) attentionFile // how each kind is read
	heads        headKeys                               // of attention that is not latent
	qkNorm, gate option                                 // norm of queries and keys; gate on the attention output

	width      string // key of the width of dense layers
	widthTimes int    // the width is this many times hidden where the key is left out; 0: it must be given
	plain      bool   // two matrices instead of three
	experts    *expertKeys
	tied       bool     // tie_word_embeddings where it is left out
	wideRouter bool     // the router multiplies in 32 bits, whether or not the config says so
	leftOut    []string // what the simulation does without
	harmless   []string // keys that change no shape in this family
}

// headKeys say what heads are where the config does not.
type headKeys struct {
	kvAsHeads bool // num_key_value_heads defaults to num_attention_heads; else it must be given
	dim       int  // head_dim defaults to this; 0: to hidden_size / num_attention_heads
}

// option is a switch: a key, and its value where the key is left out. Without a key it is always so.
type option struct {
	key string
	on  bool
}

func (c *config) option(o option) bool {
	if o.key == "" {
		return o.on
	}
	return c.flag(o.on, o.key)
}

// expertKeys are the keys of experts that have different names or meanings. The numbers of experts, and which layers
// have them, are read alike everywhere.
type expertKeys struct {
	width       string   // of one expert
	shared      []string // number of shared experts as wide as the routed ones
	sharedWidth string   // width of the only shared expert; 0: there is none
	inner       string   // width of the tokens that routed experts see
}

// The kinds of attention that layers of one model can have.
const (
	full              = "full"
	sliding           = "sliding"
	linear            = "linear"
	indexed           = "indexed" // an indexer picks what is seen
	reused            = "reused"  // what the indexer of another layer picked is seen
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
	{"postnorm", "norms behind the blocks"},
}

var families = []family{
	{
		types: []string{"llama"}, architectures: []string{"LlamaForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: grouped}, heads: headKeys{kvAsHeads: true},
		width: "intermediate_size",
	},
	{
		types: []string{"mistral"}, architectures: []string{"MistralForCausalLM"},
		layers: slidingIfGiven, kinds: kinds{full: grouped, sliding: windowed}, width: "intermediate_size",
	},
	{
		types: []string{"mixtral"}, architectures: []string{"MixtralForCausalLM"},
		layers: slidingIfGiven, kinds: kinds{full: grouped, sliding: windowed},
		width: "intermediate_size", experts: &expertKeys{width: "intermediate_size"},
	},
	{
		types: []string{"qwen2"}, architectures: []string{"Qwen2ForCausalLM"},
		layers: slidingAbove, kinds: kinds{full: grouped, sliding: windowed}, width: "intermediate_size",
		leftOut: []string{"biases of the attention projections"},
	},
	{
		types: []string{"qwen3"}, architectures: []string{"Qwen3ForCausalLM"},
		layers: slidingAbove, kinds: kinds{full: grouped, sliding: windowed}, heads: headKeys{dim: 128},
		qkNorm: option{on: true}, width: "intermediate_size",
	},
	{
		types: []string{"qwen3_moe"}, architectures: []string{"Qwen3MoeForCausalLM"},
		layers: slidingAbove, kinds: kinds{full: grouped, sliding: windowed},
		qkNorm: option{on: true}, width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size"},
	},
	{
		types: []string{"qwen3_next"}, architectures: []string{"Qwen3NextForCausalLM"},
		layers: linearBut(4), kinds: kinds{full: grouped, linear: gatedDelta},
		qkNorm: option{on: true}, gate: option{on: true},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", sharedWidth: "shared_expert_intermediate_size"},
		harmless: []string{"use_sliding_window"},
	},
	{
		types: []string{"qwen3_5_moe_text"}, wrappers: []string{"qwen3_5_moe"},
		architectures: []string{"Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"},
		layers:        linearBut(4), kinds: kinds{full: grouped, linear: gatedDelta},
		qkNorm: option{on: true}, gate: option{"attn_output_gate", true},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", sharedWidth: "shared_expert_intermediate_size"},
	},
	{
		types: []string{"deepseek_v2"}, architectures: []string{"DeepseekV2ForCausalLM"},
		layers: everyLayer(full), kinds: kinds{full: latent},
		width: "intermediate_size", experts: &expertKeys{width: "moe_intermediate_size", shared: []string{"n_shared_experts"}},
		harmless: latentHeads,
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
		leftOut:  []string{"the decay per channel of Kimi delta attention: one per head is taken"},
		harmless: append([]string{"mla_use_nope", "activation_situ_beta", "activation_situ_linear_beta"}, latentHeads...),
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
		types: []string{"minimax_m1", "minimax_text_01"}, architectures: []string{"MiniMaxM1ForCausalLM", "MiniMaxText01ForCausalLM"},
		layers: byAttentionType(8), kinds: kinds{full: grouped, linear: lightning},
		width: "intermediate_size", experts: &expertKeys{width: "intermediate_size", sharedWidth: "shared_intermediate_size"},
	},
	{
		types: []string{"minimax_m2"}, architectures: []string{"MiniMaxM2ForCausalLM"},
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

// latentHeads are keys of heads that latent attention does not use.
var latentHeads = []string{"num_key_value_heads", "head_dim", "qk_head_dim"}

// The kinds of attention of the layers.

func everyLayer(kind string) func(*config) []string {
	return func(c *config) []string { return c.fill(func(int) string { return kind }) }
}

func (c *config) fill(kind func(i int) string) []string {
	out := make([]string, c.layers)
	for i := range out {
		out[i] = kind(i)
	}
	return out
}

// layerTypes are the names of layer_types in transformers.
var layerTypes = map[string]string{
	"full_attention": full, "sliding_attention": sliding, "chunked_attention": sliding, "linear_attention": linear,
}

// typed is the layers by layer_types, or by a rule where that is left out.
func (c *config) typed(absent func() []string) []string {
	if _, ok := c.find("layer_types"); !ok {
		return absent()
	}
	known := map[string]string{}
	for name, kind := range layerTypes {
		if c.family.kinds[kind] != nil {
			known[name] = kind
		}
	}
	labels, _ := c.perLayer("layer_types", 0, known)
	return labels
}

// allBut has every n-th layer see everything, and the others be of a kind.
func (c *config) allBut(kind string, n int) []string {
	return c.fill(func(i int) string {
		if n > 0 && (i+1)%n == 0 {
			return full
		}
		return kind
	})
}

func linearBut(n int) func(*config) []string {
	return func(c *config) []string {
		every := c.sizeOr(n, "full_attention_interval")
		return c.typed(func() []string { return c.allBut(linear, every) })
	}
}

func slidingBut(n int) func(*config) []string {
	return func(c *config) []string {
		return c.typed(func() []string { return c.allBut(sliding, n) })
	}
}

// slidingIfGiven: a window, if there is one, holds in all layers.
func slidingIfGiven(c *config) []string {
	return c.typed(func() []string {
		if _, ok := c.find("sliding_window"); ok {
			return everyLayer(sliding)(c)
		}
		return everyLayer(full)(c)
	})
}

// slidingAbove: a window holds from layer max_window_layers on, and only if use_sliding_window says so.
func slidingAbove(c *config) []string {
	use := c.flag(false, "use_sliding_window")
	above := c.count("max_window_layers")
	_, given := c.find("sliding_window")
	labels := c.typed(func() []string {
		return c.fill(func(i int) string {
			if i >= above {
				return sliding
			}
			return full
		})
	})
	if !use || !given {
		return everyLayer(full)(c)
	}
	return labels
}

// byIndexer: indexer_types says which layers have an indexer and which use what another picked.
func byIndexer(c *config) []string {
	if _, ok := c.find("indexer_types"); !ok {
		if v, ok := c.find("index_topk_freq"); ok {
			if n, ok := whole(v, 1, maxSize); ok && n > 1 {
				v.Problemf("needs indexer_types, which says what layers have an indexer")
			}
		}
		return everyLayer(indexed)(c)
	}
	c.find("index_topk_freq", "index_topk_pattern") // indexer_types says the same
	labels, _ := c.perLayer("indexer_types", 0, map[string]string{"full": indexed, "shared": reused})
	return labels
}

// byCompression: compress_ratios has a ratio for each layer and each draft layer.
func byCompression(c *config) []string {
	if _, ok := c.find("compress_ratios"); !ok {
		c.missing("compress_ratios")
		return nil
	}
	ratios := map[string]string{"0": sliding, "4": compressed, "128": heavilyCompressed}
	labels, _ := c.perLayer("compress_ratios", c.draftLayers(), ratios)
	return labels
}

// byLinearConfig: linear_attn_config lists the layers of both kinds, counted from 1.
func byLinearConfig(c *config) []string {
	in := c.within("linear_attn_config")
	if in == nil {
		return nil
	}
	isLinear, ok := in.layerNumbers("kda_layers", 1)
	if !ok {
		in.missing("kda_layers")
	}
	isFull, ok := in.layerNumbers("full_attn_layers", 1)
	if !ok {
		in.missing("full_attn_layers")
	}
	if c.doc.Err() != nil {
		return nil
	}
	for i := range c.layers {
		if isLinear[i] == isFull[i] {
			c.doc.Problemf(in.inner.at, "layer %d must be in one of kda_layers and full_attn_layers", i+1)
			return nil
		}
	}
	return c.fill(func(i int) string {
		if isLinear[i] {
			return linear
		}
		return full
	})
}

// byChunks: layers with rotary positions see chunks; every fourth has no positions and sees everything.
func byChunks(c *config) []string {
	every := c.sizeOr(4, "no_rope_layer_interval")
	if _, ok := c.find("attention_chunk_size"); !ok {
		return everyLayer(full)(c)
	}
	return c.typed(func() []string {
		if v, ok := c.list("no_rope_layers"); ok && len(v) > 0 {
			labels, _ := c.perLayer("no_rope_layers", 0, map[string]string{"1": sliding, "0": full})
			return labels
		}
		return c.allBut(sliding, every)
	})
}

func byHybridPattern(c *config) []string {
	if _, ok := c.find("hybrid_layer_pattern"); !ok {
		c.missing("hybrid_layer_pattern")
		return nil
	}
	labels, _ := c.perLayer("hybrid_layer_pattern", 0, map[string]string{"0": full, "1": sliding})
	return labels
}

// byAttentionType: attn_type_list has a 1 for each layer with softmax attention.
func byAttentionType(every int) func(*config) []string {
	return func(c *config) []string {
		if _, ok := c.find("attn_type_list"); ok {
			labels, _ := c.perLayer("attn_type_list", 0, map[string]string{"0": linear, "1": full})
			return labels
		}
		return c.typed(func() []string {
			if every > 1 {
				c.omit(c.inner.at, "the order of layers, as attn_type_list is missing: every %dth is taken to have softmax attention, the others linear", every)
			}
			return c.allBut(linear, every)
		})
	}
}

// How the kinds of attention are read.

// headSize is the elements of a head.
func (c *config) headSize(heads int) int {
	if n := c.sizeOr(c.family.heads.dim, "head_dim"); n > 0 {
		return n
	}
	hidden, _ := c.number(1, maxSize, "hidden_size", "n_embd")
	if v, ok := c.find("num_attention_heads", "n_head"); ok && heads > 0 && hidden%heads != 0 {
		v.Problemf("must divide hidden_size (%d) when head_dim is not given, but %d does not", hidden, heads)
	}
	return hidden / max(heads, 1)
}

// grouped is attention with queries, keys and values of their own.
func grouped(c *config) attentionFile {
	heads := c.size("num_attention_heads", "n_head")
	var kv int
	if c.family.heads.kvAsHeads {
		kv = c.sizeOr(heads, "num_key_value_heads")
	} else {
		kv = c.size("num_key_value_heads")
	}
	a := c.groups(heads, kv, "num_key_value_heads")
	a.AttnSize = c.headSize(heads)
	a.setValueDim(c.sizeOr(0, "v_head_dim"))
	norm := c.option(c.family.qkNorm)
	a.QKNorm = &norm
	if c.word("qk_norm_type") == wideNorm && norm {
		a.QKNormType = wideNorm
	}
	a.HasAttnGate = c.option(c.family.gate)
	return a
}

// groups chooses the type of attention by its heads.
func (c *config) groups(heads, kv int, key string) attentionFile {
	a := attentionFile{AttnType: "group-query", AttnHeads: heads}
	switch {
	case kv == heads:
		a.AttnType = "multi-head"
	case kv == 1:
		a.AttnType = "multi-query"
	default:
		a.KVHeads = kv
		if v, ok := c.find(key); ok && kv > 0 && heads%kv != 0 {
			v.Problemf("must divide the number of heads (%d), but %d does not", heads, kv)
		}
	}
	return a
}

func (a *attentionFile) setValueDim(n int) {
	if n != a.AttnSize {
		a.ValueDim = n
	}
}

// windowed sees the last tokens only.
func windowed(c *config) attentionFile {
	a := grouped(c)
	a.Window = c.sizeUpTo(maxLength, "sliding_window")
	return a
}

// chunked sees the tokens of its own chunk of the sequence only.
func chunked(c *config) attentionFile {
	a := grouped(c)
	a.Window = c.sizeUpTo(maxLength, "attention_chunk_size")
	c.omit(join(c.inner.at, "attention_chunk_size"), "the borders of attention chunks: a sliding window of their length is taken")
	return a
}

// unrotated has no positions, and no norms of queries and keys either.
func unrotated(c *config) attentionFile {
	a := grouped(c)
	norm := false
	a.QKNorm = &norm
	return a
}

// slidingHeads has heads of its own besides a window.
func slidingHeads(c *config) attentionFile {
	heads := c.size("swa_num_attention_heads")
	a := c.groups(heads, c.size("swa_num_key_value_heads"), "swa_num_key_value_heads")
	a.AttnSize = c.size("swa_head_dim")
	a.setValueDim(c.sizeOr(0, "swa_v_head_dim"))
	norm := c.option(c.family.qkNorm)
	a.QKNorm = &norm
	a.Window = c.sizeUpTo(maxLength, "sliding_window", "sliding_window_size")
	return a
}

// gatedDelta is the linear attention of Qwen.
func gatedDelta(c *config) attentionFile {
	a := attentionFile{
		AttnType:  "gated-delta",
		AttnHeads: c.size("linear_num_value_heads"),
		KVHeads:   c.size("linear_num_key_heads"),
		AttnSize:  c.size("linear_key_head_dim"),
	}
	a.setValueDim(c.size("linear_value_head_dim"))
	a.Conv, _ = c.number(1, 1000, "linear_conv_kernel_dim")
	if a.KVHeads > 0 && a.AttnHeads%a.KVHeads != 0 {
		v, _ := c.find("linear_num_key_heads")
		v.Problemf("must divide linear_num_value_heads (%d), but %d does not", a.AttnHeads, a.KVHeads)
	}
	return a
}

// kimiDelta is the linear attention of Kimi.
func kimiDelta(c *config) attentionFile {
	in := c.within("linear_attn_config")
	if in == nil {
		return attentionFile{}
	}
	heads := in.size("num_heads")
	a := attentionFile{AttnType: "gated-delta", AttnHeads: heads, KVHeads: heads, AttnSize: in.size("head_dim")}
	a.Conv, _ = in.number(1, 1000, "short_conv_kernel_size")
	if !in.flag(false, "use_full_rank_gate") {
		c.omit(in.inner.at, "the low rank of the output gate of Kimi delta attention: it is taken to be of full rank")
	}
	return a
}

// lightning is the linear attention of MiniMax.
func lightning(c *config) attentionFile {
	heads := c.size("num_attention_heads")
	return attentionFile{AttnType: "lightning", AttnHeads: heads, AttnSize: c.headSize(heads)}
}

// latent attention works on the latent vectors when it decodes: that is what engines do.
func latent(c *config) attentionFile {
	a := attentionFile{
		AttnType:  "mla-absorb",
		AttnHeads: c.size("num_attention_heads"),
		KVRank:    c.size("kv_lora_rank"),
		NopeDim:   c.size("qk_nope_head_dim"),
		ValueDim:  c.size("v_head_dim"),
	}
	if _, ok := c.find("qk_rope_head_dim"); !ok {
		c.missing("qk_rope_head_dim")
	}
	a.RopeDim = c.count("qk_rope_head_dim")
	if q := c.count("q_lora_rank"); q > 0 {
		a.QueryRank = &q
	}
	a.HasAttnGate = c.option(c.family.gate)
	return a
}

func latentIndexed(c *config) attentionFile {
	a := latent(c)
	c.index(&a)
	return a
}

// index reads the indexer.
func (c *config) index(a *attentionFile) {
	a.IndexHeads = c.size("index_n_heads")
	a.IndexDim = c.size("index_head_dim")
	a.IndexTopK = c.sizeUpTo(maxLength, "index_topk")
}

func latentReused(c *config) attentionFile {
	a := latent(c)
	a.IndexTopK = c.sizeUpTo(maxLength, "index_topk")
	return a
}

// compressedNot is the attention of DeepSeek-V4 without its compressed past: one vector per token is key and value of
// all heads, within a window.
func compressedNot(c *config) attentionFile {
	a := attentionFile{
		AttnType: "multi-query", AttnHeads: c.size("num_attention_heads"), AttnSize: c.size("head_dim"), SharedKV: true,
		Window:     c.sizeUpTo(maxLength, "sliding_window"),
		OutputRank: c.sizeOr(0, "o_lora_rank"),
	}
	if v, ok := c.find("num_key_value_heads"); ok {
		if n, ok := whole(v, 1, maxSize); ok && n != 1 {
			v.Problemf("must be 1, not %d: the model type has one key/value head", n)
		}
	}
	c.find("qk_rope_head_dim") // a part of the head
	if groups := c.sizeOr(1, "o_groups"); groups > 1 {
		a.OutputGroups = groups
	}
	if q := c.count("q_lora_rank"); q > 0 {
		a.QueryRank = &q
	}
	norm := true
	a.QKNorm = &norm
	return a
}

// compressedBy4 adds the past in overlapping groups of 4 tokens, among which an indexer picks.
func compressedBy4(c *config) attentionFile {
	a := compressedNot(c)
	a.Compress = 4
	c.index(&a)
	return a
}

// compressedBy128 adds all of the past in groups of 128 tokens.
func compressedBy128(c *config) attentionFile {
	a := compressedNot(c)
	a.Compress = 128
	return a
}

// harmless are the keys that change nothing in the shape of a model: training, generation, positions, tokens, the
// choice of experts, precision of single steps, and what transformers writes into every config.
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
