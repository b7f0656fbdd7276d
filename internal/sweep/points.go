package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/axis"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/internal/table"
)

// Point is a question of a scan and its answer.
type Point struct {
	Number  int
	Values  []scan.Value
	Figures []any  // as Figures lists them; none where there is no answer
	Reason  string // why there is none
	Meets   bool   // all conditions
	// Bands of TTFT and TPOT; 0: unknown.
	Bands [2]float64
	// Answer is all of it, where that was asked for: of point, advice or serving/simulate.
	Answer any
}

// Scanner answers the points of a scan, one after another.
type Scanner struct {
	Scan *scan.Scan
	Full bool // keep whole answers

	conditions []test
	estimator  *point.Estimator
	workers    int // of a search
	moving     *moving
	// passing: a point is done with before the next is asked, so that all share their memory.
	passing bool
	scratch Point
}

// mostOpened is how many systems and models a scanner keeps: each process of a scan has several.
const mostOpened = 16

// test is a condition on an axis or a figure.
type test struct {
	axis, figure int // one of them is -1
	met          func(any) bool
}

// NewScanner prepares the answers of a scan; workers share out the work of one search.
func NewScanner(s *scan.Scan, workers int) (*Scanner, error) {
	out := &Scanner{Scan: s, estimator: point.NewEstimatorOf(mostOpened), workers: workers}
	figures := Figures(s.Of)
	var errs []error
	for i := range s.Where {
		c := &s.Where[i]
		t := test{axis: slices.IndexFunc(s.Axes, func(a scan.Axis) bool { return a.Name == c.Name }), figure: Find(s.Of, c.Name)}
		kind, unit := table.Number, ""
		switch {
		case t.axis >= 0:
			unit, t.figure = s.Axes[t.axis].Unit(), -1
			if !s.Axes[t.axis].IsNumeric() {
				kind = table.Text
			}
		case t.figure >= 0:
			kind, unit = figures[t.figure].Kind, figures[t.figure].Unit
		default:
			errs = append(errs, question.OfSetting("where", errors.New(document.NotOneOf(c.Name, names(s)))))
			continue
		}
		var err error
		t.met, err = c.Met(kind, unit)
		errs = append(errs, question.OfSetting("where", err))
		out.conditions = append(out.conditions, t)
	}
	if document.Join(errs...) == nil {
		errs = append(errs, question.OfSetting("where", out.meetable()))
	}
	out.moving = newMoving(s)
	return out, document.Join(append(errs, checkAims(s))...)
}

// Check reads all that a scan names: files and their numbers, figures of conditions and aims.
func Check(s *scan.Scan) error {
	_, err := NewScanner(s, 1)
	return document.Join(err, s.Check())
}

// meetable refuses conditions on an axis that none of its values meets.
func (c *Scanner) meetable() error {
	var errs []error
	for k := range c.Scan.Axes {
		a := &c.Scan.Axes[k]
		var on []string
		for i, t := range c.conditions {
			if t.axis == k {
				on = append(on, c.Scan.Where[i].String())
			}
		}
		met := len(on) == 0
		for i := 0; i < a.Len() && !met; i++ {
			v := a.Shown(a.Value(i))
			met = !slices.ContainsFunc(c.conditions, func(t test) bool { return t.axis == k && !t.met(v) })
		}
		if !met {
			errs = append(errs, fmt.Errorf("%s: no value of %s meets it, from %s to %s", strings.Join(on, " and "), a.Name, a.Text(0), a.Text(a.Len()-1)))
		}
	}
	return document.Join(errs...)
}

// Find is the place of a figure by its name, or what people call it: tpot for tpot_ms; -1: none.
func Find(of question.Command, name string) int {
	list := Figures(of)
	for _, end := range []string{"", "_ms", "_p99_ms", "_gib"} {
		if at := slices.IndexFunc(list, func(f Figure) bool { return f.Name == name+end }); at >= 0 {
			return at
		}
	}
	return -1
}

func names(s *scan.Scan) (out []string) {
	for i := range s.Axes {
		out = append(out, s.Axes[i].Name)
	}
	for _, f := range Figures(s.Of) {
		out = append(out, f.Name)
	}
	return out
}

// At answers point i; nil: a condition on its values leaves it out.
func (c *Scanner) At(ctx context.Context, i int) (*Point, error) {
	p := c.next(i)
	c.Scan.At(i, p.Values)
	for _, t := range c.conditions {
		if t.axis >= 0 && !t.met(c.Scan.Axes[t.axis].Shown(p.Values[t.axis])) {
			return nil, nil
		}
	}
	if err := c.answer(ctx, p); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.Reason = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	p.Meets = p.Figures != nil
	for _, t := range c.conditions {
		if t.figure >= 0 && p.Meets {
			p.Meets = t.met(p.Figures[t.figure])
		}
	}
	return p, nil
}

// next is a point without an answer.
func (c *Scanner) next(i int) *Point {
	if !c.passing || c.scratch.Values == nil {
		p := &Point{Number: i, Values: make([]scan.Value, len(c.Scan.Axes))}
		if c.passing {
			c.scratch = *p
			return &c.scratch
		}
		return p
	}
	c.scratch = Point{Number: i, Values: c.scratch.Values}
	return &c.scratch
}

// clone is a point that outlives the next.
func (p *Point) clone() *Point {
	out := *p
	out.Values, out.Figures = slices.Clone(p.Values), slices.Clone(p.Figures)
	return &out
}

// answer asks the question of a point. What breaks at one point breaks nothing else.
func (c *Scanner) answer(ctx context.Context, p *Point) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the program failed here: %v", broken)
		}
	}()
	if c.moving != nil && c.moving.answer(c, p) {
		return nil
	}
	words := c.Scan.WordsAt(p.Values)
	switch c.Scan.Of {
	case question.Plan:
		return c.plan(ctx, words, p)
	case question.Simulate:
		return c.simulate(ctx, words, p)
	}
	a, _, err := c.estimator.Ask(question.NewFixedQuery(c.Scan.In, question.Estimate, words))
	if err != nil {
		return err
	}
	p.Figures, p.Bands = figuresOf(a.Record), bandsOf(a.Trusted)
	if c.moving != nil {
		p.Figures = c.moving.only(p.Figures)
	}
	if c.Full {
		p.Answer = a
	}
	return nil
}

func (c *Scanner) plan(ctx context.Context, words map[string]string, p *Point) error {
	plans, _, err := advice.Ask(question.NewQuery(c.Scan.In, question.Plan, words))
	if err != nil {
		return err
	}
	plans.Options.Workers, plans.Options.Foremost = c.workers, !c.Full
	if err := plans.Search(ctx); err != nil {
		return err
	}
	if plans.Partial {
		return context.Canceled
	}
	if c.Full {
		p.Answer = plans
	}
	if len(plans.Ranked) == 0 {
		return errors.New(strings.Join(plans.Reasons, "; "))
	}
	best := &plans.Ranked[0].Record
	p.Figures, p.Bands = figuresOf(best), bandsOf(best.Trusted)
	return nil
}

func (c *Scanner) simulate(ctx context.Context, words map[string]string, p *Point) error {
	m, _, err := point.NewSimulation(question.NewFixedQuery(c.Scan.In, question.Simulate, words))
	if err != nil {
		return err
	}
	if err := m.Settle(ctx); err != nil {
		return err
	}
	r, err := m.Run(ctx, m.Options)
	if err != nil {
		return err
	}
	p.Bands = bandsOf(m.Trusted)
	p.Figures = figuresOfRun(r, r.Terms.TTFT.Seconds > 0 || r.Terms.TPOT.Seconds > 0)
	if c.Full {
		p.Answer = r
	}
	return nil
}

// Around replaces the rate auto of a simulation by rates around the highest that holds its limits,
// which is among them, and asks for as many requests as it took to tell.
func Around(ctx context.Context, in *files.Door, of question.Command, words map[string]string) error {
	if of != question.Simulate || strings.TrimSpace(words["rate"]) != "auto" {
		return nil
	}
	delete(words, "rate")
	delete(words, "max-rate") // which asks for the same
	m, _, err := point.NewSimulation(question.NewFixedQuery(in, question.Simulate, words))
	if err != nil {
		return err
	}
	best, requests, err := m.MaxRate(ctx)
	if err != nil {
		return err
	}
	var texts []string
	for _, share := range []float64{0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.05, 1.1, 1.25} {
		texts = append(texts, strconv.FormatFloat(rounded(best*share), 'g', 6, 64))
	}
	words["rate"] = strings.Join(texts, ",")
	if words["trace"] == "" {
		words["num-prompts"] = strconv.Itoa(requests)
	}
	return nil
}

// rounded cuts a rate to three digits, downwards, so that it still holds.
func rounded(v float64) float64 {
	size := math.Pow(10, math.Floor(math.Log10(v))-2)
	return math.Floor(v/size*(1+1e-12)) * size
}

// Points answers all points of a scan side by side and hands them over in order; those that a
// condition on their values leaves out are nil.
func Points(ctx context.Context, s *scan.Scan, jobs int, full bool, emit func(*Point) error) error {
	workers := max(1, min(jobs, s.Len()))
	scanners := make(chan *Scanner, workers)
	for range workers {
		c, err := NewScanner(s, max(1, jobs/workers))
		if err != nil {
			return err
		}
		if full { // answers are those of one question, operators included
			c.Full, c.estimator = true, point.NewExaminer()
		}
		scanners <- c
	}
	rounds, found, aims := s.Rounds, []axis.Spot(nil), aimsOf(s)
	if rounds == nil {
		rounds = []int{0, s.Len()}
	}
	for round := range len(rounds) - 1 {
		if round > 0 {
			found = axis.Frontier(found)
			s.Learn(round, found)
		}
		err := inOrder(ctx, rounds[round+1]-rounds[round], workers, func(ctx context.Context, i int) (*Point, error) {
			c := <-scanners
			defer func() { scanners <- c }()
			return c.At(ctx, rounds[round]+i)
		}, func(p *Point) error {
			if spot, ok := aims.spot(s, p); ok && s.Rounds != nil {
				found = append(found, spot)
			}
			return emit(p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
