package picture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/chart"
	"throughline/internal/explain"
	"throughline/internal/point"
	"throughline/internal/report"
	"throughline/number"
)

// Step is a step of a deployment with its explanation.
type Step struct {
	Answer *point.Answer
	Phase  int // index of the phase
	Why    *explain.Explanation
	Parts  *explain.Parts // of what clients see; nil: none are served

	Was    *Step      // the same before numbers were changed, drawn hollow; nil: nothing was
	Window [2]float64 // shares of the step between which operators are named; none: a layer in its middle
}

var StepKinds = []Kind[Step]{
	{"waterfall", "what TPOT and TTFT consist of, part after part", waterfall},
	{"timeline", "when every operator runs, on which unit or network, and how well it uses the chip", timeline},
	{"share", "the operators by their share of the step", share},
	{"roofline", "every operator under the peak and the measured ceilings of the chip", roofline},
	{"memory", "what the memory of a GPU holds", memory},
	{"energy", "the operators by the energy that they take", energy},
	{"breakdown", "where the time of the step goes, by part and by bound", breakdown},
}

func (s *Step) result() *point.Result { return &s.Answer.Phases[s.Phase] }

func (s *Step) experts() bool { return s.result().Problem.Model.IsMoE() }

func (s *Step) name() string { return s.result().StepTitle() }

func (s *Step) micros() float64 { return s.result().Estimate.StepTime * 1e6 }

func (s *Step) frame(kind, title string) *chart.Chart {
	return &chart.Chart{
		Kind: kind, Title: fmt.Sprintf("%s: %s, %s", title, s.name(), duration(s.micros())), Subtitle: report.PointTitle(s.Answer), Note: s.Answer.StepNote(s.result()),
	}
}

// mostOperators is how many are shown one by one.
const mostOperators = 24

func share(s Step) (*chart.Chart, error) {
	ops, _ := s.Why.Operators.Shown()
	slices.SortStableFunc(ops, func(a, b estimate.Operator) int { return cmp.Compare(b.Share, a.Share) })
	ops = slices.DeleteFunc(ops, func(o estimate.Operator) bool { return !(o.Share > 0) })
	c := s.frame("share", "Time share of operators")
	var l legend
	p := chart.Panel{Weight: 1, Cut: true, X: chart.Axis{Title: "share of the step in %", Zero: true}}
	rest, others := 0.0, 0
	for i, o := range ops {
		if i >= mostOperators && len(ops) > mostOperators+1 {
			rest, others = rest+o.Share, others+1
			continue
		}
		k := l.add(partStyle(o.Block, o.Lane.String(), s.experts()))
		text := fmt.Sprintf("%s · %s", percent(o.Share), duration(o.Share*s.micros()))
		p.AddBar(o.Name, chart.Bar{To: 100 * o.Share, Paint: k.paint, Hatch: k.hatch, After: text, Tip: fmt.Sprintf("%s: %s, bound by %s", o.Name, text, cmp.Or(o.BoundBy(), "waiting"))})
	}
	if others > 0 {
		p.AddBar(othersText(others), chart.Bar{To: 100 * rest, Paint: chart.Muted, After: fmt.Sprintf("%s · %s", percent(rest), duration(rest*s.micros()))})
	}
	if len(ops) == 0 {
		return nil, errors.New("no operator takes any time")
	}
	c.Keys, c.Panels = l.keys, []chart.Panel{p}
	c.Description = fmt.Sprintf("A bar for each operator of the %s. The longest is %s with %s.", s.name(), ops[0].Name, percent(ops[0].Share))
	return c, nil
}

func othersText(n int) string { return number.Count(n, "other") }

func roofline(s Step) (*chart.Chart, error) {
	ops, ceilings := s.Why.Roofline()
	if len(ops) == 0 {
		return nil, errors.New("no operator computes")
	}
	c := s.frame("roofline", "Roofline")
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: "operations per byte", Log: true}, Y: chart.Axis{Title: "Tflop/s", Log: true}}
	low, bottom := math.Inf(1), math.Inf(1)
	high := 0.0
	for _, o := range ops {
		at := rooflinePoint(o)
		low, high, bottom = min(low, at.X), max(high, at.X), min(bottom, at.Y)
	}
	top, bandwidth := highest(ceilings)
	// Show the corner of the highest roof and a little beyond.
	high = max(high, 4*top/bandwidth)
	p.X.Low, p.X.High = chart.At(low/2), chart.At(high*2)
	p.Y.Low, p.Y.High = chart.At(bottom/3), chart.At(top/1e12*2)
	p.Lines = s.ghosts(low/2, high*2, *p.Y.Low)
	for _, k := range ceilings {
		p.Lines = append(p.Lines, roof(k, low/2, high*2, *p.Y.Low, top, bandwidth))
	}
	slices.SortStableFunc(ops, func(a, b *estimate.Operator) int { return cmp.Compare(b.Share, a.Share) })
	var l legend
	series, stems := map[string]int{}, ""
	for _, o := range ops {
		k := l.add(partStyle(o.Block, "", s.experts()))
		at, ok := series[k.name]
		if !ok {
			at, series[k.name] = len(p.Dots), len(p.Dots)
			p.Dots = append(p.Dots, chart.Dots{Paint: k.paint, Form: formOf(k)})
		}
		d, name, spot := &p.Dots[at], s.Why.Operators.NameOf(o), rooflinePoint(o)
		brief := ""
		reached, ceiling := nearestCeiling(o)
		switch {
		case o.Share < leastNamed:
			name = ""
		case o.Share >= leastJudged:
			brief = name
			name += fmt.Sprintf(", %.0f%% of %s", 100*reached, ceiling)
			if reached > 0 && reached < 1 {
				stems = " Dashed stems: the way to the ceiling."
				p.Lines = append(p.Lines, chart.Line{Paint: k.paint, Width: 1, Dash: true, Points: []chart.XY{spot, {X: spot.X, Y: spot.Y / reached}}})
			}
		}
		d.Points = append(d.Points, chart.Dot{XY: spot, Label: name, Brief: brief, Size: 3 + 12*math.Sqrt(o.Share), Ref: RefOf(o.Name),
			Tip: fmt.Sprintf("%s: %s of the step, %s flop/byte, %s Tflop/s, %.0f%% of %s", o.Name, percent(o.Share), chart.Number(spot.X), chart.Number(spot.Y), 100*reached, ceiling)})
	}
	for i := range l.keys {
		l.keys[i].Form, l.keys[i].Hatch = formOf(style{name: l.keys[i].Text}), false
	}
	c.Keys = append(l.keys, chart.Key{Paint: chart.Ink, Form: chart.Stroke, Text: "peak"}, chart.Key{Paint: chart.Muted, Form: chart.Stroke, Dash: true, Text: "calibrated"})
	c.Panels = []chart.Panel{p}
	c.Note = ceilingsText(ceilings) + " The larger a point, the more of the step it takes; operators in one kernel are one point." + stems
	c.Description = fmt.Sprintf("%d operators of the %s by operations per byte and operations per second, under the ceilings of %s.", len(ops), s.name(), s.result().Problem.System.Name)
	return c, nil
}

// ceilingsText lists the ceilings, of which not all find room for their names at their lines.
func ceilingsText(ceilings []explain.Ceiling) string {
	var rates, memories []string
	for _, k := range slices.SortedStableFunc(slices.Values(ceilings), func(a, b explain.Ceiling) int { return cmp.Compare(b.Rate, a.Rate) }) {
		if k.Calibrated {
			continue
		}
		text := k.Name + " " + chart.Number(k.Rate/1e12)
		for _, other := range ceilings {
			if other.Calibrated && other.Name == k.Name+explain.CalibratedSuffix {
				text += " (" + chart.Number(other.Rate/1e12) + ")"
			}
		}
		if k.Memory {
			memories = append(memories, text)
		} else {
			rates = append(rates, text)
		}
	}
	return fmt.Sprintf("Ceilings, in brackets what large products reach: %s Tflop/s; %s TB/s.", strings.Join(rates, ", "), strings.Join(memories, ", "))
}

// highest are the highest rates of computing and of memory.
func highest(ceilings []explain.Ceiling) (top, bandwidth float64) {
	for _, k := range ceilings {
		if k.Memory {
			bandwidth = max(bandwidth, k.Rate)
		} else {
			top = max(top, k.Rate)
		}
	}
	return top, bandwidth
}

// RefOf names an operator in all charts of a page.
func RefOf(operator string) string { return "op " + operator }

// ghosts are the ceilings as they were, and ways of the operators that took the most time to where
// they are now.
func (s *Step) ghosts(low, high, floor float64) (out []chart.Line) {
	if s.Was == nil {
		return nil
	}
	was, ceilings := s.Was.Why.Roofline()
	top, bandwidth := highest(ceilings)
	for _, k := range ceilings {
		if !k.Calibrated {
			l := roof(k, low, high, floor, top, bandwidth)
			l.Paint, l.Dash, l.Width, l.Label = chart.Muted, true, 1, ""
			out = append(out, l)
		}
	}
	now, _ := s.Why.Roofline()
	for _, o := range was {
		at := slices.IndexFunc(now, func(n *estimate.Operator) bool { return n.Name == o.Name && n.Block == o.Block })
		if at < 0 || o.Share < leastNamed {
			continue
		}
		from, to := rooflinePoint(o), rooflinePoint(now[at])
		if math.Abs(math.Log(to.Y/from.Y)) > 0.02 {
			out = append(out, chart.Line{Paint: chart.Muted, Width: 1.4, Points: []chart.XY{from, to}})
		}
	}
	return out
}

// formOf is the shape of a part, the same in every chart.
func formOf(k style) chart.Form {
	for i, part := range []style{attentionStyle, mlpStyle, endsStyle, draftStyle} {
		if k.name == part.name {
			return chart.FormOf(i)
		}
	}
	return chart.FormOf(1) // experts
}

// rooflinePoint returns the operations per byte and Tflop/s of an operator, including fused ones.
func rooflinePoint(o *estimate.Operator) chart.XY {
	flops, bytes := o.Work()
	return chart.XY{X: flops / bytes, Y: flops / o.Exposed / 1e12}
}

// nearestCeiling returns the ceiling that an operator meets first, and the share of it that it
// reaches.
func nearestCeiling(o *estimate.Operator) (reached float64, ceiling string) {
	ofPeak, ofBandwidth := o.Use()
	if ofBandwidth >= ofPeak {
		return ofBandwidth, "bandwidth"
	}
	return ofPeak, "the peak of " + explain.UnitOf(o) + " " + o.Peak.DType
}

// leastJudged is the share of the step from which the distance to its ceiling is drawn.
const leastJudged = 0.05

// leastNamed is the share of the step from which an operator is named under the roofline.
const leastNamed = 0.004

// roof returns the line of a ceiling: a rate begins where the fastest memory reaches it, a memory
// ends at the highest rate.
func roof(k explain.Ceiling, low, high, floor, top, bandwidth float64) chart.Line {
	l := chart.Line{Paint: chart.Ink, Width: 1.6, Label: fmt.Sprintf("%s, %s Tflop/s", k.Name, chart.Number(k.Rate/1e12))}
	if k.Memory {
		from := max(low, floor*1e12/k.Rate)
		l.Points = []chart.XY{{X: from, Y: from * k.Rate / 1e12}, {X: top / k.Rate, Y: top / 1e12}}
		l.Label = fmt.Sprintf("%s, %s TB/s", k.Name, chart.Number(k.Rate/1e12))
	} else {
		l.Points = []chart.XY{{X: max(low, k.Rate/bandwidth), Y: k.Rate / 1e12}, {X: high, Y: k.Rate / 1e12}}
	}
	if k.Calibrated {
		l.Paint, l.Dash, l.Width = chart.Muted, true, 1.4
	}
	return l
}

func memory(s Step) (*chart.Chart, error) {
	m := &s.Why.Memory
	c := s.frame("memory", "Memory of a GPU")
	c.Title, c.Note = "Memory of a GPU: "+s.name(), ""
	mlp := "MLP weights"
	if s.experts() {
		mlp = "MLP and expert weights"
	}
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: "GiB", Zero: true}, Y: chart.Axis{Bands: []string{s.result().Problem.System.Name}}}
	at := 0.0
	for _, part := range []struct {
		gib float64
		style
	}{
		{m.Attention, style{chart.C1, false, "attention weights"}}, {m.MLP, style{chart.C7, false, mlp}}, {m.Draft, style{chart.C3, false, "draft module"}},
		{m.Ends, style{chart.C8, false, "embedding, output head"}}, {m.Working, style{chart.C4, true, "working space"}}, {m.Cache, style{chart.C6, false, "KV cache"}},
		{max(0, m.Free), style{chart.Grid, false, "free"}}, {m.Reserved, style{chart.Muted, true, "not usable"}},
	} {
		if !(part.gib > 0) {
			continue
		}
		text := fmt.Sprintf("%.2f GiB", part.gib)
		k := part.key()
		k.Text = fmt.Sprintf("%s %s, %s", part.name, text, percent(part.gib/m.Capacity))
		c.Keys = append(c.Keys, k)
		p.Bars = append(p.Bars, chart.Bar{From: at, To: at + part.gib, Paint: part.paint, Hatch: part.hatch, Inside: part.name + " " + text, Tip: part.name + ": " + text})
		at += part.gib
	}
	p.Rules = append(p.Rules, chart.Rule{X: chart.At(m.Capacity), Paint: chart.Ink, Label: fmt.Sprintf("capacity %s GiB", number.Plain(m.Capacity, 5))})
	if m.Free < 0 {
		c.Title, c.Wrong = fmt.Sprintf("Does not fit: %s GiB too much in the memory of a GPU, %s", number.Plain(-m.Free, 3), s.name()), true
		usable := m.Capacity - m.Reserved
		p.Bars = append(p.Bars, chart.Bar{From: usable, To: usable - m.Free, Paint: chart.Red, Hatch: true, Inside: fmt.Sprintf("too much %s GiB", number.Plain(-m.Free, 3)), Tip: "what does not fit"})
		p.Rules = append(p.Rules, chart.Rule{X: chart.At(m.Capacity - m.Reserved), Paint: chart.Red, Dash: true, Label: fmt.Sprintf("usable %s GiB", number.Plain(m.Capacity-m.Reserved, 5))})
	}
	p.X.High = chart.At(max(at, m.Capacity) * 1.02)
	c.Panels = []chart.Panel{p}
	c.Description = fmt.Sprintf("What the %s GiB of a GPU hold: %s.", number.Plain(m.Capacity, 5), keyTexts(c.Keys))
	return c, nil
}

func keyTexts(keys []chart.Key) string {
	var out []string
	for _, k := range keys {
		out = append(out, k.Text)
	}
	return strings.Join(out, "; ")
}

func breakdown(s Step) (*chart.Chart, error) {
	c := s.frame("breakdown", "Where the time goes")
	sh := &s.result().Shares
	unit, size := timeUnit(s.micros())
	p := chart.Panel{Weight: 1, Airy: true, X: chart.Axis{Title: "time in " + unit, Zero: true}, Y: chart.Axis{Bands: []string{"by part", "by bound"}}}
	p.X.High = chart.At(s.micros() / size * 1.01)
	var l legend
	for band, list := range [][]segment{
		parts(sh, s.experts()),
		{{sh.Compute, computeStyle}, {sh.Memory, memoryStyle}, {sh.Communication, networkStyle}, {sh.Waiting, waitingStyle}, {sh.Offload, offloadStyle}},
	} {
		p.Bars = append(p.Bars, stacked(band, list, 1e6/size, s.micros()/size, unit, &l)...)
	}
	c.Keys, c.Panels = l.keys, []chart.Panel{p}
	by, seconds := sh.Bound()
	c.Description = fmt.Sprintf("The %s, %s, in parts, twice: by part of the model, and by what bounds it. The largest share is %s with %s.", s.name(), duration(s.micros()), by, percent(seconds*1e6/s.micros()))
	return c, nil
}

// segment is a part of a stacked bar.
type segment struct {
	value float64
	style
}

// parts are those of a step, in seconds.
func parts(s *estimate.Shares, experts bool) []segment {
	mlp := mlpStyle
	if experts {
		mlp = expertsStyle
	}
	return []segment{
		{s.Attention, attentionStyle}, {s.MLP, mlp}, {s.Drafts, draftStyle}, {s.Ends, endsStyle},
		{s.Communication, networkStyle}, {s.Waiting, waitingStyle}, {s.Offload, offloadStyle},
	}
}

// stacked lays segments one after another in a band, in units of scale, with shares of a whole.
func stacked(band int, list []segment, scale, total float64, unit string, l *legend) (out []chart.Bar) {
	at := 0.0
	for _, g := range list {
		v := g.value * scale
		if !(v > 0) {
			continue
		}
		l.add(g.style)
		text := fmt.Sprintf("%s %s, %s", number.Plain(v, 3), unit, percent(v/total))
		out = append(out, chart.Bar{Band: band, From: at, To: at + v, Paint: g.paint, Hatch: g.hatch, Inside: text, Tip: g.name + ": " + text})
		at += v
	}
	return out
}
