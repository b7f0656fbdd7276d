package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"throughline/assume"
	"throughline/internal/document"
	"throughline/internal/jobfile"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sweep"
	"throughline/op"
)

// runOptions are the flags of the run command.
type runOptions struct {
	flags      *settings
	output     output
	categories bool
	gzip       bool
	json       bool
	long       bool
	explain    bool
	view       viewOptions
	charts     charts
	x, y, by   string // fields of charts
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

The terminal shows a short table; of more than 40 runs, the best of each model on each
system, and how many there are.

Exit codes: 0 done; 1 no run has a plan; 2 the input has problems, nothing was
written; 3 the results could not be written.`,
		Example: `  throughline run -c configs/reference_sample.json
  throughline run -c scan.json --category --gzip
  throughline run -c scan.json --long --gzip
  throughline run -c scan.json --columns TTFT,TPOT,request_per_second_per_npu
  throughline run -c scan.json --explain-rejected
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
	addOutputs(cmd, "run", o.charts.with(picture.Names(picture.RunKinds), map[string]any{
		"json": &o.json, "wide": &o.view.wide, "columns": &o.view.columns, "output": &o.output,
		"category": &o.categories, "long": &o.long, "gzip": &o.gzip, "explain-rejected": &o.explain,
		"html": &o.charts.html, "x": &o.x, "y": &o.y, "by": &o.by}))
	return cmd
}

func run(ctx context.Context, s Streams, o runOptions) error {
	q, err := o.flags.read()
	if err != nil {
		return err
	}
	table, jobs, err := o.prepare(s, &q)
	if err != nil {
		return err
	}
	parts := 0
	for _, job := range jobs {
		parts += job.Parts()
	}
	progress := newProgress(s.watched, parts)
	defer progress.finish()
	// A run leaves half a megabyte behind and keeps next to nothing: with the usual setting two thirds of the time go into
	// collecting.
	defer debug.SetGCPercent(debug.SetGCPercent(200))
	options := sweep.Options{Jobs: workers(&q), Thorough: o.explain, Tick: progress.tick}
	array := report.NewArray(s.data)
	var v verdict
	section, all := 0, page.NewRuns(filepath.Base(q.Config))
	show := func(r *result.Record) error {
		v.note(r)
		if o.charts.given() || o.charts.html.name != "" {
			o.pictures[section].Add(r)
		}
		if o.charts.html.name != "" {
			all.Add(r)
		}
		if o.json {
			return array.Add(r)
		}
		table.Add(r)
		return nil
	}
	for i, job := range jobs {
		section = i
		all.Start(job.Mode, o.pictures[i])
		// Each job is written when it is done: what comes after it cannot undo it.
		if o.long {
			err = o.longTable(ctx, s, job, options, show)
		} else {
			err = o.wideTables(ctx, s, job, options, show)
		}
		if err == nil {
			err = drawSome(ctx, s, o.sheets[i], picture.RunKinds, o.pictures[i])
		}
		if err != nil {
			return err
		}
	}
	progress.finish()
	if err := o.charts.writePage(ctx, s, all.Page); err != nil {
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
	return v.tell(s)
}

// prepare checks the flags, reads the file, and prepares the table for the terminal.
func (o *runOptions) prepare(s Streams, q *question.Question) (*report.Runs, []*jobfile.Job, error) {
	if q.Config == "" {
		return nil, nil, errors.New("run needs a runtime file: throughline run -c FILE")
	}
	if o.long && o.categories {
		return nil, nil, errors.New("--category is for tables with a row per field: --long has a column per field")
	}
	as, err := assume.Parse(q.Assume)
	if err != nil {
		return nil, nil, err
	}
	table, err := report.NewRuns(o.view.of(s))
	if err != nil {
		return nil, nil, err
	}
	jobs, warnings, err := jobfile.Load(q.Config, as)
	warn(s, warnings)
	if err != nil {
		return nil, nil, err
	}
	errs := []error{o.prepareCharts(q.Config, jobs)}
	for _, job := range jobs {
		if why := tooWide(job.Len(), o.categories); why != "" && !o.long {
			errs = append(errs, fmt.Errorf("%s: %s", job.Mode, why))
		}
	}
	return table, jobs, document.Join(errs...)
}

// prepareCharts reads the flags of charts: each section of the file has its own.
func (o *runOptions) prepareCharts(config string, jobs []*jobfile.Job) error {
	var errs []error
	axis := func(flag, field string) *result.Field {
		list, err := report.FieldsOf(flag, field)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		return list[0]
	}
	x, y, by := axis("x", o.x), axis("y", o.y), axis("by", o.by)
	for _, job := range jobs {
		sheet, err := o.charts.plan([]string{config}, func(kind string) string {
			return filepath.Join(filepath.Dir(o.fileName(job, "")), job.Mode+"_"+kind+".svg")
		})
		errs = append(errs, err)
		o.sheets = append(o.sheets, sheet)
		o.pictures = append(o.pictures, &picture.Runs{Title: filepath.Base(config) + ", " + job.Mode, X: x, Y: y, By: by})
	}
	if len(jobs) > 1 && strings.Contains(strings.Join(o.charts.wanted, ","), "=") {
		errs = append(errs, fmt.Errorf("--chart: the file has %d sections, and each has charts; leave out the names of files", len(jobs)))
	}
	return document.Join(errs...)
}

// tooWide says that a table is one that spreadsheets do not show whole: it has a column per run, and one or two that name
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

// fileName is that of a table of a job.
func (o *runOptions) fileName(job *jobfile.Job, table string) string {
	dir := job.Output
	if o.output.name != "" {
		dir = o.output.name
	}
	name := filepath.Join(dir, job.Mode+"_"+table+".csv")
	if o.gzip {
		name += ".gz"
	}
	return name
}

// wideTables runs a job and writes its tables, which appear together.
func (o *runOptions) wideTables(ctx context.Context, s Streams, job *jobfile.Job, options sweep.Options, show func(*result.Record) error) error {
	wide := report.NewWide()
	err := sweep.Run(ctx, job, options, func(r *result.Record) error {
		wide.Add(r)
		return failed(show(r))
	})
	if err != nil {
		return err
	}
	var files []report.File
	for i, name := range wide.Tables() {
		files = append(files, report.File{Name: o.fileName(job, name), Write: func(w io.Writer) error { return wide.WriteCSV(w, i, o.categories) }})
	}
	if err := report.WriteFiles(ctx, files...); err != nil {
		return systemError{err}
	}
	for _, f := range files {
		fmt.Fprintln(s.Err, "wrote", f.Name)
	}
	return nil
}

// longTable runs a job and writes each run when it is done. The file appears when it is complete.
func (o *runOptions) longTable(ctx context.Context, s Streams, job *jobfile.Job, options sweep.Options, show func(*result.Record) error) error {
	var sweeping error
	file := report.File{Name: o.fileName(job, "long"), Write: func(w io.Writer) error {
		long := report.NewLong(w)
		sweeping = sweep.Run(ctx, job, options, func(r *result.Record) error { return failed(errors.Join(long.Add(r), show(r))) })
		return errors.Join(sweeping, long.Flush())
	}}
	err := report.WriteFiles(ctx, file)
	switch {
	case sweeping != nil:
		return sweeping
	case err != nil:
		return systemError{err}
	}
	fmt.Fprintln(s.Err, "wrote", file.Name)
	return nil
}

// failed is a failure to write.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return systemError{err}
}

// verdict is which runs lack a plan.
type verdict struct {
	found bool
	lines []string
	more  int // runs without a plan that are not told
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
		v.lines = append(v.lines, fmt.Sprintf("%s run_%d (%s on %s): no plan: %s", r.Mode, r.Number, r.Model.Name, r.Sides[op.Decode].System.Name, reason))
	}
}

// tell says why runs have no plan, and fails when none has one.
func (v *verdict) tell(s Streams) error {
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
