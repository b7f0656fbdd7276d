package calibrate

import (
	"cmp"
	"slices"

	"throughline/internal/measurement"
)

// growing are the dimensions with which work grows and nothing else changes.
var growing = []string{"m", "n", "k", "b", "s", "h", "i", "tokens", "hidden", "inter", "topk"}

// slowest is how many times as long as a larger problem a smaller one may take, because engines do
// not always choose kernels well.
const slowest = 3

// inOrder drops rows that take over slowest times as long as two problems larger in one dimension;
// one alone could itself be wrong.
func inOrder(rows []measurement.Row) (kept []measurement.Row, conflicts []Conflict) {
	than := map[int]int{} // by row that is left out: one that is larger and faster
	for _, d := range growing {
		for _, at := range seriesOf(rows, d) {
			for i, a := range at {
				nearest, faster := fasterThan(rows, d, a, at[i+1:])
				if _, ok := than[a]; !ok && faster >= 2 {
					than[a] = nearest
				}
			}
		}
	}
	for i := range rows {
		r := &rows[i]
		if j, ok := than[i]; ok {
			conflicts = append(conflicts, Conflict{Shape: r.Shape(), Places: []string{r.Place()}, Times: []float64{r.Seconds},
				Larger: rows[j].Place(), Faster: rows[j].Seconds})
		} else {
			kept = append(kept, *r)
		}
	}
	return kept, conflicts
}

// seriesOf are the rows that differ in one dimension alone, from its smallest to its largest.
func seriesOf(rows []measurement.Row, dim string) map[string][]int {
	out := map[string][]int{}
	for i := range rows {
		if _, ok := rows[i].Dim(dim); ok {
			key := rows[i].ShapeBut(dim)
			out[key] = append(out[key], i)
		}
	}
	for _, at := range out {
		slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(rows[a].Get(dim), rows[b].Get(dim)) })
	}
	return out
}

// fasterThan counts the larger problems of a series that are faster than a row, and names the
// nearest.
func fasterThan(rows []measurement.Row, dim string, row int, larger []int) (nearest, count int) {
	for _, other := range slices.Backward(larger) {
		if rows[other].Get(dim) <= rows[row].Get(dim) {
			break
		}
		if slowest*rows[other].Seconds < rows[row].Seconds {
			nearest = other
			count++
		}
	}
	return nearest, count
}
