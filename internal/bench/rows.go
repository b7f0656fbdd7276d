package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/parquetfile"
	"throughline/serving/simulate"
)

// Rows writes requests to a file as they end.
type Rows interface {
	Add(*Done)
	Flush() error
}

// RowsTo are rows of CSV, or lines of JSON or rows of Parquet where the name of the file says so.
func RowsTo(name string, w io.Writer) Rows {
	switch {
	case strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".jsonl"):
		return &lineRows{w: json.NewEncoder(w)}
	case strings.HasSuffix(name, ".parquet"):
		var columns []parquetfile.Column
		for _, c := range rowColumns {
			columns = append(columns, parquetfile.Column{Name: c.name, Kind: c.kind})
		}
		out := parquetfile.NewWriter(w, columns)
		return &tableRows{end: out.Close, write: func(d *Done) error { return out.Add(func(i int) any { return rowColumns[i].value(d) }) }}
	}
	out := csvfile.NewWriter(w)
	row := make([]string, len(rowColumns))
	for i, c := range rowColumns {
		row[i] = c.name
	}
	return &tableRows{err: out.Write(row), end: out.Flush, write: func(d *Done) error {
		for i, c := range rowColumns {
			switch v := c.value(d).(type) {
			case nil:
				row[i] = ""
			case float64:
				row[i] = strconv.FormatFloat(v, 'f', c.digits, 64)
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		return out.Write(row)
	}}
}

// rowColumn is a column of a table of requests. Its value is nil where a request has none.
type rowColumn struct {
	name   string
	kind   parquetfile.Kind
	digits int // behind the point, in CSV
	value  func(*Done) any
}

// rowColumns are those of simulate's file, and what only a real server has.
var rowColumns = []rowColumn{
	countColumn("request", func(d *Done) int { return int(d.ID) }),
	countColumn("client", func(d *Done) int { return d.Client }),
	countColumn("turn", func(d *Done) int { return d.Turn }),
	{"arrival", parquetfile.Double, 6, func(d *Done) any { return d.Arrival }},
	{"scheduled", parquetfile.Double, 6, func(d *Done) any { return d.Scheduled }},
	{"first_token", parquetfile.Double, 6, func(d *Done) any {
		if d.First > 0 {
			return d.First
		}
		return nil
	}},
	{"finish", parquetfile.Double, 6, func(d *Done) any { return d.Finish }},
	countColumn("input", func(d *Done) int { return d.Input }),
	countColumn("output", func(d *Done) int { return d.Output }),
	countColumn("cached", func(d *Done) int { return d.Cached }),
	countColumn("chunks", func(d *Done) int { return d.Chunks }),
	answered("ttft_ms", 3, func(d *Done) float64 { return d.First - d.Arrival }),
	answered("tpot_ms", 4, func(d *Done) float64 { return d.TPOT() }),
	answered("e2e_ms", 3, func(d *Done) float64 { return d.Finish - d.Arrival }),
	countColumn("retries", func(d *Done) int { return d.Retries }),
	{"error", parquetfile.Text, 0, func(d *Done) any {
		if d.Failure != nil {
			return d.Failure.Error()
		}
		return nil
	}},
}

func countColumn(name string, value func(*Done) int) rowColumn {
	return rowColumn{name, parquetfile.Integer, 0, func(d *Done) any { return value(d) }}
}

// answered is a time of requests that were answered.
func answered(name string, digits int, seconds func(*Done) float64) rowColumn {
	return rowColumn{name, parquetfile.Double, digits, func(d *Done) any {
		if d.Failure != nil {
			return nil
		}
		return 1e3 * seconds(d)
	}}
}

// tableRows are rows of a table, up to the first that cannot be written.
type tableRows struct {
	write func(*Done) error
	end   func() error
	err   error
}

func (r *tableRows) Add(d *Done) {
	if r.err == nil {
		r.err = r.write(d)
	}
}

func (r *tableRows) Flush() error {
	if r.err != nil {
		return r.err
	}
	return r.end()
}

type lineRows struct {
	w   *json.Encoder
	err error
}

// line is a request as a line of JSON. Chunks are pairs: seconds from the start of the run, and tokens; 0: the server does not
// say.
type line struct {
	Request   int64        `json:"request"`
	Client    int          `json:"client"`
	Turn      int          `json:"turn"`
	Arrival   float64      `json:"arrival"`
	Scheduled float64      `json:"scheduled"`
	First     float64      `json:"first_token"`
	Finish    float64      `json:"finish"`
	Input     int          `json:"input"`
	Output    int          `json:"output"`
	Usage     bool         `json:"usage"`
	Cached    int          `json:"cached"`
	Retries   int          `json:"retries"`
	Error     string       `json:"error"`
	Chunks    [][2]float64 `json:"chunks"`
	Text      string       `json:"text,omitempty"`
}

func (r *lineRows) Add(d *Done) {
	if r.err != nil {
		return
	}
	l := line{d.ID, d.Client, d.Turn, d.Arrival, d.Scheduled, d.First, d.Finish, d.Input, d.Output, d.Counted, d.Cached, d.Retries, "", nil, d.Text}
	if d.Failure != nil {
		l.Error = d.Failure.Error()
	}
	if d.Chunks > 0 {
		first, at := float64(d.Output), d.First
		for _, g := range d.Gaps {
			first -= float64(g.Tokens)
		}
		if len(d.Gaps) > 0 && d.Gaps[0].Tokens == 0 {
			first = 0
		}
		l.Chunks = append(l.Chunks, [2]float64{at, first})
		for _, g := range d.Gaps {
			at += float64(g.Seconds)
			l.Chunks = append(l.Chunks, [2]float64{at, float64(g.Tokens)})
		}
	}
	r.err = r.w.Encode(l)
}

func (r *lineRows) Flush() error { return r.err }

// Details are what sglang's result file has of all requests, with its keys. Times are seconds.
type Details struct {
	inputs, outputs []int
	firsts          []float64
	gaps            [][]float64
	texts, errors   []string
}

// Add notes a request. They stand in the order of their numbers.
func (t *Details) Add(d *Done) {
	i := int(d.ID)
	for len(t.inputs) <= i {
		t.inputs, t.outputs, t.firsts = append(t.inputs, 0), append(t.outputs, 0), append(t.firsts, 0)
		t.gaps, t.texts, t.errors = append(t.gaps, []float64{}), append(t.texts, ""), append(t.errors, "")
	}
	t.inputs[i], t.texts[i] = d.Input, d.Text
	if d.First > 0 {
		t.firsts[i] = d.First - d.Arrival
	}
	for _, g := range d.Gaps {
		n := max(1, int(g.Tokens))
		for range n {
			t.gaps[i] = append(t.gaps[i], float64(g.Seconds)/float64(n))
		}
	}
	if d.Failure != nil {
		t.errors[i] = d.Failure.Error()
		return
	}
	t.outputs[i] = d.Output
}

// Fields are the details.
func (t *Details) Fields() simulate.Fields {
	return simulate.Fields{{Name: "input_lens", Value: t.inputs}, {Name: "output_lens", Value: t.outputs}, {Name: "ttfts", Value: t.firsts},
		{Name: "itls", Value: t.gaps}, {Name: "generated_texts", Value: t.texts}, {Name: "errors", Value: t.errors}}
}
