package estimate

import (
	"fmt"
	"strconv"
	"strings"

	"throughline/cost"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/op"
	"throughline/schedule"
)

// Operator is an operator with its price, a transfer or a wait. Every view of a step reads a list
// of these. Work and times are of one execution, times in seconds.
type Operator struct {
	op.Op // of a wait only Repeat is set
	cost.Cost
	Fused Fused
	Peak  Peak

	Name    string
	Block   string // attention, mlp, draft, ends, pipeline, host, memory
	Part    schedule.Part
	Batches float64 // overlapping micro-batches, each of which has it
	Times   float64 // executions in a step, one after another
	Exposed float64 // what an execution adds to the step; of overlapping exchanges, on average
	Static  float64 // the part of Exposed that no faster unit, memory or network would shorten: launches, floors of kernels, hops
	Full    float64 // Exposed at the full clock, as kernels are measured
	Joules  float64 // of all executions on one processor; 0: not asked, or not known
	Share   float64 // of the step, all executions together
	Levels  []int   // network levels of a communication

	// Lane of the operator, Start of its first execution and End of its last, within the step.
	Lane       schedule.Lane
	Start, End float64
}

// Engines of operators. Waits have none.
const (
	Cube   = "cube"
	Vector = "vector"
	Comm   = "comm"
)

// Peak is the engine of an operator, and its rates without calibration.
type Peak struct {
	Engine, DType string
	Flops         float64 // operations per second
	Bytes         float64 // of the memory per second
}

func (e *Evaluator) peakOf(o *op.Op) Peak {
	if o.Class == op.Comm {
		return Peak{Engine: Comm}
	}
	out := Peak{Engine: Cube, Bytes: e.system.Memory.GBps * e.problem.Assume.BytesPerGB}
	if o.Unit == op.VectorUnit {
		out.Engine = Vector
	}
	out.DType, out.Flops = e.pricer.PeakOf(o)
	return out
}

// Takes is the seconds of the step that all executions take.
func (o *Operator) Takes() float64 { return o.Times * o.Exposed }

// Executions is how often a stage executes it per batch, over layers and overlapping micro-batches.
func (o *Operator) Executions() float64 { return o.Batches * o.Repeat }

// Waits reports whether the step neither computes nor communicates meanwhile.
func (o *Operator) Waits() bool { return o.Peak.Engine == "" }

// Computes reports whether it neither waits nor communicates.
func (o *Operator) Computes() bool { return !o.Waits() && o.Class != op.Comm }

// Computed is its operations, except those of communication.
func (o *Operator) Computed() float64 {
	if o.Class == op.Comm {
		return 0
	}
	return o.Flops
}

// Traffic is the bytes that it moves in memory or, of a communication, sends.
func (o *Operator) Traffic() float64 {
	if o.Class == op.Comm {
		return o.Sent
	}
	return o.Bytes()
}

// Work is the operations and bytes of its kernel, including operators fused with it.
func (o *Operator) Work() (flops, bytes float64) {
	return o.Flops + o.Fused.Flops, o.Bytes() + o.Fused.Bytes
}

// Use is the shares of its engine's peak rate and of the memory bandwidth that its kernel reaches.
func (o *Operator) Use() (ofPeak, ofBandwidth float64) {
	if !o.Computes() || o.Exposed == 0 {
		return 0, 0
	}
	flops, bytes := o.Work()
	return flops / (o.Exposed * o.Peak.Flops), bytes / (o.Exposed * o.Peak.Bytes)
}

// Utilisation is the share of its engine's peak or, if memory-bound, of the bandwidth.
func (o *Operator) Utilisation() float64 {
	ofPeak, ofBandwidth := o.Use()
	if o.Bound == cost.Memory {
		return ofBandwidth
	}
	return ofPeak
}

// BoundBy names what bounds it: compute, memory, network; hidden, where computation covers all of a
// communication; empty for waits and groups of one.
func (o *Operator) BoundBy() string {
	switch {
	case o.Waits(), o.Class == op.Comm && o.Group < 2:
		return ""
	case o.Class == op.Comm && o.Exposed == 0:
		return "hidden"
	case o.Class == op.Comm:
		return "network"
	case o.Bound == cost.Compute:
		return "compute"
	}
	return "memory"
}

// Dimensions is the shape of a product, or the group and the networks of a communication.
func (o *Operator) Dimensions(number func(float64) string) string {
	switch {
	case o.Class == op.Comm && len(o.Levels) > 0:
		levels := make([]string, len(o.Levels))
		for i, level := range o.Levels {
			levels[i] = strconv.Itoa(level)
		}
		networks := "network "
		if len(levels) > 1 {
			networks = "networks "
		}
		return fmt.Sprintf("%s over %d, %s%s", o.Collective, o.Group, networks, strings.Join(levels, "+"))
	case o.M > 0:
		return fmt.Sprintf("%s × %s × %s", number(o.M), number(o.N), number(o.K))
	}
	return ""
}

// Fused is the work of other operators that its kernel does as well.
type Fused struct {
	Flops float64 // on the same unit
	Bytes float64
}

// fuse adds work done within the kernels of others to the operators charged with the time.
func fuse(ops []Operator, pricer *cost.Pricer) {
	charged, ahead := map[kernel.Slot]*Operator{}, map[kernel.Slot][]*Operator{}
	for i := range ops {
		o := &ops[i]
		if o.Class == op.Comm {
			continue
		}
		use, calibrated := pricer.Use(&o.Op)
		if !calibrated {
			continue
		}
		switch {
		case use.Role.Included():
			ahead[use.Slot] = append(ahead[use.Slot], o)
		case use.Role.Charged():
			charged[use.Slot].take(o)
			o.give()
		default:
			charged[use.Slot] = o
			for _, before := range ahead[use.Slot] {
				o.take(before)
				before.give()
			}
			delete(ahead, use.Slot)
		}
	}
}

// take adds to an operator, if any, what another one does within its kernel.
func (o *Operator) take(other *Operator) {
	if o == nil || o.Repeat != other.Repeat {
		return
	}
	if o.Unit == other.Unit {
		o.Fused.Flops += other.Flops
	}
	if o.Class == op.Vector {
		// Element-wise kernels keep intermediate results on the chip; Moved is what they move.
		o.Fused.Bytes = o.Moved - o.Bytes()
		return
	}
	o.Fused.Bytes += other.Bytes()
}

// give leaves an operator only its launch: another's kernel does its work.
func (o *Operator) give() { o.Fused.Flops, o.Fused.Bytes = -o.Flops, -o.Bytes() }

// transfer is an operator that passes something on among processors.
func transfer(m hardware.Members) (out Operator) {
	out.Class, out.Collective, out.Peak = op.Comm, hardware.PointToPoint, Peak{Engine: Comm}
	out.Group, out.Span, out.World = int32(m.Group), int32(m.Span), int32(m.World)
	return out
}
