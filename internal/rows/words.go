package rows

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/names"
	"throughline/internal/protocol"
	"throughline/internal/question"
	"throughline/internal/runs"
	"throughline/number"
)

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

// input is the tokens of a prompt.
func (r Row) input() string { return nearestCount(names.Number(r.length("isl"))) }

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
	return question.FormatName(text)
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

// chip is the system by its own name, or as the row has it.
func (r Row) chip() string { return cmp.Or(r.system().Name, withoutNote(r.Cell("system"))) }

// watts is what a chip is limited to, from a column of its own or behind the chip's name.
func (r Row) watts() string {
	if w := r.system().Watts; w > 0 && r.Cell("power_limit") == "" {
		return strconv.Itoa(w)
	}
	return r.Cell("power_limit")
}

func (r Row) engineName() string { name, _ := r.engine(); return name }

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
		return question.FormatName(text)
	}
	// 16 bits is only the compute format of smaller checkpoints: Kimi-K2.5, which is int4, is
	// called "Kimi-K2.5 (BF16)".
	if m := bracketed.FindStringSubmatch(r.Cell("model")); m != nil {
		if f, ok := number.Find(question.FormatName(m[2])); ok && f.Bytes < 2 {
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

func (r Row) ofPool(pool, name string) string { return r.Cell(pool + name) }

func (r Row) workers(pool, name string) string { return withoutNote(r.Cell(pool + name)) }

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

// bracketed is a name with something in brackets behind it.
var bracketed = regexp.MustCompile(`^(.*?)\s*\(([^()]*)\)\s*$`)

func withoutNote(text string) string {
	if m := bracketed.FindStringSubmatch(text); m != nil && m[1] != "" {
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
