package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// latentIndexed is latent attention with 32 heads of an indexer of 4 elements, which picks 8
// entries.
func latentIndexed() *model.Model {
	return &model.Model{Hidden: 8, Layers: 1, FeedForward: 16, Attention: model.Attention{
		Kind: model.Latent, Heads: 4, KVRank: 4, NopeDim: 2, RopeDim: 2, ValueDim: 2, IndexHeads: 32, IndexDim: 4, IndexTopK: 8,
	}}
}

// TestIndexLaunches: room for 1024 scores of 4 bytes. A prompt of 16 queries behind 240 tokens has
// 256 entries, so that 4 queries go into a launch, 4 of them, each of one tile of 4·32 rows. Of
// prompts of 6 queries and 6 entries, 5 go together where there are 10: two launches of 30·32 rows;
// a tile of 4 queries with the end of one and the start of the next sees both, 12 entries. Without
// a bound all are scored at once. A prompt of one query is scored as one that decodes.
func TestIndexLaunches(t *testing.T) {
	for _, c := range []struct {
		what                    string
		bytes                   float64
		prompts                 int
		queries, all            float64
		launches, rows, longest float64
	}{
		{"a part of a prompt", 4096, 1, 16, 256, 4, 128, 256},
		{"whole prompts", 4096, 10, 6, 6, 2, 30 * 32, 12},
		{"tiles that end with a prompt", 4096, 2, 8, 8, 1, 16 * 32, 8},
		{"no bound", 0, 1, 16, 256, 1, 16 * 32, 256},
		{"one query", 4096, 2, 1, 256, 0, 2 * 32, 0},
	} {
		p := oneRank
		p.IndexBytes, p.Batch.Size = c.bytes, c.prompts
		list := lowered(assume.Physical, latentIndexed(), p, op.Group{Phase: op.Prefill, New: c.queries, Context: c.all})
		o := find(t, list, op.IndexScores)
		bytes(t, c.what+": launches", o.Count, c.launches)
		bytes(t, c.what+": rows", o.M, c.rows)
		bytes(t, c.what+": longest", o.Rows, c.longest)
	}
}

// TestScoresInMemory: 3 prompts of 2 queries that see 9.5 entries on average of 10, their scores of
// 4 bytes written once and read three times, and 8 picks of 2 bytes.
func TestScoresInMemory(t *testing.T) {
	list := lowered(assume.Physical, latentIndexed(), oneRank, op.Group{Phase: op.Prefill, New: 2, Context: 10})
	bytes(t, "scores", find(t, list, op.IndexScores).Activations, 3*(2*32*4*2+2*9.5*4))
	bytes(t, "select", find(t, list, op.IndexSelect).Moved, 3*(3*2*9.5*4+2*8*2))
}

// compressedTwice is DeepSeek-V4 in small: one layer of heads of 4 elements over entries of 4
// tokens, with an indexer of 2 heads of 4 elements, and 2 residual streams of 8.
func compressedTwice() *model.Model {
	return &model.Model{Hidden: 8, Layers: 1, FeedForward: 16, Streams: 2, Attention: model.Attention{
		Kind: model.MultiQuery, Heads: 2, KVHeads: 1, HeadDim: 4, SharedKV: true, QKNorm: true, Window: 8, QueryRank: 6,
		IndexHeads: 2, IndexDim: 4, IndexTopK: 2, Compress: 4, OutputRank: 3, OutputGroups: 1,
	}}
}

// TestCompressors: of each of 3 tokens, 2 halves of contents and weights of 4 elements for
// attention and as many for its indexer: products of 8 × 16 with weights of 2 bytes on tokens of 2
// bytes and results of 4, states read and written, then read again. An indexer with a compressor
// has no product for its key.
func TestCompressors(t *testing.T) {
	list := lowered(assume.Physical, compressedTwice(), oneRank, decode)
	for _, k := range [][3]op.Kind{
		{op.CompressorInput, op.CompressorState, op.CompressorWrite},
		{op.IndexCompressorInput, op.IndexCompressorState, op.IndexCompressorWrite},
	} {
		input := find(t, list, k[0])
		bytes(t, "flops", input.Flops, 2*3*8*16)
		bytes(t, "weights", input.Weights, 8*16*2)
		bytes(t, "input", input.Activations, 3*(8*2+16*4))
		bytes(t, "state", find(t, list, k[1]).Activations, 2*3*16*4)
		bytes(t, "write", find(t, list, k[2]).Activations, 3*16*4)
		bytes(t, "entry", find(t, list, k[2]).Cache, 3./4*4)
	}
	if n := len(only(list, op.IndexKey, op.IndexWrite, op.IndexRotary)); n > 0 {
		t.Errorf("%d operators make a key for every token", n)
	}
}

// TestHyperConnections: 3 tokens on 2 streams of 8 elements of 2 bytes, one kernel for shares and
// product, in front of both blocks: 2 streams and a result read, 2 written, 2 read again, 128
// weights of 4 bytes; then 2 streams read, one normalised result written. 17 tokens have a kernel
// more. Norms and residuals are within them.
func TestHyperConnections(t *testing.T) {
	list := lowered(assume.Physical, compressedTwice(), oneRank, decode)
	for _, k := range [][2]op.Kind{{op.AttentionHyperMix, op.AttentionHyperPre}, {op.MLPHyperMix, op.MLPHyperPre}} {
		mix, pre := find(t, list, k[0]), find(t, list, k[1])
		bytes(t, "mix", mix.Moved, 3*8*2*(5+2)+128*4)
		bytes(t, "flops of mix", mix.Flops, 2*3*8*2*3+2*3*128)
		bytes(t, "pre", pre.Activations, 3*8*2*(2+1))
	}
	if n := len(only(list, op.InputNorm, op.MLPNorm, op.AttentionResidual, op.MLPResidual, op.AttentionHyperPost)); n > 0 {
		t.Errorf("%d operators besides", n)
	}
	p := oneRank
	p.Batch.Size = 17
	list = lowered(assume.Physical, compressedTwice(), p, decode)
	bytes(t, "post", find(t, list, op.MLPHyperPost).Moved, 17*8*2*5)
	bytes(t, "mix of 17", find(t, list, op.MLPHyperMix).Moved, 17*8*2*2+128*4)
}

// TestWideRouter: 3 tokens of 8 elements are widened from 2 to 4 bytes and multiplied by 8 × 4
// weights of 4, with results of 4, where the model asks for it and an engine follows.
func TestWideRouter(t *testing.T) {
	m := groupQuery()
	m.Experts = model.Experts{Routed: 4, TopK: 2, Width: 4, CapacityFactor: 1, Interval: 1}
	m.WideRouter = true
	p := oneRank
	p.Attention.PP = 1
	p.Experts = plan.ExpertSplit{EP: 1, TP: 1, DP: 1}
	p.Gathered = true
	if o := find(t, lowered(assume.Physical, m, p, decode), op.Router); o.Unit != op.MatrixUnit {
		t.Errorf("an engine that does not follow: %v", o.Unit)
	}
	p.WideRouter = true
	list := lowered(assume.Physical, m, p, decode)
	bytes(t, "widened", find(t, list, op.RouterWiden).Moved, 3*8*6)
	bytes(t, "operations", find(t, list, op.RouterWiden).Flops, 3*8)
	o := find(t, list, op.Router)
	if bytes(t, "router", o.Bytes(), 4*(8*4+3*(8+4))); o.Unit != op.WideUnit {
		t.Errorf("in %v", o.Unit)
	}
}

// TestStagedAllReduce: 3 tokens of 8 elements of 2 bytes are 48 bytes. An all-reduce of more than
// 47 and at most 48 goes through a buffer: two copies, each of which reads and writes them, in
// attention and in the feed-forward block of both layers; one of 49 to 100 does not.
func TestStagedAllReduce(t *testing.T) {
	p := twoRanks
	p.Batch.Size = 3
	p.Staged = plan.Range{From: 47, To: 48}
	list := lowered(assume.Physical, groupQuery(), p, decode)
	for _, kind := range []op.Kind{op.AttentionReduceCopy, op.MLPReduceCopy} {
		o := find(t, list, kind)
		bytes(t, kind.String(), o.Moved, 2*48)
		if times := list.Times(kind); times != 2*list.Times(op.AttentionAllReduce) {
			t.Errorf("%v: %v times", kind, times)
		}
	}
	for _, outside := range []plan.Range{{}, {From: 48, To: 100}, {From: 0, To: 47}} {
		p.Staged = outside
		if n := lowered(assume.Physical, groupQuery(), p, decode).Times(op.MLPReduceCopy); n != 0 {
			t.Errorf("%+v: %v copies", outside, n)
		}
	}
}

// TestPickedRows: with kernels of an engine's own, 3 rows of 10 entries are picked from in one
// launch; a prompt of 16 queries behind 240 tokens, 4 of which go into a launch, in 4 launches of 4
// rows of 248.5 entries on average. 8 entries are picked, so that of no more than 8 nothing is
// chosen. Places of 8 picked entries are looked up by one block for each of 3 rows, 4 bytes in and
// 4 out.
func TestPickedRows(t *testing.T) {
	p := oneRank
	p.SparseApart, p.IndexBytes = true, 4096
	p.Batch.Size = 3
	list := lowered(assume.Physical, latentIndexed(), p, decode)
	if o := find(t, list, op.IndexSelect); o.Count != 1 || o.M != 3 || o.N != 10 {
		t.Errorf("decode: %v launches of %v rows of %v", o.Count, o.M, o.N)
	}
	places := find(t, list, op.IndexPlaces)
	if bytes(t, "places", places.Moved, 3*8*(4+4)); places.Count != 3 {
		t.Errorf("%v blocks", places.Count)
	}
	p.Batch.Size = 1
	o := find(t, lowered(assume.Physical, latentIndexed(), p, op.Group{Phase: op.Prefill, New: 16, Context: 256}), op.IndexSelect)
	if o.Count != 4 || o.M != 4 || o.N != 248.5 {
		t.Errorf("prompts: %v launches of %v rows of %v", o.Count, o.M, o.N)
	}
	if o := find(t, lowered(assume.Physical, latentIndexed(), p, op.Group{Phase: op.Decode, New: 1, Context: 8}), op.IndexSelect); o.Count != 0 {
		t.Errorf("nothing to choose: %v launches", o.Count)
	}
}
