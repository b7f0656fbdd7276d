package cli

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"throughline/internal/document"
	"throughline/internal/gap"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/number"
)

// compareMeasured says what would explain what was measured.
func compareMeasured(s Streams, flags *settings, q *question.Question, asked error, asJSON bool, v report.View) error {
	m, err := gap.Read(q.Seen)
	errs := []error{asked, ofFlag("measured", err)}
	if q.Kernels != "" {
		errs = append(errs, ofFlag("kernels", errors.New("compares a step, measured what clients see; give one of them")))
	}
	if !q.Clients() {
		errs = append(errs, ofFlag("measured", errors.New("is what clients see, not a bare step: leave out --phase and --context")))
	}
	if err == nil {
		errs = append(errs, m.Fill(q, flags.given))
	}
	answer, err := answerPoint(s, flags, q, document.Join(errs...))
	if err != nil {
		return err
	}
	if answer.Seen == nil {
		return exitError{exitNoPlan} // which has been said
	}
	why, err := gap.Explain(answer, m)
	if err != nil {
		return err
	}
	if asJSON {
		err = report.WriteObject(s.data, why)
	} else {
		err = write(s.Out, v.Wrap(report.PointTitle(answer))+"\n"+explained(v, why))
	}
	if err != nil {
		return systemError{err}
	}
	return nil
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
	g := &report.Grid{Columns: []report.Column{{Title: "cause"}, {Title: "would have to be"}}}
	for _, o := range why.Causes[0].Others {
		g.Columns = append(g.Columns, report.Column{Title: fmt.Sprintf("then %s (%s)", figureNames[o.Figure], number.Plain(o.Measured, 3)), Right: true})
	}
	g.Columns = append(g.Columns, report.Column{Title: "so"})
	for i := range why.Causes {
		c := &why.Causes[i]
		row := []string{c.Name, c.Needs}
		for _, o := range c.Others {
			row = append(row, valued(o.Predicted, o.Unit))
		}
		for len(row) < len(g.Columns)-1 {
			row = append(row, "")
		}
		switch {
		case !c.Able:
			row = append(row, "no")
		case c.Contradicts:
			row = append(row, "contradicted")
		case c.Leaves != "":
			row = append(row, "leaves "+figureNames[c.Leaves])
		default:
			row = append(row, "possible")
		}
		g.Row(row...)
	}
	out += g.Render(v) + "\n"
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
