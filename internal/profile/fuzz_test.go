package profile

import (
	"bytes"
	"testing"

	"throughline/internal/test/damage"
)

// FuzzRead: a summary has kernels with shares of the time, or there is an error.
func FuzzRead(f *testing.F) {
	damage.Add(f,
		"Time (%),Total Time (ns),Instances,Name\n60.0,1000,2,flash_fwd\n40.0,600,1,\"gemm<a, b>\"\n",
		`{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "nccl", "dur": 5, "ts": 1}]}`, `[{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5}]`,
		"flash 60%\ngemm 40 %\n", "name|time\na|1\n")
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := readFrom(bytes.NewReader(src))
		if err != nil {
			return
		}
		sum := 0.0
		for _, k := range s.Kernels {
			sum += k.Share
			if !(k.Share >= 0 && k.Share <= 1) {
				t.Errorf("%q has a share of %g", k.Name, k.Share)
			}
		}
		if !(sum > 0) {
			t.Errorf("%d kernels with a share of %g", len(s.Kernels), sum)
		}
	})
}
