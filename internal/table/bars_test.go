package table

import (
	"testing"
	"unicode/utf8"
)

func TestBars(t *testing.T) {
	for _, c := range []struct {
		bars  Bars
		share float64
		want  string
	}{
		{BlockBars, 1, "██████████"}, {BlockBars, 0.5, "█████"}, {BlockBars, 0.56, "█████▋"}, {BlockBars, 0.0001, "▏"}, {BlockBars, 0, ""}, {BlockBars, 7, "██████████"},
		{ASCIIBars, 1, "##########"}, {ASCIIBars, 0.44, "####"}, {ASCIIBars, 0.0001, "#"}, {ASCIIBars, 0, ""}, {NoBars, 1, ""},
	} {
		if got := c.bars.Bar(c.share, 10); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.share, c.bars, got, c.want)
		}
	}
	values := []float64{0, 1, 2, 4, 8, 0.001}
	if got := BlockBars.Spark(values); got != " ▁▂▄█▁" {
		t.Errorf("%q", got)
	}
	if got := ASCIIBars.Spark(values); got != " .:=#." {
		t.Errorf("%q", got)
	}
	if got := BlockBars.Spark(make([]float64, 5)); got != "     " || utf8.RuneCountInString(got) != 5 {
		t.Errorf("%q", got)
	}
}
