// Package loop asks an emulated server with the load generator, and compares what comes out with
// what the simulation predicts: three commands of the program, each a process of its own.
package loop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"throughline/internal/bench"
	"throughline/internal/cli"
	"throughline/internal/test/racing"
)

// asProgram makes this binary the program.
const asProgram = "THROUGHLINE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// program is a command of the program.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// result runs a command and reads the result that it prints.
func result(t *testing.T, args ...string) map[string]any {
	t.Helper()
	cmd := program(append(args, "--json")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, &errs)
	}
	out := map[string]any{}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v: %v: %s", args, err, text)
	}
	return out
}

// emulated starts a server, and returns its address and its process, which ends with the test.
func emulated(t *testing.T, args ...string) (url string, cmd *exec.Cmd) {
	t.Helper()
	cmd = program(append([]string{"emulate", "--port", "0"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			return url, cmd
		}
	}
	t.Fatalf("it does not listen: %s", &errs)
	return "", nil
}

// compared are the figures that must agree, and how far apart they may be.
var compared = []struct {
	key   string
	allow float64
}{
	{"output_throughput", 0.02}, {"request_throughput", 0.02}, {"mean_ttft_ms", 0.02}, {"mean_itl_ms", 0.02},
	{"p99_ttft_ms", 0.05}, {"p99_itl_ms", 0.05}, {"mean_e2e_latency_ms", 0.02},
}

// heldUp is for how long the machine may hold programs up, in seconds: the shortest times to the
// first token are 92 ms, and a fiftieth of them is allowed.
const heldUp = 1.8e-3

// unlessHeldUp fails a test, or skips it where the machine holds programs up for longer than its
// figures may be off.
func unlessHeldUp(t *testing.T, most float64, wrong string) {
	t.Helper()
	if noise := bench.HeldUp(); noise > most {
		t.Skipf("the machine holds programs up for %.1f ms, more than what is compared here may be off: %s", 1e3*noise, wrong)
	}
	t.Fatal(wrong)
}

// TestAgrees: bench against emulate measures what simulate predicts. Steps take 17 ms and more, so
// that the way of a request matters little. These are loads whose figures do not hang on a
// millisecond: where arrivals are moved by up to 2 ms, which decides whether two prompts share a
// step, the P99 of ITL that simulate itself has for the long prompts changes by 27% with one of
// eight seeds (4), and by less than 0.2% with the others. Clients that wait send requests of equal
// length: which of several lengths comes first into an empty server is not the same in every run.
func TestAgrees(t *testing.T) {
	if racing.Enabled {
		t.Skip("the race detector takes time of its own")
	}
	deployment := strings.Fields("--model Llama-3.1-70B --system H100_SXM --tp 4 --engine vllm")
	url, _ := emulated(t, deployment...)
	for name, words := range map[string]string{
		"open loop":    "--rate 6 --isl 500 --osl 40 --random-range-ratio 0.5 --num-prompts 60 --seed 4",
		"long prompts": "--rate 3 --isl 2000 --osl 60 --random-range-ratio 0.5 --num-prompts 40 --seed 6",
		"closed loop":  "--concurrency 8 --isl 500 --osl 40 --num-prompts 64",
		"at once":      "--isl 500 --osl 40 --num-prompts 24",
	} {
		t.Run(name, func(t *testing.T) {
			load := strings.Fields(words)
			predicted := result(t, append(append([]string{"simulate"}, deployment...), load...)...)
			for try := 0; ; try++ {
				measured := result(t, append([]string{"bench", "--backend", "vllm", "--base-url", url}, load...)...)
				wrong := off(t, measured, predicted)
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

// off says which figures are too far apart.
func off(t *testing.T, measured, predicted map[string]any) (wrong []string) {
	for _, c := range compared {
		got, want := measured[c.key].(float64), predicted[c.key].(float64)
		by := got/want - 1
		said := fmt.Sprintf("%s: %.5g measured, %.5g predicted (%+.2f%%)", c.key, got, want, 100*by)
		t.Log(said)
		if !(math.Abs(by) <= c.allow) {
			wrong = append(wrong, said)
		}
	}
	return wrong
}
