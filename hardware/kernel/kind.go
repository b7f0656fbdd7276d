package kernel

// Kind is what kernels have in common that chips of another maker do alike well.
type Kind uint8

const (
	Products Kind = iota
	ExpertProducts
	Attention
	Elementwise
	Collectives
	KindCount
)

// Kinds are the names of the kinds.
var Kinds = [KindCount]string{"products", "experts", "attention", "elementwise", "collectives"}

// kindOf is the kind of the slots; of those that are not here, none.
var kindOf = func() (out [slotPlaces]Kind) {
	for kind, slots := range [KindCount][]Slot{
		Products:       {Gemm, Absorb},
		ExpertProducts: {GroupedGemm, Experts},
		Attention: {
			Decode, LatentDecode, Prefill, LatentPrefill, LinearDecode, LinearPrefill, ConvolutionDecode, ConvolutionPrefill,
		},
		Elementwise: {AddNorm, SiluMul, DeviceCopy, ToHost, ToDevice},
		Collectives: {
			AllReduce, AllGather, ReduceScatter, AllToAll, DispatchNormal, CombineNormal, DispatchLowLatency, CombineLowLatency,
		},
	} {
		for _, s := range slots {
			out[s] = Kind(kind)
		}
	}
	return out
}()

// Kind is that of a kernel.
func (s Slot) Kind() Kind { return kindOf[s%slotPlaces] }
