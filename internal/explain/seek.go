package explain

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/op"
	"throughline/workload"
)

// Goal is a value that a metric is to reach.
type Goal struct {
	metric *metric
	Value  float64 // in the unit of the metric
}

// metric is the subject of a goal.
type metric struct {
	name  string
	unit  string
	units map[string]float64 // accepted suffixes and their factors
	// times: seen by clients, or by the phase where no engine is assumed.
	times bool
	phase op.Phase
	// more: higher values are better.
	more bool
	of   func(c *subject, sys *hardware.System, f *figures) float64
}

var metrics = []metric{
	{name: "tpot", unit: "ms", units: workload.TimeUnits, times: true, phase: op.Decode,
		of: func(_ *subject, _ *hardware.System, f *figures) float64 { return f.tpot * 1e3 }},
	{name: "ttft", unit: "ms", units: workload.TimeUnits, times: true, phase: op.Prefill,
		of: func(_ *subject, _ *hardware.System, f *figures) float64 { return f.ttft * 1e3 }},
	{name: "step", unit: "ms", units: workload.TimeUnits,
		of: func(_ *subject, _ *hardware.System, f *figures) float64 { return f.step.StepTime * 1e3 }},
	{name: "throughput", unit: "tokens/s", units: map[string]float64{"": 1, "tokens/s": 1, "token/s": 1, "t/s": 1}, more: true,
		of: func(_ *subject, _ *hardware.System, f *figures) float64 { return f.tokens }},
	{name: "memory", unit: "GiB", units: map[string]float64{"": 1, "GiB": 1, "MiB": 1.0 / 1024}, more: true,
		of: func(_ *subject, _ *hardware.System, f *figures) float64 { return f.free / estimate.GiB }},
	{name: "batch", unit: "sequences", units: map[string]float64{"": 1}, more: true,
		of: func(c *subject, sys *hardware.System, _ *figures) float64 { return float64(c.largestFitting(sys)) }},
}

func Metrics() []string {
	var out []string
	for i := range metrics {
		out = append(out, metrics[i].name)
	}
	return out
}

// ParseGoal reads a goal like tpot=20ms.
func ParseGoal(text string) (*Goal, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return nil, fmt.Errorf("%q is not of the form metric=value, like tpot=20ms", text)
	}
	for i := range metrics {
		m := &metrics[i]
		if m.name != strings.TrimSpace(name) {
			continue
		}
		value = strings.TrimSpace(value)
		end := len(value)
		for end > 0 && !strings.ContainsRune("0123456789.", rune(value[end-1])) {
			end--
		}
		unit, known := m.units[strings.TrimSpace(value[end:])]
		v, err := strconv.ParseFloat(value[:end], 64)
		if err != nil || !known || v < 0 || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s must be a number of %s, not %q", m.name, m.unit, value)
		}
		return &Goal{m, v * unit}, nil
	}
	return nil, errors.New(document.NotOneOf(strings.TrimSpace(name), Metrics()))
}

func (g *Goal) Metric() string { return g.metric.name }

func (g *Goal) Phase() (op.Phase, bool) { return g.metric.phase, g.metric.times }

// Suits reports whether a phase of an answer has the metric: token times belong to clients or,
// without an engine, to a phase.
func (g *Goal) Suits(a *point.Answer, phase op.Phase) bool {
	if !g.metric.times || a.Seen != nil {
		return true
	}
	return !a.Deployment.Assume.Engine && phase == g.metric.phase
}

// otherNames maps aliases of the last part of a path.
var otherNames = map[string]string{
	"bandwidth": "GBps", "bw": "GBps", "capacity": "GiB", "size": "GiB", "GB": "GiB", "flops": "tflops", "rate": "tflops", "peak": "tflops",
}

func CheckPath(sys *hardware.System, path string) error {
	if _, ok := sys.Parameter(path); ok {
		return nil
	}
	at := strings.LastIndex(path, ".") + 1
	if meant := path[:at] + otherNames[path[at:]]; meant != path[:at] {
		if _, ok := sys.Parameter(meant); ok {
			return fmt.Errorf("%s has no %q; did you mean %q?", sys.Name, path, meant)
		}
	}
	return errors.New(document.NotOneOf(path, Paths(sys)))
}

// Paths lists the numbers of a system that can be sought.
func Paths(sys *hardware.System) []string {
	var out []string
	for _, p := range sys.Parameters() {
		out = append(out, p.Name)
	}
	return out
}

// Answer is the value of a number of the system that reaches a goal.
type Answer struct {
	Parameter string  `json:"parameter"`
	Unit      string  `json:"unit"`
	Now       float64 `json:"now"`
	Metric    string  `json:"metric"`
	Goal      float64 `json:"goal"`
	GoalUnit  string  `json:"goal_unit"`
	// NowMetric is the present value of the metric.
	NowMetric float64 `json:"metric_now"`
	// Value reaches the goal, and so does everything on its good side; nil if none or all values
	// between Low and High do.
	Value *float64 `json:"value"`
	// Always: every value in the range reaches the goal.
	Always bool    `json:"always"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Best is the best value of the metric in the range, at BestAt.
	Best   float64 `json:"best"`
	BestAt float64 `json:"best_at"`
	// Replanned: the metric is the best that any deployment reaches at a value.
	Replanned bool `json:"replanned,omitempty"`
}

// Times returns the ratio to the present value, or 0.
func (a *Answer) Times() float64 {
	if a.Value == nil || *a.Value <= 0 || a.Now <= 0 {
		return 0
	}
	return *a.Value / a.Now
}

// widening is the factor by which the search range extends both ways.
const widening = 1000

// precision is the relative difference at which a search ends; coarse is that of searches that plan
// at each value.
const (
	precision = 1e-12
	coarse    = 1e-3
)

// Seek bisects for the value of a number of the system that reaches a goal; results are monotonic
// in each number.
func Seek(of *point.Answer, phase int, path string, g *Goal) (*Answer, error) {
	c, err := newSubject(of, phase)
	if err != nil {
		return nil, err
	}
	sys := c.Problem.System
	return g.seek(sys, path, precision, func(p *hardware.Parameter, v float64) (float64, error) {
		changed := p.With(sys, v)
		e, err := c.onSystem(changed)
		if err != nil {
			return 0, err
		}
		return g.metric.of(c, changed, e), nil
	})
}

// SeekPlans is Seek where each value is planned anew: at is the best that any deployment reaches,
// infinitely bad where there is none.
func (g *Goal) SeekPlans(sys *hardware.System, path string, at func(v float64) (float64, error)) (*Answer, error) {
	a, err := g.seek(sys, path, coarse, func(_ *hardware.Parameter, v float64) (float64, error) { return at(v) })
	if err == nil {
		a.Replanned = true
	}
	return a, err
}

func (g *Goal) seek(sys *hardware.System, path string, precision float64, metricAt func(p *hardware.Parameter, v float64) (float64, error)) (*Answer, error) {
	if err := CheckPath(sys, path); err != nil {
		return nil, err
	}
	p, _ := sys.Parameter(path)
	m := g.metric
	at := func(v float64) (float64, error) { return metricAt(&p, v) }
	a := &Answer{Parameter: path, Unit: p.Unit, Now: p.Of(sys), Metric: m.name, Goal: g.Value, GoalUnit: m.unit}
	a.Low, a.High = searchRange(&p, a.Now)
	var err error
	if a.NowMetric, err = at(a.Now); err != nil {
		return nil, err
	}
	atLow, err := at(a.Low)
	if err != nil {
		return nil, err
	}
	atHigh, err := at(a.High)
	if err != nil {
		return nil, err
	}
	a.Best, a.BestAt = atHigh, a.High
	if m.more == (atLow > atHigh) && atLow != atHigh {
		a.Best, a.BestAt = atLow, a.Low
	}
	if atLow == atHigh {
		a.Best, a.BestAt = a.NowMetric, a.Now
	}
	if g.reached(atLow) == g.reached(atHigh) {
		a.Always = g.reached(atLow)
		return a, nil
	}
	good, bad := a.Low, a.High
	if g.reached(atHigh) {
		good, bad = a.High, a.Low
	}
	if good, err = g.bisect(good, bad, precision, p.Whole, at); err != nil {
		return nil, err
	}
	a.Value = &good
	return a, nil
}

func (g *Goal) reached(v float64) bool {
	if g.metric.more {
		return v >= g.Value
	}
	return v <= g.Value
}

func searchRange(p *hardware.Parameter, now float64) (low, high float64) {
	low, high = max(p.Low, now/widening), min(p.High, now*widening)
	if p.Low == 0 {
		low = 0
	}
	if now == 0 {
		high = p.High
	}
	if p.Whole {
		low, high = math.Ceil(low), math.Floor(high)
	}
	return low, high
}

// bisect bisects between a value that reaches the goal and one that does not, and returns the
// former.
func (g *Goal) bisect(good, bad, precision float64, integer bool, at func(float64) (float64, error)) (float64, error) {
	positive := min(good, bad) > 0
	for math.Abs(good-bad) > precision*max(good, bad) {
		mid := (good + bad) / 2
		if positive && max(good, bad) > 2*min(good, bad) {
			mid = math.Sqrt(good * bad)
		}
		if integer {
			if math.Abs(good-bad) <= 1 {
				break
			}
			mid = math.Round(mid)
		}
		if mid == good || mid == bad {
			break
		}
		v, err := at(mid)
		if err != nil {
			return 0, err
		}
		if g.reached(v) {
			good = mid
		} else {
			bad = mid
		}
	}
	return good, nil
}
