package picture

import (
	"errors"
	"fmt"
	"math"

	"throughline/internal/chart"
	"throughline/number"
	"throughline/serving/simulate"
	"throughline/workload"
)

type Load struct {
	Title  string // what is simulated
	Result *simulate.Result
}

var LoadKinds = []Kind[Load]{
	{"load", "running and waiting requests and the KV cache over time", load},
	{"watts", "what the GPUs draw over time", watts},
	{"latency", "the distributions of TTFT, TPOT, the time between tokens and the time of a request", latency},
}

func (l *Load) frame(kind, title string) *chart.Chart {
	r := l.Result
	traffic := fmt.Sprintf("%d requests", r.Requests)
	switch {
	case r.Traffic.Clients > 0:
		traffic += fmt.Sprintf(", %d clients", r.Traffic.Clients)
	case math.IsInf(r.Traffic.Rate, 1):
		traffic += ", all at once"
	default:
		traffic += fmt.Sprintf(", %s requests/s", number.Plain(r.Traffic.Rate, 4))
	}
	return &chart.Chart{Kind: kind, Title: title, Subtitle: l.Title + "; " + traffic}
}

// Sample is the mean load of an interval.
type Sample struct {
	Time             float64 // at its start
	Running, Waiting float64
	Cache            float64 // share of the blocks that are used
	Watts            float64 // of a GPU; 0: not known
}

// Samples returns the load over time, in at most `most` intervals.
func Samples(r *simulate.Result, most int) []Sample {
	t := r.Timeline
	if t == nil || len(t.Points) == 0 {
		return nil
	}
	blocks := 0
	for i := range r.Pools {
		blocks += r.Pools[i].Blocks * r.Pools[i].Ranks
	}
	join := (len(t.Points) + most - 1) / most
	var out []Sample
	for i := 0; i < len(t.Points); i += join {
		var s Sample
		n := min(join, len(t.Points)-i)
		for k := range n {
			running, waiting, used := t.Points[i+k].Means(t.Every)
			s.Running += running / float64(n)
			s.Waiting += waiting / float64(n)
			s.Cache += used / float64(n) / float64(max(1, blocks))
			if e := r.Energy; e != nil {
				s.Watts += e.Watts(&t.Points[i+k], t.Every) / float64(n) / e.Procs
			}
		}
		s.Time = float64(i) * t.Every
		out = append(out, s)
	}
	return out
}

func load(l Load) (*chart.Chart, error) {
	samples := Samples(l.Result, 400)
	if len(samples) == 0 {
		return nil, errors.New("no step was simulated")
	}
	c := l.frame("load", "Requests and KV cache over time")
	end := l.Result.Duration()
	axis := chart.Axis{Low: chart.At(0), High: &end}
	requests := chart.Panel{Weight: 2, Least: 30, Y: chart.Axis{Title: "requests", Zero: true}, X: axis}
	cache := chart.Panel{Weight: 1, Least: 30, Y: chart.Axis{Title: "KV cache used, %", Zero: true}, X: axis}
	requests.X.Bare = true
	cache.X.Title = "time in s"
	running := chart.Area{Paint: chart.C1, Steps: true, Tip: "running requests", Ref: "time"}
	waiting := chart.Area{Paint: chart.C7, Steps: true, Tip: "waiting requests", Ref: "time"}
	used := chart.Line{Paint: chart.C4, Steps: true}
	var peak Sample
	add := func(s Sample, time float64) {
		low, mid, high := chart.XY{X: time}, chart.XY{X: time, Y: s.Running}, chart.XY{X: time, Y: s.Running + s.Waiting}
		running.Lower, running.Upper = append(running.Lower, low), append(running.Upper, mid)
		waiting.Lower, waiting.Upper = append(waiting.Lower, mid), append(waiting.Upper, high)
		used.Points = append(used.Points, chart.XY{X: time, Y: 100 * s.Cache})
	}
	for _, s := range samples {
		add(s, s.Time)
		peak.Running, peak.Waiting, peak.Cache = max(peak.Running, s.Running), max(peak.Waiting, s.Waiting), max(peak.Cache, s.Cache)
	}
	add(samples[len(samples)-1], end)
	requests.Areas, cache.Lines = []chart.Area{running, waiting}, []chart.Line{used}
	if last := l.Result.LastArrival - l.Result.Start; len(l.Result.Pools) > 0 && last > 0 && last < end {
		requests.Rules = []chart.Rule{{X: chart.At(last), Paint: chart.Ink, Dash: true, Label: "last arrival"}}
	}
	c.Keys = []chart.Key{{Paint: chart.C1, Form: chart.Box, Text: "running"}, {Paint: chart.C7, Form: chart.Box, Text: "waiting, above those that run"}, {Paint: chart.C4, Form: chart.Stroke, Text: "KV cache"}}
	c.Panels = []chart.Panel{requests, cache}
	c.Description = fmt.Sprintf("Over %.3g s at most %.0f requests run and %.0f wait at a time, and %.0f%% of the KV cache are used.", end, peak.Running, peak.Waiting, 100*peak.Cache)
	return c, nil
}

// quantiles that the line of a distribution goes through, most of them in the tail.
func quantiles() (out []float64) {
	for q := 0.0; q < 0.985; q += 0.01 {
		out = append(out, q)
	}
	return append(out, 0.99, 0.9925, 0.995, 0.9975, 0.999, 0.9995)
}

func latency(l Load) (*chart.Chart, error) {
	c := l.frame("latency", "Latencies: the share of requests, or of tokens, that take no longer")
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: "time", Log: true, Text: millis}, Y: chart.Axis{Title: "% of all", Tail: true, Low: chart.At(0), High: chart.At(99.95)}}
	text := ""
	for i, d := range []struct {
		name string
		of   *simulate.Distribution
	}{{"TTFT", &l.Result.Record.TTFT}, {"TPOT", &l.Result.Record.TPOT}, {"between tokens", &l.Result.ITL}, {"whole request", &l.Result.E2E}} {
		if d.of.Weight == 0 {
			continue
		}
		line := chart.Line{Paint: chart.Series(i), Dash: i == 2}
		for _, q := range quantiles() {
			line.Points = append(line.Points, chart.XY{X: 1e3 * d.of.Quantile(q), Y: 100 * q})
		}
		p.Lines = append(p.Lines, line)
		marks := chart.Dots{Paint: line.Paint, Form: chart.FormOf(i), Size: 4}
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
			ms := 1e3 * d.of.Quantile(q)
			name := fmt.Sprintf("p%g %s", 100*q, number.Time(ms/1e3, 3))
			marks.Points = append(marks.Points, chart.Dot{XY: chart.XY{X: ms, Y: 100 * q}, Label: name, Tip: fmt.Sprintf("%s, p%g: %s", d.name, 100*q, number.Time(ms/1e3, 3))})
		}
		p.Dots = append(p.Dots, marks)
		c.Keys = append(c.Keys, chart.Key{Paint: line.Paint, Form: marks.Form, Text: d.name})
		text += fmt.Sprintf(" %s: median %s, 99th percentile %s.", d.name, number.Time(d.of.Quantile(0.5), 3), number.Time(d.of.Quantile(0.99), 3))
	}
	if len(p.Lines) == 0 {
		return nil, errors.New("no request has ended")
	}
	for _, limit := range []struct {
		name string
		of   workload.Limit
	}{{"TTFT", l.Result.TTFT}, {"TPOT", l.Result.TPOT}} {
		if limit.of.Seconds > 0 {
			says := fmt.Sprintf("%s %s ≤ %s", limit.of.Statistic(), limit.name, number.Time(limit.of.Seconds, 3))
			p.Rules = append(p.Rules, chart.Rule{X: chart.At(1e3 * limit.of.Seconds), Paint: chart.Red, Dash: true, Label: says})
		}
	}
	c.Panels = []chart.Panel{p}
	c.Description = "Cumulative distributions of latencies." + text
	return c, nil
}
