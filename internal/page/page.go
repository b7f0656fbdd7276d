// Package page writes results as one HTML file: tables that can be sorted, charts, assumptions, confidence. It needs nothing
// but itself: no other file, and no network.
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

// Section is a part of it. Its parts are shown in the order of the fields.
type Section struct {
	Title  string
	Text   []string
	Charts []*chart.Chart
	Small  bool // charts
	Tables []Table
	Code   []string
	Folded []Section // each behind its title
}

// Table is one with its title.
type Table struct {
	Title string
	Wide  bool // cells do not wrap
	table.Any
}

// chartWidth and chartHeight of charts on a page.
const (
	chartWidth, chartHeight = 609.0, 400.0 // two beside each other
	smallWidth, smallHeight = 720.0, 230.0
	wholeWidth, wholeHeight = 1236.0, 500.0
)

// whole are the kinds of charts that take the width of the page: what they show is long.
var whole = []string{"timeline", "load"}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	out := writer{Writer: bufio.NewWriterSize(w, 1<<16)}
	e := html.EscapeString
	out.say(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>%s</title>
<style>%s
@media screen and (prefers-color-scheme:dark){:root{--ink:#f0f0f0;--muted:#b0b0b0;--back:#16181c;--line:#3a3d42;--stripe:#1d2025;--mark:#65ccfe}%s}
</style></head>
<body><h1>%s</h1><p class="muted">%s</p>
`, e(p.Title), style, chart.Dark.CSS("svg.chart "), e(p.Title), e(p.Subtitle))
	if len(p.Sections) > 2 {
		out.say("<nav>")
		for i := range p.Sections {
			out.say(`<a href="#s%d">%s</a>`, i, e(p.Sections[i].Title))
		}
		out.say("</nav>\n")
	}
	for i := range p.Sections {
		out.say(`<section id="s%d"><h2>%s</h2>`+"\n", i, e(p.Sections[i].Title))
		out.section(&p.Sections[i])
		out.say("</section>\n")
	}
	out.say(`<footer class="muted"><p>Throughline %s</p></footer><script>%s</script></body></html>`+"\n", e(version.Number), script)
	if out.err != nil {
		return out.err
	}
	return out.Flush()
}

// writer counts what needs a name of its own, and remembers the first failure.
type writer struct {
	*bufio.Writer
	tables, charts int
	err            error
}

func (w *writer) say(format string, args ...any) {
	if _, err := fmt.Fprintf(w.Writer, format, args...); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *writer) section(s *Section) {
	for _, text := range s.Text {
		w.say("<p>%s</p>\n", html.EscapeString(text))
	}
	if len(s.Charts) > 0 {
		w.say(`<div class="charts">`)
		for _, c := range s.Charts {
			width, height := chartWidth, chartHeight
			switch {
			case s.Small:
				width, height = smallWidth, smallHeight
			case slices.Contains(whole, c.Kind):
				width, height = wholeWidth, wholeHeight
			}
			w.say("<figure>")
			w.charts++
			err := chart.SVG{Theme: chart.Light, Inline: true}.Write(w.Writer, c.Draw(width, height, fmt.Sprintf("c%d-", w.charts)))
			if w.err == nil {
				w.err = err
			}
			w.say("</figure>\n")
		}
		w.say("</div>\n")
	}
	for i := range s.Tables {
		w.table(&s.Tables[i])
	}
	for _, code := range s.Code {
		w.say("<pre>%s</pre>\n", html.EscapeString(code))
	}
	for i := range s.Folded {
		w.say("<details><summary>%s</summary>\n", html.EscapeString(s.Folded[i].Title))
		w.section(&s.Folded[i])
		w.say("</details>\n")
	}
}

// filtered is the rows from which on a table has a field to search in it.
const filtered = 12

func (w *writer) table(t *Table) {
	w.tables++
	if t.Title != "" {
		w.say("<h3>%s</h3>\n", html.EscapeString(t.Title))
	}
	if t.Len() >= filtered {
		w.say(`<input type="search" data-filters="t%d" placeholder="show rows with …" aria-label="show rows with these words">`+"\n", w.tables)
	}
	class := "sortable"
	if t.Wide {
		class += " wide"
	}
	w.say(`<div class="scroll"><table class="%s" id="t%d"><thead><tr>`, class, w.tables)
	heads := t.Headings()
	align := func(i int) string { return map[bool]string{true: ` class="n"`}[heads[i].Right] }
	for i, h := range heads {
		w.say(`<th%s title="%s"><button type="button">%s</button></th>`, align(i), html.EscapeString(h.Doc), html.EscapeString(h.Title))
	}
	w.say("</tr></thead><tbody>\n")
	t.Each(func(cells []table.Cell) {
		w.say("<tr>")
		for i, c := range cells {
			w.say("<td%s%s>%s</td>", align(i), sorted(c.Value), html.EscapeString(c.Text))
		}
		w.say("</tr>\n")
	})
	w.say("</tbody></table></div>\n")
}

// sorted is the attribute of a cell that is sorted by a number.
func sorted(v any) string {
	if n, ok := v.(int); ok {
		v = float64(n)
	}
	if f, ok := v.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return fmt.Sprintf(` data-v="%s"`, strconv.FormatFloat(f, 'g', -1, 64))
	}
	return ""
}

// assumptions are the modelling assumptions of a result.
func assumptions(a *assume.Assumptions) Section {
	t := Table{Any: table.Of([]table.Column[*assume.Described]{
		{Title: "assumption", Value: func(d *assume.Described) any { return d.Name }},
		{Title: "value", Value: func(d *assume.Described) any { return d.Value }},
		{Title: "meaning", Value: func(d *assume.Described) any { return d.Doc }},
	}, a.Describe())}
	return Section{Title: "Assumptions", Text: []string{"Preset " + a.Name + "."}, Tables: []Table{t}}
}
