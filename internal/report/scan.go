package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/internal/sentence"
	"throughline/internal/sweep"
	"throughline/internal/table"
	"throughline/number"
	"throughline/serving/simulate"
)

// Scan is the points of a scan under way, and then all that are shown.
type Scan struct {
	Of     *scan.Scan
	Points []*sweep.Point // answered, in order
	Left   int            // left out by conditions, or not kept
	Some   bool           // of the points that meet the conditions some are kept

	figures []sweep.Figure
	rows    []scanRow
	aims    []int // figures that the frontier is of
}

// scanRow is a point, or the mean over the seeds of one.
type scanRow struct {
	Values     []any // by axis
	Figures    []any
	Width      []float64 // half of the 95% interval of the mean; NaN: none
	Reason     string
	Meets      bool
	Fits       bool // into memory, or that is not asked
	OnFrontier bool // no other row beats it in all figures of the frontier
	runs       int
	points     []*sweep.Point
}

func NewScan(s *scan.Scan) *Scan { return &Scan{Of: s, figures: sweep.Figures(s.Of)} }

func (r *Scan) Add(p *sweep.Point) {
	if p == nil {
		r.Left++
		return
	}
	r.Points = append(r.Points, p)
}

// Finish puts the points together: those that differ in their seed alone are one row.
func (r *Scan) Finish() {
	at := map[string]int{}
	for _, p := range r.Points {
		var key strings.Builder
		values := make([]any, len(p.Values))
		for i := range p.Values {
			values[i] = r.Of.Axes[i].Shown(p.Values[i])
			if r.Of.Axes[i].Name != scan.SeedSetting {
				fmt.Fprintf(&key, "%v\x00", values[i])
			}
		}
		i, ok := at[key.String()]
		if !ok {
			i = len(r.rows)
			at[key.String()] = i
			r.rows = append(r.rows, scanRow{Values: values, Meets: true, Fits: true})
		}
		r.rows[i].points = append(r.rows[i].points, p)
	}
	for i := range r.rows {
		r.rows[i].sum(len(r.figures))
		if k := sweep.Find(r.Of.Of, "fits"); k >= 0 {
			r.rows[i].Fits = r.rows[i].figure(k) != false
		}
	}
	r.findFrontier()
}

// MostPoints limits the points that are answered in memory.
const MostPoints = 100_000

// Scanned answers the points of a scan, with whole answers or with figures alone; tell, if set,
// hears of each.
func Scanned(ctx context.Context, s *scan.Scan, whole bool, tell func(*Scan)) (*Scan, error) {
	if err := sweep.Check(s); err != nil {
		return nil, err
	}
	r := NewScan(s)
	q := question.NewQuery(s.In, s.Of, s.Words).Question
	err := sweep.Points(ctx, s, q.Workers(), whole || s.Of == question.Plan, func(p *sweep.Point) error {
		r.Add(p)
		if tell != nil {
			tell(r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Finish()
	return r, nil
}

func (row *scanRow) sum(figures int) {
	row.Width = make([]float64, figures)
	answered := slices.DeleteFunc(slices.Clone(row.points), func(p *sweep.Point) bool { return p.Figures == nil })
	row.runs = len(answered)
	for _, p := range row.points {
		row.Meets = row.Meets && p.Meets
		row.Reason = cmp.Or(row.Reason, p.Reason)
	}
	if len(answered) == 0 {
		row.Meets = false
		return
	}
	row.Figures = make([]any, figures)
	for k := range figures {
		row.Figures[k], row.Width[k] = answered[0].Figures[k], math.NaN()
		if len(answered) > 1 {
			row.Figures[k], row.Width[k] = meanOf(answered, k)
		}
	}
}

// meanOf is the mean of a figure over runs and half of its 95% interval; of a flag, whether all of
// them have it.
func meanOf(runs []*sweep.Point, k int) (any, float64) {
	var sum, squares, n float64
	all := true
	for _, p := range runs {
		switch v := p.Figures[k].(type) {
		case float64:
			sum, squares, n = sum+v, squares+v*v, n+1
		case int:
			sum, squares, n = sum+float64(v), squares+float64(v)*float64(v), n+1
		case bool:
			all = all && v
		default:
			return v, math.NaN()
		}
	}
	if n == 0 {
		return all, math.NaN()
	}
	mean := sum / n
	variance := max(0, squares/n-mean*mean) * n / (n - 1)
	if _, whole := runs[0].Figures[k].(int); whole {
		return int(math.Round(mean)), math.NaN()
	}
	return mean, student(int(n)-1) * math.Sqrt(variance/n)
}

// student is the 97.5th percentile of Student's t distribution, by its degrees of freedom.
func student(degrees int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}
	if degrees <= len(table) {
		return table[degrees-1]
	}
	return 1.96 + 2.45/float64(degrees) // to 0.001 from 31 degrees on
}

// columns of the rows. In files intervals are columns of their own.
func (r *Scan) columns() (out []table.Column[*scanRow]) {
	taken := map[string]bool{}
	for i := range r.Of.Axes {
		if r.repeated() && r.Of.Axes[i].Name == scan.SeedSetting {
			continue
		}
		c := r.axisColumn(i)
		taken[c.Name] = true
		out = append(out, c)
	}
	if r.repeated() {
		out = append(out, table.Column[*scanRow]{Name: "runs", Kind: table.Count, Rank: 12, Value: func(row *scanRow) any { return row.runs }})
	}
	for k := range r.figures {
		if taken[r.figures[k].Name] {
			continue
		}
		columns := r.figureColumns(k)
		columns[0].Files = taken[r.figures[k].Title] // an axis says so already
		out = append(out, columns...)
	}
	if len(r.aims) > 1 {
		out = append(out, table.Column[*scanRow]{Name: "frontier", Kind: table.Flag, Files: true, Value: func(row *scanRow) any { return row.OnFrontier }})
	}
	return append(out, table.TextColumn("reason", func(row *scanRow) string { return row.Reason }))
}

func (r *Scan) axisColumn(i int) table.Column[*scanRow] {
	a := &r.Of.Axes[i]
	title := a.Name
	if u := a.Unit(); u != "" && a.IsNumeric() {
		title += " " + u
	}
	if a.Relative {
		title += " ×"
	}
	c := table.Column[*scanRow]{Name: a.Column(), Title: title, Kind: table.Text, Value: func(row *scanRow) any { return row.Values[i] }}
	if r.isLimit(i) {
		c.Title, c.Cell = strings.ToUpper(a.Name)+" limit", func(row *scanRow) string { return limitText(row.Values[i]) }
	}
	if a.IsNumeric() && !r.hasWords(i) {
		c.Kind = table.Number
	}
	return c
}

// figureColumns are a figure and, in files, its interval.
func (r *Scan) figureColumns(k int) []table.Column[*scanRow] {
	f := &r.figures[k]
	c := table.Column[*scanRow]{Name: f.Name, Title: f.Title, Unit: f.Unit, Kind: f.Kind, Rank: f.Rank, Digits: cmp.Or(f.Digit, 3), Value: func(row *scanRow) any { return row.figure(k) }}
	if which := slices.Index([]string{"ttft", "tpot"}, f.Limit); which >= 0 && !r.repeated() && r.banded(which) {
		c.Title = strings.TrimSuffix(f.Title, " ms")
		c.Cell = func(row *scanRow) string { return bandCell(row, k, which) }
	}
	if !r.repeated() || f.Kind != table.Number {
		return []table.Column[*scanRow]{c}
	}
	c.Cell = func(row *scanRow) string { return spreadCell(row, k) }
	return []table.Column[*scanRow]{c, {Name: f.Name + "_ci95", Kind: table.Number, Unit: f.Unit, Files: true, Value: func(row *scanRow) any {
		if row.figure(k) == nil || math.IsNaN(row.Width[k]) {
			return nil
		}
		return row.Width[k]
	}}}
}

func (row *scanRow) figure(k int) any {
	if row.Figures == nil {
		return nil
	}
	return row.Figures[k]
}

// banded reports whether the band of TTFT or TPOT is known of any row.
func (r *Scan) banded(which int) bool {
	return slices.ContainsFunc(r.Points, func(p *sweep.Point) bool { return p.Bands[which] > 0 })
}

// bandCell is a time in ms of a single point with its band.
func bandCell(row *scanRow, k, which int) string {
	ms, ok := row.figure(k).(float64)
	if !ok {
		return ""
	}
	return number.Banded(ms/1e3, row.points[0].Bands[which])
}

func spreadCell(row *scanRow, k int) string {
	v, ok := row.figure(k).(float64)
	if !ok {
		return ""
	}
	text := number.Plain(v, 3)
	if w := row.Width[k]; w > 0 {
		text += " ± " + number.Plain(w, 2)
	}
	return text
}

// repeated reports whether rows are means over seeds.
func (r *Scan) repeated() bool {
	return slices.ContainsFunc(r.Of.Axes, func(a scan.Axis) bool { return a.Name == scan.SeedSetting && a.Len() > 1 })
}

// hasWords reports whether a value of an axis of numbers has none, such as an infinite rate.
func (r *Scan) hasWords(axis int) bool {
	return slices.ContainsFunc(r.rows, func(row scanRow) bool { _, isText := row.Values[axis].(string); return isText })
}

func (r *Scan) Table() *table.Table[*scanRow] {
	kept := slices.DeleteFunc(slices.Clone(r.rows), func(row scanRow) bool { return len(r.Of.Where) > 0 && !row.Meets })
	return table.Of(r.columns(), kept).Filled()
}

// mostShown limits the rows on a terminal.
const mostShown = 60

// Write shows the points: what follows from them, then the table.
func (r *Scan) Write(w io.Writer, v table.View) error {
	var b strings.Builder
	for _, line := range r.Sentences() {
		b.WriteString(v.Wrap(line) + "\n")
	}
	t := r.shown()
	if list := r.Influences(); list != nil {
		b.WriteString(influenceTable(r.Of, list).Render(v) + "\n")
		t.Rows = nil
	}
	left := 0
	if len(t.Rows) > mostShown {
		left = len(t.Rows) - mostShown
		t.Rows = t.Rows[:mostShown]
	}
	if len(t.Rows) > 0 {
		b.WriteString(t.Render(v) + "\n")
	}
	if list := r.Systems(); list != nil {
		systems(&b, v, advice.Together(list))
	}
	if left > 0 {
		b.WriteString(v.Wrap(fmt.Sprintf("and %d more rows; a file has all of them", left)) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Systems are the plans of a scan that differ in their system alone; nil: it does not.
func (r *Scan) Systems() (out []*advice.Plans) {
	if r.Of.Of != question.Plan || len(r.Of.Axes) != 1 || r.Of.Axes[0].Name != "system" {
		return nil
	}
	for _, p := range r.Points {
		if plans, ok := p.Answer.(*advice.Plans); ok && len(plans.Ranked) > 0 {
			out = append(out, plans)
		}
	}
	return out
}

// systems writes one ranking, one frontier, and the launch of the best.
func systems(b *strings.Builder, v table.View, a *advice.Advice) {
	for _, note := range a.Notes {
		b.WriteString(v.Wrap("note: "+note) + "\n")
	}
	b.WriteString("\none ranking of all systems\n")
	fmt.Fprintln(b, candidates(a.Ranked, "", nil, true, v))
	b.WriteString("\nfrontier: from the fastest for a user to the highest throughput\n")
	fmt.Fprintln(b, candidates(a.Frontier, "f", nil, true, v))
	launches(b, v, a)
}

// Sentences say what follows from the points.
func (r *Scan) Sentences() (out []string) {
	if list := r.Systems(); list != nil {
		return sentence.Systems(advice.Together(list), list)
	}
	out = r.holds()
	if text := r.bestText(); text != "" && len(out) == 0 {
		out = append(out, text)
	}
	if text := r.frontierText(); text != "" {
		out = append(out, text)
	}
	if len(out) == 0 && r.Of.Sensitivity() == "" {
		out = append(out, r.between()...)
	}
	meet, failed, full := 0, 0, 0
	for i := range r.rows {
		if !r.rows[i].Fits {
			full++
		}
		if r.rows[i].Meets {
			meet++
		}
		if r.rows[i].Figures == nil {
			failed++
		}
	}
	switch all := len(r.rows) + r.Left; {
	case r.Some && len(r.Of.Where) > 0:
		out = append(out, fmt.Sprintf("%d of %d points are kept, of those that meet %s.", meet, all, r.conditions()))
	case r.Some:
		out = append(out, fmt.Sprintf("%d of %d points are kept.", len(r.rows), all))
	case len(r.Of.Where) > 0:
		out = append(out, fmt.Sprintf("%d of %d points meet %s.", meet, all, r.conditions())+r.nearest())
	}
	if full > 0 && full < len(r.rows) {
		verb := map[bool]string{true: "does", false: "do"}[full == 1]
		out = append(out, fmt.Sprintf("%d of %d points %s not fit into memory.", full, len(r.rows), verb))
	}
	if failed > 0 {
		reason, n := r.commonReason()
		out = append(out, fmt.Sprintf("%d of %d points have no answer, %d of them as %s.", failed, len(r.rows), n, reason))
	}
	if r.Of.Sensitivity() != "" {
		out = append(out, influenceText(r.Of))
	}
	return out
}

// commonReason is why most points without an answer have none, and how many these are.
func (r *Scan) commonReason() (most string, n int) {
	count := map[string]int{}
	for i := range r.rows {
		if row := &r.rows[i]; row.Figures == nil {
			if count[row.Reason]++; count[row.Reason] > n {
				most, n = row.Reason, count[row.Reason]
			}
		}
	}
	return most, n
}

func valueText(v any) string {
	if f, ok := v.(float64); ok {
		return number.Plain(f, 6)
	}
	return fmt.Sprint(v)
}

func asNumber(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int:
		return float64(v)
	}
	return math.NaN()
}

// Objective is the figure that points are compared by.
func (r *Scan) Objective() int { return sweep.Objective(r.Of) }

// ScanJSON is the points with whole answers, and the rows of the table.
func ScanJSON(r *Scan) any {
	type onePoint struct {
		Settings map[string]any `json:"settings"`
		Answer   any            `json:"answer,omitempty"`
		Reason   string         `json:"reason,omitempty"`
	}
	out := struct {
		Points  []onePoint             `json:"points"`
		Summary []string               `json:"summary"`
		Table   *table.Table[*scanRow] `json:"table"`
		// Of several systems: one ranking and one frontier.
		Ranked      []any                    `json:"ranked,omitempty"`
		Frontier    []any                    `json:"frontier,omitempty"`
		Sensitivity *table.Table[*influence] `json:"sensitivity,omitempty"`
	}{Points: []onePoint{}, Summary: r.Sentences(), Table: r.Table()}
	if list := r.Influences(); list != nil {
		out.Sensitivity = influenceTable(r.Of, list)
	}
	if list := r.Systems(); list != nil {
		all := advice.Together(list)
		out.Ranked, out.Frontier = candidatesJSON(all.Ranked), candidatesJSON(all.Frontier)
	}
	for _, p := range r.Points {
		one := onePoint{Settings: map[string]any{}, Reason: p.Reason}
		for i := range p.Values {
			one.Settings[r.Of.Axes[i].Name] = r.Of.Axes[i].Asked(p.Values[i])
		}
		switch a := p.Answer.(type) {
		case *point.Answer:
			one.Answer = PointJSON(a)
		case *advice.Plans:
			one.Answer = AdviceJSON(a)
		case *simulate.Result:
			if text, err := a.JSON(); err == nil {
				one.Answer = json.RawMessage(text)
			}
		}
		out.Points = append(out.Points, one)
	}
	return out
}

// Answered reports whether any point has an answer that meets all conditions.
func (r *Scan) Answered() bool {
	return slices.ContainsFunc(r.rows, func(row scanRow) bool { return row.Meets })
}

// Title names what all points share.
func (r *Scan) Title() string {
	var parts []string
	for _, name := range []string{"model", "system"} {
		if text := r.Of.Words[name]; text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d points", len(r.Points))), ", ")
}

// AxisNumbers are the values of the rows on an axis; NaN: words.
func (r *Scan) AxisNumbers(axis int) (out []float64) {
	for i := range r.rows {
		out = append(out, asNumber(r.rows[i].Values[axis]))
	}
	return out
}

// AxisTexts are the values of the rows on an axis, in words.
func (r *Scan) AxisTexts(axis int) (out []string) {
	for i := range r.rows {
		out = append(out, valueText(r.rows[i].Values[axis]))
	}
	return out
}

// Reasons are why rows have no answer; empty: they have one.
func (r *Scan) Reasons() (out []string) {
	for i := range r.rows {
		out = append(out, r.rows[i].Reason)
	}
	return out
}

// FigureValues are the values of a figure in the rows that meet the conditions, and half of their
// intervals; NaN: none.
func (r *Scan) FigureValues(k int) (values, widths []float64) {
	for i := range r.rows {
		row, v, w := &r.rows[i], math.NaN(), math.NaN()
		if row.Meets {
			v, w = asNumber(row.figure(k)), row.Width[k]
		}
		values, widths = append(values, v), append(widths, w)
	}
	return values, widths
}

// FigureBands are the bands of a latency in each row, as shares; nil: it has none, or they are of
// means over seeds.
func (r *Scan) FigureBands(k int) (out []float64) {
	which := slices.Index([]string{"ttft", "tpot"}, r.figures[k].Limit)
	if which < 0 || r.repeated() || !r.banded(which) {
		return nil
	}
	for i := range r.rows {
		out = append(out, r.rows[i].points[0].Bands[which])
	}
	return out
}

// OtherAxes names the rows by their values on the axes but some.
func (r *Scan) OtherAxes(but ...int) (out []string) {
	for i := range r.rows {
		var parts []string
		for k := range r.Of.Axes {
			if a := &r.Of.Axes[k]; !slices.Contains(but, k) && a.Name != scan.SeedSetting {
				parts = append(parts, fmt.Sprintf("%s %s", a.Name, valueText(r.rows[i].Values[k])))
			}
		}
		out = append(out, strings.Join(parts, ", "))
	}
	return out
}
