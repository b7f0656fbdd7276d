package readers

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"throughline/internal/rawdata"
	"throughline/internal/workbook"
)

// everySheet makes LibreOffice write a CSV file of each sheet, with the values as they are, not as
// they are shown.
const everySheet = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"

// TestLibreOffice: LibreOffice opens the workbook and finds in it what the tables have.
func TestLibreOffice(t *testing.T) {
	soffice, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("LibreOffice is not installed: nothing opens the workbook here")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "measured.csv"), []byte("model,backend,system,isl,osl,clients,tpot_ms,ttft_ms,kv_tokens\nLlama-3.1-8B,=vllm,H200,1024,1024,16,6.5,60,512000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	book := filepath.Join(dir, "book.xlsx")
	run(t, "run", "-c", "../../../configs/reference_sample.json", "--op-details", "--format", "long", "-o", dir, "--xlsx", book, "--measured", filepath.Join(dir, "measured.csv"))
	out, err := exec.Command(soffice, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"), "--headless", "--convert-to", everySheet, "--outdir", dir, book).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sheet := func(name string) [][]string {
		t.Helper()
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		defer f.Close()
		r := csv.NewReader(f)
		r.FieldsPerRecord = -1
		rows, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	want, got := sheet("pd-split-request-optimal_long.csv"), sheet("book-"+workbook.LongSheet+".csv")
	if len(got) != len(want) {
		t.Fatalf("%d rows in the sheet, %d in the table", len(got), len(want))
	}
	for i := range want {
		for j, cell := range want[i] {
			if !equal(got[i][j], cell) {
				t.Errorf("row %d, %s: %q in the sheet, %q in the table", i, want[0][j], got[i][j], cell)
			}
		}
	}
	raw := sheet("book-" + workbook.RawSheet + ".csv")
	last := raw[len(raw)-1]
	for name, value := range map[string]string{"Framework": "=vllm", "KV_cache_objs": "512000", "TPOT": "6.5", "Source": rawdata.Measured} {
		at := slices.IndexFunc(rawdata.Columns, func(c rawdata.Column) bool { return c.Name == name })
		if last[at] != value {
			t.Errorf("measured %s is %q, want %q", name, last[at], value)
		}
	}
}

// equal compares numbers by their value: LibreOffice writes fifteen digits.
func equal(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, other := strconv.ParseFloat(b, 64)
	if err != nil || other != nil {
		return a == b
	}
	return x == y || x/y > 1-1e-12 && x/y < 1+1e-12
}
