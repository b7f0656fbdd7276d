package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"throughline/internal/test/long"
)

// absurd are charts that nobody would ask for, beside a usual one.
func absurd() map[string]*Chart {
	long := strings.Repeat("a name without an end ", 40)
	word := strings.Repeat("W", 600)
	nan, inf := math.NaN(), math.Inf(1)
	bars := func(n int, name string) []Bar {
		var out []Bar
		for i := range n {
			out = append(out, Bar{Band: i % 7, From: float64(i), To: float64(i) + 0.9, Paint: Series(i), Hatch: i%3 == 0, Inside: name, After: name, Tip: name})
		}
		return out
	}
	dots := func(n int, name string, scale float64) []Dot {
		var out []Dot
		for i := range n {
			out = append(out, Dot{XY: XY{scale * float64(1+(i*7919)%n), scale * float64(1+(i*104729)%n)}, Label: fmt.Sprint(name, i), Tip: name})
		}
		return out
	}
	bands := func(n int, name string) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprint(name, i))
		}
		return out
	}
	var cells []Cell
	for i := range 900 {
		cells = append(cells, Cell{X: i % 30, Y: i / 30, Value: float64(i), Inside: fmt.Sprint(i)})
	}
	keys := []Key{{Paint: C1, Form: Box, Hatch: true, Text: "one"}, {Paint: C2, Form: Stroke, Dash: true, Text: long}, {Paint: C3, Form: Cross, Text: word}}
	one := func(p Panel) []Panel { p.Weight = 1; return []Panel{p} }
	return map[string]*Chart{
		"empty":    {},
		"no panel": {Title: "nothing", Subtitle: "of nothing", Note: "at all", Keys: keys},
		"one bar":  {Title: "one", Keys: keys[:1], Panels: one(Panel{Bars: bars(1, "only"), Y: Axis{Bands: bands(1, "b")}, X: Axis{Title: "ms", Zero: true}})},
		"many bars": {Title: long, Subtitle: long, Note: long, Keys: append(append(append([]Key{}, keys...), keys...), keys...),
			Panels: one(Panel{Title: long, Bars: bars(10_000, "name"), Y: Axis{Title: long, Bands: bands(7, long)}, X: Axis{Title: long}})},
		"long names": {Title: word, Subtitle: word, Note: word, Keys: keys, Panels: one(Panel{Title: word, Airy: true, Bars: bars(7, word), Y: Axis{Bands: bands(7, word)}, X: Axis{Title: word}})},
		"many bands": {Title: "cut", Panels: one(Panel{Cut: true, Bars: bars(400, "x"), Y: Axis{Bands: bands(400, "band ")}})},
		"dots": {Title: "dots", Keys: keys, Panels: one(Panel{Dots: []Dots{{Paint: C1, Points: dots(10_000, "p", 1)}, {Paint: C2, Form: Triangle, Points: dots(40, "label ", 3)}},
			X: Axis{Title: "x", Log: true}, Y: Axis{Title: "y", Log: true}})},
		"at one place": {Title: "same", Panels: one(Panel{Dots: []Dots{{Paint: C1, Points: make([]Dot, 50)}}, X: Axis{Title: "x"}, Y: Axis{Title: "y"}})},
		"zeros":        {Title: "zeros", Panels: one(Panel{Lines: []Line{{Paint: C1, Points: []XY{{0, 0}, {1, 0}, {2, 0}}, Label: "none"}}, Bars: []Bar{{Paint: C1}}, X: Axis{Log: true}, Y: Axis{Log: true}})},
		"no numbers": {Title: "NaN", Panels: one(Panel{Lines: []Line{{Paint: C1, Points: []XY{{nan, 1}, {1, nan}, {inf, -inf}, {-inf, 3}}, Label: "none"}},
			Areas: []Area{{Paint: C2, Upper: []XY{{nan, nan}, {1, inf}}, Lower: []XY{{0, 0}, {1, 0}}}}, Dots: []Dots{{Paint: C3, Points: []Dot{{XY: XY{nan, inf}}}}}, X: Axis{Title: "x"}, Y: Axis{Title: "y"}})},
		"huge":           {Title: "huge", Panels: one(Panel{Lines: []Line{{Paint: C1, Points: []XY{{1e-300, 1e-300}, {1e300, 1e300}}, Label: "line"}}, X: Axis{Log: true}, Y: Axis{}})},
		"tiny":           {Title: "tiny", Panels: one(Panel{Lines: []Line{{Paint: C1, Points: []XY{{1e-9, -3e-12}, {2e-9, 5e-12}}, Label: "line"}}, X: Axis{}, Y: Axis{}})},
		"equal":          {Title: "equal", Panels: one(Panel{Lines: []Line{{Paint: C1, Points: []XY{{5, 7}, {5, 7}}}}, Rules: []Rule{{X: At(5), Label: "five", Paint: C2}, {Y: At(7), Label: "seven", Paint: C2}, {X: At(99), Label: "outside"}}, X: Axis{}, Y: Axis{}})},
		"heat":           {Title: "heat", Panels: one(Panel{Cells: cells, X: Axis{Title: "x", Bands: bands(30, long)}, Y: Axis{Title: "y", Bands: bands(30, "row ")}})},
		"odd characters": {Title: "a\x00b\u202ec <&>\"' 中文 \xff", Subtitle: "]]>", Description: "\x1b[31m", Panels: one(Panel{Bars: []Bar{{To: 1, Paint: C1, Inside: "<b>\x01", Tip: "\n&\""}}, Y: Axis{Bands: []string{"\x02<"}}})},
		"panels": {Title: "three", Keys: keys, Panels: []Panel{
			{Title: "a", Weight: 3, Airy: true, Bars: bars(60, "operator"), Y: Axis{Bands: bands(7, "lane ")}, Rules: []Rule{{X: At(20), Label: "attention | MLP", Dash: true, Paint: Ink}}},
			{Title: "b", Weight: 1, Least: 30, Lines: []Line{{Paint: C2, Steps: true, Points: []XY{{0, 3}, {1, 100}, {60, 20}}, Label: "use"}}, Y: Axis{Title: "%"}},
			{Title: "c", Weight: 1, Least: 30, Bars: bars(30_000, ""), Y: Axis{Bands: bands(7, "lane ")}},
		}},
	}
}

var sizes = [][2]float64{{LeastSide, LeastSide}, {320, 200}, {480, 300}, {900, 500}, {2000, 240}, {300, 1400}}

// No two texts overlap, and nothing leaves the frame.
func TestLayout(t *testing.T) {
	for name, c := range absurd() {
		for _, size := range sizes {
			for _, problem := range c.Draw(size[0], size[1], "").Problems() {
				t.Errorf("%s at %vx%v: %s", name, size[0], size[1], problem)
			}
		}
	}
}

// The usual size has the labels that matter.
func TestLabelsAreThere(t *testing.T) {
	for name, want := range map[string][]string{
		"panels":   {"three", "lane 0", "operator", "attention | MLP", "a", "b", "c", "use", "100"},
		"one bar":  {"one", "only", "b0", "ms", "0.9"},
		"equal":    {"five", "seven"},
		"heat":     {"row 0", "899", "y"},
		"dots":     {"label 0", "100", "1000"},
		"no panel": {"nothing", "of nothing", "at all", "one"},
	} {
		texts := map[string]bool{}
		for _, m := range absurd()[name].Draw(900, 500, "").Marks {
			texts[m.Text] = true
		}
		for _, w := range want {
			if !texts[w] {
				t.Errorf("%s: no label %q", name, w)
			}
		}
		if texts["outside"] {
			t.Errorf("%s: a rule outside of the plot has a label", name)
		}
	}
}

func written(t *testing.T, c *Chart, v SVG) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := v.Write(&b, c.Draw(900, 500, "p-")); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Drawings are well-formed, without style attributes, with unique ids and texts for those who do
// not see; the same chart gives the same bytes.
func TestSVG(t *testing.T) {
	long.NotRacing(t)
	for name, c := range absurd() {
		for _, v := range []SVG{{Theme: Light}, {Theme: Dark, Follow: true}, {Theme: Light, Inline: true}} {
			src := written(t, c, v)
			if !bytes.Equal(src, written(t, absurd()[name], v)) {
				t.Errorf("%s: drawn twice, two drawings", name)
			}
			d := xml.NewDecoder(bytes.NewReader(src))
			ids, tags := map[string]bool{}, map[string]int{}
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				e, ok := token.(xml.StartElement)
				if !ok {
					continue
				}
				tags[e.Name.Local]++
				for _, a := range e.Attr {
					if a.Name.Local == "style" {
						t.Errorf("%s: a style attribute", name)
					}
					if a.Name.Local == "id" {
						if ids[a.Value] || !strings.HasPrefix(a.Value, "p-") {
							t.Errorf("%s: id %q", name, a.Value)
						}
						ids[a.Value] = true
					}
					if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
						t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
					}
				}
			}
			if tags["title"] == 0 || tags["desc"] != 1 || !bytes.Contains(src, []byte(`role="img"`)) {
				t.Errorf("%s: no title or description: %v", name, tags)
			}
		}
	}
}

// Many marks stay few bytes: what no pixel shows is not written.
func TestBounded(t *testing.T) {
	for name, most := range map[string]int{"many bars": 300_000, "panels": 600_000, "dots": 300_000} {
		if n := len(written(t, absurd()[name], SVG{Theme: Light})); n > most {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// Rasters have the size that was asked for, and paint where marks are.
func TestPNG(t *testing.T) {
	long.NotRacing(t)
	for name, c := range absurd() {
		for _, size := range sizes[:4] {
			var b bytes.Buffer
			if err := WritePNG(&b, c.Draw(size[0], size[1], ""), Dark); err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(&b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if w, h := img.Bounds().Dx(), img.Bounds().Dy(); w != int(size[0]) || h != int(size[1]) {
				t.Errorf("%s: %d × %d", name, w, h)
			}
		}
	}
	scene := Scene{Width: 200, Height: 200, Marks: []Mark{
		{Shape: rectangle, Paint: Back, W: 200, H: 200}, {Shape: rectangle, Paint: C1, X: 10, Y: 10, W: 50, H: 20},
		{Shape: path, Paint: C2, Width: 4, Lines: [][]XY{{{100, 100}, {190, 190}}}}, {Shape: specks, Paint: C3, Width: 10, Lines: [][]XY{{{150, 40}}}},
		{Shape: path, Filled: true, Paint: C4, Lines: [][]XY{{{10, 100}, {60, 100}, {10, 150}}}},
	}}
	img := scene.Raster(Light)
	for at, paint := range map[[2]int]Paint{{30, 20}: C1, {150, 150}: C2, {150, 40}: C3, {20, 110}: C4, {100, 50}: Back, {150, 130}: Back, {55, 145}: Back} {
		if got := img.RGBAAt(at[0], at[1]); got != Light.of[paint] {
			t.Errorf("at %v: %v, want %v", at, got, Light.of[paint])
		}
	}
}

// Ticks are 1, 2 or 5 times a power of ten, within the axis, and their labels differ.
func TestTicks(t *testing.T) {
	round := func(step float64) bool {
		m := step / math.Pow(10, math.Floor(math.Log10(step)+1e-9))
		return math.Abs(m-1) < 1e-6 || math.Abs(m-2) < 1e-6 || math.Abs(m-5) < 1e-6
	}
	for _, e := range []extent{{0, 1}, {0, 35.4}, {-3, 7}, {0, 1e9}, {0.2, 0.21}, {1e-7, 9e-7}, {12345, 12360}, {0, 99999}, {-1e6, -1e5}} {
		for want := 1; want < 12; want++ {
			ticks := linearTicks(e, want)
			seen := map[string]bool{}
			for i, text := range tickLabels(ticks, false) {
				if seen[text] {
					t.Errorf("%v: %q twice", e, text)
				}
				seen[text] = true
				if v := ticks[i]; v < e.low-1e-9*math.Abs(e.low) || v > e.high+1e-9*math.Abs(e.high) {
					t.Errorf("%v: tick %v", e, v)
				}
				if i > 0 && !round(ticks[i]-ticks[i-1]) {
					t.Errorf("%v: step %v", e, ticks[i]-ticks[i-1])
				}
			}
			if len(ticks) > want+1 {
				t.Errorf("%v: %d ticks for %d", e, len(ticks), want)
			}
		}
	}
	for v, want := range map[float64]string{0: "0", 1: "1", 0.123456: "0.123", 9999: "9999", 12345: "12.3k", 1e6: "1M", -2.5e9: "−2.5G", 1e-9: "1e−09", 999999: "1M", 35.4: "35.4"} {
		if got := Number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// TestRuleLabels: the label of a limit lies on no dot and no line where there is another place
// along it, and other labels keep a little away from it, above and below as well.
func TestRuleLabels(t *testing.T) {
	var cluster []Dot // where the label would stand, right of the line and left of it
	for _, x := range []float64{16, 18, 21, 23, 25} {
		cluster = append(cluster, Dot{XY: XY{x, 98}, Label: fmt.Sprint("dot at ", x)})
	}
	c := &Chart{Title: "limits", Panels: []Panel{{
		Dots: []Dots{{Paint: C1, Form: Triangle, Size: 6, Points: cluster}}, Lines: []Line{{Paint: C2, Points: []XY{{0, 93}, {100, 93}}}},
		Rules: []Rule{{X: At(20), Label: "TPOT 50 ms", Paint: C2}, {Y: At(98), Label: "98%", Paint: C2}}, X: Axis{Low: At(0), High: At(100)}, Y: Axis{Low: At(0), High: At(100)},
	}}}
	s := c.Draw(900, 500, "")
	var labels, texts []box
	for i := range s.Marks {
		switch m := &s.Marks[i]; {
		case m.Shape == words && (m.Text == "TPOT 50 ms" || m.Text == "98%"):
			labels = append(labels, m.bounds())
		case m.Shape == words && strings.HasPrefix(m.Text, "dot at"):
			texts = append(texts, m.bounds())
		}
	}
	if len(labels) != 2 || len(texts) < 3 {
		t.Fatalf("%d labels of limits, %d of dots", len(labels), len(texts))
	}
	for _, l := range labels {
		for i := range s.Marks {
			if m := &s.Marks[i]; (strings.Contains(m.ID, "dot") && m.Shape != words || strings.Contains(m.ID, "line") && m.Shape == path) && m.bounds().overlaps(l) {
				t.Errorf("%s lies on a label of a limit", m.ID)
			}
		}
		for _, b := range texts {
			if b.overlaps(box{l.x0 - 1, l.y0 - 1, l.x1 + 1, l.y1 + 1}) {
				t.Error("a label touches that of a limit")
			}
		}
	}
}

// TestLabelsOffLines: no line and no leader crosses the label of a dot or of a line, in a narrow
// roofline and in a wide one.
func TestLabelsOffLines(t *testing.T) {
	var dots []Dot
	for i, x := range []float64{4, 7, 7.3, 7.6, 8, 8.2} {
		dots = append(dots, Dot{XY: XY{x, 3 * x}, Size: 5, Label: fmt.Sprintf("operator %d, %d%% of bandwidth", i, 50+i)})
	}
	line := func(label string, points ...XY) Line { return Line{Paint: Ink, Label: label, Points: points} }
	lines := []Line{line("memory, 4.8 TB/s", XY{0.1, 0.48}, XY{206, 989}), line("matrix, 989 Tflop/s", XY{206, 989}, XY{2000, 989}), line("calibrated, 751 Tflop/s", XY{206, 751}, XY{2000, 751}),
		line("vector, 134 Tflop/s", XY{28, 134}, XY{2000, 134}), line("", XY{0.1, 0.4}, XY{230, 920})}
	c := &Chart{Title: "roofline", Panels: []Panel{{Dots: []Dots{{Paint: C1, Points: dots}}, Lines: lines, X: Axis{Log: true}, Y: Axis{Log: true, Low: At(0.05), High: At(2000)}}}}
	for _, width := range []float64{480, 900, 1600} {
		s := c.Draw(width, 0, "")
		labels := 0
		for i := range s.Marks {
			l := &s.Marks[i]
			if l.Shape != words || !strings.Contains(l.ID, "dot-label") && !strings.Contains(l.ID, "line-label") {
				continue
			}
			labels++
			for j := range s.Marks {
				m := &s.Marks[j]
				if m.Shape != path || !strings.HasPrefix(m.ID, "line") && !strings.HasPrefix(m.ID, "leader") {
					continue
				}
				for _, at := range m.Lines {
					for k := 1; k < len(at); k++ {
						b := l.bounds() // whose border its own leader touches
						if crossesBox(at[k-1], at[k], box{b.x0 + 0.5, b.y0 + 0.5, b.x1 - 0.5, b.y1 - 0.5}) {
							t.Errorf("at %g a line crosses %q", width, l.Text)
						}
					}
				}
			}
		}
		if labels < 7 {
			t.Errorf("at %g there are %d labels", width, labels)
		}
	}
}

// boxOf finds a text in a drawing.
func boxOf(t *testing.T, s *Scene, text string) box {
	t.Helper()
	for i := range s.Marks {
		if s.Marks[i].Text == text {
			return s.Marks[i].bounds()
		}
	}
	t.Fatalf("%q is not in the drawing", text)
	return box{}
}

// TestLabelsKeepOffRules: where there is room elsewhere, no line of a limit runs through the name
// of a dot or a bar.
func TestLabelsKeepOffRules(t *testing.T) {
	rule := []Rule{{X: At(50), Paint: Red, Dash: true}}
	dots := &Chart{Title: "dots", Panels: []Panel{{Weight: 1, X: Axis{Low: At(0), High: At(100)}, Y: Axis{Low: At(0), High: At(10)}, Rules: rule,
		Dots: []Dots{{Points: []Dot{{XY: XY{48, 5}, Label: "a name that is long"}}}}}}}
	bars := &Chart{Title: "bars", Panels: []Panel{{Weight: 1, X: Axis{Low: At(0), High: At(100)}, Y: Axis{Bands: []string{"lane"}}, Rules: rule,
		Bars: []Bar{{From: 47, To: 49, Inside: "a name that is long"}}}}}
	beside := &Chart{Title: "a bar beside the rule", Panels: []Panel{{Weight: 1, X: Axis{Low: At(0), High: At(100)}, Y: Axis{Bands: []string{"lane"}}, Rules: rule,
		Bars: []Bar{{From: 50, To: 50.8, Inside: "a name that is long"}}}}}
	edge := &Chart{Title: "a bar near the left edge", Panels: []Panel{{Weight: 1, X: Axis{Low: At(0), High: At(100)}, Y: Axis{Bands: []string{"lane"}}, Rules: []Rule{{X: At(20), Paint: Red}},
		Bars: []Bar{{From: 6, To: 7, Inside: "a name that is long"}}}}}
	for _, c := range []*Chart{dots, bars, beside, edge} {
		s := c.Draw(600, 300, "")
		at := boxOf(t, s, "a name that is long")
		x := boxOfRule(t, s)
		if at.x0 <= x && x <= at.x1 {
			t.Errorf("%s: a rule at %.1f runs through a name from %.1f to %.1f", c.Title, x, at.x0, at.x1)
		}
	}
}

func boxOfRule(t *testing.T, s *Scene) float64 {
	t.Helper()
	for i := range s.Marks {
		if strings.HasPrefix(s.Marks[i].ID, "rule") && s.Marks[i].Shape == path {
			return s.Marks[i].Lines[0][0].X
		}
	}
	t.Fatal("no rule is in the drawing")
	return 0
}

// TestLabelsAreOfTheirDot: the name of a dot does not begin or end at another one, as if it were
// its name.
func TestLabelsAreOfTheirDot(t *testing.T) {
	c := &Chart{Title: "dots", Panels: []Panel{{Weight: 1, X: Axis{Low: At(0), High: At(100)}, Y: Axis{Low: At(0), High: At(10)},
		Dots: []Dots{{Points: []Dot{{XY: XY{50, 5}, Label: "named"}, {XY: XY{60.3, 5}}}}}}}}
	s := c.Draw(600, 300, "")
	at, size := boxOf(t, s, "named"), 0
	for i := range s.Marks {
		if !strings.HasPrefix(s.Marks[i].ID, "dot") || s.Marks[i].Shape != specks {
			continue
		}
		b := s.Marks[i].bounds()
		if size++; size == 2 && b.y0 < at.y1 && b.y1 > at.y0 && b.x0-at.x1 < beside && at.x0-b.x1 < beside {
			t.Errorf("the name at %.1f to %.1f is beside the other dot at %.1f", at.x0, at.x1, b.x0)
		}
	}
	if size != 2 {
		t.Fatalf("%d dots", size)
	}
}

// An axis too short for more than one step still has a number at either end: 1.6 ends at 2.
func TestShortAxis(t *testing.T) {
	a := &Axis{Zero: true}
	e := a.domain(extent{0, 1.6}, 1)
	if ticks := a.ticks(e, 1); e != (extent{0, 2}) || len(ticks) != 2 {
		t.Errorf("%v, ticks %v", e, ticks)
	}
}
