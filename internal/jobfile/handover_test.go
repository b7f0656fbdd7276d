package jobfile_test

import (
	"fmt"
	"testing"

	"throughline/assume"
	"throughline/internal/files"
	"throughline/internal/jobfile"
)

// TestHandover: the cache goes to the decode system, between pools that lie side by side. Where
// they are searched, they may take all processors; given ones leave spare processors outside.
func TestHandover(t *testing.T) {
	const file = `{%q: {
		"model_list": ["llama_3_8b"], "sequence_length_list": [[128, 64]], "num_procs_list": [16], %s
		"wac_bytes_list": [[1, 1, 1, 1]], "flops_type_list": [["float8", "float8", "float16"]],
		"time_limit_list": [[null, null]], "sys_list": [%s], "output": "out"
	}}`
	for _, c := range []struct {
		mode, pools, systems string
		span                 int // 0: none
	}{
		{"pd-fusion", "", `"H800_IB"`, 0},
		{"pd-split-request-optimal", "", `["H800_IB", "SOW-S1"]`, 16},
		{"pd-split-request-optimal", `"pd_num_procs_list": [[2, 3]],`, `["H800_IB", "SOW-S1"]`, 5},
	} {
		jobs, _, err := jobfile.Read(files.Machine, "test.json", fmt.Appendf(nil, file, c.mode, c.pools, c.systems), &assume.Reference)
		if err != nil {
			t.Fatal(err)
		}
		r := jobs[0].At(0)
		if r.Decode.Handover != nil {
			t.Errorf("%s: a decode hands its cache over", c.mode)
		}
		h := r.Prefill.Handover
		if c.span == 0 {
			if h != nil {
				t.Errorf("%s: a cache that stays is handed over", c.mode)
			}
			continue
		}
		if h == nil || h.Span != c.span || h.System.Name != r.Decode.System.Name || h.System.Name == r.Prefill.System.Name {
			t.Errorf("%s with pools %q: handover %+v, want one within %d processors to the decode system", c.mode, c.pools, h, c.span)
		}
	}
}
