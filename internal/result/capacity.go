package result

import (
	"slices"

	"throughline/serving/simulate"
)

// capacityFields describe a simulation at a given rate.
var capacityFields = slices.Concat(
	percentileFields("ttft_", "time to the first token", func(c *simulate.Capacity) *simulate.Percentiles { return &c.TTFT }),
	percentileFields("tpot_", "time per output token", func(c *simulate.Capacity) *simulate.Percentiles { return &c.TPOT }),
	[]Field{
		simulated("utilisation", None, "share of the time in which the servers of the busiest pool were busy", func(c *simulate.Capacity) any { return c.Utilisation }),
		simulated("headroom", None, "by how much of itself the rate may grow until a limit is missed, to 2%; 15 or more: the search ended", func(c *simulate.Capacity) any { return c.Headroom }),
		simulated("breaks_first", None, "what fails first at more load: ttft or tpot, a limit; queue, requests pile up; memory, they wait for room in the KV cache", func(c *simulate.Capacity) any {
			if c.First == "" {
				return nil
			}
			return string(c.First)
		}),
		simulated("holds", None, "the limits hold at the rate: by the scatter of the runs, another would keep them 39 times in 40", func(c *simulate.Capacity) any { return c.Holds }),
		simulated("simulated_requests", None, "requests of a run, those of warm-up and end included", func(c *simulate.Capacity) any { return c.Requests }),
		simulated("simulated_runs", None, "runs, each with its own random numbers", func(c *simulate.Capacity) any { return c.Runs }),
	})

func percentileFields(prefix, what string, of func(*simulate.Capacity) *simulate.Percentiles) []Field {
	one := func(name, doc string, value func(*simulate.Percentiles) float64) Field {
		return simulated(prefix+name, Millis, doc, func(c *simulate.Capacity) any { return 1e3 * value(of(c)) })
	}
	return []Field{
		one("mean_ms", "mean of the "+what+", simulated", func(p *simulate.Percentiles) float64 { return p.Mean }),
		one("p50_ms", "its median", func(p *simulate.Percentiles) float64 { return p.P50 }),
		one("p95_ms", "its 95th percentile", func(p *simulate.Percentiles) float64 { return p.P95 }),
		one("p99_ms", "its 99th percentile", func(p *simulate.Percentiles) float64 { return p.P99 }),
		one("p99_low_ms", "where the 95% interval of the 99th percentile begins, by how much runs differ", func(p *simulate.Percentiles) float64 { return p.P99Low }),
		one("p99_high_ms", "where it ends", func(p *simulate.Percentiles) float64 { return p.P99High }),
	}
}

func simulated(name string, u Unit, doc string, value func(*simulate.Capacity) any) Field {
	return Field{name, u, Answers, doc, func(r *Record) any {
		if r.Capacity == nil {
			return nil
		}
		return value(r.Capacity)
	}}
}
