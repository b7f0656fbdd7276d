package bench

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// sglangPrinted is what sglang.bench_serving 0.4 prints: figures of our own.
const sglangPrinted = `benchmark_args=Namespace(backend='sglang-oai', max_concurrency=32)
#Input tokens: 256000
============ Serving Benchmark Result ============
Backend:                                 sglang-oai
Traffic request rate:                    inf
Max request concurrency:                 32
Successful requests:                     256
Benchmark duration (s):                  128.00
Total input tokens:                      256000
Total generated tokens:                  128000
Total generated tokens (retokenized):    254763
Request throughput (req/s):              2.00
Output token throughput (tok/s):         1000.00
Concurrency:                             31.98
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   31889.68
---------------Time to First Token----------------
Mean TTFT (ms):                          1203.21
P99 TTFT (ms):                           3433.49
---------------Inter-Token Latency----------------
Mean ITL (ms):                           30.87
Max ITL (ms):                            2973.21
==================================================
`

// vllmPrinted is what vllm bench serve prints.
const vllmPrinted = `Traffic request rate: inf
Maximum request concurrency: 16
============ Serving Benchmark Result ============
Successful requests:                     64
Failed requests:                         0
Benchmark duration (s):                  10.00
Total input tokens:                      64000
Total generated tokens:                  6400
Request throughput (req/s):              6.40
Output token throughput (tok/s):         640.00
Total Token throughput (tok/s):          7040.00
Mean TTFT (ms):                          100.50
Mean TPOT (ms):                          20.25
Mean ITL (ms):                           20.31
Mean E2EL (ms):                          2105.25
`

const trtllmPrinted = `= PERFORMANCE OVERVIEW
Request Throughput (req/sec):                     43.2089
Total Output Throughput (tokens/sec):             5530.7382
Average time-to-first-token [TTFT] (ms):          52667.0339
Average time-per-output-token [TPOT] (ms):        182.9639
[TPOT] AVERAGE: 182.9639
`

func TestReadPrinted(t *testing.T) {
	for _, c := range []struct {
		text string
		want Figures
	}{
		{sglangPrinted, Figures{"completed": 256, "max_concurrency": 32, "output_throughput": 1000, "mean_ttft_ms": 1203.21, "p99_ttft_ms": 3433.49, "mean_itl_ms": 30.87, "max_itl_ms": 2973.21, "mean_e2e_latency_ms": 31889.68, "concurrency": 31.98}},
		{vllmPrinted, Figures{"completed": 64, "max_concurrency": 16, "output_throughput": 640, "mean_tpot_ms": 20.25, "mean_e2e_latency_ms": 2105.25, "failed": 0, "total_throughput": 7040}},
		{trtllmPrinted, Figures{"output_throughput": 5530.7382, "mean_ttft_ms": 52667.0339, "mean_tpot_ms": 182.9639, "request_throughput": 43.2089}},
		{vllmPrinted + sglangPrinted, Figures{"output_throughput": 1000}},
	} {
		got := ReadPrinted(c.text)
		for key, want := range c.want {
			if v, ok := got[key]; !ok || v != want {
				t.Errorf("%s is %v, want %v", key, v, want)
			}
		}
	}
	f := ReadPrinted(sglangPrinted)
	if input, output, ok := f.Lengths(); !ok || input != 1000 || output != 500 {
		t.Errorf("lengths %v, %v", input, output)
	}
	if v, ok := f.TPOT(); !ok || v != 30.87 {
		t.Errorf("TPOT %v", v)
	}
	f = ReadPrinted(vllmPrinted)
	if v, ok := f.TPOT(); !ok || v != 20.25 {
		t.Errorf("TPOT %v", v)
	}
	if v, ok := f.Achieved(); !ok || math.Abs(v-6.4*2.10525) > 1e-9 {
		t.Errorf("under way %v", v)
	}
	if got := ReadPrinted("loading: 5\nConcurrency: 3\n"); got != nil {
		t.Errorf("%v", got)
	}
}

func TestReadResult(t *testing.T) {
	for _, src := range []string{
		`{"output_throughput": 5, "mean_e2el_ms": 7, "request_rate": "inf", "max_concurrency": null}`,
		"{\"output_throughput\": 4}\n{\"output_throughput\": 5, \"mean_e2e_latency_ms\": 7}\n",
	} {
		got, err := ReadResult([]byte(src))
		if err != nil || got["output_throughput"] != 5 || got["mean_e2e_latency_ms"] != 7 {
			t.Errorf("%v, %v", got, err)
		}
		if _, ok := got["max_concurrency"]; ok {
			t.Error("null is a number")
		}
	}
	for _, src := range []string{"", "x", "{}", "[1]"} {
		if got, err := ReadResult([]byte(src)); err == nil {
			t.Errorf("%q: %v", src, got)
		}
	}
}

// TestReadPublished: the four runs of a real harness.
func TestReadPublished(t *testing.T) {
	names, _ := filepath.Glob("../../../shared/seeds/002*")
	if len(names) == 0 {
		t.Skip("the published run is not there: ../shared/seeds/002*")
	}
	src, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	got := ReadPrinted(string(src)) // of four the last
	for key, want := range (Figures{"output_throughput": 583.99, "mean_ttft_ms": 1119.91, "mean_itl_ms": 26.41, "max_concurrency": 16, "concurrency": 15.99, "completed": 128}) {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}
