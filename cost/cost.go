// Package cost prices operators on hardware: how long one takes, and which resource bound it. It knows rates, bytes and
// messages, not what an attention is.
package cost

import (
	"fmt"

	"throughline/assume"
	"throughline/collective"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
)

// Cost is the price of one execution of an operator, in seconds.
type Cost struct {
	Compute float64 // at the rate of its unit
	Memory  float64 // its traffic at the memory bandwidth
	Time    float64 // what it adds to the step
	Exposed float64 // of Time: communication that computation does not hide
	// ComputeBound tells which of the two sides decided; meaningless for communication.
	ComputeBound bool
}

// Pricer prices operators on one system at one precision. It is built once and used for many plans.
type Pricer struct {
	system     *hardware.System
	bytesPerGB float64

	rate   [op.UnitCount]float64 // operations per second at efficiency 1
	shapes [op.UnitCount]hardware.ShapeTable
	vector hardware.SizeTable

	bandwidth        float64 // bytes per second at efficiency 1
	memory           hardware.SizeTable
	attention, cache hardware.PhaseFactor
	sum              bool // compute and memory time add up instead of overlapping
}

// NewPricer prepares a system for pricing. It fails when the system lacks a number type.
func NewPricer(s *hardware.System, prec *plan.Precision, as *assume.Assumptions) (Pricer, error) {
	matrix, ok := s.Matrix[prec.MatrixType]
	if !ok {
		return Pricer{}, fmt.Errorf("%s has no matrix rate for %s", s.Name, prec.MatrixType)
	}
	attention, ok := s.Matrix[prec.AttentionType]
	if !ok {
		return Pricer{}, fmt.Errorf("%s has no matrix rate for %s", s.Name, prec.AttentionType)
	}
	vector, ok := s.Vector[prec.VectorType]
	if !ok {
		return Pricer{}, fmt.Errorf("%s has no vector rate for %s", s.Name, prec.VectorType)
	}
	p := Pricer{
		system: s, bytesPerGB: as.BytesPerGB,
		vector:    vector.Efficiency,
		bandwidth: s.Memory.GBps * as.BytesPerGB * s.Memory.Calibration,
		memory:    s.Memory.Efficiency,
		attention: s.Memory.Attention, cache: s.Memory.Cache,
		sum: s.Mode == hardware.NoOverlap,
	}
	p.rate = [op.UnitCount]float64{
		op.MatrixUnit:          matrix.TFlops * as.FlopsPerTFlop * matrix.Calibration,
		op.AttentionMatrixUnit: attention.TFlops * as.FlopsPerTFlop * attention.Calibration,
		op.VectorUnit:          vector.TFlops * as.FlopsPerTFlop * vector.Calibration,
	}
	p.shapes[op.MatrixUnit] = matrix.Efficiency
	p.shapes[op.AttentionMatrixUnit] = attention.Efficiency
	return p, nil
}

// Price prices one operator in a phase.
func (p *Pricer) Price(o *op.Op, phase op.Phase) Cost {
	class := o.Kind.Info().Class
	var c Cost
	c.Memory = p.memoryTime(o, class, phase)
	if class == op.Comm {
		c.Exposed = p.exposed(o)
		c.Time = c.Exposed
		return c
	}
	rate := p.rate[o.Unit]
	if o.Unit == op.VectorUnit {
		rate *= p.vector.At(o.Flops / 1e9)
	} else {
		rate *= p.shapes[o.Unit].At(o.M, o.N, o.K)
	}
	c.Compute = o.Flops / rate
	c.ComputeBound = c.Compute >= c.Memory
	switch {
	case p.sum:
		c.Time = c.Compute + c.Memory
	case c.ComputeBound:
		c.Time = c.Compute
	default:
		c.Time = c.Memory
	}
	return c
}

// memoryTime is the time of the operator's traffic in device memory.
func (p *Pricer) memoryTime(o *op.Op, class op.Class, phase op.Phase) float64 {
	bandwidth := p.bandwidth * p.memory.At(o.Bytes()/1e6)
	attention, cache := p.attention.Decode, p.cache.Decode
	if phase == op.Prefill {
		attention, cache = p.attention.Prefill, p.cache.Prefill
	}
	if class == op.BMM {
		bandwidth *= attention
	}
	if cache == 1 || o.Cache == 0 {
		return o.Bytes() / bandwidth
	}
	return (o.Weights+o.Activations)/bandwidth + o.Cache/(bandwidth*cache)
}

// exposed is what a communication operator adds to the step: the part that is not overlapped, and for the overlapped
// part the computation it displaces.
func (p *Pricer) exposed(o *op.Op) float64 {
	if o.Group < 2 {
		return 0
	}
	n := p.system.Level(o.Span)
	overlap := p.system.CollectiveOverlap
	if overlap == 1 && n.ProcessorUsage == 0 {
		return 0
	}
	t := collective.Time(n, o.Collective, o.Group, o.Message, p.bytesPerGB)
	return t * (1 - overlap + overlap*n.ProcessorUsage)
}

// StageTransfer is the time to hand message bytes from one pipeline stage to the next, the pipeline spanning the given
// number of processors. It is never hidden: stages wait for each other.
func (p *Pricer) StageTransfer(stages, span int, message float64) float64 {
	if stages == 1 {
		return 0
	}
	return float64(stages) * collective.Time(p.system.Level(span), hardware.PointToPoint, stages, message, p.bytesPerGB)
}

// stepped reports whether a table has more than one row.
func stepped[T any](rows []T) bool { return len(rows) > 1 }

// HasSteps reports whether any efficiency depends on the size of the work.
func (p *Pricer) HasSteps() bool {
	for i := range p.system.Networks {
		if stepped(p.system.Networks[i].MessageSize) {
			return true
		}
	}
	return stepped(p.vector) || stepped(p.memory) || stepped(p.shapes[op.MatrixUnit]) || stepped(p.shapes[op.AttentionMatrixUnit])
}

// Thresholds passes to cross every quantity of an operator that an efficiency table looks at, as it is for two sizes of
// the work, with each threshold of that table.
func (p *Pricer) Thresholds(one, two *op.Op, cross func(one, two, threshold float64)) {
	sizes := func(t hardware.SizeTable, unit, a, b float64) {
		for i := range t {
			cross(a, b, t[i].AtLeast*unit)
		}
	}
	sizes(p.memory, 1e6, one.Bytes(), two.Bytes())
	switch {
	case one.Kind.Info().Class == op.Comm:
		sizes(p.system.Level(one.Span).MessageSize, 1e6, one.Message, two.Message)
	case one.Unit == op.VectorUnit:
		sizes(p.vector, 1e9, one.Flops, two.Flops)
	default:
		t := p.shapes[one.Unit]
		for i := range t {
			cross(one.M, two.M, t[i].M)
			cross(one.N, two.N, t[i].N)
			cross(one.K, two.K, t[i].K)
		}
	}
}

// TransferThresholds does the same for the transfer between pipeline stages.
func (p *Pricer) TransferThresholds(stages, span int, one, two float64, cross func(one, two, threshold float64)) {
	if stages == 1 {
		return
	}
	t := p.system.Level(span).MessageSize
	for i := range t {
		cross(one, two, t[i].AtLeast*1e6)
	}
}
