package question

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/model"
)

// Subject is the file whose number is changed.
type Subject string

const (
	OfSystem Subject = "sys"
	OfModel  Subject = "model"
	OfEngine Subject = "engine"
)

// Change is a number of a file that differs.
type Change struct {
	Of    Subject
	Path  string // in the file
	Value float64
	Times bool // a multiple of what the file has
}

// IsPath reports whether a name is the path of a number rather than a setting.
func IsPath(name string) bool {
	of, _, found := strings.Cut(name, ".")
	return found && (of == string(OfSystem) || of == string(OfModel) || of == string(OfEngine))
}

// FromParameters is the words of a question that is written as parameters of an address:
// model=llama_3_8b&system=H200&sys.mem1.GBps=6000. What is none has no words.
func FromParameters(text string) map[string]string {
	out := map[string]string{}
	q, err := url.ParseQuery(text)
	if err != nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case !IsPath(name):
			out[name] = q.Get(name)
		case out["set"] == "":
			out["set"] = name + "=" + q.Get(name)
		default:
			out["set"] += "," + name + "=" + q.Get(name)
		}
	}
	return out
}

func parseChange(word string) (Change, error) {
	name, text, ok := strings.Cut(word, "=")
	name = strings.TrimSpace(name)
	if !ok || !IsPath(name) {
		return Change{}, fmt.Errorf("%q is not of the form PATH=VALUE, where a path starts with sys., model. or engine.: sys.mem1.GBps=6000", word)
	}
	of, path, _ := strings.Cut(name, ".")
	number, times := strings.CutPrefix(strings.TrimSpace(text), "x")
	v, err := strconv.ParseFloat(Counted(number, ""), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return Change{}, fmt.Errorf("%s: %q is not a number like 6000, nor a multiple like x2", name, text)
	}
	return Change{Subject(of), path, v, times}, nil
}

func (c *Change) of(was float64) float64 {
	if c.Times {
		return c.Value * was
	}
	return c.Value
}

// changes are those of one kind of file.
func (q *Question) changes(of Subject) (out []Change) {
	for _, word := range Words(q.Changed) {
		if c, err := parseChange(word); err == nil && c.Of == of { // what is wrong is said by its setting
			out = append(out, c)
		}
	}
	return out
}

func (q *Question) changedModel(name string, src []byte) (_ []byte, err error) {
	for _, c := range q.changes(OfModel) {
		if src, err = document.ChangeNumber(name, src, c.Path, c.of); err != nil {
			return nil, wrong("set", err.Error())
		}
	}
	return src, nil
}

func (q *Question) ReadModel(name string, src []byte) (*model.Model, *model.Settings, error) {
	src, err := q.changedModel(name, src)
	if err != nil {
		return nil, nil, err
	}
	m, settings, doc := model.Read(name, src)
	return m, settings, doc.Err()
}

func (q *Question) ReadSystem(name string, src []byte) (*hardware.System, error) {
	s, _, err := q.changedSystem(name, src)
	if err == nil {
		err = q.underLimit(s)
	}
	return s, err
}

// changedSystem reads a system with its changes: numbers outside of tables in the system itself,
// all others in its file.
func (q *Question) changedSystem(name string, src []byte) (*hardware.System, []document.Problem, error) {
	s, doc := hardware.Read(name, src)
	if err := doc.Err(); err != nil {
		return s, doc.Warnings(), err
	}
	var errs []error
	var parameters []Change
	for _, c := range q.changes(OfSystem) {
		if _, ok := s.Parameter(c.Path); ok {
			parameters = append(parameters, c)
			continue
		}
		changed, err := document.ChangeNumber(name, src, c.Path, c.of)
		if err != nil {
			errs = append(errs, wrong("set", noParameter(s, c.Path, err)))
			continue
		}
		src = changed
		s, doc = hardware.Read(name, src)
		errs = append(errs, doc.Err())
	}
	if err := document.Join(errs...); err != nil {
		return s, doc.Warnings(), err
	}
	for _, c := range parameters {
		p, _ := s.Parameter(c.Path)
		v := c.of(p.Of(s))
		if v < p.Low || v > p.High {
			errs = append(errs, wrong("set", fmt.Sprintf("sys.%s must be from %s to %s, not %s", c.Path, numberOf(p.Low), numberOf(p.High), numberOf(v))))
			continue
		}
		s = p.With(s, v)
	}
	return s, doc.Warnings(), document.Join(errs...)
}

// noParameter says which number of a system was meant.
func noParameter(s *hardware.System, path string, err error) string {
	var names []string
	for _, p := range s.Parameters() {
		names = append(names, p.Name)
	}
	if near, ok := document.Nearest(path, names); ok {
		return fmt.Sprintf("%s has no number %q; did you mean %q?", s.Name, path, near)
	}
	return err.Error() + "; such numbers are mem1.GBps, mem1.GiB, networks[0].bandwidth, matrix.bfloat16.tflops"
}

func (l *Loaded) changedEngines(name string, choice []*engine.Engine) ([]*engine.Engine, error) {
	changes := l.changes(OfEngine)
	if len(changes) == 0 {
		return choice, nil
	}
	_, version, older := strings.Cut(name, "@")
	var out []*engine.Engine
	var errs []error
	for _, e := range choice {
		var err error
		for _, c := range changes {
			if err == nil {
				e, err = e.Changed(c.Path, c.of)
			}
		}
		if err == nil && older {
			e, err = e.At(version)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, e)
	}
	if len(out) == 0 { // another engine of a choice may have no such number
		return nil, wrong("set", errors.Join(errs...).Error())
	}
	return out, nil
}
