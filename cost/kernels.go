package cost

import (
	"math"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// Kernels are calibrated in these units of a system file's peaks, whatever a preset's formulas use.
const (
	flopsPerTFlop = 1e12
	bytesPerGB    = 1e9
)

// kernels are the calibrated kernels of a deployment, by the number format of each module.
type kernels struct {
	set  *kernel.Set // nil: none
	wide string
	// weightOnly is that of the chip that the kernels were borrowed for.
	weightOnly float64

	bound [modulePlaces]*kernel.Bound
	// library is the 16-bit product of engines that run 8-bit ones in the same library, or nil.
	library [modulePlaces]kernel.Timing
	// blockKernels are the server's kernels of block-scaled products, worse than the tables'.
	blockKernels [modulePlaces]plan.Kernels
	paces        [modulePlaces][peakPlaces]kernel.Pace

	formula   bool    // collectives take that of the network
	allReduce float64 // seconds that the engine's takes longer

	// slower: kernels do less well than where they were measured, by kind, and take launch longer.
	slower bool
	slow   [kernel.KindCount]float64
	launch float64

	// differ: some kernels are not those of the tables, or do less well.
	differ bool

	message kernel.Shape // of the communication that is being priced
}

// on takes the kernels of a system at its peaks; only other sets or number types are bound anew.
func (k *kernels) on(s *hardware.System, prec *plan.Precision, engine bool, peaks *peaks) {
	set := s.Kernels
	if set == nil || prec.HasOwn() {
		k.set = nil
		return
	}
	wide := wideType(s)
	if k.set != set || k.wide != wide || k.weightOnly != s.Borrowed.WeightOnly {
		k.set, k.wide, k.weightOnly = set, wide, s.Borrowed.WeightOnly
		k.bind(prec, engine)
	}
	perByte := 1 / (s.Memory.GBps * bytesPerGB)
	pace := func(tflops float64, kind kernel.Kind) kernel.Pace {
		return kernel.Pace{Flop: 1 / (tflops * flopsPerTFlop), Byte: perByte * s.Borrowed.BytePace(kind)}
	}
	k.borrow(&s.Borrowed)
	k.differ = k.slower || k.library != [modulePlaces]kernel.Timing{} || k.blockKernels != [modulePlaces]plan.Kernels{}
	k.formula, k.allReduce = s.Networks[0].Formula, prec.AllReduce
	outside := &s.Networks[min(1, len(s.Networks)-1)]
	paces := [peakPlaces]kernel.Pace{
		kernel.MemoryPeak:    {Byte: perByte},
		kernel.AttentionPeak: pace(peaks.attention, kernel.Attention),
		kernel.LinkPeak:      {Byte: 1 / (s.Networks[0].Bandwidth * bytesPerGB), Far: 1 / (outside.Bandwidth * bytesPerGB)},
	}
	if wide != "" {
		paces[kernel.WidePeak] = pace(s.Matrix[wide].TFlops, kernel.Products)
	}
	for m := range model.ModuleCount {
		kind := kernel.Products
		if m == model.ExpertModule {
			kind = kernel.ExpertProducts
		}
		paces[kernel.MatrixPeak] = pace(peaks.product[m]*unpacked(prec, m), kind)
		k.paces[m] = paces
	}
}

// unpacked is the share of its rate that a product of a module reaches whose weights are narrower
// than what it multiplies. Blocks of such experts were measured.
func unpacked(prec *plan.Precision, m model.Module) float64 {
	f := prec.Of(m)
	if prec.Unpacking == 0 || m == model.ExpertModule || f.Weight >= wideBytes || hardware.TypeBytes(f.Type) != wideBytes {
		return 1
	}
	return prec.Unpacking
}

// borrow takes over the efficiencies of kernels measured on another chip.
func (k *kernels) borrow(b *hardware.Borrowed) {
	k.slower, k.launch = b.Launch > 0, b.Launch
	for kind, share := range b.Efficiency {
		k.slow[kind] = 1
		if share > 0 && share < 1 {
			k.slow[kind], k.slower = 1/share, true
		}
	}
}

// here converts a kernel's time to this chip. What is fused with another is not launched.
func (k *kernels) here(t float64, u kernel.Use) float64 {
	t *= k.slow[u.Slot.Kind()]
	if u.Role.Launched() {
		t += k.launch
	}
	return t
}

// bind prepares the kernels for the number format of each module. Modules of one format share them.
func (k *kernels) bind(prec *plan.Precision, engine bool) {
	dispatch, combine := prec.Exchanged(engine)
	for m := range model.ModuleCount {
		f := k.unpacked(prec.Of(m))
		k.library[m], k.blockKernels[m] = nil, plan.Kernels{}
		if f.Type == narrowType && f.Weight > narrowBytes {
			k.blockKernels[m] = prec.BlockKernels
		}
		if prec.Library && f.Type == narrowType && f.Weight == narrowBytes {
			k.library[m], _ = k.set.Bind(kernel.Types{Matrix: k.wide, Wide: k.wide}).For(kernel.Use{Slot: kernel.Gemm})
		}
		if first := k.unpacked(prec.Of(0)); m > 0 && f.Weight == first.Weight && f.Type == first.Type && f.Stored == first.Stored {
			k.bound[m] = k.bound[0]
			continue
		}
		k.bound[m] = k.set.Bind(kernel.Types{
			Matrix: f.Type, Attention: prec.AttentionType, Cache: cacheTypes[prec.Cache], Wide: k.wide, ReadsNarrow: prec.ReadsNarrow,
			PrefillBy: kernel.Backends(prec.PrefillBy), DecodeBy: kernel.Backends(prec.DecodeBy), Fused: prec.Fused,
			Weight: f.Weight, Stored: f.Stored, Dispatch: dispatch, Combine: combine,
		})
	}
}

// unpacked is a format as the chip's kernels read it: unpacking weights through memory adds bytes.
func (k *kernels) unpacked(f plan.Product) plan.Product {
	wide := hardware.TypeBytes(f.Type)
	if k.weightOnly > 0 && wide == wideBytes && f.Weight < wide {
		f.Weight, f.Stored = max(f.Weight, wide/k.weightOnly), ""
	}
	return f
}

// wideBytes is the size of 16 bits; narrowType is the 8-bit type of products with one scale.
const (
	wideBytes   = 2
	narrowType  = "float8"
	narrowBytes = 1
)

// byLibrary is the time of an 8-bit product in the library that was measured with 16 bits, infinite
// without one: half as many inputs at the rate of 8 bits. It loads the same bytes into the same
// tiles, and an instruction multiplies 32 bytes of a row of either. Of the products that
// measure/H200 has of both, by cuBLAS, those of 8 bits take 0.84 to 1.18 times that, 1.03 in the
// median.
func (k *kernels) byLibrary(o *op.Op, u kernel.Use) float64 {
	m := o.Module % modulePlaces
	if k.library[m] == nil || u.Slot != kernel.Gemm || u.Role.Included() {
		return math.Inf(1)
	}
	half, pace := o.Shape, k.paces[m][kernel.MatrixPeak]
	half.K *= narrowBytes / float64(wideBytes)
	pace.Flop *= wideBytes / float64(narrowBytes)
	return k.library[m].Seconds(&pace, &half)
}

// byBlockKernels is the least time of a block-scaled product in the server's own kernels, if any.
// Products of few tokens read their weights in the time of the tables.
func (k *kernels) byBlockKernels(o *op.Op, u kernel.Use) (least float64) {
	t, s := &k.blockKernels[o.Module%modulePlaces], &o.Shape
	if u.Slot != kernel.Gemm || u.Role.Included() {
		return 0
	}
	if t.TFlops > 0 {
		least = 2 * s.M * s.N * s.K * s.Count / (t.TFlops * flopsPerTFlop)
	}
	if s.N*s.Count == t.N && s.K == t.K {
		least = max(least, t.Seconds)
	}
	return least
}

// cacheTypes are the number types of a KV cache, by the bytes of an element.
var cacheTypes = map[float64]string{1: "float8", 2: "bfloat16"}

// wideType is a 16-bit type that the chip multiplies in, if any.
func wideType(s *hardware.System) string {
	for _, t := range [...]string{"bfloat16", "float16"} {
		if _, ok := s.Matrix[t]; ok {
			return t
		}
	}
	return ""
}

// timing returns the calibrated kernel of a use, if any. A library that stands in for the tables'
// products was measured without quantising their input.
func (k *kernels) timing(m model.Module, u kernel.Use) (kernel.Timing, *kernel.Binding) {
	if u.Role == kernel.Quantised && k.library[m] != nil {
		return nil, nil
	}
	return k.bound[m].For(u)
}

// differing is the time of an operator here, given that of its kernel as measured.
func (k *kernels) differing(seconds float64, o *op.Op, u kernel.Use) float64 {
	if k.library[o.Module%modulePlaces] != nil {
		seconds = min(seconds, k.byLibrary(o, u))
	}
	if k.slower {
		seconds = k.here(seconds, u)
	}
	return max(seconds, k.byBlockKernels(o, u))
}

// fewRouted is the launch of an engine's kernel for routers of few tokens: tinygemm takes 3.1 us of
// gpt-oss-120b on B200, 3.4 with up to 32 tokens alone and 3.7 on H100 (vllm-project/vllm pull
// 37244, sgl-project/sglang pull 20848), that of DeepSeek-V3 about 3 (NVIDIA/TensorRT-LLM pull
// 13646).
const fewRouted = 3.1e-6

// uncovered is the least launch time of a product without a calibrated kernel. Element-wise
// operators belong to whatever they are fused with.
func (k *kernels) uncovered(o *op.Op) float64 {
	if o.Kind == op.Router && o.Count == 0 {
		return fewRouted
	}
	if o.Class != op.Linear && o.Class != op.BMM || !o.Kernels.Own() {
		return 0
	}
	return k.bound[o.Module%modulePlaces].Launch
}

// taken is what communication kernels take from computation: a share of the units while they run,
// and all units for some seconds plus some per token. Contended is how much longer they run.
type taken struct{ units, seconds, token, contended float64 }

// of is the computation displaced by a kernel that sends tokens for a number of seconds.
func (t *taken) of(seconds, tokens float64) float64 {
	return t.units*seconds + min(seconds, t.seconds+t.token*tokens)
}

// takes is what the kernels of DeepEP take. Those for throughput run on 20 (num_sms in
// deep_ep/buffer.py) of the 132 multiprocessors of a Hopper. 16384 tokens of DeepSeek-V3 take 25.8
// ms in SGLang's server with even experts in place of 21.6 alone
// (lmsys.org/blog/2025-05-05-large-scale-ep), 26.8 in DeepSeek's profile in place of 22.3 by its
// library's printed bandwidths.
//
// Those for low latency take none while data are in flight (github.com/deepseek-ai/DeepEP, "a
// hook-based method"), but one kernel sends and another receives. For 8, 64 and 128 tokens of
// DeepSeek-V3 these take 19.1, 26.6 and 35.7 µs in a dispatch over 16 H20; for 128 tokens those of
// a combine take 41.0 where those of a dispatch take 39.6 (Ant Group's network team on its work on
// DeepEP, tables of section 3).
var takes = [kernel.SlotCount]taken{
	kernel.DispatchNormal:     {units: sendingUnits, contended: 25.8 / 21.6},
	kernel.CombineNormal:      {units: sendingUnits, contended: 25.8 / 21.6},
	kernel.DispatchLowLatency: {seconds: 18e-6, token: 0.138e-6},
	kernel.CombineLowLatency:  {seconds: 18.6e-6, token: 0.143e-6},
}

const sendingUnits = 20.0 / 132

// barrierShare is the time that a rank waits at the barriers of both halves of an exchange for
// throughput, as a share of the rest of the layer: 4.8 of 36.3 ms in SGLang's server with even
// experts, 4.9 of 42.9 with those of real texts, 4.1 of 34.6 in DeepSeek's profile, each over 32
// ranks of four nodes (lmsys.org/blog/2025-05-05-large-scale-ep). The slowest of 32 ranks lags 2.07
// standard deviations behind their mean.
const (
	barrierShare = (4.8/(36.3-4.8) + 4.9/(42.9-4.9) + 4.1/(34.6-4.1)) / 3
	slowestOf32  = 2.07
)

// sending returns the kernel of a communication operator across nodes, if any, and sets k.message.
// Kernels measured on several nodes count for any number of them.
func (k *kernels) sending(o *op.Op, nodes int) (kernel.Timing, *kernel.Binding) {
	for _, u := range o.Kernels {
		if t, b := k.bound[0].For(u); t != nil && !(k.formula && b.Ranks > 0) {
			k.message = o.Shape
			k.message.Nodes = int16(nodes)
			return t, b
		}
	}
	return nil, nil
}

func (k *kernels) sent(timing kernel.Timing, b *kernel.Binding, o *op.Op) float64 {
	t := timing.Seconds(&k.paces[0][b.Peak%peakPlaces], &k.message)
	if k.slower {
		t = k.here(t, o.Kernels[0])
	}
	if o.Collective == hardware.AllReduce {
		t += k.allReduce
	}
	return t
}
