package model

import (
	"cmp"
	"strings"

	"throughline/number"
)

// Module is a part of a model whose weights may have a number format of their own.
type Module uint8

const (
	AttentionModule   Module = iota // projections of attention
	FeedForwardModule               // of dense layers
	ExpertModule                    // routed experts
	SharedModule                    // shared experts
	EndModule                       // embedding, output projection, router
	ModuleCount
)

// moduleNames are the keys of the modules in a file, and their names in texts.
var moduleNames = [ModuleCount]string{"attention", "feedforward", "experts", "shared_experts", "embeddings"}

func (m Module) String() string { return strings.ReplaceAll(moduleNames[m], "_", " ") }

// Formats are the published number formats of a model; empty: 16 bits.
type Formats struct {
	Weights [ModuleCount]string
	Cache   string // empty: unknown
}

func (f *Formats) Of(m Module) *number.Format {
	format, ok := number.Find(cmp.Or(f.Weights[m], number.Half))
	if !ok {
		panic("no number format " + f.Weights[m]) // the loader has checked them
	}
	return format
}

func (m *Model) has(module Module) bool {
	switch module {
	case FeedForwardModule:
		return !m.IsMoE() || m.FirstDense > 0 || m.Experts.Interval > 1
	case ExpertModule:
		return m.IsMoE()
	case SharedModule:
		return m.IsMoE() && m.Experts.Shared > 0
	}
	return true
}

// Narrowest is the narrowest weight format of a model, and the modules that have it.
func (m *Model) Narrowest() (format *number.Format, modules []Module) {
	for module := range ModuleCount {
		if !m.has(module) {
			continue
		}
		f := m.Formats.Of(module)
		if format == nil || f.Bytes < format.Bytes {
			format, modules = f, nil
		}
		if f.Bytes == format.Bytes {
			modules = append(modules, module)
		}
	}
	return format, modules
}

// DescribeFormats names the formats of weights: "fp8_block", or "mxfp4 experts, rest bf16".
// Embeddings are left out: they have 16 bits wherever the rest is narrower.
func (m *Model) DescribeFormats() string {
	narrow, modules := m.Narrowest()
	rest := ""
	for module := range EndModule {
		if f := m.Formats.Of(module); m.has(module) && f != narrow {
			rest = cmp.Or(rest, f.Name)
		}
	}
	if rest == "" {
		return narrow.Name
	}
	var names []string
	for _, module := range modules {
		names = append(names, module.String())
	}
	return narrow.Name + " " + strings.Join(names, " and ") + ", rest " + rest
}

// cacheKey is the key of the KV cache among those of the modules.
const cacheKey = "cache"

// formats that a file says the model is published in; 16 bits by default.
func (f *File) formats() (out Formats) {
	for module, key := range moduleNames {
		out.Weights[module] = cmp.Or(f.Formats[key], number.Half)
	}
	out.Cache = f.Formats[cacheKey]
	return out
}
