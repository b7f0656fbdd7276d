package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/document"
	"throughline/internal/jobfile"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
)

// Few is how many runs are shown one by one; of more, the best and the counts.
const Few = 40

// mostBest is how many of the best are shown.
const mostBest = 20

// Runs is the table of runs for the terminal: two lines per run, one for each phase. Of many runs it keeps the best of each
// model on each system.
type Runs struct {
	view   View
	fields []*result.Field // that were asked for; nil: the usual columns

	shown []block          // while there are few
	best  map[string]block // by model and systems
	order []string
	count struct{ runs, whole, parts int } // in all, with a plan, with a plan of one phase only
}

// block is the lines of a run.
type block struct {
	name, model, system string
	lines               [][]string
	rate                float64 // requests per second and card; 0: there is none
	also                string  // what was ruled out
}

// NewRuns is a table of no runs. Names of columns that do not exist are an error.
func NewRuns(v View) (*Runs, error) {
	fields, err := FieldsOf(columns, v.Columns...)
	return &Runs{view: v, fields: fields, best: map[string]block{}}, err
}

// FieldsOf finds fields by their names, with or without the unit behind them; the error is of a setting.
func FieldsOf(setting string, names ...string) ([]*result.Field, error) {
	var out []*result.Field
	var unknown []string
	for _, name := range names {
		f, ok := lookup(name)
		if !ok {
			text := strconv.Quote(name)
			if near, ok := document.Nearest(name, fieldNames()); ok {
				text += fmt.Sprintf(" (did you mean %q?)", near)
			}
			unknown = append(unknown, text)
		}
		out = append(out, f)
	}
	if unknown == nil {
		return out, nil
	}
	what := "no field is called "
	if len(unknown) > 1 {
		what = "no fields are called "
	}
	return nil, &document.Error{Problems: []document.Problem{{Path: setting, Message: what + strings.Join(unknown, ", ") + "; columns help lists all"}}}
}

// columns is the setting of the fields to show.
const columns = "columns"

// HelpOfColumns is the name that asks for a list of all fields in place of columns.
const HelpOfColumns = "help"

// WriteFields lists the fields, by what they are about.
func WriteFields(w io.Writer, v View) error {
	var b strings.Builder
	b.WriteString(v.Wrap("Fields, with their units. Units and case may be left out. docs/output.md says more about them.") + "\n")
	category := result.Category("")
	for _, f := range result.Fields() {
		if f.Category != category {
			category = f.Category
			fmt.Fprintf(&b, "\n%s\n", category)
		}
		b.WriteString(v.WrapUnder(fmt.Sprintf("  %-35s ", f.Name), f.Doc) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// CheckColumns reports names that are of no field.
func CheckColumns(names []string) error {
	_, err := FieldsOf(columns, names...)
	return err
}

// lookup finds a field by its name as it is, then in any case.
func lookup(name string) (*result.Field, bool) {
	i := slices.IndexFunc(result.Fields(), func(f *result.Field) bool { return f.Name == name || bare(f.Name) == name })
	if i < 0 {
		i = slices.IndexFunc(result.Fields(), func(f *result.Field) bool {
			return strings.EqualFold(f.Name, name) || strings.EqualFold(bare(f.Name), name)
		})
	}
	if i < 0 {
		return nil, false
	}
	return result.Fields()[i], true
}

// bare is the name of a field without its unit.
func bare(name string) string {
	before, _, _ := strings.Cut(name, "(")
	return before
}

func fieldNames() []string {
	var out []string
	for _, f := range result.Fields() {
		out = append(out, bare(f.Name))
	}
	return out
}

// Add adds a run.
func (t *Runs) Add(r *result.Record) {
	t.count.runs++
	switch {
	case r.Whole:
		t.count.whole++
	case r.Sides[op.Prefill].Found || r.Sides[op.Decode].Found:
		t.count.parts++
	}
	b := t.block(r)
	if t.count.runs <= Few {
		t.shown = append(t.shown, b)
	} else {
		t.shown = nil
	}
	if !r.Whole {
		return
	}
	key := strings.Join([]string{r.Mode, r.Model.Name, r.Sides[op.Prefill].System.Name, r.Sides[op.Decode].System.Name}, "\n")
	known, ok := t.best[key]
	if !ok {
		t.order = append(t.order, key)
	}
	if !ok || b.rate > known.rate {
		t.best[key] = b
	}
}

func (t *Runs) block(r *result.Record) block {
	b := block{name: runName(r), model: r.Model.Name, system: r.Sides[op.Decode].System.Name, also: refusals(t.view, r)}
	if other := r.Sides[op.Prefill].System.Name; other != b.system {
		b.system = other + " and " + b.system
	}
	if r.Whole {
		f, _ := result.Lookup("request_per_second_per_npu")
		b.rate, _ = f.Value(r).(float64)
	}
	if t.fields != nil {
		line := []string{runName(r)}
		for _, f := range t.fields {
			line = append(line, cell(f.Value(r)))
		}
		b.lines = [][]string{line}
		return b
	}
	first, second := runLine(r, r.Sides[op.Prefill], "prefill"), runLine(r, r.Sides[op.Decode], "decode")
	first[0], first[1] = runName(r), r.Model.Name
	if r.Whole {
		second[len(second)-1] = number.Plain(r.Requests, 4)
	}
	b.lines = [][]string{first, second}
	return b
}

var shortModes = map[string]string{jobfile.Fusion: "fusion", jobfile.Split: "split"}

func runName(r *result.Record) string { return fmt.Sprintf("%s %d", shortModes[r.Mode], r.Number) }

// runColumns are the usual ones.
var runColumns = []Column{
	{"run", false, 0}, {"model", false, 3}, {"system", false, 4}, {"phase", false, 0}, {"plan", false, 0}, {"batch", true, 2},
	{"latency ms", true, 0}, {"tokens/s", true, 4}, {"per card", true, 0}, {"memory GiB", true, 6}, {"bound by", false, 5},
	{"confidence", false, 7}, {"requests/s", true, 2},
}

func runLine(r *result.Record, s *result.Side, phase string) []string {
	if !s.Found {
		return []string{"", "", s.System.Name, phase, "no plan", "", "", "", "", "", "", "", ""}
	}
	is := func(name, format string) string {
		return fmt.Sprintf(format, result.Of(s.Phase, name).Value(r))
	}
	return []string{
		"", "", s.System.Name, phase, is("plans", "%s"), is("microbatchsize", "%d"), fmt.Sprintf("%.2f", result.Of(s.Phase, "time_per_token(s)").In(result.Millis, r)),
		is("throughput(token/s)", "%.0f"), is("throughput_per_npu(token/s)", "%.1f"),
		fmt.Sprintf("%s of %s", is("tier1_mem(Gib)", "%.1f"), number.Plain(s.System.Memory.GiB, 4)),
		is("bound_by", "%s"), is("confidence", "%s ") + s.Step.Confidence.Span(), "",
	}
}

// cell is the value of a field for people.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return number.Plain(v, 6)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return fmt.Sprint(v)
}

// Write writes the table: all runs where there are few, otherwise the best and how many there are.
func (t *Runs) Write(w io.Writer) error {
	shown := t.shown
	if t.count.runs > Few {
		shown = t.bests()
	}
	g := Grid{Columns: runColumns}
	if t.fields != nil {
		g.Columns = []Column{{"run", false, 0}}
		for _, f := range t.fields {
			g.Columns = append(g.Columns, Column{f.Name, true, 1})
		}
	}
	for _, b := range shown {
		if t.fields == nil {
			g.Separator()
		}
		for _, line := range b.lines {
			g.Row(line...)
		}
	}
	var b strings.Builder
	if len(shown) > 0 {
		fmt.Fprintln(&b, g.Render(t.view))
		t.legend(&b, &g, shown)
	}
	if t.count.runs > Few {
		fmt.Fprintln(&b, wrap(t.summary(len(shown)), t.view.Width))
	}
	for _, run := range shown {
		b.WriteString(run.also)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// legend says which models and systems the runs are of, where these columns are left out.
func (t *Runs) legend(b *strings.Builder, g *Grid, shown []block) {
	picked, _ := g.choose(t.view.Width)
	has := func(title string) bool {
		return slices.ContainsFunc(picked, func(i int) bool { return g.Columns[i].Title == title })
	}
	withModel, withSystem := !has("model"), !has("system")
	if t.fields != nil || !withModel && !withSystem {
		return
	}
	names := map[string][]string{}
	var order []string
	for _, run := range shown {
		what := run.system
		switch {
		case withModel && withSystem:
			what = run.model + " on " + run.system
		case withModel:
			what = run.model
		}
		if names[what] == nil {
			order = append(order, what)
		}
		names[what] = append(names[what], run.name)
	}
	for _, what := range order {
		fmt.Fprintln(b, wrap(what+": "+strings.Join(names[what], ", "), t.view.Width))
	}
}

// bests are the best of each model on each system, the highest rates where there are many of them.
func (t *Runs) bests() []block {
	keys := slices.Clone(t.order)
	if len(keys) > mostBest {
		slices.SortStableFunc(keys, func(a, b string) int {
			switch x, y := t.best[a].rate, t.best[b].rate; {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		keys = keys[:mostBest]
	}
	var out []block
	for _, k := range keys {
		out = append(out, t.best[k])
	}
	return out
}

// summary counts the runs.
func (t *Runs) summary(shown int) string {
	s := fmt.Sprintf("%s runs, %s with a plan", grouped(t.count.runs), grouped(t.count.whole))
	if n := t.count.parts; n > 0 {
		s += fmt.Sprintf(", %s with a plan of one phase only", grouped(n))
	}
	if n := t.count.runs - t.count.whole - t.count.parts; n > 0 {
		s += fmt.Sprintf(", %s without", grouped(n))
	}
	if shown == 0 {
		return s
	}
	what := "shown is the run with the most requests/s per card of each model on each system"
	if n := len(t.best); n > shown {
		what += fmt.Sprintf(", %d of %s", shown, grouped(n))
	}
	return s + "; " + what
}

// refusals say what ruled plans out, by how much the nearest of them missed, and what would have let it through.
func refusals(v View, r *result.Record) string {
	var b strings.Builder
	for _, phase := range []string{"prefill", "decode", "both phases"} {
		list, ok := r.Refusals[phase]
		if !ok {
			continue
		}
		b.WriteString("\n" + v.Wrap(fmt.Sprintf("run_%d, %s: %s of %s on %s: ruled out", r.Number, r.Mode, phase, r.Model.Name, r.Sides[op.Decode].System.Name)) + "\n")
		if len(list) == 0 {
			b.WriteString("  nothing\n")
		}
		for _, f := range list {
			b.WriteString(v.WrapUnder(fmt.Sprintf("  %-21s  ", f.Rule), fmt.Sprintf("%d %s; nearest: %s; enough: %s", f.Count, f.What, f.Nearest, f.Enough)) + "\n")
		}
	}
	return b.String()
}
