package op

// A compressor makes one cached entry of neighbouring tokens: of every token contents and weights, in 32 bits, which are kept until the
// tokens of an entry are there (DeepseekCompressor in vllm/models/deepseek_v4/compressor.py of 0.25.1, 752a3a5).

// compressorKinds are the operators of a compressor.
type compressorKinds struct{ input, state, write Kind }

var (
	compressing      = compressorKinds{CompressorInput, CompressorState, CompressorWrite}
	compressingIndex = compressorKinds{IndexCompressorInput, IndexCompressorState, IndexCompressorWrite}
)

// halves is how many entries a token is part of: those that an indexer picks among overlap.
func (s *stage) halves() float64 {
	if s.attn.IndexHeads > 0 {
		return 2
	}
	return 1
}

// compress makes entries of so many elements. Behind an engine its kernels run beside those that make the queries: of decode steps,
// whose kernels leave room, what they move counts.
func (s *stage) compress(k *compressorKinds, dim float64) {
	const narrow, wide = 2, 4 // bytes of the weights and of what they make
	made := 2 * s.halves() * dim
	s.linear(k.input, s.tokens, s.hidden, made)
	o := s.list.last()
	o.Weights, o.Resident = s.hidden*made*narrow, s.hidden*made*narrow
	o.Activations = s.tokens * (s.hidden*s.r + made*wide)
	o.Output = s.tokens * made * wide
	s.beside(o)
	o = s.add(k.state, VectorUnit)
	o.Flops = s.tokens * made
	o.Activations = 2 * s.tokens * made * wide
	o.Moved = o.Activations
	s.beside(o)
	// The states of all tokens of an entry are read when the last is there, and the entry is written.
	o = s.add(k.write, VectorUnit)
	o.Flops = 4 * s.tokens * made
	o.Activations = s.tokens * made * wide
	o.Cache = s.tokens / float64(s.attn.Compress) * dim * s.c
	o.Moved = o.Activations + o.Cache
	s.beside(o)
}

// beside makes a kernel run beside another in decode, where an engine has it so: its bytes count, its latency does not.
func (s *stage) beside(o *Op) {
	if s.assume.Engine && s.phase == Decode {
		o.Kernels = besideNorm
		o.Moved = o.Weights + o.Activations + o.Cache
	}
}
