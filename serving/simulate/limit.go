package simulate

import "throughline/workload"

// Figure is the statistic of a distribution that a limit bounds.
func Figure(l *workload.Limit, d *Distribution) float64 {
	if l.Share == 0 {
		return d.Mean()
	}
	return d.Quantile(l.Share)
}

func holds(l *workload.Limit, d *Distribution) bool {
	return l.Seconds == 0 || d.Weight == 0 || Figure(l, d) <= l.Seconds
}
