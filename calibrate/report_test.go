package calibrate

import (
	"os"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/kernel"
	"throughline/measurement"
)

const shared = "../../shared/measurements/"

// system is a built-in system without its kernels, which fits are to give it.
func system(t *testing.T, name string) *hardware.System {
	t.Helper()
	src, ok := hardware.Catalogue.Find(name)
	if !ok {
		t.Fatalf("no system %s", name)
	}
	src, err := hardware.WithKernels(src, nil)
	if err != nil {
		t.Fatal(err)
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
	// Copies of 64 KiB to 1 MiB to the device took eleven times as long as one of 4 MiB.
	if len(bad) > 0 || len(conflicts) != 3 {
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

func contradicting(cs []Conflict) int {
	n := 0
	for _, c := range cs {
		n += len(c.Places)
	}
	return n
}

const intro = `# Calibration

How close the kernel models of package ` + "`kernel`" + ` come to measurements when package ` + "`calibrate`" + ` fits them. Written by
` + "`go test ./calibrate -run Catalogue -update`" + ` from public tables that are not part of the project, with the built-in
kernels (hardware/kernels).

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
  they say), contexts under 128, prompts under 64 tokens, linear attention that moves more than 256 MiB in prefill or
  1 GiB in decode, and rows of linear attention and of absorbed products that came from the cache of the chip (below).

What the models do not see: which of several kernels a library picks (steps from one m to the next, where m + 1 can take
much longer than m, or less than m), skewed load of experts, experts spread over ranks (the measured fused kernels then also handle
tokens of other ranks), windows. Fused experts marked "tuned" ran with tiles that SGLang ships for their shape, the others
of that kernel with default ones; experts of one model were measured without a gate, of another with half of them idle, and
are counted so. The tables of products are noisy themselves: those of B200 and GB200, nearly one chip, differ from each
other by 9 to 10% on average, shape by shape, beyond their mean ratio, which leaves 6 to 7% to each. fp8 caches of latent attention on Hopper were measured with a slow fallback kernel.
Tables of absorbed products and of linear attention repeat a kernel on the same memory, so that weights and states come
from the cache of the chip where they fit into it (tens of MB), in down to a quarter of the time that memory takes, while
engines find other layers there: rows that take less than the quickest of all and their bytes at peak together are left
out, up to three quarters of a table, and the errors are those of the others. Of linear attention on the H200, larger
prompts are noisy, the same shape taking up to three times as long elsewhere in the table.
`
