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

// timeUnits are those of times for people, longest first.
var timeUnits = []struct {
	name    string
	seconds float64
}{{"h", 3600}, {"min", 60}, {"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}}

// Time writes seconds in the unit that suits, from minutes on only where there are ten.
func Time(seconds float64, digits int) string {
	if seconds == 0 || math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return Plain(seconds, digits) + " s"
	}
	for _, u := range timeUnits {
		least := u.seconds
		if u.seconds > 1 {
			least *= 10
		}
		if math.Abs(seconds) >= 0.9995*least {
			return Plain(seconds/u.seconds, digits) + " " + u.name
		}
	}
	return Plain(1e6*seconds, digits) + " µs"
}

// Banded writes a predicted time with its band, and no more digits than that lets stand; a band of
// 0 is unknown.
func Banded(seconds, band float64) string {
	if band == 0 {
		return Time(seconds, 3)
	}
	digits := 3
	if band > 1 {
		digits = 2
	}
	return Time(seconds, digits) + " " + Band(band)
}

// Round keeps significant digits.
func Round(v float64, digits int) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	unit := math.Pow(10, float64(digits-1)-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*unit) / unit
}

// Rate writes a rate, with commas between thousands from ten thousand on.
func Rate(v float64) string {
	if math.Abs(v) < 1e4 || math.Abs(v) >= 1e15 {
		return Plain(v, 3)
	}
	return Grouped(int(math.Round(v)))
}

// Grouped writes an integer with commas between thousands.
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Signed writes a change in percent with a true minus sign.
func Signed(share float64, decimals int) string {
	return strings.Replace(fmt.Sprintf("%+.*f%%", decimals, 100*share), "-", "−", 1)
}
