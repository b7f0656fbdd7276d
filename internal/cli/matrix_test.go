//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inFolder writes files into a folder of its own, which becomes the working directory.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMatrixBench: options of bench are a client, whose figures are those that it prints; a
// combination that fails is told, by the exit code, too.
func TestMatrixBench(t *testing.T) {
	defer func(before func() (string, error)) { executable = before }(executable)
	executable = func() (string, error) { return exec.LookPath("throughline") }
	server := streaming(t, 5*time.Millisecond)
	inFolder(t, map[string]string{"m.yaml": fmt.Sprintf(`servers:
  - name: toy
    url: %s
    deployment: {model: Llama-3.1-8B, system: H200, engine: vllm}
  - name: gone
    url: http://127.0.0.1:1
clients:
  - name: closed
    bench: {backend: vllm, num-prompts: 12, isl: 30, osl: 6, max-concurrency: 3}
  - name: open
    bench: {backend: vllm, num-prompts: 12, isl: 30, osl: 6, request-rate: 200}
    servers: [toy]
`, server.URL)})
	code, out, said := attempt("matrix", "-c", "m.yaml", "-o", "results", "--json", "--html", "report.html")
	if code != exitNoPlan || !strings.Contains(said, "failed: gone__closed: the client ended with exit code 1") {
		t.Fatalf("exit code %d\n%s\n%s", code, said, out)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	closed, open := rows[0], rows[1]
	for key, want := range map[string]any{"run": "toy__closed", "state": "done", "isl": 30.0, "osl": 6.0, "concurrency": 3.0, "client": "throughline bench", "prediction": "simulated", "model": "Llama-3.1-8B"} {
		if closed[key] != want {
			t.Errorf("%s is %v, want %v", key, closed[key], want)
		}
	}
	// A first token that arrives late brings the others closer together, but no answer of six
	// tokens ends within 30 ms.
	ttft, _ := closed["ttft"].(float64)
	if tpot, _ := closed["tpot"].(float64); ttft <= 0 || ttft+5*tpot < 30 || tpot > 50 {
		t.Errorf("TTFT %v and TPOT %v of six tokens every 5 ms", closed["ttft"], closed["tpot"])
	}
	if why, _ := open["prediction"].(string); open["predicted_tpot"] != nil || !strings.Contains(why, "the client has no Concurrency") {
		t.Errorf("prediction %v", open)
	}
	if gone := rows[2]; gone["state"] != "failed" || gone["isl"] != 30.0 || gone["tpot"] != nil {
		t.Errorf("%v", gone)
	}
	report := string(readFile(t, "report.html"))
	for _, want := range []string{"2 of 3 combinations are done.", "Most output tokens/s, ", "The prediction of TPOT is off by ", `class="chart pareto"`,
		"<caption>Measured and predicted</caption>", "What went wrong", "the client ended with exit code 1", "no prediction where the load is not known: the client has no Concurrency"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if info, err := os.Stat("report.html"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the report can be read by others: %v, %v", info.Mode(), err)
	}
	if _, out, _ = attempt("matrix", "-c", "m.yaml", "-o", "results"); !strings.Contains(out, "toy") || !strings.Contains(out, "no prediction where") {
		t.Errorf("printed\n%s", out)
	}
}

// stubborn is a file whose client does not end by itself, and whose server leaves a process in a
// session of its own.
const stubborn = `servers:
  - name: s
    command: (setsid sleep 411 &); echo up; exec sleep 411
    ready: {line: up}
    stop: {grace: 5s}
clients:
  - {name: quick, command: 'true'}
  - {name: slow, command: 'sleep 411'}
`

// begun starts the program on a file, and waits until a client runs.
func begun(t *testing.T) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command("throughline", "matrix", "-c", "m.yaml", "-o", "results")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		state, _ := os.ReadFile("results/state.json")
		if _, err := os.Stat("results/logs/s__slow.client.out.log"); err == nil && bytes.Contains(state, []byte(`"running": "s__slow"`)) {
			return cmd, &said
		}
		if time.Now().After(end) {
			cmd.Process.Kill()
			t.Fatalf("the client does not start\n%s", state)
		}
	}
}

// sleeping are the processes of the file that run in this folder.
func sleeping(t *testing.T) (out []string) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(names) == 0 {
		t.Skip("there is no /proc")
	}
	for _, name := range names {
		line, _ := os.ReadFile(name)
		if in, _ := os.Readlink(filepath.Join(filepath.Dir(name), "cwd")); in == here && bytes.Contains(line, []byte("sleep\x00411")) {
			out = append(out, name)
		}
	}
	return out
}

// allAsleep waits for the three of them, of which the last may begin late.
func allAsleep(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); len(sleeping(t)) < 3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v run", sleeping(t))
		}
	}
}

// TestMatrixInterrupted: Ctrl-C ends all processes and keeps the state.
func TestMatrixInterrupted(t *testing.T) {
	inFolder(t, map[string]string{"m.yaml": stubborn})
	cmd, said := begun(t)
	allAsleep(t)
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(said.String(), "all processes have ended") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	if left := sleeping(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if state := string(readFile(t, "results/state.json")); !strings.Contains(state, `"client": "quick"`) || strings.Contains(state, `"client": "slow"`) {
		t.Errorf("%s", state)
	}
}

// TestMatrixImpatient: a second Ctrl-C kills all at once, in place of leaving it.
func TestMatrixImpatient(t *testing.T) {
	text := strings.NewReplacer("echo up;", "trap '' TERM; echo up;", "grace: 5s", "grace: 200s", "  - {name: quick, command: 'true'}\n", "").Replace(stubborn)
	inFolder(t, map[string]string{"m.yaml": text})
	cmd, said := begun(t)
	cmd.Process.Signal(syscall.SIGINT)
	time.Sleep(500 * time.Millisecond)
	begin := time.Now()
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v\n%s", took, said)
	}
	for end := time.Now().Add(5 * time.Second); len(sleeping(t)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left: %v", sleeping(t))
		}
	}
}

// TestMatrixKilled: what the program leaves when it is killed is ended by the next one, which goes
// on where it was.
func TestMatrixKilled(t *testing.T) {
	inFolder(t, map[string]string{"m.yaml": stubborn})
	cmd, _ := begun(t)
	allAsleep(t)
	cmd.Process.Kill()
	cmd.Wait()
	if len(sleeping(t)) < 3 {
		t.Errorf("%v run on", sleeping(t))
	}
	if err := os.WriteFile("m.yaml", []byte(strings.ReplaceAll(stubborn, "'sleep 411'", "'true'")), 0o666); err != nil {
		t.Fatal(err)
	}
	code, _, said := attempt("matrix", "-c", "m.yaml", "-o", "results")
	if code != exitOK || !strings.Contains(said, "of a run that was killed: ") || !strings.Contains(said, "s__quick: done before") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	if left := sleeping(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestMatrixBad: nothing is started, and nothing written, where something is wrong.
func TestMatrixBad(t *testing.T) {
	inFolder(t, map[string]string{"m.yaml": "clients:\n  - name: x\n    comand: y\n", "results": ""})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"--config: is missing", "--output: is missing", "2 problems; nothing was written"}},
		{[]string{"-c", "m.yaml", "-o", "results"}, []string{"m.yaml:3:5: clients[0].comand: unknown key \"comand\"; did you mean \"command\"?", "results is a file; results need a folder"}},
		{[]string{"-c", "m.yaml", "-o", "out", "--html", "m.txt"}, []string{"--html: the file must end in .html, not \"m.txt\""}},
		{[]string{"-c", "m.yml", "-o", "out"}, []string{"m.yml: there is no such file; did you mean \"m.yaml\"?"}},
	} {
		code, out, said := attempt(append([]string{"matrix"}, c.args...)...)
		for _, want := range c.want {
			if code != exitBadInput || out != "" || !strings.Contains(said, want) {
				t.Errorf("%v: exit code %d, %s, want %s", c.args, code, said, want)
			}
		}
	}
	if _, err := os.Stat("out"); err == nil {
		t.Error("a folder was made")
	}
	if code, _, said := attempt("check", "m.yaml"); code != exitBadInput || !strings.Contains(said, "did you mean") {
		t.Errorf("check: %d, %s", code, said)
	}
	var out bytes.Buffer
	if code := Run(context.Background(), []string{"schema", "matrix"}, Streams{Out: &out, Err: &out}); code != exitOK || !strings.Contains(out.String(), `"matrix.schema.json"`) {
		t.Errorf("%s", &out)
	}
}
