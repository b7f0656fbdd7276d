package jobfile

import (
	"strings"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/fitted"
	"throughline/model"
)

// A Format is a kind of file.
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

func hasRoot(patterns []string, key string) bool {
	for _, p := range patterns {
		if rest, ok := strings.CutPrefix(p, key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}
