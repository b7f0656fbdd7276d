package plan

import "throughline/model"

// Layouts lists every valid split of the model's attention and dense layers over exactly procs processors with the given
// context parallelism, narrow tensor parallelism and short pipelines first.
func Layouts(m *model.Model, procs, cp int) []Layout {
	var out []Layout
	if procs%cp != 0 {
		return nil
	}
	for _, tp := range divisors(procs / cp) {
		for _, pp := range divisors(procs / cp / tp) {
			if l := (Layout{DP: procs / cp / tp / pp, PP: pp, TP: tp, CP: cp}); ValidLayout(m, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// ExpertLayouts lists every split of experts over exactly procs processors whose slices are of equal width. Whether EP
// divides the experts depends on their redundancy: ValidExperts tells.
func ExpertLayouts(m *model.Model, procs int) []ExpertLayout {
	var out []ExpertLayout
	for _, ep := range divisors(procs) {
		for _, tp := range divisors(procs / ep) {
			if m.Experts.Width%tp == 0 {
				out = append(out, ExpertLayout{EP: ep, TP: tp, DP: procs / ep / tp})
			}
		}
	}
	return out
}

// divisors of n, ascending.
func divisors(n int) []int {
	var low, high []int
	for d := 1; d*d <= n; d++ {
		if n%d == 0 {
			low = append(low, d)
			if d*d != n {
				high = append(high, n/d)
			}
		}
	}
	for i := len(high) - 1; i >= 0; i-- {
		low = append(low, high[i])
	}
	return low
}
