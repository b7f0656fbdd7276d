package names

import (
	"maps"
	"slices"
	"strings"
)

// pools are what stands in front of the columns of servers that prefill or decode alone.
var pools = []string{"prefill_", "decode_"}

// Column is the column of runs that a header means, whatever symbols, units and words for a mean
// it has besides; any other header means itself.
func Column(header string) string {
	name := plain(header)
	for _, pool := range pools {
		if rest, ok := strings.CutPrefix(name, pool); ok {
			return pool + Column(rest)
		}
	}
	if column, ok := columns[name]; ok {
		return column
	}
	words := split(strings.ReplaceAll(bracket.ReplaceAllStringFunc(name, withoutUnits), "_", " "))
	for _, noise := range [][]string{known.CountWords, known.Figures.Statistics["mean"]} {
		had := len(words)
		words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(noise, w) })
		column := strings.Join(words, "_")
		if also, ok := columns[column]; ok {
			column = also
		}
		// Of a mean batch it is the result that is meant, of mean lengths what was sent.
		mean := len(words) < had && noise[0] == known.Figures.Statistics["mean"][0]
		if _, ok := known.Columns[column]; ok && (!mean || column == "isl" || column == "osl") {
			return column
		}
	}
	return name
}

// withoutUnits is what stands in brackets, unless it is units alone.
func withoutUnits(text string) string {
	if slices.ContainsFunc(split(text), func(w string) bool { return !slices.Contains(known.UnitWords, w) }) {
		return text
	}
	return " "
}

// plain is a header in lower case with underscores: "Num GPUs", "num-gpus" and "num_gpus".
func plain(header string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(strings.TrimPrefix(header, "\uFEFF"))))
}

// columns are those of runs by their other names.
var columns = func() map[string]string {
	out := map[string]string{}
	for _, column := range slices.Sorted(maps.Keys(known.Columns)) {
		for _, name := range known.Columns[column] {
			out[name] = column
		}
	}
	return out
}()

// Others are the other names of a column, best first.
func Others(column string) []string { return known.Columns[column] }

// Cells reads the cells of a table by its own column names and by those of runs.
type Cells struct {
	header     []string
	own, meant map[string][]int
	packed     []int
}

// Header prepares to read the rows under a header.
func Header(header []string) *Cells {
	c := &Cells{own: map[string][]int{}, meant: map[string][]int{}}
	for i, name := range header {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\uFEFF"))
		c.header = append(c.header, name)
		c.own[name] = append(c.own[name], i)
		if low := plain(name); low != name {
			c.own[low] = append(c.own[low], i)
		}
		column := Column(name)
		c.meant[column] = append(c.meant[column], i)
		if slices.Contains(known.Packed, name) {
			c.packed = append(c.packed, i)
		}
	}
	for column, at := range c.meant {
		slices.SortStableFunc(at, func(a, b int) int { return rank(column, header[a]) - rank(column, header[b]) })
	}
	return c
}

// rank orders the names of a column: its own, then others as the file lists them.
func rank(column, header string) int {
	for _, pool := range pools {
		column = strings.TrimPrefix(column, pool)
		header = strings.TrimPrefix(plain(header), pool)
	}
	if header == column {
		return 0
	}
	if i := slices.Index(known.Columns[column], header); i >= 0 {
		return 1 + i
	}
	return 1 + len(known.Columns[column]) // by its words
}

// Names are the columns by their own names, in the order of the header, then by what they mean.
func (c *Cells) Names() []string {
	out := slices.Clone(c.header)
	for _, column := range slices.Sorted(maps.Keys(c.meant)) {
		if !slices.Contains(out, column) {
			out = append(out, column)
		}
	}
	return out
}

// Of is how the cells of a row are read: by a name of the header, else by what headers mean, else
// a date from cells like "model=Llama; measured=2025-10-20".
func (c *Cells) Of(row []string) func(column string) string {
	return func(column string) string {
		for _, list := range [][]int{c.own[column], c.meant[column]} {
			for _, i := range list {
				if text := strings.TrimSpace(row[i]); text != "" {
					return text
				}
			}
		}
		if column == date {
			return c.dateIn(row)
		}
		return ""
	}
}

// date is the one column that is read from cells of several.
const date = "date"

func (c *Cells) dateIn(row []string) string {
	for _, i := range c.packed {
		for part := range strings.SplitSeq(row[i], ";") {
			if name, text, ok := strings.Cut(part, "="); ok && Column(name) == date {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}
