package benchmark

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/document"
	"throughline/workload"
)

// memoryOptions are the names of the memory share: the setting's own and those of engines.
var memoryOptions = append(engine.Aliases(engine.MemorySetting), engine.MemorySetting)

// exchangeOptions choose how SGLang routes tokens to experts: none gathers them, deepep and others
// send them. The second applies to prefill servers of two pools if they differ.
var exchangeOptions = [2]string{"moe-a2a-backend", "prefill-moe-a2a-backend"}

// preparedOption makes SGLang's host prepare steps with drafts while others run; 0: it does not.
const preparedOption = "SGLANG_ENABLE_SPEC_V2"

// sharedOption makes SGLang run shared experts as a dense block beside the routed ones; 1: it does.
const sharedOption = "disable-shared-experts-fusion"

// options are a row's engine options, from columns or from words such as "max-num-seqs 256".
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

// checkOptions says what is wrong with the server options of the row.
func (r Row) checkOptions(f *facts, dp int) error {
	var t deploy.ServerOptions
	var errs []error
	options := r.options()
	for _, name := range slices.Sorted(maps.Keys(options)) {
		text := options[name]
		switch {
		case engine.SetAttention(&t, name, text):
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
			errs = append(errs, engine.SetOption(&t, name, n, dp))
		}
	}
	return document.Join(errs...)
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
	// exchangeOption matches backends that send tokens to experts. SGLang then spreads experts over
	// all ranks, whatever else it is told: python/sglang/srt/arg_groups/overrides.py, _a2a_ep_size.
	exchangeOption = regexp.MustCompile(`(?i)\bmoe-a2a-backend[ =]+(?:` + strings.Join(engine.Exchanges[1:], "|") + `)\b`)
	// backendWords match attention backends given as flags, not mentions for other workloads.
	backendWords = regexp.MustCompile(`flags:.*--((?:prefill-|decode-)?attention-backend)[ =]+([A-Za-z0-9_]+)`)
	optionWords  = regexp.MustCompile(`([a-z][a-z_-]*[a-z])[ =:]+([0-9.]*[0-9])`)
)

// gammaWords match gamma-distributed gaps between requests. vLLM's burstiness is the shape, so the
// coefficient of variation is one over its square root.
var gammaWords = regexp.MustCompile(`burstiness[ =]([0-9.]+)`)

// open is the rate and arrival process of open-loop requests; 0: clients wait for their answers.
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
