package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/chart"
	"throughline/internal/csvfile"
	"throughline/internal/picture"
	"throughline/internal/rawdata"
	"throughline/internal/report"
	"throughline/internal/workbook"
)

// Result is a combination that has been run, as a row.
type Result struct {
	*Outcome
	Row       rawdata.Row
	Predicted Prediction
}

// column is one of the results.
type column struct {
	name, unit string
	value      func(r *Result) any // nil: not known
}

// columns are those of the results: which combination, the raw data, and what was predicted.
var columns = slices.Concat([]column{
	{"Run", "", func(r *Result) any { return r.Name() }},
	{"State", "", func(r *Result) any { return string(r.Verdict) }},
}, rawColumns(), []column{
	loadColumn("Length spread"), loadColumn("Request rate"), loadColumn("Arrival"), loadColumn("Num prompts"), loadColumn("Seed"),
	{"Predicted output throughput", "tokens/s", predicted(func(p *Prediction) float64 { return p.Throughput })},
	{"Predicted TPOT", "ms", predicted(func(p *Prediction) float64 { return p.TPOT })},
	{"Predicted TTFT", "ms", predicted(func(p *Prediction) float64 { return p.TTFT })},
	{"Prediction", "", func(r *Result) any {
		if r.Predicted.Why != "" {
			return "none: " + r.Predicted.Why
		}
		return r.Predicted.Source
	}},
	{"Problem", "", func(r *Result) any { return known(r.Problem) }},
	{"Notes", "", func(r *Result) any { return known(strings.Join(r.Notes, "; ")) }},
	{"Began", "", func(r *Result) any { return r.Began.Format("2006-01-02T15:04:05Z") }},
	{"Ready after", "s", func(r *Result) any { return r.ReadySeconds }},
	{"Client ran", "s", func(r *Result) any { return r.ClientSeconds }},
	{"Server command", "", func(r *Result) any { return known(r.ServerCommand) }},
	{"Client command", "", func(r *Result) any { return known(r.ClientCommand) }},
})

func rawColumns() (out []column) {
	for i := range rawdata.Columns {
		out = append(out, column{rawdata.Columns[i].Name, rawdata.Columns[i].Unit, func(r *Result) any { return r.Row[i] }})
	}
	return out
}

// loadColumn is a column of what a client asked for, which tables of runs have by the same name.
func loadColumn(name string) column {
	c := column{name: name}
	c.value = func(r *Result) any { return known(r.Asked[c.key()]) }
	return c
}

func predicted(value func(*Prediction) float64) func(*Result) any {
	return func(r *Result) any {
		if v := value(&r.Predicted); r.Predicted.Why == "" && v > 0 {
			return v
		}
		return nil
	}
}

// known is a text; nil where it is empty.
func known(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// key is the name of a column in JSON.
func (c *column) key() string {
	return strings.ReplaceAll(strings.ToLower(c.name), " ", "_")
}

// results are those of the combinations that have been run.
func (r *Runner) results(ctx context.Context, all []*combination) (out []Result) {
	for _, c := range all {
		if c.out == nil || c.state.find(c.out.Name(), c.out.Fingerprint) == nil {
			continue
		}
		known, ok := r.told[c.out]
		if !ok {
			known = Result{Outcome: c.out, Row: c.row()}
			known.Predicted = predict(ctx, c.server, known.Row, c.out)
			r.told[c.out] = known
		}
		out = append(out, known)
	}
	return out
}

// write writes all results so far.
func (r *Runner) write(ctx context.Context, all []*combination) ([]Result, error) {
	results := r.results(ctx, all)
	files := []report.File{
		{Name: filepath.Join(r.Dir, "bench_results.txt"), Write: func(w io.Writer) error { return r.transcript(w, all, len(results)) }},
		{Name: filepath.Join(r.Dir, "results.csv"), Write: func(w io.Writer) error { return writeCSV(w, results) }},
		{Name: filepath.Join(r.Dir, "results.json"), Write: func(w io.Writer) error { return WriteJSON(w, results) }},
		{Name: filepath.Join(r.Dir, "results.xlsx"), Write: func(w io.Writer) error { return writeSheet(w, results) }},
	}
	if c := picture.Pareto(points(results)); c != nil {
		scene := c.Draw(chartWidth, chartHeight, "")
		files = append(files,
			report.File{Name: filepath.Join(r.Dir, "pareto.svg"), Write: func(w io.Writer) error { return chart.SVG{Theme: chart.Light}.Write(w, scene) }},
			report.File{Name: filepath.Join(r.Dir, "pareto.png"), Write: func(w io.Writer) error { return chart.WritePNG(w, scene, chart.Light) }})
	}
	err := report.WriteFiles(context.WithoutCancel(ctx), files...)
	for i := range files {
		err = errors.Join(err, os.Chmod(files[i].Name, ownersOnly))
	}
	return results, err
}

// Size of the plot.
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

func writeCSV(out io.Writer, results []Result) error {
	w := csvfile.NewWriter(out)
	line := make([]string, len(columns))
	for i := range columns {
		line[i] = columns[i].name
	}
	if err := w.Write(line); err != nil {
		return err
	}
	for k := range results {
		for i := range columns {
			switch v := columns[i].value(&results[k]).(type) {
			case nil:
				line[i] = ""
			case float64:
				line[i] = strconv.FormatFloat(rounded(v), 'g', -1, 64)
			default:
				line[i] = fmt.Sprint(v)
			}
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	return w.Flush()
}

// rounded has the digits that mean something.
func rounded(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 6-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// WriteJSON writes the results as a list of objects, with all that was measured.
func WriteJSON(out io.Writer, results []Result) error {
	var b bytes.Buffer
	b.WriteString("[")
	for k := range results {
		if k > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  {")
		member := func(key string, v any) error {
			text, err := json.Marshal(v)
			if !bytes.HasSuffix(b.Bytes(), []byte("{")) {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, "\n    %q: %s", key, text)
			return err
		}
		for i := range columns {
			v := columns[i].value(&results[k])
			if f, ok := v.(float64); ok {
				v = rounded(f)
			}
			if err := member(columns[i].key(), v); err != nil {
				return err
			}
		}
		if err := member("figures", results[k].Figures); err != nil {
			return err
		}
		b.WriteString("\n  }")
	}
	b.WriteString("\n]\n")
	_, err := out.Write(b.Bytes())
	return err
}

func writeSheet(out io.Writer, results []Result) error {
	t := workbook.Table{Sheet: workbook.RawSheet, Frozen: 2}
	for i := range columns {
		t.Titles = append(t.Titles, workbook.Title(columns[i].name, columns[i].unit))
	}
	for k := range results {
		var row []any
		for i := range columns {
			row = append(row, columns[i].value(&results[k]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t.Write(out)
}

// transcript is what happened and what clients printed, in the order of the file.
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

// shown is a log with the lines that a progress bar draws over each other below one another.
func shown(name string) string {
	text := strings.ReplaceAll(strings.ReplaceAll(head(name, mostShown), "\r\n", "\n"), "\r", "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
