package chart

import (
	"fmt"
	"strings"
)

// Problems lists layout errors: overlapping texts and marks outside the frame.
func (s *Scene) Problems() (out []string) {
	const rounding = 0.05 // of coordinates
	frame := box{-rounding, -rounding, s.Width + rounding, s.Height + rounding}
	var texts []*Mark
	for i := range s.Marks {
		m := &s.Marks[i]
		if b := m.bounds(); !b.inside(frame) {
			out = append(out, fmt.Sprintf("%s %q leaves the frame: %.1f", m.ID, m.Text, []float64{b.x0, b.y0, b.x1, b.y1}))
		}
		if m.Shape == words {
			texts = append(texts, m)
		}
	}
	for i, a := range texts {
		for _, b := range texts[:i] {
			switch at := b.bounds(); {
			case a.bounds().overlaps(at):
				out = append(out, fmt.Sprintf("%q lies on %q", a.Text, b.Text))
			case a.amongMarks() && b.amongMarks() && a.Y == b.Y && a.bounds().wider(beside-0.1).overlaps(at):
				out = append(out, fmt.Sprintf("%q and %q read on as one", a.Text, b.Text))
			}
		}
	}
	return out
}

// amongMarks reports whether a text names a dot or a bar beside it.
func (m *Mark) amongMarks() bool {
	return strings.Contains(m.ID, "dot-label") || strings.Contains(m.ID, "callout")
}
