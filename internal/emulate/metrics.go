package emulate

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/serving/simulate"
)

// metrics is what was counted. All times are those of the simulation.
type metrics struct {
	engines []engineMetrics // by server
	aborted int64           // requests whose clients have gone
	failed  int64           // whose replica has
	refused int64           // that were answered with an error
}

// engineMetrics is what was counted of a server.
type engineMetrics struct {
	role        deploy.Role
	blockTokens int

	prompt, generated, preempted int64
	stopped, full                int64 // requests that ended by themselves, and at the most that they asked for
	histograms                   [len(histogramRows)]histogram
}

// The places of histograms in their table.
const (
	ofTTFT = iota
	ofITL
	ofTPOT
	ofE2E
	ofQueue
	ofDecode
	ofPrompt
	ofGeneration
	ofIteration
)

// Buckets of vLLM (vllm/v1/metrics/loggers.py at a014e35) and SGLang (python/sglang/srt/observability/metrics_collector.py at
// cce0a12).
var (
	vllmTTFT     = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	vllmITL      = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	vllmRequest  = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	vllmStep     = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	sglangTTFT   = []float64{0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
	sglangITL    = []float64{0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8}
	sglangWhole  = []float64{0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400}
	sglangQueued = []float64{0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000}
)

// histogramRows is the table of histograms: the names that engines have for them, and their buckets; nil: 1, 2, 5, 10 and so on
// up to the longest request.
var histogramRows = [...]struct {
	doc           string
	vllm          string
	vllmBuckets   []float64
	sglang        string
	sglangBuckets []float64
}{
	ofTTFT:       {"Time to first token in seconds.", "time_to_first_token_seconds", vllmTTFT, "time_to_first_token_seconds", sglangTTFT},
	ofITL:        {"Inter-token latency in seconds.", "inter_token_latency_seconds", vllmITL, "inter_token_latency_seconds", sglangITL},
	ofTPOT:       {"Time per output token of requests in seconds.", "request_time_per_output_token_seconds", vllmITL, "", nil},
	ofE2E:        {"End-to-end latency of requests in seconds.", "e2e_request_latency_seconds", vllmRequest, "e2e_request_latency_seconds", sglangWhole},
	ofQueue:      {"Time that requests waited in seconds.", "request_queue_time_seconds", vllmRequest, "queue_time_seconds", sglangQueued},
	ofDecode:     {"Time from the first to the last token in seconds.", "request_decode_time_seconds", vllmRequest, "", nil},
	ofPrompt:     {"Prompt tokens of requests.", "request_prompt_tokens", nil, "", nil},
	ofGeneration: {"Generated tokens of requests.", "request_generation_tokens", nil, "", nil},
	ofIteration:  {"Tokens of a step.", "iteration_tokens_total", vllmStep, "", nil},
}

// histogram is observations in the buckets of both engines.
type histogram struct {
	vllm, sglang buckets
	sum          float64
	count        int64
}

type buckets struct {
	bounds []float64
	counts []int64
}

func (b *buckets) add(v float64, n int64) {
	if i, _ := slices.BinarySearch(b.bounds, v); i < len(b.bounds) {
		b.counts[i] += n
	}
}

func (h *histogram) add(v float64, n int) {
	h.vllm.add(v, int64(n))
	h.sglang.add(v, int64(n))
	h.sum += v * float64(n)
	h.count += int64(n)
}

// oneTwoFive are the buckets 1, 2, 5, 10 and so on (vllm/v1/metrics/loggers.py, build_1_2_5_buckets).
func oneTwoFive(most int) (out []float64) {
	for ten := 1; ; ten *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*ten > most {
				return out
			}
			out = append(out, float64(m*ten))
		}
	}
}

func newMetrics(o *simulate.Options, longest int) metrics {
	const otherwise = 1 << 20 // tokens, where the model takes any number
	if longest == 0 {
		longest = otherwise
	}
	var m metrics
	for i := range o.Pools {
		p := &o.Pools[i]
		for range p.Servers {
			one := engineMetrics{role: p.Role, blockTokens: p.Policy.BlockTokens}
			for k := range histogramRows {
				row, h := &histogramRows[k], &one.histograms[k]
				if h.vllm.bounds = row.vllmBuckets; h.vllm.bounds == nil {
					h.vllm.bounds = oneTwoFive(longest)
				}
				h.sglang.bounds = row.sglangBuckets
				h.vllm.counts, h.sglang.counts = make([]int64, len(h.vllm.bounds)), make([]int64, len(h.sglang.bounds))
			}
			m.engines = append(m.engines, one)
		}
	}
	return m
}

// step notes a step.
func (m *metrics) step(s *simulate.Step) {
	e := &m.engines[s.Server]
	e.preempted += int64(s.Preempted)
	e.histograms[ofIteration].add(float64(s.Work.Tokens()+s.Work.Decodes), 1)
}

// token notes tokens of a stream.
func (m *metrics) token(s *stream, k *simulate.Token) {
	e := &m.engines[k.Server]
	e.generated += int64(k.Count)
	if s.told == 0 {
		e.prompt += int64(s.input)
		e.histograms[ofTTFT].add(k.Time-s.arrival, 1)
	} else {
		e.histograms[ofITL].add((k.Time-s.latest)/float64(k.Count), k.Count)
	}
	s.told += k.Count
	s.latest = k.Time
}

// end notes a request that has ended.
func (m *metrics) end(s *stream, d *simulate.Ended) {
	e := &m.engines[d.Server]
	if s.stops {
		e.stopped++
	} else {
		e.full++
	}
	h := &e.histograms
	h[ofE2E].add(d.Finish-d.Arrival, 1)
	h[ofQueue].add(d.Scheduled-d.Arrival, 1)
	h[ofDecode].add(d.Finish-d.First, 1)
	h[ofPrompt].add(float64(d.Input), 1)
	h[ofGeneration].add(float64(d.Output), 1)
	if d.Output > 1 {
		h[ofTPOT].add((d.Finish-d.First)/float64(d.Output-1), 1)
	}
}

// sample is a server as the metrics see it.
type sample struct {
	*engineMetrics
	simulate.State
}

// usage is the share of the cache that is used.
func (s *sample) usage() float64 { return float64(s.Used) / float64(s.Blocks) }

// metricRow is a number of each server: its names, and its value.
type metricRow struct {
	vllm, sglang string
	counter      bool
	doc          string
	labels       string // besides those that all have
	value        func(*sample) float64
}

// metricRows is the table of numbers. Counters of Prometheus end in _total.
var metricRows = []metricRow{
	{"num_requests_running", "num_running_reqs", false, "Requests that run.", "", func(s *sample) float64 { return float64(s.Running) }},
	{"num_requests_waiting", "num_queue_reqs", false, "Requests that wait.", "", func(s *sample) float64 { return float64(s.Waiting) }},
	{"kv_cache_usage_perc", "token_usage", false, "Share of the KV cache that is used; 1 is all of it.", "", (*sample).usage},
	{"", "num_used_tokens", false, "Tokens of the KV cache that are used.", "", func(s *sample) float64 { return float64(s.Used * s.blockTokens) }},
	{"", "max_total_num_tokens", false, "Tokens that the KV cache holds.", "", func(s *sample) float64 { return float64(s.State.Blocks * s.blockTokens) }},
	{"", "cache_hit_rate", false, "Share of prompt tokens that were cached.", "", func(s *sample) float64 { return float64(s.Hits) / float64(max(1, s.Asked)) }},
	{"prefix_cache_queries_total", "", true, "Prompt tokens that were looked up in the prefix cache.", "", func(s *sample) float64 { return float64(s.Asked) }},
	{"prefix_cache_hits_total", "cached_tokens_total", true, "Prompt tokens that were found there.", "", func(s *sample) float64 { return float64(s.Hits) }},
	{"num_preemptions_total", "num_retracted_requests_total", true, "Requests that had to make room in the cache.", "", func(s *sample) float64 { return float64(s.preempted) }},
	{"prompt_tokens_total", "prompt_tokens_total", true, "Prompt tokens of requests.", "", func(s *sample) float64 { return float64(s.prompt) }},
	{"generation_tokens_total", "generation_tokens_total", true, "Generated tokens.", "", func(s *sample) float64 { return float64(s.generated) }},
	{"", "num_requests_total", true, "Requests that have ended.", "", func(s *sample) float64 { return float64(s.stopped + s.full) }},
	{"request_success_total", "", true, "Requests that have ended, by the reason.", `finished_reason="stop"`, func(s *sample) float64 { return float64(s.stopped) }},
	{"request_success_total", "", true, "Requests that have ended, by the reason.", `finished_reason="length"`, func(s *sample) float64 { return float64(s.full) }},
}

// engineType is what SGLang calls the role of a server (its label engine_type).
var engineType = map[deploy.Role]string{deploy.Prefill: "prefill", deploy.Decode: "decode"}

// labels of a server, as an engine has them, with others behind.
func labels(vllm bool, model string, i int, s *sample, more ...string) string {
	out := "model_name=" + strconv.Quote(model)
	if vllm {
		out += fmt.Sprintf(`,engine="%d"`, i)
	} else {
		role := engineType[s.role]
		if role == "" {
			role = "unified"
		}
		out += fmt.Sprintf(`,engine_type="%s",dp_rank="%d"`, role, i)
	}
	for _, m := range more {
		if m != "" {
			out += "," + m
		}
	}
	return "{" + out + "}"
}

// WriteMetrics writes all metrics in the text format of Prometheus.
func (e *Emulator) WriteMetrics(w io.Writer) error {
	var b strings.Builder
	e.mu.Lock()
	var samples []sample
	for i, s := range e.live.States() {
		samples = append(samples, sample{&e.met.engines[i], s})
	}
	for _, prefix := range []string{"vllm:", "sglang:"} {
		e.writeNumbers(&b, prefix, samples)
		e.writeHistograms(&b, prefix, samples)
	}
	own := []struct {
		name, kind, doc string
		value           float64
	}{
		{"sglang:num_aborted_requests_total", "counter", "Requests whose clients have gone.", float64(e.met.aborted)},
		{"throughline:failed_requests_total", "counter", "Requests whose replica has failed.", float64(e.met.failed)},
		{"throughline:refused_requests_total", "counter", "Requests that were answered with an error.", float64(e.met.refused)},
		{"throughline:simulated_seconds_total", "counter", "Time of the simulation.", e.now()},
		{"throughline:speed", "gauge", "Seconds of the simulation in a second.", e.Speed},
		{"throughline:late_seconds", "gauge", "Seconds of the simulation that an event happened too late, at most, since the last look.", e.late},
	}
	e.late = 0
	e.mu.Unlock()
	for _, o := range own {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s{model_name=%q} %g\n", o.name, o.doc, o.name, o.kind, o.name, e.Model, o.value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Emulator) writeNumbers(b *strings.Builder, prefix string, samples []sample) {
	before := ""
	for _, row := range metricRows {
		name, vllm := row.sglang, prefix == "vllm:"
		if vllm {
			name = row.vllm
		}
		if name == "" {
			continue
		}
		if name != before {
			kind := "gauge"
			if row.counter {
				kind = "counter"
			}
			fmt.Fprintf(b, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, row.doc, prefix, name, kind)
		}
		before = name
		for i := range samples {
			fmt.Fprintf(b, "%s%s%s %g\n", prefix, name, labels(vllm, e.Model, i, &samples[i], row.labels), row.value(&samples[i]))
		}
	}
}

func (e *Emulator) writeHistograms(b *strings.Builder, prefix string, samples []sample) {
	for k, row := range histogramRows {
		name, vllm := row.sglang, prefix == "vllm:"
		if vllm {
			name = row.vllm
		}
		if name == "" {
			continue
		}
		name = prefix + name
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s histogram\n", name, row.doc, name)
		for i := range samples {
			s := &samples[i]
			h := &s.histograms[k]
			of, sum := &h.sglang, int64(0)
			if vllm {
				of = &h.vllm
			}
			for j, bound := range of.bounds {
				sum += of.counts[j]
				fmt.Fprintf(b, "%s_bucket%s %d\n", name, labels(vllm, e.Model, i, s, fmt.Sprintf(`le="%g"`, bound)), sum)
			}
			all := labels(vllm, e.Model, i, s)
			fmt.Fprintf(b, "%s_bucket%s %d\n%s_sum%s %g\n%s_count%s %d\n", name, labels(vllm, e.Model, i, s, `le="+Inf"`), h.count, name, all, h.sum, name, all, h.count)
		}
	}
}
