package op

import (
	"throughline/hardware"
	"throughline/hardware/kernel"
)

// Operations per element of vector operators in the reference tool's layer model. Its sample output
// implies RMS norm, softmax and SiLU; GELU and sigmoid, which it does not contain, are chosen.
const (
	normFlops    = 7
	softmaxFlops = 5
	siluFlops    = 3
	geluFlops    = 8
	sigmoidFlops = 2
	capFlops     = 3 // divided by the bound, tanh, multiplied by it
)

// add starts an operator of the current block.
func (s *stage) add(k Kind, u Unit) *Op {
	o := s.list.next()
	info := &s.kinds[k]
	o.Kind, o.Class, o.Unit, o.Phase, o.Repeat = k, info.Class, u, s.phase, s.repeat
	o.Kernels, o.Module = info.Kernels, info.Module
	return o
}

// attending starts an operator of the attention of one phase.
func (s *stage) attending(k Kind, u Unit, p *part) *Op {
	o := s.add(k, u)
	o.Phase = p.phase
	return o
}

// linear multiplies m tokens by a weight matrix of in × out.
func (s *stage) linear(k Kind, m, in, out float64) {
	s.linears(k, 1, m, m, in, out)
}

// linears multiplies m tokens by count matrices of in × out, each of which sees rows of them.
func (s *stage) linears(k Kind, count, rows, m, in, out float64) {
	o := s.add(k, MatrixUnit)
	if s.plan.FusedQuantise && s.kinds[k].Normed {
		o.Kernels[0].Role = kernel.Bare
	}
	f := &s.formats[o.Module]
	o.Flops = 2 * m * in * out
	o.Weights = count * in * out * f.Weight
	o.Resident = o.Weights
	o.Activations = m * (in*f.Activation + out*s.r)
	o.Output = m * out * s.r
	o.M, o.N, o.K = rows, out, in
	o.Count, o.Rows = count, rows
}

func (s *stage) norm(k Kind, n, weights float64) {
	o := s.add(k, VectorUnit)
	o.Flops = normFlops * n
	o.Weights = weights * s.w
	o.Resident = o.Weights
	o.Activations = 2 * n * s.r
	o.Output = n * s.r
	o.Rows, o.Moved = n/weights, o.Weights+o.Activations // the weights are as wide as a row
	if n == 0 {
		o.Rows = 1 // without prompt ends the last norm reads only its weights
	}
}

// unary reads and writes n elements, with a number of operations on each.
func (s *stage) unary(k Kind, n, flops float64) *Op {
	o := s.add(k, VectorUnit)
	o.Flops = flops * n
	o.Activations = 2 * n * s.r
	o.Output = n * s.r
	o.Moved = o.Activations
	return o
}

// activate applies the activation function to n elements. Its kernel also multiplies by the gate:
// of the two inputs and one output the operator counts two, the multiplication the rest.
func (s *stage) activate(k Kind, n, flops float64) {
	s.unary(k, n, flops).Moved = 3 * n * s.r
}

// binary combines two inputs of n elements into one output.
func (s *stage) binary(k Kind, n float64) *Op {
	o := s.add(k, VectorUnit)
	o.Flops = n
	o.Activations = 3 * n * s.r
	o.Output = n * s.r
	o.Moved = o.Activations
	return o
}

// softmax over n scores runs within the attention kernel or is fused like element-wise operators.
func (s *stage) softmax(n float64, attention kernel.Uses) {
	o := s.add(Softmax, VectorUnit)
	o.Kernels = kernel.Uses{{Slot: attention[0].Slot, Role: kernel.Within}, withinActivation[0]}
	o.Flops = softmaxFlops * n
	if s.attn.ScoreCap {
		o.Flops += capFlops * n
	}
	if !s.flash {
		o.Activations = 2 * n * s.r
		o.Output = n * s.r
	}
}

// within marks kernels as charged to another operator.
func within(kernels kernel.Uses) kernel.Uses {
	for i := range kernels {
		kernels[i].Role = kernel.Within
	}
	return kernels
}

// send makes the operator a communication in a group of processors that lie stride apart.
func (s *stage) send(o *Op, c hardware.Collective, bytes float64, group, stride int) {
	s.list.comm[s.list.comms] = uint8(s.list.n - 1)
	s.list.comms++
	o.Moved = bytes
	o.Collective, o.Group, o.Span = c, int32(group), int32(group*stride)
	if s.assume.Borders {
		o.World = int32(s.plan.Attention.Procs())
	}
	o.Kernels = patterns[c]
}

// patterns are the kernels of collectives.
var patterns = [hardware.CollectiveCount]kernel.Uses{
	hardware.ReduceScatter: {{Slot: kernel.ReduceScatter}}, hardware.AllGather: {{Slot: kernel.AllGather}},
	hardware.AllReduce: {{Slot: kernel.AllReduce}}, hardware.AllToAll: {{Slot: kernel.AllToAll}},
}

// allReduce adds up n elements over the tensor-parallel ranks.
func (s *stage) allReduce(k Kind, n float64) {
	tp := s.plan.Attention.TP
	if tp == 1 || s.sequenceParallel() {
		return
	}
	o := s.add(k, VectorUnit)
	o.Flops = n * float64(tp-1) / float64(tp)
	o.Activations = 2 * n * s.r
	o.Output = n * s.r
	s.send(o, hardware.AllReduce, n*s.q, tp, 1)
	if s.plan.Staged.Holds(n * s.r) {
		copies := s.unary(stagedCopies[o.Kind], n, 0)
		copies.Repeat *= 2
	}
}

// stagedCopies are the copies into the buffer of an all-reduce and out of it.
var stagedCopies = map[Kind]Kind{AttentionAllReduce: AttentionReduceCopy, MLPAllReduce: MLPReduceCopy}

// gather collects n elements from the tensor-parallel ranks in front of a tensor-parallel part.
func (s *stage) gather(k Kind, n float64) {
	if !s.sequenceParallel() {
		return
	}
	tp := s.plan.Attention.TP
	o := s.add(k, VectorUnit)
	o.Activations = (n/float64(tp) + n) * s.r
	o.Output = n * s.r
	s.send(o, hardware.AllGather, n*s.q, tp, 1)
}

// scatter reduces n elements and leaves each tensor-parallel rank its share, behind such a part.
func (s *stage) scatter(k Kind, n float64) {
	if !s.sequenceParallel() {
		return
	}
	tp := s.plan.Attention.TP
	o := s.add(k, VectorUnit)
	o.Flops = n * float64(tp-1) / float64(tp)
	o.Activations = (n + n/float64(tp)) * s.r
	o.Output = n / float64(tp) * s.r
	s.send(o, hardware.ReduceScatter, n*s.q, tp, 1)
}

// Kernels of dispatch and combine. Engines decode with those for low latency.
var (
	dispatching = [PhaseCount]kernel.Uses{
		Decode: {{Slot: kernel.DispatchLowLatency}, {Slot: kernel.AllToAll}}, Prefill: {{Slot: kernel.DispatchNormal}, {Slot: kernel.AllToAll}},
	}
	combining = [PhaseCount]kernel.Uses{
		Decode: {{Slot: kernel.CombineLowLatency}, {Slot: kernel.AllToAll}}, Prefill: {{Slot: kernel.CombineNormal}, {Slot: kernel.AllToAll}},
	}
)

// exchange is one direction of the expert all-to-all: every processor sends n elements, in tokens
// of the given width, through buffers (in the reference tool for the whole group). All wait for the
// busiest, which handles crowd times the mean. Slow scales the tokens of measured exchanges; 0 is
// 1.
func (s *stage) exchange(k Kind, kernels *[PhaseCount]kernel.Uses, n, width, bytes, crowd, slow float64) {
	ep := s.plan.Experts.EP
	o := s.add(k, VectorUnit)
	buffers := n
	if s.assume.ExchangeBuffers {
		buffers *= float64(ep)
	}
	o.Activations = 2 * buffers * s.r
	o.Output = buffers * s.r
	o.M, o.N, o.K = s.cardTokens*crowd, float64(s.model.Experts.TopK), width
	o.Rows = o.M * slow
	e := &s.model.Experts
	o.Experts, o.Groups, o.Limit = int32(e.Routed), int16(e.Groups), int16(e.TopGroups)
	s.send(o, hardware.AllToAll, n*bytes*crowd, ep, s.plan.Experts.TP)
	o.Kernels = kernels[s.phase]
}

// slices shares n elements between the processors that hold slices of the same experts.
func (s *stage) slices(k Kind, c hardware.Collective, n float64) {
	if tp := s.plan.Experts.TP; tp > 1 {
		s.send(s.add(k, VectorUnit), c, n*s.q, tp, 1)
	}
}

// ring passes keys and values around the processors that share a context.
func (s *stage) ring(elements float64) {
	if cp := s.plan.Attention.Context(); cp > 1 {
		s.handOn(s.context() / float64(cp) * elements * s.q)
	}
}

// handOn passes bytes from one part of the context to the next, until all have had them.
func (s *stage) handOn(bytes float64) {
	cp := s.plan.Attention.Context()
	if cp == 1 {
		return
	}
	o := s.add(RingExchange, VectorUnit)
	o.Repeat *= float64(cp - 1)
	s.send(o, hardware.PointToPoint, bytes, cp, s.plan.Attention.TP)
}
