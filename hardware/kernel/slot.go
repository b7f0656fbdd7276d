package kernel

import "slices"

// Slot is the place of a kernel in a deployment, which operators and rows of measurements name.
// Precision or the slot itself picks its model from a section of a set.
type Slot uint8

const (
	None Slot = iota // never calibrated
	Gemm
	GroupedGemm
	Experts           // a whole expert block in one kernel
	DispatchedExperts // the same, with tokens already sorted by an exchange
	Absorb
	Decode
	LatentDecode
	Prefill
	LatentPrefill
	LinearDecode
	LinearPrefill
	ConvolutionDecode
	ConvolutionPrefill
	AddNorm
	SiluMul
	Quantise
	RopeCache
	TopK
	Align
	Permute
	Unpermute
	ArgMax
	DeltaGates
	SiluQuantise
	Draw
	DeviceCopy
	ToHost
	ToDevice
	AllReduce
	AllGather
	ReduceScatter
	AllToAll
	DispatchNormal
	CombineNormal
	DispatchLowLatency
	CombineLowLatency
	SlotCount
)

// slot is a row of the table of kernels.
type slot struct {
	section *section
	key     string // of its model in the section; empty: models go by number type
	name    string // in words
	row     string // the kind of its rows in tables of measurements
	peak    Peak
	stored  bool   // weights may be stored narrower than measured
	axes    string // of its surfaces, compute and memory
	of      string // what it times

	// pick returns the keys of the models for a precision, if any. Of several the fastest counts.
	pick func(*Set, *Types) []string
	// backends is the configured software, where there are several. If this slot lacks it, others
	// serves where the software treats both alike: operators of both slots or, if it stretches, of
	// this.
	backends  func(*Types) Backends
	others    *slot
	alike     map[string]bool
	stretches bool
	// prepare makes the model of a key ready. It fails where the model is not valid.
	prepare func(*Set, string, *Types) (Timing, error)
}

// table is the kinds of kernels, each in a file of its own. Package calibrate fits them.
var table = [SlotCount]slot{
	Gemm:               gemmSlot,
	GroupedGemm:        groupedGemmSlot,
	Experts:            expertsSlot,
	DispatchedExperts:  dispatchedExpertsSlot,
	Absorb:             absorbSlot,
	Decode:             decodeSlot,
	LatentDecode:       latentDecodeSlot,
	Prefill:            prefillSlot,
	LatentPrefill:      latentPrefillSlot,
	LinearDecode:       linearDecodeSlot,
	LinearPrefill:      linearPrefillSlot,
	ConvolutionDecode:  convolutionDecodeSlot,
	ConvolutionPrefill: convolutionPrefillSlot,
	AddNorm:            addNormSlot,
	SiluMul:            siluMulSlot,
	Quantise:           smallSlot(quantiseKey, "bytes", "quantisation of what narrow products read, in groups of 128"),
	RopeCache:          smallSlot("rope_cache", "bytes", "rotary positions, and new keys and values written to the cache"),
	TopK:               smallSlot("topk", smallRows, "the choice of experts from what the router says"),
	Align:              smallSlot("align", smallRows, "rows sorted by expert, where no block contains it"),
	Permute:            smallSlot("permute", "bytes", "rows copied to their experts, where no block contains it"),
	Unpermute:          smallSlot("unpermute", "bytes", "results of experts weighted and added up, where no block contains it"),
	ArgMax:             smallSlot("argmax", smallRows, "the choice of the next token"),
	DeltaGates:         smallSlot("delta_gates", "bytes", "decay and strength of the heads of linear attention"),
	SiluQuantise:       smallSlot("silu_quant", "bytes", ""),
	Draw:               smallSlot("sample", smallRows, ""),
	DeviceCopy:         copySlot("d2d_copy", MemoryPeak),
	ToHost:             copySlot("d2h", HostPeak),
	ToDevice:           copySlot("h2d", HostPeak),
	AllReduce:          collectiveSlot("all_reduce", "all-reduce", "all_reduce"),
	AllGather:          collectiveSlot("all_gather", "all-gather", "all_gather"),
	ReduceScatter:      collectiveSlot("reduce_scatter", "reduce-scatter", "reduce_scatter"),
	AllToAll:           collectiveSlot("all2all", "all-to-all", "all_to_all"),
	DispatchNormal:     exchangeSlot("dispatch_normal", "dispatch", "expert_dispatch", dispatched),
	CombineNormal:      exchangeSlot("combine_normal", "combine", "expert_combine", combined),
	DispatchLowLatency: exchangeSlot("dispatch_low_latency", "low-latency dispatch", "expert_dispatch_low_latency", dispatched),
	CombineLowLatency:  exchangeSlot("combine_low_latency", "low-latency combine", "expert_combine_low_latency", combined),
}

var sections = func() (out []*section) {
	for i := range table {
		if in := table[i].section; in != nil && !slices.Contains(out, in) {
			out = append(out, in)
		}
	}
	return out
}()

func Slots() []Slot {
	var out []Slot
	for s := None + 1; s < SlotCount; s++ {
		out = append(out, s)
	}
	return out
}

// Measured is the slot of a kind of measured rows.
func Measured(row string) (Slot, bool) {
	for _, s := range Slots() {
		if table[s].row == row {
			return s, true
		}
	}
	return None, false
}

// String is the kind of the rows in tables of measurements.
func (s Slot) String() string { return table[s].row }

func (s Slot) Name() string { return table[s].name }

// Section is the key of the models in a set, and Key that of its model, empty if by number type.
func (s Slot) Section() string { return table[s].section.key }
func (s Slot) Key() string     { return table[s].key }

// Peak is what its slowdowns are relative to.
func (s Slot) Peak() Peak { return table[s].peak }

// Axes are those of its surfaces, and Of what it times.
func (s Slot) Axes() string { return table[s].axes }
func (s Slot) Of() string   { return table[s].of }
