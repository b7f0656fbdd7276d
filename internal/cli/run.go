package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"throughline/assume"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/rawdata"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/scan"
	"throughline/internal/sweep"
)

type runOptions struct {
	flags      *settings
	output     output
	categories bool
	gzip       bool
	json       bool
	long       bool
	formats    []string
	ops        bool
	xlsx       output
	explain    bool
	resume     bool
	request    *scan.Request
	view       viewOptions
	charts     charts
	x, y, by   string   // fields of charts
	served     bool     // by engines, whose energy and dollars are known
	axes       []string // numbers of files that runs differ in
	pictures   []*picture.Runs
	sheets     []*sheet
}

func newRun(s Streams) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run a runtime file: search the best plans, write result tables",
		Long: `Run reads a runtime file, searches the best plan of every combination it lists, and
writes three tables, a row per field and a column per run:

  <output>/<mode>_prefill_best.csv   one instance of the prefill
  <output>/<mode>_decoder_best.csv   one instance of the decode
  <output>/<mode>_result_best.csv    the whole deployment

With --long it writes one table instead, a row per run and a column per field, as the
runs are done:

  <output>/<mode>_long.csv           for files of up to ten million runs

--format asks for any of these forms: wide, long, json (<mode>_long.jsonl) and parquet
(<mode>_long.parquet), which have the rows and columns of --long.

With --op-details there is a table of the operators of every run besides, and the other
tables have fields that sum them up:

  <output>/<mode>_op_details/run_0.csv

--xlsx writes all runs to one workbook. Its raw data are those of a benchmark sheet: how
each deployment is launched, and what clients see, by formula, by simulation (--simulate)
or as measured (--measured).

The terminal shows a short table; of more than 40 runs, the best of each model on each
system, and how many there are.

` + exitHelp(),
		Example: `  throughline run -c configs/reference_sample.json
  throughline run -c scan.json --category --gzip
  throughline run -c scan.json --long --gzip
  throughline run -c scan.json --format wide,parquet
  throughline run -c scan.json --op-details --xlsx scan.xlsx
  throughline run -c scan.json --columns TTFT,TPOT,request_per_second_per_npu
  throughline run -c scan.json --explain-rejected
  throughline run -c scan.json --vary sys.mem1.GBps=x0.5:x2:5 -o out --resume
  throughline run -c scan.json --json | jq '.[0].decoder_best["decoder_throughput(token/s)"]'`,
		Args: onlyFlags("config"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.view.help() {
				return o.view.listFields(s)
			}
			return run(cmd.Context(), s, o)
		},
	}
	o.flags = addSettings(cmd, question.Run)
	addOutputs(cmd, "run", o.charts.with("run", map[string]any{
		"json": &o.json, "wide": &o.view.wide, "columns": &o.view.columns, "output": &o.output,
		"category": &o.categories, "long": &o.long, "format": &o.formats, "gzip": &o.gzip, "explain-rejected": &o.explain, "resume": &o.resume,
		"op-details": &o.ops, "xlsx": &o.xlsx, "html": &o.charts.html, "x": &o.x, "y": &o.y, "by": &o.by}))
	addWatch(cmd, "run", s, func() []string {
		q, _ := o.flags.read() // its problems are reported by the answer
		return withoutEmpty(append(jobfile.Files(files.Machine, q.Config), q.Measured))
	})
	return cmd
}

func run(ctx context.Context, s Streams, o runOptions) error {
	q, err := o.flags.read()
	if err := document.Join(err, q.Check(question.Run)); err != nil {
		return question.Once(err)
	}
	table, jobs, raw, err := o.prepare(s, &q)
	if err != nil {
		return err
	}
	parts := 0
	for _, job := range jobs {
		parts += job.Parts()
	}
	progress := newProgress(s.watched, parts)
	defer progress.finish()
	options := sweep.Options{
		Jobs: q.Workers(), Thorough: o.explain, Ops: o.ops, Raw: o.xlsx.name != "", Simulate: q.Simulated, Tariff: q.Tariff, Tick: progress.tick,
	}
	array := report.NewArray(s.data, o.optionalCategories()...)
	book := o.workbook(raw)
	var v verdict
	section, all := 0, page.NewRuns(filepath.Base(q.Config))
	show := func(r *result.Record) error {
		v.note(r)
		if err := book.add(r); err != nil {
			return err
		}
		if o.charts.given() || o.charts.html.name != "" {
			o.pictures[section].Add(r)
		}
		if o.charts.html.name != "" {
			all.Add(r)
		}
		table.Add(r)
		if o.json {
			return array.Add(r)
		}
		return nil
	}
	for i, job := range jobs {
		section = i
		all.Start(job.Mode, o.pictures[i])
		// Each job is written when done: later ones cannot undo it.
		err := o.section(ctx, s, job, options, show)
		if err == nil {
			err = writeCharts(ctx, s, o.sheets[i], picture.RunKinds, o.pictures[i])
		}
		if err != nil {
			return err
		}
	}
	progress.finish()
	all.Answer = table.Answer()
	if err := book.write(ctx, s, o.xlsx.name, all.Answer); err != nil {
		return err
	}
	if err := writeFiles(ctx, s, o.charts.page(all.Page)...); err != nil {
		return err
	}
	if o.json {
		err = array.Close()
	} else {
		err = table.Write(s.Out)
	}
	if err != nil {
		return systemError{err}
	}
	fmt.Fprint(s.Err, o.view.of(s).Wrap(notSearched(jobs)))
	return v.report(s)
}

// notSearched tells what runs leave out that a plan searches, if some rank what clients see.
func notSearched(jobs []*jobfile.Job) string {
	if !slices.ContainsFunc(jobs, func(j *jobfile.Job) bool { return j.Served() && !j.Planned() }) {
		return ""
	}
	return "not searched: overlap of the exchange between experts, redundant experts unless the file lists them, and serving engines; " +
		"\"search\": \"plan\" in the runtime file searches them, too\n"
}

// prepare checks the flags, reads the files, and prepares the table for the terminal.
func (o *runOptions) prepare(s Streams, q *question.Question) (*report.Runs, []*jobfile.Job, []rawdata.Row, error) {
	if q.Config == "" {
		return nil, nil, nil, errors.New("run needs a runtime file: throughline run -c FILE")
	}
	as, err := assume.Parse(q.Assume)
	o.served = as.Engine
	table, noTable := report.NewRuns(o.view.of(s))
	raw, noBook := o.checkWorkbook(q.Measured)
	if err := document.Join(o.checkFormats(), o.checkResume(), ofFlag("assume", err), o.checkTariff(q), noTable, noBook); err != nil {
		return nil, nil, nil, err
	}
	jobs, warnings, err := jobfile.Load(files.Machine, q.Config, as)
	warn(s, warnings)
	if err != nil {
		return nil, nil, nil, err
	}
	points, err := scan.OfRun(files.Machine, q)
	if err == nil && points != nil {
		err = sweep.Vary(jobs, points)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	o.axes, o.request = jobs[0].Axes(), scan.RequestOfRun(q)
	table.Differ(o.axes)
	errs := []error{o.prepareCharts(q, jobs)}
	for _, job := range jobs {
		if job.Planned() && !job.Served() {
			errs = append(errs, fmt.Errorf("%s: %s.search: \"plan\" ranks what the clients of an engine see, which these assumptions leave out; add --assume physical", q.Config, job.Mode))
		}
		if n := job.Len(); o.ops && n > mostOpTables {
			errs = append(errs, fmt.Errorf("%s: %d runs make as many tables of operators; --op-details writes up to %d", job.Mode, n, mostOpTables))
		}
		if why := tooMany(job.Len()); why != "" && o.xlsx.name != "" {
			errs = append(errs, fmt.Errorf("%s: %s", job.Mode, why))
		}
		if why := tooWide(job.Len(), o.categories); why != "" && o.wide() {
			errs = append(errs, fmt.Errorf("%s: %s", job.Mode, why))
		}
	}
	return table, jobs, raw, document.Join(errs...)
}

// prepareCharts reads the chart flags; each section of the file has its own charts.
func (o *runOptions) prepareCharts(q *question.Question, jobs []*jobfile.Job) error {
	var errs []error
	axis := func(flag, field string) *result.Field {
		if slices.Contains(o.axes, field) {
			return result.AxisField(field)
		}
		list, err := report.FieldsOf(flag, field)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		return list[0]
	}
	x, y, by := axis("x", o.x), axis("y", o.y), axis("by", o.by)
	if info, err := os.Stat(o.output.name); err == nil && !info.IsDir() || o.charts.given() && drawable(o.output.name) {
		errs = append(errs, fmt.Errorf("-o names the folder of the results, and %s is a file; --chart KIND=FILE names the file of a chart", o.output.name))
	}
	inputs := append(jobfile.Files(files.Machine, q.Config), q.Measured)
	for _, job := range jobs {
		sheet, err := o.charts.plan(inputs, func(kind string) string {
			return filepath.Join(o.folder(job), job.Mode+"_"+kind+".svg")
		}, &o.xlsx)
		errs = append(errs, err)
		o.sheets = append(o.sheets, sheet)
		o.pictures = append(o.pictures, &picture.Runs{Title: filepath.Base(q.Config) + ", " + job.Mode, X: x, Y: y, By: by})
	}
	if len(jobs) > 1 && strings.Contains(strings.Join(o.charts.requested, ","), "=") {
		errs = append(errs, fmt.Errorf("--chart: the file has %d sections, and each has charts; leave out the names of files", len(jobs)))
	}
	return question.Once(document.Join(errs...))
}

// checkResume refuses what the parts of an interrupted run do not hold.
func (o *runOptions) checkResume() error {
	if o.resume && o.ops {
		return ofFlag("resume", errors.New("operators are not kept between starts; leave out --op-details, and ask for those of single runs by throughline explain"))
	}
	return nil
}

// checkTariff refuses prices of energy that nobody draws.
func (o *runOptions) checkTariff(q *question.Question) error {
	if o.served || q.Tariff == (hardware.Tariff{}) {
		return nil
	}
	return ofFlag("assume", errors.New("what energy costs follows from what clients see; add --assume physical, or leave energy-price, pue and carbon out"))
}

// tooWide warns of a table too wide for spreadsheets: a column per run, and one or two that name
// its rows.
func tooWide(runs int, categories bool) string {
	n := runs + 1
	if categories {
		n++
	}
	if n <= report.MostColumns {
		return ""
	}
	return fmt.Sprintf("%d runs make tables of %d columns, and spreadsheets show the first %d; --long writes one table with a row per run", runs, n, report.MostColumns)
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return systemError{err}
}

// verdict collects runs without a plan.
type verdict struct {
	found bool
	lines []string
	more  int // runs without a plan that are not listed
}

func (v *verdict) note(r *result.Record) {
	for _, side := range r.Sides {
		v.found = v.found || side.Found
	}
	if len(r.Reasons) > 0 && len(v.lines) >= report.Few {
		v.more++
		return
	}
	for _, reason := range r.Reasons {
		v.lines = append(v.lines, fmt.Sprintf("%s run_%d (%s on %s): no plan: %s", r.Mode, r.Number, r.Model.Name, r.Decoding().System.Name, reason))
	}
}

// report explains why runs have no plan, and fails if none has one.
func (v *verdict) report(s Streams) error {
	for _, line := range v.lines {
		fmt.Fprintln(s.Err, line)
	}
	if v.more > 0 {
		fmt.Fprintf(s.Err, "and %d more runs without a plan; --long has their reasons\n", v.more)
	}
	if !v.found {
		return exitError{exitNoPlan}
	}
	return nil
}
