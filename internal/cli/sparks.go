package cli

import (
	"cmp"
	"fmt"
	"strings"

	"throughline/internal/picture"
	"throughline/internal/table"
	"throughline/serving/simulate"
)

// sparks draws the load over time and the distributions of latencies for a terminal.
func sparks(r *simulate.Result, bars table.Bars, width int) string {
	if bars == table.NoBars {
		return ""
	}
	const usual, title, figures = 80, 20, 24 // columns: of a terminal, of the names, of the numbers behind
	n := max(10, min(cmp.Or(width, usual), 2*usual)-title-figures)
	var b strings.Builder
	line := func(name string, values []float64, text string) {
		fmt.Fprintf(&b, "%-*s%s %s\n", title, name, bars.Spark(values), text)
	}
	samples := picture.Samples(r, n)
	for _, of := range []struct {
		name, unit string
		value      func(picture.Sample) float64
	}{
		{"running", "", func(s picture.Sample) float64 { return s.Running }},
		{"waiting", "", func(s picture.Sample) float64 { return s.Waiting }},
		{"KV cache", "%", func(s picture.Sample) float64 { return 100 * s.Cache }},
	} {
		values, most := make([]float64, len(samples)), 0.0
		for i, s := range samples {
			values[i] = of.value(s)
			most = max(most, values[i])
		}
		line(of.name+" over time", values, fmt.Sprintf("up to %.3g%s", most, of.unit))
	}
	for _, of := range []struct {
		name string
		of   *simulate.Distribution
	}{{"TTFT", &r.Record.TTFT}, {"TPOT", &r.Record.TPOT}} {
		if of.of.Weight > 0 {
			line(of.name+" of requests", of.of.Counts(n), fmt.Sprintf("%.3g to %.3g ms", 1e3*of.of.Min, 1e3*of.of.Max))
		}
	}
	return b.String()
}
