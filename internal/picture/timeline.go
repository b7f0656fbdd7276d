package picture

import (
	"cmp"
	"errors"
	"fmt"
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
	layer, from, to := middleLayer(step)
	if layer != nil {
		unit, size := timeUnit(to - from)
		p := s.lanePanel(layer, lanesOf(layer), from, to, size, &l)
		p.Title = fmt.Sprintf("Layer %d of %d", layer[0].Layer+1, step.Depth())
		p.Weight, p.X.Bare, p.Airy = 4, true, true
		p.Rules = borders(step, layer, from, size)
		use := usePanel(step, layer, from, to, size)
		use.X.Title = "time in " + unit + " from the start of the layer"
		c.Panels = append(c.Panels, p, use)
	}
	end := s.micros()
	for i := range step.Spans {
		end = max(end, 1e6*step.Spans[i].End)
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
		stepPanel.Rules = []chart.Rule{{X: chart.At(from / size), Paint: chart.Ink}, {X: chart.At(to / size), Paint: chart.Ink}}
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

// middleLayer returns the spans of a layer in the middle of the first stage and batch (of both
// overlapping micro-batches), and its start and end in µs.
func middleLayer(step *estimate.Contents) (out []schedule.Span, from, to float64) {
	n := step.Depth()
	if n < 2 {
		return nil, 0, 0
	}
	for _, m := range step.Spans {
		if m.Layer != n/2 || m.Batch != 0 || m.Stage != 0 || m.Part != schedule.LayersPart {
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
			Band: band, From: (start - from) / size, To: (end - from) / size, Paint: k.paint, Hatch: k.hatch, Inside: o.Name,
			Tip: fmt.Sprintf("%s, %s: %s", o.Name, lane, duration(end-start)),
		})
	}
	return p
}

// borders marks where the attention of a layer ends and the MLP begins.
func borders(step *estimate.Contents, layer []schedule.Span, from, size float64) (out []chart.Rule) {
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

// usePanel plots the utilization of units and memory over the same time.
func usePanel(step *estimate.Contents, layer []schedule.Span, from, to, size float64) chart.Panel {
	sorted := slices.Clone(layer)
	slices.SortStableFunc(sorted, func(a, b schedule.Span) int { return cmp.Compare(a.End, b.End) })
	peak := chart.Line{Paint: chart.C2, Steps: true}
	bandwidth := chart.Line{Paint: chart.C6, Steps: true, Dash: true}
	for i := range sorted {
		m := &sorted[i]
		if !(m.Exposed > 0) {
			continue
		}
		x := (1e6*(m.End-m.Exposed) - from) / size
		ofPeak, ofBandwidth := step.Running(m).Use()
		peak.Points = append(peak.Points, chart.XY{X: x, Y: 100 * ofPeak})
		bandwidth.Points = append(bandwidth.Points, chart.XY{X: x, Y: 100 * ofBandwidth})
	}
	end := (to - from) / size
	for _, l := range []*chart.Line{&peak, &bandwidth} {
		if n := len(l.Points); n > 0 {
			l.Points = append(l.Points, chart.XY{X: end, Y: l.Points[n-1].Y})
		}
	}
	return chart.Panel{
		Title: "Use of the chip", Weight: 1.2, Least: 24, Lines: []chart.Line{peak, bandwidth},
		X: chart.Axis{Low: chart.At(0), High: chart.At(end)}, Y: chart.Axis{Title: "%", Low: chart.At(0), High: chart.At(100)},
	}
}
