package point

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"throughline/hardware"
	"throughline/internal/question"
	"throughline/internal/test/builtin"
)

// step is the seconds of a decode step.
func step(t *testing.T, e *Estimator, q question.Question) float64 {
	t.Helper()
	q.Phase, q.Assume = question.Decode, "physical"
	a, err := e.Answer(&q)
	if err != nil {
		t.Fatalf("%s on %s: %v", q.Model, q.System, err)
	}
	return a.Phases[0].Estimate.StepTime
}

// TestFasterChips: of two chips of one maker and generation, where every peak of the one is at
// least that of the other, the first does not decode more slowly behind the same engine. Hosts that
// exchange in a way of their own are no chips.
func TestFasterChips(t *testing.T) {
	var chips []*hardware.System
	for _, name := range hardware.Catalogue.Names() {
		if s := builtin.System(t, name); s.Generation != "" && s.ExchangeRemark == "" {
			chips = append(chips, s)
		}
	}
	e, pairs := NewEstimator(), 0
	for _, fast := range chips {
		for _, slow := range chips {
			if fast == slow || fast.Maker != slow.Maker || fast.Generation != slow.Generation || !dominates(fast, slow) {
				continue
			}
			pairs++
			for _, c := range []struct {
				model, weights string
				tp, batch      int
			}{{"Llama-3.1-8B", "", 1, 1}, {"Llama-3.1-8B", "int4", 1, 16}, {"Llama-3.1-70B", "", 8, 16}, {"Qwen3-30B-A3B", "", 4, 32}} {
				q := llama()
				q.Model, q.TP, q.Batch, q.Context = c.model, c.tp, c.batch, 2048
				q.Formats.Weights = c.weights
				q.Engine = "vllm"
				q.TP = min(q.TP, slow.MaxProcs())
				q.System = fast.Name
				first := step(t, e, q)
				q.System = slow.Name
				if second := step(t, e, q); first > second*(1+1e-9) {
					t.Errorf("%+v: %s takes %.4g ms, %s %.4g", c, fast.Name, first*1e3, slow.Name, second*1e3)
				}
			}
		}
	}
	if pairs < 20 {
		t.Errorf("%d pairs were compared", pairs)
	}
}

// dominates reports whether every peak of a chip is at least that of another, and its networks
// reach as far.
func dominates(a, b *hardware.System) bool {
	for kind, peak := range b.Matrix {
		if a.Matrix[kind].TFlops < peak.TFlops {
			return false
		}
	}
	for kind, peak := range b.Vector {
		if a.Vector[kind].TFlops < peak.TFlops {
			return false
		}
	}
	if a.Memory.GBps < b.Memory.GBps || len(a.Networks) < len(b.Networks) {
		return false
	}
	for i := range b.Networks {
		if m, n := &a.Networks[i], &b.Networks[i]; m.Bandwidth*m.Efficiency < n.Bandwidth*n.Efficiency || m.Latency > n.Latency || m.Size < n.Size {
			return false
		}
	}
	return true
}

// TestBandwidthFloor: a token of one sequence takes no less than reading the weights of
// Llama-3.1-8B takes at the full bandwidth: 8.03e9 parameters but the 128256 x 4096 of the
// embedding, which is not multiplied.
func TestBandwidthFloor(t *testing.T) {
	const parameters = 8.03e9 - 128256*4096
	e := NewEstimator()
	for _, name := range hardware.Catalogue.Names() {
		s := builtin.System(t, name)
		for format, bytes := range map[string]float64{"bf16": 2, "int4": 0.5} {
			if _, ok := s.Matrix["bfloat16"]; !ok {
				continue
			}
			q := llama()
			q.Model, q.TP, q.Batch, q.Context = "Llama-3.1-8B", 1, 1, 128
			q.System, q.Engine, q.Formats.Weights = name, "none", format
			if took, least := step(t, e, q), parameters*bytes/(s.Memory.GBps*1e9); took < least {
				t.Errorf("%s in %s: %.3g ms, its memory needs %.3g", name, format, took*1e3, least*1e3)
			}
		}
	}
}

// TestSameDie: the two files of the die of an Ascend 910C give the same steps, in whatever number
// format.
func TestSameDie(t *testing.T) {
	e := NewEstimator()
	for _, weights := range []string{"bf16", "int8", "w4a8", "int4", "fp8"} {
		for _, engine := range []string{"vllm", "none"} {
			q := llama()
			if weights == "fp8" && engine != "none" {
				continue // which engines refuse there
			}
			q.Model, q.TP, q.Batch, q.Context, q.Engine, q.Formats.Weights = "Llama-3.1-70B", 8, 16, 2048, engine, weights
			took := map[string]float64{}
			for _, name := range []string{"Ascend_910C", "910C_with_1die"} {
				q.System = name
				took[name] = step(t, e, q)
			}
			if values := slices.Sorted(maps.Values(took)); values[0] != values[1] {
				t.Error(fmt.Sprint(weights, " behind ", engine, ": ", took))
			}
		}
	}
}
