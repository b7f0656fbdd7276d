package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"throughline/assume"
	"throughline/internal/document"
	"throughline/internal/jobfile"
	"throughline/internal/rawdata"
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
	formats    []string
	ops        bool
	xlsx       output
	measured   string
	simulate   int
	explain    bool
	assume     string
	jobs       int
	view       viewOptions
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

Exit codes: 0 done; 1 no run has a plan; 2 the input has problems, nothing was
written; 3 the results could not be written.`,
		Example: `  throughline run -c configs/reference_sample.json
  throughline run -c scan.json --category --gzip
  throughline run -c scan.json --long --gzip
  throughline run -c scan.json --format wide,parquet
  throughline run -c scan.json --op-details --xlsx scan.xlsx
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
	f.StringSliceVar(&o.formats, "format", nil, "forms of the tables: "+strings.Join(formatNames(), ", ")+" (default wide)")
	f.BoolVar(&o.ops, "op-details", false, "write a table of the operators of every run, and their sums into the other tables")
	o.xlsx.flag = "--xlsx"
	f.StringVar(&o.xlsx.name, "xlsx", "", "write a workbook of all runs: pivots of the whole machine and per card, charts, tables, raw data")
	f.StringVar(&o.measured, "measured", "", "CSV table of measured runs, for the raw data of --xlsx")
	f.IntVar(&o.simulate, "simulate", 0, "send so many requests through every deployment, for the raw data of --xlsx; needs --assume physical")
	f.BoolVar(&o.gzip, "gzip", false, "compress the tables (.csv.gz, .jsonl.gz)")
	f.BoolVar(&o.json, "json", false, "print the results as JSON instead of a table")
	f.BoolVar(&o.explain, "explain-rejected", false, "say what ruled plans out, and what would have let them through")
	f.StringVar(&o.assume, "assume", assume.Reference.Name, "modelling assumptions: reference or physical, and changes like reference,causal=true")
	addJobs(cmd, &o.jobs)
	complete(cmd, "format", formatNames(), false)
	o.view.flags(cmd)
	f.StringSliceVar(&o.view.columns, "columns", nil, "fields to show in the terminal instead of the usual ones: names of the columns of --long")
	addWatch(cmd, s, func() []string { return watchable(append(jobfile.Files(o.config), o.measured)) })
	return cmd
}

func run(ctx context.Context, s Streams, o runOptions) error {
	table, jobs, raw, err := o.prepare(s)
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
	options := sweep.Options{Jobs: o.jobs, Thorough: o.explain, Ops: o.ops, Raw: o.xlsx.name != "", Simulate: o.simulate, Tick: progress.tick}
	array := report.NewArray(s.data, o.categoriesAsked()...)
	book, err := o.workbook(raw)
	if err != nil {
		return systemError{err}
	}
	defer book.close()
	var v verdict
	show := func(r *result.Record) error {
		v.note(r)
		if err := book.add(r); err != nil {
			return err
		}
		if o.json {
			return array.Add(r)
		}
		table.Add(r)
		return nil
	}
	for _, job := range jobs {
		// Each job is written when it is done: what comes after it cannot undo it.
		if err := o.section(ctx, s, job, options, show); err != nil {
			return err
		}
	}
	progress.finish()
	if err := book.write(ctx, s, o.xlsx.name); err != nil {
		return systemError{err}
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
func (o *runOptions) prepare(s Streams) (*report.Runs, []*jobfile.Job, []rawdata.Row, error) {
	if o.config == "" {
		return nil, nil, nil, errors.New("run needs a runtime file: throughline run -c FILE")
	}
	if err := o.checkFormats(); err != nil {
		return nil, nil, nil, err
	}
	as, err := assume.Parse(o.assume)
	raw, rawErr := o.checkWorkbook()
	if err := document.Join(checkJobs(o.jobs), ofFlag("assume", err), rawErr); err != nil {
		return nil, nil, nil, err
	}
	table, err := report.NewRuns(o.view.of(s))
	if err != nil {
		return nil, nil, nil, err
	}
	jobs, warnings, err := jobfile.Load(o.config, as)
	warn(s, warnings)
	if err != nil {
		return nil, nil, nil, err
	}
	var errs []error
	for _, job := range jobs {
		if n := job.Len(); o.ops && n > mostOpTables {
			errs = append(errs, fmt.Errorf("%s: %d runs make as many tables of operators; --op-details writes up to %d", job.Mode, n, mostOpTables))
		}
		if why := tooLong(job.Len()); why != "" && o.xlsx.name != "" {
			errs = append(errs, fmt.Errorf("%s: %s", job.Mode, why))
		}
		if why := tooWide(job.Len(), o.categories); why != "" && o.wide() {
			errs = append(errs, fmt.Errorf("%s: %s", job.Mode, why))
		}
	}
	return table, jobs, raw, document.Join(errs...)
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
