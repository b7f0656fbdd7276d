package chart

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// Paint is a colour by its role; a theme defines it.
type Paint uint8

// Paints. The series differ in lightness, evenly from dark to light, and in hue: they stay distinct
// in grey print and for colour-blind readers.
const (
	NoPaint Paint = iota
	Ink           // text
	Muted         // secondary text, axes
	Grid
	Back // background
	Red  // limits and what breaks them
	C1   // series, darkest first
	C2
	C3
	C4
	C5
	C6
	C7
	C8
	Heat0 // the first step of a heat map, from low to high
)

const (
	series    = 8
	heatSteps = 12
	paints    = int(Heat0) + heatSteps
)

// Series returns the paint of the nth series, in an order that makes the first few most distinct.
func Series(n int) Paint { return seriesOrder[n%series] }

var seriesOrder = [series]Paint{C1, C7, C8, C6, C3, C2, C4, C5}

// Theme is the colours of paints.
type Theme struct {
	Name string
	of   [paints]color.RGBA
}

// Colours of series, in CIE LCh with the most chroma up to 75 (dark background: 60) that sRGB has.
// On light background L* is 17 to 61.4 in steps of 6.3, so that all have a contrast of 3 to 1, at
// the hues 290, 355, 300, 150, 20, 250, 60, 135; on dark background it is from 44 in steps of 6.8.
// A test checks their distance under each kind of colour blindness.
var (
	Light = newTheme("light", [6]uint32{0, 0x1a1a1a, 0x5c5c5c, 0xe2e2e2, 0xffffff, 0xb3261e},
		[series]uint32{0x002762, 0x72003f, 0x2936ad, 0x036230, 0xc9003f, 0x0a7ca9, 0xcf6701, 0x41a92a}, 0xf3f0e6, 0x06487f)
	Dark = newTheme("dark", [6]uint32{0, 0xf0f0f0, 0xb0b0b0, 0x3a3d42, 0x16181c, 0xff8f84},
		[series]uint32{0x0c6ab6, 0xd4436a, 0xa375db, 0xec7e4b, 0x0ec693, 0x65ccfe, 0xfecb8b, 0xf7ea72}, 0x24303e, 0xf7ea72)
)

var Themes = []*Theme{Light, Dark}

func newTheme(name string, ground [6]uint32, of [series]uint32, low, high uint32) *Theme {
	t := &Theme{Name: name}
	for i, c := range ground {
		t.of[i] = rgb(c)
	}
	for i, c := range of {
		t.of[int(C1)+i] = rgb(c)
	}
	a, b := rgb(low), rgb(high)
	mix := func(x, y uint8, part float64) uint8 {
		return uint8(math.Round(float64(x) + part*(float64(y)-float64(x))))
	}
	for i := range heatSteps {
		part := float64(i) / (heatSteps - 1)
		t.of[int(Heat0)+i] = color.RGBA{mix(a.R, b.R, part), mix(a.G, b.G, part), mix(a.B, b.B, part), 255}
	}
	return t
}

func rgb(c uint32) color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 255} }

// on returns black or white for text on a paint, whichever contrasts more.
func (t *Theme) on(p Paint) color.RGBA {
	// The WCAG 2 contrasts with both are equal at this luminance.
	if luminance(t.of[p]) > 0.1791 {
		return color.RGBA{0, 0, 0, 255}
	}
	return color.RGBA{255, 255, 255, 255}
}

// luminance is the relative luminance of WCAG 2.
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// colour of a mark: that of its paint, or of text on it.
func (t *Theme) colour(p Paint, on bool) color.RGBA {
	if on {
		return t.on(p)
	}
	return t.of[p]
}

// Hex is the colour of a paint as six hexadecimal digits.
func (t *Theme) Hex(p Paint) string { return hex(t.of[p])[1:] }

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

var groundNames = [...]string{NoPaint: "", Ink: "ink", Muted: "muted", Grid: "grid", Back: "back", Red: "red"}

// class is the name of a paint in style sheets.
func class(p Paint, on bool) string {
	name := ""
	switch {
	case p < C1:
		name = groundNames[p]
	case p < Heat0:
		name = fmt.Sprintf("c%d", p-C1+1)
	default:
		name = fmt.Sprintf("h%d", p-Heat0)
	}
	if on {
		return "on-" + name
	}
	return name
}

// CSS returns rules, each starting with a selector, that apply a theme to a drawing on a page.
func (t *Theme) CSS(selector string) string {
	var b strings.Builder
	for p := Ink; int(p) < paints; p++ {
		for _, on := range []bool{false, true} {
			c, name := hex(t.colour(p, on)), class(p, on)
			fmt.Fprintf(&b, "%s.f-%s{fill:%s}", selector, name, c)
			if !on {
				fmt.Fprintf(&b, "%s.s-%s{stroke:%s}", selector, name, c)
			}
		}
	}
	return b.String()
}
