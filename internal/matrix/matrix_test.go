//go:build unix

package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"throughline/internal/files"
	"throughline/internal/rawdata"
	"throughline/internal/runs"
)

// printed is a program that prints the result of a benchmark.
const printed = `printf 'Max request concurrency:   4\nSuccessful requests:   8\nTotal input tokens:   8000\nTotal generated tokens:   800\nOutput token throughput (tok/s):   100.5\nConcurrency:   3.9\nMean TTFT (ms):   50.25\nMean ITL (ms):   10.5\n'; echo going >&2`

// up is a server that says that it is up, and runs on.
const up = `echo starting; echo all is up; exec sleep 300`

// read reads a file of a test.
func read(t *testing.T, text string) *File {
	t.Helper()
	f, _, err := Read("matrix.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// runFile runs a file in a folder, and returns what is said.
func runFile(t *testing.T, ctx context.Context, dir, text string, change ...func(*Runner)) ([]Result, string, error) {
	t.Helper()
	var said strings.Builder
	r := &Runner{File: read(t, text), Dir: dir, Say: func(line string) { said.WriteString(line + "\n") }}
	for _, c := range change {
		c(r)
	}
	begin := time.Now()
	results, err := r.Run(ctx)
	if took := time.Since(begin); took > 60*time.Second {
		t.Errorf("it took %v", took)
	}
	left(t, r)
	return results, said.String(), err
}

// left fails where a process of a run is left.
func left(t *testing.T, r *Runner) {
	t.Helper()
	if r.state == nil {
		return
	}
	for _, s := range strays(r.state.Mark, nil, nil) {
		t.Errorf("left behind: %s (%d)", s.name, s.pid)
		syscall.Kill(s.pid, syscall.SIGKILL)
	}
	living.mu.Lock()
	defer living.mu.Unlock()
	if len(living.all) > 0 {
		t.Errorf("%d groups are still living", len(living.all))
	}
}

func quote(command string) string {
	text, _ := json.Marshal(command)
	return string(text)
}

// servers are lines of a file.
func server(name, command string, more ...string) string {
	return fmt.Sprintf("  - name: %s\n    command: %s\n    ready: {line: all is up, timeout: 20s}\n    stop: {grace: 10s}\n%s", name, quote(command), strings.Join(more, ""))
}

func client(name, command string, more ...string) string {
	return fmt.Sprintf("  - name: %s\n    command: %s\n%s", name, quote(command), strings.Join(more, ""))
}

// TestCombinations: each client runs against each server, and all that is promised is written.
func TestCombinations(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	text := "servers:\n" + server("a", up, "    columns: {Attn: triton, GPU: H20}\n    deployment: {model: Llama-3.1-8B, system: H200, engine: vllm, tp: 2}\n") +
		server("b", up+" --tp 4 --attention-backend flashinfer --mem-fraction-static=0.9", "    environment: {VLLM_USE_DEEP_GEMM: 1}\n") +
		"clients:\n" + client("x", printed) + client("y", printed+"; echo \"$MATRIX_SERVER $MATRIX_CLIENT $THROUGHLINE_MATRIX\"", "    servers: [b]\n")
	// sleep does not know options; a shell with more words behind its command does not mind.
	text = strings.ReplaceAll(text, "exec sleep 300 --tp 4", "sleep 300; : --tp 4")
	results, said, err := runFile(t, t.Context(), dir, text)
	if err != nil || len(results) != 3 {
		t.Fatalf("%d results, %v\n%s", len(results), err, said)
	}
	for i, want := range []string{"a__x", "b__x", "b__y"} {
		r := &results[i]
		if r.Name() != want || r.Verdict != Done || r.Problem != "" || len(r.Notes) != 0 {
			t.Errorf("%s: %+v", want, r.Outcome)
		}
		for name, v := range map[string]any{"Output throughput": 100.5, "TPOT": 10.5, "TTFT": 50.25, "ISL": 1000.0, "OSL": 100.0, "Concurrency": 4.0, "Achieved concurrency": 3.9, "Source": rawdata.Measured} {
			if got := r.Row.Get(name); got != v {
				t.Errorf("%s: %s is %v, want %v", want, name, got, v)
			}
		}
	}
	a, b := &results[0], &results[1]
	for name, v := range map[string]any{"Attn": "triton", "GPU": "H20", "Framework": "vllm", "TP": 2.0, "Num GPUs": 2.0, "Client": "x"} {
		if got := a.Row.Get(name); got != v {
			t.Errorf("a: %s is %v, want %v", name, got, v)
		}
	}
	for name, v := range map[string]any{"Attn": "flashinfer", "TP": 4.0, "Mem fraction": 0.9, "DeepGEMM": "yes", "GPU": nil} {
		if got := b.Row.Get(name); got != v {
			t.Errorf("b: %s is %v, want %v", name, got, v)
		}
	}
	if p := a.Predicted; p.Why != "" || p.Source != rawdata.Simulated || !(p.TPOT > 1 && p.TPOT < 20) || !(p.Throughput > 100) {
		t.Errorf("predicted %+v", p)
	}
	if b.Predicted.Why == "" {
		t.Errorf("predicted %+v of a server that does not say what it serves", b.Predicted)
	}
	checkFiles(t, dir)
}

// checkFiles looks at what TestCombinations has written.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	content := func(name string) string {
		src, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(src)
	}
	transcript := content("bench_results.txt")
	hashes := strings.Repeat("#", 80)
	for _, want := range []string{
		strings.Repeat("=", 100) + "\n[COMBINATION] SERVER=a  CLIENT=x\n" + strings.Repeat("=", 100) + "\n[SERVER] starting a: echo starting",
		"[SERVER] a is ready: all is up\n[CLIENT] running x: printf", "\n\n" + hashes + "\nSERVER: a\nCLIENT: x\nCOMMAND: printf", "\n" + hashes + "\nMax request concurrency:   4\n",
		"Mean ITL (ms):   10.5\n\n[STDERR]\ngoing\n[CLIENT] x done, exit code 0\n[SERVER] stopping a\n[SERVER] a ended\n", "b y ", "3 of 3 combinations done",
	} {
		if !strings.Contains(transcript, want) {
			t.Errorf("the transcript lacks %q", want)
		}
	}
	rows, err := rawdata.Read(strings.NewReader(content("results.csv")), "results.csv")
	if err != nil || len(rows) != 3 || rows[0].Get("TPOT") != 10.5 || rows[1].Get("TP") != 4.0 {
		t.Errorf("raw data: %v, %v", rows, err)
	}
	var objects []map[string]any
	if err := json.Unmarshal([]byte(content("results.json")), &objects); err != nil || len(objects) != 3 || objects[0]["run"] != "a__x" || objects[1]["output_throughput"] != 100.5 {
		t.Errorf("%v, %v", objects, err)
	}
	if f := objects[0]["figures"].(map[string]any); f["mean_itl_ms"] != 10.5 {
		t.Errorf("%v", f)
	}
	for name, begins := range map[string]string{"results.xlsx": "PK", "pareto.svg": "<", "pareto.png": "\x89PNG", "logs/a__x.server.log": "starting\nall is up\n", "logs/b__y.client.err.log": "going\n"} {
		if !strings.HasPrefix(content(name), begins) {
			t.Errorf("%s begins with %.40q", name, content(name))
		}
	}
	book, err := excelize.OpenReader(strings.NewReader(content("results.xlsx")))
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	if first, err := book.GetCellValue(book.GetSheetName(0), "A1"); err != nil || first != "3 of 3 combinations are done." {
		t.Errorf("the first sheet says %q, %v", first, err)
	}
}

// TestFailures: every failure is recorded, the next combination runs, and no process is left.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		server  string
		client  string
		problem string // empty: none
		note    string
	}{
		{"never ready", server("s", "echo loading weights; exec sleep 300"), "", "the server was not ready after 1s; its last words: loading weights", ""},
		{"ends before", server("s", "echo no GPU; exit 7"), "", "the server ended with exit code 7 before it was ready; its last words: no GPU", ""},
		{"no such program", "  - name: s\n    command: [/no/such/program]\n    ready: {line: x}\n", "", "the server could not be started: no such file or directory", ""},
		{"client fails", server("s", up), client("c", "echo broken >&2; exit 3"), "the client ended with exit code 3; its last words: broken", ""},
		{"client hangs", server("s", up), client("c", "exec sleep 300", "    timeout: 1s\n"), "the client was still running after 1s", ""},
		{"client cannot start", server("s", up), "  - name: c\n    command: [/no/such/client]\n", "the client could not be started", ""},
		{"crash in the middle", server("s", "echo all is up; sleep 1; echo segfault; kill -9 $$"), client("c", "[ $MATRIX_SERVER = next ] || exec sleep 300"), "the server ended with signal: killed while the client ran; its last words: segfault", ""},
		{"ignores SIGTERM", strings.ReplaceAll(server("s", "trap '' TERM; echo all is up; sleep 300; sleep 300"), "10s", "1s"), "", "", "the server did not end within 1s of SIGTERM and was killed"},
		{"child ignores SIGTERM", strings.ReplaceAll(server("s", `sh -c "trap '' TERM; echo all is up; sleep 300" & wait`), "10s", "1s"), "", "", "was killed"},
		{"no request answered", server("s", up), client("c", "printf 'Successful requests:  0\nOutput token throughput (tok/s):  0\n'"), "no request of the client was answered", ""},
		{"no figures", server("s", up), client("c", "echo hello"), "", "what the client printed has no figures of a serving benchmark"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := c.client
			if first == "" {
				first = client("c", printed)
			}
			text := "servers:\n" + c.server + server("next", up) + "clients:\n" + first
			if c.problem != "" && c.name == "never ready" {
				text = strings.Replace(text, "timeout: 20s", "timeout: 1s", 1)
			}
			results, said, err := runFile(t, t.Context(), t.TempDir(), text)
			if err != nil || len(results) != 2 {
				t.Fatalf("%d results, %v\n%s", len(results), err, said)
			}
			r := &results[0]
			if r.Problem == "" != (c.problem == "") || !strings.HasPrefix(r.Problem, c.problem) || (r.Verdict == Failed) != (c.problem != "") {
				t.Errorf("%s %q, want %q\n%s", r.Verdict, r.Problem, c.problem, said)
			}
			if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			if c.client == "" && results[1].Verdict != Done {
				t.Errorf("the next: %+v", results[1].Outcome)
			}
		})
	}
}

// TestInterrupted: Ctrl-C ends all processes and keeps the state; a second start goes on where the
// first stopped.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	text := "servers:\n" + server("a", up) + server("b", up) + "clients:\n" + client("c", "echo $MATRIX_SERVER >> "+count+"; [ $MATRIX_SERVER = a ] || [ -e "+dir+"/go ] || sleep 300; "+printed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, said, err := runFile(t, ctx, dir, text, func(r *Runner) {
		say := r.Say
		r.Say = func(line string) {
			say(line)
			if strings.HasPrefix(line, "[CLIENT] running c") && r.state.Running == "b__c" {
				time.AfterFunc(300*time.Millisecond, cancel)
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v\n%s", err, said)
	}
	s, err := openState(dir)
	if err != nil || len(s.Done) != 1 || s.Running != "b__c" {
		t.Fatalf("%+v, %v", s, err)
	}
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o666)
	results, said, err := runFile(t, t.Context(), dir, text)
	if err != nil || len(results) != 2 || results[1].Verdict != Done || !strings.Contains(said, "a__c: done before") {
		t.Fatalf("%v\n%s", err, said)
	}
	if ran, _ := os.ReadFile(count); string(ran) != "a\nb\nb\n" {
		t.Errorf("ran %q", ran)
	}
	// A file that asks something else is run anew, as far as it does.
	if _, said, _ = runFile(t, t.Context(), dir, strings.Replace(text, "name: b\n", "name: b\n    columns: {GPU: H20}\n", 1)); strings.Count(said, "done before") != 1 {
		t.Errorf("changed:\n%s", said)
	}
}

// TestRetry: what failed is not run again, unless that is asked for.
func TestRetry(t *testing.T) {
	dir := t.TempDir()
	text := "clients:\n" + client("c", "[ -e "+dir+"/go ] || exit 5; "+printed) + client("d", printed)
	results, _, err := runFile(t, t.Context(), dir, text)
	if err != nil || results[0].Verdict != Failed || results[1].Verdict != Done || results[0].Server != alone {
		t.Fatalf("%+v, %v", results, err)
	}
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o666)
	if results, _, _ = runFile(t, t.Context(), dir, text); results[0].Verdict != Failed {
		t.Errorf("%+v", results[0].Outcome)
	}
	results, said, _ := runFile(t, t.Context(), dir, text, func(r *Runner) { r.Retry = true })
	if results[0].Verdict != Done || strings.Count(said, "[COMBINATION]") != 1 {
		t.Errorf("%+v\n%s", results[0].Outcome, said)
	}
}

// TestKilled: what a run left that was killed itself is ended by the next one.
func TestKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by their mark on Linux")
	}
	dir := t.TempDir()
	s := &State{Mark: fmt.Sprintf("test%d", time.Now().UnixNano())}
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "302")
	cmd.Env = append(os.Environ(), marker+"="+s.Mark+":server")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if _, said, err := runFile(t, t.Context(), dir, "clients:\n"+client("c", printed)); err != nil || !strings.Contains(said, "of a run that was killed: left its process group and was ended: sleep 302") {
		t.Errorf("%v\n%s", err, said)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		t.Error("it is still there")
	}
}

// TestAbandon: whoever does not want to wait leaves nothing behind, either.
func TestAbandon(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, _, err := runFile(t, ctx, dir, "servers:\n"+server("s", "trap '' TERM; "+up)+"clients:\n"+client("c", "sleep 300"), func(r *Runner) {
		r.Say = func(line string) {
			if strings.HasPrefix(line, "[CLIENT] running") {
				time.AfterFunc(300*time.Millisecond, func() { cancel(); Abandon() })
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRedirected: a server that sends who asks elsewhere has not answered.
func TestRedirected(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("was asked") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer server.Close()
	if status := answers(server.URL); status != http.StatusFound {
		t.Errorf("answers with %d", status)
	}
}

// TestReadyURL: a server is ready when its address answers; where something answers already,
// nothing is started.
func TestReadyURL(t *testing.T) {
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			http.NotFound(w, r)
		}
	}))
	defer there.Close()
	results, said, err := runFile(t, t.Context(), t.TempDir(), "servers:\n"+
		"  - {name: taken, command: sleep 300, ready: {url: '"+there.URL+"/health'}}\n"+
		"  - {name: running, url: '"+there.URL+"', ready: {url: '"+there.URL+"/health'}}\n"+
		"  - {name: lost, url: '"+there.URL+"', ready: {url: '"+there.URL+"/other', timeout: 0.5}}\n"+
		"clients:\n"+client("c", "echo at $MATRIX_URL; "+printed))
	if err != nil || len(results) != 3 {
		t.Fatalf("%v\n%s", err, said)
	}
	for i, want := range []string{"something answers at " + there.URL + "/health before the server is started", "", "the server was not ready after 500ms"} {
		if !strings.HasPrefix(results[i].Problem, want) || want == "" && results[i].Verdict != Done {
			t.Errorf("%s: %q", results[i].Name(), results[i].Problem)
		}
	}
	if python, err := exec.LookPath("python3"); err == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		_, port, _ := net.SplitHostPort(address)
		results, said, err := runFile(t, t.Context(), t.TempDir(), "servers:\n  - name: web\n    command: ["+python+", -m, http.server, "+port+", --bind, 127.0.0.1]\n    ready: {url: 'http://"+address+"/', timeout: 30s}\nclients:\n"+client("c", printed))
		if err != nil || results[0].Verdict != Done || !strings.Contains(said, "[SERVER] web is ready: http://"+address+"/ answers") {
			t.Errorf("%v\n%s", err, said)
		}
	}
}

// TestLog: a server that writes to a file of its own is ready by a line of that.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "own.log")
	os.WriteFile(log, []byte("all is up, in a run before\n"), 0o666)
	results, said, err := runFile(t, t.Context(), dir, "servers:\n"+server("s", "sleep 0.5; echo max_total_num_tokens=12345, chunked_prefill_size=8192, max_running_requests=64 >> "+log+"; echo all is up >> "+log+"; exec sleep 300", "    log: "+log+"\n")+"clients:\n"+client("c", printed))
	if err != nil || results[0].Verdict != Done || results[0].ReadySeconds < 0.4 {
		t.Fatalf("%v\n%s", err, said)
	}
	for name, want := range map[string]any{"KV_cache_objs": 12345.0, "Max bs": 64.0, "Max num tokens": 8192.0} {
		if got := results[0].Row.Get(name); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
}

// TestResultFile: a client may write its result to a file in place of printing it.
func TestResultFile(t *testing.T) {
	results, _, err := runFile(t, t.Context(), t.TempDir(), "clients:\n"+client("c", `echo '{"completed": 4, "total_input_tokens": 40, "total_output_tokens": 8, "output_throughput": 7, "mean_tpot_ms": 3}' > "$MATRIX_RESULT"; echo 'Mean TTFT (ms): 9'`))
	if err != nil || results[0].Row.Get("Output throughput") != 7.0 || results[0].Row.Get("ISL") != 10.0 || results[0].Row.Get("TTFT") != nil {
		t.Errorf("%+v, %v", results, err)
	}
}

// TestReadBack: a row of the results says of the requests what the result file of the client says.
func TestReadBack(t *testing.T) {
	dir := t.TempDir()
	const result = `{"backend": "vllm", "dataset_name": "random", "request_rate": 7.5, "max_concurrency": 16, "random_input_len": 1024, "random_output_len": 128, "random_range_ratio": 0.5, "burstiness": 4, "completed": 40, "duration": 10, "seed": 3, "total_input_tokens": 30720, "total_output_tokens": 3840, "output_throughput": 384, "mean_tpot_ms": 9, "mean_ttft_ms": 60}`
	if _, _, err := runFile(t, t.Context(), dir, "clients:\n"+client("c", `echo '`+result+`' > "$MATRIX_RESULT"`)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "one.jsonl")
	if err := os.WriteFile(file, []byte(result), 0o666); err != nil {
		t.Fatal(err)
	}
	want, err := runs.Row(files.Machine, file, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"results.csv", "results.json"} {
		got, err := runs.Row(files.Machine, filepath.Join(dir, name), "1")
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"isl", "osl", "lengths", "concurrency", "request_rate", "arrival", "num_prompts", "seed"} {
			if got[column] != want[column] || want[column] == "" {
				t.Errorf("%s: %s is %q, in the result file %q", name, column, got[column], want[column])
			}
		}
	}
}

// TestPublished: the outputs of a real harness make the transcript that it wrote.
func TestPublished(t *testing.T) {
	names, _ := filepath.Glob("../../../shared/seeds/002*")
	if len(names) == 0 {
		t.Skip("the published run is not there: ../shared/seeds/002*")
	}
	src, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, blocks := "", []string{}
	for _, m := range regexp.MustCompile(`(?s)SERVER: (\w+)\nCLIENT: (\w+)\nCOMMAND: [^\n]*\n#{80}\n(.*?)\n\[STDERR\]\n(.*?)\[CLIENT\]`).FindAllStringSubmatch(string(src), -1) {
		name := runName(m[1], m[2])
		os.WriteFile(filepath.Join(dir, name+".out"), []byte(m[3]), 0o666)
		os.WriteFile(filepath.Join(dir, name+".err"), []byte(strings.ReplaceAll(strings.TrimSuffix(m[4], "\n"), "\n", "\r")), 0o666) // as a progress bar draws it
		blocks = append(blocks, m[0])
		text += client(name[:strings.Index(name, "__")]+"_"+m[2], "cat "+filepath.Join(dir, name+".out")+"; cat "+filepath.Join(dir, name+".err")+" >&2")
	}
	if len(blocks) != 4 {
		t.Fatalf("%d runs", len(blocks))
	}
	results, _, err := runFile(t, t.Context(), filepath.Join(dir, "results"), "clients:\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	transcript, err := os.ReadFile(filepath.Join(dir, "results", "bench_results.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range blocks {
		_, printed, _ := strings.Cut(block, strings.Repeat("#", 80)+"\n")
		if !strings.Contains(string(transcript), printed) {
			t.Errorf("%s: not as it was", results[i].Name())
		}
		if results[i].Row.Get("ISL") != 1000.0 || results[i].Row.Get("OSL") != 1000.0 {
			t.Errorf("%v", results[i].Row)
		}
	}
	for i, want := range []float64{1002.94, 635.64, 915.43, 583.99} {
		if got := results[i].Row.Get("Output throughput"); got != want {
			t.Errorf("%s: %v tokens/s, want %v", results[i].Name(), got, want)
		}
	}
}

// TestBusy: two runs do not share a folder.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	free, err := lock(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	if _, _, err := runFile(t, t.Context(), dir, "clients:\n"+client("c", "true")); !errors.Is(err, errBusy) {
		t.Error(err)
	}
}
