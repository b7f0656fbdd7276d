package matrix

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"throughline/internal/chart"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/table"
	"throughline/number"
)

func (r *Runner) page(results []Result) *page.Page {
	runs := page.Section{Title: "Combinations", Tables: []page.Table{{Title: "Measured and predicted", Any: Shown(results).Filled()}}, Notes: Unpredicted(results)}
	if c := picture.Pareto(points(results)); c != nil {
		runs.Charts, runs.Small = []*chart.Chart{c}, true
	}
	out := &page.Page{Title: "Servers × clients", Subtitle: "folder " + r.Dir, Answer: sentences(results), Sections: []page.Section{runs}}
	bad := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Problem == "" && len(r.Notes) == 0 })
	if len(bad) > 0 {
		out.Sections = append(out.Sections, page.Section{Title: "What went wrong", Tables: []page.Table{{Any: table.Of([]column{
			{Title: "server", Value: func(r *Result) any { return r.Server }},
			{Title: "client", Value: func(r *Result) any { return r.Client }},
			{Title: "problem", Value: func(r *Result) any { return r.Problem }},
			{Title: "notes", Value: func(r *Result) any { return strings.Join(r.Notes, "; ") }},
		}, bad).Filled()}}})
	}
	each := page.Section{Title: "The combinations one by one"}
	for i := range results {
		r := &results[i]
		one := page.Section{Title: r.Server + ", " + r.Client, Text: []string{"Began " + r.Began.UTC().Format(time.DateTime) + " UTC."}}
		for _, command := range []string{r.ServerCommand, r.ClientCommand} {
			if command != "" {
				one.Code = append(one.Code, command)
			}
		}
		each.Folded = append(each.Folded, one)
	}
	out.Sections = append(out.Sections, each)
	return out
}

// Unpredicted says why results have no prediction, each reason once.
func Unpredicted(results []Result) (out []string) {
	for i := range results {
		if why := results[i].Predicted.Why; why != "" {
			out = append(out, "no prediction where "+why)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sentences say how many combinations ran, which is best, and how far off predictions are.
func sentences(results []Result) []string {
	var best *Result
	done, most := 0, 0.0
	var off []float64
	for i := range results {
		r := &results[i]
		if r.Verdict != Done {
			continue
		}
		done++
		if v, _ := r.Row.Get("Output throughput").(float64); v > most {
			best, most = r, v
		}
		tpot, _ := r.Row.Get("TPOT").(float64)
		if p, _ := predicted(func(p *Prediction) float64 { return p.TPOT })(r).(float64); p > 0 && tpot > 0 {
			off = append(off, math.Abs(p/tpot-1))
		}
	}
	out := []string{fmt.Sprintf("%d of %d combinations are done.", done, len(results))}
	if best != nil {
		text := fmt.Sprintf("Most output tokens/s, %s, has %s with %s", number.Plain(most, 3), best.Server, best.Client)
		if tpot, _ := best.Row.Get("TPOT").(float64); tpot > 0 {
			text += ": TPOT is " + number.Time(tpot/1e3, 3)
		}
		out = append(out, text+".")
	}
	percent := func(share float64) string { return number.Plain(100*share, 2) + "%" }
	slices.Sort(off)
	switch n := len(off); {
	case n == 1:
		out = append(out, "The prediction of TPOT is off by "+percent(off[0])+".")
	case n > 1:
		out = append(out, fmt.Sprintf("Predictions of TPOT are off by %s in the median of %d, at most by %s.", percent((off[(n-1)/2]+off[n/2])/2), n, percent(off[n-1])))
	}
	return out
}
