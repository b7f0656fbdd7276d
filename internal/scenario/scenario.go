// Package scenario turns what a person asks on a command line, a model on a system with lengths, number formats and
// limits, into the problems that are estimated and searched.
package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"throughline/assume"
	"throughline/deploy"
	"throughline/estimate"
	"throughline/experts"
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
	Popularity   string // of experts, as experts.ParsePopularity reads it; empty: as it is assumed
}

// Formats are number formats by name; empty ones follow from the others.
type Formats struct {
	Weights, Activations, Cache, Comm, Attention, Vector string
}

// Loaded is a scenario whose files have been read.
type Loaded struct {
	Scenario
	Asked       workload.Lengths // before they were spread
	Shape       *model.Model
	Settings    *model.Settings
	Prefill     *hardware.System
	Decode      *hardware.System
	Precision   plan.Precision
	Assumptions *assume.Assumptions
	Warnings    []document.Problem
	Visited     *experts.Popularity // nil: as it is assumed
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
	if l.Prefill != nil && l.Decode != nil {
		l.Precision, err = s.Formats.precision(l.Prefill, l.Decode)
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
	note(l.visit())
	if len(errs) > 0 {
		return nil, document.Join(errs...)
	}
	if l.Lengths, err = l.Fill(l.Lengths); err != nil {
		return nil, err
	}
	return l, nil
}

// visit reads how often experts are visited.
func (l *Loaded) visit() error {
	if l.Popularity == "" {
		return nil
	}
	p, err := experts.ParsePopularity(l.Popularity)
	if err != nil {
		return fmt.Errorf("popularity: %w", err)
	}
	if c := p.Counts; c != nil && l.Shape != nil && len(c.Layers[0]) != l.Shape.Experts.Routed {
		return fmt.Errorf("popularity: %d experts are counted, %s has %d", len(c.Layers[0]), l.Shape.Name, l.Shape.Experts.Routed)
	}
	l.Visited = &p
	return nil
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

// formatNames are the names of number formats on the command line, and the number types whose rates they use, best first.
var formatNames = []struct {
	name  string
	types []string
	bytes float64
}{
	{"fp4", []string{"float4"}, 0.5},
	{"int4", []string{"int4"}, 0.5},
	{"fp8", []string{"float8"}, 1},
	{"int8", []string{"int8"}, 1},
	{"fp16", []string{"float16", "bfloat16"}, 2},
	{"bf16", []string{"bfloat16", "float16"}, 2},
	{"fp32", []string{"float32"}, 4},
}

// FormatNames are the names of number formats.
func FormatNames() []string {
	var out []string
	for _, f := range formatNames {
		out = append(out, f.name)
	}
	return out
}

// precision resolves formats on the systems. Activations have the width of the weights if that can be computed with,
// else two bytes; the cache is left to the engine unless it is given; communication takes two bytes; attention runs in two bytes, as engines do; the vector unit in
// the widest type of up to two bytes.
func (f Formats) precision(systems ...*hardware.System) (plan.Precision, error) {
	var problems []error
	bytes := func(flag, name string) float64 {
		for _, n := range formatNames {
			if n.name == name {
				return n.bytes
			}
		}
		problems = append(problems, fmt.Errorf("%s: %s", flag, document.NotOneOf(name, FormatNames())))
		return 0
	}
	or := func(name, otherwise string) string {
		if name == "" {
			return otherwise
		}
		return name
	}
	weights := or(f.Weights, "bf16")
	activations := f.Activations
	if activations == "" {
		activations = "bf16"
		if _, ok := rate(weights, matrixTypes, systems); ok {
			activations = weights
		}
	}
	comm := or(f.Comm, "bf16")
	attention, vector := or(f.Attention, "bf16"), or(f.Vector, "bf16")
	p := plan.Precision{
		Weight: bytes("--weights", weights), Activation: bytes("--activations", activations),
		Comm: bytes("--comm", comm),
	}
	if f.Cache != "" {
		p.Cache = bytes("--cache", f.Cache)
	}
	bytes("--attention", attention)
	bytes("--vector", vector)
	if len(problems) > 0 {
		return p, document.Join(problems...)
	}
	pick := func(flag, format, unit string, types func(*hardware.System) []string) string {
		t, ok := rate(format, types, systems)
		if !ok {
			var have []string
			for _, s := range systems {
				have = append(have, fmt.Sprintf("%s has %s", s.Name, document.QuoteList(types(s))))
			}
			problems = append(problems, fmt.Errorf("%s %s: no %s rate for it; %s", flag, format, unit, strings.Join(slices.Compact(have), ", ")))
		}
		return t
	}
	p.MatrixType = pick("--activations", activations, "matrix", matrixTypes)
	p.AttentionType = pick("--attention", attention, "matrix", matrixTypes)
	p.VectorType = pick("--vector", vector, "vector", vectorTypes)
	return p, document.Join(problems...)
}

func matrixTypes(s *hardware.System) []string { return s.MatrixTypes() }
func vectorTypes(s *hardware.System) []string { return s.VectorTypes() }

// rate is the number type that a format uses on all systems.
func rate(format string, types func(*hardware.System) []string, systems []*hardware.System) (string, bool) {
	for _, f := range formatNames {
		if f.name != format {
			continue
		}
		for _, t := range f.types {
			if !slices.ContainsFunc(systems, func(s *hardware.System) bool { return !slices.Contains(types(s), t) }) {
				return t, true
			}
		}
	}
	return "", false
}

// Deployment is the scenario as a deployment that has no pools yet.
func (l *Loaded) Deployment() deploy.Deployment {
	return deploy.Deployment{
		Name: l.Model, Model: l.Shape, Settings: l.Settings, Precision: l.Precision, Assume: l.Assumptions, Offload: l.Offload, Visited: l.Visited,
		Acceptance: workload.DraftAcceptance, MaxContext: l.Lengths.Final(), MaxPrompt: l.Lengths.Input,
	}
}
