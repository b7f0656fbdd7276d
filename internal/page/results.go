package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/advice"
	"throughline/internal/chart"
	"throughline/internal/explain"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/number"
	"throughline/op"
)

func drawn[T any](kinds []picture.Kind[T], from T) (out []*chart.Chart) {
	for _, k := range kinds {
		if c, err := k.Draw(from); err == nil {
			out = append(out, c)
		}
	}
	return out
}

func Explained(e *explain.Explained) *Page {
	a, why := e.Answer, e.Why
	r, parts := a.Record, e.Parts
	p := &Page{Title: "Why it takes its time", Subtitle: report.PointTitle(a), Answer: sentence.Explained(e)}
	p.Sections = append(p.Sections, clientSection(a, parts))
	for i, x := range why {
		if x == nil {
			continue
		}
		step := &a.Phases[i]
		p.Sections = append(p.Sections, Section{
			Title:  fmt.Sprintf("The %s, %s", step.StepTitle(), number.Time(step.Estimate.StepTime, 3)),
			Text:   append(stepTexts(a, step), x.Exchange.Lines()...),
			Charts: drawn(picture.StepKinds[1:], picture.Step{Answer: a, Phase: i, Why: x, Parts: parts}),
			Tables: []Table{operators(x), sensitivity(x), limits(x)},
		})
	}
	p.Sections = append(p.Sections, assumptions(a.Deployment.Assume), Section{Title: "All fields", Folded: []Section{{Title: "show them", Tables: []Table{facts(r)}}}})
	return p
}

// clientSection is what clients see, in parts that add up to it.
func clientSection(a *point.Answer, parts *explain.Parts) Section {
	return Section{Title: "What clients see", Charts: drawn(picture.StepKinds[:1], picture.Step{Answer: a, Parts: parts}), Tables: []Table{summary(a.Record)}}
}

// Estimated is the report of a point: what clients see, and its steps.
func Estimated(a *point.Answer) (*Page, error) {
	parts, err := explain.PartsOf(a)
	if err != nil {
		return nil, err
	}
	p := &Page{Title: "What it gives", Subtitle: report.PointTitle(a), Answer: sentence.Point(a), Sections: []Section{clientSection(a, parts)}}
	p.Sections = append(p.Sections, Section{Title: "The steps", Tables: []Table{{Title: "Each step by itself", Any: report.Steps(a)}}},
		assumptions(a.Deployment.Assume), Section{Title: "All fields", Folded: []Section{{Title: "show them", Tables: []Table{facts(a.Record)}}}})
	return p, nil
}

// stepTexts describe the confidence in a step, and what clients see beside it.
func stepTexts(a *point.Answer, step *point.Result) []string {
	out := []string{confidence(&step.Confidence)}
	if note := a.StepNote(step); note != "" {
		out = append(out, note)
	}
	return out
}

func confidence(c *estimate.Confidence) string {
	if !c.HasBand() {
		return fmt.Sprintf("Confidence: %s; with these assumptions no predictions have been compared with measurements.", c.Level)
	}
	return fmt.Sprintf("Confidence: %s, ±%.0f%% expected.", c.Level, 100*c.Band)
}

// facts shows all fields of a record that have a value.
func facts(r *result.Record) Table { return fieldTable(r, result.Fields()) }

// summary shows the fields by which deployments are compared.
func summary(r *result.Record) Table {
	t := &table.Table[*shownColumn]{Columns: []table.Column[*shownColumn]{
		{Title: "what", Value: func(k *shownColumn) any { return k.title }},
		{Title: "value", Kind: table.Number, Cell: func(k *shownColumn) string { return textOf(k, r) }},
	}}
	for i := range compared {
		if k := &compared[i]; textOf(k, r) != "" && (k.title != packages || r.Packaged()) {
			t.Rows = append(t.Rows, k)
		}
	}
	return Table{Title: "What it gives", Any: t}
}

func textOf(k *shownColumn, r *result.Record) string {
	c := k.column()
	one := table.Table[named]{Columns: []table.Column[named]{c}, Rows: []named{{"", r}}}
	return one.Text(0, named{"", r})
}

func fieldTable(r *result.Record, fields []*result.Field) Table {
	t := &table.Table[*result.Field]{Columns: []table.Column[*result.Field]{
		{Title: "field", Value: func(f *result.Field) any { return f.Name }},
		{Title: "value", Kind: table.Number, Value: func(f *result.Field) any { return f.Value(r) }},
		{Title: "unit", Value: func(f *result.Field) any { return string(f.Unit) }},
		{Title: "meaning", Value: func(f *result.Field) any { return f.Doc }},
	}}
	for _, f := range fields {
		if v := f.Value(r); v != nil && v != "" {
			t.Rows = append(t.Rows, f)
		}
	}
	return Table{Any: t}
}

// operators adds where and when each runs to those of the terminal.
func operators(x *explain.Explanation) Table {
	shown, _ := x.Operators.Shown()
	t := report.Operators(shown, table.NoBars).Filled()
	t.Columns = append(t.Columns, table.Column[*estimate.Operator]{Title: "lane", Value: func(o *estimate.Operator) any { return o.Lane.String() }},
		table.Column[*estimate.Operator]{Title: "start µs", Kind: table.Number, Value: func(o *estimate.Operator) any { return 1e6 * o.Start }},
		table.Column[*estimate.Operator]{Title: "end µs", Kind: table.Number, Value: func(o *estimate.Operator) any { return 1e6 * o.End }})
	return Table{Title: "Operators", Wide: true, Any: t}
}

func sensitivity(x *explain.Explanation) Table {
	return Table{Title: fmt.Sprintf("Sensitivity: what %.0f%% more of a number changes", 100*explain.Change), Any: report.Sensitivity(x.Sensitivity)}
}

func limits(x *explain.Explanation) Table {
	return Table{Title: "As the batch grows", Any: table.Of([]table.Column[*explain.Limit]{
		{Title: "batch", Kind: table.Count, Value: func(l *explain.Limit) any {
			if l.Batch == 0 {
				return nil
			}
			return l.Batch
		}},
		{Title: "what happens", Value: func(l *explain.Limit) any { return l.What }},
		{Title: "reached", Cell: func(l *explain.Limit) string { return map[bool]string{true: "yes"}[l.Reached] }},
	}, x.Limits)}
}

// shownColumn is a column of compared deployments: in words, with the digits that bands let stand.
type shownColumn struct {
	title string
	field string
	rank  rank
	cell  func(r *result.Record) string // nil: the value with three digits
}

// rank says which columns are shown at once: of the same rank the earlier ones.
type rank uint8

const (
	answered rank = iota // figures that are asked for, also where they are the same in all rows
	asked                // the question and what decodes, where rows differ in it
	chosen               // the rest of the plan and what decides, where rows differ in it
	told                 // the rest, where rows differ in it
	alike                // what is the same in all rows
)

// mostAtOnce is the columns of a table that are shown at once.
const mostAtOnce = 10

// compared are the columns by which deployments and runs are compared, the important ones first.
var compared = []shownColumn{
	{"model", "model_name", asked, nil},
	{"system", "decoder_system_name", asked, nil},
	{"GPUs", "num_procs", asked, nil},
	{"tokens in + out", "seq_size", asked, func(r *result.Record) string { return fmt.Sprintf("%d + %d", r.Lengths.Input, r.Lengths.Output) }},
	{"engine", "engine", chosen, nil},
	{"prefill", "prefill_plans", chosen, nil},
	{"decode", "decoder_plans", asked, nil},
	{"TTFT limit", "TTFT_limit", asked, func(r *result.Record) string { return verdictOf(r, "TTFT") }},
	{"TPOT limit", "TPOT_limit", asked, func(r *result.Record) string { return verdictOf(r, "TPOT") }},
	{"TTFT", "TTFT(s)", answered, func(r *result.Record) string { return timeOf(r, r.TTFT, 0) }},
	{"TPOT", "TPOT(s)", answered, func(r *result.Record) string { return timeOf(r, r.TPOT, 1) }},
	{"chance", "chance", chosen, chance},
	{"tokens/s per GPU", "tokens_per_processor", answered, nil},
	{"requests/s", "request_per_second", told, nil},
	{"headroom", "headroom", chosen, func(r *result.Record) string {
		if r.Capacity == nil {
			return ""
		}
		return fmt.Sprintf("%.0f%%", 100*r.Capacity.Headroom)
	}},
	{"$ per M tokens", "dollars_per_million_tokens", told, nil},
	{"tokens per joule", "tokens_per_joule", told, nil},
	{"J per output token", "joules_per_output_token", told, nil},
	{"mode", "mode", told, nil},
	{"batch", "decoder_microbatchsize", told, nil},
	{"spare", "spare_procs", told, nil},
	{"clients", "concurrency", told, nil},
	{"request", "request_latency(s)", told, func(r *result.Record) string { return timeOf(r, r.Latency, -1) }},
	{"tokens/s per user", "tokens_per_user", told, nil},
	{packages, "request_per_second_per_npu", told, nil},
	{"GiB of a GPU", "memory(Gib)", told, nil},
	{"bound by", "decoder_bound", told, nil},
	{"known by", "trust", told, nil},
	{"why there is no plan", "reason", answered, nil},
}

// packages is the title of a rate that the reference tool counts by package; where each has one GPU
// the title says so.
const packages = "requests/s per package"

// timeOf is a time with its band and whether its limit holds: of TTFT, of TPOT, or none.
func timeOf(r *result.Record, seconds float64, which int) string {
	if !r.Complete {
		return ""
	}
	mark := ""
	for _, v := range r.Verdicts() {
		if which >= 0 && v.Figure == figures[which] && v.Limit.Share == 0 {
			mark = result.Mark(v.Holds()) + " "
		}
	}
	if r.Trusted == nil || which < 0 {
		return mark + number.Time(seconds, 3)
	}
	return mark + number.Banded(seconds, [2]float64{r.Trusted.TTFT.Band, r.Trusted.TPOT.Band}[which])
}

// figures that limits bound.
var figures = [2]string{"TTFT", "TPOT"}

// verdictOf is a limit and, of a percentile, whether it holds.
func verdictOf(r *result.Record, figure string) string {
	for _, v := range r.Verdicts() {
		if v.Figure == figure && v.Limit.Share > 0 {
			return fmt.Sprintf("%s %s %s ≤ %s", result.Mark(v.Holds()), v.Limit.Statistic(), number.Time(v.Value, 3), number.Time(v.Limit.Seconds, 3))
		}
	}
	if ms := map[string]*float64{"TTFT": r.Limits.TTFT, "TPOT": r.Limits.TPOT}[figure]; ms != nil {
		return number.Time(*ms/1e3, 4)
	}
	return ""
}

func chance(r *result.Record) string {
	if v, ok := result.In("chance", "")(r).(float64); ok {
		return sentence.Percent(v)
	}
	return ""
}

// comparison is a table with a row per record.
type comparison struct{ rows []named }

type named struct {
	name string
	*result.Record
}

func (c *comparison) add(name string, r *result.Record) { c.rows = append(c.rows, named{name, r}) }

// sort puts the rows with the most requests per second and GPU first.
func (c *comparison) sort() {
	rate := func(n named) float64 { return n.Requests / float64(max(1, n.Procs)) }
	slices.SortStableFunc(c.rows, func(a, b named) int { return cmp.Compare(rate(b), rate(a)) })
}

// column is one of the table; sorted by the field, shown in words.
func (k *shownColumn) column() table.Column[named] {
	out := table.Column[named]{Title: k.title, Kind: table.Number, Digits: 3, Rank: int(k.rank)}
	f, known := result.Lookup(k.field)
	if known {
		out.Doc, out.Kind, out.Value = f.Doc, f.Kind(), func(n named) any { return f.Value(n.Record) }
	}
	if k.cell != nil {
		out.Cell = func(n named) string { return k.cell(n.Record) }
	}
	return out
}

// table drops columns that no record fills; those with the same in every row come last.
func (c *comparison) table(title string) Table {
	t := &table.Table[named]{Rows: c.rows}
	for i := range compared {
		column := compared[i].column()
		if column.Title == packages && !slices.ContainsFunc(c.rows, func(n named) bool { return n.Packaged() }) {
			column.Title = "requests/s per GPU"
		}
		t.Columns = append(t.Columns, column)
	}
	t = t.Filled()
	same := func(at int) bool {
		return len(t.Rows) > 1 && !slices.ContainsFunc(t.Rows, func(n named) bool { return t.Text(at, n) != t.Text(at, t.Rows[0]) })
	}
	var first, last []table.Column[named]
	for i := range t.Columns {
		if c := t.Columns[i]; same(i) && rank(c.Rank) != answered {
			c.Rank = int(alike)
			last = append(last, c)
		} else {
			first = append(first, c)
		}
	}
	t.Columns = slices.Concat(first, last)
	t.Columns = slices.Insert(t.Columns, 0, table.Column[named]{Title: "name", Value: func(n named) any { return n.name }})
	return Table{Title: title, Wide: true, First: mostAtOnce, Any: t}
}

func Planned(p *advice.Plans) *Page {
	l, got := p.Loaded, p.Advice
	out := &Page{
		Title:    "What to launch",
		Subtitle: fmt.Sprintf("%s (%s), %d in, %d out; assumptions: %s", l.Shape.Name, l.Stored, l.Lengths.Input, l.Lengths.Output, l.Assumptions.Name),
		Answer:   sentence.Plan(p),
	}
	var ranked, frontier comparison
	ranked.candidates("", got.Ranked)
	frontier.candidates("f", got.Frontier)
	best := Section{Title: "The deployments one by one"}
	for _, n := range slices.Concat(ranked.rows, frontier.rows) {
		best.Folded = append(best.Folded, recordSection(n.name, n.Record))
	}
	out.Sections = append(out.Sections, Section{Title: "Ranked", Text: got.Reasons, Charts: drawn(picture.PlanKinds, p), Tables: []Table{ranked.table("Ranked deployments")}})
	if len(got.Frontier) > 0 {
		out.Sections = append(out.Sections, Section{Title: "The frontier", Text: []string{fromFastest}, Tables: []Table{frontier.table("The frontier")}})
	}
	out.Sections = append(out.Sections, launchSections(got)...)
	out.Sections = append(out.Sections, best, assumptions(l.Assumptions))
	return out
}

const fromFastest = "From the fastest for a user to the highest throughput."

// candidates adds deployments of a list, numbered behind a letter.
func (c *comparison) candidates(letter string, list []advice.Candidate) {
	for i := range list {
		c.add(fmt.Sprintf("%s%d", letter, i+1), &list[i].Record)
	}
}

// recordSection is one record with all its fields.
func recordSection(name string, r *result.Record) Section {
	one := Section{Title: name + ": " + describe(r), Text: r.Reasons, Tables: []Table{facts(r)}}
	if c, err := picture.Shares(r); err == nil {
		one.Charts, one.Small = []*chart.Chart{c}, true
	}
	return one
}

// launchSections is how the first deployment is started; none where nothing launches it.
func launchSections(a *advice.Advice) []Section {
	if len(a.Ranked) == 0 || a.Ranked[0].Engine() == nil {
		return nil
	}
	e := a.Ranked[0].Engine()
	s := Section{Title: "Launch the first", Text: []string{e.Title + " " + e.Options.Version}}
	for _, part := range e.Parts(&a.Ranked[0].Deployment) {
		s.Code = append(s.Code, "# "+part.What+"\n"+strings.Join(part.Commands, "\n"))
		if part.Config != "" {
			s.Code = append(s.Code, part.Config)
		}
		s.Notes = append(s.Notes, part.Remarks...)
	}
	return []Section{s}
}

func describe(r *result.Record) string {
	text := r.Model.Name
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		if side := r.Sides[phase]; side != nil && side.Found {
			text += fmt.Sprintf(", %s %s on %s", phase.Name(), result.Instances(side.Instances, &side.Step.Plan), side.System.Name)
		}
	}
	return text
}

// Runs collects the runs of a file for their report.
type Runs struct {
	Answer []string // in sentences
	title  string
	parts  []*runsPart
}

// runsPart is the runs of one section of the file.
type runsPart struct {
	mode     string
	pictures *picture.Runs
	table    comparison
	single   []Section
	more     int // runs that have no row
	sample   *result.Record
}

// Limits of table rows and of runs shown one by one, for the sake of browsers.
const (
	mostRows   = 20_000
	mostSingle = 20
)

// NewRuns starts an empty report.
func NewRuns(title string) *Runs { return &Runs{title: title} }

// Start begins a section of the file, whose charts come from pictures.
func (p *Runs) Start(mode string, pictures *picture.Runs) {
	p.parts = append(p.parts, &runsPart{mode: mode, pictures: pictures})
}

func (p *Runs) Add(r *result.Record) {
	part := p.parts[len(p.parts)-1]
	part.sample = r
	if len(part.table.rows) == mostRows {
		part.more++
		return
	}
	name := fmt.Sprintf("run %d", r.Number)
	part.table.add(name, r)
	if len(part.single) == mostSingle {
		return
	}
	part.single = append(part.single, recordSection(name, r))
}

func (p *Runs) Page() *Page {
	out := &Page{Title: "Runs", Subtitle: p.title, Answer: p.Answer}
	for _, part := range p.parts {
		charts := drawn(picture.RunKinds, part.pictures)
		if part.pictures.Columns() < 2 { // nothing runs along x
			charts = slices.DeleteFunc(charts, func(c *chart.Chart) bool { return c.Kind == "lines" || c.Kind == "heatmap" })
		}
		title := part.mode
		if len(part.table.rows) > printed { // on paper are the first
			part.table.sort()
			title += ", the most requests/s per GPU first"
		}
		s := Section{Title: part.mode + ", compared", Charts: charts, Tables: []Table{part.table.table(title)}}
		if part.more > 0 {
			s.Text = append(s.Text, fmt.Sprintf("The first %d of %d runs; the tables have all.", mostRows, mostRows+part.more))
		}
		single := Section{Title: part.mode + ", one by one", Folded: part.single}
		if n := len(part.table.rows); n > mostSingle {
			single.Text = append(single.Text, fmt.Sprintf("The first %d of %d runs.", mostSingle, n+part.more))
		}
		out.Sections = append(out.Sections, s, single)
		if part.sample != nil {
			a := assumptions(part.sample.Assume)
			a.Title = part.mode + ", assumptions"
			out.Sections = append(out.Sections, a)
		}
	}
	return out
}
