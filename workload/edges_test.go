package workload

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/files"
)

// TestTraceLimits: what is no trace is refused with its place.
func TestTraceLimits(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	for name, c := range map[string]struct{ content, want string }{
		"empty.csv":  {"", "empty.csv: the table is empty: its first row names the columns"},
		"long.csv":   {"isl,osl\n1,2\n" + long, "long.csv: after line 2: a row has more than 1048576 bytes (is a quote not closed?), the most that is read"},
		"wide.csv":   {"isl,osl\n1,2,3\n", "wide.csv: line 2: 3 cells, the header has 2"},
		"inf.csv":    {"isl,osl\n1,2\ninf,2\n", "inf.csv: line 3: an input must be 1 to 1e9 tokens and an output 0 to 1e9, not +Inf and 2"},
		"large.csv":  {"isl,osl\n1e300,2\n", "large.csv: line 2: an input must be 1 to 1e9 tokens and an output 0 to 1e9, not 1e+300 and 2"},
		"long.jsonl": {`{"isl": 1, "osl": 2}` + "\n" + long, "long.jsonl: line 2 has more than 1048576 bytes, the most that is read"},
		"less.jsonl": {`{"isl": -1, "osl": 2}`, "less.jsonl: line 1: an input must be 1 to 1e9 tokens and an output 0 to 1e9, not -1 and 2"},
		"none.jsonl": {"\n", "none.jsonl: has no requests"},
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Lengths{Input: 1, Output: 1}.Spread(files.Machine, "trace:"+file)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestNamesOfColumns: lengths have the names of any tool, in any case, behind the mark of an
// encoding.
func TestNamesOfColumns(t *testing.T) {
	for i, in := range columnNames[1] {
		header := "\uFEFF" + strings.ToUpper(in) + ", " + columnNames[2][i]
		file := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(file, []byte(header+"\n10,20\n30,40\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := (Lengths{Input: 1, Output: 1}).Spread(files.Machine, "trace:"+file); err != nil || got.Input != 20 || got.Output != 30 {
			t.Errorf("%s: %+v, %v", header, got, err)
		}
	}
}

func TestPackedTrace(t *testing.T) {
	for name, content := range map[string]string{"t.csv.gz": "isl,osl\n10,20\n30,40\n", "t.jsonl.gz": `{"isl": 10, "osl": 20}` + "\n" + `{"isl": 30, "osl": 40}` + "\n"} {
		file := filepath.Join(t.TempDir(), name)
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		io.WriteString(z, content)
		z.Close()
		f.Close()
		if got, err := (Lengths{Input: 1, Output: 1}).Spread(files.Machine, "trace:"+file); err != nil || got.Input != 20 || got.Output != 30 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestOneReader: means and requests that are drawn one after another come from one reading,
// whatever a line calls its lengths.
func TestOneReader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(file, []byte(`{"isl": 10, "osl": 20}`+"\n"+`{"prompt_tokens": 30, "completion_tokens": 0}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	list, err := ReadLengths(files.Machine, file)
	if err != nil || len(list) != 2 || list[1] != (Recorded{30, 1}) {
		t.Errorf("%v, %v", list, err)
	}
	// Means 20 and 10.5, which is rounded.
	if got, err := (Lengths{}).Spread(files.Machine, "trace:"+file); err != nil || got.Input != 20 || got.Output != 11 || got.Longest != 31 {
		t.Errorf("%+v, %v", got, err)
	}
	if trace, err := OpenTrace(files.Machine, file); err != nil || trace.Timed {
		t.Errorf("%+v, %v", trace, err)
	}
}
