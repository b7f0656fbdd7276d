package loop

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"throughline/internal/runs"
	"throughline/internal/test/racing"
)

// recorded is the folder of runs of a real engine: transformers' continuous batching on one H200,
// measured by bench.
const recorded = "../../../measure/H200_serving"

// stream is a request of them, as measure/streams.py writes it: times in hundredths of a
// millisecond.
type stream struct {
	Run     string  `json:"run"`
	Arrival float64 `json:"arrival"`
	Input   int     `json:"input"`
	Chunks  []int   `json:"chunks"`
	Finish  int     `json:"finish"`
}

const tick = 1e-5 // seconds

// streams are the requests of a run, in the order in which they came; of all runs where it has no
// name.
func streams(t *testing.T, run string) (out []stream) {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, "streams.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s stream
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if run == "" || s.Run == run {
			out = append(out, s)
		}
	}
	if len(out) == 0 || lines.Err() != nil {
		t.Fatal("no streams of "+run, lines.Err())
	}
	return out
}

// results are what bench said of the runs, by tag.
func results(t *testing.T) map[string]map[string]any {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(recorded, "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := runs.Results(src)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, r := range list {
		out[r["tag"].(string)] = r
	}
	return out
}

// TestStreamsAreTheRuns: the streams that are kept have the figures that were reported.
func TestStreamsAreTheRuns(t *testing.T) {
	sums := map[string]*struct{ requests, tokens, gaps, ttft, itl, e2e float64 }{}
	for _, s := range streams(t, "") {
		if sums[s.Run] == nil {
			sums[s.Run] = &struct{ requests, tokens, gaps, ttft, itl, e2e float64 }{}
		}
		sum := sums[s.Run]
		sum.requests++
		sum.tokens += float64(len(s.Chunks))
		sum.ttft += float64(s.Chunks[0])
		for i, c := range s.Chunks {
			sum.e2e += float64(c)
			if i > 0 {
				sum.itl += float64(c)
				sum.gaps++
			}
		}
		sum.e2e += float64(s.Finish)
	}
	all := results(t)
	if len(sums) != len(all) {
		t.Errorf("streams of %d runs, results of %d", len(sums), len(all))
	}
	for run, sum := range sums {
		said := all[run]
		for key, got := range map[string]float64{
			"completed": sum.requests, "total_output_tokens": sum.tokens,
			"mean_ttft_ms": sum.ttft / sum.requests / 100, "mean_itl_ms": sum.itl / sum.gaps / 100, "mean_e2e_latency_ms": sum.e2e / sum.requests / 100,
		} {
			if want := said[key].(float64); math.Abs(got-want) > 1e-3*want {
				t.Errorf("%s: %s %v, reported %v", run, key, got, want)
			}
		}
	}
}

// TestTablesAreTheRuns: the tables of docs/validation/engine.md have the runs as they were
// reported, each once.
func TestTablesAreTheRuns(t *testing.T) {
	all := results(t)
	for _, engine := range []string{"graphs", "eager"} {
		for _, part := range []string{"_fit", ""} {
			f, err := os.Open(filepath.Join(recorded, engine+part+".csv"))
			if err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(f).ReadAll()
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows[1:] {
				tag := row[slices.Index(rows[0], "tag")]
				want, err := runs.Of(all[tag])
				if err != nil || !strings.HasPrefix(tag, engine) {
					t.Fatal(tag, err)
				}
				for i, column := range rows[0] {
					if text, measured := want[column]; measured && text != row[i] {
						t.Errorf("%s: %s %s, reported %s", tag, column, row[i], text)
					}
				}
				delete(all, tag)
			}
		}
	}
	if len(all) > 0 {
		t.Errorf("%d runs are in no table", len(all))
	}
}

// player is a server that plays recorded streams, in the order in which requests come: as long
// after each as it was recorded or, in an open loop, as long after the first of them, as requests
// come by themselves.
type player struct {
	streams []stream
	speed   float64
	open    bool
	mu      sync.Mutex
	start   time.Time // of the first
	next    int
}

// take is the stream of the next request, and when that came; nil: it is one of the warm-up, which
// ends before the run begins.
func (p *player) take(warm int) (*stream, time.Time) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next++; p.next <= warm || p.next-warm > len(p.streams) {
		return nil, now
	}
	s := &p.streams[p.next-warm-1]
	if p.start.IsZero() {
		p.start = now
	}
	if p.open {
		now = p.start.Add(p.after(s.Arrival - p.streams[0].Arrival))
	}
	return s, now
}

// after is how long so many recorded seconds take.
func (p *player) after(seconds float64) time.Duration {
	return time.Duration(seconds / p.speed * float64(time.Second))
}

// warmUps is what bench sends before a run: one that shows whether token ids are taken, and the
// warm-up.
const warmUps = 2

func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"random","object":"model"}]}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	var asked struct {
		Prompt []int `json:"prompt"`
		Most   int   `json:"max_tokens"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, came := p.take(warmUps)
	if s == nil {
		s = &stream{Input: len(asked.Prompt), Chunks: make([]int, asked.Most)}
	}
	if err != nil || len(asked.Prompt) != s.Input || asked.Most != len(s.Chunks) {
		http.Error(w, fmt.Sprintf("a prompt of %d and %d tokens, recorded %d and %d", len(asked.Prompt), asked.Most, s.Input, len(s.Chunks)), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	at := 0
	until := func(ticks int) {
		at += ticks
		time.Sleep(time.Until(came.Add(p.after(float64(at) * tick))))
	}
	for _, c := range s.Chunks {
		until(c)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"text\":\" t\"}]}\n\n")
		_ = flush.Flush()
	}
	until(s.Finish)
	fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", s.Input, len(s.Chunks))
}

// TestReplay: bench reports of recorded streams what it reported when they were recorded: a closed
// loop and an open one.
func TestReplay(t *testing.T) {
	if racing.Enabled {
		t.Skip("the race detector takes time of its own")
	}
	for tag, speed := range map[string]float64{"graphs-c8": 2, "graphs-open-fast": 1} {
		t.Run(tag, func(t *testing.T) {
			if testing.Short() && speed == 1 {
				t.Skip("takes as long as it took")
			}
			said := results(t)[tag]
			count := func(key string) string { return strconv.Itoa(int(said[key].(float64))) }
			load := []string{"--num-prompts", count("completed"), "--isl", count("random_input_len"), "--osl", count("random_output_len"), "--seed", count("seed")}
			clients, closed := said["max_concurrency"].(float64)
			if closed {
				load = append(load, "--max-concurrency", strconv.Itoa(int(clients)))
			} else {
				load = append(load, "--rate", fmt.Sprint(speed*said["request_rate"].(float64)))
			}
			for try := 0; ; try++ {
				server := httptest.NewServer(&player{streams: streams(t, tag), speed: speed, open: !closed})
				measured := result(t, append([]string{"bench", "--backend", "vllm", "--base-url", server.URL}, load...)...)
				server.Close()
				for _, key := range []string{"completed", "failed", "total_input_tokens", "total_output_tokens", "chunks", "answers_without_usage"} {
					if measured[key] != said[key] {
						t.Fatalf("%s: %v, recorded %v", key, measured[key], said[key])
					}
				}
				wrong := off(t, inTime(measured, speed), said)
				if len(wrong) == 0 {
					return
				}
				if try == 2 {
					unlessHeldUp(t, heldUp, strings.Join(wrong, "; "))
				}
			}
		})
	}
}

// inTime is what would have been measured of a run that was played faster.
func inTime(measured map[string]any, speed float64) map[string]any {
	out := map[string]any{}
	for key, v := range measured {
		if n, ok := v.(float64); ok && strings.HasSuffix(key, "_ms") {
			out[key] = n * speed
		} else if ok {
			out[key] = n / speed // rates
		}
	}
	return out
}
