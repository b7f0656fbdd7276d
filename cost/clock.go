package cost

import (
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
)

// clocked is how a pricer slows operators down under a power limit.
type clocked struct {
	longer float64                           // how much longer a second that follows the clock takes; 0: at the full clock
	floors *Pricer                           // at rates beyond any limit, where only static time remains; made on demand
	moved  bool                              // floors are those of another system
	narrow bool                              // the chip multiplies in the type of indexers
	peaks  [modulePlaces][unitPlaces]float64 // operations per second, without calibration
	heat   [modulePlaces][unitPlaces]float64 // joules per operation
}

// on takes over the peaks and the power of a system.
func (c *clocked) on(p *Pricer, of *peaks) {
	c.longer, c.moved = 0, true
	_, c.narrow = p.system.Matrix[indexType]
	var heat [unitPlaces]float64
	last := ""
	for m := range model.ModuleCount {
		rate := [unitPlaces]float64{op.MatrixUnit: of.product[m], op.AttentionMatrixUnit: of.attention, op.VectorUnit: of.vector, op.IndexUnit: of.index, op.WideUnit: of.full}
		for unit := range rate {
			rate[unit] *= p.assume.FlopsPerTFlop
		}
		c.peaks[m] = rate
		if power := p.system.Power; power != nil && (m == 0 || p.product(m) != last) { // modules mostly have one type
			last = p.product(m)
			for _, unit := range [...]op.Unit{op.MatrixUnit, op.AttentionMatrixUnit, op.IndexUnit, op.WideUnit} {
				if m == 0 || unit == op.MatrixUnit {
					heat[unit] = picojoule * power.Flop[p.typeOf(m, unit)]
				}
			}
		}
		c.heat[m] = heat
	}
}

// product is the number type of the products of a module.
func (p *Pricer) product(m model.Module) string {
	if f := &p.prec.Modules[m]; f.Weight > 0 {
		return f.Type
	}
	return p.prec.MatrixType
}

func (p *Pricer) typeOf(m model.Module, unit op.Unit) string {
	switch {
	case unit == op.VectorUnit:
		return p.prec.VectorType
	case unit == op.MatrixUnit:
		return p.product(m)
	case unit == op.WideUnit:
		return fullType
	case unit == op.IndexUnit && p.narrow:
		return indexType
	}
	return p.prec.AttentionType
}

// SetClock prices operators at a share of the full clock, where the power of the system is known.
func (p *Pricer) SetClock(share float64) { p.longer = 1/share - 1 }

// Full is how long an operator that computes occupies its unit at the full clock.
func (p *Pricer) Full(o *op.Op) float64 {
	t := p.unitTime(o)
	if p.eager != nil {
		t += p.eagerly(o)
	}
	return t
}

// Static is the part of an operator's time that no faster unit or memory would shorten.
func (p *Pricer) Static(o *op.Op) float64 {
	if p.floors == nil || p.moved {
		p.moveFloors()
	}
	t := 0.0
	if o.Class == op.Comm {
		t = p.floors.Communicate(o).Time
	} else {
		t = p.floors.Full(o)
	}
	if t < picosecond {
		return 0
	}
	return t
}

// moveFloors makes the floors those of the system.
func (p *Pricer) moveFloors() {
	if p.floors == nil {
		p.floors = &Pricer{prec: p.prec, assume: p.assume, system: p.system.Clone()}
	}
	unlimited := p.floors.system
	p.system.UnlimitedIn(unlimited)
	if err := p.floors.On(unlimited); err != nil {
		panic(err) // the system itself had all rates
	}
	p.floors.Eager(p.eager)
	p.moved = false
}

// picosecond is less than any kernel takes.
const picosecond = 1e-12

// Effort is time and energy of one execution of an operator that computes, and takes so many
// seconds at the full clock.
func (p *Pricer) Effort(o *op.Op, full float64) Effort {
	w := p.Work(o, full, min(full, p.Static(o)))
	perFlop := p.heat[o.Module%modulePlaces][o.Unit%unitPlaces]
	return w.effort(p.system.Power, perFlop)
}

// attentionTile is the rows of a matrix tile, which the queries that share a key fill in decode
// steps: wgmma.m64 of PTX, 16 of each of four warps before.
const attentionTile = 64

// TileFilled is how full the tiles of a decode attention are, by queries of a key.
func TileFilled(queries float64) float64 { return min(1, queries/attentionTile) }

// Work is what one execution of a computing operator does in a time.
func (p *Pricer) Work(o *op.Op, seconds, static float64) Work {
	w := Work{Times: 1, Seconds: seconds, Static: static, Flops: o.Flops, Bytes: p.passed(o), Pace: p.system.Memory.GBps * p.assume.BytesPerGB}
	w.Type, w.Rate = p.PeakOf(o)
	if w.ThroughCores = o.Unit == op.VectorUnit; w.ThroughCores {
		w.Type = ""
	}
	if decodes(o) {
		w.ThroughCores, w.Filled = true, filled(o)
	}
	return w
}

// decodes reports whether an operator is the attention of a decode step.
func decodes(o *op.Op) bool { return o.Class == op.BMM && o.Phase == op.Decode && o.KVHeads > 0 }

// filled is how full the matrix tiles of an operator are.
func filled(o *op.Op) float64 {
	if !decodes(o) {
		return 1
	}
	return TileFilled(o.M / o.Count * float64(o.Heads) / float64(o.KVHeads))
}

// passed is the bytes that an operator moves: element-wise kernels keep on the chip what they pass
// to each other.
func (p *Pricer) passed(o *op.Op) float64 {
	if o.Class != op.Vector {
		return o.Bytes()
	}
	switch use, calibrated := p.Use(o); {
	case !calibrated:
		return o.Bytes()
	case use.Role.Included() || use.Role.Charged():
		return 0
	}
	return max(o.Moved, 0)
}

// PeakOf is the number type of an operator, and the rate of its unit without calibration.
func (p *Pricer) PeakOf(o *op.Op) (numberType string, flops float64) {
	return p.typeOf(o.Module, o.Unit), p.peaks[o.Module%modulePlaces][o.Unit%unitPlaces]
}

// Heat is no less than the joules of bytes and arithmetic of operators.
func (p *Pricer) Heat(ops []op.Op) (joules float64) {
	power := p.system.Power
	perFlop, perByte := &p.heat, picojoule*(power.Byte+power.CoreByte)
	for i := range ops {
		o := &ops[i]
		if o.Class != op.Comm {
			core := o.Flops * perFlop[o.Module%modulePlaces][o.Unit%unitPlaces]
			if filled := filled(o); filled < 1 {
				core *= 1 + power.Empty*(1/filled-1)
			}
			joules += o.Repeat * (core + o.Bytes()*perByte)
		}
	}
	return joules
}

// Sent is the bytes that a communication sends, and its outermost network level.
func (p *Pricer) Sent(o *op.Op) (bytes float64, level int) {
	_, bytes = p.communicate(o)
	return bytes, levelOf(p.system, o.Members())
}

func levelOf(s *hardware.System, m hardware.Members) int {
	for i := range s.Networks {
		if m.Within(s.Networks[i].Size) {
			return i
		}
	}
	return len(s.Networks) - 1
}
