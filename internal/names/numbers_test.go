package names

import "testing"

// TestNumber: the only number of a cell, with thousands, a spread or k; several are none.
func TestNumber(t *testing.T) {
	for text, want := range map[string]string{
		"1,024": "1024", "1,234,567": "1234567", "~1000": "1000", "1024 tokens": "1024", "ShareGPT mean 215": "215", "300 ± 20": "300", "300+/-20": "300",
		"1k": "1024", "8K": "8192", "10k": "10000", "1.5k": "1500", "64 users": "64", "512-2048": "512-2048", "300,5": "300,5", "-1": "-1", "": "", "ShareGPT": "ShareGPT",
	} {
		if got := Number(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string][2]string{"1024/512": {"1024", "512"}, "8k1k": {"8192", "1024"}, "1K / 1K": {"1024", "1024"}, "2000 + 100 tokens": {"2000", "100"}} {
		if a, b, ok := Pair(text); !ok || a != want[0] || b != want[1] {
			t.Errorf("%q is %q and %q, want %v", text, a, b, want)
		}
	}
	if _, _, ok := Pair("1024"); ok {
		t.Error("1024 is two lengths")
	}
	for text, want := range map[string]string{"10 req/s": "10", "2.5 QPS": "2.5", "unlimited": "inf", "Inf": "inf", "": ""} {
		if got := Rate(text); got != want {
			t.Errorf("%q is %q requests per second, want %q", text, got, want)
		}
	}
}

// TestTime: cells with units of their own, in columns of another; bounds are no measurements.
func TestTime(t *testing.T) {
	ms, s := Figure{Quantity: "ttft", Unit: "ms"}, Figure{Quantity: "ttft", Unit: "s"}
	for _, c := range []struct {
		text   string
		column Figure
		number string
		factor float64
	}{
		{"300 ms", ms, "300", 1}, {"0.3s", ms, "0.3", 1000}, {"1,234.5", ms, "1234.5", 1}, {"250ms", s, "250", 1e-3}, {"300", ms, "300", 1}, {"<100", ms, "<100", 1},
		{"12 s", Figure{Quantity: "requests"}, "12", 1},
	} {
		if number, factor := Time(c.text, c.column); number != c.number || factor != c.factor {
			t.Errorf("%q in %s is %q times %g, want %q times %g", c.text, c.column.Unit, number, factor, c.number, c.factor)
		}
	}
	if !Empty("N/A") || !Empty(" - ") || Empty("0") {
		t.Error("empty cells are not told from others")
	}
}

// TestHeaders: columns as load generators and people name them; percentiles and rates are others.
func TestHeaders(t *testing.T) {
	for header, want := range map[string]string{
		"Average Input Length (tokens)": "isl", "Input Sequence Length (tokens) avg": "isl", "Output Tokens": "osl", "mean_output_tokens": "osl", "ISL/OSL": "isl_osl",
		"# concurrent users": "concurrency", "Conc.": "concurrency", "num_concurrent_requests": "concurrency", "Number of GPUs": "gpus", "GPU (type)": "system", "Parallelism": "layout",
		"P99 input length": "p99_input_length", "Output Tokens (per s)": "output_tokens_(per_s)", "Input Sequence Length (tokens) p99": "input_sequence_length_(tokens)_p99", "TP Size": "tp",
	} {
		if got := Column(header); got != want {
			t.Errorf("%q is %q, want %q", header, got, want)
		}
	}
	for header, want := range map[string]Figure{
		"Average time-to-first-token [TTFT] (ms)": {Quantity: "ttft", Statistic: "mean", Unit: "ms"}, "Request Throughput (req/sec)": {Quantity: "requests", Statistic: "mean"},
		"Total Output Throughput (tokens/sec)": {Quantity: "output_throughput", Statistic: "mean"}, "results_ttft_s_quantiles_p99": {Quantity: "ttft", Statistic: "p99", Unit: "s"},
	} {
		if got, ok := FigureOf(header); !ok || got != want {
			t.Errorf("%q is %+v, %v, want %+v", header, got, ok, want)
		}
	}
}
