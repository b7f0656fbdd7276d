package simulate

import (
	"bytes"
	"testing"

	"throughline/internal/test/damage"
)

// FuzzTable: each step of a measured table has sizes and a time that can be looked up, or its line
// is named.
func FuzzTable(f *testing.F) {
	damage.Add(f, "model,kind,n_decode,sum_ctx,prefill_tokens,prefill_seqs,past_per_seq,wall_ms,gpu_ms\nm,mixed,4,4096,512,1,0,12.5,11\nm,decode,8,8192,0,0,0,9,8\n",
		"gpu_ms,n_decode\n5,1\n6,2\n")
	f.Fuzz(func(t *testing.T, src []byte) {
		rows, err := ReadTable(bytes.NewReader(src), "m")
		if err != nil {
			if err.Error() == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		for _, r := range rows {
			if !(r.Seconds > 0 && r.Seconds < 1e9) || r.Decodes < 0 || r.Context < 0 || r.Tokens < 0 || r.Prompts < 0 || r.Past < 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}
