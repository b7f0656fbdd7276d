package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/point"
	"throughline/op"
)

// newTable is an empty table in the style of all.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	return t
}

// WritePoint writes a point for the terminal: what clients see, and the steps behind it, a column each.
func WritePoint(w io.Writer, a *point.Answer) error {
	results := a.Phases
	header := []any{""}
	for i := range results {
		header = append(header, point.PhaseName(results[i].Phase)+" step")
	}
	t := newTable(header...)
	t.SetColumnConfigs(numeric(2, 3))
	row := func(name string, cell func(r *point.Result) string) {
		cells := table.Row{name}
		empty := true
		for i := range results {
			c := cell(&results[i])
			cells = append(cells, c)
			empty = empty && c == ""
		}
		if !empty {
			t.AppendRow(cells)
		}
	}
	seconds := func(name string, value func(r *point.Result) float64) {
		row(name, func(r *point.Result) string { return share(value(r), r.Estimate.StepTime) })
	}
	bytes := func(name string, value func(r *point.Result) float64) {
		row(name, func(r *point.Result) string { return fmt.Sprintf("%.2f", gib(value(r))) })
	}
	row("step", func(r *point.Result) string { return fmt.Sprintf("%.2f ms", r.Estimate.StepTime*1e3) })
	if !a.Deployment.Assume.Engine {
		row("latency", func(r *point.Result) string {
			return fmt.Sprintf("%s %.2f ms", latencyName(r.Phase), r.Estimate.Latency*1e3)
		})
	}
	row("tokens/s", func(r *point.Result) string { return fmt.Sprintf("%.1f", r.Estimate.Throughput) })
	row("tokens/s per card", func(r *point.Result) string {
		return fmt.Sprintf("%.1f", r.Estimate.Throughput/float64(r.Cards()))
	})
	row("requests/s", func(r *point.Result) string {
		if r.Ongoing {
			return ""
		}
		return fmt.Sprintf("%.4g", r.Estimate.Requests)
	})
	row("sequences", func(r *point.Result) string { return fmt.Sprint(r.Sequences()) })
	t.AppendSeparator()
	bytes("weights GiB", func(r *point.Result) float64 { return weights(&r.Estimate.Memory) })
	bytes("working space GiB", func(r *point.Result) float64 { return r.Estimate.Memory.WithoutCache() - weights(&r.Estimate.Memory) })
	bytes("KV cache GiB", func(r *point.Result) float64 { return r.Estimate.Memory.Cache })
	bytes("together GiB", func(r *point.Result) float64 { return r.Estimate.Memory.Total() })
	row("usable GiB", func(r *point.Result) string {
		return fmt.Sprintf("%.2f of %.4g", gib(r.Usable), r.Problem.System.Memory.GiB)
	})
	row("fits", func(r *point.Result) string {
		if over := r.Over(); over > 0 {
			return fmt.Sprintf("no, %.2f GiB too much", gib(over))
		}
		return "yes"
	})
	t.AppendSeparator()
	seconds("attention", func(r *point.Result) float64 { return r.Shares.Attention })
	seconds(mlpName(results), func(r *point.Result) float64 { return r.Shares.MLP })
	seconds("drafts", func(r *point.Result) float64 { return r.Shares.Drafts })
	seconds("embedding, output head", func(r *point.Result) float64 { return r.Shares.Ends })
	seconds("communication", func(r *point.Result) float64 { return r.Shares.Communication })
	if slices.ContainsFunc(results, func(r point.Result) bool { return r.Shares.Waiting > 0 }) {
		seconds("waiting", func(r *point.Result) float64 { return r.Shares.Waiting })
	}
	t.AppendSeparator()
	seconds("second memory tier", func(r *point.Result) float64 { return r.Shares.Offload })
	seconds("compute-bound", func(r *point.Result) float64 { return r.Shares.Compute })
	seconds("memory-bound", func(r *point.Result) float64 { return r.Shares.Memory })
	seconds("exposed communication", func(r *point.Result) float64 { return r.Shares.Communication })
	row("bound by", func(r *point.Result) string {
		name, t := r.Shares.Bound()
		return fmt.Sprintf("%s %.0f%%", name, 100*t/r.Estimate.StepTime)
	})
	row("confidence", func(r *point.Result) string {
		return level(&r.Confidence)
	})
	_, err := fmt.Fprintf(w, "%s\n%s%s\n", pointTitle(a), seenLine(a), t.Render())
	return err
}

// pointTitle says in a line what was estimated.
func pointTitle(a *point.Answer) string {
	r, d := &a.Phases[0], &a.Deployment
	lengths := fmt.Sprintf("%d + %d tokens", a.Load.Lengths.Input, a.Load.Lengths.Output)
	if r.Ongoing {
		lengths = fmt.Sprintf("context %d", a.Load.Lengths.DecodeContext())
	}
	if d.Split() {
		return fmt.Sprintf("%s (%s): %s; %s; %s", d.Model.Name, d.Stored, poolTitle(&d.Pools[0]), poolTitle(&d.Pools[1]), lengths)
	}
	return fmt.Sprintf("%s (%s) on %s, %s", d.Model.Name, d.Stored, poolTitle(&d.Pools[0]), lengths)
}

// poolTitle says in a few words what a pool is.
func poolTitle(p *deploy.Pool) string {
	n := fmt.Sprintf("%d × %s", p.Procs(), p.System.Name)
	plan := instances(p.Count, &p.Plan)
	if p.Role == deploy.Both {
		return fmt.Sprintf("%s: %s, batch %d", n, plan, p.Plan.Batch.Size)
	}
	if p.Role == deploy.Decode {
		plan += fmt.Sprintf(", batch %d", p.Plan.Batch.Size)
	}
	return fmt.Sprintf("%s on %s: %s", p.Role, n, plan)
}

// seenLine is what clients see, in a line; it is empty where the point asks for bare steps.
func seenLine(a *point.Answer) string {
	if a.Seen == nil {
		return ""
	}
	s, d := a.Seen, &a.Deployment
	tokens := s.Requests * float64(a.Load.Lengths.Output)
	clients := fmt.Sprintf("%d clients", a.Load.Clients)
	if a.Load.Clients == 1 {
		clients = "1 client"
	}
	return fmt.Sprintf("%s, %s: TTFT %.1f ms, TPOT %.2f ms; %.1f output tokens/s, %.1f per card, %.1f per user; %.4g requests/s; at most %.2f GiB\n",
		engineTitle(d), clients, s.TTFT*1e3, s.TPOT*1e3, tokens, tokens/float64(cardsOf(d)), s.PerUser(), s.Requests, gib(a.Held))
}

// engineTitle names the engine of a deployment.
func engineTitle(d *deploy.Deployment) string {
	if d.Engine.Name == engine.Generic.Name {
		return "Generic engine"
	}
	return d.Engine.Title
}

// cardsOf is the cards that the processors of a deployment make.
func cardsOf(d *deploy.Deployment) int {
	n := 0
	for i := range d.Pools {
		n += cards(d.Pools[i].Procs(), d.Pools[i].System.ProcsPerNPU)
	}
	return n
}

func mlpName(results []point.Result) string {
	if results[0].Problem.Model.IsMoE() {
		return "MLP and experts"
	}
	return "MLP"
}

// latencyName is what the latency of a phase is called.
func latencyName(p op.Phase) string {
	if p == op.Prefill {
		return "TTFT"
	}
	return "TPOT"
}

func weights(m *estimate.Memory) float64 {
	return m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
}

// share is a time with its part of a step; nothing where it is nothing.
func share(seconds, step float64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f ms %5.1f%%", seconds*1e3, 100*seconds/step)
}

// pointJSON is a point in JSON.
type pointJSON struct {
	Model       string        `json:"model"`
	Weights     deploy.Stored `json:"weights"`
	System      string        `json:"system"`
	Assumptions string        `json:"assumptions"`
	Input       int           `json:"isl,omitempty"`
	Output      int           `json:"osl,omitempty"`
	Context     int           `json:"context,omitempty"`
	Cached      int           `json:"prefix"`
	Procs       int           `json:"processors"`
	Cards       int           `json:"cards"`
	Engine      string        `json:"engine,omitempty"`
	Clients     *seenJSON     `json:"clients,omitempty"`
	Prefill     *phaseJSON    `json:"prefill,omitempty"`
	Decode      *phaseJSON    `json:"decode,omitempty"`
}

// seenJSON is what clients see in JSON.
type seenJSON struct {
	Concurrency int     `json:"concurrency"`
	TTFT        float64 `json:"ttft_ms"`
	TPOT        float64 `json:"tpot_ms"`
	Latency     float64 `json:"request_latency_ms"`
	Requests    float64 `json:"requests_per_s"`
	Tokens      float64 `json:"tokens_per_s"`
	PerCard     float64 `json:"tokens_per_s_per_card"`
	PerUser     float64 `json:"tokens_per_s_per_user"`
	Memory      float64 `json:"memory_gib"`
}

// phaseJSON is a phase of a point in JSON.
type phaseJSON struct {
	Plan      string     `json:"plan"`
	Batch     int        `json:"batch"`
	Sequences int        `json:"sequences"`
	Latency   *float64   `json:"latency_ms,omitempty"` // where no engine is assumed
	Step      float64    `json:"step_ms"`
	Tokens    float64    `json:"tokens_per_s"`
	PerCard   float64    `json:"tokens_per_s_per_card"`
	Requests  *float64   `json:"requests_per_s"`
	Memory    memoryJSON `json:"memory_gib"`
	Time      timeJSON   `json:"time_ms"`
	Bound     string     `json:"bound"`
	Level     string     `json:"confidence"`
	Band      float64    `json:"error_band_percent"`
}

type memoryJSON struct {
	Weights  float64 `json:"weights"`
	Working  float64 `json:"working_space"`
	Cache    float64 `json:"kv_cache"`
	Total    float64 `json:"total"`
	Usable   float64 `json:"usable"`
	Capacity float64 `json:"capacity"`
	Fits     bool    `json:"fits"`
	Over     float64 `json:"over"`
}

type timeJSON struct {
	Attention     float64 `json:"attention"`
	MLP           float64 `json:"mlp"`
	Drafts        float64 `json:"drafts"`
	Ends          float64 `json:"ends"`
	Communication float64 `json:"communication"`
	Waiting       float64 `json:"waiting"`
	Offload       float64 `json:"second_memory_tier"`
	Compute       float64 `json:"compute_bound"`
	Memory        float64 `json:"memory_bound"`
}

// PointJSON is a point as one object for JSON.
func PointJSON(a *point.Answer) any { return pointOf(a) }

func pointOf(a *point.Answer) *pointJSON {
	results, d := a.Phases, &a.Deployment
	first := &results[0]
	out := pointJSON{
		Model: first.Problem.Model.Name, Weights: d.Stored, System: first.Problem.System.Name, Assumptions: first.Problem.Assume.Name,
		Input: first.Problem.Lengths.Input, Output: first.Problem.Lengths.Output, Cached: first.Problem.Lengths.Cached,
		Procs: d.Procs(), Cards: cardsOf(d), Engine: d.Engine.Name,
	}
	if s := a.Seen; s != nil {
		tokens := s.Requests * float64(a.Load.Lengths.Output)
		out.Clients = &seenJSON{
			Concurrency: a.Load.Clients, TTFT: s.TTFT * 1e3, TPOT: s.TPOT * 1e3, Latency: s.Latency * 1e3, Requests: s.Requests,
			Tokens: tokens, PerCard: tokens / float64(cardsOf(d)), PerUser: s.PerUser(), Memory: gib(a.Held),
		}
	}
	if first.Ongoing {
		out.Input, out.Output, out.Context = 0, 0, first.Problem.Lengths.DecodeContext()
	}
	for i := range results {
		phase := phaseOf(&results[i])
		if results[i].Phase == op.Prefill {
			out.Prefill = phase
		} else {
			out.Decode = phase
		}
	}
	return &out
}

func phaseOf(r *point.Result) *phaseJSON {
	e, s, m := &r.Estimate, &r.Shares, &r.Estimate.Memory
	out := &phaseJSON{
		Plan: e.Plan.String(), Batch: e.Plan.Batch.Size, Sequences: r.Sequences(),
		Step: e.StepTime * 1e3, Tokens: e.Throughput, PerCard: e.Throughput / float64(r.Cards()),
		Memory: memoryJSON{
			gib(weights(m)), gib(m.WithoutCache() - weights(m)), gib(m.Cache), gib(m.Total()),
			gib(r.Usable), r.Problem.System.Memory.GiB, r.Over() == 0, gib(r.Over()),
		},
		Time: timeJSON{s.Attention * 1e3, s.MLP * 1e3, s.Drafts * 1e3, s.Ends * 1e3, s.Communication * 1e3, s.Waiting * 1e3, s.Offload * 1e3, s.Compute * 1e3, s.Memory * 1e3},
	}
	if !r.Ongoing {
		out.Requests = &e.Requests
	}
	if !r.Problem.Assume.Engine {
		ms := e.Latency * 1e3
		out.Latency = &ms
	}
	out.Bound, _ = s.Bound()
	out.Level, out.Band = r.Confidence.Level.String(), 100*r.Confidence.Band
	return out
}

// WriteObject writes a value as indented JSON.
func WriteObject(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
