package cost_test

import (
	"math"
	"testing"

	"throughline/op"
)

// pick is an operator that picks the best of some entries for each of some rows, in launches of
// their own.
func pick(phase op.Phase, launches, rows, entries float64) op.Op {
	o := op.Op{Kind: op.IndexSelect, Class: op.Vector, Unit: op.VectorUnit, Phase: phase}
	o.Count, o.M, o.N = launches, rows, entries
	return o
}

// TestPicking: a million entries take 8.6 us and 80 more for 32 rows that decode, 15.7, 80 and 82.5
// for 33; in prompts two launches of 6.6 us, and each 353 for rows within the cache, 476.5 for 63,
// half of which are, and a single row of a prompt as one that decodes. 60 rows of ten thousand on
// 10 multiprocessors are begun twice and read six times; so are 30 rows that decode of ten blocks
// each, ten times and thirty times. 3 rows of 16 blocks are looked up in 1.9 us and 0.8 ns for each
// block.
func TestPicking(t *testing.T) {
	p := pricerOn(t, plainChip())
	takes(t, "32 rows", p, pick(op.Decode, 1, 32, 1e6), 88.6e-6)
	takes(t, "33 rows", p, pick(op.Decode, 1, 33, 1e6), 15.7e-6+80e-6+82.5e-6)
	takes(t, "two launches of prompts", p, pick(op.Prefill, 2, 31, 1e6), 2*(6.6e-6+353e-6))
	takes(t, "half beyond the cache", p, pick(op.Prefill, 1, 63, 1e6), 6.6e-6+476.5e-6)
	few := plainChip()
	few.Units = 10
	takes(t, "rows that wait", pricerOn(t, few), pick(op.Prefill, 1, 60, 1e4), 2*6.6e-6+6*3.53e-6)
	takes(t, "one row of a prompt", p, pick(op.Prefill, 1, 1, 1e6), 88.6e-6)
	alone, shared := pick(op.Decode, 1, 32, 1e6), pick(op.Decode, 1, 30, 1e5)
	alone.Rows, shared.Rows = 1, 10
	takes(t, "rows that decode, a block for each", p, alone, 6.6e-6+353e-6*(126./128)+600e-6*(2./128))
	takes(t, "rows of ten blocks each", pricerOn(t, few), shared, 10*6.6e-6+30*3.53e-6)
	places := op.Op{Kind: op.IndexPlaces, Class: op.Vector, Unit: op.VectorUnit}
	places.Count = 3 * 16
	takes(t, "places", p, places, 1.9e-6+48*0.8e-9)
}

// TestPublishedPicks: times of vLLM's kernels (vllm-project/vllm pulls 57109, 37421 and 54258) and
// of others that give a row to a block (flashinfer-ai/flashinfer pull 5304) are met within 30%.
func TestPublishedPicks(t *testing.T) {
	chip := plainChip()
	chip.Units = 148
	p := pricerOn(t, chip)
	for _, c := range []struct {
		phase             op.Phase
		rows, entries, us float64
	}{
		{op.Decode, 8, 8192, 9.3}, {op.Decode, 8, 131072, 19.2}, {op.Decode, 64, 32768, 20.6}, {op.Decode, 64, 131072, 53.4}, {op.Decode, 256, 131072, 107.3},
		{op.Decode, 64, 1 << 20, 325.8}, {op.Prefill, 4, 16384, 12.35}, {op.Prefill, 4, 65536, 32.65}, {op.Prefill, 4, 163840, 64.44},
		{op.Prefill, 8192, 4096, 226.2}, {op.Prefill, 32768, 4096, 884},
	} {
		o := pick(c.phase, 1, c.rows, c.entries)
		if off := 1e6*p.Time(&o)/c.us - 1; math.Abs(off) > 0.3 {
			t.Errorf("%+v: off by %+.0f%%", c, 100*off)
		}
	}
	for rows, us := range map[float64]float64{32: 2.37, 512: 7.21, 2048: 22.92, 16384: 238.97} {
		o := op.Op{Kind: op.IndexPlaces, Class: op.Vector, Unit: op.VectorUnit}
		o.Count = 16 * rows
		if off := 1e6*p.Time(&o)/us - 1; math.Abs(off) > 0.3 {
			t.Errorf("places of %v rows: off by %+.0f%%", rows, 100*off)
		}
	}
}
