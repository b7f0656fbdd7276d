package number

import (
	"fmt"
	"math"
	"strings"
)

// Plain rounds to significant digits without exponent, unless tiny or huge, and keeps integers.
func Plain(v float64, digits int) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case math.IsNaN(v) || math.IsInf(v, 0) || a < 1e-6 || a >= 1e15:
		return fmt.Sprintf("%.*g", digits, v)
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(a))))
	text := fmt.Sprintf("%.*f", decimals, v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Band writes a band, which divides and multiplies by 1 + band: in percent, or as a factor above 1.
func Band(band float64) string {
	if band > 1 {
		return fmt.Sprintf("×÷%.1f", 1+band)
	}
	return fmt.Sprintf("±%.0f%%", 100*band)
}

// Count is a number of things, with a plural unless it is one.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
