package result

import (
	"fmt"
	"math"

	"throughline/estimate"
	"throughline/number"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Goals are the limits that were asked for.
type Goals struct{ TTFT, TPOT workload.Limit }

// Verdict is a limit beside what it bounds.
type Verdict struct {
	Figure string // TTFT or TPOT
	Limit  workload.Limit
	Value  float64 // seconds
	Band   float64 // of the prediction; 0: unknown
	Noise  float64 // relative standard error, by how much runs differ
}

func (v *Verdict) Holds() bool { return v.Value <= v.Limit.Seconds }

// Chance is the probability that the limit holds, given the band and the runs.
func (v *Verdict) Chance() float64 {
	return estimate.Chance(v.Value, v.Limit.Seconds, v.Band, v.Noise)
}

// Name is the figure with its statistic: p99 TTFT, or TPOT for the mean.
func (v *Verdict) Name() string {
	if v.Limit.Share == 0 {
		return v.Figure
	}
	return v.Limit.Statistic() + " " + v.Figure
}

func Mark(holds bool) string {
	if holds {
		return "✓"
	}
	return "✗"
}

// String is a line for people: ✓ p99 TTFT 1.9 s ±28%, at most 2 s.
func (v *Verdict) String() string {
	return fmt.Sprintf("%s %s %s, at most %s", Mark(v.Holds()), v.Name(), number.Banded(v.Value, v.Band), number.Time(v.Limit.Seconds, 4))
}

// Verdicts are the limits that were asked for, each beside what clients see.
func (r *Record) Verdicts() []Verdict {
	if !r.Complete {
		return nil
	}
	var out []Verdict
	add := func(name string, l workload.Limit, mean float64, of func(*simulate.Capacity) *simulate.Percentiles, c *estimate.Confidence) {
		if l.Seconds == 0 {
			return
		}
		v := Verdict{Figure: name, Limit: l, Value: mean}
		if r.Capacity != nil {
			p := of(r.Capacity)
			v.Value, v.Noise = p.Asked.Value, p.Asked.Noise
		}
		if c != nil {
			v.Band = c.Band
		}
		out = append(out, v)
	}
	var ttft, tpot *estimate.Confidence
	if r.Trusted != nil {
		ttft, tpot = &r.Trusted.TTFT, &r.Trusted.TPOT
	}
	add("TTFT", r.Goals.TTFT, r.TTFT, func(c *simulate.Capacity) *simulate.Percentiles { return &c.TTFT }, ttft)
	add("TPOT", r.Goals.TPOT, r.TPOT, func(c *simulate.Capacity) *simulate.Percentiles { return &c.TPOT }, tpot)
	return out
}

// Chance is the probability that all limits hold, as if they were independent; NaN without limits.
// Errors of TTFT and TPOT that go together would make it higher.
func (r *Record) Chance() float64 {
	list := r.Verdicts()
	if len(list) == 0 {
		return math.NaN()
	}
	all := 1.0
	for i := range list {
		all *= list[i].Chance()
	}
	return all
}

// latencyBand is that of a whole request: its ends are those of TTFT and TPOT together.
func (r *Record) latencyBand() float64 {
	if r.Trusted == nil || !r.Trusted.TTFT.HasBand() || !r.Trusted.TPOT.HasBand() {
		return 0
	}
	later := r.Latency - r.TTFT
	return (r.TTFT*r.Trusted.TTFT.Band + later*r.Trusted.TPOT.Band) / r.Latency
}

// ThroughputBand is the band of tokens per second, which follow from clients and the time of their
// requests by Little's law. 0: unknown, or the rate was given.
func (r *Record) ThroughputBand() float64 {
	if !r.Served || r.Capacity != nil {
		return 0
	}
	return r.latencyBand()
}
