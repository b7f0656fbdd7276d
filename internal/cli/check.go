package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"throughline/assume"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/jobfile"
	"throughline/model"
)

func newCheck(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Validate runtime, system and model files without running them",
		Long: `Check reads each file, tells by its keys whether it is a runtime, a system or a model
file, and reports all its problems. A runtime file is checked together with the
files it refers to.`,
		Example: `  throughline check configs/reference_sample.json
  throughline check systems/my_chip.json models/my_model.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			var errs []error
			for _, name := range files {
				what, warnings, err := check(name)
				warn(s, warnings)
				if err == nil {
					fmt.Fprintf(s.Out, "%s: %s, no problems\n", name, what)
				}
				errs = append(errs, err)
			}
			return document.Join(errs...)
		},
	}
}

// check validates one file and says what it is.
func check(name string) (what string, warnings []document.Problem, err error) {
	src, err := os.ReadFile(name)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return "", nil, &document.Error{Problems: []document.Problem{{File: name, Message: err.Error()}}}
	}
	doc := document.Parse(name, src)
	if err := doc.Err(); err != nil {
		return "", doc.Warnings(), err
	}
	switch kind := nearestFormat(doc.Keys()); kind {
	case "system":
		sys, doc := hardware.Read(name, src)
		if sys != nil {
			what = "system " + sys.Name
		}
		return what, doc.Warnings(), doc.Err()
	case "model":
		m, _, doc := model.Read(name, src)
		if m != nil {
			what = "model " + m.Name
		}
		return what, doc.Warnings(), doc.Err()
	default:
		jobs, warnings, err := jobfile.Read(name, src, &assume.Reference)
		runs := 0
		for _, j := range jobs {
			runs += len(j.Runs)
		}
		return fmt.Sprintf("runtime file of %d runs", runs), warnings, err
	}
}

// nearestFormat is the format most of whose keys the file has; a runtime file if that is open.
func nearestFormat(keys []string) string {
	formats := []struct {
		name string
		keys []string
	}{
		{"runtime", document.Leaves(&jobfile.File{})},
		{"system", document.Leaves(&hardware.File{})},
		{"model", document.Leaves(&model.File{})},
	}
	best, most := "runtime", 0
	for _, f := range formats {
		n := 0
		for _, k := range keys {
			if hasRoot(f.keys, k) {
				n++
			}
		}
		if n > most {
			best, most = f.name, n
		}
	}
	return best
}

// hasRoot reports whether one of the paths starts with the key.
func hasRoot(paths []string, key string) bool {
	for _, p := range paths {
		if len(p) >= len(key) && p[:len(key)] == key && (len(p) == len(key) || p[len(key)] == '.' || p[len(key)] == '[') {
			return true
		}
	}
	return false
}
