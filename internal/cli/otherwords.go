package cli

import "github.com/spf13/cobra"

// otherWord is a flag of another tool and the flags here that replace it.
type otherWord struct {
	word  string
	flags []string
	value string // that the flag takes instead; empty: the same
}

var otherWords = []otherWord{
	{"clients", []string{"concurrency", "max-concurrency"}, ""},
	{"num-clients", []string{"concurrency", "max-concurrency"}, ""},
	{"users", []string{"concurrency", "max-concurrency"}, ""},
	{"parallel", []string{"concurrency", "max-concurrency"}, ""},
	{"qps", []string{"rate", "request-rate"}, ""},
	{"rps", []string{"rate", "request-rate"}, ""},
	// A gamma distribution of this shape has the coefficient of variation 1/√shape.
	{"burstiness", []string{"arrival"}, "gamma:CV, where CV is 1/√burstiness"},
	{"num-requests", []string{"num-prompts"}, ""},
	{"requests", []string{"num-prompts"}, ""},
	{"input-len", []string{"isl", "random-input-len"}, ""},
	{"input-tokens", []string{"isl", "random-input-len"}, ""},
	{"prompt-tokens", []string{"isl", "random-input-len"}, ""},
	{"output-len", []string{"osl", "random-output-len"}, ""},
	{"output-tokens", []string{"osl", "random-output-len"}, ""},
	{"max-tokens", []string{"osl", "random-output-len"}, ""},
	{"max-new-tokens", []string{"osl", "random-output-len"}, ""},
	{"num-gpus", []string{"gpus"}, ""},
	{"world-size", []string{"gpus"}, ""},
	{"gpu", []string{"system"}, ""},
	{"device", []string{"system"}, ""},
	{"hardware", []string{"system"}, ""},
	{"tp-size", []string{"tp"}, ""},
	{"pp-size", []string{"pp"}, ""},
	{"dp-size", []string{"dp"}, ""},
	{"ep-size", []string{"ep"}, ""},
	{"dtype", []string{"weights"}, ""},
	{"precision", []string{"weights"}, ""},
	{"quantization", []string{"weights"}, ""},
	{"kv-dtype", []string{"cache"}, ""},
	{"max-model-len", []string{"max-context"}, ""},
	{"context-length", []string{"max-context"}, ""},
	{"url", []string{"base-url"}, ""},
	{"endpoint", []string{"base-url"}, ""},
}

// ownFlag returns the flag, and the value if different, that a command has for another tool's word.
func ownFlag(cmd *cobra.Command, word string) string {
	for _, o := range otherWords {
		if o.word != word {
			continue
		}
		for _, name := range o.flags {
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
