package engine

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/document"
	"throughline/model"
)

// Attention is the attention backends of an engine and its defaults.
type Attention struct {
	Backends map[string]AttentionBackend `json:"backends" required:"true"` // by the engine's name for them
	Defaults []AttentionDefault          `json:"defaults" required:"true"` // the first that covers the chip
	Versions map[string]Version          `json:"versions"`
	Source   string                      `json:"source" required:"true" nonempty:"true"`
	file     document.Value
}

type AttentionBackend struct {
	Family string `json:"family" required:"true"` // its name across engines
	// Prefill and Decode name the software of its kernels as in tables of measurements; the first
	// measured on a chip counts. None: it does not cover that phase.
	Prefill []string `json:"prefill"`
	Decode  []string `json:"decode"`
	// Grouped and Latent are the generations of chips that run such attention with it.
	Grouped []string `json:"grouped"`
	Latent  []string `json:"latent"`
	Pages   []int    `json:"pages"` // tokens per cache page; none: any
	// Joined is where grouped attention of a step's prompts and decodes is one call.
	Joined *Joined `json:"joined"`
	// Apart is where every head of a sequence that decodes reads keys and values for itself.
	Apart  *Apart `json:"apart"`
	Source string `json:"source"` // if it differs from that of all
}

// Apart is attention within windows by a kernel that does not share keys and values among the heads
// of a group, for models whose names begin so, on chips of some generations.
type Apart struct {
	Models []string `json:"models" required:"true"`
	Chips  []string `json:"chips" required:"true"`
	Source string   `json:"source" required:"true" nonempty:"true"`
}

// Joined is one call for a step with prompts, in which each head of a sequence that decodes takes a
// tile of Tile queries, on chips of some generations. Models whose names begin as one of Except
// have another backend there.
type Joined struct {
	Tile   int      `json:"tile" required:"true" range:"[1,4096]"`
	Chips  []string `json:"chips" required:"true"`
	Except []string `json:"except"`
	Source string   `json:"source" required:"true" nonempty:"true"`
}

// AttentionDefault is the default backend on chips of some generations.
type AttentionDefault struct {
	Chips   []string `json:"chips" required:"true"`
	Grouped string   `json:"grouped" required:"true"`
	Latent  string   `json:"latent" required:"true"`
}

// anyChip stands for all generations, and for chips of unknown ones.
const anyChip = "any"

// generation of a chip; empty if unknown.
func generation(s *hardware.System) string {
	if s == nil {
		return ""
	}
	return s.Generation
}

func readAttention(name string) Attention {
	return decodeAttention(parse(path.Join("data/attention", name+".json")))
}

func decodeAttention(file document.Value) Attention {
	out := Attention{file: file}
	file.Decode(&out)
	if err := file.File().Err(); err != nil {
		panic(err)
	}
	return out
}

// at is the backends of an earlier version.
func (a Attention) at(version string) Attention {
	was, ok := a.Versions[version]
	if !ok {
		return a
	}
	out := decodeAttention(a.file.Merged(was.Patch))
	out.Source = was.Source
	return out
}

// on is the generations of chips that run a kind of attention with the backend.
func (b AttentionBackend) on(latent bool) []string {
	if latent {
		return b.Latent
	}
	return b.Grouped
}

// runOn reports whether generations include a chip; one of unknown generation has what any has.
func runOn(generations []string, s *hardware.System) bool {
	g := generation(s)
	return len(generations) > 0 && (g == "" || slices.Contains(generations, anyChip) || slices.Contains(generations, g))
}

func (b AttentionBackend) runs(latent bool, s *hardware.System) bool { return runOn(b.on(latent), s) }

// find is the backend of a name for a kind of attention: the engine's own name or a family.
func (a *Attention) find(name string, latent bool) (string, *AttentionBackend) {
	best := ""
	for _, own := range slices.Sorted(maps.Keys(a.Backends)) {
		b := a.Backends[own]
		switch {
		case strings.EqualFold(own, name) && (len(b.on(latent)) > 0 || best == ""):
			best = own
		case strings.EqualFold(b.Family, name) && len(b.on(latent)) > 0 && (best == "" || len(a.Backends[best].on(latent)) == 0):
			best = own
		}
	}
	if best == "" {
		return "", nil
	}
	b := a.Backends[best]
	return best, &b
}

// usual is the default backend on a chip; empty if unknown.
func (a *Attention) usual(latent bool, s *hardware.System) string {
	return a.usualOf(latent, generation(s))
}

// usualOf is the default backend on chips of a generation.
func (a *Attention) usualOf(latent bool, g string) string {
	for _, d := range a.Defaults {
		if slices.Contains(d.Chips, anyChip) || g != "" && slices.Contains(d.Chips, g) {
			if latent {
				return d.Latent
			}
			return d.Grouped
		}
	}
	return ""
}

// measuredDefault reports whether the default kernels of a chip are those of the engine's default
// backend: measured on that chip, or on one with the same default.
func (a *Attention) measuredDefault(latent bool, s *hardware.System) bool {
	return s == nil || s.Kernels == nil || s.Has(s.Kernels) || a.usualOf(latent, hardware.GenerationOf(s.Kernels.System)) == a.usual(latent, s)
}

// requestedKernels is the software whose kernels a deployment requests in a phase on all of its
// chips: those of the backend that is set, or of the engine's default as far as they were measured.
func (e *Engine) requestedKernels(d *deploy.Deployment, prefill bool) string {
	if !d.Assume.Engine {
		return ""
	}
	latent := isLatent(d.Model)
	setting := d.ServerOptions.Backend(prefill)
	name, b := e.Attention.find(setting, latent)
	requested := ""
	for i := range d.Pools {
		s := d.Pools[i].System
		usual := e.Attention.usual(latent, s)
		itself := setting == "" || usual == name && e.Attention.measuredDefault(latent, s)
		of := b
		if itself {
			if usual == "" {
				return ""
			}
			u := e.Attention.Backends[usual]
			of = &u
		}
		if of == nil {
			return ""
		}
		this := strings.Join(of.kernels(prefill), "|")
		if itself {
			optional := kernel.Backends(kernel.IfMeasured + this)
			if this == "" || s == nil || s.Kernels == nil || !s.Kernels.Differs(optional, prefill) {
				return ""
			}
			this = string(optional)
		}
		if i > 0 && this != requested {
			return ""
		}
		requested = this
	}
	return requested
}

func (b AttentionBackend) kernels(prefill bool) []string {
	if prefill {
		return b.Prefill
	}
	return b.Decode
}

// joinedTile is the queries of a tile that a sequence takes which decodes beside prompts, for each
// head; 0: it has a kernel of its own.
func (e *Engine) joinedTile(d *deploy.Deployment, s *hardware.System) int {
	name := cmp.Or(d.ServerOptions.Backend(true), e.Attention.usual(false, s))
	_, b := e.Attention.find(name, false)
	if b == nil || b.Joined == nil || !slices.Contains(b.Joined.Chips, generation(s)) || begins(d.Model.Name, b.Joined.Except) {
		return 0
	}
	return b.Joined.Tile
}

// apart reports whether heads of decodes within windows read keys and values for themselves.
func (e *Engine) apart(d *deploy.Deployment, s *hardware.System) bool {
	name := cmp.Or(d.ServerOptions.Backend(true), e.Attention.usual(false, s))
	_, b := e.Attention.find(name, false)
	return b != nil && b.Apart != nil && slices.Contains(b.Apart.Chips, generation(s)) && begins(d.Model.Name, b.Apart.Models)
}

func begins(name string, as []string) bool {
	return slices.ContainsFunc(as, func(a string) bool { return strings.HasPrefix(name, a) })
}

func isLatent(m *model.Model) bool { return m.Attention.Kind == model.Latent }

// refusedAttention says why the engine does not run the requested attention on a chip.
func (e *Engine) refusedAttention(u unit, s *hardware.System) (out []string) {
	latent := isLatent(u.Shape)
	var said []string
	for _, option := range AttentionOptions {
		name := *option.of(&u.ServerOptions)
		if name == "" {
			continue
		}
		if _, has := option.Names[e.Name]; !has && e != Generic {
			out = append(out, fmt.Sprintf("%s %s has no option %s", e.Title, e.Options.Version, option.Setting))
			continue
		}
		if slices.Contains(said, strings.ToLower(name)) {
			continue
		}
		said = append(said, strings.ToLower(name))
		own, b := e.Attention.find(name, latent)
		switch {
		case b == nil:
			out = append(out, fmt.Sprintf("%s has no such attention backend: %s", e.Title, document.NotOneOf(name, e.AttentionNames())))
		case len(b.on(latent)) == 0:
			out = append(out, fmt.Sprintf("the attention backend %s of %s is not for %s; such are %s", own, e.Title, kindOf(latent), strings.Join(e.attentionFor(latent, s), ", ")))
		case !b.runs(latent, s):
			out = append(out, fmt.Sprintf("the attention backend %s of %s runs %s on %s, not on %s (%s); there it has %s", own, e.Title, kindOf(latent),
				strings.Join(b.on(latent), ", "), s.Name, generation(s), strings.Join(e.attentionFor(latent, s), ", ")))
		}
	}
	return out
}

// CheckSettings says which launch settings the engine lacks on a chip, whatever the plan.
func (e *Engine) CheckSettings(t *deploy.ServerOptions, s *hardware.System) error {
	var out []error
	for _, option := range e.unknown(t) {
		out = append(out, fmt.Errorf("%s %s has no option %s", e.Title, e.Options.Version, option))
	}
	for _, option := range AttentionOptions {
		if name := *option.of(t); name != "" {
			if _, b := e.Attention.find(name, false); b == nil {
				if _, b = e.Attention.find(name, true); b == nil {
					out = append(out, fmt.Errorf("%s has no such attention backend: %s", e.Title, document.NotOneOf(name, e.AttentionNames())))
				}
			}
		}
	}
	return document.Join(append(out, e.checkProducts(t.Products, s))...)
}

// ProductsOption is SGLang's option for the kernels of block-scaled products.
const ProductsOption = "fp8-gemm-backend"

// ProductNames are those kernels over all engines.
func ProductNames() (out []string) {
	for _, e := range engines {
		out = append(out, slices.Sorted(maps.Keys(e.Products))...)
	}
	return out
}

// checkProducts says why the engine lacks these product kernels on a chip, or their price.
func (e *Engine) checkProducts(name string, s *hardware.System) error {
	if name == "" {
		return nil
	}
	var there []string
	for _, own := range slices.Sorted(maps.Keys(e.Products)) {
		if p := e.Products[own]; !p.Unmeasured && runOn(p.Chips, s) {
			there = append(there, own)
		}
	}
	p, known := e.Products[name]
	switch {
	case len(e.Products) == 0:
		return fmt.Errorf("%s %s has no option %s", e.Title, e.Options.Version, ProductsOption)
	case !known:
		return fmt.Errorf("%s: %s", ProductsOption, document.NotOneOf(name, slices.Sorted(maps.Keys(e.Products))))
	case !runOn(p.Chips, s):
		return fmt.Errorf("%s: %s is for %s, not for %s (%s); measured there: %s", ProductsOption, name, strings.Join(p.Chips, ", "), s.Name, generation(s), strings.Join(there, ", "))
	case p.Unmeasured:
		return fmt.Errorf("%s: %s was not measured; measured there: %s", ProductsOption, name, strings.Join(there, ", "))
	}
	return nil
}

func kindOf(latent bool) string {
	if latent {
		return "latent attention"
	}
	return "grouped attention"
}

// attentionFor is the backends that run a kind of attention on a chip.
func (e *Engine) attentionFor(latent bool, s *hardware.System) (out []string) {
	for _, name := range e.AttentionNames() {
		if b := e.Attention.Backends[name]; b.runs(latent, s) {
			out = append(out, name)
		}
	}
	return out
}

func (e *Engine) AttentionNames() []string { return slices.Sorted(maps.Keys(e.Attention.Backends)) }

func AllAttentionNames() []string {
	var out []string
	for _, e := range append(All(), Generic) {
		out = append(out, e.AttentionNames()...)
		for _, b := range e.Attention.Backends {
			out = append(out, b.Family)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(b, a)) // shared names before an engine's own
	})
	return slices.Compact(out)
}

func CheckAttention(name string) error {
	all := AllAttentionNames()
	if slices.ContainsFunc(all, func(n string) bool { return strings.EqualFold(n, name) }) {
		return nil
	}
	return fmt.Errorf("%s", document.NotOneOf(name, all))
}

type AttentionOption struct {
	Setting string            // its name among the settings of this program
	Names   map[string]string // by engine
	of      func(*deploy.ServerOptions) *string
}

var AttentionOptions = []AttentionOption{
	{"attention-backend", map[string]string{"sglang": "attention-backend", "vllm": "attention-backend", "trtllm": "attn_backend"},
		func(t *deploy.ServerOptions) *string { return &t.Attention }},
	{"prefill-attention-backend", map[string]string{"sglang": "prefill-attention-backend"},
		func(t *deploy.ServerOptions) *string { return &t.PrefillAttention }},
	{"decode-attention-backend", map[string]string{"sglang": "decode-attention-backend"},
		func(t *deploy.ServerOptions) *string { return &t.DecodeAttention }},
}

// backend is the engine's own name for a requested backend.
func (e *Engine) backend(u unit, name string) string {
	own, _ := e.Attention.find(name, isLatent(u.Shape))
	return cmp.Or(own, name)
}
