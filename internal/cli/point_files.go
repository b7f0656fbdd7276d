package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/explain"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/trace"
)

// pointFiles are the files that estimate and explain write of a deployment.
type pointFiles struct{ trace, ops output }

func addTraceOut(cmd *cobra.Command, o *output) {
	o.flag = "--trace-out"
	cmd.Flags().StringVar(&o.name, "trace-out", "", "JSON file of the timeline, for ui.perfetto.dev or chrome://tracing")
}

func (f *pointFiles) flags(cmd *cobra.Command) {
	addTraceOut(cmd, &f.trace)
	f.ops.flag = "--op-details"
	cmd.Flags().StringVar(&f.ops.name, "op-details", "", "CSV file of the operators of the steps")
}

// asked reports whether any file is.
func (f *pointFiles) asked() bool { return f.trace.name != "" || f.ops.name != "" }

// check refuses to write over what is read.
func (f *pointFiles) check(q *question.Question, from string) error {
	plan, _, _ := strings.Cut(from, "#")
	inputs := append(q.Files(), plan)
	return document.Join(f.trace.check(inputs...), f.ops.check(inputs...), f.ops.unlike(&f.trace))
}

// write writes the files, which appear together.
func (f *pointFiles) write(ctx context.Context, s Streams, a *point.Answer) error {
	var files []report.File
	if f.trace.name != "" {
		files = append(files, report.File{Name: f.trace.name, Write: func(w io.Writer) error {
			t := trace.New(w)
			if err := explain.Trace(t, a); err != nil {
				return err
			}
			return t.Close()
		}})
	}
	if f.ops.name != "" {
		r := a.Record()
		for i := range a.Phases {
			if err := r.Sides[a.Phases[i].Phase].WithOps(&a.Phases[i].Problem); err != nil {
				return err
			}
		}
		files = append(files, report.File{Name: f.ops.name, Write: func(w io.Writer) error { return report.WriteOps(w, r) }})
	}
	if err := report.WriteFiles(ctx, files...); err != nil {
		return systemError{err}
	}
	for _, file := range files {
		fmt.Fprintln(s.Err, "wrote", file.Name)
	}
	return nil
}
