package runs

import (
	"bytes"
	"encoding/csv"
	"testing"

	"throughline/internal/test/damage"
)

// FuzzResults: whatever a load generator writes is refused with a reason, or becomes a table whose
// rows have as many cells as its header.
func FuzzResults(f *testing.F) {
	damage.Add(f,
		`{"max_concurrency": 64, "completed": 640, "total_input_tokens": 655360, "total_output_tokens": 655360, "mean_ttft_ms": 350, "mean_tpot_ms": 23.5, "request_rate": Infinity}`,
		"{\"backend\":\"vllm\",\"request_throughput\":1.5,\"p99_ttft_ms\":1e3}\n{\"backend\":\"sglang\\\"\",\"mean_itl_ms\":NaN}\n",
		`[{"hw":"h200","conc":4,"tp":8,"mean_ttft":0.2,"mean_tpot":0.01}]`)
	f.Fuzz(func(t *testing.T, src []byte) {
		list, err := Results(src)
		if err != nil {
			return
		}
		text, err := table(list)
		if err != nil {
			return
		}
		if _, err := csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	})
}
