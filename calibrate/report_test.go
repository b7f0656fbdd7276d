package calibrate

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/internal/golden"
	"throughline/kernel"
	"throughline/measurement"
)

const shared = "../../shared/measurements/"

func system(t *testing.T, name string) *hardware.System {
	t.Helper()
	src, ok := hardware.Catalogue.Find(name)
	if !ok {
		t.Fatalf("no system %s", name)
	}
	s, doc := hardware.Read(name, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

// load reads tables and says what of them cannot be used.
func load(t *testing.T, files []string) (rows []measurement.Row, bad []measurement.Problem, conflicts []Conflict) {
	t.Helper()
	for _, f := range files {
		tab, err := measurement.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		rows, bad = append(rows, tab.Rows...), append(bad, tab.Problems...)
	}
	rows, conflicts = Clean(rows)
	return rows, bad, conflicts
}

// TestH200 checks that the models reach what they are for on the table measured on one H200.
func TestH200(t *testing.T) {
	file := shared + "h200/ops.csv"
	if _, err := os.Stat(file); err != nil {
		t.Skip("no measurements: ", err)
	}
	if testing.Short() {
		t.Skip("fits take seconds")
	}
	rows, bad, conflicts := load(t, []string{file})
	// Four copies to the GPU took a millisecond longer than larger ones.
	if len(bad) > 0 || len(conflicts) != 4 {
		t.Errorf("%v %v", bad, conflicts)
	}
	for _, c := range conflicts {
		if !strings.HasPrefix(c.Shape, "h2d ") {
			t.Error(c)
		}
	}
	var set kernel.Set
	results, _ := Classes(rows, system(t, "H200"), &set)
	most := map[string]float64{"gemm": 6, "grouped gemm": 10, "decode attention": 7, "prefill attention": 10, "silu_mul": 5, "add_rmsnorm": 12}
	for _, r := range results {
		if limit, ok := most[r.Class]; ok && !(r.Shapes.Mean <= limit) {
			t.Errorf("%s %s: %.1f%% on shapes held out, not %g", r.Class, r.Type, r.Shapes.Mean, limit)
		}
		if r.Shapes.Mean > r.Before.Mean {
			t.Errorf("%s %s: %.1f%%, before %.1f%%", r.Class, r.Type, r.Shapes.Mean, r.Before.Mean)
		}
	}
	g, err := set.Gemm["bfloat16"].At(989e12, 4.8e12)
	if err != nil {
		t.Fatal(err)
	}
	// One row of the table: 2·4096³ operations took 177 µs; at the peak of 989 TFLOPS they would take 139 µs.
	if s := g.Seconds(4096, 4096, 4096); s < 139e-6 || s > 195e-6 {
		t.Errorf("4096³ takes %g s", s)
	}
}

// TestReport writes docs/calibration.md; without -update there is nothing to do, as fitting all tables takes minutes.
func TestReport(t *testing.T) {
	if u := flag.Lookup("update"); u == nil || u.Value.String() != "true" {
		t.Skip("only with -update")
	}
	if _, err := os.Stat(shared + "ops/INDEX.csv"); err != nil {
		t.Skip("no measurements: ", err)
	}
	var out bytes.Buffer
	out.WriteString(intro)
	for _, s := range []struct{ title, system, files string }{
		{"H200, PyTorch 2.11, cold cache", "H200", "h200/ops.csv"},
		{"H200, SGLang and NCCL", "H200", "ops/h200_sxm_*"},
		{"H100 SXM, SGLang and NCCL", "H100_SXM", "ops/h100_sxm_*"},
		{"B200, SGLang and NCCL", "B200", "ops/b200_sxm_*"},
		{"GB200, SGLang and NCCL", "GB200_NVL72", "ops/gb200_*"},
		{"A100 SXM, SGLang and NCCL", "A100_SXM", "ops/a100_sxm_*"},
		{"L40S, SGLang and NCCL", "L40S", "ops/l40s_*"},
	} {
		all, err := filepath.Glob(shared + s.files)
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, f := range all {
			// Whole modules, expert exchanges and linear attention have no model here.
			if ok, _ := filepath.Match("*_perf.csv.gz", filepath.Base(f)); !ok && filepath.Ext(f) != ".csv" {
				continue
			}
			skip := false
			for _, p := range []string{"*sparse_attention*", "*linear_attention*", "*mla_bmm*", "*deepep*", "*wideep*"} {
				m, _ := filepath.Match(p, filepath.Base(f))
				skip = skip || m
			}
			if !skip {
				files = append(files, f)
			}
		}
		rows, bad, conflicts := load(t, files)
		var set kernel.Set
		results, uncovered := Classes(rows, system(t, s.system), &set)
		fmt.Fprintf(&out, "\n## %s\n\n%d rows; %d unreadable, %d in %d contradictions, %d of kinds or conditions without a model.\n\n", s.title,
			len(rows)+len(bad), len(bad), contradicting(conflicts), len(conflicts), uncovered)
		out.WriteString("| class | type | kernel | rows | numbers | before | fitted | held out: mean | median | worst | largest | noise | left out |\n" +
			"|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, r := range results {
			held := fmt.Sprintf("**%.1f** | %.1f | %.0f", r.Shapes.Mean, r.Shapes.Median, r.Shapes.Worst)
			if r.Shapes.Rows == 0 {
				held = "– | – | –"
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %d | %d | %.0f | %.1f | %s | %.1f | %.1f | %d |\n", r.Class, r.Type, r.Kernel, r.Fitted.Rows,
				r.Numbers, r.Before.Mean, r.Fitted.Mean, held, r.Largest.Mean, r.Noise, r.Below+r.Short)
		}
		for i, c := range conflicts {
			if i == 5 {
				fmt.Fprintf(&out, "\nand %d more contradictions.\n", len(conflicts)-i)
				break
			}
			fmt.Fprintf(&out, "\nContradiction: %s\n", c)
		}
		for i, b := range bad {
			if i == 5 {
				fmt.Fprintf(&out, "\nand %d more unreadable rows.\n", len(bad)-i)
				break
			}
			fmt.Fprintf(&out, "\nUnreadable: %s\n", b.Error())
		}
		t.Log(s.title)
	}
	golden.File(t, "../docs/calibration.md", out.Bytes())
}

func contradicting(cs []Conflict) int {
	n := 0
	for _, c := range cs {
		n += len(c.Places)
	}
	return n
}

const intro = `# Calibration

How close the kernel models of package ` + "`kernel`" + ` come to measurements when package ` + "`calibrate`" + ` fits them. Written by
` + "`go test ./calibrate -run Report -update`" + ` from public tables that are not part of the project.

Errors are absolute, in percent of the measured time.

- **before**: mean error of the longer of operations and bytes at 0.8 of the peaks.
- **fitted**: mean error on the rows of the fit (of large tables, an even sample of 9,000).
- **held out**: error on shapes that the fit did not see, a fifth of them at a time: whole (n, k) of products, whole
  (hidden, inner, experts) of expert blocks, whole head configurations of attention, whole sizes of messages and copies. A
  dash: all rows are of one shape.
- **largest**: mean error on the tenth of the rows with the most work, fitted to the other nine tenths.
- **noise**: mean error of the best function that does not fall with size, found for each series of rows on its own
  (rows that differ in m, tokens, context or bytes only). Models that are monotone cannot go under it by much.
- **numbers**: how many were fitted. **left out**: rows faster than the roofline at peak (served from cache, or not what
  they say), contexts under 128 and prompts under 64 tokens.

What the models do not see: which of several kernels a library picks (steps from one m to the next, where m + 1 can take
much longer than m, or less than m), skewed load of experts, experts spread over ranks (the measured fused kernels then also handle
tokens of other ranks), windows. Fused experts marked "tuned" ran with tiles that SGLang ships for their shape, the others
of that kernel with default ones; experts of one model were measured without a gate, of another with half of them idle, and
are counted so. The tables of products are noisy themselves: those of B200 and GB200, nearly one chip, differ from each
other by 9 to 10% on average, shape by shape, beyond their mean ratio, which leaves 6 to 7% to each. fp8 caches of latent attention on Hopper were measured with a slow fallback kernel.
`
