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

	set *kernel.Set
	own bool // the chip is the one that was measured
}

// newTimers prepares the kernels of a system that has calibrated ones.
func newTimers(s *hardware.System, prec *plan.Precision, phase op.Phase) *timers {
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
	t := &timers{set: set, own: s.Has(set)}
	// The loader has checked the models, and rates and bandwidths are positive: preparing them cannot fail.
	// Weights may be stored narrower than they are multiplied.
	stored := func(models map[string]*kernel.GroupedModel, key string) *kernel.GroupedGemmTimer {
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

// seconds is the time of an operator as its kernel takes it; false where no kernel of its kind is calibrated.
func (t *timers) seconds(o *op.Op) (float64, bool) {
	for _, u := range o.Kernels {
		if s, ok := t.use(u, &o.Shape); ok {
			return s, true
		}
	}
	return 0, false
}

// use is the time of a shape in one kernel.
func (t *timers) use(u kernel.Use, s *kernel.Shape) (float64, bool) {
	if !t.has(u.Slot) {
		return 0, false
	}
	if u.Role == kernel.Within {
		return 0, true
	}
	switch u.Slot {
	case kernel.Gemm:
		// Several matrices beside each other are one that is wider.
		return t.gemm.Seconds(s.M, s.N*s.Count, s.K), true
	case kernel.GroupedGemm:
		return t.grouped.Seconds(s.Count, s.Tiled(), s.N, s.K), true
	case kernel.Experts:
		inner := s.N
		if s.Gated {
			inner /= 2
		}
		return t.fused.Block(s.Count, s.Tiled(), s.K, s.N, inner), true
	case kernel.Absorb:
		return t.absorb.Seconds(s.Count, s.M, s.N, s.K), true
	case kernel.Decode:
		return t.decode.Seconds(s.Count, s.N, s.DecodeHeads(), s.Moved/(s.Count*s.N*float64(s.KVHeads))), true
	case kernel.LatentDecode:
		return t.latent.Seconds(s.Count, s.N, s.DecodeHeads(), s.Moved/(s.Count*s.N*float64(s.KVHeads))), true
	case kernel.Prefill:
		batch, tokens, past := s.Prompts()
		return t.prefill.Seconds(batch, tokens, past, s.PrefillHeads()), true
	case kernel.LatentPrefill:
		batch, tokens, past := s.Prompts()
		return t.latentPrefill.Seconds(batch, tokens, past, s.PrefillHeads()), true
	case kernel.LinearDecode, kernel.LinearPrefill:
		h := kernel.Heads{Query: float64(s.Heads), KV: float64(s.KVHeads), Key: s.K, Value: s.N}
		flops := kernel.StateFlops(s.Gated, u.Slot == kernel.LinearPrefill, s.K, s.N)
		return t.linear.Seconds(s.Count, s.M/s.Count, h, flops), true
	case kernel.ConvolutionDecode, kernel.ConvolutionPrefill:
		return t.convolution.Seconds(1, s.Moved), true
	case kernel.SiluMul:
		return t.gate.Seconds(1, s.Moved), true
	case kernel.AddNorm:
		switch u.Role {
		case kernel.Beside:
			return t.norm.Beside(s.Moved), true
		case kernel.Alone:
			return t.norm.Alone(s.Moved), true
		}
		return t.norm.Seconds(s.Rows, s.Moved/s.Rows), true
	}
	return 0, false
}

// has reports whether the kernel of a slot is calibrated.
func (t *timers) has(s kernel.Slot) bool {
	switch s {
	case kernel.Gemm:
		return t.gemm != nil
	case kernel.GroupedGemm:
		return t.grouped != nil
	case kernel.Experts:
		return t.inBlock
	case kernel.Absorb:
		return t.absorb != nil
	case kernel.Decode:
		return t.decode != nil
	case kernel.LatentDecode:
		return t.latent != nil
	case kernel.Prefill:
		return t.prefill != nil
	case kernel.LatentPrefill:
		return t.latentPrefill != nil
	case kernel.LinearDecode, kernel.LinearPrefill:
		return t.linear != nil
	case kernel.ConvolutionDecode, kernel.ConvolutionPrefill:
		return t.convolution != nil
	case kernel.SiluMul:
		return t.gate != nil
	case kernel.AddNorm:
		return t.norm != nil
	}
	return false
}

// uncovered is what an operator takes beyond the roofline where no kernel of its kind is calibrated: no product is shorter
// than a kernel. Element-wise operators belong to whatever they are fused with.
func (t *timers) uncovered(o *op.Op) float64 {
	if o.Class != op.Linear && o.Class != op.BMM || o.Kernels[1].Role == kernel.Within {
		return 0
	}
	return t.launch
}

// exchange is the time to send tokens to their experts or back, where it was measured over so many nodes or more.
func (t *timers) exchange(o *op.Op) (float64, bool) {
	var timer *kernel.ExchangeTimer
	switch o.Kernels[0].Slot {
	case kernel.DispatchNormal, kernel.DispatchLowLatency:
		timer = t.dispatch
	case kernel.CombineNormal, kernel.CombineLowLatency:
		timer = t.combine
	}
	nodes := (int(o.Span) + t.span - 1) / t.span
	if timer == nil || float64(nodes) > timer.MostNodes() {
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
