package parquet_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	other "github.com/parquet-go/parquet-go"

	"throughline/internal/parquet"
	"throughline/internal/test/damage"
)

var columns = []parquet.Column{{Name: "n", Kind: parquet.Int}, {Name: "x", Kind: parquet.Float}, {Name: "文", Kind: parquet.Text}, {Name: "yes", Kind: parquet.Bool}, {Name: "none", Kind: parquet.Float}, {Name: "all", Kind: parquet.Int}}

// rowOf has a value in every, in every second and in no row of a column.
func rowOf(i int) []any {
	row := []any{i - 5, float64(i) / 3, fmt.Sprint("text ", i), i%3 == 0, nil, i}
	if i%2 == 1 {
		row[0], row[2], row[3] = nil, nil, nil
	}
	if i == 4 {
		row[1], row[2] = math.Inf(1), ""
	}
	return row
}

func written(t testing.TB, rows int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b, "test", columns)
	w.Note("key", "value")
	for i := range rows {
		if err := w.Row(rowOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	w.Note("late", "known at the end")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReadBack: what is written is what is read, here and by another library: around the size of
// a group, and around bytes of bits.
func TestReadBack(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 4095, 4096, 4097, 10_000} {
		data := written(t, n)
		f, err := parquet.Open(data)
		if err != nil || f.Rows != n || !slices.Equal(f.Columns, columns) || f.Notes["key"] != "value" || f.Notes["late"] != "known at the end" {
			t.Fatalf("%d rows: %+v, %v", n, f, err)
		}
		i := 0
		err = f.Each(func(row []any) error {
			if want := rowOf(i); !slices.Equal(row, want) {
				return fmt.Errorf("row %d is %v, want %v", i, row, want)
			}
			i++
			return nil
		})
		if err != nil || i != n {
			t.Errorf("%d of %d rows: %v", i, n, err)
		}
		readByOther(t, data, n)
	}
}

// readByOther reads a file with parquet-go.
func readByOther(t *testing.T, data []byte, n int) {
	t.Helper()
	f, err := other.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := f.Lookup("late"); text != "known at the end" || f.NumRows() != int64(n) {
		t.Errorf("%q, %d rows", text, f.NumRows())
	}
	reader := other.NewReader(f)
	defer reader.Close()
	cells := make([]other.Row, 1)
	for i := range n {
		if got, err := reader.ReadRows(cells); got != 1 {
			t.Fatalf("row %d: %v", i, err)
		}
		var row []any
		for _, v := range cells[0] {
			switch {
			case v.IsNull():
				row = append(row, nil)
			case v.Kind() == other.Int64:
				row = append(row, int(v.Int64()))
			case v.Kind() == other.Double:
				row = append(row, v.Double())
			case v.Kind() == other.Boolean:
				row = append(row, v.Boolean())
			default:
				row = append(row, string(v.ByteArray()))
			}
		}
		if want := rowOf(i); !reflect.DeepEqual(row, want) {
			t.Fatalf("row %d is %v, want %v", i, row, want)
		}
	}
	for _, group := range f.Metadata().RowGroups {
		for j, c := range group.Columns {
			said := c.MetaData.Statistics
			if j == 1 && n == 9 && (other.Double.Value(said.MinValue).Double() != 0 || !math.IsInf(other.Double.Value(said.MaxValue).Double(), 1)) {
				t.Errorf("from %v to %v", said.MinValue, said.MaxValue)
			}
			if j == 4 && (c.MetaData.Statistics.NullCount != group.NumRows || c.MetaData.Statistics.MinValue != nil) {
				t.Errorf("a column of nothing has %+v", c.MetaData.Statistics)
			}
		}
	}
}

func TestWrongKind(t *testing.T) {
	for i, v := range []any{"text", "text", 1, 1.5, "text", 1.5} {
		w := parquet.NewWriter(io.Discard, "test", columns)
		row := rowOf(1)
		row[i] = v
		if err := w.Row(row); err == nil || !strings.HasPrefix(err.Error(), columns[i].Name+": a value") {
			t.Errorf("%v in %s: %v", v, columns[i].Name, err)
		}
	}
}

// FuzzOpen: a file is read, or is said to be broken, whatever a disk or a copy made of it.
func FuzzOpen(f *testing.F) {
	damage.Add(f, string(written(f, 20)))
	f.Fuzz(func(t *testing.T, src []byte) {
		if file, err := parquet.Open(src); err == nil {
			file.Each(func(row []any) error { return nil })
		}
	})
}

// TestCut: no part of a file passes for the whole, and a spoilt one for other rows.
func TestCut(t *testing.T) {
	whole := written(t, 20)
	for n := range len(whole) {
		if _, err := parquet.Open(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken for a file", n, len(whole))
		}
	}
	description := int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
	for i := 4; i < len(whole)-8-description; i++ { // in the pages
		spoilt := bytes.Clone(whole)
		spoilt[i] ^= 1
		f, err := parquet.Open(spoilt)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = f.Each(func(row []any) error {
			if want := rowOf(n); !slices.Equal(row, want) {
				t.Errorf("byte %d is another, and row %d is %v", i, n, row)
			}
			n++
			return nil
		})
		if err == nil && n != 20 {
			t.Errorf("byte %d is another, and there are %d rows", i, n)
		}
	}
}
