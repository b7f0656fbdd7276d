package cost

import (
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/op"
	"throughline/plan"
)

// Peaks of a system file in operations and bytes per second, as kernels are calibrated: whatever a unit means to the
// formulas of a preset, a measured time stays what it is.
const (
	flopsPerTFlop = 1e12
	bytesPerGB    = 1e9
)

// kernels are the calibrated ones that a deployment runs, at the peaks of its system.
type kernels struct {
	bound *kernel.Bound // nil: none
	set   *kernel.Set
	types kernel.Types
	paces [kernel.PeakCount]kernel.Pace
	node  int // processors of the innermost network

	message kernel.Shape // of the communication that is being priced
}

// on takes the kernels of a system, at its peaks. Only another set, or another choice of number types, has to be bound
// anew.
func (k *kernels) on(s *hardware.System, prec *plan.Precision, phase op.Phase) {
	set := s.Kernels
	if set == nil {
		k.bound, k.set = nil, nil
		return
	}
	wide := wideType(s)
	if k.set != set || k.types.Wide != wide {
		k.set = set
		k.types = kernel.Types{
			Matrix: prec.MatrixType, Attention: prec.AttentionType, Cache: cacheTypes[prec.Cache], Wide: wide,
			Weight: prec.Weight, Comm: prec.Comm,
		}
		k.bound = set.Bind(k.types)
	}
	// Through a long prefill the clocks are lower, which memory does not feel.
	sustained := 1.0
	if phase == op.Prefill && set.Sustained > 0 {
		sustained = set.Sustained
	}
	perByte := 1 / (s.Memory.GBps * bytesPerGB)
	pace := func(numberType string) kernel.Pace {
		return kernel.Pace{Flop: 1 / (s.Matrix[numberType].TFlops * flopsPerTFlop * sustained), Byte: perByte}
	}
	k.paces[kernel.MemoryPeak] = kernel.Pace{Byte: perByte}
	k.paces[kernel.MatrixPeak] = pace(prec.MatrixType)
	k.paces[kernel.AttentionPeak] = pace(prec.AttentionType)
	if wide != "" {
		k.paces[kernel.WidePeak] = pace(wide)
	}
	outside := &s.Networks[min(1, len(s.Networks)-1)]
	k.paces[kernel.LinkPeak] = kernel.Pace{
		Byte: 1 / (s.Networks[0].Bandwidth * bytesPerGB), Far: 1 / (outside.Bandwidth * bytesPerGB),
	}
	k.node = s.Networks[0].Size
}

// cacheTypes are the number types of a KV cache, by the bytes of an element.
var cacheTypes = map[float64]string{1: "float8", 2: "bfloat16"}

// wideType is a type of 16 bits that the chip multiplies in, empty where it has none.
func wideType(s *hardware.System) string {
	for _, t := range [...]string{"bfloat16", "float16"} {
		if _, ok := s.Matrix[t]; ok {
			return t
		}
	}
	return ""
}

// seconds is the time of an operator as its kernel takes it; false where that is not calibrated.
func (k *kernels) seconds(o *op.Op) (float64, bool) {
	t, b := k.bound.For(o.Kernels[0])
	if t == nil {
		if t, b = k.bound.For(o.Kernels[1]); t == nil {
			return 0, false
		}
	}
	return t.Seconds(&k.paces[b.Peak], &o.Shape), true
}

// uncovered is what an operator takes beyond the roofline where no kernel of its kind is calibrated: no product is shorter
// than a kernel. Element-wise operators belong to whatever they are fused with.
func (k *kernels) uncovered(o *op.Op) float64 {
	if o.Class != op.Linear && o.Class != op.BMM || o.Kernels[1].Role == kernel.Within {
		return 0
	}
	return k.bound.Launch
}

// unitsTaken is the share of the processors of a chip that kernels of communication occupy while they run. Those of DeepEP for
// throughput take 20 (num_sms in deep_ep/buffer.py) of the 132 of a Hopper, and SGLang leaves its products the others
// (_compute_moe_deepseek_blog_prefill in operations_strategy.py). Those for low latency take none while data are on their
// way (github.com/deepseek-ai/DeepEP, "a hook-based method").
var unitsTaken = [kernel.SlotCount]float64{kernel.DispatchNormal: 20.0 / 132, kernel.CombineNormal: 20.0 / 132}

// sending is the kernel of a communication operator over as many nodes as it takes, nil where none was measured over so
// many; the shape of the message is in k.
func (k *kernels) sending(o *op.Op) (kernel.Timing, *kernel.Binding) {
	nodes := (int(o.Span) + k.node - 1) / k.node
	for _, u := range o.Kernels {
		if t, b := k.bound.For(u); t != nil && float64(nodes) <= b.Nodes {
			k.message = o.Shape
			k.message.Nodes = int16(nodes)
			return t, b
		}
	}
	return nil, nil
}
