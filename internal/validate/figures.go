package validate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/serving"
	"throughline/serving/simulate"
)

// answer is what was predicted of a run.
type answer struct {
	closed  *serving.Prediction // in closed form; nil: not asked for
	trusted *serving.Confidence // of it
	record  *simulate.Record    // by the simulation; nil: not asked for
	output  float64             // tokens of a request on average
	gpus    float64
}

// onlySimulated is why there is no prediction where no simulation is made.
const onlySimulated = "only a simulation predicts it"

// requests is those per second.
func (a *answer) requests() float64 {
	if a.closed != nil {
		return a.closed.Requests
	}
	return float64(a.record.Requests) / a.record.Duration()
}

// servingFigure is a number that tables of serving runs have.
type servingFigure struct {
	name string
	// columns are its names in tables, best first. The prediction goes under out, or if that is
	// empty under the table's own name prefixed with "predicted_".
	columns []string
	out     string
	// simulated: the closed form does not have it.
	simulated bool
	brief     bool // summed up by class alone, not by group
	of        func(*answer) float64
}

// times are what clients measure of requests.
var times = []struct {
	name   string
	prefix []string
	record func(*simulate.Record) *simulate.Distribution
	closed func(*serving.Prediction) float64 // nil: not in closed form
}{
	{"TTFT", []string{"ttft"}, func(r *simulate.Record) *simulate.Distribution { return &r.TTFT }, func(p *serving.Prediction) float64 { return p.TTFT }},
	{"TPOT", []string{"tpot"}, func(r *simulate.Record) *simulate.Distribution { return &r.TPOT }, func(p *serving.Prediction) float64 { return p.TPOT }},
	{"E2E", []string{"e2el", "e2e"}, func(r *simulate.Record) *simulate.Distribution { return &r.E2E }, func(p *serving.Prediction) float64 { return p.Latency }},
	{"ITL", []string{"itl"}, func(r *simulate.Record) *simulate.Distribution { return &r.ITL }, nil},
}

// servingFigures lists mean TTFT and TPOT first, then their medians, then the rest.
var servingFigures = func() []servingFigure {
	const ms = 1e3
	var out []servingFigure
	mean := func(i int) {
		t := times[i]
		f := servingFigure{name: t.name, simulated: t.closed == nil, brief: i > 1, of: func(a *answer) float64 {
			if a.closed != nil && t.closed != nil {
				return ms * t.closed(a.closed)
			}
			return ms * t.record(a.record).Mean()
		}}
		for _, p := range t.prefix {
			f.columns = append(f.columns, "silicon_"+p+"_ms", p+"_mean_ms", p+"_ms", p+"_mean", "mean_"+p+"_ms", p)
		}
		if i < 2 {
			f.out = "predicted_" + t.prefix[0] + "_ms"
		}
		out = append(out, f)
	}
	percentile := func(i, p int) {
		t := times[i]
		f := servingFigure{name: fmt.Sprintf("%s p%d", t.name, p), simulated: true, brief: i > 1 || p != 50, of: func(a *answer) float64 {
			return ms * t.record(a.record).Quantile(float64(p)/100)
		}}
		for _, name := range t.prefix {
			f.columns = append(f.columns, fmt.Sprintf("%s_p%d_ms", name, p), fmt.Sprintf("%s_p%d", name, p), fmt.Sprintf("p%d_%s_ms", p, name))
			if p == 50 {
				f.columns = append(f.columns, name+"_median_ms", "median_"+name+"_ms")
			}
		}
		out = append(out, f)
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
	return append(out,
		servingFigure{name: "requests/s", columns: []string{"req_per_s", "request_throughput"}, brief: true, of: (*answer).requests},
		servingFigure{name: "output/s/GPU", columns: []string{"output_tput_per_gpu"}, brief: true, of: func(a *answer) float64 {
			return a.requests() * a.output / a.gpus
		}},
	)
}()

// FigureColumns are the columns of measured figures.
func FigureColumns() (out []string) {
	for i := range servingFigures {
		out = append(out, servingFigures[i].columns...)
	}
	return out
}

// meanFigures are those that every answer has, whatever a table measured.
const meanFigures = 2

// presentFigures are the figures that a table with these columns has, and their columns.
func presentFigures(header []string) (figures []servingFigure, columns []string) {
	for i, f := range servingFigures {
		at := slices.IndexFunc(f.columns, func(c string) bool { return slices.Contains(header, c) })
		if at < 0 && i >= meanFigures {
			continue
		}
		figures = append(figures, f)
		if f.out != "" {
			columns = append(columns, f.out)
		} else {
			columns = append(columns, "predicted_"+f.columns[at])
		}
	}
	return figures, columns
}

// cell is what a row has of the figure.
func (f *servingFigure) cell(of func(string) string) string {
	for _, c := range f.columns {
		if text := of(c); text != "" {
			return text
		}
	}
	return ""
}

// full reports whether requests of no stated number arrive together and keep servers full.
func full(of func(string) string) bool {
	return strings.HasPrefix(of("arrival"), "all at once") && of("num_prompts") == ""
}

// unclear says why a figure is not compared with what the row has of it.
func (f *servingFigure) unclear(of func(string) string) string {
	flags := of("flags")
	switch {
	case strings.HasPrefix(f.name, "E2E") && full(of):
		return "all requests arrive together, and how many there are is not said"
	case f.name == "TTFT" && strings.Contains(flags, "mean_or_median_not_stated"):
		// Medians of TPOT are within 1% of its means, those of TTFT are not.
		return "flags: whether it is a mean or a median is not stated"
	case strings.HasPrefix(f.name, "ITL") && strings.Contains(flags, "itl>2x_tpot"):
		return "flags: time between chunks of a stream, not between tokens"
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
		if figures[i].simulated && a.record == nil {
			f.Reason = onlySimulated
		} else if v := figures[i].of(a); v > 0 && !math.IsInf(v, 1) {
			f.Predicted = v
		} else {
			f.Reason = "no request has one"
		}
	}
}
