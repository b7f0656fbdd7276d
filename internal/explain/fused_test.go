package explain

import (
	"slices"
	"testing"

	"throughline/internal/question"
	"throughline/op"
	"throughline/workload"
)

// The experts of DeepSeek-V3 on an H200 run in one kernel, whose time is that of their first
// product: its share of the peak and of the bandwidth counts gate, up and down. The attention of a
// decode step likewise counts scores and values.
func TestFusedPartnersCount(t *testing.T) {
	for _, c := range []struct {
		phase         op.Phase
		head, partner string
		within        []string
	}{
		{op.Decode, "expert gate and up", "expert down", []string{"expert activation", "expert gate multiply", "expert quantise", "expert down", "expert weighting"}},
		{op.Prefill, "expert gate and up", "expert down", []string{"expert activation", "expert gate multiply", "expert quantise", "expert down", "expert weighting"}},
		{op.Decode, "scores", "values", []string{"softmax", "values"}},
	} {
		x := explained(t, estimated(t, c.phase, func(p *question.Question) {
			p.Model, p.System, p.Formats.Weights, p.DP, p.Batch = "deepseek_v3_flash_mla_absorb", "H200", "fp8", 8, 16
			p.Assume = "physical"
		}), workload.Limits{})
		var flops, bytes, seconds, ofPeak, ofBandwidth float64
		for _, o := range x.Operators {
			if o.Name == c.head || o.Name == c.partner {
				flops += o.Executions() * o.Flops
			}
			if o.Name == c.head {
				seconds = o.Executions() * o.Exposed
				ofPeak, ofBandwidth = o.Use()
			}
			if o.Name == c.partner && o.Exposed != 0 {
				t.Errorf("%s takes a time of its own", c.partner)
			}
			if o.Name == c.head || slices.Contains(c.within, o.Name) {
				bytes += o.Executions() * o.Bytes()
			}
		}
		peak := 1979e12 // of an H200 in fp8; attention computes in bf16
		if c.head == "scores" {
			peak = 989e12
		}
		near(t, c.head+" of peak", ofPeak, flops/seconds/peak, 1e-9)
		near(t, c.head+" of bandwidth", ofBandwidth, bytes/seconds/4.8e12, 1e-9)
	}
}
