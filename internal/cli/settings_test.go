package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	diffs "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/internal/question"
)

// attempt runs the program and returns its exit code, what it prints and what it says.
func attempt(args ...string) (code int, out, said string) {
	var o, e bytes.Buffer
	code = Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

func find(t *testing.T, path string) *cobra.Command {
	t.Helper()
	cmd, _, err := newRoot(Streams{}).Find(strings.Fields(path))
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Every setting of a command is a flag of it, with the same help and default.
func TestFlagsAreTheTable(t *testing.T) {
	for _, c := range question.Commands {
		path, of := c.Path, c.Command
		cmd, usual := find(t, path), question.DefaultOf(of)
		for _, s := range question.Settings(of) {
			f := cmd.Flags().Lookup(s.Name)
			if f == nil || f.Usage != s.Help(of) || f.DefValue != s.Get(&usual) {
				t.Errorf("%s --%s: %+v", path, s.Name, f)
			}
			for _, alias := range s.Aliases {
				if f := cmd.Flags().Lookup(alias); f == nil || !f.Hidden {
					t.Errorf("%s --%s: %+v", path, alias, f)
				}
			}
		}
	}
}

// every is all commands of the program.
func every(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		out = append(out, every(sub)...)
	}
	return out
}

// No command has a flag that stands in neither table, but for the version, and the scripts of
// completion, which cobra writes.
func TestNoOtherFlags(t *testing.T) {
	seen := 0
	for _, cmd := range every(newRoot(Streams{})) {
		if strings.HasPrefix(cmd.CommandPath(), "throughline completion ") {
			continue
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			seen++
			if cmd.Parent() == nil && f.Name == "version" {
				return
			}
			_, setting := f.Value.(*settingFlag)
			output := slices.ContainsFunc(outputFlags, func(o outputFlag) bool { return o.name == f.Name })
			if !setting && !output || f.Usage == "" {
				t.Errorf("%s --%s: %q", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
	}
	if seen < 200 {
		t.Errorf("only %d flags", seen)
	}
}

// A share of the requests that is written otherwise is told how.
func TestShareOfLimit(t *testing.T) {
	_, _, said := attempt("plan", "--model", "llama_3_8b", "--system", "H200", "--gpus", "1", "--ttft", "p99=2s")
	if !strings.Contains(said, "is like p99:2s") {
		t.Error(said)
	}
}

// All mistakes are found at once, wherever they are, with the dashes of flags.
func TestAllMistakesAtOnce(t *testing.T) {
	code, out, said := attempt("plan", "--model", "lama_3_8b", "--system", "H200", "--gpus", "0", "--tpot", "NaN", "--ttft", "2 weeks", "--price", "Inf", "--prefix-hit", "1", "--mode", "agr", "--drafts", "9", "--isl", "many", "--jobs", "0", "--assume", "none")
	want := []string{
		`--model: "lama_3_8b" is no file and no built-in model; did you mean "llama_3_8b"?`,
		"--gpus: must be from 1 to 1048576, not 0",
		"--tpot: must be above 0 and at most 1000000000 ms, not NaN",
		`--ttft: must be a time like 2s, 50ms or 300us, or a number of ms, not "2 weeks"`,
		"--price: must be a number from 0 to 1000000, or SYSTEM=NUMBER for each kind of GPU, not \"Inf\"",
		"--prefix-hit: must be at least 0 and less than 1, not 1",
		`--mode: "agr" is not one of "agg", "disagg", "both"; did you mean "agg"?`,
		"--drafts: must be from 0 to 4, not 9",
		`--isl: must be a whole number, not "many"`,
		"--jobs: must be from 1 to 4096, not 0",
		`--assume: "none" is not one of "reference", "physical"`,
	}
	for _, w := range want {
		if !strings.Contains(said, w+"\n") {
			t.Errorf("not said: %s", w)
		}
	}
	if code != exitBadInput || out != "" {
		t.Errorf("exit code %d, said\n%s", code, said)
	}
}

// What is missing is said to be missing.
func TestMissing(t *testing.T) {
	code, _, said := attempt("plan", "--objective", "min-gpus")
	for _, w := range []string{"--model: is missing: a model file or a built-in name", "--system: is missing: ", "--gpus: is missing: ", "--rate: is missing: objective min-gpus needs"} {
		if !strings.Contains(said, w) {
			t.Errorf("not said: %s\n%s", w, said)
		}
	}
	if code != exitBadInput {
		t.Error(code)
	}
	// What is there, but wrong, is not missing.
	if _, _, said := attempt("plan", "--model", "", "--system", "H200", "--gpus", "many"); strings.Contains(said, "is missing") || !strings.Contains(said, "2 problems") {
		t.Errorf("said\n%s", said)
	}
}

// Of a flag that is given again the last counts, which is said; lists go on.
func TestAgain(t *testing.T) {
	base := []string{"estimate", "--model", "llama_3_8b", "--system", "H200", "--isl", "100"}
	_, want, quiet := attempt(base...)
	_, got, said := attempt(slices.Insert(slices.Clone(base), 1, "--isl", "50")...)
	if got != want || quiet != "" || said != "note: --isl is given 2 times; the last one counts\n" {
		t.Errorf("said %q and %q, printed\n%s\nwant\n%s", quiet, said, got, want)
	}
	_, want, _ = attempt("comm", "--system", "H200", "--ep", "8,16", "--tokens", "1")
	if _, got, said := attempt("comm", "--system", "H200", "--ep", "8", "--ep", "16", "--tokens", "1"); got != want || said != "" {
		t.Errorf("said %q, printed\n%s\nwant\n%s", said, got, want)
	}
}

// Times may have a unit, and are the same with it and without.
func TestTimesOfFlags(t *testing.T) {
	base := []string{"plan", "--model", "llama_3_8b", "--system", "H200", "--gpus", "1", "--top", "1"}
	_, want, _ := attempt(append(base, "--ttft", "2000", "--tpot", "20")...)
	_, got, _ := attempt(append(base, "--ttft", "2s", "--tpot", "20000us")...)
	if want != got || want == "" {
		t.Errorf("\n%s\n%s", want, got)
	}
}

// A flag that has no effect is said, on stderr only.
func TestNoEffect(t *testing.T) {
	base := []string{"plan", "--model", "llama_3_8b", "--system", "H200", "--gpus", "1", "--mode", "agg"}
	_, want, said := attempt(base...)
	if said != "" {
		t.Errorf("said %s", said)
	}
	_, got, said := attempt(append(base, "--rate", "5", "--redundant", "4")...)
	if got != want {
		t.Errorf("the answer changed:\n%s\n%s", want, got)
	}
	for _, w := range []string{"note: --rate has no effect: only objective min-gpus and limits of percentiles, like p99:2s, serve a given rate\n", "note: --redundant has no effect: llama-3-8B has no experts\n"} {
		if !strings.Contains(said, w) {
			t.Errorf("not said: %s%s", w, said)
		}
	}
	if _, _, said := attempt("explain", "--model", "llama_3_8b", "--system", "H200", "--phase", "decode", "--tpot", "5ms"); !strings.Contains(said, "note: --tpot has no effect") {
		t.Errorf("said %q", said)
	}
}

// Values of flags and names of built-in files are completed, in whichever case.
func TestCompletion(t *testing.T) {
	notRacing(t)
	for _, c := range question.Commands {
		path, of := c.Path, c.Command
		for _, s := range question.Settings(of) {
			if s.Name == "until" || s.Name == "seek" {
				continue // by what the goals and the system are
			}
			args := append(append([]string{"__complete"}, strings.Fields(path)...), "--"+s.Name, "")
			_, out, _ := attempt(args...)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if got := lines[:len(lines)-1]; !slices.Equal(got, s.Choices) && !(len(got) == 0 && len(s.Choices) == 0) && s.Kind() != question.Switch {
				t.Errorf("%s --%s offers %v, want %v", path, s.Name, got, s.Choices)
			}
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"plan", "--model", "qwen3-3"}, "Qwen3-30B-A3B\nQwen3-32B\n:0\n"},
		{[]string{"estimate", "--engine", "v"}, "vllm\n:0\n"},
		{[]string{"plan", "--mode", "d"}, "disagg\n:4\n"},
		{[]string{"plan", "--gpus", ""}, ":4\n"},
		{[]string{"plan", "--lengths", "t"}, "trace:\n:2\n"},
		{[]string{"run", "--assume", "p"}, "physical\n:0\n"},
		{[]string{"calibrate", "--system", "h200"}, "H200\nH200_NVL\n:0\n"},
		{[]string{"models", "show", "gpt-"}, "gpt-oss-120b\ngpt-oss-20b\n:0\n"},
		{[]string{"systems", "show", "gb2"}, "GB200_NVL72\n:0\n"},
		{[]string{"schema", "s"}, "system\nscenario\n:4\n"},
		{[]string{"simulate", "--arrival", ""}, "poisson\ngamma:\nconstant\nbursts:\n:2\n"},
		{[]string{"simulate", "--policy", "c"}, "chunked\n:4\n"},
		{[]string{"comm", "--fabric", ""}, "efa\n:4\n"},
		{[]string{"comm", "--library", "nccl,d"}, "nccl,deepep\n:6\n"},
		{[]string{"explain", "--until", "tp"}, "tpot=\n:2\n"},
		{[]string{"explain", "--system", "H200", "--seek", "mem1.G"}, "mem1.GiB\nmem1.GBps\n:4\n"},
		{[]string{"explain", "--seek", "mem1.G"}, "mem1.GiB\nmem1.GBps\n:4\n"},
		{[]string{"plan", "--columns", "TTFT,tpot"}, "TTFT,TPOT\nTTFT,TPOT_limit\nTTFT,TPOT_confidence\nTTFT,TPOT_error_band\nTTFT,TPOT_low\nTTFT,TPOT_high\nTTFT,TPOT_narrowed_band\nTTFT,tpot_mean_ms\nTTFT,tpot_p50_ms\nTTFT,tpot_p95_ms\nTTFT,tpot_p99_ms\nTTFT,tpot_p99_low_ms\nTTFT,tpot_p99_high_ms\n:6\n"},
		{[]string{"explain", "--chart", "ro"}, "roofline\n:6\n"},
		{[]string{"run", "--chart", "lines,he"}, "lines,heatmap\n:6\n"},
		{[]string{"run", "--theme", "d"}, "dark\n:4\n"},
		{[]string{"run", "--format", "json,p"}, "json,parquet\n:6\n"},
		{[]string{"run", "--by", "model_n"}, "model_name\n:4\n"},
		{[]string{"validate", "requests", "--steps", "r"}, "recorded\nrun\n:4\n"},
	} {
		if _, out, _ := attempt(append([]string{"__complete"}, c.args...)...); out != c.want {
			t.Errorf("%v offers %q, want %q", c.args, out, c.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, out, said := attempt("completion", shell); code != exitOK || !strings.Contains(out, "__complete") || said != "" {
			t.Errorf("%s: exit code %d, %d bytes, said %q", shell, code, len(out), said)
		}
	}
}

// TestCompletionInBash: the script works in a bash that has nothing else, and hands over words that
// = and : would divide.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	_, script, _ := attempt("completion", "bash")
	script += `
throughline() { echo "$#,${!#}" >&3; printf 'Qwen3-8B\nQwen3-14B\n:4\n'; }
ask() { COMP_LINE=$1 COMP_POINT=${#1}; COMPREPLY=(); __start_throughline 2>/dev/null; echo "${COMPREPLY[*]}"; }
ask "throughline plan --model Qwen3"
ask "throughline plan --lengths trace:a=b"
ask "throughline plan --model "
`
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", "exec 3>&1;"+script)
	out, err := cmd.Output()
	const want = "4,Qwen3\nQwen3-8B Qwen3-14B\n4,trace:a=b\n\n4,\nQwen3-8B Qwen3-14B\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
	if code, _, said := attempt("completion", "bahs"); code != exitBadInput || !strings.Contains(said, `did you mean "bash"?`) {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// TestSettingsPage: docs/settings.md shows the table.
func TestSettingsPage(t *testing.T) {
	const page = "../../docs/settings.md"
	var b strings.Builder
	b.WriteString("| setting | commands | values | default | meaning |\n|---|---|---|---|---|\n")
	for _, s := range question.Settings(question.All) {
		names := "`" + strings.Join(append([]string{s.Name}, s.Aliases...), "`, `") + "`"
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", names, "`"+strings.Join(s.For.Paths(), "`, `")+"`", valuesOf(s), usualOf(s), strings.ReplaceAll(s.Doc, "|", `\|`))
	}
	src := string(readFile(t, page))
	want := filled(t, filled(t, src, "settings", b.String()), "outputs", outputTable())
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := diffs.Diff(want, src); diff != "" {
		t.Errorf("run with -update and look at the difference (-table +page):\n%s", diff)
	}
}

// valuesOf says in short what a setting may be given.
func valuesOf(s *question.Setting) string {
	const shown = 8 // choices
	digits := func(x float64) string {
		if text := strconv.FormatFloat(x, 'f', -1, 64); len(text) <= 24 {
			return text
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	kind, several := s.Kind(), ""
	if s.List != "" {
		kind, several = s.List, ", with commas between them"
	}
	switch {
	case kind == question.Switch:
		return "true, false"
	case kind != question.Text:
		low, high := "", "to"
		if s.Above {
			low = "above "
		}
		if s.Below {
			high = "to less than"
		}
		numbers := fmt.Sprintf("%s%s %s %s %s", low, digits(s.Low), high, digits(s.High), s.Unit)
		numbers = strings.TrimRight(numbers, " ")
		if s.Infinite {
			numbers += ", or inf"
		}
		return numbers + several
	case len(s.Choices) == 0:
		return "text" + several
	case len(s.Choices) > shown && s.Open && s.Check == nil:
		return "a built-in name or a file"
	}
	return strings.Join(s.Choices, ", ") + several
}

// filled is a page with a table in its place.
func filled(t *testing.T, page, name, table string) string {
	t.Helper()
	start, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
	before, rest, found := strings.Cut(page, start)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("the page has no place for the table of %s", name)
	}
	return before + start + table + end + after
}

// outputTable is the flags of how and where commands show their answers.
func outputTable() string {
	var b strings.Builder
	b.WriteString("| flag | commands | meaning | no effect |\n|---|---|---|---|\n")
	all := every(newRoot(Streams{}))
	for i := range outputFlags {
		o := &outputFlags[i]
		var paths []string
		doc := o.doc
		for _, cmd := range all {
			f := cmd.Flags().Lookup(o.name)
			if f == nil {
				continue
			}
			if _, setting := f.Value.(*settingFlag); setting {
				continue
			}
			paths = append(paths, "`"+strings.TrimPrefix(cmd.CommandPath(), "throughline ")+"`")
			doc = cmp.Or(doc, f.Usage)
		}
		if len(paths) == 0 {
			continue
		}
		slices.Sort(paths)
		idle := ""
		if len(o.needs) > 2 {
			idle = "without a file to write"
		} else if len(o.needs) > 0 {
			idle = "without `--" + strings.Join(o.needs, "` or `--") + "`"
		} else if len(o.without) > 0 {
			idle = "with `--" + strings.Join(o.without, "`, `--") + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", o.name, strings.Join(paths, ", "), doc, idle)
	}
	return b.String()
}

// usualOf is the default of a setting, of each command where they differ.
func usualOf(s *question.Setting) string {
	var order []string
	by := map[string][]string{}
	for _, c := range question.Commands {
		if s.For&c.Command == 0 {
			continue
		}
		usual := question.DefaultOf(c.Command)
		text := s.Get(&usual)
		if by[text] == nil {
			order = append(order, text)
		}
		by[text] = append(by[text], c.Path)
	}
	if len(order) == 1 {
		return order[0]
	}
	var out []string
	for i, text := range order {
		switch {
		case i == 0 && text != "" && by[""] == nil:
			out = append(out, text)
		case text != "":
			out = append(out, fmt.Sprintf("%s (%s)", text, strings.Join(by[text], ", ")))
		}
	}
	return strings.Join(out, "; ")
}
