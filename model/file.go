package model

import (
	"fmt"
	"math"
	"slices"

	"throughline/internal/document"
)

// Settings is what a model file says about deployment. The file format mixes it with the shape; everything behind the
// loader keeps the two apart.
type Settings struct {
	Absorb         bool // MLA decodes against the latent cache directly
	Flash          bool // attention scores never reach memory
	Redundant      int  // extra copies of routed experts
	SharedReplicas int  // deployed copies of the shared expert, spread over the cards like routed ones
	Cached         int  // prompt tokens that are in the cache already
}

// File is the model format. Tags drive the strict decoder, the JSON Schema and the key list in docs/formats.md. The
// bounds leave room for any model; they keep products of sizes from overflowing. What other tools call a key is
// recognized as a mistake.
type File struct {
	Name         string `json:"model" aka:"name,model_name" required:"true" nonempty:"true" doc:"name of the model, as printed in results"`
	Hidden       int    `json:"hidden" aka:"hidden_size,d_model,n_embd" required:"true" range:"[1,1000000]" doc:"width of the residual stream"`
	Blocks       int    `json:"num_blocks" aka:"num_hidden_layers,num_layers,n_layers,n_layer" required:"true" range:"[1,1000000]" doc:"number of layers"`
	FeedForward  int    `json:"feedforward" aka:"intermediate_size,ffn_dim" range:"[1,1e9]" doc:"width of a dense MLP layer"`
	AttnType     string `json:"attn_type" required:"true" enum:"multi-head,multi-query,group-query,mla,mla-absorb" doc:"kind of attention"`
	AttnHeads    int    `json:"attn_heads" aka:"num_attention_heads,num_heads,n_heads" required:"true" range:"[1,1000000]" doc:"query heads"`
	KVHeads      int    `json:"kv_heads" aka:"num_key_value_heads,num_kv_heads,n_kv_heads" range:"[1,1000000]" doc:"key/value heads; not used by MLA"`
	AttnSize     int    `json:"attn_size" aka:"head_dim" range:"[1,1000000]" doc:"elements of one head; not used by MLA"`
	QKNorm       *bool  `json:"qk_norm" doc:"normalise queries and keys per head; default true for group-query, else false"`
	HasAttnGate  bool   `json:"has_attn_gate" doc:"sigmoid gate on the attention output"`
	UseFlashAttn bool   `json:"use_flash_attn" doc:"fused attention: scores never reach memory"`
	MLP          string `json:"mlp" enum:"gated,plain" doc:"gated: gate, up and down matrices; plain: up and down"`

	QueryRank *int `json:"q_lora_rank" range:"[0,1000000]" doc:"MLA: rank of the compressed query; null or 0: not compressed"`
	KVRank    int  `json:"kv_lora_rank" range:"[1,1000000]" doc:"MLA: rank of the cached latent"`
	NopeDim   int  `json:"qk_nope_head_dim" range:"[1,1000000]" doc:"MLA: head elements without position"`
	RopeDim   int  `json:"qk_rope_head_dim" range:"[0,1000000]" doc:"MLA: head elements with rotary position"`
	ValueDim  int  `json:"v_head_dim" range:"[1,1000000]" doc:"MLA: elements of a value head"`

	NumExperts     int     `json:"num_experts" aka:"n_routed_experts,num_local_experts" range:"[0,1000000]" doc:"routed experts; 0 or absent: a dense model"`
	TopExperts     int     `json:"top_experts_activation" aka:"num_experts_per_tok,top_k" range:"[1,1000000]" doc:"routed experts a token visits"`
	SharedPerToken int     `json:"n_shared_experts" range:"[0,1000000]" doc:"shared experts every token visits"`
	SharedReplicas int     `json:"num_shared_experts" range:"[0,65536]" doc:"deployed replicas of the shared expert"`
	Redundant      int     `json:"num_redundant_experts" range:"[0,65536]" doc:"deployed extra copies of routed experts"`
	ExpertWidth    int     `json:"moe_intermediate_size" range:"[1,1000000]" doc:"width of one expert"`
	CapacityFactor float64 `json:"moe_capacity_factor" range:"[1e-6,1e6]" doc:"multiplies the tokens of the experts"`
	BlockInterval  int     `json:"moe_block_interval" range:"[0,1000000]" doc:"0 or 1: every layer has experts; n: every n-th"`

	FFNDimMultiplier float64 `json:"ffn_dim_multiplier" range:"[1e-6,1e6]" doc:"accepted when it leaves feedforward as it is"`
	MultipleOf       int     `json:"multiple_of" range:"[1,1e9]" doc:"accepted when it leaves feedforward as it is"`

	SeqSize     *int `json:"seq_size" range:"[1,1e9]" doc:"input length; the runtime file decides"`
	OutputSeq   *int `json:"output_seq" range:"[1,1e9]" doc:"output length; the runtime file decides"`
	CacheLen    int  `json:"cache_len" null:"ok" range:"[0,1e9]" doc:"prompt tokens already in the cache"`
	FirstDense  int  `json:"first_k_dense_replace" range:"[0,1000000]" doc:"leading layers that are dense although the model has experts"`
	DraftLayers int  `json:"num_nextn_predict_layers" range:"[0,1000]" doc:"layers of a module that drafts tokens (multi-token prediction)"`
	VocabSize   int  `json:"vocab_size" range:"[1,1e9]" doc:"size of the vocabulary"`

	WeightByte     *float64 `json:"weight_byte" range:"(0,4]" doc:"bytes per weight; the runtime file decides"`
	ActivationByte *float64 `json:"activation_byte" range:"(0,4]" doc:"bytes per activation; the runtime file decides"`
	CacheByte      *float64 `json:"cache_byte" range:"(0,4]" doc:"bytes per cached element; the runtime file decides"`

	Sources map[string]string `json:"sources" doc:"where the numbers come from"`
}

// defaults are the values of keys a file may leave out.
func defaults() File {
	return File{MLP: "gated", CapacityFactor: 1, FFNDimMultiplier: 1, MultipleOf: 1, UseFlashAttn: true}
}

// Read reads a model file. The problems, if any, are in the returned document.
func Read(name string, src []byte) (*Model, *Settings, *document.File) {
	doc := document.Parse(name, src)
	f := defaults()
	doc.Decode(&f)
	if doc.Has("") { // the file could be parsed
		check(doc, &f)
	}
	if doc.Err() != nil {
		return nil, nil, doc
	}
	if !doc.Has("num_shared_experts") {
		f.SharedReplicas = f.SharedPerToken
	}
	m := f.shape()
	s := &Settings{
		Absorb:         f.AttnType == "mla-absorb",
		Flash:          f.UseFlashAttn,
		Redundant:      f.Redundant,
		SharedReplicas: f.SharedReplicas,
		Cached:         f.CacheLen,
	}
	return m, s, doc
}

func (f *File) shape() *Model {
	kinds := map[string]AttentionKind{
		"multi-head": MultiHead, "multi-query": MultiQuery, "group-query": GroupQuery, "mla": Latent, "mla-absorb": Latent,
	}
	a := Attention{
		Kind: kinds[f.AttnType], Heads: f.AttnHeads, KVHeads: f.KVHeads, HeadDim: f.AttnSize, Gated: f.HasAttnGate,
		KVRank: f.KVRank, NopeDim: f.NopeDim, RopeDim: f.RopeDim, ValueDim: f.ValueDim,
	}
	if f.QueryRank != nil {
		a.QueryRank = *f.QueryRank
	}
	switch a.Kind {
	case MultiHead:
		a.KVHeads = a.Heads
	case MultiQuery:
		a.KVHeads = 1
	}
	// The published listing of a group-query model has no such key, and its sample output contains the norms.
	a.QKNorm = a.Kind == GroupQuery
	if f.QKNorm != nil {
		a.QKNorm = *f.QKNorm
	}
	m := &Model{Name: f.Name, Hidden: f.Hidden, Layers: f.Blocks, FeedForward: f.FeedForward, Attention: a, DraftLayers: f.DraftLayers}
	if f.MLP == "plain" {
		m.MLP = Plain
	}
	if f.NumExperts > 0 {
		m.Experts = Experts{
			Routed: f.NumExperts, TopK: f.TopExperts, Shared: f.SharedPerToken, Width: f.ExpertWidth,
			CapacityFactor: f.CapacityFactor, Interval: max(1, f.BlockInterval),
		}
	}
	return m
}

// check reports what no single key can show: keys that need each other, and values that contradict each other. Only
// sound values are compared, since a contradiction with a wrong value says nothing.
func check(doc *document.File, f *File) {
	need := func(why string, keys ...string) {
		for _, k := range keys {
			if doc.Lacks(k) {
				doc.Problemf("", "missing key %q, which is needed because %s", k, why)
			}
		}
	}
	checkAttention(doc, f, need)
	checkExperts(doc, f, need)
	if sound(doc, "feedforward") && f.MultipleOf > 0 {
		// The Llama rule: scale, then round up to a multiple.
		want := math.Ceil(f.FFNDimMultiplier*float64(f.FeedForward)/float64(f.MultipleOf)) * float64(f.MultipleOf)
		if want != float64(f.FeedForward) {
			key := "ffn_dim_multiplier"
			if f.FFNDimMultiplier == 1 {
				key = "multiple_of"
			}
			doc.Problemf(key, "would change feedforward from %d to %.0f: write the final width in feedforward and drop this key", f.FeedForward, want)
		}
	}
}

// sound reports whether all the keys are given and well.
func sound(doc *document.File, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return !doc.Sound(k) })
}

func checkAttention(doc *document.File, f *File, need func(why string, keys ...string)) {
	why := fmt.Sprintf("attn_type is %q", f.AttnType)
	heads := sound(doc, "attn_heads", "kv_heads")
	switch f.AttnType {
	case "mla", "mla-absorb":
		need(why, "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
	case "group-query":
		need(why, "attn_size", "kv_heads")
		if heads && f.AttnHeads%f.KVHeads != 0 {
			doc.Problemf("kv_heads", "must divide attn_heads, but %d does not divide %d", f.KVHeads, f.AttnHeads)
		}
	case "multi-head":
		need(why, "attn_size")
		if heads && f.KVHeads != f.AttnHeads {
			doc.Problemf("kv_heads", "must equal attn_heads (%d) when attn_type is \"multi-head\", not %d; did you mean attn_type \"group-query\"?", f.AttnHeads, f.KVHeads)
		}
	case "multi-query":
		need(why, "attn_size")
		if sound(doc, "kv_heads") && f.KVHeads != 1 {
			doc.Problemf("kv_heads", "must be 1 when attn_type is \"multi-query\", not %d; did you mean attn_type \"group-query\"?", f.KVHeads)
		}
	}
}

func checkExperts(doc *document.File, f *File, need func(why string, keys ...string)) {
	if !doc.Lacks("num_experts") && !sound(doc, "num_experts") {
		return // whether the model has experts is open
	}
	if f.NumExperts == 0 {
		need("the model has no experts", "feedforward")
		return
	}
	need(fmt.Sprintf("num_experts is %d", f.NumExperts), "moe_intermediate_size", "top_experts_activation")
	if f.TopExperts > f.NumExperts {
		doc.Problemf("top_experts_activation", "must be at most num_experts (%d), not %d", f.NumExperts, f.TopExperts)
	}
	if f.SharedPerToken > 0 && sound(doc, "num_shared_experts") && f.SharedReplicas == 0 {
		doc.Problemf("num_shared_experts", "must be at least 1 when n_shared_experts is %d: every token visits a shared expert", f.SharedPerToken)
	}
	if f.BlockInterval > 1 {
		need(fmt.Sprintf("moe_block_interval is %d, so that the model has layers without experts", f.BlockInterval), "feedforward")
	}
	if sound(doc, "num_blocks") && f.BlockInterval > f.Blocks {
		doc.Problemf("moe_block_interval", "must be at most num_blocks (%d), not %d", f.Blocks, f.BlockInterval)
	}
}

// Schema is the JSON Schema of the model format.
func Schema() ([]byte, error) {
	f := defaults()
	return document.Schema("Throughline model", "model.schema.json", &f)
}
