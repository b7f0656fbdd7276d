package question

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/estimate"
	"throughline/internal/names"
	"throughline/internal/protocol"
	"throughline/internal/runs"
	"throughline/number"
	"throughline/workload"
)

// Row is the cells of a row of a public table, by the columns of runs.
type Row struct{ Cell func(string) string }

// Get is a cell, or what follows from others.
func (r Row) Get(column string) string {
	if f := derived[column]; f != nil {
		return f(r)
	}
	for _, pool := range []string{"prefill_", "decode_", ""} {
		if what, ok := strings.CutPrefix(column, pool); ok && slices.Contains(sizes, what) {
			return r.size(pool, what)
		}
	}
	return r.Cell(column)
}

// derived are columns that may follow from others, or whose values have other names.
var derived = map[string]func(Row) string{
	"model":           Row.model,
	"system":          func(r Row) string { return cmp.Or(r.system().Name, withoutNote(r.Cell("system"))) },
	"engine":          func(r Row) string { name, _ := r.engine(); return name },
	"weights":         Row.precision,
	"cache":           Row.cacheFormat,
	"request_rate":    Row.rate,
	"instances":       func(r Row) string { return cmp.Or(r.Cell("instances"), "1") },
	"isl":             func(r Row) string { return nearestCount(names.Number(r.length("isl"))) },
	"osl":             Row.output,
	"concurrency":     Row.clients,
	"gpus":            Row.gpus,
	"prefill_workers": func(r Row) string { return withoutNote(r.Cell("prefill_workers")) },
	"decode_workers":  func(r Row) string { return withoutNote(r.Cell("decode_workers")) },
	"mode":            func(r Row) string { return string(ModeOf(r.Cell)) },
}

// clients are those that wait for their answers. All prompts at once are as many clients with one
// request each; where a table says neither clients nor a rate, those under way on average count.
func (r Row) clients() string {
	if text := r.Cell("concurrency"); !names.Empty(text) || finite(r.rate()) {
		switch {
		case names.Empty(text):
			return ""
		case strings.Contains(text, "/"):
			return text // of each GPU or server
		}
		return nearestCount(names.Number(text))
	}
	if prompts := r.prompts(); prompts != "" && r.burst() {
		return nearestCount(prompts)
	}
	return nearestCount(r.Cell("achieved_concurrency"))
}

// burst reports whether all requests of a row come together and nothing caps those under way.
func (r Row) burst() bool {
	return names.Empty(r.Cell("concurrency")) && r.rate() == "inf"
}

// rate is the requests per second that come, or inf.
func (r Row) rate() string { return names.Rate(r.Cell("request_rate")) }

// length is that of a request, from a column of its own or that of both, such as 1024/512.
func (r Row) length(column string) string {
	text := r.Cell(column)
	if isl, osl, ok := names.Pair(cmp.Or(r.Cell("isl_osl"), text)); ok && (text == "" || r.Cell("isl") == r.Cell("osl")) {
		return map[string]string{"isl": isl, "osl": osl}[column]
	}
	return text
}

// cacheOf is the format of the cache behind that of the weights: BF16 + FP8 KV.
var cacheOf = regexp.MustCompile(`(?i)([a-z]+[0-9]+[a-z0-9_]*)[ -](?:kv|cache|kv[ -]?cache)\b`)

// cacheFormat is that of keys and values.
func (r Row) cacheFormat() string {
	text := r.Cell("cache")
	if m := cacheOf.FindStringSubmatch(r.Cell("weights")); m != nil && text == "" {
		text = m[1]
	}
	return formatName(text)
}

// gpus are those of all servers: as the table counts them, or in front of the chip's name.
func (r Row) gpus() string {
	text := r.Cell("gpus")
	if n := r.system().Count; (text == "" || text == "0") && n > 0 {
		return strconv.Itoa(n)
	}
	return text
}

func (r Row) system() names.Found {
	found, _ := names.System(r.Cell("system"))
	return found
}

// engine is the engine and the version that ran, as far as the row says it.
func (r Row) engine() (name, version string) {
	text := strings.ToLower(r.Cell("engine"))
	version = r.Cell("version")
	if m := versionWord.FindStringSubmatch(version); m != nil {
		version = m[1]
	} else {
		version = ""
	}
	found, ok := names.Engine(text)
	switch {
	case !ok || strings.Contains(text, "@"):
		return text, version
	case found.Around && !slices.ContainsFunc(engineWords, func(w string) bool { return strings.Contains(strings.ToLower(r.Cell("version")), w) }):
		version = "" // that of the product around the engine
	}
	return found.Name, cmp.Or(version, found.Version)
}

// versionWord is a version at the start of a text, or behind the name of an engine.
var versionWord = regexp.MustCompile(`(?i)(?:^|^v|llm |lang |ascend |jax )v?([0-9]+(?:\.[0-9]+)+)`)

// engineWords are those of engines in front of their versions.
var engineWords = []string{"llm ", "lang "}

// notes are what stands in for what.
func (r Row) notes() (out []string) {
	engine, _ := names.Engine(r.Cell("engine"))
	for _, note := range []string{r.system().Note, engine.Note} {
		if note != "" {
			out = append(out, note)
		}
	}
	return out
}

// nearestCount is a mean as the nearest whole number, at least 1; what is no number stays as it is.
func nearestCount(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1e9) {
		return text
	}
	return strconv.Itoa(max(1, int(math.Round(v))))
}

// output is the tokens of an answer: those that were measured where answers end by themselves.
func (r Row) output() string {
	text := names.Number(r.length("osl"))
	if mean := r.Cell("measured_output_mean"); mean != "" && strings.Contains(r.Cell("length_spread"), "early EOS") {
		text = mean
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		text = cmp.Or(r.outputs(), text)
	}
	return nearestCount(text)
}

// outputs is the mean output tokens of a request: token rate over request rate; empty: not given.
func (r Row) outputs() string {
	number := func(column string) float64 {
		v, _ := strconv.ParseFloat(r.Cell(column), 64)
		return v
	}
	tokens, gpus, requests := number("output_tput_per_gpu"), number("gpus"), number("req_per_s")
	if n := math.Round(tokens * gpus / requests); n >= 1 && n < 1e9 {
		return strconv.Itoa(int(n))
	}
	return ""
}

// precision is the weight format: the table's first one, or the one in brackets behind the model.
func (r Row) precision() string {
	if text := r.Cell("weights"); text != "" {
		return formatName(text)
	}
	// 16 bits is only the compute format of smaller checkpoints: Kimi-K2.5, which is int4, is
	// called "Kimi-K2.5 (BF16)".
	if m := note.FindStringSubmatch(r.Cell("model")); m != nil {
		if f, ok := number.Find(formatName(m[2])); ok && f.Bytes < 2 {
			return f.Name
		}
	}
	return ""
}

// Weights is the number format behind a table's precision. FP8 may have block scales, which a
// checkpoint uses in all its products or in none.
func (r Row) Weights() string {
	short := r.Get("weights")
	if short == "fp8" && (r.Cell("gemm_quant_mode") == fp8Blocks || r.Cell("moe_quant_mode") == fp8Blocks) {
		return fp8Blocks
	}
	return cmp.Or(protocol.Checkpoint(map[string]string{"model": r.Cell("model"), "weights": short})["weights"], short)
}

const fp8Blocks = "fp8_block"

// sizes are the columns of a layout.
var sizes = []string{"tp", "dp", "moe_tp", "ep"}

// size is one size of the layout of a server.
func (r Row) size(pool, what string) string {
	given := r.Cell(pool + what)
	wide := names.Yes(r.Cell(pool + "ep"))
	if r.Cell("dp_attention")+r.Cell(pool+"dp_attention")+r.poolGPUs(pool) == "" && !wide {
		return given
	}
	s := runs.ServerOf(func(column string) string {
		if column == pool+"gpus" {
			return r.poolGPUs(pool)
		}
		return r.Cell(column)
	}, pool, wide)
	if s.TP < 1 {
		return given
	}
	cells := map[string]string{}
	s.Cells("", cells)
	if what == "moe_tp" {
		return cmp.Or(given, cells[what])
	}
	return cells[what]
}

// poolGPUs are those of the servers of a pool.
func (r Row) poolGPUs(pool string) string {
	if pool == "" {
		return ""
	}
	return r.Cell(pool + "gpus")
}

// note is what stands in brackets behind a name.
var note = regexp.MustCompile(`^(.*?)\s*\(([^()]*)\)\s*$`)

func withoutNote(text string) string {
	if m := note.FindStringSubmatch(text); m != nil && m[1] != "" {
		return m[1]
	}
	return text
}

// model is its name without what stands in brackets behind it; of "A on Blackwell; B on AMD" the
// first.
func (r Row) model() string {
	name, _, _ := strings.Cut(withoutNote(r.Cell("model")), ";")
	name, _, _ = strings.Cut(name, " on ")
	return strings.Trim(name, "` ")
}

// ownDrafts are the names for drafts by the draft layers of the model itself.
var ownDrafts = map[string]bool{
	"mtp": true, "nextn": true, "eagle": true, "deepseek_mtp": true, "nextn/eagle": true,
	"spec":   true, // the kind is not said; those who print it have such layers
	"eagle3": true, // a model of one layer, taken for one of the model
}

// Drafts reports whether a row says that tokens are drafted.
func (r Row) Drafts() (bool, error) {
	if text := r.Cell("drafts"); text != "" {
		return text != "0", nil
	}
	kind, _, _ := strings.Cut(strings.ToLower(r.Cell("spec")), "(")
	switch kind = strings.TrimSpace(kind); kind {
	case "", "none", "false", "no", "off", "0":
		return false, nil
	}
	if m := countedDrafts.FindStringSubmatch(kind); m != nil {
		kind = m[1]
	}
	if !ownDrafts[kind] && !names.Yes(kind) {
		return false, fmt.Errorf("spec %q: only drafts by the model's own draft layers are modelled", kind)
	}
	return true, nil
}

// countedDrafts is a name with the tokens of a step: MTP-3, nextn 2, mtp=1.
var countedDrafts = regexp.MustCompile(`^(mtp|nextn|deepseek_mtp)[-_ =:]*([1-9])$`)

// usualDrafts are those of servers of which nothing is known: most of the known ones draft 3.
const usualDrafts = 3

// drafts is the tokens drafted per step, from the row or from what its server was told. SGLang
// counts the token before them as a draft token too, but where there is one it is drafted.
func (r Row) drafts(engine, stated string) (int, error) {
	if text := r.Cell("drafts"); text != "" {
		return parseCount("drafts", text)
	}
	if drafting, _ := r.Drafts(); !drafting {
		return 0, nil
	}
	if m := countedDrafts.FindStringSubmatch(strings.ToLower(strings.TrimSpace(r.Cell("spec")))); m != nil {
		return parseCount("spec", m[2])
	}
	if text := r.Cell("spec_tokens"); text != "" {
		n, err := parseCount("spec_tokens", text)
		if engine == "sglang" && n > 1 {
			n--
		}
		if err == nil && n < 1 {
			err = fmt.Errorf("spec_tokens: %q drafts nothing", text)
		}
		return n, err
	}
	if n, err := strconv.Atoi(stated); err == nil {
		return n, nil
	}
	return usualDrafts, nil
}

func parseCount(column, text string) (int, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != float64(int(v)) || v < 0 || v > 1e9 {
		return 0, fmt.Errorf("%s: %q is not a whole number", column, text)
	}
	return int(v), nil
}

// facts are the cells that the rules of protocols ask for.
func (r Row) facts(l *Loaded, n workload.Lengths, clients int) map[string]string {
	count := func(column string) int { v, _ := strconv.Atoi(r.Get(column)); return v }
	name, _ := r.engine()
	name, _, _ = strings.Cut(name, "@")
	drafting, _ := r.Drafts()
	out := map[string]string{
		"model": l.Shape.Name, "system": l.Decode.Name, "weights": l.Precision.Name, "mode": r.Get("mode"), "engine": name, "date": r.Cell("date"),
		"isl": strconv.Itoa(n.Input), "osl": strconv.Itoa(n.Output), "concurrency": strconv.Itoa(clients), "drafts": "no",
		"version": r.Cell("version"), "benchmark": r.Cell("benchmark"),
	}
	if drafting {
		out["drafts"] = "yes"
	}
	for _, pool := range []string{"", "prefill_", "decode_"} {
		tp, dp := max(1, count(pool+"tp")), max(1, count(pool+"dp"))
		out[pool+"workers"], out[pool+"ranks"], out[pool+"attention"] = r.Get(pool+"workers"), strconv.Itoa(tp*dp), "tp"
		if dp > 1 {
			out[pool+"attention"] = "dp"
		}
	}
	if out["mode"] == string(Disaggregated) {
		out["ranks"], out["attention"] = out["decode_ranks"], out["decode_attention"]
	}
	return out
}

// acceptance is the share of drafts accepted at each position. A given accept length yields equal
// shares; otherwise the known shares apply, with the last one repeated.
func (r Row) acceptance(known []float64, drafts int, stated string) ([]float64, error) {
	if stated = cmp.Or(r.Cell("accept_length"), stated); stated != "" && drafts > 0 {
		length, err := strconv.ParseFloat(stated, 64)
		if err != nil || !(length >= 1 && length <= float64(drafts+1)) {
			return nil, fmt.Errorf("accept length %s: a step with %d drafts has 1 to %d tokens", stated, drafts, drafts+1)
		}
		return estimate.EqualShares(length, drafts), nil
	}
	known = slices.Clone(known)
	for len(known) > 0 && len(known) < drafts {
		known = append(known, known[len(known)-1])
	}
	return known, nil
}

// refuse says why a row cannot be predicted at all.
func (r Row) refuse() []error {
	var out []error
	if why := names.Forbids(r.Cell("flags"), ""); why != "" && r.Cell("prefix_hit")+r.Cell("prefix") == "" {
		out = append(out, fmt.Errorf("%s", why))
	}
	if _, err := r.Drafts(); err != nil && r.Cell("drafts") == "" {
		out = append(out, err)
	}
	return out
}

func finite(rate string) bool {
	v, err := strconv.ParseFloat(rate, 64)
	return err == nil && v > 0 && v < 1e9
}

// fixedShare is the share of the longest output that the mean of outputs has which do not vary.
const fixedShare = 0.99

// protocol is how a run was made, as far as its row says it, and its lengths; nil where it says
// nothing.
func (r Row) protocol(n workload.Lengths, clients int) (*protocol.Protocol, workload.Lengths) {
	words := r.Cell("length_spread")
	p := protocol.Stated
	if spread := r.Cell("lengths"); spread != "" {
		p.Spread, p.Requests = spread, r.requests(clients)
		return &p, n
	}
	if words == "" {
		return nil, n
	}
	if spread, means, ok := names.Lengths(words); ok {
		p.Spread = spread
		if mean, err := strconv.ParseFloat(r.Cell("measured_output_mean"), 64); err == nil && means == nil && spread == "uniform:0" && mean > fixedShare*float64(n.Output) {
			p.Spread = "fixed" // whatever the words are
		}
		if means != nil {
			n.Input, _ = strconv.Atoi(nearestCount(means[0]))
			n.Output, _ = strconv.Atoi(nearestCount(means[1]))
			if spread == "uniform:0" {
				n.Input, n.Output = 2*n.Input, 2*n.Output
			}
		}
		if named := protocol.Named(r.Cell("benchmark")); named != nil && (named.Spread == "" || named.Spread == p.Spread) {
			spread := p.Spread
			p = *named
			p.Spread = spread
		}
	}
	p.Requests = cmp.Or(r.requests(clients), p.Requests)
	return &p, n
}

// perClient is how tables say that each client sends so many requests.
var perClient = regexp.MustCompile(`^([0-9]+) ?[x×*]`)

// prompts are all that are sent, or how many each client sends: 10 x conc.
func (r Row) prompts() string {
	text := r.Cell("num_prompts")
	switch {
	case names.Empty(text):
		return ""
	case perClient.MatchString(text):
		return text
	}
	return names.Number(text)
}

// requests are those of each client, as far as the row says it; 0: it does not.
func (r Row) requests(clients int) float64 {
	prompts := r.prompts()
	if m := perClient.FindStringSubmatch(prompts); m != nil {
		n, _ := strconv.ParseFloat(m[1], 64)
		return n
	}
	if total, err := strconv.ParseFloat(prompts, 64); err == nil && clients > 0 {
		return max(total, float64(clients)) / float64(clients)
	}
	return 0
}

// Completed is a row with the model and lengths of its benchmark's dataset where it has none.
func (r Row) Completed() Row {
	r = r.laidOut()
	p := protocol.Named(r.Cell("benchmark"))
	if p == nil {
		return r
	}
	data := p.Dataset(map[string]string{"printed": r.Cell("model")})
	return Row{func(column string) string {
		text := r.Cell(column)
		switch {
		case data[column] == "":
			return text
		case column == "model":
			return data[column]
		case column == "osl":
			text = cmp.Or(text, r.outputs())
		}
		return cmp.Or(text, data[column])
	}}
}
