package cli

import (
	"io"

	"throughline/internal/explain"
	"throughline/internal/point"
	"throughline/internal/report"
	"throughline/internal/trace"
)

// pointFiles are the files that estimate and explain write about a deployment.
type pointFiles struct{ trace, ops output }

// with adds their flags to others of a command.
func (f *pointFiles) with(others map[string]any) map[string]any {
	others["trace-out"], others["op-details"] = &f.trace, &f.ops
	return others
}

func (f *pointFiles) all() []*output { return []*output{&f.trace, &f.ops} }

func (f *pointFiles) any() bool { return f.trace.name != "" || f.ops.name != "" }

func (f *pointFiles) of(a *point.Answer) (files []report.File) {
	if f.trace.name != "" {
		files = append(files, report.File{Name: f.trace.name, Write: func(w io.Writer) error {
			t := trace.New(w)
			explain.Trace(t, a)
			return t.Close()
		}})
	}
	if f.ops.name != "" {
		files = append(files, report.File{Name: f.ops.name, Write: func(w io.Writer) error { return report.WriteOps(w, a.Record) }})
	}
	return files
}
