// Package chart draws charts. A chart is data: panels with axes, and bars, lines, areas, dots and
// cells on them. Drawing gives a scene of placed marks, which is written as SVG, rasterised as PNG,
// or compared with another scene.
package chart

type Chart struct {
	// Wrong: the title tells of something that cannot be, in red.
	Wrong bool
	// Untitled: the page around it has the title, the subtitle and the small print.
	Untitled bool

	Kind        string // class of the drawing
	Title       string // what it shows
	Subtitle    string // of what
	Description string // alternative text
	Note        string // small print below
	Keys        []Key  // the legend
	Panels      []Panel
}

// Key is an entry of the legend.
type Key struct {
	Paint Paint
	Form  Form
	Hatch bool
	Dash  bool
	Text  string
}

// Form is the shape of a key or a dot; it distinguishes series without colours.
type Form uint8

// Forms of dots come first.
const (
	Round Form = iota
	Square
	Triangle
	Diamond
	Cross
	dotForms
	Box    // a filled box
	Stroke // a line
)

// FormOf returns the form of the dots of the nth series.
func FormOf(n int) Form { return Form(n % int(dotForms)) }

// Panel is a plot with its own axes; panels are stacked.
type Panel struct {
	Title  string
	Weight float64 // its share of the height
	Least  float64 // height of the plot below which it is left out, unless it is the first
	Airy   bool    // bars leave room for labels beside them
	Cut    bool    // bands without room are counted instead of drawn
	X, Y   Axis

	Areas []Area
	Cells []Cell
	// LogCells: colours follow the logarithm of positive values.
	LogCells bool
	Bars     []Bar
	Lines    []Line
	Rules    []Rule
	Dots     []Dots
}

// AddBar adds a band with a bar.
func (p *Panel) AddBar(name string, b Bar) {
	b.Band = len(p.Y.Bands)
	p.Bars, p.Y.Bands = append(p.Bars, b), append(p.Y.Bands, name)
}

// Axis maps numbers to positions.
type Axis struct {
	Title string // with the unit
	Bands []string
	Log   bool
	Tail  bool     // percentages, of which each further nine takes as much room
	Zero  bool     // begins at 0
	Low   *float64 // nil: that of the data
	High  *float64
	// Bare: no ticks and no grid.
	Bare bool
	// Text is what a tick says; nil: its number.
	Text func(float64) string
}

// At is a bound of an axis.
func At(v float64) *float64 { return &v }

// XY is a position in the units of the axes.
type XY struct{ X, Y float64 }

// Bar is a horizontal bar in a band of the y axis.
type Bar struct {
	Band     int
	From, To float64
	Paint    Paint
	Hatch    bool
	Hollow   bool   // a dashed outline: what it was before
	Inside   string // label on it or, if it does not fit, below it
	After    string // label after the end
	Tip      string
	Ref      string // what it shows, for pages
	// The index of this bar among several side by side in a band; 0 of 0: it fills the band.
	Place, Of int
}

type Line struct {
	Paint  Paint
	Points []XY
	Steps  bool // a value holds until the next
	Dash   bool
	Width  float64 // 0: the default
	Label  string  // at its end
	Tip    string
	Ref    string // what it shows, for pages
}

type Area struct {
	Paint        Paint
	Upper, Lower []XY
	Steps        bool
	Faint        bool // for the background
	Tip          string
	Ref          string // what it shows, for pages
}

// Rule is a straight line through the plot: a limit or a border.
type Rule struct {
	X, Y  *float64 // one of them
	Paint Paint
	Dash  bool
	Label string
	Ref   string // what it shows, for pages
}

type Dots struct {
	Paint  Paint
	Form   Form
	Size   float64 // radius; 0: the default
	Points []Dot
}

// Dot is one of them; labels of earlier ones take precedence.
type Dot struct {
	XY
	Label, Tip string
	Brief      string  // the label where that has no room; empty: none
	Size       float64 // 0: that of the series
	Ref, Link  string  // what it shows and where it leads, for pages
}

// Cell is a field of a heat map: bands of both axes.
type Cell struct {
	X, Y   int
	Value  float64 // NaN: none
	Inside string
	Tip    string
	Link   string // where it leads, for pages
}
