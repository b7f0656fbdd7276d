package calibrate

import (
	"fmt"
	"strings"
	"testing"

	"throughline/internal/measurement"
)

// TestFromMemory: at 8 TB/s a matrix of 4096 × 2048 bytes takes 1.05 µs, which is noticed in 8 µs,
// not in 80. Six of them stay in the cache of a B200, not in that of an H200; of other devices
// nothing is known.
func TestFromMemory(t *testing.T) {
	rows := func(device string, milliseconds ...float64) int {
		table := "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
		for _, ms := range milliseconds {
			table += fmt.Sprintf("SGLang,0.5.14,%s,gemm,sglang,fp8,1,4096,2048,%g\n", device, ms)
		}
		tab, err := measurement.Read("x.csv", strings.NewReader(table))
		if err != nil || len(tab.Problems) > 0 {
			t.Fatal(err, tab.Problems)
		}
		kept, cached := fromMemory(tab.Rows, Peak{Bandwidth: 8e12})
		if len(kept)+cached != len(milliseconds) {
			t.Errorf("%d kept and %d left out of %d", len(kept), cached, len(milliseconds))
		}
		return len(kept)
	}
	for device, want := range map[string]int{"NVIDIA B200": 1, "NVIDIA H200": 2, "another": 2} {
		if got := rows(device, 0.008, 0.080); got != want {
			t.Errorf("%s: %d rows stay, not %d", device, got, want)
		}
	}
}
