package spreadsheet

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Sheet is written from its first row to its last.
type Sheet struct {
	// Known before the first row.
	FrozenX, FrozenY  int // columns and rows that stay in view
	Widths            []Width
	name              string
	book              *Book
	part              *part
	begun             bool
	rows              int
	line              []byte
	merged            []string
	filtered, printed string // ranges
	repeated          string // columns and rows on each page
	shades            []shade
	charts            []placed
}

// Width is that of columns, counted from 1.
type Width struct {
	First, Last int
	Width       float64
}

// shade colours cells from white, the least, to a colour, the greatest.
type shade struct{ cells, colour string }

type Cell struct {
	Value any
	Style Style
}

func Column(n int) string {
	name := ""
	for ; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}

// begin writes what comes before the rows.
func (s *Sheet) begin() {
	if s.begun {
		return
	}
	s.begun = true
	fmt.Fprintf(s.part, `%s<worksheet xmlns="%s" xmlns:r="%s"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr><sheetViews><sheetView workbookViewId="0">`,
		declaration, main, office)
	if s.FrozenY > 0 {
		pane := "bottomLeft"
		x := ""
		if s.FrozenX > 0 {
			pane, x = "bottomRight", fmt.Sprintf(`xSplit="%d" `, s.FrozenX)
		}
		fmt.Fprintf(s.part, `<pane %sySplit="%d" topLeftCell="%s%d" activePane="%s" state="frozen"/>`, x, s.FrozenY, Column(1+s.FrozenX), 1+s.FrozenY, pane)
	}
	io.WriteString(s.part, `</sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/>`)
	if len(s.Widths) > 0 {
		io.WriteString(s.part, "<cols>")
		for _, w := range s.Widths {
			fmt.Fprintf(s.part, `<col min="%d" max="%d" width="%g" customWidth="1"/>`, w.First, w.Last, w.Width)
		}
		io.WriteString(s.part, "</cols>")
	}
	io.WriteString(s.part, "<sheetData>")
}

// Row writes the next row: numbers, truths and texts, nil where nothing is, each on its own or in a
// Cell. Texts stay texts, so that nothing becomes a formula.
func (s *Sheet) Row(cells ...any) { s.HighRow(0, cells...) }

// HighRow is a row of a height in points; 0: as high as others.
func (s *Sheet) HighRow(height float64, cells ...any) {
	s.begin()
	s.rows++
	b := append(s.line[:0], `<row r="`...)
	b = strconv.AppendInt(b, int64(s.rows), 10)
	if height > 0 {
		b = append(b, `" customHeight="1" ht="`...)
		b = strconv.AppendFloat(b, height, 'g', -1, 64)
	}
	b = append(b, `">`...)
	for i, v := range cells {
		style := 0
		if styled, ok := v.(Cell); ok {
			v, style = styled.Value, s.book.style(styled.Style)
		}
		if v != nil {
			b = s.cell(b, 1+i, v, style)
		}
	}
	s.line = append(b, "</row>"...)
	s.part.Write(s.line)
}

func (s *Sheet) cell(b []byte, column int, v any, style int) []byte {
	b = append(b, `<c r="`...)
	b = append(b, Column(column)...)
	b = strconv.AppendInt(b, int64(s.rows), 10)
	if style > 0 {
		b = append(b, `" s="`...)
		b = strconv.AppendInt(b, int64(style), 10)
	}
	switch v := v.(type) {
	case int:
		b = strconv.AppendInt(append(b, `"><v>`...), int64(v), 10)
	case float64:
		b = strconv.AppendFloat(append(b, `"><v>`...), v, 'g', -1, 64)
	case bool:
		b = append(b, `" t="b"><v>`...)
		if v {
			b = append(b, '1')
		} else {
			b = append(b, '0')
		}
	default:
		b = append(b, `" t="inlineStr"><is><t xml:space="preserve">`...)
		b = append(b, escaped(encoded(fmt.Sprint(v)))...)
		return append(b, "</t></is></c>"...)
	}
	return append(b, "</v></c>"...)
}

// mostLetters of a cell, in units of UTF-16.
const mostLetters = 32767

// coded is how the format writes letters that XML has not; a text that looks so is written so
// itself.
var coded = regexp.MustCompile(`_(x[0-9A-Fa-f]{4}_)`)

func encoded(text string) string {
	if len(text) > mostLetters {
		if units := utf16.Encode([]rune(text)); len(units) > mostLetters {
			text = string(utf16.Decode(units[:mostLetters]))
		}
	}
	if strings.Contains(text, "_x") {
		text = coded.ReplaceAllString(text, "_x005F_$1")
	}
	return text
}

// escaped is a text in XML; letters that XML cannot have become marks of replacement.
func escaped(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`<>&'"`, r) }) {
		return text
	}
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text))
	return b.String()
}

// Merge makes one cell of those from column first to last of the last row.
func (s *Sheet) Merge(first, last int) {
	s.merged = append(s.merged, fmt.Sprintf("%s%d:%s%d", Column(first), s.rows, Column(last), s.rows))
}

// Range is the cells from a column and row to others, fixed as names need it.
func Range(firstColumn, firstRow, lastColumn, lastRow int) string {
	return fmt.Sprintf("$%s$%d:$%s$%d", Column(firstColumn), firstRow, Column(lastColumn), lastRow)
}

// Shade colours cells by their values: white the least, the colour the greatest.
func (s *Sheet) Shade(cells, colour string) {
	s.shades = append(s.shades, shade{strings.ReplaceAll(cells, "$", ""), colour})
}

// Print is what paper has of the sheet.
func (s *Sheet) Print(cells string) { s.printed = s.at(cells) }

// Table gives a range with a header in its first row filters, and the paper that header on each
// page, with columns that name a row.
func (s *Sheet) Table(cells string, head, frozen int) {
	s.filtered = cells
	s.repeated = s.at(fmt.Sprintf("$%d:$%d", head, head))
	if frozen > 0 {
		s.repeated = s.at("$A:$"+Column(frozen)) + "," + s.repeated
	}
}

func (s *Sheet) at(cells string) string {
	return "'" + strings.ReplaceAll(s.name, "'", "''") + "'!" + cells
}

// names are what the workbook calls ranges of the sheet of a number.
func (s *Sheet) names(number int) string {
	if s.filtered == "" {
		return ""
	}
	var out strings.Builder
	for _, n := range []struct{ name, more, refers string }{
		{"_FilterDatabase", ` hidden="1"`, s.at(s.filtered)}, {"Print_Area", "", s.printed}, {"Print_Titles", "", s.repeated},
	} {
		fmt.Fprintf(&out, `<definedName name="_xlnm.%s" localSheetId="%d"%s>%s</definedName>`, n.name, number, n.more, escaped(n.refers))
	}
	return out.String()
}

// close writes what comes after the rows, in the order that the format asks for.
func (s *Sheet) close() {
	s.begin()
	io.WriteString(s.part, "</sheetData>")
	if s.filtered != "" {
		fmt.Fprintf(s.part, `<autoFilter ref="%s"/>`, strings.ReplaceAll(s.filtered, "$", ""))
	}
	if len(s.merged) > 0 {
		fmt.Fprintf(s.part, `<mergeCells count="%d">`, len(s.merged))
		for _, cells := range s.merged {
			fmt.Fprintf(s.part, `<mergeCell ref="%s"/>`, cells)
		}
		io.WriteString(s.part, "</mergeCells>")
	}
	for i, sh := range s.shades {
		fmt.Fprintf(s.part, `<conditionalFormatting sqref="%s"><cfRule type="colorScale" priority="%d"><colorScale><cfvo type="min"/><cfvo type="max"/>`+
			`<color rgb="FFFFFFFF"/><color rgb="FF%s"/></colorScale></cfRule></conditionalFormatting>`, sh.cells, 1+i, sh.colour)
	}
	io.WriteString(s.part, `<pageSetup orientation="landscape" fitToWidth="1" fitToHeight="0"/>`) // as wide as a page, on its side
	if len(s.charts) > 0 {
		breaks := "" // each chart begins a page
		for _, c := range s.charts[1:] {
			breaks += fmt.Sprintf(`<brk id="%d" max="16383" man="1"/>`, c.row-1)
		}
		if breaks != "" {
			fmt.Fprintf(s.part, `<rowBreaks count="%d" manualBreakCount="%[1]d">%s</rowBreaks>`, len(s.charts)-1, breaks)
		}
		io.WriteString(s.part, `<drawing r:id="rId1"/>`)
	}
	io.WriteString(s.part, "</worksheet>")
}
