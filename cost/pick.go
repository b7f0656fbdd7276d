package cost

import "throughline/op"

// pickTime is how long a kernel takes that picks the best scores of rows: for a launch, for each
// entry of a row, which it passes through in order, and for each score of all rows.
type pickTime struct{ launch, entry, score float64 }

// The kernels of vLLM 0.25.1 (vllm/model_executor/layers/sparse_attn_indexer.py, 752a3a5). Of rows
// that decode, up to fewRows by a cluster of blocks, 8 of 8 thousand and 131 thousand entries take
// 9.3 and 19.2 us; by blocks that share rows 16.5 and 28.8, 64 of 131 thousand 53.4, 256 of them
// 107, 64 of a million 326 (vllm-project/vllm pull 57109). Each row of a prompt is one block's:
// on B200 such a kernel takes 12.4, 18.0, 32.7, 48.9 and 64.4 us for 16, 33, 66, 128 and 164
// thousand entries (pull 37421).
const fewRows = 32

var (
	fewPicked    = pickTime{8.6e-6, 0.08e-9, 0}
	manyPicked   = pickTime{15.7e-6, 0.08e-9, 2.5e-12}
	promptPicked = pickTime{6.6e-6, 0.353e-9, 0}
)

// Scores of a launch beyond the second-level cache, 126 MB on B200 (pytorch/ao pull 4002), take
// farEntry: 128 rows of 262 thousand, 524 thousand and a million entries take 113, 206 and 521 us
// on MI355X, whose cache holds half of the last (ROCm/aiter pull 5445). A multiprocessor takes one
// row at a time but begins rowsBegun together: 8,192 and 32,768 rows of 4,096 entries on average
// take 226 and 884 us on B200 (flashinfer-ai/flashinfer pull 5304).
const (
	nearScores = 126e6
	farEntry   = 0.6e-9
	rowsBegun  = 3
)

// promptPicking is the time of a launch that picks the best of n entries for rows of prompts.
func promptPicking(rows, n, units float64) float64 {
	busy := 1.0 // rows of a multiprocessor
	if units > 0 {
		busy = max(1, rows/units)
	}
	near := min(1, nearScores/(rows*n*4))
	entry := promptPicked.entry*near + farEntry*(1-near)
	return promptPicked.launch*max(1, busy/rowsBegun) + entry*n*busy
}

// placesTime is that of looking up where picked entries lie, for each block of 128 of them: 32,
// 512, 2,048 and 16,384 rows of 16 blocks take 2.4, 7.2, 22.9 and 239 us on MI355X (pull 54258).
var placesTime = pickTime{launch: 1.9e-6, entry: 0.8e-9}

// picking is the least time of the launches that pick the best of N entries for M rows each, by
// Rows blocks for a row if it is not 0, or of the Count blocks that look up where they lie, on some
// multiprocessors.
func picking(o *op.Op, units float64) float64 {
	if o.Kind == op.IndexPlaces {
		return placesTime.launch + o.Count*placesTime.entry
	}
	if blocks := max(1, o.Rows); o.Rows > 0 || o.Phase == op.Prefill && o.M > 1 {
		return o.Count * promptPicking(o.M*blocks, o.N/blocks, units)
	}
	k := &manyPicked
	if o.M <= fewRows {
		k = &fewPicked
	}
	return o.Count * (k.launch + k.entry*o.N + k.score*o.M*o.N)
}
