package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"throughline/internal/parallel"
	"throughline/internal/question"
)

const testKey = "0123456789abcdef0123"

// asked is the answer of a server to one request, which may be changed before.
func get(s *Server, method, target string, body io.Reader, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, target, body)
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Authorization", "Bearer "+testKey)
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// led is the answer of a page, at its shortest address.
func led(s *Server, target string) *httptest.ResponseRecorder {
	got := get(s, "GET", target, nil)
	if to := got.Header().Get("Location"); got.Code == http.StatusSeeOther {
		return get(s, "GET", to, nil)
	}
	return got
}

// patient is a server for tests on busy machines.
func patient() *Server { return NewServer(Options{Key: testKey, Deadline: 10 * time.Minute}) }

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// Only who calls the server by its name, from its own pages, and knows the key gets in.
func TestGuards(t *testing.T) {
	s := patient()
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, c := range []struct {
		name   string
		got    *httptest.ResponseRecorder
		status int
	}{
		{"as it should be", get(s, "GET", "/", nil), 200},
		{"IPv6 with brackets", get(s, "GET", "/", nil, host("[::1]:8080")), 200},
		{"a name of this machine", get(s, "GET", "/", nil, host("LOCALHOST")), 200},
		{"another name for this address", get(s, "GET", "/", nil, host("evil.example:8080")), 403},
		{"a name that begins alike", get(s, "GET", "/", nil, host("127.0.0.1.evil.example")), 403},
		{"no key", get(s, "GET", "/", nil, header("Authorization", "")), 403},
		{"a wrong key", get(s, "GET", "/api/v1/models", nil, header("Authorization", "Bearer "+testKey+"x")), 403},
		{"a page of others", get(s, "POST", "/api/v1/plan", strings.NewReader("{}"), header("Origin", "http://evil.example"), header("Sec-Fetch-Site", "cross-site")), 403},
		{"a page of this server", get(s, "POST", "/api/v1/check", strings.NewReader("{}"), header("Origin", "http://127.0.0.1:8080"), header("Sec-Fetch-Site", "same-origin")), 400},
		{"out of the folder", get(s, "GET", "/assets/..%2f..%2fserver.go", nil), 404},
		{"out of the folder, plainly", get(s, "GET", "/assets/%2e%2e/%2e%2e/etc/passwd", nil), 404},
		{"no such page", get(s, "GET", "/none", nil), 404},
		{"another method", get(s, "DELETE", "/api/v1/plan", nil), 405},
		{"a question posted to a list", get(s, "POST", "/api/v1/models", nil), 405},
		{"a list of all files", get(s, "GET", "/assets/", nil), 404},
		{"another way to write the scheme", get(s, "GET", "/", nil, header("Authorization", "bearer "+testKey)), 200},
	} {
		if c.got.Code != c.status && !(c.status == 404 && (c.got.Code == 301 || c.got.Code == 307)) {
			t.Errorf("%s: status %d, not %d: %.200s", c.name, c.got.Code, c.status, c.got.Body)
		}
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got := c.got.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q", c.name, name, got)
			}
		}
		if strings.Contains(c.got.Body.String(), testKey) {
			t.Errorf("%s: the answer tells the key", c.name)
		}
	}
}

// The key of the first address becomes a cookie that scripts do not see, and leaves the address.
func TestKeyLeavesTheAddress(t *testing.T) {
	s := patient()
	bare := header("Authorization", "")
	w := get(s, "GET", "/choose?gpus=8&key="+testKey, nil, bare)
	cookies := w.Result().Cookies()
	if w.Code != 303 || w.Header().Get("Location") != "/choose?gpus=8" || len(cookies) != 1 {
		t.Fatalf("status %d to %q with %d cookies", w.Code, w.Header().Get("Location"), len(cookies))
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		t.Errorf("the cookie is %+v", c)
	}
	if got := get(s, "GET", "/", nil, bare, func(r *http.Request) { r.AddCookie(cookies[0]) }); got.Code != 200 {
		t.Errorf("with the cookie: status %d", got.Code)
	}
	if got := get(s, "GET", "//evil.example/?key="+testKey, nil, bare); strings.HasPrefix(got.Header().Get("Location"), "//") {
		t.Errorf("leads to %q", got.Header().Get("Location"))
	}
}

// No setting opens a file, by any way that words have to name one.
func TestNoFiles(t *testing.T) {
	secret, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Skip("no /etc/passwd: ", err)
	}
	line, _, _ := strings.Cut(string(secret), "\n")
	s := patient()
	tried := 0
	for _, c := range []struct {
		path string
		of   question.Command
	}{{"plan", question.Plan}, {"estimate", question.Estimate}, {"explain", question.Explain}, {"simulate", question.Simulate}, {"compare", question.Compare}} {
		for _, set := range question.Settings(c.of) {
			if set.Kind() != question.Text {
				continue
			}
			for _, value := range []string{"/etc/passwd", "counts:/etc/passwd", "trace:/etc/passwd", "../../../../../../etc/passwd", "/etc/passwd#1"} {
				words := url.Values{"model": {"llama_3_8b"}, "system": {"H200"}}
				if c.of == question.Plan {
					words.Set("gpus", "1")
				}
				words.Set(set.Name, value)
				got := get(s, "GET", "/api/v1/"+c.path+"?"+words.Encode(), nil)
				tried++
				if body := got.Body.String(); strings.Contains(body, line) || strings.Contains(body, "root:") || got.Code == 500 {
					t.Errorf("%s %s=%s: status %d: %.300s", c.path, set.Name, value, got.Code, body)
				}
			}
		}
	}
	if tried < 300 {
		t.Errorf("only %d questions", tried)
	}
	for _, path := range []string{"a=/etc/passwd&b=/etc/passwd", "a=/etc/passwd%231&b=H200", "a=model%3D/etc/passwd%26system%3DH200&b=model%3Dllama_3_8b%26system%3DH200"} {
		if got := get(s, "GET", "/api/v1/diff?"+path, nil); got.Code != 400 || strings.Contains(got.Body.String(), "root:") {
			t.Errorf("diff %s: status %d: %s", path, got.Code, got.Body)
		}
	}
}

// No view opens a file either: by settings, by deployments that are pinned, or by other names of
// its addresses.
func TestViewsOpenNoFiles(t *testing.T) {
	secret, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Skip("no /etc/passwd: ", err)
	}
	line, _, _ := strings.Cut(string(secret), "\n")
	s := patient()
	deployment := url.Values{"model": {"llama_3_8b"}, "system": {"H200"}, "isl": {"64"}, "osl": {"4"}, "batch": {"1"}}
	with := func(q url.Values, name, value string) url.Values {
		out := maps.Clone(q)
		out[name] = []string{value}
		return out
	}
	for _, path := range []string{"/etc/passwd", "../../../../../../etc/passwd", "file:///etc/passwd", "/etc/passwd#1"} {
		pinned := []string{with(deployment, "popularity", "counts:"+path).Encode(), with(deployment, "model", path).Encode()}
		for _, target := range []string{
			"/why?" + with(deployment, "pin", pinned[0]).Encode(), "/why?" + with(deployment, "asked", pinned[1]).Encode(), "/compare?" + url.Values{"pin": pinned}.Encode(),
			"/compare?" + with(deployment, "measured", path).Encode(), "/compare?" + with(deployment, "kernels", path).Encode(), "/compare?" + with(deployment, "runs", path).Encode(),
			"/load?" + with(deployment, "trace", path).Encode(), "/catalogue?" + url.Values{"name": {path}}.Encode(), "/catalogue?" + url.Values{"kind": {path}}.Encode(),
			"/why/frame?" + with(deployment, "fitted", path).Encode(), "/map?" + with(deployment, "model", path+",llama_3_8b").Encode(),
		} {
			if got := led(s, target); strings.Contains(got.Body.String(), line) || strings.Contains(got.Body.String(), "root:") || got.Code == 500 {
				t.Errorf("%s: status %d: %.300s", target, got.Code, got.Body)
			}
		}
	}
}

// Who asks for the requests of a run that is too long to be kept is told so, and files that do not
// fit into memory end.
func TestLongRuns(t *testing.T) {
	got := get(patient(), "GET", "/load/requests?between=0:100&isl=8&model=llama_3_8b&num-prompts=300000&osl=1&rate=5000&system=H200", nil)
	if got.Code != 400 || !strings.Contains(got.Body.String(), "up to 200,000 requests") {
		t.Errorf("status %d: %.200s", got.Code, got.Body)
	}
	if _, err := written("", func(w io.Writer) error {
		for block := make([]byte, 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return err
			}
		}
	}); !errors.Is(err, errLarge) {
		t.Errorf("a file without end: %v", err)
	}
}

// Bodies are bounded, and what is uploaded is kept in memory under a name that questions may say.
func TestBodies(t *testing.T) {
	s := patient()
	large := bytes.Repeat([]byte(" "), 2<<20)
	for _, path := range []string{"/api/v1/plan", "/api/v1/check"} {
		if got := get(s, "POST", path, bytes.NewReader(large)); got.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: 2 MiB have status %d", path, got.Code)
		}
	}
	if got := get(s, "POST", "/catalogue", strings.NewReader("text="+string(bytes.Repeat([]byte("a"), 2<<20))), header("Content-Type", "application/x-www-form-urlencoded")); got.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long text has status %d", got.Code)
	}
	send := func(name string, data []byte) *httptest.ResponseRecorder {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		form.WriteField("back", "/load?model=llama_3_8b&system=H200")
		form.WriteField("setting", "trace")
		file, _ := form.CreateFormFile("file", name)
		file.Write(data)
		form.Close()
		return get(s, "POST", "/uploads", &body, header("Content-Type", form.FormDataContentType()))
	}
	full := make([]byte, mostUpload+1)
	if got := send("full.csv", full[1:]); got.Code != 303 {
		t.Errorf("64 MiB have status %d", got.Code)
	}
	if got := send("large.csv", full); got.Code != http.StatusRequestEntityTooLarge || !strings.Contains(got.Body.String(), "64 MiB") {
		t.Errorf("a byte more has status %d: %.300s", got.Code, got.Body)
	}
	if to := send("数据.csv", []byte("x")).Header().Get("Location"); !strings.HasSuffix(to, ".csv") {
		t.Errorf("a name in Chinese becomes %s", to)
	}
	got := send("../../my trace.csv", []byte("arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1,300,30\n2,50,5\n"))
	to := got.Header().Get("Location")
	if got.Code != 303 || !strings.HasPrefix(to, "/load?model=llama_3_8b&system=H200&trace=") || strings.Contains(to, "..") {
		t.Fatalf("status %d to %q", got.Code, to)
	}
	if page := get(s, "GET", "/api/v1/simulate?"+strings.TrimPrefix(to, "/load?"), nil); page.Code != 200 || !strings.Contains(page.Body.String(), `"completed": 3`) {
		t.Errorf("the trace: status %d: %.400s", page.Code, page.Body)
	}
	if gone := get(s, "GET", "/load?model=llama_3_8b&system=H200&trace=AbCd_-12-mine.csv", nil); gone.Code != 400 || !strings.Contains(gone.Body.String(), "AbCd_-12-mine.csv is not here: upload it again") {
		t.Errorf("a file of somebody else: status %d", gone.Code)
	}
	for range keptUploads {
		s.keep("another", nil)
	}
	if n := len(s.held()); n != keptUploads {
		t.Errorf("%d files are kept", n)
	}
}

// A mistake of the program is an answer with a number that the log has, too, and no end of the
// server.
func TestMistakes(t *testing.T) {
	s := patient()
	var log bytes.Buffer
	s.log = &log
	broken := s.guarded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a mistake") }))
	r := httptest.NewRequest("GET", "/api/v1/plan", nil)
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer "+testKey)
	w := httptest.NewRecorder()
	broken.ServeHTTP(w, r)
	if err := parallel.Caught(func() error {
		return s.work.do(t.Context(), time.Hour, func(context.Context) error { return &parallel.Panic{Value: "in a part of the work"} })
	})(); err == nil || !strings.Contains(err.Error(), "in a part of the work") {
		t.Errorf("a mistake in a part of the work is taken for a problem of the question: %v", err)
	}
	_, id, _ := strings.Cut(w.Body.String(), "under ")
	id, _, _ = strings.Cut(id, `"`)
	if w.Code != 500 || len(id) < 6 || !strings.Contains(log.String(), "failure "+id) || strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("status %d, %s, log %s", w.Code, w.Body, &log)
	}
}

// As many answers are computed at a time as there is room for; others wait, and too many are turned
// away.
func TestBusy(t *testing.T) {
	w := newWork(1, 1)
	begun, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 2)
	work := func() {
		done <- w.do(context.Background(), time.Hour, func(context.Context) error { begun <- struct{}{}; <-end; return nil })
	}
	go work()
	<-begun
	go work()
	for w.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := w.do(context.Background(), time.Hour, func(context.Context) error { return nil }); !errors.Is(err, errBusy) {
		t.Errorf("a third is answered: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	end <- struct{}{}
	<-begun
	if err := w.do(gone, time.Hour, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone is answered: %v", err)
	}
	end <- struct{}{}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := w.do(context.Background(), time.Nanosecond, func(ctx context.Context) error { <-ctx.Done(); return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("what takes too long is %v", err)
	}
}

// Connections beyond a number are closed at once, and places are given back.
func TestManyConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := &bounded{Listener: l, free: make(chan struct{}, 2)}
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			c, err := b.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	dial()
	first := <-accepted
	<-accepted
	if _, err := dial().Read(make([]byte, 1)); !errors.Is(err, io.EOF) && err == nil {
		t.Errorf("a third connection stays open: %v", err)
	}
	first.Close()
	first.Close()
	dial()
	<-accepted
	if len(b.free) != 2 {
		t.Errorf("%d places are taken", len(b.free))
	}
}

// The server ends with its context, and so do requests that wait.
func TestEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := patient()
	for range cap(s.work.running) {
		s.work.running <- struct{}{} // all are busy: the request waits
	}
	go func() { ended <- s.Serve(ctx, l) }()
	asked := make(chan error, 1)
	go func() {
		r, _ := http.NewRequest("GET", "http://"+l.Addr().String()+"/api/v1/estimate?model=llama_3_8b&system=H200", nil)
		r.Header.Set("Authorization", "Bearer "+testKey)
		_, err := http.DefaultClient.Do(r)
		asked <- err
	}()
	for s.work.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended by %v", err)
	}
	<-asked
}
