package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/explain"
	"throughline/internal/point"
	"throughline/number"
)

// WriteExplained writes the steps that are explained for the terminal.
func WriteExplained(w io.Writer, v View, x *explain.Explained) (err error) {
	var steps []string
	for i, why := range x.Why {
		if why != nil {
			var b strings.Builder
			err = cmp.Or(err, WriteExplanation(&b, v, x.Answer, i, why))
			steps = append(steps, b.String())
		}
	}
	_, wrong := io.WriteString(w, strings.Join(steps, "\n"))
	return cmp.Or(err, wrong)
}

// WriteExplanation writes for the terminal why a phase of a point takes the time it takes.
func WriteExplanation(w io.Writer, v View, a *point.Answer, phase int, x *explain.Explanation) error {
	r := &a.Phases[phase]
	e := &r.Estimate
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s: %s ms, %.1f tokens/s\n", head(a, a.Record(), v.Width), r.StepTitle(), number.Plain(e.StepTime*1e3, 4), e.Throughput)

	layers := "all layers"
	if e.Plan.Attention.PP > 1 {
		layers = "the layers of one of the stages"
	}
	if e.Plan.Overlap.Batches() > 1 {
		layers += " and both micro-batches"
	}
	about := wrap(fmt.Sprintf("Operators, over %s; shares of the step; of the peak rate and bandwidth, without calibration", layers), v.Width)
	fmt.Fprintf(&b, "\n%s\n%s\n", about, operatorTable(x.Operators, v))
	for i, line := range x.Exchange.Lines() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintln(&b, wrap(line, v.Width))
	}
	fmt.Fprintf(&b, "\nMemory of a processor\n%s\n", memoryMap(&x.Memory, r.Problem.Model.IsMoE(), v))
	fmt.Fprintf(&b, "\nSensitivity: what %.0f%% more of a number changes\n%s\n", 100*explain.Change, sensitivityTable(x.Sensitivity, v))
	if without := withoutEffect(x.Sensitivity); without != "" {
		fmt.Fprintln(&b, wrap("Without effect: "+without, v.Width))
	}
	fmt.Fprintf(&b, "\nAs the batch grows from %d\n", e.Plan.Batch.Size)
	for _, l := range x.Limits {
		b.WriteString("  " + wrap(limitLine(&l), max(0, v.Width-2)) + "\n")
	}
	if x.Seek != nil {
		fmt.Fprintf(&b, "\n%s\n", wrap(seekLine(x.Seek), v.Width))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// operatorColumns are those of the table of operators.
var operatorColumns = []Column{
	{"part", false, 2}, {"operator", false, 0}, {"engine", false, 4}, {"m × n × k", false, 3}, {"repeat", true, 5}, {"GFLOP", true, 6}, {"MB", true, 6},
	{"µs", true, 0}, {"share", true, 0}, {shareBar, false, 2}, {"of peak", true, 1}, {"of bandwidth", true, 1}, {"bound by", false, 1},
}

// shareBar is the title of a column of bars, and barWidth how many characters they have.
const (
	shareBar = "time"
	barWidth = 9
)

func operatorTable(ops []explain.Operator, v View) string {
	g := Grid{Columns: slices.Clone(operatorColumns)}
	if v.Bars != NoBars { // a bar says more at a glance than the columns that it takes the room of
		for i := range g.Columns {
			switch c := &g.Columns[i]; c.Title {
			case shareBar:
				c.Rank = 1
			case "of peak", "of bandwidth":
				c.Rank = 3
			}
		}
	}
	part, largest := "", 0.0
	for i := range ops {
		largest = max(largest, ops[i].Share)
	}
	for i := range ops {
		o := &ops[i]
		name := o.Part
		if name == part {
			name = ""
		} else {
			g.Separator()
		}
		part = o.Part
		shape := ""
		switch {
		case o.Collective != nil:
			shape = o.Collective.String()
		case o.M > 0:
			shape = fmt.Sprintf("%s × %s × %s", short(o.M), short(o.N), short(o.K))
		}
		g.Row(name, o.Name, o.Engine, shape, number.Plain(o.Repeat, 6), blank(o.Flops/1e9), blank(o.Bytes/1e6), fmt.Sprintf("%.1f", o.Time),
			fmt.Sprintf("%.1f%%", 100*o.Share), v.Bars.Bar(o.Share/largest, barWidth), percent(o.OfPeak), percent(o.OfBandwidth), o.Bound)
	}
	return g.Render(v)
}

// short is a number with a digit behind the point if it has any.
func short(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// blank is a number of three significant digits, nothing for 0.
func blank(v float64) string {
	if v == 0 {
		return ""
	}
	return number.Plain(v, 3)
}

func percent(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*v)
}

func memoryMap(m *explain.Memory, experts bool, v View) string {
	g := Grid{Columns: []Column{{"", false, 0}, {"GiB", true, 0}, {"share", true, 0}, {"of the memory", false, 1}}}
	row := func(name string, gib float64) {
		if gib != 0 {
			g.Row(name, fmt.Sprintf("%.2f", gib), fmt.Sprintf("%.1f%%", 100*m.Share(gib)), v.Bars.Bar(m.Share(gib), 3*barWidth))
		}
	}
	mlp := "MLP weights"
	if experts {
		mlp = "MLP and expert weights"
	}
	row("attention weights", m.Attention)
	row(mlp, m.MLP)
	row("draft module", m.Draft)
	row("embedding, output head", m.Ends)
	row("working space", m.Working)
	row("KV cache", m.Cache)
	if m.Free < 0 {
		row("too much", m.Free)
	} else {
		row("free", m.Free)
	}
	row("not usable", m.Reserved)
	g.Separator()
	row("capacity", m.Capacity)
	return g.Render(v)
}

func sensitivityTable(effects []explain.Effect, v View) string {
	g := Grid{Columns: []Column{
		{"number", false, 0}, {"now", true, 2}, {"step", true, 0}, {"TTFT", true, 0}, {"TPOT", true, 0}, {"tokens/s", true, 1}, {"largest batch", true, 1},
	}}
	for i := range effects {
		e := &effects[i]
		if !e.Any() {
			continue
		}
		batch := ""
		if e.Batch != e.NewBatch {
			batch = fmt.Sprintf("%d → %d", e.Batch, e.NewBatch)
		}
		g.Row(e.Parameter, quantity(e.Value, e.Unit), signed(e.Step), signed(e.TTFT), signed(e.TPOT), signed(e.Tokens), batch)
	}
	return g.Render(v)
}

func withoutEffect(effects []explain.Effect) string {
	var names []string
	for i := range effects {
		if !effects[i].Any() {
			names = append(names, effects[i].Parameter)
		}
	}
	return strings.Join(names, ", ")
}

func signed(v float64) string {
	switch {
	case v == 0:
		return ""
	case math.Abs(v) < 5e-5:
		return "≈ 0"
	}
	return strings.Replace(fmt.Sprintf("%+.2f%%", 100*v), "-", "−", 1)
}

// quantity is a number with its unit.
func quantity(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'g', 6, 64)
	if v >= 1e-4 && v < 1e15 {
		text = strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 4, 64), "0"), ".")
		if v >= 1000 {
			text = short(v)
		}
	}
	if unit == "" {
		return text
	}
	return text + " " + unit
}

func limitLine(l *explain.Limit) string {
	switch {
	case l.Batch == 0:
		return l.What
	case l.Reached:
		return fmt.Sprintf("batch %d, reached: %s", l.Batch, l.What)
	}
	return fmt.Sprintf("batch %d: %s", l.Batch, l.What)
}

func seekLine(a *explain.Answer) string {
	goal := fmt.Sprintf("a %s of %s", a.Metric, quantity(a.Goal, a.GoalUnit))
	now := fmt.Sprintf("now it is %s at %s", quantity(a.NowMetric, a.GoalUnit), quantity(a.Now, a.Unit))
	span := fmt.Sprintf("between %s and %s", quantity(a.Low, ""), quantity(a.High, a.Unit))
	switch {
	case a.Value != nil:
		times := ""
		if n := a.Times(); n > 0 {
			times = fmt.Sprintf(" (× %s)", number.Plain(n, 4))
		}
		return fmt.Sprintf("%s: %s%s reaches %s; %s", a.Parameter, quantity(*a.Value, a.Unit), times, goal, now)
	case a.Always:
		return fmt.Sprintf("%s: every value %s reaches %s; %s", a.Parameter, span, goal, now)
	}
	return fmt.Sprintf("%s: no value %s reaches %s; %s, at best %s at %s", a.Parameter, span, goal, now, quantity(a.Best, a.GoalUnit), quantity(a.BestAt, a.Unit))
}

// ExplainedJSON is a point and why, as one object for JSON.
func ExplainedJSON(a *point.Answer, why []*explain.Explanation) any {
	explained := map[string]*explain.Explanation{}
	for i := range a.Phases {
		if why[i] != nil {
			explained[point.PhaseName(a.Phases[i].Phase)] = why[i]
		}
	}
	out := pointOf(a)
	out.more = append(out.more, member{"explained", explained})
	return out
}
