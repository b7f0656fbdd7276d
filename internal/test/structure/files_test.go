package structure

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ownDoors is files of the library that reach the machine by themselves, none of them to read what
// a question names.
var ownDoors = map[string]string{
	"internal/files/files.go": "is the door",
	"throughline.go":          "opens it unless it is told otherwise",

	"internal/atomicfile/":          "writes results",
	"internal/secret/secret.go":     "takes keys out of logs",
	"internal/store/":               "holds the parts of scans",
	"internal/sweep/parts.go":       "reads a scan that goes to a store",
	"internal/runs/append.go":       "appends to a table",
	"internal/validate/requests.go": "reads folders of recorded runs",
	"internal/validate/runtimer.go": "reads folders of recorded runs",
	"internal/chart/fonts.go":       "finds fonts",
}

// readers is functions that look at files of the machine.
var readers = map[string][]string{
	"os":       {"Open", "OpenFile", "OpenInRoot", "OpenRoot", "ReadFile", "ReadDir", "Readlink", "Stat", "Lstat", "DirFS", "CopyFS", "Create", "WriteFile"},
	"filepath": {"Walk", "WalkDir", "Glob", "EvalSymlinks"},
	"files":    {"Machine"},
	"ioutil":   {"ReadFile", "ReadDir"},
	"exec":     {"Command", "CommandContext"},
	"syscall":  {"Open", "Stat", "Lstat", "Access"},
}

// TestFilesThroughOneDoor: what a question names is opened by internal/files alone, in the library
// and all that it needs, and in what answers strangers.
func TestFilesThroughOneDoor(t *testing.T) {
	all := files(t)
	reached := map[string]bool{}
	var reach func(pkg string)
	reach = func(pkg string) {
		if reached[pkg] {
			return
		}
		reached[pkg] = true
		for _, f := range all {
			if f.pkg != pkg {
				continue
			}
			for _, spec := range f.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if other, ours := strings.CutPrefix(path, module); ours {
					reach(other)
				}
			}
		}
	}
	reach(".")
	for _, pkg := range []string{"internal/difference", "internal/gap", "internal/profile", "internal/jobfile", "internal/scenario", "internal/scan", "internal/picture", "internal/page", "internal/workbook", "internal/mcp", "internal/web"} {
		reach(pkg)
	}
	if len(reached) < 30 {
		t.Fatalf("only %d packages", len(reached))
	}
	used := map[string]bool{}
	for _, f := range all {
		if !reached[f.pkg] {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := s.X.(*ast.Ident); ok && slices.Contains(readers[pkg.Name], s.Sel.Name) && pkg.Obj == nil {
				for door := range ownDoors {
					if f.path == door || strings.HasSuffix(door, "/") && strings.HasPrefix(f.path, door) {
						used[door] = true
						return true
					}
				}
				t.Errorf("%s: %s.%s: files that a question names are opened by internal/files", positions.Position(s.Pos()), pkg.Name, s.Sel.Name)
			}
			return true
		})
	}
	for door, why := range ownDoors {
		if !used[door] {
			t.Errorf("%s, which %s, opens nothing: leave it out here", door, why)
		}
	}
}
