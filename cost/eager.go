package cost

import (
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/op"
)

// newMemory is the cost of large results that a framework allocates anew: touched pages are zeroed.
type newMemory struct {
	from    float64 // bytes of the smallest result in new memory
	perByte float64 // seconds; 0: memory is never new
	launch  float64 // seconds of the host per operator that it runs itself
}

// Eager prices operators as a framework runs them, one by one; nil as a serving engine does.
func (p *Pricer) Eager(e *op.Eager) {
	p.eager = e
	p.anew = p.newMemoryOf(p.system)
}

func (p *Pricer) newMemoryOf(s *hardware.System) (n newMemory) {
	if p.eager == nil {
		return n
	}
	if s.IsHost() {
		n.launch = p.eager.Launch
	}
	if m := s.Memory.New; m != nil {
		n.from, n.perByte = m.MiB*(1<<20), 1/(m.GBps*p.assume.BytesPerGB)
	}
	return n
}

// eagerly is the time to touch new memory and, where the processor is the host, to launch. The host
// of a GPU launches beside it, which concerns whole steps.
func (p *Pricer) eagerly(o *op.Op) float64 {
	t := p.anew.launch * o.Launches()
	if o.Output >= p.anew.from {
		t += o.Output * p.anew.perByte
	}
	return t
}

// computingOneByOne is Computing with what a framework adds, and at any clock.
func (p *Pricer) computingOneByOne(ops []op.Op) (t float64) {
	for i := range ops {
		if o := &ops[i]; o.Class != op.Comm {
			t += o.Repeat * p.Time(o)
		}
	}
	return t
}

// ToHost is the time to copy bytes to the host's pinned or pageable memory, or back: as measured,
// else at the rate of the second memory tier; false where the system has none.
func ToHost(s *hardware.System, back, pinned bool, bytes float64) (float64, bool) {
	if s.Memory2 == nil {
		return 0, false
	}
	slot := kernel.ToHost
	if back {
		slot = kernel.ToDevice
	}
	memory := " pageable"
	if pinned {
		memory = " pinned"
	}
	perByte := 1 / (s.Memory2.GBps * bytesPerGB)
	if s.Kernels != nil {
		if t, ok := s.Kernels.Timing(slot, slot.String()+memory); ok {
			return t.Seconds(&kernel.Pace{Byte: perByte}, &kernel.Shape{Moved: bytes}), true
		}
	}
	return bytes * perByte, true
}
