package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/op"
	"throughline/plan"
)

// Advice writes ranked deployments, the frontier and the launch arguments of the winner.
func Advice(w io.Writer, v View, l *question.Loaded, o *advice.Options, a *advice.Advice) error {
	fields, err := named(v.Columns)
	if err != nil {
		return err
	}
	gpus := o.GPUs
	if len(a.Ranked) > 0 {
		gpus = a.Ranked[0].GPUs
	}
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(wrap(fmt.Sprintf(format, args...), v.Width) + "\n") }
	say("%s (%s) on %d × %s, %d in, %d out; assumptions: %s", l.Shape.Name, l.Stored, gpus, systemNames(l), l.Lengths.Input, l.Lengths.Output, l.Assumptions.Name)
	b.WriteString("\n")
	if len(a.Ranked) == 0 {
		b.WriteString("no deployment found\n")
	} else {
		fmt.Fprintln(&b, candidates(a.Ranked, "", fields, v.Width))
		if agg, dis := a.Best(advice.Aggregated), a.Best(advice.Disaggregated); agg != nil && dis != nil {
			say("aggregated against disaggregated: %.0f and %.0f tokens/s/GPU (%+.0f%%), TTFT %.0f and %.0f ms, TPOT %.1f and %.1f ms",
				agg.PerGPU, dis.PerGPU, 100*(dis.PerGPU/agg.PerGPU-1), agg.Seen.TTFT*1e3, dis.Seen.TTFT*1e3, agg.Seen.TPOT*1e3, dis.Seen.TPOT*1e3)
		}
		if len(a.Frontier) > 0 {
			b.WriteString("\nfrontier: from the fastest for a user to the highest throughput\n")
			fmt.Fprintln(&b, candidates(a.Frontier, "f", fields, v.Width))
		}
		launch(&b, &a.Ranked[0])
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// launch says how to start a candidate. Commands stand as they are: they are to be pasted.
func launch(b *strings.Builder, c *advice.Candidate) {
	e, parts := c.Launch()
	if e == nil {
		b.WriteString("\npriced without an engine: there is nothing to launch it with\n")
		return
	}
	fmt.Fprintf(b, "\n%s %s\n", e.Title, e.Options.Version)
	for _, part := range parts {
		fmt.Fprintf(b, "  # %s\n", part.What)
		for _, c := range part.Commands {
			fmt.Fprintln(b, indent(c))
		}
		if part.Config != "" {
			fmt.Fprintf(b, "  # extra options, as YAML\n%s\n", indent(part.Config))
		}
		for _, r := range part.Remarks {
			fmt.Fprintf(b, "  # note: %s\n", r)
		}
	}
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ")
}

func systemNames(l *question.Loaded) string {
	if l.Prefill.Name == l.Decode.Name {
		return l.Prefill.Name
	}
	return l.Prefill.Name + " (prefill) and " + l.Decode.Name + " (decode)"
}

// fieldColumn is a column of a table of records: a field, and how it is written.
type fieldColumn struct {
	Column
	field string
	unit  result.Unit
	show  func(v any) string
}

func fixed(decimals int) func(any) string {
	return func(v any) string { return fmt.Sprintf("%.*f", decimals, v) }
}

func significant(digits int) func(any) string {
	return func(v any) string { return result.Plain(v.(float64), digits) }
}

// candidateColumns are the usual ones.
var candidateColumns = []fieldColumn{
	{Column{"mode", false, 2}, "mode", "", cell},
	{Column{"engine", false, 3}, "engine", "", cell},
	{Column{"prefill", false, 1}, "prefill_plans", "", cell},
	{Column{"decode", false, 0}, "decoder_plans", "", cell},
	{Column{"batch", true, 3}, "decoder_microbatchsize", "", cell},
	{Column{"clients", true, 4}, "concurrency", "", cell},
	{Column{"TTFT ms", true, 1}, "TTFT(s)", result.Millis, fixed(0)},
	{Column{"TPOT ms", true, 1}, "TPOT(s)", result.Millis, fixed(1)},
	{Column{"tokens/s/user", true, 5}, "tokens_per_user", "", fixed(1)},
	{Column{"tokens/s/GPU", true, 0}, "tokens_per_processor", "", fixed(0)},
	{Column{"requests/s", true, 2}, "request_per_second", "", significant(3)},
	{Column{"spare", true, 6}, "spare_procs", "", cell},
	{Column{"confidence", false, 5}, "trust", "", cell},
	{Column{"$/M tokens", true, 2}, "dollars_per_million_tokens", "", significant(3)},
	{Column{"tokens/J", true, 2}, "tokens_per_joule", "", significant(3)},
}

// candidates is a table of deployments, numbered behind a letter. A pool that does both phases is told once.
func candidates(cs []advice.Candidate, letter string, fields []*result.Field, width int) string {
	columns := slices.Clone(candidateColumns)
	if fields != nil {
		columns = nil
		for _, f := range fields {
			columns = append(columns, fieldColumn{Column{f.Name, true, 1}, f.Name, "", cell})
		}
	}
	g := Grid{Columns: []Column{{"", true, 0}}}
	for _, c := range columns {
		g.Columns = append(g.Columns, c.Column)
	}
	for i := range cs {
		r := cs[i].Record()
		line := []string{fmt.Sprintf("%s%d", letter, i+1)}
		for _, c := range columns {
			f, _ := result.Lookup(c.field)
			v := f.Value(r)
			if c.unit != "" {
				v = f.In(c.unit, r)
			}
			switch {
			case v == nil && c.Title == "prefill":
				line = append(line, "same")
			case v == nil:
				line = append(line, "")
			default:
				line = append(line, c.show(v))
			}
		}
		g.Row(line...)
	}
	return g.Render(width)
}

// Keys of a candidate and of its sides.
var (
	candidateKeys = layout{
		{key: "mode", field: "mode"}, {key: "engine", field: "engine"}, {key: "gpus", field: "num_procs"}, {key: "spare_gpus", field: "spare_procs"},
		{key: "concurrency", field: "concurrency"}, {key: "ttft_s", field: "TTFT(s)"}, {key: "tpot_s", field: "TPOT(s)"},
		{key: "request_latency_s", field: "request_latency(s)"}, {key: "tokens_per_s_per_user", field: "tokens_per_user"},
		{key: "tokens_per_s", field: "output_throughput(token/s)"}, {key: "tokens_per_s_per_gpu", field: "tokens_per_processor"},
		{key: "requests_per_s", field: "request_per_second"}, {key: "memory_gib", field: "memory(Gib)"},
		{key: "dollars_per_million_tokens", field: "dollars_per_million_tokens", omit: true}, {key: "tokens_per_joule", field: "tokens_per_joule", omit: true},
	}
	sideKeys = layout{
		{key: "system", field: "system_name"}, {key: "instances", field: "instances"}, {key: "gpus_per_instance", field: "procs_per_instance"},
		{key: "plan", field: "plans"}, {key: "dp", field: "dp"}, {key: "pp", field: "pp"}, {key: "tp", field: "tp"}, {key: "cp", field: "cp"},
		{key: "batch", field: "microbatchsize"}, {key: "memory_gib", field: "held(Gib)"}, {key: "step_s", field: "step(s)"}, {key: "bound_by", field: "bound_by"},
		{key: "confidence", field: "confidence"}, {key: "error_band_percent", field: "error_band(%)"},
	}
	expertKeys = layout{
		{key: "ep", field: "ep"}, {key: "moe_tp", field: "moe_tp"}, {key: "moe_dp", field: "moe_dp"}, {key: "redundant_experts", field: "moe_redundant_expert_num"},
	}
	draftKeys = layout{{key: "drafts", field: "mtp_token"}}
)

// AdviceJSON writes the same as one JSON object.
func AdviceJSON(w io.Writer, l *question.Loaded, o *advice.Options, a *advice.Advice) error {
	list := func(cs []advice.Candidate) []object {
		out := make([]object, len(cs))
		for i := range cs {
			r := cs[i].Record()
			decode := sideJSON(r, op.Decode)
			prefill := decode
			if !r.Shared {
				prefill = sideJSON(r, op.Prefill)
			}
			out[i] = object{layout: candidateKeys, record: r, more: []member{{"prefill", prefill}, {"decode", decode}}}
		}
		return out
	}
	doc := map[string]any{
		"model": l.Shape.Name, "weights": l.Stored, "prefill_system": l.Prefill.Name, "decode_system": l.Decode.Name,
		"input_tokens": l.Lengths.Input, "output_tokens": l.Lengths.Output, "cached_tokens": l.Lengths.Cached,
		"assumptions": l.Assumptions.Name, "ranked": list(a.Ranked), "frontier": list(a.Frontier),
		"question": l.Words(question.Plan),
	}
	if len(a.Reasons) > 0 {
		doc["reasons"] = a.Reasons
	}
	if len(a.Ranked) > 0 {
		if e, parts := a.Ranked[0].Launch(); e != nil {
			doc["launch"] = map[string]any{e.Name: parts}
		}
	}
	return WriteObject(w, doc)
}

// sideJSON is one pool.
func sideJSON(r *result.Record, phase op.Phase) object {
	keys := slices.Clone(sideKeys)
	p := &r.Sides[phase].Step.Plan
	if p.Experts.EP > 0 {
		keys = append(keys, expertKeys...)
	}
	if p.Drafts > 0 {
		keys = append(keys, draftKeys...)
	}
	out := object{layout: keys, record: r, prefix: result.Prefix(phase)}
	if p.Overlap != plan.NoOverlap {
		out.more = []member{{"overlap", p.Overlap.String()}}
	}
	return out
}
