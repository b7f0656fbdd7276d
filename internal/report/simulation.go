package report

import (
	"io"

	"throughline/internal/table"
	"throughline/serving/simulate"
)

var StepColumns = []table.Column[*simulate.Step]{
	table.CountColumn("server", func(s *simulate.Step) int { return s.Server }),
	table.CountColumn("rank", func(s *simulate.Step) int { return s.Rank }),
	table.CountColumn("step", func(s *simulate.Step) int { return s.Index }),
	table.NumberColumn("start", "%.6f", func(s *simulate.Step) float64 { return s.Start }),
	table.NumberColumn("end", "%.6f", func(s *simulate.Step) float64 { return s.End }),
	{Name: "kind", Value: func(s *simulate.Step) any { return string(s.Work.Kind()) }},
	table.CountColumn("n_decode", func(s *simulate.Step) int { return s.Work.Decodes }),
	table.CountColumn("sum_ctx", func(s *simulate.Step) int { return int(s.Work.Context) }),
	table.CountColumn("prefill_tokens", func(s *simulate.Step) int { return s.Work.Tokens() }),
	table.CountColumn("prefill_seqs", func(s *simulate.Step) int { return len(s.Work.Chunks) }),
	table.CountColumn("n_waiting", func(s *simulate.Step) int { return s.Waiting }),
	table.CountColumn("kv_blocks_used", func(s *simulate.Step) int { return s.Blocks }),
	table.CountColumn("preempted", func(s *simulate.Step) int { return s.Preempted }),
}

var RequestColumns = []table.Column[*simulate.Ended]{
	table.CountColumn("request", func(e *simulate.Ended) int { return int(e.ID) }),
	table.CountColumn("client", func(e *simulate.Ended) int { return e.Client }),
	table.NumberColumn("arrival", "%.6f", func(e *simulate.Ended) float64 { return e.Arrival }),
	table.NumberColumn("scheduled", "%.6f", func(e *simulate.Ended) float64 { return e.Scheduled }),
	table.NumberColumn("first_token", "%.6f", func(e *simulate.Ended) float64 { return e.First }),
	table.NumberColumn("finish", "%.6f", func(e *simulate.Ended) float64 { return e.Finish }),
	table.CountColumn("input", func(e *simulate.Ended) int { return e.Input }),
	table.CountColumn("output", func(e *simulate.Ended) int { return e.Output }),
	table.CountColumn("preemptions", func(e *simulate.Ended) int { return e.Preemptions }),
	table.NumberColumn("ttft_ms", "%.3f", func(e *simulate.Ended) float64 { return 1e3 * (e.First - e.Arrival) }),
	table.NumberColumn("tpot_ms", "%.4f", func(e *simulate.Ended) float64 { return 1e3 * e.TPOT() }),
	table.NumberColumn("e2e_ms", "%.3f", func(e *simulate.Ended) float64 { return 1e3 * (e.Finish - e.Arrival) }),
}

type interval struct {
	start, running, waiting, blocks, share float64
	watts                                  any // of all processors; nil: not known
	steps, tokens                          int64
}

var timelineColumns = []table.Column[*interval]{
	table.NumberColumn("time_s", "%.6g", func(r *interval) float64 { return r.start }),
	table.NumberColumn("running", "%.4f", func(r *interval) float64 { return r.running }),
	table.NumberColumn("waiting", "%.4f", func(r *interval) float64 { return r.waiting }),
	table.NumberColumn("kv_blocks_used", "%.2f", func(r *interval) float64 { return r.blocks }),
	table.NumberColumn("kv_percent", "%.3f", func(r *interval) float64 { return r.share }),
	table.CountColumn("steps", func(r *interval) int { return int(r.steps) }),
	table.CountColumn("tokens", func(r *interval) int { return int(r.tokens) }),
	{Name: "watts", Kind: table.Number, Format: "%.1f", Value: func(r *interval) any { return r.watts }},
}

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
		row := &interval{float64(i) * t.Every, running, waiting, blocks, 100 * blocks / float64(all), nil, p.Steps, p.Tokens}
		if r.Energy != nil {
			row.watts = r.Energy.Watts(p, t.Every)
		}
		if err := out.Add(row); err != nil {
			return err
		}
	}
	return out.Close()
}
