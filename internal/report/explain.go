package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/estimate"
	"throughline/internal/explain"
	"throughline/internal/point"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/number"
)

func WriteExplained(w io.Writer, v table.View, x *explain.Explained) (err error) {
	var steps []string
	answer := sentence.Explained(x)
	for i, why := range x.Why {
		if why != nil {
			var b strings.Builder
			err = cmp.Or(err, WriteExplanation(&b, v, answer, x.Answer, i, why))
			steps, answer = append(steps, b.String()), nil
		}
	}
	_, wrong := io.WriteString(w, strings.Join(steps, "\n")+limits(x.Answer, v))
	return cmp.Or(err, wrong)
}

// WriteExplanation writes for the terminal why a phase of a point takes its time.
func WriteExplanation(w io.Writer, v table.View, answer []string, a *point.Answer, phase int, x *explain.Explanation) error {
	r := &a.Phases[phase]
	e := &r.Estimate
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s: %s, %s tokens/s\n", pointHead(answer, a, a.Record, v), r.StepTitle(), number.Time(e.StepTime, 3), number.Rate(e.Throughput))

	layers := "all layers"
	if e.Plan.Attention.PP > 1 {
		layers = "the layers of one of the stages"
	}
	if e.Plan.Overlap.Batches() > 1 {
		layers += " and both micro-batches"
	}
	about := v.Wrap(fmt.Sprintf("Operators, over %s; shares of the step; of the peak rate and bandwidth, without calibration", layers))
	ops, others := x.Operators.Shown()
	fmt.Fprintf(&b, "\n%s\n%s\n", about, Operators(ops, v.Bars).Render(v))
	if len(others) > 0 {
		fmt.Fprintln(&b, v.Wrap("In kernels of others: "+strings.Join(others, ", ")))
	}
	for i, line := range x.Exchange.Lines() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintln(&b, v.Wrap(line))
	}
	fmt.Fprintf(&b, "\nMemory of a GPU\n%s\n", memoryMap(&x.Memory, r.Problem.Model.IsMoE(), v.Bars).Render(v))
	fmt.Fprintf(&b, "\nSensitivity: what %.0f%% more of a number changes\n%s\n", 100*explain.Change, Sensitivity(x.Sensitivity).Render(v))
	if without := withoutEffect(x.Sensitivity); without != "" {
		fmt.Fprintln(&b, v.Wrap("Without effect: "+without))
	}
	fmt.Fprintf(&b, "\nAs the batch grows from %d\n", e.Plan.Batch.Size)
	for _, l := range x.Limits {
		b.WriteString("  " + table.View{Width: max(0, v.Width-2)}.Wrap(limitLine(&l)) + "\n")
	}
	if x.Seek != nil {
		fmt.Fprintf(&b, "\n%s\n", v.Wrap(SeekLine(x.Seek)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const barWidth = 9

// Operators lists the operators of a step in order; a bar replaces the columns whose room it takes.
func Operators(ops explain.Operators, bars table.Bars) *table.Table[*estimate.Operator] {
	bar, peaks := 2, 1
	if bars != table.NoBars {
		bar, peaks = 1, 3
	}
	largest := 0.0
	t := &table.Table[*estimate.Operator]{Line: func(above, o *estimate.Operator) bool { return above.Block != o.Block }}
	for i := range ops {
		largest = max(largest, ops[i].Share)
		t.Rows = append(t.Rows, &ops[i])
	}
	t.Columns = []table.Column[*estimate.Operator]{
		{Title: "part", Rank: 2, Once: true, Value: func(o *estimate.Operator) any { return o.Block }},
		{Title: "operator", Value: func(o *estimate.Operator) any { return o.Name }},
		{Title: "unit", Rank: 4, Value: func(o *estimate.Operator) any { return explain.UnitOf(o) }},
		{Title: "m × n × k", Rank: 3, Cell: func(o *estimate.Operator) string { return o.Dimensions(short) }},
		{Title: "repeat", Kind: table.Number, Rank: 5, Value: func(o *estimate.Operator) any { return o.Executions() }},
		figure("GFLOP", 6, func(o *estimate.Operator) float64 { return o.Executions() * o.Computed() / 1e9 }, plainOrEmpty),
		figure("MB", 6, func(o *estimate.Operator) float64 { return o.Executions() * o.Traffic() / 1e6 }, plainOrEmpty),
		{Title: "µs", Kind: table.Number, Format: "%.1f", Value: func(o *estimate.Operator) any { return o.Executions() * o.Exposed * 1e6 }, Cell: func(o *estimate.Operator) string { return micros(o.Executions() * o.Exposed * 1e6) }},
		{Title: "share", Kind: table.Number, Value: func(o *estimate.Operator) any { return o.Share }, Cell: func(o *estimate.Operator) string { return fmt.Sprintf("%.1f%%", 100*o.Share) }},
		{Title: "time", Rank: bar, Cell: func(o *estimate.Operator) string { return bars.Bar(o.Share/largest, barWidth) }},
		figure("of peak", peaks, func(o *estimate.Operator) float64 { ofPeak, _ := o.Use(); return ofPeak }, percentOrEmpty),
		figure("of bandwidth", peaks, func(o *estimate.Operator) float64 { _, ofBandwidth := o.Use(); return ofBandwidth }, percentOrEmpty),
		figure("mJ", 2, func(o *estimate.Operator) float64 { return 1e3 * o.Joules }, plainOrEmpty),
		{Title: "bound by", Rank: 1, Value: func(o *estimate.Operator) any { return o.BoundBy() }},
	}
	return t
}

// figure is a column of numbers that people see in words of their own.
func figure[T any](title string, rank int, value func(T) float64, show func(float64) string) table.Column[T] {
	return table.Column[T]{
		Title: title, Kind: table.Number, Rank: rank,
		Value: func(row T) any { return value(row) }, Cell: func(row T) string { return show(value(row)) },
	}
}

// short formats a number with at most one decimal.
func short(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// plainOrEmpty formats three significant digits, and 0 as nothing.
// micros is a time in µs, of a tenth where it is short.
func micros(us float64) string {
	if us < 1000 {
		return fmt.Sprintf("%.1f", us)
	}
	return number.Grouped(int(math.Round(number.Round(us, 4))))
}

func plainOrEmpty(v float64) string {
	if v == 0 {
		return ""
	}
	return number.Plain(v, 3)
}

func percentOrEmpty(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*v)
}

// held is a part of the memory of a processor.
type held struct {
	name string
	gib  float64
}

func memoryMap(m *explain.Memory, experts bool, bars table.Bars) *table.Table[held] {
	mlp, free := "MLP weights", "free"
	if experts {
		mlp = "MLP and expert weights"
	}
	if m.Free < 0 {
		free = "too much"
	}
	const all = "capacity"
	return &table.Table[held]{
		Columns: []table.Column[held]{
			{Value: func(h held) any { return h.name }},
			{Title: "GiB", Kind: table.Number, Format: "%.2f", Value: func(h held) any { return h.gib }},
			{Title: "share", Kind: table.Number, Format: "%.1f%%", Value: func(h held) any { return 100 * m.Share(h.gib) }},
			{Title: "of the memory", Rank: 1, Cell: func(h held) string { return bars.Bar(m.Share(h.gib), 3*barWidth) }},
		},
		Rows: slices.DeleteFunc([]held{
			{"attention weights", m.Attention}, {mlp, m.MLP}, {"draft module", m.Draft}, {"embedding, output head", m.Ends},
			{"working space", m.Working}, {"KV cache", m.Cache}, {free, m.Free}, {"not usable", m.Reserved}, {all, m.Capacity},
		}, func(h held) bool { return h.gib == 0 }),
		Line: func(_, h held) bool { return h.name == all },
	}
}

// Sensitivity shows the numbers that have an effect.
func Sensitivity(effects []explain.Effect) *table.Table[*explain.Effect] {
	t := &table.Table[*explain.Effect]{}
	for i := range effects {
		if effects[i].Any() {
			t.Rows = append(t.Rows, &effects[i])
		}
	}
	t.Columns = []table.Column[*explain.Effect]{
		{Title: "number", Value: func(e *explain.Effect) any { return e.Parameter }},
		{Title: "now", Kind: table.Number, Rank: 2, Value: func(e *explain.Effect) any { return e.Value }, Cell: func(e *explain.Effect) string { return quantity(e.Value, e.Unit) }},
		figure("step", 0, func(e *explain.Effect) float64 { return e.Step }, signed),
		figure("TTFT", 0, func(e *explain.Effect) float64 { return e.TTFT }, signed),
		figure("TPOT", 0, func(e *explain.Effect) float64 { return e.TPOT }, signed),
		figure("tokens/s", 1, func(e *explain.Effect) float64 { return e.Tokens }, signed),
		{Title: "largest batch", Kind: table.Count, Rank: 1, Cell: func(e *explain.Effect) string {
			if e.Batch == e.NewBatch {
				return ""
			}
			return fmt.Sprintf("%d → %d", e.Batch, e.NewBatch)
		}},
	}
	return t
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

func SeekLine(a *explain.Answer) string {
	goal := fmt.Sprintf("a %s of %s", a.Metric, quantity(a.Goal, a.GoalUnit))
	now := fmt.Sprintf("now it is %s at %s", quantity(a.NowMetric, a.GoalUnit), quantity(a.Now, a.Unit))
	if a.Replanned {
		now += ", by the best deployment at each value"
	}
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

func ExplainedJSON(x *explain.Explained) any {
	a, why := x.Answer, x.Why
	explained := map[string]*explain.Explanation{}
	for i := range a.Phases {
		if why[i] != nil {
			explained[a.Phases[i].Phase.Name()] = why[i]
		}
	}
	more := []column{keyValue("explained", explained)}
	if x.Parts != nil {
		more = append(more, keyValue("parts", x.Parts))
	}
	return pointOf(a, sentence.Explained(x), more...)
}
