package published

import (
	"errors"
	"strings"
)

// readAny reads a row, or a side of a ratio, naming several layouts, of which the best counts, as
// sources drew Pareto curves. An aggregated server is asked what its clients get, whatever the
// other side is.
func readAny(row inputs, asks quantity) (config, error) {
	if strings.Contains(row.get("parallelism"), "aggregated") {
		asks = outputRate
	}
	texts := strings.Split(row.get("parallelism"), " or ")
	c, err := read(row.with("parallelism", texts[0]), asks)
	name, _, _ := strings.Cut(texts[0], ", ")
	for _, text := range texts[1:] {
		other, otherErr := read(row.with("parallelism", name+", "+text), asks)
		c.others, err = append(c.others, other), errors.Join(err, otherErr)
	}
	return c, err
}

// best is the largest value of the layouts of a side. Of several, some may not run.
func (p *predictor) best(c *config) (float64, error) {
	most, err := p.value(c)
	for i := range c.others {
		if v, otherErr := p.value(&c.others[i]); otherErr == nil {
			most, err = max(most, v), nil
		}
	}
	return most, err
}

// AsPublished is a claim that one deployment is faster than another, and the ratio predicted.
// The ratio is 0 if there is no prediction.
type AsPublished struct {
	Name  string
	Ratio float64
}

// Holds reports whether the prediction agrees.
func (a *AsPublished) Holds() bool { return a.Ratio > 1 }

// Orders are the rows that say which of two is faster.
func (t *Table) Orders() []AsPublished {
	var out []AsPublished
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Class == Order {
			out = append(out, AsPublished{r.label, r.Predicted})
		}
	}
	return out
}
