// Package readers opens what the program writes with the programs of others.
package readers

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"throughline/internal/cli"
)

// run calls the program.
func run(t *testing.T, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Run(context.Background(), args, cli.Streams{In: &bytes.Buffer{}, Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, &errs)
	}
}

// duckdb answers a query in a folder; without DuckDB the test is skipped.
func duckdb(t *testing.T, dir, query string) (rows []map[string]any) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed: DuckDB does not read the files here")
	}
	if _, err := os.Stat("node_modules/@duckdb/node-api"); err != nil {
		t.Skip("DuckDB is not installed: make readers installs it")
	}
	script, err := filepath.Abs("query.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script, query)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", query, err, &errs)
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestDuckDB: DuckDB reads every form of the long table as the same rows, with numbers as numbers.
func TestDuckDB(t *testing.T) {
	dir := t.TempDir()
	run(t, "run", "-c", "../../../configs/split_and_fusion.json", "--format", "long,json,parquet", "--op-details", "-o", dir)
	for _, mode := range []string{"pd-fusion", "pd-split-request-optimal"} {
		f, err := os.Open(filepath.Join(dir, mode+"_long.csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		column := map[string]int{}
		for i, name := range rows[0] {
			column[name] = i
		}
		for _, from := range []string{"read_parquet('%s_long.parquet')", "read_json_auto('%s_long.jsonl')", "read_csv_auto('%s_long.csv')"} {
			from = fmt.Sprintf(from, filepath.Join(dir, mode))
			got := duckdb(t, dir, `SELECT "model_name" AS model, "TPOT(s)" + 0.0 AS tpot, "decoder_op_memory_bound(%)" + 0.0 AS bound, "use_flash_attn" AND TRUE AS flash FROM `+from+` ORDER BY run`)
			if len(got) != len(rows)-1 || len(got) == 0 {
				t.Fatalf("%s: %d rows, the table has %d", from, len(got), len(rows)-1)
			}
			for i, row := range got {
				want := rows[1+i]
				for key, name := range map[string]string{"tpot": "TPOT(s)", "bound": "decoder_op_memory_bound(%)"} {
					cell := want[column[name]]
					v, isNumber := row[key].(float64)
					n, err := strconv.ParseFloat(cell, 64)
					if cell == "" && row[key] == nil || isNumber && err == nil && n == v {
						continue
					}
					t.Errorf("%s: row %d has %s %v, the table %q", from, i, name, row[key], cell)
				}
				if row["model"] != want[column["model_name"]] || row["flash"] != (want[column["use_flash_attn"]] == "TRUE") {
					t.Errorf("%s: row %d is %v", from, i, row)
				}
			}
		}
	}
	// A table of operators beside it: what the rows add up to is the step of the result.
	planned := duckdb(t, dir, `SELECT min(run) AS run FROM read_parquet('`+filepath.Join(dir, "pd-fusion_long.parquet")+`') WHERE "decoder_step_time(s)" > 0`)[0]["run"]
	ops := filepath.Join(dir, "pd-fusion_op_details", fmt.Sprintf("run_%v.csv", planned))
	got := duckdb(t, dir, `SELECT sum(process_time * repeat) AS step FROM read_csv_auto('`+ops+`') WHERE phase = 'decode'`)
	want := duckdb(t, dir, `SELECT "decoder_step_time(s)" AS step FROM read_parquet('`+filepath.Join(dir, "pd-fusion_long.parquet")+fmt.Sprintf(`') WHERE run = %v`, planned))
	a, b := got[0]["step"].(float64), want[0]["step"].(float64)
	if a < b*(1-1e-9) || a > b*(1+1e-9) {
		t.Errorf("operators take %v s, the step %v s", a, b)
	}
}

// example is the code of a language that docs/export.md shows.
func example(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("docs/export.md has no %s", language)
	}
	return code
}

// samples writes what the examples read.
func samples(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	run(t, "run", "-c", "../../../configs/split_and_fusion.json", "--format", "long,json,parquet", "--op-details", "-o", filepath.Join(dir, "outputs"))
	return dir
}

// TestDuckDBExamples: the queries of the page have answers.
func TestDuckDBExamples(t *testing.T) {
	dir := samples(t)
	statements := strings.Split(strings.TrimSpace(example(t, "sql")), ";")
	for _, query := range statements[:len(statements)-1] {
		if rows := duckdb(t, dir, query); len(rows) == 0 {
			t.Errorf("no rows: %s", query)
		}
	}
	if len(statements) < 3 {
		t.Errorf("%d statements", len(statements)-1)
	}
}

// TestPandasExamples: the Python of the page runs.
func TestPandasExamples(t *testing.T) {
	if err := exec.Command("python3", "-c", "import pandas, pyarrow").Run(); err != nil {
		t.Skip("pandas and pyarrow are not installed: the examples for them do not run here")
	}
	cmd := exec.Command("python3", "-c", example(t, "python"))
	cmd.Dir = samples(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestDuckDBReadsParts: DuckDB reads the parts of a scan as one table, by names without quotes.
func TestDuckDBReadsParts(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "scan.json")
	if err := os.WriteFile(file, []byte(`{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1,8", "phase": "decode"}, "vary": ["sys.mem1.GBps=3000:9000:7"]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, "sweep", "run", file, "-o", filepath.Join(dir, "results"))
	rows := duckdb(t, dir, "SELECT count(*)::INTEGER AS n, max(sys_mem1_GBps) AS fastest, min_by(point, step_ms)::INTEGER AS best, bool_and(fits) AS fit FROM 'results/part-*.parquet'")
	if len(rows) != 1 || fmt.Sprint(rows[0]["n"]) != "14" || fmt.Sprint(rows[0]["fastest"]) != "9000" || fmt.Sprint(rows[0]["best"]) != "6" || rows[0]["fit"] != true {
		t.Errorf("%v", rows)
	}
}
