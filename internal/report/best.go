package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/internal/scan"
	"throughline/internal/sweep"
	"throughline/number"
	"throughline/workload"
)

// loads are settings of what is asked of a deployment, among which there is nothing to choose.
var loads = []string{"isl", "osl", "context", "prefix", "prefix-hit", "lengths", "rate", "num-prompts", "arrival", "turns", "trace", "model", "ttft", "tpot", scan.SeedSetting}

// isLoad reports whether there is nothing to choose along an axis. Of bare steps, the shorter the
// fewer sequences they have, that is so of the batch, too.
func (r *Scan) isLoad(axis int) bool {
	s := r.Of.Axes[axis].Setting
	return s != nil && (slices.Contains(loads, s.Name) || s.Name == "batch" && r.figures[r.Objective()].Name == "step_ms")
}

func (r *Scan) isChoice(axis int) bool { return !r.isLoad(axis) }

// chooses reports whether an axis is a choice that one could make.
func (r *Scan) chooses() bool {
	return slices.ContainsFunc(r.axes(), r.isChoice)
}

func (r *Scan) axes() (out []int) {
	for i := range r.Of.Axes {
		out = append(out, i)
	}
	return out
}

// Choices and Loads are the numbers of the axes that one could choose along, and of the others.
func (r *Scan) Choices() []int { return slices.DeleteFunc(r.axes(), r.isLoad) }
func (r *Scan) Loads() []int   { return slices.DeleteFunc(r.axes(), r.isChoice) }

// isLimit reports whether the values of an axis limit a latency.
func (r *Scan) isLimit(axis int) bool {
	s := r.Of.Axes[axis].Setting
	return s != nil && (s.Name == "ttft" || s.Name == "tpot")
}

// limitText is a limit on a latency with its unit.
func limitText(v any) string {
	words := valueText(v)
	l, err := workload.ParseLimit(words)
	if err != nil || l.Seconds == 0 {
		return words
	}
	if statistic, _, named := strings.Cut(words, ":"); named {
		return statistic + " " + number.Time(l.Seconds, 3)
	}
	return number.Time(l.Seconds, 3)
}

// where names a row by its values on all axes.
func (r *Scan) where(row *scanRow) string { return r.along(row, func(int) bool { return true }) }

// along names a row by its values on some axes.
func (r *Scan) along(row *scanRow, named func(axis int) bool) string {
	var parts []string
	for i := range r.Of.Axes {
		a := &r.Of.Axes[i]
		if a.Name == scan.SeedSetting || !named(i) {
			continue
		}
		text := fmt.Sprintf("%s %s", a.Name, valueText(row.Values[i]))
		if a.Relative {
			text = fmt.Sprintf("%s ×%s", a.Name, valueText(row.Values[i]))
		}
		if u := a.Unit(); u != "" && a.IsNumeric() {
			text += " " + u
		}
		if r.isLimit(i) {
			text = strings.ToUpper(a.Name) + " limit " + limitText(row.Values[i])
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// figureText is a figure and, beside it, the time per token.
func (r *Scan) figureText(row *scanRow, k int) string {
	text := ""
	for _, at := range []int{k, sweep.Find(r.Of.Of, "tpot")} {
		f := &r.figures[at]
		if v := row.figure(at); v != nil && (at != k || text == "") {
			name := strings.TrimSuffix(f.Title, " "+f.Unit)
			unit := f.Unit
			if strings.HasPrefix(name, f.Unit) {
				name, unit = "", f.Title
			}
			text += ", " + strings.TrimSpace(fmt.Sprintf("%s %s %s", name, number.Plain(asNumber(v), 3), unit))
		}
	}
	return strings.TrimPrefix(text, ", ")
}

// best is the row of some that is best by the objective: it meets all conditions and fits; nil:
// none does.
func (r *Scan) best(among []*scanRow) *scanRow {
	k := r.Objective()
	sign := float64(cmp.Or(r.figures[k].Better, -1))
	var best *scanRow
	for _, row := range among {
		v := asNumber(row.figure(k))
		if row.Meets && row.Fits && !math.IsNaN(v) && (best == nil || sign*v > sign*asNumber(best.figure(k))) {
			best = row
		}
	}
	return best
}

// byLoad are the rows, those of one load together.
func (r *Scan) byLoad() (groups [][]*scanRow) {
	at := map[string]int{}
	for i := range r.rows {
		key := r.along(&r.rows[i], r.isLoad)
		n, ok := at[key]
		if !ok {
			n = len(groups)
			at[key] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], &r.rows[i])
	}
	return groups
}

// mostChoices limits the choices that a sentence names.
const mostChoices = 3

// bestText says what is best, of several loads for each of them; empty: there is nothing to choose.
func (r *Scan) bestText() string {
	switch {
	case r.Of.Sensitivity() != "" || len(r.Of.Aims) > 0:
		return ""
	case len(r.rows) > 0 && !slices.ContainsFunc(r.rows, func(row scanRow) bool { return row.Fits }):
		return fmt.Sprintf("None of %d points fits into memory.", len(r.rows))
	case !r.chooses():
		return ""
	}
	k, groups := r.Objective(), r.byLoad()
	var order []string
	won := map[string][]*scanRow{}
	for _, g := range groups {
		if best := r.best(g); best != nil {
			choice := r.along(best, r.isChoice)
			if won[choice] == nil {
				order = append(order, choice)
			}
			won[choice] = append(won[choice], best)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(won[b]), len(won[a])) })
	given := func(row *scanRow) string {
		if at := r.along(row, r.isLoad); at != "" {
			return fmt.Sprintf("%s at %s", r.figureText(row, k), at)
		}
		return r.figureText(row, k)
	}
	switch {
	case len(order) == 0:
		return ""
	case len(groups) == 1:
		return fmt.Sprintf("Best is %s: %s.", order[0], given(won[order[0]][0]))
	}
	var parts []string
	for _, choice := range order[:min(mostChoices, len(order))] {
		rows := won[choice]
		text := fmt.Sprintf("%s for %d of %d loads, from %s", choice, len(rows), len(groups), given(rows[0]))
		if len(rows) == 1 {
			text = fmt.Sprintf("%s for 1 of %d loads, %s", choice, len(groups), given(rows[0]))
		} else {
			text += " to " + given(rows[len(rows)-1])
		}
		parts = append(parts, text)
	}
	if left := len(order) - mostChoices; left > 0 {
		parts = append(parts, fmt.Sprintf("%d others for the rest", left))
	}
	return "Best is " + strings.Join(parts, "; ") + "."
}

// nearest says how near answers come to a limit on a figure that none of them keeps.
func (r *Scan) nearest() string {
	for _, c := range r.Of.Where {
		k := sweep.Find(r.Of.Of, c.Name)
		if k < 0 || !strings.ContainsAny(c.Than, "<>") || slices.ContainsFunc(r.Of.Axes, func(a scan.Axis) bool { return a.Name == c.Name }) {
			continue
		}
		met, err := c.Met(r.figures[k].Kind, r.figures[k].Unit)
		var nearest *scanRow
		for i := range r.rows {
			row := &r.rows[i]
			v := asNumber(row.figure(k))
			if err != nil || met(row.figure(k)) {
				nearest = nil
				break
			}
			if !math.IsNaN(v) && (nearest == nil || (v < asNumber(nearest.figure(k))) == strings.Contains(c.Than, "<")) {
				nearest = row
			}
		}
		if nearest != nil {
			to := ""
			if len(r.Of.Where) > 1 {
				to = " to " + c.String()
			}
			return fmt.Sprintf(" The nearest%s is %s, with %s.", to, r.where(nearest), r.figureText(nearest, k))
		}
	}
	return ""
}
