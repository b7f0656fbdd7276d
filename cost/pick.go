package cost

import "throughline/op"

// pickTime is how long a kernel takes that picks the best scores of rows: for a launch, for each
// entry of a row, which it passes through in order, and for each score of all rows.
type pickTime struct{ launch, entry, score float64 }

// The kernels of vLLM 0.25.1 (vllm/model_executor/layers/sparse_attn_indexer.py, 752a3a5). Rows
// that decode, up to fewRows by a cluster of blocks, of 8 thousand and 131 thousand entries 9.3 and
// 19.2 us with 8 rows; more by blocks that share rows, 16.5 and 28.8, 53.4 with 64 rows of 131
// thousand, 107 with 256, 326 with 64 of a million (vllm-project/vllm pull 57109). Each row of a
// prompt is one block's: on B200 such a kernel takes 12.4, 18.0, 32.7, 48.9 and 64.4 us for 16, 33,
// 66, 128 and 164 thousand entries (pull 37421).
const fewRows = 32

var (
	fewPicked    = pickTime{8.6e-6, 0.08e-9, 0}
	manyPicked   = pickTime{15.7e-6, 0.08e-9, 2.5e-12}
	promptPicked = pickTime{6.6e-6, 0.353e-9, 0}
)

// placesTime is that of looking up where picked entries lie, for each block of 128 of them: 32,
// 512, 2,048 and 16,384 rows of 16 blocks take 2.4, 7.2, 22.9 and 239 us on MI355X (pull 54258).
var placesTime = pickTime{launch: 1.9e-6, entry: 0.8e-9}

// picking is the least time of the launches that pick the best of N entries for M rows each, or of
// the Count blocks that look up where they lie.
func picking(o *op.Op) float64 {
	if o.Kind == op.IndexPlaces {
		return placesTime.launch + o.Count*placesTime.entry
	}
	k := &promptPicked
	switch {
	case o.Phase == op.Prefill && o.M > 1:
	case o.M <= fewRows:
		k = &fewPicked
	default:
		k = &manyPicked
	}
	return o.Count * (k.launch + k.entry*o.N + k.score*o.M*o.N)
}
