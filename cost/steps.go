package cost

import (
	"throughline/hardware"
	"throughline/op"
)

// HasSteps reports whether any efficiency depends on the size of the work.
func (p *Pricer) HasSteps() bool { return p.stepped || p.Calibrated() || !p.net.Flat() }

// Calibrated reports whether calibrated kernels or libraries price operators, without flat steps.
func (p *Pricer) Calibrated() bool { return p.kernels.set != nil || p.net.chooses }

// Quantity is what an efficiency table depends on in an operator.
type Quantity func(o *op.Op) float64

func flops(o *op.Op) float64    { return o.Flops }
func rows(o *op.Op) float64     { return o.M }
func outputs(o *op.Op) float64  { return o.N }
func inputs(o *op.Op) float64   { return o.K }
func traffic(o *op.Op) float64  { return o.Bytes() }
func messages(o *op.Op) float64 { return o.Moved * o.Slowness() }

// Thresholds visits each quantity and threshold of an operator's efficiency tables.
func (p *Pricer) Thresholds(o *op.Op, visit func(q Quantity, threshold float64)) {
	sizes(p.memory, 1e6, func(t float64) { visit(traffic, t) })
	switch {
	case o.Class == op.Comm:
		p.Messages(o.Collective, o.Members(), func(t float64) { visit(messages, t) })
	case o.Unit == op.VectorUnit:
		sizes(p.vector, 1e9, func(t float64) { visit(flops, t) })
	default:
		for _, r := range p.shapes[o.Module][o.Unit] {
			visit(rows, r.M)
			visit(outputs, r.N)
			visit(inputs, r.K)
		}
	}
}

// Messages visits the message sizes at which the efficiency of a collective changes.
func (p *Pricer) Messages(c hardware.Collective, m hardware.Members, visit func(threshold float64)) {
	p.net.Shares(c, m, func(t hardware.SizeTable, share float64) {
		sizes(t, 1e6/share, visit)
	})
}

func sizes(t hardware.SizeTable, unit float64, visit func(threshold float64)) {
	for i := range t {
		visit(t[i].AtLeast * unit)
	}
}
