package chart

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// typeface is a font with the widths of its common characters, relative to its size.
type typeface struct {
	font   *sfnt.Font
	common [commonRunes]float64
}

const (
	commonRunes = 0x250 // Latin
	perEm       = 2048
)

// typefaces are the regular and the bold one.
var typefaces = sync.OnceValue(func() [2]*typeface {
	return [2]*typeface{newTypeface(goregular.TTF), newTypeface(gobold.TTF)}
})

func newTypeface(ttf []byte) *typeface {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // it is part of the program
	}
	t := &typeface{font: f}
	for r := range t.common {
		t.common[r] = t.width(rune(r))
	}
	return t
}

// width of a character; what the font lacks is as wide as high.
func (t *typeface) width(r rune) float64 {
	var b sfnt.Buffer
	i, err := t.font.GlyphIndex(&b, r)
	if err != nil || i == 0 {
		return 1
	}
	w, err := t.font.GlyphAdvance(&b, i, fixed.I(perEm), font.HintingNone)
	if err != nil {
		return 1
	}
	return float64(w) / 64 / perEm
}

func face(bold bool) *typeface {
	if bold {
		return typefaces()[1]
	}
	return typefaces()[0]
}

func textWidth(text string, size float64, bold bool) float64 {
	t := face(bold)
	var w float64
	for _, r := range text {
		if r < commonRunes {
			w += t.common[r]
		} else {
			w += t.width(r)
		}
	}
	return w * size
}

// Heights above and below the base line, relative to the size.
const (
	ascent  = 0.80
	descent = 0.22
)

// fit shortens a text to a width, possibly to nothing.
func fit(text string, size float64, bold bool, width float64) string {
	if textWidth(text, size, bold) <= width {
		return text
	}
	room := width - textWidth("…", size, bold)
	t := face(bold)
	var w float64
	for i, r := range text {
		if r < commonRunes {
			w += t.common[r] * size
		} else {
			w += t.width(r) * size
		}
		if w > room {
			if utf8.RuneCountInString(text[:i]) < 2 {
				return ""
			}
			return strings.TrimRight(text[:i], " ,;:·") + "…"
		}
	}
	return text
}

// wrap breaks a text into at most `most` lines of a width; the rest is shortened.
func wrap(text string, size float64, bold bool, width float64, most int) []string {
	var lines []string
	rest := clean(text)
	for rest != "" && len(lines) < most {
		if len(lines) == most-1 || textWidth(rest, size, bold) <= width {
			if line := fit(rest, size, bold, width); line != "" {
				lines = append(lines, line)
			}
			break
		}
		cut := 0
		for i, r := range rest {
			if r == ' ' && textWidth(rest[:i], size, bold) <= width {
				cut = i
			}
		}
		if cut == 0 { // a word that is longer than the line
			lines = append(lines, fit(rest, size, bold, width))
			break
		}
		lines = append(lines, rest[:cut])
		rest = rest[cut+1:]
	}
	return lines
}

// clean joins a text on one line, of characters that XML can hold.
func clean(text string) string {
	return strings.Join(strings.FieldsFunc(strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r < 0x20 || r == 0x7f || r == 0xfffe || r == 0xffff || r == utf8.RuneError:
			return '\ufffd'
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // would turn the direction of what follows
			return '\ufffd'
		}
		return r
	}, text), func(r rune) bool { return r == ' ' }), " ")
}
