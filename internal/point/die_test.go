package point

import (
	"math"
	"testing"

	"throughline/internal/question"
	"throughline/op"
)

// TestOneDie: H100, H200 and H800 have one die, whose products run alike. Where operations decide,
// what they take apart from communication agrees within 15%, dense and with experts, in 16 bits and
// in 8, and with experts of 4.
func TestOneDie(t *testing.T) {
	dense := llama()
	dense.Model, dense.TP = "llama_3_70b", 8
	narrow := dense
	narrow.Formats.Weights = "fp8"
	wide := deepseek()
	wide.DP = 32
	sliced := deepseek()
	sliced.TP, sliced.MoETP, sliced.EP = 16, 16, 1
	unpacked := dense
	unpacked.Model, unpacked.TP, unpacked.Formats.Weights = "Mixtral-8x7B", 1, "int4"
	for name, p := range map[string]question.Question{
		"dense": dense, "dense in 8 bits": narrow, "experts": wide, "slices of experts": sliced, "experts of 4 bits": unpacked,
	} {
		p.Batch, p.Input, p.Output = 4, 4096, 1
		times := map[string]float64{}
		systems := []string{"H100_SXM", "H800", "H200"}
		if name == "slices of experts" {
			systems = systems[:2] // bytes decide as well, which the H200 moves faster
		}
		for _, system := range systems {
			p.System = system
			r := estimated(t, p, op.Prefill)
			times[system] = r.Estimate.StepTime - r.Shares.Communication
		}
		for _, a := range times {
			for _, b := range times {
				if math.Abs(a/b-1) > 0.15 {
					t.Fatalf("%s: %v", name, times)
				}
			}
		}
	}
}
