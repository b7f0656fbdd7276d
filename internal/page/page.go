// Package page writes results as one self-contained HTML file: sortable tables, charts,
// assumptions, confidence.
package page

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"

	"throughline/assume"
	"throughline/internal/chart"
	"throughline/internal/table"
	"throughline/internal/version"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

// Page is a report.
type Page struct {
	Title    string
	Subtitle string
	Sections []Section
}

// Section is a part of it; its fields are shown in order.
type Section struct {
	Title  string
	Text   []string
	Charts []*chart.Chart
	Small  bool // charts
	Tables []Table
	Code   []string
	Folded []Section // each behind its title
}

// Table has a title.
type Table struct {
	Title string
	Wide  bool // cells do not wrap
	table.Any
}

// Sizes of charts on a page.
const (
	chartWidth, chartHeight = 609.0, 400.0 // two beside each other
	smallWidth, smallHeight = 720.0, 230.0
	wideWidth, wideHeight   = 1236.0, 500.0
)

// wideKinds lists the kinds of charts that take the width of the page.
var wideKinds = []string{"timeline", "load"}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	out := writer{Writer: bufio.NewWriterSize(w, 1<<16)}
	e := html.EscapeString
	out.printf(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>%s</title>
<style>%s
@media screen and (prefers-color-scheme:dark){:root{--ink:#f0f0f0;--muted:#b0b0b0;--back:#16181c;--line:#3a3d42;--stripe:#1d2025;--mark:#65ccfe}%s}
</style></head>
<body><h1>%s</h1><p class="muted">%s</p>
`, e(p.Title), style, chart.Dark.CSS("svg.chart "), e(p.Title), e(p.Subtitle))
	if len(p.Sections) > 2 {
		out.printf("<nav>")
		for i := range p.Sections {
			out.printf(`<a href="#s%d">%s</a>`, i, e(p.Sections[i].Title))
		}
		out.printf("</nav>\n")
	}
	for i := range p.Sections {
		out.printf(`<section id="s%d"><h2>%s</h2>`+"\n", i, e(p.Sections[i].Title))
		out.section(&p.Sections[i])
		out.printf("</section>\n")
	}
	out.printf(`<footer class="muted"><p>Throughline %s</p></footer><script>%s</script></body></html>`+"\n", e(version.Number), script)
	if out.err != nil {
		return out.err
	}
	return out.Flush()
}

// writer numbers what needs an id, and remembers the first failure.
type writer struct {
	*bufio.Writer
	tables, charts int
	err            error
}

func (w *writer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(w.Writer, format, args...); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *writer) section(s *Section) {
	for _, text := range s.Text {
		w.printf("<p>%s</p>\n", html.EscapeString(text))
	}
	if len(s.Charts) > 0 {
		w.printf(`<div class="charts">`)
		for _, c := range s.Charts {
			width, height := chartWidth, chartHeight
			switch {
			case s.Small:
				width, height = smallWidth, smallHeight
			case slices.Contains(wideKinds, c.Kind):
				width, height = wideWidth, wideHeight
			}
			w.printf("<figure>")
			w.charts++
			err := chart.SVG{Theme: chart.Light, Inline: true}.Write(w.Writer, c.Draw(width, height, fmt.Sprintf("c%d-", w.charts)))
			if w.err == nil {
				w.err = err
			}
			w.printf("</figure>\n")
		}
		w.printf("</div>\n")
	}
	for i := range s.Tables {
		w.table(&s.Tables[i])
	}
	for _, code := range s.Code {
		w.printf("<pre>%s</pre>\n", html.EscapeString(code))
	}
	for i := range s.Folded {
		w.printf("<details><summary>%s</summary>\n", html.EscapeString(s.Folded[i].Title))
		w.section(&s.Folded[i])
		w.printf("</details>\n")
	}
}

// filtered is the number of rows from which a table has a search field.
const filtered = 12

func (w *writer) table(t *Table) {
	w.tables++
	if t.Title != "" {
		w.printf("<h3>%s</h3>\n", html.EscapeString(t.Title))
	}
	if t.Len() >= filtered {
		w.printf(`<input type="search" data-filters="t%d" placeholder="show rows with …" aria-label="show rows with these words">`+"\n", w.tables)
	}
	class := "sortable"
	if t.Wide {
		class += " wide"
	}
	w.printf(`<div class="scroll"><table class="%s" id="t%d"><thead><tr>`, class, w.tables)
	heads := t.Headings()
	align := func(i int) string { return map[bool]string{true: ` class="n"`}[heads[i].Right] }
	for i, h := range heads {
		w.printf(`<th%s title="%s"><button type="button">%s</button></th>`, align(i), html.EscapeString(h.Doc), html.EscapeString(h.Title))
	}
	w.printf("</tr></thead><tbody>\n")
	t.Each(func(cells []table.Cell) {
		w.printf("<tr>")
		for i, c := range cells {
			w.printf("<td%s%s>%s</td>", align(i), sorted(c.Value), html.EscapeString(c.Text))
		}
		w.printf("</tr>\n")
	})
	w.printf("</tbody></table></div>\n")
}

// sorted returns the attribute of a cell that is sorted by a number.
func sorted(v any) string {
	if n, ok := v.(int); ok {
		v = float64(n)
	}
	if f, ok := v.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return fmt.Sprintf(` data-v="%s"`, strconv.FormatFloat(f, 'g', -1, 64))
	}
	return ""
}

// assumptions lists the modelling assumptions of a result.
func assumptions(a *assume.Assumptions) Section {
	t := Table{Any: table.Of([]table.Column[*assume.Described]{
		{Title: "assumption", Value: func(d *assume.Described) any { return d.Name }},
		{Title: "value", Value: func(d *assume.Described) any { return d.Value }},
		{Title: "meaning", Value: func(d *assume.Described) any { return d.Doc }},
	}, a.Describe())}
	return Section{Title: "Assumptions", Text: []string{"Preset " + a.Name + "."}, Tables: []Table{t}}
}
