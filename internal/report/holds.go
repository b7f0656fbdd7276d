package report

import (
	"fmt"
	"math"
	"slices"

	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/internal/sweep"
	"throughline/number"
)

// holds says the highest rate at which limits hold, for all values of other axes.
func (r *Scan) holds() (out []string) {
	rate, k, rising := slices.IndexFunc(r.Of.Axes, func(a scan.Axis) bool { return a.Setting != nil && a.Setting.Name == "rate" }), -1, -1
	if r.Of.Of == question.Simulate {
		k, rising = sweep.Find(r.Of.Of, "holds"), sweep.Find(r.Of.Of, "rising")
	}
	if rate < 0 || k < 0 {
		return nil
	}
	type group struct {
		name                 string
		holds, fail, unclear float64 // rates; where nothing fails or is unclear, infinite
	}
	var groups []*group
	names := r.Beside(rate)
	for i := range r.rows {
		row := &r.rows[i]
		held, limited := row.figure(k).(bool)
		v, isNumber := row.Values[rate].(float64)
		if !limited || !isNumber {
			continue
		}
		name := names[i]
		at := slices.IndexFunc(groups, func(g *group) bool { return g.name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{name, 0, math.Inf(1), math.Inf(1)})
		}
		switch g := groups[at]; {
		case !held:
			g.fail = min(g.fail, v)
		case row.figure(rising) == true:
			g.unclear = min(g.unclear, v)
		default:
			g.holds = max(g.holds, v)
		}
	}
	for _, g := range groups {
		rate := func(v float64) string { return number.Plain(v, 4) }
		text := ""
		switch {
		case g.holds == 0 && math.IsInf(g.fail, 1):
			text = fmt.Sprintf("keeps its limits at %s requests/s", rate(g.unclear))
		case g.holds == 0:
			text = fmt.Sprintf("does not hold its limits at %s requests/s", rate(g.fail))
		case g.fail < g.holds:
			text = fmt.Sprintf("holds %s requests/s, but not %s: too few requests to tell", rate(g.holds), rate(g.fail))
		case g.unclear < math.Inf(1) && math.IsInf(g.fail, 1):
			text = fmt.Sprintf("holds %s requests/s", rate(g.holds))
		case math.IsInf(g.fail, 1):
			text = fmt.Sprintf("holds %s requests/s, the highest that was asked", rate(g.holds))
		default:
			text = fmt.Sprintf("holds %s requests/s, and not %s", rate(g.holds), rate(g.fail))
		}
		if g.unclear > g.holds && g.unclear < g.fail {
			text += fmt.Sprintf("; at %s the load still rises at the last arrival, and more requests (num-prompts) would tell", rate(g.unclear))
		}
		if g.name != "" {
			text = g.name + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// Breaks reports whether limits were asked for and hold at no point.
func (r *Scan) Breaks() bool {
	if r.Of.Of != question.Simulate {
		return false
	}
	k, limited := sweep.Find(r.Of.Of, "holds"), false
	for i := range r.rows {
		held, asked := r.rows[i].figure(k).(bool)
		if limited = limited || asked; held {
			return false
		}
	}
	return limited
}
