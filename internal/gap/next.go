package gap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// probe is a possible measurement: a figure under another load.
type probe struct {
	what   string
	figure string
	load   func(l traffic) traffic
}

// probes are the cheap ones.
var probes = []probe{
	{"TPOT with 1 client", "tpot", func(l traffic) traffic { l.Clients, l.rate = 1, 0; return l }},
	{"TPOT with four times the clients", "tpot", func(l traffic) traffic { l.Clients, l.rate = 4*l.Clients, 4*l.rate; return l }},
	{"TPOT at this load", "tpot", func(l traffic) traffic { return l }},
	{"TTFT at this load", "ttft", func(l traffic) traffic { return l }},
	{"TTFT with 1 client", "ttft", func(l traffic) traffic { l.Clients, l.rate = 1, 0; return l }},
	{"TTFT of prompts four times as long, 1 client", "ttft", func(l traffic) traffic {
		l.Clients, l.rate = 1, 0
		l.Lengths.Input *= 4
		return l
	}},
}

// mostProbes limits those shown.
const mostProbes = 2

// next ranks measurements by how far apart the remaining causes predict them: the logarithms of
// neighbouring ratios, each capped, in sum.
func (e *explainer) next(out *Explanation) ([]Probe, error) {
	type scored struct {
		Probe
		score float64
	}
	var left []*Cause
	for i := range out.Causes {
		if c := &out.Causes[i]; c.Able && !c.Contradicts && c.Name != "overlap" { // overlap shows as slower steps, like kernels
			left = append(left, c)
		}
	}
	if len(left) < 2 {
		return nil, nil
	}
	var all []scored
	for _, p := range probes {
		load := p.load(e.load)
		if load == e.load && e.measured.has(p.figure) {
			continue
		}
		s := scored{Probe: Probe{What: p.what, Unit: unitOf(p.figure)}}
		if load.rate > 0 {
			s.What = strings.Replace(s.What, "with four times the clients", "at four times the rate", 1)
		}
		var logs []float64
		for _, c := range left {
			got, err := e.predict(c.at, &load)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.what, err)
			}
			s.Expect = append(s.Expect, Expect{c.Name, got[p.figure]})
			logs = append(logs, math.Log(got[p.figure]))
		}
		slices.Sort(logs)
		for i := range logs[1:] {
			s.score += min(logs[i+1]-logs[i], 0.3) // more than a third apart is as good
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var probes []Probe
	for i := 0; i < len(all) && i < mostProbes && all[i].score > 0.05; i++ {
		probes = append(probes, all[i].Probe)
	}
	return probes, nil
}
