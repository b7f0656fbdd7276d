// Package cost prices operators on hardware: how long one keeps its unit or its network busy, and which resource bounds
// it. It knows rates, bytes and messages, not what an attention is, nor what runs beside what.
package cost

import (
	"fmt"

	"throughline/assume"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
)

// Busy is how long one execution of an operator keeps its unit or its network busy, in seconds.
type Busy struct {
	Time float64
	// Displaced is, of communication, the computation that it takes up where it runs beside some.
	Displaced float64
}

// Cost is the price of one execution of an operator, in seconds.
type Cost struct {
	Busy
	Compute float64 // at the rate of its unit
	Memory  float64 // its traffic at the memory bandwidth
	Sent    float64 // bytes that communication sends, by the scale of its collective
	Bound   Bound
}

// Bound is the resource that decides how long an operator takes.
type Bound uint8

const (
	Compute Bound = iota
	Memory
	BoundCount
)

// byteTime is the seconds that a byte takes in memory.
type byteTime struct {
	perByte  float64
	perCache float64 // of the KV cache
}

// unitPlaces is the units rounded up to a power of two, which makes an index cheap to bound.
const unitPlaces = 4

// Pricer prices operators on one system, at one precision, in steps of one phase: those with a prompt run at other clocks.
// It is built once and used for many plans, and for systems of which numbers change.
type Pricer struct {
	own    *bool // whether its kernels were measured on the system, once that was asked
	prec   plan.Precision
	assume *assume.Assumptions
	phase  op.Phase
	system *hardware.System

	net network

	// Seconds per operation and per byte at the efficiency of the flat part of the tables.
	perFlop [unitPlaces]float64
	traffic [op.PhaseCount][op.ClassCount]byteTime
	// sum: compute and memory time add up instead of overlapping.
	sum     bool
	kernels kernels

	// stepped: some efficiency depends on the size of the work. The tables then hold what is not in the numbers above.
	stepped bool
	shapes  [op.UnitCount]hardware.ShapeTable
	vector  hardware.SizeTable
	memory  hardware.SizeTable
}

// NewPricer prepares a system for pricing. It fails when the system lacks a number type.
func NewPricer(s *hardware.System, prec *plan.Precision, as *assume.Assumptions, phase op.Phase) (*Pricer, error) {
	p := &Pricer{prec: *prec, assume: as, phase: phase}
	if err := p.On(s); err != nil {
		return nil, err
	}
	return p, nil
}

// On makes the pricer one of another system, or of one whose numbers have changed, as if it were new. That takes a
// fraction of a microsecond and no memory, unless the system has other kernels. Where it fails, for want of a number
// type, the pricer stays as it was.
func (p *Pricer) On(s *hardware.System) error {
	prec, as := &p.prec, p.assume
	matrix, ok := s.Matrix[prec.MatrixType]
	if !ok {
		return fmt.Errorf("%s has no matrix rate for %s", s.Name, prec.MatrixType)
	}
	attention, ok := s.Matrix[prec.AttentionType]
	if !ok {
		return fmt.Errorf("%s has no matrix rate for %s", s.Name, prec.AttentionType)
	}
	vector, ok := s.Vector[prec.VectorType]
	if !ok {
		return fmt.Errorf("%s has no vector rate for %s", s.Name, prec.VectorType)
	}
	p.system, p.own = s, nil
	p.net.on(s, as.BytesPerGB)
	p.kernels.on(s, prec, p.phase)
	p.sum = s.Mode == hardware.NoOverlap
	p.vector, p.memory = vector.Efficiency, s.Memory.Efficiency
	p.shapes[op.MatrixUnit] = matrix.Efficiency
	p.shapes[op.AttentionMatrixUnit] = attention.Efficiency
	p.stepped = len(p.vector) > 1 || len(p.memory) > 1 || len(matrix.Efficiency) > 1 || len(attention.Efficiency) > 1

	rate := func(tflops, calibration float64) float64 { return 1 / (tflops * as.FlopsPerTFlop * calibration) }
	p.perFlop = [unitPlaces]float64{
		op.MatrixUnit:          rate(matrix.TFlops, matrix.Calibration),
		op.AttentionMatrixUnit: rate(attention.TFlops, attention.Calibration),
		op.VectorUnit:          rate(vector.TFlops, vector.Calibration),
	}
	perByte := 1 / (s.Memory.GBps * as.BytesPerGB * s.Memory.Calibration)
	if !p.stepped {
		// With one row in every table its efficiency is a constant, and belongs into the rates.
		p.perFlop[op.MatrixUnit] /= matrix.Efficiency[0].Efficiency
		p.perFlop[op.AttentionMatrixUnit] /= attention.Efficiency[0].Efficiency
		p.perFlop[op.VectorUnit] /= vector.Efficiency[0].Efficiency
		perByte /= s.Memory.Efficiency[0].Efficiency
	}
	for phase := range p.traffic {
		prefill := op.Phase(phase) == op.Prefill
		for c := range p.traffic[phase] {
			t := byteTime{perByte: perByte}
			if op.Class(c) == op.BMM {
				t.perByte /= s.Memory.Attention.In(prefill)
			}
			t.perCache = t.perByte / s.Memory.Cache.In(prefill)
			p.traffic[phase][c] = t
		}
	}
	return nil
}

// Price prices one operator.
func (p *Pricer) Price(o *op.Op) Cost {
	compute, memory := p.steppedSides(o)
	if o.Class == op.Comm {
		// What computation a collective needs is part of its time.
		c := Cost{Memory: memory, Bound: Memory}
		c.Busy, c.Sent = p.communicate(o)
		return c
	}
	c := Cost{Compute: compute, Memory: memory}
	if memory > compute {
		c.Bound = Memory
	}
	c.Time = p.unitTime(o)
	return c
}

// unitTime is how long an operator keeps its unit busy.
func (p *Pricer) unitTime(o *op.Op) float64 {
	launch := 0.0
	if p.kernels.bound != nil {
		if t, ok := p.kernels.seconds(o); ok {
			return t
		}
		launch = p.kernels.uncovered(o)
	}
	compute, memory := p.steppedSides(o)
	if p.sum {
		return compute + memory + launch
	}
	return max(compute, memory) + launch
}

// sides are the two sides of the roofline, at the flat part of the efficiencies.
func (p *Pricer) sides(o *op.Op) (compute, memory float64) {
	t := &p.traffic[o.Phase%op.PhaseCount][o.Class%op.ClassCount]
	compute = o.Flops * p.perFlop[o.Unit%unitPlaces]
	memory = (o.Weights+o.Activations)*t.perByte + o.Cache*t.perCache
	return compute, memory
}

// steppedSides are the sides of the roofline at the efficiencies of the operator's size.
func (p *Pricer) steppedSides(o *op.Op) (compute, memory float64) {
	compute, memory = p.sides(o)
	if p.stepped {
		compute /= p.computeEfficiency(o)
		memory /= p.memory.At(o.Bytes() / 1e6)
	}
	return compute, memory
}

// computeEfficiency looks the operator up in the table of its unit.
func (p *Pricer) computeEfficiency(o *op.Op) float64 {
	if o.Unit == op.VectorUnit {
		return p.vector.At(o.Flops / 1e9)
	}
	return p.shapes[o.Unit].At(o.M, o.N, o.K)
}

// Communicate is how long a communication operator keeps the network busy.
func (p *Pricer) Communicate(o *op.Op) Busy {
	b, _ := p.communicate(o)
	return b
}

// communicate is how long a communication operator takes, and what it sends. That is counted by the scale of the
// collective, not less the share that stays on the processor: so the reference tool counts it.
func (p *Pricer) communicate(o *op.Op) (b Busy, sent float64) {
	if o.Group < 2 {
		return Busy{}, 0
	}
	r := p.net.route(o.Collective, int(o.Group), int(o.Span), o.Moved)
	d, scale := r.Time(o.Moved), r.Scale // another route may take the place of this one
	if p.kernels.bound != nil {
		if timing, k := p.kernels.sending(o); timing != nil {
			t := timing.Seconds(&p.kernels.paces[k.Peak], &p.kernels.message)
			if most := int(k.Ranks); most > 1 && int(o.Group) > most {
				// Larger groups than were measured take longer by as much as the formula says.
				at := p.net.route(o.Collective, most, most, o.Moved).Time(o.Moved)
				t *= max(1, d.Seconds/at.Seconds)
			}
			d.Seconds, d.Displaced = t, max(d.Displaced/d.Seconds, unitsTaken[o.Kernels[0].Slot])*t
		}
	}
	return Busy{d.Seconds, d.Displaced}, o.Moved * scale
}

// HandOn is the time to hand message bytes from one of the stages of a pipeline to the next, the pipeline spanning the
// given number of processors.
func (p *Pricer) HandOn(stages, span int, message float64) float64 {
	if stages == 1 {
		return 0
	}
	return p.net.route(hardware.PointToPoint, stages, span, message).Time(message).Seconds
}
