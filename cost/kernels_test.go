package cost

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"throughline/assume"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/test/builtin"
	"throughline/op"
	"throughline/plan"
)

// chip has a peak of 1 T operations and 1 GB per second, 1 GB/s to 4 processors around it and
// beyond.
func chip(set *kernel.Set) *hardware.System {
	ops := [hardware.CollectiveCount]hardware.CollectiveRate{}
	for c := range ops {
		ops[c] = hardware.CollectiveRate{Scale: 1, Lowest: 1}
	}
	network := hardware.Network{Bandwidth: 1, Efficiency: 1, Topology: "switch", MessageSize: hardware.SizeTable{{Efficiency: 1}}, Size: 4, Ops: ops}
	outer := network
	outer.Size = 64
	return &hardware.System{
		Name:   "chip",
		Matrix: map[string]hardware.MatrixEngine{"bfloat16": {TFlops: 1, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 1}}}},
		Vector: map[string]hardware.VectorEngine{"bfloat16": {TFlops: 1, Calibration: 1, Efficiency: hardware.SizeTable{{Efficiency: 1}}}},
		Memory: hardware.Memory{GiB: 1, GBps: 1, Calibration: 1, Efficiency: hardware.SizeTable{{Efficiency: 1}},
			Attention: hardware.PhaseFactor{Decode: 1, Prefill: 1}, Cache: hardware.PhaseFactor{Decode: 1, Prefill: 1}},
		Networks: []hardware.Network{network, outer},
		Kernels:  set,
	}
}

var bf16 = plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}

func pricer(t *testing.T, set *kernel.Set) *Pricer {
	t.Helper()
	return pricerOf(t, set, bf16)
}

func pricerOf(t *testing.T, set *kernel.Set, prec plan.Precision) *Pricer {
	t.Helper()
	p, err := NewPricer(chip(set), &prec, &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("%s takes %v s, by hand %v", what, got, want)
	}
}

// operator is one of a kind that runs in the kernels of its kind.
func operator(k op.Kind, s kernel.Shape) *op.Op {
	return &op.Op{Kind: k, Class: k.Info().Class, Kernels: k.Info().Kernels, Shape: s}
}

// Twice the peak times, one side after the other, behind a second of latency.
var slow = kernel.Base{Latency: 1, Norm: 1, Compute: kernel.Flat(2), Memory: kernel.Flat(2)}

// TestProducts: 2·10·20·30 operations of 1e-12 s; 10·30 and 10·20 activations and 20·30 weights of
// 2 bytes of 1e-9 s. Units are decimal whatever the preset takes a T and a GB for.
func TestProducts(t *testing.T) {
	here := kernel.Surface{Axes: [][]float64{{10}, {20}, {30}}, Slowdown: []float64{2}}
	set := &kernel.Set{System: "chip", Gemm: map[string]*kernel.GemmModel{"bfloat16": {
		Base: kernel.Base{Latency: 1, Norm: 1, Compute: here, Memory: here}, Weight: 2, Input: 2, Output: 2,
	}}}
	o := operator(op.QKV, kernel.Shape{M: 10, N: 20, K: 30, Count: 1})
	want := 1 + 2*12000e-12 + 2*2200e-9
	near(t, "a product", pricer(t, set).Price(o).Time, want)
}

// TestPrompts: attention of 8 tokens of each of 3 sequences, 2 heads of width 4. A token sees half
// of the prompt and itself, 4.5 on average: 8·4 pairs after 0 tokens. Through a window of 2 it is
// 12 prompts of 4 tokens, of 4·2 pairs each.
func TestPrompts(t *testing.T) {
	set := &kernel.Set{Prefill: map[string]*kernel.PrefillAttention{"bfloat16": {Base: slow, Element: 2}}}
	p := pricer(t, set)
	prompt := func(seen float64) *op.Op {
		return &op.Op{Kind: op.FusedAttention, Class: op.BMM, Kernels: kernel.Uses{{Slot: kernel.Prefill}},
			Shape: kernel.Shape{Count: 3, Heads: 2, KVHeads: 1, M: 24, N: seen, K: 4, Value: 4}}
	}
	// Operations: 4 for each pair, sequence, head and element. Bytes: 2·(queries and results
	// 2·24·4·2 + keys and values).
	near(t, "a prompt", p.Price(prompt(4.5)).Time, 1+2*4e-12*(8*4)*(3*2)*4+2*2e-9*24*(2+1)*8)
	near(t, "through a window", p.Price(prompt(2)).Time, 1+2*4e-12*(4*2)*(6*2)*4+2*2e-9*24*(2+1)*8)
}

// TestMeasuredCollectives: within the innermost network the fastest kernel counts, beyond it the
// formula.
func TestMeasuredCollectives(t *testing.T) {
	one := func(latency, slowdown float64) *kernel.CollectiveModel {
		return &kernel.CollectiveModel{Latency: latency, Share: 1, Memory: kernel.Flat(slowdown)}
	}
	p := pricer(t, &kernel.Set{Collective: map[string]*kernel.CollectiveModel{"all_reduce": one(3, 1), "all_reduce_custom": one(1, 4)}})
	sum := func(bytes float64, span int32) float64 {
		return p.Price(&op.Op{Kind: op.MLPAllReduce, Class: op.Comm, Kernels: kernel.Uses{{Slot: kernel.AllReduce}}, Collective: hardware.AllReduce, Span: span, Shape: kernel.Shape{Group: 4, Moved: bytes}}).Time
	}
	near(t, "a small message", sum(0.5e9, 4), 1+4*0.5)
	near(t, "a large one", sum(1e9, 4), 3+1)
	near(t, "one over several nodes", sum(1<<30, 16), 1) // by the formula, with a GB of 2^30
	// Gathered tokens of experts are a collective, not an exchange.
	gather := &op.Op{Kind: op.Dispatch, Class: op.Comm, Kernels: kernel.Uses{{Slot: kernel.AllReduce}}, Collective: hardware.AllReduce, Span: 4, Shape: kernel.Shape{Group: 4, Moved: 1e9}}
	near(t, "gathered tokens", p.Price(gather).Time, 4)
}

// TestLargerGroups: an all-reduce was measured in groups of 2 only, 1 s and 3 s for a GB. By the
// formula a byte is sent 2·(1 - 1/n) times, in a group of 4 half as often again as in one of 2,
// with no latency. Over two nodes of 4 the part outside comes on top: of a quarter of the message,
// since every member of a node takes its share across, once to and fro between two, at 2^30
// bytes/s.
func TestLargerGroups(t *testing.T) {
	s := chip(&kernel.Set{Collective: map[string]*kernel.CollectiveModel{
		"all_reduce": {Latency: 1, Share: 1, Memory: kernel.Surface{Axes: [][]float64{{2}, {1}}, Slowdown: []float64{3}}},
	}})
	for i := range s.Networks {
		s.Networks[i].Ops[hardware.AllReduce] = hardware.CollectiveRate{Scale: 2, Offset: -1, Lowest: 1}
	}
	p, err := NewPricer(s, &bf16, &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(group, span int32) float64 {
		return p.Price(&op.Op{Kind: op.MLPAllReduce, Class: op.Comm, Kernels: kernel.Uses{{Slot: kernel.AllReduce}}, Collective: hardware.AllReduce, Span: span, Shape: kernel.Shape{Group: group, Moved: 1e9}}).Time
	}
	near(t, "a group of 2", sum(2, 2), 1+3)
	near(t, "a group of 4", sum(4, 4), (1+3)*1.5)
	near(t, "two on each of two nodes", sum(4, 8), (1+3)+1e9/(1<<30)/2)
	near(t, "two nodes", sum(8, 8), (1+3)*1.5+1e9/(1<<30)/4)
}

// TestSixteenBits: float16 runs as bfloat16 does, and rests on what that rests on.
func TestSixteenBits(t *testing.T) {
	half := bf16
	half.MatrixType = "float16"
	set := &kernel.Set{System: "chip", From: map[string]string{"gemm.bfloat16": "another"}, Gemm: map[string]*kernel.GemmModel{"bfloat16": {
		Base: kernel.Base{Latency: 1, Norm: 1, Compute: kernel.Flat(1), Memory: kernel.Flat(1)}, Weight: 2, Input: 2, Output: 2,
	}}}
	s := chip(set)
	s.Matrix["float16"] = s.Matrix["bfloat16"]
	p, err := NewPricer(s, &half, &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	o := operator(op.QKV, kernel.Shape{M: 1, N: 1, K: 1, Count: 1})
	if _, level := p.ErrorOf(o); p.Price(o).Time < 1 || level != Estimated {
		t.Errorf("%v s, %v", p.Price(o).Time, level)
	}
}

// TestSeveralMatrices: 4 matrices of 20 × 30 beside each other are one of 80 × 30.
func TestSeveralMatrices(t *testing.T) {
	here := kernel.Surface{Axes: [][]float64{{10}, {80}, {30}}, Slowdown: []float64{2}}
	set := &kernel.Set{Gemm: map[string]*kernel.GemmModel{"bfloat16": {
		Base: kernel.Base{Latency: 1, Norm: 1, Compute: here, Memory: here}, Weight: 2, Input: 2, Output: 2,
	}}}
	o := operator(op.OutputDown, kernel.Shape{M: 10, N: 20, K: 30, Count: 4})
	near(t, "four products", pricer(t, set).Price(o).Time, 1+2*48000e-12+2*1e-9*2*(10*80+10*30+80*30))
}

// TestExchanges: 10 tokens of 8 elements, measured with one byte and sent with two, each to 2 of 4
// experts on as many processors: 3/4 of the copies leave. Over two nodes, where half do, nothing
// was measured: the formula says 1 s, and passing on inside takes no less than on one node, of
// which 7/8 of the copies leave each processor.
func TestExchanges(t *testing.T) {
	level := kernel.ExchangeLevel{Nodes: 1, Latency: 1, Memory: kernel.Flat(2)}
	p := pricer(t, &kernel.Set{Exchange: map[string]*kernel.ExchangeModel{
		"dispatch_low_latency": {Element: 1, Direct: true, Levels: []kernel.ExchangeLevel{level}},
	}})
	o := op.Op{Kind: op.Dispatch, Class: op.Comm, Kernels: kernel.Uses{{Slot: kernel.DispatchLowLatency}, {Slot: kernel.AllToAll}},
		Collective: hardware.AllToAll, Span: 4, Shape: kernel.Shape{M: 10, N: 2, K: 8, Group: 4, Experts: 4, Moved: 1 << 30}}
	near(t, "dispatch", p.Price(&o).Time, 1+2*10*2*0.75*8*2*1e-9)
	if _, level := p.ErrorOf(&o); level != Estimated {
		t.Errorf("kernels of no chip are %v", level)
	}
	o.Group, o.Span = 8, 8
	near(t, "over two nodes", p.Price(&o).Time, 1+2*10*2*7./8*8*2*1e-9)
	o.Kernels[0].Slot, o.Group, o.Span = kernel.CombineLowLatency, 4, 4
	near(t, "combine", p.Price(&o).Time, 1)
}

// TestStoredExperts: experts of four bits that are multiplied in bfloat16 take the kernel measured
// with such weights; where there is none, that of bfloat16 with fewer bytes to read.
func TestStoredExperts(t *testing.T) {
	narrow := bf16
	narrow.Weight = 0.5
	block := func(latency, weight float64) *kernel.GroupedModel {
		return &kernel.GroupedModel{Base: kernel.Base{Latency: latency, Norm: 1, Compute: kernel.Flat(1), Memory: kernel.Flat(1)}, Weight: weight, Input: 2, Output: 2}
	}
	both := map[string]*kernel.GroupedModel{"bfloat16": block(1, 2), "int4": block(7, 0.5)}
	one := map[string]*kernel.GroupedModel{"bfloat16": block(1, 2)}
	for _, test := range []struct {
		prec plan.Precision
		set  map[string]*kernel.GroupedModel
		want float64 // latency, which is far longer than the product
	}{{bf16, both, 1}, {narrow, both, 7}, {narrow, one, 1}} {
		o := operator(op.ExpertGateUp, kernel.Shape{M: 1, Rows: 1, N: 64, K: 64, Count: 1, Gated: true})
		if got := pricerOf(t, &kernel.Set{Experts: test.set}, test.prec).Price(o).Time; math.Abs(got-test.want) > 1e-3 {
			t.Errorf("weights of %g bytes: %v s, want about %v s", test.prec.Weight, got, test.want)
		}
	}
}

// TestLastKernel: an operator of experts runs in the first of its kernels that is calibrated.
// Between the halves of an exchange it has three; where no block is calibrated, the last is a
// kernel of its own, with 1 s of latency and 1e9 bytes at 1 GB/s.
func TestLastKernel(t *testing.T) {
	last := kernel.Uses{{Slot: kernel.DispatchedExperts, Role: kernel.Within}, {Slot: kernel.Experts, Role: kernel.Within}, {Slot: kernel.SiluMul}}
	set := &kernel.Set{System: "chip", Elementwise: map[string]*kernel.Curve{"silu_mul": {Latency: 1, Memory: kernel.Flat(1)}}}
	p := pricer(t, set)
	o := operator(op.ExpertActivation, kernel.Shape{Moved: 1e9})
	o.Kernels = last
	near(t, "an activation", p.Price(o).Time, 1+1)
	if u, ok := p.Use(o); !ok || u != last[2] {
		t.Errorf("runs in %v", u)
	}
}

// TestAbsorbed: 3 heads, 5 tokens of each by 20 × 30. Weights of one byte are multiplied as two.
func TestAbsorbed(t *testing.T) {
	narrow := bf16
	narrow.Weight = 1
	here := kernel.Surface{Axes: [][]float64{{5}, {60}, {30}}, Slowdown: []float64{2}}
	set := &kernel.Set{System: "chip", Errors: map[string]float64{"absorb.bfloat16": 0.25},
		Absorb: map[string]*kernel.GroupedModel{"bfloat16": {Base: kernel.Base{Latency: 1, Norm: 1, Compute: here, Memory: here}, Weight: 2, Input: 2, Output: 2}}}
	p := pricerOf(t, set, narrow)
	o := operator(op.AbsorbQuery, kernel.Shape{M: 5, Rows: 5, N: 20, K: 30, Count: 3})
	// Inputs take no more than at peak.
	near(t, "absorbed queries", p.Price(o).Time, 1+2*2e-12*3*5*20*30+1e-9*(2*2*3*(20*30+5*20)+2*3*5*30))
	if share, level := p.ErrorOf(o); share != 0.25 || level != Fitted {
		t.Errorf("off by %g, %v", share, level)
	}
	// Shapes of a kernel share half of its error; those of a roofline all of theirs.
	if share, level := p.CommonError(o); share != 0.125 || level != Fitted {
		t.Errorf("off together by %g, %v", share, level)
	}
	bare := &op.Op{Class: op.BMM}
	alone, _ := p.ErrorOf(bare)
	if share, _ := p.CommonError(bare); share != alone {
		t.Errorf("without a kernel off together by %g, alone by %g", share, alone)
	}
	// At half of the clock computing takes twice as long, and memory as long as before.
	o.Flops = 1e9
	full := p.Price(o)
	p.system.Power = &hardware.Power{Limit: 700, Clock: hardware.Clock{MHz: 2000, Lowest: 200, Knee: 0.5, Voltage: 0.5}}
	p.SetClock(0.5)
	half := p.Price(o)
	near(t, "computing at half of the clock", half.Compute, 2*full.Compute)
	near(t, "memory at half of the clock", half.Memory, full.Memory)
}

// TestLinear: 6 tokens of 2 sequences, 4 heads of values of 8 on 2 of keys of 16. Every element of
// the state takes 4 operations; in a prefill 2 for every element of keys and values and each of the
// 64 tokens of a chunk come to that.
func TestLinear(t *testing.T) {
	model := map[string]*kernel.LinearAttention{"gated_delta": {Base: slow, Element: 2, State: 4}}
	set := &kernel.Set{System: "chip", LinearDecode: model, LinearPrefill: model,
		Convolution: map[string]*kernel.Curve{"decode": {Latency: 3, Memory: kernel.Flat(2)}, "prefill": {Latency: 4, Memory: kernel.Flat(2)}},
		Errors:      map[string]float64{"linear_decode.gated_delta": 0.1, "linear_prefill.gated_delta": 0.2, "convolution.decode": 0.3, "convolution.prefill": 0.3}}
	state := func(s kernel.Slot) *op.Op {
		return &op.Op{Kind: op.LinearState, Class: op.BMM, Kernels: kernel.Uses{{Slot: s}},
			Shape: kernel.Shape{Count: 2, Heads: 4, KVHeads: 2, M: 6, N: 8, K: 16}}
	}
	conv := func(s kernel.Slot) *op.Op {
		return &op.Op{Kind: op.ShortConvolution, Class: op.Vector, Kernels: kernel.Uses{{Slot: s}}, Shape: kernel.Shape{Moved: 1e9}}
	}
	bytes := 2e-9 * (2*6*2*(2*16+4*8) + 4*2*2*4*16*8)
	decode, prefill := pricer(t, set), pricer(t, set)
	near(t, "linear attention", decode.Price(state(kernel.LinearDecode)).Time, 1+2e-12*6*4*4*16*8+bytes)
	near(t, "in a prefill", prefill.Price(state(kernel.LinearPrefill)).Time,
		1+2e-12*6*4*(4*16*8+64*2*(16+8))+bytes)
	near(t, "a convolution", decode.Price(conv(kernel.ConvolutionDecode)).Time, 3+2)
	near(t, "one of prompts", prefill.Price(conv(kernel.ConvolutionPrefill)).Time, 4+2)
	for _, c := range []struct {
		p    *Pricer
		o    *op.Op
		want float64
	}{
		{decode, state(kernel.LinearDecode), 0.1}, {prefill, state(kernel.LinearPrefill), 0.2},
		{decode, conv(kernel.ConvolutionDecode), 0.3}, {prefill, conv(kernel.ConvolutionPrefill), 0.3},
	} {
		if share, level := c.p.ErrorOf(c.o); share != beyond*c.want || level != Extrapolated {
			t.Errorf("%v is off by %g, %v", c.o.Kind, share, level)
		}
	}
}

// TestUncovered: what no kernel covers takes the roofline, 2^30 bytes of 1 s, and where it is a
// kernel of its own the latency of the shortest product.
func TestUncovered(t *testing.T) {
	of := func(latency float64) *kernel.GemmModel {
		return &kernel.GemmModel{Base: kernel.Base{Latency: latency, Norm: 1, Compute: kernel.Flat(1), Memory: kernel.Flat(1)}}
	}
	p := pricer(t, &kernel.Set{Gemm: map[string]*kernel.GemmModel{"bfloat16": of(3), "float8": of(2)}})
	inside := kernel.Uses{{Slot: kernel.LatentDecode, Role: kernel.Within}, {Role: kernel.Within}}
	for _, c := range []struct {
		kind    op.Kind
		kernels kernel.Uses
		want    float64
	}{
		{op.IndexScores, kernel.Uses{}, 3}, {op.Scores, kernel.Uses{{Slot: kernel.LatentDecode}}, 3},
		{op.LinearState, kernel.Uses{{Slot: kernel.LinearDecode}}, 3}, {op.Values, inside, 1}, {op.Softmax, inside, 1},
	} {
		o := &op.Op{Kind: c.kind, Class: c.kind.Info().Class, Kernels: c.kernels, Cache: 1 << 30}
		near(t, c.kind.String(), p.Price(o).Time, c.want)
	}
}

// TestTaken: what exchanges of DeepEP take from computation. For throughput 20 of 132 units as long
// as they run; for low latency all units while they send and receive 128 tokens, 35.7 and 36.9 µs,
// but never longer than the exchange takes.
func TestTaken(t *testing.T) {
	for _, c := range []struct {
		slot   kernel.Slot
		phase  op.Phase
		tokens float64
		want   float64 // seconds; 0: the share of units
	}{
		{kernel.DispatchNormal, op.Prefill, 4096, 0}, {kernel.CombineNormal, op.Prefill, 4096, 0},
		{kernel.DispatchLowLatency, op.Decode, 128, 35.7e-6}, {kernel.CombineLowLatency, op.Decode, 128, 36.9e-6},
	} {
		p, err := NewPricer(builtin.System(t, "H100_SXM"), &bf16, &assume.Physical)
		if err != nil {
			t.Fatal(err)
		}
		o := exchangeOp(c.slot, c.tokens, 32, 0, 0)
		b := p.Communicate(o)
		times, units := p.Contended(o)
		if c.want == 0 {
			near(t, c.slot.String(), b.Displaced, b.Time*20/132)
			near(t, "units of products", units, 112./132)
			near(t, "beside computation", times, 25.8/21.6)
			continue
		}
		if math.Abs(b.Displaced/c.want-1) > 0.01 || b.Displaced > b.Time || times != 1 || units != 1 {
			t.Errorf("%s: %.1f of %.1f µs, x%v on %v of the units", c.slot, b.Displaced*1e6, b.Time*1e6, times, units)
		}
	}
	if short := (&taken{seconds: 1, token: 1}); short.of(2, 5) != 2 || short.of(10, 5) != 6 {
		t.Error("sending and receiving take longer than the exchange")
	}
}

// TestLibrary: where an engine runs products of 8 bits in the library of those of 16, 10 × 20 × 30
// take what 10 × 20 × 15 take in 16 bits: 2·10·20·30 operations at twice the rate, and 10·30 and
// 20·30 elements of one byte beside 10·20 results of two. A kernel of 8 bits that is faster counts;
// weights with scales of blocks have kernels of their own.
func TestLibrary(t *testing.T) {
	fp8 := bf16
	fp8.Weight, fp8.Activation, fp8.MatrixType, fp8.Library = 1, 1, "float8", true
	base := func(latency, slowdown float64) kernel.Base {
		here := kernel.Surface{Axes: [][]float64{{10}, {20}, {15, 30}}, Slowdown: []float64{slowdown, slowdown}}
		return kernel.Base{Latency: latency, Norm: 1, Compute: here, Memory: here}
	}
	slow, slower := base(1, 2), base(5, 9)
	model := func(b kernel.Base, bytes float64) *kernel.GemmModel {
		return &kernel.GemmModel{Base: b, Weight: bytes, Input: bytes, Output: 2}
	}
	const work, moved = 2 * 10 * 20 * 30, 10*30 + 20*30 + 2*10*20
	at := func(wide, narrow kernel.Base, prec plan.Precision) (float64, Level) {
		system := chip(&kernel.Set{System: "chip", Gemm: map[string]*kernel.GemmModel{"bfloat16": model(wide, 2), "float8": model(narrow, 1)},
			Errors: map[string]float64{"gemm.float8": 0.1}})
		system.Matrix["float8"] = hardware.MatrixEngine{TFlops: 2, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 1}}}
		p, err := NewPricer(system, &prec, &assume.Reference)
		if err != nil {
			t.Fatal(err)
		}
		o := operator(op.QKV, kernel.Shape{M: 10, N: 20, K: 30, Count: 1})
		_, level := p.ErrorOf(o)
		return p.Price(o).Time, level
	}
	got, level := at(slow, slower, fp8)
	near(t, "a product in the library", got, 1+2*work*0.5e-12+2*moved*1e-9)
	if level != Extrapolated {
		t.Errorf("a product that was measured in 16 bits is %v", level)
	}
	got, _ = at(slower, slow, fp8)
	near(t, "a faster kernel of 8 bits", got, 1+2*work*0.5e-12+2*moved*1e-9)
	for name, change := range map[string]func(*plan.Precision){
		"another engine": func(p *plan.Precision) { p.Library = false }, "scales of blocks": func(p *plan.Precision) { p.Weight += 4. / (128 * 128) },
	} {
		other := fp8
		change(&other)
		got, _ = at(slow, slower, other)
		near(t, name, got, 5+9*work*0.5e-12+9*moved*1e-9)
	}
}

// TestBlockProducts: in kernels that reach no more than 1 MFLOP/s, a product of 10 × 20 × 30 of
// weights with scales of blocks takes its 2·10·20·30 operations at that rate, and one whose weights
// take longer to read what the tables say; weights with one scale do not meet them. Kernels that
// are not tuned for 20 × 30 take two seconds for it, and nothing more for other weights.
func TestBlockProducts(t *testing.T) {
	here := kernel.Surface{Axes: [][]float64{{10}, {20}, {30}}, Slowdown: []float64{1}}
	set := &kernel.Set{System: "chip", Errors: map[string]float64{"gemm.float8": 0.1}, Gemm: map[string]*kernel.GemmModel{
		"float8": {Base: kernel.Base{Latency: 1e-3, Norm: 1, Compute: here, Memory: here}, Weight: 1, Input: 1, Output: 2}}}
	const work, moved = 2 * 10 * 20 * 30, 10*30 + 20*30 + 2*10*20
	const table = 1e-3 + work*0.5e-12 + moved*1e-9
	const blocks = 1 + 4./(128*128)
	for _, c := range []struct {
		weight float64
		told   plan.Kernels
		want   float64
	}{
		{blocks, plan.Kernels{TFlops: 1e-6}, work / 1e6}, {blocks, plan.Kernels{TFlops: 1e-2}, table}, {blocks, plan.Kernels{}, table}, {1, plan.Kernels{TFlops: 1e-6}, table},
		{blocks, plan.Kernels{N: 20, K: 30, Seconds: 2}, 2}, {blocks, plan.Kernels{N: 20, K: 31, Seconds: 2}, table}, {1, plan.Kernels{N: 20, K: 30, Seconds: 2}, table},
	} {
		fp8 := bf16
		fp8.Weight, fp8.Activation, fp8.MatrixType, fp8.BlockKernels = c.weight, 1, "float8", c.told
		system := chip(set)
		system.Matrix["float8"] = hardware.MatrixEngine{TFlops: 2, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 1}}}
		p, err := NewPricer(system, &fp8, &assume.Reference)
		if err != nil {
			t.Fatal(err)
		}
		o := operator(op.QKV, kernel.Shape{M: 10, N: 20, K: 30, Count: 1})
		near(t, fmt.Sprintf("%+v", c), p.Price(o).Time, c.want)
		if _, level := p.ErrorOf(o); (level == Extrapolated) != (c.weight > 1 && (c.told.TFlops > 0 || c.told.K == 30)) {
			t.Errorf("%+v: %v", c, level)
		}
	}
}

// TestLibraryMeasured: products that were measured in 16 and in 8 bits with cuBLAS.
func TestLibraryMeasured(t *testing.T) {
	f, err := os.Open("../measure/H200/ops.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	type product struct {
		dtype   string
		m, n, k int
	}
	times := map[product]float64{}
	for _, row := range rows {
		p := product{dtype: row[1]}
		if n, _ := fmt.Sscanf(row[2], "m=%d;n=%d;k=%d", &p.m, &p.n, &p.k); n == 3 && row[0] == "gemm" {
			times[p], _ = strconv.ParseFloat(row[5], 64)
		}
	}
	var ratios []float64
	for p, time := range times {
		if wide := times[product{"bf16", p.m, p.n, p.k / 2}]; p.dtype == "fp8" && wide > 0 {
			ratios = append(ratios, time/wide)
		}
	}
	slices.Sort(ratios)
	if n := len(ratios); n < 15 || math.Abs(ratios[n/2]-1) > 0.05 || ratios[0] < 0.8 || ratios[n-1] > 1.25 {
		t.Errorf("%d products of 8 bits take %.2f times those of half the inputs in 16", n, ratios)
	}
}

// TestIndexWaves: 10 multiprocessors at 1e9 operations of 8 bits a second at half of them: a tile
// of 128 rows of 4 elements takes one of them 2·128·4 / 5e7 seconds for an entry. 3 tiles take as
// long as the longest, 11 of them twice the mean; each launch by itself.
func TestIndexWaves(t *testing.T) {
	sys := builtin.System(t, "H200").Clone()
	sys.Units, sys.Indexing = 10, 0.5
	rate := sys.Matrix["float8"]
	rate.TFlops = 1e-3
	sys.Matrix["float8"] = rate
	as := assume.Physical
	prec := plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}
	p, err := NewPricer(sys, &prec, &as)
	if err != nil {
		t.Fatal(err)
	}
	const entry = 2 * 128 * 4 / 5e7
	for _, c := range []struct{ tiles, launches, mean, longest, want float64 }{
		{3, 1, 50, 90, 90 * entry},
		{11, 1, 50, 90, 100 * entry},
		{3, 2, 50, 90, 180 * entry},
	} {
		o := &op.Op{Kind: op.IndexScores, Class: op.BMM, Unit: op.IndexUnit, Phase: op.Prefill}
		o.M, o.N, o.K, o.Count, o.Rows = 128*c.tiles, c.mean, 4, c.launches, c.longest
		if compute, _ := p.sides(o); math.Abs(compute-c.want) > 1e-12*c.want {
			t.Errorf("%g tiles in %g launches: %g s, by hand %g", c.tiles, c.launches, compute, c.want)
		}
	}
}

// TestStatesOfDecodes: 953 sequences that decode beside 7239 tokens of prompts take 4361.6 us in one
// kernel with them, where 8192 tokens of prompts take 464.1 (vllm-project/vllm pull 44700, on
// Blackwell with a newer kernel than that of the tables): 8.5 times as long without the prompts.
func TestStatesOfDecodes(t *testing.T) {
	p, err := NewPricer(builtin.System(t, "B200"), &bf16, &assume.Physical)
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(sequences, tokens float64) float64 {
		return p.Price(&op.Op{Kind: op.LinearState, Class: op.BMM, Kernels: kernel.Uses{{Slot: kernel.LinearPrefill}},
			Shape: kernel.Shape{Count: sequences, Heads: 64, KVHeads: 16, M: tokens, N: 128, K: 128, Gated: true}}).Time
	}
	want := 4361.6/464.1 - 7239./8192
	if got := seconds(953, 953) / seconds(1, 8192); got < 0.85*want || got > 1.15*want {
		t.Errorf("%.2f times as long, measured %.2f", got, want)
	}
}
