package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/internal/sweep"
	"throughline/number"
	"throughline/workload"
)

// heldRates is at which rates limits hold, for one value of the other axes.
type heldRates struct {
	name                 string
	holds, fail, unclear float64 // rates; where nothing fails or is unclear, infinite
}

func (r *Scan) rateAxis() int {
	return slices.IndexFunc(r.Of.Axes, func(a scan.Axis) bool { return a.Setting != nil && a.Setting.Name == "rate" })
}

// held finds at which rates limits hold, for all values of other axes.
func (r *Scan) held() (groups []*heldRates) {
	rate, k, rising := r.rateAxis(), -1, -1
	if r.Of.Of == question.Simulate {
		k, rising = sweep.Find(r.Of.Of, "holds"), sweep.Find(r.Of.Of, "rising")
	}
	if rate < 0 || k < 0 {
		return nil
	}
	names := r.OtherAxes(rate)
	for i := range r.rows {
		row := &r.rows[i]
		holds, limited := row.figure(k).(bool)
		v, isNumber := row.Values[rate].(float64)
		if !limited || !isNumber {
			continue
		}
		name := names[i]
		at := slices.IndexFunc(groups, func(g *heldRates) bool { return g.name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &heldRates{name, 0, math.Inf(1), math.Inf(1)})
		}
		switch g := groups[at]; {
		case !holds:
			g.fail = min(g.fail, v)
		case row.figure(rising) == true:
			g.unclear = min(g.unclear, v)
		default:
			g.holds = max(g.holds, v)
		}
	}
	return groups
}

// HighestRates are the highest rates at which limits hold, by the values of the other axes, where
// rates are along an axis.
func (r *Scan) HighestRates(axis int) map[string]float64 {
	out := map[string]float64{}
	if axis < 0 || axis != r.rateAxis() {
		return out
	}
	for _, g := range r.held() {
		if g.holds > 0 && g.fail < math.Inf(1) {
			out[g.name] = g.holds
		}
	}
	return out
}

// holds says the highest rate at which limits hold, for all values of other axes.
func (r *Scan) holds() (out []string) {
	for _, g := range r.held() {
		out = append(out, r.heldText(g))
	}
	return out
}

// limits are those that were asked for, in words.
func (r *Scan) limits() string {
	var list []string
	for _, name := range []string{"ttft", "tpot"} {
		if l, err := workload.ParseLimit(r.Of.Words[name]); err == nil && l.Seconds > 0 {
			list = append(list, fmt.Sprintf("%s %s ≤ %s", l.Statistic(), strings.ToUpper(name), number.Time(l.Seconds, 3)))
		}
	}
	return strings.Join(list, ", ")
}

func (r *Scan) heldText(g *heldRates) string {
	rate := func(v float64) string { return number.Plain(v, 4) + " requests/s" }
	text := ""
	switch {
	case g.holds == 0 && math.IsInf(g.fail, 1):
		text = "it keeps its limits at " + rate(g.unclear)
	case g.holds == 0:
		text = "it does not hold its limits at " + rate(g.fail)
	case g.fail < g.holds:
		text = fmt.Sprintf("it holds %s, but not %s: too few requests to tell", rate(g.holds), number.Plain(g.fail, 4))
	case g.unclear < math.Inf(1) && math.IsInf(g.fail, 1):
		text = "it holds " + rate(g.holds)
	case math.IsInf(g.fail, 1):
		text = fmt.Sprintf("it holds %s, the highest that was asked", rate(g.holds))
	default:
		text = fmt.Sprintf("it holds %s, and not %s", rate(g.holds), number.Plain(g.fail, 4))
	}
	text += " (" + r.limits() + ")"
	if g.unclear > g.holds && g.unclear < g.fail {
		text += fmt.Sprintf("; at %s the load still rises at the last arrival, and more requests (num-prompts) would tell", rate(g.unclear))
	}
	if g.name != "" {
		return "With " + g.name + " " + text + "."
	}
	return "I" + text[1:] + "."
}

// between says how latencies and the objective go from the first point to the last, where there is
// nothing to choose; of one point over several seeds, what they are.
func (r *Scan) between() []string {
	var rows []*scanRow
	for i := range r.rows {
		if r.rows[i].Figures != nil && r.rows[i].Meets {
			rows = append(rows, &r.rows[i])
		}
	}
	if len(rows) == 0 {
		return nil
	}
	first, last := rows[0], rows[len(rows)-1]
	names := []string{"ttft_ms", "tpot_ms"}
	var parts []string
	if r.Of.Of == question.Simulate {
		names = []string{"ttft_p99_ms", "tpot_p99_ms"}
	}
	for which, name := range names {
		k := sweep.Find(r.Of.Of, name)
		if k < 0 || first.figure(k) == nil || last.figure(k) == nil {
			continue
		}
		cell := func(row *scanRow) string {
			if r.repeated() {
				return spreadCell(row, k) + " ms"
			}
			return bandCell(row, k, which)
		}
		title := strings.TrimSuffix(r.figures[k].Title, " ms")
		if first == last {
			parts = append(parts, title+" is "+cell(first))
		} else {
			parts = append(parts, fmt.Sprintf("%s goes from %s to %s", title, cell(first), cell(last)))
		}
	}
	if k := r.Objective(); r.Of.Of != question.Simulate && r.figures[k].Limit == "" && first.figure(k) != nil && last.figure(k) != nil && first != last {
		title, unit := r.figures[k].Title, ""
		if name, timed := strings.CutSuffix(title, " ms"); timed {
			title, unit = name, " ms"
		}
		parts = append(parts, fmt.Sprintf("%s goes from %s%s to %s%s", title, number.Plain(asNumber(first.figure(k)), 3), unit, number.Plain(asNumber(last.figure(k)), 3), unit))
	}
	if len(parts) == 0 {
		return nil
	}
	said := parts[len(parts)-1]
	if before := parts[:len(parts)-1]; len(before) > 0 {
		said = strings.Join(before, ", ") + " and " + said
	}
	switch {
	case first != last:
		return []string{fmt.Sprintf("From %s to %s %s.", r.where(first), r.where(last), said)}
	case r.repeated():
		return []string{fmt.Sprintf("Over %d runs %s.", first.runs, said)}
	}
	return []string{fmt.Sprintf("At %s %s.", r.where(first), said)}
}

// Breaks reports whether limits were asked for and hold at no point.
func (r *Scan) Breaks() bool {
	if r.Of.Of != question.Simulate {
		return false
	}
	k, limited := sweep.Find(r.Of.Of, "holds"), false
	for i := range r.rows {
		held, judged := r.rows[i].figure(k).(bool)
		if limited = limited || judged; held {
			return false
		}
	}
	return limited
}
