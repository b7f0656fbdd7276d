package names

import (
	"maps"
	"slices"
	"strings"
)

// pools are what stands in front of the columns of servers that prefill or decode alone.
var pools = []string{"prefill_", "decode_"}

// Column is the column of runs that a header means; any other header means itself.
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
	return name
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
	return 1 + slices.Index(known.Columns[column], header)
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
// from cells like "model=Llama; measured=2025-10-20".
func (c *Cells) Of(row []string) func(column string) string {
	return func(column string) string {
		for _, list := range [][]int{c.own[column], c.meant[column]} {
			for _, i := range list {
				if text := strings.TrimSpace(row[i]); text != "" {
					return text
				}
			}
		}
		for _, i := range c.packed {
			for part := range strings.SplitSeq(row[i], ";") {
				if name, text, ok := strings.Cut(part, "="); ok && Column(name) == column && column == "date" {
					return strings.TrimSpace(text)
				}
			}
		}
		return ""
	}
}
