package chart

import "math"

const (
	usualDot = 3.6
	// Of more dots in a series all are drawn as one mark.
	mostDots = 300
	// Labels beyond these are not tried: they would find no room, and the search for it takes time.
	mostTried = 250
	// Of more dots labels do not look where they lie.
	mostAvoided = 400
)

// placed is a dot that is drawn, with the label it should get.
type placed struct {
	at    XY
	r     float64
	label string
}

// dots draws the series of a panel, and labels where there is room.
func (d *drawing) dots(p *plot) {
	var all []placed
	for i := range p.Dots {
		all = append(all, d.series(p, &p.Dots[i])...)
	}
	avoid := all
	if len(avoid) > mostAvoided {
		avoid = nil
	}
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

// series draws one of them. Many dots are one mark; of those at one place one is drawn.
func (d *drawing) series(p *plot, s *Dots) []placed {
	r := s.Size
	if r == 0 {
		r = usualDot
	}
	var out []placed
	var at []XY
	seen := map[XY]bool{}
	many := len(s.Points) > mostDots
	if many {
		r = min(r, 2.2)
	}
	for _, q := range s.Points {
		if !finite(q.X) || !finite(q.Y) || p.X.Log && q.X <= 0 || p.Y.Log && q.Y <= 0 {
			continue
		}
		place := XY{p.x.within(q.X), p.y.within(q.Y)}
		own := r
		if q.Size > 0 && !many {
			own = q.Size
		}
		out = append(out, placed{place, own, clean(q.Label)})
		if !many {
			d.dot("dot", s.Form, place, own, s.Paint, clean(q.Tip))
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

// dot draws a dot of a form. Marks at the border of the frame are moved inside.
func (d *drawing) dot(kind string, f Form, at XY, r float64, p Paint, tip string) {
	if f == Round {
		d.add(kind, Mark{Shape: specks, Paint: p, Width: 2 * r, Lines: [][]XY{{at}}, Tip: tip, Rim: true})
		return
	}
	d.add(kind, Mark{Shape: path, Filled: true, Paint: p, Lines: [][]XY{outline(f, at, r)}, Tip: tip, Rim: true})
}

// outline is the border of a dot. All forms cover about the same area.
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

// directions in which a label is tried, from the best: right, left, above, below, and between.
var directions = []struct {
	x, y   float64
	anchor Anchor
}{{1, 0, Start}, {-1, 0, End}, {0, -1, Middle}, {0, 1, Middle}, {0.8, -0.8, Start}, {0.8, 0.8, Start}, {-0.8, -0.8, End}, {-0.8, 0.8, End}}

// rings are the distances at which a label is tried. From the second on a thin line leads to it.
var rings = []float64{4, 14, 26, 40}

// dotLabel writes the label of a dot where there is room near it.
func (d *drawing) dotLabel(p *plot, q *placed, avoid []placed) {
	size := labelSize - 0.5
	for ring, distance := range rings {
		for _, dir := range directions {
			reach := q.r + distance
			end := XY{q.at.X + dir.x*reach, q.at.Y + dir.y*reach}
			l := label{kind: "dot-label", text: q.label, size: size, paint: Ink, anchor: dir.anchor, x: end.X, y: end.Y + 0.36*size}
			switch dir.y {
			case -1:
				l.y = end.Y
			case 1:
				l.y = end.Y + ascent*size
			}
			b, ok := d.free(&l, p.area)
			if !ok || covers(b, avoid) || ring < len(rings)-1 && p.onLine(b) {
				continue
			}
			if ring > 0 {
				d.stroke("leader", Muted, 0.8, false, []XY{q.at, end})
			}
			d.write(&l, b)
			return
		}
	}
}

// covers reports whether a label would lie on a dot.
func covers(b box, dots []placed) bool {
	for i := range dots {
		q := &dots[i]
		if b.overlaps(box{q.at.X - q.r, q.at.Y - q.r, q.at.X + q.r, q.at.Y + q.r}) {
			return true
		}
	}
	return false
}

// onLine reports whether a label would lie on a straight line of the plot.
func (p *plot) onLine(b box) bool {
	const steps = 6
	for i := range p.Lines {
		l := p.Lines[i].Points
		if len(l) != 2 {
			continue
		}
		from, to := XY{p.x.within(l[0].X), p.y.within(l[0].Y)}, XY{p.x.within(l[1].X), p.y.within(l[1].Y)}
		for k := range steps + 1 { // along the label
			x := b.x0 + (b.x1-b.x0)*float64(k)/steps
			if (from.X-x)*(to.X-x) > 0 || from.X == to.X {
				continue
			}
			if y := from.Y + (to.Y-from.Y)*(x-from.X)/(to.X-from.X); y > b.y0 && y < b.y1 {
				return true
			}
		}
	}
	return false
}
