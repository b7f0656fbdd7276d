package estimate

// Confidence is how far a result can be trusted.
type Confidence struct {
	// Level is "fitted" where calibrated kernels give at least nine tenths of the time, else "estimated".
	Level string
	// Band is the expected error of the time as a share: those of its operators, by their share of the step. Errors of
	// different kernels may cancel; that they do not is the cautious reading.
	Band float64
}

// ConfidenceOf is how far the estimate of a plan of a problem can be trusted.
func ConfidenceOf(p *Problem, out *Estimate) (Confidence, error) {
	e, err := NewEvaluator(p)
	if err != nil {
		return Confidence{}, err
	}
	var again Estimate
	e.Evaluate(&out.Plan, &again)
	var total, wrong, fitted float64
	for _, part := range e.Parts(&again) {
		for i := range part.Ops {
			o := &part.Ops[i]
			t := part.Times * o.Repeat * e.pricer.Price(o).Time
			share, ok := e.pricer.ErrorOf(o)
			total += t
			wrong += t * share
			if ok {
				fitted += t
			}
		}
	}
	c := Confidence{Level: "estimated"}
	if total > 0 {
		c.Band = wrong / total
		if fitted >= 0.9*total {
			c.Level = "fitted"
		}
	}
	return c, nil
}
