package kernels

import (
	"math"
	"testing"

	"throughline/hardware/kernel"
)

// TestWeaker: a chip with a share of the tensor cores of another has the same share of what its
// kernels take beyond the peak: at a quarter of the tensor cores and as much of all else a kernel
// at half of the peak (one part tensor cores, one part the rest) takes 4 + 1 parts, 80% of the
// peak.
func TestWeaker(t *testing.T) {
	set := &kernel.Set{System: "a", Experts: map[string]*kernel.GroupedModel{"float8": {Base: kernel.Base{Norm: 1, Compute: kernel.Flat(2), Memory: kernel.Flat(1.5)}}}}
	out := weaker(set, 0.25).Experts["float8"]
	if got := out.Compute.Slowdown[0]; got != 1.25 || out.Memory.Slowdown[0] != 1.5 {
		t.Errorf("slowdowns %v and %v", got, out.Memory.Slowdown[0])
	}
	if set.Experts["float8"].Compute.Slowdown[0] != 2 {
		t.Error("the other chip has changed")
	}
	if weaker(set, 1) != set {
		t.Error("a chip like the other has kernels of its own")
	}
}

// TestTensorShare: the H20 has 148 and 88 T/s of 16 bits, the H100 989 and 134; B200 and GB200 are
// nearly one chip.
func TestTensorShare(t *testing.T) {
	share := func(from, to string) float64 {
		t.Helper()
		a, err := plain(from)
		if err != nil {
			t.Fatal(err)
		}
		b, err := plain(to)
		if err != nil {
			t.Fatal(err)
		}
		return tensorShare(a, b)
	}
	if got, want := share("H100_SXM", "H20_96G"), 148.0/88/(989.0/134); math.Abs(got-want) > 1e-12 {
		t.Errorf("H20: %v, want %v", got, want)
	}
	for _, pair := range [][2]string{{"H100_SXM", "H800"}, {"GB200_NVL72", "B200"}, {"H20_96G", "H100_SXM"}} {
		if got := share(pair[0], pair[1]); got != 1 {
			t.Errorf("%v: %v", pair, got)
		}
	}
}

// TestFillLinks: of exchanges that take 4 times as long as their bytes those of another chip, at
// 1.5 times, say when the links are full; of exchanges at twice they say nothing.
func TestFillLinks(t *testing.T) {
	set := func(slowdown float64) *kernel.Set {
		e := func() *kernel.ExchangeModel {
			return &kernel.ExchangeModel{Element: 2, Levels: []kernel.ExchangeLevel{{
				Nodes: 1, Memory: kernel.Surface{Axes: [][]float64{{1}, {1}, {1}}, Slowdown: []float64{slowdown}},
			}}}
		}
		return &kernel.Set{Exchange: map[string]*kernel.ExchangeModel{"dispatch_normal": e(), "combine_normal": e()}}
	}
	for slowdown, want := range map[float64]float64{4: 1.5, 2: 0} {
		s := set(slowdown)
		fillLinks(s, set(1.5))
		for key, e := range s.Exchange {
			if got := e.Levels[0].Filled; got != want {
				t.Errorf("%s at %g: full at %g, want %g", key, slowdown, got, want)
			}
		}
	}
	none := &kernel.Set{}
	fillLinks(none, set(1.5))
}
