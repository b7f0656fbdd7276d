package chart

import (
	"cmp"
	"math"
	"slices"
)

const (
	thickest  = 34.0 // of bars in several bands
	thick     = 64.0 // of bars in one or two bands
	filling   = 0.76 // share of a band that its bars take
	airy      = 0.38 // the same with labels beside bars
	narrowest = 1.0  // bar drawn by itself
	rimmed    = 3.0  // width from which a bar has a rim
)

func (p *plot) barBox(b *Bar) box {
	y0, y1 := band(b.Band, len(p.Y.Bands), p.area.y0, p.area.y1)
	most := thickest
	if len(p.Y.Bands) <= 2 {
		most = min(thick, max(thickest, (y1-y0)/3)) // the rest is for labels
	}
	h := min((y1-y0)*filling, most*float64(max(1, b.Of)))
	if p.Airy {
		h = min(h, max(airy*(y1-y0), labelSize+4))
	}
	if y1-y0 < 3 {
		h = y1 - y0
	}
	y0 = (y0 + y1 - h) / 2
	if b.Of > 1 {
		h /= float64(b.Of)
		y0 += h * float64(b.Place)
	}
	x0, x1 := p.x.within(b.From), p.x.within(b.To)
	return box{min(x0, x1), y0, max(x0, x1), y0 + h}
}

// bars draws all bars of a panel; those narrower than a pixel are merged.
func (d *drawing) bars(p *plot) {
	columns := columns{map[columnKey]*[paints]float64{}, map[int]int{}}
	for i := range p.Bars {
		b := &p.Bars[i]
		if !finite(b.From) || !finite(b.To) || b.Band < 0 || b.Band >= len(p.Y.Bands) {
			continue
		}
		at := p.barBox(b)
		if b.Hollow {
			d.stroke("ghost", b.Paint, 1, true, []XY{{at.x0, at.y0}, {at.x1, at.y0}, {at.x1, at.y1}, {at.x0, at.y1}, {at.x0, at.y0}})
			continue
		}
		if at.x1-at.x0 < narrowest {
			columns.add(p, b, at)
			continue
		}
		d.rect("bar", at, b.Paint, Mark{Tip: clean(b.Tip), Ref: b.Ref, Rim: at.x1-at.x0 >= rimmed})
		if b.Hatch && at.x1-at.x0 >= rimmed {
			d.hatch("hatch", at, b.Paint)
		}
	}
	columns.draw(d, p)
}

// barLabels writes labels on bars and after them, then those that do not fit, longest bars first.
func (d *drawing) barLabels(p *plot) {
	var rest []*Bar
	for i := range p.Bars {
		b := &p.Bars[i]
		if !finite(b.From) || !finite(b.To) || b.Band < 0 || b.Band >= len(p.Y.Bands) {
			continue
		}
		if b.After != "" {
			d.behind(p, b)
		}
		if b.Inside != "" && !d.inside(p, b) {
			rest = append(rest, b)
		}
	}
	if len(rest) > mostCallouts {
		return // they would hide each other
	}
	slices.SortStableFunc(rest, func(a, b *Bar) int { return cmp.Compare(math.Abs(b.To-b.From), math.Abs(a.To-a.From)) })
	for _, b := range rest {
		d.callout(p, b)
	}
}

// mostCallouts limits the bars with labels beside them.
const mostCallouts = 60

// behind writes the label at the end of a bar.
func (d *drawing) behind(p *plot, b *Bar) {
	at := p.barBox(b)
	h := at.y1 - at.y0
	if h < 8 {
		return
	}
	size := min(labelSize, max(8, h-3))
	x := at.x1
	for i := range p.Bars { // also behind what the bar was
		if o := &p.Bars[i]; o.Hollow && o.Band == b.Band {
			if was := p.barBox(o); was.x0 < x+5+textWidth(b.After, size, false) {
				x = max(x, was.x1)
			}
		}
	}
	text := fit(clean(b.After), size, false, d.scene.Width-x-8)
	d.writeIfFree(label{kind: "bar-after", text: text, size: size, paint: Ink, x: x + 5, y: (at.y0+at.y1)/2 + 0.36*size})
}

// inside writes the label of a bar on it, if it fits.
func (d *drawing) inside(p *plot, b *Bar) bool {
	at := p.barBox(b)
	h := at.y1 - at.y0
	size := min(labelSize, max(8, h-3))
	l := label{kind: "bar-label", text: clean(b.Inside), size: size, paint: b.Paint, on: true, anchor: Middle, x: (at.x0 + at.x1) / 2, y: (at.y0+at.y1)/2 + 0.36*size}
	if h < 10 || textWidth(l.text, size, false) > at.x1-at.x0-6 {
		return false
	}
	place, ok := d.free(&l, d.frame)
	if !ok {
		return false
	}
	if b.Hatch { // a plate makes the text legible
		d.rect("plate", box{place.x0 - 2, place.y0, place.x1 + 2, min(place.y1, at.y1)}, b.Paint, Mark{})
	}
	d.write(&l, place)
	return true
}

// callout writes the label of a bar below or above it, within its band, with a thin line to it:
// across a rule only where there is no other room.
func (d *drawing) callout(p *plot, b *Bar) {
	at := p.barBox(b)
	if at.x1-at.x0 < narrowest {
		return
	}
	rules := p.ruled()
	if !d.calloutClear(p, b, at, rules) && len(rules) > 0 {
		d.calloutClear(p, b, at, nil)
	}
}

func (d *drawing) calloutClear(p *plot, b *Bar, at box, rules [][2]XY) bool {
	low, high := band(b.Band, len(p.Y.Bands), p.area.y0, p.area.y1)
	const size = smallSize
	x := (at.x0 + at.x1) / 2
	text := clean(b.Inside)
	w := textWidth(text, size, false)
	for row := range 8 {
		below := at.y1 + 3 + ascent*size + float64(row)*size*1.15
		above := at.y0 - 3 - descent*size - float64(row)*size*1.15
		for _, y := range []float64{below, above} {
			if y+descent*size > high || y-ascent*size < low {
				continue
			}
			for _, shift := range shifts(x, w, rules) {
				l := label{kind: "callout", plate: true, text: text, size: size, paint: Ink, anchor: Middle, x: x + shift, y: y}
				place, ok := d.free(&l, box{p.area.x0, low, d.frame.x1, high})
				if !ok || d.crosses(x, at, place) || across(rules, place.wider(clearance)) {
					continue
				}
				if row > 0 {
					from, to := at.y1, place.y0
					if y < at.y0 {
						from, to = at.y0, place.y1
					}
					d.stroke("leader", Muted, 0.8, false, []XY{{x, from}, {x, to}})
				}
				d.taken = append(d.taken, leaderBox(x, at, place)) // no other text across it
				d.write(&l, place)
				return true
			}
		}
	}
	return false
}

// shifts are places of a label of width w beside the middle of its bar: at it, to its sides, and
// up to the vertical rules that would cross it.
func shifts(x, w float64, rules [][2]XY) []float64 {
	out := []float64{0}
	for _, r := range rules {
		if r[0].X != r[1].X {
			continue
		}
		for _, shift := range []float64{r[0].X - clearance - 1 - w/2 - x, r[0].X + clearance + 1 + w/2 - x} {
			if math.Abs(shift) <= w/2+3 {
				out = append(out, shift)
			}
		}
	}
	return append(out, w/2-4, 4-w/2, w/2+3, -w/2-3)
}

// leaderBox returns the box of the line from a bar to its label.
func leaderBox(x float64, at, place box) box {
	if place.y0 > at.y0 {
		return box{x - 1, at.y1, x + 1, place.y0}
	}
	return box{x - 1, place.y1, x + 1, at.y0}
}

// crosses reports whether the line from a bar to a label would cross a text.
func (d *drawing) crosses(x float64, at, place box) bool {
	line := leaderBox(x, at, place)
	for _, t := range d.taken {
		if line.overlaps(t) {
			return true
		}
	}
	return false
}

// columns are bars too narrow to draw: how much of each pixel of a band they cover.
type columns struct {
	covered map[columnKey]*[paints]float64
	of      map[int]int // bars side by side, by band
}

type columnKey struct {
	band, place int
	x           int
}

func (c columns) add(p *plot, b *Bar, at box) {
	w := at.x1 - at.x0
	key := columnKey{b.Band, b.Place, int(math.Floor((at.x0 + w/2) - p.area.x0))}
	if c.covered[key] == nil {
		c.covered[key] = new([paints]float64)
	}
	c.covered[key][b.Paint] += w
	c.of[b.Band] = b.Of
}

// draw merges neighbouring columns of the same paint; the largest coverage decides the paint.
func (c columns) draw(d *drawing, p *plot) {
	keys := make([]columnKey, 0, len(c.covered))
	for k := range c.covered {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b columnKey) int {
		for _, v := range []int{a.band - b.band, a.place - b.place, a.x - b.x} {
			if v != 0 {
				return v
			}
		}
		return 0
	})
	most := func(k columnKey) (paint Paint, opacity float64) {
		var covered, largest float64
		for q, part := range c.covered[k] {
			covered += part
			if part > largest {
				paint, largest = Paint(q), part
			}
		}
		// Few levels, so that neighbours merge; the lowest is still visible.
		return paint, min(1, max(0.25, math.Ceil(covered*4)/4))
	}
	// Those of a band that look alike are one mark.
	type style struct {
		band, place int
		paint       Paint
		opacity     float64
	}
	marks := map[style]int{}
	var together []Mark
	for i := 0; i < len(keys); {
		first := keys[i]
		paint, opacity := most(first)
		n := 1
		for ; i+n < len(keys); n++ {
			next := keys[i+n]
			other, o := most(next)
			if next.band != first.band || next.place != first.place || next.x != first.x+n || other != paint || o != opacity {
				break
			}
		}
		i += n
		at := p.barBox(&Bar{Band: first.band, Place: first.place, Of: c.of[first.band], From: p.x.low, To: p.x.low})
		at.x0 = p.area.x0 + float64(first.x)
		at.x1 = min(at.x0+float64(n), p.area.x1)
		at.x0 = min(at.x0, at.x1-0.5)
		key := style{first.band, first.place, paint, opacity}
		m, ok := marks[key]
		if !ok {
			m, marks[key] = len(together), len(together)
			if opacity == 1 {
				opacity = 0
			}
			together = append(together, Mark{Shape: path, Filled: true, Paint: paint, Opacity: opacity})
		}
		together[m].Lines = append(together[m].Lines, []XY{{at.x0, at.y0}, {at.x1, at.y0}, {at.x1, at.y1}, {at.x0, at.y1}})
	}
	for _, m := range together {
		d.add("slivers", m)
	}
}

// cells draws a heat map.
func (d *drawing) cells(p *plot) {
	e := newExtent()
	for _, c := range p.Cells {
		e.add(c.Value)
	}
	if len(p.Cells) > MostCells {
		d.pixels(p, e)
		return
	}
	for _, c := range p.Cells {
		if c.X < 0 || c.Y < 0 || c.X >= len(p.X.Bands) || c.Y >= len(p.Y.Bands) {
			continue
		}
		x0, x1 := band(c.X, len(p.X.Bands), p.area.x0, p.area.x1)
		y0, y1 := band(c.Y, len(p.Y.Bands), p.area.y0, p.area.y1)
		paint := Grid
		if finite(c.Value) {
			paint = HeatPaint(c.Value, e.low, e.high, p.LogCells)
		}
		d.rect("cell", box{x0, y0, x1, y1}, paint, Mark{Tip: clean(c.Tip), Link: c.Link, Rim: x1-x0 >= rimmed && y1-y0 >= rimmed})
		if text := clean(c.Inside); y1-y0 >= labelSize*1.2 && textWidth(text, labelSize, false) <= x1-x0-4 {
			d.writeIfFree(label{kind: "cell-label", text: text, size: labelSize, paint: paint, on: true, anchor: Middle, x: (x0 + x1) / 2, y: (y0+y1)/2 + 0.36*labelSize})
		}
	}
}

// MostCells is how many cells of a heat map are elements; more are an image, which browsers show
// at once: 10,000 elements take them a second.
const MostCells = 900

// pixels draws the cells as images of a pixel each, one in the colours of each theme.
func (d *drawing) pixels(p *plot, e extent) {
	grid := make([]Paint, len(p.X.Bands)*len(p.Y.Bands))
	for i := range grid {
		grid[i] = Grid
	}
	for _, c := range p.Cells {
		if c.X >= 0 && c.Y >= 0 && c.X < len(p.X.Bands) && c.Y < len(p.Y.Bands) && finite(c.Value) {
			grid[c.Y*len(p.X.Bands)+c.X] = HeatPaint(c.Value, e.low, e.high, p.LogCells)
		}
	}
	for _, t := range []*Theme{Light, Dark} {
		d.add("cells", Mark{Shape: pixels, X: p.area.x0, Y: p.area.y0, W: p.area.x1 - p.area.x0, H: p.area.y1 - p.area.y0, Grid: grid, Columns: len(p.X.Bands), For: t})
	}
}

// HeatPaint returns the paint of a value between low and high, by their logarithms where asked.
func HeatPaint(v, low, high float64, log bool) Paint {
	if log && low > 0 {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	if !(high > low) {
		return Heat0 + heatSteps/2
	}
	return Heat0 + Paint(min(heatSteps-1, int((v-low)/(high-low)*heatSteps)))
}

// places maps points to the plot, clamped to its border; points without a position are dropped. Of
// more than two per pixel the lowest and the highest are kept.
func (p *plot) places(list []XY, steps bool) []XY {
	var out []XY
	for _, q := range list {
		if !finite(q.X) || !finite(q.Y) || p.X.Log && q.X <= 0 || p.Y.Log && q.Y <= 0 {
			continue
		}
		at := XY{p.x.within(q.X), p.y.within(q.Y)}
		if n := len(out); steps && n > 0 && out[n-1].Y != at.Y {
			out = append(out, XY{at.X, out[n-1].Y})
		}
		out = append(out, at)
	}
	return thinned(out, p.area.x1-p.area.x0)
}

func thinned(list []XY, width float64) []XY {
	if float64(len(list)) <= 4*width {
		return list
	}
	var out []XY
	for i := 0; i < len(list); {
		low, high, last := list[i], list[i], list[i]
		out = append(out, list[i])
		column := math.Floor(list[i].X)
		for i++; i < len(list) && math.Floor(list[i].X) == column; i++ {
			last = list[i]
			if last.Y < low.Y {
				low = last
			}
			if last.Y > high.Y {
				high = last
			}
		}
		out = append(out, low, high, last)
	}
	return out
}

// area fills the space between two lines.
func (d *drawing) area(p *plot, a *Area) {
	upper, lower := p.places(a.Upper, a.Steps), p.places(a.Lower, a.Steps)
	if len(upper) < 2 || len(lower) < 2 {
		return
	}
	slices.Reverse(lower)
	opacity := 0.0
	if a.Faint {
		opacity = 0.16
	}
	d.add("area", Mark{Shape: path, Filled: true, Paint: a.Paint, Opacity: opacity, Lines: [][]XY{append(upper, lower...)}, Tip: clean(a.Tip), Ref: a.Ref})
}

// line draws a line, and its label above the right end.
func (d *drawing) line(p *plot, l *Line) {
	at := p.places(l.Points, l.Steps)
	if len(at) == 0 {
		return
	}
	if len(at) == 1 {
		d.dot("dot", Round, at[0], 2.5, l.Paint, Mark{Tip: clean(l.Tip), Ref: l.Ref})
	} else {
		width := l.Width
		if width == 0 {
			width = 1.8
		}
		d.add("line", Mark{Shape: path, Paint: l.Paint, Width: width, Dash: l.Dash, Lines: [][]XY{at}, Tip: clean(l.Tip), Ref: l.Ref})
	}
	if l.Label == "" {
		return
	}
	// For a line that ends at the border any position along it is as good.
	text := clean(l.Label)
	w := textWidth(text, labelSize, false)
	dots := p.dotPlaces()
	for _, air := range []float64{2.5, 1} { // below other lines, where there is room
		for _, part := range []float64{1, 0.9, 0.75, 0.6, 0.45, 0.3} {
			q := along(at, part)
			for _, dy := range []float64{-4, labelSize + 3} {
				try := label{kind: "line-label", plate: true, text: text, size: labelSize, paint: Ink, anchor: End, x: max(q.X-2, p.area.x0+w+2), y: q.Y + dy}
				if b, ok := d.free(&try, p.area); ok && !covers(b, dots) && !p.onLine(box{b.x0, b.y0 - air, b.x1, b.y1}) {
					d.write(&try, b)
					return
				}
			}
		}
	}
}

// along returns the point at a share of the width of a line.
func along(list []XY, part float64) XY {
	x := list[0].X + part*(list[len(list)-1].X-list[0].X)
	best := list[0]
	for i := range list {
		if math.Abs(list[i].X-x) < math.Abs(best.X-x) {
			best = list[i]
		}
		if i > 0 && (list[i-1].X-x)*(list[i].X-x) < 0 {
			a, b := list[i-1], list[i]
			return XY{x, a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)}
		}
	}
	return best
}

// rules draws limits and borders.
func (d *drawing) rules(p *plot) {
	for i := range p.Rules {
		r := &p.Rules[i]
		switch {
		case p.holdsX(r):
			d.verticalRule(p, r)
		case p.holdsY(r):
			y := p.y.at(*r.Y)
			d.stroke("rule", r.Paint, 1.2, r.Dash, []XY{{p.area.x0, y}, {p.area.x1, y}})
			var tries []label
			for _, dy := range []float64{-4, labelSize + 2} {
				tries = append(tries, label{anchor: End, x: p.area.x1 - 4, y: y + dy}, label{x: p.area.x0 + 4, y: y + dy}, label{anchor: Middle, x: (p.area.x0 + p.area.x1) / 2, y: y + dy})
			}
			d.ruleLabel(p, clean(r.Label), tries)
		}
	}
}

// holdsX reports whether a rule is vertical and within the plot, holdsY whether it is horizontal.
func (p *plot) holdsX(r *Rule) bool {
	return r.X != nil && p.x.holds(*r.X) && !(p.X.Log && *r.X <= 0)
}

func (p *plot) holdsY(r *Rule) bool {
	return r.Y != nil && p.y.holds(*r.Y) && !(p.Y.Log && *r.Y <= 0)
}

// verticalRule draws a rule at an x; among bars its label stands above the plot.
func (d *drawing) verticalRule(p *plot, r *Rule) {
	x, text := p.x.at(*r.X), clean(r.Label)
	d.add("rule", Mark{Shape: path, Paint: r.Paint, Width: 1.2, Dash: r.Dash, Lines: [][]XY{{{x, p.area.y0}, {x, p.area.y1}}}, Ref: r.Ref})
	if p.Y.Bands == nil {
		var tries []label
		for y := p.area.y0 + labelSize; y < p.area.y1; y += labelSize * leading {
			tries = append(tries, label{anchor: Start, x: x + 4, y: y}, label{anchor: End, x: x - 4, y: y})
		}
		d.ruleLabel(p, text, tries)
		return
	}
	half := textWidth(text, labelSize, false) / 2
	tries := []float64{x, x + half + 2, x - half - 2}
	if other := p.nextRule(r); other != 0 { // leave it room
		tries = []float64{x - other*(half+2), x}
	}
	for _, at := range tries {
		at = min(max(at, margin+half), d.frame.x1-margin-half)
		if d.writeIfFree(label{kind: "rule-label", plate: true, text: text, size: labelSize, paint: Ink, anchor: Middle, x: at, y: p.area.y0 - 3}) {
			break
		}
	}
}

// nextRule returns the side of the nearest other vertical rule with a label: -1, 1, or 0 for none.
func (p *plot) nextRule(r *Rule) (side float64) {
	nearest := math.Inf(1)
	for i := range p.Rules {
		o := &p.Rules[i]
		if o == r || o.X == nil || o.Label == "" || *o.X == *r.X || !p.x.holds(*o.X) {
			continue
		}
		if d := math.Abs(*o.X - *r.X); d < nearest {
			nearest, side = d, math.Copysign(1, *o.X-*r.X)
		}
	}
	return side
}

// ruleLabel writes the label of a rule where it covers no dot or line, else no dot, else no text.
func (d *drawing) ruleLabel(p *plot, text string, tries []label) {
	if text == "" {
		return
	}
	dots := p.dotPlaces()
	for _, clear := range []func(box) bool{
		func(b box) bool { return !covers(b, dots) && !p.onLine(b) },
		func(b box) bool { return !covers(b, dots) },
		func(box) bool { return true },
	} {
		for i := range tries {
			l := tries[i]
			l.kind, l.plate, l.text, l.size, l.paint = "rule-label", true, text, labelSize, Ink
			if b, ok := d.free(&l, p.area); ok && clear(b) {
				d.write(&l, b)
				return
			}
		}
	}
}
