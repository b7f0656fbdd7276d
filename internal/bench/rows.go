package bench

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/serving/simulate"
)

// Rows writes requests to a file as they end.
type Rows interface {
	Add(*Done)
	Flush() error
}

// RowsTo are rows of CSV, or lines of JSON where the name of the file says so.
func RowsTo(name string, w io.Writer) Rows {
	if strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".jsonl") {
		return &lineRows{w: json.NewEncoder(w)}
	}
	r := &csvRows{w: csvfile.NewWriter(w)}
	r.err = r.w.Write(strings.Split(rowColumns, ","))
	return r
}

// rowColumns are those of simulate's file, and what only a real server has.
const rowColumns = "request,client,turn,arrival,scheduled,first_token,finish,input,output,cached,chunks,ttft_ms,tpot_ms,e2e_ms,retries,error"

type csvRows struct {
	w   *csvfile.Writer
	err error
}

func (r *csvRows) Add(d *Done) {
	if r.err != nil {
		return
	}
	number := func(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }
	row := []string{
		strconv.FormatInt(d.ID, 10), strconv.Itoa(d.Client), strconv.Itoa(d.Turn), number(d.Arrival, 6), number(d.Scheduled, 6), "", number(d.Finish, 6),
		strconv.Itoa(d.Input), strconv.Itoa(d.Output), strconv.Itoa(d.Cached), strconv.Itoa(d.Chunks), "", "", "", strconv.Itoa(d.Retries), "",
	}
	if d.First > 0 {
		row[5] = number(d.First, 6)
	}
	if d.Failure != nil {
		row[15] = d.Failure.Error()
	} else {
		row[11], row[12], row[13] = number(1e3*(d.First-d.Arrival), 3), number(1e3*d.TPOT(), 4), number(1e3*(d.Finish-d.Arrival), 3)
	}
	r.err = r.w.Write(row)
}

func (r *csvRows) Flush() error {
	if r.err != nil {
		return r.err
	}
	return r.w.Flush()
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
