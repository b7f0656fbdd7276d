package question

import (
	"fmt"
	"strconv"
	"strings"
)

// parseWatts reads a power limit, with or without its unit.
func parseWatts(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "W")), 64)
	if err != nil || !(v >= 1 && v <= mostWatts) {
		return 0, fmt.Errorf("must be from 1 to %d watts, like 500 or 500W, not %q", mostWatts, text)
	}
	return v, nil
}

// PowerLimits are those that are asked for, in watts; none: as delivered.
func (q *Question) PowerLimits() (out []float64) {
	for _, word := range Words(q.PowerLimit) {
		if v, err := parseWatts(word); err == nil { // what is wrong is said by its setting
			out = append(out, v)
		}
	}
	return out
}
