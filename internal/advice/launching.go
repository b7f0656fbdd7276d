package advice

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"throughline/engine"
)

// Launching selects the row to start and the engines to start it with.
type Launching struct {
	Row     string           // of a ranked row, or f and that of a frontier row; empty: 1
	Engines []*engine.Engine // nil: the one that prices the row
}

// Row finds a row by its number; f precedes that of a frontier row.
func (a *Advice) Row(number string) (*Candidate, error) {
	rows, what := a.Ranked, "ranked rows"
	digits, onFrontier := strings.CutPrefix(number, "f")
	if onFrontier {
		rows, what = a.Frontier, "rows on the frontier"
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > len(rows) {
		return nil, fmt.Errorf("there is no row %q; there are %d %s", number, len(rows), what)
	}
	return &rows[n-1], nil
}

// Launched returns the row to start and its engines, or nil.
func (a *Advice) Launched() (*Candidate, []*engine.Engine) {
	c, err := a.Row(cmp.Or(a.Launch.Row, "1"))
	if err != nil {
		return nil, nil
	}
	engines := a.Launch.Engines
	if e := c.Engine(); engines == nil && e != nil {
		engines = []*engine.Engine{e}
	}
	return c, engines
}
