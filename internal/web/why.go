package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"throughline"
	"throughline/estimate"
	"throughline/internal/chart"
	"throughline/internal/explain"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/sentence"
	"throughline/number"
	"throughline/op"
	"throughline/workload"
)

var explaining = &view{
	path: "why", title: "Why", of: question.Explain,
	pieces: append([]piece{{"", "model", "a model", false}, {" on ", "system", "a system", false}}, append(slices.Clone(deployed),
		piece{", batch ", "batch", "as clients fill it", false}, piece{", ", "isl", "1024", false}, piece{" → ", "osl", "1024", false}, piece{" tokens, behind ", "engine", "any engine", false})...),
}

// deployed are the sizes of a deployment in a sentence.
var deployed = []piece{{", tp ", "tp", "1", false}, {", dp ", "dp", "1", true}, {", ep ", "ep", "by itself", true}, {", prefill on ", "prefill-plan", "the same GPUs", true}}

// stepName is the step that is drawn: decode or prefill.
const stepName = "step"

// windowName is the part of the step whose operators are named, as FROM:TO in hundredths of it.
const windowName = "window"

func init() { ofPage = append(ofPage, stepName, windowName) }

func (st *state) draws(id string) bool { return len(st.seen) == 0 || slices.Contains(st.seen, id) }

// window reads it; none: a layer in the middle.
func (st *state) window() (out [2]float64) {
	out, _ = shares(st.shown[windowName])
	return out
}

// reason is the answer of the view.
type reason struct {
	Big, Unit, Band string
	Says            []string
	Remarks         []string
	Drawn           string // the name of what was drawn, for the next patch
	Charts          []drawnChart
	Step            string
	Steps           []option
	Operators       []operatorRow
	Total           string
	Of              string // bandwidth
	Sliders         []slider
	Moved           bool
	Back            string
	Seek            *seeking
	Paths           []option
	Until           string
	Limits          []explain.Limit
	Parts           []partTable
	Metric          string
	Was             string // TPOT, or TTFT, before numbers were changed
}

// drawnChart is a chart with its name and a table of the same.
type drawnChart struct {
	ID, Title, Hint string
	Wide            bool
	SVG             template.HTML
}

// partTable is the numbers behind a waterfall.
type partTable struct {
	Name  string
	Parts []explain.Part
	Sum   string
}

// Ms is a part for people.
func (partTable) Ms(ms float64) string {
	return strings.Replace(number.Plain(ms, 3), "-", "−", 1)
}

type operatorRow struct {
	Ref, Number, Name, Ms, Share, Bound, Use string
	Part                                     float64 // of the largest
}

// slider is a number of the chip.
type slider struct {
	Name, Label, Unit string
	Scale             float64 // what a number of the file times that is in Unit
	Value, Was        string
	At, Ghost         float64 // in hundredths of the way
	Base              float64
	Moved             bool
	Effect            string
}

// seeking is the answer to a goal.
type seeking struct {
	Says string
	To   string // the address with that number
}

// fixed reports whether words say a deployment, and not only a question for one.
func fixed(words map[string]string) bool {
	for _, name := range []string{"tp", "pp", "dp", "ep", "batch", "concurrency", "prefill-plan", "decode-plan", "gpus"} {
		if words[name] != "" {
			return true
		}
	}
	return words["system"] != "" && words["model"] != ""
}

// deploymentAddress is where a view of one deployment goes if its address has none: to the first
// pin, or to the best of the plan that it comes from.
func (s *Server) deploymentAddress(ctx context.Context, st *state, v *view) (string, error) {
	if fixed(st.words) {
		return "", nil
	}
	var words map[string]string
	switch code := st.shown[askedName]; {
	case len(st.pins) > 0:
		words = question.FromParameters(st.pins[0])
	case code != "":
		plans, err := s.plan(ctx, question.FromParameters(code), nil)
		if err != nil {
			return "", err
		}
		for _, f := range plans {
			if words == nil && len(f.Ranked) > 0 {
				words = f.words[0]
			}
		}
	}
	if words == nil {
		return "", nil
	}
	if v.of == question.Simulate {
		words = without(words, "concurrency", "batch")
	}
	return st.to(v, words, planOrigin(st), st.pins), nil
}

func (s *Server) why(ctx context.Context, st *state) (content, error) {
	to, err := s.deploymentAddress(ctx, st, explaining)
	if err != nil || to != "" || !fixed(st.words) {
		return content{elsewhere: to}, err
	}
	pins, err := s.pinned(ctx, st)
	if err != nil {
		return content{}, err
	}
	for i := range pins {
		pins[i].On = pins[i].code == encoded(st.words)
	}
	x, err := s.explained(ctx, st)
	if err != nil {
		return content{}, err
	}
	r := &reason{Remarks: remarksOf(x.Remarks)}
	if err := r.fill(s, ctx, st, x); err != nil {
		return content{}, err
	}
	out := content{data: r, pins: pins, takes: st.pointTakes(), launched: launchedAs(&x.Answer.Deployment), title: fmt.Sprintf("%s %s %s: %s", st.language.say("Why"), r.Big, r.Unit, report.PointTitle(x.Answer))}
	return out, nil
}

// explained is the answer, with the step that is to be drawn explained, too.
func (s *Server) explained(ctx context.Context, st *state) (*throughline.Explained, error) {
	x, err := throughline.Explain(ctx, throughline.Question(st.words), s.reading()...)
	if err != nil {
		return nil, err
	}
	if x.Answer.Seen == nil && len(x.Phases) > 0 && st.words["phase"] == "" && st.words["context"] == "" {
		return nil, errors.New(cmp.Or(x.Answer.Remark, "no client can be served"))
	}
	return x, nil
}

// phase is the index of the step that is drawn.
func (st *state) phase(x *throughline.Explained) int {
	want := op.Decode
	if st.shown[stepName] == "prefill" {
		want = op.Prefill
	}
	at := 0
	for i := range x.Phases {
		if x.Phases[i].Phase == want {
			at = i
		}
	}
	return at
}

// fill makes all parts of the answer.
func (r *reason) fill(s *Server, ctx context.Context, st *state, x *throughline.Explained) error {
	r.Says = sentence.Explained(x.Explained)
	at := st.phase(x)
	main := at
	for i := range x.Why {
		if x.Why[i] != nil {
			main = i
		}
	}
	if x.Why[at] == nil {
		why, err := explain.Of(x.Answer, at, workload.Limits{})
		if err != nil {
			return err
		}
		x.Why[at] = why
	}
	p := &x.Phases[at]
	r.Big, r.Unit, r.Band = bigTime(x, main)
	r.Step = p.Phase.Name()
	for _, name := range []string{"decode", "prefill"} {
		shown := withWord(st.shown, stepName, name)
		if name == "decode" {
			shown = without(st.shown, stepName)
		}
		r.Steps = append(r.Steps, option{name, name, st.to(st.view, st.words, shown, st.pins), name == r.Step})
	}
	r.operators(st.language, x.Why[at], p)
	was := s.before(ctx, st)
	r.sliders(st, x, was, x.Why[main], x.Phases[main].Phase)
	r.goal(st, x, main)
	r.Limits = x.Why[main].Limits
	charts, scenes := st.whyCharts(x, at, was.ghost())
	r.Charts = charts
	r.Drawn = secretText(9)
	s.drawn.put(r.Drawn, drawing{scenes})
	if x.Parts != nil {
		for _, one := range []struct {
			name    string
			parts   []explain.Part
			seconds float64
		}{{"TPOT", x.Parts.TPOT, x.Record.TPOT}, {"TTFT", x.Parts.TTFT, x.Record.TTFT}} {
			r.Parts = append(r.Parts, partTable{one.name, one.parts, number.Plain(1e3*one.seconds, 3)})
		}
	}
	return nil
}

func bigTime(x *throughline.Explained, main int) (big, unit, band string) {
	p := &x.Phases[main]
	seconds, name, width := p.Estimate.StepTime, p.StepTitle(), p.Confidence.Band
	if r := x.Record; r.Served && r.Trusted != nil {
		seconds, name, width = r.TPOT, "TPOT", r.Trusted.TPOT.Band
		if p.Phase == op.Prefill {
			seconds, name, width = r.TTFT, "TTFT", r.Trusted.TTFT.Band
		}
	}
	t := bandedTime(seconds, width)
	value, of, _ := strings.Cut(t.Value, " ")
	return value, of + " " + name, t.Band
}

// whyCharts are the drawings of the view, by name.
func (st *state) whyCharts(x *throughline.Explained, at int, was *picture.Step) (out []drawnChart, scenes map[string]*chart.Scene) {
	scenes = map[string]*chart.Scene{}
	add := func(id, title, hint, kind string, width float64, step picture.Step) {
		if !st.draws(id) {
			return
		}
		k, _ := picture.Find(picture.StepKinds, kind)
		c, err := k.Draw(step)
		if err != nil {
			return
		}
		if kind == "waterfall" { // the section says it, and every bar has a name
			c.Panels[0].Title, c.Keys = "", nil
		}
		svg, scene := figure(c, st.width(width), 0, id)
		scenes[id] = scene
		out = append(out, drawnChart{id, title, hint, width == fullWidth, svg})
	}
	step := picture.Step{Answer: x.Answer, Phase: at, Why: x.Why[at], Was: was, Window: st.window()}
	if p := x.Parts; p != nil {
		tpot, ttft := step, step
		tpot.Parts, ttft.Parts = &explain.Parts{TPOT: p.TPOT}, &explain.Parts{TTFT: p.TTFT}
		r := x.Record
		add("tpot", "TPOT", st.language.rangeOf(r.TPOT, r.Trusted.TPOT.Band), "waterfall", halfWidth, tpot)
		add("ttft", "TTFT", st.language.rangeOf(r.TTFT, r.Trusted.TTFT.Band), "waterfall", halfWidth, ttft)
	}
	add("timeline", "", "", "timeline", fullWidth, step)
	add("roofline", "", "", "roofline", halfWidth, step)
	return out, scenes
}

// rangeOf is the ends of a band.
func (l *language) rangeOf(seconds, band float64) string {
	if band == 0 {
		return ""
	}
	return l.tell("%s to %s", number.Time(seconds/(1+band), 3), number.Time(seconds*(1+band), 3))
}

// mostRows is how many operators the table has one by one.
const mostRows = 12

// operators lists those that take time, the longest first.
func (r *reason) operators(l *language, why *explain.Explanation, p *point.Result) {
	step := p.Estimate.StepTime
	all := slices.Clone(why.Operators)
	slices.SortStableFunc(all, func(a, b estimate.Operator) int { return cmp.Compare(b.Share, a.Share) })
	rest, left := 0.0, 0
	for i := range all {
		o := &all[i]
		if !(o.Share > 0) {
			continue
		}
		if len(r.Operators) >= mostRows {
			rest, left = rest+o.Share, left+1
			continue
		}
		_, use := o.Use()
		row := operatorRow{Ref: picture.RefOf(o.Name), Number: fmt.Sprint(len(r.Operators) + 1), Name: o.Name, Ms: number.Plain(1e3*step*o.Share, 3), Share: fmt.Sprintf("%.1f%%", 100*o.Share),
			Bound: l.say(cmp.Or(o.BoundBy(), "waiting")), Part: 100 * o.Share / all[0].Share}
		if use > 0 {
			row.Use = fmt.Sprintf("%.0f%%", 100*use)
		}
		r.Operators = append(r.Operators, row)
	}
	if left > 0 {
		r.Operators = append(r.Operators, operatorRow{Name: l.tell("%d others", left), Ms: number.Plain(1e3*step*rest, 3), Share: fmt.Sprintf("%.1f%%", 100*rest), Part: 100 * rest / all[0].Share})
	}
	r.Total = number.Time(step, 3)
	r.Of = number.Plain(p.Problem.System.Memory.GBps/1e3, 3) + " TB/s"
}

// Sliders go from a quarter to four times what the file has.
const reach = 4.0

// sliders are the numbers that change anything, the strongest first.
func (r *reason) sliders(st *state, x *throughline.Explained, was *glance, why *explain.Explanation, phase op.Phase) {
	base := x.Phases[0].Problem.System
	if st.words[setName] != "" {
		if was != nil {
			base = was.Phases[0].Problem.System
			r.Was = number.Time(was.seconds(phase), 3)
			r.Says = append(r.Says, st.language.tell("With the numbers of the file it is %s.", r.Was))
		}
		r.Moved, r.Back = true, st.to(st.view, without(st.words, setName), st.shown, st.pins)
	}
	r.Metric = map[op.Phase]string{op.Prefill: "TTFT", op.Decode: "TPOT"}[phase]
	for i := range why.Sensitivity {
		e := &why.Sensitivity[i]
		p, ok := base.Parameter(e.Parameter)
		asked := p.Name == "power.limit_W" && st.words["power-limit"] != "" // which a slider cannot raise
		if !ok || asked || !e.Any() && !moved(st, e.Parameter) {
			continue
		}
		from := p.Of(base)
		gain := map[op.Phase]float64{op.Prefill: e.TTFT, op.Decode: e.TPOT}[phase]
		if !x.Record.Served {
			gain = e.Step
		}
		unit, scale := p.Unit, 1.0
		if unit == "s" { // latencies of networks
			unit, scale = "µs", 1e6
		}
		sl := slider{Name: "sys." + e.Parameter, Label: st.language.parameter(e.Parameter), Unit: unit, Scale: scale, Value: number.Plain(scale*e.Value, 4), Was: number.Plain(scale*from, 4), Base: from,
			At: position(e.Value, from), Ghost: 50, Moved: math.Abs(e.Value/from-1) > 1e-9, Effect: number.Signed(gain, 1)}
		if e.Batch != e.NewBatch && math.Abs(gain) < 5e-4 {
			sl.Effect = st.language.tell("batch %d → %d", e.Batch, e.NewBatch)
		}
		r.Sliders = append(r.Sliders, sl)
	}
}

func moved(st *state, path string) bool {
	return strings.Contains(st.words[setName], "sys."+path+"=")
}

// position is where a value stands on its slider.
func position(v, base float64) float64 {
	return 50 + 50*math.Log(v/base)/math.Log(reach)
}

// parameter is a number of a chip in words; others are called by their path.
func (l *language) parameter(path string) string {
	kind, rest, _ := strings.Cut(path, ".")
	number, what, _ := strings.Cut(rest, ".")
	link := strings.Trim(strings.TrimPrefix(kind, "networks"), "[]")
	switch {
	case path == "mem1.GBps":
		return l.say("Memory bandwidth")
	case path == "mem1.GiB":
		return l.say("Memory")
	case path == "power.limit_W":
		return l.say("Power limit")
	case link != kind && rest == "bandwidth":
		return l.tell("Network %s, bandwidth", link)
	case link != kind && rest == "latency":
		return l.tell("Network %s, latency", link)
	case what == "tflops" && kind == "matrix":
		return l.tell("Matrix rate, %s", number)
	case what == "tflops" && kind == "vector":
		return l.tell("Vector rate, %s", number)
	}
	return path
}

// goal is what a number would have to be, and the form to ask for it.
func (r *reason) goal(st *state, x *throughline.Explained, main int) {
	r.Until = cmp.Or(st.words["until"], "tpot="+number.Time(0.9*x.Record.TPOT, 2))
	r.Until = strings.ReplaceAll(r.Until, " ", "")
	for _, sl := range r.Sliders {
		path := strings.TrimPrefix(sl.Name, "sys.")
		r.Paths = append(r.Paths, option{path, sl.Label, "", path == st.words["seek"]})
	}
	a := x.Why[main].Seek
	if a == nil {
		return
	}
	r.Seek = &seeking{Says: report.SeekLine(a)}
	if a.Value != nil {
		path := "sys." + a.Parameter
		set := slices.DeleteFunc(question.Words(st.words[setName]), func(w string) bool { return strings.HasPrefix(w, path+"=") })
		words := withWord(st.words, setName, strings.Join(append(set, fmt.Sprintf("%s=%s", path, number.Plain(*a.Value, 6))), ","))
		r.Seek.To = st.to(st.view, without(words, "seek", "until"), st.shown, st.pins)
	}
}
