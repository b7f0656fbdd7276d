package picture

import (
	"math"
	"slices"
	"strings"
	"testing"

	"throughline/internal/chart"
	"throughline/internal/question"
	"throughline/serving/simulate"
)

// A frontier goes by steps through the best, and follows the objective.
func TestFrontierIsSteps(t *testing.T) {
	p := plansOf(t, func(q *question.Question) {
		q.Model, q.GPUs, q.Objective, q.Price = "llama_3_8b", 8, question.Cost, "2"
	}, question.BothModes)
	c, err := frontier(p)
	if err != nil {
		t.Fatal(err)
	}
	line := c.Panels[0].Lines[len(c.Panels[0].Lines)-1]
	for i := 1; i < len(line.Points); i++ {
		a, b := line.Points[i-1], line.Points[i]
		if a.X != b.X && a.Y != b.Y || b.Y < a.Y || b.X > a.X {
			t.Errorf("from %v to %v is no step of a frontier", a, b)
		}
	}
	if first := &p.Ranked[0]; !strings.Contains(c.Panels[0].Y.Title, "per $") || c.Panels[0].Dots[0].Points[0].Y != 1/first.DollarsPerMillion {
		t.Errorf("%s is shown for the objective cost", c.Panels[0].Y.Title)
	}
}

// At a request rate the tokens/s of all are the same: what tells them apart is how much more each
// holds.
func TestFrontierAtARate(t *testing.T) {
	p := plansOf(t, func(*question.Question) {}, question.BothModes)
	p.Frontier = nil
	for i := range p.Ranked {
		p.Ranked[i].Capacity = &simulate.Capacity{Rate: 20, Headroom: float64(i) / 4}
	}
	c, err := frontier(p)
	if err != nil {
		t.Fatal(err)
	}
	if panel := c.Panels[0]; panel.Y.Title != "requests/s per GPU that it holds" || panel.Dots[0].Points[1].Y != 20*1.25/4 {
		t.Errorf("%s: %v", panel.Y.Title, panel.Dots[0].Points)
	}
}

func TestFrontiersAreSteps(t *testing.T) {
	s := &Scan{Title: "two"}
	for _, system := range []string{"H200", "H100_SXM"} {
		s.Plans = append(s.Plans, plansOf(t, func(q *question.Question) { q.Model, q.System, q.GPUs = "llama_3_8b", system, 2 }, question.BothModes))
	}
	c, err := s.frontiers()
	if err != nil {
		t.Fatal(err)
	}
	if text := c.Description; !strings.Contains(text, "H200") || !strings.Contains(text, "H100_SXM") || len(c.Keys) != 2 {
		t.Errorf("%d keys: %s", len(c.Keys), text)
	}
	other := &Scan{User: Series{Values: []float64{10, 20, 30}}, GPU: Series{Values: []float64{300, 200, 100}}, By: []string{"a", "b", "c"}}
	points, err := other.speeds()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range slices.Concat(c.Panels[0].Lines, points.Panels[0].Lines) {
		for i := 1; i < len(l.Points); i++ {
			if a, b := l.Points[i-1], l.Points[i]; a.X != b.X && a.Y != b.Y {
				t.Errorf("from %v to %v is no step", a, b)
			}
		}
	}
}

// TestPerGPU: where packages have one GPU, charts say per GPU, as the sentences do.
func TestPerGPU(t *testing.T) {
	r := runsOf(t, "../../configs/reference_sample.json", UsualX, UsualY, UsualBy)
	for packaged, want := range map[bool]string{false: "requests/s per GPU", true: "requests/s per package"} {
		r.packaged = packaged
		if got := r.axisTitle(r.Y); got != want {
			t.Errorf("packages of several GPUs %v: %q", packaged, got)
		}
	}
}

// The memory map holds what the processor has, or more where it does not fit.
func TestMemoryAddsUp(t *testing.T) {
	for name, s := range steps {
		step := stepOf(t, s.phase, s.change)
		c, err := memory(step)
		if err != nil {
			t.Fatal(err)
		}
		m := step.Why.Memory
		bars := c.Panels[0].Bars
		if m.Free < 0 {
			if over := bars[len(bars)-1]; !c.Wrong || !strings.HasPrefix(c.Title, "Does not fit") || over.Paint != chart.Red || math.Abs(over.To-over.From+m.Free) > 1e-9 {
				t.Errorf("%s: does not fit, and the title is %q, the last bar %+v", name, c.Title, over)
			}
			bars = bars[:len(bars)-1]
		}
		end := bars[len(bars)-1].To
		if want := m.Capacity - min(0, m.Free); math.Abs(end/want-1) > 1e-6 {
			t.Errorf("%s: %v of %v GiB", name, end, want)
		}
	}
}

// Plans of two systems are two stairs with a best of each, and points of a scan are joined by
// steps. TestNamesAtEndsOfSteps: the name of a kind stands at the end of its steps, not at a run
// that another beats.
func TestNamesAtEndsOfSteps(t *testing.T) {
	r := runsOf(t, "../../configs/reference_sample.json", UsualX, UsualY, UsualBy)
	r.list = []run{{kind: "a model on a system", lengths: "10 in, 10 out", user: 50, gpu: 100}, {kind: "a model on a system", lengths: "10 in, 10 out", user: 20, gpu: 300}, {kind: "a model on a system", lengths: "10 in, 10 out", user: 10, gpu: 200}}
	c, err := r.frontier()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range c.Panels[0].Dots[0].Points {
		if d.Label != "" && d.X != 20 {
			t.Errorf("%q at %g tokens/s per user", d.Label, d.X)
		}
	}
	if n := len(c.Panels[0].Lines[0].Points); n != 3 {
		t.Errorf("%d corners of the steps", n)
	}
}
