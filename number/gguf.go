package number

// Tensor is a kind of tensor that mixtures of GGUF files tell apart.
type Tensor uint8

const (
	ValueTensor      Tensor = iota // projection to values, attn_v
	ProjectionTensor               // output projection of attention, attn_output
	DownTensor                     // second matrix of a feed-forward block, ffn_down
	HeadTensor                     // output projection of the model; the embedding where it is the same
)

// Raised is tensors that a mixture stores in another format than the rest.
type Raised struct {
	Tensor Tensor
	Format string
	Layers func(layer, layers int) bool // nil: all
	Shared bool                         // only where four or more heads share their values
}

// In is the share of the layers of a model whose tensors are raised.
func (r *Raised) In(layers int) float64 {
	if r.Layers == nil {
		return 1
	}
	n := 0
	for i := range layers {
		if r.Layers(i, layers) {
			n++
		}
	}
	return float64(n) / float64(layers)
}

// Layers of mixtures: use_more_bits and the counts beside it in llama-quant.cpp.
func moreBits(i, n int) bool       { return i < n/8 || i >= 7*n/8 || (i-n/8)%3 == 2 }
func firstEighth(i, n int) bool    { return i < n/8 }
func firstSixteenth(i, n int) bool { return i < n/16 }
func firstTwo(i, _ int) bool       { return i < 2 }
func firstFour(i, _ int) bool      { return i < 4 }

const (
	ggufBlocks   = "ggml-org/llama.cpp at b21e4de7: ggml/src/ggml-common.h, "
	ggufMixtures = "; which tensors are wider: src/llama-quant.cpp, llama_tensor_get_type_impl; K formats without an importance matrix, IQ with one, as files are made"
)

// GGUF is the kind of the formats of GGUF files.
const GGUF = "gguf"

// gguf is a format of GGUF files, by the bytes and the weights of a block.
func gguf(name string, bytes, weights float64, block string, raised ...Raised) Format {
	f := Format{
		Name: name, Stored: "int4", Bytes: bytes / weights, Integer: true, Engine: GGUF, Kind: GGUF,
		Inputs: []Input{{"int8", "int8"}}, Mixture: raised, Source: ggufBlocks + block,
	}
	if len(raised) > 0 {
		f.Source += ggufMixtures
	}
	return f
}

// widerHead is the output projection of all mixtures but Q8_0.
var widerHead = Raised{Tensor: HeadTensor, Format: "q6_k"}

// ggufFormats are those of llama.cpp. The mixture of Q4_0, Q5_0 and the K formats with a suffix is
// a file's; those without are of single tensors, too.
var ggufFormats = []Format{
	gguf("q2_k", 84, 256, "block_q2_K", widerHead,
		Raised{Tensor: ValueTensor, Format: "q3_k_s"}, Raised{Tensor: ValueTensor, Format: "q4_k", Shared: true},
		Raised{Tensor: DownTensor, Format: "q3_k_s"}, Raised{Tensor: ProjectionTensor, Format: "q3_k_s"}),
	gguf("q3_k_s", 110, 256, "block_q3_K", widerHead),
	gguf("q3_k_m", 110, 256, "block_q3_K", widerHead,
		Raised{Tensor: ValueTensor, Format: "q4_k"}, Raised{Tensor: ValueTensor, Format: "q5_k_s", Layers: firstTwo},
		Raised{Tensor: DownTensor, Format: "q4_k"}, Raised{Tensor: DownTensor, Format: "q5_k_s", Layers: firstSixteenth},
		Raised{Tensor: ProjectionTensor, Format: "q4_k"}),
	gguf("q3_k_l", 110, 256, "block_q3_K", widerHead,
		Raised{Tensor: ValueTensor, Format: "q5_k_s"}, Raised{Tensor: DownTensor, Format: "q5_k_s"}, Raised{Tensor: ProjectionTensor, Format: "q5_k_s"}),
	gguf("iq4_xs", 136, 256, "block_iq4_xs", widerHead, Raised{Tensor: ValueTensor, Format: "q5_k_s", Shared: true}),
	gguf("iq4_nl", 18, 32, "block_iq4_nl", widerHead, Raised{Tensor: ValueTensor, Format: "q5_k_s", Shared: true}),
	gguf("q4_0", 18, 32, "block_q4_0", widerHead),
	gguf("q4_1", 20, 32, "block_q4_1", widerHead),
	gguf("q4_k", 144, 256, "block_q4_K"),
	gguf("q4_k_s", 144, 256, "block_q4_K", widerHead,
		Raised{Tensor: ValueTensor, Format: "q5_k_s", Layers: firstFour}, Raised{Tensor: DownTensor, Format: "q5_k_s", Layers: firstEighth}),
	gguf("q4_k_m", 144, 256, "block_q4_K", widerHead,
		Raised{Tensor: ValueTensor, Format: "q6_k", Layers: moreBits}, Raised{Tensor: DownTensor, Format: "q6_k", Layers: moreBits}),
	gguf("q5_0", 22, 32, "block_q5_0", widerHead),
	gguf("q5_k_s", 176, 256, "block_q5_K", widerHead),
	gguf("q5_k_m", 176, 256, "block_q5_K", widerHead,
		Raised{Tensor: ValueTensor, Format: "q6_k", Layers: moreBits}, Raised{Tensor: DownTensor, Format: "q6_k", Layers: moreBits}),
	gguf("q6_k", 210, 256, "block_q6_K"),
	gguf("q8_0", 34, 32, "block_q8_0"),
	mxfp4MoE(),
}

// mxfp4MoE is the format of expert models published in MXFP4, such as gpt-oss.
func mxfp4MoE() Format {
	f := gguf("mxfp4_moe", 17, 32, "block_mxfp4; experts alone, rest Q8_0: src/llama-quant.cpp, LLAMA_FTYPE_MOSTLY_MXFP4_MOE")
	f.BesideExperts = "q8_0"
	return f
}
