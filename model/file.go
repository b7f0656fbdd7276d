package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/internal/document"
)

// Settings are a file's keys about deployment, kept apart from the shape behind the loader.
type Settings struct {
	Absorb         bool // MLA decodes against the latent cache directly
	Flash          bool // attention scores never reach memory
	Redundant      int  // extra copies of routed experts
	SharedReplicas int  // deployed copies of the shared expert, spread like routed ones
	SharedPerCard  bool // by default every processor holds the shared experts
	Cached         int  // prompt tokens already in the cache
}

// File is the model format. Tags drive the strict decoder, the JSON Schema and the key list in
// docs/formats.md. Bounds leave room for any model but keep products of sizes from overflowing.
// Names of keys in other tools are recognized as mistakes.
type File struct {
	Name        string `json:"model" aka:"name,model_name" required:"true" nonempty:"true" line:"true" doc:"name of the model, as printed in results"`
	Hidden      int    `json:"hidden" aka:"hidden_size,d_model,n_embd" required:"true" range:"[1,1000000]" doc:"width of the residual stream"`
	Blocks      int    `json:"num_blocks" aka:"num_hidden_layers,num_layers,n_layers,n_layer" required:"true" range:"[1,1000000]" doc:"number of layers"`
	FeedForward int    `json:"feedforward" aka:"intermediate_size,ffn_dim" range:"[1,1e9]" doc:"width of a dense MLP layer"`
	attentionFile
	UseFlashAttn bool      `json:"use_flash_attn" doc:"fused attention: scores never reach memory"`
	Mix          []mixFile `json:"attention_mix" doc:"layers whose attention differs from that of the others"`
	MLP          string    `json:"mlp" enum:"gated,plain" doc:"gated: gate, up and down matrices; plain: up and down"`

	NumExperts     int     `json:"num_experts" aka:"n_routed_experts,num_local_experts" range:"[0,1000000]" doc:"routed experts; 0 or absent: a dense model"`
	TopExperts     int     `json:"top_experts_activation" aka:"num_experts_per_tok,top_k" range:"[1,1000000]" doc:"routed experts a token visits"`
	ExpertGroups   int     `json:"n_group" range:"[1,1000000]" doc:"groups that the routed experts are in"`
	TopGroups      int     `json:"topk_group" range:"[1,1000000]" doc:"groups that a token picks before it picks experts in them; all unless given"`
	SharedPerToken int     `json:"n_shared_experts" range:"[0,1000000]" doc:"shared experts every token visits"`
	SharedReplicas int     `json:"num_shared_experts" range:"[0,65536]" doc:"deployed replicas of the shared expert"`
	Redundant      int     `json:"num_redundant_experts" range:"[0,65536]" doc:"deployed extra copies of routed experts"`
	ExpertWidth    int     `json:"moe_intermediate_size" range:"[1,1000000]" doc:"width of one expert"`
	SharedWidth    int     `json:"shared_expert_intermediate_size" range:"[1,1000000]" doc:"width of a shared expert; default that of a routed one"`
	SharedGate     bool    `json:"shared_expert_gate" doc:"a token weighs the result of the shared experts by a sigmoid of a product with its input"`
	ExpertHidden   int     `json:"routed_expert_hidden_size" range:"[1,1000000]" doc:"width of the tokens that routed experts see, if they are projected down first"`
	CapacityFactor float64 `json:"moe_capacity_factor" range:"[1e-6,1e6]" doc:"multiplies the tokens of the experts"`
	RouterType     string  `json:"moe_router_dtype" enum:"float32" doc:"number type that the router multiplies in, where an engine follows the model in that; absent: 16 bits"`
	BlockInterval  int     `json:"moe_block_interval" range:"[0,1000000]" doc:"0 or 1: every layer has experts; n: every n-th"`

	FFNDimMultiplier float64 `json:"ffn_dim_multiplier" range:"[1e-6,1e6]" doc:"accepted when it leaves feedforward as it is"`
	MultipleOf       int     `json:"multiple_of" range:"[1,1e9]" doc:"accepted when it leaves feedforward as it is"`

	SeqSize     *int `json:"seq_size" range:"[1,1e9]" doc:"input length; the runtime file decides"`
	OutputSeq   *int `json:"output_seq" range:"[1,1e9]" doc:"output length; the runtime file decides"`
	CacheLen    int  `json:"cache_len" null:"ok" range:"[0,1e9]" doc:"prompt tokens already in the cache"`
	Streams     int  `json:"hc_mult" range:"[1,64]" doc:"residual streams that hyper-connections mix around every block; absent: one, to which blocks add"`
	FirstDense  int  `json:"first_k_dense_replace" range:"[0,1000000]" doc:"leading layers that are dense although the model has experts"`
	MixerOnly   int  `json:"layers_without_feedforward" range:"[0,1000000]" doc:"layers of attention or state without a feed-forward block behind it"`
	PostNorms   bool `json:"post_norms" doc:"a norm behind each block, too, in front of the residual"`
	LogitCap    bool `json:"logit_softcap" doc:"logits are bounded by a tanh"`
	DraftLayers int  `json:"num_nextn_predict_layers" range:"[0,1000]" doc:"layers of a module that drafts tokens (multi-token prediction)"`
	// Lengths, as sources print them; acceptance rates follow.
	DraftLengths []float64 `json:"draft_lengths" nonempty:"true" range:"[1,65]" doc:"mean tokens of a decode step with 1, 2, … drafts, as measured"`
	VocabSize    int       `json:"vocab_size" range:"[1,1e9]" doc:"size of the vocabulary"`
	Positions    int       `json:"max_position_embeddings" aka:"n_positions" range:"[1,1e9]" doc:"longest request that the model takes, input and output together"`
	Tied         bool      `json:"tie_word_embeddings" doc:"the output projection is the input embedding"`

	WeightByte     *float64 `json:"weight_byte" range:"(0,4]" doc:"bytes per weight; the runtime file decides"`
	ActivationByte *float64 `json:"activation_byte" range:"(0,4]" doc:"bytes per activation; the runtime file decides"`
	CacheByte      *float64 `json:"cache_byte" range:"(0,4]" doc:"bytes per cached element; the runtime file decides"`

	// The formats of package number; a test compares them.
	Formats map[string]string `json:"formats" keys:"attention,feedforward,experts,shared_experts,embeddings,cache" enum:"nvfp4,mxfp4_a4,mxfp4,int4,int4_g32,w4a8,fp8,fp8_block,mxfp8,w8a8,int8,fp16,bf16,fp32" doc:"number formats that the model is published in, by module; those left out have 16 bits"`

	Sources map[string]string `json:"sources" doc:"where the numbers come from"`
}

// wideNorm is the type of norms over all heads of queries, and of keys, together.
const wideNorm = "per_layer"

type attentionFile struct {
	AttnType    string `json:"attn_type" required:"true" enum:"multi-head,multi-query,group-query,mla,mla-absorb,gated-delta,lightning,short-conv,mamba2" doc:"kind of attention"`
	AttnHeads   int    `json:"attn_heads" aka:"num_attention_heads,num_heads,n_heads" required:"true" range:"[1,1000000]" doc:"query heads; in linear attention, value heads; in a state space, heads of the state"`
	KVHeads     int    `json:"kv_heads" aka:"num_key_value_heads,num_kv_heads,n_kv_heads" range:"[1,1000000]" doc:"key/value heads; in linear attention, key heads; in a state space, groups of B and C; not used by MLA"`
	AttnSize    int    `json:"attn_size" aka:"head_dim" range:"[1,1000000]" doc:"elements of one query and key head; in a state space, its size N; not used by MLA"`
	ValueDim    int    `json:"v_head_dim" range:"[1,1000000]" doc:"elements of a value head; default attn_size"`
	QKNorm      *bool  `json:"qk_norm" doc:"normalise queries and keys per head; default true for group-query, else false"`
	QKNormType  string `json:"qk_norm_type" enum:"per_head,per_layer" doc:"per_head, the default, or per_layer: over all heads together, so that tensor-parallel ranks add up what each has of it"`
	HasAttnGate bool   `json:"has_attn_gate" doc:"sigmoid gate on the attention output"`
	Window      int    `json:"sliding_window" range:"[1,1e9]" doc:"a query sees this many tokens at most; absent: all"`
	ScoreCap    bool   `json:"attn_softcap" doc:"scores of queries and keys are bounded by a tanh"`

	SharedKV  bool `json:"shared_kv" doc:"one cached vector per token and key/value head is both key and value; not used by MLA"`
	QueryRank *int `json:"q_lora_rank" range:"[0,1000000]" doc:"rank of the compressed query; null or 0: not compressed"`
	KVRank    int  `json:"kv_lora_rank" range:"[1,1000000]" doc:"MLA: rank of the cached latent"`
	NopeDim   int  `json:"qk_nope_head_dim" range:"[1,1000000]" doc:"MLA: head elements without position"`
	RopeDim   int  `json:"qk_rope_head_dim" range:"[0,1000000]" doc:"MLA: head elements with rotary position"`

	IndexHeads   int `json:"index_n_heads" range:"[1,1000000]" doc:"sparse attention: heads of the indexer; absent: the tokens that another layer picked are used"`
	IndexDim     int `json:"index_head_dim" range:"[1,1000000]" doc:"sparse attention: elements of an index head"`
	IndexTopK    int `json:"index_topk" range:"[1,1e9]" doc:"sparse attention: tokens that the indexer picks for a query"`
	Compress     int `json:"compress_ratio" range:"[1,1000000]" doc:"tokens that share one cached entry"`
	OutputRank   int `json:"o_lora_rank" range:"[1,1000000]" doc:"rank of the output projection; absent: not compressed"`
	OutputGroups int `json:"o_groups" range:"[1,1000000]" doc:"groups of heads that the compressed output projection treats apart"`
	Conv         int `json:"conv_kernel" range:"[1,1000]" doc:"width of the short convolution, in front of linear attention or in its place"`
	DecayRank    int `json:"decay_rank" range:"[1,1000000]" doc:"gated delta: rank of the projection to a decay per channel; absent: one decay per head"`
	GateRank     int `json:"gate_rank" range:"[1,1000000]" doc:"linear attention: rank of the projection to the output gate; absent: direct"`
}

// mixFile is layers with an attention of their own.
type mixFile struct {
	Layers int `json:"layers" required:"true" range:"[1,1000000]" doc:"number of such layers"`
	attentionFile
}

func defaults() File {
	return File{MLP: "gated", CapacityFactor: 1, FFNDimMultiplier: 1, MultipleOf: 1, UseFlashAttn: true}
}

// Loaded is a model file that has been read.
type Loaded struct {
	Model    *Model
	Settings *Settings
	File     File // in the model format
}

// Read reads a model file or a Hugging Face config.json. Problems are in the returned document.
func Read(name string, src []byte) (*Model, *Settings, *document.File) {
	l, doc := Load(name, src)
	if l == nil {
		return nil, nil, doc
	}
	return l.Model, l.Settings, doc
}

// Load is Read with the contents of the file.
func Load(name string, src []byte) (*Loaded, *document.File) {
	doc := Parse(name, src)
	if IsHuggingFace(doc.Keys()) {
		return readConfig(doc, name), doc
	}
	return readNative(doc), doc
}

// readNative reads a file in the model format; nil if it has problems.
func readNative(doc *document.File) *Loaded {
	f := defaults()
	doc.Decode(&f)
	if doc.Has("") { // the file could be parsed
		check(doc, &f)
	}
	if doc.Err() != nil {
		return nil
	}
	out := &Loaded{Model: f.shape(), File: f, Settings: &Settings{
		Absorb:         f.absorbs(),
		Flash:          f.UseFlashAttn,
		Redundant:      f.Redundant,
		SharedReplicas: f.SharedReplicas,
		Cached:         f.CacheLen,
	}}
	if !doc.Has("num_shared_experts") {
		// The deployment of shared experts is open. A copy on every processor always works; spread
		// like the routed ones, their number seldom divides.
		out.Settings.SharedReplicas, out.Settings.SharedPerCard = f.SharedPerToken, f.SharedPerToken > 0
	}
	return out
}

// absorbs reports whether latent attention in any layer decodes on the latent vectors.
func (f *File) absorbs() bool {
	return f.AttnType == "mla-absorb" || slices.ContainsFunc(f.Mix, func(m mixFile) bool { return m.AttnType == "mla-absorb" })
}

func (f *attentionFile) shape() Attention {
	a := Attention{
		Kind: AttentionKind(slices.Index(attentionNames, strings.TrimSuffix(f.AttnType, "-absorb"))), Heads: f.AttnHeads, KVHeads: f.KVHeads, HeadDim: f.AttnSize, ValueDim: f.ValueDim,
		SharedKV: f.SharedKV, Gated: f.HasAttnGate, Window: f.Window, ScoreCap: f.ScoreCap,
		KVRank: f.KVRank, NopeDim: f.NopeDim, RopeDim: f.RopeDim,
		IndexHeads: f.IndexHeads, IndexDim: f.IndexDim, IndexTopK: f.IndexTopK,
		Compress: f.Compress, OutputRank: f.OutputRank, OutputGroups: max(1, f.OutputGroups), Conv: f.Conv,
		DecayRank: f.DecayRank, GateRank: f.GateRank,
	}
	if f.QueryRank != nil {
		a.QueryRank = *f.QueryRank
	}
	switch a.Kind {
	case MultiHead, Lightning, ShortConv:
		a.KVHeads = a.Heads
	case MultiQuery:
		a.KVHeads = 1
	}
	// The published listing of a group-query model lacks this key; its sample output has the norms.
	a.QKNorm = a.Kind == GroupQuery
	if f.QKNorm != nil {
		a.QKNorm = *f.QKNorm
	}
	a.WideNorm = a.QKNorm && f.QKNormType == wideNorm
	return a
}

func (f *File) shape() *Model {
	m := &Model{Name: f.Name, Hidden: f.Hidden, Layers: f.Blocks, FeedForward: f.FeedForward,
		Attention: f.attentionFile.shape(), FirstDense: f.FirstDense, DraftLayers: f.DraftLayers, DraftLengths: f.DraftLengths, Vocab: f.VocabSize, Positions: f.Positions, Tied: f.Tied, Formats: f.formats(),
		Streams: f.Streams, WideRouter: f.RouterType != "", MixerOnly: f.MixerOnly, PostNorms: f.PostNorms, LogitCap: f.LogitCap}
	for i := range f.Mix {
		m.Mixed = append(m.Mixed, MixedAttention{f.Mix[i].shape(), f.Mix[i].Layers})
	}
	if f.MLP == "plain" {
		m.MLP = Plain
	}
	if f.NumExperts > 0 {
		m.Experts = Experts{
			Routed: f.NumExperts, TopK: f.TopExperts, Shared: f.SharedPerToken, Width: f.ExpertWidth,
			SharedWidth: f.SharedWidth, Hidden: f.ExpertHidden, Groups: f.ExpertGroups, TopGroups: f.TopGroups,
			CapacityFactor: f.CapacityFactor, Interval: max(1, f.BlockInterval), SharedGate: f.SharedGate,
		}
	}
	return m
}

// check reports keys that need or contradict each other. Only sound values are compared, since a
// contradiction with a wrong value says nothing.
func check(doc *document.File, f *File) {
	checkAttention(doc, "", &f.attentionFile)
	mixed := 0
	for i := range f.Mix {
		checkAttention(doc, fmt.Sprintf("attention_mix[%d]", i), &f.Mix[i].attentionFile)
		mixed += f.Mix[i].Layers
		if kind := f.Mix[i].AttnType; f.absorbs() && (kind == "mla" || f.AttnType == "mla") {
			doc.Problemf("attention_mix", "has both \"mla\" and \"mla-absorb\": all layers absorb, or none")
		}
	}
	if len(f.Mix) > MaxMixed {
		doc.Problemf("attention_mix", "has %d kinds of attention; there may be %d besides the main one", len(f.Mix), MaxMixed)
	}
	if sound(doc, "num_blocks", "attention_mix") && mixed >= f.Blocks {
		doc.Problemf("attention_mix", "has %d layers of %d: those of the main attention must be left over", mixed, f.Blocks)
	}
	if sound(doc, "num_blocks", "first_k_dense_replace") && f.FirstDense > f.Blocks {
		doc.Problemf("first_k_dense_replace", "must be at most num_blocks (%d), not %d", f.Blocks, f.FirstDense)
	}
	if sound(doc, "num_blocks", "layers_without_feedforward") && f.MixerOnly+f.FirstDense >= f.Blocks {
		doc.Problemf("layers_without_feedforward", "must leave layers of num_blocks (%d) and first_k_dense_replace (%d) over, not %d", f.Blocks, f.FirstDense, f.MixerOnly)
	}
	checkDraftLengths(doc, f.DraftLengths)
	checkExperts(doc, f)
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

// checkDraftLengths: a draft adds between 0 and what the one before it, accepted first, adds.
func checkDraftLengths(doc *document.File, lengths []float64) {
	before, added := 1.0, 1.0
	for i, n := range lengths {
		if n < before || n-before > added+1e-9 {
			doc.Problemf(fmt.Sprintf("draft_lengths[%d]", i), "must be from %g to %g, not %g: a draft counts only where the one before it is accepted", before, before+added, n)
		}
		before, added = n, max(0, n-before)
	}
}

// sound reports whether all keys are given and valid.
func sound(doc *document.File, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return !doc.Sound(k) })
}

// need reports missing keys of the object at a path.
func need(doc *document.File, at, why string, keys ...string) {
	for _, k := range keys {
		if doc.Lacks(join(at, k)) {
			doc.Problemf(at, "missing key %q, which is needed because %s", k, why)
		}
	}
}

// join is the path of a key of the object at a path.
func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// attentionNeeds are the required keys of each kind of attention.
var attentionNeeds = map[string][]string{
	"mla":         {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"},
	"mla-absorb":  {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"},
	"group-query": {"attn_size", "kv_heads"},
	"multi-head":  {"attn_size"},
	"multi-query": {"attn_size"},
	"gated-delta": {"attn_size", "kv_heads"},
	"lightning":   {"attn_size"},
	"short-conv":  {"attn_size", "conv_kernel"},
	"mamba2":      {"attn_size", "kv_heads", "v_head_dim"},
}

func checkAttention(doc *document.File, at string, f *attentionFile) {
	need(doc, at, fmt.Sprintf("attn_type is %q", f.AttnType), attentionNeeds[f.AttnType]...)
	kv := join(at, "kv_heads")
	heads := sound(doc, join(at, "attn_heads"), kv)
	switch f.AttnType {
	case "group-query", "gated-delta", "mamba2":
		if heads && f.AttnHeads%f.KVHeads != 0 {
			doc.Problemf(kv, "must divide attn_heads, but %d does not divide %d", f.KVHeads, f.AttnHeads)
		}
	case "multi-head":
		if heads && f.KVHeads != f.AttnHeads {
			doc.Problemf(kv, "must equal attn_heads (%d) when attn_type is \"multi-head\", not %d; did you mean attn_type \"group-query\"?", f.AttnHeads, f.KVHeads)
		}
	case "multi-query":
		if sound(doc, kv) && f.KVHeads != 1 {
			doc.Problemf(kv, "must be 1 when attn_type is \"multi-query\", not %d; did you mean attn_type \"group-query\"?", f.KVHeads)
		}
	}
	if doc.Has(join(at, "index_n_heads")) {
		need(doc, at, "index_n_heads is given", "index_head_dim", "index_topk")
	}
	if doc.Has(join(at, "index_head_dim")) {
		need(doc, at, "index_head_dim is given", "index_n_heads")
	}
}

func checkExperts(doc *document.File, f *File) {
	if !doc.Lacks("num_experts") && !sound(doc, "num_experts") {
		return // whether the model has experts is open
	}
	if f.NumExperts == 0 {
		need(doc, "", "the model has no experts", "feedforward")
		return
	}
	need(doc, "", fmt.Sprintf("num_experts is %d", f.NumExperts), "moe_intermediate_size", "top_experts_activation")
	if f.TopExperts > f.NumExperts {
		doc.Problemf("top_experts_activation", "must be at most num_experts (%d), not %d", f.NumExperts, f.TopExperts)
	}
	if f.ExpertGroups > 0 && f.NumExperts%f.ExpertGroups != 0 {
		doc.Problemf("n_group", "must divide num_experts (%d), not %d", f.NumExperts, f.ExpertGroups)
	}
	if f.TopGroups > 0 {
		need(doc, "", fmt.Sprintf("topk_group is %d", f.TopGroups), "n_group")
		if f.ExpertGroups > 0 && f.TopGroups > f.ExpertGroups {
			doc.Problemf("topk_group", "must be at most n_group (%d), not %d", f.ExpertGroups, f.TopGroups)
		}
	}
	if f.SharedPerToken > 0 && sound(doc, "num_shared_experts") && f.SharedReplicas == 0 {
		doc.Problemf("num_shared_experts", "must be at least 1 when n_shared_experts is %d: every token visits a shared expert", f.SharedPerToken)
	}
	if f.BlockInterval > 1 {
		need(doc, "", fmt.Sprintf("moe_block_interval is %d, so that the model has layers without experts", f.BlockInterval), "feedforward")
	}
	if f.FirstDense > 0 {
		need(doc, "", fmt.Sprintf("the first %d layers have no experts", f.FirstDense), "feedforward")
	}
	if sound(doc, "num_blocks") && f.BlockInterval > f.Blocks {
		doc.Problemf("moe_block_interval", "must be at most num_blocks (%d), not %d", f.Blocks, f.BlockInterval)
	}
}

func Schema() ([]byte, error) {
	f := defaults()
	return document.Schema("Throughline model", "model.schema.json", &f)
}
