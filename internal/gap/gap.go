// Package gap asks what would have to be off for a prediction to be what was measured: prompts, decode kernels by class, the
// host, overlap, or how requests are scheduled; which of that other figures of the measurement contradict; and what to measure
// next to tell the rest apart.
package gap

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"throughline/deploy"
	"throughline/internal/point"
	"throughline/internal/profile"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// Explanation is what would explain one figure.
type Explanation struct {
	Figure    string  `json:"figure"`
	Unit      string  `json:"unit"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
	Band      float64 `json:"band"` // of the prediction, relative; 0: not known
	Causes    []Cause `json:"causes"`
	Next      []Probe `json:"measure_next"`
}

// Cause is one thing that might be off.
type Cause struct {
	Name  string `json:"cause"`
	Needs string `json:"would_have_to_be"` // in words
	Able  bool   `json:"can_explain"`
	// Others are the other measured figures if this were so.
	Others      []Other `json:"others,omitempty"`
	Contradicts bool    `json:"contradicted"`      // by one of them, which gets worse
	Leaves      string  `json:"leaves,omitempty"`  // one of them that stays off
	Parts       []Part  `json:"kernels,omitempty"` // of decode steps, by class

	at func(d *deploy.Deployment, l *workload.Load)
}

// Other is another figure under a cause.
type Other struct {
	Figure    string  `json:"figure"`
	Unit      string  `json:"unit"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"then"`
	Before    float64 `json:"predicted"`
}

// Part is a class of kernels that alone would have to be so much slower; a factor of 0 or less: it takes too little.
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

// knob is a cause with its size.
type knob struct {
	name string
	// turn makes it so large; 0 changes nothing. It reaches from low to high.
	turn      func(d *deploy.Deployment, l *workload.Load, x float64)
	low, high float64
	words     func(a *point.Answer, x float64) string
}

// Ends of scales, as logarithms: beyond a hundredth and a hundredfold it is something else.
var most = math.Log(100)

func factor(x float64) string { return "×" + number.Plain(math.Exp(x), 3) }

func millis(x float64) string {
	return map[bool]string{true: "+", false: "−"}[x >= 0] + number.Plain(1e3*math.Abs(x), 3) + " ms"
}

// knobs are what can be off, each by itself.
var knobs = []knob{
	{"decode kernels", func(d *deploy.Deployment, _ *workload.Load, x float64) {
		decode, prefill := d.Fitted.Scales()
		d.Fitted.Decode, d.Fitted.Prefill = decode*math.Exp(x), prefill
	}, -most, most, func(_ *point.Answer, x float64) string { return factor(x) }},
	{"prompts", func(d *deploy.Deployment, _ *workload.Load, x float64) {
		decode, prefill := d.Fitted.Scales()
		d.Fitted.Decode, d.Fitted.Prefill = decode, prefill*math.Exp(x)
	}, -most, most, func(_ *point.Answer, x float64) string { return factor(x) }},
	{"host", func(d *deploy.Deployment, _ *workload.Load, x float64) {
		d.Engine.StepSeconds = max(0, d.Engine.StepSeconds+x)
	}, -1, 10, func(a *point.Answer, x float64) string {
		return millis(max(x, -a.Deployment.Engine.StepSeconds)) + " per step"
	}},
	{"waiting", func(d *deploy.Deployment, _ *workload.Load, x float64) {
		d.Engine.Delay(x)
	}, -10, 600, func(a *point.Answer, x float64) string {
		most := a.Deployment.Engine.FirstSeconds
		if a.Deployment.Split() {
			most = a.Deployment.Engine.HandoverSeconds
		}
		return millis(max(x, -most)) + " before a prompt"
	}},
	{"load", func(_ *deploy.Deployment, l *workload.Load, x float64) {
		l.Clients = max(1, int(math.Round(float64(l.Clients)*math.Exp(x))))
	}, -most, most, func(a *point.Answer, x float64) string {
		return fmt.Sprintf("%.0f clients, not %d", max(1, math.Round(float64(a.Load.Clients)*math.Exp(x))), a.Load.Clients)
	}},
	{"room", func(d *deploy.Deployment, l *workload.Load, x float64) {
		p := d.Of(op.Decode)
		all := float64(l.Clients) / float64(p.Ranks())
		d.Engine.Sequences = max(1, min(d.Engine.Sequences, int(math.Round(all*math.Exp(x)))))
	}, -most, 0, func(a *point.Answer, x float64) string {
		all := float64(a.Load.Clients) / float64(a.Deployment.Of(op.Decode).Ranks())
		return fmt.Sprintf("%.0f of %.0f run on a rank", max(1, math.Round(all*math.Exp(x))), all)
	}},
}

// Tolerances of other figures, relative: what predictions of a deployment that was fitted are off by at most in three of four
// cases.
var tolerated = map[string]float64{"tpot": 0.1, "ttft": 0.25, "e2e": 0.1, "requests": 0.1}

// worse is by how much more a figure must be off, as a logarithm, to count as worse.
const worse = 0.05

// explainer tries causes on one deployment.
type explainer struct {
	answer    *point.Answer
	predictor *serving.Predictor
	load      workload.Load
	measured  *Measured
}

// Explain says what would explain the figure that is furthest from its prediction, of equals the first.
func Explain(a *point.Answer, m *Measured) (*Explanation, error) {
	e := &explainer{answer: a, load: a.Load, measured: m}
	e.load.Requests = m.Requests
	var err error
	if e.predictor, err = serving.NewPredictor(&a.Deployment); err != nil {
		return nil, err
	}
	before, err := e.predict(func(*deploy.Deployment, *workload.Load) {}, nil)
	if err != nil {
		return nil, err
	}
	m = m.primary()
	e.measured = m
	first := m.Figures[0]
	for _, f := range m.Figures[1:] {
		off := func(f Measurement) float64 { return math.Abs(math.Log(before[f.Name]/f.Value)) / tolerated[f.Name] }
		if off(f) > off(first) {
			first = f
		}
	}
	out := &Explanation{Figure: first.Name, Unit: unitOf(first.Name), Measured: first.Value, Predicted: before[first.Name]}
	switch first.Name {
	case "tpot":
		out.Band = a.Trusted.TPOT.Band
	case "ttft":
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
	out.Next, err = e.next(out)
	return out, err
}

// primary leaves out what follows from TTFT and TPOT where both were measured: a request takes the first and the second for each
// further token, and clients that wait for their answers have one under way each.
func (m *Measured) primary() *Measured {
	if !m.has("tpot") || !m.has("ttft") {
		return m
	}
	out := *m
	out.Figures = slices.DeleteFunc(slices.Clone(m.Figures), func(f Measurement) bool { return f.Name != "tpot" && f.Name != "ttft" })
	return &out
}

func unitOf(name string) string {
	return figures[slices.Index(Names(), name)].unit
}

// predict is the figures if something were otherwise, under a load that may be another one.
func (e *explainer) predict(change func(*deploy.Deployment, *workload.Load), load *workload.Load) (map[string]float64, error) {
	d, l := e.answer.Deployment, e.load
	if load != nil {
		l = *load
	}
	change(&d, &l)
	// As many run at a time as there are, unless the engine or the memory allows fewer.
	d.Pools = slices.Clone(d.Pools)
	ranks := d.Of(op.Decode).Ranks()
	for i := range d.Pools {
		d.Pools[i].Plan.Batch = plan.Batch{Count: 1, Size: max(1, (l.Clients+ranks-1)/ranks)}
	}
	seen, err := e.predictor.Predict(&d, l)
	if err != nil {
		return nil, err
	}
	return map[string]float64{"tpot": 1e3 * seen.TPOT, "ttft": 1e3 * seen.TTFT, "e2e": 1e3 * seen.Latency, "requests": seen.Requests}, nil
}

// cause turns a knob until the figure is what was measured, if it can.
func (e *explainer) cause(k *knob, f Measurement, before map[string]float64) (Cause, error) {
	c := Cause{Name: k.name}
	at := func(x float64) (map[string]float64, error) {
		return e.predict(func(d *deploy.Deployment, l *workload.Load) { k.turn(d, l, x) }, nil)
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
	for range 50 {
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
	c.Able, c.Needs = true, k.words(e.answer, high)
	c.at = func(d *deploy.Deployment, l *workload.Load) { k.turn(d, l, high) }
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

// kernels says which class of decode kernels alone would explain what all of them would, and whether overlap can: without it
// a step takes what its kernels keep units busy for.
func (e *explainer) kernels(out *Explanation) error {
	at := slices.IndexFunc(e.answer.Phases, func(r point.Result) bool { return r.Phase == op.Decode })
	c := &out.Causes[0]
	if at < 0 || !c.Able {
		return nil
	}
	d := deploy.Deployment{}
	c.at(&d, &workload.Load{})
	slower, _ := d.Fitted.Scales()
	classes, busy, err := profile.Classes(&e.answer.Phases[at])
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
