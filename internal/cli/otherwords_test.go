package cli

import (
	"strings"
	"testing"
)

// TestOtherWords: a flag that other tools call otherwise is named by the word of this one; each
// word means a flag that some command has, and is none itself.
func TestOtherWords(t *testing.T) {
	for args, want := range map[string]string{
		"simulate --clients 3":    "throughline: unknown flag --clients; here it is --concurrency",
		"bench --clients 3":       "throughline: unknown flag --clients; here it is --concurrency",
		"simulate --burstiness 3": "throughline: unknown flag --burstiness; here it is --arrival gamma:CV, where CV is 1/√burstiness",
		"plan --num-gpus 3":       "throughline: unknown flag --num-gpus; here it is --gpus",
		"check --clients 3":       "throughline: unknown flag --clients; throughline check --help lists the flags",
		"simulate --zebra 3":      "throughline: unknown flag --zebra; throughline simulate --help lists the flags",
		"estimate -tp 8":          "throughline: unknown flag -tp; did you mean --tp?",
	} {
		code, out, said := attempt(strings.Fields(args)...)
		if first, _, _ := strings.Cut(said, "\n"); code != exitBadInput || out != "" || first != want {
			t.Errorf("%s: exit code %d, said %q, want %q", args, code, first, want)
		}
	}
	all := every(newRoot(Streams{}))
	for _, o := range otherWords {
		for word := range strings.FieldsSeq(o.words) {
			known := 0
			for _, cmd := range all {
				if ownFlag(cmd, word) != "" {
					known++
					if cmd.Flags().Lookup(word) != nil {
						t.Errorf("%s has a flag --%s itself", cmd.Name(), word)
					}
				}
			}
			if known == 0 {
				t.Errorf("no command has what --%s means", word)
			}
		}
	}
}
