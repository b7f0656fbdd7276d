package report

import (
	"io"

	"throughline/internal/table"
	"throughline/serving/simulate"
)

// count and decimal are columns of numbers.
func count[T any](name string, value func(T) int) table.Column[T] {
	return table.Column[T]{Name: name, Kind: table.Count, Value: func(row T) any { return value(row) }}
}

func decimal[T any](name, format string, value func(T) float64) table.Column[T] {
	return table.Column[T]{Name: name, Kind: table.Number, Format: format, Value: func(row T) any { return value(row) }}
}

// StepColumns are those of the file of steps.
var StepColumns = []table.Column[*simulate.Step]{
	count("server", func(s *simulate.Step) int { return s.Server }),
	count("rank", func(s *simulate.Step) int { return s.Rank }),
	count("step", func(s *simulate.Step) int { return s.Index }),
	decimal("start", "%.6f", func(s *simulate.Step) float64 { return s.Start }),
	decimal("end", "%.6f", func(s *simulate.Step) float64 { return s.End }),
	{Name: "kind", Value: func(s *simulate.Step) any { return string(s.Work.Kind()) }},
	count("n_decode", func(s *simulate.Step) int { return s.Work.Decodes }),
	count("sum_ctx", func(s *simulate.Step) int { return int(s.Work.Context) }),
	count("prefill_tokens", func(s *simulate.Step) int { return s.Work.Tokens() }),
	count("prefill_seqs", func(s *simulate.Step) int { return len(s.Work.Chunks) }),
	count("n_waiting", func(s *simulate.Step) int { return s.Waiting }),
	count("kv_blocks_used", func(s *simulate.Step) int { return s.Blocks }),
	count("preempted", func(s *simulate.Step) int { return s.Preempted }),
}

// RequestColumns are those of the file of requests.
var RequestColumns = []table.Column[*simulate.Ended]{
	count("request", func(e *simulate.Ended) int { return int(e.ID) }),
	count("client", func(e *simulate.Ended) int { return e.Client }),
	decimal("arrival", "%.6f", func(e *simulate.Ended) float64 { return e.Arrival }),
	decimal("scheduled", "%.6f", func(e *simulate.Ended) float64 { return e.Scheduled }),
	decimal("first_token", "%.6f", func(e *simulate.Ended) float64 { return e.First }),
	decimal("finish", "%.6f", func(e *simulate.Ended) float64 { return e.Finish }),
	count("input", func(e *simulate.Ended) int { return e.Input }),
	count("output", func(e *simulate.Ended) int { return e.Output }),
	count("preemptions", func(e *simulate.Ended) int { return e.Preemptions }),
	decimal("ttft_ms", "%.3f", func(e *simulate.Ended) float64 { return 1e3 * (e.First - e.Arrival) }),
	decimal("tpot_ms", "%.4f", func(e *simulate.Ended) float64 { return 1e3 * e.TPOT() }),
	decimal("e2e_ms", "%.3f", func(e *simulate.Ended) float64 { return 1e3 * (e.Finish - e.Arrival) }),
}

// interval is a row of a timeline.
type interval struct {
	start, running, waiting, blocks, share float64
	steps, tokens                          int64
}

var timelineColumns = []table.Column[*interval]{
	decimal("time_s", "%.6g", func(r *interval) float64 { return r.start }),
	decimal("running", "%.4f", func(r *interval) float64 { return r.running }),
	decimal("waiting", "%.4f", func(r *interval) float64 { return r.waiting }),
	decimal("kv_blocks_used", "%.2f", func(r *interval) float64 { return r.blocks }),
	decimal("kv_percent", "%.3f", func(r *interval) float64 { return r.share }),
	count("steps", func(r *interval) int { return int(r.steps) }),
	count("tokens", func(r *interval) int { return int(r.tokens) }),
}

// WriteTimeline writes a row for each interval.
func WriteTimeline(w io.Writer, form table.Form, r *simulate.Result) error {
	t := r.Timeline
	out := table.NewWriter(w, form, timelineColumns)
	all := 0
	for i := range r.Pools {
		all += r.Pools[i].Blocks * r.Pools[i].Ranks
	}
	for i := range t.Points {
		p := &t.Points[i]
		running, waiting, blocks := p.Means(t.Every)
		if err := out.Add(&interval{float64(i) * t.Every, running, waiting, blocks, 100 * blocks / float64(all), p.Steps, p.Tokens}); err != nil {
			return err
		}
	}
	return out.Close()
}
