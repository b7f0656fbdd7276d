package picture

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"throughline/internal/chart"
	"throughline/internal/report"
	"throughline/internal/sweep"
)

// mostAcross limits the columns and rows of a map: about two pixels each.
const mostAcross = 400

// Map shows a figure of a scan by two of its axes, be they of numbers or of words; cells without an
// answer say why. Link is where a cell leads, by the texts of its axes; nil: nowhere.
func Map(r *report.Scan, x, y int, figure string, link func(x, y string) string) (*chart.Chart, error) {
	k := sweep.Find(r.Of.Of, figure)
	if k < 0 {
		return nil, fmt.Errorf("there is no figure %s", figure)
	}
	columns, rows := inOrder(r, x), inOrder(r, y)
	if n := max(len(columns), len(rows)); n > mostAcross {
		return nil, fmt.Errorf("%d values in a row are too many to see", n)
	}
	name := func(axis int) string {
		a := &r.Of.Axes[axis]
		return strings.TrimSpace(a.Name + " " + a.Unit())
	}
	title := sweep.Figures(r.Of.Of)[k].Title
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: name(x), Bands: columns}, Y: chart.Axis{Title: name(y), Bands: rows}}
	values, _ := r.FigureValues(k)
	reasons, atX, atY := r.Reasons(), axisTexts(r, x), axisTexts(r, y)
	column, row := orderOf(columns), orderOf(rows)
	brief := len(values) > chart.MostCells // an image has no texts
	h := heat{panel: &p, log: func(float64, float64) bool { return true }}
	for i, v := range values {
		c := chart.Cell{X: column[atX[i]], Y: row[atY[i]], Value: v}
		if brief {
			h.add(c)
			continue
		}
		c.Inside = "–"
		c.Tip = fmt.Sprintf("%s %s, %s %s: %s", name(x), atX[i], name(y), atY[i], reasons[i])
		if !math.IsNaN(v) {
			c.Inside = chart.Number(v)
			c.Tip = fmt.Sprintf("%s %s, %s %s: %s %s", name(x), atX[i], name(y), atY[i], c.Inside, title)
		}
		if link != nil {
			c.Link = link(atX[i], atY[i])
		}
		h.add(c)
	}
	if !h.some {
		return nil, errors.New("no point has an answer")
	}
	c := &chart.Chart{Kind: "heatmap", Title: fmt.Sprintf("%s by %s and %s", title, name(x), name(y))}
	h.draw(c, title, name(x), name(y))
	c.Keys = nil // the page has room for texts in the cells alone
	return c, nil
}

// heat is a heat map: its cells, and the span of their values.
type heat struct {
	panel     *chart.Panel
	log       func(low, high float64) bool // whether colours follow the logarithm of values
	low, high float64
	some      bool
}

func (h *heat) add(c chart.Cell) {
	if v := c.Value; !math.IsNaN(v) {
		if !h.some {
			h.low, h.high, h.some = v, v, true
		}
		h.low, h.high = min(h.low, v), max(h.high, v)
	}
	h.panel.Cells = append(h.panel.Cells, c)
}

// draw fills a chart with the map and the keys of its colours.
func (h *heat) draw(c *chart.Chart, what, x, y string) {
	p := h.panel
	p.LogCells = h.log(h.low, h.high)
	middle := (h.low + h.high) / 2
	if p.LogCells {
		middle = math.Sqrt(h.low * h.high)
	}
	for _, v := range []float64{h.low, middle, h.high} {
		c.Keys = append(c.Keys, chart.Key{Paint: chart.HeatPaint(v, h.low, h.high, p.LogCells), Form: chart.Box, Text: chart.Number(v)})
		if h.low == h.high {
			break
		}
	}
	c.Panels = []chart.Panel{*p}
	c.Description = fmt.Sprintf("%s in %d columns of %s and %d rows of %s, from %s to %s.", what, len(p.X.Bands), x, len(p.Y.Bands), y, chart.Number(h.low), chart.Number(h.high))
}

// axisTexts are the values of an axis as its words have them: multiples begin with x.
func axisTexts(r *report.Scan, axis int) []string {
	out := r.AxisTexts(axis)
	if r.Of.Axes[axis].Relative {
		for i := range out {
			out[i] = "x" + strings.TrimPrefix(out[i], "×")
		}
	}
	return out
}

// inOrder are the texts of an axis, each once.
func inOrder(r *report.Scan, axis int) (out []string) {
	known := map[string]bool{}
	for _, text := range axisTexts(r, axis) {
		if !known[text] {
			known[text] = true
			out = append(out, text)
		}
	}
	return out
}

func orderOf(texts []string) map[string]int {
	out := map[string]int{}
	for i, text := range texts {
		out[text] = i
	}
	return out
}
