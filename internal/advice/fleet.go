package advice

import (
	"context"
	"fmt"

	"throughline/deploy"
	"throughline/internal/question"
)

// paid is what the processors of a deployment cost.
type paid struct {
	perHour, watts float64 // total; 0: unknown
}

// and adds the cost of n processors.
func (p paid) and(n int, perHour, watts float64) paid {
	return paid{p.perHour + float64(n)*perHour, p.watts + float64(n)*watts}
}

// worth weighs a request per second where processors of different cost compete.
func (p paid) worth(o Objective) float64 {
	switch o {
	case Cost:
		return 1 / p.perHour
	case Energy:
		if p.watts > 0 {
			return 1 / p.watts
		}
	}
	return 1
}

// duty assigns the kinds of a fleet: one for both phases, or one for each.
type duty struct{ prefill, decode *question.Share }

func duties(shares []question.Share) []duty {
	var out []duty
	for i := range shares {
		for j := range shares {
			p, d := &shares[i], &shares[j]
			if (p.Role == deploy.Prefill || p.Role == deploy.Both) && (d.Role == deploy.Decode || d.Role == deploy.Both) {
				out = append(out, duty{p, d})
			}
		}
	}
	return out
}

// giveFleet searches every duty of a fleet and ranks the results together.
func giveFleet(ctx context.Context, l *question.Loaded, o Options) (*Advice, error) {
	total := 0
	for i := range l.Shares {
		total += l.Shares[i].GPUs
	}
	var all found
	for _, d := range duties(l.Shares) {
		sub, so := *l, o
		sub.Prefill, sub.Decode, so.GPUs = d.prefill.System, d.decode.System, d.decode.GPUs
		cost := paid{}.and(d.decode.GPUs, d.decode.PerHour, d.decode.Watts)
		what := d.decode.System.Name
		if d.prefill != d.decode {
			if o.Mode == Aggregated {
				continue
			}
			so.Mode, so.GPUs, so.PrefillGPUs = Disaggregated, d.prefill.GPUs+d.decode.GPUs, d.prefill.GPUs
			cost = cost.and(d.prefill.GPUs, d.prefill.PerHour, d.prefill.Watts)
			what = fmt.Sprintf("prefill on %s, decode on %s", d.prefill.System.Name, d.decode.System.Name)
		}
		a := newAdviser(ctx, &sub, so)
		a.paid, a.worth = cost, cost.worth(o.Objective)
		f, err := a.find(so.GPUs)
		if err != nil {
			return nil, err
		}
		for i := range f.reasons {
			f.reasons[i] = fmt.Sprintf("%s: %s", what, f.reasons[i])
		}
		all.ranked, all.frontier = append(all.ranked, f.ranked...), append(all.frontier, f.frontier...)
		all.notes = addOnce(all.notes, a.dropped...)
		all.reasons, all.pools = append(all.reasons, f.reasons...), append(all.pools, f.pools...)
	}
	return all.advice(&adviser{ctx: ctx, o: o}, total)
}
