package lab

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/internal/rows"
)

// sentence is how authors of public tables say in words what is a column of runs. The first that
// matches counts for a column; what the row has under it comes first unless it is overruled.
type sentence struct {
	from, words   string
	column, value string // the value may hold what the words match, $1
	overrules     bool
}

var sentences = []sentence{
	{"arrival", `^(?:all at once|burst: all prompts)`, "request_rate", "inf", false},
	{"arrival", `burst of ([0-9]+) prompts`, "num_prompts", "$1", false},
	{"arrival", `burst of [0-9]+ prompts`, "request_rate", "inf", false},
	{"arrival", `concurrency(?: cap)?\)? ([0-9]+)`, "concurrency", "$1", false},
	{"arrival", `^batch ([0-9]+)$`, "concurrency", "$1", false},
	{"arrival", `rate ([0-9.]+) req/s`, "request_rate", "$1", false},
	{"arrival", `open loop ([0-9.]+) req/s`, "request_rate", "$1", false},
	{"arrival", `(?i)constant`, "arrival", "constant", true},
	{"arrival", `(?i)poisson`, "arrival", "poisson", true},
	{"other_settings", `printed_max_concurrency=([0-9]+)`, "concurrency", "$1", false},
	{"other_settings", `accelerator=[^;]*(H[0-9]+-(?:NVL|PCIe))`, "system", "$1", true},
	{"other_settings", `accelerator=[^;]*Power Cap ([0-9]+) W`, "power-limit", "$1", false},
	{"other_settings", `accept length ([0-9.]+)`, "accept_length", "$1", false},
	{"other_settings", `replicas=([0-9]+)`, "instances", "$1", false},
	{"other_settings", `flags:.*-{2}attention-backend[ =]+([A-Za-z0-9_]+)`, "attention-backend", "$1", false},
	{"other_settings", `flags:.*-{2}prefill-attention-backend[ =]+([A-Za-z0-9_]+)`, "prefill-attention-backend", "$1", false},
	{"other_settings", `flags:.*-{2}decode-attention-backend[ =]+([A-Za-z0-9_]+)`, "decode-attention-backend", "$1", false},
	// SGLang then spreads experts over all ranks, whatever else it is told:
	// python/sglang/srt/arg_groups/overrides.py, _a2a_ep_size.
	{"other_settings", `(?i)\bmoe-a2a-backend[ =]+(?:` + strings.Join(engine.Exchanges[1:], "|") + `)\b`, "ep", "yes", true},
	{"other_settings", `launch:.* -(?:tp|-tensor-parallel-size|-tp-size|-tp_size)[ =]([0-9]+)`, "tp", "$1", true},
	{"other_settings", `launch:.* -(?:pp|-pipeline-parallel-size|-pp-size|-pp_size)[ =]([0-9]+)`, "pp", "$1", true},
	{"other_settings", `launch:.* -{2}kv[-_]cache[-_](?:dtype|quant)[ =]([a-z0-9_]+)`, "cache", "$1", false},
	{"other_settings", `launch:.* -{2}async-scheduling`, "steps-ahead", "1", false},
	{"other_settings", `launch:.* -{2}speculative-num-steps[ =]([0-9]+)`, "drafts", "$1", true},
	{"other_settings", `num_speculative_tokens": ?([0-9]+)`, "drafts", "$1", true},
	{"length_spread", `KV reuse ([1-9][0-9])%`, "prefix_hit", "0.$1", false},
	{"length_spread", `([1-9][0-9])% KV reuse`, "prefix_hit", "0.$1", false},
	{"flags", `prefix_cache_([1-9][0-9])%`, "prefix_hit", "0.$1", false},
}

var patterns = func() (out []*regexp.Regexp) {
	for i := range sentences {
		out = append(out, regexp.MustCompile(sentences[i].words))
	}
	return out
}()

var (
	optionWords = regexp.MustCompile(`([a-z][a-z_-]*[a-z])[ =:]+([0-9.]*[0-9])`)
	// gammaWords match gamma-distributed gaps. The burstiness of vLLM is the shape, so that the
	// coefficient of variation is one over its square root.
	gammaWords = regexp.MustCompile(`burstiness[ =]([0-9.]+)`)
)

// optionNames are the numbers that servers are told, by the names of all engines.
var optionNames = func() (out []string) {
	settings := []string{engine.MemorySetting}
	for i := range engine.RunOptions {
		settings = append(settings, engine.RunOptions[i].Setting)
	}
	for _, s := range settings {
		out = append(append(out, s), engine.Aliases(s)...)
	}
	return out
}()

func withSentences(row rows.Row) rows.Row {
	cells := map[string]string{}
	for _, m := range optionWords.FindAllStringSubmatch(row.Cell("other_settings"), -1) {
		if slices.Contains(optionNames, m[1]) && row.Cell(m[1]) == "" {
			cells[m[1]] = m[2]
		}
	}
	said := map[string]bool{}
	for i, s := range sentences {
		text := row.Cell(s.from)
		at := patterns[i].FindStringSubmatchIndex(text)
		if at != nil && !said[s.column] && (s.overrules || row.Cell(s.column) == "") {
			cells[s.column], said[s.column] = string(patterns[i].ExpandString(nil, s.value, text, at)), true
		}
	}
	if m := gammaWords.FindStringSubmatch(row.Cell("arrival")); m != nil {
		if shape, err := strconv.ParseFloat(m[1], 64); err == nil && shape > 0 {
			cells["arrival"] = "gamma:" + strconv.FormatFloat(1/math.Sqrt(shape), 'g', -1, 64)
		}
	}
	if strings.Contains(row.Cell("arrival"), "open loop") && row.Cell("request_rate") != "" {
		cells["concurrency"] = "" // whatever number of them was counted
	}
	return rows.Row{Cell: func(column string) string {
		if text, ok := cells[column]; ok {
			return text
		}
		return row.Cell(column)
	}}
}
