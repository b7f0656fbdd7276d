// Package gap finds what would have to be off for a prediction to match a measurement: prompts,
// decode kernels by class, the host, overlap, or scheduling; which of these other measured figures
// contradict; and what to measure next to tell the rest apart.
package gap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/internal/point"
	"throughline/internal/profile"
	"throughline/internal/validate"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

type Explanation struct {
	Load      string  `json:"load,omitempty"` // predicted, in words
	Figure    string  `json:"figure"`
	Unit      string  `json:"unit"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
	Band      float64 `json:"band"` // of the prediction, relative; 0: unknown
	Causes    []Cause `json:"causes"`
	// Conclusion is set if at most one cause is left.
	Conclusion string  `json:"conclusion,omitempty"`
	Next       []Probe `json:"measure_next"`
}

// Cause is one thing that might be off.
type Cause struct {
	Name  string `json:"cause"`
	Needs string `json:"would_have_to_be"` // in words
	Able  bool   `json:"can_explain"`
	// Others are the other measured figures under this cause.
	Others      []Other `json:"others,omitempty"`
	Contradicts bool    `json:"contradicted"`      // by one of them, which gets worse
	Leaves      string  `json:"leaves,omitempty"`  // one of them that stays off
	Parts       []Part  `json:"kernels,omitempty"` // of decode steps, by class

	at func(d *deploy.Deployment, l *traffic)
}

// Other is another figure under a cause.
type Other struct {
	Figure    string  `json:"figure"`
	Unit      string  `json:"unit"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"then"`
	Before    float64 `json:"predicted"`
}

// Part is the factor by which one class of kernels alone would be slower; 0 or less: it takes too
// little.
type Part struct {
	Class  string  `json:"class"`
	Share  float64 `json:"share"`
	Factor float64 `json:"factor"`
}

// Probe is a measurement that tells causes apart.
type Probe struct {
	What   string   `json:"measure"`
	Unit   string   `json:"unit"`
	Expect []Expect `json:"expect"`
}

// Expect is what a probe would show under a cause.
type Expect struct {
	Cause string  `json:"cause"`
	Value float64 `json:"value"`
}

// knob is an adjustable cause.
type knob struct {
	name string
	// turn applies an amount between low and high; 0 changes nothing.
	turn      func(d *deploy.Deployment, l *traffic, x float64)
	low, high float64
	words     func(a *point.Answer, l *traffic, x float64) string
}

// Ends of scales, as logarithms: beyond a hundredfold it is something else.
var most = math.Log(100)

func factor(x float64) string { return "×" + number.Plain(math.Exp(x), 3) }

func millis(x float64) string {
	return map[bool]string{true: "+", false: "−"}[x >= 0] + number.Plain(1e3*math.Abs(x), 3) + " ms"
}

// knobs are the causes, each on its own.
var knobs = []knob{
	{"decode kernels", func(d *deploy.Deployment, _ *traffic, x float64) {
		decode, prefill := d.Fitted.Scales()
		d.Fitted.Decode, d.Fitted.Prefill = decode*math.Exp(x), prefill
	}, -most, most, func(_ *point.Answer, _ *traffic, x float64) string { return factor(x) }},
	{"prompts", func(d *deploy.Deployment, _ *traffic, x float64) {
		decode, prefill := d.Fitted.Scales()
		d.Fitted.Decode, d.Fitted.Prefill = decode, prefill*math.Exp(x)
	}, -most, most, func(_ *point.Answer, _ *traffic, x float64) string { return factor(x) }},
	{"host", func(d *deploy.Deployment, _ *traffic, x float64) {
		d.Engine.StepSeconds = max(0, d.Engine.StepSeconds+x)
	}, -1, 10, func(a *point.Answer, _ *traffic, x float64) string {
		return millis(max(x, -a.Deployment.Engine.StepSeconds)) + " per step"
	}},
	{"waiting", func(d *deploy.Deployment, _ *traffic, x float64) {
		d.Engine.Delay(x)
	}, -10, 600, func(a *point.Answer, _ *traffic, x float64) string {
		most := a.Deployment.Engine.FirstSeconds
		if a.Deployment.Split() {
			most = a.Deployment.Engine.HandoverSeconds
		}
		return millis(max(x, -most)) + " before a prompt"
	}},
	{"load", func(_ *deploy.Deployment, l *traffic, x float64) {
		if l.rate *= math.Exp(x); l.rate == 0 {
			l.Clients = max(1, int(math.Round(float64(l.Clients)*math.Exp(x))))
		}
	}, -most, most, func(_ *point.Answer, l *traffic, x float64) string {
		if l.rate > 0 {
			return fmt.Sprintf("%s requests/s, not %s", number.Plain(l.rate*math.Exp(x), 3), number.Plain(l.rate, 3))
		}
		return fmt.Sprintf("%.0f clients, not %d", max(1, math.Round(float64(l.Clients)*math.Exp(x))), l.Clients)
	}},
	{"room", func(d *deploy.Deployment, l *traffic, x float64) {
		p := d.Of(op.Decode)
		all := float64(l.Clients) / float64(p.Ranks())
		d.Engine.Sequences = max(1, min(d.Engine.Sequences, int(math.Round(all*math.Exp(x)))))
	}, -most, 0, func(a *point.Answer, l *traffic, x float64) string {
		all := float64(l.Clients) / float64(a.Deployment.Of(op.Decode).Ranks())
		return fmt.Sprintf("%.0f of %.0f run on a rank", max(1, math.Round(all*math.Exp(x))), all)
	}},
}

// Relative tolerances of other figures: the errors of fitted deployments in three of four cases.
var tolerated = map[string]float64{"tpot": 0.1, "ttft": 0.25, "e2e": 0.1, "requests": 0.1}

// worse is by how much more a figure must be off, as a logarithm, to count as worse.
const worse = 0.05

// explainer tries causes on one deployment.
type explainer struct {
	answer   *point.Answer
	seen     func(d *deploy.Deployment, l *traffic) (serving.Prediction, error)
	load     traffic
	measured *Measured
}

// traffic is a closed loop of clients or, with a rate, an open loop with as many requests in flight
// as there are clients.
type traffic struct {
	workload.Load
	rate float64 // requests per second; 0: none
}

// Explain explains the requested figure, or else the one furthest from its prediction, the first of
// equals. A nil run means that the measurement is not from a file.
func Explain(a *point.Answer, run *validate.OneRun, m *Measured, figure string) (*Explanation, error) {
	e := &explainer{answer: a, load: traffic{Load: a.Load}}
	if run != nil {
		e.load = traffic{run.Load, run.Rate}
		e.seen = func(d *deploy.Deployment, l *traffic) (serving.Prediction, error) {
			return run.Predict(d, l.Load, l.rate)
		}
	} else {
		e.load.Requests = m.Requests
		predictor, err := serving.NewPredictor(&a.Deployment)
		if err != nil {
			return nil, err
		}
		e.seen = func(d *deploy.Deployment, l *traffic) (serving.Prediction, error) {
			if l.Requests > 0 {
				return simulate.Cold(predictor, d, l.Load)
			}
			return simulate.Steady(predictor, d, l.Load)
		}
	}
	before, err := e.predict(func(*deploy.Deployment, *traffic) {}, nil)
	if err != nil {
		return nil, err
	}
	e.measured = m.primary(figure)
	first := e.measured.furthest(before, figure)
	out := &Explanation{Figure: first.Name, Unit: unitOf(first.Name), Measured: first.Value, Predicted: before[first.Name]}
	switch {
	case e.load.rate > 0: // bands are of the closed form
	case first.Name == "tpot":
		out.Band = a.Trusted.TPOT.Band
	case first.Name == "ttft":
		out.Band = a.Trusted.TTFT.Band
	}
	for i := range knobs {
		c, err := e.cause(&knobs[i], first, before)
		if err != nil {
			return nil, err
		}
		out.Causes = append(out.Causes, c)
	}
	if err := e.kernels(out); err != nil {
		return nil, err
	}
	out.Conclusion = out.conclusion()
	out.Next, err = e.next(out)
	return out, err
}

func (m *Measured) Missing(figure string) error {
	if figure == "" || m.has(figure) {
		return nil
	}
	var names []string
	for _, f := range m.Figures {
		names = append(names, f.Name)
	}
	return fmt.Errorf("%s was not measured: %s", figure, strings.Join(names, ", "))
}

// furthest returns the requested figure, or the one furthest from its prediction.
func (m *Measured) furthest(before map[string]float64, figure string) Measurement {
	first := m.Figures[0]
	for _, f := range m.Figures {
		if f.Name == figure {
			return f
		}
		off := func(f Measurement) float64 { return math.Abs(math.Log(before[f.Name]/f.Value)) / tolerated[f.Name] }
		if off(f) > off(first) {
			first = f
		}
	}
	return first
}

// conclusion summarizes the causes, unless several are left.
func (x *Explanation) conclusion() string {
	able, left := 0, []string{}
	for i := range x.Causes {
		if c := &x.Causes[i]; c.Able {
			able++
			if !c.Contradicts {
				left = append(left, c.Name)
			}
		}
	}
	switch {
	case able == 0:
		return "Nothing of this explains it by itself: several things are off, or another deployment or load was measured than is predicted."
	case len(left) == 0:
		return "What explains it by itself contradicts what else was measured: several things are off, or another deployment or load was measured than is predicted."
	case len(left) == 1:
		return "Of single causes only this is left: " + left[0] + "."
	}
	return ""
}

// primary drops figures that follow from TTFT and TPOT where both were measured, unless requested:
// a request takes TTFT and TPOT per further token, and each waiting client has one in flight.
func (m *Measured) primary(figure string) *Measured {
	if !m.has("tpot") || !m.has("ttft") {
		return m
	}
	out := *m
	out.Figures = slices.DeleteFunc(slices.Clone(m.Figures), func(f Measurement) bool { return f.Name != "tpot" && f.Name != "ttft" && f.Name != figure })
	return &out
}

func unitOf(name string) string {
	return figures[slices.Index(Names(), name)].unit
}

// predict returns the figures after a change, under the given load.
func (e *explainer) predict(change func(*deploy.Deployment, *traffic), load *traffic) (map[string]float64, error) {
	d, l := e.answer.Deployment, e.load
	if load != nil {
		l = *load
	}
	change(&d, &l)
	// All requests run at once, unless the engine or the memory allows fewer.
	d.Pools = slices.Clone(d.Pools)
	ranks := d.Of(op.Decode).Ranks()
	for i := range d.Pools {
		d.Pools[i].Plan.Batch = plan.Batch{Count: 1, Size: max(1, (l.Clients+ranks-1)/ranks)}
	}
	seen, err := e.seen(&d, &l)
	if err != nil {
		return nil, err
	}
	return map[string]float64{"tpot": 1e3 * seen.TPOT, "ttft": 1e3 * seen.TTFT, "e2e": 1e3 * seen.Latency, "requests": seen.Requests}, nil
}

// halvings limits the bisection: simulations are slow, and three digits are shown.
func (e *explainer) halvings() int {
	if e.load.rate > 0 {
		return 16
	}
	return 50
}

// cause bisects the knob until the figure matches the measurement, if it can.
func (e *explainer) cause(k *knob, f Measurement, before map[string]float64) (Cause, error) {
	c := Cause{Name: k.name}
	at := func(x float64) (map[string]float64, error) {
		return e.predict(func(d *deploy.Deployment, l *traffic) { k.turn(d, l, x) }, nil)
	}
	ends := [2]map[string]float64{}
	for i, x := range []float64{k.low, k.high} {
		var err error
		if ends[i], err = at(x); err != nil {
			return c, err
		}
	}
	low, high := k.low, k.high
	below := func(v float64) bool { return v < f.Value }
	switch {
	case below(before[f.Name]) != below(ends[1][f.Name]):
		low = 0
	case below(before[f.Name]) != below(ends[0][f.Name]):
		high = 0
	default:
		far := ends[0][f.Name]
		if math.Abs(ends[1][f.Name]-f.Value) < math.Abs(far-f.Value) {
			far = ends[1][f.Name]
		}
		c.Needs = fmt.Sprintf("cannot: %s %s at most", number.Plain(far, 3), unitOf(f.Name))
		if far > f.Value {
			c.Needs = fmt.Sprintf("cannot: %s %s at least", number.Plain(far, 3), unitOf(f.Name))
		}
		return c, nil
	}
	start, err := at(low)
	if err != nil {
		return c, err
	}
	for range e.halvings() {
		mid := (low + high) / 2
		got, err := at(mid)
		if err != nil {
			return c, err
		}
		if below(got[f.Name]) == below(start[f.Name]) {
			low = mid
		} else {
			high = mid
		}
	}
	c.Able, c.Needs = true, k.words(e.answer, &e.load, high)
	c.at = func(d *deploy.Deployment, l *traffic) { k.turn(d, l, high) }
	then, err := e.predict(c.at, nil)
	if err != nil {
		return c, err
	}
	c.others(e.measured, f, then, before)
	return c, nil
}

// others compares the other figures of the measurement with what they would be.
func (c *Cause) others(m *Measured, explained Measurement, then, before map[string]float64) {
	for _, f := range m.Figures {
		if f.Name == explained.Name {
			continue
		}
		c.Others = append(c.Others, Other{f.Name, unitOf(f.Name), f.Value, then[f.Name], before[f.Name]})
		off := func(v float64) float64 { return math.Abs(math.Log(v / f.Value)) }
		switch now := off(then[f.Name]); {
		case now <= math.Log1p(tolerated[f.Name]):
		case now > off(before[f.Name])+worse:
			c.Contradicts = true
		default:
			c.Leaves = f.Name
		}
	}
}

// kernels finds which class of decode kernels alone would explain the gap, and whether overlap can:
// without it a step takes as long as its kernels keep units busy.
func (e *explainer) kernels(out *Explanation) error {
	at := slices.IndexFunc(e.answer.Phases, func(r point.Result) bool { return r.Phase == op.Decode })
	c := &out.Causes[0]
	if at < 0 || !c.Able {
		return nil
	}
	d := deploy.Deployment{}
	c.at(&d, &traffic{})
	slower, _ := d.Fitted.Scales()
	classes, busy, err := profile.Compare(nil, e.answer.Phases[at].Operators)
	if err != nil {
		return err
	}
	for _, k := range classes {
		c.Parts = append(c.Parts, Part{k.Name, k.Predicted, 1 + (slower-1)/k.Predicted})
	}
	slices.SortStableFunc(c.Parts, func(a, b Part) int { return cmp.Compare(b.Share, a.Share) })
	step := e.answer.Phases[at].Estimate.StepTime
	hides := busy/step - 1
	o := Cause{Name: "overlap", Needs: fmt.Sprintf("cannot: hides %.0f%% of a step, %.0f%% needed", 100*max(0, hides), 100*(slower-1))}
	if slower > 1 && hides >= slower-1 {
		o.Able, o.at, o.Others, o.Contradicts, o.Leaves = true, c.at, c.Others, c.Contradicts, c.Leaves
		o.Needs = fmt.Sprintf("none of the %.0f%% it hides", 100*hides)
	} else if slower < 1 {
		o.Needs = fmt.Sprintf("%.0f%% of a step hidden that is not", 100*(1-slower))
		o.Able, o.at, o.Others, o.Contradicts, o.Leaves = true, c.at, c.Others, c.Contradicts, c.Leaves
	}
	out.Causes = slices.Insert(out.Causes, 1, o)
	return nil
}
