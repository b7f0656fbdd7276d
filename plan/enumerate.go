package plan

// Layouts lists every split over exactly procs processors with the given context parallelism, valid for a model or not:
// narrow tensor parallelism and short pipelines first.
func Layouts(procs, cp int) []Layout {
	var out []Layout
	if procs%cp != 0 {
		return nil
	}
	for _, tp := range divisors(procs / cp) {
		for _, pp := range divisors(procs / cp / tp) {
			out = append(out, Layout{DP: procs / cp / tp / pp, PP: pp, TP: tp, CP: cp})
		}
	}
	return out
}

// ExpertLayouts lists every split of experts over exactly procs processors, valid for a model or not.
func ExpertLayouts(procs int) []ExpertLayout {
	var out []ExpertLayout
	for _, ep := range divisors(procs) {
		for _, tp := range divisors(procs / ep) {
			out = append(out, ExpertLayout{EP: ep, TP: tp, DP: procs / ep / tp})
		}
	}
	return out
}

// OneCopy lists those splits of experts over exactly procs processors that hold each of them once.
func OneCopy(procs int) []ExpertLayout {
	var out []ExpertLayout
	for _, ep := range divisors(procs) {
		out = append(out, ExpertLayout{EP: ep, TP: procs / ep, DP: 1})
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
