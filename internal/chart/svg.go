package chart

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

type Element struct {
	ID    string `json:"id"`
	Tag   string `json:"tag"`
	Attrs []Attr `json:"attributes"`
	Text  string `json:"text,omitempty"`
	Tip   string `json:"title,omitempty"`
	Link  string `json:"link,omitempty"`
}

type Attr struct{ Name, Value string }

// MarshalJSON writes it as a pair.
func (a Attr) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{a.Name, a.Value}) }

// fontFamily starts with the font whose widths the layout uses.
const fontFamily = "Go, 'Helvetica Neue', Arial, sans-serif"

// num formats a coordinate: a tenth of a pixel is fine enough.
func num(v float64) string {
	v = math.Round(v*10) / 10
	return strconv.FormatFloat(v+0, 'f', -1, 64)
}

// Elements returns the marks as elements, under a theme; without one the page has the colours.
func (s *Scene) Elements(t *Theme) []Element {
	out := make([]Element, len(s.Marks))
	for i := range s.Marks {
		out[i] = s.Marks[i].element(t)
	}
	return out
}

func (m *Mark) element(t *Theme) Element {
	e := Element{ID: m.ID, Text: m.Text, Tip: m.Tip, Link: m.Link}
	set := func(name, value string) { e.Attrs = append(e.Attrs, Attr{name, value}) }
	name := class(m.Paint, m.On)
	painted := func(attribute string, p Paint, on bool) {
		if t != nil {
			set(attribute, hex(t.colour(p, on)))
		}
	}
	filled := func(classes string) {
		if m.Rim {
			classes += " s-back"
		}
		set("class", classes)
		painted("fill", m.Paint, m.On)
		if m.Rim {
			painted("stroke", Back, false)
			set("stroke-width", "0.7")
		}
	}
	switch {
	case m.Shape == pixels:
		e.Tag = "image"
		m.picture(t, set)
	case m.Shape == rectangle:
		e.Tag = "rect"
		set("x", num(m.X))
		set("y", num(m.Y))
		set("width", num(m.W))
		set("height", num(m.H))
		filled("f-" + name)
	case m.Shape == words:
		e.Tag = "text"
		m.lettering(set)
		set("class", "f-"+name)
		painted("fill", m.Paint, m.On)
	case m.Shape == specks && len(m.Lines[0]) == 1:
		e.Tag = "circle"
		set("cx", num(m.Lines[0][0].X))
		set("cy", num(m.Lines[0][0].Y))
		set("r", num(m.Width/2))
		filled("f-" + name)
	case m.Shape == path && m.Filled:
		e.Tag = "path"
		set("d", pathData(m.Lines, true))
		filled("f-" + name)
	default:
		e.Tag = "path"
		data := ""
		if m.Shape == specks {
			data = speckData(m.Lines[0])
		} else {
			data = pathData(m.Lines, false)
		}
		set("d", data)
		set("class", "s-"+name)
		set("fill", "none")
		painted("stroke", m.Paint, m.On)
		set("stroke-width", num(m.Width))
		if m.Shape == specks {
			set("stroke-linecap", "round")
		} else {
			set("stroke-linejoin", "round")
		}
		if m.Dash {
			set("stroke-dasharray", "5 4")
		}
	}
	if m.Opacity > 0 {
		set("opacity", strconv.FormatFloat(m.Opacity, 'f', -1, 64))
	}
	if m.Ref != "" && t == nil {
		set("data-p", m.Ref)
	}
	return e
}

// picture is the attributes of pixels: those of the other theme are hidden.
func (m *Mark) picture(t *Theme, set func(name, value string)) {
	set("x", num(m.X))
	set("y", num(m.Y))
	set("width", num(m.W))
	set("height", num(m.H))
	set("preserveAspectRatio", "none")
	set("image-rendering", "pixelated")
	set("href", m.dataURL())
	set("class", map[*Theme]string{Light: "on-light", Dark: "on-dark"}[m.For])
	if t != nil && t != m.For {
		set("display", "none")
	}
}

// lettering is the attributes of a text but its colour.
func (m *Mark) lettering(set func(name, value string)) {
	set("x", num(m.X))
	set("y", num(m.Y))
	if m.Anchor != Start {
		set("text-anchor", anchors[m.Anchor])
	}
	set("font-size", num(m.Size))
	if m.Bold {
		set("font-weight", "bold")
	}
	// Whatever font is at hand, a text takes the room that it was given.
	set("textLength", num(textWidth(m.Text, m.Size, m.Bold)))
	set("lengthAdjust", "spacingAndGlyphs")
}

func pathData(lines [][]XY, closed bool) string {
	var b strings.Builder
	for _, l := range lines {
		for i, p := range l {
			switch i {
			case 0:
				b.WriteByte('M')
			case 1:
				b.WriteByte('L')
			default:
				b.WriteByte(' ')
			}
			b.WriteString(num(p.X))
			b.WriteByte(' ')
			b.WriteString(num(p.Y))
		}
		if closed {
			b.WriteByte('Z')
		}
	}
	return b.String()
}

// speckData draws dots as lines of no length with round ends.
func speckData(list []XY) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteByte('M')
		b.WriteString(num(p.X))
		b.WriteByte(' ')
		b.WriteString(num(p.Y))
		b.WriteString("h0")
	}
	return b.String()
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// SVG is how a drawing is written.
type SVG struct {
	Theme *Theme
	// Follow: a style sheet inside adapts to viewers that prefer dark or light.
	Follow bool
	// Inline: part of a page, which has the style sheet.
	Inline bool
	// Zoom enlarges the drawing, so that its text is that of the page around it; 0: as drawn.
	Zoom float64
}

// Write writes a scene as SVG, styled by attributes; style sheets may override them by classes.
func (v SVG) Write(w io.Writer, s *Scene) error {
	b := bufio.NewWriter(w)
	name := "chart"
	if len(s.Marks) > 0 {
		name = strings.TrimSuffix(s.Marks[0].ID, "ground0") + "chart"
	}
	if !v.Inline {
		b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	}
	zoom := cmp.Or(v.Zoom, 1)
	role, across := "img", ""
	if v.Theme == nil && slices.ContainsFunc(s.Marks, func(m Mark) bool { return m.Link != "" || m.Ref != "" }) {
		role, across = "group", fmt.Sprintf(` data-across="%s %s %g %g %t %s %s"`, num(s.Across.From), num(s.Across.To), s.Across.Low, s.Across.High, s.Across.Log, num(s.Across.Top), num(s.Across.Bottom))
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" id="%s" class="chart %s" width="%s" height="%s" viewBox="0 0 %s %s" role="%s" aria-labelledby="%s-title %s-desc"%s font-family="%s">`+"\n",
		name, escape.Replace(s.Kind), num(zoom*s.Width), num(zoom*s.Height), num(s.Width), num(s.Height), role, name, name, across, fontFamily)
	fmt.Fprintf(b, "<title id=\"%s-title\">%s</title>\n<desc id=\"%s-desc\">%s</desc>\n", name, escape.Replace(s.Title), name, escape.Replace(s.Description))
	if v.Follow {
		fmt.Fprintf(b, "<style>@media (prefers-color-scheme:dark){%s.on-light{display:none}.on-dark{display:inline}}</style>\n", Dark.CSS(""))
	}
	for _, e := range s.Elements(v.Theme) {
		if e.Link != "" {
			fmt.Fprintf(b, `<a href="%s">`, escape.Replace(e.Link))
		}
		fmt.Fprintf(b, `<%s id="%s"`, e.Tag, escape.Replace(e.ID))
		for _, a := range e.Attrs {
			fmt.Fprintf(b, ` %s="%s"`, a.Name, escape.Replace(a.Value))
		}
		switch {
		case e.Text != "":
			fmt.Fprintf(b, ">%s</%s>\n", escape.Replace(e.Text), e.Tag)
		case e.Tip != "":
			fmt.Fprintf(b, "><title>%s</title></%s>\n", escape.Replace(e.Tip), e.Tag)
		default:
			b.WriteString("/>\n")
		}
		if e.Link != "" {
			b.WriteString("</a>\n")
		}
	}
	b.WriteString("</svg>\n")
	return b.Flush()
}
