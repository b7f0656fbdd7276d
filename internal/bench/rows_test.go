package bench

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/parquet-go/parquet-go"

	"throughline/serving/simulate"
)

// TestTables: a table of requests has the same columns and rows in CSV and in Parquet, and nothing
// where a request has no such value.
func TestTables(t *testing.T) {
	list := []*Done{
		{Ended: simulate.Ended{ID: 0, Client: 3, Arrival: 1, Scheduled: 1.25, First: 2, Finish: 4, Input: 10, Output: 5}, Chunks: 5},
		{Ended: simulate.Ended{ID: 1, Arrival: 2, Finish: 3, Input: 10}, Failure: &Failure{Kind: "HTTP 500", Message: "=1+1"}},
	}
	var text, table bytes.Buffer
	for name, w := range map[string]*bytes.Buffer{"r.csv": &text, "r.parquet": &table} {
		rows := RowsTo(name, w)
		for _, d := range list {
			rows.Add(d)
		}
		if err := rows.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	cells, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(cells) != 3 {
		t.Fatalf("%v, %v", cells, err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(table.Bytes()), int64(table.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]parquet.Row, 2)
	r := parquet.NewReader(f)
	defer r.Close()
	if n, err := r.ReadRows(got); n != 2 {
		t.Fatalf("%d rows, %v", n, err)
	}
	for i, c := range f.Schema().Columns() {
		if c[0] != cells[0][i] {
			t.Errorf("column %d is %s in Parquet, %s in CSV", i, c[0], cells[0][i])
		}
		for k := range got {
			if got[k][i].IsNull() != (cells[1+k][i] == "") {
				t.Errorf("%s of request %d: %v in Parquet, %q in CSV", c[0], k, got[k][i], cells[1+k][i])
			}
		}
	}
	// (4 − 2) s over 4 tokens behind the first; 1 s to the first.
	if ttft, tpot := got[0][11].Double(), got[0][12].Double(); ttft != 1000 || tpot != 500 || cells[1][11] != "1000.000" || cells[1][12] != "500.0000" {
		t.Errorf("TTFT %v and TPOT %v ms, in CSV %s and %s", ttft, tpot, cells[1][11], cells[1][12])
	}
}
