package kernel

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

func TestExchangeBytes(t *testing.T) {
	dispatch := &ExchangeModel{Element: 1 + 4./128}
	direct := &ExchangeModel{Element: 1 + 4./128, Header: 16, Direct: true}
	combine := &ExchangeModel{Element: 2}

	// 7168 elements of one byte and 56 scales of four; 2048 elements, 16 scales and 16 bytes more.
	if w := dispatch.Width(7168); w != 7168+56*4 {
		t.Error(w)
	}
	if w := direct.Width(2048); w != 2048+16*4+16 {
		t.Error(w)
	}

	for _, c := range []struct {
		e                          *ExchangeModel
		topk, experts, ranks, node float64
		want                       float64
	}{
		// One expert on each of 8 ranks, two chosen: another rank is missed by 7/8 · 6/7 = 3/4, and
		// there are seven.
		{dispatch, 2, 8, 8, 1, 7 * (1 - 3./4)},
		// Two of 4 experts on 2 nodes: the other is missed by 2/4 · 1/3 = 1/6.
		{dispatch, 2, 4, 16, 2, 1 - 1./6},
		// Of three such, one at least is there.
		{dispatch, 3, 4, 16, 2, 1},
		{combine, 1, 128, 4, 1, 3. / 4},
		{direct, 8, 256, 8, 1, 7},
		{direct, 8, 256, 32, 4, 6},
		{dispatch, 8, 256, 1, 1, 0},
		{direct, 8, 256, 1, 1, 0},
	} {
		s := &Shape{N: c.topk, Experts: int32(c.experts)}
		if got := c.e.Copies(s, c.ranks, c.node); !near(got, c.want) && got != c.want {
			t.Errorf("%+v: %g", c, got)
		}
	}
	// 100 tokens of 2048: 1.75 copies of 4096 bytes.
	if b := combine.Bytes(&Shape{M: 100, N: 2, K: 2048, Experts: 8, Group: 8, Nodes: 1}); !near(b, 100*1.75*4096) {
		t.Error(b)
	}
}

func TestExchangeSeconds(t *testing.T) {
	level := func(nodes, latency, slowdown float64) ExchangeLevel {
		return ExchangeLevel{Nodes: nodes, Latency: latency, Memory: Surface{Axes: [][]float64{{1}, {1}, {1}}, Slowdown: []float64{slowdown}}}
	}
	e := &ExchangeModel{Element: 2, Levels: []ExchangeLevel{level(1, 1e-6, 2), level(2, 3e-6, 1), level(4, 5e-6, 1)}}
	timer, err := e.prepare()
	prepared(t, err)
	seconds := func(tokens, topk, experts, hidden, ranks, nodes float64) float64 {
		return timer.Seconds(&Pace{Byte: 1 / 100e9, Far: 1 / 10e9},
			&Shape{M: tokens, N: topk, K: hidden, Experts: int32(experts), Group: int32(ranks), Nodes: int16(nodes)})
	}
	// Twice 716,800 bytes at 100 GB/s.
	if s := seconds(100, 2, 8, 2048, 8, 1); !near(s, 1e-6+2*716800/100e9) {
		t.Error(s)
	}
	// One expert of a token on four nodes: 3/4 of the copies go to others, 307,200 bytes at 10
	// GB/s. On three nodes it is 2/3, and on two 1/2: two thirds of the way from the time on two
	// nodes to that on four.
	two, four := 3e-6+100*1./2*4096/10e9, 5e-6+307200/10e9
	if s := seconds(100, 1, 12, 2048, 32, 4); !near(s, four) {
		t.Error(s)
	}
	if s := seconds(100, 1, 12, 2048, 24, 3); !near(s, two+(four-two)*2/3) {
		t.Error(s)
	}
	// Passing on inside the nodes takes no less than if all were one: 15/16 of 200 copies leave
	// each processor, at half of 100 GB/s, where the network between nodes would be done in the
	// latency and a fiftieth of a microsecond.
	if s := timer.Seconds(&Pace{Byte: 1 / 100e9, Far: 1e-15}, &Shape{M: 100, N: 2, K: 2048, Experts: 1 << 20, Group: 16, Nodes: 2}); s < 2*100*2*15./16*4096/100e9*0.999 || s > 1.1e-6+2*100*2*15./16*4096/100e9 {
		t.Error(s)
	}
	// Beyond what was measured the last level counts.
	if s := seconds(100, 1, 64, 2048, 64, 8); !near(s, 5e-6+100*7./8*4096/10e9) {
		t.Error(s)
	}
	if s := seconds(100, 1, 64, 2048, 1, 1); s != 1e-6 {
		t.Error(s)
	}
	for _, bad := range []ExchangeModel{
		{Element: 2}, {Levels: e.Levels}, {Element: 2, Header: -1, Levels: e.Levels},
		{Element: 2, Levels: []ExchangeLevel{level(2, 0, 1), level(2, 0, 1)}},
		{Element: 2, Levels: []ExchangeLevel{level(1, -1, 1)}},
		{Element: 2, Levels: []ExchangeLevel{level(1, 0, 0.5)}},
	} {
		if bad.Check() == nil {
			t.Errorf("accepts %+v", bad)
		}
		if (&Set{Exchange: map[string]*ExchangeModel{"x": &bad}}).Check() == nil {
			t.Errorf("a set accepts %+v", bad)
		}
	}
}

// TestFilledLinks: at six times the time of its 716,800 bytes an exchange does not fill links that
// are full at 1.5 times. Alone, on 4.8 times the units, it would take 1.25 times: the links decide.
// At eight times it is the units, 8/4.8 times. Beside computation nothing changes, and never does
// it take longer than it was measured to.
func TestFilledLinks(t *testing.T) {
	for _, c := range []struct{ measured, filled, alone float64 }{{6, 1.5, 1.5}, {8, 1.5, 8 / 4.8}, {1.2, 1.5, 1.2}, {6, 0, 6}} {
		level := ExchangeLevel{Nodes: 1, Latency: 1e-6, Memory: Surface{Axes: [][]float64{{1}, {1}, {1}}, Slowdown: []float64{c.measured}}, Filled: c.filled}
		e := &ExchangeModel{Element: 2, Levels: []ExchangeLevel{level}}
		timer, err := e.prepare()
		prepared(t, err)
		s := &Shape{M: 100, N: 2, K: 2048, Experts: 8, Group: 8, Nodes: 1}
		if got := timer.Seconds(&Pace{Byte: 1 / 100e9, Idle: true}, s); !near(got, 1e-6+c.alone*716800/100e9) {
			t.Errorf("alone, measured at %g, full at %g: %g", c.measured, c.filled, got)
		}
		if got := timer.Seconds(&Pace{Byte: 1 / 100e9}, s); !near(got, 1e-6+c.measured*716800/100e9) {
			t.Errorf("measured at %g, full at %g: %g", c.measured, c.filled, got)
		}
		if got := (&Set{Exchange: map[string]*ExchangeModel{"x": e}}).Unfilled(); got != (c.filled > 0) {
			t.Errorf("full at %g: %v", c.filled, got)
		}
	}
	if (&ExchangeModel{Element: 2, Levels: []ExchangeLevel{{Nodes: 1, Memory: Surface{Axes: [][]float64{{1}, {1}, {1}}, Slowdown: []float64{1}}, Filled: 0.5}}}).Check() == nil {
		t.Error("links that send faster than they can")
	}
}

// TestNodeLimitedRouting: DeepSeek-V3 picks 4 of 8 groups of 32 experts, then 8 experts in them.
// Over 4 nodes, of two groups each, a node has none of the picked groups in 15 of 70 cases, one in
// 40 and both in 15; of 128 candidates it then has 32 or 64. That makes 19% fewer copies than a
// free choice.
func TestNodeLimitedRouting(t *testing.T) {
	free := &Shape{N: 8, Experts: 256}
	limited := &Shape{N: 8, Experts: 256, Groups: 8, Limit: 4}
	none := func(candidates, there float64) float64 {
		p := 1.0
		for i := 0.0; i < 8; i++ {
			p *= (candidates - there - i) / (candidates - i)
		}
		return p
	}
	for _, c := range []struct {
		shape  *Shape
		places float64
		want   float64
	}{
		{free, 4, 1 - none(256, 64)},
		{limited, 4, 40./70*(1-none(128, 32)) + 15./70*(1-none(128, 64))},
		{limited, 8, 0.5 * (1 - none(128, 32))},
		{limited, 16, 0.5 * (1 - none(128, 16))},
		{limited, 9, 1 - none(256, 256./9)}, // groups do not lie on whole nodes: no limit holds
		{&Shape{N: 8, Experts: 256, Groups: 4, Limit: 4}, 4, 1 - none(256, 64)},
		{limited, 2, 1./70*0 + 16./70*(1-none(128, 32)) + 36./70*(1-none(128, 64)) + 16./70*(1-none(128, 96)) + 1./70},
	} {
		if got := Visit(c.shape, c.places); !near(got, c.want) {
			t.Errorf("%+v over %g: %g, not %g", *c.shape, c.places, got, c.want)
		}
	}
	if ratio := Visit(limited, 4) / Visit(free, 4); math.Abs(ratio-0.81) > 0.005 {
		t.Errorf("%g", ratio)
	}
}
