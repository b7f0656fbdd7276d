package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/document"
	"throughline/internal/jobfile"
	"throughline/internal/result"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/number"
	"throughline/op"
)

// Few is how many runs are shown one by one; of more, the best and the counts.
const Few = 40

// mostBest limits the best runs shown.
const mostBest = 20

// Runs is the table of runs for the terminal, a line per phase; of many runs it keeps the best of
// each model and system.
type Runs struct {
	view   table.View
	fields []*result.Field // requested; nil: the default columns
	axes   []*result.Field // numbers of files that runs differ in

	shown []*result.Record          // while there are few
	best  map[string]*result.Record // by model and systems
	order []string
	count struct{ runs, complete, parts int } // in all, with a plan, with a plan of one phase only
}

// NewRuns is an empty table; unknown column names are an error.
func NewRuns(v table.View) (*Runs, error) {
	fields, err := FieldsOf(columns, v.Columns...)
	return &Runs{view: v, fields: fields, best: map[string]*result.Record{}}, err
}

// FieldsOf finds fields by name, with or without the unit; errors name the setting.
func FieldsOf(setting string, names ...string) ([]*result.Field, error) {
	var out []*result.Field
	var unknown []string
	for _, name := range names {
		f, ok := lookup(name)
		if !ok {
			text := strconv.Quote(name)
			if near, ok := document.Nearest(name, FieldNames()); ok {
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

// HelpOfColumns asks for a list of all fields in place of columns.
const HelpOfColumns = "help"

// WriteFields lists the fields by category.
func WriteFields(w io.Writer, v table.View) error {
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

func CheckColumns(names []string) error {
	_, err := FieldsOf(columns, names...)
	return err
}

// lookup finds a field by its exact name, then ignoring case.
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

// bare strips the unit from a field name.
func bare(name string) string {
	before, _, _ := strings.Cut(name, "(")
	return before
}

// FieldNames lists the fields of results, without units.
func FieldNames() []string {
	var out []string
	for _, f := range result.Fields() {
		out = append(out, bare(f.Name))
	}
	return out
}

func (t *Runs) Add(r *result.Record) {
	t.count.runs++
	switch {
	case r.Complete:
		t.count.complete++
	case r.Sides[op.Prefill].Found || r.Sides[op.Decode].Found:
		t.count.parts++
	}
	if t.count.runs <= Few {
		t.shown = append(t.shown, r)
	} else {
		t.shown = nil
	}
	if !r.Complete {
		return
	}
	key := strings.Join([]string{r.Mode, r.Model.Name, r.Sides[op.Prefill].System.Name, r.Sides[op.Decode].System.Name}, "\n")
	known, ok := t.best[key]
	if !ok {
		t.order = append(t.order, key)
	}
	if !ok || rate(r) > rate(known) {
		t.best[key] = r
	}
}

// rate returns the requests per second and card of a run that has a plan.
func rate(r *result.Record) float64 {
	f, _ := result.Lookup("request_per_second_per_npu")
	v, _ := f.Value(r).(float64)
	return v
}

func systemOf(r *result.Record) string {
	prefill, decode := r.Sides[op.Prefill].System.Name, r.Sides[op.Decode].System.Name
	if prefill != decode {
		return prefill + " and " + decode
	}
	return decode
}

var shortModes = map[string]string{jobfile.Fusion: "fusion", jobfile.Split: "split"}

func runName(r *result.Record) string { return fmt.Sprintf("%s %d", shortModes[r.Mode], r.Number) }

type runPhase struct {
	*result.Record
	side *result.Side
}

// onFirstLine shows a text only in the first line of a run.
func onFirstLine(text func(*result.Record) string) func(runPhase) string {
	return func(p runPhase) string {
		if p.side.Phase != op.Prefill {
			return ""
		}
		return text(p.Record)
	}
}

func (p runPhase) is(name, format string) string {
	return fmt.Sprintf(format, result.Of(p.side.Phase, name).Value(p.Record))
}

func ofPlan(title string, rank int, kind table.Kind, text func(p runPhase) string) table.Column[runPhase] {
	return table.Column[runPhase]{Title: title, Rank: rank, Kind: kind, Cell: func(p runPhase) string {
		if !p.side.Found {
			return ""
		}
		return text(p)
	}}
}

var runColumns = []table.Column[runPhase]{
	{Title: "run", Cell: onFirstLine(runName)},
	{Title: "model", Rank: 3, Cell: onFirstLine(func(r *result.Record) string { return r.Model.Name })},
	{Title: "system", Rank: 4, Value: func(p runPhase) any { return p.side.System.Name }},
	{Title: "phase", Value: func(p runPhase) any { return p.side.Phase.Name() }},
	{Title: "plan", Cell: func(p runPhase) string {
		if !p.side.Found {
			return "no plan"
		}
		return p.is("plans", "%s")
	}},
	ofPlan("batch", 2, table.Count, func(p runPhase) string { return p.is("microbatchsize", "%d") }),
	ofPlan("latency", 0, table.Number, func(p runPhase) string {
		seconds, _ := result.Of(p.side.Phase, "time_per_token(s)").Value(p.Record).(float64)
		return number.Banded(seconds, p.side.Step.Confidence.Band)
	}),
	ofPlan("tokens/s", 4, table.Number, func(p runPhase) string {
		return number.Rate(number.Round(float64(p.side.Instances)*p.side.Step.Throughput, 4))
	}),
	ofPlan("per GPU", 0, table.Number, func(p runPhase) string {
		return number.Rate(number.Round(p.side.Step.Throughput/float64(p.side.Procs), 4))
	}),
	ofPlan("memory GiB", 6, table.Number, func(p runPhase) string {
		return p.is("tier1_mem(Gib)", "%.1f") + " of " + number.Plain(p.side.System.Memory.GiB, 4)
	}),
	ofPlan("bound by", 5, table.Text, func(p runPhase) string { return p.is("bound_by", "%s") }),
	ofPlan("known by", 7, table.Text, func(p runPhase) string { return p.is("confidence", "%s") }),
	{Title: "requests/s", Kind: table.Number, Rank: 2, Cell: func(p runPhase) string {
		if !p.Complete || p.side.Phase != op.Decode {
			return ""
		}
		return number.Plain(p.Requests, 4)
	}},
}

// table shows a line per phase under the default columns, or under the requested ones.
func (t *Runs) table(runs []*result.Record) *table.Table[runPhase] {
	if t.fields == nil {
		out := &table.Table[runPhase]{Columns: append(t.named(), runColumns[1:]...), Line: func(above, p runPhase) bool { return above.Record != p.Record }}
		for _, r := range runs {
			out.Rows = append(out.Rows, runPhase{r, r.Sides[op.Prefill]}, runPhase{r, r.Sides[op.Decode]})
		}
		return out
	}
	out := &table.Table[runPhase]{Columns: t.named()}
	for _, f := range t.fields {
		out.Columns = append(out.Columns, table.Column[runPhase]{Title: f.Name, Kind: table.Number, Rank: 1, Value: func(p runPhase) any { return f.Value(p.Record) }})
	}
	for _, r := range runs {
		out.Rows = append(out.Rows, runPhase{r, r.Sides[op.Prefill]})
	}
	return out
}

// Write writes all runs where there are few, otherwise the best and the counts.
func (t *Runs) Write(w io.Writer) error {
	shown := t.shown
	if t.count.runs > Few {
		shown = t.bests()
	}
	var b strings.Builder
	b.WriteString(sentence.Text(t.view, t.Answer()))
	if len(shown) > 0 {
		b.WriteString("\n")
		rows := t.table(shown)
		fmt.Fprintln(&b, rows.Render(t.view))
		titles, _ := rows.Shown(t.view.Width)
		t.legend(&b, titles, shown)
	}
	if t.count.runs > Few && len(shown) > 0 {
		fmt.Fprintln(&b, t.view.Wrap(t.summary(len(shown))))
	}
	for _, run := range shown {
		b.WriteString(refusals(t.view, run))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Differ adds the numbers of files that runs differ in.
func (t *Runs) Differ(axes []string) {
	for _, name := range axes {
		t.axes = append(t.axes, result.AxisField(name))
	}
}

// named is the columns that say which run a line is of.
func (t *Runs) named() []table.Column[runPhase] {
	out := runColumns[:1:1]
	for _, f := range t.axes {
		out = append(out, table.Column[runPhase]{Title: f.Name, Kind: table.Number, Cell: onFirstLine(func(r *result.Record) string {
			v, _ := f.Value(r).(float64)
			return number.Plain(v, 6)
		})})
	}
	return out
}

// legend names the models and systems of the runs if their columns are left out.
func (t *Runs) legend(b *strings.Builder, titles []string, shown []*result.Record) {
	withModel, withSystem := !slices.Contains(titles, "model"), !slices.Contains(titles, "system")
	if t.fields != nil || !withModel && !withSystem {
		return
	}
	names := map[string][]string{}
	var order []string
	for _, run := range shown {
		what := systemOf(run)
		switch {
		case withModel && withSystem:
			what = run.Model.Name + " on " + what
		case withModel:
			what = run.Model.Name
		}
		if names[what] == nil {
			order = append(order, what)
		}
		names[what] = append(names[what], runName(run))
	}
	for _, what := range order {
		fmt.Fprintln(b, t.view.Wrap(what+": "+strings.Join(names[what], ", ")))
	}
}

// bests returns the best run of each model and system, the highest rates if there are many.
func (t *Runs) bests() []*result.Record {
	keys := slices.Clone(t.order)
	if len(keys) > mostBest {
		slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(rate(t.best[b]), rate(t.best[a])) })
		keys = keys[:mostBest]
	}
	var out []*result.Record
	for _, k := range keys {
		out = append(out, t.best[k])
	}
	return out
}

func (t *Runs) summary(shown int) string {
	what := "shown is the run with the most requests/s per GPU of each model on each system"
	if n := len(t.best); n > shown {
		what += fmt.Sprintf(", %d of %s", shown, number.Grouped(n))
	}
	return what
}

// Answer is the sentences that open the runs.
func (t *Runs) Answer() []string {
	var best *result.Record
	for _, key := range t.order {
		if r := t.best[key]; best == nil || rate(r) > rate(best) {
			best = r
		}
	}
	return sentence.Runs(t.count.runs, t.count.complete, t.count.parts, best)
}

// refusals explains what ruled plans out, by how much the nearest missed, and what would admit it.
func refusals(v table.View, r *result.Record) string {
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
