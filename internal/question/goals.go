package question

import (
	"errors"
	"strings"

	"throughline/internal/document"
	"throughline/workload"
)

// Goals are search limits in words: 2s limits the closed-form mean, p99:2s a simulated percentile.
type Goals struct{ TTFT, TPOT string }

// bareGoal is a limit that names no share of the requests.
var bareGoal = Setting{Above: true, High: mostMilliseconds, Unit: milliseconds}

func checkGoal(text string) error {
	_, err := parseGoal(text)
	return err
}

// parseGoal reads a limit. One that names no share is on the mean.
func parseGoal(text string) (workload.Limit, error) {
	if text == "" || strings.Contains(text, ":") {
		return workload.ParseLimit(text)
	}
	ms, err := bareGoal.parse(text)
	if err == nil {
		err = bareGoal.inBounds(ms, numberOf(ms))
	}
	var wrong *document.Error
	if errors.As(err, &wrong) {
		hint := ""
		if strings.HasPrefix(text, "p") || strings.Contains(text, "=") {
			hint = "; a limit on a share of the requests is like p99:2s"
		}
		return workload.Limit{}, errors.New(wrong.Problems[0].Message + hint)
	}
	return workload.Limit{Seconds: ms / 1e3}, nil
}

// limits are those that have been checked.
func (g *Goals) limits() (ttft, tpot workload.Limit) {
	ttft, _ = parseGoal(g.TTFT)
	tpot, _ = parseGoal(g.TPOT)
	return ttft, tpot
}

// GoalsOf are the limits of a search.
func (q *Question) GoalsOf() (ttft, tpot workload.Limit) { return q.Goals.limits() }

// Simulates reports whether a limit is a percentile, so that the search must simulate.
func (q *Question) Simulates() bool {
	return strings.Contains(q.Goals.TTFT+q.Goals.TPOT, ":")
}
