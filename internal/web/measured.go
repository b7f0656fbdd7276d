package web

import (
	"context"
	"errors"

	"throughline/internal/difference"
	"throughline/internal/gap"
	"throughline/internal/point"
	"throughline/internal/question"
)

// fixedQuery is a question about one deployment, with the files that may be read.
func (s *Server) fixedQuery(of question.Command, words map[string]string) *question.Query {
	return question.NewFixedQuery(s.door(), of, words)
}

// systemsApart compares two systems.
func (s *Server) systemsApart(a, b string) (*difference.Difference, error) {
	return difference.Of(s.door(), a, b)
}

// measured explains a measurement.
func (s *Server) measured(ctx context.Context, words map[string]string) (*gap.Explanation, *point.Answer, error) {
	got, err := gap.Ask(ctx, s.fixedQuery(question.Compare, words))
	if err != nil {
		return nil, nil, err
	}
	if got.Explanation == nil {
		return nil, nil, errors.New("no client can be served: " + got.Answer.Remark)
	}
	return got.Explanation, got.Answer, nil
}

// compareJSON is the answer of compare for programs.
func (s *Server) compareJSON(ctx context.Context, words map[string]string) (any, error) {
	if words["measured"] == "" {
		return nil, question.OfSetting("measured", errors.New("is missing: what was measured, such as tpot=31ms,ttft=400ms"))
	}
	why, _, err := s.measured(ctx, words)
	return why, err
}
