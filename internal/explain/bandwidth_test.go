package explain

import (
	"fmt"
	"testing"

	"throughline/hardware"
	"throughline/internal/question"
	"throughline/op"
	"throughline/workload"
)

// The kernel of an activation that multiplies by the gate reads two inputs and writes one output:
// of llama-3-8B 14336 elements of 2 bytes each for every token and layer, whatever the two
// operators move on their own.
func TestActivationMoves(t *testing.T) {
	x := explained(t, estimated(t, op.Decode, func(p *question.Question) {
		p.System, p.Batch, p.Assume = "L40S", 100_000, "physical"
	}), workload.Limits{})
	for _, o := range x.Operators {
		if o.Name == "activation" {
			const bytes, bandwidth = 32 * 100_000 * 3 * 14336 * 2, 864e9
			_, ofBandwidth := o.Use()
			near(t, "activation of bandwidth", ofBandwidth, bytes/(o.Executions()*o.Exposed)/bandwidth, 1e-9)
			return
		}
	}
	t.Error("no activation")
}

// TestWithinPeaks: no operator does more than the peak of its unit or the bandwidth of the memory,
// on any built-in system, for steps from one token to more than fit.
func TestWithinPeaks(t *testing.T) {
	for _, system := range hardware.Catalogue.Names() {
		for _, c := range []struct {
			model string
			dp    int
		}{{"llama_3_8b", 1}, {"deepseek_v3_flash_mla_absorb", 8}, {"Qwen3-Next-80B-A3B", 1}, {"gpt-oss-20b", 1}} {
			for _, phase := range []op.Phase{op.Prefill, op.Decode} {
				for _, batch := range []int{1, 64, 4096, 100_000} {
					a := estimated(t, phase, func(p *question.Question) {
						p.Model, p.System, p.DP, p.Batch, p.Assume, p.Engine = c.model, system, c.dp, batch, "physical", "none"
					})
					for _, o := range explained(t, a, workload.Limits{}).Operators {
						ofPeak, ofBandwidth := o.Use()
						if at := fmt.Sprintf("%s on %s, phase %d, batch %d: %s", c.model, system, phase, batch, o.Name); ofBandwidth > 1+1e-9 || ofPeak > 1+1e-9 {
							t.Errorf("%s: %.3f of the bandwidth, %.3f of the peak", at, ofBandwidth, ofPeak)
						}
					}
				}
			}
		}
	}
}
