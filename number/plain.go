package number

import (
	"fmt"
	"math"
	"strings"
)

// Plain writes a number with so many significant digits and no exponent, unless it is tiny or beyond what is counted out:
// whole numbers keep all their digits.
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

// Band writes a band around a number, from the number divided by 1 + band to the number multiplied by it: in percent, or as a
// factor where it is more than 1.
func Band(band float64) string {
	if band > 1 {
		return fmt.Sprintf("×÷%.1f", 1+band)
	}
	return fmt.Sprintf("±%.0f%%", 100*band)
}

// Count is so many things, of which one is called so.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
