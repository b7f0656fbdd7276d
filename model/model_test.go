package model

import (
	"math"
	"strings"
	"testing"
)

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-12*math.Abs(want) }

// TestSeen: 4 queries at the end of a context of 5 stand at the positions 2, 3, 4 and 5; the
// queries of a whole prompt of 5 at 1 to 5; the one of a decode step at 10.
func TestSeen(t *testing.T) {
	for name, c := range map[string]struct {
		a                     Attention
		cached, prompt, after float64
	}{
		"all":             {Attention{}, 3.5, 3, 10},
		"window 1":        {Attention{Window: 1}, 1, 1, 1},
		"window 2":        {Attention{Window: 2}, 2, 9.0 / 5, 2},           // 2+2+2+2; 1+2+2+2+2
		"window 3":        {Attention{Window: 3}, 11.0 / 4, 12.0 / 5, 3},   // 2+3+3+3; 1+2+3+3+3: the mean, 3, would be too much
		"window 4":        {Attention{Window: 4}, 13.0 / 4, 14.0 / 5, 4},   // 2+3+4+4; 1+2+3+4+4
		"window 5":        {Attention{Window: 5}, 3.5, 3, 5},               // all of the prompt
		"window 20":       {Attention{Window: 20}, 3.5, 3, 10},             // longer than any context
		"best 3":          {Attention{IndexTopK: 3}, 11.0 / 4, 2.4, 3},     // as with a window
		"best 3 in 2":     {Attention{IndexTopK: 3, Window: 2}, 2, 1.8, 2}, // the narrower of the two
		"compressed":      {Attention{Compress: 2}, 3.5 / 2, 1.5, 5},
		"compressed by 1": {Attention{Compress: 1}, 3.5, 3, 10},
		// The compressed past and the window besides.
		"compressed, window 3":         {Attention{Compress: 2, Window: 3}, 1.75 + 2.75, 1.5 + 2.4, 5 + 3},
		"compressed, best 2":           {Attention{Compress: 2, IndexTopK: 2}, 3.25 / 2, 1.4, 2}, // entries of 4 tokens in all
		"compressed, best 2, window 3": {Attention{Compress: 2, IndexTopK: 2, Window: 3}, 3.25/2 + 2.75, 1.4 + 2.4, 5},
	} {
		for _, s := range []struct{ queries, context, want float64 }{{4, 5, c.cached}, {5, 5, c.prompt}, {1, 10, c.after}} {
			if got := c.a.SeenOnAverage(s.queries, s.context); !near(got, s.want) {
				t.Errorf("%s: %v queries of %v see %v, want %v", name, s.queries, s.context, got, s.want)
			}
		}
		if got := c.a.Seen(10); !near(got, c.after) {
			t.Errorf("%s: a query sees %v of 10, want %v", name, got, c.after)
		}
	}
}

// TestRead: entries that several queries see are read once. The queries of a window of w need the w
// − 1 tokens in front of them.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		a                     Attention
		prefill, decode, both float64 // 4 queries of 5; 1 of 10; 2 of 10
	}{
		"all":                          {Attention{}, 5, 10, 10},
		"window 1":                     {Attention{Window: 1}, 4, 1, 2},
		"window 3":                     {Attention{Window: 3}, 5, 3, 4},
		"window 20":                    {Attention{Window: 20}, 5, 10, 10},
		"best 3":                       {Attention{IndexTopK: 3}, 5, 3, 6}, // each its own, but no more than there are
		"compressed":                   {Attention{Compress: 4}, 1.25, 2.5, 2.5},
		"compressed, window 1":         {Attention{Compress: 4, Window: 1}, 1.25 + 4, 2.5 + 1, 2.5 + 2},
		"compressed, best 2, window 3": {Attention{Compress: 4, IndexTopK: 2, Window: 3}, 1.25 + 5, 2 + 3, 2.5 + 4},
	} {
		for _, s := range []struct{ queries, context, want float64 }{{4, 5, c.prefill}, {1, 10, c.decode}, {2, 10, c.both}} {
			if got := c.a.Read(s.queries, s.context); !near(got, s.want) {
				t.Errorf("%s: %v queries of %v read %v entries, want %v", name, s.queries, s.context, got, s.want)
			}
		}
	}
}

// TestCacheOfALayer: 10 tokens, 5 bytes per cached element.
func TestCacheOfALayer(t *testing.T) {
	grouped := Attention{Kind: GroupQuery, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3}
	with := func(change func(*Attention)) Attention {
		a := grouped
		change(&a)
		return a
	}
	delta := Attention{Kind: GatedDelta, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}
	for name, c := range map[string]struct {
		a    Attention
		tp   int
		want float64
	}{
		"keys and values":         {grouped, 1, 10 * 2 * (2 + 3) * 5},
		"half of the heads":       {grouped, 2, 10 * (2 + 3) * 5},
		"a head on two ranks":     {grouped, 4, 10 * (2 + 3) * 5},
		"window":                  {with(func(a *Attention) { a.Window = 3 }), 1, 3 * 10 * 5},
		"longer window":           {with(func(a *Attention) { a.Window = 30 }), 1, 10 * 10 * 5},
		"compressed":              {with(func(a *Attention) { a.Compress = 4 }), 1, 2.5 * 10 * 5},
		"compressed and a window": {with(func(a *Attention) { a.Compress, a.Window = 4, 3 }), 1, (2.5 + 3) * 10 * 5},
		"indexer":                 {with(func(a *Attention) { a.IndexHeads, a.IndexDim, a.IndexTopK = 2, 6, 3 }), 2, 10 * (5 + 6) * 5},
		"latent":                  {Attention{Kind: Latent, Heads: 4, KVRank: 4, RopeDim: 1}, 4, 10 * 5 * 5},
		"latent with an indexer":  {Attention{Kind: Latent, Heads: 4, KVRank: 4, RopeDim: 1, IndexDim: 6}, 1, 10 * 11 * 5},
		// A state of 4·2·3 = 24 elements; 3 tokens of 2·2·2 + 4·3 = 20 elements in front of the
		// convolution; 4 bytes each.
		"gated delta": {delta, 1, (24 + 60) * 4},
		// 2 value heads and a key head: 12 and 3·(4 + 6).
		"gated delta on two ranks": {delta, 2, (12 + 30) * 4},
		// One value head, and the key head that two ranks share: 6 and 3·(4 + 3).
		"gated delta on four ranks": {delta, 4, (6 + 21) * 4},
		"lightning":                 {Attention{Kind: Lightning, Heads: 4, KVHeads: 4, HeadDim: 2}, 2, 2 * 4 * 4},
	} {
		if got := c.a.CacheBytes(c.tp, 10, 5); !near(got, c.want) {
			t.Errorf("%s on %d ranks: %v bytes, want %v", name, c.tp, got, c.want)
		}
	}
}

// The caches of published models, at one byte per element.
func TestPublishedCaches(t *testing.T) {
	// DeepSeek-V3.2: 512 + 64 of the latent and 128 of the indexer in each of 61 layers.
	sparse := Model{Layers: 61, Attention: Attention{Kind: Latent, Heads: 128, KVRank: 512, RopeDim: 64, IndexHeads: 64, IndexDim: 128, IndexTopK: 2048}}
	if got := sparse.CacheBytes(1, 1000, 1); got != 1000*704*61 {
		t.Errorf("DeepSeek-V3.2: %v bytes", got)
	}
	// Qwen3-Next: 12 layers with keys and values of 2·256 elements; 36 with a state of 32·128·128
	// and 3 tokens of 2·16·128 + 32·128 = 8192 in front of the convolution, in float32.
	hybrid := Model{
		Layers: 48, Attention: Attention{Kind: GroupQuery, Heads: 16, KVHeads: 2, HeadDim: 256},
		Mixed: []MixedAttention{{Attention{Kind: GatedDelta, Heads: 32, KVHeads: 16, HeadDim: 128, Conv: 4}, 36}},
	}
	if got := hybrid.CacheBytes(1, 1000, 1); got != 12*1000*1024+36*4*(524288+24576) {
		t.Errorf("Qwen3-Next: %v bytes", got)
	}
	if got := hybrid.CacheBytesOf(12, 2, 1000, 1); got != 3*1000*512+9*4*(262144+12288) {
		t.Errorf("a stage of Qwen3-Next on two ranks: %v bytes", got)
	}
	// gpt-oss-120b: 8 heads of 64; every second of 36 layers keeps 128 tokens.
	sliding := Model{
		Layers: 36, Attention: Attention{Kind: GroupQuery, Heads: 64, KVHeads: 8, HeadDim: 64},
		Mixed: []MixedAttention{{Attention{Kind: GroupQuery, Heads: 64, KVHeads: 8, HeadDim: 64, Window: 128}, 18}},
	}
	if got := sliding.CacheBytes(1, 1000, 1); got != 18*1000*1024+18*128*1024 {
		t.Errorf("gpt-oss-120b: %v bytes", got)
	}
}

// TestAttentionLayers: the layers of a stage are shared out like those of the model, and none is
// lost or invented.
func TestAttentionLayers(t *testing.T) {
	counts := func(m *Model, n int) (out [4]int) {
		for kind, layers := range m.AttentionLayers(n) {
			a := m.AttentionOf(kind)
			out[a.Heads] += layers
		}
		return out
	}
	model := func(layers int, mixed ...int) *Model {
		m := &Model{Layers: layers}
		for i, n := range mixed {
			m.Mixed = append(m.Mixed, MixedAttention{Attention{Heads: i + 1}, n})
		}
		return m
	}
	for _, c := range []struct {
		m    *Model
		n    int
		want [4]int
	}{
		{model(48, 36), 48, [4]int{12, 36}},
		{model(48, 36), 12, [4]int{3, 9}},
		{model(48, 36), 5, [4]int{1, 4}}, // 3.75
		{model(48, 36), 1, [4]int{0, 1}},
		{model(48, 12), 1, [4]int{1, 0}},
		{model(36, 18), 9, [4]int{4, 5}}, // 4.5
		{model(4, 1, 1, 1), 4, [4]int{1, 1, 1, 1}},
		{model(4, 1, 1, 1), 2, [4]int{0, 1, 1, 0}}, // halves, rounded up while there are layers
		{model(3), 2, [4]int{2}},
	} {
		if got := counts(c.m, c.n); got != c.want {
			t.Errorf("%d of %d layers with %v: %v, want %v", c.n, c.m.Layers, c.m.Mixed, got, c.want)
		}
	}
}

func TestTooManyKinds(t *testing.T) {
	file := func(kinds int) []byte {
		mix := strings.Repeat(`{"layers": 1, "attn_type": "multi-head", "attn_heads": 2, "attn_size": 2},`, kinds)
		return []byte(`{"model": "m", "hidden": 8, "num_blocks": 9, "feedforward": 8, "attn_type": "multi-head", "attn_heads": 2,
			"attn_size": 2, "attention_mix": [` + strings.TrimSuffix(mix, ",") + `]}`)
	}
	if _, _, doc := Read("three", file(3)); doc.Err() != nil {
		t.Error(doc.Err())
	}
	_, _, doc := Read("four", file(4))
	if err := doc.Err(); err == nil || !strings.Contains(err.Error(), "has 4 kinds of attention; there may be 3 besides the main one") {
		t.Errorf("four kinds besides the main one: %v", err)
	}
}
