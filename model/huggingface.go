package model

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"throughline/internal/catalogue"
	"throughline/internal/document"
)

// IsHuggingFace reports whether these root keys are those of a Hugging Face config.json.
func IsHuggingFace(keys []string) bool {
	has := func(key string) bool { return slices.Contains(keys, key) }
	native := slices.ContainsFunc([]string{"model", "attn_type", "num_blocks", "attn_heads"}, has)
	return !native && slices.ContainsFunc([]string{"model_type", "architectures", "text_config", "hidden_size", "n_embd"}, has)
}

// Parse reads the syntax of a model file. In configs the numbers that only Python knows are null.
func Parse(name string, src []byte) *document.File {
	doc := document.Parse(name, src)
	if doc.Err() == nil {
		return doc
	}
	if plain := document.Parse(name, document.WithoutPython(src)); IsHuggingFace(plain.Keys()) {
		return plain
	}
	return doc
}

// readConfig reads a Hugging Face config.json by its family: see families.go.
func readConfig(doc *document.File, name string) *Loaded {
	c := newConfig(doc)
	if c == nil {
		return nil
	}
	if c.family = c.findFamily(); c.family == nil {
		return nil
	}
	f := defaults()
	f.Name = c.modelName(name)
	c.shape(&f)
	formats, method := c.formats()
	if doc.Err() != nil {
		return nil
	}
	c.leaveOut()
	c.unread()
	f.Sources = map[string]string{"*": c.source(name)}
	if len(c.leftOut) > 0 {
		f.Sources[leftOut] = strings.Join(c.leftOut, "; ")
	}
	f.Formats = f.present(formats)
	if method != "" {
		f.Sources["formats"] = "published checkpoint, " + method
	}
	// Read back what would be saved, so that an import means the same before and after.
	native := document.Parse(name, f.Encode())
	out := readNative(native)
	for _, p := range native.Problems() {
		doc.Problemf("", "there is no such model: %s: %s", p.Path, p.Message)
	}
	return out
}

// leftOut is the source entry that says what the simulation does without.
const leftOut = "left out"

// omit notes a property of the model that the simulation lacks.
func (c *config) omit(at, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if slices.Contains(c.leftOut, what) {
		return
	}
	c.leftOut = append(c.leftOut, what)
	c.doc.Warnf(at, "left out: %s", what)
}

// ConfigTypes are the known values of model_type, sorted.
func ConfigTypes() []string {
	var all []string
	for i := range families {
		all = append(append(all, families[i].types...), families[i].wrappers...)
	}
	slices.Sort(all)
	return all
}

// findFamily is the family of the architecture; nil, with a problem, if it is unknown.
func (c *config) findFamily() *family {
	names := map[string]*family{}    // by model_type
	wrappers := map[string]*family{} // by model_type of the outer object
	classes := map[string]*family{}  // by architecture
	for i := range families {
		f := &families[i]
		for _, t := range f.types {
			names[t] = f
		}
		for _, t := range f.wrappers {
			wrappers[t] = f
		}
		for _, a := range f.architectures {
			classes[a] = f
		}
	}
	all := ConfigTypes()
	typeOf := func(o *object) (raw, string) {
		o.seen["model_type"] = true
		v, ok := o.values["model_type"]
		if !ok || v.Kind() == document.Null {
			return v, ""
		}
		s, ok := v.String()
		if !ok {
			v.Problemf("must be a string, not %s", v.Describe())
		}
		return v, s
	}
	outerValue, outerType := typeOf(c.outer)
	innerValue, innerType := typeOf(c.inner)
	var f *family
	switch {
	case c.doc.Err() != nil:
		return nil
	case c.inner != c.outer && outerType != "" && wrappers[outerType] == nil && names[outerType] == nil:
		outerValue.Problemf("%s", document.NotOneOf(outerType, all))
		return nil
	case innerType != "" && names[innerType] == nil && (c.inner != c.outer || wrappers[innerType] == nil):
		innerValue.Problemf("%s", document.NotOneOf(innerType, all))
		return nil
	case innerType != "" && names[innerType] == nil:
		innerValue.Problemf("%q keeps its language model in text_config, which is missing", innerType)
		return nil
	case innerType != "":
		f = names[innerType]
		if c.inner != c.outer && outerType != "" && wrappers[outerType] != f && names[outerType] != f {
			innerValue.Problemf("%q does not belong into a config of model_type %q", innerType, outerType)
			return nil
		}
	case c.inner != c.outer && outerType != "":
		f = wrappers[outerType]
	}
	return c.checkArchitecture(f, classes, all)
}

// checkArchitecture compares the family with the config's class, which decides as a last resort.
func (c *config) checkArchitecture(f *family, classes map[string]*family, types []string) *family {
	c.inner.seen["architectures"], c.outer.seen["architectures"] = true, true
	given := false
	for _, o := range []*object{c.outer, c.inner} {
		v, ok := o.values["architectures"]
		if !ok || v.Kind() != document.List {
			continue
		}
		for _, e := range elements(v) {
			name := text(e)
			given = true
			switch known := classes[name]; {
			case known == nil && f == nil:
				e.Problemf("%s", document.NotOneOf(name, sortedKeys(classes)))
				return nil
			case known == nil:
				c.doc.Warnf(e.Path(), "%q is not known; the model is read by its model_type %q", name, f.types[0])
			case f == nil:
				f = known
			case known != f:
				e.Problemf("%q contradicts model_type %q", name, f.types[0])
				return nil
			}
		}
	}
	if f == nil && !given {
		c.doc.Problemf("", "missing key \"model_type\", which says what the other keys mean; known: %s", document.QuoteList(types))
	}
	return f
}

// modelName is that of the file, of the folder of a config.json, or of its repository.
func (c *config) modelName(file string) string {
	if repository, ok := catalogue.Repository(file); ok {
		return path.Base(repository)
	}
	base := strings.TrimSuffix(filepath.Base(file), ".json")
	if base == "config" || base == "." || base == "-" {
		if folder := filepath.Base(filepath.Dir(file)); folder != "." && folder != ".." && folder != string(filepath.Separator) {
			return folder
		}
		if path := c.word("_name_or_path"); path != "" {
			return filepath.Base(path)
		}
		return c.family.types[0]
	}
	return base
}

func (c *config) source(file string) string {
	if path := c.word("_name_or_path"); path != "" {
		return path + " config.json"
	}
	return "Hugging Face config.json, " + filepath.Base(file)
}

// shape reads everything that the model format has keys for.
func (c *config) shape(f *File) {
	f.Hidden = c.size("hidden_size", "n_embd")
	// More layers than any model has: lists of layers must not fill the memory.
	const maxLayers = 100_000
	var experts int
	if c.family.blocks != nil {
		var feedForward int
		c.mixers, feedForward, experts = c.family.blocks(c)
		f.Blocks, f.MixerOnly = len(c.mixers), len(c.mixers)-feedForward
	} else {
		f.Blocks = c.sizeUpTo(maxLayers, "num_hidden_layers", "n_layer")
	}
	c.layers = f.Blocks
	f.VocabSize = c.sizeUpTo(maxLength, "vocab_size")
	f.Positions, _ = c.number(1, maxLength, "max_position_embeddings", "n_positions")
	f.Tied = c.flag(c.family.tied, "tie_word_embeddings")
	if c.family.plain {
		f.MLP = "plain"
	}
	f.PostNorms, f.LogitCap = c.family.postNorms, c.isGiven(c.family.logitCap)
	f.DraftLayers = c.draftLayers()
	if n := c.sizeOr(1, "hc_mult"); n > 1 {
		f.Streams = n
	}
	c.attention(f)
	var sparse []bool
	if c.family.blocks == nil || experts > 0 {
		sparse = c.experts(f)
	}
	if dense := !slices.Contains(sparse, true); c.layers > 0 && (dense || slices.Contains(sparse, false)) {
		f.FeedForward = c.denseWidth(f.Hidden)
	} else {
		c.number(0, maxLength, c.family.width) // the config may give a width that no layer has
	}
}

func (c *config) denseWidth(hidden int) int {
	if m := c.family.widthTimes; m > 0 {
		if _, ok := c.find(c.family.width); !ok {
			return m * hidden
		}
	}
	return c.sizeUpTo(maxLength, c.family.width)
}

// draftLayers of the module for multi-token prediction.
func (c *config) draftLayers() int {
	const most = 1000
	n, _ := c.number(0, most, "num_nextn_predict_layers", "mtp_num_hidden_layers")
	modules, each, use := c.count("num_mtp_modules"), c.sizeOr(1, "mtp_transformer_layers"), c.flag(true, "use_mtp")
	if use && modules > 0 {
		n = min(modules*each, most)
	}
	return n
}

// attention reads the kinds of attention and how many layers have each.
func (c *config) attention(f *File) {
	labels := c.family.layers(c)
	counts := map[string]int{}
	for _, l := range labels {
		counts[l]++
	}
	// The attention that sees most comes first, since plan rules use the first.
	byRank := func(a, b string) int { return slices.Index(ranks, a) - slices.Index(ranks, b) }
	kinds := slices.SortedFunc(maps.Keys(counts), byRank)
	if len(kinds) == 0 { // the problem is reported; there may be more
		kinds = slices.SortedFunc(maps.Keys(c.family.kinds), byRank)[:1]
	}
	for i, k := range kinds {
		a := c.family.kinds[k](c)
		if i == 0 {
			f.attentionFile = a
			continue
		}
		f.Mix = append(f.Mix, mixFile{Layers: counts[k], attentionFile: a})
	}
}

// ranks orders the kinds of attention by how much they see.
var ranks = []string{full, indexed, compressed, reused, heavilyCompressed, sliding, linear, state}

// experts reads the expert layers, and which layers they are; nil if there are none.
func (c *config) experts(f *File) (sparse []bool) {
	e := c.family.experts
	if e == nil {
		return nil
	}
	f.NumExperts = c.count("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
	if f.NumExperts == 0 {
		return nil
	}
	visited := []string{"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_k", "top_k_experts"}
	f.TopExperts = c.size(visited...)
	if f.TopExperts > f.NumExperts {
		v, _ := c.find(visited...)
		v.Problemf("must be at most the number of experts (%d), not %d", f.NumExperts, f.TopExperts)
	}
	if groups, top := c.sizeOr(1, "n_group"), c.sizeOr(1, "topk_group"); groups > top && f.NumExperts%groups == 0 {
		f.ExpertGroups, f.TopGroups = groups, top
	}
	f.ExpertWidth = c.size(e.width)
	if c.family.wideRouter {
		f.RouterType = "float32"
	}
	if len(e.shared) > 0 {
		f.SharedPerToken = c.count(e.shared...)
	}
	if e.sharedWidth != "" {
		if w := c.count(e.sharedWidth); w > 0 {
			f.SharedPerToken, f.SharedGate = max(1, f.SharedPerToken), e.sharedGate
			if w != f.ExpertWidth {
				f.SharedWidth = w
			}
		}
	}
	if e.inner != "" {
		f.ExpertHidden = c.sizeOr(0, e.inner)
	}
	sparse = c.sparseLayers()
	c.placeExperts(f, sparse)
	return sparse
}

// sparseLayers says which layers have experts: every key about that excludes some.
func (c *config) sparseLayers() []bool {
	sparse := make([]bool, c.layers)
	for i := range sparse {
		sparse[i] = true
	}
	keep := func(has func(i int) bool) {
		for i := range sparse {
			sparse[i] = sparse[i] && has(i)
		}
	}
	first := max(c.count("first_k_dense_replace"), c.count("moe_layer_start_index"))
	keep(func(i int) bool { return i >= first })
	if v, ok := c.find("moe_layer_freq"); ok && v.Kind() == document.List {
		if flags, ok := c.perLayer("moe_layer_freq", 0, map[string]string{"0": "", "1": "sparse"}); ok {
			keep(func(i int) bool { return flags[i] != "" })
		}
	} else if n := c.sizeOr(1, "moe_layer_freq"); n > 1 {
		keep(func(i int) bool { return i%n == 0 })
	}
	for _, key := range []string{"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"} {
		if n := c.sizeOr(1, key); n > 1 {
			keep(func(i int) bool { return (i+1)%n == 0 })
		}
	}
	if types, ok := c.perLayer("mlp_layer_types", 0, map[string]string{"dense": "", "sparse": "sparse"}); ok {
		keep(func(i int) bool { return types[i] != "" })
	}
	if only, ok := c.layerNumbers("mlp_only_layers", 0); ok {
		keep(func(i int) bool { return !only[i] })
	}
	if moe, ok := c.layerNumbers("moe_layers", 0); ok {
		keep(func(i int) bool { return moe[i] })
	}
	return sparse
}

// layerNumbers is a list of layers, counted from base, as a set.
func (c *config) layerNumbers(key string, base int) (map[int]bool, bool) {
	values, ok := c.list(key)
	if !ok {
		return nil, false
	}
	set := map[int]bool{}
	for _, v := range values {
		if n, ok := parseInt(v, base, base+max(c.layers, 1)-1); ok {
			set[n-base] = true
		}
	}
	return set, true
}

// placeExperts says which layers have experts: all but the first, or every n-th.
func (c *config) placeExperts(f *File, sparse []bool) {
	if len(sparse) == 0 {
		return
	}
	experts := 0
	for _, s := range sparse {
		if s {
			experts++
		}
	}
	if experts == 0 {
		c.doc.Problemf(c.inner.at, "has experts, but no layer that uses them")
		return
	}
	leading := slices.Index(sparse, true)
	if leading+experts == len(sparse) {
		f.FirstDense = leading
		return
	}
	gap := slices.Index(sparse[leading+1:], true) + 1
	regular := gap > 0 && leading < gap && (len(sparse)+gap-1)/gap == experts
	for i := range sparse {
		regular = regular && sparse[i] == (i >= leading && (i-leading)%gap == 0)
	}
	if regular {
		f.BlockInterval = gap
		return
	}
	f.FirstDense = len(sparse) - experts
	c.omit(c.inner.at, "where the %d dense layers are: they are taken to be the first ones", f.FirstDense)
}

// leaveOut notes what the model has beyond the model format.
func (c *config) leaveOut() {
	for _, what := range c.family.leftOut {
		c.omit(c.inner.at, "%s", what)
	}
	for _, o := range omissions {
		v, ok := c.find(o.key)
		if ok && isSet(v) {
			c.omit(v.Path(), "%s", o.what)
		}
	}
}

// isSet reports whether a value switches something on.
func isSet(v raw) bool {
	if b, ok := v.Bool(); ok {
		return b
	}
	if x, ok := v.Float(); ok {
		return x != 0
	}
	if s, ok := v.String(); ok {
		return s != ""
	}
	return v.Kind() == document.Object || len(v.Elements()) > 0
}

// unread warns of keys that were not read, unless they are harmless.
func (c *config) unread() {
	for _, o := range append([]*object{c.outer}, c.parts...) {
		for key, v := range o.values {
			if o.seen[key] || v.Kind() == document.Null || strings.HasPrefix(key, "_") || harmless[key] || slices.Contains(c.family.harmless, key) {
				continue
			}
			c.doc.Warnf(v.Path(), "this key is not known and was left out; it may change the shape of the model")
		}
	}
}
