package scan

import (
	"fmt"
	"strconv"
	"strings"

	"throughline/workload"
)

// Condition is what the value or the answer of a point must meet.
type Condition struct {
	Name  string // of an axis or a figure
	Than  string // <=, <, >=, >, =
	Value string
}

// comparisons, longest first.
var comparisons = []string{"<=", ">=", "==", "!=", "<", ">", "="}

// ParseCondition reads a condition like tpot <= 20ms.
func ParseCondition(text string) (Condition, error) {
	for at := range text {
		for _, than := range comparisons {
			if !strings.HasPrefix(text[at:], than) {
				continue
			}
			c := Condition{strings.TrimSpace(text[:at]), strings.TrimSuffix(than, "="), strings.TrimSpace(text[at+len(than):])}
			if than == "<=" || than == ">=" || than == "!=" {
				c.Than = than
			} else if than == "==" || than == "=" {
				c.Than = "="
			}
			if c.Name == "" || c.Value == "" {
				break
			}
			return c, nil
		}
	}
	return Condition{}, fmt.Errorf("%q is no condition like tpot <= 20ms, gpus < 64 or fits = true", text)
}

func (c *Condition) String() string { return c.Name + " " + c.Than + " " + c.Value }

// number reads the value of the condition in a unit.
func (c *Condition) number(unit string) (float64, error) {
	if unit == "ms" || unit == "s" {
		return workload.ParseTime(c.Value, unit)
	}
	text := strings.TrimSpace(strings.TrimSuffix(c.Value, unit))
	if share, ok := strings.CutSuffix(text, "%"); ok {
		text = share
	}
	return strconv.ParseFloat(text, 64)
}

// Met returns a test of values in a unit; an absent value meets nothing.
func (c *Condition) Met(unit string) (func(value any) bool, error) {
	limit, err := c.number(unit)
	text := strings.ToLower(c.Value)
	if err != nil && c.Than != "=" && c.Than != "!=" {
		return nil, fmt.Errorf("%s: %q is not a number%s", c, c.Value, inUnit(unit))
	}
	isText := err != nil
	return func(value any) bool {
		switch v := value.(type) {
		case nil:
			return false
		case float64:
			return !isText && compare(v, c.Than, limit)
		case int:
			return !isText && compare(float64(v), c.Than, limit)
		case bool:
			return (strconv.FormatBool(v) == text) == (c.Than == "=")
		default:
			return (strings.ToLower(fmt.Sprint(v)) == text) == (c.Than == "=")
		}
	}, nil
}

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return " of " + unit
}

func compare(v float64, than string, limit float64) bool {
	switch than {
	case "<=":
		return v <= limit
	case "<":
		return v < limit
	case ">=":
		return v >= limit
	case ">":
		return v > limit
	case "!=":
		return v != limit
	}
	return v == limit
}
