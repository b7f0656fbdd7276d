package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestExitCodesAreDocumented: help and docs/output.md have the same table.
func TestExitCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	help := call(t, "--help")
	for _, e := range exitCodes {
		if row := fmt.Sprintf("| %d | %s |\n", e.code, e.meaning); !strings.Contains(string(page), row) {
			t.Errorf("docs/output.md has no row %s", row)
		}
		if row := fmt.Sprintf("  %-4d %s\n", e.code, e.meaning); !strings.Contains(help, row) {
			t.Errorf("the help has no line %q", row)
		}
	}
}

// TestLimitsDecideTheExitCode: 0 where limits hold or none were asked for, 4 where they do not.
func TestLimitsDecideTheExitCode(t *testing.T) {
	sim := []string{"simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--rate", "2", "--isl", "200", "--osl", "20", "--num-prompts", "50"}
	for limit, want := range map[string]int{"": exitOK, "p99:10s": exitOK, "p50:1ms": exitLimits} {
		args := sim
		if limit != "" {
			args = append(args[:len(args):len(args)], "--ttft", limit)
		}
		for _, form := range [][]string{nil, {"--json"}} {
			if code, out, said := attempt(append(args[:len(args):len(args)], form...)...); code != want || out == "" {
				t.Errorf("%q %v: exit code %d, not %d: %s", limit, form, code, want, said)
			}
		}
	}
	// A curve breaks its limits where they hold at no point.
	for limit, want := range map[string]int{"p50:1ms": exitLimits, "p99:10s": exitOK} {
		for _, curve := range [][]string{{"--rate", "1,2"}, {"--seed", "1,2"}} {
			args := append(slices.Clone(sim), "--ttft", limit)
			if code, _, said := attempt(append(args, curve...)...); code != want {
				t.Errorf("%s %v: exit code %d, not %d: %s", limit, curve, code, want, said)
			}
		}
	}
	if code, _, said := attempt(append(slices.Clone(sim), "--rate", "2,500", "--ttft", "p99:40ms")...); code != exitOK {
		t.Errorf("limits hold at one rate: exit code %d: %s", code, said)
	}
	server := streaming(t, 0)
	if code, out, said := attempt(smallBench(server, "--max-concurrency", "3", "--ttft", "p50:0.001us")...); code != exitLimits || !strings.Contains(out, "✗ p50 TTFT") {
		t.Errorf("bench: exit code %d: %s%s", code, out, said)
	}
}
