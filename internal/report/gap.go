package report

import (
	"fmt"
	"strings"

	"throughline/internal/gap"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/number"
)

// Gap shows the causes, the classes of kernels, and what to measure next.
func Gap(v table.View, why *gap.Explanation) string {
	out := ""
	out += Causes(why).Render(v) + "\n"
	if parts := why.Causes[0].Parts; len(parts) > 0 {
		out += v.Wrap("Of the decode kernels one class alone: "+strings.Join(classWords(parts), ", ")+".") + "\n"
	}
	if len(why.Next) > 0 {
		out += "Measure next:\n"
	}
	for i := range why.Next {
		out += v.WrapUnder("- ", Probe(&why.Next[i])) + "\n"
	}
	return out
}

// Probe is what to measure next, and what it would show.
func Probe(p *gap.Probe) string {
	var expect []string
	for _, e := range p.Expect {
		expect = append(expect, fmt.Sprintf("%s if %s", sentence.Valued(e.Value, p.Unit), e.Cause))
	}
	return p.What + ": " + strings.Join(expect, ", ")
}

// Causes has a row per cause, and a column per other figure that any of them affects.
func Causes(why *gap.Explanation) *table.Table[*gap.Cause] {
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
				Title: fmt.Sprintf("then %s (%s)", sentence.Figure(o.Figure), number.Plain(o.Measured, 3)), Kind: table.Number,
				Cell: func(c *gap.Cause) string {
					for _, other := range c.Others {
						if other.Figure == o.Figure {
							return sentence.Valued(other.Predicted, other.Unit)
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
		return "leaves " + sentence.Figure(c.Leaves)
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
