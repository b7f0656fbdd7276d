package jobfile

import (
	"fmt"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/fitted"
	"throughline/model"
)

type Format string

const (
	RuntimeFormat Format = "runtime"
	SystemFormat  Format = "system"
	ModelFormat   Format = "model"
	FittedFormat  Format = "fitted"
)

// formats are the key patterns of each format.
var formats = []struct {
	name     Format
	patterns []string
}{
	{RuntimeFormat, document.Leaves(&File{})},
	{SystemFormat, document.Leaves(&hardware.File{})},
	{ModelFormat, document.Leaves(&model.File{})},
	{FittedFormat, document.Leaves(&fitted.File{})},
}

// FormatOf returns the format that has most of the keys, or "" if that is ambiguous.
func FormatOf(keys []string) Format {
	if model.IsHuggingFace(keys) {
		return ModelFormat
	}
	var best Format
	most := 0
	for _, f := range formats {
		n := 0
		for _, k := range keys {
			if hasRoot(f.patterns, k) {
				n++
			}
		}
		switch {
		case n > most:
			best, most = f.name, n
		case n == most:
			best = ""
		}
	}
	return best
}

// Describe reads a file of facts: it says what it is, and what is wrong with it. What has another
// format is not known.
func Describe(name string, src []byte, format Format) (what string, doc *document.File, known bool) {
	switch format {
	case SystemFormat:
		sys, doc := hardware.Read(name, src)
		if sys != nil {
			what = "system " + sys.Name
		}
		return what, doc, true
	case ModelFormat:
		m, _, doc := model.Read(name, src)
		if m != nil {
			what = "model " + m.Name
		}
		return what, doc, true
	case FittedFormat:
		f, doc := fitted.Read(name, src)
		if f != nil {
			what = fmt.Sprintf("fitted deployment of %s on %s", f.Model, f.System)
		}
		return what, doc, true
	}
	return "", nil, false
}

func hasRoot(patterns []string, key string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		rest, ok := strings.CutPrefix(p, key)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}
