package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"throughline/internal/test/racing"
)

// shownAt is what a command prints on a terminal of a width.
func shownAt(t *testing.T, width int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: width}); code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// On terminals of 80 and 120 columns no line is longer, but for launch commands, which are to be pasted.
func TestOutputFits(t *testing.T) {
	if racing.Enabled {
		t.Skip("what is printed is the same without the race detector")
	}
	t.Setenv("COLUMNS", "")
	dir := t.TempDir()
	deepseek := []string{"--model", "deepseek_v3_flash_mla_absorb", "--system", "H200", "--weights", "fp8"}
	for _, args := range [][]string{
		{"models"}, {"systems"},
		{"run", "-c", "../../configs/split_and_fusion.json", "-o", dir},
		{"run", "-c", "../../configs/reference_sample.json", "-o", dir, "--assume", "physical"},
		append([]string{"plan", "--gpus", "32", "--isl", "4000", "--osl", "1000", "--tpot", "50", "--price", "2", "--power", "700"}, deepseek...),
		append([]string{"estimate", "--dp", "16", "--batch", "64"}, deepseek...),
		append([]string{"explain", "--dp", "16", "--batch", "64", "--seek", "mem1.GBps", "--until", "tpot=40ms"}, deepseek...),
		append([]string{"explain", "--dp", "2", "--pp", "8", "--batch", "64", "--drafts", "1", "--tpot", "100"}, deepseek...),
	} {
		for _, width := range []int{80, 120} {
			out := shownAt(t, width, args...)
			before, _, _ := strings.Cut(out, "\n  # ")
			for line := range strings.Lines(before) {
				if w := text.StringWidthWithoutEscSequences(strings.TrimRight(line, "\n")); w > width {
					t.Errorf("%s at %d: %d columns: %s", args[0], width, w, line)
				}
			}
		}
		if args[0] != "estimate" {
			if wide := shownAt(t, 80, append(args, "--wide")...); wide != shownAt(t, 0, args...) || strings.Contains(wide, "not shown") {
				t.Errorf("%s --wide is not what a pipe gets", args[0])
			}
		}
	}
}

// --columns shows the fields that it names, with or without their unit.
func TestColumns(t *testing.T) {
	out := shownAt(t, 0, "run", "-c", "../../configs/reference_sample.json", "-o", t.TempDir(), "--columns", "model_name,TPOT,decoder_bound_by")
	header, _, _ := strings.Cut(strings.SplitAfterN(out, "\n", 2)[1], "\n")
	if strings.Join(strings.Fields(strings.ReplaceAll(header, "│", "")), " ") != "run model_name TPOT(s) decoder_bound_by" {
		t.Errorf("printed\n%s", out)
	}
	if !strings.Contains(out, "0.0348293") || !strings.Contains(out, "memory 8") {
		t.Errorf("printed\n%s", out)
	}
	var errs bytes.Buffer
	code := Run(context.Background(), []string{"run", "-c", "../../configs/reference_sample.json", "--columns", "TPTO"}, Streams{Out: &errs, Err: &errs})
	if code != exitBadInput || !strings.Contains(errs.String(), `did you mean "TPOT"`) {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}
