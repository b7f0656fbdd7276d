package picture

import (
	"errors"
	"fmt"
	"strings"

	"throughline/internal/chart"
	"throughline/internal/difference"
	"throughline/number"
)

// costPrefix begins the figures of GPU time.
const costPrefix = "GPU ms/token "

// Between shows how much more GPU time each class of operators takes for a token in B than in A.
func Between(d *difference.Difference) (*chart.Chart, error) {
	p := chart.Panel{Weight: 1, Cut: true, X: chart.Axis{Title: "GPU ms per output token, B less A", Zero: true}}
	sum := 0.0
	for i := range d.Rows {
		r := &d.Rows[i]
		name, ok := strings.CutPrefix(r.Field, costPrefix)
		a, _ := r.A.(float64)
		b, _ := r.B.(float64)
		if !ok || a == b {
			continue
		}
		sum += b - a
		paint := chart.C1
		if b < a {
			paint = chart.C2
		}
		text := signedPlain(b - a)
		p.Bars = append(p.Bars, chart.Bar{Band: len(p.Y.Bands), From: min(0, b-a), To: max(0, b-a), Paint: paint, Hatch: b < a, After: text,
			Tip: fmt.Sprintf("%s: A %s, B %s ms of a GPU per token", name, number.Plain(a, 3), number.Plain(b, 3))})
		p.Y.Bands = append(p.Y.Bands, name)
	}
	if len(p.Bars) == 0 {
		return nil, errors.New("the two take the same GPU time")
	}
	p.Bars = append(p.Bars, chart.Bar{Band: len(p.Y.Bands), From: min(0, sum), To: max(0, sum), Paint: chart.Ink, After: signedPlain(sum), Tip: "all together"})
	p.Y.Bands = append(p.Y.Bands, "all together")
	low, high := 0.0, 0.0
	for _, b := range p.Bars {
		low, high = min(low, b.From), max(high, b.To)
	}
	p.X.Low, p.X.High = chart.At(1.15*low), chart.At(1.15*high)
	c := &chart.Chart{Kind: "between", Title: "Where the GPU time of a token differs", Panels: []chart.Panel{p}}
	c.Description = fmt.Sprintf("Bars to the right: B takes longer; to the left: A does. Together %s ms of a GPU per output token.", signedPlain(sum))
	return c, nil
}

func signedPlain(v float64) string {
	text := strings.Replace(number.Plain(v, 3), "-", "−", 1)
	if v > 0 {
		text = "+" + text
	}
	return text
}
