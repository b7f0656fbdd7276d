package report

import (
	"fmt"
	"io"

	"throughline/search"
)

// Reasons say why a phase has no plan.
func (c *Column) Reasons() []string {
	var out []string
	o := &c.Outcome
	switch {
	case o.Shared && !o.Found():
		out = append(out, c.Run.Decode.Reason(&o.Decode))
	case o.Prefill.Found && o.Decode.Found && !o.Found():
		out = append(out, fmt.Sprintf("the smallest prefill takes %d processors and the smallest decode %d, of %d in all",
			o.Prefill.Procs, o.Decode.Procs, c.Run.Procs))
	case !o.Shared:
		if !o.Prefill.Found {
			out = append(out, "prefill: "+c.Run.Prefill.Reason(&o.Prefill))
		}
		if !o.Decode.Found {
			out = append(out, "decode: "+c.Run.Decode.Reason(&o.Decode))
		}
	}
	return out
}

// refusals are what ruled out candidates, by phase.
func (c *Column) refusals() map[string][]search.Refusal {
	o := &c.Outcome
	decode := c.Run.Decode
	decode.Procs = o.Decode.Procs
	if o.Shared {
		return map[string][]search.Refusal{"both phases": decode.Refusals(&o.Decode)}
	}
	prefill := c.Run.Prefill
	prefill.Procs = o.Prefill.Procs
	return map[string][]search.Refusal{"prefill": prefill.Refusals(&o.Prefill), "decode": decode.Refusals(&o.Decode)}
}

// WriteRefusals says for every run what ruled plans out, by how much the nearest of them missed, and what would have let
// it through. Where the split into pools was searched, it speaks of the instances that were chosen.
func WriteRefusals(w io.Writer, columns []Column) error {
	for i := range columns {
		c := &columns[i]
		classes := c.refusals()
		for _, phase := range []string{"prefill", "decode", "both phases"} {
			refusals, ok := classes[phase]
			if !ok {
				continue
			}
			if _, err := fmt.Fprintf(w, "\nrun_%d, %s: %s of %s on %s: ruled out\n", c.Number, c.Run.Mode, phase, c.Run.Model.Name, c.Run.Decode.System.Name); err != nil {
				return err
			}
			if len(refusals) == 0 {
				fmt.Fprintln(w, "  nothing")
			}
			for _, r := range refusals {
				if _, err := fmt.Fprintf(w, "  %-21s  %d %s; nearest: %s; enough: %s\n", r.Rule, r.Count, r.What, r.Nearest, r.Enough); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
