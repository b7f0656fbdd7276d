package report

import (
	"fmt"
	"io"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/point"
	"throughline/internal/result"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/number"
	"throughline/op"
)

// stepRow is a row of the table of steps: a field of each phase.
type stepRow struct {
	title string
	field string
	unit  result.Unit
	show  func(v any, s *result.Side) string
	line  bool // above it
}

func withoutSide(show func(any) string) func(any, *result.Side) string {
	return func(v any, _ *result.Side) string { return show(v) }
}

// share formats a time with its share of a step; 0 as nothing.
func share(v any, s *result.Side) string {
	seconds := v.(float64)
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%s %3.0f%%", number.Time(seconds, 3), 100*s.Share(seconds))
}

func stepRows(r *result.Record) []stepRow {
	mlp := "MLP"
	if r.Model.IsMoE() {
		mlp = "MLP and experts"
	}
	rate := func(v any, _ *result.Side) string { return number.Rate(v.(float64)) }
	gib := withoutSide(fixed(1))
	return []stepRow{
		{"step", "step(s)", "", func(v any, s *result.Side) string {
			return number.Banded(v.(float64), s.Step.Confidence.Band)
		}, false},
		{"latency", "latency_alone(s)", "", func(v any, s *result.Side) string {
			return [...]string{op.Prefill: "TTFT ", op.Decode: "TPOT "}[s.Phase] + number.Time(v.(float64), 3)
		}, false},
		{"tokens/s", "throughput_per_instance(token/s)", "", rate, false},
		{"tokens/s per GPU", "throughput_per_npu(token/s)", "", func(v any, s *result.Side) string {
			return number.Rate(v.(float64) * float64(s.Cards) / float64(s.Procs))
		}, false},
		{"requests/s", "requests", "", withoutSide(significant), false},
		{"sequences", "sequences", "", withoutSide(table.Plain), false},
		{"watts per GPU", "step_watts", "", withoutSide(fixed(0)), false},
		{"of the full clock", "step_clock(%)", "", func(v any, _ *result.Side) string { return fmt.Sprintf("%.0f%%", v) }, false},
		{"weights GiB", "weights(Gib)", "", gib, true},
		{"working space GiB", "working_space(Gib)", "", gib, false},
		{"KV cache GiB", "kv_cache_total_mem(Gib)", "", gib, false},
		{"together GiB", "tier1_mem(Gib)", "", gib, false},
		{"usable GiB", "usable(Gib)", "", func(v any, s *result.Side) string {
			return fmt.Sprintf("%s of %s", number.Plain(v.(float64), 3), number.Plain(s.System.Memory.GiB, 4))
		}, false},
		{"fits", "over(Gib)", "", func(v any, _ *result.Side) string {
			if v.(float64) > 0 {
				return fmt.Sprintf("✗ %s GiB too much", number.Plain(v.(float64), 3))
			}
			return "✓"
		}, false},
		{"attention", "share_attention(s)", "", share, true},
		{mlp, "share_mlp(s)", "", share, false},
		{"drafts", "share_drafts(s)", "", share, false},
		{"embedding, output head", "share_ends(s)", "", share, false},
		{"communication", "share_communication(s)", "", share, false},
		{"waiting", "share_waiting(s)", "", share, false},
		{"second memory tier", "share_offload(s)", "", share, true},
		{"compute-bound", "share_compute(s)", "", share, false},
		{"memory-bound", "share_memory(s)", "", share, false},
		{"exposed communication", "share_communication(s)", "", share, false},
		{"bound by", "bound_by", "", withoutSide(table.Plain), false},
		{"known by", "confidence", "", withoutSide(table.Plain), false},
	}
}

// text returns the cell of a phase; empty without a value.
func (row *stepRow) text(r *result.Record, s *result.Side) string {
	if v := result.In(result.Prefix(s.Phase)+row.field, row.unit)(r); v != nil {
		return row.show(v, s)
	}
	return ""
}

func Steps(a *point.Answer) table.Any {
	r := a.Record
	t := &table.Table[stepRow]{Columns: []table.Column[stepRow]{{Value: func(row stepRow) any { return row.title }}}, Line: func(_, row stepRow) bool { return row.line }}
	for i := range a.Phases {
		phase := a.Phases[i].Phase
		t.Columns = append(t.Columns, table.Column[stepRow]{
			Title: phase.Name() + " step", Kind: table.Number, Cell: func(row stepRow) string { return row.text(r, r.Sides[phase]) },
		})
	}
	line := false
	for _, row := range stepRows(r) {
		row.line = row.line || line
		line = row.line // keep the line for the next row if this one is empty
		for _, c := range t.Columns[1:] {
			if c.Cell(row) != "" {
				t.Rows, line = append(t.Rows, row), false
				break
			}
		}
	}
	return t
}

// WritePoint writes a point for the terminal: what clients see, and the steps.
func WritePoint(w io.Writer, v table.View, a *point.Answer) error {
	_, err := fmt.Fprintf(w, "%s%s\n%s", pointHead(sentence.Point(a), a, a.Record, v), Steps(a).Render(v), limits(a, v))
	return err
}

// limits is a table of the answers under several power limits; empty where one is asked for.
func limits(a *point.Answer, v table.View) string {
	if len(a.Limited) == 0 {
		return ""
	}
	var columns []table.Column[*point.Answer]
	for _, k := range limitKeys(a) {
		value := result.In(k.field, k.unit)
		columns = append(columns, table.Column[*point.Answer]{Title: keyWords.Replace(k.key), Kind: table.Number, Digits: 3, Value: func(a *point.Answer) any { return value(a.Record) }})
	}
	return "\nUnder each power limit\n" + table.Of(columns, a.Limited).Render(v) + "\n"
}

var keyWords = strings.NewReplacer("ttft", "TTFT", "tpot", "TPOT", "_per_s_", "/s ", "gpu", "GPU", "limit_w", "limit W", "percent", "%", "_", " ")

// limitKeys are those of an answer under one of several power limits: what clients see, or a step.
func limitKeys(a *point.Answer) layout {
	if a.Energy != nil {
		return layout{
			{key: "power_limit_w", field: "power_limit(W)"}, {key: "ttft_ms", field: "TTFT(s)", unit: result.Millis}, {key: "tpot_ms", field: "TPOT(s)", unit: result.Millis},
			{key: "tokens_per_s_per_gpu", field: "tokens_per_processor"}, {key: "watts_per_gpu", field: "watts_per_gpu"}, {key: "joules_per_output_token", field: "joules_per_output_token"},
		}
	}
	of := result.Prefix(a.Phases[0].Phase)
	return layout{
		{key: "power_limit_w", field: of + "step_limit(W)"}, {key: "watts", field: of + "step_watts"}, {key: "clock_percent", field: of + "step_clock(%)"}, {key: "step_ms", field: of + "step(s)", unit: result.Millis},
		{key: "joules", field: of + "step_joules"},
	}
}

// pointHead returns the first lines of a point: what was estimated, what clients see, and remarks.
func pointHead(answer []string, a *point.Answer, r *result.Record, v table.View) string {
	out := ""
	if len(answer) > 0 {
		out = sentence.Text(v, answer) + "\n"
	}
	out += v.Wrap(PointTitle(a)) + "\n" + seenLine(a, r, v)
	for _, price := range r.Listed {
		out += v.Wrap("price: "+price) + "\n"
	}
	for _, note := range engine.Notes(&a.Deployment) {
		out += v.Wrap("note: "+note) + "\n"
	}
	return out
}

func PointTitle(a *point.Answer) string {
	r, d := &a.Phases[0], &a.Deployment
	lengths := fmt.Sprintf("%d + %d tokens", a.Load.Lengths.Input, a.Load.Lengths.Output)
	if r.Ongoing {
		lengths = fmt.Sprintf("context %d", a.Load.Lengths.DecodeContext())
	}
	title := DeploymentTitle(d, true) + ", " + lengths
	if d.Split() {
		title = DeploymentTitle(d, true) + "; " + lengths
	}
	if d.Fitted.IsNone() || a.Seen == nil {
		return title
	}
	return title + "; what clients see is " + d.Fitted.String()
}

// DeploymentTitle describes a deployment, with its batch if that is fixed.
func DeploymentTitle(d *deploy.Deployment, batch bool) string {
	if d.Split() {
		return fmt.Sprintf("%s (%s): %s; %s", d.Model.Name, d.Stored, poolTitle(&d.Pools[0], batch), poolTitle(&d.Pools[1], batch))
	}
	return fmt.Sprintf("%s (%s) on %s", d.Model.Name, d.Stored, poolTitle(&d.Pools[0], batch))
}

func poolTitle(p *deploy.Pool, batch bool) string {
	n := fmt.Sprintf("%d × %s", p.Procs(), p.System.Name)
	plan := result.Instances(p.Count, &p.Plan)
	if batch && p.Role != deploy.Prefill {
		plan += fmt.Sprintf(", batch %d", p.Plan.Batch.Size)
	}
	if p.Role == deploy.Both {
		return fmt.Sprintf("%s: %s", n, plan)
	}
	return fmt.Sprintf("%s on %s: %s", p.Role, n, plan)
}

// seenLine describes what clients see; empty for bare steps.
func seenLine(a *point.Answer, r *result.Record, v table.View) string {
	if !r.Served {
		return ""
	}
	name := a.Deployment.Engine.Title
	if a.Deployment.Engine.Name == engine.Generic.Name {
		name = "Generic engine"
	}
	rate := func(field string) string {
		v, _ := result.In(field, "")(r).(float64)
		return number.Rate(v)
	}
	power := "; watts are not known"
	if e := r.Energy; e != nil {
		power = "; power is " + e.Origin
	}
	cold := ""
	if r.ColdTTFT > 0 {
		cold = fmt.Sprintf("; TTFT of a benchmark from a cold start is %s", number.Time(r.ColdTTFT, 3))
	}
	return v.Wrap(fmt.Sprintf("%s, %s: %s output tokens/s, %s for each; a request takes %s; at most %s GiB",
		name, number.Count(r.Clients, "client"), rate("output_throughput(token/s)"), rate("tokens_per_user"), number.Time(r.Latency, 3), rate("memory(Gib)"))+cold+power) + "\n" + narrower(r, v)
}

// narrower names the fact that would narrow the bands most; empty: none would.
func narrower(r *result.Record, v table.View) string {
	if r.Trusted == nil {
		return ""
	}
	fact, known := r.Trusted.Narrower()
	if fact == nil {
		return ""
	}
	return v.Wrap(fmt.Sprintf("with %s: TTFT %s, TPOT %s", fact.Words, known.TTFT.Span(), known.TPOT.Span())) + "\n"
}

// Keys of a point, of what clients see, and of a phase.
var (
	subjectKeys = layout{{key: "model", field: "model_name"}}.and(fields("system assumptions"))
	placedKeys  = layout{{key: "prefix", field: "cached_tokens"}, {key: "processors", field: "num_procs"}, {key: "cards", field: "cards"}, {key: "engine", field: "engine", omit: true}}
	pointKeys   = subjectKeys.and(layout{{key: "isl", field: "seq_size"}, {key: "osl", field: "out_size"}}).and(placedKeys)
	contextKeys = subjectKeys.and(fields("context")).and(placedKeys)
	seenKeys    = layout{
		{key: "concurrency", field: "concurrency"}, {key: "ttft_ms", field: "TTFT(s)", unit: result.Millis},
		{key: "ttft_cold_ms", field: "TTFT_cold(s)", unit: result.Millis, omit: true}, {key: "tpot_ms", field: "TPOT(s)", unit: result.Millis},
		{key: "request_latency_ms", field: "request_latency(s)", unit: result.Millis}, {key: "requests_per_s", field: "request_per_second"},
		{key: "tokens_per_s", field: "output_throughput(token/s)"}, {key: "tokens_per_s_per_card", field: "tokens_per_card"},
		{key: "tokens_per_s_per_user", field: "tokens_per_user"}, {key: "memory_gib", field: "memory(Gib)"},
		{key: "ttft_confidence", field: "TTFT_confidence"}, {key: "ttft_error_band_percent", field: "TTFT_error_band(%)"},
		{key: "ttft_low_ms", field: "TTFT_low(s)", unit: result.Millis}, {key: "ttft_high_ms", field: "TTFT_high(s)", unit: result.Millis},
		{key: "tpot_confidence", field: "TPOT_confidence"}, {key: "tpot_error_band_percent", field: "TPOT_error_band(%)"},
		{key: "tpot_low_ms", field: "TPOT_low(s)", unit: result.Millis}, {key: "tpot_high_ms", field: "TPOT_high(s)", unit: result.Millis},
		{key: "narrowed_by", field: "narrowed_by", omit: true}, {key: "ttft_narrowed_band_percent", field: "TTFT_narrowed_band(%)", omit: true},
		{key: "tpot_narrowed_band_percent", field: "TPOT_narrowed_band(%)", omit: true},
	}.and(layout{{key: "dollars_per_million_tokens", field: "dollars_per_million_tokens", omit: true}}).and(energyKeys)
	energyKeys = layout{
		{key: "watts_per_gpu", field: "watts_per_gpu", omit: true}, {key: "watts_per_machine", field: "watts_per_machine", omit: true},
		{key: "joules_per_output_token", field: "joules_per_output_token", omit: true}, {key: "joules_per_input_token", field: "joules_per_input_token", omit: true},
		{key: "output_tokens_per_joule", field: "output_tokens_per_joule", omit: true}, {key: "idle_percent", field: "idle(%)", omit: true},
		{key: "power_limit_w", field: "power_limit(W)", omit: true}, {key: "power_origin", field: "power_origin", omit: true},
		{key: "energy_dollars_per_million_tokens", field: "energy_dollars_per_million_tokens", omit: true},
		{key: "grams_of_co2_per_million_tokens", field: "grams_of_CO2_per_million_tokens", omit: true},
	}
	phaseKeys = layout{
		{key: "plan", field: "plan"}, {key: "batch", field: "microbatchsize"}, {key: "sequences", field: "sequences"},
		{key: "latency_ms", field: "latency_alone(s)", unit: result.Millis, omit: true}, {key: "step_ms", field: "step(s)", unit: result.Millis},
		{key: "tokens_per_s", field: "throughput_per_instance(token/s)"}, {key: "tokens_per_s_per_card", field: "throughput_per_npu(token/s)"}, {key: "requests_per_s", field: "requests"},
		{key: "watts", field: "step_watts", omit: true}, {key: "joules", field: "step_joules", omit: true}, {key: "clock_percent", field: "step_clock(%)", omit: true},
		{key: "memory_gib", in: layout{
			{key: "weights", field: "weights(Gib)"}, {key: "working_space", field: "working_space(Gib)"}, {key: "kv_cache", field: "kv_cache_total_mem(Gib)"},
			{key: "total", field: "tier1_mem(Gib)"}, {key: "usable", field: "usable(Gib)"}, {key: "capacity", field: "mem1_capacity(Gib)"}, {key: "fits", field: "fits"}, {key: "over", field: "over(Gib)"},
		}},
		{key: "time_ms", in: layout{
			{key: "attention", field: "share_attention(s)", unit: result.Millis}, {key: "mlp", field: "share_mlp(s)", unit: result.Millis}, {key: "drafts", field: "share_drafts(s)", unit: result.Millis},
			{key: "ends", field: "share_ends(s)", unit: result.Millis}, {key: "communication", field: "share_communication(s)", unit: result.Millis}, {key: "waiting", field: "share_waiting(s)", unit: result.Millis},
			{key: "second_memory_tier", field: "share_offload(s)", unit: result.Millis}, {key: "compute_bound", field: "share_compute(s)", unit: result.Millis}, {key: "memory_bound", field: "share_memory(s)", unit: result.Millis},
		}},
		{key: "bound", field: "bound"}, {key: "confidence", field: "confidence"}, {key: "error_band_percent", field: "error_band(%)"},
	}
)

func PointJSON(a *point.Answer) any { return pointOf(a, sentence.Point(a)) }

func pointOf(a *point.Answer, answer []string, more ...column) any {
	r := a.Record
	out := pointKeys.columns("")
	if a.Phases[0].Ongoing {
		out = contextKeys.columns("")
	}
	if notes := engine.Notes(&a.Deployment); len(notes) > 0 {
		out = append(out, keyValue("notes", notes))
	}
	if r.Served && !a.Deployment.Fitted.IsNone() {
		out = append(out, keyValue("fitted", a.Deployment.Fitted.String()))
	}
	out = append(out, keyValue("answer", answer))
	if r.Served {
		out = append(out, keyValue("clients", object(seenKeys.columns(""), r)))
	}
	for i := range a.Phases {
		phase := a.Phases[i].Phase
		out = append(out, keyValue(phase.Name(), object(phaseKeys.columns(result.Prefix(phase)), r)))
	}
	if len(a.Limited) > 0 {
		var list []any
		for i := range a.Limited {
			list = append(list, object(limitKeys(a).columns(""), a.Limited[i].Record))
		}
		out = append(out, keyValue("power_limits", list))
	}
	return object(append(out, more...), r)
}
