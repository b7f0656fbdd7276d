package deploy

import (
	"fmt"
	"math"
	"strings"

	"throughline/number"
)

// Fit is what measurements of a deployment correct in its predictions; the zero value corrects
// nothing.
type Fit struct {
	Engine string // that was measured; others are not corrected
	Plans  string // measured ones, as formatted by Plans
	Source string // of the measurements, for people

	Decode  float64 // scale of decode time on the processors; 0 for 1
	Prefill float64 // scale of the time that prompts add; 0 for 1
	// First is added to the engine's seconds before a request is scheduled, and may be negative.
	// Wave is added to the engine's for the first requests of all clients of a cold server (Cold).
	First, Wave float64
}

// IsNone reports whether nothing was measured.
func (f *Fit) IsNone() bool { return *f == Fit{} }

// Apply corrects the facts of an engine, or drops the measurements of another one.
func (f *Fit) Apply(e *Engine) {
	if f.Engine != "" && f.Engine != e.Name {
		*f = Fit{}
	}
	e.Delay(f.First)
}

// Scales of decoding and of prompts.
func (f *Fit) Scales() (decode, prefill float64) {
	one := func(s float64) float64 {
		if s == 0 {
			return 1
		}
		return s
	}
	return one(f.Decode), one(f.Prefill)
}

// Step corrects the time of a step: the scale of decoding applies to the step without its prompts,
// the scale of prompts to what they add.
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

// Shares of a correction: of the scales of decoding and prompts, and of the times before the first
// token.
type Shares struct{ Decode, Prefill, First float64 }

// Faded is a part of the correction.
func (f *Fit) Faded(by Shares) Fit {
	out := *f
	decode, prefill := f.Scales()
	out.Decode, out.Prefill = math.Pow(decode, by.Decode), math.Pow(prefill, by.Prefill)
	out.First, out.Wave = by.First*f.First, by.First*f.Wave
	return out
}

// String says what is corrected, and by what.
func (f *Fit) String() string {
	decode, prefill := f.Scales()
	out := fmt.Sprintf("fitted to %s: decode ×%s, prompts ×%s, first token %+.0f ms", f.Source, number.Plain(decode, 4), number.Plain(prefill, 4), 1e3*f.First)
	if f.Wave != 0 {
		out += fmt.Sprintf(", first wave of a server that has just started %+.0f ms", 1e3*f.Wave)
	}
	return out
}

// Elsewhere says that the plans of a deployment differ from the measured one's; empty: they do not.
func (f *Fit) Elsewhere(d *Deployment) string {
	if plans := d.Plans(); !f.IsNone() && f.Plans != plans {
		return fmt.Sprintf("the measured runs are of %s, this is %s: the correction may not carry over", f.Plans, plans)
	}
	return ""
}

// Plans abbreviates the plans of the pools, without the number of instances, which no step depends
// on.
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
