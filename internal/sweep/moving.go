package sweep

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/scan"
)

// moving answers for a bare step of a deployment at many values of numbers of its system, without
// reading and preparing everything again. It is used where it gives what asking anew gives, at all
// corners of the scan, to the last bit.
type moving struct {
	axes     []int // those that move
	relative []bool
	values   []float64

	mover *point.Mover
	row   []any        // figures of points that pass
	outer []scan.Value // values of the other axes that it was prepared for
	off   bool         // it gives something else, or nothing moves
}

// newMoving finds the axes that move; nil: none does.
func newMoving(s *scan.Scan) *moving {
	m := &moving{}
	if !s.Bare() || s.Words["from"] != "" || s.Words["power-limit"] != "" {
		return nil
	}
	for i := range s.Axes {
		if a := &s.Axes[i]; a.Setting == nil && strings.HasPrefix(a.Name, string(question.OfSystem)+".") {
			m.axes, m.relative = append(m.axes, i), append(m.relative, a.Relative)
		} else if a.Setting != nil && slices.Contains([]string{"phase", "context", "from", "power-limit"}, a.Setting.Name) {
			return nil
		}
	}
	if len(m.axes) == 0 || !stepsSuffice(s) {
		return nil
	}
	m.values = make([]float64, len(m.axes))
	return m
}

type places struct{ gpus, step, tokens, requests, memory, fits int }

func (p *places) list() []int { return []int{p.gpus, p.step, p.tokens, p.requests, p.memory, p.fits} }

var stepFigures = func() (at places) {
	at.gpus, at.step, at.tokens = Find(question.Estimate, "num_gpus"), Find(question.Estimate, "step_ms"), Find(question.Estimate, "tokens_per_s")
	at.requests, at.memory, at.fits = Find(question.Estimate, "requests_per_s"), Find(question.Estimate, "memory_gib"), Find(question.Estimate, "fits")
	return at
}()

// stepsSuffice reports whether all figures that a scan asks about are among those of a step.
func stepsSuffice(s *scan.Scan) bool {
	has := func(name string) bool {
		at := Find(s.Of, name)
		return at < 0 || slices.Contains(stepFigures.list(), at)
	}
	return !slices.ContainsFunc(s.Where, func(c scan.Condition) bool { return !has(c.Name) }) &&
		!slices.ContainsFunc(s.Aims, func(a scan.Aim) bool { return !has(a.Figure) })
}

// only keeps the figures that a moved step has, so that all points have the same.
func (m *moving) only(figures []any) []any {
	out := make([]any, len(figures))
	for _, k := range stepFigures.list() {
		out[k] = figures[k]
	}
	return out
}

// answer moves to a point, and reports whether it can.
func (m *moving) answer(c *Scanner, p *Point) bool {
	if m.off || c.Full {
		return false
	}
	if m.mover == nil || !m.prepared(p) {
		if err := m.prepare(c, p); err != nil {
			m.off = true
			return false
		}
	}
	for i, axis := range m.axes {
		m.values[i] = p.Values[axis].Number
	}
	got, err := m.mover.At(m.values, m.relative)
	if err != nil {
		return false // asking anew says why
	}
	out := m.row
	if !c.passing || out == nil {
		out = make([]any, len(recorded))
		m.row = out
	}
	out[stepFigures.gpus] = m.mover.GPUs()
	out[stepFigures.step], out[stepFigures.tokens] = 1e3*got.Seconds, got.Tokens
	out[stepFigures.memory], out[stepFigures.fits] = got.Memory/estimate.GiB, got.Fits
	if out[stepFigures.requests] = nil; !got.Ongoing {
		out[stepFigures.requests] = got.Requests
	}
	p.Figures = out
	return true
}

// prepared reports whether the other axes are where they were.
func (m *moving) prepared(p *Point) bool {
	for i := range p.Values {
		a, b := p.Values[i], m.outer[i]
		if !slices.Contains(m.axes, i) && (a.Text != b.Text || a.Number != b.Number && !(math.IsNaN(a.Number) && math.IsNaN(b.Number))) {
			return false
		}
	}
	return true
}

// prepare asks at the values of the file, and compares some points with asking anew.
func (m *moving) prepare(c *Scanner, p *Point) error {
	var paths []string
	words := c.Scan.WordsAt(p.Values)
	if had := c.Scan.Words["set"]; had != "" {
		words["set"] = had
	} else {
		delete(words, "set")
	}
	for _, axis := range m.axes {
		paths = append(paths, strings.TrimPrefix(c.Scan.Axes[axis].Name, string(question.OfSystem)+"."))
	}
	a, _, err := c.estimator.Ask(question.NewFixedQuery(c.Scan.In, question.Estimate, words))
	if err == nil {
		m.mover, err = a.Mover(paths)
	}
	if err != nil {
		return err
	}
	m.outer = slices.Clone(p.Values)
	return m.compare(c, p)
}

// errDiffers: a step that moved is not what asking anew gives.
var errDiffers = errors.New("sweep: a moved step differs")

// mostCorners limits the points that are compared.
const mostCorners = 64

// compare asks anew at the corners of the axes that move.
func (m *moving) compare(c *Scanner, p *Point) error {
	corners := 1 << min(len(m.axes), 30)
	for corner := range min(corners, mostCorners) {
		q := &Point{Values: slices.Clone(p.Values)}
		for i, axis := range m.axes {
			a := &c.Scan.Axes[axis]
			at := 0
			if corner>>i&1 == 1 {
				at = a.Len() - 1
			}
			q.Values[axis] = scan.Value{Number: a.At(at)}
			if a.Texts != nil {
				q.Values[axis].Text = a.Texts[at]
			}
		}
		other := &Point{Values: q.Values}
		moved := m.answer(c, q)
		q = q.clone()
		m.off = true
		anew := c.answer(context.Background(), other)
		m.off = false
		if !moved || anew != nil || !slices.Equal(q.Figures, other.Figures) {
			return errDiffers
		}
	}
	return nil
}
