package benchmark

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/document"
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

// chatOption makes clients send messages, of which the server makes prompts; 1: they do.
const chatOption = "openai-chat"

// OptionNames are the engine options that rows may have as columns.
func OptionNames() []string { return optionNames }

var optionNames = func() []string {
	known := append(slices.Clone(memoryOptions), engine.ProductsOption, exchangeOptions[0], exchangeOptions[1])
	for i := range engine.RunOptions {
		o := &engine.RunOptions[i]
		known = append(append(known, o.Setting), slices.Collect(maps.Values(o.Names))...)
	}
	for i := range engine.AttentionOptions {
		o := &engine.AttentionOptions[i]
		known = append(append(known, o.Setting, strings.ReplaceAll(o.Setting, "-", "_")), slices.Collect(maps.Values(o.Names))...)
	}
	return known
}()

// options are a row's engine options, from columns of their names.
func (r Row) options() map[string]string {
	into := map[string]string{}
	for _, name := range optionNames {
		if text := r.Cell(name); text != "" {
			into[name] = spelled(name, text)
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
