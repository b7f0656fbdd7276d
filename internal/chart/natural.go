package chart

import "math"

// Heights of rows that nobody has asked to be higher, in pixels.
const (
	bandRow   = 24.0
	airyRow   = 58.0 // with labels above and below
	linesRow  = 0.5  // of the width, for lines and dots
	shortRow  = 110.0
	mostLines = 460.0
)

// Natural is the height that suits a chart of a width: rows of bars are as high as text, lines half
// as high as wide.
func (c *Chart) Natural(width float64) float64 {
	height := 2*margin + titleSize*leading + subtitleSize*leading + 10
	if c.Untitled {
		height = 2 * margin
	}
	if len(c.Keys) > 0 {
		used := 0.0
		for _, k := range c.Keys {
			used += keySwatch + 19 + min(260, textWidth(k.Text, labelSize, false))
		}
		height += keyRow * min(3, 1+float64(int(used/(width-2*margin))))
	}
	if c.Note != "" && !c.Untitled {
		height += max(2, float64(len(wrap(c.Note, smallSize, false, width-2*margin, mostNote)))) * smallSize * leading
	}
	for i := range c.Panels {
		p := &c.Panels[i]
		height += titleRow + tickRow + titleRow + gap
		switch rows := float64(len(p.Y.Bands)); {
		case rows > 0 && p.Airy:
			height += airyRow * rows
		case rows > 0:
			height += bandRow * max(2, rows)
		case len(c.Panels) > 1 && i > 0:
			height += shortRow
		default:
			height += min(mostLines, linesRow*width)
		}
	}
	return min(math.Ceil(height), MostSide)
}
