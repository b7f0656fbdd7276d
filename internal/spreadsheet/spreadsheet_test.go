package spreadsheet_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"throughline/internal/spreadsheet"
)

func TestColumn(t *testing.T) {
	for n, want := range map[int]string{1: "A", 26: "Z", 27: "AA", 52: "AZ", 53: "BA", 702: "ZZ", 703: "AAA", spreadsheet.MostColumns: "XFD"} {
		if got := spreadsheet.Column(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// TestReadBack: another library reads what was written: values, texts that look like markup,
// formulas or codes, styles, and all that a sheet can have besides its rows.
func TestReadBack(t *testing.T) {
	const name = "it's <a> & 表"
	texts := []string{"=1+1", "<c>&amp;\"'", " space ", "two\nlines", "_x000D_ is text", "表", "a\x00b", strings.Repeat("é", 40_000)}
	write := func() []byte {
		b := spreadsheet.New("first", name)
		s := b.Sheet(name)
		s.FrozenX, s.FrozenY = 1, 2
		s.Widths = []spreadsheet.Width{{First: 1, Last: 2, Width: 33}}
		s.HighRow(40, "title")
		s.Merge(1, 3)
		s.Row(spreadsheet.Cell{Value: "n", Style: spreadsheet.Style{Bold: true, Filled: true, Right: true}}, "values")
		s.Row(1, -2.5e-7, true, false, nil, "after nothing", spreadsheet.Cell{Value: 0.25, Style: spreadsheet.Style{Format: "0%"}})
		for _, text := range texts {
			s.Row(text)
		}
		s.Table(spreadsheet.Range(1, 2, 7, 11), 2, 1)
		s.Shade(spreadsheet.Range(1, 3, 1, 11), "9DC3E6")
		for _, shares := range []bool{false, true} {
			b.Sheet("first").Place(5, &spreadsheet.Chart{Title: "a < b", Unit: "s", Shares: shares, Width: 960, Height: 420,
				Series: []spreadsheet.Series{{From: "'first'!$A$1", Colour: "002762", Categories: "'first'!$A$2:$A$3", Values: "'first'!$B$2:$B$3"}}})
		}
		var out bytes.Buffer
		if err := b.Write(&out); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	book := write()
	if !bytes.Equal(book, write()) {
		t.Error("the same cells give different bytes")
	}
	f, err := excelize.OpenReader(bytes.NewReader(book))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[string]string{"A1": "title", "C1": "title", "A3": "1", "B3": "-0.00000025", "C3": "TRUE", "D3": "FALSE", "E3": "", "F3": "after nothing", "G3": "25%"}
	for i, at := range []string{"A4", "A5", "A6", "A7", "A8", "A9", "A10", "A11"} {
		want[at] = texts[i]
	}
	want["A10"], want["A11"] = "a\uFFFDb", strings.Repeat("é", 32767)
	for at, value := range want {
		if got, err := f.GetCellValue(name, at); err != nil || got != value {
			t.Errorf("%s is %.40q, want %.40q: %v", at, got, value, err)
		}
		if formula, _ := f.GetCellFormula(name, at); formula != "" {
			t.Errorf("%s is a formula", at)
		}
	}
	for what, got := range map[string]func() (any, error){
		"width":    func() (any, error) { return f.GetColWidth(name, "B") },
		"height":   func() (any, error) { return f.GetRowHeight(name, 1) },
		"panes":    func() (any, error) { p, err := f.GetPanes(name); return p.TopLeftCell, err },
		"coloured": func() (any, error) { r, err := f.GetConditionalFormats(name); return len(r["A3:A11"]), err },
		"bold": func() (any, error) {
			id, _ := f.GetCellStyle(name, "A2")
			s, err := f.GetStyle(id)
			return s.Font.Bold && s.Fill.Pattern == 1 && s.Alignment.Horizontal == "right", err
		},
	} {
		want := map[string]any{"width": 33.0, "height": 40.0, "panes": "B3", "coloured": 1, "bold": true}[what]
		if got, err := got(); err != nil || got != want {
			t.Errorf("%s: %v, want %v: %v", what, got, want, err)
		}
	}
	names := map[string]string{}
	for _, d := range f.GetDefinedName() {
		names[d.Name] = d.RefersTo
	}
	const quoted = "'it''s <a> & 表'!"
	if names["_xlnm._FilterDatabase"] != quoted+"$A$2:$G$11" || names["_xlnm.Print_Titles"] != quoted+"$A:$A,"+quoted+"$2:$2" {
		t.Errorf("%q", names)
	}
}
