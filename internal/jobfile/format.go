package jobfile

import (
	"strings"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/fitted"
	"throughline/model"
)

// A Format is one of the kinds of files.
type Format string

const (
	RuntimeFormat Format = "runtime"
	SystemFormat  Format = "system"
	ModelFormat   Format = "model"
	FittedFormat  Format = "fitted"
)

// formats are the patterns of the keys of each format.
var formats = []struct {
	name     Format
	patterns []string
}{
	{RuntimeFormat, document.Leaves(&File{})},
	{SystemFormat, document.Leaves(&hardware.File{})},
	{ModelFormat, document.Leaves(&model.File{})},
	{FittedFormat, document.Leaves(&fitted.File{})},
}

// FormatOf is the format of a file with these keys at its root: the one that has most of them. It is "" if that is open.
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

// hasRoot reports whether one of the patterns starts with the key.
func hasRoot(patterns []string, key string) bool {
	for _, p := range patterns {
		if rest, ok := strings.CutPrefix(p, key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}
