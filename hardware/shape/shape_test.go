package shape_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/hardware/shape"
)

func set(t *testing.T, name string) *kernel.Set {
	t.Helper()
	src, ok := hardware.Catalogue.Find(name)
	if !ok {
		t.Fatalf("no system %s", name)
	}
	s, doc := hardware.Read(name, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return s.Kernels
}

// TestBuiltIn: the shapes are those that the built-in kernels were fitted to, of sections that
// exist.
func TestBuiltIn(t *testing.T) {
	files, err := os.ReadDir("measured")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".json.gz")
		table, err := shape.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := shape.Text(name)
		packed, _ := table.Pack()
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := io.ReadAll(z); err != nil || len(text) == 0 || !bytes.Equal(again, text) {
			t.Errorf("%s: packed again it is another table, %v", name, err)
		}
		k := set(t, name)
		if table.Source != k.Source {
			t.Errorf("%s: shapes of other kernels: %q, not %q; run go run ./cmd/lab kernels --shapes", name, table.Source, k.Source)
		}
		for kernel, families := range table.Families {
			section, key, _ := strings.Cut(kernel, ".")
			if len(families) == 0 || k.MeasuredOn(section, key) != name {
				t.Errorf("%s: %s was measured on %s", name, kernel, k.MeasuredOn(section, key))
			}
		}
	}
}

// TestMeasured: the very shape, and none beside it. A product of 64 rows of Llama 3 8B was measured
// on the H200 (h200/ops.csv).
func TestMeasured(t *testing.T) {
	h200 := set(t, "H200")
	product := kernel.Shape{M: 64, N: 4096, K: 4096, Count: 1, Rows: 64}
	if !shape.Measured(h200, "gemm", "bfloat16", &product) {
		t.Error("64 × 4096 × 4096 was measured")
	}
	two := kernel.Shape{M: 64, N: 2048, K: 4096, Count: 2}
	if !shape.Measured(h200, "gemm", "bfloat16", &two) {
		t.Error("two matrices beside each other are one that is wider")
	}
	for _, other := range []kernel.Shape{{M: 65, N: 4096, K: 4096, Count: 1}, {M: 64, N: 4097, K: 4096, Count: 1}, {M: 64, N: 4096, K: 4095, Count: 1}} {
		if shape.Measured(h200, "gemm", "bfloat16", &other) {
			t.Errorf("%+v was not measured", other)
		}
	}
	if shape.Measured(h200, "gemm", "int3", &product) || shape.Measured(h200, "no section", "", &product) {
		t.Error("a kernel that there is none of")
	}
	mine := *h200
	mine.Source = "measured by myself"
	if shape.Measured(&mine, "gemm", "bfloat16", &product) {
		t.Error("the shapes of other measurements on the same chip are not known")
	}
}
