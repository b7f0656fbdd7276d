package matrix

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"throughline/internal/question"
	"throughline/internal/rawdata"
)

// programs are servers and clients by parts of their command lines.
var programs = []struct {
	column, name string
	in           *regexp.Regexp
}{
	{"Framework", "sglang", regexp.MustCompile(`sglang\.launch_server|sglang serve|lmsysorg/sglang`)},
	{"Framework", "vllm", regexp.MustCompile(`vllm serve|vllm\.entrypoints|vllm/vllm-openai`)},
	{"Framework", "trtllm", regexp.MustCompile(`trtllm-serve|tensorrt_llm`)},
	{"Client", "sglang.bench_serving", regexp.MustCompile(`sglang\.bench_serving`)},
	{"Client", "vllm bench serve", regexp.MustCompile(`vllm bench serve|benchmark_serving`)},
	{"Client", "trtllm-bench", regexp.MustCompile(`trtllm-bench`)},
	{"Client", "aiperf", regexp.MustCompile(`aiperf|genai-perf`)},
}

// options are columns by the options of SGLang, vLLM and TensorRT-LLM, without dashes.
var options = []struct{ column, names string }{
	{"Model", "model-path|model"},
	{"Quantization", "quantization"},
	{"TP", "tp|tp-size|tensor-parallel-size|tp_size"},
	{"PP", "pp|pp-size|pipeline-parallel-size|pp_size"},
	{"EP", "ep|ep-size|expert-parallel-size|ep_size"},
	{"DP", "dp|dp-size|data-parallel-size"},
	{"Max bs", "max-running-requests|max-num-seqs|max_batch_size"},
	{"Max num tokens", "chunked-prefill-size|max-num-batched-tokens|max_num_tokens"},
	{"Mem fraction", "mem-fraction-static|gpu-memory-utilization|kv_cache_free_gpu_memory_fraction"},
	{"Attn", "attention-backend"},
	{"MTP", "speculative-num-steps"},
}

// logged are columns by what engines print at start: arguments, versions and room.
var logged = []struct {
	column string
	in     *regexp.Regexp
}{
	{"TP", regexp.MustCompile(`ServerArgs\(.*\btp_size=([0-9]+)`)},
	{"PP", regexp.MustCompile(`ServerArgs\(.*\bpp_size=([0-9]+)`)},
	{"EP", regexp.MustCompile(`ServerArgs\(.*\bep_size=([0-9]+)`)},
	{"DP", regexp.MustCompile(`ServerArgs\(.*\bdp_size=([0-9]+)`)},
	{"Attn", regexp.MustCompile(`ServerArgs\(.*\battention_backend='([a-z0-9_]+)'`)},
	{"Mem fraction", regexp.MustCompile(`ServerArgs\(.*\bmem_fraction_static=([0-9.]+)`)},
	{"KV_cache_objs", regexp.MustCompile(`max_total_num_tokens=([0-9]+)`)},
	{"KV_cache_objs", regexp.MustCompile(`GPU KV cache size: ([0-9,]+) tokens`)},
	{"Max bs", regexp.MustCompile(`max_total_num_tokens=.*\bmax_running_requests=([0-9]+)`)},
	{"Max num tokens", regexp.MustCompile(`max_total_num_tokens=.*\bchunked_prefill_size=([0-9]+)`)},
	{"Version", regexp.MustCompile(`vLLM API server version ([0-9][0-9A-Za-z.+]*)`)},
}

// printed is what the log of the server says about its launch.
func (c *combination) printed() map[string]string {
	text := head(c.log("server.log"), mostShown)
	var out map[string]string
	for _, l := range logged {
		m := l.in.FindStringSubmatch(text)
		if m == nil || out[l.column] != "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[l.column] = strings.ReplaceAll(m[1], ",", "")
	}
	return out
}

// deepGEMM matches the variables that enable its kernels.
var deepGEMM = regexp.MustCompile(`(?:SGL_ENABLE_JIT_DEEPGEMM|SGLANG_ENABLE_JIT_DEEPGEMM|VLLM_USE_DEEP_GEMM)=(\w+)`)

func launched(command string) map[string]string {
	out := map[string]string{}
	for _, p := range programs {
		if out[p.column] == "" && p.in.MatchString(command) {
			out[p.column] = p.name
		}
	}
	for _, o := range options {
		if m := regexp.MustCompile(`(?:^|\s)-{1,2}(?:` + o.names + `)[= ]+(\S+)`).FindStringSubmatch(command); m != nil {
			out[o.column] = strings.Trim(m[1], `"'`)
		}
	}
	if strings.Contains(command, "deepep") {
		out["DeepEP"] = "yes"
	}
	if m := deepGEMM.FindStringSubmatch(command); m != nil {
		out["DeepGEMM"] = map[bool]string{true: "yes", false: "no"}[m[1] == "1" || strings.EqualFold(m[1], "true")]
	}
	return out
}

// row is the combination as raw data: as stated, else measured or printed, else by options.
func (c *combination) row() rawdata.Row {
	row := rawdata.NewRow()
	row.Set("Source", rawdata.Measured)
	fill := func(values map[string]string, taken ...string) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			other := rawdata.NewRow()
			if len(taken) > 0 && !slices.Contains(taken, name) || other.SetText(name, values[name]) != nil {
				continue // an option may have a word where the sheet has a number
			}
			for i, v := range other {
				if row[i] == nil {
					row[i] = v
				}
			}
		}
	}
	fill(texts(c.server.Columns))
	fill(texts(c.client.Columns))
	if strings.HasPrefix(c.out.Load["lengths"], "uniform:") {
		fill(map[string]string{"ISL": c.out.Load["isl"], "OSL": c.out.Load["osl"]}) // which the spread is relative to
	}
	c.measured(row)
	fill(c.out.Printed)
	fill(launched(c.typed(c.server.Environment, c.server.Command)))
	if c.client.Bench != nil {
		fill(map[string]string{"Client": "throughline bench"})
	} else {
		fill(launched(c.typed(nil, c.client.Command)), "Client")
		fill(map[string]string{"Client": c.client.Name})
	}
	return row
}

func texts(words map[string]Word) map[string]string {
	out := map[string]string{}
	for name, w := range words {
		out[name] = string(w)
	}
	return out
}

// measured fills in figures and load, which defaults to the options of a built-in client.
func (c *combination) measured(row rawdata.Row) {
	set := func(name string, v float64, known bool) {
		if known && row.Get(name) == nil {
			row.Set(name, v)
		}
	}
	f := c.out.Figures
	key := func(name string) (float64, bool) { v, ok := f[name]; return v, ok }
	input, output, ok := f.Lengths()
	set("ISL", input, ok)
	set("OSL", output, ok)
	clients, ok := key("max_concurrency")
	set("Concurrency", clients, ok && clients > 0)
	v, ok := f.Achieved()
	set("Achieved concurrency", v, ok)
	v, ok = key("output_throughput")
	set("Output throughput", v, ok)
	v, ok = f.TPOT()
	set("TPOT", v, ok)
	v, ok = key("mean_ttft_ms")
	set("TTFT", v, ok)
	if c.client.Bench == nil {
		return
	}
	q := question.DefaultOf(question.Bench)
	for name, w := range c.client.Bench {
		if s, ok := setting(question.Bench, name); ok {
			s.Set(&q, string(w)) // checked before
		}
	}
	if name := q.DatasetName(); name == question.RandomRequests || name == question.RandomIDs {
		n := q.Lengths()
		set("ISL", float64(n.Input), true)
		set("OSL", float64(n.Output), true)
	}
	set("Concurrency", float64(q.Concurrency), q.Concurrency > 0)
}
