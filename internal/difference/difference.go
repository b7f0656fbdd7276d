// Package difference compares two plan rows, systems or result files figure by figure, and explains
// why one is better.
package difference

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/number"
)

type Figure struct {
	Field string
	Value any // float64, string; nil: none
}

// Row is a figure of both sides.
type Row struct {
	Field  string `json:"field"`
	A      any    `json:"a"`
	B      any    `json:"b"`
	Change any    `json:"change"` // between numbers, as a share of a; nil: unknown
}

// Differs reports whether the sides do, by more than the order of sums explains.
func (r *Row) Differs() bool {
	a, known := r.A.(float64)
	b, both := r.B.(float64)
	if known && both {
		return math.Abs(b-a) > 1e-9*max(math.Abs(a), math.Abs(b))
	}
	return r.A != r.B
}

// Difference is two sides with their figures.
type Difference struct {
	A    string   `json:"a"`
	B    string   `json:"b"`
	Rows []Row    `json:"rows"`
	Why  []string `json:"why"` // in sentences
}

type side struct {
	name    string
	kind    string // "a row of a plan", "a system", "a file"
	figures []Figure
	row     *planRow         // of a row of a plan
	system  *hardware.System // of a system
}

// Of compares two references: FILE.json#ROW of a plan, a deployment as parameters of an address, a
// system by name or file, or a file of results, with #ROW a row of a table.
func Of(in *files.Door, a, b string) (*Difference, error) {
	one, errA := read(in, a, "A")
	other, errB := read(in, b, "B")
	if err := document.Join(errA, errB); err != nil {
		return nil, err
	}
	return between(one, other)
}

// Deployed compares two deployments, each with its name.
func Deployed(a string, x *question.Question, b string, y *question.Question) (*Difference, error) {
	one, errA := deployed(a, x, 0)
	other, errB := deployed(b, y, 0)
	if err := document.Join(errA, errB); err != nil {
		return nil, err
	}
	return between(one, other)
}

func between(one, other *side) (*Difference, error) {
	a, b := one.name, other.name
	if one.kind != other.kind {
		return nil, fmt.Errorf("%s is %s and %s is %s: compare two of a kind", a, one.kind, b, other.kind)
	}
	out := &Difference{A: a, B: b, Rows: join(one.figures, other.figures)}
	switch {
	case one.row != nil:
		out.Why = whyRows(a, b, one.row, other.row)
	case one.system != nil:
		out.Why = whySystems(out)
	default:
		out.Why = whyFiles(out)
	}
	return out, nil
}

// Kinds of sides.
const (
	aPlan   = "a row of a plan"
	aSystem = "a system"
	aFile   = "a file of results"
)

func read(in *files.Door, ref, letter string) (*side, error) {
	if words := question.FromParameters(ref); words["model"] != "" {
		q := question.NewFixedQuery(in, question.Explain, words)
		if q.Wrong != nil {
			return nil, q.Wrong
		}
		return deployed(letter, &q.Question, 0)
	}
	name, row, given := strings.Cut(ref, "#")
	plain := strings.TrimSuffix(name, ".gz")
	_, missing := in.Stat(name)
	switch {
	case missing == nil && strings.HasSuffix(plain, ".csv"):
		return readTable(in, ref, name, row)
	case missing == nil && strings.HasSuffix(plain, ".jsonl"):
		return readLines(in, ref, name, row)
	case missing == nil && strings.HasSuffix(plain, ".json"):
		return readJSON(in, ref, name, row, given)
	case given && errors.Is(missing, fs.ErrNotExist):
		return nil, document.Unreadable(in, name, missing)
	}
	return readSystem(in, ref)
}

func readSystem(in *files.Door, ref string) (*side, error) {
	f, err := hardware.Catalogue.Locate(ref, catalogue.Places{In: in})
	if err != nil {
		return nil, fmt.Errorf("%s is no row of a plan (plan.json#2), no file of results (.json, .csv) and no system: %w", ref, err)
	}
	sys, doc := hardware.Read(f.Name, f.Source)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	s := &side{name: ref, kind: aSystem, system: sys}
	s.figures = append(s.figures, Figure{"type", sys.Type}, Figure{"maker", sys.Maker})
	for _, p := range sys.Parameters() {
		field := p.Name
		if p.Unit != "" {
			field += " (" + p.Unit + ")"
		}
		s.figures = append(s.figures, Figure{field, p.Of(sys)})
	}
	return s, nil
}

// readJSON reads a row of a plan, a system, or any other object.
func readJSON(in *files.Door, ref, name, row string, given bool) (*side, error) {
	src, err := document.ReadFile(in, name)
	if err != nil {
		return nil, document.Unreadable(in, name, err)
	}
	var doc any
	if err := json.Unmarshal(src, &doc); err != nil {
		return nil, fmt.Errorf("%s: not JSON: %w", name, err)
	}
	object, _ := doc.(map[string]any)
	switch {
	case object["ranked"] != nil && object["question"] != nil:
		return readPlan(in, ref, name, cmp.Or(row, "1"))
	case given:
		return nil, fmt.Errorf("%s: not the JSON that throughline plan writes, whose rows have numbers", name)
	case object["mem1"] != nil:
		return readSystem(in, ref)
	}
	s := &side{name: ref, kind: aFile}
	s.flatten("", doc)
	return s, nil
}

// flatten adds the numbers and texts of a document, each by its path.
func (s *side) flatten(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s.flatten(strings.TrimPrefix(path+"."+k, "."), v[k])
		}
	case []any:
		for i := range v {
			s.flatten(fmt.Sprintf("%s[%d]", path, i+1), v[i])
		}
	case bool:
		s.figures = append(s.figures, Figure{path, strconv.FormatBool(v)})
	default:
		s.figures = append(s.figures, Figure{path, v})
	}
}

// mostCells limits the compared figures of a table: more than anyone reads.
const mostCells = 1_000_000

// rowNumber reads the number of a row, from 1; 0 for an empty text.
func rowNumber(text string) (n int, ok bool) {
	if text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1
}

// readTable reads a table, with its rows keyed by their first cells, or one of its rows, keyed by
// columns.
func readTable(in *files.Door, ref, name, row string) (*side, error) {
	at, ok := rowNumber(row)
	if !ok {
		return nil, fmt.Errorf("%s: no row %q of a table: give its number, from 1", name, row)
	}
	f, err := csvfile.Open(in, name)
	if err != nil {
		return nil, document.Unreadable(in, name, err)
	}
	defer f.Close()
	r := csvfile.NewReader(f, csvfile.Streamed)
	header, err := r.Header()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &side{name: ref, kind: aFile}
	seen := map[string]int{}
	n := 0
	for {
		cells, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if n++; at > 0 && n != at {
			continue
		}
		key, first := "", 0
		if at == 0 {
			key, first = cells[0], 1
			if seen[key]++; seen[key] > 1 {
				key += fmt.Sprintf("[%d]", seen[key])
			}
			key += "."
		}
		for i := first; i < min(len(cells), len(header)); i++ {
			s.figures = append(s.figures, Figure{key + header[i], cellOf(cells[i])})
		}
		if len(s.figures) > mostCells {
			return nil, fmt.Errorf("%s: has more than %d cells; name a row, such as %s#1", name, mostCells, name)
		}
	}
	if at > n {
		return nil, fmt.Errorf("%s: no row %d; it has %d", name, at, n)
	}
	return s, nil
}

// readLines reads a file with a JSON object on each line, or one of them by its number.
func readLines(in *files.Door, ref, name, row string) (*side, error) {
	at, ok := rowNumber(row)
	if !ok {
		return nil, fmt.Errorf("%s: no line %q: give its number, from 1", name, row)
	}
	f, err := csvfile.Open(in, name)
	if err != nil {
		return nil, document.Unreadable(in, name, err)
	}
	defer f.Close()
	s, n := &side{name: ref, kind: aFile}, 0
	lines := csvfile.NewLines(f, csvfile.Streamed)
	for lines.Scan() {
		if n++; at > 0 && n != at {
			continue
		}
		var doc any
		if err := json.Unmarshal(lines.Bytes(), &doc); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
		}
		path := ""
		if at == 0 {
			path = fmt.Sprintf("[%d]", n)
		}
		if s.flatten(path, doc); len(s.figures) > mostCells {
			return nil, fmt.Errorf("%s: has more than %d figures; name a line, such as %s#1", name, mostCells, name)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if at > n {
		return nil, fmt.Errorf("%s: no line %d; it has %d", name, at, n)
	}
	return s, nil
}

func cellOf(text string) any {
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	if text == "" {
		return nil
	}
	return text
}

// join pairs figures: those of the first in order, then those that only the second has.
func join(a, b []Figure) []Row {
	at := map[string]int{}
	var out []Row
	for _, f := range a {
		at[f.Field] = len(out)
		out = append(out, Row{Field: f.Field, A: finite(f.Value)})
	}
	for _, f := range b {
		i, ok := at[f.Field]
		if !ok {
			i = len(out)
			out = append(out, Row{Field: f.Field})
		}
		out[i].B = finite(f.Value)
	}
	for i := range out {
		r := &out[i]
		x, isX := r.A.(float64)
		y, isY := r.B.(float64)
		if isX && isY && x != 0 {
			r.Change = y/x - 1
		}
	}
	return out
}

// finite maps numbers that JSON lacks, such as the speed of one-token answers, to nil.
func finite(v any) any {
	if x, ok := v.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return nil
	}
	return v
}

// whySystems describes what the second system has more and less of.
func whySystems(d *Difference) []string {
	var differ, same []string
	for i := range d.Rows {
		r := &d.Rows[i]
		a, isA := r.A.(float64)
		b, isB := r.B.(float64)
		matters := strings.HasPrefix(r.Field, "matrix.") && strings.Contains(r.Field, "tflops") || strings.HasPrefix(r.Field, "mem1.G") || strings.Contains(r.Field, ".bandwidth") || strings.Contains(r.Field, ".size")
		if !isA || !isB || !matters || a == 0 {
			continue
		}
		name, _, _ := strings.Cut(r.Field, " (")
		if a == b {
			same = append(same, name)
			continue
		}
		differ = append(differ, fmt.Sprintf("%s times the %s (%s and %s)", number.Plain(b/a, 3), name, number.Plain(a, 4), number.Plain(b, 4)))
	}
	var out []string
	if len(differ) > 0 {
		out = append(out, fmt.Sprintf("Beside %s, %s has %s.", d.A, d.B, strings.Join(differ, ", ")))
	}
	if len(same) > 0 {
		out = append(out, fmt.Sprintf("The same: %s.", strings.Join(same, ", ")))
	}
	return out
}

// whyFiles counts what two files share, and names what differs the most.
func whyFiles(d *Difference) []string {
	differ := 0
	var most *Row
	for i := range d.Rows {
		r := &d.Rows[i]
		if !r.Differs() {
			continue
		}
		differ++
		if c, ok := r.Change.(float64); ok {
			if most == nil || math.Abs(c) > math.Abs(most.Change.(float64)) {
				most = r
			}
		}
	}
	out := fmt.Sprintf("%d of %d figures differ", differ, len(d.Rows))
	if most != nil {
		out += fmt.Sprintf("; the most in %s: %s", most.Field, Percent(most.Change))
	}
	return []string{out + "."}
}

// Percent formats a change; empty if there is none.
func Percent(change any) string {
	c, ok := change.(float64)
	switch {
	case !ok:
		return ""
	case math.Abs(c) >= 10:
		return fmt.Sprintf("×%s", number.Plain(1+c, 3))
	}
	return number.Signed(c, 1)
}
