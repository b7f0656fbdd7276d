package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"throughline/advice"
	"throughline/engine"
	"throughline/estimate"
	"throughline/op"
	"throughline/scenario"
	"throughline/search"
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
	fmt.Fprintln(w, candidates(a.Ranked, l, o, true))
	if best := sideBySide(a.Ranked); best != "" {
		fmt.Fprintln(w, best)
	}
	if len(a.Frontier) > 0 {
		fmt.Fprintln(w, "\nfrontier: from the fastest for a user to the highest throughput")
		fmt.Fprintln(w, candidates(a.Frontier, l, o, false))
	}
	for _, e := range engines(o) {
		launches, refused := launch(e, l, o, &a.Ranked[0])
		fmt.Fprintf(w, "\n%s %s\n", e.Title, e.Options.Version)
		if len(refused) > 0 {
			fmt.Fprintf(w, "  cannot run the first deployment: %s\n", strings.Join(refused, "; "))
			continue
		}
		for _, part := range launches {
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
func candidates(cs []advice.Candidate, l *scenario.Loaded, o *advice.Options, rank bool) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	header := table.Row{"", "mode", "prefill", "decode", "batch", "TTFT ms", "TPOT ms", "tokens/s/user", "tokens/s/GPU", "requests/s", "spare", "confidence"}
	if o.PerHour > 0 {
		header = append(header, "$/M tokens")
	}
	if o.Watts > 0 {
		header = append(header, "tokens/J")
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(numeric(1, 5, 6, 7, 8, 9, 10, 11, 13, 14))
	for i := range cs {
		c := &cs[i]
		out := &c.Outcome
		prefill := instancePlan(&out.Prefill)
		if out.Shared {
			prefill = "same"
		}
		row := table.Row{
			"", c.Mode, prefill, instancePlan(&out.Decode),
			fmt.Sprintf("%d/%d", out.Prefill.Best.Plan.Batch.Size, out.Decode.Best.Plan.Batch.Size),
			fmt.Sprintf("%.0f", c.TTFT*1e3), fmt.Sprintf("%.1f", c.TPOT*1e3), fmt.Sprintf("%.1f", c.PerUser()),
			fmt.Sprintf("%.0f", c.PerGPU), fmt.Sprintf("%.3g", c.Requests), out.Spare(c.GPUs), trust(l, c),
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

// details are where the time of both phases goes.
func details(l *scenario.Loaded, c *advice.Candidate) (prefill, decode *estimate.Detail) {
	p, d := l.Problem(op.Prefill, c.GPUs), l.Problem(op.Decode, c.GPUs)
	return detail(&p.Problem, &c.Outcome.Prefill.Best), detail(&d.Problem, &c.Outcome.Decode.Best)
}

// trust is the weaker level of the two phases, and the error bands of TTFT and of TPOT.
func trust(l *scenario.Loaded, c *advice.Candidate) string {
	prefill, decode := details(l, c)
	p, d := &prefill.Confidence, &decode.Confidence
	return fmt.Sprintf("%s ±%.0f%%, ±%.0f%%", min(p.Level, d.Level), 100*p.Band, 100*d.Band)
}

// instancePlan is the plan of one instance, with their number.
func instancePlan(r *search.Result) string {
	p := &r.Best.Plan
	s := p.String()
	if p.Redundant > 0 {
		s += fmt.Sprintf(" +%d", p.Redundant)
	}
	if p.Drafts > 0 {
		s += fmt.Sprintf(" mtp%d", p.Drafts)
	}
	if r.Instances > 1 {
		s = fmt.Sprintf("%d × %s", r.Instances, s)
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
		agg.PerGPU, dis.PerGPU, 100*(dis.PerGPU/agg.PerGPU-1), agg.TTFT*1e3, dis.TTFT*1e3, agg.TPOT*1e3, dis.TPOT*1e3)
}

// engines to print arguments for: the one that was asked for, or all.
func engines(o *advice.Options) []*engine.Engine {
	if o.Engine != nil {
		return []*engine.Engine{o.Engine}
	}
	return engine.All()
}

// launched is the arguments of one part of a deployment.
type launched struct {
	What string `json:"what"`
	engine.Launch
}

// launch expresses a deployment in an engine, or says why that is not possible.
func launch(e *engine.Engine, l *scenario.Loaded, o *advice.Options, c *advice.Candidate) (parts []launched, refused []string) {
	roles := []struct {
		role   engine.Role
		result *search.Result
	}{{engine.Prefill, &c.Outcome.Prefill}, {engine.Decode, &c.Outcome.Decode}}
	if c.Outcome.Shared {
		roles = roles[1:]
		roles[0].role = engine.Aggregated
	}
	for _, r := range roles {
		d := &engine.Deployment{
			Model: l.Scenario.Model, Shape: l.Shape, Plan: r.result.Best.Plan, Precision: l.Precision, Role: r.role,
			Instances: r.result.Instances, GPUsPerNode: o.GPUsPerNode, MaxContext: l.Lengths.Final(),
			MemoryFraction: l.Assumptions.MemoryFraction,
		}
		if why := e.Refuses(d); len(why) > 0 {
			refused = append(refused, why...)
			continue
		}
		what := fmt.Sprintf("%s, on %d processors", r.role, r.result.Procs)
		if n := r.result.Instances; n > 1 {
			what = fmt.Sprintf("%s, %d instances of %d processors", r.role, n, r.result.Procs)
		}
		parts = append(parts, launched{what, e.Launch(d)})
	}
	return parts, refused
}

// AdviceJSON writes the same as one JSON object.
func AdviceJSON(w io.Writer, l *scenario.Loaded, o *advice.Options, a *advice.Advice) error {
	list := func(cs []advice.Candidate) []map[string]any {
		out := make([]map[string]any, len(cs))
		for i := range cs {
			c := &cs[i]
			p, d := details(l, c)
			m := map[string]any{
				"mode": c.Mode, "gpus": c.GPUs, "spare_gpus": c.Outcome.Spare(c.GPUs),
				"ttft_s": c.TTFT, "tpot_s": c.TPOT, "request_latency_s": c.Latency, "tokens_per_s_per_user": c.PerUser(),
				"tokens_per_s_per_gpu": c.PerGPU, "requests_per_s": c.Requests,
				"prefill": instanceJSON(&c.Outcome.Prefill, p), "decode": instanceJSON(&c.Outcome.Decode, d),
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
	}
	if len(a.Reasons) > 0 {
		doc["reasons"] = a.Reasons
	}
	if len(a.Ranked) > 0 {
		launches := map[string]any{}
		for _, e := range engines(o) {
			parts, refused := launch(e, l, o, &a.Ranked[0])
			if len(refused) > 0 {
				launches[e.Name] = map[string]any{"refused": refused}
			} else {
				launches[e.Name] = parts
			}
		}
		doc["launch"] = launches
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// instanceJSON is the plan of one side.
func instanceJSON(r *search.Result, d *estimate.Detail) map[string]any {
	p := &r.Best.Plan
	m := map[string]any{
		"instances": r.Instances, "gpus_per_instance": r.Procs,
		"dp": p.Attention.DP, "pp": p.Attention.PP, "tp": p.Attention.TP, "cp": p.Attention.Context(),
		"batch": p.Batch.Size, "memory_gib": gib(r.Best.Memory.Total()), "latency_s": r.Best.Latency,
		"bound_by": bound(&d.Stage), "confidence": d.Confidence.Level.String(), "error_band_percent": 100 * d.Confidence.Band,
	}
	if p.Experts.EP > 0 {
		m["ep"], m["moe_tp"], m["moe_dp"], m["redundant_experts"] = p.Experts.EP, p.Experts.TP, p.Experts.DP, p.Redundant
	}
	if p.Drafts > 0 {
		m["drafts"] = p.Drafts
	}
	return m
}
