package question

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/plan"
)

// format is a number format, and the number types whose rates it uses, best first.
type format struct {
	name  string
	types []string
	bytes float64
}

var formats = []format{
	{"fp4", []string{"float4"}, 0.5},
	{"int4", []string{"int4"}, 0.5},
	{"fp8", []string{"float8"}, 1},
	{"int8", []string{"int8"}, 1},
	{"fp16", []string{"float16", "bfloat16"}, 2},
	{"bf16", []string{"bfloat16", "float16"}, 2},
	{"fp32", []string{"float32"}, 4},
}

// defaultFormat is that of weights, communication, attention and the vector unit, as engines have it.
const defaultFormat = "bf16"

// FormatNames are the names of number formats.
func FormatNames() []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.name)
	}
	return out
}

func formatOf(name string) (format, bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

// precision resolves formats on the systems. Activations have the format of the weights if the systems have a rate for it;
// the cache is left to the engine unless it is given.
func (f Formats) precision(systems ...*hardware.System) (plan.Precision, error) {
	f.Weights, f.Comm = cmp.Or(f.Weights, defaultFormat), cmp.Or(f.Comm, defaultFormat)
	f.Attention, f.Vector = cmp.Or(f.Attention, defaultFormat), cmp.Or(f.Vector, defaultFormat)
	if f.Activations == "" {
		f.Activations = defaultFormat
		if _, ok := rate(f.Weights, matrixTypes, systems); ok {
			f.Activations = f.Weights
		}
	}
	var problems []error
	bytes := func(setting, name string) float64 {
		known, ok := formatOf(name)
		if !ok && name != "" {
			problems = append(problems, wrong(setting, document.NotOneOf(name, FormatNames())))
		}
		return known.bytes
	}
	p := plan.Precision{
		Weight: bytes("weights", f.Weights), Activation: bytes("activations", f.Activations), Cache: bytes("cache", f.Cache),
		Comm: bytes("comm", f.Comm), Dispatch: scaled(bytes("dispatch", f.Dispatch)), Combine: scaled(bytes("combine", f.Combine)),
	}
	bytes("attention", f.Attention)
	bytes("vector", f.Vector)
	if len(problems) > 0 {
		return p, document.Join(problems...)
	}
	pick := func(setting, name, unit string, types func(*hardware.System) []string) string {
		t, ok := rate(name, types, systems)
		if !ok {
			var have []string
			for _, s := range systems {
				have = append(have, fmt.Sprintf("%s has %s", s.Name, document.QuoteList(types(s))))
			}
			problems = append(problems, wrong(setting, fmt.Sprintf("no %s rate for %s; %s", unit, name, strings.Join(slices.Compact(have), ", "))))
		}
		return t
	}
	p.MatrixType = pick("activations", f.Activations, "matrix", matrixTypes)
	p.AttentionType = pick("attention", f.Attention, "matrix", matrixTypes)
	p.VectorType = pick("vector", f.Vector, "vector", vectorTypes)
	return p, document.Join(problems...)
}

// ExchangedBytes is the bytes of an element on its way to experts or back, in the format that a setting names; 0 where it
// names none.
func ExchangedBytes(setting, name string) (float64, error) {
	f, ok := formatOf(name)
	if !ok && name != "" {
		return 0, wrong(setting, document.NotOneOf(name, FormatNames()))
	}
	return scaled(f.bytes), nil
}

// scaled is the bytes of an element that libraries send: below 16 bits with a scale of four bytes for every 128.
func scaled(bytes float64) float64 {
	if bytes > 0 && bytes < 2 {
		return bytes + plan.LibraryDispatch - 1
	}
	return bytes
}

func matrixTypes(s *hardware.System) []string { return s.MatrixTypes() }
func vectorTypes(s *hardware.System) []string { return s.VectorTypes() }

// rate is the number type that a format uses on all systems.
func rate(name string, types func(*hardware.System) []string, systems []*hardware.System) (string, bool) {
	f, _ := formatOf(name)
	for _, t := range f.types {
		if !slices.ContainsFunc(systems, func(s *hardware.System) bool { return !slices.Contains(types(s), t) }) {
			return t, true
		}
	}
	return "", false
}
