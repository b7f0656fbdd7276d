package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"throughline/internal/chart"
	"throughline/internal/picture"
	"throughline/internal/rawdata"
	"throughline/internal/report"
	"throughline/internal/table"
	"throughline/internal/workbook"
	"throughline/number"
)

// Result is a finished combination as a row.
type Result struct {
	*Outcome
	Row       rawdata.Row
	Predicted Prediction
}

// columns of the results: the combination, the raw data, and the prediction.
var columns = slices.Concat([]column{
	table.TextColumn("Run", func(r *Result) string { return r.Name() }),
	table.TextColumn("State", func(r *Result) string { return string(r.Verdict) }),
}, rawColumns(), []column{
	loadColumn("Lengths"), loadColumn("Request rate"), loadColumn("Arrival"), loadColumn("Num prompts"), loadColumn("Seed"),
	measured("Predicted output throughput", "tokens/s", predicted(func(p *Prediction) float64 { return p.Throughput })),
	measured("Predicted TPOT", "ms", predicted(func(p *Prediction) float64 { return p.TPOT })),
	measured("Predicted TTFT", "ms", predicted(func(p *Prediction) float64 { return p.TTFT })),
	table.TextColumn("Prediction", func(r *Result) string {
		if r.Predicted.Why != "" {
			return "none: " + r.Predicted.Why
		}
		return r.Predicted.Source
	}),
	table.TextColumn("Problem", func(r *Result) string { return r.Problem }),
	table.TextColumn("Notes", func(r *Result) string { return strings.Join(r.Notes, "; ") }),
	table.TextColumn("Began", func(r *Result) string { return r.Began.Format("2006-01-02T15:04:05Z") }),
	measured("Ready after", "s", func(r *Result) any { return r.ReadySeconds }),
	measured("Client ran", "s", func(r *Result) any { return r.ClientSeconds }),
	table.TextColumn("Server command", func(r *Result) string { return r.ServerCommand }),
	table.TextColumn("Client command", func(r *Result) string { return r.ClientCommand }),
})

type column = table.Column[*Result]

// measured is a column of numbers with significant digits.
func measured(name, unit string, value func(*Result) any) column {
	return column{Name: name, Unit: unit, Kind: table.Number, Format: "%g", Value: func(r *Result) any {
		if v, ok := value(r).(float64); ok {
			return number.Round(v, 6)
		}
		return value(r)
	}}
}

func rawColumns() (out []column) {
	for _, raw := range rawdata.Sheet {
		c := measured(raw.Name, raw.Unit, func(r *Result) any { return raw.Value(r.Row) })
		c.Kind = raw.Kind
		out = append(out, c)
	}
	return out
}

// loadColumn is a column of the client's load, named as in tables of runs.
func loadColumn(name string) column {
	return table.TextColumn(name, func(r *Result) string { return r.Load[keyOf(name)] })
}

// keyOf is the name of a column in JSON.
func keyOf(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "_") }

func predicted(value func(*Prediction) float64) func(*Result) any {
	return func(r *Result) any {
		if v := value(&r.Predicted); r.Predicted.Why == "" && v > 0 {
			return v
		}
		return nil
	}
}

// results of the combinations that have been run.
func (r *Runner) results(ctx context.Context, all []*combination) (out []Result) {
	for _, c := range all {
		if c.out == nil || c.state.find(c.out.Name(), c.out.Fingerprint) == nil {
			continue
		}
		known, ok := r.cached[c.out]
		if !ok {
			known = Result{Outcome: c.out, Row: c.row()}
			known.Predicted = predict(ctx, c.server, known.Row, c.out)
			r.cached[c.out] = known
		}
		out = append(out, known)
	}
	return out
}

func (r *Runner) write(ctx context.Context, all []*combination) ([]Result, error) {
	results := r.results(ctx, all)
	files := []report.File{
		{Name: filepath.Join(r.Dir, "bench_results.txt"), Write: func(w io.Writer) error { return r.transcript(w, all, len(results)) }},
		{Name: filepath.Join(r.Dir, "results.csv"), Write: func(w io.Writer) error { return table.Of(columns, results).Write(w, table.CSV) }},
		{Name: filepath.Join(r.Dir, "results.json"), Write: func(w io.Writer) error { return WriteJSON(w, results) }},
		{Name: filepath.Join(r.Dir, "results.xlsx"), Write: func(w io.Writer) error {
			return workbook.WriteTable(w, sentences(results), workbook.RawSheet, 2, table.Of(columns, results))
		}},
	}
	if c := picture.Pareto(points(results)); c != nil {
		scene := c.Draw(chartWidth, chartHeight, "")
		files = append(files,
			report.File{Name: filepath.Join(r.Dir, "pareto.svg"), Write: func(w io.Writer) error { return chart.SVG{Theme: chart.Light}.Write(w, scene) }},
			report.File{Name: filepath.Join(r.Dir, "pareto.png"), Write: func(w io.Writer) error { return chart.WritePNG(w, scene, chart.Light) }})
	}
	if r.Page != "" {
		files = append(files, report.File{Name: r.Page, Write: r.page(results).Write})
	}
	err := report.WriteFiles(context.WithoutCancel(ctx), files...)
	for i := range files {
		err = errors.Join(err, os.Chmod(files[i].Name, ownersOnly))
	}
	return results, err
}

const chartWidth, chartHeight = 900, 500

// points are the results that a plot shows.
func points(results []Result) (out []picture.Served) {
	for i := range results {
		r := &results[i]
		number := func(name string) float64 { v, _ := r.Row.Get(name).(float64); return v }
		p := picture.Served{Series: r.Server, Name: r.Client, GPUs: number("Num GPUs"), Tokens: number("Output throughput"), TPOT: number("TPOT")}
		if r.Predicted.Why == "" {
			p.PredictedTokens, p.PredictedTPOT = r.Predicted.Throughput, r.Predicted.TPOT
		}
		out = append(out, p)
	}
	return out
}

// objects are the columns in JSON, with all measurements.
var objects = func() (out []column) {
	for _, c := range columns {
		c.Name = keyOf(c.Name)
		out = append(out, c)
	}
	return append(out, column{Name: "figures", Value: func(r *Result) any { return r.Figures }})
}()

func WriteJSON(out io.Writer, results []Result) error {
	return table.Of(objects, results).Write(out, table.JSON)
}

func Shown(results []Result) *table.Table[*Result] {
	figure := func(title string, rank int, value func(*Result) any) column {
		return column{Title: title, Kind: table.Number, Rank: rank, Digits: 4, Value: value}
	}
	row := func(name string) func(*Result) any { return func(r *Result) any { return r.Row.Get(name) } }
	return table.Of([]column{
		{Title: "server", Value: func(r *Result) any { return r.Server }},
		{Title: "client", Value: func(r *Result) any { return r.Client }},
		{Title: "state", Rank: 1, Value: func(r *Result) any { return string(r.Verdict) }},
		figure("tokens/s", 0, row("Output throughput")), figure("TPOT ms", 0, row("TPOT")), figure("TTFT ms", 0, row("TTFT")),
		figure("pred. tokens/s", 2, predicted(func(p *Prediction) float64 { return p.Throughput })),
		figure("pred. TPOT", 3, predicted(func(p *Prediction) float64 { return p.TPOT })),
		figure("pred. TTFT", 4, predicted(func(p *Prediction) float64 { return p.TTFT })),
	}, results)
}

// transcript is the events and the output of clients, in the order of the file.
func (r *Runner) transcript(w io.Writer, all []*combination, done int) error {
	var b bytes.Buffer
	lines := func(all []string) {
		for _, line := range all {
			b.WriteString(line + "\n")
		}
	}
	for _, c := range all {
		o := c.out
		if o == nil || r.state.find(o.Name(), o.Fingerprint) == nil {
			continue
		}
		bar, hashes := strings.Repeat("=", 100), strings.Repeat("#", 80)
		lines([]string{bar, fmt.Sprintf("[COMBINATION] SERVER=%s  CLIENT=%s", o.Server, o.Client), bar})
		lines(o.Before)
		if o.ClientCommand != "" {
			lines([]string{"", "", hashes, "SERVER: " + o.Server, "CLIENT: " + o.Client, "COMMAND: " + o.ClientCommand, hashes})
			b.WriteString(shown(c.log("client.out.log")))
			b.WriteString("\n[STDERR]\n" + shown(c.log("client.err.log")))
		}
		lines(o.After)
	}
	lines([]string{"", fmt.Sprintf("%d of %d combinations done. Results: %s", done, len(all), filepath.Join(r.Dir, "bench_results.txt"))})
	_, err := w.Write(b.Bytes())
	return err
}

// shown is a log with the lines of a progress bar below one another.
func shown(name string) string {
	text := strings.ReplaceAll(strings.ReplaceAll(head(name, mostShown), "\r\n", "\n"), "\r", "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
