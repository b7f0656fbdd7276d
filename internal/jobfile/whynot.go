package jobfile

import (
	"fmt"

	"throughline/search"
)

// Reasons explains why a phase has no plan.
func (r *Run) Reasons(o *search.Outcome) []string {
	var out []string
	switch {
	case o.Shared && !o.Found():
		out = append(out, r.Decode.Reason(&o.Decode))
	case o.Prefill.Found && o.Decode.Found && !o.Found():
		out = append(out, fmt.Sprintf("the smallest prefill takes %d GPUs and the smallest decode %d, of %d in all",
			o.Prefill.Procs, o.Decode.Procs, r.Procs))
	case !o.Shared:
		if !o.Prefill.Found {
			out = append(out, "prefill: "+r.Prefill.Reason(&o.Prefill))
		}
		if !o.Decode.Found {
			out = append(out, "decode: "+r.Decode.Reason(&o.Decode))
		}
	}
	return out
}

// Refusals lists what ruled plans out, by phase; with a searched split into pools, for the chosen
// instances.
func (r *Run) Refusals(o *search.Outcome) map[string][]search.Refusal {
	decode := r.Decode
	decode.Procs = o.Decode.Procs
	if o.Shared {
		return map[string][]search.Refusal{"both phases": decode.Refusals(&o.Decode)}
	}
	prefill := r.Prefill
	prefill.Procs = o.Prefill.Procs
	return map[string][]search.Refusal{"prefill": prefill.Refusals(&o.Prefill), "decode": decode.Refusals(&o.Decode)}
}
