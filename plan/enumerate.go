package plan

// Splits lists every split over exactly procs processors with the given context parallelism, valid
// or not: narrow tensor parallelism and short pipelines first.
func Splits(procs, cp int) []Split {
	var out []Split
	if procs%cp != 0 {
		return nil
	}
	all := divisors(procs / cp)
	for _, tp := range all {
		for _, pp := range all {
			if rest := procs / cp / tp; rest%pp == 0 {
				out = append(out, Split{DP: rest / pp, PP: pp, TP: tp, CP: cp})
			}
		}
	}
	return out
}

// ExpertSplits lists every split of experts over exactly procs processors, valid or not.
func ExpertSplits(procs int) []ExpertSplit {
	var out []ExpertSplit
	for _, ep := range divisors(procs) {
		for _, tp := range divisors(procs / ep) {
			out = append(out, ExpertSplit{EP: ep, TP: tp, DP: procs / ep / tp})
		}
	}
	return out
}

// OneCopy lists the splits that hold each expert once, in at most a number of groups.
func OneCopy(procs, groups, columns int) []ExpertSplit {
	var out []ExpertSplit
	slices := divisors(columns)
	for i := len(slices) - 1; i >= 0; i-- {
		if tp := slices[i]; procs%tp == 0 && procs/tp <= groups {
			out = append(out, ExpertSplit{EP: procs / tp, TP: tp, DP: 1})
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
