package page

import (
	"fmt"
	"math"
	"strings"

	"throughline/estimate"
	"throughline/internal/advice"
	"throughline/internal/chart"
	"throughline/internal/explain"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
)

// drawn are the charts of something, but for those that it does not have.
func drawn[T any](kinds []picture.Kind[T], from T) (out []*chart.Chart) {
	for _, k := range kinds {
		if c, err := k.Draw(from); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// Explained is the report of a point: why the steps that are explained take the time they take.
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

// stepTexts say how far a step can be trusted, and what clients see beside it.
func stepTexts(a *point.Answer, step *point.Result) []string {
	out := []string{confidence(&step.Confidence)}
	if note := a.StepNote(step); note != "" {
		out = append(out, note)
	}
	return out
}

// confidence says how far a time can be trusted.
func confidence(c *estimate.Confidence) string {
	if !c.HasBand() {
		return fmt.Sprintf("Confidence: %s; with these assumptions no predictions have been compared with measurements.", c.Level)
	}
	return fmt.Sprintf("Confidence: %s, ±%.0f%% expected.", c.Level, 100*c.Band)
}

// facts are all fields of a record that have a value.
func facts(r *result.Record) Table { return told(r, result.Fields()) }

// summary is those by which deployments are compared.
func summary(r *result.Record) Table { return told(r, newComparison().fields) }

func told(r *result.Record, fields []*result.Field) Table {
	t := Table{Columns: []Column{{Title: "field"}, {Title: "value", Right: true}, {Title: "unit"}, {Title: "meaning"}}}
	for _, f := range fields {
		if v := f.Value(r); v != nil && v != "" {
			t.Rows = append(t.Rows, []Cell{Text(f.Name), of(v), Text(string(f.Unit)), Text(f.Doc)})
		}
	}
	return t
}

func operators(x *explain.Explanation) Table {
	t := Table{Title: "Operators", Wide: true, Columns: []Column{
		{Title: "part"}, {Title: "operator"}, {Title: "engine"}, {Title: "shape"}, {Title: "repeat", Right: true}, {Title: "GFLOP", Right: true}, {Title: "MB", Right: true}, {Title: "µs", Right: true},
		{Title: "share %", Right: true}, {Title: "of peak %", Right: true}, {Title: "of bandwidth %", Right: true}, {Title: "bound by"}, {Title: "lane"}, {Title: "start µs", Right: true}, {Title: "end µs", Right: true},
	}}
	for i := range x.Operators {
		o := &x.Operators[i]
		n := o.Executions()
		ofPeak, ofBandwidth := o.Use()
		shape := o.Dimensions(func(v float64) string { return number.Plain(v, 6) })
		t.Rows = append(t.Rows, []Cell{
			Text(o.Block), Text(o.Name), Text(explain.EngineOf(o)), Text(shape), Number(n, 6), Number(n*o.Computed()/1e9, 4), Number(n*o.Traffic()/1e6, 4), Number(n*o.Exposed*1e6, 5),
			Number(100*o.Share, 3), Number(100*ofPeak, 3), Number(100*ofBandwidth, 3), Text(o.BoundBy()), Text(o.Lane.String()), Number(1e6*o.Start, 6), Number(1e6*o.End, 6),
		})
	}
	return t
}

func sensitivity(x *explain.Explanation) Table {
	t := Table{Title: fmt.Sprintf("Sensitivity: what %.0f%% more of a number changes, in %%", 100*explain.Change), Columns: []Column{
		{Title: "number"}, {Title: "now", Right: true}, {Title: "unit"}, {Title: "step", Right: true}, {Title: "TTFT", Right: true}, {Title: "TPOT", Right: true}, {Title: "tokens/s", Right: true}, {Title: "largest batch"},
	}}
	for i := range x.Sensitivity {
		e := &x.Sensitivity[i]
		if !e.Any() {
			continue
		}
		batch := ""
		if e.Batch != e.NewBatch {
			batch = fmt.Sprintf("%d → %d", e.Batch, e.NewBatch)
		}
		t.Rows = append(t.Rows, []Cell{Text(e.Parameter), Number(e.Value, 6), Text(e.Unit), Number(100*e.Step, 3), Number(100*e.TTFT, 3), Number(100*e.TPOT, 3), Number(100*e.Tokens, 3), Text(batch)})
	}
	return t
}

func limits(x *explain.Explanation) Table {
	t := Table{Title: "As the batch grows", Columns: []Column{{Title: "batch", Right: true}, {Title: "what happens"}, {Title: "reached"}}}
	for _, l := range x.Limits {
		reached := ""
		if l.Reached {
			reached = "yes"
		}
		batch := Text("")
		if l.Batch > 0 {
			batch = of(l.Batch)
		}
		t.Rows = append(t.Rows, []Cell{batch, Text(l.What), Text(reached)})
	}
	return t
}

// compared are the fields by which deployments and runs are compared.
var compared = []string{
	"model_name", "mode", "engine", "prefill_plans", "decoder_plans", "decoder_microbatchsize", "num_procs", "spare_procs", "concurrency", "TTFT(s)", "TPOT(s)", "request_latency(s)", "tokens_per_user",
	"tokens_per_processor", "request_per_second", "request_per_second_per_npu", "output_throughput(token/s)", "memory(Gib)", "decoder_bound", "trust", "dollars_per_million_tokens", "tokens_per_joule",
}

// comparison is a table of records, a row each, of the fields that any of them has.
type comparison struct {
	fields []*result.Field
	names  []string
	rows   [][]Cell
}

func newComparison() *comparison {
	c := &comparison{}
	for _, name := range compared {
		if f, ok := result.Lookup(name); ok {
			c.fields = append(c.fields, f)
		}
	}
	return c
}

func (c *comparison) add(name string, r *result.Record) {
	row := make([]Cell, len(c.fields))
	for i, f := range c.fields {
		row[i] = of(f.Value(r))
	}
	c.names, c.rows = append(c.names, name), append(c.rows, row)
}

// table leaves out the fields that no record has.
func (c *comparison) table(title string) Table {
	t := Table{Title: title, Wide: true, Columns: []Column{{Title: "name"}}}
	t.Rows = make([][]Cell, len(c.rows))
	for i, name := range c.names {
		t.Rows[i] = []Cell{Text(name)}
	}
	for k, f := range c.fields {
		used, number := false, false
		for _, row := range c.rows {
			used = used || row[k].Text != ""
			number = number || !math.IsNaN(row[k].Value)
		}
		if !used {
			continue
		}
		t.Columns = append(t.Columns, Column{f.Name, f.Doc, number})
		for i, row := range c.rows {
			t.Rows[i] = append(t.Rows[i], row[k])
		}
	}
	return t
}

// Planned is the report of a plan.
func Planned(p *advice.Plans) *Page {
	l, got := p.Loaded, p.Advice
	out := &Page{
		Title:    "What to launch",
		Subtitle: fmt.Sprintf("%s (%s), %d in, %d out; assumptions: %s", l.Shape.Name, l.Stored, l.Lengths.Input, l.Lengths.Output, l.Assumptions.Name),
	}
	ranked, frontier := newComparison(), newComparison()
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
	each("", got.Ranked, ranked)
	each("f", got.Frontier, frontier)
	out.Sections = append(out.Sections, Section{Title: "Ranked", Text: got.Reasons, Charts: drawn(picture.PlanKinds, p), Tables: []Table{ranked.table("")}})
	if len(got.Frontier) > 0 {
		out.Sections = append(out.Sections, Section{Title: "The frontier", Text: []string{"From the fastest for a user to the highest throughput."}, Tables: []Table{frontier.table("")}})
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
	table    *comparison
	single   []Section
	more     int // runs that have no row
	sample   *result.Record
}

// Rows of tables, and runs that are told one by one: browsers do not stand more.
const (
	mostRows   = 5_000
	mostSingle = 100
)

// NewRuns is the report of no runs yet.
func NewRuns(title string) *Runs { return &Runs{title: title} }

// Start begins a section of the file, whose charts come from pictures.
func (p *Runs) Start(mode string, pictures *picture.Runs) {
	p.parts = append(p.parts, &runsPart{mode: mode, pictures: pictures, table: newComparison()})
}

// Add notes a run of the section.
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

// Page is the report.
func (p *Runs) Page() *Page {
	out := &Page{Title: "Runs", Subtitle: p.title}
	for _, part := range p.parts {
		s := Section{Title: part.mode + ", compared", Charts: drawn(picture.RunKinds, part.pictures), Tables: []Table{part.table.table("")}}
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
