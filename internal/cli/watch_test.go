package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// heard is a stream that tests wait on.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

// await waits until a text has come, and forgets all up to it.
func (h *heard) await(t *testing.T, text string) (before string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		h.mu.Lock()
		all := h.text.String()
		if at := strings.Index(all, text); at >= 0 {
			h.text.Next(at + len(text))
			h.mu.Unlock()
			return all[:at]
		}
		h.mu.Unlock()
	}
	t.Fatalf("no %q in %q", text, h.text.String())
	return ""
}

var answered = regexp.MustCompile(`answered in (\S+);`)

// TestWatch: whoever edits a file sees the new answer within a tenth of a second beyond the time of
// the answer; a broken file is told of and ends nothing; Ctrl-C ends it well.
func TestWatch(t *testing.T) {
	t.Chdir(t.TempDir())
	chip := call(t, "systems", "show", "H200", "--json")
	rate := regexp.MustCompile(`("GBps": )[0-9.]+`)
	faster := func(gbps int) string {
		n := 0
		return rate.ReplaceAllStringFunc(chip, func(s string) string {
			if n++; n > 1 {
				return s
			}
			return fmt.Sprintf(`"GBps": %d`, gbps)
		})
	}
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile("chip.json.new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename("chip.json.new", "chip.json"); err != nil {
			t.Fatal(err)
		}
	}
	save(faster(4000))
	if err := os.WriteFile("scan.json", []byte(`{"pd-fusion": {"model_list": ["llama_3_8b"], "sequence_length_list": [[2000, 300]], "num_procs_list": [1], "sys_list": ["chip.json"],
		"wac_bytes_list": [[2, 2, 2, 2]], "flops_type_list": [["bfloat16", "bfloat16", "bfloat16"]], "time_limit_list": [[null, null]], "output": "out"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for command, flags := range map[string]string{
		"explain": "--model llama_3_8b --system chip.json --batch 8 --trace-out step.json",
		"plan":    "--model llama_3_8b --system chip.json --gpus 1",
		"run":     "-c scan.json --xlsx scan.xlsx",
	} {
		t.Run(command, func(t *testing.T) {
			save(faster(4000))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out, errs heard
			code := make(chan int)
			go func() {
				code <- Run(ctx, append([]string{command, "--watch"}, strings.Fields(flags)...), Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 120})
			}()
			errs.await(t, "answered in ")
			errs.await(t, "Ctrl-C ends\n")
			first := out.text.String()
			out.text.Reset()

			// Other programs may keep the machine busy: the best of some tries counts.
			beyond := time.Hour
			for try := 0; try < 10 && beyond > 100*time.Millisecond; try++ {
				out.text.Reset()
				start := time.Now()
				save(faster(8000 + try))
				told := errs.await(t, "watching, Ctrl-C ends\n")
				took := time.Since(start)
				itself, err := time.ParseDuration(answered.FindStringSubmatch(told)[1])
				if err != nil {
					t.Fatal(err)
				}
				beyond = min(beyond, took-itself)
				if !strings.Contains(told, "chip.json changed") || out.text.String() == first || first == "" {
					t.Errorf("told %q; before\n%s\nthen\n%s", told, first, out.text.String())
				}
			}
			if beyond > 100*time.Millisecond {
				t.Errorf("answered %v after the change, beyond the time of the answer", beyond)
			}
			t.Logf("%v beyond the answer", beyond)

			save(strings.Replace(faster(8000), `"GBps"`, `"GBpss"`, 1))
			if told := errs.await(t, "watching, Ctrl-C ends\n"); !strings.Contains(told, "GBpss") || !strings.Contains(told, "chip.json") {
				t.Errorf("of a broken file it says %q", told)
			}
			out.text.Reset()
			save(faster(4000))
			errs.await(t, "watching, Ctrl-C ends\n")
			if out.text.String() != first {
				t.Errorf("the file as it was gives\n%s\nnot\n%s", out.text.String(), first)
			}
			cancel()
			if got := <-code; got != exitOK {
				t.Errorf("exit code %d", got)
			}
		})
	}
	left, _ := filepath.Glob(".*throughline-tmp")
	if len(left) > 0 {
		t.Errorf("left %v", left)
	}
	var errs bytes.Buffer
	if code := Run(t.Context(), strings.Fields("explain --watch --model llama_3_8b --system H200"), Streams{Out: &errs, Err: &errs}); code != exitBadInput || !strings.Contains(errs.String(), "no input file to watch") {
		t.Errorf("nothing to watch: exit code %d, %s", code, &errs)
	}
}
