package emulate

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"throughline/deploy"
	"throughline/serving/simulate"
	"throughline/workload"
)

// steps take a time of their own, and more for what they do.
type steps struct{ step, token float64 }

func (s steps) Seconds(w *simulate.Work) float64 {
	return s.step + s.token*float64(w.Tokens()+w.Decodes)
}
func (steps) Bounds() []int { return nil }

// servers is a pool of equal servers.
func servers(n, running int, times simulate.Times) simulate.Options {
	return simulate.Options{Pools: []simulate.Pool{{Servers: n, Ranks: 1, Times: times, Policy: simulate.Policy{
		Scheduling:  deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 8192, Sequences: running},
		Blocks:      1 << 20,
		BlockTokens: 16,
	}}}}
}

// config is a small emulator: steps of 5 ms, answers of 8 tokens.
func config() Config {
	return Config{Simulation: servers(1, 64, steps{5e-3, 0}), Model: "tiny", Context: 1000, Speed: 1, Connections: 100, Answers: workload.Length{Mean: 8, Kind: "fixed"}}
}

// started is an emulator that serves, and how it is stopped: which reports what Serve did.
func started(t testing.TB, c Config) (e *Emulator, addr string, stop func() error) {
	t.Helper()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return e, l.Addr().String(), stop
}

// seen is a stream as its client saw it.
type seen struct {
	sent     time.Time
	got      []time.Time // events with tokens
	stamps   []float64   // of the simulation
	finished time.Time
	err      error
}

// ask sends a request for a stream, and reads it to its end.
func ask(addr string, input, output int) (s seen) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return seen{err: err}
	}
	defer conn.Close()
	return askOn(conn, input, output)
}

func askOn(conn net.Conn, input, output int) (s seen) {
	body := fmt.Sprintf(`{"model":"tiny","prompt":[%s1],"max_tokens":%d,"ignore_eos":true,"stream":true}`, strings.Repeat("1,", input-1), output)
	s.got, s.stamps = make([]time.Time, 0, output), make([]float64, 0, output)
	s.sent = time.Now()
	if _, s.err = fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Simulated-Time: 1\r\nContent-Length: %d\r\n\r\n%s", len(body), body); s.err != nil {
		return s
	}
	r := bufio.NewReaderSize(conn, 1024)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			s.err = err
			return s
		}
		switch {
		case bytes.HasPrefix(line, []byte(": ")):
			at, err := strconv.ParseFloat(string(bytes.TrimSpace(line[2:])), 64)
			if err != nil {
				s.err = err
				return s
			}
			s.got, s.stamps = append(s.got, time.Now()), append(s.stamps, at)
		case bytes.HasPrefix(line, []byte("data: [DONE]")):
			s.finished = time.Now()
			if len(s.got) != output {
				s.err = fmt.Errorf("%d tokens, not %d", len(s.got), output)
			}
			return s
		case bytes.HasPrefix(line, []byte(`data: {"error"`)), bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")):
			s.err = fmt.Errorf("%s", line)
			return s
		}
	}
}

// untilStdinEnds is a context that ends with the process that started this one.
func untilStdinEnds() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}
