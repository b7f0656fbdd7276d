package emulate

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"throughline/internal/test/long"
	"throughline/internal/test/racing"
	"throughline/internal/test/resident"
)

// asServer makes this binary a server of its own, whose memory is that of the emulator alone:
// servers, running and the seconds of a step.
const asServer = "THROUGHLINE_TEST_EMULATE"

func TestMain(m *testing.M) {
	if words := os.Getenv(asServer); words != "" {
		serveAlone(words)
		return
	}
	os.Exit(m.Run())
}

func serveAlone(words string) {
	var n, running int
	var step float64
	fmt.Sscan(words, &n, &running, &step)
	c := config()
	c.Simulation, c.Context, c.Connections = servers(n, running, steps{step, 0}), 1<<20, 20_000
	e, err := New(c)
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	ctx, cancel := untilStdinEnds()
	defer cancel()
	if err := e.Serve(ctx, l); err != nil {
		panic(err)
	}
}

// TestMany: so many streams at a time take little memory, and when all are open their tokens come
// when the simulation says.
func TestMany(t *testing.T) {
	if racing.Enabled {
		t.Skip("the race detector takes memory and time of its own")
	}
	streams, tokens := 1000, 10
	if long.Mode() {
		streams, tokens = 10_000, 24
	}
	for try := 0; ; try++ {
		off, noise := many(t, streams, 0.5, tokens)
		switch {
		case off <= 5e-3:
			return
		case noise > 2.5e-3: // half of what is allowed
			t.Skipf("the machine is busy with other things: a sleep ends %.1f ms late (p99)", 1e3*noise)
		case try == 2:
			t.Fatalf("the p99 of the error of ITL is %.3f ms", 1e3*off)
		}
	}
}

// sleepy measures how late sleeps end meanwhile; it is what the machine does to anyone. The p99
// comes when done is closed.
func sleepy(done chan struct{}) chan float64 {
	out := make(chan float64, 1)
	go func() {
		const nap = 10 * time.Millisecond
		var late []float64
		for {
			start := time.Now()
			time.Sleep(nap)
			late = append(late, (time.Since(start) - nap).Seconds())
			select {
			case <-done:
				out <- quantile(late, 0.99)
				return
			default:
			}
		}
	}()
	return out
}

func quantile(list []float64, p float64) float64 {
	slices.Sort(list)
	return list[int(p*float64(len(list)-1))]
}

// many opens streams against a server of its own, whose steps take so long. It reports the p99 of
// the error of ITL, and that of sleeps meanwhile.
func many(t *testing.T, streams int, step float64, tokens int) (off, noise float64) {
	const running = 250
	servers := (streams + running - 1) / running
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), asServer+"="+fmt.Sprint(servers, running, step))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr = strings.TrimSpace(addr)
	if one := ask(addr, 1, 1); one.err != nil { // what the first request takes is not that of a stream
		t.Fatal(one.err)
	}
	before := resident.Of(t, cmd.Process.Pid)
	done := make(chan struct{})
	naps := sleepy(done)
	all := make([]seen, streams)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = ask(addr, 16, tokens) })
		// Servers that take turns begin one after another, spread over a step; the other requests
		// follow quickly.
		pause := step / float64(servers)
		if i >= servers {
			pause = 100e-6
		}
		time.Sleep(time.Duration(1e9 * pause))
	}
	time.Sleep(time.Duration(2 * step * 1e9))
	peak := resident.Of(t, cmd.Process.Pid)
	wg.Wait()
	close(done)
	noise = <-naps
	var late []float64
	var open time.Time // all streams
	for i := range all {
		if all[i].err != nil {
			t.Fatalf("stream %d: %v", i, all[i].err)
		}
		if first := all[i].got[0]; first.After(open) {
			open = first
		}
	}
	for i := range all {
		late = append(late, all[i].errors(open)...)
	}
	if len(late) < streams {
		t.Fatalf("only %d tokens came when all streams were open", len(late))
	}
	each := float64(peak-before) / float64(streams) / 1024
	off = quantile(late, 0.99)
	t.Logf("%d streams of %d tokens, a step takes %g s: %.1f KB each; error of ITL p50 %.3f ms, p99 %.3f ms, max %.3f ms; sleeps end %.3f ms late (p99)",
		streams, tokens, step, each, 1e3*quantile(late, 0.5), 1e3*off, 1e3*quantile(late, 1), 1e3*noise)
	if each > 64 {
		t.Errorf("%.1f KB for each stream", each)
	}
	return off, noise
}

// errors are how far the times between tokens from a time on are off those of the simulation, in
// seconds.
func (s *seen) errors(from time.Time) (out []float64) {
	for i := 1; i < len(s.got); i++ {
		if s.got[i-1].Before(from) {
			continue
		}
		out = append(out, math.Abs(s.got[i].Sub(s.got[i-1]).Seconds()-(s.stamps[i]-s.stamps[i-1])))
	}
	return out
}
