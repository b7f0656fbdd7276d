package scan

import (
	"fmt"
	"strconv"
	"strings"

	"throughline/internal/question"
	"throughline/internal/table"
	"throughline/workload"
)

// Condition is what the value or the answer of a point must meet.
type Condition struct {
	Name  string // of an axis or a figure
	Than  string // <=, <, >=, >, =
	Value string
}

// comparisons, longest first, as people write them.
var comparisons = []struct{ written, than string }{{"<=", "<="}, {"=<", "<="}, {">=", ">="}, {"=>", ">="}, {"==", "="}, {"!=", "!="}, {"<", "<"}, {">", ">"}, {"=", "="}}

// ParseCondition reads a condition like tpot <= 20ms.
func ParseCondition(text string) (Condition, error) {
	for at := range text {
		for _, by := range comparisons {
			if !strings.HasPrefix(text[at:], by.written) {
				continue
			}
			c := Condition{strings.TrimSpace(text[:at]), by.than, strings.TrimSpace(text[at+len(by.written):])}
			if c.Name == "" || c.Value == "" {
				break
			}
			if c.Name[0] >= '0' && c.Name[0] <= '9' {
				return Condition{}, fmt.Errorf("%q: what is compared comes first, as in tpot <= 20ms", text)
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
	text := strings.TrimLeft(strings.TrimSuffix(strings.TrimSuffix(c.Value, "%"), unit), "$x")
	return strconv.ParseFloat(question.Counted(strings.TrimSpace(text), unit), 64)
}

var flags = map[string]bool{"true": true, "yes": true, "false": false, "no": false}

// Met returns a test of values of a kind and a unit; an absent value meets nothing.
func (c *Condition) Met(kind table.Kind, unit string) (func(value any) bool, error) {
	text, same := strings.ToLower(c.Value), c.Than == "="
	if kind == table.Text || kind == table.Flag {
		want, ok := flags[text]
		switch {
		case !same && c.Than != "!=":
			return nil, fmt.Errorf("%s: %s is no number; it is compared by = or !=", c, c.Name)
		case kind == table.Flag && !ok:
			return nil, fmt.Errorf("%s: %s is true or false, not %q", c, c.Name, c.Value)
		case kind == table.Flag:
			return func(value any) bool { v, ok := value.(bool); return ok && (v == want) == same }, nil
		}
		return func(value any) bool { return value != nil && (strings.ToLower(fmt.Sprint(value)) == text) == same }, nil
	}
	limit, err := c.number(unit)
	if err != nil {
		return nil, fmt.Errorf("%s: %q is not a number%s", c, c.Value, inUnit(unit))
	}
	return func(value any) bool {
		switch v := value.(type) {
		case float64:
			return compare(v, c.Than, limit)
		case int:
			return compare(float64(v), c.Than, limit)
		}
		return false
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
