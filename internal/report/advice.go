package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
)

// Advice writes ranked deployments, the frontier and the launch commands of the first.
func Advice(w io.Writer, v table.View, p *advice.Plans) error {
	l, o, a := p.Loaded, &p.Options, p.Advice
	fields, err := FieldsOf(columns, v.Columns...)
	if err != nil {
		return err
	}
	gpus := o.GPUs
	if len(a.Ranked) > 0 {
		gpus = a.Ranked[0].Procs
	}
	var b strings.Builder
	writef := func(format string, args ...any) { b.WriteString(v.Wrap(fmt.Sprintf(format, args...)) + "\n") }
	b.WriteString(sentence.Text(v, sentence.Plan(p)) + "\n")
	writef("%s (%s) on %s, %d in, %d out; assumptions: %s", l.Shape.Name, l.Stored, l.On(gpus), l.Lengths.Input, l.Lengths.Output, l.Assumptions.Name)
	if l.Corrected != nil {
		fit := l.Fit(l.Lengths)
		writef("what clients see is %s; measured as %s, other plans are corrected alike", fit.String(), fit.Plans)
	}
	for _, note := range a.Notes {
		writef("note: %s", note)
	}
	b.WriteString("\n")
	if len(a.Ranked) == 0 {
		b.WriteString(triedText(a.Tried, v))
	} else {
		if a.Partial {
			writef("interrupted: the best so far; the search did not end")
		}
		fmt.Fprintln(&b, candidates(a.Ranked, "", fields, len(l.Shares) > 0, v))
		b.WriteString(narrower(&a.Ranked[0].Record, v))
		capacity(writef, o, &a.Ranked[0])
		if agg, dis, ratio := a.Versus(); agg != nil {
			one, other := &agg.Record, &dis.Record
			both := func(column int) string {
				c := &candidateColumns[column]
				return c.text(one) + " and " + c.text(other)
			}
			writef("aggregated against disaggregated: %s tokens/s/GPU (%s), TTFT %s, TPOT %s", both(perGPU), number.Signed(ratio-1, 0), both(ttft), both(tpot))
		}
		b.WriteString(planLimits(a, v))
		if len(a.Frontier) > 0 {
			b.WriteString("\nfrontier: from the fastest for a user to the highest throughput\n")
			fmt.Fprintln(&b, candidates(a.Frontier, "f", fields, len(l.Shares) > 0, v))
		}
		if len(a.Pools) > 0 {
			b.WriteString("\npools by themselves: tokens of prompts or outputs per second and GPU\n")
			fmt.Fprintln(&b, pools(a.Pools).Render(v))
		}
		b.WriteString(triedText(a.Tried, v))
		launches(&b, v, a)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func launches(b *strings.Builder, v table.View, a *advice.Advice) {
	c, engines := a.Launched()
	if len(engines) == 0 {
		b.WriteString("\npriced without an engine: there is nothing to launch it with\n")
		return
	}
	for _, e := range engines {
		launch(b, v, c, e, a.Launch.Row)
	}
}

// launch writes the commands that start a candidate, unwrapped so that they can be pasted.
func launch(b *strings.Builder, v table.View, c *advice.Candidate, e *engine.Engine, row string) {
	of := ""
	if row != "" {
		of = ", row " + row
	}
	fmt.Fprintf(b, "\n%s %s%s\n", e.Title, e.Options.Version, of)
	if _, err := e.Fleet(&c.Deployment); err != nil {
		fmt.Fprintln(b, strings.ReplaceAll(v.WrapUnder("  # ", oneLine(err.Error())), "\n   ", "\n  #"))
		return
	}
	for _, part := range e.Parts(&c.Deployment) {
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

// oneLine joins a text for a shell comment, which must not continue on a second line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ")
}

// fieldColumn shows a field as a column of ranked deployments.
type fieldColumn struct {
	title, field string
	rank         int
	unit         result.Unit
	show         func(v any) string
	cell         func(r *result.Record) string // in place of show
}

func fixed(decimals int) func(any) string {
	return func(v any) string { return fmt.Sprintf("%.*f", decimals, v) }
}

func significant(v any) string { return number.Plain(v.(float64), 3) }

// nonzero hides a count of 0.
func nonzero(v any) string {
	if v == 0 {
		return ""
	}
	return table.Plain(v)
}

// text returns the cell of a record; empty without a value.
func (c *fieldColumn) text(r *result.Record) string {
	if c.cell != nil {
		return c.cell(r)
	}
	if v := result.In(c.field, c.unit)(r); v != nil {
		return c.show(v)
	}
	return ""
}

func (c *fieldColumn) column() table.Column[ranked] {
	f, _ := result.Lookup(c.field)
	return table.Column[ranked]{Title: c.title, Kind: f.Kind(), Rank: c.rank, Cell: func(r ranked) string { return c.text(r.Record) }}
}

var candidateColumns = []fieldColumn{
	{title: "mode", field: "mode", rank: 1, show: table.Plain},
	{title: "engine", field: "engine", rank: 2, show: table.Plain},
	prefillColumn: {title: "prefill", field: "prefill_plans", rank: 1, show: table.Plain},
	decodeColumn:  {title: "decode", field: "decoder_plans", show: table.Plain},
	{title: "batch", field: "decoder_microbatchsize", rank: 4, show: table.Plain},
	{title: "clients", field: "concurrency", rank: 5, show: table.Plain},
	ttft: {title: "TTFT", field: "TTFT(s)", cell: func(r *result.Record) string { return banded(r, r.TTFT, &r.Trusted.TTFT) }},
	tpot: {title: "TPOT", field: "TPOT(s)", cell: func(r *result.Record) string { return banded(r, r.TPOT, &r.Trusted.TPOT) }},
	{title: "tokens/s/user", field: "tokens_per_user", rank: 6, show: fixed(1)},
	perGPU: {title: "tokens/s/GPU", field: "tokens_per_processor", show: fixed(0)},
	{title: "requests/s", field: "request_per_second", rank: 3, show: significant},
	{title: "spare", field: "spare_procs", rank: 7, show: nonzero},
	{title: "chance", field: "chance", rank: 2, show: chanceText},
	{title: "known by", field: "trust", rank: 6, cell: weakestLevel},
	{title: "$/M tokens", field: "dollars_per_million_tokens", rank: 1, show: significant},
	{title: "tokens/J", field: "tokens_per_joule", rank: 1, show: significant},
	{title: "W/GPU", field: "watts_per_gpu", rank: 8, show: fixed(0)},
	joules: {title: "J/token", field: "joules_per_output_token", rank: 6, show: significant},
}

// banded is a time that clients see, with its band.
func banded(r *result.Record, seconds float64, c *estimate.Confidence) string {
	if !r.Complete {
		return ""
	}
	return number.Banded(seconds, c.Band)
}

// weakestLevel is the weakest confidence; bands stand beside the times.
func weakestLevel(r *result.Record) string {
	level, _ := r.Confidence()
	return level.String()
}

// Indices of columns that are known by name.
const (
	prefillColumn = 2
	decodeColumn  = 3
	ttft          = 6
	tpot          = 7
	perGPU        = 9
	joules        = 17
)

// ranked is a deployment with its number.
type ranked struct {
	name string
	*result.Record
	kinds bool // name its GPUs
}

// pool returns the plan of a phase; a pool for both phases appears once.
func (r ranked) pool(phase op.Phase) string {
	c := &candidateColumns[map[op.Phase]int{op.Prefill: prefillColumn, op.Decode: decodeColumn}[phase]]
	text := c.text(r.Record)
	if side := r.Sides[phase]; r.kinds && side != nil {
		text = side.System.Name + ": " + text
	}
	if phase == op.Prefill && text == "" {
		return "same"
	}
	return text
}

// rankedColumns lists the columns; percentiles of simulated deployments precede means.
func rankedColumns(simulated bool, goals result.Goals) []table.Column[ranked] {
	out := []table.Column[ranked]{numbered}
	for i := range candidateColumns {
		out = append(out, candidateColumns[i].column())
	}
	out[1+prefillColumn].Cell = func(r ranked) string { return r.pool(op.Prefill) }
	out[1+decodeColumn].Cell = func(r ranked) string { return r.pool(op.Decode) }
	if simulated {
		for _, mean := range []int{ttft, tpot, perGPU} {
			out[1+mean].Rank = 5
			out[1+mean].Title = "mean " + out[1+mean].Title
		}
		out[1+perGPU].Title = candidateColumns[perGPU].title
		for i := range capacityColumns {
			c := capacityColumns[i].column()
			switch i {
			case askedTTFT:
				c.Title = goals.TTFT.Statistic() + " TTFT"
			case askedTPOT:
				c.Title = goals.TPOT.Statistic() + " TPOT"
			}
			out = append(out, c)
		}
	}
	return out
}

var numbered = table.Column[ranked]{Kind: table.Number, Value: func(r ranked) any { return r.name }}

// candidates is a table of deployments numbered after a letter.
func candidates(cs []advice.Candidate, letter string, fields []*result.Field, kinds bool, v table.View) string {
	t := table.Table[ranked]{}
	for i := range cs {
		t.Rows = append(t.Rows, ranked{fmt.Sprintf("%s%d", letter, i+1), &cs[i].Record, kinds})
	}
	if fields != nil {
		t.Columns = append(t.Columns, numbered)
		for _, f := range fields {
			t.Columns = append(t.Columns, table.Column[ranked]{Title: f.Name, Kind: table.Number, Rank: 1, Value: func(r ranked) any { return f.Value(r.Record) }})
		}
		return t.Render(v)
	}
	if len(cs) > 0 {
		t.Columns = rankedColumns(cs[0].Capacity != nil, cs[0].Goals)
	}
	if _, left := t.Shown(v.Width); len(left) > 0 {
		t.Columns = mergePlans(t.Columns)
		return t.Render(v) + twoPools(cs)
	}
	return t.Render(v)
}

// planLimits is a table of the best deployments under each of several power limits, if any.
func planLimits(a *advice.Advice, v table.View) string {
	if len(a.Limited) == 0 {
		return ""
	}
	t := table.Table[ranked]{Columns: []table.Column[ranked]{(&fieldColumn{title: "limit W", field: "power_limit(W)", show: fixed(0)}).column()}}
	for _, c := range []int{decodeColumn, ttft, tpot, perGPU, joules - 1, joules} {
		column := candidateColumns[c].column()
		if c == decodeColumn {
			column.Title, column.Cell = "plan", planCell
		}
		column.Rank = 0
		t.Columns = append(t.Columns, column)
	}
	for i := range a.Limited {
		t.Rows = append(t.Rows, ranked{Record: &a.Limited[i].Record})
	}
	text := "\nthe best under each power limit\n" + t.Render(v) + "\n"
	for i := range a.Limited {
		if e := a.Limited[i].Energy; e != nil && e.Beyond > 0 {
			text += v.Wrap(fmt.Sprintf("%.0f W per GPU%s", e.Watts, e.Held())) + "\n"
		}
	}
	if best := a.Ranked[0].Energy; best != nil {
		text += v.Wrap(fmt.Sprintf("ranked above: under %.0f W per GPU, %s J per output token", best.Limit, number.Plain(best.Output, 3))) + "\n"
	}
	return text
}

// pools is a table of single pools, each with its share of the best of its phase.
func pools(list []advice.Alone) *table.Table[*advice.Alone] {
	best := map[deploy.Role]float64{}
	t := &table.Table[*advice.Alone]{Columns: slices.Clone(poolColumns), Line: func(above, p *advice.Alone) bool { return above.Pool.Role != p.Pool.Role }}
	for i := range list {
		p := &list[i]
		best[p.Pool.Role] = max(best[p.Pool.Role], p.Tokens)
		t.Rows = append(t.Rows, p)
	}
	t.Columns = append(t.Columns, table.Column[*advice.Alone]{
		Title: "of the best", Kind: table.Number, Rank: 1, Format: "%.1f%%", Value: func(p *advice.Alone) any { return 100 * p.Tokens / best[p.Pool.Role] },
	})
	return t
}

// poolColumns use the names of the JSON.
var poolColumns = []table.Column[*advice.Alone]{
	{Name: "pool", Value: func(p *advice.Alone) any { return p.Pool.Role.String() }},
	{Name: "engine", Rank: 1, Value: func(p *advice.Alone) any { return p.Engine.Name }},
	{Name: "plan", Value: func(p *advice.Alone) any { return result.Instances(1, &p.Pool.Plan) }},
	{Name: "gpus", Title: "GPUs", Kind: table.Count, Rank: 2, Value: func(p *advice.Alone) any { return p.Pool.Procs() }},
	{Name: "batch", Kind: table.Count, Rank: 3, Value: func(p *advice.Alone) any { return p.Pool.Plan.Batch.Size }},
	{Name: "time_s", Title: "ms", Kind: table.Number, Rank: 4, Value: func(p *advice.Alone) any { return p.Seconds }, Cell: func(p *advice.Alone) string { return number.Plain(1e3*p.Seconds, 3) }},
	{Name: "tokens_per_s_per_gpu", Title: "tokens/s/GPU", Kind: table.Number, Format: "%.0f", Value: func(p *advice.Alone) any { return p.Tokens }},
}

// mergePlans merges the plans of two pools and the mode into one column for narrow terminals.
func mergePlans(columns []table.Column[ranked]) []table.Column[ranked] {
	columns[1+decodeColumn].Title = "plan"
	columns[1+decodeColumn].Cell = planCell
	return slices.DeleteFunc(columns, func(c table.Column[ranked]) bool { return c.Title == "mode" || c.Title == "prefill" })
}

func planCell(r ranked) string {
	if prefill := r.pool(op.Prefill); prefill != "same" {
		return "P " + prefill + "\nD " + r.pool(op.Decode)
	}
	return r.pool(op.Decode)
}

// twoPools explains the letters of [narrow], if any.
func twoPools(cs []advice.Candidate) string {
	if slices.ContainsFunc(cs, func(c advice.Candidate) bool { return c.Deployment.Split() }) {
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
		{key: "narrowed_by", field: "narrowed_by", omit: true}, {key: "ttft_narrowed_band_percent", field: "TTFT_narrowed_band(%)", omit: true},
		{key: "tpot_narrowed_band_percent", field: "TPOT_narrowed_band(%)", omit: true},
		{key: "chance", field: "chance", omit: true}, {key: "tokens_per_s_per_gpu_low", field: "tokens_per_processor_low", omit: true}, {key: "tokens_per_s_per_gpu_high", field: "tokens_per_processor_high", omit: true},
		{key: "dollars_per_million_tokens", field: "dollars_per_million_tokens", omit: true}, {key: "tokens_per_joule", field: "tokens_per_joule", omit: true},
	}.and(energyKeys)
	capacityKeys = fields(`ttft_mean_ms ttft_p50_ms ttft_p95_ms ttft_p99_ms ttft_p99_low_ms ttft_p99_high_ms
		tpot_mean_ms tpot_p50_ms tpot_p95_ms tpot_p99_ms tpot_p99_low_ms tpot_p99_high_ms
		utilisation headroom breaks_first holds simulated_requests simulated_runs`)
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

// AdviceJSON returns the same as one JSON object.
func AdviceJSON(p *advice.Plans) any {
	l, a := p.Loaded, p.Advice
	doc := map[string]any{
		"model": l.Shape.Name, "weights": l.Stored, "prefill_system": l.Prefill.Name, "decode_system": l.Decode.Name,
		"input_tokens": l.Lengths.Input, "output_tokens": l.Lengths.Output, "cached_tokens": l.Lengths.Cached,
		"assumptions": l.Assumptions.Name, "ranked": candidatesJSON(a.Ranked), "frontier": candidatesJSON(a.Frontier),
		"question": l.Words(question.Plan), "answer": sentence.Plan(p),
	}
	if len(a.Limited) > 0 {
		doc["power_limits"] = candidatesJSON(a.Limited)
	}
	if len(a.Pools) > 0 {
		doc["pools"] = pools(a.Pools)
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
	if len(a.Nearest) > 0 {
		doc["nearest"] = a.Nearest
	}
	if len(a.Tried) > 0 {
		doc["tried"] = a.Tried
	}
	if c, engines := a.Launched(); len(engines) > 0 {
		all := map[string]any{}
		for _, e := range engines {
			all[e.Name] = e.Parts(&c.Deployment)
		}
		doc["launch"] = all
	}
	return doc
}

// candidatesJSON is deployments as objects.
func candidatesJSON(cs []advice.Candidate) []any {
	out := make([]any, len(cs))
	for i := range cs {
		r := cs[i].Both()
		prefill, decode := sideJSON(r, op.Prefill), sideJSON(r, op.Decode)
		keys := candidateKeys.columns("")
		if cs[i].Capacity != nil {
			keys = append(keys, capacityKeys.columns("")...)
		}
		out[i] = object(append(keys, keyValue("max_running_requests", cs[i].Running()), keyValue("memory_share", cs[i].Deployment.ServerOptions.MemoryShare),
			keyValue("prefill", prefill), keyValue("decode", decode)), r)
	}
	return out
}

func sideJSON(r *result.Record, phase op.Phase) any {
	keys := slices.Clone(sideKeys)
	p := &r.Sides[phase].Step.Plan
	if p.Experts.EP > 0 {
		keys = append(keys, expertKeys...)
	}
	if p.Drafts > 0 {
		keys = append(keys, draftKeys...)
	}
	columns := keys.columns(result.Prefix(phase))
	if p.Overlap != plan.NoOverlap {
		columns = append(columns, keyValue("overlap", p.Overlap.String()))
	}
	return object(columns, r)
}
