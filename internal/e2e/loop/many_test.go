package loop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"throughline/internal/test/long"
	"throughline/internal/test/racing"
	"throughline/internal/test/resident"
)

// What TestMany lets run: streams of replicas that take steps of equal length one after another.
const (
	manyStreams, manyReplicas, manyTokens = 10_000, 40, 24
	manyStep                              = 0.5 // seconds
	mostBytes                             = 64 << 10
	mostError                             = 5e-3 // seconds, p99
)

// TestMany: ten thousand streams at a time take up to 64 KB each on both sides, and tokens come
// when they should.
func TestMany(t *testing.T) {
	if !long.Mode() || racing.Enabled {
		t.Skip("ten thousand streams are opened with THROUGHLINE_TEST_LONG alone, without the race detector")
	}
	dir := t.TempDir()
	steps, trace, requests := filepath.Join(dir, "steps.csv"), filepath.Join(dir, "trace.csv"), filepath.Join(dir, "requests.jsonl")
	write(t, steps, equalSteps())
	last := write(t, trace, spreadArrivals())
	url, server := emulated(t, append(strings.Fields("--model Llama-3.1-8B --system H200 --engine none --policy chunked --max-connections 20000 --step-times"), steps,
		"--replicas", strconv.Itoa(manyReplicas))...)
	before := resident.Of(t, server.Process.Pid)
	client := program("bench", "--backend", "vllm", "--base-url", url, "--trace", trace, "--warmup-requests", "1", "--requests-out", requests, "--disable-tqdm")
	var said bytes.Buffer
	client.Stdout, client.Stderr = &said, &said
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	peak := peaks(t, client, server)
	if err := client.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	errors := itlErrors(t, requests)
	slices.Sort(errors)
	at := func(p float64) float64 { return errors[int(p*float64(len(errors)-1))] }
	perServer, perClient := float64(peak[1]-before)/manyStreams, float64(peak[0])/manyStreams
	t.Logf("%d streams, all open %.1f s after the first: the server takes %.1f KB for each, the client %.1f KB with all that it is; error of ITL p50 %.2f ms, p99 %.2f ms, at most %.2f ms of %d",
		manyStreams, last, perServer/1024, perClient/1024, 1e3*at(0.5), 1e3*at(0.99), 1e3*at(1), len(errors))
	if perServer > mostBytes || perClient > mostBytes {
		t.Error("a stream takes more than 64 KB")
	}
	if at(0.99) > mostError {
		unlessHeldUp(t, mostError/2, fmt.Sprintf("the p99 of the error of ITL is %.2f ms", 1e3*at(0.99)))
	}
}

// write writes lines to a file, and returns the last number at the front of one.
func write(t *testing.T, name string, lines []string) (last float64) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(lines[len(lines)-1], ",")
	last, _ = strconv.ParseFloat(text, 64)
	return last
}

// equalSteps is a table of steps that all take as long.
func equalSteps() []string {
	ms := fmt.Sprintf("%g", 1e3*manyStep)
	out := []string{"n_decode,sum_ctx,prefill_tokens,prefill_seqs,wall_ms"}
	for _, n := range []int{1, manyStreams / manyReplicas} {
		out = append(out, fmt.Sprintf("%d,%d,0,0,%s", n, 16*n, ms), fmt.Sprintf("%d,%d,0,0,%s", n, 64*n, ms),
			fmt.Sprintf("0,0,%d,%d,%s", 16*n, n, ms), fmt.Sprintf("%d,%d,%d,%d,%s", n, 16*n, 16*n, n, ms))
	}
	return out
}

// spreadArrivals lets the replicas, which take turns, begin one after another over a step; the
// other requests follow quickly.
func spreadArrivals() []string {
	out := []string{"arrived_at,num_prefill_tokens,num_decode_tokens"}
	at := 0.0
	for i := range manyStreams {
		out = append(out, fmt.Sprintf("%.6f,16,%d", at, manyTokens))
		if i < manyReplicas {
			at += manyStep / manyReplicas
		} else {
			at += 300e-6
		}
	}
	return out
}

// peaks are the largest sizes of processes until the first has ended.
func peaks(t *testing.T, list ...*exec.Cmd) []int64 {
	t.Helper()
	out := make([]int64, len(list))
	for {
		for i, cmd := range list {
			size := resident.Of(t, cmd.Process.Pid)
			if size == 0 {
				return out
			}
			out[i] = max(out[i], size)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// itlErrors is how far the times between tokens are off those of a step, from when all streams are
// open, in seconds.
func itlErrors(t *testing.T, file string) (out []float64) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type request struct {
		First  float64      `json:"first_token"`
		Chunks [][2]float64 `json:"chunks"`
		Error  string       `json:"error"`
	}
	var all []request
	open := 0.0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Error != "" || len(r.Chunks) != manyTokens {
			t.Fatalf("a stream of %d chunks, %s", len(r.Chunks), r.Error)
		}
		all = append(all, r)
		open = max(open, r.First)
	}
	if len(all) != manyStreams {
		t.Fatalf("%d requests", len(all))
	}
	var gaps []float64
	for _, r := range all {
		for i := 1; i < len(r.Chunks); i++ {
			if r.Chunks[i-1][0] >= open {
				gaps = append(gaps, r.Chunks[i][0]-r.Chunks[i-1][0])
			}
		}
	}
	if len(gaps) < manyStreams {
		t.Fatalf("only %d tokens came when all streams were open", len(gaps))
	}
	for _, g := range gaps {
		out = append(out, math.Abs(g-manyStep))
	}
	return out
}
