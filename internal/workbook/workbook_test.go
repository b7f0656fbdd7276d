package workbook_test

import (
	"archive/zip"
	"bytes"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"throughline/assume"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/rawdata"
	"throughline/internal/result"
	"throughline/internal/sweep"
	"throughline/internal/table"
	"throughline/internal/workbook"
	"throughline/op"
)

// records are the runs of the sample of the reference tool.
func records(t *testing.T) (out []*result.Record) {
	t.Helper()
	jobs, _, err := jobfile.Load(files.Machine, "../../configs/reference_sample.json", &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	err = sweep.Run(t.Context(), jobs[0], sweep.Options{Jobs: 2, Ops: true}, func(r *result.Record) error { out = append(out, r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// written is the workbook of runs.
func written(t *testing.T, runs []*result.Record) []byte {
	t.Helper()
	w := workbook.New(result.OpDetails)
	for _, r := range runs {
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := w.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWorkbook: sheets have the values of the records, numbers as numbers, and what looks like a
// formula is a text.
func TestWorkbook(t *testing.T) {
	runs := records(t)
	evil := *runs[0].Model
	evil.Name = `=HYPERLINK("http://example.com","x")`
	runs[0].Model = &evil
	book := written(t, runs)
	if !bytes.Equal(book, written(t, runs)) {
		t.Error("the same runs give different bytes")
	}
	f, err := excelize.OpenReader(bytes.NewReader(book))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, field := range result.Long(result.OpDetails) {
		for j, r := range runs {
			name, err := excelize.CoordinatesToCellName(1+i, 2+j)
			if err != nil {
				t.Fatal(err)
			}
			checkCell(t, f, workbook.LongSheet, name, field.Value(r))
		}
	}
	for _, sheet := range []string{workbook.WholeSheet, workbook.CardSheet, workbook.WideSheet, workbook.LongSheet, workbook.RawSheet, workbook.FieldsSheet} {
		if p, err := f.GetPanes(sheet); err != nil || !p.Freeze || p.YSplit == 0 {
			t.Errorf("%s: the header is not frozen: %+v, %v", sheet, p, err)
		}
	}
	// The first run is the best of its model on its system; models differ in their rows, systems in
	// their columns.
	whole, card := runs[0].Tokens(), runs[0].Tokens()/float64(runs[0].Cards)
	checkCell(t, f, workbook.WholeSheet, "F4", whole)
	checkCell(t, f, workbook.CardSheet, "F4", card)
	checkCell(t, f, workbook.WholeSheet, "G5", runs[1].Tokens())
	at := slices.IndexFunc(rawdata.Columns, func(c rawdata.Column) bool { return c.Name == "TPOT" })
	name, _ := excelize.CoordinatesToCellName(1+at, 2)
	checkCell(t, f, workbook.RawSheet, name, 1e3*runs[0].TPOT)
}

// TestSheetsForReaders: every table has filters and a header on each page that is printed, and
// throughput and latency are coloured.
func TestSheetsForReaders(t *testing.T) {
	runs := records(t)
	f, err := excelize.OpenReader(bytes.NewReader(written(t, runs)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	said := map[string]string{}
	for _, d := range f.GetDefinedName() {
		said[d.Scope+" "+d.Name] = d.RefersTo
	}
	systems := map[string]bool{}
	for _, r := range runs {
		systems[r.Sides[op.Decode].System.Name+strconv.Itoa(r.Procs)] = true
	}
	last, _ := excelize.CoordinatesToCellName(5+len(systems), 5, true)
	if got, want := said[workbook.WholeSheet+" _xlnm._FilterDatabase"], "'"+workbook.WholeSheet+"'!$A$3:"+last; got != want {
		t.Errorf("filters of %s, want %s", got, want)
	}
	for sheet, want := range map[string]struct {
		titles string
		shades int
		paper  string
	}{
		workbook.AnswerSheet: {"$2:$2", 4, "$J$6"}, workbook.WholeSheet: {"$3:$3", 1, "$J$5"}, workbook.CardSheet: {"$3:$3", 1, "$J$5"},
		workbook.WideSheet: {"$1:$1", 0, "$H$201"}, workbook.LongSheet: {"$1:$1", 4, "$T$5"}, workbook.RawSheet: {"$1:$1", 3, "$T$5"}, workbook.FieldsSheet: {"$1:$1", 0, "$F$201"},
	} {
		if said[sheet+" _xlnm._FilterDatabase"] == "" {
			t.Errorf("%s has no filters", sheet)
		}
		// The sentences and titles above a table are printed with it; of columns and rows what is
		// read.
		if got, paper := said[sheet+" _xlnm.Print_Area"], "'"+sheet+"'!$A$1:"+want.paper; got != paper {
			t.Errorf("%s prints %s, want %s", sheet, got, paper)
		}
		if got := said[sheet+" _xlnm.Print_Titles"]; !strings.HasSuffix(got, "'"+sheet+"'!"+want.titles) {
			t.Errorf("%s repeats %s, want %s", sheet, got, want.titles)
		}
		rules, err := f.GetConditionalFormats(sheet)
		if err != nil || len(rules) != want.shades {
			t.Errorf("%s: %d columns are coloured, want %d: %v, %v", sheet, len(rules), want.shades, rules, err)
		}
		props, err := f.GetSheetProps(sheet)
		if err != nil || props.FitToPage == nil || !*props.FitToPage {
			t.Errorf("%s does not fit the width of a page: %v", sheet, props.FitToPage)
		}
		if layout, err := f.GetPageLayout(sheet); err != nil || layout.FitToHeight == nil || *layout.FitToHeight != 0 {
			t.Errorf("%s: all rows are squeezed onto a page: %v", sheet, err)
		}
	}
}

// TestDigits: people see three digits, 1,384 and 0.0349, of cells that keep all, in columns whose
// heads stand above them.
func TestDigits(t *testing.T) {
	f, err := excelize.OpenReader(bytes.NewReader(written(t, records(t))))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := f.GetRows(workbook.LongSheet)
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`^-?(\d{1,3}(,\d{3})*|\d\d?\.\d|\d\.\d\d|0\.0*[1-9]\d\d|\d\.\d\dE-\d\d)$`)
	fields := result.Long(result.OpDetails)
	numbers := 0
	for i, field := range fields {
		if field.Kind() != table.Number || rows[1][i] == "" {
			continue
		}
		numbers++
		if !number.MatchString(rows[1][i]) && !strings.HasSuffix(rows[1][i], "0") {
			t.Errorf("%s is shown as %s", field.Name, rows[1][i])
		}
		at, _ := excelize.CoordinatesToCellName(1+i, 1)
		id, _ := f.GetCellStyle(workbook.LongSheet, at)
		if s, err := f.GetStyle(id); err != nil || s.Alignment.Horizontal != "right" {
			t.Errorf("the head of %s stands left above numbers: %v", field.Name, err)
		}
	}
	if numbers < 50 {
		t.Errorf("%d numbers", numbers)
	}
}

// TestChartsHaveColours: programs without the default theme of Excel draw series in no colour
// unless they are told one, and legends are in words.
func TestChartsHaveColours(t *testing.T) {
	book := written(t, records(t))
	z, err := zip.NewReader(bytes.NewReader(book), int64(len(book)))
	if err != nil {
		t.Fatal(err)
	}
	charts := 0
	for _, part := range z.File {
		if !strings.HasPrefix(part.Name, "xl/charts/") {
			continue
		}
		charts++
		r, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		series := strings.Split(string(text), "<c:ser>")[1:]
		seen := map[string]bool{}
		for _, s := range series {
			_, colour, _ := strings.Cut(s, `<c:spPr><a:solidFill><a:srgbClr val="`)
			colour, _, _ = strings.Cut(colour, `"`)
			if len(colour) != 6 || seen[colour] {
				t.Errorf("%s: colour %q of a series", part.Name, colour)
			}
			seen[colour] = true
			if strings.Contains(s, "(%)") {
				t.Errorf("%s names a field: %s", part.Name, s)
			}
		}
	}
	if charts != 4 {
		t.Errorf("%d charts", charts)
	}
}

// checkCell compares a cell with a value.
func checkCell(t *testing.T, f *excelize.File, sheet, name string, want any) {
	t.Helper()
	got, err := f.GetCellValue(sheet, name, excelize.Options{RawCellValue: true})
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := f.GetCellType(sheet, name)
	formula, _ := f.GetCellFormula(sheet, name)
	if formula != "" {
		t.Errorf("%s %s is a formula: %s", sheet, name, formula)
	}
	ok := false
	switch v := want.(type) {
	case nil:
		ok = got == ""
	case string:
		ok = got == v && (v == "" || kind == excelize.CellTypeInlineString)
	case bool:
		ok = kind == excelize.CellTypeBool && got == map[bool]string{true: "1", false: "0"}[v]
	case int:
		ok = got == strconv.Itoa(v) && (kind == excelize.CellTypeUnset || kind == excelize.CellTypeNumber)
	case float64:
		n, err := strconv.ParseFloat(got, 64)
		ok = err == nil && math.Abs(n-v) <= 1e-12*math.Abs(v) && (kind == excelize.CellTypeUnset || kind == excelize.CellTypeNumber)
	}
	if !ok {
		t.Errorf("%s %s is %q of type %d, want %v", sheet, name, got, kind, want)
	}
}
