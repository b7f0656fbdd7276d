package chart

import (
	"image/color"
	"math"
	"strings"
	"testing"
)

// lab is a colour in CIE L*a*b*, by linear sRGB under D65.
func lab(r, g, b float64) (l, a, bb float64) {
	f := func(t float64) float64 {
		if t > 216./24389 {
			return math.Cbrt(t)
		}
		return (24389./27*t + 16) / 116
	}
	x := f((0.4124*r + 0.3576*g + 0.1805*b) / 0.95047)
	y := f(0.2126*r + 0.7152*g + 0.0722*b)
	z := f((0.0193*r + 0.1192*g + 0.9505*b) / 1.08883)
	return 116*y - 16, 500 * (x - y), 200 * (y - z)
}

func linear(c color.RGBA) [3]float64 {
	one := func(v uint8) float64 { return luminance(color.RGBA{v, v, v, 255}) }
	return [3]float64{one(c.R), one(c.G), one(c.B)}
}

// Who lacks a kind of cones sees these mixtures of linear sRGB: Machado, Oliveira and Fernandes
// 2009, severity 1.
var seen = map[string][3][3]float64{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// Series stay apart for everyone, and in grey print.
func TestPalette(t *testing.T) {
	const (
		leastGrey = 6.0  // of L*; 2.3 is the least that is noticed side by side
		leastSeen = 11.0 // of all three
	)
	for _, theme := range Themes {
		for who, m := range seen {
			for a := C1; a <= C8; a++ {
				for b := a + 1; b <= C8; b++ {
					var at [2][3]float64
					for i, p := range []Paint{a, b} {
						c := linear(theme.of[p])
						var s [3]float64
						for row := range s {
							s[row] = max(0, min(1, m[row][0]*c[0]+m[row][1]*c[1]+m[row][2]*c[2]))
						}
						at[i][0], at[i][1], at[i][2] = lab(s[0], s[1], s[2])
					}
					d := math.Sqrt(math.Pow(at[0][0]-at[1][0], 2) + math.Pow(at[0][1]-at[1][1], 2) + math.Pow(at[0][2]-at[1][2], 2))
					if d < leastSeen {
						t.Errorf("%s: c%d and c%d are %.1f apart with %s", theme.Name, a-C1+1, b-C1+1, d, who)
					}
					if grey := math.Abs(at[0][0] - at[1][0]); who == "all cones" && grey < leastGrey {
						t.Errorf("%s: c%d and c%d are %.1f apart in grey", theme.Name, a-C1+1, b-C1+1, grey)
					}
				}
			}
		}
		for i := 1; i < heatSteps; i++ {
			if luminance(theme.of[int(Heat0)+i]) == luminance(theme.of[int(Heat0)+i-1]) {
				t.Errorf("%s: steps %d and %d of heat maps look alike", theme.Name, i-1, i)
			}
		}
	}
}

// Text can be read on whatever it stands on: the contrast of WCAG 2 is 4.5 for normal text.
func TestContrast(t *testing.T) {
	contrast := func(a, b color.RGBA) float64 {
		x, y := luminance(a), luminance(b)
		return (max(x, y) + 0.05) / (min(x, y) + 0.05)
	}
	for _, theme := range Themes {
		for _, p := range []Paint{Ink, Muted, Red} {
			if c := contrast(theme.of[p], theme.of[Back]); c < 4.5 {
				t.Errorf("%s: %s on the ground: %.2f", theme.Name, class(p, false), c)
			}
		}
		for _, p := range []Paint{Grid, Muted} { // bars may have these
			if c := contrast(theme.on(p), theme.of[p]); c < 4.5 {
				t.Errorf("%s: text on %s: %.2f", theme.Name, class(p, false), c)
			}
		}
		for p := C1; int(p) < paints; p++ {
			if css := theme.CSS(""); !strings.Contains(css, ".f-"+class(p, true)+"{") {
				t.Errorf("%s: no rule for text on %s", theme.Name, class(p, false))
			}
			if c := contrast(theme.on(p), theme.of[p]); c < 4.5 {
				t.Errorf("%s: text on %s: %.2f", theme.Name, class(p, false), c)
			}
			if c := contrast(theme.of[p], theme.of[Back]); p < Heat0 && c < 3 { // of marks, by WCAG 2
				t.Errorf("%s: %s on the ground: %.2f", theme.Name, class(p, false), c)
			}
		}
	}
}
