package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"throughline/assume"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/matrix"
	"throughline/internal/scenario"
	"throughline/internal/table"
	"throughline/model"
)

func newCheck(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Validate files without running them",
		Long: `Check reports all problems of each file. It tells runtime, scenario, system, model,
fitted and matrix files apart by their keys. Runtime and scenario files are checked together
with the files they refer to. A folder with a config.json is a model; built-in names work,
too.`,
		Example: `  throughline check configs/reference_sample.json
  throughline check systems/my_chip.json models/my_model.json`,
		Args: someFiles,
		RunE: func(_ *cobra.Command, files []string) error {
			var errs []error
			for _, name := range files {
				what, warnings, err := check(name)
				warn(s, warnings)
				if err == nil {
					fmt.Fprintln(s.Out, table.View{Width: s.Width}.Wrap(fmt.Sprintf("%s: %s, no problems", name, what)))
				}
				errs = append(errs, err)
			}
			return document.Join(errs...)
		},
	}
}

// findAny resolves any file, or what a model or system may be given as.
func findAny(name string) (string, []byte, error) {
	src, err := document.ReadFile(files.Machine, name)
	if err == nil {
		return name, src, nil
	}
	for _, set := range []catalogue.Set{model.Catalogue, hardware.Catalogue} {
		f, other := set.Locate(name, catalogue.Places{In: files.Machine})
		if other == nil {
			return f.Name, f.Source, nil
		}
		if errors.As(other, new(*catalogue.NoConfig)) {
			return "", nil, other
		}
	}
	return "", nil, document.Unreadable(files.Machine, name, err)
}

// isMatrix recognizes a file of servers and clients by its keys, or as the only format in YAML.
func isMatrix(name string, keys []string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml" || slices.ContainsFunc(matrix.Keys, func(key string) bool { return slices.Contains(keys, key) })
}

func check(name string) (what string, warnings []document.Problem, err error) {
	name, src, err := findAny(name)
	if err != nil {
		return "", nil, err
	}
	keys := document.ParseYAML(name, src).Keys()
	if isMatrix(name, keys) {
		f, warnings, err := matrix.Read(name, src)
		if err == nil {
			what = fmt.Sprintf("matrix of %d combinations", f.Combinations())
		}
		return what, warnings, err
	}
	if scenario.Is(keys) {
		q, warnings, err := scenario.Read(files.Machine, name, src)
		return fmt.Sprintf("scenario file, %d to compare", len(q.Pairs)), warnings, err
	}
	if what, doc, known := jobfile.Describe(name, src, jobfile.FormatOf(keys)); known {
		return what, doc.Warnings(), doc.Err()
	}
	jobs, warnings, err := jobfile.Read(files.Machine, name, src, &assume.Reference)
	runs := 0
	for _, j := range jobs {
		runs += j.Len()
	}
	return fmt.Sprintf("runtime file of %d runs", runs), warnings, err
}
