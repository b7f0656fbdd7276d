package estimate

import (
	"throughline/op"
	"throughline/plan"
)

// Offload is the shares of the weights and of the KV cache that lie in the second memory tier.
type Offload struct {
	Weights, Cache float64
	// Host is the GB/s at which the host runs the layers that it holds in steps of few tokens, one
	// after another with the processor's; 0: the processor reads what lies there. Embedding and
	// output head then stay with the processor. Link is the GB/s at which weights of other steps
	// cross the link there.
	Host, Link float64
}

// hostTokens is the least tokens of a step whose layers the processor runs for the host, reading
// the weights over the link (ggml_backend_cuda_device_offload_op of llama.cpp).
const hostTokens = 32

// offload moves the shares of what was lowered to the second tier.
func (e *Evaluator) offload(m *Memory) {
	o := e.problem.Offload
	if o == (Offload{}) {
		return
	}
	for b := range m.Weights {
		moved := m.Weights[b]
		if o.Host > 0 && e.problem.Assume.Ends {
			ends, _ := residence(e.ends.list.Of(op.Block(b)))
			moved -= ends
		}
		moved *= o.Weights
		m.Second += moved
		m.Weights[b] -= moved
	}
	m.Second += o.Cache * m.Cache
	m.Cache *= 1 - o.Cache
}

// second is how long a stage takes with what it has in the second tier, and the share of its own
// time that passes meanwhile.
func (e *Evaluator) second(p *plan.Plan, s *op.Step) (seconds, beside float64) {
	o := e.problem.Offload
	weights, cache := e.reads(&e.stage.list)
	if o.Host == 0 && e.problem.Assume.Ends {
		ends, _ := e.reads(&e.ends.list)
		weights += ends / float64(p.Attention.PP)
	}
	bytes := o.Weights*weights + o.Cache*cache
	tier := e.system.Memory2
	gbps := tier.GBps * tier.Efficiency.At(bytes/1e6)
	switch {
	case o.Host == 0:
		beside = 1
	case s.Tokens() < hostTokens:
		gbps, beside = o.Host, o.Weights // the share of the layers that the processor does not run
	default:
		gbps = o.Link
	}
	return bytes / (gbps * e.problem.Assume.BytesPerGB), beside
}

// reads is the weights and the cache that a list of operators reads: of experts those visited.
func (e *Evaluator) reads(list *op.List) (weights, cache float64) {
	ops := list.All()
	for i := range ops {
		weights += ops[i].Repeat * ops[i].Weights
		cache += ops[i].Repeat * ops[i].Cache
	}
	return weights, cache
}
