// Package scenario turns what a person asks on a command line, a model on a system with lengths, number formats and
// limits, into the problems that are estimated and searched.
package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"throughline/assume"
	"throughline/deploy"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/model"
	"throughline/plan"
	"throughline/workload"
)

// Scenario is a question in the words of the command line.
type Scenario struct {
	Model        string
	System       string
	DecodeSystem string // of the decode pool, if it differs
	Lengths      workload.Lengths
	Limits       workload.Limits
	Formats      Formats
	Assume       string // preset and changes to it
	Distribution string // of the lengths, as workload.Lengths.Spread reads it
	Offload      estimate.Offload
}

// Formats are number formats by name.
type Formats = deploy.Formats

// Loaded is a scenario whose files have been read.
type Loaded struct {
	Scenario
	Asked       workload.Lengths // before they were spread
	Shape       *model.Model
	Settings    *model.Settings
	Prefill     *hardware.System
	Decode      *hardware.System
	Precision   plan.Precision
	Stored      deploy.Stored
	Assumptions *assume.Assumptions
	Warnings    []document.Problem

	named string // format of the weights that the name of a built-in model says
}

// Load reads the model and the systems of a scenario and checks that they go together. All problems are reported at
// once.
func (s *Scenario) Load() (*Loaded, error) {
	l := &Loaded{Scenario: *s, Asked: s.Lengths}
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	l.Assumptions, err = assume.Parse(s.Assume)
	note(err)
	l.Shape, l.Settings, err = l.loadModel(s.Model)
	note(err)
	l.Prefill, err = l.loadSystem("--system", s.System)
	note(err)
	l.Decode = l.Prefill
	if s.DecodeSystem != "" {
		l.Decode, err = l.loadSystem("--decode-system", s.DecodeSystem)
		note(err)
	}
	note(checkLengths(s.Lengths))
	if l.Shape != nil && l.Prefill != nil && l.Decode != nil {
		formats := s.Formats
		formats.Weights = cmp.Or(formats.Weights, l.named)
		l.Precision, l.Stored, err = formats.Resolve(l.Shape, l.Prefill, l.Decode)
		l.Stored.Published = l.Stored.Published || s.Formats.Weights == "" && l.named != ""
		note(err)
	}
	l.Lengths, err = s.Lengths.Spread(s.Distribution)
	note(err)
	for _, sys := range []*hardware.System{l.Prefill, l.Decode} {
		if sys != nil && sys.Memory2 == nil && s.Offload != (estimate.Offload{}) {
			note(fmt.Errorf("%s has no second memory tier (mem2) to offload to", sys.Name))
		}
	}
	if o := s.Offload; !(o.Weights >= 0 && o.Weights <= 1 && o.Cache >= 0 && o.Cache <= 1) {
		note(fmt.Errorf("offloaded shares must lie between 0 and 1, not %g of the weights and %g of the cache", o.Weights, o.Cache))
	}
	if len(errs) > 0 {
		return nil, document.Join(errs...)
	}
	if l.Lengths, err = l.Fill(l.Lengths); err != nil {
		return nil, err
	}
	return l, nil
}

func checkLengths(n workload.Lengths) error {
	if n.Input < 1 || n.Output < 1 {
		return fmt.Errorf("input and output lengths must be at least 1, not %d and %d", n.Input, n.Output)
	}
	return nil
}

// Fill completes the lengths of a request by what the model says is cached, and checks that something is left to compute.
func (l *Loaded) Fill(n workload.Lengths) (workload.Lengths, error) {
	if err := checkLengths(n); err != nil {
		return n, err
	}
	n.Cached = max(n.Cached, l.Settings.Cached)
	if n.Cached >= n.Input {
		return n, fmt.Errorf("an input of %d tokens leaves nothing to compute: %d of them are cached", n.Input, n.Cached)
	}
	return n, nil
}

func (l *Loaded) loadModel(ref string) (*model.Model, *model.Settings, error) {
	name, src, err := Find("--model", "model", ref, model.Catalogue)
	if err != nil {
		return nil, nil, err
	}
	m, set, doc := model.Read(name, src)
	l.Warnings = append(l.Warnings, doc.Warnings()...)
	if name != ref {
		l.named = model.NamedFormat(ref)
	}
	return m, set, doc.Err()
}

func (l *Loaded) loadSystem(flag, ref string) (*hardware.System, error) {
	name, src, err := Find(flag, "system", ref, hardware.Catalogue)
	if err != nil {
		return nil, err
	}
	s, doc := hardware.Read(name, src)
	l.Warnings = append(l.Warnings, doc.Warnings()...)
	return s, doc.Err()
}

// Find reads a file, or the built-in one of that name.
func Find(flag, what, ref string, set catalogue.Set) (name string, src []byte, err error) {
	if ref == "" {
		return "", nil, fmt.Errorf("%s is missing: a %s file, or a built-in name (throughline %ss lists them)", flag, what, what)
	}
	src, err = document.ReadFile(ref)
	if err == nil {
		return ref, src, nil
	}
	if src, ok := set.Find(ref); ok {
		return ref + " (built in)", src, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", nil, document.Unreadable(ref, err)
	}
	hint := fmt.Sprintf("throughline %ss lists the built-in ones", what)
	if near, ok := document.Nearest(strings.TrimSuffix(ref, ".json"), set.Names()); ok {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return "", nil, fmt.Errorf("%s: no %s file %q, and none built in; %s", flag, what, ref, hint)
}

// Deployment is the scenario as a deployment that has no pools yet.
func (l *Loaded) Deployment() deploy.Deployment {
	return deploy.Deployment{
		Name: l.Model, Model: l.Shape, Settings: l.Settings, Precision: l.Precision, Stored: l.Stored, Assume: l.Assumptions, Offload: l.Offload,
		Acceptance: workload.DraftAcceptance, MaxContext: l.Lengths.Final(),
	}
}
