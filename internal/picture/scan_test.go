package picture

import (
	"strings"
	"testing"

	"throughline/internal/chart"
)

// rising is a curve whose TTFT grows a thousand times where the limits break.
func rising() *Scan {
	s := &Scan{Title: "a model, a system, 4 points", Says: "It holds 30 requests/s, and not 40.", X: Series{Name: "rate requests/s", Values: []float64{10, 20, 30, 40}},
		By: []string{"", "", "", ""}, Held: map[string]float64{"": 30}}
	for _, p := range []struct {
		title string
		by    float64
	}{{"TTFT ms", 1}, {"TPOT ms", 0}} {
		one := Series{Name: "p50", Values: []float64{30, 33, 36, 40}}
		worst := Series{Name: "p99", Values: []float64{40, 50, 60, 70}, Band: []float64{0.25, 0.25, 0.25, 0.25}}
		if p.by > 0 {
			worst.Values = []float64{40, 50, 90, 30_000}
		}
		s.Panels = append(s.Panels, ScanPanel{p.title, 100, "p99 ≤ 100 ms", []Series{one, worst}})
	}
	return s
}

// TestCurvesShowTheLimit: where a latency grows by ratios its axis does, so that the part below the
// limit is seen; the rate that holds is marked, lines are told apart in the legend, and the band of
// the highest percentile is shaded.
func TestCurvesShowTheLimit(t *testing.T) {
	c, err := rising().lines()
	if err != nil {
		t.Fatal(err)
	}
	checked(t, "lines of a scan", c, true)
	if !c.Panels[0].Y.Log || c.Panels[1].Y.Log {
		t.Errorf("logarithmic axes: TTFT %v, TPOT %v", c.Panels[0].Y.Log, c.Panels[1].Y.Log)
	}
	if len(c.Keys) != 2 || c.Keys[0].Text != "p50" || c.Keys[1].Text != "p99" || c.Keys[0].Paint == c.Keys[1].Paint {
		t.Errorf("legend %v", c.Keys)
	}
	var rules []string
	for _, r := range c.Panels[0].Rules {
		rules = append(rules, r.Label)
	}
	if got := strings.Join(rules, ", "); got != "holds 30, p99 ≤ 100 ms" {
		t.Errorf("rules %s", got)
	}
	areas := c.Panels[1].Areas
	if len(areas) != 1 || areas[0].Upper[0].Y != 50 || areas[0].Lower[0].Y != 32 { // 40 × and ÷ 1.25
		t.Errorf("bands %v", areas)
	}
}

// TestSeveralCurves: of several curves each panel has one line, no band and no rule of a rate:
// these would hide each other; the legend says which rate holds.
func TestSeveralCurves(t *testing.T) {
	s := rising()
	s.By, s.Held = []string{"", "", "osl 64", "osl 128"}, map[string]float64{"osl 64": 30}
	for i := range s.Panels {
		s.Panels[i].Series = s.Panels[i].Series[1:]
	}
	c, err := s.lines()
	if err != nil {
		t.Fatal(err)
	}
	checked(t, "several lines of a scan", c, false)
	for _, p := range c.Panels {
		if len(p.Lines) != 3 || len(p.Areas) != 0 || len(p.Rules) != 1 {
			t.Errorf("%d lines, %d bands, %d rules", len(p.Lines), len(p.Areas), len(p.Rules))
		}
	}
	if len(c.Keys) != 2 || c.Keys[0].Text != "osl 64: holds 30" || c.Title != "TTFT over rate requests/s: what holds" {
		t.Errorf("%q with the legend %v", c.Title, c.Keys)
	}
}

// TestSpeedsTellSystemsApart: dots of one system have one colour, and steps of their own.
func TestSpeedsTellSystemsApart(t *testing.T) {
	s := &Scan{Title: "six points", Kinds: []string{"system A", "system A", "system A", "system B", "system B", "system B"},
		User: Series{Values: []float64{10, 20, 30, 15, 25, 35}}, GPU: Series{Values: []float64{90, 80, 70, 60, 50, 40}},
		By: make([]string, 6)}
	c, err := s.speeds()
	if err != nil {
		t.Fatal(err)
	}
	checked(t, "speeds of a scan", c, false)
	p := &c.Panels[0]
	if len(p.Dots) != 2 || len(p.Dots[0].Points) != 3 || p.Dots[0].Paint == p.Dots[1].Paint || len(p.Lines) != 2 || len(c.Keys) != 2 {
		t.Errorf("%d series of dots, %d lines, %d keys", len(p.Dots), len(p.Lines), len(c.Keys))
	}
}

// TestSpeedsOfLoads: users of short and of long prompts have panels of their own, and no steps join
// them.
func TestSpeedsOfLoads(t *testing.T) {
	s := &Scan{Title: "four points", Loads: []string{"isl 1024", "isl 1024", "isl 8192", "isl 8192"}, By: make([]string, 4),
		User: Series{Values: []float64{10, 20, 8, 16}}, GPU: Series{Values: []float64{90, 80, 40, 30}}}
	c, err := s.speeds()
	if err != nil {
		t.Fatal(err)
	}
	checked(t, "speeds of two loads", c, false)
	if len(c.Panels) != 2 || c.Panels[1].Title != "isl 8192" || len(c.Panels[1].Lines) != 1 {
		t.Fatalf("panels %+v", c.Panels)
	}
	for _, q := range c.Panels[1].Lines[0].Points {
		if q.Y > 40 {
			t.Errorf("the steps of long prompts pass through %v", q)
		}
	}
}

// TestManyCurves: where lines are more than colours, a colour is a value of one axis, the ends of
// the lines say the other, and the legend is whole; a conclusion that is no title is none.
func TestManyCurves(t *testing.T) {
	s := &Scan{Title: "many points", Says: strings.Repeat("Best is one of them for some of the loads. ", 4), X: Series{Name: "batch"}}
	figure := Series{Name: "TPOT"}
	for i, system := range []string{"H100_SXM", "H200", "B200"} {
		for k, isl := range []string{"1024", "2048", "4096"} {
			for batch := 1.0; batch <= 4; batch *= 2 {
				s.X.Values, s.By = append(s.X.Values, batch), append(s.By, "system "+system+", isl "+isl)
				figure.Values = append(figure.Values, batch*float64(40-4*i-13*k))
			}
		}
	}
	s.Panels = []ScanPanel{{"TPOT ms", 0, "", []Series{figure}}}
	c, err := s.lines()
	if err != nil {
		t.Fatal(err)
	}
	checked(t, "many curves", c, false)
	if c.Title != "TPOT over batch" || len(c.Keys) != 3 || c.Keys[2].Text != "system B200" {
		t.Errorf("%q with the legend %v", c.Title, c.Keys)
	}
	p := &c.Panels[0]
	for i, d := range p.Dots {
		if end := d.Points[len(d.Points)-1].Label; d.Paint != c.Keys[i/3].Paint || !strings.HasPrefix(end, "isl ") {
			t.Errorf("line %d has the paint %v, and ends in %q", i, d.Paint, end)
		}
	}
}

// TestHeatMapOfRatios: values over two orders of magnitude have colours by their logarithms, and
// axes their whole numbers.
func TestHeatMapOfRatios(t *testing.T) {
	s := &Scan{Title: "four points", X: Series{Name: "batch", Values: []float64{1, 256, 1, 256}}, Y: &Series{Name: "isl tokens", Values: []float64{1024, 1024, 65536, 65536}},
		Value: Series{Name: "tokens/s", Values: []float64{10, 100, 1000, 10}}, Others: make([]string, 4), Why: make([]string, 4)}
	c, err := s.heatmap()
	if err != nil {
		t.Fatal(err)
	}
	checked(t, "heatmap of a scan", c, false)
	p := &c.Panels[0]
	if !p.LogCells || p.Y.Bands[1] != "65536" || c.Keys[1].Text != "100" { // the middle of 10 and 1000 by ratios
		t.Errorf("by logarithms: %v; rows %v; legend %v", p.LogCells, p.Y.Bands, c.Keys)
	}
	if c.Keys[1].Paint != chart.HeatPaint(100, 10, 1000, true) {
		t.Error("the legend has other colours than the cells")
	}
}
