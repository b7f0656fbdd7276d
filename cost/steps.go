package cost

import (
	"throughline/hardware"
	"throughline/op"
)

// HasSteps reports whether any efficiency depends on the size of the work.
func (p *Pricer) HasSteps() bool { return p.stepped || !p.net.Flat() }

// Thresholds passes to cross every quantity of an operator that an efficiency table looks at, as it is for two sizes of
// the work, with each threshold of that table.
func (p *Pricer) Thresholds(one, two *op.Op, cross func(one, two, threshold float64)) {
	sizes(p.memory, 1e6, one.Bytes(), two.Bytes(), cross)
	switch {
	case one.Class == op.Comm:
		p.messages(one.Collective, int(one.Group), int(one.Span), one.Message, two.Message, cross)
	case one.Unit == op.VectorUnit:
		sizes(p.vector, 1e9, one.Flops, two.Flops, cross)
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
	p.messages(hardware.PointToPoint, stages, span, one, two, cross)
}

// messages passes on what the levels of the network see of a message; they see a fixed share of it.
func (p *Pricer) messages(c hardware.Collective, group, span int, one, two float64, cross func(one, two, threshold float64)) {
	p.net.Shares(c, group, span, func(t hardware.SizeTable, share float64) {
		sizes(t, 1e6, share*one, share*two, cross)
	})
}

func sizes(t hardware.SizeTable, unit, one, two float64, cross func(one, two, threshold float64)) {
	for i := range t {
		cross(one, two, t[i].AtLeast*unit)
	}
}
