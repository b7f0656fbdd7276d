package emulate

import (
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func faults(t *testing.T, words ...string) []Fault {
	t.Helper()
	f, err := ParseFaults(strings.Split(strings.Join(words, ","), ","))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFaultWords: faults are read with their values, and all mistakes are told.
func TestFaultWords(t *testing.T) {
	got := faults(t, "errors:0.25", "die:replica=1,after=2min,for=500ms", "slow-start:30s", "stall:after=1,for=2s,every=10s")
	if len(got) != 4 || got[0].or("share", 0) != 0.25 || got[1].or("replica", 0) != 1 || got[1].or("after", 0) != 120 || got[1].or("for", 0) != 0.5 || got[2].or("for", 0) != 30 || got[3].or("every", 0) != 10 {
		t.Errorf("%+v", got)
	}
	for words, want := range map[string]string{
		"error:0.1":          `"errors:"`,
		"after=3s":           "starts no fault",
		"errors:2":           "share must be a share from 0 to 1",
		"errors:":            "errors needs share",
		"errors:x=1":         `"x" is not one of`,
		"die:1":              "needs a name, like replica=1",
		"die:replica=1":      "die needs after",
		"die:replica=1.5":    "a whole number",
		"stall:after=1d":     "a time like 30s",
		"slow-start:-1s":     "from 0",
		"errors:1,status=99": "status must be",
		"errors:NaN":         "share must be",
	} {
		if _, err := ParseFaults(strings.Split(words, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", words, err, want)
		}
	}
	if err := CheckFaults(got, 1); err == nil || !strings.Contains(err.Error(), "there is no replica 1; the last one is 0") {
		t.Error(err)
	}
}

// TestFaultTable: the manual has a row for every fault and every value of it.
func TestFaultTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/emulate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range faultKinds {
		row := ""
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| `"+k.name+":") {
				row = line
			}
		}
		for _, f := range k.fields {
			if f.name != k.bare && !strings.Contains(row, f.name+"=") {
				t.Errorf("docs/emulate.md: the row of %s does not tell of %s", k.name, f.name)
			}
		}
		if row == "" {
			t.Errorf("docs/emulate.md has no row of %s", k.name)
		}
	}
}

// TestErrors: the share of requests that is asked for is answered with an error.
func TestErrors(t *testing.T) {
	c := config()
	c.Faults, c.Speed = faults(t, "errors:0.3,status=429"), 100
	_, addr, _ := started(t, c)
	failed := 0
	const n = 300
	for range n {
		switch status, text := post(t, addr, "/v1/completions", `{"model":"tiny","prompt":"a","max_tokens":1}`); status {
		case 429:
			failed++
		case 200:
		default:
			t.Fatal(status, text)
		}
	}
	if sd := math.Sqrt(n * 0.3 * 0.7); math.Abs(float64(failed)-0.3*n) > 4*sd {
		t.Errorf("%d of %d failed", failed, n)
	}
}

// TestCut: a stream ends without a word, and its client notices.
func TestCut(t *testing.T) {
	c := config()
	c.Faults = faults(t, "cut:1")
	_, addr, _ := started(t, c)
	r, err := http.Post("http://"+addr+"/v1/completions", "", strings.NewReader(`{"model":"tiny","prompt":"a","max_tokens":8,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil || !strings.Contains(string(text), `"text":" the"`) || strings.Contains(string(text), "[DONE]") {
		t.Errorf("%v after %s", err, text)
	}
	// A stream of one token is cut behind it: there is no token less.
	if one, err := http.Post("http://"+addr+"/v1/completions", "", strings.NewReader(`{"model":"tiny","prompt":"a","max_tokens":1,"stream":true}`)); err != nil {
		t.Error(err)
	} else if text, err := io.ReadAll(one.Body); err == nil || strings.Contains(string(text), "[DONE]") {
		t.Errorf("%v after %s", err, text)
	}
	if r, err := http.Post("http://"+addr+"/v1/completions", "", strings.NewReader(`{"model":"tiny","prompt":"a"}`)); err == nil {
		r.Body.Close()
		t.Errorf("a whole answer: %d", r.StatusCode)
	}
}

// TestSlowStart: neither health nor requests succeed before.
func TestSlowStart(t *testing.T) {
	c := config()
	c.Faults, c.Speed = faults(t, "slow-start:20s"), 100
	_, addr, _ := started(t, c)
	health, _ := get(t, addr, "/health")
	status, text := post(t, addr, "/v1/completions", `{"model":"tiny","prompt":"a"}`)
	if health != 503 || status != 503 || !strings.Contains(text, "not_ready") {
		t.Errorf("%d, %d %s", health, status, text)
	}
	eventually(t, "health", func() bool { status, _ := get(t, addr, "/health"); return status == 200 })
	if status, text := post(t, addr, "/v1/completions", `{"model":"tiny","prompt":"a"}`); status != 200 {
		t.Error(status, text)
	}
}

// TestDie: streams of the replica that fails end with an error event, those of the other go on;
// then all requests go there.
func TestDie(t *testing.T) {
	c := config()
	c.Simulation.Pools[0].Servers = 2
	c.Faults = faults(t, "die:replica=1,after=300ms")
	_, addr, _ := started(t, c)
	texts := [2]chan string{make(chan string, 1), make(chan string, 1)}
	for i := range texts {
		go func() {
			_, text := post(t, addr, "/v1/completions", `{"model":"tiny","prompt":"a","max_tokens":150,"ignore_eos":true,"stream":true}`)
			texts[i] <- text
		}()
		time.Sleep(30 * time.Millisecond) // replicas take turns
	}
	if text := <-texts[0]; strings.Count(text, `"text"`) != 150 || strings.Contains(text, "error") {
		t.Errorf("the replica that lives: %s", text[max(0, len(text)-300):])
	}
	if text := <-texts[1]; !strings.HasSuffix(text, "\"code\":\"replica_failed\"}}\n\ndata: [DONE]\n\n") {
		t.Errorf("the replica that fails: %s", text[max(0, len(text)-300):])
	}
	for range 3 {
		if status, text := post(t, addr, "/v1/completions", `{"model":"tiny","prompt":"a","max_tokens":1}`); status != 200 {
			t.Error(status, text)
		}
	}
}

// TestDieAlone: without a replica nothing is healthy, until it comes back.
func TestDieAlone(t *testing.T) {
	c := config()
	c.Faults = faults(t, "die:replica=0,after=0s,for=400ms")
	_, addr, _ := started(t, c)
	time.Sleep(50 * time.Millisecond)
	health, _ := get(t, addr, "/health")
	status, text := post(t, addr, "/v1/completions", `{"model":"tiny","prompt":"a"}`)
	if health != 503 || status != 503 {
		t.Errorf("%d, %d %s", health, status, text)
	}
	eventually(t, "health", func() bool { status, _ := get(t, addr, "/health"); return status == 200 })
}

// TestStall: the time between two tokens is as long as the stall, again and again.
func TestStall(t *testing.T) {
	c := config()
	c.Faults = faults(t, "stall:after=300ms,for=200ms,every=500ms")
	_, addr, _ := started(t, c)
	s := ask(addr, 1, 150) // 0.75 s of steps
	if s.err != nil {
		t.Fatal(s.err)
	}
	long := 0
	for i := 1; i < len(s.stamps); i++ {
		if gap := s.stamps[i] - s.stamps[i-1]; math.Abs(gap-0.205) < 1e-6 {
			long++
		} else if math.Abs(gap-0.005) > 1e-6 {
			t.Errorf("%g s between tokens", gap)
		}
	}
	if long < 2 || long > 3 { // as it began
		t.Errorf("%d stalls", long)
	}
}
