package point

import (
	"strings"

	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Drawn is the requests of the question as far as they are drawn, without their number and rate.
func Drawn(q *question.Question) (simulate.Traffic, error) {
	from := &q.Traffic
	t := simulate.Traffic{
		Groups: from.Groups, Prefix: from.SharedTokens, Turns: from.Turns, Think: from.Think, Seed: uint64(from.Seed), HashTokens: from.BlockTokens,
	}
	t.Arrival, _ = workload.ParseArrival(from.Arrival) // which has been checked
	var err error
	if file, ok := strings.CutPrefix(q.Distribution, "trace:"); ok && file != "" {
		t.Recorded, err = simulate.ReadLengths(file)
		return t, err
	}
	words := q.Spreading()
	if from.Trace != "" {
		words = q.Distribution
	}
	n := q.Lengths()
	if t.Input, err = simulate.ParseLength(words, n.Input); err != nil {
		return t, &document.Error{Problems: []document.Problem{{Path: "lengths", Message: err.Error()}}}
	}
	t.Output, _ = simulate.ParseLength(words, n.Output)
	return t, nil
}
