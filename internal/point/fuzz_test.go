package point

import (
	"bytes"
	"context"
	"encoding/csv"
	"slices"
	"testing"
)

// FuzzStream: every row of a table comes back with a result or a reason, whatever it holds.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"batch,tp,phase\n1,2,prefill\n0,,both\n\"x\n", "#note,isl,osl\n=1+1,100,-5\n,,\n1\n", "\uFEFFdp\n1e9\n", "batch,reason\n",
	} {
		f.Add([]byte(seed))
	}
	others := llama()
	f.Fuzz(func(t *testing.T, table []byte) {
		if bytes.Contains(table, []byte("lengths")) || bytes.Contains(table, []byte("model")) || bytes.Contains(table, []byte("system")) {
			t.Skip("such a table may name any file of this machine")
		}
		var out bytes.Buffer
		tally, err := Stream(context.Background(), bytes.NewReader(table), &out, &others)
		if err != nil {
			return
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != tally.Rows+1 {
			t.Fatalf("%d rows of results for %d of input", len(rows)-1, tally.Rows)
		}
		reason, latency := slices.Index(rows[0], "reason"), slices.Index(rows[0], "step_ms")
		for _, row := range rows[1:] {
			if row[latency] == "" && row[reason] == "" {
				t.Errorf("neither a result nor a reason: %q", row)
			}
		}
	})
}
