package bench

import (
	"cmp"
	"io"
	"slices"

	"throughline/internal/table"
	"throughline/serving/simulate"
)

// Rows writes requests to a file as they end.
type Rows struct {
	out table.Writer[*Done]
	err error
}

// RowsTo writes CSV, or JSON lines or Parquet by the name of the file.
func RowsTo(name string, w io.Writer) *Rows {
	switch form := table.FormOf(name); form {
	case table.Lines:
		return &Rows{out: table.NewWriter(w, form, lineColumns)}
	case table.Parquet:
		return &Rows{out: table.NewWriter(w, form, rowColumns)}
	}
	return &Rows{out: table.NewWriter(w, table.CSV, rowColumns)}
}

func (r *Rows) Add(d *Done) { r.err = cmp.Or(r.err, r.out.Add(d)) }

// Flush writes what is buffered, and returns the first failure.
func (r *Rows) Flush() error { return cmp.Or(r.err, r.out.Close()) }

// ofAnswer is a column of times, which failed requests do not have.
func ofAnswer(name, format string, ms func(*Done) float64) table.Column[*Done] {
	return table.Column[*Done]{Name: name, Kind: table.Number, Format: format, Value: func(d *Done) any {
		if d.Failure != nil {
			return nil
		}
		return ms(d)
	}}
}

// started are columns of all files, arrived those behind the first token.
var (
	started = []table.Column[*Done]{
		table.CountColumn("request", func(d *Done) int { return int(d.ID) }),
		table.CountColumn("client", func(d *Done) int { return d.Client }),
		table.CountColumn("turn", func(d *Done) int { return d.Turn }),
		table.NumberColumn("arrival", "%.6f", func(d *Done) float64 { return d.Arrival }),
		table.NumberColumn("scheduled", "%.6f", func(d *Done) float64 { return d.Scheduled }),
	}
	arrived = []table.Column[*Done]{
		table.NumberColumn("finish", "%.6f", func(d *Done) float64 { return d.Finish }),
		table.CountColumn("input", func(d *Done) int { return d.Input }),
		table.CountColumn("output", func(d *Done) int { return d.Output }),
	}
	cached  = table.CountColumn("cached", func(d *Done) int { return d.Cached })
	retries = table.CountColumn("retries", func(d *Done) int { return d.Retries })
	failure = table.Column[*Done]{Name: "error", Value: func(d *Done) any {
		if d.Failure == nil {
			return nil
		}
		return d.Failure.Error()
	}}
)

// rowColumns are those of simulate's file, and what only a real server has.
var rowColumns = slices.Concat(started, []table.Column[*Done]{
	{Name: "first_token", Kind: table.Number, Format: "%.6f", Value: func(d *Done) any {
		if d.First == 0 {
			return nil
		}
		return d.First
	}},
}, arrived, []table.Column[*Done]{
	cached,
	table.CountColumn("chunks", func(d *Done) int { return d.Chunks }),
	ofAnswer("ttft_ms", "%.3f", func(d *Done) float64 { return 1e3 * (d.First - d.Arrival) }),
	ofAnswer("tpot_ms", "%.4f", func(d *Done) float64 { return 1e3 * d.TPOT() }),
	ofAnswer("e2e_ms", "%.3f", func(d *Done) float64 { return 1e3 * (d.Finish - d.Arrival) }),
	retries, failure,
})

var lineColumns = slices.Concat(started, []table.Column[*Done]{
	table.NumberColumn("first_token", "", func(d *Done) float64 { return d.First }),
}, arrived, []table.Column[*Done]{
	{Name: "usage", Kind: table.Flag, Value: func(d *Done) any { return d.Counted }},
	cached, retries,
	table.TextColumn("error", func(d *Done) string {
		if d.Failure == nil {
			return ""
		}
		return d.Failure.Error()
	}),
	{Name: "chunks", Value: func(d *Done) any { return d.times() }},
	{Name: "text", Omit: true, Value: table.TextColumn("", func(d *Done) string { return d.Text }).Value},
})

// times are a pair per chunk: seconds from the start of the run, and tokens; 0 if unknown.
func (d *Done) times() (out [][2]float64) {
	if d.Chunks == 0 {
		return nil
	}
	first, at := float64(d.Output), d.First
	for _, g := range d.Gaps {
		first -= float64(g.Tokens)
	}
	if len(d.Gaps) > 0 && d.Gaps[0].Tokens == 0 {
		first = 0
	}
	out = append(out, [2]float64{at, first})
	for _, g := range d.Gaps {
		at += float64(g.Seconds)
		out = append(out, [2]float64{at, float64(g.Tokens)})
	}
	return out
}

// Details are sglang's per-request results, by its keys. Times are seconds.
type Details struct {
	inputs, outputs []int
	firsts          []float64
	gaps            [][]float64
	texts, errors   []string
}

// Add records a request, in order of number.
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

func (t *Details) Fields() simulate.Fields {
	return simulate.Fields{{Name: "input_lens", Value: t.inputs}, {Name: "output_lens", Value: t.outputs}, {Name: "ttfts", Value: t.firsts},
		{Name: "itls", Value: t.gaps}, {Name: "generated_texts", Value: t.texts}, {Name: "errors", Value: t.errors}}
}
