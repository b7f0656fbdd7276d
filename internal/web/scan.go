package web

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/sweep"
)

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
	words = maps.Clone(words)
	if err := sweep.Around(ctx, s.door(), of, words); err != nil {
		return nil, err
	}
	asked, err := scan.FromWords(s.door(), of, words)
	if asked == nil || err != nil {
		return nil, err
	}
	n := asked.Len()
	if n > report.MostPoints {
		return nil, fmt.Errorf("%d points are more than the %d that a request may have", n, report.MostPoints)
	}
	r, err := report.Scanned(ctx, asked, !brief, func(r *report.Scan) {
		if tell != nil {
			tell(r, n)
		}
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return r, nil
}
