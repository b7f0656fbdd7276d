package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// A thousand connections that send half a request are bounded in number and in time, and a request
// after them is answered.
func TestSlowConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := patient()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), l) }()
	before := runtime.NumGoroutine()
	var slow []net.Conn
	defer func() {
		for _, c := range slow {
			c.Close()
		}
	}()
	const many = 1000
	for i := range many {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			break // the server has closed what waited
		}
		slow = append(slow, c)
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: %d", i)
	}
	if len(slow) < mostOpen {
		t.Errorf("only %d connections", len(slow))
	}
	if more := runtime.NumGoroutine() - before; more > 2*mostOpen+50 {
		t.Errorf("%d goroutines for %d connections", more, len(slow))
	}
	began := time.Now()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		r, _ := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+"/", nil)
		r.Header.Set("Authorization", "Bearer "+testKey)
		got, err := client.Do(r)
		if err == nil {
			io.Copy(io.Discard, got.Body)
			got.Body.Close()
			if got.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Since(began) > 10*headerTime {
			t.Fatalf("no answer after %v: %v", time.Since(began), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for end := time.Now().Add(10 * headerTime); runtime.NumGoroutine()-before > 50; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines stay", runtime.NumGoroutine()-before)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("the server has ended: %v", err)
	default:
	}
}
