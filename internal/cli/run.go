package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"throughline/assume"
	"throughline/internal/advice"
	"throughline/internal/document"
	"throughline/internal/jobfile"
	"throughline/internal/report"
	"throughline/search"
)

// runOptions are the flags of the run command.
type runOptions struct {
	config     string
	output     string
	categories bool
	gzip       bool
	json       bool
	explain    bool
	assume     string
	jobs       int
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

The terminal shows a short table.

Exit codes: 0 done; 1 no run has a plan; 2 the input has problems, nothing was
written; 3 the results could not be written.`,
		Example: `  throughline run -c configs/reference_sample.json
  throughline run -c scan.json --category --gzip
  throughline run -c scan.json --explain-rejected
  throughline run -c scan.json --json | jq '.[0].decoder_best["decoder_throughput(token/s)"]'`,
		Args: onlyFlags("config"),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), s, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.config, "config", "c", "", "runtime file (required)")
	f.StringVarP(&o.output, "output", "o", "", "folder of the results, instead of the one the file names")
	f.BoolVar(&o.categories, "category", false, "start every row of the tables with its category")
	f.BoolVar(&o.gzip, "gzip", false, "compress the tables (.csv.gz)")
	f.BoolVar(&o.json, "json", false, "print the results as JSON instead of a table")
	f.BoolVar(&o.explain, "explain-rejected", false, "say what ruled plans out, and what would have let them through")
	f.StringVar(&o.assume, "assume", assume.Reference.Name, "modelling assumptions: reference or physical, and changes like reference,causal=true")
	addJobs(cmd, &o.jobs)
	return cmd
}

func run(ctx context.Context, s Streams, o runOptions) error {
	if o.config == "" {
		return errors.New("run needs a runtime file: throughline run -c FILE")
	}
	as, err := assume.Parse(o.assume)
	if err := document.Join(checkJobs(o.jobs), ofFlag("assume", err)); err != nil {
		return err
	}
	jobs, warnings, err := jobfile.Load(o.config, as)
	warn(s, warnings)
	if err != nil {
		return err
	}
	parts := 0
	for i := range jobs {
		for j := range jobs[i].Runs {
			parts += jobs[i].Runs[j].Parts()
		}
	}
	progress := newProgress(s.watched, parts)
	defer progress.finish()
	var all []report.Column
	for i := range jobs {
		columns, err := searchRuns(ctx, jobs[i].Runs, o, progress.tick)
		if err != nil {
			return err
		}
		progress.finish()
		// Each job is written when it is done: what comes after it cannot undo it.
		if err := writeTables(ctx, s, &jobs[i], columns, o); err != nil {
			return systemError{err}
		}
		all = append(all, columns...)
	}
	if o.json {
		err = report.WriteJSON(s.data, all, o.explain)
	} else if err = report.WriteTable(s.Out, all); err == nil && o.explain {
		err = report.WriteRefusals(s.Out, all)
	}
	if err != nil {
		return systemError{err}
	}
	return verdict(s, all)
}

// searchRuns finds the best deployment of every run.
func searchRuns(ctx context.Context, runs []jobfile.Run, o runOptions, tick search.Tick) ([]report.Column, error) {
	columns := make([]report.Column, len(runs))
	// Few runs share out the plans of each; many runs are shared out themselves.
	options := jobfile.SearchOptions{Workers: max(1, o.jobs/max(1, len(runs))), Thorough: o.explain, Tick: tick}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.jobs)
	for i := range runs {
		g.Go(func() (err error) {
			columns[i].Number, columns[i].Run = i, &runs[i]
			if runs[i].Decode.Assume.Engine {
				columns[i].Outcome, columns[i].Served, err = advice.Run(ctx, &runs[i], options.Workers)
				for range runs[i].Parts() {
					tick()
				}
				return err
			}
			columns[i].Outcome, err = runs[i].Search(ctx, options)
			return err
		})
	}
	return columns, g.Wait()
}

// writeTables writes the tables of a job, which appear together.
func writeTables(ctx context.Context, s Streams, job *jobfile.Job, columns []report.Column, o runOptions) error {
	dir := job.Output
	if o.output != "" {
		dir = o.output
	}
	var files []report.File
	for _, t := range report.Tables() {
		name := filepath.Join(dir, job.Mode+"_"+t.Name+".csv")
		if o.gzip {
			name += ".gz"
		}
		files = append(files, report.File{Name: name, Write: func(w io.Writer) error { return t.WriteCSV(w, columns, o.categories) }})
	}
	if err := report.WriteFiles(ctx, files...); err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintln(s.Err, "wrote", f.Name)
	}
	if why := tooWide(len(columns), o.categories); why != "" {
		fmt.Fprintln(s.Err, "warning:", why)
	}
	return nil
}

// tooWide warns of a table that spreadsheets do not show whole: it has a column per run, and one or two that name its rows.
func tooWide(runs int, categories bool) string {
	const most = 16384 // in Excel and LibreOffice
	n := runs + 1
	if categories {
		n++
	}
	if n <= most {
		return ""
	}
	return fmt.Sprintf("the tables have %d columns; spreadsheets show the first %d", n, most)
}

// verdict tells which runs lack a plan, and fails when none has one.
func verdict(s Streams, columns []report.Column) error {
	found := false
	for i := range columns {
		c := &columns[i]
		found = found || c.Outcome.Prefill.Found || c.Outcome.Decode.Found
		for _, reason := range c.Reasons() {
			fmt.Fprintf(s.Err, "%s run_%d (%s on %s): no plan: %s\n", c.Run.Mode, c.Number, c.Run.Model.Name, c.Run.Decode.System.Name, reason)
		}
	}
	if !found {
		return exitError{exitNoPlan}
	}
	return nil
}
