package schedule

import (
	"throughline/cost"
	"throughline/op"
)

// Totals are the sums over the operators of a block, each counted as often as it repeats.
type Totals struct {
	Compute float64 // of all operators, bound by it or not
	Memory  float64 // likewise; communication buffers included
	Bytes   float64
	Flops   float64
	// Bound is the time of the operators, by class and by the resource that bounds them.
	Bound [op.Comm][cost.BoundCount]float64
	// Comm is the communication, by what it is for.
	Comm [op.TrafficCount]Comm
}

// Comm is the communication for one kind of parallelism.
type Comm struct {
	Exposed float64 // seconds that computation does not hide
	Bytes   float64 // sent by a processor
}

// Exposed is the communication that computation does not hide.
func (t *Totals) Exposed() float64 {
	var sum float64
	for i := range t.Comm {
		sum += t.Comm[i].Exposed
	}
	return sum
}

func (t *Totals) Time() float64 {
	sum := t.Exposed()
	for c := range t.Bound {
		sum += t.Bound[c][cost.Compute] + t.Bound[c][cost.Memory]
	}
	return sum
}

// Add adds an operator of several micro-batches, with its cost and what each execution adds to a
// step. The computation of a collective is part of its time.
func (t *Totals) Add(o *op.Op, c *cost.Cost, batches, exposed float64) {
	n := batches * o.Repeat
	t.Compute += n * c.Compute
	t.Memory += n * c.Memory
	t.Bytes += n * o.Bytes()
	t.Flops += n * o.Flops
	time := n * exposed
	if o.Class == op.Comm {
		comm := &t.Comm[o.Kind.Traffic()]
		comm.Exposed += time
		comm.Bytes += n * c.Sent
		return
	}
	t.Bound[o.Class][c.Bound] += time
}
