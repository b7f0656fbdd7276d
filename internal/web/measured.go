package web

import (
	"context"
	"errors"

	"throughline/internal/gap"
	"throughline/internal/question"
)

// fixedQuery is a question about one deployment, with the files that may be read.
func (s *Server) fixedQuery(of question.Command, words map[string]string) *question.Query {
	return question.NewFixedQuery(s.door(), of, words)
}

// measured explains a measurement.
func (s *Server) measured(ctx context.Context, words map[string]string) (*gap.Result, error) {
	got, err := gap.Ask(ctx, s.fixedQuery(question.Compare, words))
	if err == nil && got.Explanation == nil {
		err = errors.New("no client can be served: " + got.Answer.Remark)
	}
	return got, err
}

// compareJSON is the answer of compare for programs.
func (s *Server) compareJSON(ctx context.Context, words map[string]string) (any, error) {
	if words["measured"] == "" {
		of, _, _, err := gap.AskProfile(s.fixedQuery(question.Compare, words))
		return of, err
	}
	got, err := s.measured(ctx, words)
	if err != nil {
		return nil, err
	}
	return got.Explanation, nil
}
