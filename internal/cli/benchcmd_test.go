package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// streaming is a server with the APIs that bench knows, which writes a token every few
// milliseconds.
func streaming(t *testing.T, gap time.Duration) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			io.WriteString(w, `{"data":[{"id":"toy"}]}`)
			return
		}
		var asked struct {
			Prompt, Messages []any
			IDs              []int `json:"input_ids"`
			Max              int   `json:"max_tokens"`
			MaxChat          int   `json:"max_completion_tokens"`
			Sampling         struct {
				Max int `json:"max_new_tokens"`
			} `json:"sampling_params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, `{"error":{"message":"the prompt is no list of ids"}}`, http.StatusBadRequest)
			return
		}
		input, output := len(asked.Prompt)+len(asked.IDs)+len(fmt.Sprint(asked.Messages...))/5, max(asked.Max, asked.MaxChat, asked.Sampling.Max)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range output {
			time.Sleep(gap)
			switch r.URL.Path {
			case "/generate":
				fmt.Fprintf(w, `data: {"text":%q,"meta_info":{"prompt_tokens":%d,"completion_tokens":%d}}`, strings.Repeat(" tok", i+1), input, i+1)
			case "/v1/chat/completions":
				fmt.Fprint(w, `data: {"choices":[{"delta":{"content":" tok"},"finish_reason":null}]}`)
			default:
				fmt.Fprint(w, `data: {"choices":[{"text":" tok","finish_reason":null}]}`)
			}
			fmt.Fprint(w, "\n\n")
			http.NewResponseController(w).Flush()
		}
		fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", input, output)
	}))
	t.Cleanup(server.Close)
	return server
}

// small is a benchmark of few short requests.
func smallBench(server *httptest.Server, more ...string) []string {
	return append([]string{"bench", "--backend", "vllm", "--base-url", server.URL, "--num-prompts", "12", "--random-input-len", "30", "--random-output-len", "6"}, more...)
}

// TestBenchIsWhatSimulateIs: the block has the lines, and the JSON the keys, that a simulation has.
func TestBenchIsWhatSimulateIs(t *testing.T) {
	server := streaming(t, time.Millisecond)
	sim := []string{"simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--engine", "vllm", "--num-prompts", "12", "--isl", "30", "--osl", "6", "--max-concurrency", "3"}
	code, out, said := attempt(smallBench(server, "--max-concurrency", "3")...)
	if code != exitOK || said != "" {
		t.Fatalf("exit code %d: %s", code, said)
	}
	names := func(block string) (lines []string) {
		_, block, _ = strings.Cut(block, "\n====")
		for line := range strings.Lines(block) {
			name, _, _ := strings.Cut(line, ":")
			lines = append(lines, strings.TrimSpace(name))
			if len(lines) > 5 && strings.HasPrefix(line, "====") {
				break
			}
		}
		return lines
	}
	if got, want := names(out), names(call(t, sim...)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, w := range []string{"Successful requests:                     12\n", "Total input tokens:                      360\n", "Total generated tokens:                  72\n", "Max request concurrency:                 3\n"} {
		if !strings.Contains(out, w) {
			t.Errorf("not printed: %s%s", w, out)
		}
	}
	key := regexp.MustCompile(`(?m)^  "([a-z0-9_]+)": `)
	keys := func(text string) (out []string) {
		for _, m := range key.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	got, want := keys(call(t, smallBench(server, "--json")...)), keys(call(t, append(sim, "--json")...))
	shared := slices.Index(want, "bottleneck") // what follows is of servers
	if shared < 40 || !slices.Equal(got[:shared], want[:shared]) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// TestBenchFiles: results are appended, one line each, with their details; requests have a row
// each.
func TestBenchFiles(t *testing.T) {
	server := streaming(t, 0)
	t.Chdir(t.TempDir())
	for range 2 {
		call(t, smallBench(server, "--output-file", "results.jsonl", "--output-details", "--requests-out", "requests.csv", "--tag", "night")...)
	}
	lines := bytes.Split(bytes.TrimSpace(readFile(t, "results.jsonl")), []byte{'\n'})
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	var got struct {
		Tag       string
		Completed int
		Model     string
		Inputs    []int       `json:"input_lens"`
		Outputs   []int       `json:"output_lens"`
		ITLs      [][]float64 `json:"itls"`
		Texts     []string    `json:"generated_texts"`
		Errors    []string
		Limits    *bool `json:"limits_hold"`
	}
	if err := json.Unmarshal(lines[1], &got); err != nil {
		t.Fatal(err)
	}
	if got.Tag != "night" || got.Completed != 12 || got.Model != "toy" || len(got.Inputs) != 12 || got.Inputs[3] != 30 || got.Outputs[3] != 6 || len(got.ITLs[3]) != 5 || got.Texts[3] != strings.Repeat(" tok", 6) || len(got.Errors) != 12 {
		t.Errorf("%+v", got)
	}
	rows := strings.Split(strings.TrimSpace(string(readFile(t, "requests.csv"))), "\n")
	if len(rows) != 13 || !strings.HasPrefix(rows[0], "request,client,turn,arrival,scheduled,first_token,finish,input,output,") {
		t.Errorf("%d rows, %s", len(rows), rows[0])
	}
	call(t, smallBench(server, "--requests-out", "requests.jsonl")...)
	var one struct{ Chunks [][2]float64 }
	if err := json.Unmarshal(bytes.SplitN(readFile(t, "requests.jsonl"), []byte{'\n'}, 2)[0], &one); err != nil || len(one.Chunks) != 6 || one.Chunks[5][0] < one.Chunks[0][0] {
		t.Errorf("%v, %v", one, err)
	}
}

// TestBenchNamespace: every option of sglang.bench_serving of 2025 is a flag, or is refused by its
// name.
func TestBenchNamespace(t *testing.T) {
	const namespace = `backend base_url host port dataset_name dataset_path model tokenizer num_prompts sharegpt_output_len sharegpt_context_len
random_input_len random_output_len random_range_ratio request_rate max_concurrency output_file output_details disable_tqdm disable_stream
return_logprob seed disable_ignore_eos extra_request_body apply_chat_template profile lora_name prompt_suffix pd_separated flush_cache
warmup_requests tokenize_prompt gsp_num_groups gsp_prompts_per_group gsp_system_prompt_len gsp_question_len gsp_output_len`
	cmd := find(t, "bench")
	for _, name := range strings.Fields(namespace) {
		if cmd.Flags().Lookup(strings.ReplaceAll(name, "_", "-")) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
}

// TestBenchRefuses: what cannot be done is said by name, all at once, before anything is sent.
func TestBenchRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tokenizer", "x"}, "--tokenizer: is not read: there is no tokenizer here"},
		{[]string{"--apply-chat-template"}, "--apply-chat-template: needs a tokenizer"},
		{[]string{"--dataset-name", "mmmu"}, `--dataset-name: "mmmu" is not one of "random"`},
		{[]string{"--dataset-name", "sharegpt"}, "--dataset-path: is missing: the file of the dataset"},
		{[]string{"--backend", "trt"}, `--backend: "trt" is not one of`},
		{[]string{"--base-url", "localhost:8000"}, "--base-url: must be an address like"},
		{[]string{"--extra-request-body", "[1]"}, "--extra-request-body: must be an object in JSON"},
		{[]string{"--goodput", "ttft:2000", "tpto:50"}, `--goodput: "tpto" is not one of "ttft", "tpot", "e2el"; did you mean "tpot"?`},
		{[]string{"--goodput", "ttft:0"}, `--goodput: "ttft:0" must be a time above 0`},
		{[]string{"stray"}, `bench takes no arguments, but there is "stray"`},
		{[]string{"--max-rate"}, "--max-rate: needs a limit that the rate must hold"},
		{[]string{"--max-rate", "--ttft", "1s", "--max-concurrency", "4"}, "--max-rate: asks for a rate, which max-concurrency bounds"},
		{[]string{"--rate", "1", "--request-rate", "2"}, "says the same as"},
		{[]string{"--trace", "none.csv"}, "none.csv: "},
		{[]string{"--header", "x"}, "--header: must be like Name=value"},
		{[]string{"--header", "Cookie: sid=x"}, "--header: must be like Name=value, with = between them and only letters"},
		{[]string{"--header", "Cookie=a\nX: b"}, "--header: must be like Name=value, on one line"},
		{[]string{"--base-url", "me:hunter2@h:8000"}, `not "***@h:8000"`},
		{[]string{"--base-url", "http://h:1/v1?key=x"}, "--base-url: must be an address without ? and #"},
		{[]string{"--base-url", "http://h:1/#x"}, "--base-url: must be an address without ? and #"},
		{[]string{"--output-file", "-"}, "- is no file"},
		{[]string{"--ttft", "p99:1s", "--goodput", "tpot:5"}, "--goodput: and the limits ttft and tpot both say"},
	} {
		if code, out, said := attempt(append([]string{"bench"}, c.args...)...); code != exitBadInput || out != "" || !strings.Contains(said, c.want) {
			t.Errorf("%v: exit code %d, said %s", c.args, code, said)
		}
	}
}

// TestBenchFails: without a server, and where it answers nothing, the exit code is 1, with what was
// seen.
func TestBenchFails(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	if code, out, said := attempt("bench", "--base-url", closed.URL); code != exitNoPlan || out != "" || !strings.Contains(said, "the warm-up failed: connection refused") {
		t.Errorf("exit code %d, said %s", code, said)
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "on fire", http.StatusInternalServerError) }))
	defer broken.Close()
	code, out, said := attempt("bench", "--backend", "openai", "--model", "m", "--base-url", broken.URL, "--num-prompts", "3", "--warmup-requests", "0")
	if code != exitNoPlan || out != "" || !strings.Contains(said, "no request was answered") || !strings.Contains(said, "failed: 3 of 3 requests: HTTP 500: on fire") {
		t.Errorf("exit code %d, said %s", code, said)
	}
}

// failing is a server that answers so many requests of ten after the warm-up with an error, which
// repeats the key it was sent.
func failing(t *testing.T, ofTen int64) *httptest.Server {
	t.Helper()
	good := streaming(t, 0).Config.Handler
	var number atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok && password != "pass-77aa" || strings.HasPrefix(r.URL.Path, "/v1/v1") {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodPost && number.Add(1) > 2 && number.Load()%10 < ofTen {
			http.Error(w, fmt.Sprint("on fire, for ", r.Header["X-Api-Key"], r.Header["Authorization"]), http.StatusInternalServerError)
			return
		}
		good.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestBenchFailures: the exit code is 1 where more than one request of a hundred has failed;
// results are printed and written all the same, also where none was answered, but are no row of a
// table of runs.
func TestBenchFailures(t *testing.T) {
	for _, c := range []struct {
		ofTen int64
		code  int
		want  string
	}{{0, exitOK, ""}, {4, exitNoPlan, "of 20 requests failed"}, {10, exitNoPlan, "no request was answered"}} {
		t.Chdir(t.TempDir())
		code, out, said := attempt(smallBench(failing(t, c.ofTen), "--num-prompts", "20", "--output-file", "r.jsonl", "--requests-out", "q.csv", "--append-run", "runs.csv", "--deployment", "model=Llama-3.1-8B,system=H200")...)
		if code != c.code || !strings.Contains(said, c.want) || strings.Contains(out, "Successful requests") != (c.ofTen < 10) {
			t.Errorf("%d of 10 fail: exit code %d\n%s\n%s", c.ofTen, code, out, said)
		}
		if rows := bytes.Count(readFile(t, "q.csv"), []byte{'\n'}); rows != 21 {
			t.Errorf("%d of 10 fail: %d lines of requests", c.ofTen, rows)
		}
		if bytes.Count(readFile(t, "r.jsonl"), []byte{'\n'}) != 1 {
			t.Errorf("%d of 10 fail: no result", c.ofTen)
		}
		if _, err := os.Stat("runs.csv"); (err == nil) != (c.code == exitOK) {
			t.Errorf("%d of 10 fail: the table of runs: %v", c.ofTen, err)
		}
	}
}

// TestBenchSecrets: a password in the address signs requests in, and neither it nor a header is
// printed or written, also where the server repeats them. The path of the API may be part of the
// address.
func TestBenchSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, more := range [][]string{{"--json"}, {"--disable-tqdm"}} {
		server := failing(t, 5)
		address := strings.Replace(server.URL, "://", "://me:pass-77aa@", 1) + "/v1/"
		code, out, said := attempt(append([]string{"bench", "--backend", "vllm", "--base-url", address, "--num-prompts", "10", "--isl", "20", "--osl", "3",
			"--header", "X-Api-Key=sk-11bb22", "--output-file", "r.jsonl", "--output-details", "--requests-out", "q.jsonl", "--force"}, more...)...)
		text := out + said + string(readFile(t, "r.jsonl")) + string(readFile(t, "q.jsonl"))
		if code != exitNoPlan || !strings.Contains(text, "on fire, for [***] [***]") || !strings.Contains(text, server.URL) {
			t.Errorf("exit code %d\n%s", code, text)
		}
		for _, secret := range []string{"pass-77aa", "sk-11bb22", "bWU6cGFzcy03N2Fh"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is there\n%s", secret, text)
			}
		}
	}
	_, _, said := attempt("bench", "--base-url", "ftp://me:pass-77aa@h", "--header", "X-Api-Key: sk-11bb22")
	if !strings.Contains(said, "2 problems") || strings.Contains(said, "pass-77aa") || strings.Contains(said, "sk-11bb22") {
		t.Error(said)
	}
}

// TestBenchInterrupted: Ctrl-C prints what was measured, and the file of requests has what ended.
func TestBenchInterrupted(t *testing.T) {
	server := streaming(t, 2*time.Millisecond)
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(400*time.Millisecond, cancel)
	var out, said bytes.Buffer
	code := Run(ctx, smallBench(server, "--num-prompts", "10000", "--max-concurrency", "2", "--requests-out", "requests.csv", "--output-file", "results.jsonl"), Streams{Out: &out, Err: &said})
	if code != exitInterrupted || !strings.Contains(out.String(), "Serving Benchmark Result") || !strings.Contains(out.String(), "interrupted: 2 requests were under way") {
		t.Errorf("exit code %d, printed %s, said %s", code, &out, &said)
	}
	rows, err := os.ReadFile("requests.csv")
	if err != nil || bytes.Count(rows, []byte{'\n'}) < 5 {
		t.Errorf("%q, %v", rows, err)
	}
	if !strings.Contains(string(readFile(t, "results.jsonl")), `"interrupted": true`) {
		t.Error("the result does not say that it was interrupted")
	}
}

// TestBenchGoodput: limits of single requests may be words behind the flag, as vllm bench serve
// takes them.
func TestBenchGoodput(t *testing.T) {
	server := streaming(t, time.Millisecond)
	out := call(t, smallBench(server, "--goodput", "ttft:5000", "tpot:10s", "e2el:0.001")...)
	if !strings.Contains(out, "goodput: 0.00 requests/s (0.0%) keep all limits\n") {
		t.Error(out)
	}
	if out = call(t, smallBench(server, "--goodput", "ttft:5000,tpot:10s")...); !strings.Contains(out, "(100.0%) keep all limits\n") {
		t.Error(out)
	}
	if out = call(t, smallBench(server, "--ttft", "p99:5s", "--tpot", "mean:10s")...); !strings.Contains(out, "(100.0%) keep all limits; the limits hold\n") {
		t.Error(out)
	}
}

// shellWord is a word of a command line.
var shellWord = regexp.MustCompile(`'[^']*'|\S+`)

// TestBenchDocs: the command lines of docs/bench.md run, against a server of the test.
func TestBenchDocs(t *testing.T) {
	server := streaming(t, time.Millisecond)
	page, err := os.ReadFile("../../docs/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, f := range kept.FindAllStringSubmatch(string(page), -1) {
		if err := os.WriteFile(f[1], []byte(f[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lines := regexp.MustCompile(`(?m)^throughline (.*)$`).FindAllStringSubmatch(string(page), -1)
	if len(lines) < 8 {
		t.Errorf("only %d command lines", len(lines))
	}
	for _, line := range lines {
		var args []string
		for _, word := range shellWord.FindAllString(strings.ReplaceAll(line[1], "http://127.0.0.1:8000", server.URL), -1) {
			args = append(args, strings.Trim(word, "'"))
		}
		code, out, said := attempt(args...)
		if code != exitOK || out == "" || strings.Contains(said, "note:") || strings.Contains(out, "failed:") {
			t.Errorf("%v: exit code %d, said %s, printed %s", args, code, said, out)
		}
	}
}

// TestBenchIdle: options that the dataset does not have are named, and change nothing.
func TestBenchIdle(t *testing.T) {
	server := streaming(t, 0)
	for _, c := range []struct {
		more []string
		want string
	}{
		{[]string{"--gsp-output-len", "9"}, "note: --gsp-output-len has no effect: only dataset generated-shared-prefix has it, not random\n"},
		{[]string{"--arrival", "constant"}, "note: --arrival has no effect: at an infinite rate all requests come at once\n"},
		{[]string{"--think-time", "2s"}, "note: --think-time has no effect: a conversation has one turn\n"},
		{[]string{"--port", "9"}, "note: --port has no effect: base-url says it\n"},
		{[]string{"--output-details"}, "note: --output-details has no effect without --output-file\n"},
		{[]string{"--pd-separated"}, "note: --pd-separated has no effect: a server is measured alike, whatever its pools\n"},
	} {
		if code, _, said := attempt(smallBench(server, c.more...)...); code != exitOK || said != c.want {
			t.Errorf("%v: exit code %d, said %q", c.more, code, said)
		}
	}
}

// TestBenchAppendsRuns: a run becomes a row of a table that the other commands read, as they read
// the result itself; what is in the way is told before anything is sent.
func TestBenchAppendsRuns(t *testing.T) {
	notRacing(t)
	server := streaming(t, time.Millisecond)
	t.Chdir(t.TempDir())
	const deployment = "model=Llama-3.1-8B,system=H200,engine=vllm,tp=1"
	for _, clients := range []string{"2", "3"} {
		call(t, smallBench(server, "--max-concurrency", clients, "--append-run", "runs.csv", "--deployment", deployment, "--output-file", "results.jsonl", "--tag", "c"+clients)...)
	}
	predicted := map[string]string{}
	for _, from := range [][]string{{"runs.csv"}, {"results.jsonl", "--deployment", deployment}} {
		out := call(t, append([]string{"validate", "serving"}, append(from, "--by", "tag", "--out", from[0]+".out.csv")...)...)
		if !strings.Contains(out, "c2") || !strings.Contains(out, "c3") || strings.Contains(out, "not predicted,") {
			t.Errorf("%s: %s", from[0], out)
		}
		table := csvRows(t, from[0]+".out.csv")
		at := slices.Index(table[0], "predicted_tpot_ms")
		predicted[from[0]] = table[1][at] + " " + table[2][at]
		fit := call(t, append([]string{"calibrate", "serving"}, from...)...)
		if !strings.Contains(fit, "fitted to 2 runs of "+from[0]+" (30 + 6 tokens)") {
			t.Errorf("%s: %s", from[0], fit)
		}
	}
	if predicted["runs.csv"] == " " || predicted["runs.csv"] != predicted["results.jsonl"] {
		t.Errorf("the table and the result file are predicted differently: %v", predicted)
	}
	for _, measured := range []string{"runs.csv#2", "results.jsonl#c3"} {
		if out := call(t, "compare", "--measured", measured, "--model", "Llama-3.1-8B", "--system", "H200", "--engine", "vllm"); !strings.Contains(out, "batch 3, 30 + 6 tokens") {
			t.Errorf("%s: %s", measured, out)
		}
	}
	server.Close()
	for _, c := range [][]string{
		{"is for the table of --append-run", "--deployment", deployment},
		{"the system that was measured", "--append-run", "new.csv", "--deployment", "model=Llama-3.1-8B"},
		{`did you mean "model"`, "--append-run", "new.csv", "--deployment", "modle=x"},
		{"no column model, system", "--append-run", "runs.csv.out", "--deployment", deployment},
	} {
		if err := os.WriteFile("runs.csv.out", []byte("a,b\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if said := refused(t, smallBench(server, c[1:]...)...); !strings.Contains(said, c[0]) {
			t.Errorf("%v: %s", c[1:], said)
		}
	}
	if _, err := os.Stat("new.csv"); err == nil {
		t.Error("a table was begun")
	}
}

func csvRows(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatal(err, rows)
	}
	return rows
}
