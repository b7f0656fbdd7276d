package emulate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"throughline/serving/simulate"
)

// cached are the cached tokens that an answer tells of, -1 where it tells of none.
func cached(t *testing.T, text string) int {
	t.Helper()
	found := regexp.MustCompile(`"cached_tokens":(\d+)`).FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return -1
	}
	n := 0
	fmt.Sscan(found[len(found)-1][1], &n)
	return n
}

// TestCachedTokens: answers tell how much of the prompt the simulated deployment had cached, in
// whole blocks of 16 tokens, and a flush empties that cache.
func TestCachedTokens(t *testing.T) {
	c := config()
	c.Simulation.Pools[0].Policy.PrefixCache = true
	_, addr, _ := started(t, c)
	hundred := "[" + strings.Repeat("7,", 99) + "7]"
	text := strings.Repeat("abcd", 48) // 48 tokens
	ask := func(path, body string, want int) {
		t.Helper()
		status, answer := post(t, addr, path, body)
		if got := cached(t, answer); status != 200 || got != want {
			t.Errorf("%.60s: %d tokens cached, want %d: %d %s", body, got, want, status, answer)
		}
	}
	whole := `{"prompt":` + hundred + `,"max_tokens":4}`
	ask("/v1/completions", whole, 0)
	ask("/v1/completions", whole, 96) // six blocks of 100 tokens
	ask("/generate", `{"input_ids":`+hundred+`}`, 96)
	ask("/generate", `{"input_ids":`+hundred+`,"stream":true}`, 96)
	ask("/v1/completions", `{"prompt":`+hundred+`,"stream":true,"stream_options":{"include_usage":true}}`, 96)
	ask("/generate", `{"text":"`+text+`"}`, 0)
	ask("/generate", `{"text":"`+text+`"}`, 32) // one token at least is computed
	chat := `{"messages":[{"role":"user","content":"` + text + `"}]}`
	ask("/v1/chat/completions", chat, 0)
	ask("/v1/chat/completions", chat, 48) // user, the text and assistant are 208 bytes
	for _, flush := range []func() (int, string){
		func() (int, string) { return post(t, addr, "/flush_cache", "") },
		func() (int, string) { return post(t, addr, "/flush_cache?timeout=30", "") },
		func() (int, string) { return get(t, addr, "/flush_cache") },
		func() (int, string) { return post(t, addr, "/reset_prefix_cache", "") },
	} {
		if status, said := flush(); status != 200 || !strings.Contains(said, "Cache flushed") && !strings.Contains(said, `"success":true`) {
			t.Fatalf("%d %s", status, said)
		}
		ask("/v1/completions", whole, 0)
		ask("/v1/completions", whole, 96)
	}
	if status, _ := post(t, addr, "/flush_cache?timeout=NaN", ""); status != 400 {
		t.Errorf("a timeout that is none: %d", status)
	}
}

// TestFlushWaits: while requests run nothing is flushed, as in the engines; SGLang waits for them
// as long as it is told.
func TestFlushWaits(t *testing.T) {
	_, addr, _ := started(t, config())
	done := make(chan int)
	go func() {
		status, _ := post(t, addr, "/v1/completions", `{"prompt":"a","max_tokens":100,"ignore_eos":true}`) // 0.5 s
		done <- status
	}()
	eventually(t, "a request runs", func() bool {
		_, text := get(t, addr, "/metrics")
		return strings.Contains(text, `vllm:num_requests_running{model_name="tiny",engine="0"} 1`)
	})
	if status, said := post(t, addr, "/flush_cache", ""); status != 400 {
		t.Errorf("flushed: %d %s", status, said)
	}
	if status, said := post(t, addr, "/reset_prefix_cache", ""); status != 200 || !strings.Contains(said, `"success":false`) {
		t.Errorf("flushed: %d %s", status, said)
	}
	if status, said := post(t, addr, "/flush_cache?timeout=30", ""); status != 200 {
		t.Errorf("not flushed when the request had ended: %d %s", status, said)
	}
	if status := <-done; status != 200 {
		t.Error(status)
	}
}

// TestCrossOrigin: pages of other origins may ask.
func TestCrossOrigin(t *testing.T) {
	_, addr, _ := started(t, config())
	for method, path := range map[string]string{"OPTIONS": "/v1/chat/completions", "GET": "/v1/models"} {
		q, _ := http.NewRequest(method, "http://"+addr+path, nil)
		q.Header.Set("Origin", "http://page.example")
		if method == "OPTIONS" {
			q.Header.Set("Access-Control-Request-Method", "POST")
			q.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		}
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != 200 || r.Header.Get("Access-Control-Allow-Origin") != "*" || method == "OPTIONS" &&
			(!strings.Contains(r.Header.Get("Access-Control-Allow-Methods"), "POST") || r.Header.Get("Access-Control-Max-Age") != "600" || r.Header.Get("Access-Control-Allow-Headers") != "authorization,content-type") {
			t.Errorf("%s: %d %v", method, r.StatusCode, r.Header)
		}
	}
}

// TestStatusTypes: an error that is asked for has the type of its status, and says when to come
// again.
func TestStatusTypes(t *testing.T) {
	for status, want := range map[int]struct{ kind, code, again string }{
		429: {"requests", "rate_limit_exceeded", "1"}, 503: {serverError, "emulated", "1"}, 500: {serverError, "emulated", ""}, 403: {badRequest, "emulated", ""},
	} {
		faults, err := ParseFaults([]string{"errors:1", fmt.Sprintf("status=%d", status)})
		if err != nil {
			t.Fatal(err)
		}
		c := config()
		c.Faults = faults
		_, addr, stop := started(t, c)
		r, err := http.Post("http://"+addr+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Error struct{ Type, Code string } }
		err = json.NewDecoder(r.Body).Decode(&got)
		r.Body.Close()
		if err != nil || r.StatusCode != status || got.Error.Type != want.kind || got.Error.Code != want.code || r.Header.Get("Retry-After") != want.again {
			t.Errorf("%d: %+v, %v, again %q", status, got, err, r.Header.Get("Retry-After"))
		}
		stop()
	}
}

// TestFinishedReasons: requests whose clients go, and whose replicas fail, are counted where they
// ran.
func TestFinishedReasons(t *testing.T) {
	c := config()
	c.Simulation = servers(2, 64, steps{5e-3, 0})
	e, addr, _ := started(t, c)
	body := `{"prompt":"a","max_tokens":900,"ignore_eos":true,"stream":true}`
	var conns []net.Conn
	for range 2 { // one on each replica
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatal(line, err)
		}
		conns = append(conns, conn)
	}
	conns[0].Close()
	e.mu.Lock()
	e.live.Kill(1, e.now())
	e.mu.Unlock()
	e.rouse()
	for _, want := range []string{`engine="0",finished_reason="abort"} 1`, `engine="1",finished_reason="error"} 1`, `engine="1",finished_reason="abort"} 0`} {
		eventually(t, want, func() bool {
			_, text := get(t, addr, "/metrics")
			return strings.Contains(text, `vllm:request_success_total{model_name="tiny",`+want)
		})
	}
}

// TestThroughput: forty steps of 5 ms that each give a token are 200 tokens per second.
func TestThroughput(t *testing.T) {
	m := newMetrics(&simulate.Options{Pools: []simulate.Pool{{Servers: 1}}}, 1000)
	e := &m.engines[0]
	at := 10.0
	for i := range 41 {
		if e.throughput != 0 {
			t.Fatalf("told after %d steps", i)
		}
		m.step(&simulate.Step{Index: i, Start: at, End: at + 5e-3, Work: &simulate.Work{Decodes: 1}})
		m.step(&simulate.Step{Index: i, Rank: 1, Start: at, End: at + 5e-3, Work: &simulate.Work{Decodes: 1}})
		at += 5e-3
		e.generated++
	}
	if e.throughput < 199.99 || e.throughput > 200.01 {
		t.Errorf("%g tokens/s", e.throughput)
	}
}

// TestHalfClosed: a client that closes its side before the answer is there gets no answer, not an
// empty one.
func TestHalfClosed(t *testing.T) {
	_, addr, _ := started(t, config())
	for _, body := range []string{`{"prompt":"a","max_tokens":100,"ignore_eos":true}`, `{"prompt":"a","max_tokens":100,"ignore_eos":true,"stream":true}`} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		conn.(*net.TCPConn).CloseWrite()
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			_, err = io.ReadAll(r.Body)
		}
		if err == nil {
			t.Errorf("%s: %s", body, r.Status)
		}
		conn.Close()
	}
}

// TestNoContext: where the model takes any number of tokens, the KV cache bounds them, and messages
// say so.
func TestNoContext(t *testing.T) {
	c := config()
	c.Context, c.Simulation.Pools[0].Policy.Blocks = 0, 10 // of 16 tokens
	_, addr, _ := started(t, c)
	if status, text := post(t, addr, "/v1/completions", `{"prompt":[1],"max_tokens":9223372036854775807}`); status != 400 || !strings.Contains(text, "maximum context length is 161 tokens") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := post(t, addr, "/v1/completions", `{"prompt":[1],"max_tokens":160,"ignore_eos":true}`); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if _, text := get(t, addr, "/get_model_info"); !strings.Contains(text, `"max_context_length":161`) {
		t.Error(text)
	}
}

// TestBodiesTogether: clients that send much and hold the last byte back do not make the server
// keep all of it, nor do they hold up small requests.
func TestBodiesTogether(t *testing.T) {
	_, addr, _ := started(t, config())
	large := []byte(strings.Repeat("a", 15<<20))
	for range 30 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(large)+1)
			conn.Write(large) // until the connection is closed
		}()
	}
	var most uint64
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	if most < 60<<20 || most > 200<<20 {
		t.Errorf("30 bodies of 15 MiB took %d MiB", most>>20)
	}
	if status, text := post(t, addr, "/v1/completions", `{"prompt":"a"}`); status != 200 {
		t.Errorf("a small request: %d %s", status, text)
	}
}
