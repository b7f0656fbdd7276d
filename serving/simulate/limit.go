package simulate

import "throughline/workload"

// Figure is that of a distribution which a limit is about.
func Figure(l *workload.Limit, d *Distribution) float64 {
	if l.Share == 0 {
		return d.Mean()
	}
	return d.Quantile(l.Share)
}

func holds(l *workload.Limit, d *Distribution) bool {
	return l.Seconds == 0 || d.Weight == 0 || Figure(l, d) <= l.Seconds
}
