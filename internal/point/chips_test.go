package point

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// apart are chips whose kernels were measured apart, where the faster one measured slower: by how
// much a step may be longer, a quarter above what the longest here is, and which kernels are.
var apart = []struct {
	fast, slow string
	by         float64
	why        string
}{
	{"GB200_NVL72", "B200", 0.08, "aiconfigurator's tables: 8 GPUs are on two trays, and NCCL reduces in 8.5 us there, in 6.4 on a board; decodes of few sequences take 10.1 and 8.9 us"},
	{"GB300_NVL72", "B300", 0.08, "kernels are those of GB200 and B200"},
	{"GB200_NVL72", "B300", 0.08, "kernels are those of GB200 and B200"},
	{"GB300_NVL72", "B200", 0.08, "kernels are those of GB200 and B200"},
	{"H200", "H100_SXM", 0.07, "routing is in the experts of the H100's table and beside those of the H200's; the two fits of experts in 16 bits miss their tables by 6.8 and 6.1% on average"},
	{"H200", "H800", 0.07, "experts are those of the H100"},
	{"H200", "H800_IB", 0.07, "experts are those of the H100"},
	{"H100_SXM", "H800", 0.06, "prompts of latent attention: InferSim ran FlashAttention 3 by itself on the H800, aiconfigurator SGLang's layer on the H100"},
	{"H100_SXM", "H800_IB", 0.06, "as H800"},
	{"H800", "H100_SXM", 0.06, "blocks of FP8 with one row: DeepGEMM by InferSim on the H800, by SGLang on the H100"},
	{"H800_IB", "H100_SXM", 0.06, "as H800"},
	{"H200", "H20_141G", 0.12, "attention of few decodes: PyTorch with cold caches on the H200, FlashInfer with warm ones on the H20 (InferSim), 12.6 and 9 us"},
	{"H200", "H20_96G", 0.07, "as H20_141G"},
	{"H200_NVL", "H20_141G", 0.05, "kernels are those of the H200"},
	{"GH200", "H20_141G", 0.05, "kernels are those of the H200"},
}

// cases are the steps that chips are compared by.
func cases(each func(question.Question)) {
	for _, engine := range []string{"vllm", "sglang", "trtllm"} {
		for _, m := range []struct{ name, weights string }{
			{"Llama-3.1-8B", ""}, {"Llama-3.1-8B", "int4"}, {"Llama-3.1-70B", "fp8"}, {"Mixtral-8x7B", ""},
			{"Qwen3-30B-A3B", ""}, {"Qwen3-235B-A22B", "fp8"}, {"DeepSeek-V3", ""}, {"gpt-oss-120b", ""},
		} {
			for _, tp := range []int{1, 8} {
				for _, batch := range []int{1, 16, 128} {
					q := llama()
					q.Model, q.Formats.Weights, q.Engine, q.TP, q.Batch, q.Assume = m.name, m.weights, engine, tp, batch, "physical"
					q.Phase, q.Context = question.Decode, 2048
					each(q)
					if batch < 128 {
						q.Phase, q.Context, q.Input, q.Output = question.Prefill, 0, 2048, 1
						each(q)
					}
				}
			}
		}
	}
}

// TestFasterChips: of two chips of one maker and generation, where every peak of the one is at
// least that of the other, the first is not slower in any step behind the same engine with the same
// tiles of experts. GeForce cards are one family, but for formats that not all of them compute in.
func TestFasterChips(t *testing.T) {
	var chips []*hardware.System
	for _, name := range hardware.Catalogue.Names() {
		if s := builtin.System(t, name); s.Generation != "" {
			chips = append(chips, s)
		}
	}
	e, pairs, steps := NewEstimator(), map[string]bool{}, 0
	cases(func(q question.Question) {
		fp8 := q.Formats.Weights == "fp8" || q.Model == "DeepSeek-V3"
		took, untuned := map[string]float64{}, map[string]bool{}
		for _, s := range chips {
			q.System = s.Name
			if q.TP > s.MaxProcs() {
				continue
			}
			if a, err := e.Answer(&q); err == nil { // others cannot run it
				p := &a.Phases[0]
				took[s.Name], untuned[s.Name] = p.Estimate.StepTime, a.Deployment.Of(p.Phase).Plan.UntunedExperts
			}
		}
		for _, fast := range chips {
			for _, slow := range chips {
				a, b := took[fast.Name], took[slow.Name]
				if a == 0 || b == 0 || fp8 && fast.Generation != slow.Generation || !family(fast, slow) || untuned[fast.Name] != untuned[slow.Name] || !dominates(fast, slow, q.TP > 1) {
					continue
				}
				pairs[fast.Name+" "+slow.Name] = true
				steps++
				if a > b*(1+most(fast.Name, slow.Name)) {
					t.Errorf("%s: %s %s %s over %d, batch %d: %.4g ms, %s %.4g (%+.1f%%)",
						fast.Name, q.Engine, q.Model, q.Phase, q.TP, q.Batch, a*1e3, slow.Name, b*1e3, 100*(a/b-1))
				}
			}
		}
	})
	if len(pairs) < 40 || steps < 6000 {
		t.Errorf("%d pairs were compared in %d steps", len(pairs), steps)
	}
}

// family reports whether two chips are of one maker and generation, or both GeForce cards.
func family(a, b *hardware.System) bool {
	geforce := func(s *hardware.System) bool { return strings.HasPrefix(s.Name, "RTX_") && s.ExchangeRemark != "" }
	return a != b && a.Maker == b.Maker && (a.Generation == b.Generation || geforce(a) && geforce(b))
}

// most is the share by which a faster chip may be behind another.
func most(fast, slow string) float64 {
	for _, p := range apart {
		if p.fast == fast && p.slow == slow {
			return p.by
		}
	}
	return 1e-9
}

// dominates reports whether every peak of a chip is at least that of another, but for what two
// tables of the same module round differently, and, where it communicates, its networks are of the
// same kind and reach as far. GPUs without peer-to-peer exchange by way of their host.
func dominates(a, b *hardware.System, communicates bool) bool {
	const rounded = 0.999
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
	if a.Memory.GBps < rounded*b.Memory.GBps || a.Power != nil && b.Power != nil && a.Power.Limit < b.Power.Limit {
		return false
	}
	if !communicates {
		return true
	}
	if len(a.Networks) < len(b.Networks) || a.ExchangeRemark != "" && b.ExchangeRemark == "" {
		return false
	}
	for i := range b.Networks {
		if m, n := &a.Networks[i], &b.Networks[i]; m.Bandwidth*m.Efficiency < n.Bandwidth*n.Efficiency || m.Latency > n.Latency || m.Size < n.Size || m.Topology != n.Topology {
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
