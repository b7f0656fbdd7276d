package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is one that clients ask.
type server struct {
	args []string
	// requests are method, path and body, parted by spaces.
	requests []string
}

var servers = []*server{
	{args: []string{"emulate", "--model", "Llama-3.1-8B", "--system", "H200", "--port", "0", "--speed", "100"}, requests: []string{
		"GET /v1/models", "GET /metrics", "GET /health", `POST /v1/completions {"model":"m","prompt":"a b c","max_tokens":50,"stream":true}`,
		`POST /v1/completions {"model":"m","prompt":"a","max_tokens":5}`, `POST /v1/completions {"max_tokens":-1`, "POST /v1/chat/completions []",
	}},
	{args: []string{"web", "--listen", "127.0.0.1:0"}, requests: []string{
		"GET /", "GET /why?model=Llama-3.1-8B&system=H200", "GET /catalogue", "GET /why?model=none", "POST /api/v1/estimate {", "GET /..%2f..%2fetc/passwd",
	}},
}

// Clients come at once, so many of them in a wave.
const clients = 8

// Growth that is allowed between the middle of the time and its end: what caches and the collector
// of Go hold.
const (
	moreMemory = 1.5
	moreFiles  = 8
)

// mostGoroutines may be left when all clients have gone, two of each connection that is kept for
// the next request among them; a server has been asked thousands of times by then.
const mostGoroutines = 20 + 2*clients

func (s *server) soak(ctx context.Context, program string, random *rand.Rand, until time.Time) error {
	cmd := exec.CommandContext(ctx, program, s.args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	at, goroutines, err := listening(cmd)
	if err != nil {
		return err
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	base, err := url.Parse(at)
	if err != nil {
		return err
	}
	middle := time.Now().Add(time.Until(until) / 2)
	var before, after size
	asked := 0
	for time.Now().Before(until) {
		if before == (size{}) && time.Now().After(middle) {
			if before, err = sizeOf(cmd.Process.Pid); err != nil {
				return err
			}
		}
		s.wave(ctx, base, random.Uint64())
		asked += clients
	}
	time.Sleep(2 * time.Second) // connections end
	if after, err = sizeOf(cmd.Process.Pid); err != nil {
		return fmt.Errorf("%s has ended after %d requests: %w", s.args[0], asked, err)
	}
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	left := <-goroutines
	fmt.Printf("%s: %d requests, half of them rude; middle and end: %v, %v; %d goroutines\n", s.args[0], asked, before, after, left)
	if left == 0 || left > mostGoroutines {
		return fmt.Errorf("%s has %d goroutines when its clients have gone", s.args[0], left)
	}
	if float64(after.memory) > moreMemory*float64(before.memory) || after.files > before.files+moreFiles {
		return fmt.Errorf("%s grows: %v, then %v", s.args[0], before, after)
	}
	return nil
}

// wave lets clients ask at once, every second of them rudely.
func (s *server) wave(ctx context.Context, base *url.URL, seed uint64) {
	// The page takes its key from the first address, and keeps it in a cookie.
	jar := map[string]string{}
	if key := base.Query().Get("key"); key != "" {
		jar["key"] = key
	}
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			request := strings.SplitN(s.requests[random.IntN(len(s.requests))], " ", 3)
			if i%2 == 1 {
				rude(base.Host, request, random)
				return
			}
			body := strings.Join(request[2:], "")
			r, err := http.NewRequestWithContext(ctx, request[0], "http://"+base.Host+request[1], strings.NewReader(body))
			if err != nil {
				return // of a path that no client can send
			}
			if key := jar["key"]; key != "" {
				r.Header.Set("Authorization", "Bearer "+key)
			}
			if answer, err := http.DefaultClient.Do(r); err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		})
	}
	wait.Wait()
}

// rude sends half a request, or leaves before the answer, or says what is no request.
func rude(host string, request []string, random *rand.Rand) {
	c, err := net.DialTimeout("tcp", host, time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\n%s", request[0], request[1], host, strings.Join(request[2:], ""))
	switch random.IntN(3) {
	case 0:
		text = text[:random.IntN(len(text))]
	case 1:
		text = strings.Repeat("\x00\xff", 1000)
	}
	io.WriteString(c, text)
	time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
}

// size is what a process holds.
type size struct{ memory, files, threads int }

func (s size) String() string {
	return fmt.Sprintf("%d MB, %d descriptors, %d threads", s.memory>>10, s.files, s.threads)
}

// sizeOf reads the system's files of a process.
func sizeOf(pid int) (s size, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(text)) {
		fmt.Sscanf(line, "VmRSS: %d", &s.memory)
		fmt.Sscanf(line, "Threads: %d", &s.threads)
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	s.files = len(open)
	return s, err
}
