package question

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/document"
)

// Setting is one thing that can be asked: a flag of commands, a column of a table, a key of the JSON of a plan.
type Setting struct {
	Name  string
	Short string // one letter, for a flag
	Doc   string
	As    map[Command]string // Doc of commands for which it means something else
	Unit  string             // of a number; of a time ms, which may be written with another unit

	Low, High float64
	Below     bool // High itself is too high
	Optional  bool // a number that is 0 where it is not given, whatever its bounds

	Choices []string
	Open    bool               // other values than the choices are allowed
	Check   func(string) error // of an open value, besides

	For Command
	Ref func(*Question) any // a pointer to the value
	// Idle tells why the setting has no effect beside the others; it is empty where it has one.
	Idle func(l *Loaded, of Command) string
}

// Command is a set of commands.
type Command uint8

const (
	Plan Command = 1 << iota
	Estimate
	Explain
	Forward // validate forward
	Serving // validate serving

	Point = Estimate | Explain // commands on one deployment
	All   = Plan | Point | Forward | Serving
)

// Settings are those of some commands, in the order of the table.
func Settings(of Command) []*Setting {
	var out []*Setting
	for i := range settings {
		if settings[i].For&of != 0 {
			out = append(out, &settings[i])
		}
	}
	return out
}

// Lookup finds a setting of some commands by its name.
func Lookup(of Command, name string) (*Setting, bool) {
	for i := range settings {
		if s := &settings[i]; s.Name == name && s.For&of != 0 {
			return s, true
		}
	}
	return nil, false
}

// Names are the names of the settings of some commands.
func Names(of Command) []string {
	var out []string
	for _, s := range Settings(of) {
		out = append(out, s.Name)
	}
	return out
}

// Help is what the setting means to a command.
func (s *Setting) Help(of Command) string {
	for c, doc := range s.As {
		if c&of != 0 {
			return doc
		}
	}
	return s.Doc
}

// Kind is the kind of value: text, number, count, time or switch.
type Kind string

const (
	Text   Kind = "text"
	Number Kind = "number"
	Count  Kind = "count"
	Time   Kind = "time"
	Switch Kind = "switch"
)

// Kind of the values.
func (s *Setting) Kind() Kind {
	switch s.value(new(Question)).Kind() {
	case reflect.Bool:
		return Switch
	case reflect.Int:
		return Count
	case reflect.Float64:
		if s.Unit == milliseconds {
			return Time
		}
		return Number
	}
	return Text
}

func (s *Setting) value(q *Question) reflect.Value { return reflect.ValueOf(s.Ref(q)).Elem() }

// Get is the value as text; empty where it is not given.
func (s *Setting) Get(q *Question) string {
	v := s.value(q)
	if v.IsZero() && v.Kind() != reflect.Bool {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// Set reads the value from text.
func (s *Setting) Set(q *Question, text string) error {
	v := s.value(q)
	switch v.Kind() {
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return wrong(s.Name, fmt.Sprintf("must be true or false, not %q", text))
		}
		v.SetBool(on)
		return nil
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if errors.Is(err, strconv.ErrRange) {
			return wrong(s.Name, s.bounds()+", not "+text)
		} else if err != nil {
			return wrong(s.Name, fmt.Sprintf("must be a whole number, not %q", text))
		}
		v.SetInt(int64(n))
		return s.inBounds(float64(n), strconv.Itoa(n))
	case reflect.Float64:
		x, err := s.parse(text)
		if err != nil {
			return err
		}
		v.SetFloat(x)
		return s.inBounds(x, numberOf(x))
	}
	v.SetString(text)
	return s.allowed(text)
}

// parse reads a number, or a time with its unit.
func (s *Setting) parse(text string) (float64, error) {
	read, what := strconv.ParseFloat, "a number"
	if s.Unit == milliseconds {
		read, what = func(text string, _ int) (float64, error) { return ParseTime(text) }, "a time like 2s, 50ms or 300us, or a number of ms"
	}
	x, err := read(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, wrong(s.Name, fmt.Sprintf("must be %s, not %q", what, text))
	}
	return x, nil
}

const milliseconds = "ms"

// TimeUnits are the units of times in ms. A number without one is in ms.
var TimeUnits = map[string]float64{"": 1, "ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1e3, "min": 60e3}

// ParseTime reads a time like 2s, 50ms or 300us in ms.
func ParseTime(text string) (float64, error) {
	text = strings.TrimSpace(text)
	number := strings.TrimRight(text, "nuµμmsi")
	unit, ok := TimeUnits[text[len(number):]]
	if !ok {
		// NaN and Inf are numbers to ParseFloat: what is wrong with them are the bounds.
		number, unit = text, 1
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return x * unit, err
}

// check reports a value that is out of bounds or none of the choices. What is not given is not wrong.
func (s *Setting) check(q *Question) error {
	v := s.value(q)
	switch v.Kind() {
	case reflect.Int:
		if s.Optional && v.Int() == 0 {
			return nil
		}
		return s.inBounds(float64(v.Int()), strconv.FormatInt(v.Int(), 10))
	case reflect.Float64:
		return s.inBounds(v.Float(), numberOf(v.Float()))
	case reflect.String:
		return s.allowed(v.String())
	}
	return nil
}

// inBounds refuses what is out of bounds, and what is no number at all.
func (s *Setting) inBounds(x float64, text string) error {
	if x >= s.Low && (x < s.High || x == s.High && !s.Below) {
		return nil
	}
	return wrong(s.Name, s.bounds()+", not "+text)
}

// bounds says what a number must be.
func (s *Setting) bounds() string {
	unit := strings.TrimRight(" "+s.Unit, " ")
	if s.Below {
		return fmt.Sprintf("must be at least %s and less than %s%s", numberOf(s.Low), numberOf(s.High), unit)
	}
	return fmt.Sprintf("must be from %s to %s%s", numberOf(s.Low), numberOf(s.High), unit)
}

// Values says in short what may be given.
func (s *Setting) Values() string {
	const shown = 8 // choices
	switch kind := s.Kind(); {
	case kind == Switch:
		return "true, false"
	case kind != Text && s.Below:
		return strings.TrimRight(fmt.Sprintf("%s to less than %s %s", numberOf(s.Low), numberOf(s.High), s.Unit), " ")
	case kind != Text:
		return strings.TrimRight(fmt.Sprintf("%s to %s %s", numberOf(s.Low), numberOf(s.High), s.Unit), " ")
	case len(s.Choices) == 0:
		return "text"
	case len(s.Choices) > shown:
		return "a built-in name or a file"
	}
	return strings.Join(s.Choices, ", ")
}

func numberOf(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// allowed refuses what is none of the choices, unless others are allowed, too.
func (s *Setting) allowed(text string) error {
	switch {
	case text == "", len(s.Choices) == 0, slices.Contains(s.Choices, text):
		return nil
	case !s.Open:
		return wrong(s.Name, document.NotOneOf(text, s.Choices))
	case s.Check != nil:
		if err := s.Check(text); err != nil {
			return wrong(s.Name, err.Error())
		}
	}
	return nil
}

// Words are the settings of some commands that have a value, as text: another command can be asked the same with them.
func (q Question) Words(of Command) map[string]string {
	if q.Context == 0 {
		n := q.Lengths()
		q.Input, q.Output = n.Input, n.Output
	}
	out := map[string]string{}
	for _, s := range Settings(of) {
		if text := s.Get(&q); text != "" && s.Kind() != Switch {
			out[s.Name] = text
		}
	}
	return out
}

// Idle are notes on settings that are given and have no effect, as settings and reasons.
func (l *Loaded) Idle(of Command, given func(name string) bool) []document.Problem {
	var out []document.Problem
	for _, s := range Settings(of) {
		if s.Idle == nil || !given(s.Name) {
			continue
		}
		if why := s.Idle(l, of); why != "" {
			out = append(out, document.Problem{Path: s.Name, Message: "has no effect: " + why})
		}
	}
	return out
}
