package throughline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/internal/difference"
	"throughline/internal/files"
	"throughline/internal/gap"
	"throughline/internal/jobfile"
	"throughline/internal/profile"
	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/internal/scenario"
	"throughline/workload"
)

// base is a question that each command answers at once.
var base = map[question.Command]Question{
	question.Plan:     {"model": "Llama-3.1-8B", "system": "MI300X", "gpus": "1", "mode": "agg", "engine": "vllm"},
	question.Estimate: {"model": "Qwen3-30B-A3B", "system": "MI300X", "tp": "2", "phase": "decode"},
	question.Explain:  {"model": "Qwen3-30B-A3B", "system": "MI300X", "tp": "2", "phase": "decode"},
	question.Simulate: {"model": "Llama-3.1-8B", "system": "MI300X", "num-prompts": "3", "isl": "64", "osl": "4"},
}

// paths are the ways in which words name a file.
func paths(file string) []string {
	return []string{
		file, "counts:" + file, "TRACE:" + file, "trace:" + file, file + "#1", "prefill=" + file + ":8", file + ":8", "H200=1," + file + "=3",
		"system=" + file + ",H200", "file://" + file, file + ",H200", "../../../../../../../.." + file, file + "\x00.json",
	}
}

// ask answers a question, or checks several, with all files behind a door.
func ask(ctx context.Context, of question.Command, words Question, in *files.Door) (any, error) {
	s, err := scan.FromWords(in, of, words)
	if s != nil && err == nil {
		return nil, s.Check()
	} else if err != nil {
		return nil, err
	}
	option := func(a *question.Query) { a.In = in }
	switch of {
	case question.Plan:
		return Plan(ctx, words, option)
	case question.Estimate:
		return Estimate(ctx, words, option)
	case question.Explain:
		return Explain(ctx, words, option)
	}
	return Simulate(ctx, words, option)
}

const secret = "root:x:0:0:a line that nobody may read:/root:/bin/sh\n"

// No word of a question opens a file behind a door that is closed, and whether there is one shows
// nowhere.
func TestQuestionsOpenNoFiles(t *testing.T) {
	dir := t.TempDir()
	there, absent := filepath.Join(dir, "zqthere.json"), filepath.Join(dir, "zqnever.json")
	write(t, there, secret)
	closed := files.Held(nil)
	for of, words := range base {
		for _, s := range question.Settings(of) {
			if s.Kind() != question.Text || of == question.Explain && s.For&question.Estimate != 0 { // read as that is
				continue
			}
			for i, word := range paths(there) {
				said := func(file string) string {
					q := maps.Clone(words)
					q[s.Name] = paths(file)[i]
					got, err := ask(t.Context(), of, q, closed)
					return fmt.Sprintln(told(t, got, err), err)
				}
				a, b := said(there), said(absent)
				if strings.Contains(a, "nobody may read") {
					t.Fatalf("%v %s=%q answers the file: %s", of.Paths(), s.Name, word, a)
				}
				if a = strings.ReplaceAll(a, "zqthere", "zqnever"); a != b {
					t.Errorf("%v %s=%q tells whether there is a file:\n%s\n%s", of.Paths(), s.Name, word, a, b)
				}
			}
		}
	}
}

// told is an answer as it is shown: its JSON, and its remarks.
func told(t *testing.T, got any, err error) string {
	t.Helper()
	if err != nil {
		return ""
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Settings whose words open files say so, and no others.
func TestSettingsThatOpenFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file.json")
	write(t, file, secret)
	opens := map[string]bool{}
	for of, words := range base {
		for _, s := range question.Settings(of) {
			if s.Kind() != question.Text || of == question.Explain && s.For&question.Estimate != 0 { // read as that is
				continue
			}
			for _, word := range paths(file) {
				q := maps.Clone(words)
				q[s.Name] = word
				noted := func(name string) {
					if !s.Opens && strings.Contains(name, file) {
						t.Errorf("%v %s=%q opens %s", of.Paths(), s.Name, word, name)
					}
					opens[s.Name] = opens[s.Name] || name == file
				}
				ask(t.Context(), of, q, files.Machine.Noted(noted)) // which may refuse
			}
		}
	}
	for of := range base {
		for _, s := range question.Settings(of) {
			// A table of points is opened by the command, for it may be standard input.
			if s.Opens && !opens[s.Name] && s.Name != "points" {
				t.Errorf("%v: no word of %s opens a file", of.Paths(), s.Name)
			}
		}
	}
}

// What else reads names of files behind a closed door refuses them alike.
func TestOtherReadersOpenNoFiles(t *testing.T) {
	dir := t.TempDir()
	closed := files.Held(nil)
	for what, read := range map[string]func(name string) error{
		"diff":    func(name string) error { _, err := difference.Of(closed, name, "H200"); return err },
		"diff#":   func(name string) error { _, err := difference.Of(closed, "H200", name+"#1"); return err },
		"compare": func(name string) error { _, err := gap.Read(closed, name); return err },
		"profile": func(name string) error { _, err := profile.Read(closed, name); return err },
		"trace":   func(name string) error { _, err := workload.OpenTrace(closed, name); return err },
		"jobfile": func(name string) error { _, _, err := jobfile.Load(closed, name, &assume.Physical); return err },
		"pasted job": func(name string) error {
			_, _, err := jobfile.Read(closed, "pasted.json", fmt.Appendf(nil, `{"fusion": {"model_list": [%q], "sys_list": [%q]}}`, name, name), &assume.Physical)
			return err
		},
		"scenario": func(name string) error {
			_, _, err := scenario.Read(closed, "pasted.json", fmt.Appendf(nil, `{"model": %q, "scenarios": [{"prefill": {"system": %q}, "decode": {"system": %q}}]}`, name, name, name))
			return err
		},
		"scan": func(name string) error {
			s, err := scan.New(closed, &scan.Request{Command: "estimate", Settings: map[string]string{"model": name, "system": "H200"}, Vary: []string{"system=H200," + name, "popularity=counts:" + name}})
			if err == nil {
				err = s.Check()
			}
			return err
		},
	} {
		for _, end := range []string{".json", ".jsonl", ".csv", ".csv.gz", ""} {
			there, absent := filepath.Join(dir, "zqthere"+end), filepath.Join(dir, "zqnever"+end)
			write(t, there, secret)
			a, b := read(there), read(absent)
			if a == nil || b == nil {
				t.Errorf("%s: %v, %v", what, a, b)
				continue
			}
			if strings.Contains(a.Error(), "nobody may read") || strings.ReplaceAll(a.Error(), "zqthere", "zqnever") != strings.ReplaceAll(b.Error(), "zqthere", "zqnever") {
				t.Errorf("%s%s:\n%v\n%v", what, end, a, b)
			}
		}
	}
}

// Files that were handed over are read by name, and only these.
func TestWithFiles(t *testing.T) {
	src, err := os.ReadFile("hardware/catalogue/H200.json")
	if err != nil {
		t.Fatal(err)
	}
	held := WithFiles(map[string][]byte{"mine.json": src})
	q := Question{"model": "Llama-3.1-8B", "system": "mine.json", "phase": "decode"}
	got, err := Estimate(t.Context(), q, held)
	if err != nil || got.Deployment.Pools[0].System.Name != "H200" {
		t.Fatalf("%v, %v", got, err)
	}
	for _, other := range []string{"./mine.json", "x/../mine.json", "files_test.go", "/etc/passwd", "MINE.json"} {
		q["system"] = other
		if _, err := Estimate(t.Context(), q, held); err == nil || !strings.Contains(err.Error(), "files are not opened here") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// FuzzWords: whatever the words of a question are, no file is opened behind a closed door.
func FuzzWords(f *testing.F) {
	for _, s := range question.Settings(question.Estimate) {
		for _, word := range paths("/etc/passwd") {
			f.Add(s.Name, word)
		}
	}
	for _, word := range []string{"%2fetc%2fpasswd", "..%2f..%2fetc/passwd", "file:///etc/passwd", `\\host\share`, "C:\\x.json", "/proc/self/environ", "/dev/stdin", "~/.ssh/id_rsa", "-"} {
		f.Add("model", word)
		f.Add("popularity", "counts:"+word)
	}
	closed := files.Held(nil)
	f.Fuzz(func(t *testing.T, name, word string) {
		q := Question{"model": "Qwen3-30B-A3B", "system": "MI300X", "tp": "2", "phase": "decode", name: word}
		if len(name)+len(word) > 200 || q["model"] == "" {
			return
		}
		a := question.NewFixedQuery(closed, question.Estimate, q)
		if _, err := a.Read(); err != nil && strings.Contains(err.Error(), "no such file") {
			t.Errorf("%s=%q: %v", name, word, err)
		}
	})
}
