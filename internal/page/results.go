package page

import (
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
	"throughline/internal/table"
	"throughline/number"
	"throughline/op"
)

// drawn returns the charts that a value has.
func drawn[T any](kinds []picture.Kind[T], from T) (out []*chart.Chart) {
	for _, k := range kinds {
		if c, err := k.Draw(from); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// Explained is the report of a point with its explanations.
func Explained(a *point.Answer, why []*explain.Explanation) *Page {
	r := a.Record
	p := &Page{Title: "Why it takes its time", Subtitle: report.PointTitle(a)}
	p.Sections = append(p.Sections, Section{Title: "What it does", Tables: []Table{summary(r)}})
	for i, x := range why {
		if x == nil {
			continue
		}
		step := &a.Phases[i]
		p.Sections = append(p.Sections, Section{
			Title:  fmt.Sprintf("The %s, %s ms", step.StepTitle(), number.Plain(step.Estimate.StepTime*1e3, 4)),
			Text:   append(stepTexts(a, step), x.Exchange.Lines()...),
			Charts: drawn(picture.StepKinds, picture.Step{Answer: a, Phase: i, Why: x}),
			Tables: []Table{operators(x), sensitivity(x), limits(x)},
		})
	}
	p.Sections = append(p.Sections, assumptions(a.Deployment.Assume), Section{Title: "All fields", Folded: []Section{{Title: "show them", Tables: []Table{facts(r)}}}})
	return p
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
func summary(r *result.Record) Table { return fieldTable(r, comparedFields()) }

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
	t := report.Operators(x.Operators, table.NoBars).Filled()
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

// compared are the fields by which deployments and runs are compared.
var compared = []string{
	"model_name", "mode", "engine", "prefill_plans", "decoder_plans", "decoder_microbatchsize", "num_procs", "spare_procs", "concurrency", "TTFT(s)", "TPOT(s)", "request_latency(s)", "tokens_per_user",
	"tokens_per_processor", "request_per_second", "request_per_second_per_npu", "output_throughput(token/s)", "memory(Gib)", "decoder_bound", "trust", "dollars_per_million_tokens", "tokens_per_joule",
}

// comparison is a table with a row per record.
type comparison struct{ rows []named }

type named struct {
	name string
	*result.Record
}

func comparedFields() (out []*result.Field) {
	for _, name := range compared {
		if f, ok := result.Lookup(name); ok {
			out = append(out, f)
		}
	}
	return out
}

func (c *comparison) add(name string, r *result.Record) { c.rows = append(c.rows, named{name, r}) }

// table drops fields that no record has.
func (c *comparison) table() Table {
	t := &table.Table[named]{Rows: c.rows}
	for _, f := range result.Columns(comparedFields()) {
		t.Columns = append(t.Columns, table.Column[named]{Title: f.Name, Doc: f.Doc, Kind: f.Kind, Value: func(n named) any { return f.Value(n.Record) }})
	}
	t = t.Filled()
	t.Columns = slices.Insert(t.Columns, 0, table.Column[named]{Title: "name", Value: func(n named) any { return n.name }})
	return Table{Wide: true, Any: t}
}

// Planned is the report of a plan.
func Planned(p *advice.Plans) *Page {
	l, got := p.Loaded, p.Advice
	out := &Page{
		Title:    "What to launch",
		Subtitle: fmt.Sprintf("%s (%s), %d in, %d out; assumptions: %s", l.Shape.Name, l.Stored, l.Lengths.Input, l.Lengths.Output, l.Assumptions.Name),
	}
	var ranked, frontier comparison
	best := Section{Title: "The deployments one by one"}
	each := func(letter string, list []advice.Candidate, to *comparison) {
		for i := range list {
			r := &list[i].Record
			name := fmt.Sprintf("%s%d", letter, i+1)
			to.add(name, r)
			one := Section{Title: fmt.Sprintf("%s: %s", name, describe(r)), Tables: []Table{facts(r)}}
			if c, err := picture.Shares(r); err == nil {
				one.Charts, one.Small = []*chart.Chart{c}, true
			}
			best.Folded = append(best.Folded, one)
		}
	}
	each("", got.Ranked, &ranked)
	each("f", got.Frontier, &frontier)
	out.Sections = append(out.Sections, Section{Title: "Ranked", Text: got.Reasons, Charts: drawn(picture.PlanKinds, p), Tables: []Table{ranked.table()}})
	if len(got.Frontier) > 0 {
		out.Sections = append(out.Sections, Section{Title: "The frontier", Text: []string{"From the fastest for a user to the highest throughput."}, Tables: []Table{frontier.table()}})
	}
	if len(got.Ranked) > 0 {
		if e := got.Ranked[0].Engine(); e != nil {
			parts := got.Ranked[0].Launch(e)
			s := Section{Title: "Launch the first", Text: []string{e.Title + " " + e.Options.Version}}
			for _, part := range parts {
				s.Code = append(s.Code, "# "+part.What+"\n"+strings.Join(part.Commands, "\n"))
				if part.Config != "" {
					s.Code = append(s.Code, part.Config)
				}
				s.Text = append(s.Text, part.Remarks...)
			}
			out.Sections = append(out.Sections, s)
		}
	}
	out.Sections = append(out.Sections, best, assumptions(l.Assumptions))
	return out
}

// describe names a record in a line.
func describe(r *result.Record) string {
	text := r.Model.Name
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		if side := r.Sides[phase]; side != nil && side.Found {
			text += fmt.Sprintf(", %s %s on %s", point.PhaseName(phase), result.Instances(side.Instances, &side.Step.Plan), side.System.Name)
		}
	}
	return text
}

// Runs collects the runs of a file for their report.
type Runs struct {
	title string
	parts []*runsPart
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
	mostRows   = 5_000
	mostSingle = 100
)

// NewRuns starts an empty report.
func NewRuns(title string) *Runs { return &Runs{title: title} }

// Start begins a section of the file, whose charts come from pictures.
func (p *Runs) Start(mode string, pictures *picture.Runs) {
	p.parts = append(p.parts, &runsPart{mode: mode, pictures: pictures})
}

// Add adds a run of the section.
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
	one := Section{Title: name + ": " + describe(r), Text: r.Reasons, Tables: []Table{facts(r)}}
	if c, err := picture.Shares(r); err == nil {
		one.Charts, one.Small = []*chart.Chart{c}, true
	}
	part.single = append(part.single, one)
}

// Page returns the report.
func (p *Runs) Page() *Page {
	out := &Page{Title: "Runs", Subtitle: p.title}
	for _, part := range p.parts {
		s := Section{Title: part.mode + ", compared", Charts: drawn(picture.RunKinds, part.pictures), Tables: []Table{part.table.table()}}
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
