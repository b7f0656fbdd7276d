package picture

import (
	"math"
	"strings"
	"testing"

	"throughline/internal/question"
)

// TestGhosts: with numbers that were changed the waterfall has hollow bars that end in what it was,
// the roofline the old ceilings, and the timeline says how long the step was.
func TestGhosts(t *testing.T) {
	was := stepOf(t, 1, deepseek)
	now := stepOf(t, 1, func(q *question.Question) { deepseek(q); q.Changed = "sys.mem1.GBps=9600" })
	now.Was = &was
	c, err := waterfall(now)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range []struct{ now, was float64 }{{now.Answer.Record.TPOT, was.Answer.Record.TPOT}, {now.Answer.Record.TTFT, was.Answer.Record.TTFT}} {
		p := c.Panels[i]
		total, hollow := 0.0, 0.0
		for _, b := range p.Bars {
			switch sum := b.Band == len(p.Y.Bands)-1; {
			case sum && b.Hollow:
				hollow = b.To
			case sum:
				total = b.To
				if !strings.Contains(b.After, "was") {
					t.Errorf("the sum says %q", b.After)
				}
			}
		}
		if math.Abs(hollow/total/(one.was/one.now)-1) > 1e-9 || one.was <= one.now {
			t.Errorf("panel %d: it is %v and was %v, as bars %v and %v", i, one.now, one.was, total, hollow)
		}
	}
	plain := now
	plain.Was = nil
	with, err := roofline(now)
	without, wrong := roofline(plain)
	if err != nil || wrong != nil || len(with.Panels[0].Lines) < len(without.Panels[0].Lines)+2 {
		t.Errorf("%v, %v: %d lines, and %d without ghosts", err, wrong, len(with.Panels[0].Lines), len(without.Panels[0].Lines))
	}
	steps, err := timeline(now)
	if err != nil || !strings.Contains(steps.Panels[len(steps.Panels)-1].Title, "was "+duration(was.micros())) {
		t.Errorf("%v: the step is called %q", err, steps.Panels[len(steps.Panels)-1].Title)
	}
}

// TestWindow: the bars of a part of the step are what runs in it, and the parts together are the
// step.
func TestWindow(t *testing.T) {
	s := stepOf(t, 1, deepseek)
	end := 0.0
	for _, m := range s.result().Spans {
		end = max(end, 1e6*m.End)
	}
	drawn := 0.0
	const parts = 7
	for k := range parts {
		s.Window = [2]float64{float64(k) / parts, float64(k+1) / parts}
		c, err := timeline(s)
		if err != nil {
			t.Fatal(err)
		}
		p, unit := c.Panels[0], 1.0
		if strings.HasPrefix(c.Panels[1].X.Title, "time in ms") {
			unit = 1e3
		}
		for _, b := range p.Bars {
			if b.From < 0 || b.To > *p.X.High*(1+1e-9) {
				t.Errorf("part %d: a bar from %v to %v on an axis to %v", k, b.From, b.To, *p.X.High)
			}
			drawn += unit * (b.To - b.From)
		}
		if !strings.HasPrefix(p.Title, "From ") || !strings.Contains(p.Title, "of 61") {
			t.Errorf("part %d is called %q", k, p.Title)
		}
	}
	whole := 0.0
	for _, m := range s.result().Spans {
		if m.Stage == 0 {
			whole += 1e6 * (m.End - m.Start)
		}
	}
	if math.Abs(drawn/whole-1) > 1e-6 {
		t.Errorf("the parts have %v µs of operators, the step %v", drawn, whole)
	}
}
