package rawdata

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"throughline/internal/document"
	"throughline/internal/test/damage"
)

// FuzzRead: the runs of a sheet have numbers that sheets can hold, or problems that name it.
func FuzzRead(f *testing.F) {
	damage.Add(f, "model,backend,system,isl,osl,clients,tpot_ms,ttft_ms\nLlama-3.1-8B,vllm,H200,1024,1024,16,6.5,60\n\"a\nb\",\"=1\",x,,1e3,,inf,nan\n")
	f.Fuzz(func(t *testing.T, src []byte) {
		rows, err := Read(bytes.NewReader(src), "runs.csv")
		var problems *document.Error
		if err != nil && !errors.As(err, &problems) {
			t.Errorf("an error without a place: %v", err)
		}
		for _, row := range rows {
			for _, v := range row {
				if x, ok := v.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
					t.Errorf("%g is no number", x)
				}
			}
		}
	})
}
