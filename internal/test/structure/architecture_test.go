package structure

import (
	"bytes"
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"throughline/internal/test/golden"
)

// room is packages that do one thing together.
type room struct {
	name, does string
	packages   []string
}

// rooms are all packages, each room knowing only those after it. docs/architecture.md shows them.
var rooms = []room{
	{"Commands", "read flags, run one answer, choose a writer", []string{"cmd/throughline", "cmd/release", "cmd/lab", "internal/cli", "internal/mcp", "internal/web"}},
	{"Laboratory", "choose what is built in by measurements, judge predictions by what was held out", []string{"internal/lab", "internal/lab/kernels", "internal/lab/published"}},
	{"Library", "question in, answer out, for programs in Go", []string{"."}},
	{"Servers", "start real servers or stand in for one", []string{"internal/matrix", "internal/emulate"}},
	{"Output", "tables, files, charts and pages of results", []string{"internal/page", "internal/picture", "internal/workbook", "internal/report", "internal/sentence"}},
	{"Evidence", "compare predictions with measurements", []string{"internal/gap", "internal/gold", "internal/validate"}},
	{"Answers", "one answer for each kind of question", []string{"internal/scenario", "internal/difference", "internal/exchange", "internal/sweep", "internal/advice", "internal/profile", "internal/explain", "internal/point", "internal/result", "internal/rawdata"}},
	{"Questions", "turn flags, rows and files into a deployment and a load", []string{"internal/scan", "internal/api", "internal/rows", "internal/question", "internal/jobfile"}},
	{"Measurement", "measure servers, read tables, fit kernels", []string{"internal/bench", "internal/runs", "internal/protocol", "internal/fitted", "internal/calibrate", "internal/measurement"}},
	{"Tables", "typed columns over rows, written in every form", []string{"internal/table"}},
	{"Serving", "what clients see: engines, closed form, simulation", []string{"serving/simulate", "serving", "engine", "deploy"}},
	{"Search", "all plans of an instance, and the best batch", []string{"search"}},
	{"Step", "operators of one step, their prices, their order, their sum", []string{"estimate", "schedule", "cost", "op", "collective", "plan"}},
	{"Facts", "models, chips, loads, assumptions, routing statistics", []string{"experts", "assume", "workload", "hardware", "hardware/shape", "hardware/kernel", "model", "number", "internal/names"}},
	{"Tools", "files and drawings; they know nothing of the domain", []string{"internal/shell", "internal/store", "internal/axis", "internal/watch", "internal/trace", "internal/parquet", "internal/spreadsheet", "internal/chart", "internal/catalogue", "internal/version", "internal/parallel", "internal/secret", "internal/atomicfile", "internal/csvfile", "internal/document", "internal/files"}},
}

// knows says for each room how many imports lead from its packages to those of each other room.
func knows(t *testing.T) [][]int {
	t.Helper()
	of := map[string]int{}
	for i, r := range rooms {
		for _, pkg := range r.packages {
			if _, twice := of[pkg]; twice || !slices.Contains(order, pkg) {
				t.Errorf("%s of room %s is in two rooms or is no package of the order", pkg, r.name)
			}
			of[pkg] = i
		}
	}
	for _, pkg := range order {
		if _, ok := of[pkg]; !ok {
			t.Errorf("package %s is in no room: give it one in rooms", pkg)
		}
	}
	out := make([][]int, len(rooms))
	for i := range out {
		out[i] = make([]int, len(rooms))
	}
	seen := map[[2]string]bool{}
	for _, f := range files(t) {
		from, ok := of[f.pkg]
		for _, spec := range f.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			other, ours := strings.CutPrefix(path, module)
			if path+"/" == module {
				other, ours = ".", true
			}
			to, known := of[other]
			if edge := [2]string{f.pkg, other}; ok && ours && known && from != to && !seen[edge] {
				seen[edge] = true
				out[from][to]++
				if to < from {
					t.Errorf("%s imports %s: room %s would know %s, which stands above it", f.path, other, rooms[from].name, rooms[to].name)
				}
			}
		}
	}
	return out
}

// TestArchitecture: the picture and the table of docs/architecture.md are the rooms and imports of
// the code.
func TestArchitecture(t *testing.T) {
	edges := knows(t)
	golden.File(t, filepath.Join(golden.Root, "docs/pictures/architecture.svg"), drawRooms(edges))
	var table strings.Builder
	table.WriteString("| | room | what it does | packages |\n|---:|---|---|---|\n")
	for i, r := range rooms {
		fmt.Fprintf(&table, "| %d | %s | %s | `%s` |\n", i+1, r.name, r.does, strings.Join(r.packages, "`, `"))
	}
	name := filepath.Join(golden.Root, "docs/architecture.md")
	marked := regexp.MustCompile(`(?s)(<!-- rooms -->\n).*?(<!-- end rooms -->)`)
	page := read(t, name)
	if !marked.Match(page) {
		t.Fatalf("%s has no marks for the table of rooms", name)
	}
	golden.File(t, name, marked.ReplaceAll(page, []byte("${1}"+table.String()+"${2}")))
}

// TestArchitectureNames: the files, packages and tests that docs/architecture.md names exist.
func TestArchitectureNames(t *testing.T) {
	tests := map[string]bool{}
	for _, pattern := range []string{"*/*_test.go", "*/*/*_test.go", "*/*/*/*_test.go"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllSubmatch(read(t, name), -1) {
				tests[string(m[1])] = true
			}
		}
	}
	named := 0
	for _, m := range regexp.MustCompile("`([\\w./-]+)`").FindAllSubmatch(read(t, filepath.Join(root, "docs/architecture.md")), -1) {
		word := string(m[1])
		switch {
		case strings.HasPrefix(word, "Test"):
			if !tests[word] {
				t.Errorf("there is no test %s", word)
			}
		case strings.Contains(word, "/") || strings.HasSuffix(word, ".go"):
			if found, err := filepath.Glob(filepath.Join(root, word)); err != nil || len(found) == 0 {
				t.Errorf("there is no file or package %s", word)
			}
		default:
			continue
		}
		named++
	}
	if named < 60 {
		t.Errorf("only %d names", named)
	}
}

// Sizes of the picture in pixels.
const (
	boxWidth, boxHeight = 600, 58
	boxPitch            = boxHeight + 12
	laneStart           = boxWidth + 40
	lanePitch           = 30
	topMargin           = 44
	packagesPerLine     = 112 // characters
)

// drawRooms draws rooms one below the other. From each a line leads up to the rooms that import it,
// with a dot at each of them.
func drawRooms(edges [][]int) []byte {
	var b bytes.Buffer
	width, height := laneStart+lanePitch*len(rooms)+10, topMargin+boxPitch*len(rooms)
	middle := func(i int) int { return topMargin + i*boxPitch + boxHeight/2 }
	lane := func(i int) int { return laneStart + lanePitch*i }
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif">
<title>The rooms of the code and which imports which</title>
<style>
.page{fill:#fff}.box{fill:#f2f5f9;stroke:#8a98a8}.name{font-size:14px;font-weight:600;fill:#111}.small{font-size:10.5px;fill:#444}
.row{stroke:#dde3ea}.lane{stroke:#0a4b83;stroke-width:1.5;fill:none}.dot{fill:#0a4b83}
@media (prefers-color-scheme:dark){.page{fill:#14181d}.box{fill:#20272f;stroke:#6b7a8a}.name{fill:#f2f2f2}.small{fill:#c2c9d1}.row{stroke:#333c46}.lane{stroke:#79b8f0}.dot{fill:#79b8f0}}
</style>
<rect class="page" width="%[1]d" height="%[2]d"/>
<text class="small" x="1" y="16">A room imports only rooms below it. A dot in a row: this room imports the room where the line starts.</text>
`, width, height, width, height)
	for i := range rooms {
		fmt.Fprintf(&b, "<line class=\"row\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%[2]d\"/>\n", boxWidth, middle(i), lane(len(rooms)-1))
	}
	for to := range rooms {
		top := slices.IndexFunc(edges, func(row []int) bool { return row[to] > 0 })
		if top < 0 {
			continue
		}
		x, y := lane(to), middle(to)
		fmt.Fprintf(&b, "<path class=\"lane\" d=\"M%d %dH%dV%d\"/>\n", boxWidth, y, x, middle(top))
		fmt.Fprintf(&b, "<path class=\"dot\" d=\"M%d %dl8 -4v8z\"/>\n", boxWidth, y)
		fmt.Fprintf(&b, "<text class=\"small\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x, middle(top)-10, to+1)
		for from := range rooms {
			if n := edges[from][to]; n > 0 {
				fmt.Fprintf(&b, "<circle class=\"dot\" cx=\"%d\" cy=\"%d\" r=\"4\"><title>%s imports %s, %d times</title></circle>\n", x, middle(from), rooms[from].name, rooms[to].name, n)
			}
		}
	}
	for i, r := range rooms {
		y := topMargin + i*boxPitch
		fmt.Fprintf(&b, "<rect class=\"box\" x=\"1\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>\n", y, boxWidth-1, boxHeight)
		fmt.Fprintf(&b, "<text x=\"12\" y=\"%d\"><tspan class=\"name\">%d %s</tspan><tspan class=\"small\" dx=\"10\">%s</tspan></text>\n", y+19, i+1, html.EscapeString(r.name), html.EscapeString(r.does))
		for line, text := range wrapped(r.packages) {
			fmt.Fprintf(&b, "<text class=\"small\" x=\"12\" y=\"%d\">%s</text>\n", y+35+14*line, text)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// wrapped are packages as lines of a box, without the folder that most share.
func wrapped(packages []string) (lines []string) {
	line := ""
	for _, pkg := range packages {
		pkg = strings.TrimPrefix(pkg, "internal/")
		if line != "" && len(line)+len(pkg) > packagesPerLine {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " · "
		}
		line += pkg
	}
	return append(lines, line)
}
