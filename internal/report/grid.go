// Package report writes results: the wide and the long CSV, tables for the terminal, JSON. All of them go over the fields of
// package result; nothing is computed here.
package report

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// View is how tables are shown.
type View struct {
	// Width is the columns of the terminal; 0: no one looks at it, tables are as wide as they are.
	Width int
	// Columns are the fields to show in place of the usual ones, by name.
	Columns []string
	// Bars beside numbers.
	Bars Bars
}

// Wrap breaks a line that does not fit.
func (v View) Wrap(line string) string { return wrap(line, v.Width) }

// Column is one of a table.
type Column struct {
	Title string
	Right bool
	// Rank is how soon it is left out where there is no room: the highest first, 0 never.
	Rank int
}

// Grid is a table that fits.
type Grid struct {
	Columns    []Column
	rows       [][]string
	separators []int // numbers of rows that a line stands before
}

// Row adds a row of cells.
func (g *Grid) Row(cells ...string) { g.rows = append(g.rows, cells) }

// Separator draws a line above the next row.
func (g *Grid) Separator() { g.separators = append(g.separators, len(g.rows)) }

// Render draws the columns that fit into a width, the important ones first, and says what was left out. Columns in which
// nothing stands are not drawn.
func (g *Grid) Render(width int) string {
	shown, left := g.choose(width)
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
	out := t.Render()
	if len(left) > 0 {
		out += "\n" + wrap("not shown: "+strings.Join(left, ", ")+" (the flag wide shows all)", width)
	}
	return out
}

// choose picks the columns that fit, in their order, and names those that do not.
func (g *Grid) choose(width int) (shown []int, left []string) {
	widths := make([]int, len(g.Columns))
	for i := range g.Columns {
		for _, row := range g.rows {
			widths[i] = max(widths[i], text.LongestLineLen(row[i]))
		}
	}
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
			need := max(widths[i], text.StringWidthWithoutEscSequences(c.Title)) + 3 // its borders
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

// wrap breaks a line between words so that it fits into a width; what follows is indented.
func wrap(line string, width int) string {
	if width == 0 || text.StringWidthWithoutEscSequences(line) <= width {
		return line
	}
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(line) {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// counted is a number of things.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// grouped writes a whole number with commas between thousands.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
