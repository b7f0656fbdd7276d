package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"throughline/internal/cli"
)

// answered is one answer of a drawn deployment.
func answered(json string) Answers {
	return Answers{"draw 007 | estimate": {Asked: "estimate --tp=1", Answer: []byte(json)}}
}

func TestCompare(t *testing.T) {
	const was = `{"clients":{"tpot_ms":20.5,"bound":"memory"},"operators":[{"name":"norm","time":1},{"name":"norm","time":2},{"name":"up","time":3}]}`
	for name, c := range map[string]struct {
		is   string
		want []string // path, before, after
	}{
		"equal":                 {was, nil},
		"other order":           {`{"operators":[{"time":1,"name":"norm"},{"name":"norm","time":2.0},{"name":"up","time":3e0}],"clients":{"bound":"memory","tpot_ms":20.50}}`, nil},
		"a last digit":          {strings.Replace(was, "20.5", "20.500000000000004", 1), nil},
		"a number":              {strings.Replace(was, "20.5", "20.50000000005", 1), []string{"clients.tpot_ms", "20.5", "20.50000000005"}},
		"a text":                {strings.Replace(was, `"memory"`, `"compute"`, 1), []string{"clients.bound", `"memory"`, `"compute"`}},
		"a number that is none": {strings.Replace(was, "20.5", "null", 1), []string{"clients.tpot_ms", "20.5", "null"}},
		"a missing key":         {strings.Replace(was, `"tpot_ms":20.5,`, "", 1), []string{"clients.tpot_ms", "20.5", missing}},
		"a new element":         {strings.Replace(was, `{"name":"up"`, `{"name":"down"},{"name":"up"`, 1), []string{"operators[down].name", missing, `"down"`}},
	} {
		d := compare(answered(was), answered(c.is), 1e-12)
		var got []string
		for _, x := range d.list {
			got = append(got, x.path, x.before, x.after)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
		if text := d.text(10); d.moved() == strings.Contains(text, "nothing moved: 1 answers, 5 numbers") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestCompareQuestions(t *testing.T) {
	a := answered(`{}`)
	refused := answered("")
	refused["draw 007 | estimate"].Code, refused["draw 007 | estimate"].Said = 2, []string{"--tp: too large"}
	asked := answered(`{}`)
	asked["draw 007 | estimate"].Asked = "estimate --tp=2"
	for name, c := range map[string]struct {
		is    Answers
		paths string
	}{
		"refused": {refused, "exit code said[0]"}, "gone": {Answers{}, "answer"}, "asked otherwise": {asked, "question"},
	} {
		var paths []string
		for _, x := range compare(a, c.is, 1e-12).list {
			paths = append(paths, x.path)
		}
		if got := strings.Join(paths, " "); got != c.paths {
			t.Errorf("%s: %q, not %q", name, got, c.paths)
		}
	}
}

// TestText: the largest move of a field stands for it, the largest of all fields first.
func TestText(t *testing.T) {
	before, after := Answers{}, Answers{}
	for key, values := range map[string][2]string{
		"draw 001 | estimate": {`{"ttft":100,"tpot":10,"said":"a"}`, `{"ttft":101,"tpot":10,"said":"a"}`},
		"draw 002 | estimate": {`{"ttft":100,"tpot":10,"said":"a"}`, `{"ttft":150,"tpot":10,"said":"b"}`},
		"draw 002 | explain":  {`{"share":[0.5,0.25]}`, `{"share":[0.25,0.25]}`},
		"plan 01 | estimate":  {`{"tpot":10}`, `{"tpot":9}`},
		"run -c f | run":      {`[1]`, `[1]`},
	} {
		before[key], after[key] = &Answer{Answer: []byte(values[0])}, &Answer{Answer: []byte(values[1])}
	}
	text := compare(before, after, 1e-12).text(10)
	at := 0
	for _, want := range []string{
		"4 of 5 answers moved", "3   3        3     +50%             1  estimate", "1   1        1     +50%             0  explain",
		"estimate ttft: 2 values in 2 answers\n    draw 002 | estimate ttft: 100 -> 150 (+50%)\n", "draw 002 | explain share[0]: 0.5 -> 0.25 (-50%)", "plan 01 | estimate tpot: 10 -> 9 (-10%)",
		`draw 002 | estimate said: "a" -> "b"`,
	} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q is not in its place:\n%s", want, text)
		}
		at += i
	}
}

func TestTables(t *testing.T) {
	if got := string(rows([]byte("a,b,c\n1,2,x\n3,,NaN\n"), []string{"a"})); got != `[{"b":2,"c":"x"},{"c":"NaN"}]` {
		t.Error(got)
	}
	if got := string(predictions([]byte(`[{"began":"now","predicted_tpot":2}]`))); got != `[{"predicted_tpot":2}]` {
		t.Error(got)
	}
	events := `{"traceEvents":[{"ph":"X","pid":1,"tid":2,"name":"up","ts":5,"dur":2},{"ph":"X","pid":1,"tid":2,"name":"up","ts":10,"dur":3}]}`
	if got := string(timeline([]byte(events))); got != `{"1/2 up":{"count":2,"total_us":5,"first_us":5,"last_us":13}}` {
		t.Error(got)
	}
}

// TestAsk asks a program that answers all alike: every command is asked, and the same answers
// are the same bytes.
func TestAsk(t *testing.T) {
	t.Chdir("../../..")
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	script := "#!/bin/sh\necho \"$2 warning\" >&2\necho '{\"question\": {}, \"ranked\": [{\"decode\": {\"tp\": 2}, \"n\": 1.50}, {}]}'\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var files [2]string
	for i := range files {
		a, _, err := ask(t.Context(), program, 1+i, "plan 0")
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"plan", "estimate", "explain", "simulate", "diff", "validate serving", "run", "matrix"} {
			if a["plan 03 | "+command] == nil {
				t.Errorf("%s was not asked", command)
			}
		}
		name := filepath.Join(dir, "answers.json")
		if err := a.write(name); err != nil {
			t.Fatal(err)
		}
		again, err := read(name)
		if err != nil || len(again) != len(a) || compare(a, again, 0).moved() {
			t.Errorf("%v: read again, %d answers are %d", err, len(a), len(again))
		}
		src, _ := os.ReadFile(name)
		files[i] = string(src)
		if !json.Valid(src) || !strings.Contains(files[i], `"n":1.50`) {
			t.Errorf("%.300s", src)
		}
	}
	if files[0] != files[1] {
		t.Error("two runs wrote other bytes")
	}
}

// TestEveryTableIsAsked: the totals of each command of validate that reads measurements are among
// the answers; golden reads answers.
func TestEveryTableIsAsked(t *testing.T) {
	var help bytes.Buffer
	if code := cli.Run(t.Context(), []string{"validate", "--help"}, cli.Streams{Out: &help, Err: &help}); code != 0 {
		t.Fatal(&help)
	}
	_, list, _ := strings.Cut(help.String(), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	commands := strings.Split(list, "\n")
	for _, line := range commands {
		command := strings.Fields(line)[0]
		if command != "golden" && !slices.ContainsFunc(tables, func(args string) bool { return strings.HasPrefix(args, command+" ") }) {
			t.Errorf("no table is given to validate %s", command)
		}
	}
	if len(commands) < 6 {
		t.Errorf("only %d commands in %s", len(commands), &help)
	}
}

func TestRates(t *testing.T) {
	s := sample{}
	s.readRates("goos: linux\nBenchmarkEvaluate/llama \t 1000\t 1066 ns/op\t 938000 evaluations/s\t 0 B/op\nBenchmarkChangedSystem/llama/slowest \t 2 \t 0 ns/op \t 1.5e+06 systems/s\nPASS\n")
	if want := (sample{"Evaluate/llama: evaluations/s": 938000, "ChangedSystem/llama/slowest: systems/s": 1.5e6}); !reflect.DeepEqual(s, want) {
		t.Errorf("%v, not %v", s, want)
	}
	var out strings.Builder
	if err := writeSpeed(&out, "abc1234", [2][]sample{{{"x": 1}, {"x": 2}, {"x": 4}}, {{"x": 2}, {"x": 2}, {"x": 2}}}); err != nil || !strings.Contains(out.String(), "2             2  1.000  0.500 to 2.000  x") {
		t.Errorf("%v: %s", err, out.String())
	}
}
