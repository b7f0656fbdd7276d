package kernel

import (
	"cmp"
	"fmt"
	"math"
)

// Base is what every kernel with two sides has.
type Base struct {
	// Latency in seconds of a kernel with nothing to do.
	Latency float64 `json:"latency"`
	// Norm is p, how compute and memory overlap: 1 one after the other, 2 and 4 ever closer to the longer of the two.
	Norm int `json:"norm"`
	// Compute is the slowdown of operations, Memory that of bytes. Their axes depend on the kernel.
	Compute Surface `json:"compute"`
	Memory  Surface `json:"memory"`
}

// sides is a kernel at given rates.
type sides struct {
	latency         float64
	norm            int
	compute, memory grid
}

func (b *Base) sides(rate, bandwidth float64, flops, bytes Work) (s sides, err error) {
	if !(b.Latency >= 0) || math.IsInf(b.Latency, 1) {
		return s, fmt.Errorf("a latency of %g s", b.Latency)
	}
	if b.Norm != 1 && b.Norm != 2 && b.Norm != 4 {
		return s, fmt.Errorf("a norm of %d, not 1, 2 or 4", b.Norm)
	}
	if !(rate > 0) || !(bandwidth > 0) {
		return s, fmt.Errorf("a peak of %g operations and %g bytes per second", rate, bandwidth)
	}
	s.latency, s.norm = b.Latency, b.Norm
	if s.compute, err = newGrid(&b.Compute, flops.scale(1/rate)); err != nil {
		return s, fmt.Errorf("compute: %w", err)
	}
	if s.memory, err = newGrid(&b.Memory, bytes.scale(1/bandwidth)); err != nil {
		return s, fmt.Errorf("memory: %w", err)
	}
	return s, nil
}

// Join is the time of the two sides together.
func Join(norm int, compute, memory float64) float64 {
	switch norm {
	case 1:
		return compute + memory
	case 2:
		return math.Sqrt(compute*compute + memory*memory)
	}
	c, m := compute*compute, memory*memory
	return math.Sqrt(math.Sqrt(c*c + m*m))
}

// GemmModel is the product of a matrix of m × k activations with k × n weights. The axes of both surfaces are m, n, k.
type GemmModel struct {
	Base
	// Bytes of one element.
	Weight float64 `json:"weight_bytes"`
	Input  float64 `json:"input_bytes"`
	Output float64 `json:"output_bytes"`
	// Tiled: the kernel computes whole tiles, which Rows counts, the largest of Tile rows; 0: 128.
	Tiled bool    `json:"tiled,omitempty"`
	Tile  float64 `json:"tile,omitempty"`
}

// Rows is m in whole tiles: of 16 rows up to 64, of 64 up to 128, of the largest beyond.
func Rows(m, tile float64) float64 {
	switch {
	case m > 128:
		return tile * math.Ceil(m/tile)
	case m > 64:
		return 128
	}
	return 16 * math.Ceil(m*(1./16))
}

// Work is the operations and the bytes.
func (g *GemmModel) Work() (flops, bytes Work) {
	return Work{7: 2}, Work{3: g.Output, 5: g.Input, 6: g.Weight}
}

// At prepares the kernel for a peak rate (operations per second) and bandwidth (bytes per second).
func (g *GemmModel) At(rate, bandwidth float64) (*GemmTimer, error) {
	f, b := g.Work()
	s, err := g.sides(rate, bandwidth, f, b)
	if err != nil {
		return nil, fmt.Errorf("gemm: %w", err)
	}
	tile := 0.0
	if g.Tiled {
		tile = cmp.Or(g.Tile, 128)
	}
	if g.Tile != 0 && !(g.Tile >= 128 && g.Tile <= 1<<16) {
		return nil, fmt.Errorf("gemm: tiles of %g rows, not of 128 or more", g.Tile)
	}
	return &GemmTimer{s, tile}, nil
}

// GemmTimer gives the time of matrix products.
type GemmTimer struct {
	s    sides
	tile float64 // 0: none
}

// Seconds of a product of m × k with k × n.
func (t *GemmTimer) Seconds(m, n, k float64) float64 {
	rows := m
	if t.tile > 0 {
		rows = Rows(m, t.tile)
	}
	return t.s.latency + Join(t.s.norm, t.s.compute.seconds(rows, n, k), t.s.memory.seconds(m, n, k))
}

// GroupedModel is one kernel for the products of several experts, each of m × k activations with its own k × n weights.
// The axes are m, experts · n, k. A fused expert block is two such products, one after the other.
type GroupedModel struct {
	Base
	Weight float64 `json:"weight_bytes"`
	Input  float64 `json:"input_bytes"`
	Output float64 `json:"output_bytes"`
}

// Work is the operations and the bytes but those of the inputs, which take InputBytes more.
func (g *GroupedModel) Work() (flops, bytes Work) {
	return Work{7: 2}, Work{3: g.Output, 6: g.Weight}
}

// InputBytes are those of the inputs.
func (g *GroupedModel) InputBytes(experts, m, k float64) float64 { return g.Input * experts * m * k }

// At prepares the kernel for a peak rate and bandwidth.
func (g *GroupedModel) At(rate, bandwidth float64) (*GroupedGemmTimer, error) {
	f, b := g.Work()
	s, err := g.sides(rate, bandwidth, f, b)
	if err != nil {
		return nil, fmt.Errorf("grouped gemm: %w", err)
	}
	return &GroupedGemmTimer{s, g.Input / bandwidth, g.Output / bandwidth}, nil
}

// GroupedGemmTimer gives the time of products of experts.
type GroupedGemmTimer struct {
	s             sides
	input, output float64
}

// products is the time without the latency.
func (t *GroupedGemmTimer) products(experts, m, n, k float64) float64 {
	memory := t.s.memory.seconds(m, experts*n, k) + t.input*experts*m*k
	return Join(t.s.norm, t.s.compute.seconds(m, experts*n, k), memory)
}

// Seconds of the products of experts that each see m rows.
func (t *GroupedGemmTimer) Seconds(experts, m, n, k float64) float64 {
	return t.s.latency + t.products(experts, m, n, k)
}

// BlockElements is what each row of an expert block moves between its products and behind them: the activation reads
// what the first product wrote and writes the inner width, and the results are read to be added up.
func BlockElements(outer, up, inner float64) float64 { return up + inner + outer }

// Block is the seconds of fused expert blocks that each see m rows: from the outer width up, which is twice the inner
// width where there is a gate, and from the inner width back.
func (t *GroupedGemmTimer) Block(experts, m, outer, up, inner float64) float64 {
	return t.s.latency + t.products(experts, m, up, outer) + t.products(experts, m, outer, inner) +
		t.output*experts*m*BlockElements(outer, up, inner)
}

// DecodeAttention is attention of one new token of each of several sequences to its context. The axes of the memory side
// are context, sequences · KV heads, and bytes of one token in the cache of one KV head; those of the compute side
// context, sequences · KV heads, and operations per token of the context and KV head. Latent attention has one KV head.
type DecodeAttention struct {
	Base
	// Query is the bytes of an element of queries and results.
	Query float64 `json:"query_bytes"`
	// Tile is the shortest context that the kernel works on; shorter ones take as long.
	Tile float64 `json:"tile"`
}

// Work is the operations and the bytes of the cache.
func (d *DecodeAttention) Work() (flops, bytes Work) { return Work{7: 1}, Work{7: 1} }

// At prepares the kernel for a peak rate and bandwidth.
func (d *DecodeAttention) At(rate, bandwidth float64) (*DecodeTimer, error) {
	f, b := d.Work()
	s, err := d.sides(rate, bandwidth, f, b)
	if err != nil {
		return nil, fmt.Errorf("decode attention: %w", err)
	}
	return &DecodeTimer{s, d.Query / bandwidth, d.Tile}, nil
}

// DecodeTimer gives the time of attention in decode.
type DecodeTimer struct {
	s           sides
	query, tile float64
}

// Heads is the shape of attention: query heads, KV heads, and the widths of keys and of values.
type Heads struct{ Query, KV, Key, Value float64 }

// TokenFlops is what the query heads of one KV head compute for one token of the context.
func (h Heads) TokenFlops() float64 { return 2 * h.Query / h.KV * (h.Key + h.Value) }

// Seconds for a batch of sequences with the same context, tokenBytes being the cache of one token in one KV head.
func (t *DecodeTimer) Seconds(batch, context float64, h Heads, tokenBytes float64) float64 {
	y := batch * h.KV
	context = max(context, t.tile)
	memory := t.s.memory.seconds(context, y, tokenBytes) + t.query*batch*h.Query*(h.Key+h.Value)
	return t.s.latency + Join(t.s.norm, t.s.compute.seconds(context, y, h.TokenFlops()), memory)
}

// PrefillAttention is attention of new tokens to themselves and what is before them. The axes of the compute side are
// pairs (of a new token and one it attends to, in one head), sequences · heads, and the mean width of keys and values.
// The memory side has one axis, bytes, or two: bytes of queries and results, and of keys and values, which kernels read
// once for every tile of queries.
type PrefillAttention struct {
	Base
	// Element is the bytes of an element of queries, keys, values and results.
	Element float64 `json:"element_bytes"`
	// Tile is the fewest new tokens that the kernel computes; fewer take as long.
	Tile float64 `json:"tile"`
}

// Work is the operations and the bytes.
func (p *PrefillAttention) Work() (flops, bytes Work) {
	if len(p.Memory.Axes) == 2 {
		return Work{7: 4}, Work{1: 1, 2: 1}
	}
	return Work{7: 4}, Work{1: 1}
}

// Bytes is what is read and written: of queries and results, and of keys and values.
func (p *PrefillAttention) Bytes(batch, tokens, past float64, h Heads) (queries, keys float64) {
	each := p.Element * batch * (h.Key + h.Value)
	return each * h.Query * tokens, each * h.KV * (tokens + past)
}

// Pairs is how many tokens the new ones attend to, together: each to what is before it and half of the new ones.
func Pairs(tokens, past float64) float64 { return tokens * (past + tokens/2) }

// At prepares the kernel for a peak rate and bandwidth.
func (p *PrefillAttention) At(rate, bandwidth float64) (*PrefillTimer, error) {
	f, b := p.Work()
	s, err := p.sides(rate, bandwidth, f, b)
	if err != nil {
		return nil, fmt.Errorf("prefill attention: %w", err)
	}
	if len(p.Memory.Axes) > 2 {
		return nil, fmt.Errorf("prefill attention: memory has %d axes, not one or two", len(p.Memory.Axes))
	}
	return &PrefillTimer{s, *p, len(p.Memory.Axes) == 2}, nil
}

// PrefillTimer gives the time of attention in prefill.
type PrefillTimer struct {
	s     sides
	p     PrefillAttention
	apart bool // queries and keys
}

// Seconds for a batch of sequences with so many new tokens each behind past ones.
func (t *PrefillTimer) Seconds(batch, tokens, past float64, h Heads) float64 {
	compute := t.s.compute.seconds(Pairs(max(tokens, t.p.Tile), past), batch*h.Query, (h.Key+h.Value)/2)
	x, y := t.p.Bytes(batch, tokens, past, h)
	if !t.apart {
		x, y = x+y, 1
	}
	return t.s.latency + Join(t.s.norm, compute, t.s.memory.seconds(x, y, 1))
}

// Curve is a kernel that only moves bytes: element-wise operators, norms, copies. The axis is bytes read and written. A
// kernel that works on rows, such as a norm, has two: rows, and bytes of one.
type Curve struct {
	Latency float64 `json:"latency"`
	Memory  Surface `json:"memory"`
}

// Work is the bytes.
func (c *Curve) Work() Work {
	if len(c.Memory.Axes) == 2 {
		return Work{3: 1}
	}
	return Work{1: 1}
}

// At prepares the kernel for a bandwidth.
func (c *Curve) At(bandwidth float64) (*CurveTimer, error) {
	if len(c.Memory.Axes) > 2 {
		return nil, fmt.Errorf("bytes: %d axes, not one or two", len(c.Memory.Axes))
	}
	b := Base{Latency: c.Latency, Norm: 1, Compute: Flat(1), Memory: c.Memory}
	s, err := b.sides(1, bandwidth, Work{}, c.Work())
	if err != nil {
		return nil, fmt.Errorf("bytes: %w", err)
	}
	return &CurveTimer{s.latency, s.memory, len(c.Memory.Axes) == 2}, nil
}

// CurveTimer gives the time of moving bytes.
type CurveTimer struct {
	latency float64
	memory  grid
	byRow   bool
}

// Seconds to read and write rows of so many bytes each.
func (t *CurveTimer) Seconds(rows, bytes float64) float64 {
	if t.byRow {
		return t.latency + t.memory.seconds(rows, bytes, 1)
	}
	return t.latency + t.memory.seconds(rows*bytes, 1, 1)
}

// Beside is the seconds that an operator adds which is fused with the kernel: its bytes at no latency, and where the
// kernel works on rows, those of as many as were calibrated, as it is not known how the bytes lie in rows.
func (t *CurveTimer) Beside(bytes float64) float64 {
	if t.byRow {
		rows := t.memory.axes[0].hi
		return t.memory.seconds(rows, bytes/rows, 1)
	}
	return t.memory.seconds(bytes, 1, 1)
}

// Alone is the seconds of a kernel of its own that moves bytes: at least the latency, and the smallest work of the grid.
func (t *CurveTimer) Alone(bytes float64) float64 {
	a := &t.memory.axes
	return t.latency + max(t.memory.seconds(a[0].lo, a[1].lo, 1), t.Beside(bytes))
}

// CollectiveModel is one communication pattern in groups of one network. The axes are the size of the group and bytes: the
// buffer that is reduced, the gathered result, what is scattered, what a processor sends to all. Peak is a message at
// the bandwidth of one direction of a processor; a pattern that sends part of its bytes only is faster than that, by no
// more than Share.
type CollectiveModel struct {
	Latency float64 `json:"latency"`
	// Share of the bytes that must cross the link of a processor, in the smallest group.
	Share  float64 `json:"share"`
	Memory Surface `json:"bytes"`
}

// At prepares the pattern for the bandwidth of a processor in one direction.
func (c *CollectiveModel) At(bandwidth float64) (*CollectiveTimer, error) {
	if !(c.Share > 0) {
		return nil, fmt.Errorf("collective: a share of %g", c.Share)
	}
	b := Base{Latency: c.Latency, Norm: 1, Compute: Flat(1), Memory: c.Memory}
	s, err := b.sides(1, bandwidth/c.Share, Work{}, Work{2: 1})
	if err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	return &CollectiveTimer{s.latency, s.memory}, nil
}

// CollectiveTimer gives the time of a communication pattern.
type CollectiveTimer struct {
	latency float64
	bytes   grid
}

// MostRanks is the largest group that was measured.
func (t *CollectiveTimer) MostRanks() float64 { return t.bytes.axes[0].hi }

// Seconds for a group.
func (t *CollectiveTimer) Seconds(group, bytes float64) float64 {
	return t.latency + t.bytes.seconds(group, bytes, 1)
}

// Set is the calibrated kernels of a system, to be embedded in its file. What is missing is priced without calibration.
type Set struct {
	// Sustained is the share of the rate of isolated kernels that a GPU keeps up through a long prefill, at the lower clocks
	// of full load; 0: not known, all of it.
	Sustained float64 `json:"sustained,omitempty"`
	// System is the name of the chip that was measured, and From names another one for the kinds of kernels ("experts"), or
	// of the kernels of a number type ("gemm.bfloat16"), that were not measured on it. Slowdowns are relative to peaks,
	// which is what makes them carry over.
	System string            `json:"system,omitempty"`
	From   map[string]string `json:"from,omitempty"`
	// Peaks of the chip that was measured: a system with other ones is another chip, whatever its name.
	Peaks  map[string]float64 `json:"peaks,omitempty"`
	Source string             `json:"source,omitempty"` // what the models were fitted to
	// Errors are the mean errors of the models on shapes that their fits did not see, as shares, by kind of kernel and
	// number type: "gemm.bfloat16".
	Errors map[string]float64 `json:"errors,omitempty"`

	Gemm          map[string]*GemmModel        `json:"gemm,omitempty"`           // by number type
	GroupedGemm   map[string]*GroupedModel     `json:"grouped_gemm,omitempty"`   // by number type
	Experts       map[string]*GroupedModel     `json:"experts,omitempty"`        // fused blocks, by number type
	Decode        map[string]*DecodeAttention  `json:"decode,omitempty"`         // by number type of the cache
	LatentDecode  map[string]*DecodeAttention  `json:"latent_decode,omitempty"`  // by number type of the cache
	Prefill       map[string]*PrefillAttention `json:"prefill,omitempty"`        // by number type
	LatentPrefill map[string]*PrefillAttention `json:"latent_prefill,omitempty"` // by number type
	Absorb        map[string]*GroupedModel     `json:"absorb,omitempty"`         // of latent attention, by number type
	Convolution   map[string]*Curve            `json:"convolution,omitempty"`    // of linear attention: decode, prefill
	LinearDecode  map[string]*LinearAttention  `json:"linear_decode,omitempty"`  // by rule: gated_delta
	LinearPrefill map[string]*LinearAttention  `json:"linear_prefill,omitempty"` // by rule
	Elementwise   map[string]*Curve            `json:"elementwise,omitempty"`    // by kernel: add_rmsnorm, silu_mul
	Copy          map[string]*Curve            `json:"copy,omitempty"`           // by direction: d2d_copy, d2h, h2d
	Collective    map[string]*CollectiveModel  `json:"collective,omitempty"`     // by pattern, as in the networks
	// Exchange is of tokens and experts: dispatch_normal, combine_normal, dispatch_low_latency, combine_low_latency.
	Exchange map[string]*ExchangeModel `json:"exchange,omitempty"`
}
