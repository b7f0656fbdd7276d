package cost

import (
	"math"

	"throughline/hardware"
	"throughline/kernel"
	"throughline/op"
	"throughline/plan"
)

// Peaks of a system file in operations and bytes per second, as kernels are calibrated: whatever a unit means to the
// formulas of a preset, a measured time stays what it is.
const (
	flopsPerTFlop = 1e12
	bytesPerGB    = 1e9
)

// timers are the calibrated models of the kernels that a deployment runs, at the peaks of its system. A nil one is not
// calibrated; its operators keep the roofline.
type timers struct {
	gemm          *kernel.GemmTimer
	grouped       *kernel.GroupedGemmTimer
	fused         *kernel.GroupedGemmTimer // a whole expert block in one kernel
	inBlock       bool                     // experts run in such a kernel
	decode        *kernel.DecodeTimer
	latent        *kernel.DecodeTimer
	prefill       *kernel.PrefillTimer
	latentPrefill *kernel.PrefillTimer
	absorb        *kernel.GroupedGemmTimer
	linear        *kernel.LinearTimer // of the phase, as is
	convolution   *kernel.CurveTimer
	norm          *kernel.CurveTimer
	gate          *kernel.CurveTimer

	// collectives by pattern, in groups within one group of the innermost network: the fastest of those measured is taken,
	// as engines do that have kernels of their own for small messages.
	collectives [hardware.CollectiveCount][]*kernel.CollectiveTimer
	mostRanks   [hardware.CollectiveCount]int // the largest group in which a pattern was measured
	span        int                           // processors of that network
	dispatch    *kernel.ExchangeTimer
	combine     *kernel.ExchangeTimer

	// The keys of the models above.
	matrixType, groupedType, expertType, attentionType, cacheType, absorbType, exchangeMode, phaseKey string
	narrowed                                                                                          bool // weights are stored narrower than in some of them
	// launch is what any kernel takes at least: the latency of the shortest calibrated product.
	launch float64

	set                    *kernel.Set
	own                    bool // the chip is the one that was measured
	phase                  op.Phase
	uneven                 bool // experts see different numbers of tokens
	weightBytes            float64
	weightsOverActivations float64 // bytes of an element
}

// newTimers prepares the kernels of a system that has calibrated ones.
func newTimers(s *hardware.System, prec *plan.Precision, phase op.Phase, uneven bool) *timers {
	set := s.Kernels
	if set == nil {
		return nil
	}
	bandwidth := s.Memory.GBps * bytesPerGB
	// Through a long prefill the clocks are lower, which memory does not feel.
	sustained := 1.0
	if phase == op.Prefill && set.Sustained > 0 {
		sustained = set.Sustained
	}
	rate := func(numberType string) float64 { return s.Matrix[numberType].TFlops * flopsPerTFlop * sustained }
	t := &timers{phase: phase, weightBytes: prec.Weight,
		weightsOverActivations: prec.Weight / prec.Activation,
		set:                    set, own: s.Has(set), uneven: uneven}
	// The loader has checked the models, and rates and bandwidths are positive: preparing them cannot fail.
	// Weights may be stored narrower than they are multiplied.
	stored := func(models map[string]*kernel.GroupedGemm, key string) *kernel.GroupedGemmTimer {
		g := *models[key]
		t.narrowed = t.narrowed || g.Weight != prec.Weight
		g.Weight = prec.Weight
		timer, _ := g.At(rate(prec.MatrixType), bandwidth)
		return timer
	}
	if key, ok := typed(set.Gemm, prec.MatrixType); ok {
		g := *set.Gemm[key]
		t.narrowed = g.Weight != prec.Weight
		g.Weight = prec.Weight
		t.gemm, _ = g.At(rate(prec.MatrixType), bandwidth)
		t.matrixType = key
	}
	if key, ok := typed(set.GroupedGemm, prec.MatrixType); ok {
		t.grouped, t.groupedType = stored(set.GroupedGemm, key), key
	}
	key, ok := typed(set.Experts, prec.MatrixType)
	narrow := set.Experts["int4"]
	if narrow != nil && prec.Weight == narrow.Weight && hardware.TypeBytes(prec.MatrixType) == 2 {
		key, ok = "int4", true
	}
	if ok {
		t.fused, t.expertType = stored(set.Experts, key), key
		// What was measured on the chip itself comes first.
		own := func(kind, key string) bool { return set.MeasuredOn(kind, key) == set.System }
		t.inBlock = t.grouped == nil || key == "int4" || own("experts", key) && !own("grouped_gemm", t.groupedType)
	}
	attention := rate(prec.AttentionType)
	if key, ok := typed(set.Decode, cacheTypes[prec.Cache]); ok {
		t.decode, _ = set.Decode[key].At(attention, bandwidth)
		t.cacheType = key
	}
	if key, ok := typed(set.LatentDecode, cacheTypes[prec.Cache]); ok {
		t.latent, _ = set.LatentDecode[key].At(attention, bandwidth)
		t.cacheType = key
	}
	if key, ok := typed(set.Prefill, prec.AttentionType); ok {
		t.prefill, _ = set.Prefill[key].At(attention, bandwidth)
		t.attentionType = key
	}
	if key, ok := typed(set.LatentPrefill, prec.AttentionType); ok {
		t.latentPrefill, _ = set.LatentPrefill[key].At(attention, bandwidth)
		t.attentionType = key
	}
	// Engines take what is absorbed out of narrower weights when they load them, and multiply it in 16 bits.
	wide := rate("bfloat16")
	if wide == 0 {
		wide = rate("float16")
	}
	if key, ok := typed(set.Absorb, "bfloat16"); ok && wide > 0 {
		t.absorb, _ = set.Absorb[key].At(wide, bandwidth)
		t.absorbType = key
	}
	// States are kept and chunks computed alike whatever the rule; operations make the difference.
	t.phaseKey = "prefill"
	linear, convolution := set.LinearPrefill["gated_delta"], set.Convolution["prefill"]
	if phase == op.Decode {
		t.phaseKey = "decode"
		linear, convolution = set.LinearDecode["gated_delta"], set.Convolution["decode"]
	}
	if linear != nil && wide > 0 {
		t.linear, _ = linear.At(wide, bandwidth) // engines have no narrower one
	}
	if convolution != nil {
		t.convolution, _ = convolution.At(bandwidth)
	}
	for _, g := range set.Gemm {
		if t.launch == 0 || g.Latency < t.launch {
			t.launch = g.Latency
		}
	}
	if m := set.Elementwise["add_rmsnorm"]; m != nil {
		t.norm, _ = m.At(bandwidth)
	}
	if m := set.Elementwise["silu_mul"]; m != nil {
		t.gate, _ = m.At(bandwidth)
	}
	t.span = s.Networks[0].Size
	for c := range t.collectives {
		for _, name := range []string{hardware.Collective(c).Key(), hardware.Collective(c).Key() + "_custom"} {
			if m := set.Collective[name]; m != nil {
				timer, _ := m.At(s.Networks[0].Bandwidth * bytesPerGB)
				t.collectives[c] = append(t.collectives[c], timer)
				t.mostRanks[c] = max(t.mostRanks[c], int(timer.MostRanks()))
			}
		}
	}
	// Engines decode with the kernels for low latency.
	t.exchangeMode = "_normal"
	if phase == op.Decode {
		t.exchangeMode = "_low_latency"
	}
	outside := s.Networks[min(1, len(s.Networks)-1)].Bandwidth * bytesPerGB
	if m := set.Exchange["dispatch"+t.exchangeMode]; m != nil {
		e := *m
		e.Element = max(e.Element, prec.Comm) // wider than it was measured, if so; results come back in 16 bits in any case
		t.dispatch, _ = e.At(s.Networks[0].Bandwidth*bytesPerGB, outside)
	}
	if m := set.Exchange["combine"+t.exchangeMode]; m != nil {
		t.combine, _ = m.At(s.Networks[0].Bandwidth*bytesPerGB, outside)
	}
	return t
}

// cacheTypes are the number types of a KV cache, by the bytes of an element.
var cacheTypes = map[float64]string{1: "float8", 2: "bfloat16"}

// typed finds the key of the model for a number type. The two 16-bit types run alike.
func typed[M any](models map[string]*M, numberType string) (key string, ok bool) {
	for _, key := range []string{numberType, map[string]string{"float16": "bfloat16", "bfloat16": "float16"}[numberType]} {
		if models[key] != nil {
			return key, true
		}
	}
	return numberType, false
}

// alone are the element-wise operators without weights that are kernels of their own.
var alone = [op.KindCount]bool{
	op.ExpertSelection: true, op.ExpertWeighting: true, op.KeyRotate: true, op.ShortConvolution: true, op.IndexSelect: true,
	op.Embedding: true, op.Sampling: true,
}

// seconds is the time of an operator as its kernel takes it; false where no kernel of its kind is calibrated.
//
// Engines fuse what the operators list one by one: residuals with the norm behind them, the gate with its
// multiplication, softmax and the two products of attention. The fused kernel is charged to the first of them, the
// others add their bytes or nothing, but no latency of their own.
func (t *timers) seconds(o *op.Op) (float64, bool) {
	switch o.Kind {
	case op.Softmax, op.GateMultiply, op.ExpertGateMultiply:
		return 0, t.gate != nil || o.Kind == op.ExpertGateMultiply && t.grouped == nil && t.fused != nil
	case op.Activation, op.ExpertActivation:
		if o.Kind == op.ExpertActivation && t.inBlock {
			return 0, true
		}
		if t.gate == nil {
			return 0, false
		}
		return t.gate.Seconds(1, 1.5*o.Bytes()), true // two inputs and one output, of which the operator counts two
	case op.ExpertGateUp, op.ExpertUp, op.ExpertDown:
		if t.inBlock {
			return t.block(o)
		}
		return t.products(o)
	case op.AbsorbQuery, op.AbsorbValue:
		if t.absorb != nil {
			return t.absorb.Seconds(t.matrices(o), o.M, o.N, o.K), true
		}
		return t.products(o)
	case op.ShortConvolution:
		if t.convolution != nil {
			return t.convolution.Seconds(1, o.Activations), true
		}
	case op.LinearState:
		return t.linearAttention(o)
	case op.FusedAttention:
		if t.phase == op.Decode {
			return t.decodeAttention(o)
		}
		return t.prefillAttention(o)
	case op.Scores:
		if !t.latentScores(o) {
			return 0, false
		}
		// Of the width of a key the first part is the value, all but the 64 elements that are rotated.
		batch := float64(o.Sequences)
		return t.latent.Seconds(batch, o.N, t.heads(o, o.K-64), o.Cache/(batch*o.N)), true
	case op.Values:
		return 0, t.latent != nil && t.phase == op.Decode && o.KVHeads == 1 // within the kernel of the scores
	}
	switch {
	case o.Class == op.Linear && o.Unit == op.MatrixUnit && t.gemm != nil:
		// Several matrices beside each other are one that is wider.
		return t.gemm.Seconds(o.M, o.N*max(1, t.matrices(o)), o.K), true
	case o.Class == op.Vector && t.norm != nil:
		if o.Weights == 0 && alone[o.Kind] {
			return t.norm.Alone(o.Bytes()), true
		}
		if o.Weights == 0 || o.Output == 0 {
			return t.norm.Beside(o.Bytes()), true // not a norm, but fused with one
		}
		rows := o.Output / o.Weights * t.weightsOverActivations // the weights are as wide as a row
		return t.norm.Seconds(rows, o.Bytes()/rows), true
	}
	return 0, false
}

// matrices is how many matrices of weights an operator multiplies by.
func (t *timers) matrices(o *op.Op) float64 { return o.Weights / (o.N * o.K * t.weightBytes) }

// rows is what each of several matrices multiplies, in kernels that work on whole tiles. Kernels are calibrated with even
// rows, in whole tiles mostly. By chance each expert sees another number, of whose last tile half is empty on average;
// below half a tile the calibration has that in it.
func (t *timers) rows(o *op.Op) float64 {
	const tile = 128
	m := o.Flops / (2 * o.N * o.K * t.matrices(o)) // of the busiest processor, where that decides
	if !t.uneven || o.Kind == op.AbsorbQuery || o.Kind == op.AbsorbValue {
		return m
	}
	return m + min(max(m-tile/2, 0), tile/2)
}

// products are those of several matrices in one kernel.
func (t *timers) products(o *op.Op) (float64, bool) {
	if t.grouped == nil {
		return 0, false
	}
	return t.grouped.Seconds(t.matrices(o), t.rows(o), o.N, o.K), true
}

// block is an expert block in one kernel, charged to its first product.
func (t *timers) block(o *op.Op) (float64, bool) {
	inner := o.N
	switch o.Kind {
	case op.ExpertDown:
		return 0, true
	case op.ExpertGateUp:
		inner /= 2
	}
	return t.fused.Block(t.matrices(o), t.rows(o), o.K, o.N, inner), true
}

// latentScores reports whether an operator is the scores of latent attention in decode, whose kernel is calibrated.
func (t *timers) latentScores(o *op.Op) bool {
	return t.latent != nil && t.phase == op.Decode && o.Cache > 0 && o.KVHeads == 1 && o.Sequences > 0
}

// heads is the shape of attention with values of the given width. The tokens of a sequence in one step share a pass over
// its cache, as more query heads would.
func (t *timers) heads(o *op.Op, value float64) kernel.Heads {
	queries := 1.0
	if t.phase == op.Decode {
		queries = o.M / float64(o.Sequences)
	}
	return kernel.Heads{Query: queries * float64(o.Heads), KV: float64(o.KVHeads), Key: o.K, Value: value}
}

// valueWidth follows from the operations: a score takes two for each element of a key, its use two for each of a value.
func valueWidth(o *op.Op) float64 { return o.Flops/(2*o.M*o.N*float64(o.Heads)) - o.K }

// decodeAttention is fused attention of grouped heads on a cache.
func (t *timers) decodeAttention(o *op.Op) (float64, bool) {
	if t.decode == nil || o.Sequences == 0 || o.Cache == 0 {
		return 0, false
	}
	batch := float64(o.Sequences)
	tokenBytes := o.Cache / (batch * o.N * float64(o.KVHeads))
	return t.decode.Seconds(batch, o.N, t.heads(o, valueWidth(o)), tokenBytes), true
}

// prefillAttention is fused attention of prompts. Keys and values that were expanded from a latent cache are no longer in
// one.
func (t *timers) prefillAttention(o *op.Op) (float64, bool) {
	timer := t.prefill
	if o.Cache == 0 && t.latentPrefill != nil {
		timer = t.latentPrefill
	}
	if timer == nil || o.Sequences == 0 {
		return 0, false
	}
	batch := float64(o.Sequences)
	tokens := o.M / batch
	past := o.N - (tokens+1)/2 // a token sees what came before the new ones, and half of those
	if past < 0 {
		// Or less, through a window: as much as in several prompts that are shorter.
		batch, tokens, past = batch*tokens/(2*o.N), 2*o.N, 0
	}
	return timer.Seconds(batch, tokens, past, t.heads(o, valueWidth(o))), true
}

// linearAttention reads and changes the states of sequences.
func (t *timers) linearAttention(o *op.Op) (float64, bool) {
	if t.linear == nil || o.Sequences == 0 {
		return 0, false
	}
	heads, sequences := float64(o.Heads), float64(o.Sequences)
	h := kernel.Heads{Query: heads, KV: float64(o.KVHeads), Key: o.K, Value: o.N}
	return t.linear.Seconds(sequences, o.M/sequences, h, o.Flops/(o.M*heads)), true
}

// uncovered is what an operator takes beyond the roofline where no kernel of its kind is calibrated: no product is shorter
// than a kernel. Values belong to the kernel of their scores, and element-wise operators to whatever they are fused with.
func (t *timers) uncovered(o *op.Op) float64 {
	if o.Class != op.Linear && o.Class != op.BMM || o.Kind == op.Values {
		return 0
	}
	return t.launch
}

// exchange is the time to send tokens to their experts or back, where it was measured over so many nodes or more.
func (t *timers) exchange(o *op.Op) (float64, bool) {
	timer := t.dispatch
	if o.Kind == op.Combine {
		timer = t.combine
	}
	nodes := (int(o.Span) + t.span - 1) / t.span
	if timer == nil || o.Experts == 0 || float64(nodes) > timer.MostNodes() {
		return 0, false
	}
	return timer.Seconds(o.M, o.N, float64(o.Experts), o.K, float64(o.Group), float64(nodes)), true
}

// collective is the time of a communication operator, where it was measured.
func (t *timers) collective(o *op.Op) (float64, bool) {
	if t == nil {
		return 0, false
	}
	if s, ok := t.exchange(o); ok {
		return s, true
	}
	if int(o.Span) > t.span {
		return 0, false
	}
	least := math.Inf(1)
	for _, c := range t.collectives[o.Collective%hardware.CollectiveCount] {
		least = min(least, c.Seconds(float64(o.Group), o.Message))
	}
	return least, !math.IsInf(least, 1)
}
