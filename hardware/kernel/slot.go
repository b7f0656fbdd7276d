package kernel

import "slices"

// Slot is the place of one kernel in a deployment: what an operator names to say which kernel it runs in, and what a row
// of measurements is of. A slot is filled by one model of a section of a set, which precision or the slot itself picks.
type Slot uint8

const (
	None Slot = iota // no kernel that is ever calibrated
	Gemm
	GroupedGemm
	Experts           // a whole expert block in one kernel
	DispatchedExperts // the same, of tokens that an exchange has sorted by expert
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
	stored  bool   // weights may be stored narrower than they were measured with
	axes    string // of its surfaces, those of compute and of memory
	of      string // what it times

	// pick is the keys of the models for a precision, none where it is not calibrated. Of several the fastest counts.
	pick func(*Set, *Types) []string
	// asked is the software that a server is told to take, of kernels of which there are several. Where this slot has none of it, those
	// of others serve, if the software treats both alike: for operators that name both slots, or, where it stretches, for those of this one.
	asked     func(*Types) Asked
	others    *slot
	alike     map[string]bool
	stretches bool
	// prepare makes the model of a key ready. It fails where the model is not valid.
	prepare func(*Set, string, *Types) (Timing, error)
}

// table is all there is to know of the kinds of kernels, but for how they are fitted, which package calibrate knows. Every
// kind has a file of its own.
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

// sections are those of a set, each once, in the order of the table.
var sections = func() (out []*section) {
	for i := range table {
		if in := table[i].section; in != nil && !slices.Contains(out, in) {
			out = append(out, in)
		}
	}
	return out
}()

// Slots are the kernels of the table.
func Slots() []Slot {
	var out []Slot
	for s := None + 1; s < SlotCount; s++ {
		out = append(out, s)
	}
	return out
}

// Measured is the slot that rows of measurements of a kind are of.
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

// Name is the slot in words.
func (s Slot) Name() string { return table[s].name }

// Section is the key of the models in a set, and Key that of its model there, empty where models go by number type.
func (s Slot) Section() string { return table[s].section.key }
func (s Slot) Key() string     { return table[s].key }

// Peak is what its slowdowns are relative to.
func (s Slot) Peak() Peak { return table[s].peak }

// Axes are those of its surfaces, and Of what it times.
func (s Slot) Axes() string { return table[s].axes }
func (s Slot) Of() string   { return table[s].of }
