package table

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

type View struct {
	// Width is that of the terminal; 0: unlimited.
	Width int
	// All tells how to see columns that have no room.
	All string
	// Columns are the fields to show in place of the default ones, by name.
	Columns []string
	// Bars are drawn beside numbers.
	Bars Bars
	// Markdown writes tables as such, with all columns.
	Markdown bool
	// Bold lets answers begin with BoldOn and end with BoldOff.
	Bold bool
}

// Marks around bold text, for private use in Unicode: what paints a terminal translates them.
const (
	BoldOn  = "\ue000"
	BoldOff = "\ue001"
)

// Wrap breaks the lines that do not fit.
func (v View) Wrap(lines string) string {
	var out []string
	for line := range strings.SplitSeq(lines, "\n") {
		out = append(out, wrap(line, v.Width))
	}
	return strings.Join(out, "\n")
}

// WrapUnder breaks a line after a label, with continuation lines indented to the end of the label.
func (v View) WrapUnder(label, line string) string {
	width := text.StringWidthWithoutEscSequences(label)
	if v.Width == 0 || v.Width-width < 20 {
		return label + line
	}
	return label + hanging(line, v.Width-width, v.Width-width, strings.Repeat(" ", width))
}

// wrap breaks a line between words to fit a width; continuation lines are indented by two more.
func wrap(line string, width int) string {
	if width == 0 || text.StringWidthWithoutEscSequences(line) <= width {
		return line
	}
	start := line[:len(line)-len(strings.TrimLeft(line, " "))]
	room := width - len(start)
	return start + hanging(line, room, room-2, start+"  ")
}

// hanging breaks a line between words into a first part and others behind an indent.
func hanging(line string, first, others int, indent string) string {
	var b strings.Builder
	at, room := 0, first
	for i, word := range strings.Fields(line) {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case i == 0:
		case at+1+n > room:
			b.WriteString("\n" + indent)
			at, room = 0, others
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
