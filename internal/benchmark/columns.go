package benchmark

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/estimate"
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

// Row is the cells of a row by this package's column names. It translates other notations, such as
// columns for disaggregation or data-parallel attention and words for lengths and drafts.
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
		if prompts := r.plain("num_prompts"); prompts != "" && r.offline() {
			return wholeMean(prompts)
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

// outputs is the mean output tokens of a request: token rate over request rate; empty: not given.
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

// precision is the weight format: the table's first one, or the one in brackets behind the model.
func (r Row) precision() string {
	text, _, _ := strings.Cut(strings.ToLower(withoutNote(strings.TrimSuffix(r.plain("precision"), "?"))), "/")
	if text != "" {
		return text
	}
	if bits, _, _ := strings.Cut(strings.ToLower(r.plain("quantization")), " "); bits != "" {
		return question.FormatOf(bits)
	}
	_, note := r.model()
	// 16 bits is only the compute format of smaller checkpoints: Kimi-K2.5, which is int4, is
	// called "Kimi-K2.5 (BF16)".
	if f, ok := number.Find(strings.ToLower(note)); ok && f.Bytes < 2 {
		return strings.ToLower(note)
	}
	return ""
}

// Weights is the number format behind a table's precision. FP8 may have block scales, which a
// checkpoint uses in all its products or in none.
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

// model splits a model name from its decoration and from the note in brackets behind it.
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

// documented holds engine versions, by source, that rows omit but their documents give. vllm-ascend
// documents v0.20.2rc1 (docs/source/tutorials/models/Kimi-K2-Thinking.md). The runs of
// llm-d-benchmark are of 2025-05-11 to 2025-05-13, between vLLM 0.8.5 and 0.9.0. ML.ENERGY ran
// 0.5.4, then 0.11.1, synchronous as 0.9 unless a server is told otherwise.
var documented = map[string]string{
	"ML.ENERGY leaderboard v2": "@0.5", "ML.ENERGY Benchmark 3.0 leaderboard": "@0.9",
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

// drafts is the tokens drafted per step, from the row or its benchmark's script. SGLang counts the
// token before them as a draft token too.
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
	count := func(column string) int { v, _ := strconv.Atoi(r.Get(column)); return v }
	f := facts{model: l.Shape.Name, system: l.Decode.Name, weights: l.Precision.Name, mode: r.Get("mode"), lengths: n, clients: clients}
	f.engine, _, _ = strings.Cut(r.backend(), "@")
	f.version = strings.TrimPrefix(cmp.Or(r.Cell("backend_version"), r.Cell("version")), "v")
	pool := ""
	if f.mode == string(question.Disaggregated) {
		pool = "decode_"
	}
	f.dp = count(pool+"attention_dp_size") > 1
	f.tp = max(1, count(pool+"tp_size")) * max(1, count(pool+"attention_dp_size"))
	f.drafting, _ = r.Drafts()
	if m := measuredOn.FindStringSubmatch(r.plain("silicon_data_source")); m != nil {
		f.day = m[1]
	}
	f.day = cmp.Or(r.Cell("date"), f.day)
	pools := func(of string) servers {
		tp, dp := max(1, count(of+"tp_size")), max(1, count(of+"attention_dp_size"))
		return servers{count(of + "num_workers"), tp * dp, dp > 1}
	}
	if pool != "" {
		f.prefill, f.decode = pools("prefill_"), pools("decode_")
	}
	return f
}

// acceptWords match the mean tokens accepted per step, including the one that needs no draft.
var acceptWords = regexp.MustCompile(`accept length ([0-9.]+)`)

// ratioOption of sglang.bench_serving is the shortest drawn length as a share of the nominal one.
const ratioOption = "random-range-ratio"

// tokensOption is the prompt length in server tokens, where the client counts differently.
const tokensOption = "prompt-tokens"

// acceptOption is the option by which SGLang accepts so many tokens of a step, whatever is drafted.
const acceptOption = "SGLANG_SIMULATE_ACC_LEN"

// acceptance is the share of drafts accepted at each position. A given accept length yields equal
// shares; otherwise the known shares apply, with the last one repeated.
func (r Row) acceptance(known []float64, drafts int, told string) ([]float64, error) {
	if m := acceptWords.FindStringSubmatch(r.plain("other_settings")); m != nil {
		told = m[1]
	}
	if told != "" && drafts > 0 {
		length, err := strconv.ParseFloat(told, 64)
		if err != nil || !(length >= 1 && length <= float64(drafts+1)) {
			return nil, fmt.Errorf("accept length %s: a step with %d drafts has 1 to %d tokens", told, drafts, drafts+1)
		}
		return EqualShares(length, drafts), nil
	}
	known = slices.Clone(known)
	for len(known) > 0 && len(known) < drafts {
		known = append(known, known[len(known)-1])
	}
	return known, nil
}

// EqualShares are the shares of drafts, all alike, with which a step has this many tokens.
func EqualShares(length float64, drafts int) []float64 {
	low, high := 0.0, 1.0
	for range 50 {
		if mid := (low + high) / 2; estimate.TokensPerStep(slices.Repeat([]float64{mid}, drafts), drafts) < length {
			low = mid
		} else {
			high = mid
		}
	}
	return slices.Repeat([]float64{low}, drafts)
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
	{regexp.MustCompile(`early EOS|MLPerf dataset`), "lognormal:0.5", false},
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
