package picture

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/estimate"
	"throughline/internal/chart"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
)

// Runs are the runs of a job, as far as charts need them.
type Runs struct {
	Title string
	// Fields along x, of the value in lines and cells, and of the series or rows.
	X, Y, By *result.Field

	list     []run
	lost     int  // runs beyond the limit
	packaged bool // packages of some runs have several GPUs
}

type run struct {
	name      string // number
	plan      string
	kind      string // model on system
	model     string
	lengths   string // of requests
	why       string // there is no plan; empty: there is one
	user, gpu float64
	x, by     string
	xs, value float64          // of numeric fields; NaN otherwise
	decode    *estimate.Shares // nil: there is no plan
}

var RunKinds = []Kind[*Runs]{
	{"frontier", "tokens/s per user against tokens/s per GPU, a point for each run", (*Runs).frontier},
	{"lines", "a field over another, a line for each value of a third", (*Runs).lines},
	{"heatmap", "a field by the values of two others", (*Runs).heatmap},
	{"breakdown", "where the decode step of each run spends its time", (*Runs).breakdown},
}

// Default fields of lines and cells.
const (
	UsualX  = "seq_size"
	UsualY  = "request_per_second_per_npu"
	UsualBy = "decoder_system_name"
)

// mostRuns limits the runs kept for a chart; no eye distinguishes more.
const mostRuns = 200_000

// Columns counts the values along x.
func (r *Runs) Columns() int {
	seen := map[string]bool{}
	for i := range r.list {
		seen[r.list[i].x] = true
	}
	return len(seen)
}

func (r *Runs) Add(of *result.Record) {
	if len(r.list) == mostRuns {
		r.lost++
		return
	}
	d := of.Sides[op.Decode]
	r.packaged = r.packaged || of.Packaged()
	n := run{name: fmt.Sprintf("run %d", of.Number), kind: of.Model.Name + " on " + d.System.Name, model: of.Model.Name, xs: numeric(r.X, of), value: numeric(r.Y, of), x: text(r.X, of), by: text(r.By, of), user: math.NaN(), gpu: math.NaN(), lengths: fmt.Sprintf("%d in, %d out", of.Lengths.Input, of.Lengths.Output)}
	if of.Complete && of.TPOT > 0 {
		n.user, n.gpu = 1/of.TPOT, of.Tokens()/float64(max(1, of.Procs))
	}
	if len(of.Reasons) > 0 {
		n.why = of.Reasons[0]
	}
	if d.Found {
		shares := d.Step.Shares
		n.decode, n.plan = &shares, brief(d.Instances, &d.Step.Plan)
	}
	r.list = append(r.list, n)
}

func numeric(f *result.Field, of *result.Record) float64 {
	switch v := f.Value(of).(type) {
	case float64:
		return v
	case int:
		return float64(v)
	case string:
		if x, err := strconv.ParseFloat(v, 64); err == nil {
			return x
		}
	}
	return math.NaN()
}

func text(f *result.Field, of *result.Record) string {
	switch v := f.Value(of).(type) {
	case nil:
		return "none"
	case float64:
		return chart.Number(v)
	default:
		return fmt.Sprint(v)
	}
}

func (r *Runs) frame(kind, title string) *chart.Chart {
	c := &chart.Chart{Kind: kind, Title: title, Subtitle: fmt.Sprintf("%s; %d runs", r.Title, len(r.list))}
	if r.lost > 0 {
		c.Note = fmt.Sprintf("Of %d runs the first %d.", len(r.list)+r.lost, len(r.list))
	}
	return c
}

// byModel reports whether runs of several models would have one line or row, which would show the
// smallest of them alone.
func (r *Runs) byModel() bool {
	return r.By.Name == UsualBy && slices.ContainsFunc(r.list, func(n run) bool { return n.model != r.list[0].model })
}

// rows are the runs with the names of their lines or rows, and what these are.
func (r *Runs) rows() (list []run, title string) {
	if !r.byModel() {
		return r.list, r.axisTitle(r.By)
	}
	list = slices.Clone(r.list)
	for i := range list {
		list[i].by = list[i].kind
	}
	return list, "model and system"
}

// mostPanels limits the workloads that have a frontier of their own.
const mostPanels = 4

// frontier shows runs, a panel for each pair of lengths; the best seven kinds have colours.
func (r *Runs) frontier() (*chart.Chart, error) {
	c := r.frame("frontier", "Speed of a user against throughput of a GPU")
	panels, order := map[string][]run{}, []string{}
	best := map[string]float64{}
	for _, n := range r.list {
		if math.IsNaN(n.user) {
			continue
		}
		if panels[n.lengths] == nil {
			order = append(order, n.lengths)
		}
		panels[n.lengths] = append(panels[n.lengths], n)
		best[n.kind] = max(best[n.kind], n.gpu)
	}
	if len(order) == 0 {
		return nil, errors.New("no run has a plan of both phases")
	}
	kinds := slices.SortedFunc(maps.Keys(best), func(a, b string) int { return cmp.Or(cmp.Compare(best[b], best[a]), strings.Compare(a, b)) })
	if len(order) > mostPanels {
		c.Note = fmt.Sprintf("The first %d of %d workloads. %s", mostPanels, len(order), c.Note)
		order = order[:mostPanels]
	}
	for _, lengths := range order {
		p := chart.Panel{Weight: 1, Title: lengths, X: chart.Axis{Title: "tokens/s per user", Zero: true}, Y: chart.Axis{Title: "output tokens/s per GPU", Zero: true}}
		for i, kind := range kinds {
			r.stepped(&p, i, kind, panels[lengths])
		}
		c.Panels = append(c.Panels, p)
	}
	for i, kind := range kinds[:min(len(kinds), mostSeries+1)] {
		c.Keys = append(c.Keys, keyOf(i, len(kinds), kind))
	}
	c.Description = fmt.Sprintf("A point for each run by the speed that a user sees and the throughput of a GPU, for %d models on systems and %d workloads; steps pass through those that no other of the kind is better than in both.", len(kinds), len(order))
	return c, nil
}

// stepped adds the runs of a kind to a panel, and the steps through the best of them.
func (r *Runs) stepped(p *chart.Panel, i int, kind string, all []run) {
	list := slices.DeleteFunc(slices.Clone(all), func(n run) bool { return n.kind != kind })
	if len(list) == 0 {
		return
	}
	paint, form := seriesStyle(i)
	slices.SortStableFunc(list, func(a, b run) int { return cmp.Or(cmp.Compare(b.user, a.user), cmp.Compare(b.gpu, a.gpu)) })
	dots := chart.Dots{Paint: paint, Form: form}
	for i, n := range list {
		if i > 0 && n.user == list[i-1].user && n.gpu == list[i-1].gpu {
			continue // the same deployment under another limit
		}
		dots.Points = append(dots.Points, chart.Dot{XY: chart.XY{X: n.user, Y: n.gpu}, Tip: fmt.Sprintf("%s, %s: %s; %s tokens/s/user, %s tokens/s/GPU", n.name, kind, n.plan, chart.Number(n.user), chart.Number(n.gpu))})
	}
	front := climbing(dots.Points) // none is faster for a user and better for a GPU
	line := chart.Line{Paint: paint, Width: 1.3, Points: staircase(front)}
	if i < mostSeries { // at the end of its steps
		end := slices.IndexFunc(dots.Points, func(d chart.Dot) bool { return d.XY == front[len(front)-1] })
		dots.Points[end].Label = kind
	}
	p.Dots, p.Lines = append(p.Dots, dots), append(p.Lines, line)
}

// seriesStyle is the paint and form of a series; those that are too many to tell apart have one.
func seriesStyle(i int) (chart.Paint, chart.Form) {
	if i >= mostSeries {
		return chart.Muted, chart.Round
	}
	return chart.Series(i), chart.FormOf(i)
}

// keyOf is the key of a series; the first that has no look of its own stands for all the others.
func keyOf(i, of int, name string) chart.Key {
	paint, form := seriesStyle(i)
	if i == mostSeries {
		name = othersText(of - i)
	}
	return chart.Key{Paint: paint, Form: form, Text: name}
}

// climbing are the points that lie above all before them.
func climbing(dots []chart.Dot) (out []chart.XY) {
	for _, d := range dots {
		if len(out) == 0 || d.Y > out[len(out)-1].Y {
			out = append(out, d.XY)
		}
	}
	return out
}

// staircase joins points, the fastest first, by steps: what is served to a slower user is at least
// what a faster one has. No step passes where nothing was found.
func staircase(front []chart.XY) (out []chart.XY) {
	for i, q := range front {
		if i > 0 {
			out = append(out, chart.XY{X: q.X, Y: front[i-1].Y})
		}
		out = append(out, q)
	}
	return out
}

// fieldWords are the words of people for fields that charts show often.
var fieldWords = map[string]string{
	"seq_size": "input tokens", "out_size": "output tokens", "num_procs": "GPUs", "model_name": "model", "decoder_system_name": "system", "prefill_system_name": "system of prefill",
	"request_per_second": "requests/s", "request_per_second_per_npu": "requests/s per package", "tokens_per_user": "tokens/s per user", "tokens_per_processor": "tokens/s per GPU",
	"tokens_per_card": "tokens/s per package", "output_throughput(token/s)": "output tokens/s", "TTFT(s)": "TTFT in s", "TPOT(s)": "TPOT in s", "decoder_microbatchsize": "decode batch", "memory(Gib)": "GiB of a GPU",
}

func (r *Runs) axisTitle(f *result.Field) string {
	if words, ok := fieldWords[f.Name]; ok {
		if !r.packaged {
			return strings.Replace(words, "per package", "per GPU", 1)
		}
		return words
	}
	name, unit, _ := strings.Cut(strings.TrimSuffix(f.Name, ")"), "(")
	name = strings.ReplaceAll(name, "_", " ")
	if unit == "" {
		unit = string(f.Unit)
	}
	if unit == "" {
		return name
	}
	return name + " in " + unit
}

// highestOf returns the highest value at each x by series, the series in the order of the runs, and
// whether any value was dropped.
func highestOf(list []run) (best map[string]map[float64]float64, order []string, repeated bool) {
	best = map[string]map[float64]float64{}
	for _, n := range list {
		if math.IsNaN(n.xs) || math.IsNaN(n.value) {
			continue
		}
		if best[n.by] == nil {
			best[n.by] = map[float64]float64{}
			order = append(order, n.by)
		}
		was, ok := best[n.by][n.xs]
		repeated = repeated || ok
		if !ok || n.value > was {
			best[n.by][n.xs] = n.value
		}
	}
	return best, order, repeated
}

func (r *Runs) lines() (*chart.Chart, error) {
	c := r.frame("lines", fmt.Sprintf("%s by %s", r.axisTitle(r.Y), r.axisTitle(r.X)))
	list, title := r.rows()
	best, order, repeated := highestOf(list)
	if len(order) == 0 {
		return nil, fmt.Errorf("no run has numbers in %s and %s", r.X.Name, r.Y.Name)
	}
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: r.axisTitle(r.X)}, Y: chart.Axis{Title: r.axisTitle(r.Y), Zero: true}}
	for i, by := range order {
		paint, form := seriesStyle(i)
		line := chart.Line{Paint: paint, Dash: i%2 == 1}
		for x, y := range best[by] {
			line.Points = append(line.Points, chart.XY{X: x, Y: y})
		}
		slices.SortFunc(line.Points, func(a, b chart.XY) int { return cmp.Compare(a.X, b.X) })
		dots := chart.Dots{Paint: paint, Form: form}
		for _, q := range line.Points {
			dots.Points = append(dots.Points, chart.Dot{XY: q, Tip: fmt.Sprintf("%s: %s at %s", by, chart.Number(q.Y), chart.Number(q.X))})
		}
		if len(order) <= mostSeries && len(line.Points) > 0 {
			dots.Points[len(dots.Points)-1].Label = by
		}
		p.Lines, p.Dots = append(p.Lines, line), append(p.Dots, dots)
		if i <= mostSeries {
			name := by
			if !r.byModel() {
				name = title + " " + by
			}
			c.Keys = append(c.Keys, keyOf(i, len(order), name))
		}
	}
	if repeated {
		c.Note = "Of several runs at one place the highest. " + c.Note
	}
	c.Panels = []chart.Panel{p}
	c.Description = fmt.Sprintf("%s over %s, a line for each of %d values of %s.", r.Y.Name, r.X.Name, len(order), title)
	return c, nil
}

// wideRange is the ratio of values from which colours follow their logarithm.
const wideRange = 10

// mostBands limits the rows and columns of a heat map.
const mostBands = 200

func (r *Runs) heatmap() (*chart.Chart, error) {
	list, rows := r.rows()
	c := r.frame("heatmap", fmt.Sprintf("%s by %s and %s", r.axisTitle(r.Y), r.axisTitle(r.X), rows))
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: r.axisTitle(r.X)}, Y: chart.Axis{Title: rows}}
	best := map[[2]string]float64{}
	repeated := false
	why := map[[2]string]string{}
	for _, n := range list {
		key := [2]string{n.x, n.by}
		if math.IsNaN(n.value) {
			why[key] = cmp.Or(why[key], n.why)
			continue
		}
		was, ok := best[key]
		repeated = repeated || ok
		if !ok || n.value > was {
			best[key] = n.value
		}
	}
	if len(best) == 0 {
		return nil, fmt.Errorf("no run has a number in %s", r.Y.Name)
	}
	p.X.Bands, p.Y.Bands = bands(list, func(n *run) string { return n.x }), bands(list, func(n *run) string { return n.by })
	if max(len(p.X.Bands), len(p.Y.Bands)) > mostBands {
		return nil, fmt.Errorf("%d values in a row are too many to see; choose other fields for x and by", max(len(p.X.Bands), len(p.Y.Bands)))
	}
	h := heat{panel: &p, log: func(low, high float64) bool { return low > 0 && high > wideRange*low }}
	for y, by := range p.Y.Bands {
		for x, column := range p.X.Bands {
			at := fmt.Sprintf("%s %s, %s %s", r.axisTitle(r.X), column, rows, by)
			if v, ok := best[[2]string{column, by}]; ok {
				h.add(chart.Cell{X: x, Y: y, Value: v, Inside: chart.Number(v), Tip: at + ": " + chart.Number(v)})
			} else if reason, ok := why[[2]string{column, by}]; ok {
				h.add(chart.Cell{X: x, Y: y, Value: math.NaN(), Inside: "none", Tip: at + ": no plan: " + reason})
			}
		}
	}
	h.draw(c, r.Y.Name, r.X.Name, rows)
	if repeated {
		c.Note = "Of several runs in one cell the highest. " + c.Note
	}
	return c, nil
}

// bands returns the values of a field: numbers by their size, texts by the alphabet.
func bands(list []run, of func(*run) string) (out []string) {
	seen, numbers := map[string]bool{}, map[string]float64{}
	for i := range list {
		if v := of(&list[i]); !seen[v] {
			seen[v] = true
			out = append(out, v)
			if x, err := strconv.ParseFloat(strings.TrimSuffix(v, "k"), 64); err == nil {
				if numbers[v] = x; strings.HasSuffix(v, "k") {
					numbers[v] = 1e3 * x
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		if len(numbers) == len(out) {
			return cmp.Compare(numbers[a], numbers[b])
		}
		return strings.Compare(a, b)
	})
	return out
}

func (r *Runs) breakdown() (*chart.Chart, error) {
	c := r.frame("breakdown", "Where the decode step spends its time")
	var l legend
	p := chart.Panel{Weight: 1, Cut: true, X: chart.Axis{Title: "step in ms", Zero: true}}
	list := slices.DeleteFunc(slices.Clone(r.list), func(n run) bool { return n.decode == nil || !(n.sum() > 0) })
	if all := len(list); all > mostOperators {
		list = bestOfKinds(list)
		c.Note = fmt.Sprintf("Of %d runs with a plan the best of each model on each system, by tokens/s per GPU. %s", all, c.Note)
		list = list[:min(len(list), mostOperators)]
	}
	for _, n := range list {
		p.Bars = append(p.Bars, stacked(len(p.Y.Bands), parts(n.decode, true), 1e3, n.sum()*1e3, "ms", &l)...)
		p.Bars[len(p.Bars)-1].After = number.Plain(n.sum()*1e3, 3) + " ms"
		p.Y.Bands = append(p.Y.Bands, n.name+": "+n.kind)
	}
	if len(p.Y.Bands) == 0 {
		return nil, errors.New("no run has a plan for decode")
	}
	c.Keys, c.Panels = l.keys, []chart.Panel{p}
	c.Description = fmt.Sprintf("The decode step of %d runs in parts: %s.", len(p.Y.Bands), keyTexts(l.keys))
	return c, nil
}

// sum is the time of the parts of a decode step.
func (n *run) sum() (out float64) {
	for _, part := range parts(n.decode, true) {
		out += part.value
	}
	return out
}

// bestOfKinds are the runs with the most tokens/s per GPU of each model on each system, in the
// order of the kinds; runs without tokens are worst.
func bestOfKinds(list []run) (out []run) {
	at := map[string]int{}
	for _, n := range list {
		i, ok := at[n.kind]
		if !ok {
			at[n.kind] = len(out)
			out = append(out, n)
		} else if n.gpu > out[i].gpu || math.IsNaN(out[i].gpu) {
			out[i] = n
		}
	}
	return out
}

// Shares shows the parts of the steps of a record, each as a share of its step.
func Shares(r *result.Record) (*chart.Chart, error) {
	c := &chart.Chart{Kind: "breakdown", Title: "Where the steps spend their time", Subtitle: r.Model.Name}
	var l legend
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: "% of the step", Zero: true, High: chart.At(100)}}
	for _, phase := range phases {
		s := r.Sides[phase]
		if s == nil || !s.Found || !(s.Step.StepTime > 0) {
			continue
		}
		name := phase.Name()
		p.Bars = append(p.Bars, stacked(len(p.Y.Bands), parts(&s.Step.Shares, r.Model.IsMoE()), 100/s.Step.StepTime, 100, "%", &l)...)
		p.Y.Bands = append(p.Y.Bands, fmt.Sprintf("%s step of batch %d, %s", name, s.Step.Plan.Batch.Size, duration(s.Step.StepTime*1e6)))
		c.Subtitle += fmt.Sprintf(", %s %s on %s", name, brief(s.Instances, &s.Step.Plan), s.System.Name)
	}
	if len(p.Y.Bands) == 0 {
		return nil, errors.New("no phase has a plan")
	}
	for i := range p.Bars { // the number is the share
		p.Bars[i].Inside, _, _ = strings.Cut(p.Bars[i].Inside, ",")
	}
	c.Keys, c.Panels = l.keys, []chart.Panel{p}
	c.Description = fmt.Sprintf("The steps of %s in parts: %s.", c.Subtitle, keyTexts(l.keys))
	return c, nil
}
