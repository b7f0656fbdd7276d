package sweep

import (
	"math"

	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/internal/table"
	"throughline/serving"
	"throughline/serving/simulate"
)

// Figure is a column of the answers of a scan.
type Figure struct {
	Name  string // in files and conditions
	Title string // for people
	Unit  string
	Kind  table.Kind
	Rank  int // what a terminal leaves out first: the highest
	Digit int // significant digits for people; 0: three
	// Better is 1 where more is better, -1 where less is, 0 where neither is.
	Better int
	// Limit is the limit that lines of it are compared with: ttft or tpot.
	Limit string

	field string // of a record
	or    string // of one that has none
	unit  result.Unit
	run   func(*simulate.Result) float64 // of a simulation
	when  func(*simulate.Result) bool    // of one with limits
}

// recorded are the figures of deployments: of estimate, and of the best one of plan.
var recorded = []Figure{
	{Name: "mode", Title: "mode", Kind: table.Text, Rank: 9, field: "mode"},
	{Name: "served_by", Title: "engine", Kind: table.Text, Rank: 7, field: "engine"},
	{Name: "prefill_plan", Title: "prefill", Kind: table.Text, Rank: 11, field: "prefill_plans"},
	{Name: "decode_plan", Title: "decode", Kind: table.Text, Rank: 2, field: "decoder_plans"},
	{Name: "num_gpus", Title: "GPUs", Kind: table.Count, Rank: 6, field: "num_procs"},
	{Name: "clients", Title: "clients", Kind: table.Count, Rank: 8, field: "concurrency"},
	{Name: "ttft_ms", Title: "TTFT ms", Unit: "ms", Kind: table.Number, Rank: 1, Better: -1, Limit: "ttft", field: "TTFT(s)", unit: result.Millis},
	{Name: "tpot_ms", Title: "TPOT ms", Unit: "ms", Kind: table.Number, Better: -1, Limit: "tpot", field: "TPOT(s)", unit: result.Millis},
	{Name: "step_ms", Title: "step ms", Unit: "ms", Kind: table.Number, Rank: 6, Better: -1, field: "row_step(s)", unit: result.Millis},
	{Name: "tokens_per_s_per_gpu", Title: "tokens/s per GPU", Unit: "tokens/s", Kind: table.Number, Better: 1, field: "tokens_per_processor"},
	{Name: "tokens_per_s_per_user", Title: "tokens/s per user", Unit: "tokens/s", Kind: table.Number, Rank: 5, Better: 1, field: "tokens_per_user"},
	{Name: "tokens_per_s", Title: "tokens/s", Unit: "tokens/s", Kind: table.Number, Rank: 4, Better: 1, field: "row_throughput(token/s)"},
	{Name: "requests_per_s", Title: "requests/s", Unit: "requests/s", Kind: table.Number, Rank: 3, Better: 1, field: "row_requests"},
	{Name: "ttft_p99_ms", Title: "p99 TTFT ms", Unit: "ms", Kind: table.Number, Rank: 3, Better: -1, Limit: "ttft", field: "ttft_p99_ms"},
	{Name: "tpot_p99_ms", Title: "p99 TPOT ms", Unit: "ms", Kind: table.Number, Rank: 3, Better: -1, Limit: "tpot", field: "tpot_p99_ms"},
	{Name: "headroom", Title: "headroom", Kind: table.Number, Rank: 5, Better: 1, field: "headroom"},
	{Name: "usd_per_m_tokens", Title: "$/M tokens", Unit: "$", Kind: table.Number, Rank: 1, Better: -1, field: "dollars_per_million_tokens"},
	{Name: "tokens_per_joule", Title: "tokens/J", Kind: table.Number, Rank: 6, Better: 1, field: "tokens_per_joule", or: "output_tokens_per_joule"},
	{Name: "tokens_per_s_per_usd", Title: "tokens/s/$", Kind: table.Number, Rank: 8, Better: 1, field: "tokens_per_s_per_dollar"},
	{Name: "tokens_per_s_per_mm2", Title: "tokens/s/mm²", Kind: table.Number, Rank: 8, Better: 1, field: "tokens_per_s_per_mm2"},
	{Name: "die_mm2", Title: "die mm²", Unit: "mm²", Kind: table.Number, Rank: 12, Better: -1, field: "die_mm2"},
	{Name: "usd_per_processor", Title: "$ to make", Unit: "$", Kind: table.Number, Rank: 12, Better: -1, field: "processor_dollars"},
	{Name: "joules_per_output_token", Title: "J/token", Unit: "J", Kind: table.Number, Rank: 6, Better: -1, field: "joules_per_output_token"},
	{Name: "watts_per_gpu", Title: "watts per GPU", Unit: "W", Kind: table.Number, Rank: 7, Better: -1, field: "watts_per_gpu"},
	{Name: "memory_gib", Title: "memory GiB", Unit: "GiB", Kind: table.Number, Rank: 6, Better: -1, field: "row_memory(Gib)"},
	{Name: "fits", Title: "fits", Kind: table.Flag, Rank: 5, field: "row_fits"},
	{Name: "bound", Title: "bound by", Kind: table.Text, Rank: 6, field: "row_bound"},
	{Name: "trust", Title: "confidence", Kind: table.Text, Rank: 10, field: "trust"},
}

var simulated = func() []Figure {
	out := []Figure{
		{Name: "completed", Title: "requests", Kind: table.Count, Rank: 9, run: func(r *simulate.Result) float64 { return float64(r.Requests) }},
		{Name: "requests_per_s", Title: "requests/s", Unit: "requests/s", Kind: table.Number, Rank: 3, Better: 1, run: func(r *simulate.Result) float64 { return float64(r.Requests) / (r.End - r.Start) }},
		{Name: "tokens_per_s", Title: "tokens/s", Unit: "tokens/s", Kind: table.Number, Rank: 4, Better: 1, run: func(r *simulate.Result) float64 { return float64(r.Output) / (r.End - r.Start) }},
	}
	for _, d := range []struct {
		name, title, limit string
		rank               int
		of                 func(*simulate.Result) *simulate.Distribution
	}{
		{"ttft", "TTFT", "ttft", 0, func(r *simulate.Result) *simulate.Distribution { return &r.Record.TTFT }},
		{"tpot", "TPOT", "tpot", 1, func(r *simulate.Result) *simulate.Distribution { return &r.Record.TPOT }},
		{"e2e", "request", "", 7, func(r *simulate.Result) *simulate.Distribution { return &r.E2E }},
	} {
		add := func(name, title string, rank int, of func(*simulate.Distribution) float64) {
			out = append(out, Figure{Name: d.name + "_" + name + "_ms", Title: title + d.title + " ms", Unit: "ms", Kind: table.Number, Rank: rank, Better: -1, Limit: d.limit,
				run: func(r *simulate.Result) float64 { return 1e3 * of(d.of(r)) }})
		}
		add("mean", "mean ", 8+d.rank, (*simulate.Distribution).Mean)
		add("p50", "p50 ", d.rank, func(d *simulate.Distribution) float64 { return d.Quantile(0.5) })
		add("p95", "p95 ", d.rank+5, func(d *simulate.Distribution) float64 { return d.Quantile(0.95) })
		add("p99", "p99 ", d.rank, func(d *simulate.Distribution) float64 { return d.Quantile(0.99) })
	}
	return append(out,
		Figure{Name: "utilisation", Title: "busy", Kind: table.Number, Rank: 5, run: (*simulate.Result).Utilisation},
		Figure{Name: "preemptions", Title: "preempted", Kind: table.Count, Rank: 9, Better: -1, run: func(r *simulate.Result) float64 { return float64(r.Preemptions) }},
		drawn("joules_per_output_token", "J/token", "J", 6, -1, func(r *simulate.Result) float64 { return r.Joules() / float64(r.Output) }),
		drawn("watts_per_gpu", "watts per GPU", "W", 7, -1, func(r *simulate.Result) float64 { return r.WattsPerProcessor() }),
		drawn("idle_percent", "idle %", "%", 9, 0, func(r *simulate.Result) float64 { return 100 * r.Idle() }),
		Figure{Name: "holds", Title: "limits hold", Kind: table.Flag, when: (*simulate.Result).Holds},
		Figure{Name: "rising", Title: "load still rises", Kind: table.Flag, Rank: 6, when: (*simulate.Result).Rising},
	)
}()

// drawn is a figure of simulations whose watts are known.
func drawn(name, title, unit string, rank, better int, of func(*simulate.Result) float64) Figure {
	return Figure{Name: name, Title: title, Unit: unit, Kind: table.Number, Rank: rank, Better: better, run: func(r *simulate.Result) float64 {
		if r.Energy == nil {
			return math.NaN()
		}
		return of(r)
	}}
}

func Figures(of question.Command) []Figure {
	if of == question.Simulate {
		return simulated
	}
	return recorded
}

func figuresOf(r *result.Record) []any {
	out := make([]any, len(recorded))
	for i := range recorded {
		f := &recorded[i]
		for _, field := range []string{f.field, f.or} {
			if out[i] == nil && field != "" {
				if out[i] = result.In(field, f.unit)(r); out[i] == "" {
					out[i] = nil
				}
			}
		}
	}
	return out
}

// About says what a figure of deployments is, and what it needs; empty: nothing is written of it.
func (f *Figure) About() string {
	if field, ok := result.Lookup(f.field); ok {
		return field.Doc
	}
	return ""
}

// bandsOf are the bands of what clients see.
func bandsOf(c *serving.Confidence) (out [2]float64) {
	if c != nil {
		out = [2]float64{c.TTFT.Band, c.TPOT.Band}
	}
	return out
}

func figuresOfRun(r *simulate.Result, limited bool) []any {
	out := make([]any, len(simulated))
	for i := range simulated {
		f := &simulated[i]
		switch {
		case f.run == nil && limited:
			out[i] = f.when(r)
		case f.run == nil:
		case f.Kind == table.Count:
			out[i] = int(f.run(r))
		default:
			if v := f.run(r); !math.IsNaN(v) && !math.IsInf(v, 0) {
				out[i] = v
			}
		}
	}
	return out
}
