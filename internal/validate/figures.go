package validate

import (
	"fmt"
	"math"
	"slices"

	"throughline/internal/names"
	"throughline/serving"
	"throughline/serving/simulate"
)

// answer is what was predicted of a run.
type answer struct {
	record  *simulate.Record
	trusted *serving.Confidence // nil: of requests at a rate
	output  float64             // tokens of a request on average
	rate    float64             // requests per second; 0: as recorded
	gpus    float64
	endless bool // the simulation ends before the run does
	parts   int  // that the record is one of
}

// requests is those per second. Of a run that goes on they are counted from the first end to the
// last: a server that keeps up ends as many as come, one that does not as many as it can.
func (a *answer) requests() float64 {
	switch {
	case a.rate > 0:
		return a.rate
	case a.endless:
		return float64(a.parts) * float64(a.record.Requests) / (a.record.Duration() - a.record.E2E.Quantile(0.05))
	}
	return float64(a.parts) * float64(a.record.Requests) / a.record.Duration()
}

// servingFigure is a number that tables of serving runs have.
type servingFigure struct {
	name string
	of   names.Figure // what it is, of which the unit does not count
	// columns hold it in a table, in units of their own. The prediction goes under out, or if that
	// is empty under the table's own name prefixed with "predicted_".
	columns []figureColumn
	out     string
	brief   bool // summed up by class alone, not by group
	value   func(*answer) float64
}

type figureColumn struct {
	name string
	of   names.Figure
}

// times are what clients measure of requests.
var times = []struct {
	name, quantity string
	record         func(*simulate.Record) *simulate.Distribution
}{
	{"TTFT", "ttft", func(r *simulate.Record) *simulate.Distribution { return &r.TTFT }},
	{"TPOT", "tpot", func(r *simulate.Record) *simulate.Distribution { return &r.TPOT }},
	{"E2E", "e2e", func(r *simulate.Record) *simulate.Distribution { return &r.E2E }},
	{"ITL", "itl", func(r *simulate.Record) *simulate.Distribution { return &r.ITL }},
}

// servingFigures lists mean TTFT and TPOT first, then their medians, then the rest.
var servingFigures = func() []servingFigure {
	const ms = 1e3
	var out []servingFigure
	mean := func(i int) {
		t := times[i]
		f := servingFigure{name: t.name, of: names.Figure{Quantity: t.quantity, Statistic: "mean"}, brief: i > 1, value: func(a *answer) float64 {
			return ms * t.record(a.record).Mean()
		}}
		if i < 2 {
			f.out = "predicted_" + t.quantity + "_ms"
		}
		out = append(out, f)
	}
	percentile := func(i, p int) {
		t := times[i]
		out = append(out, servingFigure{name: fmt.Sprintf("%s p%d", t.name, p), of: names.Figure{Quantity: t.quantity, Statistic: fmt.Sprintf("p%d", p)},
			brief: i > 1 || p != 50, value: func(a *answer) float64 {
				return ms * t.record(a.record).Quantile(float64(p)/100)
			}})
	}
	mean(0)
	mean(1)
	percentile(0, 50)
	percentile(1, 50)
	for i := range times {
		if i > 1 {
			mean(i)
			percentile(i, 50)
		}
		for _, p := range []int{90, 95, 99} {
			percentile(i, p)
		}
	}
	rate := func(name, quantity, scope string, value func(*answer) float64) {
		out = append(out, servingFigure{name: name, of: names.Figure{Quantity: quantity, Statistic: "mean", Scope: scope}, brief: true, value: value})
	}
	tokens := func(a *answer) float64 { return a.requests() * a.output }
	rate("requests/s", "requests", "", (*answer).requests)
	rate("output/s", "output_throughput", "", tokens)
	rate("output/s/GPU", "output_throughput", "gpu", func(a *answer) float64 { return tokens(a) / a.gpus })
	return out
}()

// meanFigures are those that every answer has, whatever a table measured.
const meanFigures = 2

// presentFigures are the figures that a table with these columns has, and the columns of their
// predictions.
func presentFigures(header []string) (figures []servingFigure, columns []string) {
	found := map[names.Figure][]figureColumn{}
	for _, column := range header {
		if f, ok := names.FigureOf(column); ok {
			of := f
			f.Unit = ""
			found[f] = append(found[f], figureColumn{column, of})
		}
	}
	for i, f := range servingFigures {
		f.columns = found[f.of]
		if len(f.columns) == 0 && i >= meanFigures {
			continue
		}
		figures = append(figures, f)
		out := f.out
		if out == "" && f.columns[0].of.Milliseconds() == 1 {
			out = "predicted_" + f.columns[0].name
		} else if out == "" {
			out = "predicted_" + f.of.Quantity + "_" + f.of.Statistic + "_ms"
		}
		columns = append(columns, out)
	}
	return figures, columns
}

// IsFigure reports whether a column of a table of runs has a measured figure.
func IsFigure(column string) bool {
	f, ok := names.FigureOf(column)
	f.Unit = ""
	return ok && slices.ContainsFunc(servingFigures, func(s servingFigure) bool { return s.of == f })
}

// measured is what a row has of the figure, in ms if it is a time.
func (f *servingFigure) measured(of func(string) string) Figure {
	for _, c := range f.columns {
		if text := of(c.name); !names.Empty(text) {
			number, unit := names.Time(text, c.of)
			out := ifMeasured(number)
			out.Measured *= unit * c.of.Milliseconds()
			return out
		}
	}
	return Figure{}
}

// unclear says why a figure is not compared with what the row has of it.
func (f *servingFigure) unclear(of func(string) string, full bool) string {
	if f.of.Quantity == "e2e" && full {
		return "all requests arrive together, and how many there are is not said"
	}
	if f.of == (names.Figure{Quantity: "ttft", Statistic: "mean"}) || f.of.Quantity != "ttft" {
		// Medians of TPOT are within 1% of its means, those of TTFT are not.
		return names.Forbids(of("flags"), f.of.Quantity)
	}
	return ""
}

// fill sets the predictions of figures that have no reason against one. Of figures that were not
// measured, only mean TTFT and TPOT are predicted.
func fill(row *Row, figures []servingFigure, a *answer) {
	for i := range row.Figures {
		f := &row.Figures[i]
		if f.Reason != "" || i >= meanFigures && f.Measured == 0 {
			continue
		}
		if v := figures[i].value(a); v > 0 && !math.IsInf(v, 1) {
			f.Predicted = v
		} else {
			f.Reason = "no request has one"
		}
	}
}
