package point

import (
	"fmt"

	"throughline/number"
	"throughline/op"
)

// StepTitle names the step with its own batch, which clients may not fill to the deployment's.
func (r *Result) StepTitle() string {
	b := r.Estimate.Plan.Batch
	if b.Count > 1 {
		return fmt.Sprintf("%s step of %d batches of %d", r.Phase.Name(), b.Count, b.Size)
	}
	return fmt.Sprintf("%s step of batch %d", r.Phase.Name(), b.Size)
}

// StepNote tells what clients see beside a bare step's time; empty: no clients are asked about.
func (a *Answer) StepNote(r *Result) string {
	if a.Seen == nil {
		return ""
	}
	name, seconds, with := "TPOT", a.Seen.TPOT, "between steps"
	if r.Phase == op.Prefill {
		name, seconds, with = "TTFT", a.Seen.TTFT, "before and after it"
	}
	return fmt.Sprintf("A step by itself. Clients see a %s of %s, with all that comes %s.", name, number.Time(seconds, 3), with)
}
