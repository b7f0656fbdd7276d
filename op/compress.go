package op

// A compressor caches one entry for neighbouring tokens. It keeps the contents and weights of each
// token in 32 bits until the entry is complete (DeepseekCompressor in
// vllm/models/deepseek_v4/compressor.py of 0.25.1, 752a3a5).

type compressorKinds struct{ input, state, write Kind }

var (
	compressing      = compressorKinds{CompressorInput, CompressorState, CompressorWrite}
	compressingIndex = compressorKinds{IndexCompressorInput, IndexCompressorState, IndexCompressorWrite}
)

// halves is the number of entries a token is part of: entries that an indexer picks from overlap.
func (s *stage) halves() float64 {
	if s.attn.IndexHeads > 0 {
		return 2
	}
	return 1
}

// compress makes cache entries of dim elements, beside the kernels of the queries in engines.
func (s *stage) compress(k *compressorKinds, dim float64) {
	const narrow, wide = 2, 4 // bytes of weights and of results
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
	o = s.add(k.write, VectorUnit)
	o.Flops = 4 * s.tokens * made
	o.Activations = s.tokens * made * wide
	o.Cache = s.tokens / float64(s.attn.Compress) * dim * s.c
	o.Moved = o.Activations + o.Cache
	s.beside(o)
}

// beside hides the latency, but not the bytes, of a kernel in decode steps of engines.
func (s *stage) beside(o *Op) {
	if s.assume.Engine && s.phase == Decode {
		o.Kernels = besideNorm
		o.Moved = o.Weights + o.Activations + o.Cache
	}
}
