package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"throughline/assume"
	"throughline/jobfile"
	"throughline/report"
	"throughline/search"
)

// runOptions are the flags of the run command.
type runOptions struct {
	config     string
	output     string
	categories bool
	gzip       bool
	json       bool
	jobs       int
}

func newRun(s Streams) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run a runtime file: search the best plans and write the result tables",
		Long: `Run reads a runtime file, searches the best plan of every combination it lists, and
writes <output>/<mode>_decoder_best.csv: a row per field, a column per run.
The terminal shows a short table.

Exit codes: 0 done; 1 no run has a plan; 2 the input has problems, nothing was
written; 3 the results could not be written.`,
		Example: `  throughline run -c configs/reference_sample.json
  throughline run -c scan.json --category --gzip
  throughline run -c scan.json --json | jq '.[0]["decoder_throughput(token/s)"]'`,
		Args: onlyFlags("config"),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), s, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.config, "config", "c", "", "runtime file (required)")
	f.StringVarP(&o.output, "output", "o", "", "folder of the results, instead of the one the file names")
	f.BoolVar(&o.categories, "category", false, "start every row of the tables with its category")
	f.BoolVar(&o.gzip, "gzip", false, "compress the tables (.csv.gz)")
	f.BoolVar(&o.json, "json", false, "print the results as JSON instead of a table")
	f.IntVarP(&o.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "processors of this machine to use")
	return cmd
}

func run(ctx context.Context, s Streams, o runOptions) error {
	if o.config == "" {
		return errors.New("run needs a runtime file: throughline run -c FILE")
	}
	if o.jobs < 1 {
		return fmt.Errorf("--jobs must be at least 1, not %d", o.jobs)
	}
	jobs, warnings, err := jobfile.Load(o.config, &assume.Reference)
	warn(s, warnings)
	if err != nil {
		return err
	}
	var all []report.Column
	results := make([][]report.Column, len(jobs))
	for i := range jobs {
		if results[i], err = search1(ctx, &jobs[i], o.jobs); err != nil {
			return err
		}
		all = append(all, results[i]...)
	}
	for i := range jobs {
		if err := write(s, &jobs[i], results[i], o); err != nil {
			return systemError{err}
		}
	}
	if o.json {
		err = report.WriteJSON(s.Out, all)
	} else {
		err = report.WriteTable(s.Out, all)
	}
	if err != nil {
		return systemError{err}
	}
	return verdict(s, jobs, results)
}

// search1 finds the best plan of every run of a job.
func search1(ctx context.Context, job *jobfile.Job, jobs int) ([]report.Column, error) {
	columns := make([]report.Column, len(job.Runs))
	// Few runs share out the plans of each; many runs are shared out themselves.
	workers := max(1, jobs/max(1, len(job.Runs)))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs)
	for i := range job.Runs {
		g.Go(func() error {
			r := &job.Runs[i]
			found, err := search.Best(ctx, &r.Decode, workers)
			if err != nil {
				return err
			}
			columns[i] = report.Column{Run: r}
			if found.Found {
				columns[i].Decode = &found.Best
			} else {
				columns[i].Reason = r.Decode.Reason(found.Plans, &found.Rejected)
			}
			return nil
		})
	}
	return columns, g.Wait()
}

// write writes the tables of a job.
func write(s Streams, job *jobfile.Job, columns []report.Column, o runOptions) error {
	dir := job.Output
	if o.output != "" {
		dir = o.output
	}
	name := filepath.Join(dir, job.Mode+"_decoder_best.csv")
	if o.gzip {
		name += ".gz"
	}
	err := report.WriteFile(name, func(w io.Writer) error { return report.WriteCSV(w, columns, o.categories) })
	if err == nil {
		fmt.Fprintln(s.Err, "wrote", name)
	}
	return err
}

// verdict tells which runs have no plan, and fails when none has one.
func verdict(s Streams, jobs []jobfile.Job, results [][]report.Column) error {
	any := false
	for i := range jobs {
		for j := range results[i] {
			c := &results[i][j]
			if c.Decode != nil {
				any = true
				continue
			}
			fmt.Fprintf(s.Err, "%s run_%d (%s on %s): no plan: %s\n", jobs[i].Mode, j, c.Run.Model.Name, c.Run.System.Name, c.Reason)
		}
	}
	if !any {
		return exitError{exitNoPlan}
	}
	return nil
}
