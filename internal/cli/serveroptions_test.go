package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"throughline"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/test/racing"
	"throughline/serving"
)

// asLaunched is a server that flags and a row of a table of runs describe alike.
type asLaunched struct {
	engine            string
	dp, tp, ep, moeTP int
	drafts, clients   int
	input, output     int
	running           int     // requests of a rank that it is told to run; 0: it is told nothing
	share             float64 // of the memory
}

func (c *asLaunched) flags() []string {
	out := fmt.Sprintf("--model DeepSeek-R1 --system H200 --engine %s --dp %d --tp %d --ep %d --moe-tp %d --drafts %d --concurrency %d --isl %d --osl %d",
		c.engine, c.dp, c.tp, c.ep, c.moeTP, c.drafts, c.clients, c.input, c.output)
	if c.running > 0 {
		out += fmt.Sprintf(" --max-running-requests %d", c.running)
	}
	if c.share > 0 {
		out += fmt.Sprintf(" --memory-share %v", c.share)
	}
	return strings.Fields(out)
}

func (c *asLaunched) csv() string {
	header := "model_path,system,backend,mode,isl,osl,concurrency,num_gpus,attention_dp_size,tp_size,moe_ep_size,moe_tp_size,drafts"
	cells := fmt.Sprintf("DeepSeek-R1,H200,%s,agg,%d,%d,%d,8,%d,%d,%d,%d,%d", c.engine, c.input, c.output, c.clients, c.dp, c.tp, c.ep, c.moeTP, c.drafts)
	if c.running > 0 {
		header, cells = header+",max-running-requests", cells+","+strconv.Itoa(c.running*c.dp) // of the server
	}
	if c.share > 0 {
		header, cells = header+",memory-share", cells+","+fmt.Sprint(c.share)
	}
	return header + "\n" + cells + "\n"
}

// TestAsLaunched: a server that is told nothing runs as many requests and takes as much of the
// memory as its engine does by itself, whichever command is asked: estimate, validate serving and
// what simulate sets up. With drafts SGLang runs 48 of 128 clients.
func TestAsLaunched(t *testing.T) {
	if racing.Enabled {
		t.Skip("one command after another, which other tests run under the race detector")
	}
	first := asLaunched{engine: "sglang", dp: 1, tp: 8, ep: 1, moeTP: 8, drafts: 3, clients: 128, input: 1000, output: 1000}
	first.check(t)
	if room := first.setUp(t); room != 48 {
		t.Errorf("%d requests run, not 48", room)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 24 {
		c := asLaunched{engine: []string{"sglang", "vllm", "trtllm"}[random.IntN(3)], dp: 1, tp: 8, ep: 1, moeTP: 8, drafts: random.IntN(4),
			clients: 1 + random.IntN(400), input: 100 + random.IntN(3000), output: 50 + random.IntN(1500)}
		if random.IntN(2) == 0 {
			c.dp, c.tp, c.ep, c.moeTP = 8, 1, 8, 1
		}
		if random.IntN(3) == 0 {
			c.running = 1 + random.IntN(64)
		}
		if random.IntN(3) == 0 {
			c.share = 0.85 + 0.01*float64(random.IntN(10))
		}
		c.check(t)
		c.setUp(t)
	}
}

// check compares what estimate and validate serving say.
func (c *asLaunched) check(t *testing.T) {
	t.Helper()
	var got struct{ Clients seenFigures }
	if err := json.Unmarshal(answer(t, append([]string{"estimate", "--json"}, c.flags()...)...), &got); err != nil {
		t.Fatal(err)
	}
	table, predicted := filepath.Join(t.TempDir(), "row.csv"), filepath.Join(t.TempDir(), "predicted.csv")
	if err := os.WriteFile(table, []byte(c.csv()), 0o644); err != nil {
		t.Fatal(err)
	}
	answer(t, "validate", "serving", table, "--out", predicted)
	row := planRow{TTFT: got.Clients.TTFT / 1e3, TPOT: got.Clients.TPOT / 1e3, Tokens: got.Clients.Tokens, Memory: got.Clients.Memory}
	if row.compare(t, predicted); t.Failed() {
		t.Fatalf("of %+v", c)
	}
}

// setUp compares what simulate sets up with the deployment that estimate predicts, and returns the
// requests that a rank runs.
func (c *asLaunched) setUp(t *testing.T) int {
	t.Helper()
	cmd := &cobra.Command{Use: "simulate"}
	var o simulateOptions
	o.add(cmd)
	if err := cmd.ParseFlags(append(c.flags(), "--num-prompts", "1")); err != nil {
		t.Fatal(err)
	}
	sim, err := throughline.NewSimulation(o.flags.words(), o.flags.checked(o.refuse))
	if err != nil {
		t.Fatal(err)
	}
	q := sim.Query.Question
	q.Traffic = question.Default().Traffic
	q.Traffic.Sequences, q.Traffic.MemoryShare = c.running, c.share
	a, err := point.NewEstimator().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	d := &a.Served
	p, err := serving.NewPredictor(d)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := p.CacheTokens(d, &d.Pools[0], a.Load.Lengths)
	if err != nil {
		t.Fatal(err)
	}
	policy := &sim.Options.Pools[0].Policy
	if held := policy.Blocks * policy.BlockTokens; policy.Sequences != d.Engine.Sequences || math.Abs(float64(held)-tokens) > float64(policy.BlockTokens) {
		t.Errorf("%+v: simulate has %d requests and %d tokens on a rank, estimate %d and %.0f", c, policy.Sequences, held, d.Engine.Sequences, tokens)
	}
	return policy.Sequences
}

// answer is what a command writes.
func answer(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}); code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	return stdout.Bytes()
}
