package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"throughline/internal/parquetfile"
	"throughline/serving/simulate"
)

// column is one of a table whose rows are made of T.
type column[T any] struct {
	name   string
	kind   parquetfile.Kind
	format string // in CSV
	value  func(T) any
}

// tableTo starts a table in the form that the name of its file tells: Parquet, or else CSV. It returns what adds a row, and what
// ends the table.
func tableTo[T any](w io.Writer, name string, columns []column[T]) (add func(T), end func() error) {
	if strings.HasSuffix(name, ".parquet") {
		var all []parquetfile.Column
		for _, c := range columns {
			all = append(all, parquetfile.Column{Name: c.name, Kind: c.kind})
		}
		out := parquetfile.NewWriter(w, all)
		var failed error
		return func(row T) {
			failed = cmp.Or(failed, out.Add(func(i int) any { return columns[i].value(row) }))
		}, func() error { return cmp.Or(failed, out.Close()) }
	}
	b := bufio.NewWriter(w)
	for i, c := range columns {
		b.WriteString(strings.Repeat(",", min(i, 1)) + c.name)
	}
	b.WriteByte('\n')
	return func(row T) {
		for i, c := range columns {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, c.format, c.value(row))
		}
		b.WriteByte('\n')
	}, b.Flush
}

// whole and decimal are columns of numbers.
func whole[T any](name string, value func(T) int) column[T] {
	return column[T]{name, parquetfile.Integer, "%d", func(row T) any { return value(row) }}
}

func decimal[T any](name, format string, value func(T) float64) column[T] {
	return column[T]{name, parquetfile.Double, format, func(row T) any { return value(row) }}
}

var stepColumns = []column[*simulate.Step]{
	whole("server", func(s *simulate.Step) int { return s.Server }),
	whole("rank", func(s *simulate.Step) int { return s.Rank }),
	whole("step", func(s *simulate.Step) int { return s.Index }),
	decimal("start", "%.6f", func(s *simulate.Step) float64 { return s.Start }),
	decimal("end", "%.6f", func(s *simulate.Step) float64 { return s.End }),
	{"kind", parquetfile.Text, "%s", func(s *simulate.Step) any { return string(s.Work.Kind()) }},
	whole("n_decode", func(s *simulate.Step) int { return s.Work.Decodes }),
	whole("sum_ctx", func(s *simulate.Step) int { return int(s.Work.Context) }),
	whole("prefill_tokens", func(s *simulate.Step) int { return s.Work.Tokens() }),
	whole("prefill_seqs", func(s *simulate.Step) int { return len(s.Work.Chunks) }),
	whole("n_waiting", func(s *simulate.Step) int { return s.Waiting }),
	whole("kv_blocks_used", func(s *simulate.Step) int { return s.Blocks }),
	whole("preempted", func(s *simulate.Step) int { return s.Preempted }),
}

var requestColumns = []column[*simulate.Ended]{
	whole("request", func(e *simulate.Ended) int { return int(e.ID) }),
	whole("client", func(e *simulate.Ended) int { return e.Client }),
	decimal("arrival", "%.6f", func(e *simulate.Ended) float64 { return e.Arrival }),
	decimal("scheduled", "%.6f", func(e *simulate.Ended) float64 { return e.Scheduled }),
	decimal("first_token", "%.6f", func(e *simulate.Ended) float64 { return e.First }),
	decimal("finish", "%.6f", func(e *simulate.Ended) float64 { return e.Finish }),
	whole("input", func(e *simulate.Ended) int { return e.Input }),
	whole("output", func(e *simulate.Ended) int { return e.Output }),
	whole("preemptions", func(e *simulate.Ended) int { return e.Preemptions }),
	decimal("ttft_ms", "%.3f", func(e *simulate.Ended) float64 { return 1e3 * (e.First - e.Arrival) }),
	decimal("tpot_ms", "%.4f", func(e *simulate.Ended) float64 { return 1e3 * e.TPOT() }),
	decimal("e2e_ms", "%.3f", func(e *simulate.Ended) float64 { return 1e3 * (e.Finish - e.Arrival) }),
}

// interval is a row of a timeline.
type interval struct {
	start, running, waiting, blocks, share float64
	steps, tokens                          int64
}

var timelineColumns = []column[*interval]{
	decimal("time_s", "%.6g", func(r *interval) float64 { return r.start }),
	decimal("running", "%.4f", func(r *interval) float64 { return r.running }),
	decimal("waiting", "%.4f", func(r *interval) float64 { return r.waiting }),
	decimal("kv_blocks_used", "%.2f", func(r *interval) float64 { return r.blocks }),
	decimal("kv_percent", "%.3f", func(r *interval) float64 { return r.share }),
	whole("steps", func(r *interval) int { return int(r.steps) }),
	whole("tokens", func(r *interval) int { return int(r.tokens) }),
}

// writeTimeline writes a row for each interval.
func writeTimeline(w io.Writer, name string, r *simulate.Result) error {
	add, end := tableTo(w, name, timelineColumns)
	t := r.Timeline
	all := 0
	for i := range r.Pools {
		all += r.Pools[i].Blocks * r.Pools[i].Ranks
	}
	for i := range t.Points {
		p := &t.Points[i]
		running, waiting, blocks := p.Means(t.Every)
		add(&interval{float64(i) * t.Every, running, waiting, blocks, 100 * blocks / float64(all), p.Steps, p.Tokens})
	}
	return end()
}
