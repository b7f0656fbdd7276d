package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/scenario"
	"throughline/op"
	"throughline/plan"
)

// Advice writes ranked deployments, the frontier and the launch arguments of the winner.
func Advice(w io.Writer, l *scenario.Loaded, o *advice.Options, a *advice.Advice) error {
	gpus := o.GPUs
	if len(a.Ranked) > 0 {
		gpus = a.Ranked[0].GPUs
	}
	fmt.Fprintf(w, "%s on %d × %s, %d in, %d out; assumptions: %s\n\n", l.Shape.Name, gpus, systemNames(l), l.Lengths.Input, l.Lengths.Output, l.Assumptions.Name)
	if len(a.Ranked) == 0 {
		_, err := fmt.Fprintln(w, "no deployment found")
		return err
	}
	fmt.Fprintln(w, candidates(a.Ranked, o, true))
	if best := sideBySide(a.Ranked); best != "" {
		fmt.Fprintln(w, best)
	}
	if len(a.Frontier) > 0 {
		fmt.Fprintln(w, "\nfrontier: from the fastest for a user to the highest throughput")
		fmt.Fprintln(w, candidates(a.Frontier, o, false))
	}
	best := &a.Ranked[0].Deployment
	e, err := engine.Find(best.Engine.Name)
	if err != nil || e == engine.Generic {
		_, err := fmt.Fprintln(w, "\npriced without an engine: there is nothing to launch it with")
		return err
	}
	fmt.Fprintf(w, "\n%s %s\n", e.Title, e.Options.Version)
	for _, part := range launch(e, best) {
		fmt.Fprintf(w, "  # %s\n", part.What)
		for _, c := range part.Commands {
			fmt.Fprintln(w, indent(c))
		}
		if part.Config != "" {
			fmt.Fprintf(w, "  # extra options, as YAML\n%s\n", indent(part.Config))
		}
		for _, r := range part.Remarks {
			fmt.Fprintf(w, "  # note: %s\n", r)
		}
	}
	return nil
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ")
}

func systemNames(l *scenario.Loaded) string {
	if l.Prefill.Name == l.Decode.Name {
		return l.Prefill.Name
	}
	return l.Prefill.Name + " (prefill) and " + l.Decode.Name + " (decode)"
}

// candidates is a table of deployments.
func candidates(cs []advice.Candidate, o *advice.Options, rank bool) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	header := table.Row{"", "mode", "engine", "prefill", "decode", "batch", "clients", "TTFT ms", "TPOT ms", "tokens/s/user", "tokens/s/GPU", "requests/s", "spare", "confidence"}
	if o.PerHour > 0 {
		header = append(header, "$/M tokens")
	}
	if o.Watts > 0 {
		header = append(header, "tokens/J")
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(numeric(1, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16))
	for i := range cs {
		c := &cs[i]
		d := &c.Deployment
		prefill, decode := "same", d.Of(op.Decode)
		if d.Split() {
			prefill = instances(d.Pools[0].Count, &d.Pools[0].Plan)
		}
		row := table.Row{
			"", c.Mode, d.Engine.Name, prefill, instances(decode.Count, &decode.Plan), decode.Plan.Batch.Size, c.Load.Clients,
			fmt.Sprintf("%.0f", c.Seen.TTFT*1e3), fmt.Sprintf("%.1f", c.Seen.TPOT*1e3), fmt.Sprintf("%.1f", c.Seen.PerUser()),
			fmt.Sprintf("%.0f", c.PerGPU), fmt.Sprintf("%.3g", c.Seen.Requests), c.Spare(), trust(c),
		}
		if rank {
			row[0] = i + 1
		}
		if o.PerHour > 0 {
			row = append(row, fmt.Sprintf("%.3g", c.DollarsPerMillion))
		}
		if o.Watts > 0 {
			row = append(row, fmt.Sprintf("%.3g", c.TokensPerJoule))
		}
		t.AppendRow(row)
	}
	return t.Render()
}

// trust is the weakest level of the pools, and the error bands of their steps.
func trust(c *advice.Candidate) string {
	level := c.Sides[0].Detail.Confidence.Level
	var bands []string
	for i := range c.Sides {
		s := &c.Sides[i].Detail.Confidence
		level = min(level, s.Level)
		bands = append(bands, fmt.Sprintf("±%.0f%%", 100*s.Band))
	}
	return fmt.Sprintf("%s %s", level, strings.Join(bands, ", "))
}

// instances is a plan, with how many there are of it.
func instances(count int, p *plan.Plan) string {
	s := p.String()
	if p.Redundant > 0 {
		s += fmt.Sprintf(" +%d", p.Redundant)
	}
	if p.Drafts > 0 {
		s += fmt.Sprintf(" mtp%d", p.Drafts)
	}
	if w := p.Overlap.Word(); w != "" {
		s += " " + w
	}
	if count > 1 {
		s = fmt.Sprintf("%d × %s", count, s)
	}
	return s
}

// sideBySide compares the best of both modes.
func sideBySide(ranked []advice.Candidate) string {
	best := map[advice.Mode]*advice.Candidate{}
	for i := range ranked {
		if c := &ranked[i]; best[c.Mode] == nil {
			best[c.Mode] = c
		}
	}
	agg, dis := best[advice.Aggregated], best[advice.Disaggregated]
	if agg == nil || dis == nil {
		return ""
	}
	return fmt.Sprintf("aggregated against disaggregated: %.0f and %.0f tokens/s/GPU (%+.0f%%), TTFT %.0f and %.0f ms, TPOT %.1f and %.1f ms",
		agg.PerGPU, dis.PerGPU, 100*(dis.PerGPU/agg.PerGPU-1), agg.Seen.TTFT*1e3, dis.Seen.TTFT*1e3, agg.Seen.TPOT*1e3, dis.Seen.TPOT*1e3)
}

// launched is the arguments of one part of a deployment.
type launched struct {
	What string `json:"what"`
	engine.Launch
}

// launch expresses a deployment in its engine.
func launch(e *engine.Engine, d *deploy.Deployment) (parts []launched) {
	for i := range d.Pools {
		p := &d.Pools[i]
		what := fmt.Sprintf("%s, on %d processors", p.Role, p.Procs())
		if p.Count > 1 {
			what = fmt.Sprintf("%s, %d instances of %d processors", p.Role, p.Count, p.Plan.Attention.Procs())
		}
		parts = append(parts, launched{what, e.Launch(d, p)})
	}
	return parts
}

// AdviceJSON writes the same as one JSON object.
func AdviceJSON(w io.Writer, l *scenario.Loaded, o *advice.Options, a *advice.Advice) error {
	list := func(cs []advice.Candidate) []map[string]any {
		out := make([]map[string]any, len(cs))
		for i := range cs {
			c := &cs[i]
			d, seen := &c.Deployment, &c.Seen
			decode := sideJSON(d.Of(op.Decode), &c.Sides[len(c.Sides)-1])
			m := map[string]any{
				"mode": c.Mode, "engine": d.Engine.Name, "gpus": c.GPUs, "spare_gpus": c.Spare(), "concurrency": c.Load.Clients,
				"ttft_s": seen.TTFT, "tpot_s": seen.TPOT, "request_latency_s": seen.Latency, "tokens_per_s_per_user": c.Seen.PerUser(),
				"tokens_per_s": seen.Requests * float64(c.Load.Lengths.Output), "tokens_per_s_per_gpu": c.PerGPU, "requests_per_s": seen.Requests,
				"memory_gib": gib(held(c)), "decode": decode, "prefill": decode,
			}
			if d.Split() {
				m["prefill"] = sideJSON(&d.Pools[0], &c.Sides[0])
			}
			if o.PerHour > 0 {
				m["dollars_per_million_tokens"] = c.DollarsPerMillion
			}
			if o.Watts > 0 {
				m["tokens_per_joule"] = c.TokensPerJoule
			}
			out[i] = m
		}
		return out
	}
	doc := map[string]any{
		"model": l.Shape.Name, "prefill_system": l.Prefill.Name, "decode_system": l.Decode.Name,
		"input_tokens": l.Lengths.Input, "output_tokens": l.Lengths.Output, "cached_tokens": l.Lengths.Cached,
		"assumptions": l.Assumptions.Name, "ranked": list(a.Ranked), "frontier": list(a.Frontier),
		"question": question(l, o),
	}
	if len(a.Reasons) > 0 {
		doc["reasons"] = a.Reasons
	}
	if len(a.Ranked) > 0 {
		d := &a.Ranked[0].Deployment
		if e, err := engine.Find(d.Engine.Name); err == nil && e != engine.Generic {
			doc["launch"] = map[string]any{e.Name: launch(e, d)}
		}
	}
	return WriteObject(w, doc)
}

// question is what was asked, in the words of the command line, so that another command can ask it again.
func question(l *scenario.Loaded, o *advice.Options) map[string]string {
	out := map[string]string{
		"model": l.Model, "system": l.System, "decode-system": l.DecodeSystem, "assume": l.Assume, "lengths": l.Distribution, "popularity": l.Popularity,
		"isl": fmt.Sprint(l.Asked.Input), "osl": fmt.Sprint(l.Asked.Output), "prefix": fmt.Sprint(l.Asked.Cached),
		"weights": l.Formats.Weights, "activations": l.Formats.Activations, "cache": l.Formats.Cache, "comm": l.Formats.Comm,
		"attention": l.Formats.Attention, "vector": l.Formats.Vector, "gpus-per-node": fmt.Sprint(o.GPUsPerNode),
		"offload-weights": fmt.Sprint(l.Offload.Weights), "offload-cache": fmt.Sprint(l.Offload.Cache),
	}
	for name, value := range out {
		if value == "" {
			delete(out, name)
		}
	}
	return out
}

// held is the bytes of the fullest processor.
func held(c *advice.Candidate) (most float64) {
	for i := range c.Sides {
		most = max(most, c.Sides[i].Held)
	}
	return most
}

// sideJSON is one pool.
func sideJSON(pool *deploy.Pool, s *advice.Side) map[string]any {
	p := &pool.Plan
	m := map[string]any{
		"system": pool.System.Name, "instances": pool.Count, "gpus_per_instance": p.Attention.Procs(), "plan": instances(pool.Count, p),
		"dp": p.Attention.DP, "pp": p.Attention.PP, "tp": p.Attention.TP, "cp": p.Attention.Context(),
		"batch": p.Batch.Size, "memory_gib": gib(s.Held), "step_s": s.Step.StepTime,
		"bound_by": bound(&s.Detail.Stage), "confidence": s.Detail.Confidence.Level.String(), "error_band_percent": 100 * s.Detail.Confidence.Band,
	}
	if p.Experts.EP > 0 {
		m["ep"], m["moe_tp"], m["moe_dp"], m["redundant_experts"] = p.Experts.EP, p.Experts.TP, p.Experts.DP, p.Redundant
	}
	if p.Overlap != plan.NoOverlap {
		m["overlap"] = p.Overlap.String()
	}
	if p.Drafts > 0 {
		m["drafts"] = p.Drafts
	}
	return m
}
