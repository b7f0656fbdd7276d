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
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sweep"
	"throughline/op"
)

// runOptions are the flags of the run command.
type runOptions struct {
	config     string
	output     string
	categories bool
	gzip       bool
	json       bool
	long       bool
	explain    bool
	assume     string
	jobs       int
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
		Short: "Run a runtime file: search the best plans and write the result tables",
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
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), s, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.config, "config", "c", "", "runtime file (required)")
	f.StringVarP(&o.output, "output", "o", "", "folder of the results, instead of the one the file names")
	f.BoolVar(&o.categories, "category", false, "start every row of the tables with its category")
	f.BoolVar(&o.long, "long", false, "write one table with a row per run instead of three with a column per run")
	f.BoolVar(&o.gzip, "gzip", false, "compress the tables (.csv.gz)")
	f.BoolVar(&o.json, "json", false, "print the results as JSON instead of a table")
	f.BoolVar(&o.explain, "explain-rejected", false, "say what ruled plans out, and what would have let them through")
	f.StringVar(&o.assume, "assume", assume.Reference.Name, "modelling assumptions: reference or physical, and changes like reference,causal=true")
	addJobs(cmd, &o.jobs)
	o.view.flags(cmd)
	o.charts.flags(cmd, picture.Names(picture.RunKinds), true)
	o.charts.page()
	for _, field := range []struct {
		name, usual, doc string
		ref              *string
	}{
		{"x", picture.UsualX, "field along the x axis of lines and heatmap", &o.x},
		{"y", picture.UsualY, "field that lines and heatmap show", &o.y},
		{"by", picture.UsualBy, "field of which each value has a line, or a row of a heatmap", &o.by},
	} {
		f.StringVar(field.ref, field.name, field.usual, field.doc)
	}
	f.StringSliceVar(&o.view.columns, "columns", nil, "fields to show in the terminal instead of the usual ones: names of the columns of --long")
	return cmd
}

func run(ctx context.Context, s Streams, o runOptions) error {
	table, jobs, err := o.prepare(s)
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
	options := sweep.Options{Jobs: o.jobs, Thorough: o.explain, Tick: progress.tick}
	array := report.NewArray(s.data)
	var v verdict
	section, all := 0, page.NewRuns(filepath.Base(o.config))
	show := func(r *result.Record) error {
		v.note(r)
		if o.charts.given() || o.charts.html != "" {
			o.pictures[section].Add(r)
		}
		if o.charts.html != "" {
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
func (o *runOptions) prepare(s Streams) (*report.Runs, []*jobfile.Job, error) {
	if o.config == "" {
		return nil, nil, errors.New("run needs a runtime file: throughline run -c FILE")
	}
	if o.long && o.categories {
		return nil, nil, errors.New("--category is for tables with a row per field: --long has a column per field")
	}
	as, err := assume.Parse(o.assume)
	if err := document.Join(checkJobs(o.jobs), ofFlag("assume", err)); err != nil {
		return nil, nil, err
	}
	table, err := report.NewRuns(o.view.of(s))
	if err != nil {
		return nil, nil, err
	}
	jobs, warnings, err := jobfile.Load(o.config, as)
	warn(s, warnings)
	if err != nil {
		return nil, nil, err
	}
	errs := []error{o.prepareCharts(jobs)}
	for _, job := range jobs {
		if why := tooWide(job.Len(), o.categories); why != "" && !o.long {
			errs = append(errs, fmt.Errorf("%s: %s", job.Mode, why))
		}
	}
	return table, jobs, document.Join(errs...)
}

// prepareCharts reads the flags of charts: each section of the file has its own.
func (o *runOptions) prepareCharts(jobs []*jobfile.Job) error {
	var errs []error
	fields := map[string]*result.Field{}
	for name, field := range map[string]string{"x": o.x, "y": o.y, "by": o.by} {
		f, err := report.FieldOf(field)
		fields[name] = f
		errs = append(errs, ofFlag(name, err))
	}
	for _, job := range jobs {
		sheet, err := o.charts.plan([]string{o.config}, func(kind string) string {
			return filepath.Join(filepath.Dir(o.fileName(job, "")), job.Mode+"_"+kind+".svg")
		})
		errs = append(errs, err)
		o.sheets = append(o.sheets, sheet)
		o.pictures = append(o.pictures, &picture.Runs{Title: filepath.Base(o.config) + ", " + job.Mode, X: fields["x"], Y: fields["y"], By: fields["by"]})
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
	if o.output != "" {
		dir = o.output
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
