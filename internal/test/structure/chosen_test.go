package structure

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"throughline/internal/test/golden"
)

// mark says that a number was chosen with results in view.
type mark struct{ number, value, file, runs, date string }

// chosenIn collects the marks of an object of a file, and of those in it. A source that says so
// itself must have a mark.
func chosenIn(t *testing.T, file, path string, v any, out *[]mark) {
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			chosenIn(t, file, fmt.Sprintf("%s[%d]", path, i), x, out)
		}
	case map[string]any:
		marks, _ := v["chosen"].(map[string]any)
		for key, m := range marks {
			m, ok := m.(map[string]any)
			if !ok {
				continue // a port takes the mark away with the number
			}
			var values []string
			for part := range strings.SplitSeq(key, ", ") {
				values = append(values, valueAt(t, file, v, part))
			}
			*out = append(*out, mark{strings.TrimPrefix(path+"."+key, "."), strings.Join(values, ", "), file, fmt.Sprint(m["runs"]), fmt.Sprint(m["date"])})
		}
		sources, _ := v["sources"].(map[string]any)
		for key, text := range sources {
			if says := fmt.Sprint(text); strings.HasPrefix(says, "chosen") || strings.HasPrefix(says, "fitted") || strings.Contains(says, "in view") {
				if _, ok := marks[key]; !ok {
					t.Errorf("%s: %s.sources says of %s that it was chosen, which %s.chosen does not", file, path, key, path)
				}
			}
		}
		for key, x := range v {
			if key != "chosen" && key != "sources" {
				chosenIn(t, file, strings.TrimPrefix(path+"."+key, "."), x, out)
			}
		}
	}
}

var step = regexp.MustCompile(`[^.\[\]]+`)

// valueAt is what stands at a path below an object.
func valueAt(t *testing.T, file string, v any, path string) string {
	for _, key := range step.FindAllString(path, -1) {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			var i int
			fmt.Sscan(key, &i)
			v = at[i]
		}
	}
	if v == nil {
		t.Errorf("%s: chosen speaks of %s, which is not there", file, path)
	}
	return fmt.Sprint(v)
}

var chosenInCode = regexp.MustCompile(`(?m)^\s*// Chosen: (.*); ([0-9-]{10})\.\n\s*(?:const |var |func (?:\([^)]*\) )?)?(\w+)(?: += (\S+))?`)

// TestChosen: docs/chosen.md lists every number of the data and of the code that was chosen with
// results in view, and how many there are.
func TestChosen(t *testing.T) {
	var all []mark
	for _, folder := range []string{"engine/data", "hardware/catalogue"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".json" {
				return err
			}
			src, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			var v any
			if err := json.Unmarshal(src, &v); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			file := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
			chosenIn(t, file, "", v, &all)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files(t) {
		src, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range chosenInCode.FindAllStringSubmatch(string(src), -1) {
			all = append(all, mark{m[3], m[4], f.path, m[1], m[2]})
		}
	}
	slices.SortFunc(all, func(a, b mark) int { return strings.Compare(a.file+a.number, b.file+b.number) })
	var b strings.Builder
	fmt.Fprintf(&b, "# Numbers chosen with results in view\n\nPredictions of the runs that a number was chosen with are no test of it. There are %d such numbers: `chosen` in the data of engines and\nsystems, beside `sources`, which says how; and lines `Chosen:` above declarations of the code. A test writes this page from them. Models of\nkernels and of libraries are fitted to tables of their own times, and not to runs of servers ([calibration.md](calibration.md)).\n\n", len(all))
	b.WriteString("| Number | Value | File | Runs | Date |\n|---|---|---|---|---|\n")
	for _, m := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.number, m.value, m.file, m.runs, m.date)
	}
	golden.File(t, filepath.Join(root, "docs/chosen.md"), []byte(b.String()))
}
