package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"throughline/internal/api"
	"throughline/internal/difference"
	"throughline/internal/gap"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/sentence"
	"throughline/internal/shell"
	"throughline/internal/table"
	"throughline/number"
)

// comparing is the view of two deployments, and of one beside what was measured.
var comparing = &view{
	path: "compare", title: "Compare", of: question.Compare,
	pieces: append([]piece{{"", "model", "a model", false}, {" on ", "system", "a system", false}, {", tp ", "tp", "1", false}, {", dp ", "dp", "1", false}},
		piece{", ", "isl", "1024", false}, piece{" → ", "osl", "1024", false}, piece{" tokens, ", "concurrency", "some", false}, piece{" clients, behind ", "engine", "any engine", false}, piece{", measured ", "measured", "nothing yet", false}),
	slow: func(*state) bool { return true },
}

// compared is the answer of the view.
type compared struct {
	Says    []string
	Chart   template.HTML
	Grid    grid
	A, B    string
	Gap     *gapShown
	Profile *profileShown
	Near    *nearShown
	Missing bool // fewer than two pins, and nothing measured
}

// profileShown is the kernels of a profile beside the operators of a step.
type profileShown struct {
	Title         string
	Says          []string
	Chart         template.HTML
	Steps, Shares grid
	LeftOut       string
}

// gapShown is what would explain a measurement.
type gapShown struct {
	Title, Load string
	Says        []string
	Causes      grid
	Next        []string
}

// secondName is the pin that the first is compared with.
const secondName = "b"

func (s *Server) compare(ctx context.Context, st *state) (content, error) {
	pins, err := s.pinned(ctx, st)
	if err != nil {
		return content{}, err
	}
	c := &compared{}
	out := content{data: c, pins: pins, commands: []string{}, title: st.language.say("Compare")}
	if len(pins) >= 2 {
		second := 1
		if at := strings.Index(letters, st.shown[secondName]); at > 0 && at < len(pins) {
			second = at
		}
		pins[0].On, pins[second].On = true, true
		a, b := &pins[0], &pins[second]
		if err := c.between(s, st, a, b); err != nil {
			return content{}, err
		}
		out.commands = []string{"throughline diff " + shell.Quote(a.code) + " " + shell.Quote(b.code)}
		out.takes = []link{{"JSON", api.Path + "diff?" + url.Values{"a": {a.code}, "b": {b.code}}.Encode()}}
	}
	var measured *gap.Result
	if st.words["measured"] != "" {
		if measured, err = s.measured(ctx, st.words); err != nil {
			return content{}, err
		}
		why := measured.Explanation
		g := &gapShown{Title: report.PointTitle(measured.Answer), Load: why.Load, Says: sentence.Gap(why), Causes: gridOf(report.Causes(why), 20)}
		for _, p := range why.Next {
			g.Next = append(g.Next, report.Probe(&p))
		}
		c.Gap = g
	}
	if st.words["kernels"] != "" {
		if err := c.profiled(s, st, measured); err != nil {
			return content{}, err
		}
	}
	if c.Near, err = s.near(ctx, st); err != nil {
		return content{}, err
	}
	c.Missing = len(pins) < 2 && c.Gap == nil && c.Profile == nil && c.Near == nil
	if c.Gap != nil || c.Profile != nil {
		out.commands = append(out.commands, st.view.command(st.words))
		out.takes = append(out.takes, link{"JSON", st.programs(st.words)})
	}
	return out, nil
}

// profiled puts a profile beside the step of the question or, where something was measured, that
// behind its TPOT.
func (c *compared) profiled(s *Server, st *state, measured *gap.Result) error {
	var of *gap.Profiled
	var answer *point.Answer
	var err error
	tpot := 0.0
	if measured == nil {
		of, answer, _, err = gap.AskProfile(s.fixedQuery(question.Compare, st.words))
	} else {
		answer, tpot = measured.Answer, measured.Measured.Of("tpot")
		of, err = gap.BesideProfile(s.door(), st.words["kernels"], answer)
	}
	if err != nil {
		return err
	}
	p := &profileShown{Title: report.PointTitle(answer), Says: sentence.Kernels(of.Step, tpot), Shares: gridOf(report.Shares(of.Classes), 40)}
	if of.Step.Steps > 0 {
		p.Steps = gridOf(report.StepClasses(of.Step), 40)
		if drawn, err := picture.Profiled(of.Step); err == nil {
			p.Chart, _ = figure(drawn, st.width(mainWidth), 0, "profile")
		}
	}
	if n := len(of.LeftOut); n > 0 {
		p.LeftOut = fmt.Sprintf("%s could not be read, the first of them %s", number.Count(n, "line"), of.LeftOut[0])
	}
	c.Profile = p
	return nil
}

// between puts two pins side by side.
func (c *compared) between(s *Server, st *state, a, b *pin) error {
	x, y := s.fixedQuery(question.Explain, a.words), s.fixedQuery(question.Explain, b.words)
	if x.Wrong != nil || y.Wrong != nil {
		return errors.Join(x.Wrong, y.Wrong)
	}
	c.A, c.B = fmt.Sprintf("%s: %s %s", a.Letter, a.Name, a.About), fmt.Sprintf("%s: %s %s", b.Letter, b.Name, b.About)
	d, err := difference.Deployed(a.Letter, &x.Question, b.Letter, &y.Question)
	if err != nil {
		return err
	}
	c.Says = d.Why
	c.Grid = gridOf(differing(d), 80)
	if drawn, err := picture.Between(d); err == nil {
		c.Chart, _ = figure(drawn, st.width(mainWidth), 0, "between")
	}
	return nil
}

// differing is the figures in which two differ.
func differing(d *difference.Difference) table.Any {
	all := d.Table()
	out := *all
	out.Rows = nil
	for _, r := range all.Rows {
		if r.Differs() {
			out.Rows = append(out.Rows, r)
		}
	}
	return &out
}

// diff answers a program: two systems by name, or two deployments as objects of settings.
func (s *Server) diff(w http.ResponseWriter, r *http.Request) {
	words, err := s.words(w, r)
	if err != nil {
		writeProblems(w, http.StatusBadRequest, err)
		return
	}
	a, b := words["a"], words["b"]
	if a == "" || b == "" {
		writeProblems(w, http.StatusBadRequest, errors.New("give a and b: two systems, or two deployments as parameters of explain, encoded"))
		return
	}
	var d *difference.Difference
	err = s.work.do(r.Context(), s.deadline, func(context.Context) (err error) {
		d, err = difference.Of(s.door(), a, b)
		return err
	})
	if err != nil {
		writeProblems(w, statusOf(err), err)
		return
	}
	writeJSON(w, d)
}
