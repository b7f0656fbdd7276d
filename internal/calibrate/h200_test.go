package calibrate

import (
	"os"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/files"
	"throughline/internal/measurement"
	"throughline/internal/test/builtin"
)

// shared is where measurements lie that are not part of the project.
const shared = "../../../shared/measurements/"

// system is a built-in system without its kernels, which fits are to give it.
func system(t *testing.T, name string) *hardware.System {
	t.Helper()
	s := builtin.System(t, name)
	s.Kernels = nil
	return s
}

// load reads tables and says what of them cannot be used.
func tables(t *testing.T, names []string) (rows []measurement.Row, bad []measurement.Problem, conflicts []Conflict) {
	t.Helper()
	for _, f := range names {
		table, err := measurement.ReadFile(files.Machine, f)
		if err != nil {
			t.Fatal(err)
		}
		rows, bad = append(rows, table.Rows...), append(bad, table.Problems...)
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
	rows, bad, conflicts := tables(t, []string{file})
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
	g := timing(t, kernel.Gemm, set.Gemm["bfloat16"])
	// One row of the table: 2·4096³ operations took 177 µs; at the peak of 989 TFLOPS they would
	// take 139 µs.
	if s := g.Seconds(at(Peak{Rate: 989e12, Bandwidth: 4.8e12}), &kernel.Shape{M: 4096, N: 4096, K: 4096, Count: 1}); s < 139e-6 || s > 195e-6 {
		t.Errorf("4096³ takes %g s", s)
	}
}
