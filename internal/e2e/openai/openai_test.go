// Package openai asks an emulated server with the client library of OpenAI.
package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/cli"
)

// TestClient: completions and chat, in streams and whole, usage and errors, as OpenAI's library
// sees them; and a server that ends in the middle of a stream.
func TestClient(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed: OpenAI's library does not ask here")
	}
	if _, err := os.Stat("node_modules/openai"); err != nil {
		t.Skip("OpenAI's library is not installed: make readers installs it")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, url := served(t, ctx)
	cmd := exec.Command("node", "client.mjs", url, "tiny")
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pipe)
	if line, err := lines.ReadString('\n'); err != nil || line != "streaming\n" {
		t.Fatalf("%v: %s", err, line)
	}
	stop()
	text, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if code := <-said; code != 130 {
		t.Errorf("the server ended with %d", code)
	}
	var got, want any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := json.Unmarshal([]byte(expected), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const expected = `{
	"models": ["tiny"], "model": "tiny",
	"completion": {"text": " the and for are", "reason": "length", "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
	"chat": {"text": " the and for", "reason": "length", "usage": {"prompt_tokens": 6, "completion_tokens": 3, "total_tokens": 9}},
	"completionStream": {"text": " the and for are but", "events": 6, "usage": {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6}},
	"chatStream": {"text": " the and for are but", "reason": "length", "usage": {"prompt_tokens": 6, "completion_tokens": 5, "total_tokens": 11}},
	"helper": " the and for are but not",
	"aborted": 3,
	"unknownModel": {"refused": true, "kind": "NotFoundError", "status": 404, "code": "model_not_found", "param": "model", "type": "invalid_request_error"},
	"tooLong": {"refused": true, "kind": "BadRequestError", "status": 400, "code": "context_length_exceeded", "param": "prompt", "type": "invalid_request_error"},
	"wrongType": {"refused": true, "kind": "BadRequestError", "status": 400, "code": "invalid_type", "param": "max_tokens", "type": "invalid_request_error"},
	"lost": {"refused": true, "kind": "APIError", "code": "shutting_down", "param": null, "type": "server_error"}
}`

// served starts the program, and returns its address, and where its exit code comes.
func served(t *testing.T, ctx context.Context) (code chan int, url string) {
	t.Helper()
	out, in := io.Pipe()
	var errs bytes.Buffer
	code = make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, strings.Fields("emulate --model Llama-3.1-8B --system H200 --engine vllm --served-model-name tiny --port 0 --speed 10"),
			cli.Streams{In: &bytes.Buffer{}, Out: in, Err: &errs})
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go io.Copy(io.Discard, out)
			return code, at
		}
	}
	t.Fatalf("it does not listen: exit code %d, %s", <-code, &errs)
	return nil, ""
}
