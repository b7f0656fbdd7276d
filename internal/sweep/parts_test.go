package sweep

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"throughline/internal/scan"
	"throughline/internal/table"
)

// small is a scan that is answered in no time.
func small() *scan.Request {
	return &scan.Request{Command: "estimate", Settings: map[string]string{"model": "llama_3_8b", "system": "H200", "phase": "decode", "batch": "1,8"}, Vary: []string{"sys.mem1.GBps=3000:9000:40"}}
}

func begin(t *testing.T, r *scan.Request, dir string) *Work {
	t.Helper()
	w, err := NewWork(context.Background(), r, dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func do(t *testing.T, w *Work, number, of int) (vain int) {
	t.Helper()
	vain, err := w.Do(context.Background(), number, of, 1, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return vain
}

func mergedCSV(t *testing.T, w *Work) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := w.Merge(context.Background(), &b, table.CSV); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rechunk makes the parts of a folder smaller, before any is there.
func rechunk(t *testing.T, w *Work, points int) {
	t.Helper()
	if err := w.In.Remove(context.Background(), "scan.json"); err != nil {
		t.Fatal(err)
	}
	m := *w.Manifest
	m.Chunk = points
	got, err := scan.Started(context.Background(), w.In, w.Request, m.Inputs, func() (*scan.Manifest, error) { return &m, nil })
	if err != nil {
		t.Fatal(err)
	}
	w.Manifest = got
}

// The table does not depend on who answered which part, nor on how large parts are, nor on a fourth
// process that never comes; starting again answers nothing twice.
func TestSharedWork(t *testing.T) {
	alone := begin(t, small(), t.TempDir())
	do(t, alone, 0, 1)
	dir := t.TempDir()
	w := begin(t, small(), dir)
	rechunk(t, w, 7)
	done := make(chan int)
	for i := range 3 {
		go func() { done <- do(t, w, i, 4) }()
	}
	for range 3 {
		<-done
	}
	if a, b := mergedCSV(t, alone), mergedCSV(t, w); a != b || strings.Count(a, "\n") != 81 {
		t.Errorf("%d and %d bytes", len(a), len(b))
	}
	before, err := os.Stat(filepath.Join(dir, scan.PartName(0)))
	if err != nil {
		t.Fatal(err)
	}
	do(t, begin(t, small(), dir), 0, 1)
	if after, _ := os.Stat(filepath.Join(dir, scan.PartName(0))); !after.ModTime().Equal(before.ModTime()) {
		t.Error("a part was answered again")
	}
	if v, err := w.Verify(context.Background(), 100); err != nil || v.Rows != 80 || v.Again == 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A part that is lost is answered again; one that is broken, or of another scan, is named.
func TestLostAndBroken(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, small(), dir)
	rechunk(t, w, 30)
	do(t, w, 0, 1)
	whole := mergedCSV(t, w)
	part := filepath.Join(dir, scan.PartName(1))
	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Merge(context.Background(), &bytes.Buffer{}, table.CSV); err == nil || !strings.Contains(err.Error(), "1 of 3 parts are missing, the first of them part-000001.parquet") {
		t.Error(err)
	}
	do(t, w, 2, 3)
	if got := mergedCSV(t, w); got != whole {
		t.Error("the table differs after a part was lost")
	}
	data, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"is broken": data[:len(data)/2], "is a part of another scan": bytes.ReplaceAll(data, []byte(w.Manifest.Hash()), []byte("0123456789abcdef"))} {
		if err := os.WriteFile(part, content, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Verify(context.Background(), 1); err == nil || !strings.Contains(err.Error(), "part-000001.parquet "+name) {
			t.Errorf("want %q: %v", name, err)
		}
	}
}

// A range that took three processes down is answered in pieces, and a point that did gets a row
// that says so; the marks are gone in the end.
func TestDeadlyPoint(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, small(), dir)
	rechunk(t, w, 40)
	mark := func(from, to int) {
		for i := range mostMarks {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(markName+"%d", from, to, i)), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	mark(0, 40)
	mark(6, 8) // a piece of the part: 40/16 is 2 points
	mark(7, 8)
	w.Patience = 0
	do(t, w, 0, 1)
	lines := strings.Split(mergedCSV(t, w), "\n")
	for i, line := range lines[1:81] {
		if says := strings.Contains(line, "the program went down here, three times"); says != (i == 7) {
			t.Errorf("point %d: %s", i, line)
		}
	}
	names, err := w.In.Names(context.Background())
	if err != nil || len(names) != 3 {
		t.Errorf("%v, %v", names, err)
	}
}

// Three processes that answer a point at once are no sign that it takes them down.
func TestLivePoint(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, small(), dir)
	rechunk(t, w, 1)
	for i := range mostMarks {
		mark := filepath.Join(dir, fmt.Sprintf(markName+"%d", 7, 8, i))
		if err := os.WriteFile(mark, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			time.AfterFunc(100*time.Millisecond, func() { os.Remove(mark) })
		}
	}
	do(t, w, 0, 1)
	if got := mergedCSV(t, w); strings.Contains(got, "went down") {
		t.Error("a point that a process survived is a row without an answer")
	}
}

// Another scan, version or input is refused; another architecture is not.
func TestOtherFolder(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, small(), dir)
	do(t, w, 0, 1)
	other := small()
	other.Vary[0] = "sys.mem1.GBps=3000:9000:41"
	if _, err := NewWork(context.Background(), other, dir, 3); err == nil || !strings.Contains(err.Error(), "holds another scan") {
		t.Error(err)
	}
	file := filepath.Join(dir, "scan.json")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ was, is, want string }{
		{`"throughline": "`, `"throughline": "9`, "was begun by throughline 9"},
		{`"system H200": "`, `"system H200": "0`, "was begun with another system H200"},
		{`"engine data": "`, `"engine data": "0`, "was begun with another engine data"},
		{`"goarch": "`, `"goarch": "other-`, ""},
		{`"points_per_part": `, `"points_per_part": -`, "is not what throughline sweep writes"},
	} {
		if err := os.WriteFile(file, bytes.Replace(src, []byte(c.was), []byte(c.is), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		w, err := NewWork(context.Background(), small(), dir, 3)
		switch {
		case c.want == "":
			if err != nil || w.Manifest.OtherArchitecture() == "" {
				t.Error(err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("want %q: %v", c.want, err)
		}
	}
}

// A point that fails is a row with its reason, and disturbs no other.
func TestFailingPoint(t *testing.T) {
	r := small()
	r.Settings = map[string]string{"model": "llama_3_8b", "system": "H200", "phase": "decode", "batch": "8", "tp": "1,2,7"}
	r.Vary = nil
	w := begin(t, r, t.TempDir())
	do(t, w, 0, 1)
	lines := strings.Split(strings.TrimSpace(mergedCSV(t, w)), "\n")
	if len(lines) != 4 || !strings.Contains(lines[3], "7") || !strings.Contains(lines[3], "heads") || strings.Contains(lines[2], "heads") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	c, err := NewScanner(w.Scan, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.estimator = nil // whose use panics
	if p, err := c.At(context.Background(), 0); err != nil || !strings.Contains(p.Reason, "the program failed here: ") {
		t.Errorf("%+v, %v", p, err)
	}
}

// Kept rows are those that all rows have as their best and their frontier.
func TestKeep(t *testing.T) {
	r := small()
	r.Settings["phase"] = "prefill"
	r.Settings["batch"] = "1,2"
	all := begin(t, r, t.TempDir())
	do(t, all, 0, 1)
	some := *r
	some.Keep = "best:3"
	best := begin(t, &some, t.TempDir())
	rechunk(t, best, 9)
	do(t, best, 0, 1)
	lines := strings.Split(strings.TrimSpace(mergedCSV(t, best)), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d rows", len(lines)-1)
	}
	for _, line := range lines[1:] { // the shortest steps are those of one prompt on the fastest memory
		if !strings.Contains(mergedCSV(t, all), line) {
			t.Errorf("%s is no row of all", line)
		}
	}
	if !strings.HasPrefix(lines[3], "39,1,9000,") {
		t.Errorf("the best is not kept: %s", lines[3])
	}
	for _, text := range []string{"best:0", "best:x", "some"} {
		if _, err := ParseKeep(text); err == nil {
			t.Error(text)
		}
	}
}
