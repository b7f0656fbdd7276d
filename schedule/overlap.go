package schedule

import (
	"throughline/op"
	"throughline/plan"
)

// Leg is what a layer computes until an exchange of tokens, and that exchange, in seconds.
type Leg struct {
	Computing float64 // including communication that never runs beside computation
	Exchange  float64 // on the network; 0: the block ends without one
	Taken     float64 // share of the units that the exchange takes while it runs
	// Polite is the computing that always leaves exchanges of the other micro-batch their units,
	// and takes Longer for it. Contended is what an exchange takes extra beside computation.
	Polite, Longer, Contended float64
	slowed                    float64 // share of the computing that an exchange beside it slows
	// Beside is the computing of a single batch that may run beside its own exchange. It releases
	// what is exchanged in Parts; 0: it is independent of it.
	Beside, Parts float64
}

// uncovered is the share of a pass's exchanges that the step waits for, including what they take
// from computation. If none takes time, pace is how much longer computation takes nevertheless.
func (p *Pass) uncovered() (share, pace float64) {
	var computing, exchange float64
	for i := range p.Blocks {
		b := &p.Blocks[i]
		for j := range b.Legs[:b.Count] {
			computing += float64(b.Layers) * b.Legs[j].Computing
			exchange += float64(b.Layers) * b.Legs[j].Exchange
		}
	}
	batches := p.Overlap.Batches()
	switch {
	case exchange > 0:
		return max(0, p.overlapped()-batches*computing) / (batches * exchange), 1
	case computing > 0:
		return 1, p.overlapped() / (batches * computing)
	}
	return 1, 1
}

// Block is an attention or a feed-forward block as its legs.
type Block struct {
	op.Run
	Legs  [3]Leg
	Count int
}

// Least is what one layer's block computes and exposes, and what two micro-batches exchange in it.
func (b *Block) Least(o plan.Overlap) (computing, exchange float64) {
	for i := range b.Legs[:b.Count] {
		l := &b.Legs[i]
		if o == plan.TwoBatch {
			computing += 2 * (l.Computing + l.Longer)
			exchange += 2 * (l.Exchange + l.Contended)
		} else {
			computing += l.alone()
		}
	}
	return computing, exchange
}

// overlapped is what a pass adds to a step whose exchanges run beside computation.
func (p *Pass) overlapped() float64 {
	if p.Overlap == plan.TwoBatch {
		return twoBatches(p, nil)
	}
	var t float64
	for i := range p.Blocks {
		b := &p.Blocks[i]
		for j := range b.Legs[:b.Count] {
			t += float64(b.Layers) * b.Legs[j].alone()
		}
	}
	return t
}

// alone is how long a leg takes without another batch: of the exchange remains what the computation
// beside it does not hide, and what the hidden part takes from that.
func (l *Leg) alone() float64 { return l.Computing + l.uncovered() }

func (l *Leg) uncovered() float64 {
	if l.Exchange == 0 {
		return 0
	}
	left := max(0, l.Exchange-l.Beside)
	if l.Parts > 0 {
		left = trailing(l.Exchange, l.Beside, l.Parts)
	}
	return left + l.Taken*(l.Exchange-left)
}

// lanes are the times at which computation and network are free again, while two equal
// micro-batches take turns: each computes until it exchanges tokens. This is how vLLM overlaps two
// batches, and SGLang in prefill; SGLang's decode hands over half an attention later.
type lanes struct {
	computed float64
	sent     [2]float64 // end of the last exchange of either
	taken    [2]float64 // units that it takes
}

// turn computes a leg of one micro-batch from the returned time on, and starts its exchange.
func (s *lanes) turn(i int, l *Leg) (start float64) {
	start, s.computed, s.sent[i], s.taken[i] = l.turn(s.computed, s.sent[i], s.sent[1-i], s.taken[1-i])
	return start
}

// turn returns when a leg starts, has been computed and has been exchanged, and the units that the
// exchange takes, given when computation and both exchanges end and the units of the other. Values
// stay in registers for speed, as turn waits for turn.
func (l *Leg) turn(computed, own, other, share float64) (start, until, sent, taken float64) {
	start = computed
	if own > start { // the built-in max is slower
		start = own
	}
	until = start + l.Computing + l.Longer
	// While the other exchanges, computation has the units that are left.
	if beside := other - start; beside > 0 && share > 0 && l.slowed > 0 {
		if part := beside * l.slowed; part*(1-share) < l.Computing-l.Polite {
			until += share * part
		} else {
			until += share / (1 - share) * (l.Computing - l.Polite)
		}
	}
	if !(l.Exchange > 0) {
		return start, until, until, 0
	}
	sent = until
	if other > sent {
		sent = other
	}
	return start, until, sent + l.Exchange + l.Contended, l.Taken
}

// until is how much later the given times are, if all by the same amount.
func (s *lanes) until(computed, first, second float64) (later float64, same bool) {
	later = computed - s.computed
	near := func(d float64) bool { return d-later <= 1e-12*later && later-d <= 1e-12*later }
	return later, near(first-s.sent[0]) && near(second-s.sent[1])
}

// twoBatches is how long the layers of a stage take as two micro-batches, extrapolating equal ones.
func twoBatches(p *Pass, rec *Recorder) float64 {
	var s lanes
	var sum Leg // since the last exchange
	o := order{runs: p.Runs}
	o.survey()
	for ; o.layer < o.depth; o.layer++ {
		for b := range op.BlockCount {
			i := o.next(b)
			if i < 0 {
				continue
			}
			block := &p.Blocks[i]
			for j := range block.Legs[:block.Count] {
				if rec != nil {
					rec.leg(p, block, j, o.layer)
				}
				if sum.join(&block.Legs[j]) {
					rec.turns(p, &s, &sum)
					sum = Leg{}
				}
			}
		}
		if o.alike && rec == nil && o.layer >= o.leading {
			s.equal(p, &o, &sum)
			break
		}
	}
	sum.close()
	rec.turns(p, &s, &sum)
	return max(s.computed, s.sent[0], s.sent[1])
}

// join adds a leg to those since the last exchange, and reports whether it ends with one.
func (l *Leg) join(next *Leg) bool {
	l.Computing += next.Computing
	l.Polite += next.Polite
	l.Longer += next.Longer
	if next.Exchange > 0 {
		l.Exchange, l.Contended, l.Taken = next.Exchange, next.Contended, next.Taken
		l.close()
		return true
	}
	return false
}

// close computes what turns need of a complete leg.
func (l *Leg) close() {
	if free := l.Computing - l.Polite; free > 0 {
		l.slowed = free / (l.Computing + l.Longer)
	}
}

// equal goes through equal layers until one takes the same as the one before; sum is as in join.
func (s *lanes) equal(p *Pass, o *order, sum *Leg) {
	left := o.depth - 1 - o.layer
	var legs [1 + int(op.BlockCount)*(len(Block{}.Legs)-1)]Leg // and what follows the last exchange
	n, since := 0, &legs[0]
	since.Computing, since.Polite, since.Longer = sum.Computing, sum.Polite, sum.Longer // all that it has
	for b := range op.BlockCount {
		block := &p.Blocks[o.other[b]]
		for j := range block.Legs[:block.Count] {
			if since.join(&block.Legs[j]) {
				n++
				since = &legs[n]
			}
		}
	}
	if n == 0 { // nothing is exchanged
		sum.Computing += float64(left) * (since.Computing - sum.Computing)
		sum.Polite += float64(left) * (since.Polite - sum.Polite)
		sum.Longer += float64(left) * (since.Longer - sum.Longer)
		return
	}
	computed, first, second, takes, taken := s.computed, s.sent[0], s.sent[1], s.taken[0], s.taken[1]
	for ; left > 0; left-- {
		for j := range legs[:n] {
			_, computed, first, takes = legs[j].turn(computed, first, second, taken)
			_, computed, second, taken = legs[j].turn(computed, second, first, takes)
		}
		later, same := s.until(computed, first, second)
		*s = lanes{computed, [2]float64{first, second}, [2]float64{takes, taken}}
		if same {
			rest := float64(left-1) * later
			s.computed += rest
			s.sent[0] += rest
			s.sent[1] += rest
			return
		}
	}
}

// order goes through the layers of a stage: for each its attention, then its feed-forward block.
type order struct {
	runs    []op.Run
	done    [op.MostRuns]int
	layer   int
	depth   int
	leading int // layers in front that differ from the others

	alike bool // all layers behind the leading ones are equal
	other [op.BlockCount]int
}

// survey finds out which layers there are.
func (o *order) survey() {
	var kinds, layers [op.BlockCount]int
	for i := range o.runs {
		n := &o.runs[i]
		layers[n.Block] += n.Layers
		if n.Leading {
			o.leading += n.Layers
		} else {
			kinds[n.Block]++
			o.other[n.Block] = i
		}
	}
	o.depth = layers[op.AttentionBlock]
	o.alike = kinds[op.AttentionBlock] == 1 && kinds[op.MLPBlock] == 1 && layers[op.MLPBlock] == o.depth
}

// next is the kind of block that the layer has; -1: none is left.
func (o *order) next(b op.Block) int {
	if o.alike && o.layer >= o.leading {
		return o.other[b]
	}
	return o.due(b)
}

// due is a leading kind of block while there are any, then the one furthest behind an even spread.
func (o *order) due(b op.Block) int {
	best := -1
	for i := range o.runs {
		n := &o.runs[i]
		if n.Block != b || o.done[i] == n.Layers {
			continue
		}
		if n.Leading {
			best = i
			break
		}
		if best < 0 || o.lag(i) > o.lag(best) {
			best = i
		}
	}
	if best >= 0 {
		o.done[best]++
	}
	return best
}

// lag is how many blocks of a kind an even spread would have more by this layer.
func (o *order) lag(i int) float64 {
	return float64(o.runs[i].Layers*(o.layer+1))/float64(o.depth) - float64(o.done[i])
}
