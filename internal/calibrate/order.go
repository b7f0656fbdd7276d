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
		series := map[string][]int{}
		for i := range rows {
			if _, ok := rows[i].Dim(d); ok {
				key := rows[i].ShapeBut(d)
				series[key] = append(series[key], i)
			}
		}
		for _, at := range series {
			slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(rows[a].Get(d), rows[b].Get(d)) })
			for i, a := range at {
				nearest, faster := 0, 0
				for j := len(at) - 1; j > i && rows[at[j]].Get(d) > rows[a].Get(d); j-- {
					if slowest*rows[at[j]].Seconds < rows[a].Seconds {
						nearest = at[j]
						faster++
					}
				}
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
