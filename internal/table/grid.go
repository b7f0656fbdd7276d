package table

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Heading is a column as people see it.
type Heading struct {
	Title string
	Right bool
	// Rank orders what is left out for lack of room: the highest first, 0 never.
	Rank int
	Doc  string
}

// Grid is a table of texts that fits a width.
type Grid struct {
	Columns    []Heading
	rows       [][]string
	separators []int // indices of rows below a line
}

// Row adds a row of cells; missing ones at its end are empty.
func (g *Grid) Row(cells ...string) {
	for len(cells) < len(g.Columns) {
		cells = append(cells, "")
	}
	g.rows = append(g.rows, cells)
}

// Separator draws a line above the next row.
func (g *Grid) Separator() { g.separators = append(g.separators, len(g.rows)) }

// Render draws the non-empty columns that fit, by rank, and names the others. If those of rank 0 do
// not fit, the cells of the widest are broken.
func (g *Grid) Render(v View) string {
	if v.Markdown {
		return g.Markdown()
	}
	g = g.broken(v.Width)
	shown, left := g.choose(v.Width)
	out := g.table(shown).Render()
	if len(left) > 0 {
		out += "\n" + v.Wrap("not shown: "+strings.Join(left, ", ")+v.All)
	}
	return out
}

// Markdown draws all columns as a table of Markdown.
func (g *Grid) Markdown() string {
	all := make([]int, len(g.Columns))
	for i := range all {
		all[i] = i
	}
	return g.table(all).RenderMarkdown()
}

func (g *Grid) table(shown []int) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	pick := func(cell func(i int) string) table.Row {
		var out table.Row
		for _, i := range shown {
			out = append(out, cell(i))
		}
		return out
	}
	t.AppendHeader(pick(func(i int) string { return g.Columns[i].Title }))
	var configs []table.ColumnConfig
	for at, i := range shown {
		if g.Columns[i].Right {
			configs = append(configs, table.ColumnConfig{Number: at + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.SetColumnConfigs(configs)
	next := 0
	for n, row := range g.rows {
		for ; next < len(g.separators) && g.separators[next] == n; next++ {
			if n > 0 {
				t.AppendSeparator()
			}
		}
		t.AppendRow(pick(func(i int) string { return row[i] }))
	}
	return t
}

// borders are the characters of a column besides its cells.
const borders = 3

// broken breaks the cells of a column, between words where possible, so that the columns of rank 0
// fit.
func (g *Grid) broken(width int) *Grid {
	widths := g.widths()
	need, widest := 1, -1
	for i, c := range g.Columns {
		if c.Rank > 0 || widths[i] == 0 && c.Title != "" {
			continue
		}
		need += g.need(i, widths)
		if !c.Right && (widest < 0 || widths[i] > widths[widest]) {
			widest = i
		}
	}
	if width == 0 || need <= width || widest < 0 {
		return g
	}
	const (
		least  = 12 // characters, below which a column is hard to read
		indent = 2  // of continuation lines
	)
	room := max(least, widths[widest]-(need-width))
	out := &Grid{Columns: g.Columns, separators: g.separators}
	for _, row := range g.rows {
		row = slices.Clone(row)
		lines := strings.Split(row[widest], "\n")
		for i := range lines {
			lines[i] = wrap(chopped(lines[i], room-indent), room)
		}
		row[widest] = strings.Join(lines, "\n")
		out.rows = append(out.rows, row)
	}
	return out
}

// chopped breaks words longer than a line, after punctuation where possible.
func chopped(line string, room int) string {
	words := strings.Fields(line)
	for i, word := range words {
		var parts []string
		for text.StringWidthWithoutEscSequences(word) > room {
			part := text.Trim(word, room)
			if at := strings.LastIndexAny(part, ",;/="); at >= 0 {
				part = part[:at+1]
			}
			parts, word = append(parts, part), word[len(part):]
		}
		words[i] = strings.Join(append(parts, word), " ")
	}
	return strings.Join(words, " ")
}

// widths returns the widest cell of each column.
func (g *Grid) widths() []int {
	out := make([]int, len(g.Columns))
	for i := range g.Columns {
		for _, row := range g.rows {
			out[i] = max(out[i], text.LongestLineLen(row[i]))
		}
	}
	return out
}

// need returns the width of a column with its borders.
func (g *Grid) need(i int, widths []int) int {
	return max(widths[i], text.StringWidthWithoutEscSequences(g.Columns[i].Title)) + borders
}

// choose picks the columns that fit, in order, and names the others.
func (g *Grid) choose(width int) (shown []int, left []string) {
	widths := g.widths()
	picked := make([]bool, len(g.Columns))
	room, ranks := width-1, 0
	for i := range g.Columns {
		ranks = max(ranks, g.Columns[i].Rank)
	}
	for rank := range ranks + 1 {
		for i, c := range g.Columns {
			if c.Rank != rank || widths[i] == 0 && c.Title != "" {
				continue
			}
			need := g.need(i, widths)
			if picked[i] = width == 0 || rank == 0 || need <= room; picked[i] {
				room -= need
			}
		}
	}
	for i, c := range g.Columns {
		switch {
		case picked[i]:
			shown = append(shown, i)
		case widths[i] > 0:
			left = append(left, c.Title)
		}
	}
	return shown, left
}
