package picture

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/chart"
	"throughline/schedule"
)

// timeline shows a layer with named operators, its utilization of the chip, and the step.
func timeline(s Step) (*chart.Chart, error) {
	step := s.result().Contents
	if len(step.Spans) == 0 {
		return nil, errors.New("nothing in the step takes any time")
	}
	c := s.frame("timeline", "Operator timeline")
	said := c.Note
	c.Note = "" // lanes need the room
	lanes := lanesOf(step.Spans)
	var l legend
	end := s.micros()
	for i := range step.Spans {
		end = max(end, 1e6*step.Spans[i].End)
	}
	layer, from, to := layerSpans(step, step.Depth()/2)
	if s.Window[1] > s.Window[0] {
		from, to = end*s.Window[0], end*s.Window[1]
		unit, size := timeUnit(to - from)
		p := s.windowPanel(from, to, size, &l)
		use := usePanel(step, from, to, size)
		use.X.Title = fmt.Sprintf("time in %s from %s of the step on", unit, duration(from))
		c.Panels = append(c.Panels, p, use)
		layer = step.Spans // what is drawn above is marked below
	} else if layer != nil {
		unit, size := timeUnit(to - from)
		p := s.layerPanel(layer, from, to, size, &l)
		use := usePanel(step, from, to, size)
		use.X.Title = "time in " + unit + " from the start of the layer"
		c.Panels = append(c.Panels, p, use)
		if other := otherKind(step); other >= 0 {
			spans, from, to := layerSpans(step, other)
			unit, size := timeUnit(to - from)
			p := s.layerPanel(spans, from, to, size, &l)
			p.X.Bare, p.X.Title, p.Weight, p.Least = false, "time in "+unit+" from the start of the layer", 3, 40
			c.Panels = append(c.Panels, p)
		}
	}
	unit, size := timeUnit(end)
	stepPanel := s.lanePanel(step.Spans, lanes, 0, end, size, &l)
	for i := range stepPanel.Bars {
		if layer != nil {
			stepPanel.Bars[i].Inside = ""
		}
	}
	stepPanel.Title, stepPanel.Weight, stepPanel.Least = "The whole step", 1.3, 11*float64(len(lanes))
	stepPanel.X.Title = "time in " + unit
	if layer != nil {
		stepPanel.Rules = []chart.Rule{{X: chart.At(from / size), Paint: chart.Ink, Ref: "brush"}, {X: chart.At(to / size), Paint: chart.Ink, Ref: "brush"}}
	}
	if s.Was != nil {
		stepPanel.Title += ", " + duration(s.micros()) + ", was " + duration(s.Was.micros())
	}
	c.Panels = append(c.Panels, stepPanel)
	c.Keys = l.keys
	if layer != nil {
		c.Keys = append(c.Keys, chart.Key{Paint: chart.C2, Form: chart.Stroke, Text: "of peak rate"}, chart.Key{Paint: chart.C6, Form: chart.Stroke, Dash: true, Text: "of bandwidth"})
	}
	c.Description = fmt.Sprintf("When the operators of the %s, %s, run, on %d lanes: %s. Above, a layer in its middle; below, the whole step.", s.name(), duration(s.micros()), len(lanes), strings.Join(lanes, ", "))
	if said != "" {
		c.Description += " " + said
	}
	return c, nil
}

// lanesOf returns the used lanes: units, then networks, then the rest.
func lanesOf(spans []schedule.Span) []string {
	var out []string
	for i := range spans {
		if m := &spans[i]; m.End > m.Start && !slices.Contains(out, m.Lane.String()) {
			out = append(out, m.Lane.String())
		}
	}
	rank := func(lane string) int { // unnamed ones follow
		if at := slices.Index([]string{"matrix", "vector"}, lane); at >= 0 {
			return at
		}
		return 2
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
	return out
}

// layerSpans returns the spans of a layer of the first stage and batch (of both overlapping
// micro-batches), and its start and end in µs.
func layerSpans(step *estimate.Contents, layer int) (out []schedule.Span, from, to float64) {
	if step.Depth() < 2 {
		return nil, 0, 0
	}
	for _, m := range step.Spans {
		if m.Layer != layer || m.Batch != 0 || m.Stage != 0 || m.Part != schedule.LayersPart {
			continue
		}
		if len(out) == 0 || 1e6*m.Start < from {
			from = 1e6 * m.Start
		}
		to = max(to, 1e6*m.End)
		out = append(out, m)
	}
	if !(to > from) {
		return nil, 0, 0
	}
	return out, from, to
}

// otherKind returns the layer nearest to the middle that has other operators, as in hybrid models,
// or -1. A few layers at the ends, such as dense ones before experts, are none.
func otherKind(step *estimate.Contents) int {
	names := map[int]map[string]bool{}
	for i := range step.Spans {
		m := &step.Spans[i]
		if m.Batch == 0 && m.Stage == 0 && m.Part == schedule.LayersPart && m.End > m.Start {
			if names[m.Layer] == nil {
				names[m.Layer] = map[string]bool{}
			}
			names[m.Layer][step.Running(m).Name] = true
		}
	}
	middle, best, others := step.Depth()/2, -1, 0
	for _, of := range names {
		if !maps.Equal(of, names[middle]) {
			others++
		}
	}
	if others < len(names)/leastKind {
		return -1
	}
	for layer, of := range names {
		if far := max(layer-middle, middle-layer); !maps.Equal(of, names[middle]) && (best < 0 || far < max(best-middle, middle-best) || far == max(best-middle, middle-best) && layer < best) {
			best = layer
		}
	}
	return best
}

// leastKind is the share of the layers, as one in so many, that makes a kind.
const leastKind = 8

// layerPanel draws a layer with named operators, and what runs beside it of other layers pale.
func (s *Step) layerPanel(layer []schedule.Span, from, to, size float64, l *legend) chart.Panel {
	step := s.result().Contents
	lanes := lanesOf(layer)
	p := s.lanePanel(layer, lanes, from, to, size, l)
	p.Title = fmt.Sprintf("Layer %d of %d", layer[0].Layer+1, step.Depth())
	p.Weight, p.X.Bare, p.Airy = 4, true, true
	p.Rules = borders(step, layer, from, size)
	for i := range step.Spans {
		m := &step.Spans[i]
		band := slices.Index(lanes, m.Lane.String())
		start, end := max(from, 1e6*m.Start), min(to, 1e6*m.End)
		if own := m.Layer == layer[0].Layer && m.Part == schedule.LayersPart; own || m.Stage != 0 || m.Batch != 0 || band < 0 || !(end > start) {
			continue
		}
		l.add(besideStyle)
		p.Bars = append(p.Bars, chart.Bar{Band: band, From: (start - from) / size, To: (end - from) / size, Paint: besideStyle.paint,
			Tip: fmt.Sprintf("%s of another layer: %s", step.Running(m).Name, duration(1e6*(m.End-m.Start)))})
	}
	return p
}

// windowPanel draws what runs between two times of the step, of all layers.
func (s *Step) windowPanel(from, to, size float64, l *legend) chart.Panel {
	step := s.result().Contents
	first, last := -1, -1
	var spans []schedule.Span
	for _, m := range step.Spans {
		if m.Stage != 0 || 1e6*m.End <= from || 1e6*m.Start >= to {
			continue
		}
		if m.Part == schedule.LayersPart && m.End > m.Start {
			if first < 0 || m.Layer < first {
				first = m.Layer
			}
			last = max(last, m.Layer)
		}
		m.Start, m.End = max(m.Start, from/1e6), min(m.End, to/1e6)
		spans = append(spans, m)
	}
	p := s.lanePanel(spans, lanesOf(spans), from, to, size, l)
	p.Title = fmt.Sprintf("From %s to %s", duration(from), duration(to))
	if first >= 0 {
		p.Title += fmt.Sprintf(", layers %d to %d of %d", first+1, last+1, step.Depth())
	}
	p.Weight, p.X.Bare, p.Airy = 4, true, true
	return p
}

// besideStyle is what runs at the same time in other layers.
var besideStyle = style{chart.Grid, false, "other layers"}

// lanePanel draws bars on lanes between two times, in units of size µs.
func (s *Step) lanePanel(spans []schedule.Span, lanes []string, from, to, size float64, l *legend) chart.Panel {
	p := chart.Panel{Y: chart.Axis{Bands: lanes}, X: chart.Axis{Low: chart.At(0), High: chart.At((to - from) / size)}}
	for i := range spans {
		m := &spans[i]
		o, lane, start, end := s.result().Running(m), m.Lane.String(), 1e6*m.Start, 1e6*m.End
		band := slices.Index(lanes, lane)
		if band < 0 || !(end > start) {
			continue
		}
		k := l.add(partStyle(o.Block, lane, s.experts()))
		p.Bars = append(p.Bars, chart.Bar{
			Band: band, From: (start - from) / size, To: (end - from) / size, Paint: k.paint, Hatch: k.hatch, Inside: o.Name, Ref: RefOf(o.Name),
			Tip: fmt.Sprintf("%s, %s: %s", o.Name, lane, duration(end-start)),
		})
	}
	return p
}

// borders marks where the attention of a layer ends and the MLP begins.
func borders(step *estimate.Contents, layer []schedule.Span, from, size float64) (out []chart.Rule) {
	if slices.ContainsFunc(layer, func(m schedule.Span) bool { return m.Micro > 0 }) {
		return nil // both halves of the batch cross it
	}
	sorted := slices.Clone(layer)
	slices.SortStableFunc(sorted, func(a, b schedule.Span) int { return cmp.Compare(a.Start, b.Start) })
	last := ""
	for i := range sorted {
		m := &sorted[i]
		block := step.Running(m).Block
		if last == "attention" && block == "mlp" && m.Micro == 0 {
			out = append(out, chart.Rule{X: chart.At((1e6*m.Start - from) / size), Paint: chart.Ink, Dash: true, Label: "attention | MLP"})
		}
		if m.Micro == 0 {
			last = block
		}
	}
	return out
}

// usePanel plots the use of units and memory by all that runs between two times; nothing runs, no
// use.
func usePanel(step *estimate.Contents, from, to, size float64) chart.Panel {
	type use struct{ start, end, peak, bandwidth float64 }
	var uses []use
	edges := []float64{from, to}
	for i := range step.Spans {
		m := &step.Spans[i]
		start, end := max(from, 1e6*m.Start), min(to, 1e6*m.End)
		if m.Stage != 0 || m.Batch != 0 || !(end > start) {
			continue
		}
		ofPeak, ofBandwidth := step.Running(m).Use()
		part := m.Exposed / (m.End - m.Start) // what is hidden takes longer than its work
		uses = append(uses, use{start, end, 100 * ofPeak * part, 100 * ofBandwidth * part})
		edges = append(edges, start, end)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	peak := chart.Line{Paint: chart.C2, Steps: true}
	bandwidth := chart.Line{Paint: chart.C6, Steps: true, Dash: true}
	for i, x := range edges {
		at := chart.XY{X: (x - from) / size}
		memory := at
		for _, u := range uses {
			if i+1 < len(edges) && u.start <= x && u.end >= edges[i+1] {
				at.Y, memory.Y = min(100, at.Y+u.peak), min(100, memory.Y+u.bandwidth)
			}
		}
		peak.Points, bandwidth.Points = append(peak.Points, at), append(bandwidth.Points, memory)
	}
	return chart.Panel{
		Title: "Use of the chip", Weight: 1.2, Least: 24, Lines: []chart.Line{peak, bandwidth},
		X: chart.Axis{Low: chart.At(0), High: chart.At((to - from) / size)}, Y: chart.Axis{Title: "%", Low: chart.At(0), High: chart.At(100)},
	}
}
