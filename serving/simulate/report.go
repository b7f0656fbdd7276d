package simulate

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"throughline/workload"
)

// Result is a run with what it was asked.
type Result struct {
	*Record
	Backend     string
	Asked       Asked
	Rate        float64        // asked for
	Concurrency int            // asked for; 0: no bound
	TTFT, TPOT  workload.Limit // asked for
	Seed        uint64
}

// Asked is what sglang's result file says of the requests. Lengths that are 0 are not given: those of a file.
type Asked struct {
	Dataset       string
	Input, Output int     // the mean, or the most of uniform ones
	Ratio         float64 // of the least to the most
}

// Holds reports whether the limits hold, and the queue does not grow.
func (r *Result) Holds() bool {
	return holds(&r.TTFT, &r.Record.TTFT) && holds(&r.TPOT, &r.Record.TPOT) && !r.Saturated()
}

// growing is the share of the arrivals by which requests must pile up for that to be said: chance alone makes less.
const growing = 0.03

// Saturated reports whether arrivals exceed the capacity: more and more requests wait, by more than two standard deviations
// of the number of arrivals, which chance may heap up.
func (r *Result) Saturated() bool {
	present, waiting := r.Trend.Growth()
	rate := r.arrivals()
	return r.open() && waiting > growing*rate && present > growing*rate && waiting*r.LastArrival > 2*math.Sqrt(float64(r.Requests))
}

// Rising reports whether requests under way still become more when arrivals end, though none wait: the run is too short.
func (r *Result) Rising() bool {
	present, _ := r.Trend.Growth()
	return r.open() && !r.Saturated() && present > 2*growing*r.arrivals()
}

// open reports whether requests come by themselves.
func (r *Result) open() bool { return r.Concurrency == 0 && r.LastArrival > 0 }

// arrivals is the requests per second that came.
func (r *Result) arrivals() float64 { return float64(r.Requests) / r.LastArrival }

// Utilisation is the share of the time in which the servers of the busiest pool were busy.
func (r *Result) Utilisation() float64 {
	var most float64
	for i := range r.Pools {
		most = max(most, r.Busy(i))
	}
	return most
}

// Shares of the time from which something is called the bottleneck.
const (
	hardlyWait = 0.1 // requests that wait for less than this do so by chance, as arrivals come in heaps
	mostlyIdle = 0.5 // servers that are less busy bound nothing
)

// Bottleneck is what holds requests up: what most of them wait for to be scheduled; where they hardly wait, the steps
// themselves, which follow each other without a gap; nothing where servers are idle most of the time.
func (r *Result) Bottleneck() string {
	worst, where, share := Nothing, 0, hardlyWait
	for i := range r.Pools {
		for reason := Nothing + 1; reason < reasonCount; reason++ {
			if s := r.Pools[i].Waits[reason] / r.Pools[i].Steps; s > share {
				worst, where, share = reason, i, s
			}
		}
	}
	if worst != Nothing {
		return fmt.Sprintf("%s%s (requests wait for it %.0f%% of the time)", worst, r.servers(" of ", where), 100*share)
	}
	most := 0
	for i := range r.Pools {
		if r.Busy(i) > r.Busy(most) {
			most = i
		}
	}
	if r.Busy(most) < mostlyIdle {
		return fmt.Sprintf("none (servers are idle %.0f%% of the time, and requests hardly wait)", 100*(1-r.Busy(most)))
	}
	return fmt.Sprintf("the time of steps%s (servers are busy, and requests hardly wait)", r.servers(" of ", most))
}

// servers names the servers of a pool behind some words, where there are several pools.
func (r *Result) servers(words string, pool int) string {
	if len(r.Pools) == 1 {
		return ""
	}
	return fmt.Sprintf("%s%s servers", words, r.Pools[pool].Role)
}

// Block is the result as sglang.bench_serving prints it.
func (r *Result) Block() string {
	var b strings.Builder
	line := func(name, format string, v ...any) { fmt.Fprintf(&b, "%-40s %s\n", name, fmt.Sprintf(format, v...)) }
	rule := func(title string, fill string) {
		left := (50 - len(title)) / 2
		fmt.Fprintln(&b, strings.Repeat(fill, left)+title+strings.Repeat(fill, 50-left-len(title)))
	}
	ms := func(name string, v float64) { line(name, "%.2f", 1e3*v) }
	d := r.Duration()
	b.WriteByte('\n')
	rule(" Serving Benchmark Result ", "=")
	line("Backend:", "%s", r.Backend)
	line("Traffic request rate:", "%s", rateText(r.Rate))
	if r.Concurrency > 0 {
		line("Max request concurrency:", "%d", r.Concurrency)
	} else {
		line("Max request concurrency:", "not set")
	}
	line("Successful requests:", "%d", r.Requests)
	line("Benchmark duration (s):", "%.2f", d)
	line("Total input tokens:", "%d", r.Input)
	line("Total generated tokens:", "%d", r.Output)
	line("Total generated tokens (retokenized):", "%d", r.Output)
	line("Request throughput (req/s):", "%.2f", float64(r.Requests)/d)
	line("Input token throughput (tok/s):", "%.2f", float64(r.Input)/d)
	line("Output token throughput (tok/s):", "%.2f", float64(r.Output)/d)
	line("Total token throughput (tok/s):", "%.2f", float64(r.Input+r.Output)/d)
	line("Concurrency:", "%.2f", r.Residence/d)
	rule("End-to-End Latency", "-")
	ms("Mean E2E Latency (ms):", r.E2E.Mean())
	ms("Median E2E Latency (ms):", r.E2E.Quantile(0.5))
	rule("Time to First Token", "-")
	ms("Mean TTFT (ms):", r.Record.TTFT.Mean())
	ms("Median TTFT (ms):", r.Record.TTFT.Quantile(0.5))
	ms("P99 TTFT (ms):", r.Record.TTFT.Quantile(0.99))
	rule("Inter-Token Latency", "-")
	if r.ITL.Weight > 0 {
		ms("Mean ITL (ms):", r.ITL.Mean())
		ms("Median ITL (ms):", r.ITL.Quantile(0.5))
		ms("P95 ITL (ms):", r.ITL.Quantile(0.95))
		ms("P99 ITL (ms):", r.ITL.Quantile(0.99))
		ms("Max ITL (ms):", r.ITL.Max)
	} else {
		for _, name := range []string{"Mean", "Median", "P95", "P99", "Max"} {
			ms(name+" ITL (ms):", 0)
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

// plain is a rate with three digits at least, and no exponent.
func plain(rate float64) string {
	if rate >= 100 {
		return strconv.FormatFloat(rate, 'f', 0, 64)
	}
	return strconv.FormatFloat(rate, 'g', 3, 64)
}

// Notes are what is to be said besides: what bounds the run, how it was used, and how far its means can be trusted.
func (r *Result) Notes() []string {
	var out []string
	note := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	present, waiting := r.Trend.Growth()
	switch {
	case r.Saturated():
		note("arrivals exceed capacity: the queue grows by %s requests/s", plain(waiting))
	case r.Rising():
		note("not steady: requests under way still grow by %s per second when arrivals end; more requests would tell", plain(present))
	}
	note("bottleneck: %s", r.Bottleneck())
	for i := range r.Pools {
		p := &r.Pools[i]
		note("utilisation%s: busy %.1f%% of the time; KV cache %.1f%% full on average, %.1f%% at most", r.servers(" of ", i), 100*r.Busy(i), 100*p.Cache/max(p.Steps, 1e-300), 100*p.PeakCache)
	}
	if r.Preemptions > 0 {
		note("preemptions: %d", r.Preemptions)
	}
	if r.AskedTokens > 0 {
		note("prefix cache: %.1f%% of the prompt tokens that might share one were cached", 100*float64(r.HitTokens)/float64(r.AskedTokens))
	}
	if r.TTFT.Seconds > 0 || r.TPOT.Seconds > 0 {
		verdict := "the limits hold"
		if !r.Holds() {
			verdict = "the limits do not hold"
		}
		note("goodput: %.2f requests/s (%.1f%%) keep all limits; %s", float64(r.Good)/r.Duration(), 100*float64(r.Good)/float64(r.Requests), verdict)
	}
	skip := r.First.WarmUp()
	_, size := r.First.Batches()
	first, whole := r.First.Interval(skip), r.Whole.Interval(skip)
	switch {
	case r.Saturated():
		note("no steady state: means grow with the length of the run")
	case !math.IsNaN(first.Half) && !math.IsNaN(whole.Half):
		note("after a warm-up of %d requests: TTFT %.1f ± %.1f ms, E2E %.1f ± %.1f ms (95%%, means of %d batches of %d)",
			int64(skip)*size, 1e3*first.Mean, 1e3*first.Half, 1e3*whole.Mean, 1e3*whole.Half, first.Batches, first.Size)
	case first.Batches < fewestBatches:
		note("too few requests to tell how far the means may be off (at least %d are needed)", leastBatch*fewestBatches)
	default:
		note("the run is too short to tell how far the means may be off: neighbouring batches of %d requests are alike", first.Size)
	}
	return out
}

// Field is one of a result.
type Field struct {
	Name  string
	Value any
}

// Fields are the result with the names of sglang's result file, in its order, and some of our own after them. What a
// simulation does not know is null. Source: sgl-project/sglang, python/sglang/benchmark/serving.py.
func (r *Result) Fields() []Field {
	d := r.Duration()
	var out []Field
	add := func(name string, v any) {
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			v = nil
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
	add("dataset_name", r.Asked.Dataset)
	if math.IsInf(r.Rate, 1) {
		add("request_rate", "inf")
	} else {
		add("request_rate", r.Rate)
	}
	add("max_concurrency", orNull(r.Concurrency > 0, r.Concurrency))
	add("sharegpt_output_len", nil)
	add("random_input_len", orNull(r.Asked.Input > 0, r.Asked.Input))
	add("random_output_len", orNull(r.Asked.Input > 0, r.Asked.Output))
	add("random_range_ratio", orNull(r.Asked.Input > 0, r.Asked.Ratio))
	add("server_info", nil)
	add("duration", d)
	add("completed", r.Requests)
	add("total_input_tokens", r.Input)
	add("total_input_text_tokens", r.Input)
	add("total_input_vision_tokens", 0)
	add("total_output_tokens", r.Output)
	add("total_output_tokens_retokenized", r.Output)
	add("request_throughput", float64(r.Requests)/d)
	add("input_throughput", float64(r.Input)/d)
	add("output_throughput", float64(r.Output)/d)
	add("total_throughput", float64(r.Input+r.Output)/d)
	for _, f := range []struct {
		name string
		of   *Distribution
	}{{"e2e_latency", &r.E2E}, {"ttft", &r.Record.TTFT}, {"tpot", &r.Record.TPOT}, {"itl", &r.ITL}} {
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
	first, whole := r.First.Interval(skip), r.Whole.Interval(skip)
	_, waiting := r.Trend.Growth()
	if !r.Saturated() {
		waiting = 0
	}
	add("ttft_ci95_ms", 1e3*first.Half)
	add("e2e_latency_ci95_ms", 1e3*whole.Half)
	add("goodput", float64(r.Good)/d)
	add("limits_hold", r.Holds())
	add("saturated", r.Saturated())
	add("queue_growth", waiting)
	add("bottleneck", r.Bottleneck())
	add("utilisation", r.Utilisation())
	add("preemptions", r.Preemptions)
	add("steps", r.Steps)
	add("kv_blocks", r.Pools[len(r.Pools)-1].Blocks)
	add("peak_kv_blocks", r.PeakBlocks)
	add("prefix_hit_tokens", r.HitTokens)
	add("seed", r.Seed)
	return out
}

// JSON is the fields as an object, in their order.
func (r *Result) JSON() ([]byte, error) {
	var b strings.Builder
	b.WriteString("{\n")
	for i, f := range r.Fields() {
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "  %q: %s", f.Name, value)
	}
	b.WriteString("\n}\n")
	return []byte(b.String()), nil
}

// maximum is the largest value, or not a number.
func (d *Distribution) maximum() float64 {
	if d.Weight == 0 {
		return math.NaN()
	}
	return d.Max
}
