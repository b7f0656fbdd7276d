package matrix

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/document"
	"throughline/workload"
)

// TestBad: all that is wrong is told at once, with its place and what was probably meant.
func TestBad(t *testing.T) {
	src := `servers:
  - name: a b
    command: []
    ready: {lin: x, timeout: soon}
    stop: {signal: SIGFOO, grace: -1}
  - name: b
    command: sleep 1
    deployment: {model: Llama-3.1-8B, system: H200, tpp: 2, engine: vlm}
    columns: {Atn: x, TP: many}
  - name: b
    url: localhost:8000
  - name: c
  - name: d
    command: x
    ready: {line: y}
    deployment: {model: Llama-3.1-8B, system: H200, tp: 7}
clients:
  - name: x
    bench: {num-promts: 5, max-concurrency: 0, request-rate: fast}
    servers: [a, e]
  - name: y
  - name: z
    command: p
    bench: {backend: vllm}
    timeout: 0
  - name: w
    bench: {backend: vllm, tokenizer: t}
`
	_, _, err := Read("m.yaml", []byte(src))
	if err == nil {
		t.Fatal("no problem")
	}
	for _, want := range []string{
		`m.yaml:2:11: servers[0].name: "a b" must be letters, digits`,
		`m.yaml:3:14: servers[0].command: must not be empty`,
		`servers[0].ready.lin: unknown key "lin"; did you mean "line"?`,
		`servers[0].ready.timeout: must be a time above 0 and at most a week, like 90s, 10m or 1h30m, or a number of seconds, not the string "soon"`,
		`servers[0].stop.signal: "SIGFOO" is not one of "SIGTERM"`,
		`servers[0].stop.grace: must be a time above 0`,
		`servers[1]: nothing says when it is ready`,
		`servers[1].deployment.tpp: estimate has no setting "tpp"; did you mean "tp"?`,
		`servers[1].deployment.engine: `,
		`servers[1].columns.Atn: "Atn" is not one of`, `did you mean "Attn"?`,
		`servers[1].columns.TP: must be a number, not "many"`,
		`servers[2].name: "b" is there twice`,
		`servers[2].url: must be an address like http://127.0.0.1:8000, not "localhost:8000"`,
		`servers[3]: a command is missing, or the url of a server that runs already`,
		`servers[4].deployment: `, // 7 does not divide the heads
		`clients[0].bench.num-promts: bench has no setting "num-promts"; did you mean "num-prompts"?`,
		`clients[0].bench.max-concurrency: must be from 1`,
		`clients[0].bench.request-rate: must be a number, or inf, not "fast"`,
		`clients[0].servers[1]: "e" is not one of`,
		`clients[1]: must have a command, or options of throughline bench`,
		`clients[2].timeout: must be a time above 0`,
		`clients[3].bench.tokenizer: is not read`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
	for src, want := range map[string]string{
		"servers: []\n": `m.yaml:1:1: missing required key "clients"`, "clients: []\n": "clients: must not be empty",
		"clients: [{name: x, bench: {backend: vllm}}]":                                                     "clients[0].bench: there is no server, and base-url is not given",
		"servers: [{name: s, url: 'http://h/?a=b'}]\nclients: [{name: x, bench: {backend: vllm}}]":         `the url of the server "s" has ? or #`,
		"servers: [{name: s, command: x, ready: {line: y}}]\nclients: [{name: x, bench: {backend: vllm}}]": `the server "s" has no url, and base-url is not given`,
		`clients: [{name: x, command: x, environment: {"B=C": d}}]`:                                        `clients[0].environment: "B=C" is no name of a variable`,
		`clients: [{name: x, command: x, environment: {"E\0F": g}}]`:                                       `"E\x00F" is no name of a variable`,
		"clients: [{name: a__b, command: x}]":                                                              "logs are called SERVER__CLIENT",
	} {
		if _, _, err := Read("m.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}

// TestWrite: what is written is read as it was.
func TestWrite(t *testing.T) {
	load := workload.Load{Clients: 16, Lengths: workload.Lengths{Input: 1000, Output: 500}}
	f := &File{
		Servers: []Server{
			plannedServer("row1", "http://127.0.0.1:8000", "set -e\nexport A=\"b: c\"\n\n  vllm serve # x × 世\nwait\n", map[string]string{"model": "Llama-3.1-8B", "system": "H200", "tp": "2"}),
			plannedServer("row2", "http://127.0.0.1:30000", "sglang serve: yes", map[string]string{"model": "Llama-3.1-8B", "system": "H200", "engine": "sglang"}),
		},
		Clients: []Client{plannedClient("row1", "vllm", load), plannedClient("row2", "sglang-oai", load)},
	}
	f.Servers[1].Environment = map[string]Word{"A": "1", "B": "x: #y", "C": "true"}
	f.Servers[1].Stop.Signal, f.Servers[1].Ready.Line, f.Servers[1].Log = "SIGINT", "- up", "a.log"
	f.Servers[1].Command = Command{Line: "one: #\n  two\nthree"}
	f.Clients = append(f.Clients, Client{Name: "y", Command: Command{Words: []string{"sh", "-c", " one\ntwo\n", "a\nb\n\n", "a\nb\x1b\n", "a\tb\nc\n"}}, Timeout: Duration(usualClient)})
	f.Clients = append(f.Clients, Client{Name: "z", Command: Command{Words: []string{"a b", "~", "1", "null", "{x}", "é\t"}}, Timeout: Duration(5e9), Columns: map[string]Word{"GPU": "H20"}})
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	got, _, err := Read("m.yaml", b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	if diff := cmp.Diff(f, got); diff != "" {
		t.Errorf("-written +read:\n%s\n%s", diff, &b)
	}
}

// TestShipped: the files that come with the program are read, and each has what its name says.
func TestShipped(t *testing.T) {
	names, err := filepath.Glob("../../configs/matrix/*.yaml")
	if err != nil || len(names) < 4 {
		t.Fatalf("%v, %v", names, err)
	}
	combinations := map[string]int{"attention_backends.yaml": 4, "h20_frameworks.yaml": 18, "exchange.yaml": 2, "gpt2_split.yaml": 1}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, warnings, err := Read(name, src)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%v %v", err, warnings)
			continue
		}
		if want := combinations[filepath.Base(name)]; f.Combinations() != want {
			t.Errorf("%s has %d combinations, want %d", name, f.Combinations(), want)
		}
	}
}

// TestKeys: the page about the file has a row for each of its keys.
func TestKeys(t *testing.T) {
	src, err := os.ReadFile("../../docs/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range document.Leaves(&File{}) {
		key = strings.TrimSuffix(strings.ReplaceAll(key, "[]", ""), ".*")
		list, key, _ := strings.Cut(key, ".")
		if want := "| `" + key + "` |"; !strings.Contains(string(src), want) {
			t.Errorf("%s: no row of %s", list, want)
		}
	}
}
