package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// textsOf are the texts of a kind in a drawing.
func textsOf(s *Scene, kind string) (out []string) {
	for i := range s.Marks {
		if m := &s.Marks[i]; m.Shape == words && strings.HasPrefix(m.ID, kind) {
			out = append(out, m.Text)
		}
	}
	return out
}

// TestFirstTick: an axis that begins at 400 says so, though the 0 of the other axis is beside it.
func TestFirstTick(t *testing.T) {
	c := &Chart{Title: "by limit", Panels: []Panel{{Weight: 1, X: Axis{Title: "W"}, Y: Axis{Title: "tokens/s", Zero: true},
		Lines: []Line{{Points: []XY{{400, 403}, {500, 469}, {600, 518}, {700, 558}}}}}}}
	for _, width := range []float64{480, 900, 1600} {
		s := c.Draw(width, 0, "")
		if ticks := textsOf(s, "tick"); !slices.Contains(ticks, "400") || !slices.Contains(ticks, "0") {
			t.Errorf("at %g the ticks are %v", width, ticks)
		}
		if p := s.Problems(); len(p) > 0 {
			t.Error(width, p)
		}
	}
}

// TestWholeLegend: a chart in the height that suits it names all its parts, also where it is
// narrow; one that is told to be low counts those without room.
func TestWholeLegend(t *testing.T) {
	c := &Chart{Title: "Memory", Subtitle: strings.Repeat("a long deployment ", 7), Panels: []Panel{{Weight: 1, Y: Axis{Bands: []string{"GPU"}}, Bars: []Bar{{To: 10}}}}}
	for i := range 8 {
		c.Keys = append(c.Keys, Key{Form: Box, Text: fmt.Sprintf("part %d of the memory, 12.34 GiB", i)})
	}
	s := c.Draw(480, 0, "")
	if keys := textsOf(s, "key"); len(keys) != 8 || keys[7] != c.Keys[7].Text {
		t.Errorf("legend %q", keys)
	}
	if p := s.Problems(); len(p) > 0 {
		t.Error(p)
	}
	if keys := textsOf(c.Draw(480, 200, ""), "key"); !strings.HasPrefix(keys[len(keys)-1], "and ") {
		t.Errorf("in 200 pixels the legend is %q", keys)
	}
}

// TestBarsBesideEachOther: bars that share a row are high enough for labels that one can read.
func TestBarsBesideEachOther(t *testing.T) {
	p := Panel{Weight: 1}
	for band := range 6 {
		p.Y.Bands = append(p.Y.Bands, fmt.Sprint("deployment ", band))
		for place := range 2 {
			p.Bars = append(p.Bars, Bar{Band: band, To: float64(10 + band), Place: place, Of: 2, After: fmt.Sprint(band, place)})
		}
	}
	s := (&Chart{Title: "balance", Panels: []Panel{p}}).Draw(480, 0, "")
	labels := 0
	for i := range s.Marks {
		if m := &s.Marks[i]; strings.HasPrefix(m.ID, "bar-after") {
			if labels++; m.Size < smallSize {
				t.Errorf("a label of %.1f pixels", m.Size)
			}
		}
	}
	if labels != 12 {
		t.Errorf("%d labels of 12 bars", labels)
	}
}

// TestLargestDotsAreNamed: where room is short, a large dot has a name before small ones, and a
// short name where the long one has no room.
func TestLargestDotsAreNamed(t *testing.T) {
	var small []Dot
	for i := range 12 {
		small = append(small, Dot{XY: XY{45 + float64(i), 5 + 0.2*float64(i)}, Label: fmt.Sprint("small ", i), Size: 3})
	}
	large := []Dot{{XY: XY{50, 5.5}, Label: "large, " + strings.Repeat("with what it reaches ", 6), Brief: "large", Size: 9}}
	c := &Chart{Title: "dots", Panels: []Panel{{Weight: 1, X: Axis{Low: At(0), High: At(100)}, Y: Axis{Low: At(0), High: At(10)}, Dots: []Dots{{Points: small}, {Points: append(large, small...)}}}}}
	s := c.Draw(300, 0, "")
	if names := textsOf(s, "dot-label"); !slices.Contains(names, "large") {
		t.Errorf("named are %q", names)
	}
}
