package kernel

// Kind groups kernels by how well chips of another maker run them.
type Kind uint8

const (
	Products Kind = iota
	ExpertProducts
	Attention
	Elementwise
	Collectives
	KindCount
)

var Kinds = [KindCount]string{"products", "experts", "attention", "elementwise", "collectives"}

// kindOf is the kind of each slot, if any.
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

func (s Slot) Kind() Kind { return kindOf[s%slotPlaces] }
