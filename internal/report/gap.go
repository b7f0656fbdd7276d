package report

import (
	"fmt"
	"math"
	"strings"

	"throughline/internal/gap"
	"throughline/internal/table"
	"throughline/number"
)

var figureNames = map[string]string{"tpot": "TPOT", "ttft": "TTFT", "e2e": "E2E", "requests": "requests"}

func valued(value float64, unit string) string {
	return strings.Replace(number.Plain(value, 3)+" "+unit, " /s", "/s", 1)
}

// Gap shows the causes, the classes of kernels, and what to measure next.
func Gap(v table.View, why *gap.Explanation) string {
	inside := ""
	if off := math.Abs(math.Log(why.Predicted / why.Measured)); why.Band > 0 && off <= math.Log1p(why.Band) {
		inside = fmt.Sprintf(": within what predictions like this are off by, %.0f%%", 100*why.Band)
	}
	out := fmt.Sprintf("%s %s measured, %s predicted (%s)%s\n\n", figureNames[why.Figure], valued(why.Measured, why.Unit), valued(why.Predicted, why.Unit), fmt.Sprintf("%+.1f%%", 100*(why.Predicted/why.Measured-1)), inside)
	out += causeTable(why).Render(v) + "\n"
	if why.Conclusion != "" {
		out += v.Wrap(why.Conclusion) + "\n"
	}
	if parts := why.Causes[0].Parts; len(parts) > 0 {
		out += v.Wrap("Of the decode kernels one class alone: "+strings.Join(classWords(parts), ", ")+".") + "\n"
	}
	if len(why.Next) > 0 {
		out += "Measure next:\n"
	}
	for _, p := range why.Next {
		var expect []string
		for _, e := range p.Expect {
			expect = append(expect, fmt.Sprintf("%s if %s", valued(e.Value, p.Unit), e.Cause))
		}
		out += v.WrapUnder("- ", p.What+": "+strings.Join(expect, ", ")) + "\n"
	}
	return out
}

// causeTable has a row per cause, and a column per other figure that any of them affects.
func causeTable(why *gap.Explanation) *table.Table[*gap.Cause] {
	t := table.Of([]table.Column[*gap.Cause]{
		{Title: "cause", Value: func(c *gap.Cause) any { return c.Name }},
		{Title: "would have to be", Value: func(c *gap.Cause) any { return c.Needs }},
	}, why.Causes)
	seen := map[string]bool{}
	for _, c := range t.Rows {
		for _, o := range c.Others {
			if seen[o.Figure] {
				continue
			}
			seen[o.Figure] = true
			t.Columns = append(t.Columns, table.Column[*gap.Cause]{
				Title: fmt.Sprintf("then %s (%s)", figureNames[o.Figure], number.Plain(o.Measured, 3)), Kind: table.Number,
				Cell: func(c *gap.Cause) string {
					for _, other := range c.Others {
						if other.Figure == o.Figure {
							return valued(other.Predicted, other.Unit)
						}
					}
					return ""
				},
			})
		}
	}
	t.Columns = append(t.Columns, table.Column[*gap.Cause]{Title: "so", Cell: judgement})
	return t
}

// judgement summarizes a cause in a word or two.
func judgement(c *gap.Cause) string {
	switch {
	case !c.Able:
		return "no"
	case c.Contradicts:
		return "contradicted"
	case c.Leaves != "":
		return "leaves " + figureNames[c.Leaves]
	}
	return "possible"
}

// classWords lists the notable classes of kernels with what each would have to be.
func classWords(parts []gap.Part) []string {
	const least = 0.02
	var out []string
	for _, p := range parts {
		if p.Share < least {
			continue
		}
		if p.Factor <= 0 {
			out = append(out, fmt.Sprintf("%s (%.0f%%) cannot", p.Class, 100*p.Share))
			continue
		}
		out = append(out, fmt.Sprintf("%s (%.0f%%) ×%s", p.Class, 100*p.Share, number.Plain(p.Factor, 3)))
	}
	return out
}
