package picture

import (
	"errors"
	"fmt"
	"strings"

	"throughline/internal/chart"
	"throughline/internal/difference"
	"throughline/internal/profile"
	"throughline/number"
)

// costPrefix begins the figures of GPU time.
const costPrefix = "GPU ms/token "

// Between shows how much more GPU time each class of operators takes for a token in B than in A.
func Between(d *difference.Difference) (*chart.Chart, error) {
	bars := diverging{unit: "ms of a GPU per token", a: "A", b: "B"}
	for i := range d.Rows {
		r := &d.Rows[i]
		if name, ok := strings.CutPrefix(r.Field, costPrefix); ok && r.Differs() {
			a, _ := r.A.(float64)
			b, _ := r.B.(float64)
			bars.add(name, a, b)
		}
	}
	return bars.draw("Where the GPU time of a token differs", "GPU ms per output token, B less A")
}

// Profiled shows how much longer each class of kernels takes in a profile than is predicted.
func Profiled(s *profile.Step) (*chart.Chart, error) {
	bars := diverging{unit: "ms of a step", a: "predicted", b: "measured"}
	for i := range s.Classes {
		c := &s.Classes[i]
		bars.add(c.Name, c.Predicted, c.Measured)
	}
	return bars.draw("Where the time of a step differs", "ms of a step, measured less predicted")
}

// diverging is bars of how much more b takes than a, part by part.
type diverging struct {
	unit, a, b string
	panel      chart.Panel
	sum        float64
}

func (d *diverging) add(name string, a, b float64) {
	if a == b {
		return
	}
	d.sum += b - a
	paint := chart.C1
	if b < a {
		paint = chart.C2
	}
	d.panel.AddBar(name, chart.Bar{From: min(0, b-a), To: max(0, b-a), Paint: paint, Hatch: b < a, After: signedPlain(b - a),
		Tip: fmt.Sprintf("%s: %s %s, %s %s %s", name, d.a, number.Plain(a, 3), d.b, number.Plain(b, 3), d.unit)})
}

func (d *diverging) draw(title, axis string) (*chart.Chart, error) {
	p := d.panel
	if len(p.Bars) == 0 {
		return nil, errors.New("the two take the same time")
	}
	p.Weight, p.Cut, p.X = 1, true, chart.Axis{Title: axis, Zero: true}
	p.AddBar("all together", chart.Bar{From: min(0, d.sum), To: max(0, d.sum), Paint: chart.Ink, After: signedPlain(d.sum), Tip: "all together"})
	low, high := 0.0, 0.0
	for _, b := range p.Bars {
		low, high = min(low, b.From), max(high, b.To)
	}
	p.X.Low, p.X.High = chart.At(1.15*low), chart.At(1.15*high)
	c := &chart.Chart{Kind: "between", Title: title, Panels: []chart.Panel{p}}
	c.Description = fmt.Sprintf("Bars to the right: %s takes longer; to the left: %s does. Together %s %s.", d.b, d.a, signedPlain(d.sum), d.unit)
	return c, nil
}

func signedPlain(v float64) string {
	text := strings.Replace(number.Plain(v, 3), "-", "−", 1)
	if v > 0 {
		text = "+" + text
	}
	return text
}
