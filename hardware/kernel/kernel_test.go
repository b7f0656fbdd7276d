package kernel

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"throughline/internal/test/long"
)

// drawSurface is a surface of the given work whose times do not fall.
func drawSurface(t *rapid.T, name string, dims int, w Work) Surface {
	s := Surface{}
	n := 1
	for i := range dims {
		var a []float64
		x := math.Exp2(float64(rapid.IntRange(0, 8).Draw(t, "first")))
		for range rapid.IntRange(1, 4).Draw(t, "nodes") {
			a = append(a, x)
			x *= rapid.SampledFrom([]float64{1.5, 2, 4, 10}).Draw(t, "step")
		}
		s.Axes = append(s.Axes, a)
		n *= len(a)
		_ = i
	}
	axes := [3][]float64{{1}, {1}, {1}}
	copy(axes[:], s.Axes)
	s.Slowdown = make([]float64, n)
	ny, nz := len(axes[1]), len(axes[2])
	at := 0
	for i, x := range axes[0] {
		for j, y := range axes[1] {
			for k, z := range axes[2] {
				v := rapid.Float64Range(1, 20).Draw(t, name)
				work := w.At(x, y, z)
				raise := func(other int, ox, oy, oz float64) {
					v = max(v, s.Slowdown[other]*w.At(ox, oy, oz)/work)
				}
				if i > 0 {
					raise(at-ny*nz, axes[0][i-1], y, z)
				}
				if j > 0 {
					raise(at-nz, x, axes[1][j-1], z)
				}
				if k > 0 {
					raise(at-1, x, y, axes[2][k-1])
				}
				s.Slowdown[at] = v
				at++
			}
		}
	}
	return s
}

func drawBase(t *rapid.T, flops, bytes Work, dims int) Base {
	return Base{
		Latency: rapid.Float64Range(0, 1e-5).Draw(t, "latency"), Norm: rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "norm"),
		Compute: drawSurface(t, "compute", 3, flops), Memory: drawSurface(t, "memory", dims, bytes),
	}
}

const (
	rate      = 1e12
	bandwidth = 1e11
)

var pace = Pace{Flop: 1. / rate, Byte: 1. / bandwidth}

// unit is a second for every operation and byte.
var unit = Pace{Flop: 1, Byte: 1}

// prepared fails where a model cannot be prepared.
func prepared(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// product is the shape of m × k by k × n.
func product(m, n, k float64) *Shape { return &Shape{M: m, N: n, K: k, Count: 1} }

// products is the shape of so many of them with rows each.
func products(count, rows, n, k float64) *Shape { return &Shape{Count: count, Rows: rows, N: n, K: k} }

// decoding is the shape of attention of a token of each sequence, tokenBytes being the cache of one
// token in one KV head.
func decoding(batch, context float64, h Heads, tokenBytes float64) *Shape {
	return &Shape{Count: batch, M: batch, N: context, K: h.Key, Value: int32(h.Value), Heads: int32(h.Query), KVHeads: int32(h.KV),
		Moved: tokenBytes * batch * context * h.KV}
}

// prompts is the shape of attention of new tokens behind past ones.
func prompts(batch, tokens, past float64, h Heads) *Shape {
	return &Shape{Count: batch, M: batch * tokens, N: past + (tokens+1)/2, K: h.Key, Value: int32(h.Value), Heads: int32(h.Query), KVHeads: int32(h.KV)}
}

// states is the shape of linear attention.
func states(batch, tokens float64, h Heads) *Shape {
	return &Shape{Count: batch, M: batch * tokens, N: h.Value, K: h.Key, Heads: int32(h.Query), KVHeads: int32(h.KV)}
}

// size draws a dimension, often near a power of two.
func size(t *rapid.T, name string) float64 {
	return math.Ceil(math.Exp2(rapid.Float64Range(0, 17).Draw(t, name)))
}

// law checks that time is at least the roofline and the latency, and does not fall when one
// dimension grows.
func law(t *rapid.T, latency float64, seconds func([]float64) float64, roofline func([]float64) float64, dims ...string) {
	var x []float64
	for _, d := range dims {
		x = append(x, size(t, d))
	}
	a := seconds(x)
	if least := latency + roofline(x); a < least*(1-1e-9) {
		t.Fatalf("%v takes %g, the roofline %g", x, a, least)
	}
	for i, d := range dims {
		y := append([]float64(nil), x...)
		y[i] += size(t, "more "+d)
		if b := seconds(y); b < a*(1-1e-9) {
			t.Fatalf("%v takes %g, %v only %g", x, a, y, b)
		}
	}
}

func TestLaws(t *testing.T) {
	t.Run("gemm", rapid.MakeCheck(func(t *rapid.T) {
		g := GemmModel{Weight: 1, Input: 2, Output: 2}
		f, b := g.Work()
		g.Base = drawBase(t, f, b, 3)
		k, err := g.prepare(&Types{})
		if err != nil {
			t.Fatal(err)
		}
		law(t, g.Latency, func(x []float64) float64 { return k.Seconds(&pace, product(x[0], x[1], x[2])) }, func(x []float64) float64 {
			return max(2*x[0]*x[1]*x[2]/rate, (2*x[0]*x[2]+x[1]*x[2]+2*x[0]*x[1])/bandwidth)
		}, "m", "n", "k")
		// Next to nothing takes the latency and the memory of the smallest product of the grid.
		if z, first := k.Seconds(&pace, product(0, 0, 0)), g.Memory.Slowdown[0]; z > g.Latency+
			first*b.At(g.Memory.Axes[0][0], g.Memory.Axes[1][0], g.Memory.Axes[2][0])/bandwidth*(1+1e-9) {
			t.Fatalf("nothing takes %g, the latency %g", z, g.Latency)
		}
	}))
	t.Run("grouped", rapid.MakeCheck(func(t *rapid.T) {
		g := GroupedModel{Weight: 1, Input: 1, Output: 2}
		f, b := g.Work()
		g.Base = drawBase(t, f, b, 3)
		k, err := g.prepare(&Types{})
		if err != nil {
			t.Fatal(err)
		}
		law(t, g.Latency, func(x []float64) float64 { return k.Seconds(&pace, products(x[0], x[1], x[2], x[3])) }, func(x []float64) float64 {
			e, m, n, k := x[0], x[1], x[2], x[3]
			return max(2*e*m*n*k/rate, e*(m*k+n*k+2*m*n)/bandwidth)
		}, "experts", "m", "n", "k")
		block, gated := expertsTiming{groupedTiming: k}, rapid.Bool().Draw(t, "gated")
		law(t, g.Latency, func(x []float64) float64 {
			return block.Seconds(&pace, &Shape{Count: x[0], Rows: x[1], K: x[2], N: x[3], Gated: gated})
		}, func(x []float64) float64 {
			e, m, outer, up, inner := x[0], x[1], x[2], x[3], x[3]
			if gated {
				inner /= 2
			}
			return max(2*e*m*outer*(up+inner)/rate, e*(outer*(up+inner)+m*(outer+up)+m*(inner+outer)+m*2*(up+inner+outer))/bandwidth)
		}, "experts", "m", "outer", "up")
	}))
	t.Run("decode", rapid.MakeCheck(func(t *rapid.T) {
		d := DecodeAttention{Query: 2, Tile: 128}
		f, b := d.Work()
		d.Base = drawBase(t, f, b, 3)
		k, err := d.prepare()
		if err != nil {
			t.Fatal(err)
		}
		h := Heads{Query: 32, KV: 8, Key: 128, Value: 128}
		law(t, d.Latency, func(x []float64) float64 { return k.Seconds(&pace, decoding(x[0], x[1], h, 512)) }, func(x []float64) float64 {
			return max(x[0]*x[1]*4*32*128/rate, x[0]*(x[1]*8*512+2*32*256)/bandwidth)
		}, "batch", "context")
	}))
	t.Run("prefill", rapid.MakeCheck(func(t *rapid.T) {
		p := PrefillAttention{Element: 2, Tile: 128}
		dims := rapid.IntRange(1, 2).Draw(t, "axes")
		p.Memory.Axes = make([][]float64, dims)
		f, b := p.Work()
		p.Base = drawBase(t, f, b, dims)
		k, err := p.prepare()
		if err != nil {
			t.Fatal(err)
		}
		h := Heads{Query: 32, KV: 8, Key: 192, Value: 128}
		law(t, p.Latency, func(x []float64) float64 { return k.Seconds(&pace, prompts(x[0], x[1], x[2], h)) }, func(x []float64) float64 {
			queries, keys := p.Bytes(x[0], x[1], x[2], h)
			return max(2*320*32*x[0]*Pairs(x[1], x[2])/rate, (queries+keys)/bandwidth)
		}, "batch", "tokens", "past")
	}))
	t.Run("linear", rapid.MakeCheck(func(t *rapid.T) {
		l := LinearAttention{Element: 2, State: 4, Tile: 64}
		f, b := l.Work()
		l.Base = drawBase(t, f, b, 1)
		k, err := l.prepare(false)
		if err != nil {
			t.Fatal(err)
		}
		h := Heads{Query: 8, KV: 2, Key: 128, Value: 64}
		law(t, l.Latency, func(x []float64) float64 { return k.Seconds(&pace, states(x[0], x[1], h)) }, func(x []float64) float64 {
			return max(4*128*64*8*x[0]*x[1]/rate, l.Bytes(x[0], x[1], h)/bandwidth)
		}, "batch", "tokens")
	}))
	t.Run("curve", rapid.MakeCheck(func(t *rapid.T) {
		c := Curve{Latency: 1e-6, Memory: drawSurface(t, "memory", 1, Work{1: 1})}
		k, err := c.prepare()
		if err != nil {
			t.Fatal(err)
		}
		law(t, c.Latency, func(x []float64) float64 { return k.Seconds(&pace, &Shape{Moved: x[0]}) }, func(x []float64) float64 { return x[0] / bandwidth }, "bytes")
		if z := k.Seconds(&pace, &Shape{}); z != c.Latency {
			t.Fatalf("nothing takes %g", z)
		}
	}))
	t.Run("collective", rapid.MakeCheck(func(t *rapid.T) {
		c := CollectiveModel{Latency: 1e-6, Share: 0.5, Memory: drawSurface(t, "memory", 2, Work{2: 1})}
		k, err := c.prepare()
		if err != nil {
			t.Fatal(err)
		}
		law(t, c.Latency, func(x []float64) float64 { return k.Seconds(&pace, &Shape{Group: int32(x[0]), Moved: x[1]}) }, func(x []float64) float64 { return x[1] / 2 / bandwidth }, "group", "bytes")
	}))
}

// TestSpread checks that the weights of fitting give the time of evaluation, in one to three
// dimensions.
func TestSpread(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 3).Draw(t, "dimensions")
		w := [...]Work{{1: 1}, {3: 1}, {3: 2, 5: 1, 6: 1}}[dims-1]
		s := drawSurface(t, "surface", dims, w)
		g, err := newGrid(&s, w)
		if err != nil {
			t.Fatal(err)
		}
		x, y, z := size(t, "x"), 1.0, 1.0
		if dims > 1 {
			y = size(t, "y")
		}
		if dims > 2 {
			z = size(t, "z")
		}
		nodes, weights := s.Spread(&w, x, y, z, nil, nil)
		sum := 0.0
		for i, n := range nodes {
			sum += weights[i] * s.Slowdown[n]
		}
		if got := g.at(Point{x, y, z}); math.Abs(got-sum) > 1e-9*got {
			t.Fatalf("%g, not %g", got, sum)
		}
	})
}

// TestHand works one product out by hand: a node hit exactly, one halfway, one beyond the grid.
func TestHand(t *testing.T) {
	g := GemmModel{
		Base: Base{
			Latency: 1, Norm: 1, Memory: Flat(1),
			Compute: Surface{Axes: [][]float64{{1, 3}, {2}, {4}}, Slowdown: []float64{4, 2}},
		},
	}
	k, err := g.prepare(&Types{})
	prepared(t, err)
	for _, c := range []struct{ m, n, k, want float64 }{
		{1, 2, 4, 1 + 8*4}, {2, 2, 4, 1 + (8*4+24*2)/2.}, {3, 2, 4, 1 + 24*2}, {6, 2, 4, 1 + 48*2}, {3, 1, 4, 1 + 12*2},
	} {
		if got := k.Seconds(&Pace{Flop: 0.5, Byte: 1}, product(c.m, c.n, c.k)); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %g", c, got)
		}
	}
}

// TestTiles: 16 rows up to 64, then 128, then whole tiles of the largest, in operations alone; at
// one of those a second.
func TestTiles(t *testing.T) {
	for _, c := range []struct{ tile, m, rows float64 }{
		{0, 17, 32}, {0, 64, 64}, {0, 65, 128}, {0, 129, 256}, {0, 257, 384}, {128, 257, 384},
		{256, 128, 128}, {256, 129, 256}, {256, 257, 512}, {256, 513, 768},
	} {
		g := GemmModel{Base: Base{Norm: 1, Compute: Flat(1), Memory: Flat(1)}, Tiled: true, Tile: c.tile}
		k, err := g.prepare(&Types{})
		prepared(t, err)
		if got, want := k.Seconds(&unit, product(c.m, 3, 5)), 2*c.rows*3*5; math.Abs(got-want) > 1e-9 {
			t.Errorf("tiles of %g rows: %g rows take %g, not %g", c.tile, c.m, got, want)
		}
	}
	if (&GemmModel{Base: Base{Norm: 1, Compute: Flat(1), Memory: Flat(1)}, Tile: 64}).Check() == nil {
		t.Error("accepts tiles of 64 rows")
	}
}

// TestBlock works an expert block out by hand: 2 experts that see 3 rows each, 5 wide outside, 4 up
// of which 2 inside, at 1 operation and 1 byte per second, latency 1.
func TestBlock(t *testing.T) {
	even := Surface{Axes: [][]float64{{3}, {8, 10}, {2, 5}}, Slowdown: []float64{1, 1, 1, 1}}
	g := GroupedModel{Base: Base{Latency: 1, Norm: 1, Compute: Flat(2), Memory: even}, Weight: 1, Input: 1, Output: 2}
	k, err := g.prepare(&Types{})
	prepared(t, err)
	up := 2*(2*2*3*4*5) + 2*(4*5+3*5+2*3*4)        // twice the operations, and weights, inputs and outputs
	down := 2*(2*2*3*5*2) + 2*(5*2+3*2+2*3*5)      // as well
	want := float64(1 + up + down + 2*2*3*(4+2+5)) // read 4, write 2, read 5, of two bytes
	block := expertsTiming{groupedTiming: k}
	if got := block.Seconds(&unit, &Shape{Count: 2, Rows: 3, K: 5, N: 4, Gated: true}); math.Abs(got-want) > 1e-9 {
		t.Errorf("%g, not %g", got, want)
	}
}

// TestApart works out attention that reads keys and values at half the speed of queries, at 1 byte
// and operation a second: 2 sequences of 3 new tokens behind 4, 6 heads of which 2 for keys, 5
// wide.
func TestApart(t *testing.T) {
	p := PrefillAttention{
		Base: Base{
			Latency: 1, Norm: 1, Compute: Flat(1),
			// Slowdowns of the sum: 1 byte of both takes 1 + 2, and so on at the other corners.
			Memory: Surface{Axes: [][]float64{{1, 1000}, {1, 1000}}, Slowdown: []float64{1.5, 2001. / 1001, 1002. / 1001, 1.5}},
		},
		Element: 1,
	}
	k, err := p.prepare()
	prepared(t, err)
	const queries, keys = 2 * 10 * 6 * 3, 2 * 10 * 2 * 7
	want := 1 + 4*5*2*6*3*(4+1.5) + queries + 2*keys
	if got := k.Seconds(&unit, prompts(2, 3, 4, Heads{Query: 6, KV: 2, Key: 5, Value: 5})); math.Abs(got-want) > 1e-9*want {
		t.Errorf("%g, not %g", got, want)
	}
	p.Memory = Surface{Axes: [][]float64{{1}, {1}, {1}}, Slowdown: []float64{1}}
	if p.Check() == nil {
		t.Error("accepts three axes")
	}
}

// TestRows works a kernel on rows out by hand, at 2 bytes per second, latency 1: slowdown 6 of one
// row, 2 of nine, and time in proportion to the bytes of a row.
func TestRows(t *testing.T) {
	c := Curve{Latency: 1, Memory: Surface{Axes: [][]float64{{1, 9}, {4}}, Slowdown: []float64{6, 2}}}
	k, err := c.prepare()
	prepared(t, err)
	half := Pace{Byte: 0.5}
	for _, x := range []struct{ rows, bytes, want float64 }{
		{1, 4, 1 + 4*6/2}, {9, 4, 1 + 36*2/2}, {5, 4, 1 + (12+36)/2.}, {1, 8, 1 + 8*6/2}, {18, 2, 1 + 36*2/2},
	} {
		if got := k.Seconds(&half, &Shape{Rows: x.rows, Moved: x.rows * x.bytes}); math.Abs(got-x.want) > 1e-12 {
			t.Errorf("%v: %g", x, got)
		}
	}
	if got := (fusedTiming{k}).Seconds(&half, &Shape{Moved: 100}); math.Abs(got-100*2/2) > 1e-12 {
		t.Errorf("100 bytes beside it take %g", got)
	}
	c.Memory = Flat(3)
	if k, err = c.prepare(); err != nil {
		t.Fatal(err)
	}
	if a, b := k.Seconds(&half, &Shape{Rows: 3, Moved: 12}), (fusedTiming{k}).Seconds(&half, &Shape{Moved: 12}); a != 1+12*3/2 || b != a-1 {
		t.Errorf("12 bytes take %g, beside the kernel %g", a, b)
	}
}

func TestWrong(t *testing.T) {
	good := Base{Norm: 4, Compute: Flat(1), Memory: Flat(1)}
	for name, change := range map[string]func(b *Base){
		"latency":  func(b *Base) { b.Latency = -1 },
		"norm":     func(b *Base) { b.Norm = 3 },
		"slowdown": func(b *Base) { b.Compute = Flat(0.9) },
		"nan":      func(b *Base) { b.Memory = Flat(math.NaN()) },
		"count":    func(b *Base) { b.Memory.Slowdown = nil },
		"axes":     func(b *Base) { b.Memory.Axes = nil },
		"node":     func(b *Base) { b.Memory.Axes = [][]float64{{2, 1}} },
		"empty":    func(b *Base) { b.Memory.Axes = [][]float64{{}} },
		"wide":     func(b *Base) { b.Memory = Surface{Axes: [][]float64{{1, 1e30}}, Slowdown: []float64{1, 1}} },
	} {
		b := good
		change(&b)
		if (&GemmModel{Base: b}).Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if (&Curve{Memory: Surface{Axes: [][]float64{{1}, {1}, {1}}, Slowdown: []float64{1}}}).Check() == nil {
		t.Error("accepts bytes with three axes")
	}
}

func TestJSON(t *testing.T) {
	in := Set{Gemm: map[string]*GemmModel{"bfloat16": {
		Base: Base{Latency: 2e-6, Norm: 4, Compute: Flat(1.2), Memory: Flat(1.3)}, Weight: 2, Input: 2, Output: 2,
	}}}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"gemm":{"bfloat16":{"latency":0.000002,"norm":4,"compute":{"axes":[[1]],"slowdown":[1.2]},` +
		`"memory":{"axes":[[1]],"slowdown":[1.3]},"weight_bytes":2,"input_bytes":2,"output_bytes":2}}}`
	if d := cmp.Diff(want, string(text)); d != "" {
		t.Error(d)
	}
	var out Set
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(in, out, cmpopts.IgnoreUnexported(Set{})); d != "" {
		t.Error(d)
	}
}

func BenchmarkGemm(b *testing.B) {
	s := Surface{Axes: [][]float64{{1, 16, 32, 64, 128, 256, 512, 1024, 2048, 8192, 32768}, {128, 512, 2048, 8192, 32768}, {128, 512, 2048, 8192, 32768}}}
	s.Slowdown = make([]float64, 275)
	for i := range s.Slowdown {
		s.Slowdown[i] = 1.5
	}
	g := GemmModel{Base: Base{Norm: 4, Compute: s, Memory: s}, Weight: 2, Input: 2, Output: 2}
	k, err := g.prepare(&Types{})
	prepared(b, err)
	h200 := Pace{Flop: 1e-15, Byte: 1 / 4.8e12}
	shape := product(1, 6144, 4096)
	b.ReportAllocs()
	sum := 0.0
	for b.Loop() {
		sum += k.Seconds(&h200, shape)
		if shape.M *= 1.7; shape.M > 30000 {
			shape.M = 1
		}
	}
	if sum == 0 {
		b.Fatal()
	}
}

func TestCheckNamesAll(t *testing.T) {
	set := &Set{Gemm: map[string]*GemmModel{"float8": nil, "bfloat16": {Base: Base{Norm: 3, Compute: Flat(1), Memory: Flat(1)}, Weight: -2}}, Collective: map[string]*CollectiveModel{"all_reduce": nil}}
	err := set.Check()
	for _, want := range []string{"gemm bfloat16: gemm: a norm of 3", "a size of -2", "gemm float8: null is no model", "collective all_reduce: null is no model"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestTileOfDecodes: 3 sequences of a token behind 100, 4 heads. A kernel whose tile is 128 computes
// 128 · (100 + 64) pairs for each head; told 64 queries, 64 · (100 + 32).
func TestTileOfDecodes(t *testing.T) {
	p := PrefillAttention{Base: Base{Norm: 1, Compute: Flat(1), Memory: Flat(1)}, Element: 2, Tile: 128}
	s := Shape{M: 3, Count: 3, N: 101, K: 32, Value: 32, Heads: 4, KVHeads: 2}
	for rows, want := range map[float64]float64{0: 128 * (100 + 64), 64: 64 * (100 + 32)} {
		s.Rows = rows
		if c, _ := p.Points(&s); c.X != want || c.Y != 3*4 {
			t.Errorf("tile %v: %v, want %v pairs of 12", rows, c, want)
		}
	}
}
