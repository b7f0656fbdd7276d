//go:build unix

package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlannedMatrix: the file of a plan runs as it is: its script starts the server, here one that
// emulates it, and the row is measured.
func TestPlannedMatrix(t *testing.T) {
	notRacing(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	defer func(before func() (string, error)) { executable = before }(executable)
	executable = func() (string, error) { return exec.LookPath("throughline") }
	inFolder(t, map[string]string{})
	bin, err := filepath.Abs("bin")
	if err != nil || os.Mkdir(bin, 0o700) != nil {
		t.Fatal("no folder for programs")
	}
	for name, text := range map[string]string{
		"vllm": `while [ "$1" != --port ]; do shift; done; exec throughline emulate --model Llama-3.1-8B --system H200 --engine vllm --speed 100 --port "$2"`,
		"curl": "exit 0",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("POLL", "0.1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	code, text, said := attempt("plan", "--model", "Llama-3.1-8B", "--system", "H200", "--gpus", "1", "--isl", "512", "--osl", "64", "--engine", "vllm", "--launch-format", "matrix")
	if code != exitOK || strings.Count(text, "- name: row") != 2 {
		t.Fatalf("exit code %d\n%s\n%s", code, said, text)
	}
	text = regexp.MustCompile(`(PORT=|:)8000\b`).ReplaceAllString(text, fmt.Sprintf("${1}%d", port))
	text = regexp.MustCompile(`(num-prompts|max-concurrency): \d+`).ReplaceAllString(text, "$1: 4") // fewer than planned
	if err := os.WriteFile("m.yaml", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out, said := attempt("check", "m.yaml"); code != exitOK {
		t.Errorf("check: exit code %d\n%s\n%s", code, out, said)
	}
	if code, out, said := attempt("matrix", "-c", "m.yaml", "-o", "results"); code != exitOK || !strings.Contains(out, "done") {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
}

// TestNamesOfOneLine: names that would begin a line of their own in what is to be pasted are
// refused, in every form of a launch.
func TestNamesOfOneLine(t *testing.T) {
	const config = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 32000, "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "tie_word_embeddings": false}`
	inFolder(t, map[string]string{"plain.json": config, "line\ntouch hacked #.json": config, "esc\x1b[2J.json": config, "sep\u2028x.json": config})
	for _, format := range launchFormats {
		for name, want := range map[string]int{"plain.json": exitOK, "line\ntouch hacked #.json": exitBadInput, "esc\x1b[2J.json": exitBadInput, "sep\u2028x.json": exitBadInput} {
			code, out, said := attempt("plan", "--model", name, "--system", "H200", "--gpus", "1", "--isl", "512", "--osl", "64", "--launch-format", format)
			if code != want || code != exitOK && (out != "" || !strings.Contains(said, "must be one line of characters that can be printed")) {
				t.Errorf("%s of %q: exit code %d\n%s\n%s", format, name, code, said, out)
			}
		}
	}
}
