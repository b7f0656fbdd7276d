package csvfile

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/internal/files"
)

// endless gives the same bytes for ever, as a device does.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// final reads until an error that ends it.
func final(r *Reader) (rows int, err error) {
	for {
		_, err := r.Read()
		var broken *csv.ParseError
		if err != nil && !errors.As(err, &broken) {
			return rows, err
		}
		rows++
	}
}

func TestLimits(t *testing.T) {
	small := Limits{Row: 1000, Cell: 10, Cells: 4, Rows: 5, Bytes: 1 << 20}
	cases := []struct {
		name   string
		src    io.Reader
		limits Limits
		want   string
	}{
		{"zeros", endless("\x00"), Streamed, "line 1: a row has more than 1048576 bytes (is a quote not closed?), the most that is read"},
		{"an open quote", io.MultiReader(strings.NewReader("a,b\n1,2\n3,\""), endless("x\n")), Streamed, "after line 2: a row has more than 1048576 bytes (is a quote not closed?), the most that is read"},
		{"many cells", strings.NewReader("a,b\n\n1,2,3,4\n1,2,3,4,5\n"), small, "line 4: a row has more than 4 cells, the most that is read"},
		{"a long cell", strings.NewReader("a,b\n1,\"\n\"\n1,12345678901\n"), small, "line 4: cell 2 has more than 10 bytes, the most that is read"},
		{"many rows", endless("1,2\n"), small, "line 6: the table has more than 5 rows, the most that is read"},
		{"much", endless("1,2\n"), Limits{Row: 1000, Cell: 10, Cells: 4, Bytes: 1 << 20}, "after line "},
		{"a failing disk", io.MultiReader(strings.NewReader("a,b\n"), failing{}), Streamed, "after line 1: the disk is gone"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := final(NewReader(c.src, c.limits))
			if err == io.EOF || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if c.name == "much" && !strings.HasSuffix(err.Error(), ": the table has more than 1 MiB, the most that is read") {
				t.Error(err)
			}
		})
	}
}

// TestLines: a text ends with a message where it has more than the limits, and not with a part that
// is taken for all.
func TestLines(t *testing.T) {
	few := Limits{Row: 1000, Rows: 5}
	for name, c := range map[string]struct {
		src    io.Reader
		limits Limits
		lines  int
		want   string
	}{
		"as many as may be": {strings.NewReader(strings.Repeat("a\n", 5)), few, 5, "<nil>"},
		"one more":          {strings.NewReader(strings.Repeat("a\n", 6)), few, 5, "the text has more than 5 lines, the most that is read"},
		"zeros":             {io.MultiReader(strings.NewReader("a\n"), endless("\x00")), few, 1, "line 2 has more than 1000 bytes, the most that is read"},
		"much":              {endless(strings.Repeat("a", 1<<10-1) + "\n"), Limits{Row: 1 << 10, Bytes: 1 << 20}, 1<<10 + 1, "after line 1025: the table has more than 1 MiB, the most that is read"},
		"a failing disk":    {io.MultiReader(strings.NewReader("a\n"), failing{}), few, 1, "after line 1: the disk is gone"},
	} {
		l, n := NewLines(c.src, c.limits), 0
		for l.Scan() {
			n++
		}
		if got := fmt.Sprint(l.Err()); n != c.lines || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %d lines, %v; want %d, %s", name, n, got, c.lines, c.want)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// TestWithin: what is as large as the limits is read.
func TestWithin(t *testing.T) {
	row := strings.Repeat("x,", 49) + "y\n"
	limits := Limits{Row: len(row), Cell: 1, Cells: 50, Rows: 10_000, Bytes: int64(10_000 * len(row))}
	rows, err := final(NewReader(strings.NewReader(strings.Repeat(row, 10_000)), limits))
	if rows != 10_000 || err != io.EOF {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "a,b\n1,2\n")
	z.Close()
	for name, content := range map[string][]byte{"t.csv": []byte("a,b\n1,2\n"), "t.csv.gz": packed.Bytes()} {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, content, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(files.Machine, name)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := final(NewReader(f, Kept)); rows != 2 || err != io.EOF {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
		f.Close()
	}
	bad := filepath.Join(dir, "bad.gz")
	if err := os.WriteFile(bad, []byte("a,b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(files.Machine, bad); err == nil {
		t.Error("unpacked what is not packed")
	}
}

func TestGuard(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "plain": "plain", "a=1": "a=1", "=1+1": "'=1+1", "+cmd": "'+cmd", "-cmd|x": "'-cmd|x", "@sum": "'@sum",
		"\tx": "'\tx", "\rx": "'\rx", "-5": "-5", "+1.5e-3": "+1.5e-3", "-inf": "'-inf", "-": "'-", "+1_0": "'+1_0", "-0x1p4": "'-0x1p4",
		"1-2": "1-2", "'x": "'x",
	} {
		if got := Guard(cell); got != want {
			t.Errorf("%q is written as %q, want %q", cell, got, want)
		}
		if got := Unguard(want); got != cell {
			t.Errorf("%q is read as %q, want %q", want, got, cell)
		}
	}
}

// FuzzReader: whatever comes, reading ends, with rows within the limits, and what is written again
// is read as it was.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"", "a,b\n1,2\n", "\uFEFFa\r\n\"x\ny\",\"\"\"\"\n", "a\n\"open", "=1,+x,-y,@z\n'=1\n", "a\x00b,\xff\n\n\n,\n"} {
		f.Add([]byte(seed))
	}
	limits := Limits{Row: 100, Cell: 20, Cells: 5, Rows: 30, Bytes: 1 << 17}
	f.Fuzz(func(t *testing.T, src []byte) {
		read := func() (rows [][]string, err error) {
			r := NewReader(bytes.NewReader(src), limits)
			for range len(src) + 2 {
				row, err := r.Read()
				var broken *csv.ParseError
				if errors.As(err, &broken) {
					continue
				} else if err != nil {
					return rows, err
				}
				if len(row) > limits.Cells || len(rows) >= limits.Rows {
					t.Fatalf("row %d has %d cells", len(rows)+1, len(row))
				}
				rows = append(rows, slices.Clone(row))
			}
			t.Fatal("more rows than bytes")
			return nil, nil
		}
		rows, err := read()
		if err != io.EOF && !strings.Contains(err.Error(), "line ") {
			t.Errorf("an error without a place: %v", err)
		}
		var again bytes.Buffer
		w := NewWriter(&again)
		for _, row := range rows {
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		c := csv.NewReader(&again)
		c.FieldsPerRecord = -1
		for _, row := range rows {
			if len(row) == 1 && row[0] == "" {
				continue // an empty line, which is no row
			}
			got, err := c.Read()
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if Unguard(got[i]) != Unguard(row[i]) {
					t.Errorf("%q came back as %q", row[i], got[i])
				}
			}
		}
	})
}
