package point

import (
	"strconv"

	"throughline/internal/question"
)

// limited answers under each of several power limits, the first of which is the answer.
func (e *Estimator) limited(p *question.Question, limits []float64) (*Answer, error) {
	var out []Answer
	for _, limit := range limits {
		one := *p
		one.PowerLimit = strconv.FormatFloat(limit, 'g', -1, 64)
		a, err := e.Answer(&one)
		if err != nil {
			return nil, err
		}
		out = append(out, *a)
	}
	first := out[0]
	first.Limited = out
	return &first, nil
}
