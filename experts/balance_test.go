package experts

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"throughline/assume"
	"throughline/internal/files"
	"throughline/internal/test/long"
)

// published is the popularity that is assumed, in prefill.
var published = Popularity{Spread: assume.Physical.ExpertSpread, Blocks: assume.Physical.ExpertBlocks, Drift: assume.Physical.ExpertDriftPrefill}

func balance(t testing.TB, p Popularity, s Sharing) *Balance {
	t.Helper()
	s.Experts, s.Visited = 256, 8
	s.Groups, s.Nodes = max(1, s.Groups), max(1, s.Nodes)
	b, err := NewBalance(&p, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPublishedBalance: mean over busiest rank of DeepSeek-V3 as SGLang's authors print it
// (lmsys.org/blog/2025-05-05-large-scale-ep), with 32 redundant copies and without. The assumptions
// were fitted to the first three and to the last; the others show how far they carry.
func TestPublishedBalance(t *testing.T) {
	for _, c := range []struct {
		s          Sharing
		want, near float64
	}{
		{Sharing{Ranks: 8}, 0.673, 0.01}, {Sharing{Ranks: 32}, 0.55, 0.01}, {Sharing{Ranks: 32, Redundant: 32, Groups: 8, Nodes: 4}, 0.80, 0.01},
		{Sharing{Ranks: 16}, 0.613, 0.03}, {Sharing{Ranks: 64}, 0.476, 0.03},
		{Sharing{Ranks: 8, Redundant: 32}, 0.944, 0.03}, {Sharing{Ranks: 16, Redundant: 32, Groups: 8, Nodes: 2}, 0.902, 0.03},
	} {
		got := 1 / balance(t, published, c.s).Busiest(1e6)
		t.Logf("%d ranks, %d copies: %.3f, published %.3f", c.s.Ranks, c.s.Redundant, got, c.want)
		if math.Abs(got-c.want) > c.near {
			t.Errorf("%d ranks, %d copies: %.3f, published %.3f", c.s.Ranks, c.s.Redundant, got, c.want)
		}
	}
	decode := published
	decode.Drift = assume.Physical.ExpertDriftDecode
	if got := 1 / balance(t, decode, Sharing{Ranks: 72, Redundant: 32}).Busiest(1e6); math.Abs(got-0.81) > 0.01 {
		t.Errorf("72 ranks that decode: %.3f, published 0.81", got)
	}
}

// TestBalanceLaws: one rank has nothing to balance; fewer visits and more ranks are less even; what
// EPLB makes of copies is never less even than experts in their order, and further copies do not
// make it so.
func TestBalanceLaws(t *testing.T) {
	if got := balance(t, published, Sharing{Ranks: 1}).Busiest(100); got != 1 {
		t.Errorf("a single rank has %v of its share", got)
	}
	for _, p := range []Popularity{published, {Exponent: 0.7}, {Spread: 1.2}} {
		for _, ranks := range []int{8, 16, 32, 64} {
			var last float64
			for redundant := 0; redundant <= 128; redundant += 64 {
				b := balance(t, p, Sharing{Ranks: ranks, Redundant: redundant})
				got := b.Busiest(1e4)
				if redundant > 0 && got > last*1.002 {
					t.Errorf("%+v: %d copies on %d ranks load the busiest %.4f, fewer %.4f", p, redundant, ranks, got, last)
				}
				last = got
				for visits := 1.0; visits < 1e9; visits *= 1.7 {
					more, fewer := b.Busiest(1.7*visits), b.Busiest(visits)
					if more > fewer*(1+1e-9) || 1.7*more < fewer || more < 1 {
						t.Fatalf("%+v on %d ranks: %.4f of %.0f visits, %.4f of %.0f", p, ranks, fewer, visits, more, 1.7*visits)
					}
				}
			}
			if even := balance(t, p, Sharing{Ranks: ranks / 2}).Busiest(1e4); even > balance(t, p, Sharing{Ranks: ranks}).Busiest(1e4) {
				t.Errorf("%+v: %d ranks are less even than %d", p, ranks/2, ranks)
			}
		}
	}
}

// TestEvenBalance: where all experts are visited alike, the busiest rank is that of chance alone.
func TestEvenBalance(t *testing.T) {
	r := routing(256, 8)
	for _, ranks := range []int{2, 8, 64} {
		b := balance(t, Popularity{}, Sharing{Ranks: ranks})
		for _, mean := range []float64{16, 100, 5000} {
			want := r.Busiest(mean, ranks) / mean
			if got := b.Busiest(mean); math.Abs(got-want) > 0.01*(want-1)+1e-4 {
				t.Errorf("%d ranks, %v visits: %.5f, by chance %.5f", ranks, mean, got, want)
			}
		}
	}
}

// TestBusiestOfUneven compares the expected busiest rank with the mean of simulated steps, in which
// the popularity of experts drifts and every token visits different ones.
func TestBusiestOfUneven(t *testing.T) {
	long.NotRacing(t)
	const ranks, tokens, steps = 16, 400, 400
	p := Popularity{Spread: 0.4, Blocks: 0.25, Drift: 0.3}
	b := balance(t, p, Sharing{Ranks: ranks})
	rng := rand.New(rand.NewPCG(5, 6))
	sum, shares, now := 0.0, make([]float64, 256), make([]float64, 256)
	for step := range steps {
		p.shares(step%draws, shares)
		total := 0.0
		for e := range now {
			now[e] = shares[e] * math.Exp(p.Drift*rng.NormFloat64())
			total += now[e]
		}
		var load [ranks]float64
		for range tokens * 8 {
			at := rng.Float64() * total
			e := 0
			for at > now[e] && e < 255 {
				at -= now[e]
				e++
			}
			load[e*ranks/256]++
		}
		most := 0.0
		for _, l := range load {
			most = max(most, l)
		}
		sum += most / (tokens * 8 / ranks)
	}
	if got, want := b.Busiest(tokens*8/ranks), sum/steps; math.Abs(got/want-1) > 0.03 {
		t.Errorf("the busiest has %.3f of the mean, simulated %.3f", got, want)
	}
}

// TestBalanceIsShared: plans that are searched side by side ask for the same balances.
func TestBalanceIsShared(t *testing.T) {
	p := Popularity{Spread: 0.37}
	s := Sharing{Experts: 64, Visited: 8, Redundant: 8, Ranks: 8, Groups: 1, Nodes: 1}
	want, err := NewBalance(&p, s)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if got, err := BalanceOf(&p, s); err != nil || got.Busiest(100) != want.Busiest(100) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	wait.Wait()
}

// TestPlace: of four experts on two ranks the first gets half of the visits. With two copies of it,
// each takes a quarter beside one with a quarter; within nodes groups stay together.
func TestPlace(t *testing.T) {
	var p Placer
	loads := func(ranks int, slots []slot) []float64 {
		out := make([]float64, ranks)
		for _, s := range slots {
			out[s.rank] += s.load
		}
		return out
	}
	slots, err := p.Place([]float64{0.5, 0.25, 0.125, 0.125}, 6, 2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	// Copies of a quarter, a quarter and, after a third of the first, a sixth: the third copy is of
	// an eighth or of a sixth.
	copies := map[int32]int{}
	for _, s := range slots {
		copies[s.expert]++
	}
	if l := loads(2, slots); math.Abs(l[0]-0.5) > 0.05 || copies[0] != 3 || copies[1] != 1 {
		t.Errorf("%v copies, loads %v", copies, l)
	}
	// Two groups on two nodes of two ranks: the heavy group keeps its node to itself.
	slots, err = p.Place([]float64{0.4, 0.3, 0.2, 0.1}, 8, 4, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if l := loads(4, slots); math.Abs(l[0]+l[1]-0.7) > 1e-12 || math.Abs(l[2]+l[3]-0.3) > 1e-12 || math.Abs(l[0]-0.35) > 1e-9 {
		t.Errorf("nodes have %v", l)
	}
	for _, c := range [][4]int{{3, 2, 1, 1}, {8, 4, 2, 3}, {8, 4, 3, 1}, {6, 4, 2, 2}} {
		if _, err := p.Place([]float64{0.4, 0.3, 0.2, 0.1}, c[0], c[1], c[2], c[3]); err == nil {
			t.Errorf("%v is placed", c)
		}
	}
}

// TestAlike: tokens that all visit the same 2 of 8 experts touch 2, however many they are; of two
// ranks the busier has all of them in 3 of 7 layers, else half.
func TestAlike(t *testing.T) {
	p := Popularity{Alike: 2}
	s := Sharing{Experts: 8, Visited: 2, Ranks: 2, Groups: 1, Nodes: 1}
	touched, err := TouchedOf(&p, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, tokens := range []float64{1, 64, 4096} {
		if got := touched.Share(tokens); math.Abs(got-0.25) > 1e-9 {
			t.Errorf("%g tokens touch a share of %g", tokens, got)
		}
	}
	b, err := BalanceOf(&p, s)
	if err != nil {
		t.Fatal(err)
	}
	all := 0.0
	for _, busiest := range b.ByLayer(1e9) {
		switch {
		case math.Abs(busiest-2) < 1e-3:
			all++
		case math.Abs(busiest-1) > 1e-3:
			t.Errorf("the busier rank has %g of the mean", busiest)
		}
	}
	if all == 0 || all == draws {
		t.Errorf("both experts are on one rank in %g of %d layers", all, draws)
	}
}

func TestParsePopularity(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		name := filepath.Join(dir, "visits.csv")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for text, want := range map[string]Popularity{
		"uniform": {}, "zipf:0.6": {Exponent: 0.6}, "lognormal:0.9": {Spread: 0.9},
	} {
		if got, err := ParsePopularity(files.Machine, text); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	got, err := ParsePopularity(files.Machine, "counts:"+file("1,2,1\n3,0,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	shares := make([]float64, 3)
	if got.shares(1, shares); shares[0] != 0.75 || shares[1] != 0 || got.layers() != 2 {
		t.Errorf("%v of %d layers", shares, got.layers())
	}
	for text, want := range map[string]string{
		"": "is not one of", "zipf": "zipf must be", "zipf:x": "zipf must be", "lognormal:9": "between 0 and 5", "uniform:3": "is not one of",
		"counts:": "is not one of", "counts:" + filepath.Join(dir, "none.csv"): "none.csv",
	} {
		if _, err := ParsePopularity(files.Machine, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string][]string{
		"1,x\n1,2,3\n0,0\n": {`line 1, column 2: "x" is not a number of visits`, "line 2 has 3 experts, the first has 2", "line 3: nothing visits these experts"},
		"":                  {"no visits"},
	} {
		_, err := ParsePopularity(files.Machine, "counts:"+file(text))
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v, want %q", text, err, w)
			}
		}
	}
}

// BenchmarkPlace is 256 experts and 32 copies on 72 ranks.
func BenchmarkPlace(b *testing.B) {
	shares := make([]float64, 256)
	published.shares(3, shares)
	var p Placer
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Place(shares, 288, 72, 1, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlaceLayers is the same for the 58 expert layers of DeepSeek-V3.
func BenchmarkPlaceLayers(b *testing.B) {
	layers := make([][]float64, 58)
	for i := range layers {
		layers[i] = make([]float64, 256)
		published.shares(i, layers[i])
	}
	var p Placer
	for b.Loop() {
		for _, shares := range layers {
			if _, err := p.Place(shares, 288, 72, 1, 1); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkBalance(b *testing.B) {
	for b.Loop() {
		balance(b, published, Sharing{Ranks: 72, Redundant: 32})
	}
}
