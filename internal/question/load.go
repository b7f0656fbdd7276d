package question

import (
	"cmp"
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
	"throughline/internal/fitted"
	"throughline/model"
	"throughline/plan"
	"throughline/workload"
)

// Loaded is a question whose files have been read.
type Loaded struct {
	Question
	Checkpoint  string // of the model, as the command line of an engine names it; empty: not known
	Shape       *model.Model
	Settings    *model.Settings
	Prefill     *hardware.System
	Decode      *hardware.System
	Precision   plan.Precision
	Stored      deploy.Stored // the weights, in words
	Assumptions *assume.Assumptions
	Lengths     workload.Lengths // of requests, spread; those of the question before
	Warnings    []document.Problem
	Visited     *experts.Popularity // how often experts are; nil: not said, all ranks alike
	Corrected   *fitted.File        // by measured runs; nil: none
	Shares      []Share             // of a fleet; none: all processors are those of Prefill and Decode
	// PerHour and Watts are the price and power of a processor outside a fleet; 0: unknown.
	PerHour, Watts float64

	named string // format of the weights that the name of a built-in model says
}

// Load reads the files of a search, checks their consistency and reports all problems at once.
func (q *Question) Load() (*Loaded, error) {
	l, err := q.Read()
	errs := []error{err, q.Check(Plan), q.needed()}
	n, err := q.Spread()
	errs = append(errs, err)
	if l != nil {
		errs = append(errs, l.rates())
	}
	if err := document.Join(errs...); err != nil {
		return nil, Once(err)
	}
	if l.Lengths, err = l.Fill(n); err != nil {
		return l, err
	}
	return l, l.fits()
}

// unbounded reports whether the lengths of requests have no longest.
func (q *Question) unbounded() bool { return strings.HasPrefix(q.Spreading(), "lognormal:") }

// fits refuses requests longer than the model's context, which no engine would accept.
func (l *Loaded) fits() error {
	longest, most := l.Lengths.MaxFinal(), l.Shape.Positions
	if l.unbounded() {
		longest = l.Lengths.Final()
	}
	if most == 0 || longest <= most {
		return nil
	}
	setting, what := "isl", "a request"
	switch {
	case l.Traffic.Turns > 1:
		setting, what = "turns", "the last turn"
	case recordedLength(l) && l.Traffic.Trace != "":
		setting, what = "trace", "its longest request"
	case recordedLength(l):
		setting, what = "lengths", "its longest request"
	}
	return wrong(setting, fmt.Sprintf("%s of %d tokens, input and output, is longer than the %d positions of %s; a model file with a larger max_position_embeddings, as YaRN allows, is accepted", what, longest, most, l.Shape.Name))
}

// Read reads the model and systems, checks them against the formats and reports all problems.
func (q *Question) Read() (*Loaded, error) {
	l := &Loaded{Question: *q}
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	var err error
	if l.Assumptions, err = assume.Parse(q.Assume); err != nil {
		note(wrong("assume", err.Error()))
	}
	note(l.readModel())
	note(l.readSystems())
	if q.GPULayers > 0 && l.Shape != nil {
		layers := float64(l.Shape.Layers)
		held := max(0, layers+1-float64(q.GPULayers)) / layers
		l.Offload = estimate.Offload{Weights: held, Cache: held}
	}
	if l.Shape != nil && l.Prefill != nil && l.Decode != nil {
		formats := q.Formats
		formats.Weights = cmp.Or(formats.Weights, l.named)
		l.Precision, l.Stored, err = formats.Resolve(l.Shape, l.kinds()...)
		l.Stored.Published = l.Stored.Published || q.Formats.Weights == "" && l.named != ""
		note(err)
	}
	for _, sys := range l.kinds() {
		if sys.Memory2 == nil && l.Offload != (estimate.Offload{}) {
			note(fmt.Errorf("%s has no second memory tier (mem2) to offload to", sys.Name))
		}
	}
	note(l.visit())
	note(l.readFitted())
	if err := document.Join(errs...); err != nil {
		return nil, Once(err)
	}
	return l, nil
}

// readSystems reads those of the two pools, or of a fleet.
func (l *Loaded) readSystems() (err error) {
	if l.Fleet != "" {
		return l.readFleet()
	}
	var wrong error
	l.Prefill, err = l.readSystem("system", l.System)
	l.Decode = l.Prefill
	if l.DecodeSystem != "" {
		l.Decode, wrong = l.readSystem("decode-system", l.DecodeSystem)
	}
	return document.Join(err, wrong)
}

// served stands for experts that are visited as they were seen to be in service.
const served = "served"

// Alike is that of tokens that all visit the same experts, as one token repeated does.
const Alike = "alike"

// popularities are how often experts may be visited.
var popularities = []string{"uniform", served, Alike, "zipf:EXPONENT", "lognormal:SPREAD", "counts:FILE"}

// starts are texts up to their colons.
func starts(of []string) []string {
	var out []string
	for _, text := range of {
		start, _, more := strings.Cut(text, ":")
		if more {
			start += ":"
		}
		out = append(out, start)
	}
	return out
}

// visit reads how often experts are visited.
func (l *Loaded) visit() error {
	if l.Popularity == "" {
		return nil
	}
	if l.Popularity == served {
		if a := l.Assumptions; a != nil {
			l.Visited = &experts.Popularity{Spread: a.ExpertSpread, Blocks: a.ExpertBlocks}
		}
		return nil
	}
	kind, _, _ := strings.Cut(l.Popularity, ":")
	if !slices.ContainsFunc(starts(popularities), func(s string) bool { return strings.TrimSuffix(s, ":") == kind }) {
		return wrong("popularity", document.NotOneOf(l.Popularity, popularities))
	}
	if l.Popularity == Alike {
		if l.Shape != nil && l.Shape.IsMoE() {
			l.Visited = &experts.Popularity{Alike: l.Shape.Experts.TopK}
		}
		return nil
	}
	p, err := experts.ParsePopularity(l.In, l.Popularity)
	if err != nil {
		return wrong("popularity", err.Error())
	}
	if c := p.Counts; c != nil && l.Shape != nil && len(c.Layers[0]) != l.Shape.Experts.Routed {
		return wrong("popularity", fmt.Sprintf("%d experts are counted, %s has %d", len(c.Layers[0]), l.Shape.Name, l.Shape.Experts.Routed))
	}
	l.Visited = &p
	return nil
}

// Check finds settings that are out of bounds, none of their choices, or do not go together.
func (q *Question) Check(of Command) error {
	var errs []error
	for i := range settings {
		if s := &settings[i]; s.For&of != 0 {
			if err := s.check(q); err != nil {
				errs = append(errs, err)
			}
		}
	}
	for _, c := range conflicts {
		if c.of&of != 0 && c.given(q) {
			errs = append(errs, wrong(c.setting, c.why))
		}
	}
	return document.Join(errs...)
}

// needed finds what a search lacks.
func (q *Question) needed() error {
	if q.Fleet != "" {
		return q.neededOfFleet()
	}
	var errs []error
	if q.GPUs == 0 {
		errs = append(errs, wrong("gpus", missing+"the number of GPUs to use"))
	}
	if q.GPUs > 0 && q.PrefillGPUs >= q.GPUs {
		errs = append(errs, wrong("prefill-gpus", fmt.Sprintf("must be less than the %d GPUs: the others decode", q.GPUs)))
	}
	switch {
	case q.Rate > 0:
	case q.Simulates() && q.Traffic.Trace != "": // at its own
	case q.Simulates():
		errs = append(errs, wrong("rate", missing+"limits of percentiles hold at a number of requests per second"))
	case q.Objective == MinGPUs:
		errs = append(errs, wrong("rate", missing+"objective min-gpus needs the requests per second to serve"))
	}
	return document.Join(errs...)
}

// Fill adds the cached tokens that the model file gives and checks that some are left to compute.
func (l *Loaded) Fill(n workload.Lengths) (workload.Lengths, error) {
	n.Cached = max(n.Cached, l.Settings.Cached)
	if n.Cached >= n.Input {
		return n, fmt.Errorf("an input of %d tokens leaves nothing to compute: %d of them are cached", n.Input, n.Cached)
	}
	return n, nil
}

func (l *Loaded) readModel() error {
	f, err := l.find("model", l.Model, model.Catalogue)
	if err != nil {
		return err
	}
	var doc *document.File
	switch l.Checkpoint = f.Checkpoint; {
	case f.BuiltIn:
		l.Checkpoint, _ = model.Repository(l.Model)
	case f.Checkpoint == f.Name: // a file that describes the shape, without weights beside it
		l.Checkpoint = ""
	}
	if f.Source, err = l.changedModel(f.Name, f.Source); err != nil {
		return err
	}
	l.Shape, l.Settings, doc = model.Read(f.Name, f.Source)
	l.Warnings = append(l.Warnings, doc.Warnings()...)
	if f.Name != l.Model {
		l.named = model.NamedFormat(l.Model)
	}
	return doc.Err()
}

func (l *Loaded) readSystem(setting, ref string) (*hardware.System, error) {
	f, err := l.find(setting, ref, hardware.Catalogue)
	if err != nil {
		return nil, err
	}
	s, warnings, err := l.changedSystem(f.Name, f.Source)
	l.Warnings = append(l.Warnings, warnings...)
	if err != nil {
		return s, err
	}
	if err := l.underLimit(s); err != nil {
		return nil, err
	}
	if l.GPUsPerNode == 0 {
		return s, nil
	}
	if most := max(hardware.NodeSize, s.Networks[0].Size); l.GPUsPerNode > most {
		return nil, wrong("gpus-per-node", fmt.Sprintf("%d: a node of %s has at most %d, which its first network joins; a system file with a larger networks[0].size has more", l.GPUsPerNode, s.Name, most))
	}
	return s.InNodes(l.GPUsPerNode), nil
}

// Files are those that the question reads for its model, systems and lengths.
func (q *Question) Files() []string {
	files := q.tables()
	for _, r := range q.references() {
		if f, err := r.in.Locate(r.name, catalogue.Places{In: q.In}); err == nil {
			files = append(files, f.Name)
		}
	}
	return files
}

// Watched are the names under which the question's files are looked up, whether or not they exist.
func (q *Question) Watched() (names []string) {
	in := q.In.Noted(func(name string) { names = append(names, name) })
	for _, r := range q.references() {
		if r.name != "" {
			r.in.Locate(r.name, catalogue.Places{In: in}) // what is wrong with it does not matter here
		}
	}
	return append(names, q.tables()...)
}

// reference is a file by the name of what it describes.
type reference struct {
	name string
	in   catalogue.Set
}

func (q *Question) references() []reference {
	out := []reference{{q.Model, model.Catalogue}, {q.System, hardware.Catalogue}, {q.DecodeSystem, hardware.Catalogue}}
	for _, s := range q.shares() {
		out = append(out, reference{s.Ref, hardware.Catalogue})
	}
	return out
}

// tables are the files that a question names as such; some may be empty.
func (q *Question) tables() []string {
	plan, _, _ := strings.Cut(q.From, "#")
	lengths, recorded := strings.CutPrefix(q.Distribution, "trace:")
	if !recorded {
		lengths = ""
	}
	return []string{lengths, q.Traffic.Trace, q.Traffic.StepTimes, plan, q.Fitted}
}

// Find reads what a setting refers to: a file, in the working directory or beside, or a built-in.
func Find(setting, ref string, set catalogue.Set, places catalogue.Places) (catalogue.File, error) {
	if ref == "" {
		return catalogue.File{}, wrong(setting, fmt.Sprintf(missing+"a %s file or a built-in name (\"throughline %ss\" lists them)", set.What, set.What))
	}
	f, err := set.Locate(ref, places)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*catalogue.NoConfig)):
		return f, wrong(setting, err.Error())
	}
	return f, document.Unreadable(places.In, ref, err)
}

func (q *Question) find(setting, ref string, set catalogue.Set) (catalogue.File, error) {
	return Find(setting, ref, set, q.Places())
}

// Places are where the question looks up files.
func (q *Question) Places() catalogue.Places { return catalogue.Places{In: q.In, Beside: q.Beside} }

// Deployment is the question as a deployment that has no pools yet.
func (l *Loaded) Deployment() deploy.Deployment {
	return deploy.Deployment{
		Name: l.Checkpoint, Model: l.Shape, Settings: l.Settings, Precision: l.Precision, Stored: l.Stored, Assume: l.Assumptions, Offload: l.Offload,
		Visited:       l.Visited,
		ServerOptions: l.Traffic.ServerOptions, Versioned: versioned(l.Engine),
		Acceptance: workload.Acceptance(l.Shape.DraftLengths), GPUsPerNode: l.GPUsPerNode, MaxContext: l.longest(l.Lengths.MaxFinal()), MaxPrompt: l.longest(l.Lengths.MaxInput()),
	}
}

// longest caps the tokens of the longest request at the model's context, since some length
// distributions are unbounded.
func (l *Loaded) longest(tokens int) int {
	if l.Shape.Positions > 0 {
		return min(tokens, l.Shape.Positions)
	}
	return tokens
}

// missing is how the problem of a setting starts that is not given.
const missing = "is missing: "

// Once leaves out problems that stand there before, and does not miss what was given wrongly.
func Once(err error) error {
	var all *document.Error
	if !errors.As(err, &all) {
		return err
	}
	seen := map[document.Problem]bool{}
	reported := map[string]bool{}
	var out document.Error
	for _, p := range all.Problems {
		if !seen[p] && !(reported[p.Path] && strings.HasPrefix(p.Message, missing)) {
			seen[p], reported[p.Path] = true, p.Path != ""
			out.Problems = append(out.Problems, p)
		}
	}
	return &out
}

// Contents are the files that the question reads, by the names that it has for them.
func (q *Question) Contents() (map[string][]byte, error) {
	out := map[string][]byte{}
	var errs []error
	for _, r := range q.references() {
		if r.name == "" {
			continue
		}
		f, err := r.in.Locate(r.name, q.Places())
		out[r.in.What+" "+r.name] = f.Source
		errs = append(errs, err)
	}
	for _, name := range q.tables() {
		if name == "" {
			continue
		}
		src, err := document.ReadFile(q.In, name)
		out["file "+name] = src
		errs = append(errs, err)
	}
	return out, document.Join(errs...)
}
