package model

import (
	"strings"

	"throughline/internal/document"
)

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

var layerTypes = map[string]string{
	"full_attention": full, "sliding_attention": sliding, "chunked_attention": sliding, "linear_attention": linear,
}

// typed is the layers by layer_types, or by a rule without it.
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

// allBut gives every n-th layer full attention, and the others a kind.
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

// slidingByPattern is slidingBut with a key for how often attention is full.
func slidingByPattern(n int) func(*config) []string {
	return func(c *config) []string {
		return slidingBut(c.sizeOr(n, "sliding_window_pattern", "_sliding_window_pattern"))(c)
	}
}

// byBlockType: layer_types says which layers have a state space in place of attention.
func byBlockType(c *config) []string {
	key := "layer_types"
	if _, ok := c.find("layers_block_type"); ok {
		key = "layers_block_type"
	}
	if _, ok := c.find(key); !ok {
		c.missing(key)
		return nil
	}
	labels, _ := c.perLayer(key, 0, map[string]string{"mamba": state, "linear_attention": state, "attention": full, "full_attention": full})
	return labels
}

// blockTypes are the blocks of Nemotron-H, as letters and as words.
var blockTypes = map[string]string{
	"M": state, "mamba": state, "linear_attention": state, "*": full, "attention": full, "full_attention": full,
	"-": "mlp", "mlp": "mlp", "E": "moe", "moe": "moe",
}

// byPattern: every block is a mixer or a feed-forward block, by hybrid_override_pattern or
// layers_block_type.
func byPattern(c *config) (mixers []string, feedForward, experts int) {
	var blocks []string
	v, ok := c.find("hybrid_override_pattern")
	if ok {
		blocks = strings.Split(textOf(v), "")
	} else if v, ok = c.find("layers_block_type", "layer_types"); ok {
		list, _ := c.list("layers_block_type", "layer_types")
		for _, e := range list {
			blocks = append(blocks, text(e))
		}
	} else {
		c.missing("hybrid_override_pattern")
		return nil, 0, 0
	}
	for i, b := range blocks {
		switch blockTypes[b] {
		case "mlp":
			feedForward++
		case "moe":
			feedForward++
			experts++
		case "":
			v.Problemf("block %d must be one of %s, not %q", i+1, document.QuoteList(sortedKeys(blockTypes)), b)
			return nil, 0, 0
		default:
			mixers = append(mixers, blockTypes[b])
		}
	}
	if n, ok := c.number(1, maxSize, "num_hidden_layers"); ok && n != len(blocks) {
		v.Problemf("has %d blocks, but num_hidden_layers is %d", len(blocks), n)
	}
	if experts > 0 && experts < feedForward {
		v.Problemf("has %d feed-forward blocks with experts of %d: all must have them, or none", experts, feedForward)
	}
	if feedForward == 0 || feedForward > len(mixers) {
		v.Problemf("has %d feed-forward blocks behind %d of attention or state: there must be one at least, and no more", feedForward, len(mixers))
	}
	return mixers, feedForward, experts
}

// slidingIfGiven: a window, if any, holds in all layers.
func slidingIfGiven(c *config) []string {
	return c.typed(func() []string {
		if _, ok := c.find("sliding_window"); ok {
			return everyLayer(sliding)(c)
		}
		return everyLayer(full)(c)
	})
}

// slidingAbove: with use_sliding_window, a window holds from layer max_window_layers on.
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

// byIndexer: indexer_types says which layers have an indexer and which reuse another's.
func byIndexer(c *config) []string {
	if _, ok := c.find("indexer_types"); !ok {
		if v, ok := c.find("index_topk_freq"); ok {
			if n, ok := parseInt(v, 1, maxSize); ok && n > 1 {
				v.Problemf("needs indexer_types, which says what layers have an indexer")
			}
		}
		return everyLayer(indexed)(c)
	}
	c.find("index_topk_freq", "index_topk_pattern") // same as indexer_types
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

// byChunks: layers with rotary positions see chunks; every fourth, without, sees everything.
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
