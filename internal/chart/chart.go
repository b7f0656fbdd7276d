// Package chart draws charts. A chart is data: panels with axes, and bars, lines, areas, dots and cells on them. Drawing it
// gives a scene of marks at their places, which is written as SVG, rasterised as PNG, or compared with another scene. The
// package knows nothing of what charts show.
package chart

// Chart is a drawing as data.
type Chart struct {
	Kind        string // class of the drawing
	Title       string // what it shows
	Subtitle    string // of what
	Description string // in words, for those who do not see it
	Note        string // in small print below
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

// Form is what a key or a dot looks like; dots of different forms can be told apart without colours.
type Form uint8

// Forms of dots come first.
const (
	Round Form = iota
	Square
	Triangle
	Diamond
	Cross
	dotForms
	Box    // a filled field
	Stroke // a line
)

// FormOf is the form of the dots of the nth series.
func FormOf(n int) Form { return Form(n % int(dotForms)) }

// Panel is a plot with its own axes. Panels stand below one another.
type Panel struct {
	Title  string
	Weight float64 // its part of the height
	Least  float64 // height of the plot below which it is left out, if it is not the first
	Airy   bool    // bars leave room for labels beside them
	Cut    bool    // bands that find no room are counted instead of drawn
	X, Y   Axis

	Areas []Area
	Cells []Cell
	Bars  []Bar
	Lines []Line
	Rules []Rule
	Dots  []Dots
}

// Axis says how numbers become places.
type Axis struct {
	Title string // with the unit
	Bands []string
	Log   bool
	Zero  bool     // begins at 0
	Low   *float64 // nil: that of the data
	High  *float64
	// Bare: no ticks and no grid.
	Bare bool
}

// At is a bound of an axis.
func At(v float64) *float64 { return &v }

// XY is a place in the units of the axes.
type XY struct{ X, Y float64 }

// Bar is a horizontal bar in a band of the y axis.
type Bar struct {
	Band     int
	From, To float64
	Paint    Paint
	Hatch    bool
	Inside   string // label on it or, where it does not fit, below it
	After    string // label behind the end
	Tip      string
	// Of several bars side by side in a band, the place of this one and how many there are; 0 of 0: it fills the band.
	Place, Of int
}

// Line joins points.
type Line struct {
	Paint  Paint
	Points []XY
	Steps  bool // a value holds until the next
	Dash   bool
	Width  float64 // 0: the usual
	Label  string  // at its end
	Tip    string
}

// Area is what lies between two lines.
type Area struct {
	Paint        Paint
	Upper, Lower []XY
	Steps        bool
	Faint        bool // for what lies behind other marks
	Tip          string
}

// Rule is a straight line through the whole plot: a limit or a border.
type Rule struct {
	X, Y  *float64 // one of them
	Paint Paint
	Dash  bool
	Label string
}

// Dots is a series of points.
type Dots struct {
	Paint  Paint
	Form   Form
	Size   float64 // radius; 0: the usual
	Points []Dot
}

// Dot is one of them. Labels of the first ones are placed first.
type Dot struct {
	XY
	Label, Tip string
	Size       float64 // 0: that of the series
}

// Cell is a field of a heat map: bands of both axes.
type Cell struct {
	X, Y   int
	Value  float64
	Inside string
	Tip    string
}
