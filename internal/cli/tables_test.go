package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"throughline/internal/chart"
)

// tablePicture is a table of the documentation, the columns of it that are drawn, and the picture
// below it.
var tablePicture = regexp.MustCompile(`((?:\|[^\n]*\n)+)\n<!-- drawn from the table above: ([^\n]*) -o (\S+) -->\n!\[([^\]]+)\]\(([^)]+)\)`)

// cellsOf are the cells of a row of a Markdown table.
func cellsOf(row string) (out []string) {
	for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(row), "|"), "|") {
		out = append(out, strings.TrimSpace(cell))
	}
	return out
}

// cellNumber is the number in a cell, such as "−3.1%", "±16%" or "1,501".
func cellNumber(cell string) (float64, bool) {
	if factor, ok := strings.CutPrefix(cell, "×÷"); ok { // of a band, whose upper end is as far in percent
		v, err := strconv.ParseFloat(factor, 64)
		return 100 * (v - 1), err == nil
	}
	v, err := strconv.ParseFloat(strings.NewReplacer("−", "-", "±", "", "%", "", ",", "").Replace(cell), 64)
	return v, err == nil
}

// drawTable draws columns of a Markdown table as bars, a band for each row, which its first column
// names.
func drawTable(t *testing.T, table string, columns []string, title string) []byte {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(table), "\n")
	header := cellsOf(rows[0])
	c := &chart.Chart{Kind: "table", Title: title, Description: title + ", as in the table."}
	p := chart.Panel{X: chart.Axis{Title: "%", Zero: true}, Airy: true}
	for place, column := range columns {
		at := slices.Index(header, column)
		if at < 0 {
			t.Fatalf("%s: no column %q in %q", title, column, header)
		}
		paint := chart.Series(place)
		c.Keys = append(c.Keys, chart.Key{Paint: paint, Form: chart.Box, Text: column})
		for band, row := range rows[2:] {
			cells := cellsOf(row)
			if place == 0 {
				p.Y.Bands = append(p.Y.Bands, strings.ReplaceAll(cells[0], "`", ""))
			}
			if v, ok := cellNumber(cells[at]); ok {
				p.Bars = append(p.Bars, chart.Bar{Band: band, Place: place, Of: len(columns), To: v, Paint: paint, After: cells[at], Tip: cells[0] + ", " + column + ": " + cells[at]})
			} else if cells[at] != "" {
				t.Errorf("%s: %q is no number", title, cells[at])
			}
		}
	}
	c.Panels = []chart.Panel{p}
	const width, margins, bar = 900, 130, 20
	scene := c.Draw(width, float64(margins+bar*len(columns)*(len(rows)-2)), "")
	for _, problem := range scene.Problems() {
		t.Errorf("%s: %s", title, problem)
	}
	var out bytes.Buffer
	if err := (chart.SVG{Theme: chart.Light, Follow: true}).Write(&out, scene); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// quotedTable is a table whose cells are those of a table elsewhere: the page, its columns, one for
// each column but the first, and its rows, one for each row; "-" is none of them.
var quotedTable = regexp.MustCompile(`<!-- quoted from (\S+): ([^:\n]*): ([^\n]*) -->\n((?:\|[^\n]*\n)+)`)

// quotedNumber is what of a cell is quoted.
var quotedNumber = regexp.MustCompile(`(?:[±+−-]|×÷)?\d[\d,]*(?:\.\d+)?%?`)

// TestQuotedTables: tables that quote others show what those have.
func TestQuotedTables(t *testing.T) {
	for _, name := range []string{"README.md", "README.zh-CN.md", "docs/validation.md", "docs/desk.md"} {
		file := filepath.Join("../..", name)
		was := string(readFile(t, file))
		got := quotedTable.ReplaceAllStringFunc(was, func(block string) string {
			m := quotedTable.FindStringSubmatch(block)
			return strings.TrimSuffix(block, m[4]) + quote(t, name, m[1], strings.Split(m[2], "; "), strings.Split(m[3], "; "), m[4])
		})
		if got == was && quotedTable.MatchString(was) {
			continue
		}
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		} else {
			t.Errorf("%s: tables differ from those that they quote; run with -update and look at the difference", name)
		}
	}
}

// quote fills the cells of a table with those of another.
func quote(t *testing.T, name, page string, columns, keys []string, table string) string {
	t.Helper()
	lines := slices.Collect(strings.Lines(table))
	if len(lines) != len(keys)+2 {
		t.Fatalf("%s: %d rows quote %d of %s", name, len(lines)-2, len(keys), page)
	}
	source := string(readFile(t, filepath.Join("../..", page)))
	for i, key := range keys {
		if key == "-" {
			continue
		}
		header, row := rowOf(source, columns, key)
		if row == nil {
			t.Fatalf("%s: %s has no row %q with columns %q", name, page, key, columns)
		}
		cells := cellsOf(lines[i+2])
		for place, column := range columns {
			if column == "-" {
				continue
			}
			value := row[slices.Index(header, column)]
			if _, err := strconv.Atoi(value); err == nil {
				value = fourDigits.ReplaceAllString(value, "$1,$2")
			}
			cells[place+1] = strings.Replace(cells[place+1], quotedNumber.FindString(cells[place+1]), strings.ReplaceAll(value, "-", "−"), 1)
		}
		lines[i+2] = strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |\n", "|  |", "| |")
	}
	return strings.Join(lines, "")
}

// fourDigits end a number that gets a comma.
var fourDigits = regexp.MustCompile(`(\d)(\d{3})$`)

// rowOf is a row of the first table with all columns: that with a cell, or beginning with cells, of
// a key.
func rowOf(page string, columns []string, key string) (header, row []string) {
	key, which, numbered := strings.Cut(key, "#")
	nth := 1
	if numbered {
		nth, _ = strconv.Atoi(which)
	}
	for line := range strings.Lines(page) {
		switch cells := cellsOf(line); {
		case !strings.HasPrefix(line, "|"):
			header = nil
		case header == nil:
			header = cells
		case slices.ContainsFunc(columns, func(c string) bool { return c != "-" && !slices.Contains(header, c) }):
		case slices.Contains(cells, key) || strings.HasPrefix(strings.Join(cells, ", "), key+", "):
			if nth--; nth == 0 {
				return header, cells
			}
		}
	}
	return nil, nil
}

var (
	section    = regexp.MustCompile(`(?m)^## `)
	linkedPage = regexp.MustCompile(`\]\(([\w/]+\.md)(?:#[\w-]+)?\)`)
	percentage = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?)%`)
	thousands  = regexp.MustCompile(`(\d),(\d{3})`)
)

// mostWords of a summary that is read at once.
const mostWords = 4000

// TestSummaryQuotes: every percentage of docs/validation.md, and every number in its tables, stands
// in a page that its section links to; and each of its tables is drawn.
func TestSummaryQuotes(t *testing.T) {
	quoted := 0
	summary := string(readFile(t, "../../docs/validation.md"))
	if tables, drawn := strings.Count(summary, "\n|---|"), len(tablePicture.FindAllString(summary, -1)); tables != drawn {
		t.Errorf("%d tables, of which %d are drawn", tables, drawn)
	}
	for _, part := range section.Split(summary, -1)[1:] {
		var pages strings.Builder
		for _, link := range linkedPage.FindAllStringSubmatch(part, -1) {
			pages.Write(readFile(t, filepath.Join("../../docs", link[1])))
		}
		known := thousands.ReplaceAllString(pages.String(), "$1$2")
		for _, number := range numbersOf(part) {
			number = thousands.ReplaceAllString(number, "$1$2")
			quoted++
			if !regexp.MustCompile(`(^|[^\d.])` + regexp.QuoteMeta(number) + `($|[^\d.]|\.\D)`).MatchString(known) {
				title, _, _ := strings.Cut(part, "\n")
				t.Errorf("%s: %s stands in no page that this section links to", title, number)
			}
		}
	}
	if words := len(strings.Fields(summary)); words > mostWords {
		t.Errorf("the summary has %d words, more than %d", words, mostWords)
	}
	if quoted < 200 {
		t.Errorf("only %d numbers", quoted)
	}
}

// numbersOf are the percentages of a text, and the numbers that are alone in cells of its tables.
func numbersOf(text string) (out []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "    ") { // a command
			continue
		}
		for _, m := range percentage.FindAllStringSubmatch(line, -1) {
			out = append(out, m[1])
		}
		if strings.HasPrefix(line, "|") {
			for _, cell := range cellsOf(line) {
				if _, ok := cellNumber(cell); ok && !strings.HasSuffix(cell, "%") {
					out = append(out, cell)
				}
			}
		}
	}
	return out
}
