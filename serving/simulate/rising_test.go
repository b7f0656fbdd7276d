package simulate_test

import (
	"fmt"
	"testing"

	"throughline/internal/files"
	"throughline/serving"
	"throughline/workload"
)

// TestFirstTokenRises: nobody gets a first token sooner for more clients, nor for longer prompts of
// lengths that differ.
func TestFirstTokenRises(t *testing.T) {
	for _, p := range []struct {
		model, system string
		tp            int
	}{{"Llama-3.1-8B", "L40S", 1}, {"Llama-3.1-70B", "H100_SXM", 8}} {
		for _, name := range []string{"vllm", "sglang", "trtllm"} {
			for _, output := range []int{128, 1024} {
				d := deployment(t, p.model, p.system, name, dense(p.tp, 1))
				most := 0.0
				rises := func(what string, input, clients int, spread string, slack float64) {
					t.Helper()
					n, err := workload.Lengths{Input: input, Output: output}.Spread(files.Machine, spread)
					if err != nil {
						t.Fatal(err)
					}
					seen, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: clients})
					if err != nil {
						t.Fatal(err)
					}
					if seen.TTFT < most*(1-slack) {
						t.Errorf("%s on %s, %s, %d + %d tokens (%s), %d clients: TTFT %v s, with %s %v", p.model, p.system, name, input, output, spread, clients, seen.TTFT, what, most)
					}
					most = max(most, seen.TTFT)
				}
				for _, input := range []int{128, 1024, 4096} {
					for _, spread := range []string{"uniform:0.5", "fixed"} {
						most = 0
						for clients := 1; clients <= 180; clients += 1 + clients/24 {
							rises(fmt.Sprintf("fewer than %d clients", clients), input, clients, spread, 1e-6)
						}
					}
				}
				most = 0
				for input := 64; input <= 8192; input += input / 16 {
					rises("shorter prompts", input, 16, "uniform:0.5", 1e-6)
				}
			}
		}
	}
}
