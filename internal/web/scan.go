package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/sweep"
)

// mostPoints limits those of one request.
const mostPoints = 100_000

// several answers several questions at once, and reports whether the words ask for them.
func (s *Server) several(ctx context.Context, of question.Command, words map[string]string, tell progress) (any, bool, error) {
	if of&scan.Commands == 0 {
		return nil, false, nil
	}
	r, err := s.scanned(ctx, of, words, false, func(r *report.Scan, of int) {
		if tell != nil {
			tell("answering", of, len(r.Points)+r.Left)
		}
	})
	if r == nil {
		return nil, false, err
	}
	return report.ScanJSON(r), true, err
}

// scanned is the answers to several questions; nil: one is asked. Brief ones have figures alone.
// Tell hears of each, with how many there will be.
func (s *Server) scanned(ctx context.Context, of question.Command, words map[string]string, brief bool, tell func(r *report.Scan, of int)) (*report.Scan, error) {
	if of == question.Simulate && strings.TrimSpace(words["rate"]) == "auto" {
		words = without(words, "rate", "max-rate")
		if err := sweep.Around(ctx, s.door(), words); err != nil {
			return nil, err
		}
	}
	asked, err := scan.Asked(s.door(), of, maps.Clone(words))
	if asked == nil || err != nil {
		return nil, err
	}
	if n := asked.Len(); n > mostPoints {
		return nil, fmt.Errorf("%d points are more than the %d that a request may have", n, mostPoints)
	}
	if _, err := sweep.NewScanner(asked, 1); err != nil {
		return nil, err
	}
	if err := asked.Check(); err != nil {
		return nil, err
	}
	r := report.NewScan(asked)
	q := question.NewQuery(s.door(), asked.Of, asked.Words).Question
	err = sweep.Points(ctx, asked, q.Workers(), !brief || asked.Of == question.Plan, func(p *sweep.Point) error {
		r.Add(p)
		if tell != nil {
			tell(r, asked.Len())
		}
		return nil
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	r.Finish()
	return r, nil
}
