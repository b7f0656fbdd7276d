package chart

import (
	"math"
	"strconv"
)

// Scene is placed marks in drawing order.
type Scene struct {
	Kind        string
	Width       float64
	Height      float64
	Title       string
	Description string
	Marks       []Mark
	Across      Across // of the first panel, or the last with rules to drag

	scale float64 // of what has a size of its own; 0: 1
}

// Across is how a plot maps its x axis, for pages on which something is dragged along it.
type Across struct {
	From, To  float64 // positions
	Low, High float64 // values
	Log       bool

	Top, Bottom float64 // of the plot
}

type Shape uint8

const (
	rectangle Shape = iota
	path            // polylines, filled or stroked
	specks          // dots of one kind, many of them
	words           // text
	pixels          // a grid of paints, one for each cell
)

type Mark struct {
	ID    string // stable when the chart is redrawn with other numbers
	Shape Shape
	Paint Paint
	On    bool // the colour of text on the paint
	Tip   string
	Ref   string // what it shows, for pages
	Link  string // where it leads

	X, Y, W, H float64 // of rectangles; X and Y of text
	Lines      [][]XY  // of paths; the first holds the positions of specks
	Filled     bool    // of paths
	Width      float64 // of strokes; the diameter of specks
	Dash       bool
	Opacity    float64 // 0: opaque
	Rim        bool    // a thin line of the background around it, which separates neighbours

	Text   string
	Size   float64
	Bold   bool
	Anchor Anchor

	Grid    []Paint // of pixels, row by row
	Columns int
	For     *Theme // whose colours they have
}

// Anchor aligns a text at its position.
type Anchor uint8

const (
	Start Anchor = iota
	Middle
	End
)

var anchors = [...]string{Start: "start", Middle: "middle", End: "end"}

type box struct{ x0, y0, x1, y1 float64 }

func (b box) overlaps(o box) bool {
	return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1
}

func (b box) inside(o box) bool {
	return b.x0 >= o.x0 && b.x1 <= o.x1 && b.y0 >= o.y0 && b.y1 <= o.y1
}

func textBox(text string, size float64, bold bool, anchor Anchor, x, y float64) box {
	w := textWidth(text, size, bold)
	switch anchor {
	case Middle:
		x -= w / 2
	case End:
		x -= w
	}
	return box{x, y - ascent*size, x + w, y + descent*size}
}

func (m *Mark) bounds() box {
	switch m.Shape {
	case rectangle, pixels:
		return box{m.X, m.Y, m.X + m.W, m.Y + m.H}
	case words:
		return textBox(m.Text, m.Size, m.Bold, m.Anchor, m.X, m.Y)
	}
	b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	half := m.Width / 2
	if m.Filled {
		half = 0
	}
	for _, l := range m.Lines {
		for _, p := range l {
			b = box{min(b.x0, p.X-half), min(b.y0, p.Y-half), max(b.x1, p.X+half), max(b.y1, p.Y+half)}
		}
	}
	return b
}

// drawing is a scene under construction.
type drawing struct {
	scene  Scene
	frame  box
	prefix string
	counts map[string]int
	taken  []box // by text, or kept free
}

func newDrawing(c *Chart, width, height float64, prefix string) *drawing {
	return &drawing{
		scene: Scene{Kind: c.Kind, Width: width, Height: height, Title: clean(c.Title), Description: clean(c.Description)},
		frame: box{0, 0, width, height}, prefix: prefix, counts: map[string]int{},
	}
}

// id returns the next of a kind.
func (d *drawing) id(kind string) string {
	n := d.counts[kind]
	d.counts[kind]++
	return d.prefix + kind + strconv.Itoa(n)
}

func (d *drawing) add(kind string, m Mark) {
	m.ID = d.id(kind)
	d.scene.Marks = append(d.scene.Marks, m)
}

func (d *drawing) rect(kind string, b box, p Paint, m Mark) {
	m.Shape, m.Paint, m.X, m.Y, m.W, m.H = rectangle, p, b.x0, b.y0, b.x1-b.x0, b.y1-b.y0
	d.add(kind, m)
}

func (d *drawing) stroke(kind string, p Paint, width float64, dash bool, lines ...[]XY) {
	d.add(kind, Mark{Shape: path, Paint: p, Width: width, Dash: dash, Lines: lines})
}

// label is a text to place where there is room.
type label struct {
	kind   string
	text   string
	size   float64
	bold   bool
	paint  Paint
	on     bool
	anchor Anchor
	x, y   float64 // of the base line
	plate  bool    // of the background behind it, where lines run
}

// The space kept between texts, and beside those among marks, which would read on as one.
const (
	apart  = 1.5
	beside = 6.0
)

// free reports whether a text fits inside a box and covers no other.
func (d *drawing) free(l *label, inside box) (box, bool) {
	b := textBox(l.text, l.size, l.bold, l.anchor, l.x, l.y)
	if !b.inside(inside) {
		return b, false
	}
	wide := box{b.x0 - apart, b.y0, b.x1 + apart, b.y1}
	if l.plate { // among marks, where it must not be taken for the next line of another
		wide = box{b.x0 - beside, b.y0 - apart, b.x1 + beside, b.y1 + apart}
	}
	for _, t := range d.taken {
		if wide.overlaps(t) {
			return b, false
		}
	}
	return b, true
}

// writeIfFree writes a text if there is room for it.
func (d *drawing) writeIfFree(l label) bool {
	if l.text == "" {
		return false
	}
	b, ok := d.free(&l, d.frame)
	if ok {
		d.write(&l, b)
	}
	return ok
}

func (d *drawing) write(l *label, b box) {
	d.taken = append(d.taken, b)
	if l.plate {
		d.rect("plate", b, Back, Mark{Opacity: 0.75})
	}
	d.add(l.kind, Mark{Shape: words, Paint: l.paint, On: l.on, X: l.x, Y: l.y, Text: l.text, Size: l.size, Bold: l.bold, Anchor: l.anchor})
}
