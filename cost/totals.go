package cost

import (
	"throughline/op"
)

// Totals are the sums over the operators of a block, each counted as often as it repeats.
type Totals struct {
	Compute  float64 // of all operators, bound by it or not
	Memory   float64 // likewise; communication buffers included
	Bytes    float64
	Flops    float64
	Resident float64 // bytes of parameters
	Working  float64 // bytes of the largest result
	// Time of the operators, by class and by the resource that bounds them.
	Bound [op.Comm][BoundCount]float64
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

// Time of the block.
func (t *Totals) Time() float64 {
	sum := t.Exposed()
	for c := range t.Bound {
		sum += t.Bound[c][Compute] + t.Bound[c][Memory]
	}
	return sum
}

// Sum prices the operators and adds them up, into totals that are all zero. The time of communication is not included:
// AddComm adds it.
func (p *Pricer) Sum(ops []op.Op, t *Totals) {
	if p.stepped || p.sum || p.kernels != nil {
		p.sumAny(ops, t)
	} else {
		p.sumFlat(ops, t)
	}
}

// AddComm adds the communication of an operator.
func (p *Pricer) AddComm(o *op.Op, t *Totals) {
	exposed, sent := p.communicate(o)
	c := &t.Comm[o.Kind.Traffic()]
	c.Exposed += o.Repeat * exposed
	c.Bytes += o.Repeat * sent
}

// sumFlat adds up under a plain roofline. It is the inner loop of every search: no calls, and all sums in registers.
func (p *Pricer) sumFlat(ops []op.Op, t *Totals) {
	var compute, memory, bytes, flops, resident, working float64
	var linearC, linearM, bmmC, bmmM, vectorC, vectorM float64
	for i := range ops {
		o := &ops[i]
		class := o.Class % op.ClassCount
		n := o.Repeat
		f, still, cache := n*o.Flops, n*(o.Weights+o.Activations), n*o.Cache
		m := still*p.perByte[class] + cache*p.perCache[class]
		memory += m
		bytes += still + cache
		flops += f
		resident += n * o.Resident
		if o.Output > working {
			working = o.Output
		}
		if class == op.Comm {
			continue
		}
		c := f * p.perFlop[o.Unit%unitPlaces]
		compute += c
		if c < m {
			switch class {
			case op.Linear:
				linearM += m
			case op.Vector:
				vectorM += m
			default:
				bmmM += m
			}
			continue
		}
		switch class {
		case op.Linear:
			linearC += c
		case op.Vector:
			vectorC += c
		default:
			bmmC += c
		}
	}
	t.Compute, t.Memory, t.Bytes, t.Flops, t.Resident, t.Working = compute, memory, bytes, flops, resident, working
	t.Bound[op.Linear] = [BoundCount]float64{Compute: linearC, Memory: linearM}
	t.Bound[op.BMM] = [BoundCount]float64{Compute: bmmC, Memory: bmmM}
	t.Bound[op.Vector] = [BoundCount]float64{Compute: vectorC, Memory: vectorM}
}

// sumAny adds up with any efficiencies.
func (p *Pricer) sumAny(ops []op.Op, t *Totals) {
	for i := range ops {
		o := &ops[i]
		compute, memory := p.steppedSides(o)
		n := o.Repeat
		t.Memory += n * memory
		t.Bytes += n * o.Bytes()
		t.Flops += n * o.Flops
		t.Resident += n * o.Resident
		t.Working = max(t.Working, o.Output)
		if o.Class != op.Comm {
			time, bound := p.time(o, compute, memory)
			t.Compute += n * compute
			t.Bound[o.Class][bound] += n * time
		}
	}
}
