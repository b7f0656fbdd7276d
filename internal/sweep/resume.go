package sweep

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"

	"throughline/internal/jobfile"
	"throughline/internal/result"
	"throughline/internal/scan"
	"throughline/internal/store"
	"throughline/internal/table"
	"throughline/op"
	"throughline/search"
)

// runs are those of a section of a runtime file, answered part by part.
type runs struct {
	job     *jobfile.Job
	options Options
	workers int // of a run
	columns []table.Column[*saved]
}

// saved is a run as a part has it: the row of its table, and all of it as a text.
type saved struct {
	*result.Record
	text string
}

// savedColumn is the last column of the parts of runs.
const savedColumn = "record"

// mostSingle is how many runs have a part each; of more, a part takes as long as that of a scan.
const (
	mostSingle  = 1000
	partSeconds = 3
)

// Resume is Run, with a folder of parts as its only state: it answers the runs whose parts are not
// there, and then emits all of them. The folder is removed by done, when the results are kept
// elsewhere.
func Resume(ctx context.Context, job *jobfile.Job, o Options, request *scan.Request, at string, emit func(*result.Record) error) (done func() error, err error) {
	in, err := store.Open(ctx, at, true)
	if err != nil {
		return nil, err
	}
	w := &Work{In: in, Patience: patience, runs: newRuns(job, o)}
	w.Manifest, err = scan.Started(ctx, in, w.runs.requestOf(request), job.Inputs(), func() (*scan.Manifest, error) { return w.runs.begin(ctx) })
	if err == nil {
		_, err = w.Do(ctx, 0, 1, o.Jobs, func(int) {})
	}
	if err != nil {
		return nil, err
	}
	for part := range w.Manifest.Parts() {
		err := w.rows(ctx, part, func(row []any) error {
			text, _ := row[len(row)-1].(string)
			r, err := w.runs.restored(text)
			if err != nil {
				return fmt.Errorf("%s/%s is broken: %w; remove it, and run again", in, scan.PartName(part), err)
			}
			return emit(r)
		})
		if err != nil {
			return nil, err
		}
	}
	return func() error { return os.RemoveAll(at) }, nil
}

func newRuns(job *jobfile.Job, o Options) *runs {
	r := &runs{job: job, options: o, workers: max(1, o.Jobs/max(1, job.Len()))}
	var axes []result.Category
	for _, name := range job.Axes() {
		axes = append(axes, result.Axis(name))
	}
	for _, c := range result.Columns(result.Long(axes...)) {
		r.columns = append(r.columns, table.Column[*saved]{Name: c.Name, Kind: c.Kind, Value: func(s *saved) any { return c.Value(s.Record) }})
	}
	r.columns = append(r.columns, table.TextColumn(savedColumn, func(s *saved) string { return s.text }))
	return r
}

// requestOf is what the runs follow from besides their files.
func (r *runs) requestOf(request *scan.Request) *scan.Request {
	out := *request
	out.Settings = maps.Clone(request.Settings)
	maps.Copy(out.Settings, map[string]string{
		"section": r.job.Mode, "explain-rejected": strconv.FormatBool(r.options.Thorough),
		"xlsx": strconv.FormatBool(r.options.Raw), "simulate": strconv.Itoa(r.options.Simulate),
	})
	return &out
}

// begin sizes the parts.
func (r *runs) begin(ctx context.Context) (*scan.Manifest, error) {
	m := &scan.Manifest{Points: r.job.Len(), Chunk: 1, Columns: described(r.columns)}
	if m.Points <= mostSingle {
		return m, nil
	}
	var err error
	o := r.options
	o.Tick = nil
	m.Chunk, err = sized(m.Points, m.Points, partSeconds, func(i int) error { _, err := record(ctx, r.job, i, r.workers, o); return err })
	return m, err
}

func (w *Work) writeRuns(ctx context.Context, part int, g *guard, out io.Writer) error {
	from, to := w.Manifest.Bounds(part)
	rows := table.NewWriter(out, table.Parquet, w.runs.columns)
	err := g.each(ctx, from, to, func(i int, deadly bool) error {
		s, err := w.runs.answered(ctx, i, deadly)
		if err != nil {
			return err
		}
		return rows.Add(s)
	})
	if err != nil {
		return err
	}
	rows.(table.Noted).Note(w.noteOf(part))
	return rows.Close()
}

// answered is a run; deadly: no process survives it.
func (r *runs) answered(ctx context.Context, i int, deadly bool) (*saved, error) {
	var of *result.Record
	var err error
	if deadly {
		run := r.job.At(i)
		of = newRecord(r.job, &run, i)
		err = of.Outcome(&search.Outcome{Shared: run.Mode == jobfile.Fusion}, problemsOf(&run), pools(&run), false)
		of.Reasons = []string{wentDown}
	} else {
		of, err = record(ctx, r.job, i, r.workers, r.options)
	}
	if err != nil {
		return nil, err
	}
	text, err := encoded(of)
	return &saved{of, text}, err
}

// encoded is a record as a text, without what follows from the files.
func encoded(r *result.Record) (string, error) {
	bare := *r
	bare.Model, bare.Settings, bare.Assume = nil, nil, nil
	for phase, side := range r.Sides {
		other := *side
		other.System = nil
		bare.Sides[phase] = &other
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(&bare)
	return base64.StdEncoding.EncodeToString(b.Bytes()), err
}

// restored is the record of a text.
func (r *runs) restored(text string) (*result.Record, error) {
	src, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	var out result.Record
	if err := gob.NewDecoder(bytes.NewReader(src)).Decode(&out); err != nil {
		return nil, err
	}
	run := r.job.At(out.Number)
	is := newRecord(r.job, &run, out.Number)
	out.Model, out.Settings, out.Assume, out.Limits = is.Model, is.Settings, is.Assume, is.Limits
	limits := [op.PhaseCount]*float64{op.Prefill: is.Limits.TTFT, op.Decode: is.Limits.TPOT}
	for phase, p := range problemsOf(&run) {
		out.Sides[phase].System, out.Sides[phase].Limit = p.System, limits[phase]
	}
	if out.Hash != is.Hash {
		return nil, fmt.Errorf("run %d is of other inputs", out.Number)
	}
	return &out, nil
}
