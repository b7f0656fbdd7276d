package emulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"testing"
	"time"

	"throughline/serving/simulate"
)

// post sends a body and reads the whole answer.
func post(t *testing.T, addr, path, body string) (int, string) {
	t.Helper()
	r, err := http.Post("http://"+addr+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func get(t *testing.T, addr, path string) (int, string) {
	t.Helper()
	r, err := http.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// TestRefusals: what is wrong is answered with OpenAI's error object: a status, a parameter and a
// code.
func TestRefusals(t *testing.T) {
	_, addr, _ := started(t, config())
	for _, c := range []struct {
		path, body  string
		status      int
		param, code string
	}{
		{"completions", `{"model":"other","prompt":"a"}`, 404, "model", "model_not_found"},
		{"completions", `{"model":"tiny"}`, 400, "prompt", "missing_required_parameter"},
		{"completions", `{"model":"tiny","prompt":{}}`, 400, "prompt", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":[1,-2]}`, 400, "prompt", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":[1,2.5]}`, 400, "prompt", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":[4294967296]}`, 400, "prompt", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":[]}`, 400, "prompt", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":["a","b"]}`, 400, "prompt", "unsupported_value"},
		{"completions", `{"model":"tiny","prompt":"a","n":2}`, 400, "n", "unsupported_value"},
		{"completions", `{"model":"tiny","prompt":"a","best_of":3}`, 400, "best_of", "unsupported_value"},
		{"completions", `{"model":"tiny","prompt":"a","logprobs":1}`, 400, "logprobs", "unsupported_value"},
		{"completions", `{"model":"tiny","prompt":"a","echo":true}`, 400, "echo", "unsupported_value"},
		{"completions", `{"model":"tiny","prompt":"a","max_tokens":0}`, 400, "max_tokens", "integer_below_min_value"},
		{"completions", `{"model":"tiny","prompt":"a","max_tokens":"9"}`, 400, "max_tokens", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":"a","max_tokens":2.5}`, 400, "max_tokens", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":"a","max_tokens":1e30}`, 400, "max_tokens", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":"a","max_tokens":true}`, 400, "max_tokens", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":"a","max_tokens":8,"min_tokens":9}`, 400, "min_tokens", "invalid_value"},
		{"completions", `{"model":"tiny","prompt":"a","min_tokens":-1}`, 400, "min_tokens", "invalid_value"},
		{"completions", `{"model":"tiny","prompt":"a","temperature":"hot"}`, 400, "temperature", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":"a","temperature":2.1}`, 400, "temperature", "invalid_value"},
		{"completions", `{"model":"tiny","prompt":"a","top_p":0}`, 400, "top_p", "invalid_value"},
		{"completions", `{"model":"tiny","prompt":"a","top_k":-2}`, 400, "top_k", "invalid_value"},
		{"chat/completions", `{"messages":[{"role":"user","content":"a"}],"presence_penalty":-3}`, 400, "presence_penalty", "invalid_value"},
		{"../generate", `{"text":"a","sampling_params":{"temperature":-1}}`, 400, "sampling_params.temperature", "invalid_value"},
		{"../generate", `{"text":"a","sampling_params":{"top_k":"x"}}`, 400, "sampling_params.top_k", "invalid_type"},
		{"completions", `{"model":"tiny","prompt":"a","max_tokens":9223372036854775807}`, 400, "prompt", "context_length_exceeded"},
		{"completions", `{"model":"tiny","prompt":"a","max_tokens":1000}`, 400, "prompt", "context_length_exceeded"},
		{"completions", `{"model":"tiny","prompt":"` + strings.Repeat("a", 4000) + `"}`, 400, "prompt", "context_length_exceeded"},
		{"completions", `{"model":"tiny","prompt":"a","stream_options":{"include_usage":true}}`, 400, "stream_options", ""},
		{"completions", `{"model":`, 400, "", "invalid_json"},
		{"completions", ``, 400, "", "invalid_json"},
		{"completions", `[]`, 400, "", "invalid_type"},
		{"chat/completions", `{"model":"tiny","messages":[]}`, 400, "messages", "missing_required_parameter"},
		{"chat/completions", `{"model":"tiny","messages":[{"content":"a"}]}`, 400, "messages", "missing_required_parameter"},
		{"chat/completions", `{"model":"tiny","messages":[{"role":"user","content":5}]}`, 400, "messages", "invalid_type"},
		{"chat/completions", `{"model":"tiny","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "messages", "unsupported_value"},
		{"chat/completions", `{"model":"tiny","messages":[{"role":"user","content":"a"}],"ignore_eos":true}`, 400, "max_tokens", ""},
		{"chat/completions", `{"model":"tiny","messages":"a"}`, 400, "messages", "invalid_type"},
		{"embeddings", `{}`, 404, "", "unknown_url"},
	} {
		status, text := post(t, addr, "/v1/"+c.path, c.body)
		var got struct {
			Error *struct {
				Message, Type string
				Param, Code   *string
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Error == nil {
			t.Errorf("%.80s: %d %s", c.body, status, text)
			continue
		}
		is := func(p *string, want string) bool { return p == nil && want == "" || p != nil && *p == want }
		if e := got.Error; status != c.status || !is(e.Param, c.param) || !is(e.Code, c.code) || e.Message == "" || strings.Contains(e.Message, " -9") || e.Type != badRequest {
			t.Errorf("%.80s: %d %s", c.body, status, text)
		}
	}
	if status, text := post(t, addr, "/v1/completions", `{"model":"tiny","prompt":"`+strings.Repeat("a", mostBody)+`"}`); status != 413 || !strings.Contains(text, "request_too_large") {
		t.Errorf("a large body: %d %.200s", status, text)
	}
	if status, text := get(t, addr, "/v1/completions"); status != 405 || !strings.Contains(text, `"error"`) {
		t.Errorf("GET: %d %s", status, text)
	}
}

// TestLengths: how many tokens a prompt has, how many come, and why they end.
func TestLengths(t *testing.T) {
	_, addr, _ := started(t, config()) // whose answers have 8 tokens
	for _, c := range []struct {
		path, body    string
		input, output int
		reason        string
	}{
		{"completions", `"prompt":[5,6,7]`, 3, 8, "stop"},
		{"completions", `"prompt":[[5,6,7]]`, 3, 8, "stop"},
		{"completions", `"prompt":"12345678"`, 2, 8, "stop"},
		{"completions", `"prompt":["123456789"]`, 3, 8, "stop"},
		{"completions", `"prompt":""`, 1, 8, "stop"},
		{"completions", `"prompt":"a","max_tokens":5`, 1, 5, "length"},
		{"completions", `"prompt":"a","max_tokens":8,"stop":["x"]`, 1, 8, "stop"},
		{"completions", `"prompt":"a","max_tokens":30,"ignore_eos":true`, 1, 30, "length"},
		{"completions", `"prompt":"a","ignore_eos":true`, 1, 16, "length"},
		{"completions", `"prompt":"a","max_tokens":2.0`, 1, 2, "length"},
		{"completions", `"prompt":"a","max_tokens":3e0`, 1, 3, "length"},
		{"completions", `"prompt":"a","min_tokens":12`, 1, 12, "stop"},
		{"completions", `"prompt":"a","min_tokens":12,"max_tokens":12`, 1, 12, "stop"},
		{"completions", `"prompt":"a","temperature":2,"top_p":1,"top_k":-1,"min_p":0,"presence_penalty":-2`, 1, 8, "stop"},
		{"chat/completions", `"messages":[{"role":"user","content":"hello!"}]`, 6, 8, "stop"}, // user\nhello!\nassistant\n is 22 bytes
		{"chat/completions", `"messages":[{"role":"user","content":[{"type":"text","text":"hel"},{"type":"text","text":"lo!"}]}],"max_completion_tokens":2`, 6, 2, "length"},
		{"chat/completions", `"messages":[{"role":"assistant","content":null}]`, 6, 8, "stop"},
	} {
		status, text := post(t, addr, "/v1/"+c.path, `{"model":"tiny",`+c.body+`}`)
		var got struct {
			Choices []struct {
				Text    string
				Message struct{ Content string }
				Reason  string `json:"finish_reason"`
			}
			Usage struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
				Total      int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || len(got.Choices) != 1 {
			t.Errorf("%s: %d %s", c.body, status, text)
			continue
		}
		answer := got.Choices[0].Text + got.Choices[0].Message.Content
		if got.Usage.Prompt != c.input || got.Usage.Completion != c.output || got.Usage.Total != c.input+c.output || got.Choices[0].Reason != c.reason || len(answer) != tokenBytes*c.output {
			t.Errorf("%s: %s", c.body, text)
		}
	}
}

// events are the data of a stream.
var events = regexp.MustCompile(`(?m)^data: (.*)$`)

// TestStreams: what comes, event by event, in all protocols.
func TestStreams(t *testing.T) {
	_, addr, _ := started(t, config())
	for _, c := range []struct {
		path, body string
		want       []string // of each event, a part
	}{
		{"/v1/completions", `{"model":"tiny","prompt":"a","max_tokens":2,"stream":true}`,
			[]string{`"text":" the","logprobs":null,"finish_reason":null}]}`, `"text":" and","logprobs":null,"finish_reason":"length"}]}`, "[DONE]"}},
		{"/v1/completions", `{"model":"tiny","prompt":"a","max_tokens":1,"stream":true,"stream_options":{"include_usage":true}}`,
			[]string{`"finish_reason":"length"}],"usage":null}`, `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`, "[DONE]"}},
		{"/v1/completions", `{"prompt":"a","max_tokens":2,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
			[]string{`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2`, `"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3`, `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,`, "[DONE]"}},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
			[]string{`"content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":5,"completion_tokens":0,`, `"usage":{"prompt_tokens":5,"completion_tokens":1,`, `"delta":{},"logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":1,`, `"choices":[],"usage":{`, "[DONE]"}},
		{"/v1/chat/completions", `{"model":"tiny","messages":[{"role":"user","content":"a"}],"max_tokens":1,"stream":true,"stream_options":{"include_usage":true}}`,
			[]string{`"delta":{"role":"assistant","content":""}`, `"delta":{"content":" the"}`, `"delta":{},"logprobs":null,"finish_reason":"length"}],"usage":null}`, `"usage":{"prompt_tokens":5,`, "[DONE]"}},
		{"/generate", `{"text":"a","sampling_params":{"max_new_tokens":2},"stream":true}`,
			[]string{`"text":" the"}`, `"finish_reason":{"length":2,"type":"length"}`, "[DONE]"}},
		{"/generate", `{"input_ids":[1,2],"stream":false}`, nil},
	} {
		status, text := post(t, addr, c.path, c.body)
		got := events.FindAllStringSubmatch(text, -1)
		if status != 200 || len(got) != len(c.want) {
			t.Errorf("%s: %d %s", c.body, status, text)
			continue
		}
		for i, part := range c.want {
			if !strings.Contains(got[i][1], part) || got[i][1] != "[DONE]" && !json.Valid([]byte(got[i][1])) {
				t.Errorf("%s: event %d is %s, want %s", c.body, i, got[i][1], part)
			}
		}
	}
}

// TestOtherPages: those that gateways and dashboards read.
func TestOtherPages(t *testing.T) {
	_, addr, _ := started(t, config())
	post(t, addr, "/v1/completions", `{"model":"tiny","prompt":[1,2,3],"max_tokens":5}`)
	for path, part := range map[string]string{
		"/health": "", "/ping": "", "/health_generate": "", "/v1/models": `"id":"tiny"`, "/v1/models/tiny": `"max_model_len":1000`, "/get_model_info": `"is_generation":true`,
		"/version": `"version"`, "/metrics": "\nvllm:generation_tokens_total{model_name=\"tiny\",engine=\"0\"} 5\n",
	} {
		if status, text := get(t, addr, path); status != 200 || !strings.Contains(text, part) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _ := get(t, addr, "/v1/models/other"); status != 404 {
		t.Errorf("another model: %d", status)
	}
}

// sampleLine is a line of the text format of Prometheus.
var sampleLine = regexp.MustCompile(`^([a-z]+:[a-z0-9_]+)(\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\}) ([0-9.e+-]+)$`)

// TestMetrics: every line is one of the format, every family is announced once, before its samples,
// no sample comes twice, and buckets grow.
func TestMetrics(t *testing.T) {
	c := config()
	c.Simulation.Pools[0].Servers = 2
	_, addr, _ := started(t, c)
	for range 3 {
		post(t, addr, "/v1/completions", `{"model":"tiny","prompt":[1,2,3],"max_tokens":5}`)
	}
	_, text := get(t, addr, "/metrics")
	announced, seen, last := map[string]bool{}, map[string]bool{}, map[string]float64{}
	bound := regexp.MustCompile(`,le="[^"]*"`)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			if announced[name] {
				t.Errorf("%s is announced twice", name)
			}
			announced[name] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no sample: %q", line)
			continue
		}
		family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[1], "")
		if !announced[m[1]] && !announced[family] || seen[m[1]+m[2]] {
			t.Errorf("not announced, or twice: %s", line)
		}
		seen[m[1]+m[2]] = true
		if strings.HasSuffix(m[1], "_bucket") {
			var v float64
			fmt.Sscan(m[3], &v)
			series := m[1] + bound.ReplaceAllString(m[2], "")
			if v < last[series] {
				t.Errorf("buckets shrink: %s", line)
			}
			last[series] = v
		}
	}
	for _, want := range []string{
		`vllm:time_to_first_token_seconds_count{model_name="tiny",engine="0"} 2`, `vllm:time_to_first_token_seconds_count{model_name="tiny",engine="1"} 1`,
		`sglang:generation_tokens_total{model_name="tiny",engine_type="unified",dp_rank="0"} 10`,
		`vllm:inter_token_latency_seconds_bucket{model_name="tiny",engine="0",le="0.01"} 8`,
		`vllm:request_success_total{model_name="tiny",engine="1",finished_reason="length"} 1`,
		`vllm:request_success_total{model_name="tiny",engine="1",finished_reason="abort"} 0`,
		`vllm:request_success_total{model_name="tiny",engine="1",finished_reason="error"} 0`,
		`vllm:request_prefill_time_seconds_count{model_name="tiny",engine="0"} 2`,
		`vllm:request_max_num_generation_tokens_sum{model_name="tiny",engine="0"} 10`,
		`vllm:cache_config_info{engine="1",block_size="16",enable_prefix_caching="False",num_gpu_blocks="1048576"} 1`,
		`sglang:gen_throughput{model_name="tiny",engine_type="unified",dp_rank="0"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// TestKeepsConnections: a connection takes one request after another, streams among them.
func TestKeepsConnections(t *testing.T) {
	_, addr, _ := started(t, config())
	client, again := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}, 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if c.Reused {
			again++
		}
	}})
	for range 3 {
		q, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+"/v1/completions", strings.NewReader(`{"model":"tiny","prompt":"a","max_tokens":2,"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Contains(text, []byte("[DONE]")) {
			t.Fatal(err, string(text))
		}
		r.Body.Close()
	}
	if again != 2 {
		t.Errorf("the connection was used again %d times", again)
	}
}

// eventually waits for something that must come true soon.
func eventually(t *testing.T, what string, true func() bool) {
	t.Helper()
	for range 200 {
		if true() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s: not after 2 s", what)
}

// TestClientGoes: the request of a client that goes makes room for others.
func TestClientGoes(t *testing.T) {
	c := config()
	c.Simulation.Pools[0].Policy.Sequences = 1
	e, addr, _ := started(t, c)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"model":"tiny","prompt":"a","max_tokens":900,"ignore_eos":true,"stream":true}`
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	states := func() simulate.State {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.live.States()[0]
	}
	eventually(t, "a request that runs", func() bool { return states().Running == 1 })
	done := make(chan int, 1)
	go func() {
		status, _ := post(t, addr, "/v1/completions", `{"model":"tiny","prompt":"a","max_tokens":2}`)
		done <- status
	}()
	eventually(t, "another that waits", func() bool { return states().Waiting == 1 })
	conn.Close()
	select {
	case status := <-done: // 900 tokens would take 4.5 s
		if status != 200 {
			t.Error(status)
		}
	case <-time.After(2 * time.Second):
		t.Error("the next request waits for one that nobody reads")
	}
	if s := states(); s.Running != 0 || s.Waiting != 0 || s.Used != 0 {
		t.Errorf("%+v is left", s)
	}
}

// TestShutdown: streams end with an error event, requests that wait for all with an error, and
// nothing hangs.
func TestShutdown(t *testing.T) {
	_, addr, stop := started(t, config())
	const body = `{"model":"tiny","prompt":"a","max_tokens":900,"ignore_eos":true,"stream":%v}`
	streamed, whole := make(chan string, 1), make(chan string, 1)
	for stream, to := range map[bool]chan string{true: streamed, false: whole} {
		go func() { _, text := post(t, addr, "/v1/completions", fmt.Sprintf(body, stream)); to <- text }()
	}
	half, err := net.Dial("tcp", addr) // never sends its request
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	fmt.Fprint(half, "POST /v1/completions HTTP/1.1\r\n")
	time.Sleep(100 * time.Millisecond)
	start := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > GraceTime+time.Second {
		t.Errorf("it took %v to end", took)
	}
	if text := <-streamed; !strings.Contains(text, `"text":" the"`) || !strings.HasSuffix(text, "\"code\":\"shutting_down\"}}\n\ndata: [DONE]\n\n") {
		t.Errorf("the stream ends with %s", text[max(0, len(text)-300):])
	}
	if text := <-whole; !strings.Contains(text, `"code":"shutting_down"`) {
		t.Error(text)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("it still listens")
	}
}

// TestConnections: connections above the number that is allowed are told.
func TestConnections(t *testing.T) {
	c := config()
	c.Connections = 1
	_, addr, _ := started(t, c)
	first, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	second, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(second); !bytes.HasPrefix(text, []byte("HTTP/1.1 503 ")) || !bytes.Contains(text, []byte("too_many_connections")) {
		t.Errorf("%q", text)
	}
	first.Close()
	eventually(t, "another connection", func() bool {
		r, err := http.Get("http://" + addr + "/health")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == 200
	})
}

// TestPrefixes: a prompt that begins like one before, answers included, is computed from there.
func TestPrefixes(t *testing.T) {
	c := config()
	c.Simulation.Pools[0].Policy.PrefixCache = true
	e, addr, _ := started(t, c)
	say := strings.Repeat("x", 480)
	_, text := post(t, addr, "/v1/chat/completions", `{"model":"tiny","messages":[{"role":"user","content":"`+say+`"}],"max_tokens":100,"ignore_eos":true}`)
	var first struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(text), &first); err != nil {
		t.Fatal(err, text)
	}
	answer := first.Choices[0].Message.Content
	post(t, addr, "/v1/chat/completions", fmt.Sprintf(`{"model":"tiny","messages":[{"role":"user","content":%q},{"role":"assistant","content":%q},{"role":"user","content":"more"}]}`, say, answer))
	e.mu.Lock()
	defer e.mu.Unlock()
	// user\n, 480 bytes, \nassistant\n and 400 bytes of the answer are 896 bytes: 14 blocks of 16
	// tokens; the last token is not in the cache.
	if s := e.live.States()[0]; s.Hits != 13*16 && s.Hits != 14*16 {
		t.Errorf("%+v", s)
	}
}

// FuzzBodies: no body breaks the reading of requests.
func FuzzBodies(f *testing.F) {
	f.Add([]byte(`{"model":"tiny","prompt":[[1,2],3],"max_tokens":3}`))
	f.Add([]byte(`{"model":"tiny","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"text":"x","input_ids":[1]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range []*protocol{&completions, &chat, &generate} {
			if q, err := p.read(body); err == nil && q.prompt.tokens() < 1 {
				t.Errorf("%s: %d tokens", body, q.prompt.tokens())
			}
		}
	})
}
