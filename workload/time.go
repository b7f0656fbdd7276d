package workload

import (
	"strconv"
	"strings"
)

// TimeUnits are the units of times in ms, the default.
var TimeUnits = map[string]float64{"": 1, "ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1e3, "min": 60e3}

// ParseTime reads a time like 2s, 50ms or 300us, by default in the given unit.
func ParseTime(text, in string) (float64, error) {
	text = strings.TrimSpace(text)
	number := strings.TrimRight(text, "nuµμmsi")
	unit, ok := TimeUnits[text[len(number):]]
	if !ok || len(number) == len(text) {
		// ParseFloat accepts NaN and Inf, which bounds checks refuse.
		number, unit = text, TimeUnits[in]
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return x * (unit / TimeUnits[in]), err
}
