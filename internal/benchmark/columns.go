package benchmark

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/runs"
	"throughline/number"
	"throughline/workload"
)

// columnNames are other names of the columns of serving runs, best first.
var columnNames = map[string][]string{
	"model_path":           {"model"},
	"system":               {"gpu"},
	"backend":              {"framework", "engine"},
	"num_gpus":             {"gpus"},
	"silicon_ttft_ms":      {"ttft_mean_ms", "ttft_ms", "ttft"},
	"silicon_tpot_ms":      {"tpot_mean_ms", "tpot_ms", "tpot"},
	"drafts":               {"mtp"},
	"precision":            {"weights"},
	"replicas":             {"instances"},
	"request_rate":         {"rate"},
	"concurrency":          {"clients"},
	"batch_size":           {"batch"},
	"kv_cache":             {"kv_dtype", "cache"},
	"tp_size":              {"tp"},
	"pp_size":              {"pp"},
	"attention_dp_size":    {"dp"},
	"moe_tp_size":          {"moe_tp"},
	"moe_ep_size":          {"ep"},
	"prefill_num_workers":  {"prefill_workers"},
	"prefill_tp_size":      {"prefill_tp"},
	"prefill_moe_ep_size":  {"prefill_ep"},
	"decode_num_workers":   {"decode_workers"},
	"decode_tp_size":       {"decode_tp"},
	"decode_moe_ep_size":   {"decode_ep"},
	"prefill_pp_size":      {"prefill_pp"},
	"decode_pp_size":       {"decode_pp"},
	"prefill_moe_tp_size":  {"prefill_moe_tp"},
	"decode_moe_tp_size":   {"decode_moe_tp"},
	"decode_batch_size":    {"decode_batch"},
	"measured_output_mean": {"measured_output_len_mean"},
}

// Row is the cells of a row by the names that this package has for columns. What tables say in other ways (a column for
// disaggregation, ranks of data-parallel attention, words for lengths and drafts) is put into those.
type Row struct{ Cell func(string) string }

// Get is a cell under any of its names, or what follows from others.
func (r Row) Get(column string) string {
	if f := followed[column]; f != nil {
		return f(r)
	}
	for _, prefix := range []string{"prefill_", "decode_", ""} {
		if what, ok := strings.CutPrefix(column, prefix); ok && sizes[what] {
			return r.size(prefix, what)
		}
	}
	return r.plain(column)
}

// plain is a cell under any of its names.
func (r Row) plain(column string) string {
	if text := r.Cell(column); text != "" {
		return text
	}
	for _, name := range columnNames[column] {
		if text := r.Cell(name); text != "" {
			return text
		}
	}
	return ""
}

// followed are columns that may follow from others.
var followed = map[string]func(Row) string{
	"model_path": func(r Row) string { name, _ := r.model(); return name },
	"system":     func(r Row) string { return withoutNote(r.plain("system")) },
	"backend":    Row.backend,
	"precision":  Row.precision,
	"replicas":   func(r Row) string { return cmp.Or(r.plain("replicas"), strconv.Itoa(max(1, r.limit(replicasOption)))) },
	"isl":        func(r Row) string { return wholeMean(meanLength(r.plain("isl"))) },

	// Where a table says neither clients nor a rate, those under way on average are the clients.
	"concurrency": func(r Row) string {
		if text := r.plain("concurrency"); text != "" || finite(r.plain("request_rate")) {
			return text
		}
		return wholeMean(r.plain("achieved_concurrency"))
	},

	"prefill_num_workers": func(r Row) string { return withoutNote(r.plain("prefill_num_workers")) },
	"decode_num_workers":  func(r Row) string { return withoutNote(r.plain("decode_num_workers")) },
	"mode": func(r Row) string {
		split := map[string]string{"false": "agg", "true": "disagg"}[strings.ToLower(r.plain("disagg"))]
		return cmp.Or(r.plain("mode"), split, "agg")
	},
	"osl": func(r Row) string {
		// Where outputs end by themselves, those that were measured count.
		if text := r.plain("measured_output_mean"); text != "" && strings.Contains(r.plain("length_spread"), "early EOS") {
			return wholeMean(text)
		}
		if strings.HasPrefix(r.plain("osl"), "ShareGPT") {
			return cmp.Or(r.outputs(), r.plain("osl"))
		}
		return wholeMean(r.plain("osl"))
	},
}

// wholeMean is a mean as the nearest whole number, at least 1; what is no number stays as it is.
func wholeMean(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1e9) {
		return text
	}
	return strconv.Itoa(max(1, int(math.Round(v))))
}

// lengthWords are how tables say that requests are those of a collection, and their mean length.
var lengthWords = regexp.MustCompile(`^ShareGPT mean (\d+)$`)

func meanLength(text string) string {
	if m := lengthWords.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// outputs is the tokens that a request got on average: those of a second over the requests of a second. Empty: not said.
func (r Row) outputs() string {
	number := func(column string) float64 {
		v, _ := strconv.ParseFloat(r.plain(column), 64)
		return v
	}
	tokens, gpus, requests := number("output_tput_per_gpu"), number("num_gpus"), number("req_per_s")
	if n := math.Round(tokens * gpus / requests); n >= 1 && n < 1e9 {
		return strconv.Itoa(int(n))
	}
	return ""
}

// precision is the format of the weights: what the table says, of several the first, or what stands in brackets behind
// the model.
func (r Row) precision() string {
	text, _, _ := strings.Cut(strings.ToLower(withoutNote(strings.TrimSuffix(r.plain("precision"), "?"))), "/")
	if text != "" {
		return text
	}
	if bits, _, _ := strings.Cut(strings.ToLower(r.plain("quantization")), " "); bits != "" {
		return question.FormatOf(bits)
	}
	_, note := r.model()
	// 16 bits are what checkpoints in fewer bits are computed in: Kimi-K2.5, which is int4, is called "Kimi-K2.5 (BF16)".
	if f, ok := number.Find(strings.ToLower(note)); ok && f.Bytes < 2 {
		return strings.ToLower(note)
	}
	return ""
}

// Weights is the number format that the precision of a table stands for: FP8 may have a scale for every block. A checkpoint has them in
// all its products or in none.
func (r Row) Weights() string {
	short := r.Get("precision")
	if short == "fp8" && (r.plain("gemm_quant_mode") == fp8Blocks || r.plain("moe_quant_mode") == fp8Blocks) {
		return fp8Blocks
	}
	return checkpointOf(r.plain("model_path"), short)
}

const fp8Blocks = "fp8_block"

// sizes are the columns of a layout.
var sizes = map[string]bool{"tp_size": true, "attention_dp_size": true, "moe_tp_size": true, "moe_ep_size": true}

// size is one size of the layout of a server.
func (r Row) size(prefix, what string) string {
	given := r.plain(prefix + what)
	if r.Cell("dp_attention")+r.Cell(prefix+"dp_attention")+r.Cell(prefix+"gpus") == "" && r.plain(prefix+"moe_ep_size") != "yes" {
		return given
	}
	short := func(column string) string {
		name, of := column, ""
		for _, of = range []string{"prefill_", "decode_", ""} {
			if cut, ok := strings.CutPrefix(column, of); ok {
				name = cut
				break
			}
		}
		if long := longNames[name]; long != "" {
			return r.plain(of + long)
		}
		return r.Cell(column)
	}
	wide := r.plain(prefix+"moe_ep_size") == "yes" || exchangeOption.MatchString(r.plain("other_settings"))
	s := runs.ServerOf(short, prefix, wide)
	if s.TP < 1 {
		return given
	}
	cells := map[string]string{}
	s.Cells("", cells)
	switch what {
	case "tp_size":
		return cells["tp"]
	case "attention_dp_size":
		return cells["dp"]
	case "moe_ep_size":
		return cells["ep"]
	}
	return cmp.Or(given, cells["moe_tp"])
}

// longNames are the columns of sizes by their short names.
var longNames = map[string]string{"tp": "tp_size", "dp": "attention_dp_size", "ep": "moe_ep_size", "workers": "num_workers"}

// note is what stands in brackets behind a name.
var note = regexp.MustCompile(`^(.*?)\s*\(([^()]*)\)\s*$`)

func withoutNote(text string) string {
	if m := note.FindStringSubmatch(text); m != nil && m[1] != "" {
		return m[1]
	}
	return text
}

// model is the name of the model without what stands around it, and what stands behind it in brackets.
func (r Row) model() (name, behind string) {
	name = r.plain("model_path")
	if m := note.FindStringSubmatch(name); m != nil {
		name, behind = m[1], m[2]
	}
	// "A on Blackwell; B on AMD": the first.
	name, _, _ = strings.Cut(name, ";")
	name, _, _ = strings.Cut(name, " on ")
	return strings.Trim(name, "` "), behind
}

// backend is the engine.
func (r Row) backend() string {
	name := strings.ToLower(r.plain("backend"))
	return cmp.Or(runs.EngineNames[name], name) + documented[r.plain("source")]
}

// documented are the versions of engines behind rows that do not say them, by their source: an earlier one, where the document that
// the rows are from does. That of vllm-ascend says v0.20.2rc1 (docs/source/tutorials/models/Kimi-K2-Thinking.md).
// The runs of llm-d-benchmark are of 2025-05-11 to 2025-05-13, between vLLM 0.8.5 and 0.9.0.
var documented = map[string]string{
	"vllm-ascend docs": "@0.20", "llm-d-benchmark collected exp-3": "@0.9", "llm-d-benchmark collected exp-7": "@0.9",
}

// ownDrafts are the names for drafts by the draft layers of the model itself.
var ownDrafts = map[string]bool{
	"mtp": true, "nextn": true, "eagle": true, "deepseek_mtp": true, "nextn/eagle": true,
	"spec":   true, // the kind is not said; those who print it have such layers
	"eagle3": true, // a model of one layer, taken for one of the model
}

// Drafts reports whether a row says that tokens are drafted.
func (r Row) Drafts() (bool, error) {
	if text := r.plain("drafts"); text != "" {
		return text != "0", nil
	}
	kind, _, _ := strings.Cut(strings.ToLower(r.plain("spec")), "(")
	kind = strings.TrimSpace(kind)
	if kind == "" || kind == "none" {
		return false, nil
	}
	if !ownDrafts[kind] {
		return false, fmt.Errorf("spec %q: only drafts by the model's own draft layers are modelled", kind)
	}
	return true, nil
}

// draftOptions are the names that engines have for the tokens that are drafted in each step.
var draftOptions = []string{"speculative-num-steps", "num_speculative_tokens", "num_nextn_predict_layers"}

// usualDrafts are those of scripts that are not known: most of the known ones draft 3.
const usualDrafts = 3

// drafts is the tokens that are drafted in each step: as the row says, or the script of its benchmark. SGLang counts the token
// before them as one of its draft tokens.
func (f *facts) drafts(r Row, options map[string]string) (int, error) {
	if text := r.plain("drafts"); text != "" {
		return wholeNumber("drafts", text)
	}
	if !f.drafting {
		return 0, nil
	}
	if text := r.plain("spec_tokens"); text != "" {
		n, err := wholeNumber("spec_tokens", text)
		if f.engine == "sglang" {
			n--
		}
		if err == nil && n < 1 {
			err = fmt.Errorf("spec_tokens: %q drafts nothing", text)
		}
		return n, err
	}
	for _, name := range draftOptions {
		if n, err := strconv.Atoi(options[name]); err == nil {
			return n, nil
		}
	}
	return usualDrafts, nil
}

func wholeNumber(column, text string) (int, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != float64(int(v)) || v < 0 || v > 1e9 {
		return 0, fmt.Errorf("%s: %q is not a whole number", column, text)
	}
	return int(v), nil
}

// measuredOn is how tables say the day of a run.
var measuredOn = regexp.MustCompile(`measured=(\d{4}-\d\d-\d\d)`)

// facts are what the scripts of a benchmark are chosen by.
func (r Row) facts(l *question.Loaded, n workload.Lengths, clients int) facts {
	whole := func(column string) int { v, _ := strconv.Atoi(r.Get(column)); return v }
	f := facts{model: l.Shape.Name, system: l.Decode.Name, weights: l.Precision.Name, mode: r.Get("mode"), lengths: n, clients: clients}
	f.engine, _, _ = strings.Cut(r.backend(), "@")
	f.version = strings.TrimPrefix(cmp.Or(r.Cell("backend_version"), r.Cell("version")), "v")
	pool := ""
	if f.mode == string(question.Disaggregated) {
		pool = "decode_"
	}
	f.dp = whole(pool+"attention_dp_size") > 1
	f.tp = max(1, whole(pool+"tp_size")) * max(1, whole(pool+"attention_dp_size"))
	f.drafting, _ = r.Drafts()
	if m := measuredOn.FindStringSubmatch(r.plain("silicon_data_source")); m != nil {
		f.day = m[1]
	}
	f.day = cmp.Or(r.Cell("date"), f.day)
	pools := func(of string) servers {
		tp, dp := max(1, whole(of+"tp_size")), max(1, whole(of+"attention_dp_size"))
		return servers{whole(of + "num_workers"), tp * dp, dp > 1}
	}
	if pool != "" {
		f.prefill, f.decode = pools("prefill_"), pools("decode_")
	}
	return f
}

// acceptWords are the tokens of a step that were accepted on average, the one that needs no draft included.
var acceptWords = regexp.MustCompile(`accept length ([0-9.]+)`)

// ratioOption is the option of sglang.bench_serving for the least length that is drawn, as a share of the nominal one.
const ratioOption = "random-range-ratio"

// tokensOption is the tokens that a server makes of a prompt, where they are not those that the client counts.
const tokensOption = "prompt-tokens"

// acceptOption is the option by which SGLang accepts so many tokens of a step, whatever is drafted.
const acceptOption = "SGLANG_SIMULATE_ACC_LEN"

// acceptance is the shares of drafts that are accepted, by position: those with which a step has as many tokens as were
// counted or told, equal at all positions; else those that are known, the last of them for positions beyond.
func (r Row) acceptance(known []float64, drafts int, told string) ([]float64, error) {
	if m := acceptWords.FindStringSubmatch(r.plain("other_settings")); m != nil {
		told = m[1]
	}
	if told != "" && drafts > 0 {
		length, err := strconv.ParseFloat(told, 64)
		if err != nil || !(length >= 1 && length <= float64(drafts+1)) {
			return nil, fmt.Errorf("accept length %s: a step with %d drafts has 1 to %d tokens", told, drafts, drafts+1)
		}
		low, high := 0.0, 1.0
		for range 50 {
			if mid := (low + high) / 2; estimate.TokensPerStep(slices.Repeat([]float64{mid}, drafts), drafts) < length {
				low = mid
			} else {
				high = mid
			}
		}
		return slices.Repeat([]float64{low}, drafts), nil
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
	if strings.Contains(r.plain("flags"), "prefix_cache") {
		out = append(out, fmt.Errorf("flags: prompts hit a prefix cache by shares that the table does not say"))
	}
	if _, err := r.Drafts(); err != nil && r.plain("drafts") == "" {
		out = append(out, err)
	}
	return out
}

func finite(rate string) bool {
	v, err := strconv.ParseFloat(rate, 64)
	return err == nil && v > 0 && v < 1e9
}

// spreads are the words of tables for how lengths are spread, the first that matches.
var spreads = []struct {
	words   *regexp.Regexp
	lengths string
	means   bool // of prompts and outputs as they were, whatever the table has as lengths: those they are drawn up to, or the means again
}{
	{regexp.MustCompile(`dataset default.*means in=([0-9]+) out=([0-9]+)`), runs.ShareGPT, true},
	{regexp.MustCompile(`means in=([0-9]+) out=([0-9]+)`), "uniform:0", true},
	{regexp.MustCompile(`range ratio \(?1|fixed`), "fixed", false},
	{regexp.MustCompile(`range ratio \(?(0(?:\.[0-9]+)?)`), "uniform:$1", false},
	{regexp.MustCompile(`dataset random`), "uniform:0", false},
	{regexp.MustCompile(`early EOS`), "lognormal:0.5", false},
	{regexp.MustCompile(`ShareGPT`), runs.ShareGPT, false},
}

// fixedShare is the share of the longest output that the mean of outputs has which do not vary.
const fixedShare = 0.99

// benchmark is how a run was made, as far as its row says it; nil where it says nothing.
func (r Row) benchmark(n workload.Lengths, clients int) (*benchmark, workload.Lengths) {
	words := r.plain("length_spread")
	b := stated
	b.worded = true
	if spread := r.Cell("lengths"); spread != "" {
		b.Spread = spread
		b.Requests = r.requests(clients)
		return &b, n
	}
	if words == "" {
		return nil, n
	}
	for i := range spreads {
		s := &spreads[i]
		at := s.words.FindStringSubmatchIndex(words)
		if at == nil {
			continue
		}
		b.Spread = string(s.words.ExpandString(nil, s.lengths, words, at))
		if mean, err := strconv.ParseFloat(r.plain("measured_output_mean"), 64); err == nil && !s.means && b.Spread == "uniform:0" && mean > fixedShare*float64(n.Output) {
			b.Spread = "fixed" // whatever the words are
		}
		if s.means {
			input, _ := strconv.Atoi(words[at[2]:at[3]])
			output, _ := strconv.Atoi(words[at[4]:at[5]])
			n.Input, n.Output = input, output
			if b.Spread == "uniform:0" {
				n.Input, n.Output = 2*input, 2*output
			}
		}
		if named := benchmarkNamed(r.plain("source")); named != nil && named.Spread == b.Spread {
			b.Scripts, b.Recipes, b.Acceptance, b.Requests, b.Again = named.Scripts, named.Recipes, named.Acceptance, named.Requests, named.Again
		}
		break
	}
	b.Requests = cmp.Or(r.requests(clients), b.Requests)
	return &b, n
}

// requests are those of each client, as far as the row says it; 0: it does not.
func (r Row) requests(clients int) float64 {
	prompts := r.plain("num_prompts")
	if strings.HasPrefix(prompts, "10 x") {
		return 10
	}
	if total, err := strconv.Atoi(prompts); err == nil && clients > 0 {
		return float64(max(total, clients)) / float64(clients)
	}
	return 0
}

// memoryOptions are the names of the share of the memory that servers use: the setting's and those of engines.
var memoryOptions = append(engine.Aliases(engine.MemorySetting), engine.MemorySetting)

// exchangeOptions are the option of SGLang for how tokens come to their experts: none, which gathers them, deepep and others, which send
// them. The second is what the prefill servers of two pools are told if it is not the same.
var exchangeOptions = [2]string{"moe-a2a-backend", "prefill-moe-a2a-backend"}

// preparedOption is the variable of SGLang by which its host prepares steps with drafts while others run; 0: it does not.
const preparedOption = "SGLANG_ENABLE_SPEC_V2"

// sharedOption is the option of SGLang by which shared experts are a dense block beside the routed ones; 1: they are.
const sharedOption = "disable-shared-experts-fusion"

// options is what a row tells its engine, in columns of their names or in words such as "max-num-seqs 256".
func (r Row) options() map[string]string {
	into := map[string]string{}
	known := append(slices.Clone(memoryOptions), engine.ProductsOption, exchangeOptions[0], exchangeOptions[1])
	for i := range engine.RunOptions {
		o := &engine.RunOptions[i]
		known = append(append(known, o.Setting), slices.Collect(maps.Values(o.Names))...)
	}
	for i := range engine.AttentionOptions {
		o := &engine.AttentionOptions[i]
		known = append(append(known, o.Setting, strings.ReplaceAll(o.Setting, "-", "_")), slices.Collect(maps.Values(o.Names))...)
	}
	for _, name := range known {
		if text := r.Cell(name); text != "" {
			into[name] = spelled(name, text)
		}
	}
	for _, m := range backendWords.FindAllStringSubmatch(r.plain("other_settings"), -1) {
		into[m[1]] = m[2]
	}
	for _, m := range optionWords.FindAllStringSubmatch(r.plain("other_settings"), -1) {
		if slices.Contains(known, m[1]) {
			into[m[1]] = m[2]
		}
	}
	return into
}

// spelled is the value of an option in the letters of the engine that has it.
func spelled(option, text string) string {
	switch {
	case slices.Contains(exchangeOptions[:], option):
		return document.Spelled(text, engine.Exchanges)
	case option == engine.ProductsOption:
		return document.Spelled(text, engine.ProductNames())
	}
	return text
}

// told is what the row tells its engine, and what is wrong with it.
func (r Row) told(f *facts, dp int) (t deploy.Told, err error) {
	var errs []error
	options := r.options()
	for _, name := range slices.Sorted(maps.Keys(options)) {
		text := options[name]
		switch {
		case engine.TellAttention(&t, name, text):
		case name == engine.ProductsOption:
			t.Products = text
		case slices.Contains(exchangeOptions[:], name):
			if !slices.Contains(engine.Exchanges, text) {
				errs = append(errs, fmt.Errorf("%s: %s", name, document.NotOneOf(text, engine.Exchanges)))
			}
		case slices.Contains(memoryOptions, name):
			if share, err := strconv.ParseFloat(text, 64); err != nil || !(share > 0 && share <= 1) {
				errs = append(errs, fmt.Errorf("%s %q must be above 0 and at most 1", name, text))
			}
		default:
			n, err := f.sum(text)
			if err != nil || n < 0 {
				errs = append(errs, fmt.Errorf("%s %q must be a whole number, not negative", name, text))
				continue
			}
			errs = append(errs, engine.Tell(&t, name, n, dp))
		}
	}
	return t, document.Join(errs...)
}

// limit is a number in the words of a row, 0 where it does not have it.
func (r Row) limit(option *regexp.Regexp) int {
	if m := option.FindStringSubmatch(r.plain("other_settings")); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

var (
	replicasOption = regexp.MustCompile(`replicas=(\d+)`)
	// exchangeOption names what sends tokens to experts. SGLang spreads these over all ranks of a server then, whatever else it is
	// told: python/sglang/srt/arg_groups/overrides.py, _a2a_ep_size.
	exchangeOption = regexp.MustCompile(`(?i)\bmoe-a2a-backend[ =]+(?:` + strings.Join(engine.Exchanges[1:], "|") + `)\b`)
	// backendWords choose attention, as flags of a command; not those that are said of other workloads.
	backendWords = regexp.MustCompile(`flags:.*--((?:prefill-|decode-)?attention-backend)[ =]+([A-Za-z0-9_]+)`)
	optionWords  = regexp.MustCompile(`([a-z][a-z_-]*[a-z])[ =:]+([0-9.]*[0-9])`)
)

// gammaWords are how tables say that gaps between requests have a gamma distribution: vLLM's burstiness is its shape, so that
// the coefficient of variation is one over its root.
var gammaWords = regexp.MustCompile(`burstiness[ =]([0-9.]+)`)

// open is the rate and the arrivals of requests that come by themselves; 0: clients wait for their answers.
func (r Row) open() (rate float64, arrival workload.Arrival, err error) {
	words := r.plain("arrival")
	if text := r.plain("request_rate"); words != "" && finite(text) {
		if arrival, err := workload.ParseArrival(words); err == nil {
			rate, _ := strconv.ParseFloat(text, 64)
			return rate, arrival, nil
		}
	}
	if !strings.Contains(words, "open loop") && (r.plain("concurrency") != "" || !finite(r.plain("request_rate"))) {
		return 0, arrival, nil
	}
	text := r.plain("request_rate")
	if !finite(text) {
		return 0, arrival, fmt.Errorf("open loop: request_rate %q is no number of requests per second", text)
	}
	rate, _ = strconv.ParseFloat(text, 64)
	arrival.Kind = "poisson"
	if strings.Contains(words, "constant") {
		arrival.Kind = "constant"
	}
	if m := gammaWords.FindStringSubmatch(words); m != nil {
		shape, err := strconv.ParseFloat(m[1], 64)
		if err != nil || !(shape > 0) {
			return 0, arrival, fmt.Errorf("arrival: %q is no burstiness", m[1])
		}
		arrival = workload.Arrival{Kind: "gamma", By: 1 / math.Sqrt(shape)}
	}
	return rate, arrival, nil
}
