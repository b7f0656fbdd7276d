package chart

import "math"

// Heights of rows that nobody has asked to be higher, in pixels.
const (
	bandRow   = 24.0
	besideRow = 17.0 // of each of several bars in a row
	airyRow   = 58.0 // with labels above and below
	linesRow  = 0.5  // of the width, for lines and dots
	shortRow  = 110.0
	mostLines = 460.0
)

// Natural is the height that suits a chart of a width: rows of bars are as high as text, lines half
// as high as wide.
func (c *Chart) Natural(width float64) float64 {
	w := width - 2*margin
	height := 2*margin + 10
	if !c.Untitled {
		height += titleSize*leading*float64(len(wrap(c.Title, titleSize, true, w, 2))) + subtitleSize*leading*float64(len(wrap(c.Subtitle, subtitleSize, false, w, mostSubtitle)))
	}
	if len(c.Keys) > 0 {
		height += keyRow * float64(min(mostKeyRows, keyRows(c.Keys, w)))
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
			height += max(bandRow*max(2, rows), besideRow*rows*float64(p.beside()))
		case len(c.Panels) > 1 && i > 0:
			height += shortRow
		default:
			height += min(mostLines, linesRow*width)
		}
	}
	return min(math.Ceil(height), MostSide)
}

// beside is how many bars share a band.
func (p *Panel) beside() int {
	most := 0
	for i := range p.Bars {
		most = max(most, p.Bars[i].Of)
	}
	return most
}
