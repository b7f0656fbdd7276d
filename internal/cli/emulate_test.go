package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"throughline/internal/emulate"
	"throughline/internal/question"
)

// anyPort lets commands that serve choose a port.
var anyPort = map[string][]string{"emulate": {"--port", "0"}, "web": {"--listen", "127.0.0.1:0"}}

// served starts a server on any port, lets someone ask it, and ends it as Ctrl-C does. It returns
// what was printed.
func served(t *testing.T, args []string, ask func(url string)) (out, errs string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, w := io.Pipe()
	var e bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, append(slices.Clone(args), anyPort[args[0]]...), Streams{In: strings.NewReader(""), Out: w, Err: &e, Width: 80})
		w.Close()
	}()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		out += lines.Text() + "\n"
		if url := strings.TrimPrefix(lines.Text(), "listening on "); strings.HasPrefix(url, "http://") {
			ask(url)
			cancel()
		}
	}
	if c := <-code; c != exitInterrupted {
		t.Fatalf("%v: exit code %d: %s", args, c, &e)
	}
	return out, e.String()
}

// TestEmulate: what a row of a plan says is served, by the name of its model; the deployment is the
// one that simulate has.
func TestEmulate(t *testing.T) {
	notRacing(t)
	t.Chdir(t.TempDir())
	plan := callWith(t, "", strings.Fields("plan --model Llama-3.1-8B --system H200 --gpus 2 --osl 4 --json")...)
	if err := os.WriteFile("plan.json", []byte(plan), 0o666); err != nil {
		t.Fatal(err)
	}
	out, errs := served(t, strings.Fields("emulate --from plan.json#1 --speed 20 --fault errors:0"), func(url string) {
		r, err := http.Post(url+"/v1/completions", "", strings.NewReader(`{"model":"Llama-3.1-8B","prompt":"hello","max_tokens":9}`))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var got struct {
			Usage struct{ Completion_tokens int }
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || got.Usage.Completion_tokens != 4 {
			t.Errorf("%v %+v", err, got)
		}
	})
	if !strings.Contains(out, "Llama-3.1-8B (bf16) on 2 × H200") || !strings.HasSuffix(errs, "interrupted; what was written before is complete\n") {
		t.Errorf("printed %q, %q", out, errs)
	}
}

// TestEmulateTwoPools: pools of prefill and decode show by their roles.
func TestEmulateTwoPools(t *testing.T) {
	notRacing(t)
	served(t, strings.Fields("emulate --model Llama-3.1-8B --system H200 --engine sglang --prefill-plan tp1 --decode-plan tp1 --replicas 2 --speed 100"), func(url string) {
		r, err := http.Post(url+"/generate", "", strings.NewReader(`{"text":"hello","sampling_params":{"max_new_tokens":4}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		r, err = http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`engine_type="prefill",dp_rank="1"} 0`, `sglang:generation_tokens_total{model_name="Llama-3.1-8B",engine_type="decode",dp_rank="2"} 4`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	})
}

// TestEmulateRefuses: what is wrong is told before anything listens.
func TestEmulateRefuses(t *testing.T) {
	const base = "emulate --model Llama-3.1-8B --system H200 --port 0 "
	for words, want := range map[string][]string{
		"--fault die:replica=3,after=1s":                      {"--fault: die: there is no replica 3; the last one is 0"},
		"--fault eror:0.1 --fault errors:7 --lengths trace:x": {`--fault: "eror:" is not one of`, "--fault: errors: share must be a share from 0 to 1", "--lengths: of answers are fixed"},
		"--speed 0 --port 70000":                              {"--speed: must be from 0.001 to 10000, not 0", "--port: must be from 0 to 65535"},
		"--served-model-name a\x1b[31m":                       {"--served-model-name: must be one line of characters that can be printed"},
		"--rate 5":                                            {"emulate has no flag --rate; these have: plan"},
	} {
		code, out, said := attempt(strings.Fields(base + words)...)
		for _, w := range want {
			if code != exitBadInput || out != "" || !strings.Contains(strings.ReplaceAll(said, "\n", " "), w) {
				t.Errorf("%s: exit code %d, said %s, want %s", words, code, said, w)
			}
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	if code, out, said := attempt("emulate", "--model", "Llama-3.1-8B", "--system", "H200", "--port", taken); code != exitFailed || out != "" || !strings.Contains(said, "address already in use") {
		t.Errorf("a port that is taken: exit code %d, %s", code, said)
	}
}

// TestFaultChoices: completion knows every fault.
func TestFaultChoices(t *testing.T) {
	if s, ok := question.Lookup(question.Emulate, "fault"); !ok || !slices.Equal(s.Choices, emulate.FaultNames()) {
		t.Errorf("%v, faults are %v", s.Choices, emulate.FaultNames())
	}
}
