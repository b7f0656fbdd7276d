package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/internal/document"
	"throughline/internal/gap"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/validate"
	"throughline/number"
)

// compareMeasured says what would explain what was measured.
func compareMeasured(ctx context.Context, s Streams, q *question.Asked, asJSON bool, v report.View) error {
	m, err := gap.Read(q.Seen)
	errs := []error{q.Wrong, ofFlag("measured", err)}
	if q.Kernels != "" {
		errs = append(errs, ofFlag("kernels", errors.New("compares a step, measured what clients see; give one of them")))
	}
	if !q.Clients() {
		errs = append(errs, ofFlag("measured", errors.New("is what clients see, not a bare step: leave out --phase and --context")))
	}
	if err == nil {
		errs = append(errs, ofFlag("figure", m.Missing(q.Explained)))
	}
	var run *validate.OneRun
	if err == nil && document.Join(errs...) == nil {
		run, err = m.Run(ctx, &q.Question, q.Given)
		errs = append(errs, err)
	}
	if err := document.Join(errs...); err != nil {
		return question.Once(err)
	}
	answer, remarks, err := m.Answer(q, run)
	tell(s, remarks)
	if err != nil {
		return err
	}
	if answer.Seen == nil {
		return exitError{exitNoPlan} // which has been said
	}
	why, err := gap.Explain(answer, run, m, q.Explained)
	if err != nil {
		return err
	}
	why.Load = loadWords(answer, run, m, !q.Given("concurrency"))
	if asJSON {
		err = report.WriteObject(s.data, why)
	} else {
		err = write(s.Out, v.Wrap(report.PointTitle(answer))+"\n"+v.Wrap("Load: "+why.Load)+"\n"+explained(v, why))
	}
	return failed(err)
}

// loadWords says which load is predicted: a run has a beginning, in which all clients send at once, and flags describe no run.
func loadWords(a *point.Answer, run *validate.OneRun, m *gap.Measured, fromFile bool) string {
	clients, requests := a.Load.Clients, m.Requests
	inferred := fromFile && m.Row != nil && m.Row["concurrency"] == ""
	if run != nil {
		clients, requests, inferred = run.Load.Clients, run.Load.Requests, run.Inferred
	}
	switch {
	case run != nil && run.Rate > 0:
		return fmt.Sprintf("%s requests/s, simulated; %d under way on average (completed · E2E / duration)", number.Plain(run.Rate, 4), clients)
	case inferred:
		return fmt.Sprintf("%d clients, inferred: the run does not say them, and so many requests were under way (completed · E2E / duration)%s", clients, startWords(requests))
	}
	return fmt.Sprintf("%d %s%s", clients, map[bool]string{true: "client", false: "clients"}[clients == 1], startWords(requests))
}

// startWords say whether the start of a run counts.
func startWords(requests float64) string {
	if requests == 0 {
		return ", sending for a long time: the wait of a first wave is not part of TTFT"
	}
	return fmt.Sprintf(", %s requests each from a common start: the wait of the first wave is part of TTFT", number.Plain(requests, 3))
}

// figureNames are how figures are shown.
var figureNames = map[string]string{"tpot": "TPOT", "ttft": "TTFT", "e2e": "E2E", "requests": "requests"}

func valued(value float64, unit string) string {
	return strings.Replace(number.Plain(value, 3)+" "+unit, " /s", "/s", 1)
}

// explained is the causes as a table, the classes of kernels, and what to measure next.
func explained(v report.View, why *gap.Explanation) string {
	inside := ""
	if off := math.Abs(math.Log(why.Predicted / why.Measured)); why.Band > 0 && off <= math.Log1p(why.Band) {
		inside = fmt.Sprintf(": within what predictions like this are off by, %.0f%%", 100*why.Band)
	}
	out := fmt.Sprintf("%s %s measured, %s predicted (%s)%s\n\n", figureNames[why.Figure], valued(why.Measured, why.Unit), valued(why.Predicted, why.Unit), signed(100*(why.Predicted/why.Measured-1)), inside)
	g := causeGrid(why)
	out += g.Render(v) + "\n"
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
	if why.Causes[0].Able && !why.Causes[0].Contradicts {
		out += v.WrapUnder("- ", "a profile of the decode step: throughline compare --kernels tells its classes apart") + "\n"
	}
	return out
}

// causeGrid is a row for each cause, and a column for each other figure that any of them says something of.
func causeGrid(why *gap.Explanation) *report.Grid {
	g := &report.Grid{Columns: []report.Column{{Title: "cause"}, {Title: "would have to be"}}}
	var others []string
	for i := range why.Causes {
		for _, o := range why.Causes[i].Others {
			if !slices.Contains(others, o.Figure) {
				others = append(others, o.Figure)
				g.Columns = append(g.Columns, report.Column{Title: fmt.Sprintf("then %s (%s)", figureNames[o.Figure], number.Plain(o.Measured, 3)), Right: true})
			}
		}
	}
	g.Columns = append(g.Columns, report.Column{Title: "so"})
	for i := range why.Causes {
		c := &why.Causes[i]
		row := make([]string, len(g.Columns))
		row[0], row[1], row[len(row)-1] = c.Name, c.Needs, judgement(c)
		for _, o := range c.Others {
			row[2+slices.Index(others, o.Figure)] = valued(o.Predicted, o.Unit)
		}
		g.Row(row...)
	}
	return g
}

// judgement is a cause in a word or two.
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

// classWords are the classes of kernels with what each would have to be, those that take a part worth naming.
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
