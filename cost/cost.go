// Package cost prices operators on hardware: how long each occupies its unit or network, and why.
package cost

import (
	"fmt"
	"math"

	"throughline/assume"
	"throughline/collective"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// Busy is how long one execution of an operator occupies its unit or network, in seconds.
type Busy struct {
	Time float64
	// Displaced is the computation that communication displaces when they overlap.
	Displaced float64
}

// Cost is the price of one execution of an operator, in seconds.
type Cost struct {
	Busy
	Compute float64 // at the rate of its unit
	Memory  float64 // its traffic at the memory bandwidth
	Sent    float64 // bytes of communication, by the scale of its collective
	Bound   Bound
}

// Bound is the resource that decides how long an operator takes.
type Bound uint8

const (
	Compute Bound = iota
	Memory
	BoundCount
)

// byteTime is the seconds per byte of memory traffic.
type byteTime struct {
	perByte  float64
	perCache float64 // of the KV cache
}

// indexType is the number type that indexers of sparse attention score in, where a chip has it.
const indexType = "float8"

// Units, modules and peaks rounded up to powers of two, which makes bounds checks cheap.
const (
	unitPlaces   = 8
	modulePlaces = 8
	peakPlaces   = 8
)

// Pricer prices operators on one system, at one precision. It is built once and used for many plans
// and variants of the system.
type Pricer struct {
	own    *bool // whether its kernels were measured on the system, once computed
	prec   plan.Precision
	assume *assume.Assumptions
	system *hardware.System

	net network

	// Seconds per operation and per byte, at the flat part of the efficiency tables.
	perFlop [modulePlaces][unitPlaces]float64
	traffic [op.PhaseCount][op.ClassCount]byteTime
	// sum: compute and memory time add up instead of overlapping.
	sum     bool
	kernels kernels
	launch  float64 // seconds that an operator takes besides, in an engine's own kernels

	slowed op.Op // the last slowed exchange, as one of more tokens
	// tile is the seconds of an index tile per entry and element on one multiprocessor; 0: unknown.
	tile   float64
	units  float64
	depths []depth // of products of 32 bits, in ascending order of rows

	// stepped: efficiencies depend on the size of the work and are looked up in the tables below.
	stepped bool
	// eager describes a framework, nil for a serving engine; anew is what it adds to each operator.
	eager  *op.Eager
	anew   newMemory
	shapes [model.ModuleCount][op.UnitCount]hardware.ShapeTable
	vector hardware.SizeTable
	memory hardware.SizeTable

	clocked
}

// NewPricer prepares a system for pricing. It fails when the system lacks a number type.
func NewPricer(s *hardware.System, prec *plan.Precision, as *assume.Assumptions) (*Pricer, error) {
	p := &Pricer{prec: *prec, assume: as}
	if err := p.On(s); err != nil {
		return nil, err
	}
	return p, nil
}

// peaks are rates of a chip for a deployment, in units of a system file; 0: it has none.
type peaks struct {
	product                        [model.ModuleCount]float64
	attention, vector, index, full float64
}

// On moves the pricer to another system, or to changed numbers, in a fraction of a microsecond
// unless kernels change. On failure, for want of a number type, the pricer stays as it was.
func (p *Pricer) On(s *hardware.System) error {
	prec, as := &p.prec, p.assume
	var matrix [model.ModuleCount]hardware.MatrixEngine
	var peaks peaks
	last := ""
	for m := range matrix {
		numberType := p.product(model.Module(m))
		if numberType != last || m == 0 { // modules mostly have one type
			rate, ok := s.Matrix[numberType]
			if !ok {
				return fmt.Errorf("%s has no matrix rate for %s", s.Name, numberType)
			}
			matrix[m], last = rate, numberType
		} else {
			matrix[m] = matrix[m-1]
		}
		peaks.product[m] = matrix[m].TFlops
	}
	attention, ok := s.Matrix[prec.AttentionType]
	if !ok {
		return fmt.Errorf("%s has no matrix rate for %s", s.Name, prec.AttentionType)
	}
	vector, ok := s.Vector[prec.VectorType]
	if !ok {
		return fmt.Errorf("%s has no vector rate for %s", s.Name, prec.VectorType)
	}
	index, ok := s.Matrix[indexType]
	if !ok {
		index = attention
	}
	full, ok := s.Matrix[fullType]
	peaks.attention, peaks.vector, peaks.index, peaks.full = attention.TFlops, vector.TFlops, index.TFlops, full.TFlops
	if !ok {
		full = attention
	}
	p.system, p.own = s, nil
	p.clocked.on(p, &peaks)
	p.anew = p.newMemoryOf(s)
	p.net.on(s, as.BytesPerGB)
	p.kernels.on(s, prec, as.Engine, &peaks)
	p.sum, p.launch = s.Mode == hardware.NoOverlap || prec.HasOwn(), prec.Own.Launch
	p.vector, p.memory = vector.Efficiency, s.Memory.Efficiency
	p.tile, p.units, p.depths = 0, float64(s.Units), depthsOn(s.Generation)
	if s.Indexing > 0 {
		p.tile = p.units * 2 * op.IndexTile / (index.TFlops * as.FlopsPerTFlop * s.Indexing)
	}
	p.stepped = len(p.vector) > 1 || len(p.memory) > 1 || len(attention.Efficiency) > 1 || len(index.Efficiency) > 1
	for m := range matrix {
		p.shapes[m] = [op.UnitCount]hardware.ShapeTable{op.MatrixUnit: matrix[m].Efficiency, op.AttentionMatrixUnit: attention.Efficiency, op.IndexUnit: index.Efficiency, op.WideUnit: full.Efficiency}
		p.stepped = p.stepped || len(matrix[m].Efficiency) > 1
	}
	rate := func(tflops, share float64) float64 { return 1 / (tflops * as.FlopsPerTFlop * share) }
	for m := range matrix {
		p.perFlop[m] = [unitPlaces]float64{
			op.MatrixUnit:          rate(matrix[m].TFlops, prec.ProductShare(model.Module(m), matrix[m].Calibration)),
			op.AttentionMatrixUnit: rate(attention.TFlops, prec.AttentionShare(attention.Calibration)),
			op.VectorUnit:          rate(vector.TFlops, vector.Calibration),
			op.IndexUnit:           rate(index.TFlops, index.Calibration),
			op.WideUnit:            rate(full.TFlops, full.Calibration),
		}
	}
	perByte := 1 / (s.Memory.GBps * as.BytesPerGB * prec.MemoryShare(s.Memory.Calibration))
	if !p.stepped {
		// Tables of one row are constants, and belong to the rates.
		for m := range matrix {
			p.perFlop[m][op.MatrixUnit] /= matrix[m].Efficiency[0].Efficiency
			p.perFlop[m][op.AttentionMatrixUnit] /= attention.Efficiency[0].Efficiency
			p.perFlop[m][op.VectorUnit] /= vector.Efficiency[0].Efficiency
			p.perFlop[m][op.IndexUnit] /= index.Efficiency[0].Efficiency
			p.perFlop[m][op.WideUnit] /= full.Efficiency[0].Efficiency
		}
		perByte /= s.Memory.Efficiency[0].Efficiency
	}
	p.reads(s, perByte)
	return nil
}

// reads takes over how fast the classes of operators read memory.
func (p *Pricer) reads(s *hardware.System, perByte float64) {
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
}

func (p *Pricer) Price(o *op.Op) Cost {
	compute, memory := p.steppedSides(o)
	if o.Class == op.Comm {
		// The computation of a collective is part of its time.
		c := Cost{Memory: memory, Bound: Memory}
		c.Busy, c.Sent = p.communicate(o)
		return c
	}
	c := Cost{Compute: compute * (1 + p.longer), Memory: memory}
	if memory > c.Compute {
		c.Bound = Memory
	}
	c.Time = p.Time(o)
	return c
}

// Time is how long an operator that computes occupies its unit.
func (p *Pricer) Time(o *op.Op) float64 {
	t := p.Full(o)
	if p.longer > 0 {
		e := p.Effort(o, t)
		t += p.longer * e.Clocked
	}
	return t
}

// unitTime is the same without what a framework adds.
func (p *Pricer) unitTime(o *op.Op) float64 {
	if p.kernels.set == nil {
		return p.roofline(o, p.launch*o.Launches())
	}
	return p.calibrated(o)
}

// calibrated is the time in the operator's first calibrated kernel, which mostly is its first.
func (p *Pricer) calibrated(o *op.Op) float64 {
	k, m, u := &p.kernels, o.Module%modulePlaces, o.Kernels[0]
	t, b := k.timing(m, u)
	for i := 1; t == nil; i++ {
		if i == len(o.Kernels) {
			return p.roofline(o, k.uncovered(o))
		}
		u = o.Kernels[i]
		t, b = k.timing(m, u)
	}
	seconds := t.Seconds(&k.paces[m][b.Peak%peakPlaces], &o.Shape)
	if k.differ {
		seconds = k.differing(seconds, o, u)
	}
	return seconds
}

// roofline is the time by the peaks, plus a launch.
func (p *Pricer) roofline(o *op.Op, launch float64) float64 {
	compute, memory := p.steppedSides(o)
	if p.sum {
		return compute + memory + launch
	}
	return max(compute, memory) + launch
}

// sides are the two sides of the roofline, at the flat part of the efficiencies.
func (p *Pricer) sides(o *op.Op) (compute, memory float64) {
	t := &p.traffic[o.Phase%op.PhaseCount][o.Class%op.ClassCount]
	compute = o.Flops * p.perFlop[o.Module%modulePlaces][o.Unit%unitPlaces]
	if o.Unit == op.WideUnit {
		compute += p.deep(o.M, o.K)
	}
	if o.Kind == op.IndexScores && o.Count > 0 && p.tile > 0 {
		compute = p.scored(o)
	}
	if o.Count > 0 && (o.Kind == op.IndexSelect || o.Kind == op.IndexPlaces) {
		compute = picking(o, p.units)
	}
	memory = (o.Weights+o.Activations)*t.perByte + o.Cache*t.perCache
	return compute, memory
}

// scored is the time of an indexer that scores prompts in Count launches of M rows, which see Rows
// entries at most and N on average. A multiprocessor takes a tile through all its entries, so few
// tiles leave some idle, and no launch is shorter than its longest tile.
func (p *Pricer) scored(o *op.Op) float64 {
	waves := math.Ceil(math.Ceil(o.M/op.IndexTile) / p.units)
	return o.Count * max(o.Rows, waves*o.N) * o.K * p.tile
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

func (p *Pricer) computeEfficiency(o *op.Op) float64 {
	if o.Unit == op.VectorUnit {
		return p.vector.At(o.Flops / 1e9)
	}
	return p.shapes[o.Module][o.Unit].At(o.M, o.N, o.K)
}

// Communicate is how long a communication operator occupies the network.
func (p *Pricer) Communicate(o *op.Op) Busy {
	b, _ := p.communicate(o)
	return b
}

// communicate returns the time of a communication operator and the bytes it sends: like the
// reference tool, by the scale of the collective, including the share that stays on the processor.
func (p *Pricer) communicate(o *op.Op) (b Busy, sent float64) {
	if o.Group < 2 {
		return Busy{}, 0
	}
	m, slow := o.Members(), o.Slowness()
	o = p.asTimed(o)
	b, sent, crosses := p.among(o, m)
	if crosses {
		// It waits for another group of its kind, which lies inside.
		m.World = 0
		if inside, _, _ := p.among(o, m); inside.Time > b.Time {
			b = inside
		}
	}
	return b, sent / slow
}

// asTimed returns the measured exchange that takes as long: of more tokens, where this is slower.
func (p *Pricer) asTimed(o *op.Op) *op.Op {
	slow := o.Slowness()
	if slow == 1 {
		return o
	}
	p.slowed = *o
	p.slowed.M, p.slowed.Moved = slow*o.M, slow*o.Moved
	return &p.slowed
}

// Idle sets whether nothing computes beside communication, which may then use more units.
func (p *Pricer) Idle(idle bool) { p.kernels.paces[0][kernel.LinkPeak].Idle = idle }

// Contended is how much longer a communication operator takes beside computation, and the share of
// the units left to products throughout: SGLang reserves those of exchanges for throughput
// (_compute_moe_deepseek_blog_prefill in operations_strategy.py).
func (p *Pricer) Contended(o *op.Op) (times, units float64) {
	t := &takes[o.Kernels[0].Slot]
	if t.contended == 0 || p.kernels.set == nil {
		return 1, 1
	}
	return t.contended, 1 - t.units
}

// Apart is the relative standard deviation of the computing time of ranks in prefill exchanges.
func (p *Pricer) Apart() float64 {
	if p.kernels.set == nil {
		return 0
	}
	return barrierShare / slowestOf32
}

// among communicates among members, and reports whether their group crosses a border needlessly.
func (p *Pricer) among(o *op.Op, m hardware.Members) (b Busy, sent float64, crosses bool) {
	r := p.net.route(o.Collective, m, o.Moved)
	sent, crosses = o.Moved*r.scale, r.crosses
	if p.kernels.set == nil {
		d := r.route.Time(o.Moved)
		return Busy{d.Seconds, d.Displaced}, sent, crosses
	}
	var d collective.Duration
	if r.displaces { // most do not
		d = r.route.Time(o.Moved)
	}
	t := p.measured(o, m, r) // may replace the cached route r
	if t > 0 {
		own := takes[o.Kernels[0].Slot].of(t, o.M)
		if d.Displaced > 0 {
			own = max(d.Displaced*t/d.Seconds, own)
		}
		return Busy{t, own}, sent, crosses
	}
	d = p.net.route(o.Collective, m, o.Moved).route.Time(o.Moved)
	return Busy{d.Seconds, d.Displaced}, sent, crosses
}

// measured is the time by the calibrated kernel, 0 without one; r is the formula's route.
func (p *Pricer) measured(o *op.Op, m hardware.Members, r *cachedRoute) float64 {
	k := &p.kernels
	nodes, inside := int(r.nodes), int(r.inside)
	timing, b := k.sending(o, nodes)
	if timing == nil {
		return 0
	}
	if b.Nodes > 1 || nodes == 1 {
		return p.larger(k.sent(timing, b, o), timing, o, b, m.Group, r)
	}
	// Measured within a node only: the network between nodes takes its time besides or, where a
	// library drives it, that of the whole, which is no shorter than the part inside.
	outside := p.net.outside(o.Collective, m, o.Moved).time(o.Moved)
	if b.Ranks == 0 {
		inside = m.Group // an exchange, which forwards inside what comes from its whole group
	}
	if inside < 2 {
		return outside
	}
	k.message.Group, k.message.Nodes = int32(inside), 1
	within := k.sent(timing, b, o)
	if most := int(b.Ranks); most > 1 && inside > most {
		within = p.larger(within, timing, o, b, inside, p.inside(o, inside))
	}
	if p.net.chooses || o.Collective == hardware.AllToAll {
		return max(within, outside)
	}
	return within + outside
}

// smallMessage is the bytes of a collective whose time is all latency.
const smallMessage = 1024

// larger is the time of a collective in a group larger than measured: longer by as much as the
// formula says, and for each doubling by what the last measured one added to a small message.
func (p *Pricer) larger(seconds float64, timing kernel.Timing, o *op.Op, b *kernel.Binding, group int, r *cachedRoute) float64 {
	most := int(b.Ranks)
	if most < 2 || group <= most {
		return seconds
	}
	formula := r.time(o.Moved) // before another route may replace it
	seconds *= max(1, formula/p.inside(o, most).time(o.Moved))
	if most < 4 {
		return seconds
	}
	small := func(group int) float64 {
		return timing.Seconds(&p.kernels.paces[0][b.Peak%peakPlaces], &kernel.Shape{Group: int32(group), Nodes: 1, Moved: smallMessage})
	}
	return seconds + max(0, small(most)-small(most/2))*math.Log2(float64(group)/float64(most))
}

// inside is the route of a collective in a group of consecutive processors.
func (p *Pricer) inside(o *op.Op, group int) *cachedRoute {
	return p.net.route(o.Collective, hardware.Members{Group: group, Span: group}, o.Moved)
}

// HandOn is the time to pass a message from one pipeline stage to the next.
func (p *Pricer) HandOn(stages hardware.Members, message float64) float64 {
	if stages.Group == 1 {
		return 0
	}
	return p.net.route(hardware.PointToPoint, stages, message).time(message)
}
