package bench

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"throughline/workload"
)

// checkedGap is the time between two tokens of a stream of the self-check's server.
const checkedGap = 100 * time.Millisecond

// SelfCheck measures how late this program reads what a server writes: its own server streams
// tokens to clients, one every 100 ms, with the time in each chunk. Staggered streams write at
// different times. The server takes its share of the processors.
func SelfCheck(ctx context.Context, streams, tokens int, staggered bool) (*Report, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: &pacer{tokens: tokens, streams: streams, staggered: staggered}}
	go func() { _ = server.Serve(listener) }() // ends with the close below
	defer server.Close()
	o := &Options{
		Terms: workload.Terms{Backend: "openai", Traffic: workload.Traffic{
			Requests: streams, Rate: math.Inf(1), Turns: 1, Input: workload.Fixed(1), Output: workload.Fixed(tokens),
		}},
		BaseURL: "http://" + listener.Addr().String(), Model: "self-check", Protocol: workload.Protocol{Timeout: time.Hour.Seconds()},
	}
	b, err := New(ctx, o)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return b.Run(ctx, o.Traffic.Rate)
}

// HeldUp is the longest time in seconds for which the machine suspends programs that only read the
// clock, one per processor, during a second: no program is less late while others have the
// processors, too.
func HeldUp() (most float64) {
	found := make(chan float64)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			worst, last := 0.0, time.Now()
			for begin := last; last.Sub(begin) < time.Second; {
				now := time.Now()
				worst = max(worst, now.Sub(last).Seconds())
				last = now
			}
			found <- worst
		}()
	}
	for range runtime.GOMAXPROCS(0) {
		most = max(most, <-found)
	}
	return most
}

// pacer is a server that writes tokens at a pace.
type pacer struct {
	tokens, streams int
	staggered       bool
	next            atomic.Int64
	epoch           atomic.Int64
}

func (p *pacer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number := p.next.Add(1) - 1
	p.epoch.CompareAndSwap(0, time.Now().UnixNano())
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	// All streams have begun when the first tokens are due.
	due := time.Unix(0, p.epoch.Load()).Add(time.Second)
	if p.staggered {
		due = due.Add(checkedGap * time.Duration(number) / time.Duration(p.streams))
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	var buf []byte
	for i := range p.tokens {
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		buf = append(buf[:0], `data: {"id":"self-check","object":"text_completion","created":0,"model":"self-check","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null}],"`+WrittenKey+`":`...)
		buf = append(strconv.AppendInt(buf, time.Now().UnixNano(), 10), "}\n\n"...)
		if _, err := w.Write(buf); err != nil || out.Flush() != nil {
			return
		}
		due = due.Add(checkedGap)
		if i < p.tokens-1 {
			timer.Reset(time.Until(due))
		}
	}
	fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", p.tokens)
}
