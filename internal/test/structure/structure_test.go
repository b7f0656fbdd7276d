// Package structure tests how the code is laid out: which package may know which, how long
// functions are, where the words of the command line stand.
package structure

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"throughline/internal/test/golden"
)

// order is all packages, each depending only on those before it. CONTRIBUTING.md shows it as a map.
var order = []string{
	// Tools that know nothing of the domain.
	"internal/files", "internal/document", "internal/csvfile", "internal/atomicfile", "internal/secret", "internal/version", "internal/parallel", "internal/catalogue", "internal/chart", "internal/parquet", "internal/spreadsheet", "internal/trace", "internal/watch", "internal/axis", "internal/store", "internal/shell",
	// The domain.
	"internal/names", "number", "model", "hardware/kernel", "hardware/shape", "hardware", "workload", "assume", "experts", "plan", "collective", "op", "cost", "schedule",
	"estimate", "search", "deploy", "engine", "serving", "serving/simulate",
	// The application.
	"internal/table", "internal/measurement", "internal/calibrate", "internal/fitted", "internal/jobfile", "internal/bench", "internal/runs", "internal/protocol", "internal/question", "internal/rows", "internal/api", "internal/scan", "internal/rawdata", "internal/result", "internal/point", "internal/explain", "internal/profile",
	"internal/advice", "internal/sweep", "internal/validate", "internal/exchange",
	"internal/gap",
	"internal/gold",
	"internal/difference",
	"internal/scenario",
	"internal/emulate",
	"internal/sentence",
	"internal/report", "internal/workbook", "internal/picture", "internal/page", "internal/matrix",
	".", // the library, which the command line and other programs use
	"internal/mcp",
	"internal/web",
	"internal/cli",
	"cmd/throughline",
	"cmd/release",
	// The laboratory, which nothing of the program knows.
	"internal/lab/kernels", "internal/lab", "internal/lab/published", "cmd/lab",
}

// asksLibrary is packages that stand on the library.
var asksLibrary = []string{"internal/cli", "internal/mcp", "internal/web"}

// belowCommands is packages that no command needs: what it asks for is answered by others.
var belowCommands = []string{"plan", "op", "cost", "schedule", "estimate", "search", "serving"}

// forTests is packages that only tests import.
const forTests = "internal/test/"

const (
	module = "throughline/"
	root   = "../../.."
)

// file is a Go file of the program, not of its tests.
type file struct {
	pkg  string // its folder
	path string
	*ast.File
}

var positions = token.NewFileSet()

func files(t *testing.T) []file {
	t.Helper()
	var out []file
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && e.Name() != ".." {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(positions, path, nil, 0)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		out = append(out, file{filepath.ToSlash(filepath.Dir(rel)), filepath.ToSlash(rel), f})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("only %d files", len(out))
	}
	return out
}

// TestDataFlowsForward: no package imports one that stands after it.
func TestDataFlowsForward(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range files(t) {
		at := slices.Index(order, f.pkg)
		isTest := strings.HasPrefix(f.pkg, forTests) || strings.HasPrefix(f.pkg, "internal/e2e/")
		if at < 0 && !isTest {
			t.Errorf("%s: package %s has no place in the order", f.path, f.pkg)
			continue
		}
		seen[f.pkg] = true
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			other, ours := strings.CutPrefix(path, module)
			if path == strings.TrimSuffix(module, "/") {
				other, ours = ".", true
			}
			switch {
			case !ours || isTest:
			case strings.HasPrefix(other, forTests):
				t.Errorf("%s imports %s, which is for tests", f.path, other)
			case other == "." && !slices.Contains(asksLibrary, f.pkg):
				t.Errorf("%s imports the library, which stands on it", f.path)
			case f.pkg == "internal/cli" && slices.Contains(belowCommands, other):
				t.Errorf("%s imports %s: commands ask for answers and compute none", f.path, other)
			case slices.Index(order, other) >= at:
				t.Errorf("%s: data would flow backwards: %s comes before %s", f.path, f.pkg, other)
			}
		}
	}
	for _, pkg := range order {
		if !seen[pkg] {
			t.Errorf("there is no package %s", pkg)
		}
	}
}

// TestProgramWithoutLaboratory: nothing but its own command imports the laboratory, and only there
// is a path to the measurements beside the project.
func TestProgramWithoutLaboratory(t *testing.T) {
	for _, f := range files(t) {
		if strings.HasPrefix(f.pkg, "internal/lab") || f.pkg == "cmd/lab" || strings.HasPrefix(f.pkg, forTests) {
			continue
		}
		for _, spec := range f.Imports {
			if strings.Contains(spec.Path.Value, module+"internal/lab") {
				t.Errorf("%s imports %s", f.path, spec.Path.Value)
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && strings.Contains(l.Value, "../shared") {
				t.Errorf("%s: %s is a path to measurements that are not part of the project", positions.Position(l.Pos()), l.Value)
			}
			return true
		})
	}
}

// TestMap: CONTRIBUTING.md has a row for every package, those of tests included.
func TestMap(t *testing.T) {
	src, err := os.ReadFile(root + "/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"internal/test/structure": true} // which has nothing but tests
	for _, f := range files(t) {
		all[f.pkg] = true
	}
	for pkg := range all {
		if !regexp.MustCompile("(?m)^\\|.*`" + regexp.QuoteMeta(pkg) + "`").Match(src) {
			t.Errorf("CONTRIBUTING.md has no row for `%s`", pkg)
		}
	}
}

// TestConcurrentPackages: the race detector watches the tests of every package that starts
// goroutines or guards what they share: those stand in the Makefile.
func TestConcurrentPackages(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^CONCURRENT = (.*)$`).FindStringSubmatch(string(src))
	if line == nil {
		t.Fatal("the Makefile does not say which packages are concurrent")
	}
	found := map[string]bool{}
	for _, f := range files(t) {
		for _, spec := range f.Imports {
			switch strings.Trim(spec.Path.Value, `"`) {
			case "sync", "sync/atomic", "golang.org/x/sync/errgroup":
				found["./"+f.pkg] = true
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				found["./"+f.pkg] = true
			}
			return true
		})
	}
	listed := strings.Fields(line[1])
	for _, pkg := range listed {
		if !found[pkg] {
			t.Errorf("%s has nothing concurrent", pkg)
		}
	}
	for pkg := range found {
		if !slices.Contains(listed, pkg) {
			t.Errorf("%s is not in CONCURRENT of the Makefile", pkg)
		}
	}
}

// mostLines of a function that is no table.
const mostLines = 80

// TestLength: functions are short enough to be read at once.
func TestLength(t *testing.T) {
	for _, f := range files(t) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := positions.Position(fn.End()).Line - positions.Position(fn.Pos()).Line + 1; lines > mostLines {
				t.Errorf("%s %s has %d lines, more than %d", f.path, fn.Name.Name, lines, mostLines)
			}
		}
	}
}

// TestPropertiesHaveOneSeed: what decides whether a change lands does not depend on luck.
func TestPropertiesHaveOneSeed(t *testing.T) {
	err := filepath.WalkDir(golden.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "structure_test.go" {
			return err
		}
		if bytes.Contains(read(t, path), []byte("rapid.Check(")) {
			t.Errorf("%s: long.Check draws the same cases each time", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// aFlag is a flag of a command line.
var aFlag = regexp.MustCompile(`(^|[\s("'` + "`" + `])--?[a-z][a-z-]*`)

// hasFlags is packages that write command lines: that of this program, and those of engines and
// tools.
var hasFlags = []string{"cmd/lab", "cmd/release", "internal/cli", "engine", "cmd/throughline"}

// TestNoFlagsInLibraries: a library names settings; the command line makes flags of them.
func TestNoFlagsInLibraries(t *testing.T) {
	for _, f := range files(t) {
		if slices.Contains(hasFlags, f.pkg) || strings.HasPrefix(f.pkg, forTests) {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, "--") && aFlag.MatchString(text) {
					t.Errorf("%s: %q", positions.Position(lit.Pos()), text)
				}
			}
			return true
		})
	}
}

// handMade are what builds rows of texts cell by cell: names of packages with what they offer for
// that.
var handMade = []string{"table.Grid", "csv.NewWriter", "csvfile.NewWriter", "spreadsheet.New", "parquet.NewWriter"}

// madeByHand is how many tables files outside the writer of tables still build themselves. They
// carry along rows as they were read.
var madeByHand = map[string]int{
	"internal/csvfile/write.go": 1, "internal/lab/import.go": 1, "internal/point/stream.go": 1, "internal/runs/append.go": 1, "internal/runs/runs.go": 1,
	"internal/workbook/table.go": 1, "internal/workbook/workbook.go": 1, // where sheets begin
	"internal/validate/validate.go": 1,
}

// TestTablesHaveOneWriter: a table is columns of internal/table; nobody else builds one of texts,
// or draws one.
func TestTablesHaveOneWriter(t *testing.T) {
	found := map[string]int{}
	for _, f := range files(t) {
		if f.pkg == "internal/table" {
			continue
		}
		for _, spec := range f.Imports {
			if strings.HasSuffix(strings.Trim(spec.Path.Value, `"`), "go-pretty/v6/table") {
				found[f.path]++
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if n, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := n.X.(*ast.Ident); ok && slices.Contains(handMade, of.Name+"."+n.Sel.Name) {
					found[f.path]++
				}
			}
			return true
		})
	}
	for path := range found {
		if found[path] > madeByHand[path] {
			t.Errorf("%s builds %d tables by hand, not %d: give internal/table columns", path, found[path], madeByHand[path])
		}
	}
	for path, n := range madeByHand {
		if found[path] < n {
			t.Errorf("%s builds %d tables by hand, not %d any more: lower the number", path, found[path], n)
		}
	}
}

// mostLinesOfRun of a command: it reads words, asks for an answer and shows it.
const mostLinesOfRun = 25

// TestThinCommands: what a command does when it runs is short enough to be read at a glance.
func TestThinCommands(t *testing.T) {
	for _, f := range files(t) {
		if f.pkg != "internal/cli" {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "RunE" {
					if lines := positions.Position(pair.End()).Line - positions.Position(pair.Pos()).Line - 1; lines > mostLinesOfRun {
						t.Errorf("%s: a RunE has %d lines, at most %d are short", f.path, lines, mostLinesOfRun)
					}
				}
			}
			return true
		})
	}
}
