package sweep

import (
	"cmp"
	"math"
	"slices"

	"throughline/internal/scan"
)

// keeper holds the rows of a part back until it is known which are kept.
type keeper struct {
	Keep
	scan      *scan.Scan
	objective int
	sign      float64
	aims      aims
	held      []*Point
	best      *Point
}

func newKeeper(s *scan.Scan, k Keep) *keeper {
	at := Objective(s)
	return &keeper{Keep: k, scan: s, objective: at, sign: float64(cmp.Or(Figures(s.Of)[at].Better, -1)), aims: aimsOf(s)}
}

// worth is the objective of a point, the more the better.
func (k *keeper) worth(p *Point) float64 {
	switch v := figure(p, k.objective).(type) {
	case float64:
		return k.sign * v
	case int:
		return k.sign * float64(v)
	}
	return math.Inf(-1)
}

func figure(p *Point, k int) any {
	if p.Figures == nil || k < 0 {
		return nil
	}
	return p.Figures[k]
}

// add takes a row, and passes it on where all are kept.
func (k *keeper) add(p *Point, pass func(*Point) error) error {
	if w := k.worth(p); !math.IsInf(w, -1) && (k.best == nil || w > k.worth(k.best)) {
		k.best = p.clone()
	}
	switch {
	case k.Keep == Keep{}:
		return pass(p)
	case p.Figures == nil:
	default:
		k.held = append(k.held, p)
	}
	if k.Best > 0 && len(k.held) >= 2*k.Best+1000 || k.Frontier && len(k.held) >= 10_000 {
		k.thin()
	}
	return nil
}

// thin drops the rows that are not among the best of those that are held.
func (k *keeper) thin() {
	if k.Best > 0 {
		slices.SortStableFunc(k.held, func(a, b *Point) int {
			return cmp.Or(cmp.Compare(k.worth(b), k.worth(a)), cmp.Compare(a.Number, b.Number))
		})
		k.held = k.held[:min(len(k.held), k.Best)]
		return
	}
	k.held = k.aims.frontier(k.scan, k.held)
}

// flush passes on the rows that are kept, by number.
func (k *keeper) flush(pass func(*Point) error) error {
	if (k.Keep == Keep{}) {
		return nil
	}
	k.thin()
	slices.SortFunc(k.held, func(a, b *Point) int { return cmp.Compare(a.Number, b.Number) })
	for _, p := range k.held {
		if err := pass(p); err != nil {
			return err
		}
	}
	return nil
}
