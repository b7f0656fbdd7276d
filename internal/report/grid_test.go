package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"pgregory.net/rapid"
)

// A table fits the width that it is given, unless the columns that are always shown are wider; it shows the columns with the
// lowest ranks, and names the others.
func TestTablesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Grid
		words := []string{"", "a", "plan", "dp16·pp1·tp1", "1234567", "a rather long cell"}
		n := rapid.IntRange(1, 8).Draw(t, "columns")
		for i := range n {
			g.Columns = append(g.Columns, Column{string(rune('A' + i)), i%2 == 0, rapid.IntRange(0, 3).Draw(t, "rank")})
		}
		for range rapid.IntRange(1, 3).Draw(t, "rows") {
			var row []string
			for range n {
				row = append(row, rapid.SampledFrom(words).Draw(t, "cell"))
			}
			g.Row(row...)
		}
		width := rapid.IntRange(1, 120).Draw(t, "width")
		shown, left := g.choose(width)
		always := true
		for _, i := range shown {
			always = always && g.Columns[i].Rank == 0
		}
		out := g.Render(View{Width: width})
		for line := range strings.SplitSeq(out, "\n") {
			table := strings.ContainsAny(line, "│┌├└")
			if w := text.StringWidthWithoutEscSequences(line); w > width && table && !always {
				t.Fatalf("%d wide, not %d:\n%s", w, width, out)
			}
		}
		for i, c := range g.Columns {
			empty := !slices.ContainsFunc(g.rows, func(row []string) bool { return row[i] != "" })
			if slices.Contains(shown, i) == (slices.Contains(left, c.Title) || empty) {
				t.Fatalf("column %s: shown %v, left out %v, empty %v", c.Title, shown, left, empty)
			}
		}
		if all, none := g.choose(0); len(none) > 0 || len(all) < len(shown) {
			t.Fatalf("without a width %v is left out", none)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"one two three", 0, "one two three"}, {"one two three", 13, "one two three"},
		{"one two three", 9, "one two\n  three"}, {"unbreakable", 4, "unbreakable"},
	} {
		if got := wrap(c.line, c.width); got != c.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
