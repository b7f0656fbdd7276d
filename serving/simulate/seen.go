package simulate

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"throughline/workload"
)

// Seen is what clients saw of a run and its terms, formatted alike for simulations and benchmarks.
type Seen struct {
	*Summary
	workload.Terms
	NotRetokenized bool // answers were not tokenized again
}

// Holds reports whether the limits hold and the queue does not grow.
func (r *Seen) Holds() bool {
	return holds(&r.Terms.TTFT, &r.Summary.TTFT) && holds(&r.Terms.TPOT, &r.Summary.TPOT) && !r.Saturated()
}

// Limited reports whether limits were asked for.
func (r *Seen) Limited() bool { return r.Terms.TTFT.Seconds > 0 || r.Terms.TPOT.Seconds > 0 }

// growing is the least growth, as a share of the arrivals, that chance does not explain.
const growing = 0.03

// Saturated reports whether the queue grows by more than two standard deviations of the arrivals.
func (r *Seen) Saturated() bool {
	present, waiting := r.Trend.Growth()
	rate := r.arrivals()
	return r.open() && waiting > growing*rate && present > growing*rate && waiting*r.LastArrival > 2*math.Sqrt(float64(r.Requests))
}

// Rising reports a load that still rises without a queue at the last arrival: the run is too short.
func (r *Seen) Rising() bool {
	present, _ := r.Trend.Growth()
	return r.open() && !r.Saturated() && present > 2*growing*r.arrivals()
}

// open reports whether arrivals are independent of completions.
func (r *Seen) open() bool { return r.Traffic.Clients == 0 && r.LastArrival > 0 }

// arrivals is the arrival rate in requests per second.
func (r *Seen) arrivals() float64 { return float64(r.Requests) / r.LastArrival }

// Block formats the result as sglang.bench_serving (python/sglang/benchmark/serving.py at cce0a12).
func (r *Seen) Block() string {
	var b strings.Builder
	line := func(name, format string, v ...any) { fmt.Fprintf(&b, "%-40s %s\n", name, fmt.Sprintf(format, v...)) }
	rule := func(title string, fill string) {
		left := (50 - len(title)) / 2
		fmt.Fprintln(&b, strings.Repeat(fill, left)+title+strings.Repeat(fill, 50-left-len(title)))
	}
	d := r.Duration()
	b.WriteByte('\n')
	rule(" Serving Benchmark Result ", "=")
	line("Backend:", "%s", r.Backend)
	line("Traffic request rate:", "%s", rateText(r.Traffic.Rate))
	if r.Traffic.Clients > 0 {
		line("Max request concurrency:", "%d", r.Traffic.Clients)
	} else {
		line("Max request concurrency:", "not set")
	}
	line("Successful requests:", "%d", r.Requests)
	line("Benchmark duration (s):", "%.2f", d)
	line("Total input tokens:", "%d", r.Input)
	line("Total generated tokens:", "%d", r.Output)
	if r.NotRetokenized {
		line("Total generated tokens (retokenized):", "not counted")
	} else {
		line("Total generated tokens (retokenized):", "%d", r.Output)
	}
	line("Request throughput (req/s):", "%.2f", float64(r.Requests)/d)
	line("Input token throughput (tok/s):", "%.2f", float64(r.Input)/d)
	line("Output token throughput (tok/s):", "%.2f", float64(r.Output)/d)
	line("Total token throughput (tok/s):", "%.2f", float64(r.Input+r.Output)/d)
	line("Concurrency:", "%.2f", r.Residence/d)
	for _, part := range []struct {
		title, name string
		of          *Distribution
	}{
		{"End-to-End Latency", "E2E Latency", &r.E2E}, {"Time to First Token", "TTFT", &r.Summary.TTFT},
		{"Time per Output Token (excl. 1st token)", "TPOT", &r.Summary.TPOT}, {"Inter-Token Latency", "ITL", &r.ITL},
	} {
		rule(part.title, "-")
		ms := func(which string, seconds float64) {
			if part.of.Weight == 0 { // no answer has two tokens
				seconds = 0
			}
			line(which+" "+part.name+" (ms):", "%.2f", 1e3*seconds)
		}
		ms("Mean", part.of.Mean())
		ms("Median", part.of.Quantile(0.5))
		for _, p := range []int{90, 95, 99} {
			ms(fmt.Sprintf("P%d", p), part.of.Quantile(float64(p)/100))
		}
		if part.of == &r.ITL {
			ms("Max", r.ITL.Max)
		}
	}
	rule("", "=")
	return b.String()
}

func rateText(rate float64) string {
	if math.IsInf(rate, 1) {
		return "inf"
	}
	return strconv.FormatFloat(rate, 'g', 6, 64)
}

// plain formats a rate with at least three digits and no exponent.
func plain(rate float64) string {
	if rate >= 100 {
		return strconv.FormatFloat(rate, 'f', 0, 64)
	}
	return strconv.FormatFloat(rate, 'g', 3, 64)
}

// Growth warns of a growing queue.
func (r *Seen) Growth() []string {
	present, waiting := r.Trend.Growth()
	switch {
	case r.Saturated():
		return []string{fmt.Sprintf("arrivals exceed capacity: the queue grows by %s requests/s", plain(waiting))}
	case r.Rising():
		return []string{fmt.Sprintf("not steady: requests under way still grow by %s per second when arrivals end; more requests would tell", plain(present))}
	}
	return nil
}

// Goodput says how many requests keep the limits, if any are set.
func (r *Seen) Goodput() []string {
	if r.Limits == (Limits{}) {
		return nil
	}
	verdict := "the limits hold"
	switch {
	case !r.Limited():
		verdict = "" // they apply to single requests
	case !r.Holds():
		verdict = "the limits do not hold"
	}
	return []string{strings.TrimSuffix(fmt.Sprintf("goodput: %.2f requests/s (%.1f%%) keep all limits; %s", float64(r.Good)/r.Duration(), 100*float64(r.Good)/float64(r.Requests), verdict), "; ")}
}

// Trust says how far the means may be off.
func (r *Seen) Trust() []string {
	skip := r.First.WarmUp()
	_, size := r.First.Batches()
	first, latency := r.First.Interval(skip), r.Latency.Interval(skip)
	switch {
	case r.Saturated():
		return []string{"no steady state: means grow with the length of the run"}
	case !math.IsNaN(first.Half) && !math.IsNaN(latency.Half):
		return []string{fmt.Sprintf("after a warm-up of %d requests: TTFT %.1f ± %.1f ms, E2E %.1f ± %.1f ms (95%%, means of %d batches of %d)",
			int64(skip)*size, 1e3*first.Mean, 1e3*first.Half, 1e3*latency.Mean, 1e3*latency.Half, first.Batches, first.Size)}
	case first.Batches < fewestBatches:
		after := ""
		if skip > 0 {
			after = fmt.Sprintf(" after the warm-up, which is %d", int64(skip)*size)
		}
		return []string{fmt.Sprintf("too few requests to tell how far the means may be off (at least %d are needed%s)", leastBatch*fewestBatches, after)}
	}
	return []string{fmt.Sprintf("the run is too short to tell how far the means may be off: neighbouring batches of %d requests are alike", first.Size)}
}

// Field of a result.
type Field struct {
	Name  string
	Value any
}

// Fields of a result, in order.
type Fields []Field

// Set replaces the value of an existing field.
func (f Fields) Set(name string, value any) {
	for i := range f {
		if f[i].Name == name {
			f[i].Value = value
			return
		}
	}
	panic("no field " + name)
}

// orNil returns nil for NaN.
func orNil(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}

// Fields are those of sglang's result file, in its order, then our own; unknown values are null.
// Source: sgl-project/sglang, python/sglang/benchmark/serving.py.
func (r *Seen) Fields() Fields {
	d := r.Duration()
	var out Fields
	add := func(name string, v any) {
		if f, ok := v.(float64); ok {
			v = orNil(f)
		}
		out = append(out, Field{name, v})
	}
	orNull := func(known bool, v any) any {
		if known {
			return v
		}
		return nil
	}
	add("tag", nil)
	add("backend", r.Backend)
	add("dataset_name", r.Traffic.Dataset)
	if math.IsInf(r.Traffic.Rate, 1) {
		add("request_rate", "inf")
	} else {
		add("request_rate", r.Traffic.Rate)
	}
	add("max_concurrency", orNull(r.Traffic.Clients > 0, r.Traffic.Clients))
	add("sharegpt_output_len", nil)
	add("random_input_len", orNull(r.Traffic.Drawn(), r.Traffic.Input.Mean))
	add("random_output_len", orNull(r.Traffic.Drawn(), r.Traffic.Output.Mean))
	add("random_range_ratio", orNull(r.Traffic.Drawn(), r.Traffic.Input.Ratio()))
	add("server_info", nil)
	add("duration", d)
	add("completed", r.Requests)
	add("total_input_tokens", r.Input)
	add("total_input_text_tokens", r.Input)
	add("total_input_vision_tokens", 0)
	add("total_output_tokens", r.Output)
	add("total_output_tokens_retokenized", orNull(!r.NotRetokenized, r.Output))
	add("request_throughput", float64(r.Requests)/d)
	add("input_throughput", float64(r.Input)/d)
	add("output_throughput", float64(r.Output)/d)
	add("total_throughput", float64(r.Input+r.Output)/d)
	for _, f := range []struct {
		name string
		of   *Distribution
	}{{"e2e_latency", &r.E2E}, {"ttft", &r.Summary.TTFT}, {"tpot", &r.Summary.TPOT}, {"itl", &r.ITL}} {
		add("mean_"+f.name+"_ms", 1e3*f.of.Mean())
		add("median_"+f.name+"_ms", 1e3*f.of.Quantile(0.5))
		add("std_"+f.name+"_ms", 1e3*f.of.Deviation())
		for _, p := range []int{90, 95, 99} {
			add(fmt.Sprintf("p%d_%s_ms", p, f.name), 1e3*f.of.Quantile(float64(p)/100))
		}
		add("max_"+f.name+"_ms", 1e3*f.of.maximum())
	}
	add("concurrency", r.Residence/d)
	add("accept_length", nil)
	add("max_output_tokens_per_s", nil)
	add("max_concurrent_requests", nil)
	skip := r.First.WarmUp()
	first, latency := r.First.Interval(skip), r.Latency.Interval(skip)
	_, waiting := r.Trend.Growth()
	if !r.Saturated() {
		waiting = 0
	}
	add("ttft_ci95_ms", 1e3*first.Half)
	add("e2e_latency_ci95_ms", 1e3*latency.Half)
	add("goodput", float64(r.Good)/d)
	add("limits_hold", r.Holds())
	add("saturated", r.Saturated())
	add("queue_growth", waiting)
	return out
}

// JSON is the fields as an object, one per line.
func (f Fields) JSON() ([]byte, error) { return f.object("{\n  ", ",\n  ", "\n}\n") }

// Line is the fields as an object on one line.
func (f Fields) Line() ([]byte, error) { return f.object("{", ", ", "}\n") }

func (f Fields) object(open, between, end string) ([]byte, error) {
	var b strings.Builder
	for _, one := range f {
		value, err := json.Marshal(one.Value)
		if err != nil {
			return nil, err
		}
		b.WriteString(open)
		open = between
		fmt.Fprintf(&b, "%q: %s", one.Name, value)
	}
	b.WriteString(end)
	return []byte(b.String()), nil
}

// maximum value, or NaN.
func (d *Distribution) maximum() float64 {
	if d.Weight == 0 {
		return math.NaN()
	}
	return d.Max
}
