package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
)

// Advice writes ranked deployments, the frontier and the launch arguments of the winner.
func Advice(w io.Writer, v View, p *advice.Plans) error {
	l, o, a := p.Loaded, &p.Options, p.Advice
	fields, err := FieldsOf(columns, v.Columns...)
	if err != nil {
		return err
	}
	gpus := o.GPUs
	if len(a.Ranked) > 0 {
		gpus = a.Ranked[0].GPUs
	}
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(wrap(fmt.Sprintf(format, args...), v.Width) + "\n") }
	say("%s (%s) on %s, %d in, %d out; assumptions: %s", l.Shape.Name, l.Stored, l.On(gpus), l.Lengths.Input, l.Lengths.Output, l.Assumptions.Name)
	if l.Corrected != nil {
		fit := l.Fit(l.Lengths)
		say("what clients see is %s; measured as %s, other plans are corrected alike", fit.String(), fit.Plans)
	}
	for _, note := range a.Notes {
		say("note: %s", note)
	}
	b.WriteString("\n")
	if len(a.Ranked) == 0 {
		b.WriteString("no deployment found\n")
		b.WriteString(tried(a.Tried, v))
	} else {
		if a.Partial {
			say("interrupted: the best so far; the search did not end")
		}
		fmt.Fprintln(&b, candidates(a.Ranked, "", fields, len(l.Shares) > 0, v))
		capacity(say, o, &a.Ranked[0])
		if agg, dis, ratio := a.Versus(); agg != nil {
			one, other := agg.Record(), dis.Record()
			both := func(column int) string {
				c := &candidateColumns[column]
				return c.text(one) + " and " + c.text(other)
			}
			say("aggregated against disaggregated: %s tokens/s/GPU (%+.0f%%), TTFT %s ms, TPOT %s ms", both(perGPU), 100*(ratio-1), both(ttft), both(tpot))
		}
		if len(a.Frontier) > 0 {
			b.WriteString("\nfrontier: from the fastest for a user to the highest throughput\n")
			fmt.Fprintln(&b, candidates(a.Frontier, "f", fields, len(l.Shares) > 0, v))
		}
		if len(a.Pools) > 0 {
			b.WriteString("\npools by themselves: tokens of prompts or outputs per second and GPU\n")
			fmt.Fprintln(&b, pools(a.Pools).Render(v))
		}
		b.WriteString(tried(a.Tried, v))
		launches(&b, v, a)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// launches says how to start a row.
func launches(b *strings.Builder, v View, a *advice.Advice) {
	c, engines := a.Launched()
	if len(engines) == 0 {
		b.WriteString("\npriced without an engine: there is nothing to launch it with\n")
		return
	}
	for _, e := range engines {
		launch(b, v, c, e, a.Launch.Row)
	}
}

// launch says how to start a candidate. Commands stand as they are: they are to be pasted.
func launch(b *strings.Builder, v View, c *advice.Candidate, e *engine.Engine, row string) {
	of := ""
	if row != "" {
		of = ", row " + row
	}
	fmt.Fprintf(b, "\n%s %s%s\n", e.Title, e.Options.Version, of)
	if _, err := e.Fleet(&c.Deployment); err != nil {
		fmt.Fprintln(b, strings.ReplaceAll(v.WrapUnder("  # ", oneLine(err.Error())), "\n   ", "\n  #"))
		return
	}
	for _, part := range c.Launch(e) {
		fmt.Fprintf(b, "  # %s\n", part.What)
		for _, c := range part.Commands {
			fmt.Fprintln(b, indent(c))
		}
		if part.Config != "" {
			fmt.Fprintf(b, "  # extra options, as YAML\n%s\n", indent(part.Config))
		}
		for _, r := range part.Remarks {
			fmt.Fprintln(b, strings.ReplaceAll(v.WrapUnder("  # note: ", oneLine(r)), "\n   ", "\n  #"))
		}
	}
}

// oneLine is a text for a comment, which the shell must not read on behind it.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ")
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
	return func(v any) string { return number.Plain(v.(float64), digits) }
}

// nonzero is a count that is only worth a word where there is something.
func nonzero(v any) string {
	if v == 0 {
		return ""
	}
	return cell(v)
}

// text is the cell of a record; nothing where there is no value.
func (c *fieldColumn) text(r *result.Record) string {
	f, _ := result.Lookup(c.field)
	v := f.Value(r)
	if c.unit != "" {
		v = f.In(c.unit, r)
	}
	if v == nil {
		return ""
	}
	return c.show(v)
}

// candidateColumns are the usual ones.
var candidateColumns = []fieldColumn{
	{Column{"mode", false, 1}, "mode", "", cell},
	{Column{"engine", false, 2}, "engine", "", cell},
	{Column{"prefill", false, 1}, "prefill_plans", "", cell},
	{Column{"decode", false, 0}, "decoder_plans", "", cell},
	{Column{"batch", true, 4}, "decoder_microbatchsize", "", cell},
	{Column{"clients", true, 5}, "concurrency", "", cell},
	ttft: {Column{"TTFT ms", true, 0}, "TTFT(s)", result.Millis, fixed(0)},
	tpot: {Column{"TPOT ms", true, 0}, "TPOT(s)", result.Millis, fixed(1)},
	{Column{"tokens/s/user", true, 6}, "tokens_per_user", "", fixed(1)},
	perGPU: {Column{"tokens/s/GPU", true, 0}, "tokens_per_processor", "", fixed(0)},
	{Column{"requests/s", true, 3}, "request_per_second", "", significant(3)},
	{Column{"spare", true, 7}, "spare_procs", "", nonzero},
	{Column{"confidence", false, 6}, "trust", "", cell},
	{Column{"$/M tokens", true, 0}, "dollars_per_million_tokens", "", significant(3)},
	{Column{"tokens/J", true, 1}, "tokens_per_joule", "", significant(3)},
}

// Places of columns that are known by name.
const (
	prefillColumn = 2
	decodeColumn  = 3
	ttft          = 6
	tpot          = 7
	perGPU        = 9
)

// candidates is a table of deployments, numbered behind a letter, where asked for with the kinds of their GPUs.
func candidates(cs []advice.Candidate, letter string, fields []*result.Field, kinds bool, v View) string {
	columns := candidateColumns
	if len(cs) > 0 && cs[0].Capacity != nil {
		columns = withCapacity(columns)
	}
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
		for j := range columns {
			line = append(line, columns[j].text(r))
		}
		for phase, at := range map[op.Phase]int{op.Prefill: prefillColumn, op.Decode: decodeColumn} {
			if side := r.Sides[phase]; fields == nil && kinds && side != nil {
				line[1+at] = side.System.Name + ": " + line[1+at]
			}
		}
		if fields == nil && line[1+prefillColumn] == "" { // a pool that does both phases is told once
			line[1+prefillColumn] = "same"
		}
		g.Row(line...)
	}
	if _, left := g.choose(v.Width); fields == nil && len(left) > 0 {
		return narrow(&g).Render(v) + twoPools(cs)
	}
	return g.Render(v)
}

// pools is a table of pools by themselves, each with its share of what the best of its phase does.
func pools(list []advice.Alone) *Grid {
	g := &Grid{Columns: []Column{
		{"pool", false, 0}, {"engine", false, 1}, {"plan", false, 0}, {"GPUs", true, 2}, {"batch", true, 3}, {"ms", true, 4},
		{"tokens/s/GPU", true, 0}, {"of the best", true, 1},
	}}
	best := 0.0
	for i := range list {
		p := &list[i]
		if i == 0 || list[i-1].Pool.Role != p.Pool.Role {
			best = p.Tokens
			g.Separator()
		}
		g.Row(p.Pool.Role.String(), p.Engine.Name, result.Instances(1, &p.Pool.Plan), cell(p.Pool.Procs()), cell(p.Pool.Plan.Batch.Size),
			number.Plain(1e3*p.Seconds, 3), fmt.Sprintf("%.0f", p.Tokens), fmt.Sprintf("%.1f%%", 100*p.Tokens/best))
	}
	return g
}

// narrow is the table for terminals that do not have room for all of it: the plans of two pools stand below each other, in
// one column that also tells the mode.
func narrow(g *Grid) *Grid {
	out := &Grid{}
	for i, c := range g.Columns {
		switch c.Title {
		case "mode", "prefill":
		case "decode":
			out.Columns = append(out.Columns, Column{"plan", false, 0})
		default:
			out.Columns = append(out.Columns, g.Columns[i])
		}
	}
	for _, row := range g.rows {
		var line []string
		for i, c := range g.Columns {
			switch text := row[i]; {
			case c.Title == "mode" || c.Title == "prefill":
			case c.Title == "decode" && row[1+prefillColumn] != "same":
				line = append(line, "P "+row[1+prefillColumn]+"\nD "+text)
			default:
				line = append(line, text)
			}
		}
		out.Row(line...)
	}
	return out
}

// twoPools explains the letters of [narrow], where there are any.
func twoPools(cs []advice.Candidate) string {
	if slices.ContainsFunc(cs, func(c advice.Candidate) bool { return c.Mode == advice.Disaggregated }) {
		return "\nP, D: the pools of prefill and decode of a disaggregated deployment"
	}
	return ""
}

// Keys of a candidate and of its sides.
var (
	candidateKeys = layout{
		{key: "mode", field: "mode"}, {key: "engine", field: "engine"}, {key: "gpus", field: "num_procs"}, {key: "spare_gpus", field: "spare_procs"},
		{key: "concurrency", field: "concurrency"}, {key: "ttft_s", field: "TTFT(s)"}, {key: "tpot_s", field: "TPOT(s)"},
		{key: "request_latency_s", field: "request_latency(s)"}, {key: "tokens_per_s_per_user", field: "tokens_per_user"},
		{key: "tokens_per_s", field: "output_throughput(token/s)"}, {key: "tokens_per_s_per_gpu", field: "tokens_per_processor"},
		{key: "requests_per_s", field: "request_per_second"}, {key: "memory_gib", field: "memory(Gib)"},
		{key: "ttft_confidence", field: "TTFT_confidence"}, {key: "ttft_error_band_percent", field: "TTFT_error_band(%)"}, {key: "ttft_low_s", field: "TTFT_low(s)"}, {key: "ttft_high_s", field: "TTFT_high(s)"},
		{key: "tpot_confidence", field: "TPOT_confidence"}, {key: "tpot_error_band_percent", field: "TPOT_error_band(%)"}, {key: "tpot_low_s", field: "TPOT_low(s)"}, {key: "tpot_high_s", field: "TPOT_high(s)"},
		{key: "dollars_per_million_tokens", field: "dollars_per_million_tokens", omit: true}, {key: "tokens_per_joule", field: "tokens_per_joule", omit: true},
	}
	capacityKeys = layout{
		{key: "ttft_mean_ms", field: "ttft_mean_ms"}, {key: "ttft_p50_ms", field: "ttft_p50_ms"}, {key: "ttft_p95_ms", field: "ttft_p95_ms"},
		{key: "ttft_p99_ms", field: "ttft_p99_ms"}, {key: "ttft_p99_low_ms", field: "ttft_p99_low_ms"}, {key: "ttft_p99_high_ms", field: "ttft_p99_high_ms"},
		{key: "tpot_mean_ms", field: "tpot_mean_ms"}, {key: "tpot_p50_ms", field: "tpot_p50_ms"}, {key: "tpot_p95_ms", field: "tpot_p95_ms"},
		{key: "tpot_p99_ms", field: "tpot_p99_ms"}, {key: "tpot_p99_low_ms", field: "tpot_p99_low_ms"}, {key: "tpot_p99_high_ms", field: "tpot_p99_high_ms"},
		{key: "utilisation", field: "utilisation"}, {key: "headroom", field: "headroom"}, {key: "breaks_first", field: "breaks_first"}, {key: "holds", field: "holds"},
		{key: "simulated_requests", field: "simulated_requests"}, {key: "simulated_runs", field: "simulated_runs"},
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

// AdviceJSON is the same as one object for JSON.
func AdviceJSON(p *advice.Plans) any {
	l, a := p.Loaded, p.Advice
	list := func(cs []advice.Candidate) []object {
		out := make([]object, len(cs))
		for i := range cs {
			r := cs[i].Both()
			prefill, decode := sideJSON(r, op.Prefill), sideJSON(r, op.Decode)
			keys := candidateKeys
			if cs[i].Capacity != nil {
				keys = slices.Concat(keys, capacityKeys)
			}
			out[i] = object{layout: keys, record: r, more: []member{
				{"max_running_requests", cs[i].Running()}, {"memory_share", cs[i].Deployment.Told.MemoryShare}, {"prefill", prefill}, {"decode", decode},
			}}
		}
		return out
	}
	doc := map[string]any{
		"model": l.Shape.Name, "weights": l.Stored, "prefill_system": l.Prefill.Name, "decode_system": l.Decode.Name,
		"input_tokens": l.Lengths.Input, "output_tokens": l.Lengths.Output, "cached_tokens": l.Lengths.Cached,
		"assumptions": l.Assumptions.Name, "ranked": list(a.Ranked), "frontier": list(a.Frontier),
		"question": l.Words(question.Plan),
	}
	if len(a.Pools) > 0 {
		doc["pools"] = poolsJSON(a.Pools)
	}
	if len(a.Reasons) > 0 {
		doc["reasons"] = a.Reasons
	}
	if len(a.Notes) > 0 {
		doc["notes"] = a.Notes
	}
	if a.Partial {
		doc["partial"] = true
	}
	if len(a.Tried) > 0 {
		doc["tried"] = a.Tried
	}
	if c, engines := a.Launched(); len(engines) > 0 {
		all := map[string]any{}
		for _, e := range engines {
			all[e.Name] = c.Launch(e)
		}
		doc["launch"] = all
	}
	return doc
}

// poolsJSON is the pools by themselves.
func poolsJSON(list []advice.Alone) []any {
	var out []any
	for i := range list {
		p := &list[i]
		out = append(out, struct {
			Pool   string  `json:"pool"`
			Engine string  `json:"engine"`
			Plan   string  `json:"plan"`
			GPUs   int     `json:"gpus"`
			Batch  int     `json:"batch"`
			Time   float64 `json:"time_s"`
			Tokens float64 `json:"tokens_per_s_per_gpu"`
		}{p.Pool.Role.String(), p.Engine.Name, result.Instances(1, &p.Pool.Plan), p.Pool.Procs(), p.Pool.Plan.Batch.Size, p.Seconds, p.Tokens})
	}
	return out
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
