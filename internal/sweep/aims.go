package sweep

import (
	"errors"
	"slices"

	"throughline/internal/axis"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/internal/table"
)

// aims are the figures that a frontier is of.
type aims []struct {
	figure int
	sign   float64
}

// aimsOf are those that a scan optimises; by default, what a user and a GPU get.
func aimsOf(s *scan.Scan) (out aims) {
	list := s.Aims
	if len(list) == 0 {
		list = []scan.Aim{{Figure: "tokens_per_s_per_user"}, {Figure: "tokens_per_s_per_gpu"}}
	}
	for _, a := range list {
		sign := 1.0
		if a.Low {
			sign = -1
		}
		if at := Find(s.Of, a.Figure); at >= 0 {
			out = append(out, struct {
				figure int
				sign   float64
			}{at, sign})
		}
	}
	return out
}

// checkAims names aims that are no figures of the command.
func checkAims(s *scan.Scan) error {
	var numbers []string
	for _, f := range Figures(s.Of) {
		if f.Kind == table.Number || f.Kind == table.Count {
			numbers = append(numbers, f.Name)
		}
	}
	var errs []error
	for _, a := range s.Aims {
		if at := Find(s.Of, a.Figure); at < 0 || !slices.Contains(numbers, Figures(s.Of)[at].Name) {
			errs = append(errs, question.OfSetting("optimise", errors.New(document.NotOneOf(a.Figure, numbers))))
		}
	}
	return document.Join(errs...)
}

// spot is a point as a frontier sees it; false: it lacks a figure, or does not meet conditions.
func (a aims) spot(s *scan.Scan, p *Point) (axis.Spot, bool) {
	if p == nil || p.Figures == nil || !p.Meets || len(a) == 0 {
		return axis.Spot{}, false
	}
	out := axis.Spot{Number: p.Number, Shares: s.Shares(p.Values)}
	for _, aim := range a {
		switch v := p.Figures[aim.figure].(type) {
		case float64:
			out.Worth = append(out.Worth, aim.sign*v)
		case int:
			out.Worth = append(out.Worth, aim.sign*float64(v))
		default:
			return out, false
		}
	}
	return out, true
}

// Frontier are the points that no other beats in all aims of a scan, in order, and the figures that
// these are.
func Frontier(s *scan.Scan, points []*Point) (front []*Point, figures []int) {
	a := aimsOf(s)
	for _, aim := range a {
		figures = append(figures, aim.figure)
	}
	return a.frontier(s, points), figures
}

func (a aims) frontier(s *scan.Scan, points []*Point) (out []*Point) {
	byNumber := map[int]*Point{}
	var spots []axis.Spot
	for _, p := range points {
		if spot, ok := a.spot(s, p); ok {
			byNumber[p.Number] = p
			spots = append(spots, spot)
		}
	}
	for _, spot := range axis.Frontier(spots) {
		out = append(out, byNumber[spot.Number])
	}
	return out
}
