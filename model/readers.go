package model

func (c *config) headSize(heads int) int {
	if n := c.sizeOr(c.family.heads.dim, "head_dim", "attention_head_dim"); n > 0 {
		return n
	}
	hidden, _ := c.number(1, maxSize, "hidden_size", "n_embd")
	if v, ok := c.find("num_attention_heads", "n_head"); ok && heads > 0 && hidden%heads != 0 {
		v.Problemf("must divide hidden_size (%d) when head_dim is not given, but %d does not", hidden, heads)
	}
	return hidden / max(heads, 1)
}

// grouped is attention with separate queries, keys and values.
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
	a.ScoreCap = c.isGiven(c.family.scoreCap)
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

// globalHeads are wider than those of layers with a window, and fewer have keys and values.
func globalHeads(c *config) attentionFile {
	a := grouped(c)
	a.AttnSize = c.sizeOr(a.AttnSize, "global_head_dim")
	if kv := c.sizeOr(0, "num_global_key_value_heads"); kv > 0 {
		b := c.groups(a.AttnHeads, kv, "num_global_key_value_heads")
		a.AttnType, a.KVHeads = b.AttnType, b.KVHeads
	}
	if c.flag(false, "attention_k_eq_v") {
		c.omit(join(c.inner.at, "attention_k_eq_v"), "that keys and values of global layers have one projection: each is taken to have its own")
	}
	for _, key := range []string{"num_kv_shared_layers", "hidden_size_per_layer_input"} {
		if v, ok := c.find(key); ok && isSet(v) {
			v.Problemf("must be 0: models with it are not known here")
		}
	}
	return a
}

// chunked sees its own chunk of the sequence only.
func chunked(c *config) attentionFile {
	a := grouped(c)
	a.Window = c.sizeUpTo(maxLength, "attention_chunk_size")
	c.omit(join(c.inner.at, "attention_chunk_size"), "the borders of attention chunks: a sliding window of their length is taken")
	return a
}

// unrotated has no positions, and no norms of queries and keys.
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

func kimiDelta(c *config) attentionFile {
	in := c.within("linear_attn_config")
	if in == nil {
		return attentionFile{}
	}
	heads := in.size("num_heads")
	a := attentionFile{AttnType: "gated-delta", AttnHeads: heads, KVHeads: heads, AttnSize: in.size("head_dim")}
	a.Conv, _ = in.number(1, 1000, "short_conv_kernel_size")
	// Ranks are those of a head: f_a_proj and g_a_proj of KimiGatedDeltaNetAttention in
	// vllm/model_executor/layers/mamba/gdn/kimi_gdn_linear_attn.py (a014e35).
	a.DecayRank = a.AttnSize
	if !in.flag(false, "use_full_rank_gate") {
		a.GateRank = a.AttnSize
	}
	return a
}

// mambaKeys are the keys of a state space: heads, groups of B and C, sizes of state and head, conv.
type mambaKeys struct{ heads, groups, state, dim, conv string }

var (
	nemotronMamba = mambaKeys{"mamba_num_heads", "n_groups", "ssm_state_size", "mamba_head_dim", "conv_kernel"}.read
	graniteMamba  = mambaKeys{"mamba_n_heads", "mamba_n_groups", "mamba_d_state", "mamba_d_head", "mamba_d_conv"}.read
)

// read reads a Mamba-2 state space.
func (k mambaKeys) read(c *config) attentionFile {
	a := attentionFile{
		AttnType: "mamba2", AttnHeads: c.size(k.heads), KVHeads: c.size(k.groups), AttnSize: c.size(k.state), ValueDim: c.mambaHead(k),
	}
	a.Conv, _ = c.number(1, 1000, k.conv)
	if a.KVHeads > 0 && a.AttnHeads%a.KVHeads != 0 {
		v, _ := c.find(k.groups)
		v.Problemf("must divide %s (%d), but %d does not", k.heads, a.AttnHeads, a.KVHeads)
	}
	return a
}

// mambaHead is the elements of a head; "auto": the expanded width over the heads.
func (c *config) mambaHead(k mambaKeys) int {
	if v, ok := c.find(k.dim); ok && textOf(v) == "auto" {
		hidden, _ := c.number(1, maxSize, "hidden_size")
		heads, _ := c.number(1, maxSize, k.heads)
		return c.sizeOr(2, "mamba_expand") * hidden / max(1, heads)
	}
	c.find("mamba_expand") // as the product of heads says
	return c.size(k.dim)
}

// lightning is the linear attention of MiniMax.
func lightning(c *config) attentionFile {
	heads := c.size("num_attention_heads")
	return attentionFile{AttnType: "lightning", AttnHeads: heads, AttnSize: c.headSize(heads)}
}

// latent attention decodes on the latent vectors, as engines do.
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

// compressedNot is the attention of DeepSeek-V4 without its compressed past: within a window, one
// vector per token is key and value of all heads.
func compressedNot(c *config) attentionFile {
	a := attentionFile{
		AttnType: "multi-query", AttnHeads: c.size("num_attention_heads"), AttnSize: c.size("head_dim"), SharedKV: true,
		Window:     c.sizeUpTo(maxLength, "sliding_window"),
		OutputRank: c.sizeOr(0, "o_lora_rank"),
	}
	if v, ok := c.find("num_key_value_heads"); ok {
		if n, ok := parseInt(v, 1, maxSize); ok && n != 1 {
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
