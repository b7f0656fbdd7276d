package chart

import (
	"cmp"
	"math"
	"slices"
)

const (
	usualDot = 3.6
	// Series with more dots are drawn as one mark.
	mostDots = 300
	// Labels beyond these would find no room, and the search takes time.
	mostTried = 250
	// With more dots, labels may cover them.
	mostAvoided = 400
)

// placed is a drawn dot with its label.
type placed struct {
	at    XY
	r     float64
	label string
	brief string // the label where that has no room; empty: none
	among int    // dots of its series
}

// dots draws the series of a panel, and labels where there is room.
func (d *drawing) dots(p *plot) {
	var all []placed
	for i := range p.Dots {
		all = append(all, d.series(p, &p.Dots[i])...)
	}
	// A label of one among thousands says little; else the largest dots are named first.
	crowd := func(q *placed) int { return max(0, q.among-mostTried) }
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Or(crowd(&a)-crowd(&b), cmp.Compare(b.r, a.r), a.among-b.among) })
	avoid := p.dotPlaces()
	tried := 0
	for i := range all {
		if all[i].label == "" {
			continue
		}
		if tried++; tried > mostTried {
			break
		}
		d.dotLabel(p, &all[i], avoid)
	}
}

// series draws many dots as one mark, and dots at the same position once.
func (d *drawing) series(p *plot, s *Dots) []placed {
	var out []placed
	var at []XY
	seen := map[XY]bool{}
	many := len(s.Points) > mostDots
	var r float64
	for _, q := range s.Points {
		place, own, ok := p.place(s, &q)
		if !ok {
			continue
		}
		r = own
		out = append(out, placed{place, own, clean(q.Label), clean(q.Brief), len(s.Points)})
		if !many {
			d.dot("dot", s.Form, place, own, s.Paint, Mark{Tip: clean(q.Tip), Ref: q.Ref, Link: q.Link})
			continue
		}
		if key := (XY{math.Round(2 * place.X), math.Round(2 * place.Y)}); !seen[key] {
			seen[key] = true
			at = append(at, place)
		}
	}
	if len(at) > 0 {
		d.add("dots", Mark{Shape: specks, Paint: s.Paint, Width: 2 * r, Lines: [][]XY{at}, Opacity: 0.7})
	}
	return out
}

// dotPlaces returns the dots that labels avoid; none if there are too many.
func (p *plot) dotPlaces() (out []placed) {
	for i := range p.Dots {
		s := &p.Dots[i]
		for _, q := range s.Points {
			if at, r, ok := p.place(s, &q); ok {
				out = append(out, placed{at: at, r: r})
			}
		}
	}
	if len(out) > mostAvoided {
		return nil
	}
	return out
}

// place returns the position and radius of a dot, if it has one.
func (p *plot) place(s *Dots, q *Dot) (at XY, r float64, ok bool) {
	if !finite(q.X) || !finite(q.Y) || p.X.Log && q.X <= 0 || p.Y.Log && q.Y <= 0 {
		return XY{}, 0, false
	}
	r = cmp.Or(s.Size, usualDot)
	switch {
	case len(s.Points) > mostDots:
		r = min(r, 2.2)
	case q.Size > 0:
		r = q.Size
	}
	return XY{p.x.within(q.X), p.y.within(q.Y)}, r, true
}

// dot draws a dot, moved inside at the border of the frame.
func (d *drawing) dot(kind string, f Form, at XY, r float64, p Paint, m Mark) {
	m.Paint, m.Rim = p, true
	if f == Round {
		m.Shape, m.Width, m.Lines = specks, 2*r, [][]XY{{at}}
	} else {
		m.Shape, m.Filled, m.Lines = path, true, [][]XY{outline(f, at, r)}
	}
	d.add(kind, m)
}

// outline returns the border of a dot; all forms cover about the same area.
func outline(f Form, c XY, r float64) []XY {
	switch f {
	case Triangle:
		h := 1.35 * r
		return []XY{{c.X, c.Y - h}, {c.X + h, c.Y + 0.8*h}, {c.X - h, c.Y + 0.8*h}}
	case Diamond:
		h := 1.3 * r
		return []XY{{c.X, c.Y - h}, {c.X + h, c.Y}, {c.X, c.Y + h}, {c.X - h, c.Y}}
	case Cross:
		a, b := 1.25*r, 0.42*r
		return []XY{
			{c.X - b, c.Y - a}, {c.X + b, c.Y - a}, {c.X + b, c.Y - b}, {c.X + a, c.Y - b}, {c.X + a, c.Y + b}, {c.X + b, c.Y + b},
			{c.X + b, c.Y + a}, {c.X - b, c.Y + a}, {c.X - b, c.Y + b}, {c.X - a, c.Y + b}, {c.X - a, c.Y - b}, {c.X - b, c.Y - b},
		}
	}
	h := 0.9 * r
	return []XY{{c.X - h, c.Y - h}, {c.X + h, c.Y - h}, {c.X + h, c.Y + h}, {c.X - h, c.Y + h}}
}

// directions in which a label is tried, best first: right, left, above, below, and between.
var directions = []struct {
	x, y   float64
	anchor Anchor
}{{1, 0, Start}, {-1, 0, End}, {0, -1, Middle}, {0, 1, Middle}, {0.8, -0.8, Start}, {0.8, 0.8, Start}, {-0.8, -0.8, End}, {-0.8, 0.8, End}}

// rings are the distances at which a label is tried; from the second on a thin line leads to it.
var rings = []float64{4, 14, 26, 40, 56, 74}

// dotLabel writes the label of a dot where there is room near it, across a rule only where there is
// no other; where there is none, its brief one.
func (d *drawing) dotLabel(p *plot, q *placed, avoid []placed) {
	rules := p.ruled()
	switch {
	case d.dotLabelClear(p, q, avoid, rules) || len(rules) > 0 && d.dotLabelClear(p, q, avoid, nil):
	case q.brief != "":
		short := *q
		short.label, short.brief = q.brief, ""
		d.dotLabel(p, &short, avoid)
	}
}

func (d *drawing) dotLabelClear(p *plot, q *placed, avoid []placed, rules [][2]XY) bool {
	size := labelSize - 0.5
	for ring, distance := range rings {
		for _, dir := range directions {
			reach := q.r + distance
			end := XY{q.at.X + dir.x*reach, q.at.Y + dir.y*reach}
			l := label{kind: "dot-label", plate: true, text: q.label, size: size, paint: Ink, anchor: dir.anchor, x: end.X, y: end.Y + 0.36*size}
			switch dir.y {
			case -1:
				l.y = end.Y - descent*size
			case 1:
				l.y = end.Y + ascent*size
			}
			b, ok := d.free(&l, p.area)
			if !ok || covers(b, avoid) || q.besideOther(b, avoid) || p.onLine(b.aired(clearance)) || across(rules, b.aired(clearance)) {
				continue
			}
			if ring > 0 {
				if slices.ContainsFunc(d.taken, func(t box) bool { return crossesBox(q.at, end, t.wider(clearance)) }) {
					continue
				}
				d.stroke("leader", Muted, 0.8, false, []XY{q.at, end})
				p.segments = append(p.segments, [2]XY{q.at, end})
			}
			d.write(&l, b)
			return true
		}
	}
	return false
}

// clearance is the space between a text and a line that runs past its ends.
const clearance = 2.0

// wider is a box with more room at its sides.
func (b box) wider(by float64) box { return box{b.x0 - by, b.y0, b.x1 + by, b.y1} }

// aired is a box with more room all round: half of it above and below, where letters have their
// own.
func (b box) aired(by float64) box {
	return box{b.x0 - by, b.y0 - by/2, b.x1 + by, b.y1 + by/2}
}

// besideOther reports whether a label stands where that of another dot would.
func (q *placed) besideOther(b box, dots []placed) bool {
	return slices.ContainsFunc(dots, func(o placed) bool {
		return o.at != q.at && b.wider(beside).overlaps(box{o.at.X - o.r, o.at.Y - 1, o.at.X + o.r, o.at.Y + 1})
	})
}

// widest is how far a form reaches from its middle, in units of its size.
const widest = 1.35

func covers(b box, dots []placed) bool {
	for i := range dots {
		q := &dots[i]
		r := widest * q.r
		if b.overlaps(box{q.at.X - r, q.at.Y - r, q.at.X + r, q.at.Y + r}) {
			return true
		}
	}
	return false
}

// mostSegments limits the line segments that labels avoid.
const mostSegments = 600

// onLine reports whether a line or the leader of a label crosses a text.
func (p *plot) onLine(b box) bool {
	if p.segments == nil {
		p.segments = [][2]XY{}
		for i := range p.Lines {
			at := p.places(p.Lines[i].Points, p.Lines[i].Steps)
			for k := 1; k < len(at) && len(p.segments) < mostSegments; k++ {
				p.segments = append(p.segments, [2]XY{at[k-1], at[k]})
			}
		}
	}
	return across(p.segments, b)
}

// ruled returns the rules of a panel as segments.
func (p *plot) ruled() (out [][2]XY) {
	for i := range p.Rules {
		switch r := &p.Rules[i]; {
		case p.holdsX(r):
			x := p.x.at(*r.X)
			out = append(out, [2]XY{{x, p.area.y0}, {x, p.area.y1}})
		case p.holdsY(r):
			y := p.y.at(*r.Y)
			out = append(out, [2]XY{{p.area.x0, y}, {p.area.x1, y}})
		}
	}
	return out
}

// across reports whether a segment passes through a box.
func across(segments [][2]XY, b box) bool {
	return slices.ContainsFunc(segments, func(s [2]XY) bool { return crossesBox(s[0], s[1], b) })
}

// crossesBox reports whether a segment passes through a box (Liang and Barsky's clipping).
func crossesBox(a, c XY, b box) bool {
	from, to := 0.0, 1.0
	dx, dy := c.X-a.X, c.Y-a.Y
	for _, side := range [4][2]float64{{-dx, a.X - b.x0}, {dx, b.x1 - a.X}, {-dy, a.Y - b.y0}, {dy, b.y1 - a.Y}} {
		switch p, q := side[0], side[1]; {
		case p == 0 && q < 0:
			return false
		case p < 0:
			from = max(from, q/p)
		case p > 0:
			to = min(to, q/p)
		}
	}
	return from <= to
}
