package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/table"
	"throughline/serving/simulate"
	"throughline/workload"
)

// RequestsOptions say how recorded runs of an engine are replayed.
type RequestsOptions struct {
	Steps  string // where the times of steps come from: one of question.StepSources
	System string // for own times
	Assume string
}

// RequestsReport is runs that were replayed.
type RequestsReport struct {
	Steps, Equal int // of recorded steps; Compared is false where they say nothing but their times
	Compared     bool
	Differences  []string // of the first steps that are not equal
	Metrics      []RunMetric
	Predicted    []PredictedStep
	Unpredicted  []string // runs for which there are no times of steps, and why
	Unlisted     int      // runs whose requests or steps are there, but no row of runs.csv
}

type RunMetric struct {
	Run, Metric         string
	Measured, Predicted float64
}

// Error is relative to the measured value; if that is 0, the error is 0 or NaN.
func (m *RunMetric) Error() float64 {
	if m.Measured == m.Predicted {
		return 0
	}
	return (m.Predicted - m.Measured) / m.Measured
}

// PredictedStep is a step as it was replayed.
type PredictedStep struct {
	Run        string
	Step       int
	Start, End float64
	stepFigures
}

type stepFigures struct{ decode, prefillTokens, prefillSeqs, waiting, blocks, context int64 }

var stepColumns = []string{"n_decode", "prefill_tokens", "prefill_seqs", "n_waiting", "kv_blocks_used", "sum_ctx"}

func (f *stepFigures) list() []int64 {
	return []int64{f.decode, f.prefillTokens, f.prefillSeqs, f.waiting, f.blocks, f.context}
}

type engineRun struct {
	name, model string
	policy      simulate.Policy
	closed      int // clients; 0: requests arrive by themselves
	measured    map[string]float64
	requests    []workload.Request
	steps       []recordedStep
}

// recordedStep is a row of the steps of a run.
type recordedStep struct {
	start, end float64
	figures    stepFigures
	known      bool // its figures were read
	pairs      float64
}

// Requests replays a folder of runs.csv, requests.csv, steps.csv and step_times.csv, maybe packed.
func Requests(ctx context.Context, dir string, o RequestsOptions) (*RequestsReport, error) {
	if !slices.Contains(question.StepSources, o.Steps) {
		return nil, fmt.Errorf("steps: %s", document.NotOneOf(o.Steps, question.StepSources))
	}
	runs, unlisted, err := readRuns(dir, o.Steps)
	if err != nil {
		return nil, err
	}
	report := &RequestsReport{Compared: true, Unlisted: unlisted}
	timer := runTimer{options: o, dir: dir}
	for _, run := range runs {
		err := timer.replay(ctx, run, report)
		var none *noTimesError
		switch {
		case errors.As(err, &none):
			// Other runs may be of models that are known.
			report.Unpredicted = append(report.Unpredicted, fmt.Sprintf("run %s: %s", run.name, strings.ReplaceAll(none.Error(), "\n", "; ")))
		case err != nil:
			return nil, fmt.Errorf("run %s: %w", run.name, err)
		}
	}
	return report, nil
}

// replay runs the requests of a run again.
func (t *runTimer) replay(ctx context.Context, run *engineRun, report *RequestsReport) error {
	pool, clock, err := t.pool(run)
	if err != nil {
		return err
	}
	o := simulate.Options{Pools: []simulate.Pool{pool}, Clock: clock}
	figures := runFigures{}
	o.Watch = func(s *simulate.Step) {
		got := stepFigures{int64(s.Work.Decodes), int64(s.Work.Tokens()), int64(len(s.Work.Chunks)), int64(s.Waiting), int64(s.Blocks), s.Work.Context}
		report.Predicted = append(report.Predicted, PredictedStep{run.name, s.Index, s.Start, s.End, got})
		if t.options.Steps == "recorded" {
			report.compare(run, s.Index, got)
		}
		figures.step(s)
	}
	if t.options.Steps == "recorded" {
		report.Steps += len(run.steps)
	}
	record, err := simulate.Run(ctx, o, workload.ByClients(&workload.List{Requests: run.requests}, run.closed))
	if err != nil {
		return err
	}
	for _, m := range requestMetrics {
		if measured, ok := run.measured[m.name]; ok {
			report.Metrics = append(report.Metrics, RunMetric{run.name, m.name, measured, m.of(record, &figures)})
		}
	}
	return nil
}

// compare looks whether a step is the one that was recorded.
func (r *RequestsReport) compare(run *engineRun, index int, got stepFigures) {
	if index >= len(run.steps) {
		r.differ(fmt.Sprintf("%s: step %d was never recorded", run.name, index))
		return
	}
	want := &run.steps[index]
	if !want.known {
		r.Compared = false
		return
	}
	if got == want.figures {
		r.Equal++
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: step %d:", run.name, index)
	g, w := got.list(), want.figures.list()
	for i, name := range stepColumns {
		if g[i] != w[i] {
			fmt.Fprintf(&b, " %s %d, recorded %d;", name, g[i], w[i])
		}
	}
	r.differ(strings.TrimSuffix(b.String(), ";"))
}

func (r *RequestsReport) differ(what string) {
	if len(r.Differences) < 5 {
		r.Differences = append(r.Differences, what)
	}
}

// runFigures are those of a run that the record does not have.
type runFigures struct {
	maxWaiting int
	running    float64
}

func (f *runFigures) step(s *simulate.Step) {
	f.maxWaiting = max(f.maxWaiting, s.Queued)
	f.running += float64(s.Running) * (s.End - s.Start)
}

// requestMetric is a column of runs.csv that a replay predicts.
type requestMetric struct {
	name string
	of   func(*simulate.Record, *runFigures) float64
}

var requestMetrics = func() []requestMetric {
	type record = simulate.Record
	list := []requestMetric{
		{"duration_s", func(r *record, _ *runFigures) float64 { return r.Duration() }},
		{"req_per_s", func(r *record, _ *runFigures) float64 { return float64(r.Requests) / r.Duration() }},
		{"in_tok_per_s", func(r *record, _ *runFigures) float64 { return float64(r.Input) / r.Duration() }},
		{"out_tok_per_s", func(r *record, _ *runFigures) float64 { return float64(r.Output) / r.Duration() }},
	}
	for _, d := range []struct {
		name string
		of   func(*record) *simulate.Distribution
	}{
		{"ttft", func(r *record) *simulate.Distribution { return &r.TTFT }},
		{"tpot", func(r *record) *simulate.Distribution { return &r.TPOT }},
		{"itl", func(r *record) *simulate.Distribution { return &r.ITL }},
		{"e2e", func(r *record) *simulate.Distribution { return &r.E2E }},
	} {
		list = append(list, requestMetric{d.name + "_mean_ms", func(r *record, _ *runFigures) float64 { return 1e3 * d.of(r).Mean() }})
		for _, p := range []int{50, 90, 99} {
			list = append(list, requestMetric{fmt.Sprintf("%s_p%d_ms", d.name, p), func(r *record, _ *runFigures) float64 { return 1e3 * d.of(r).Quantile(float64(p)/100) }})
		}
	}
	return append(list,
		requestMetric{"itl_max_ms", func(r *record, _ *runFigures) float64 { return 1e3 * r.ITL.Max }},
		requestMetric{"mean_running", func(r *record, f *runFigures) float64 { return f.running / r.Duration() }},
		requestMetric{"max_waiting", func(_ *record, f *runFigures) float64 { return float64(f.maxWaiting) }},
		requestMetric{"preemptions", func(r *record, _ *runFigures) float64 { return float64(r.Preemptions) }},
		requestMetric{"steps", func(r *record, _ *runFigures) float64 { return float64(r.Steps) }},
		requestMetric{"steps_P", func(r *record, _ *runFigures) float64 { return float64(r.Kinds[0]) }},
		requestMetric{"steps_M", func(r *record, _ *runFigures) float64 { return float64(r.Kinds[1]) }},
		requestMetric{"steps_D", func(r *record, _ *runFigures) float64 { return float64(r.Kinds[2]) }},
		requestMetric{"kv_peak_blocks", func(r *record, _ *runFigures) float64 { return float64(r.PeakBlocks) }},
	)
}()

func (r *RequestsReport) WriteCSV(w io.Writer) error {
	return table.Of([]table.Column[*RunMetric]{
		table.TextColumn("run", func(m *RunMetric) string { return m.Run }),
		table.TextColumn("metric", func(m *RunMetric) string { return m.Metric }),
		table.NumberColumn("measured", "%.7g", func(m *RunMetric) float64 { return m.Measured }),
		table.NumberColumn("predicted", "%.7g", func(m *RunMetric) float64 { return m.Predicted }),
		{Name: "error_percent", Kind: table.Number, Format: "%.3f", Value: func(m *RunMetric) any {
			if v := 100 * m.Error(); !math.IsNaN(v) && !math.IsInf(v, 0) {
				return v
			}
			return nil
		}},
	}, r.Metrics).Write(w, table.CSV)
}

// WriteSteps writes the steps as they were replayed, with the names of the recorded ones.
func (r *RequestsReport) WriteSteps(w io.Writer) error {
	columns := []table.Column[*PredictedStep]{
		table.TextColumn("run", func(s *PredictedStep) string { return s.Run }),
		table.CountColumn("step", func(s *PredictedStep) int { return s.Step }),
		table.NumberColumn("t_start", "%.6f", func(s *PredictedStep) float64 { return s.Start }),
		table.NumberColumn("t_end", "%.6f", func(s *PredictedStep) float64 { return s.End }),
	}
	for i, name := range stepColumns {
		columns = append(columns, table.CountColumn(name, func(s *PredictedStep) int { return int(s.list()[i]) }))
	}
	return table.Of(columns, r.Predicted).Write(w, table.CSV)
}

// readRuns reads what the chosen steps need; it skips and counts runs missing from runs.csv.
func readRuns(dir, steps string) (runs []*engineRun, unlisted int, err error) {
	if info, err := files.Machine.Stat(dir); err != nil || !info.IsDir() {
		return nil, 0, fmt.Errorf("%s: is no folder; name one with runs.csv, requests.csv and steps.csv, plain or .gz", dir)
	}
	byName := map[string]*engineRun{}
	err = readTable(dir, "runs.csv", []string{"run", "model", "policy", "budget", "max_running", "kv_tokens", "arrival"}, func(c *cells) {
		run := readRun(c)
		if byName[run.name] != nil {
			c.problem("run", fmt.Sprintf("%q stands there twice", run.name))
		}
		byName[run.name] = run
		runs = append(runs, run)
	})
	if err != nil {
		return nil, 0, err
	}
	others := map[string]*engineRun{}
	find := func(c *cells) *engineRun {
		name := c.text("run")
		if run := byName[name]; run != nil {
			return run
		}
		if others[name] == nil {
			others[name] = &engineRun{closed: 1} // whatever the order of its requests
		}
		return others[name]
	}
	err = readRequests(dir, find)
	if err == nil && (steps == "recorded" || steps == "run") {
		err = readSteps(dir, runs, find)
	}
	if err != nil {
		return nil, 0, err
	}
	var errs []error
	for _, run := range runs {
		switch {
		case len(run.requests) == 0:
			errs = append(errs, fmt.Errorf("%s: there are none of run %q", filepath.Join(dir, "requests.csv"), run.name))
		case len(run.steps) == 0 && (steps == "recorded" || steps == "run"):
			errs = append(errs, fmt.Errorf("%s: there are none of run %q", filepath.Join(dir, "steps.csv"), run.name))
		}
	}
	return runs, len(others), document.Join(errs...)
}

// readRun reads a row of runs.csv: the settings of the engine, and the figures measured of it.
func readRun(c *cells) *engineRun {
	run := &engineRun{name: c.text("run"), model: c.text("model"), measured: map[string]float64{}}
	run.policy = simulate.Policy{
		Scheduling:  deploy.Scheduling{StepTokens: c.count("budget"), Sequences: c.count("max_running")},
		BlockTokens: blockTokens, Blocks: c.count("kv_tokens") / blockTokens,
	}
	switch policy := c.text("policy"); policy {
	case "A":
		run.policy.Prefill, run.policy.Watermark = deploy.First, 0.01
	case "B":
		run.policy.Prefill = deploy.Chunks
	default:
		c.problem("policy", fmt.Sprintf("%s: prefill first is A, chunks beside decodes are B", document.NotOneOf(policy, []string{"A", "B"})))
	}
	if c.text("arrival") == "closed" {
		run.closed = c.count("clients")
	}
	for _, m := range requestMetrics {
		if v, ok := c.cellNumber(m.name); ok {
			run.measured[m.name] = v
		}
	}
	return run
}

// readRequests reads the requests of all runs, in the order of their numbers where these are told.
func readRequests(dir string, find func(*cells) *engineRun) error {
	type row struct {
		cells
		run     *engineRun
		number  float64
		request workload.Request
	}
	var rows []row
	err := readTable(dir, "requests.csv", []string{"run", "arrival", "input", "output"}, func(c *cells) {
		r := row{cells: *c, run: find(c), request: workload.Request{Input: c.count("input"), Output: c.count("output")}}
		r.request.Arrival, _ = c.cellNumber("arrival")
		r.number, _ = c.cellNumber("req")
		rows = append(rows, r)
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.number, b.number) })
	var errs []error
	for i := range rows {
		r := &rows[i]
		r.errs = &errs
		if n := len(r.run.requests); n > 0 && r.run.closed == 0 && r.request.Arrival < r.run.requests[n-1].Arrival {
			r.problem("arrival", "is before that of the request in front of it")
		}
		if r.run.closed > 0 {
			r.request.Arrival = 0 // clients send as they are free
		}
		r.run.requests = append(r.run.requests, r.request)
	}
	return document.Join(errs...)
}

// blockTokens is the tokens of a block of the recorded engine.
const blockTokens = 16

func readSteps(dir string, runs []*engineRun, find func(*cells) *engineRun) error {
	err := readTable(dir, "steps.csv", []string{"run", "t_start", "t_end"}, func(c *cells) {
		run := find(c)
		s := recordedStep{known: true}
		s.start, _ = c.cellNumber("t_start")
		s.end, _ = c.cellNumber("t_end")
		var v [6]int64
		for i, name := range stepColumns {
			n, ok := c.cellNumber(name)
			s.known = s.known && ok
			v[i] = int64(n)
		}
		s.figures = stepFigures{v[0], v[1], v[2], v[3], v[4], v[5]}
		s.pairs, _ = c.cellNumber("prefill_pairs")
		run.steps = append(run.steps, s)
	})
	for _, run := range runs {
		slices.SortStableFunc(run.steps, func(a, b recordedStep) int { return cmp.Compare(a.start, b.start) })
	}
	return err
}

// cells is a row of a table, and what is wrong with it.
type cells struct {
	file    string
	columns map[string]int
	row     []string
	line    int
	errs    *[]error
}

func (c *cells) text(name string) string {
	if at, ok := c.columns[name]; ok {
		return strings.TrimSpace(csvfile.Unguard(c.row[at]))
	}
	return ""
}

func (c *cells) problem(name, what string) {
	if len(*c.errs) < 20 {
		*c.errs = append(*c.errs, fmt.Errorf("%s: line %d: %s: %s", c.file, c.line, name, what))
	}
}

// number is that of a cell, or false where it is empty.
func (c *cells) cellNumber(name string) (float64, bool) {
	text := c.text(name)
	if text == "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		c.problem(name, fmt.Sprintf("must be a number from 0 on, not %q", text))
		return 0, false
	}
	return v, true
}

// count is a number of at least 1 that must be there.
func (c *cells) count(name string) int {
	v, _ := c.cellNumber(name)
	if v < 1 || v != math.Trunc(v) || v > 1e12 {
		c.problem(name, fmt.Sprintf("must be a whole number of at least 1, not %q", c.text(name)))
		return 1
	}
	return int(v)
}

// readTable reads a table of a folder, plain or packed, row by row.
func readTable(dir, name string, needed []string, each func(*cells)) error {
	file := filepath.Join(dir, name)
	f, err := csvfile.OpenEither(files.Machine, file)
	if err != nil {
		return document.Unreadable(files.Machine, file, err)
	}
	defer f.Close()
	r := csvfile.NewReader(f, csvfile.Kept)
	header, err := r.Header()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var errs []error
	c := cells{file: file, columns: map[string]int{}, errs: &errs}
	for i, h := range header {
		c.columns[h] = i
	}
	for _, n := range needed {
		if _, ok := c.columns[n]; !ok {
			errs = append(errs, fmt.Errorf("%s: there is no column %q", file, n))
		}
	}
	width := len(header)
	for len(errs) == 0 {
		row, err := r.Read()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if c.row, c.line = row, r.Line(); len(row) != width {
			errs = append(errs, fmt.Errorf("%s: line %d: %d cells, the header has %d", file, r.Line(), len(row), width))
			break
		}
		each(&c)
	}
	return document.Join(errs...)
}

// Spread is the median and the 90th percentile of a metric's absolute error in percent, and the
// number of runs that have it.
func (r *RequestsReport) Spread(metric string) (median, high float64, runs int) {
	var all []float64
	for i := range r.Metrics {
		if e := 100 * math.Abs(r.Metrics[i].Error()); r.Metrics[i].Metric == metric && !math.IsNaN(e) && !math.IsInf(e, 0) {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return math.NaN(), math.NaN(), 0
	}
	slices.Sort(all)
	return simulate.Quantile(all, 0.5), simulate.Quantile(all, 0.9), len(all)
}

// MetricNames are the figures that runs have, in their order.
func (r *RequestsReport) MetricNames() []string {
	var out []string
	for _, m := range requestMetrics {
		if _, _, n := r.Spread(m.name); n > 0 {
			out = append(out, m.name)
		}
	}
	return out
}
