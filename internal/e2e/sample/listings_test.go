package sample

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/cli"
	"throughline/internal/test/golden"
)

// TestListings: every listing of the document that describes the formats loads as pasted, and the
// runtime file runs.
func TestListings(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(golden.Root, "..", "shared", "seeds", "003_*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 1 {
		t.Skip("the document of the reference tool is not beside the project")
	}
	src, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	listings := strings.Split(string(src), "```")
	for i, want := range []string{"runtime file of 16 runs", "system SOW-S1", "model qwen3-32B-flash", "model deepseek-v3-mla-absorb"} {
		name := filepath.Join(dir, fmt.Sprintf("listing%d.json", i))
		if err := os.WriteFile(name, []byte(listings[2*i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if code := cli.Run(t.Context(), []string{"check", name}, cli.Streams{Out: &out, Err: &errs}); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("listing %d: exit code %d, %q, want %q: %s", i, code, &out, want, &errs)
		}
	}
	var out, errs bytes.Buffer
	results := filepath.Join(dir, "out")
	if code := cli.Run(t.Context(), []string{"run", "-c", filepath.Join(dir, "listing0.json"), "-o", results}, cli.Streams{Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	tables, _ := filepath.Glob(filepath.Join(results, "*.csv"))
	if len(tables) != 6 {
		t.Errorf("%d tables, want three of either mode", len(tables))
	}
	// GPT-3 does not fit on 32 dies of 64 GiB in groups of 4: its two columns say so.
	if n := strings.Count(errs.String(), "gpt-3-175B on 910C_with_1die): no plan: 1 plan does not fit into 64 GiB"); n != 2 {
		t.Errorf("%d columns say that GPT-3 does not fit, want 2: %s", n, &errs)
	}
}
