package deploy

import (
	"fmt"
	"math"
	"strings"

	"throughline/number"
)

// Fit is what measurements of a deployment correct in its predictions. The zero value corrects nothing.
type Fit struct {
	Engine string // whose runs were measured; others are not corrected
	Plans  string // that were measured, as Plans has them
	Source string // of the measurements, in words

	Decode  float64 // scale of the time that sequences which decode keep the processors busy; 0 for 1
	Prefill float64 // and of the time that prompts add; 0 for 1
	// First is the seconds before a request is scheduled, on top of those of the engine, which it may take away. Wave is those
	// that the first requests of all clients wait besides, on top of those of the engine (Cold): of a server that has just started.
	First, Wave float64
}

// IsNone reports whether nothing was measured.
func (f *Fit) IsNone() bool { return *f == Fit{} }

// Apply corrects the facts of an engine, or forgets what was measured of another one.
func (f *Fit) Apply(e *Engine) {
	if f.Engine != "" && f.Engine != e.Name {
		*f = Fit{}
	}
	e.Delay(f.First)
}

// Scales are those of decoding and of prompts.
func (f *Fit) Scales() (decode, prefill float64) {
	one := func(s float64) float64 {
		if s == 0 {
			return 1
		}
		return s
	}
	return one(f.Decode), one(f.Prefill)
}

// Step is the time of a step with prompts, sequences that decode, or both, in place of that on the processors as they are
// known: the scale of decoding is that of the step without its prompts, the scale of prompts that of what they add to it.
func (f *Fit) Step(prompts, decodes bool, whole float64, alone func() float64) float64 {
	decode, prefill := f.Scales()
	switch {
	case !prompts:
		return decode * whole
	case !decodes || decode == prefill:
		return prefill * whole
	}
	t := alone()
	return decode*t + prefill*(whole-t)
}

// Shares are what is left of a correction: of the scales of decoding and of prompts, and of the times before the first token.
type Shares struct{ Decode, Prefill, First float64 }

// Faded is a part of the correction.
func (f *Fit) Faded(by Shares) Fit {
	out := *f
	decode, prefill := f.Scales()
	out.Decode, out.Prefill = math.Pow(decode, by.Decode), math.Pow(prefill, by.Prefill)
	out.First, out.Wave = by.First*f.First, by.First*f.Wave
	return out
}

// String says what is corrected, and after what.
func (f *Fit) String() string {
	decode, prefill := f.Scales()
	out := fmt.Sprintf("fitted to %s: decode ×%s, prompts ×%s, first token %+.0f ms", f.Source, number.Plain(decode, 4), number.Plain(prefill, 4), 1e3*f.First)
	if f.Wave != 0 {
		out += fmt.Sprintf(", first wave of a server that has just started %+.0f ms", 1e3*f.Wave)
	}
	return out
}

// Elsewhere says that a deployment is cut in other ways than the one that was measured; empty: it is not.
func (f *Fit) Elsewhere(d *Deployment) string {
	if plans := d.Plans(); !f.IsNone() && f.Plans != plans {
		return fmt.Sprintf("the measured runs are of %s, this is %s: the correction may not carry over", f.Plans, plans)
	}
	return ""
}

// Plans are those of the pools, in a few characters: one instance of each, whose number does not matter to a step.
func (d *Deployment) Plans() string {
	var out []string
	for i := range d.Pools {
		p := &d.Pools[i].Plan
		text := p.String()
		if p.Drafts > 0 {
			text += fmt.Sprintf(" mtp%d", p.Drafts)
		}
		out = append(out, text)
	}
	return strings.Join(out, " and ")
}
