package workload

import (
	"strconv"
	"strings"
)

// TimeUnits are the units of times in ms, which a number without one is in.
var TimeUnits = map[string]float64{"": 1, "ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1e3, "min": 60e3}

// ParseTime reads a time like 2s, 50ms or 300us, in the unit that a number without one has.
func ParseTime(text, in string) (float64, error) {
	text = strings.TrimSpace(text)
	number := strings.TrimRight(text, "nuµμmsi")
	unit, ok := TimeUnits[text[len(number):]]
	if !ok || len(number) == len(text) {
		// NaN and Inf are numbers to ParseFloat: what is wrong with them are the bounds.
		number, unit = text, TimeUnits[in]
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return x * (unit / TimeUnits[in]), err
}
