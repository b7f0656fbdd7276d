package axis

import (
	"cmp"
	"math"
	"slices"
)

// Spot is where a point lies on each axis, from 0 to 1, and what it is worth by each aim, the more
// the better.
type Spot struct {
	Number int
	Shares []float64
	Worth  []float64
}

// Frontier are the spots that no other beats in all aims, by their numbers; of equal ones the first
// stays.
func Frontier(all []Spot) []Spot {
	order := slices.Clone(all)
	slices.SortFunc(order, func(a, b Spot) int {
		return cmp.Or(slices.Compare(b.Worth, a.Worth), cmp.Compare(a.Number, b.Number))
	})
	var out []Spot
	for _, s := range order { // whatever beats a spot comes before it
		if !slices.ContainsFunc(out, func(o Spot) bool { return o.reaches(&s) }) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Spot) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// reaches reports whether a spot is at least as good as another in all aims.
func (s *Spot) reaches(other *Spot) bool {
	for k := range s.Worth {
		if s.Worth[k] < other.Worth[k] {
			return false
		}
	}
	return true
}

// A zoom asks a quarter of its points anywhere, and the others in rounds around the frontier that
// was found until then: each is a spot of the frontier of which some axes are moved, at most as far
// as the width of the round. The constants were chosen on ZDT1 and ZDT3 with six axes.
const (
	anywhere   = 4    // the part of the points that lie anywhere
	mostRounds = 32   // after those
	leastRound = 8    // points of a round
	moved      = 0.2  // how often an axis is moved, besides one that always is
	widest     = 1    // of the first round
	narrowest  = 0.05 // of the last
)

// Rounds are the first points of the rounds of a zoom of n points, and n.
func Rounds(n int) []int {
	first := (n + anywhere - 1) / anywhere
	rounds := min(mostRounds, (n-first)/leastRound)
	out := []int{0}
	for r := range rounds {
		out = append(out, first+(n-first)*r/rounds)
	}
	return append(out, n)
}

// Zoom is a round of points around a frontier.
type Zoom struct {
	frontier []Spot
	reach    []float64 // sum of the room of the spots up to each
	width    float64
	key      uint64
}

// NewZoom prepares a round, from 1, of a number of rounds after the first.
func NewZoom(frontier []Spot, round, of int, seed uint64) *Zoom {
	z := &Zoom{frontier: frontier, key: hash(seed, uint64(round)), width: widest}
	if of > 1 {
		z.width = widest * math.Pow(narrowest/widest, float64(round-1)/float64(of-1))
	}
	sum := 0.0
	for _, room := range rooms(frontier) {
		sum += room
		z.reach = append(z.reach, sum)
	}
	return z
}

// rooms are how far the neighbours of each spot on the frontier are, summed over the aims as shares
// of the whole frontier, so that gaps are looked into more often (the crowding distance of NSGA-II,
// Deb et al., 2002, with ends that have one neighbour).
func rooms(frontier []Spot) []float64 {
	out, order := make([]float64, len(frontier)), make([]int, len(frontier))
	last := len(frontier) - 1
	for i := range order {
		order[i] = i
	}
	for k := range frontier[0].Worth {
		worth := func(i int) float64 { return frontier[order[i]].Worth[k] }
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(frontier[a].Worth[k], frontier[b].Worth[k]) })
		span := worth(last) - worth(0)
		for i, at := range order {
			if span > 0 {
				out[at] += (worth(min(i+1, last)) - worth(max(i-1, 0))) / span
			} else {
				out[at]++
			}
		}
	}
	return out
}

// At fills in where point i of the round lies on each axis.
func (z *Zoom) At(i int, out []float64) {
	draws := uint64(0)
	own := hash(z.key, uint64(i))
	draw := func() float64 {
		draws++
		return unit(hash(own, draws))
	}
	place := draw() * z.reach[len(z.reach)-1]
	at, _ := slices.BinarySearch(z.reach, place)
	copy(out, z.frontier[min(at, len(z.frontier)-1)].Shares)
	always := int(draw() * float64(len(out)))
	for k := range out {
		if far := z.width * (2*draw() - 1); k == always || draw() < moved {
			out[k] = min(max(out[k]+far, 0), 1)
		}
	}
}
