package table

import (
	"math"
	"strings"
)

// Bars is how a terminal shows lengths.
type Bars uint8

const (
	NoBars    Bars = iota // no terminal
	ASCIIBars             // a terminal without Unicode
	BlockBars             // eighths of a character
)

// Parts of a character, from an eighth on; levels of a sparkline, from the lowest.
var (
	parts  = []rune("▏▎▍▌▋▊▉█")
	levels = [...][]rune{ASCIIBars: []rune(" .:-=+*#"), BlockBars: []rune(" ▁▂▃▄▅▆▇█")}
)

// Bar draws a share of width characters; any positive share is visible.
func (b Bars) Bar(share float64, width int) string {
	if b == NoBars || !(share > 0) {
		return ""
	}
	share = min(share, 1)
	if b == ASCIIBars {
		return strings.Repeat("#", max(1, int(math.Round(share*float64(width)))))
	}
	eighths := max(1, int(math.Round(share*float64(8*width))))
	text := strings.Repeat(string(parts[7]), eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string(parts[rest-1])
	}
	return text
}

// Spark draws values as a line of characters, scaled to the largest.
func (b Bars) Spark(values []float64) string {
	if b == NoBars {
		return ""
	}
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var out []rune
	top := len(levels[b]) - 1
	for _, v := range values {
		at := 0
		if most > 0 && v > 0 {
			at = max(1, int(math.Round(v/most*float64(top))))
		}
		out = append(out, levels[b][at])
	}
	return string(out)
}
