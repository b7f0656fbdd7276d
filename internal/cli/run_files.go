package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"throughline/internal/document"
	"throughline/internal/jobfile"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sweep"
)

// wideFormat is three tables with a column per run; those of report.Formats have a row per run.
const wideFormat = "wide"

func formatNames() []string {
	out := []string{wideFormat}
	for _, f := range report.Formats {
		out = append(out, f.Name)
	}
	return out
}

// checkFormats completes the table format flags.
func (o *runOptions) checkFormats() error {
	var errs []error
	for _, name := range o.formats {
		if !slices.Contains(formatNames(), name) {
			errs = append(errs, ofFlag("format", errors.New(document.NotOneOf(name, formatNames()))))
		}
	}
	switch {
	case o.long:
		o.formats = append(o.formats, "long")
	case len(o.formats) == 0:
		o.formats = []string{wideFormat}
	}
	if o.categories && !o.wide() {
		errs = append(errs, errors.New("--category is for tables with a row per field: --long has a column per field"))
	}
	return document.Join(errs...)
}

func (o *runOptions) wide() bool { return slices.Contains(o.formats, wideFormat) }

func (o *runOptions) optionalCategories() []result.Category {
	var out []result.Category
	if o.ops {
		out = append(out, result.OpDetails)
	}
	if o.served {
		out = append(out, result.Costs)
	}
	for _, name := range o.axes {
		out = append(out, result.Axis(name))
	}
	return out
}

// folder returns where the results of a job go.
func (o *runOptions) folder(job *jobfile.Job) string { return cmp.Or(o.output.name, job.Output) }

// compressible lists the files that gzip makes smaller; Parquet is already compressed.
var compressible = map[string]bool{".csv": true, ".jsonl": true}

func (o *runOptions) fileName(job *jobfile.Job, file string) string {
	name := filepath.Join(o.folder(job), job.Mode+"_"+file)
	if o.gzip && compressible[filepath.Ext(file)] {
		name += ".gz"
	}
	return name
}

// emitting is a sweep in progress, which passes on its records.
type emitting func(emit func(*result.Record) error) error

// section runs a job and writes its files. Those with a row per run are written as runs finish; all
// appear when complete.
func (o *runOptions) section(ctx context.Context, s Streams, job *jobfile.Job, options sweep.Options, show func(*result.Record) error) error {
	var sweeping error
	done := func() error { return nil } // with the parts of the runs
	wide := report.NewWide(o.optionalCategories()...)
	var all emitting = func(emit func(*result.Record) error) error {
		each := func(r *result.Record) error {
			if o.wide() {
				wide.Add(r)
			}
			return failed(errors.Join(o.writeOps(ctx, job, r), emit(r), show(r)))
		}
		if o.resume {
			done, sweeping = sweep.Resume(ctx, job, options, o.request, o.partFolder(job), each)
			sweeping = asSystemError(sweeping)
		} else {
			sweeping = sweep.Run(ctx, job, options, each)
		}
		return sweeping
	}
	if o.ops {
		report.ClearFolder(o.opFolder(job))
	}
	var written []string
	for _, f := range report.Formats {
		if slices.Contains(o.formats, f.Name) {
			name := o.fileName(job, f.File)
			all, written = o.streamed(ctx, name, f, all), append(written, name)
		}
	}
	err := all(func(*result.Record) error { return nil })
	switch {
	case sweeping != nil:
		return sweeping
	case err != nil:
		return systemError{err}
	}
	if o.wide() {
		var files []report.File
		for i, name := range wide.Tables() {
			files = append(files, report.File{Name: o.fileName(job, name+".csv"), Write: func(w io.Writer) error { return wide.WriteCSV(w, i, o.categories) }})
			written = append(written, files[i].Name)
		}
		if err := report.WriteFiles(ctx, files...); err != nil {
			return systemError{err}
		}
	}
	for _, name := range written {
		fmt.Fprintln(s.Err, "wrote", name)
	}
	if o.ops {
		fmt.Fprintf(s.Err, "wrote %d tables of operators in %s\n", job.Len(), o.opFolder(job))
	}
	return failed(done())
}

// streamed returns a sweep that also writes a file.
func (o *runOptions) streamed(ctx context.Context, name string, f report.Format, all emitting) emitting {
	return func(emit func(*result.Record) error) error {
		return report.WriteFiles(ctx, report.File{Name: name, Write: func(w io.Writer) error {
			sink := f.New(w, o.optionalCategories()...)
			err := all(func(r *result.Record) error { return errors.Join(sink.Add(r), emit(r)) })
			if err != nil {
				return err
			}
			return sink.Close()
		}})
	}
}

// partFolder is where the runs that are done are kept until the tables are written.
func (o *runOptions) partFolder(job *jobfile.Job) string {
	return filepath.Join(o.folder(job), job.Mode+"_parts")
}

func (o *runOptions) opFolder(job *jobfile.Job) string {
	return filepath.Join(o.folder(job), job.Mode+"_op_details")
}

// mostOpTables limits the operator files: file systems and shells struggle with more.
const mostOpTables = 100_000

func (o *runOptions) writeOps(ctx context.Context, job *jobfile.Job, r *result.Record) error {
	if !o.ops {
		return nil
	}
	name := filepath.Join(o.opFolder(job), fmt.Sprintf("run_%d.csv", r.Number))
	if o.gzip {
		name += ".gz"
	}
	return report.WriteOneOfMany(ctx, report.File{Name: name, Write: func(w io.Writer) error { return report.WriteOps(w, r) }})
}
