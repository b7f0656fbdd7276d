package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/names"
	"throughline/internal/parallel"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/rows"
	"throughline/internal/runs"
	"throughline/model"
	"throughline/op"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// servingColumns are required, under any of their names. The mode of a row decides which layout
// sizes it needs; measured times are needed only where errors are asked for.
var servingColumns = []string{"model", "system", "isl", "osl", "concurrency"}

// Trial is how a laboratory predicts runs.
type Trial struct {
	Waiting bool // only runs of clients who wait for their answers
	// Tune changes what is known of an engine; nil: nothing.
	Tune func(engine string, s *deploy.Scheduling)
	// Only chooses the rows to predict; nil: all.
	Only func(r rows.Row) bool
}

// neighbours are rows that one worker answers, since they mostly have their files in common.
const neighbours = 8

// Serving predicts mean TTFT and TPOT for every row of a table of serving runs, and the other
// figures that a row has, by a simulation of its requests. The system and length distribution of q
// override those of the rows.
func Serving(ctx context.Context, name string, src io.Reader, q question.Question) (*Report, error) {
	return Trial{}.Serving(ctx, name, src, q)
}

// Serving is Serving under the terms of a trial.
func (t Trial) Serving(ctx context.Context, name string, src io.Reader, q question.Question) (*Report, error) {
	if err := checkServing(&q); err != nil {
		return nil, err
	}
	var figures []servingFigure
	var columns []string
	r, list, err := readRows(ctx, name, src, func(header []string) error {
		figures, columns = presentFigures(header)
		return newServingPredictor(ctx, q, t).checkHeader(header)
	})
	if err != nil {
		return nil, err
	}
	r.Rows = make([]Row, len(list))
	var chosen []int
	for i := range list {
		if t.Only == nil || t.Only(rows.Row{Cell: list[i].get}) {
			chosen = append(chosen, i)
		} else {
			r.Rows[i] = list[i].predicted(name, Row{Figures: make([]Figure, len(figures))})
		}
	}
	workers := make([]*servingPredictor, q.Workers())
	for i := range workers {
		workers[i] = newServingPredictor(ctx, q, t)
		workers[i].figures = figures
	}
	parallel.Share(ctx, len(chosen), neighbours, workers, func(p *servingPredictor, n int) {
		i := chosen[n]
		r.Rows[i] = list[i].predicted(name, p.row(list[i].get))
	})
	if err := ctx.Err(); err != nil {
		return nil, err // rows whose simulation was cut short have it as their reason
	}
	r.Figures = nil
	for i := range figures {
		r.Figures = append(r.Figures, figures[i].name)
		r.brief = append(r.brief, figures[i].brief)
	}
	r.Header = slices.Concat(r.Header, columns, []string{"predicted_tokens_per_s", "predicted_memory_gib", "ttft_error_band_percent", "tpot_error_band_percent", "ttft_kind", "prediction_note", "reason"})
	r.kinds = true
	return r, nil
}

func (p *servingPredictor) checkHeader(header []string) error {
	missing := slices.DeleteFunc(slices.Clone(servingColumns), func(c string) bool {
		if slices.ContainsFunc(header, func(h string) bool { return rows.Says(names.Column(h), c) }) {
			return true
		}
		s, _ := question.Lookup(question.Estimate, c)
		return s.Get(&p.base) != "" || slices.ContainsFunc(s.RunNames(), func(name string) bool { return slices.Contains(header, name) })
	})
	if len(missing) > 0 {
		return missingColumns(missing, servingColumns)
	}
	return nil
}

// SameModel refuses a run of a model other than the one asked for. Built-in models are recognized
// whatever organisation, training or format the name carries; unknown names are accepted.
func SameModel(wanted, served string) error {
	is, known := model.Catalogue.Name(wanted)
	was, named := model.Catalogue.Name(served)
	if !known || !named || is == was {
		return nil
	}
	return &document.Error{Problems: []document.Problem{{Path: "model", Message: fmt.Sprintf("%s is asked for, but the run is of %s (%s)", is, served, was)}}}
}

// checkServing finds what is wrong with the question, so that no row has to say it.
func checkServing(q *question.Question) error {
	errs := []error{q.Check(question.Serving)}
	if q.System != "" {
		_, err := question.Find("system", q.System, hardware.Catalogue, q.Places())
		errs = append(errs, err)
	}
	if _, err := (workload.Lengths{Input: 1, Output: 1}).Spread(q.In, q.Distribution); err != nil {
		errs = append(errs, &document.Error{Problems: []document.Problem{{Path: "lengths", Message: err.Error()}}})
	}
	return document.Join(errs...)
}

// servingPredictor keeps what rows share.
type servingPredictor struct {
	ctx       context.Context
	given     question.Question
	base      question.Question // of all rows: what they do not say themselves
	said      map[string]string // the same by column
	rows      *rows.Reader
	figures   []servingFigure // of the table
	waiting   bool
	estimator *point.Estimator
}

// newServingPredictor is one that has read nothing yet.
func newServingPredictor(ctx context.Context, q question.Question, t Trial) *servingPredictor {
	p := &servingPredictor{ctx: ctx, given: q, base: q, waiting: t.Waiting, said: map[string]string{}, estimator: point.NewEstimator()}
	p.estimator.Tune, p.estimator.Rough = t.Tune, true
	p.base.System, p.base.TP = "", 0
	for _, word := range question.Words(q.MeasuredOn) { // what is wrong with it is reported already
		name, value, _ := strings.Cut(word, "=")
		if s, ok := question.Column(question.Estimate|question.Runs, name); ok {
			_ = s.Set(&p.base, strings.TrimSpace(value))
			p.said[strings.ReplaceAll(s.Name, "-", "_")] = strings.TrimSpace(value)
		}
	}
	p.rows = rows.NewReader(q)
	return p
}

// cells are those of a row, with what is said of all rows in place of those that are empty.
func (p *servingPredictor) cells(cell func(string) string) rows.Row {
	return rows.Row{Cell: func(column string) string {
		text, said := cell(column), p.said[column]
		if text != "" || said == "" {
			return text
		}
		s, _ := question.Column(question.Estimate|question.Runs, column)
		if slices.ContainsFunc(s.RunNames(), func(name string) bool { return cell(name) != "" }) {
			return ""
		}
		return said
	}}.Completed()
}

func (p *servingPredictor) row(cell func(string) string) Row {
	run, err := p.read(cell)
	cells := p.cells(cell)
	get := cells.Get
	system, _, _ := strings.Cut(cells.Cell("system"), "(")
	group := []string{path.Base(get("model")), strings.TrimSpace(system), cmp.Or(get("engine"), engine.Any), cmp.Or(get("weights"), "as published"), get("mode")}
	row := Row{
		Group: strings.Join(group, " "), Class: get("mode"), Note: run.note,
		Label:   fmt.Sprintf("%s + %s tokens, %s, num_gpus %s", get("isl"), get("osl"), loadOf(cells), cmp.Or(get("gpus"), "?")),
		More:    []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()},
		drafted: draftedIn(cells, p.figures),
	}
	for i := range p.figures {
		f := p.figures[i].measured(cell)
		f.Reason = cmp.Or(f.Reason, p.figures[i].unclear(cell, run.full))
		row.Figures = append(row.Figures, f)
	}
	var a answer
	if err == nil {
		a, err = p.answer(run)
	}
	if err != nil {
		why := reasonIn(err)
		for i := range row.Figures {
			if f := &row.Figures[i]; i < meanFigures || f.Measured > 0 {
				f.Reason = cmp.Or(f.Reason, why)
			}
		}
		return row
	}
	d := &run.Served
	row.Model, row.Engine, row.System = d.Model.Name, d.Engine.Name, d.Of(op.Decode).System.Name
	row.Deployment, row.Unstated = Identity(d), d.Unstated
	row.Procs, row.Clients, row.Output = d.Procs(), run.Load.Clients, run.Load.Lengths.Output
	if run.guessed {
		row.Figures[0].Reason = cmp.Or(row.Figures[0].Reason, "no concurrency; that of TPOT follows from the batch size")
	}
	if run.Load.Lengths.Output == 1 {
		row.Figures[1].Reason = cmp.Or(row.Figures[1].Reason, "a request of one output token has no time per output token")
	}
	fill(&row, p.figures, &a)
	if over := run.overload(&a); over != "" {
		row.Note = strings.TrimPrefix(row.Note+"; "+over, "; ")
	}
	row.Kind = run.kind()
	row.More[0] = a.requests() * a.output
	row.More[1] = run.Held / estimate.GiB
	if t := a.trusted; t != nil {
		row.Figures[0].Trusted, row.Figures[1].Trusted = &t.TTFT, &t.TPOT
		row.More[2], row.More[3] = bandPercent(&t.TTFT), bandPercent(&t.TPOT)
	}
	return row
}

func loadOf(r rows.Row) string {
	if clients := r.Get("concurrency"); clients != "" {
		return clients + " clients"
	}
	if rate := r.Get("request_rate"); rate != "" {
		return rate + " requests/s"
	}
	return "? clients"
}

func reasonIn(err error) string {
	var out []string
	for _, p := range document.Join(err).(*document.Error).Problems {
		out = append(out, strings.ReplaceAll(p.String(), "\n", "; "))
	}
	return strings.Join(out, "; ")
}

// ifMeasured is a figure that is predicted whether or not it was measured.
func ifMeasured(text string) Figure {
	if text == "" {
		return Figure{}
	}
	return measured(text)
}

// servingRun is a row: the question that it asks, and the deployment that answers it.
type servingRun struct {
	*point.Answer
	q       question.Question
	guessed bool   // the concurrency is that of full batches
	full    bool   // of requests, throughout
	note    string // what stands in for what is not known
}

// rate is the requests per second that come by themselves; 0: clients wait for their answers.
func (r *servingRun) rate() float64 {
	if math.IsInf(r.q.Traffic.Rate, 1) {
		return 0
	}
	return r.q.Traffic.Rate
}

// usualRequests of each client count where a measured run does not say how many there were.
const usualRequests = 10

// read takes a row apart. The error holds all that is wrong with it.
func (p *servingPredictor) read(cell func(string) string) (*servingRun, error) {
	row := p.rows.Canonical(p.cells(cell), p.measured(cell))
	q, err := question.OfRun(p.base, row.Cell)
	run := &servingRun{q: q, full: row.Cell("full") != "", note: row.Cell("note")}
	errs := []error{err, SameModel(q.Model, cell(runs.ServedModel))}
	q.Versioned = cell("backend_version")+cell("version") != ""
	q.Nominal = cell("length_spread")+cell("lengths") == ""
	if why := row.Cell("unpredictable"); why != "" {
		errs = append(errs, errors.New(why))
	}
	q.System, q.Distribution = cmp.Or(p.given.System, q.System), cmp.Or(p.given.Distribution, q.Distribution)
	if q.Started = p.measured(cell); q.Started && q.PerClient == 0 && row.Cell("requests_per_client") == "" {
		q.PerClient = usualRequests
	}
	if q.Concurrency > 0 || !math.IsInf(q.Traffic.Rate, 1) {
		q.Batch = 0
	} else if run.guessed = true; q.Batch == 0 {
		errs = append(errs, errors.New("no concurrency"))
	}
	if err := document.Join(errs...); err != nil {
		return run, err
	}
	serve := p.serve
	if q.Unsized {
		serve = p.fewest
	}
	if run.Answer, err = serve(q); err == nil && run.guessed {
		q.Concurrency, q.Batch = run.Load.Clients, 0
		run.Answer, err = serve(q)
	}
	run.q = q
	return run, err
}

// serve is what clients see of a run. A measured server did start, so if one request does not fit
// and the table gives no memory share, it is assumed to use all memory.
func (p *servingPredictor) serve(q question.Question) (*point.Answer, error) {
	a, err := p.estimator.Serve(&q)
	switch {
	case err != nil:
		return nil, err
	case a.Seen == nil && q.Started && q.Traffic.MemoryShare == 0:
		q.Traffic.MemoryShare = 1
		return p.serve(q)
	case a.Seen == nil || strings.HasPrefix(a.Remark, point.WithoutEngine):
		return nil, errors.New(a.Remark)
	}
	return a, nil
}

// mostUnsized is the most GPUs tried for a server whose size no row gives: one node.
const mostUnsized = 8

// fewest serves by the fewest GPUs, a power of two, that hold the weights and a request.
func (p *servingPredictor) fewest(q question.Question) (*point.Answer, error) {
	for q.TP = 1; q.TP <= mostUnsized; q.TP *= 2 {
		a, err := p.serve(q)
		if err != nil {
			continue
		}
		if tokens, err := a.Predictor.CacheTokens(&a.Served, a.Served.Of(op.Decode), a.Load.Lengths); err == nil && tokens >= float64(a.Load.Lengths.Final()) {
			return a, nil
		}
	}
	q.TP = 1
	if _, err := p.estimator.Serve(&q); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("num_gpus and tp_size are not said, and %d GPUs do not hold the weights and a request", mostUnsized)
}

// Kinds of a TTFT: of all requests of a benchmark, whose clients start at once on a server that has
// just started, or of a server that has been serving.
const (
	coldTTFT   = "cold"
	steadyTTFT = "steady"
)

// kind is that of the TTFT which the protocol of a run implies.
func (r *servingRun) kind() string {
	if r.rate() > 0 || r.Load.Requests == 0 {
		return steadyTTFT
	}
	return coldTTFT
}

func (p *servingPredictor) answer(r *servingRun) (answer, error) {
	a := answer{output: float64(r.Load.Lengths.Output), gpus: float64(r.Served.Procs()), endless: r.endless()}
	if r.rate() > 0 && p.waiting {
		return a, errors.New("requests come at a rate")
	}
	var err error
	var seen serving.Prediction
	if r.rate() == 0 && r.kind() == steadyTTFT {
		a.record, seen, err = simulate.NewLoops(r.Predictor).Recorded(&r.Served, r.Load)
		a.rate = seen.Requests
	} else {
		a.record, a.parts, err = simulated(p.ctx, r)
	}
	if err != nil || r.rate() > 0 {
		return a, err
	}
	seen = serving.Prediction{Batch: max(1, (a.record.E2E.Mean()-a.record.TTFT.Mean())*a.requests()/float64(r.Served.Of(op.Decode).Ranks()))}
	trusted := r.Predictor.Confidence(&r.Served, r.Load, &seen)
	a.trusted = &trusted
	return a, nil
}

// measured says whether a row has any of the figures of its table.
func (p *servingPredictor) measured(cell func(string) string) bool {
	return slices.ContainsFunc(p.figures, func(f servingFigure) bool { return f.measured(cell) != Figure{} })
}
