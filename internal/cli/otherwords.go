package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// otherWords are flags of other tools, the flags here that replace them, and the value that those
// take instead, if it is another.
var otherWords = []struct{ words, flags, value string }{
	{"clients num-clients users", "concurrency max-concurrency", ""},
	{"qps rps", "rate request-rate", ""},
	// A gamma distribution of this shape has the coefficient of variation 1/√shape.
	{"burstiness", "arrival", "gamma:CV, where CV is 1/√burstiness"},
	{"num-requests requests", "num-prompts", ""},
	{"input-len input-tokens prompt-tokens", "isl random-input-len", ""},
	{"output-len output-tokens max-tokens max-new-tokens", "osl random-output-len", ""},
	{"num-gpus world-size", "gpus tp", ""},
	{"batch-size max-batch-size", "batch max-running-requests", ""},
	{"xlsx parquet", "out requests-out", ""},
	{"slo sla", "ttft", "p99:2s and --tpot p99:50ms"},
	{"kv-cache", "cache", ""},
	{"figure", "explain", ""},
	{"gpu", "system", "with a name, and --gpus with a number"},
	{"device hardware", "system", ""},
	{"tp-size", "tp", ""}, {"pp-size", "pp", ""}, {"dp-size", "dp", ""}, {"ep-size", "ep", ""},
	{"dtype precision quantization quant", "weights", ""},
	{"kv-dtype", "cache", ""},
	{"max-model-len context-length", "max-context", ""},
	{"url endpoint", "base-url", ""},
}

// ownFlag returns the flag, and the value if different, that a command has for another tool's word.
func ownFlag(cmd *cobra.Command, word string) string {
	for _, o := range otherWords {
		if !slices.Contains(strings.Fields(o.words), word) {
			continue
		}
		for name := range strings.FieldsSeq(o.flags) {
			if cmd.Flags().Lookup(name) == nil {
				continue
			}
			if o.value != "" {
				name += " " + o.value
			}
			return "--" + name
		}
	}
	return ""
}
