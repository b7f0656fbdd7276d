// Package page writes results as one self-contained HTML file: sortable tables, charts,
// assumptions, confidence.
package page

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/assume"
	"throughline/internal/chart"
	"throughline/internal/table"
	"throughline/internal/version"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

type Page struct {
	Title    string
	Subtitle string
	Answer   []string // in sentences
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
	Notes  []string  // below it
	Folded []Section // each behind its title
}

type Table struct {
	Title string
	Wide  bool // cells do not wrap
	First int  // columns that are shown at once, the rest on demand; 0: all
	table.Any
}

// Sizes of charts on a page.
const (
	chartWidth = 609.0 // two beside each other; heights are as suits a chart
	smallWidth = 720.0
	wideWidth  = 1236.0
	phoneWidth = 364.0 // drawn anew for phones, where a wide drawing would have letters of half the size
)

// wideKinds lists the kinds of charts that take the width of the page.
var wideKinds = []string{"timeline", "load"}

func (p *Page) Write(w io.Writer) error {
	out := writer{Writer: bufio.NewWriterSize(w, 1<<16)}
	e := html.EscapeString
	out.printf(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>%s</title>
<style>%s
@media screen and (prefers-color-scheme:dark){:root{--ink:#f0f0f0;--muted:#b0b0b0;--back:#16181c;--line:#3a3d42;--stripe:#1d2025;--mark:#65ccfe}%s}
</style></head>
<body><main><h1>%s</h1><p class="muted">%s</p>
`, e(p.Title), style, chart.Dark.CSS("svg.chart "), e(p.Title), e(p.Subtitle))
	for _, line := range p.Answer {
		out.printf(`<p class="answer">%s</p>`+"\n", e(line))
	}
	if len(p.Sections) > 2 {
		out.printf(`<nav aria-label="parts of the report">`)
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
	out.printf(`</main><footer class="muted"><p>Throughline %s</p></footer><script>%s</script></body></html>`+"\n", e(version.Number), script)
	if out.err != nil {
		return out.err
	}
	return out.Flush()
}

// writer numbers what needs an id, and remembers the first failure.
type writer struct {
	*bufio.Writer
	tables, charts int
	labels         map[string]int // of tables, which differ
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
			width, class := chartWidth, ""
			switch {
			case s.Small:
				width = smallWidth
			case slices.Contains(wideKinds, c.Kind):
				width, class = wideWidth, ` class="span"`
			}
			w.printf(`<figure%s><div class="broad">`, class)
			w.chart(c, width)
			w.printf(`</div><div class="phone">`)
			w.chart(c, phoneWidth)
			w.printf("</div></figure>\n")
		}
		w.printf("</div>\n")
	}
	for i := range s.Tables {
		w.table(&s.Tables[i], s.Title)
	}
	for _, code := range s.Code {
		w.printf(`<div class="code"><button type="button" class="copy">Copy</button><pre tabindex="0">%s</pre></div>`+"\n", html.EscapeString(code))
	}
	for i, text := range s.Notes {
		if slices.Contains(s.Notes[:i], text) {
			continue // pools have the same
		}
		w.printf("<p class=\"muted\">%s</p>\n", html.EscapeString(text))
	}
	for i := range s.Folded {
		w.printf("<details><summary>%s</summary>\n", html.EscapeString(s.Folded[i].Title))
		w.section(&s.Folded[i])
		w.printf("</details>\n")
	}
}

func (w *writer) chart(c *chart.Chart, width float64) {
	w.charts++
	err := chart.SVG{Theme: chart.Light, Inline: true}.Write(w.Writer, c.Draw(width, 0, fmt.Sprintf("c%d-", w.charts)))
	if w.err == nil {
		w.err = err
	}
}

const (
	// filtered is the number of rows from which a table has a search field.
	filtered = 30
	// printed is the rows of a table that stand in the page itself, and on paper; a script shows
	// the others as they are scrolled to.
	printed = 200
)

// label names a table for those who hear the page: no two alike.
func (w *writer) label(name string) string {
	if w.labels == nil {
		w.labels = map[string]int{}
	}
	if w.labels[name]++; w.labels[name] > 1 {
		return fmt.Sprintf("%s (%d)", name, w.labels[name])
	}
	return name
}

func (w *writer) table(t *Table, section string) {
	w.tables++
	id := fmt.Sprintf("t%d", w.tables)
	w.printf(`<div class="tools">`)
	if t.Len() >= filtered {
		w.printf(`<input type="search" data-filters="%s" placeholder="show rows with …" aria-label="show rows with these words">`, id)
	}
	heads := t.Headings()
	if t.First > 0 && len(heads) > t.First {
		w.printf(`<button type="button" data-all="%s" aria-pressed="false">all %d columns</button>`, id, len(heads))
	}
	w.printf("</div>\n")
	class := "sortable"
	if t.Wide {
		class += " wide"
	}
	w.printf(`<div class="scroll" tabindex="0" role="region" aria-label="%s"><table class="%s" id="%s">`, html.EscapeString(w.label(cmp.Or(t.Title, section))), class, id)
	if t.Title != "" {
		w.printf("<caption>%s</caption>", html.EscapeString(t.Title))
	}
	w.printf("<thead><tr>")
	looks, shown := make([]string, len(heads)), shownColumns(heads, t.First)
	for i, h := range heads {
		look := map[bool]string{true: "n"}[h.Right]
		if !shown[i] {
			look += " m"
		}
		if look = strings.TrimSpace(look); look != "" {
			looks[i] = ` class="` + look + `"`
		}
		w.printf(`<th scope="col"%s title="%s"><button type="button">%s</button></th>`, looks[i], html.EscapeString(h.Doc), html.EscapeString(cmp.Or(h.Title, "row")))
	}
	w.printf("</tr></thead><tbody>\n")
	var rest columns
	n := 0
	t.Each(func(cells []table.Cell) {
		if n++; n <= printed {
			w.printf("<tr>")
			for i, c := range cells {
				w.printf("<td%s%s>%s</td>", looks[i], sortAttribute(c.Value), html.EscapeString(c.Text))
			}
			w.printf("</tr>\n")
		}
		if t.Len() > printed {
			rest.add(cells)
		}
	})
	w.printf("</tbody></table></div>\n")
	if t.Len() > printed {
		w.printf(`<p class="muted">Printed are the first %d of %d rows.</p><script type="application/json" data-rows="%s">`, printed, t.Len(), id)
		if err := rest.write(w.Writer); w.err == nil {
			w.err = err
		}
		w.printf("</script>\n")
	}
}

// shownColumns says which columns are shown at once: the first of the lowest ranks; 0: all.
func shownColumns(heads []table.Heading, most int) []bool {
	out, order := make([]bool, len(heads)), make([]int, len(heads))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(heads[a].Rank, heads[b].Rank) })
	for k, i := range order {
		out[i] = most == 0 || k < most
	}
	return out
}

// columns hold the cells of a long table, each text once.
type columns []*column

type column struct {
	Texts  []any `json:"t"` // a text, or a text and the number that it is sorted by
	Rows   []int `json:"r"` // the text of each row
	places map[string]int
}

func (c *columns) add(cells []table.Cell) {
	for i, cell := range cells {
		if i == len(*c) {
			*c = append(*c, &column{places: map[string]int{}})
		}
		k := (*c)[i]
		at, known := k.places[cell.Text]
		if !known {
			at = len(k.Texts)
			k.places[cell.Text] = at
			if v, ok := sortable(cell.Value); ok {
				k.Texts = append(k.Texts, []any{cell.Text, v})
			} else {
				k.Texts = append(k.Texts, cell.Text)
			}
		}
		k.Rows = append(k.Rows, at)
	}
}

// write writes JSON in which no text ends the element around it.
func (c columns) write(w io.Writer) error {
	text, err := json.Marshal(c) // escapes < and >
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// sortable is the number of a cell.
func sortable(v any) (float64, bool) {
	if n, ok := v.(int); ok {
		v = float64(n)
	}
	f, ok := v.(float64)
	return f, ok && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// sortAttribute returns the attribute of a cell that is sorted by a number.
func sortAttribute(v any) string {
	if f, ok := sortable(v); ok {
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
