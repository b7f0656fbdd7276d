package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"pgregory.net/rapid"

	"throughline/internal/test/long"
)

// A table fits the width that it is given, unless the columns that are always shown are wider; it
// shows the columns with the lowest ranks, and names the others.
func TestTablesFit(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		var g Grid
		words := []string{"", "a", "plan", "dp16·pp1·tp1", "1234567", "a rather long cell"}
		n := rapid.IntRange(1, 8).Draw(t, "columns")
		for i := range n {
			g.Columns = append(g.Columns, Heading{Title: string(rune('A' + i)), Right: i%2 == 0, Rank: rapid.IntRange(0, 3).Draw(t, "rank")})
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

// A word that has no room is divided, behind a comma where it has one.
func TestLongWords(t *testing.T) {
	for word, want := range map[string]string{
		"SGLang,0.5.14,bfloat16,4096": "SGLang,0.5.14, bfloat16,4096", "averyverylongwordthatgoeson": "averyverylongw ordthatgoeson",
		"dp1·pp1·tp1·cp1·ep1": "dp1·pp1·tp1·cp 1·ep1", "short": "short", "": "",
	} {
		if got := chopped(word, 14); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	g := Grid{Columns: []Heading{{Title: "row"}, {Title: "time", Right: true}}}
	g.Row("NVIDIA H200,mla_gen_pre,sglang_torch_bmm,bfloat16,1,1", "9.309")
	g.Row(strings.Repeat("x", 100), "9.309")
	for line := range strings.SplitSeq(g.Render(View{Width: 40}), "\n") {
		if w := text.StringWidthWithoutEscSequences(line); w > 40 {
			t.Errorf("%d wide: %s", w, line)
		}
	}
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
