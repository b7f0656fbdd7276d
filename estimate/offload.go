package estimate

import "throughline/op"

// Offload is the shares of the weights and of the KV cache that lie in the second memory tier.
type Offload struct{ Weights, Cache float64 }

func (m *Memory) offload(o Offload) {
	if o == (Offload{}) {
		return
	}
	for b := range m.Weights {
		m.Second += o.Weights * m.Weights[b]
		m.Weights[b] *= 1 - o.Weights
	}
	m.Second += o.Cache * m.Cache
	m.Cache *= 1 - o.Cache
}

// linkTime is how long the second tier takes to deliver what a stage reads from it in a step.
func (e *Evaluator) linkTime(m *Memory) float64 {
	o, tier := e.problem.Offload, e.system.Memory2
	var cache float64
	ops := e.stage.list.All()
	for i := range ops {
		cache += ops[i].Repeat * ops[i].Cache
	}
	bytes := o.Weights*(m.Weights[op.AttentionBlock]+m.Weights[op.MLPBlock]) + o.Cache*cache
	return bytes / (tier.GBps * e.problem.Assume.BytesPerGB * tier.Efficiency.At(bytes/1e6))
}
