package sweep

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"throughline/internal/scan"
	"throughline/internal/store"
	"throughline/internal/table"
	"throughline/internal/test/damage"
)

// onePart is a store of one file.
type onePart struct {
	store.Store
	data []byte
}

func (p onePart) String() string { return "folder" }

func (p onePart) Read(context.Context, string) ([]byte, error) { return p.data, nil }

// FuzzPart: a part of a scan is read, or is said to be broken, whatever a disk or a copy made of
// it.
func FuzzPart(f *testing.F) {
	manifest := &scan.Manifest{Format: 1, Scan: &scan.Request{}, Points: 3, Chunk: 3, Columns: []scan.Column{{Name: "batch", Kind: "count"}, {Name: "ms", Kind: "number"}, {Name: "why", Kind: "text"}}}
	var b bytes.Buffer
	w := table.NewWriter(&b, table.Parquet, []table.Column[int]{
		{Name: "batch", Kind: table.Count, Value: func(i int) any { return i }},
		{Name: "ms", Kind: table.Number, Value: func(i int) any { return float64(i) / 3 }},
		{Name: "why", Kind: table.Text, Value: func(i int) any { return fmt.Sprint("because of ", i) }},
	})
	w.(table.Noted).Note(table.Note{Key: scanNote, Text: manifest.Hash() + " part 0"})
	for i := range 3 {
		if err := w.Add(i); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	whole := b.Bytes()
	damage.Add(f, b.String())
	f.Fuzz(func(t *testing.T, src []byte) {
		work := &Work{Manifest: manifest, In: onePart{data: src}}
		columns := rawColumns(manifest)
		rows := 0
		err := work.rows(t.Context(), 0, func(row []any) error {
			for _, c := range columns {
				c.Value(row)
			}
			rows++
			return nil
		})
		if err == nil && bytes.Equal(src, whole) && rows != 3 {
			t.Errorf("%d rows", rows)
		}
	})
}
