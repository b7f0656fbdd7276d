package sweep_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sweep"
	"throughline/internal/table"
	"throughline/internal/test/long"
	"throughline/internal/test/racing"
)

// scan is a section whose lists multiply to lengths · limits runs.
func scan(t testing.TB, lengths, limits int) *jobfile.Job {
	t.Helper()
	list := func(n int, item func(i int) string) string {
		var out []string
		for i := range n {
			out = append(out, item(i))
		}
		return strings.Join(out, ", ")
	}
	src := fmt.Sprintf(`{"pd-fusion": {
		"model_list": ["llama_3_8b"], "sequence_length_list": [%s], "num_procs_list": [4],
		"parallel_config": [[4, 1, 1]], "batch_config": [[64, 1, 64]],
		"wac_bytes_list": [[1, 1, 1, 1]], "flops_type_list": [["float8", "float16", "float16"]],
		"time_limit_list": [%s], "sys_list": ["H800_IB"], "output": "out"
	}}`, list(lengths, func(i int) string { return fmt.Sprintf("[%d, 128]", 128+i) }),
		list(limits, func(i int) string { return fmt.Sprintf("[null, %d]", 3+i) }))
	jobs, _, err := jobfile.Read(files.Machine, "scan.json", []byte(src), &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	return jobs[0]
}

// Runs come in the order of the file, one for each combination, and the search goes on while they
// are handed over.
func TestRunsComeInOrder(t *testing.T) {
	job := scan(t, 30, 10)
	next := 0
	err := sweep.Run(t.Context(), job, sweep.Options{Jobs: 3}, func(r *result.Record) error {
		if r.Number != next || r.Lengths.Input != 128+next/10 || *r.Limits.TPOT != float64(3+next%10) {
			t.Fatalf("run %d of %d tokens under %g ms came as number %d", r.Number, r.Lengths.Input, *r.Limits.TPOT, next)
		}
		next++
		return nil
	})
	if err != nil || next != job.Len() || next != 300 {
		t.Errorf("%d runs of %d, %v", next, job.Len(), err)
	}
}

// What takes the records may fail; the search ends with it.
func TestFailureEndsTheSearch(t *testing.T) {
	full := io.ErrShortWrite
	n := 0
	err := sweep.Run(t.Context(), scan(t, 1000, 100), sweep.Options{Jobs: 2}, func(*result.Record) error {
		n++
		if n == 10 {
			return full
		}
		return nil
	})
	if err != full || n != 10 {
		t.Errorf("after %d runs: %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = sweep.Run(ctx, scan(t, 1000, 100), sweep.Options{Jobs: 2}, func(*result.Record) error { cancel(); return nil })
	if err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// The long table has the values of the wide ones: a column of one is a row of the other.
func TestLongIsWide(t *testing.T) {
	var text strings.Builder
	lines, wide := report.Formats[0].New(&text), report.NewWide()
	err := sweep.Run(t.Context(), scan(t, 3, 4), sweep.Options{Jobs: 1}, func(r *result.Record) error {
		wide.Add(r)
		return lines.Add(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(rows) != 13 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	compared := 0
	for i, of := range result.Tables() {
		var b strings.Builder
		if err := wide.WriteCSV(&b, i, false); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for j, line := range lines[1:] {
			at, ok := column[of.Rows[j].Name]
			if !ok {
				t.Errorf("the long table lacks %s", of.Rows[j].Name)
				continue
			}
			for run, cell := range line[1:] {
				if got := rows[1+run][at]; got != cell {
					t.Errorf("%s of run %d: %q, in %s %q", of.Rows[j].Name, run, got, of.Name, cell)
				}
				compared++
			}
		}
	}
	if compared < 12*200 {
		t.Errorf("only %d cells compared", compared)
	}
}

// However many runs a file has, they are written in the same memory: 200 MB at most for a million.
func TestMemoryOfLongTables(t *testing.T) {
	runs, most := 5_000, uint64(200<<20) // what the collector leaves depends on the machine
	switch {
	case racing.Enabled:
		t.Skip("the race detector takes memory of its own")
	case long.Mode():
		runs, most = 1_000_000, 200<<20
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // what is kept counts, not what is left behind
	runtime.GC()                                      // by other tests
	job := scan(t, runs/100, 100)
	rows := report.Formats[0].New(io.Discard)
	terminal, err := report.NewRuns(table.View{})
	if err != nil {
		t.Fatal(err)
	}
	n, highest := 0, uint64(0)
	err = sweep.Run(t.Context(), job, sweep.Options{Jobs: 2}, func(r *result.Record) error {
		if n++; n%500 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapInuse+m.StackInuse)
		}
		terminal.Add(r)
		return rows.Add(r)
	})
	if err != nil || n != runs {
		t.Fatalf("%d runs, %v", n, err)
	}
	if highest > most {
		t.Errorf("%d MB for %d runs", highest>>20, n)
	}
	t.Logf("%d runs in %d MB", n, highest>>20)
	var b strings.Builder
	if err := terminal.Write(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines > 13 { // three of them are the answer in words
		t.Errorf("%d lines for one model on one system:\n%s", lines, &b)
	}
}

func BenchmarkLong(b *testing.B) {
	job := scan(b, 10, 100)
	for b.Loop() {
		rows := report.Formats[0].New(io.Discard)
		if err := sweep.Run(context.Background(), job, sweep.Options{Jobs: 1}, func(r *result.Record) error { return rows.Add(r) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*job.Len())/b.Elapsed().Seconds(), "runs/s")
}
