// Package scan is many questions at once: what they share, the axes along which they differ, and
// the conditions that answers must meet. Point i is a pure function of the scan and i.
package scan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/axis"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
)

const MostPoints = 1_000_000_000_000

// Axis is a setting or a number of a file that takes several values.
type Axis struct {
	Name    string            // of the setting as given, or the path of the number
	Setting *question.Setting // nil: a path
	*axis.Axis
}

type Scan struct {
	In    *files.Door // to the files that they name
	Of    question.Command
	Words map[string]string // what all of them say
	Axes  []Axis            // as given
	// group is the axes that move together, outermost group first.
	groups [][]int
	Where  []Condition

	Design axis.Design
	Points int // of a design other than a grid
	Seed   uint64
	Aims   []Aim
	// Rounds are the first points of rounds, and the number of points: a round follows from the
	// answers of those before.
	Rounds []int
	zooms  []*axis.Zoom // by round
}

// Aim is a figure that is to be high or low.
type Aim struct {
	Figure string
	Low    bool
}

type Request struct {
	Command  string            `json:"command" required:"true" doc:"what is asked at each point"`
	Settings map[string]string `json:"settings" doc:"settings that all points share, or that have lists and ranges of their own"`
	Vary     []string          `json:"vary" doc:"axes, each a setting or a path with its values: sys.mem1.GBps=3000:12500:20"`
	Link     []string          `json:"link" doc:"axes that move together, with commas between them"`
	Where    []string          `json:"where" doc:"conditions, such as tpot <= 20ms"`
	Design   string            `json:"design" enum:"grid,latin,sobol,halton" doc:"how points are spread: every combination, or a number of points"`
	Samples  int               `json:"samples" doc:"number of points of a design other than grid"`
	Seed     int               `json:"seed" doc:"of a design that draws"`
	Keep     string            `json:"keep" doc:"rows to keep: all, best:N or frontier"`

	Optimise    []string `json:"optimise,omitempty" doc:"two or three figures to be high or low: max:tokens_per_s_per_gpu, min:usd_per_m_tokens"`
	Sensitivity string   `json:"sensitivity,omitempty" enum:"morris,sobol" doc:"how much each axis matters: effects of one at a time, or shares of the variance"`
}

// FromWords is the scan that the words of a command ask for; nil: one question.
func FromWords(in *files.Door, of question.Command, words map[string]string) (*Scan, error) {
	query := question.NewQuery(in, of, words)
	q := query.Question
	r := &Request{Command: of.Paths()[0], Settings: map[string]string{}, Vary: axisTexts(q.Vary), Where: question.Words(q.Where), Design: q.Design, Samples: q.Samples,
		Optimise: question.Words(q.Optimise), Sensitivity: q.Sensitivity}
	for name, text := range words {
		if s, ok := question.Lookup(of, name); !ok || !slices.Contains([]string{"vary", "link", "where", "design", "samples", "optimise", "sensitivity"}, s.Name) {
			r.Settings[name] = text
		}
	}
	if q.Link != "" {
		r.Link = strings.Split(q.Link, ";")
	}
	curves, _, err := question.Curves(in, of, r.Settings)
	if len(r.Vary) == 0 && len(curves) == 0 && err == nil {
		if query.Wrong != nil {
			return nil, nil // which the one question says
		}
		for _, s := range []struct{ name, text string }{{"where", q.Where}, {"link", q.Link}, {"design", q.Design}, {"optimise", q.Optimise}, {"sensitivity", q.Sensitivity}} {
			if s.text != "" {
				return nil, question.OfSetting(s.name, errors.New("is for several questions: give a setting several values, or vary one"))
			}
		}
		return nil, nil
	}
	return New(in, r)
}

// RequestOfRun is how a runtime file is run, in words.
func RequestOfRun(q *question.Question) *Request {
	r := &Request{Command: question.Run.Paths()[0], Settings: map[string]string{"assume": q.Assume}, Vary: axisTexts(q.Vary), Design: q.Design, Samples: q.Samples}
	for name, text := range map[string]string{"set": q.Changed, "power-limit": q.PowerLimit} {
		if text != "" {
			r.Settings[name] = text
		}
	}
	for name, v := range map[string]float64{"energy-price": q.Tariff.PerKWh, "pue": q.Tariff.PUE, "carbon": q.Tariff.Carbon} {
		if v > 0 {
			r.Settings[name] = strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	if q.Link != "" {
		r.Link = strings.Split(q.Link, ";")
	}
	return r
}

// OfRun is the points of the numbers of files at which a runtime file is run; nil: its files are as
// they are.
func OfRun(in *files.Door, q *question.Question) (*Scan, error) {
	if q.Vary == "" && q.Changed == "" && q.PowerLimit == "" && q.Link == "" && q.Design == "" && q.Samples == 0 {
		return nil, nil
	}
	r := RequestOfRun(q)
	var errs []error
	for _, s := range []struct {
		name  string
		texts []string
	}{{"vary", r.Vary}, {"set", question.Words(q.Changed)}} {
		for _, text := range s.texts {
			name, _, _ := strings.Cut(text, "=")
			switch of, _, _ := strings.Cut(strings.TrimSpace(name), "."); {
			case of == string(question.OfEngine):
				errs = append(errs, question.OfSetting(s.name, fmt.Errorf("%s: paths of a runtime file start with sys. or model., for numbers of its systems and models", name)))
			case !question.IsPath(strings.TrimSpace(name)):
				errs = append(errs, question.OfSetting(s.name, fmt.Errorf("%s: a runtime file lists its settings itself, as in num_procs_list; what varies is a number of a file, by a path that starts with sys. or model.: sys.mem1.GBps=x0.5:x2:5", name)))
			}
		}
	}
	if len(r.Vary) == 0 && len(q.PowerLimits()) < 2 {
		for _, s := range []struct {
			name  string
			given bool
		}{{"link", q.Link != ""}, {"design", q.Design != ""}, {"samples", q.Samples != 0}} {
			if s.given {
				errs = append(errs, question.OfSetting(s.name, errors.New("is for several points: vary a number of a file")))
			}
		}
	}
	if err := document.Join(errs...); err != nil {
		return nil, err
	}
	return New(in, r)
}

// axisTexts splits a list of axes, whose values may have commas between them, too.
func axisTexts(text string) (out []string) {
	for _, word := range question.Words(text) {
		if len(out) > 0 && !strings.Contains(word, "=") {
			out[len(out)-1] += "," + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// Commands are those that can be scanned.
const Commands = question.Plan | question.Estimate | question.Simulate

// New reads a scan, and reports all problems at once.
func New(in *files.Door, r *Request) (*Scan, error) {
	s := &Scan{In: in, Design: axis.Design(cmp.Or(r.Design, string(axis.Grid))), Points: r.Samples, Seed: uint64(r.Seed)}
	for _, c := range question.Commands {
		if c.Path == r.Command {
			s.Of = c.Command
		}
	}
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	if s.Of&(Commands|question.Comm|question.Run) == 0 {
		return nil, question.OfSetting("command", errors.New(document.NotOneOf(r.Command, Commands.Paths())))
	}
	curves, rest, err := question.Curves(s.In, s.Of, r.Settings)
	note(err)
	s.Words = rest
	for _, c := range curves {
		s.Axes = append(s.Axes, Axis{c.Name, c.Setting, c.Axis})
	}
	for _, text := range r.Vary {
		a, err := s.parseAxis(text)
		if err == nil && slices.ContainsFunc(s.Axes, func(b Axis) bool { return b.same(&a) }) {
			err = fmt.Errorf("%s varies twice", a.Name)
		}
		if err == nil && a.Setting != nil {
			delete(s.Words, a.Name)
		}
		note(question.OfSetting("vary", err))
		s.Axes = append(s.Axes, a)
	}
	for text := range strings.SplitSeq(strings.Join(r.Where, " and "), " and ") {
		if text == "" {
			continue
		}
		c, err := ParseCondition(text)
		note(question.OfSetting("where", err))
		s.Where = append(s.Where, c)
	}
	if err := document.Join(errs...); err != nil {
		return nil, err
	}
	note(s.link(r.Link))
	note(s.explore(r))
	note(s.checkDesign())
	if err := document.Join(errs...); err != nil {
		return nil, err
	}
	if n := s.size(); n > MostPoints {
		note(question.OfSetting("vary", fmt.Errorf("%.3g points are more than the %d that a scan may have; give fewer values, or a design of fewer points", n, MostPoints)))
	}
	return s, document.Join(errs...)
}

func (a *Axis) same(b *Axis) bool {
	return a.Name == b.Name || a.Setting != nil && a.Setting == b.Setting
}

// Unit of the values, where they have one.
func (a *Axis) Unit() string {
	if a.Setting == nil {
		return ""
	}
	return a.Setting.Unit
}

// Column is the name of the axis in tables, which databases take without quotes.
func (a *Axis) Column() string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, a.Name)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	if name = strings.Trim(name, "_"); a.Relative {
		name += "_x"
	}
	return name
}

func (s *Scan) parseAxis(text string) (Axis, error) {
	name, values, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok || strings.TrimSpace(values) == "" {
		return Axis{Name: name}, fmt.Errorf("%q is not of the form NAME=VALUES, where values are %s", text, axis.Grammar)
	}
	if question.IsPath(name) {
		read := axis.Reader{Number: func(text string) (float64, error) {
			v, err := strconv.ParseFloat(question.Counted(text, ""), 64)
			if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
				return 0, fmt.Errorf("%q is not a number; those of files have the units of their names", text)
			}
			return v, nil
		}}
		a, err := read.Parse(values)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return Axis{name, nil, a}, err
	}
	setting, ok := question.Column(s.Of, name)
	if !ok && strings.Contains(name, ".") {
		return Axis{Name: name}, fmt.Errorf("%q: the path of a number starts with sys., model. or engine., as in sys.mem1.GBps", name)
	}
	if !ok {
		return Axis{Name: name}, fmt.Errorf("%s; the path of a number starts with sys., model. or engine., as in sys.mem1.GBps", document.NotOneOf(name, question.Columns(s.Of)))
	}
	if setting.List != "" {
		a, err := setting.Listed(values)
		return Axis{setting.Name, setting, a}, err
	}
	a, err := setting.Several(s.In, values)
	if a == nil && err == nil { // one value
		a = &axis.Axis{Texts: []string{strings.TrimSpace(values)}}
	}
	return Axis{setting.Name, setting, a}, err
}

// link groups the axes, and orders the groups so that what is cheap to change moves innermost.
func (s *Scan) link(lists []string) error {
	var errs []error
	linked := map[int]bool{}
	for _, text := range lists {
		var group []int
		for _, name := range question.Words(text) {
			at := slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == name })
			switch {
			case at < 0:
				errs = append(errs, fmt.Errorf("%s does not vary; what does: %s", name, strings.Join(s.names(), ", ")))
				continue
			case linked[at]:
				errs = append(errs, fmt.Errorf("%s is linked twice", name))
			case len(group) > 0 && s.Axes[at].Len() != s.Axes[group[0]].Len():
				first := &s.Axes[group[0]]
				errs = append(errs, fmt.Errorf("%s has %d values and %s has %d; axes that move together have as many", first.Name, first.Len(), name, s.Axes[at].Len()))
			}
			linked[at] = true
			group = append(group, at)
		}
		if names := question.Words(text); len(names) < 2 {
			errs = append(errs, fmt.Errorf("%q names fewer than two axes", text))
		}
		s.groups = append(s.groups, group)
	}
	for i := range s.Axes {
		if !linked[i] {
			s.groups = append(s.groups, []int{i})
		}
	}
	slices.SortStableFunc(s.groups, func(a, b []int) int { return cmp.Compare(s.price(a), s.price(b)) })
	return question.OfSetting("link", document.Join(errs...))
}

// price is how far out a group belongs: 0 what changes files, 1 other settings, 2 numbers of the
// system of bare steps, to which all that is prepared can move, 3 seeds, whose runs are one row.
func (s *Scan) price(group []int) (least int) {
	least = 3
	for _, i := range group {
		a, price := &s.Axes[i], 1
		switch {
		case a.Setting == nil && strings.HasPrefix(a.Name, string(question.OfSystem)+".") && s.Bare():
			price = 2
		case a.Setting == nil || slices.Contains([]string{"model", "system", "decode-system", "assume", "weights", "cache", "activations"}, a.Setting.Name):
			price = 0
		case a.Setting.Name == SeedSetting:
			price = 3
		}
		least = min(least, price)
	}
	return least
}

// Bare reports whether points are bare steps of a deployment.
func (s *Scan) Bare() bool {
	phase := question.Phase(s.Words["phase"])
	return s.Of == question.Estimate && (phase == question.Prefill || phase == question.Decode || s.Words["context"] != "")
}

// SeedSetting is the one whose values are repetitions of the same question.
const SeedSetting = "seed"

func (s *Scan) names() (out []string) {
	for i := range s.Axes {
		out = append(out, s.Axes[i].Name)
	}
	return out
}

func (s *Scan) checkDesign() error {
	switch most := s.Design.Dimensions(); {
	case !slices.Contains(axis.Designs(), string(s.Design)) && s.Rounds == nil && s.Sensitivity() == "":
		return question.OfSetting("design", errors.New(document.NotOneOf(string(s.Design), axis.Designs())))
	case s.Design == axis.Grid && s.Points > 0:
		return question.OfSetting("samples", errors.New("a grid has every combination; a number of points needs the design latin, sobol or halton"))
	case s.Design != axis.Grid && s.Points < 1 && s.Sensitivity() == "":
		return question.OfSetting("samples", fmt.Errorf("the design %s needs a number of points from 1", s.Design))
	case s.Design != axis.Grid && s.Points > math.MaxUint32:
		return question.OfSetting("samples", fmt.Errorf("%d are more than the %d that the design %s has", s.Points, math.MaxUint32, s.Design))
	case most > 0 && len(s.groups) > most:
		return question.OfSetting("design", fmt.Errorf("%s spreads points over up to %d axes, not %d", s.Design, most, len(s.groups)))
	}
	return nil
}

func (s *Scan) size() float64 {
	if s.Design != axis.Grid {
		return float64(s.Points)
	}
	n := 1.0
	for _, g := range s.groups {
		n *= float64(s.Axes[g[0]].Len())
	}
	return n
}

func (s *Scan) Len() int { return int(s.size()) }

// Value is one of an axis.
type Value struct {
	Text   string
	Number float64 // NaN: a word
}

// At fills in the values of point i, in the order of the axes.
func (s *Scan) At(i int, out []Value) {
	if s.Design == axis.Grid {
		for k := len(s.groups) - 1; k >= 0; k-- {
			n := s.Axes[s.groups[k][0]].Len()
			for _, at := range s.groups[k] {
				out[at] = s.Axes[at].Value(i % n)
			}
			i /= n
		}
		return
	}
	shares := make([]float64, len(s.groups))
	s.spread(i, shares)
	for k, g := range s.groups {
		for _, at := range g {
			a := &s.Axes[at]
			out[at] = Value{"", a.Between(shares[k])}
			if a.Texts != nil {
				out[at].Text = a.Texts[a.Place(shares[k])]
			}
		}
	}
}

func (a *Axis) Value(i int) Value {
	if a.Texts != nil {
		return Value{a.Texts[i], a.At(i)}
	}
	return Value{"", a.At(i)}
}

// text is a value as its setting reads it.
func (a *Axis) text(v Value) string { return cmp.Or(v.Text, a.Written(v.Number)) }

// Shown is a value for tables: a number in the unit of the setting, or a text.
func (a *Axis) Shown(v Value) any {
	if math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
		return v.Text
	}
	return v.Number
}

// Asked is a value with which the question can be asked again: x2 is twice what a file has.
func (a *Axis) Asked(v Value) any {
	if a.Relative {
		return a.text(v)
	}
	return a.Shown(v)
}

// WordsAt is the question at some values.
func (s *Scan) WordsAt(values []Value) map[string]string {
	words := maps.Clone(s.Words)
	var changes []string
	for i := range s.Axes {
		a := &s.Axes[i]
		if text := a.text(values[i]); a.Setting != nil {
			words[a.Name] = text
		} else {
			changes = append(changes, a.Name+"="+text)
		}
	}
	if len(changes) > 0 {
		if had := words["set"]; had != "" {
			changes = append([]string{had}, changes...)
		}
		words["set"] = strings.Join(changes, ",")
	}
	s.pricesOf(words)
	return words
}

// pricesOf leaves out the prices and watts of other systems than the one of a point.
func (s *Scan) pricesOf(words map[string]string) {
	at := slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == "system" })
	if at < 0 {
		return
	}
	for _, name := range []string{"price", "power"} {
		var kept []string
		for _, word := range question.Words(words[name]) {
			system, _, _ := strings.Cut(word, "=")
			if slices.Contains(s.Axes[at].Texts, system) && system != words["system"] && system != words["decode-system"] {
				continue
			}
			kept = append(kept, word)
		}
		if len(kept) > 0 {
			words[name] = strings.Join(kept, ",")
		} else {
			delete(words, name)
		}
	}
}

// Check reads the files of the scan: the first point, and every value that changes files by itself.
func (s *Scan) Check() error {
	values := make([]Value, len(s.Axes))
	s.At(0, values)
	errs := []error{s.readable(values)}
	for k := range s.Axes {
		a := &s.Axes[k]
		ends := []int{0, a.Len() - 1}
		if a.Texts != nil && a.Setting != nil {
			ends = ends[:0]
			for i := range a.Texts {
				ends = append(ends, i)
			}
		}
		for _, i := range ends {
			other := slices.Clone(values)
			other[k] = a.Value(i)
			errs = append(errs, s.readable(other))
		}
	}
	return question.Once(s.varied(document.Join(errs...)))
}

// varied says of what varies, which is read as changes of files, that it does.
func (s *Scan) varied(err error) error {
	var all *document.Error
	if errors.As(err, &all) && s.Words["set"] == "" {
		for i := range all.Problems {
			if p := &all.Problems[i]; p.Path == "set" {
				p.Path = "vary"
			}
		}
	}
	return err
}

// readable reads the words and files of one question.
func (s *Scan) readable(values []Value) error {
	words := s.WordsAt(values)
	a := question.NewQuery(s.In, s.Of, words)
	if a.From != "" || s.Of == question.Comm {
		return a.Wrong
	}
	l, err := a.Read()
	if a.Wrong == nil && err == nil {
		_, err = l.Engines(a.Engine) // their numbers may vary as well
	}
	return document.Join(a.Wrong, err)
}
