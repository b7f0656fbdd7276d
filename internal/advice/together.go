package advice

import (
	"cmp"
	"math"
	"slices"
)

// Together ranks the results of searches on different systems in one list, and makes one frontier.
func Together(searches []*Plans) *Advice {
	out := &Advice{}
	var frontier []Candidate
	objective, top := Throughput, 0
	for _, p := range searches {
		objective, top = p.Options.Objective, max(top, p.Options.Top)
		out.Ranked, frontier = append(out.Ranked, p.Ranked...), append(frontier, p.Frontier...)
		out.Notes = addOnce(out.Notes, p.Notes...)
	}
	slices.SortStableFunc(out.Ranked, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.Merit(objective), b.Merit(objective)), cmp.Compare(a.Latency, b.Latency))
	})
	out.Ranked = out.Ranked[:min(len(out.Ranked), max(1, top))]
	slices.SortStableFunc(frontier, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.TPOT, b.TPOT), cmp.Compare(b.PerGPU(), a.PerGPU()))
	})
	for _, c := range frontier {
		if n := len(out.Frontier); n == 0 || c.PerGPU() > out.Frontier[n-1].PerGPU()*(1+1e-9) {
			out.Frontier = append(out.Frontier, c)
		}
	}
	return out
}

// Merit orders candidates of different systems, the least first.
func (c *Candidate) Merit(o Objective) float64 {
	switch o {
	case Cost:
		if c.DollarsPerMillion == 0 {
			return math.Inf(1) // no price is known
		}
		return c.DollarsPerMillion
	case Energy:
		return -c.TokensPerJoule
	case Latency:
		return c.Latency
	case MinGPUs:
		return float64(c.Procs)
	}
	if c.Capacity != nil {
		return -c.Capacity.Headroom
	}
	return -c.PerGPU()
}
