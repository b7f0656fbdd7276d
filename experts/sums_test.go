package experts_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"throughline/experts"
	"throughline/internal/test/golden"
)

// TestSums: how unevenly experts of drawn popularity load ranks, and how many of them are visited,
// on one rank and on more ranks than experts, with copies and without, in groups over nodes.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	r := rand.New(rand.NewPCG(33, 7))
	counts := &experts.Counts{Layers: [][]float64{{5, 1, 0, 2, 9, 9, 1, 1, 4, 4, 4, 4, 0, 30, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}}}
	for _, s := range []experts.Sharing{
		{Experts: 16, Visited: 2, Ranks: 1}, {Experts: 16, Visited: 2, Ranks: 4}, {Experts: 16, Visited: 4, Ranks: 6, Redundant: 2}, {Experts: 16, Visited: 1, Redundant: 16, Ranks: 32},
		{Experts: 16, Visited: 4, Redundant: 8, Ranks: 8, Groups: 4, Nodes: 2}, {Experts: 16, Visited: 16, Ranks: 8, Groups: 8, Nodes: 4}, {Experts: 16, Visited: 3, Redundant: 5, Ranks: 3},
	} {
		of := fmt.Sprintf("%d of %d on %d", s.Visited, s.Experts+s.Redundant, s.Ranks)
		s.Groups, s.Nodes = max(1, s.Groups), max(1, s.Nodes)
		for range 12 {
			p := experts.Popularity{}
			switch r.IntN(5) {
			case 0:
				p.Exponent = r.Float64()
			case 1:
				p.Counts = counts
			case 2:
				p.Alike = s.Visited + r.IntN(3)
			default:
				p.Spread, p.Blocks = r.Float64(), 0.5*float64(r.IntN(2))
			}
			p.Drift = 0.6 * r.Float64() * float64(r.IntN(3))
			if p.Counts == nil {
				sums.Add("popularity", "varies", p.Varies())
			}
			b, err := experts.NewBalance(&p, s)
			if err != nil {
				sums.Fields("refused", err.Error())
				continue
			}
			touched, err := experts.TouchedOf(&p, s)
			if err != nil {
				t.Fatal(err)
			}
			sums.Add(of, "uneven", b.Uneven())
			for visits := 0.3; visits < 1e8; visits *= 9 {
				sums.Add(of, "busiest", b.Busiest(visits))
				sums.Fields(of+" by layer", b.ByLayer(visits))
				all, most := touched.Shares(visits)
				sums.Fields(of+" touched", []float64{touched.Share(visits), all, most})
			}
		}
	}
	for range 200 {
		var routing experts.Routing
		n := 1 + r.IntN(256)
		routing.Set(n, 1+r.IntN(n))
		mean, ranks := 1000*r.Float64()*r.Float64(), 1+r.IntN(n)
		sums.Fields("even routing", []float64{routing.TouchedShare(mean), routing.Busiest(mean, ranks), routing.MostTouched(mean*float64(n)/1000, float64(n), ranks), routing.Largest(ranks)})
	}
	sums.Check(t, "testdata/sums.tsv")
}
