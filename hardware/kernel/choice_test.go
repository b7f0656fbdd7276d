package kernel

import "testing"

// TestReadsNarrow: where kernels read a narrow cache as well as a wide one, a cache of 8 bits takes
// what the better kernel takes: here the one for 16 bits with half of the bytes, as the one for 8
// bits was measured as slow as with all of them.
func TestReadsNarrow(t *testing.T) {
	model := func(slowdown float64) *DecodeAttention {
		return &DecodeAttention{Base: Base{Norm: 4, Compute: Flat(1), Memory: Flat(slowdown)}, Query: 2, Tile: 128}
	}
	set := &Set{Decode: map[string]*DecodeAttention{"bfloat16": model(1.25), "float8": model(2.5)}}
	shape := Shape{Count: 64, M: 64, N: 4096, K: 128, Value: 128, Heads: 32, KVHeads: 8, Moved: 64 * 4096 * 8 * 256}
	pace := Pace{Flop: 1e-15, Byte: 1e-12}
	seconds := func(types Types) float64 {
		timing, _ := set.Bind(types).For(Use{Slot: Decode})
		return timing.Seconds(&pace, &shape)
	}
	slow, fast := seconds(Types{Cache: "float8", Wide: "bfloat16"}), seconds(Types{Cache: "float8", Wide: "bfloat16", ReadsNarrow: true})
	if ratio := slow / fast; ratio < 1.9 || ratio > 2 { // queries take some time besides
		t.Errorf("%v s and %v s", slow, fast)
	}
	if wide := seconds(Types{Cache: "bfloat16", Wide: "bfloat16", ReadsNarrow: true}); wide != fast {
		t.Errorf("%v s for the bytes of a wide cache, %v s", wide, fast)
	}
}

// TestBlocks: weights with a scale for every block run in kernels of their own, where there are
// some.
func TestBlocks(t *testing.T) {
	model := func(slowdown float64) *GemmModel {
		return &GemmModel{Base: Base{Norm: 4, Compute: Flat(slowdown), Memory: Flat(1)}, Weight: 1, Input: 1, Output: 2}
	}
	set := &Set{Gemm: map[string]*GemmModel{"float8": model(1.2), "float8" + Blocks: model(1.8)}}
	key := func(s *Set, weight float64) string {
		_, b := s.Bind(Types{Matrix: "float8", Weight: weight}).For(Use{Slot: Gemm})
		return b.Key
	}
	if got := key(set, 1); got != "float8" {
		t.Errorf("one scale: %q", got)
	}
	if got := key(set, 1+4./(128*128)); got != "float8 blocks" {
		t.Errorf("scales of blocks: %q", got)
	}
	delete(set.Gemm, "float8"+Blocks)
	if got := key(set, 1+4./(128*128)); got != "float8" {
		t.Errorf("no kernel of its own: %q", got)
	}
}
