package scan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"throughline/internal/axis"
	"throughline/internal/document"
	"throughline/internal/question"
)

// mostAims limits what a frontier is of: with more figures nearly every point is on it.
const mostAims = 3

// influences maps what is asked of the sensitivity to the design that answers it.
var influences = map[string]axis.Design{"morris": axis.Morris, "sobol": axis.Saltelli}

// Sensitivity is the design, if it is one that finds how much axes matter; empty: it is not.
func (s *Scan) Sensitivity() axis.Design {
	if s.Design == axis.Morris || s.Design == axis.Saltelli {
		return s.Design
	}
	return ""
}

// parseAim reads max:FIGURE or min:FIGURE.
func parseAim(text string) (Aim, error) {
	way, figure, ok := strings.Cut(text, ":")
	figure = strings.TrimSpace(figure)
	if way = strings.TrimSpace(way); !ok || figure == "" || way != "max" && way != "min" {
		return Aim{}, fmt.Errorf("%q is not of the form max:FIGURE or min:FIGURE, like max:tokens_per_s_per_gpu or min:usd_per_m_tokens", text)
	}
	return Aim{figure, way == "min"}, nil
}

// explore reads what is looked for, and chooses the design that looks for it.
func (s *Scan) explore(r *Request) error {
	var errs []error
	note := func(setting, why string) { errs = append(errs, question.OfSetting(setting, errors.New(why))) }
	for _, text := range r.Optimise {
		aim, err := parseAim(text)
		if err == nil && slices.ContainsFunc(s.Aims, func(a Aim) bool { return a.Figure == aim.Figure }) {
			err = fmt.Errorf("%s is there twice", aim.Figure)
		}
		errs = append(errs, question.OfSetting("optimise", err))
		s.Aims = append(s.Aims, aim)
	}
	if n := len(s.Aims); n == 1 && r.Sensitivity == "" {
		note("optimise", "a frontier is of two or three figures, not 1: give one more, as in max:tokens_per_s_per_gpu min:tpot_ms")
	} else if n > mostAims {
		note("optimise", fmt.Sprintf("a frontier is of two or three figures, not %d: nearly every point would be on it", n))
	}
	switch {
	case r.Sensitivity != "" && r.Design != "":
		note("design", "the points of sensitivity are spread by its own rules; leave one of them out")
	case r.Sensitivity != "" && len(s.Axes) == 0:
		note("sensitivity", "is for several questions: vary what may matter")
	case r.Sensitivity != "":
		design, ok := influences[r.Sensitivity]
		if !ok {
			return question.OfSetting("sensitivity", errors.New(document.NotOneOf(r.Sensitivity, []string{"morris", "sobol"})))
		}
		s.Design = design
		if s.Points = design.Whole(r.Samples, len(s.groups)); s.Points <= len(s.groups)+2 {
			note("samples", fmt.Sprintf("%s of %d axes needs at least %d points, and better a hundred times as many", r.Sensitivity, len(s.groups), 2*(len(s.groups)+2)))
		}
	case len(s.Aims) > 0 && r.Design == "" && r.Samples > 0:
		s.Design, s.Rounds = axis.Zooming, axis.Rounds(r.Samples)
		s.zooms = make([]*axis.Zoom, len(s.Rounds)-1)
	}
	if s.Rounds != nil && strings.HasPrefix(r.Keep, "best:") {
		note("keep", "rounds go on from the frontier: keep all or frontier")
	}
	return document.Join(errs...)
}

// spread fills in where point i lies on each group of axes.
func (s *Scan) spread(i int, shares []float64) {
	if s.Rounds == nil {
		s.Design.Spread(i, s.Points, s.Seed, shares) // checkDesign has asked whether it can
		return
	}
	round := s.RoundOf(i)
	if round == 0 {
		first := axis.Sobol
		if len(shares) > first.Dimensions() {
			first = axis.Latin
		}
		first.Spread(i, s.Rounds[1], s.Seed, shares)
		return
	}
	s.zooms[round].At(i-s.Rounds[round], shares)
}

// RoundOf is the round of a point.
func (s *Scan) RoundOf(point int) int {
	if s.Rounds == nil {
		return 0
	}
	at, found := slices.BinarySearch(s.Rounds, point)
	if !found {
		at--
	}
	return at
}

// Known is the number of points that do not follow from answers.
func (s *Scan) Known() int {
	if s.Rounds == nil {
		return s.Len()
	}
	return s.Rounds[1]
}

// Learn takes the frontier of all rounds before one, and thereby knows its points.
func (s *Scan) Learn(round int, frontier []axis.Spot) {
	if len(frontier) == 0 { // nothing is known to be good: anywhere again
		for i := range s.Rounds[1] {
			spot := axis.Spot{Number: i, Shares: make([]float64, len(s.groups)), Worth: make([]float64, len(s.Aims))}
			s.spread(i, spot.Shares)
			frontier = append(frontier, spot)
		}
	}
	s.zooms[round] = axis.NewZoom(frontier, round, len(s.Rounds)-2, s.Seed)
}

// Shares are where values lie on the groups of axes.
func (s *Scan) Shares(values []Value) []float64 {
	out := make([]float64, len(s.groups))
	for k, group := range s.groups {
		v := values[group[0]]
		out[k] = s.Axes[group[0]].Share(v.Text, v.Number)
	}
	return out
}

// Groups name the axes that move together, each as one.
func (s *Scan) Groups() (out []string) {
	for _, group := range s.groups {
		var names []string
		for _, at := range group {
			names = append(names, s.Axes[at].Name)
		}
		out = append(out, strings.Join(names, ", "))
	}
	return out
}

// Influences are how much the groups of axes matter for a figure of all points in order; nil: the
// scan does not ask.
func (s *Scan) Influences(figures []float64) []axis.Influence {
	if s.Sensitivity() == "" {
		return nil
	}
	return s.Design.Influences(figures, len(s.groups), s.Seed)
}
