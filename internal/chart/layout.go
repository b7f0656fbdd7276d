package chart

import (
	"fmt"
	"math"
	"slices"
)

// Sizes of text and margins, in pixels.
const (
	margin       = 12.0
	titleSize    = 15.0
	subtitleSize = 11.5
	labelSize    = 11.0
	smallSize    = 10.0
	leading      = 1.35 // lines of text
	tickRow      = 16.0 // the labels of an x axis
	titleRow     = 19.0 // the title of an axis or a panel
	gap          = 8.0
	mostHeading  = 0.42 // of the height, for title and legend
	mostNote     = 3    // lines of small print
	mostSubtitle = 3    // lines
	mostKeyRows  = 4
)

// Bounds of the size of a drawing.
const (
	LeastSide = 120
	MostSide  = 10_000
)

// Draw lays out a chart; without a height, in the one that suits it. The prefix keeps the ids of
// several drawings on a page apart.
func (c *Chart) Draw(width, height float64, prefix string) *Scene {
	natural := height == 0
	if natural {
		height = c.Natural(width)
	}
	d := newDrawing(c, width, height, prefix)
	d.rect("ground", d.frame, Back, Mark{})
	area := box{margin, margin, width - margin, height - margin}
	if !c.Untitled {
		area.y1 = d.note(c, area)
	}
	lowest := margin + (height-2*margin)*mostHeading
	if natural {
		lowest = height // there is room for all of it
	}
	area.y0 = d.heading(c, area, lowest)
	d.panels(c, area)
	return &d.scene
}

// lines writes lines of text and returns the y of the next.
func (d *drawing) lines(kind string, texts []string, size float64, bold bool, p Paint, x, y float64) float64 {
	for _, text := range texts {
		d.writeIfFree(label{kind: kind, text: text, size: size, bold: bold, paint: p, x: x, y: y + ascent*size})
		y += size * leading
	}
	return y
}

// heading writes title, subtitle and legend above lowest, and returns where the plots may begin.
func (d *drawing) heading(c *Chart, area box, lowest float64) float64 {
	w, y := area.x1-area.x0, area.y0
	paint := Ink
	if c.Wrong {
		paint = Red
	}
	if c.Untitled {
		if len(c.Keys) > 0 {
			y = d.legend(c.Keys, area.x0, area.x1, y, lowest)
		}
		return y
	}
	y = d.lines("title", wrap(c.Title, titleSize, true, w, 2), titleSize, true, paint, area.x0, area.y0)
	if most := min(mostSubtitle, int((lowest-y)/(subtitleSize*leading))); most > 0 {
		y = d.lines("subtitle", wrap(c.Subtitle, subtitleSize, false, w, most), subtitleSize, false, Muted, area.x0, y)
	}
	if y += 4; len(c.Keys) > 0 {
		y = d.legend(c.Keys, area.x0, area.x1, y, lowest)
	}
	return y + 2
}

// note writes the small print at the bottom, and returns its upper edge.
func (d *drawing) note(c *Chart, area box) float64 {
	if c.Note == "" || area.y1-area.y0 < 160 {
		return area.y1
	}
	texts := wrap(c.Note, smallSize, false, area.x1-area.x0, mostNote)
	top := area.y1 - float64(len(texts))*smallSize*leading
	d.lines("note", texts, smallSize, false, Muted, area.x0, top)
	return top - 4
}

const (
	keyRow    = 16.0
	keySwatch = 14.0
)

func keyRows(keys []Key, width float64) int {
	x, rows := 0.0, 1
	for _, k := range keys {
		need := keySwatch + 5 + textWidth(fit(clean(k.Text), labelSize, false, min(260, width-keySwatch-5)), labelSize, false)
		if x > 0 && x+need > width {
			x, rows = 0, rows+1
		}
		x += need + 14
	}
	return rows
}

// legend writes keys in rows; those without room are counted.
func (d *drawing) legend(keys []Key, x0, x1, y, lowest float64) float64 {
	x, rows := x0, 1
	most := max(1, min(mostKeyRows, int((lowest-y)/keyRow)))
	for i, k := range keys {
		left := len(keys) - i
		more := fmt.Sprintf("and %d more", left)
		text := fit(clean(k.Text), labelSize, false, min(260, x1-x0-keySwatch-5))
		need := keySwatch + 5 + textWidth(text, labelSize, false)
		if x > x0 && x+need > x1 {
			if rows == most {
				d.writeIfFree(label{kind: "key", text: more, size: labelSize, paint: Muted, x: min(x, x1-textWidth(more, labelSize, false)), y: y + 11})
				break
			}
			x, y, rows = x0, y+keyRow, rows+1
		}
		if last := rows == most && left > 1 && x+need+14+textWidth(more, labelSize, false) > x1; last && x > x0 {
			d.writeIfFree(label{kind: "key", text: more, size: labelSize, paint: Muted, x: x, y: y + 11})
			break
		}
		d.swatch(&k, x, y+2)
		d.writeIfFree(label{kind: "key", text: text, size: labelSize, paint: Ink, x: x + keySwatch + 5, y: y + 11})
		x += need + 14
	}
	return y + keyRow + 2
}

func (d *drawing) swatch(k *Key, x, y float64) {
	switch b := (box{x, y, x + keySwatch, y + 10}); k.Form {
	case Box:
		d.rect("swatch", b, k.Paint, Mark{})
		if k.Hatch {
			d.hatch("swatch-hatch", b, k.Paint)
		}
	case Stroke:
		d.stroke("swatch", k.Paint, 2, k.Dash, []XY{{b.x0, y + 5}, {b.x1, y + 5}})
	default:
		d.dot("swatch", k.Form, XY{x + keySwatch/2, y + 5}, 4, k.Paint, Mark{})
	}
}

// hatch draws lines across a box, to distinguish it from others of similar lightness.
func (d *drawing) hatch(kind string, b box, p Paint) {
	const every = 5.0
	w, h := b.x1-b.x0, b.y1-b.y0
	var lines [][]XY
	for s := every / 2; s < w+h; s += every {
		// Where x + y = s, from the left or lower border to the upper or right one.
		from, to := XY{b.x0 + max(0, s-h), b.y0 + min(s, h)}, XY{b.x0 + min(s, w), b.y0 + max(0, s-w)}
		if to.X-from.X > 0.5 {
			lines = append(lines, []XY{from, to})
		}
	}
	if len(lines) > 0 {
		d.add(kind, Mark{Shape: path, Paint: p, On: true, Lines: lines, Width: 1, Opacity: 0.45})
	}
}

// plot is a panel with the positions of its axes.
type plot struct {
	*Panel
	area     box
	x, y     scale
	yTicks   []float64
	yLabels  []string
	segments [][2]XY // of lines, computed on demand
}

// panels divides the room among panels and draws them.
func (d *drawing) panels(c *Chart, area box) {
	plots := stack(c.Panels, area)
	left, right := 0.0, margin
	for i := range plots {
		p := &plots[i]
		left = max(left, p.left((area.x1-area.x0)*0.36))
		for _, b := range p.Bars {
			if b.After != "" {
				right = max(right, min((area.x1-area.x0)*0.3, textWidth(clean(b.After), labelSize, false)+6))
			}
		}
	}
	for i := range plots {
		p := &plots[i]
		p.area.x0, p.area.x1 = area.x0+left, area.x1-right
		if p.area.x1-p.area.x0 < 20 || p.area.y1-p.area.y0 < 8 {
			continue
		}
		p.scales()
		if dragged := slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Ref != "" }); i == 0 || dragged {
			d.scene.Across = Across{p.x.from, p.x.to, p.x.low, p.x.high, p.x.log, p.area.y0, p.area.y1}
		}
		d.plot(p)
	}
}

// overhead returns the room that a panel needs above and below its plot.
func (p *Panel) overhead() (above, below float64) {
	if p.Title != "" || p.Y.Title != "" || p.Y.Bands != nil && slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Label != "" }) {
		above = titleRow
	}
	if !p.X.Bare {
		below = tickRow
	}
	if p.X.Title != "" {
		below += 14
	}
	return above, below
}

// stack gives every panel its height, and drops the last ones if they would be too low.
func stack(list []Panel, area box) []plot {
	for n := len(list); ; n-- {
		room, weights := area.y1-area.y0, 0.0
		for i := range list[:n] {
			above, below := list[i].overhead()
			room -= above + below
			weights += max(list[i].Weight, 1e-9)
		}
		room -= gap * float64(n-1)
		low := false
		for i := range list[:n] {
			low = low || room*list[i].Weight/weights < list[i].Least
		}
		if low && n > 1 {
			continue
		}
		var out []plot
		y := area.y0
		for i := range list[:n] {
			above, below := list[i].overhead()
			h := max(0, room*max(list[i].Weight, 1e-9)/weights)
			out = append(out, plot{Panel: list[i].cut(h), area: box{0, y + above, 0, y + above + h}})
			y += above + h + below + gap
		}
		return out
	}
}

// leastBand is the height of a band with a legible label.
const leastBand = labelSize * 1.15

// cut drops the bands without room in a height, if the panel allows it.
func (p *Panel) cut(height float64) *Panel {
	n := max(2, int(height/leastBand))
	if !p.Cut || len(p.Y.Bands) <= n {
		return p
	}
	out := *p
	out.Y.Bands = append(slices.Clone(p.Y.Bands[:n-1]), fmt.Sprintf("and %d more", len(p.Y.Bands)-n+1))
	out.Bars = slices.DeleteFunc(slices.Clone(p.Bars), func(b Bar) bool { return b.Band >= n-1 })
	return &out
}

// left returns the width of the y axis labels, and sets its scale.
func (p *plot) left(most float64) float64 {
	var widest float64
	if p.Y.Bands != nil {
		for _, b := range p.Y.Bands {
			widest = max(widest, textWidth(clean(b), labelSize, false))
		}
		return min(widest, most) + 6
	}
	e := p.extent(func(q XY) float64 { return q.Y }, &p.Y)
	want := max(2, int((p.area.y1-p.area.y0)/38))
	e = p.Y.domain(e, want)
	p.y = scale{p.Y.Log, p.Y.Tail, e.low, e.high, p.area.y1, p.area.y0}
	if p.Y.Bare {
		return 0
	}
	p.yTicks = p.Y.ticks(e, want)
	p.yLabels = p.Y.labels(p.yTicks)
	for _, l := range p.yLabels {
		widest = max(widest, textWidth(l, labelSize, false))
	}
	return min(widest, most) + 6
}

// extent returns the range of a panel's data along an axis.
func (p *Panel) extent(of func(XY) float64, a *Axis) extent {
	e := newExtent()
	add := e.add
	if a.Log {
		add = e.addLog
	}
	each := func(list []XY) {
		for _, q := range list {
			add(of(q))
		}
	}
	for i := range p.Lines {
		each(p.Lines[i].Points)
	}
	for i := range p.Areas {
		each(p.Areas[i].Upper)
		each(p.Areas[i].Lower)
	}
	for i := range p.Dots {
		for _, q := range p.Dots[i].Points {
			add(of(q.XY))
		}
	}
	return e
}

// scales sets the scale of the x axis.
func (p *plot) scales() {
	if p.X.Bands != nil {
		return
	}
	e := p.extent(func(q XY) float64 { return q.X }, &p.X)
	for _, b := range p.Bars {
		e.add(b.From)
		e.add(b.To)
	}
	e = p.X.domain(e, p.xWant())
	p.x = scale{p.X.Log, p.X.Tail, e.low, e.high, p.area.x0, p.area.x1}
}

func (p *plot) xWant() int { return max(2, int((p.area.x1-p.area.x0)/85)) }

// band returns the position of a band of an axis.
func band(n, of int, from, to float64) (low, high float64) {
	w := (to - from) / float64(max(1, of))
	return from + float64(n)*w, from + float64(n+1)*w
}

// plot draws a panel from back to front, text last.
func (d *drawing) plot(p *plot) {
	d.titles(p)
	d.axes(p)
	for i := range p.Areas {
		d.area(p, &p.Areas[i])
	}
	d.cells(p)
	d.bars(p)
	d.rules(p)
	d.barLabels(p)
	for i := range p.Lines {
		d.line(p, &p.Lines[i])
	}
	d.dots(p)
}

// titles writes those of the panel and of its axes; that of the y axis stands above it, where it is
// horizontal.
func (d *drawing) titles(p *plot) {
	y := p.area.y0 - 8
	x := margin
	if p.Title != "" {
		text := fit(clean(p.Title), labelSize, true, d.scene.Width-2*margin)
		if d.writeIfFree(label{kind: "panel", text: text, size: labelSize, bold: true, paint: Ink, x: x, y: y}) {
			x += textWidth(text, labelSize, true) + 12
		}
	}
	d.writeIfFree(label{kind: "axis-title", text: fit(clean(p.Y.Title), labelSize, false, d.scene.Width-margin-x), size: labelSize, paint: Muted, x: x, y: y})
	if p.X.Title != "" {
		y := p.area.y1 + 12
		if !p.X.Bare {
			y += tickRow - 2
		}
		text := fit(clean(p.X.Title), labelSize, false, p.area.x1-p.area.x0)
		d.writeIfFree(label{kind: "axis-title", text: text, size: labelSize, paint: Muted, anchor: Middle, x: (p.area.x0 + p.area.x1) / 2, y: y})
	}
}

// axes draws grid and labels of both.
func (d *drawing) axes(p *plot) {
	a := p.area
	var grid [][]XY
	if p.Y.Bands != nil {
		d.bandLabels(p)
	}
	for i, v := range p.yTicks {
		y := p.y.at(v)
		grid = append(grid, []XY{{a.x0, y}, {a.x1, y}})
		d.writeIfFree(label{kind: "tick", text: p.yLabels[i], size: labelSize, paint: Muted, anchor: End, x: a.x0 - 5, y: y + 0.36*labelSize})
	}
	switch {
	case p.X.Bands != nil:
		d.bandTicks(p)
	case !p.X.Bare:
		ticks := p.X.ticks(extent{p.x.low, p.x.high}, p.xWant())
		for i, text := range p.X.labels(ticks) {
			x := p.x.at(ticks[i])
			grid = append(grid, []XY{{x, a.y0}, {x, a.y1}})
			half := textWidth(text, labelSize, false) / 2
			tick := label{kind: "tick", text: text, size: labelSize, paint: Muted, anchor: Middle, x: min(x, d.scene.Width-half-1), y: a.y1 + 12}
			if !d.writeIfFree(tick) && x-half < a.x0 { // the lowest of the y axis is there
				tick.x = a.x0 - 2 + half
				d.writeIfFree(tick)
			}
		}
	}
	if len(grid) > 0 {
		d.stroke("grid", Grid, 1, false, grid...)
	}
	d.stroke("axis", Muted, 1, false, []XY{{a.x0, a.y1}, {a.x1, a.y1}})
}

// bandLabels names the bands of the y axis, as many as fit.
func (d *drawing) bandLabels(p *plot) {
	n := len(p.Y.Bands)
	_, high := band(0, n, 0, p.area.y1-p.area.y0)
	every := max(1, int(math.Ceil(leastBand/high)))
	for i := 0; i < n; i += every {
		y0, y1 := band(i, n, p.area.y0, p.area.y1)
		text := fit(clean(p.Y.Bands[i]), labelSize, false, p.area.x0-margin-5)
		d.writeIfFree(label{kind: "band", text: text, size: labelSize, paint: Ink, anchor: End, x: p.area.x0 - 6, y: (y0+y1)/2 + 0.36*labelSize})
	}
}

// bandTicks names the bands of the x axis.
func (d *drawing) bandTicks(p *plot) {
	const widest, narrowest = 110.0, 24.0
	n := len(p.X.Bands)
	_, w := band(0, n, 0, p.area.x1-p.area.x0)
	need := narrowest
	for _, b := range p.X.Bands {
		need = max(need, min(widest, textWidth(clean(b), labelSize, false)+6))
	}
	every := max(1, int(math.Ceil(need/w)))
	for i := 0; i < n; i += every {
		x0, x1 := band(i, n, p.area.x0, p.area.x1)
		text := fit(clean(p.X.Bands[i]), labelSize, false, max(need, w)-4)
		half := textWidth(text, labelSize, false) / 2
		x := min(max((x0+x1)/2, half+1), d.scene.Width-half-1)
		d.writeIfFree(label{kind: "band", text: text, size: labelSize, paint: Ink, anchor: Middle, x: x, y: p.area.y1 + 12})
	}
}
