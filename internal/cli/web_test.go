package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"throughline/internal/question"
	"throughline/internal/web"
)

// someValue is a value that a setting may have besides its default.
func someValue(s *question.Setting) string {
	if text, ok := map[string]string{
		"model": "Qwen3-30B-A3B", "system": "H100_SXM", "decode-system": "H200", "engine": "sglang", "lengths": "uniform:0.5", "arrival": "constant", "assume": "physical,causal=false",
		"popularity": "zipf:1", "pool": "H200:1", "prefill-plan": "tp1", "decode-plan": "tp1", "overlap": "off", "power-limit": "500W", "price": "2", "power": "500", "ttft": "2000", "tpot": "200",
		"set": "sys.mem1.GBps=6000", "seek": "mem1.GBps", "until": "tpot=20ms", "attention-backend": "fa3", "prefill-attention-backend": "fa3", "decode-attention-backend": "fa3",
		"gpus": "1", "rate": "2", "from": "plan.json", "points": "points.csv", "trace": "trace.csv", "fitted": "fitted.json", "step-times": "steps.csv", "vary": "isl=64,128", "link": "isl,osl",
		"where": "isl < 100", "chance": "50", "num-prompts": "3", "max-context": "4096", "kv-tokens": "4096", "isl": "64", "osl": "4", "context": "64", "memory-share": "0.8", "timeline-every": "0.5",
	}[s.Name]; ok {
		return text
	}
	switch kind := s.Kind(); {
	case kind == question.Switch:
		return "true"
	case len(s.Choices) > 0:
		return s.Choices[len(s.Choices)-1]
	case kind == question.Text:
		return "word"
	case kind == question.Count:
		return strconv.Itoa(int(max(s.Low, min(s.High, 2))))
	}
	return strconv.FormatFloat(max(s.Low, min(s.High, 0.5)), 'g', -1, 64)
}

// besideIt is what else a question says that has a setting: some have no effect alone.
var besideIt = map[string]map[string]string{
	"gsp-num-groups": {"gsp-system-prompt-len": "8"}, "gsp-system-prompt-len": {"gsp-num-groups": "2"},
	"link": {"isl": "64,128", "osl": "4,8"}, "where": {"isl": "64,128"},
	"poll-steps": {"engine": "sglang"}, "prefill-attention-backend": {"engine": "sglang"}, "decode-attention-backend": {"engine": "sglang"}, "wait-steps": {"engine": "trtllm"}, "balance-steps": {"engine": "trtllm"},
	"ep": {"model": "Qwen3-30B-A3B", "tp": "2"}, "moe-tp": {"model": "Qwen3-30B-A3B", "tp": "2"},
}

// TestPageIsTheCommandLine: every setting, given by flag and as a parameter, has the same answer,
// byte for byte, or is refused by both.
func TestPageIsTheCommandLine(t *testing.T) {
	notRacing(t)
	const key = "0123456789abcdef"
	page := web.NewServer(web.Options{Key: key, Deadline: longestTest}).Handler()
	ask := func(path string, words url.Values) (int, string) {
		r := httptest.NewRequestWithContext(context.Background(), "GET", path+"?"+words.Encode(), nil)
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		of   question.Command
		base map[string]string
	}{
		{question.Plan, map[string]string{"model": "llama_3_8b", "system": "H200", "gpus": "1", "mode": "agg", "engine": "vllm", "top": "1", "isl": "64", "osl": "4"}},
		{question.Estimate, map[string]string{"model": "llama_3_8b", "system": "H200"}},
		{question.Explain, map[string]string{"model": "llama_3_8b", "system": "H200"}},
		{question.Simulate, map[string]string{"model": "llama_3_8b", "system": "H200", "num-prompts": "2", "osl": "2"}},
	} {
		same, refused := 0, 0
		for _, s := range question.Settings(c.of) {
			words, args := url.Values{}, []string{c.of.Paths()[0], "--json"}
			base := maps.Clone(c.base)
			for name, text := range besideIt[s.Name] {
				if _, ok := question.Lookup(c.of, name); ok {
					base[name] = text
				}
			}
			for name, text := range base {
				if name != s.Name {
					words.Set(name, text)
					args = append(args, "--"+name+"="+text)
				}
			}
			words.Set(s.Name, someValue(s))
			args = append(args, "--"+s.Name+"="+someValue(s))
			code, out, said := attempt(args...)
			status, body := ask("/api/v1/"+c.of.Paths()[0], words)
			switch {
			case code == exitBadInput && status == 400:
				var got struct {
					Problems []struct{ Setting, Message string }
				}
				if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Problems) == 0 {
					t.Errorf("%s %s: problems without a text: %s", c.of.Paths()[0], s.Name, body)
				}
				for _, p := range got.Problems {
					file := strings.Contains(p.Message, "files are not opened here") || s.Name == "points" // of which the terminal writes a table
					if !file && !strings.Contains(strings.ReplaceAll(said, "--", ""), strings.ReplaceAll(p.Message, "`", "")) {
						t.Errorf("%s %s: the page says %q, the terminal %q", c.of.Paths()[0], s.Name, p.Message, said)
					}
				}
				refused++
			case code != exitBadInput && status == 200 && body == out:
				same++
			default:
				t.Errorf("%s %s=%s: exit code %d and status %d, %d and %d bytes\n%.300s\n%.300s", c.of.Paths()[0], s.Name, someValue(s), code, status, len(out), len(body), said, body)
			}
		}
		if same < 3*refused || same < 40 {
			t.Errorf("%s: %d answers are the same, %d refused by both", c.of.Paths()[0], same, refused)
		}
	}
}

// TestPortTaken: the page says which port it cannot have.
func TestPortTaken(t *testing.T) {
	l := listening(t)
	var out, errs bytes.Buffer
	code := Run(context.Background(), []string{"web", "--listen", l}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if code != exitBadInput || out.Len() > 0 || !strings.Contains(errs.String(), "--listen: "+l+" cannot be used") {
		t.Errorf("exit code %d, printed %q, said %q", code, &out, &errs)
	}
	code, printed, said := attempt("web", "--listen", "0.0.0.0:0")
	if code != exitBadInput || printed != "" || !strings.Contains(said, "open to other machines") {
		t.Errorf("exit code %d, printed %q, said %q", code, printed, said)
	}
}

// longestTest is how long an answer may take on a busy machine.
const longestTest = 10 * time.Minute

// listening is an address that is taken.
func listening(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}
