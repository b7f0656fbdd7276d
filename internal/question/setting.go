package question

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/internal/document"
	"throughline/workload"
)

// Setting is one thing that can be asked: a flag, a table column or a key in a plan's JSON.
type Setting struct {
	Name    string
	Short   string   // one letter, for a flag
	Aliases []string // other names of the flag
	Doc     string
	As      map[Command]string // Doc of commands for which it means something else
	Unit    string             // of a number; of a time ms or s, which may be written with another unit

	Low, High float64
	Above     bool                 // Low itself is too low
	Below     bool                 // High itself is too high
	Infinite  bool                 // inf is allowed, too
	Free      func(*Question) bool // whether any number is allowed beside others; nil: never
	Optional  bool                 // a number that is 0 where it is not given, whatever its bounds
	List      Kind                 // several values with commas between them, in a text: of this kind; empty: one value
	Joint     string               // between the values of a flag that is repeated; empty: a comma
	Each      Command              // commands that ask one question for each value of the list

	Choices []string
	Open    bool               // other values than the choices are allowed
	Check   func(string) error // of an open value, besides
	Also    map[string]string  // other words for choices, such as those of rows of a plan

	For   Command
	Group string // of a form, and its place in the order of all of them
	Rank  int
	Opens bool // words of it may name files
	// Apart: belongs to the whole command, like an input file; no table column or plan word.
	Apart bool
	Ref   func(*Question) any // a pointer to the value
	Idle  reason              // why it has no effect beside the others; nil: it always has one
}

// Command is a set of commands.
type Command uint32

const (
	Plan Command = 1 << iota
	Estimate
	Explain
	Compare
	Simulate
	Comm
	Ops       // validate ops
	Forward   // validate forward
	Steps     // validate steps
	Serving   // validate serving
	Published // validate published
	Requests  // validate requests
	Calibrate
	Run
	Import // models import
	Scenario
	CalibrateServing
	Bench
	Emulate
	Matrix
	Power          // validate power
	Joules         // validate energy
	CalibratePower // calibrate power
	SweepRun       // sweep run
	SweepVerify    // sweep verify
	SweepJob       // sweep job slurm, sweep job k8s
	end            // of the commands

	Point    = Estimate | Explain | Compare // commands on one deployment
	Served   = Simulate | Emulate           // on one under way
	Deployed = Point | Served
	Drawn    = Plan | Point | Simulate // whose requests are drawn here
	Tables   = Ops | Forward | Steps | Serving | Published | Power | Joules
	All      = end - 1
)

// Commands are all that have settings, and how they are called.
var Commands = []struct {
	Command
	Path string
}{
	{Plan, "plan"}, {Estimate, "estimate"}, {Explain, "explain"}, {Compare, "compare"}, {Simulate, "simulate"}, {Comm, "comm"},
	{Ops, "validate ops"}, {Forward, "validate forward"}, {Steps, "validate steps"}, {Serving, "validate serving"}, {Published, "validate published"}, {Requests, "validate requests"},
	{Calibrate, "calibrate"}, {Run, "run"}, {Import, "models import"},
	{Scenario, "scenario"},
	{CalibrateServing, "calibrate serving"},
	{Bench, "bench"},
	{Emulate, "emulate"},
	{Matrix, "matrix"},
	{Power, "validate power"}, {Joules, "validate energy"}, {CalibratePower, "calibrate power"},
	{SweepRun, "sweep run"}, {SweepVerify, "sweep verify"}, {SweepJob, "sweep job"},
}

// Paths are what some commands are called.
func (c Command) Paths() []string {
	var out []string
	for _, one := range Commands {
		if one.Command&c != 0 {
			out = append(out, one.Path)
		}
	}
	return out
}

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

func Lookup(of Command, name string) (*Setting, bool) {
	for i := range settings {
		if s := &settings[i]; s.Name == name && s.For&of != 0 {
			return s, true
		}
	}
	return nil, false
}

// Column finds a setting of a table by name or alias, treating dashes and underscores alike.
func Column(of Command, name string) (*Setting, bool) {
	dashes := func(name string) string {
		return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	}
	name = dashes(name)
	if s, ok := Lookup(of, name); ok {
		return s, !s.Apart
	}
	for _, s := range Settings(of) {
		if !s.Apart && slices.ContainsFunc(s.Aliases, func(alias string) bool { return dashes(alias) == name }) {
			return s, true
		}
	}
	return nil, false
}

// Named lets an engine's own name for a setting select that engine; with another it is an error.
func (q *Question) Named(name string) error {
	only := engine.OnlyOf(name)
	switch {
	case only == "":
		return nil
	case engine.IsOpen(q.Engine):
		q.Engine = only
		return nil
	}
	if e, err := engine.Find(q.Engine); err != nil || e.Name == only || e == engine.Generic { // an unknown engine is reported elsewhere
		return nil
	}
	s, _ := Column(Estimate, name)
	return wrong(name, fmt.Sprintf("is an option of %s, not of %s; %s says the same of any engine", only, q.Engine, s.Name))
}

// Columns are the names of the settings of a table of deployments.
func Columns(of Command) []string {
	var out []string
	for _, s := range Settings(of) {
		if !s.Apart {
			out = append(out, s.Name)
		}
	}
	return out
}

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

// zeroQuestion is a question of which the kinds of settings are read, and nothing else.
var zeroQuestion Question

func (s *Setting) Kind() Kind {
	switch s.value(&zeroQuestion).Kind() {
	case reflect.Bool:
		return Switch
	case reflect.Int:
		return Count
	case reflect.Float64:
		if s.isTime() {
			return Time
		}
		return Number
	}
	return Text
}

func (s *Setting) isTime() bool { return s.Unit == milliseconds || s.Unit == seconds }

func (s *Setting) value(q *Question) reflect.Value { return reflect.ValueOf(s.Ref(q)).Elem() }

// Get is the value as text; empty where it is not given.
func (s *Setting) Get(q *Question) string {
	v := s.value(q)
	if v.IsZero() && v.Kind() != reflect.Bool {
		return ""
	}
	if v.Kind() == reflect.Float64 && math.IsInf(v.Float(), 1) {
		return "inf"
	}
	return fmt.Sprint(v.Interface())
}

func (s *Setting) Set(q *Question, text string) error {
	v := s.value(q)
	if s.Kind() == Count || s.Kind() == Number {
		text = Counted(text, s.Unit)
	}
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
		if s.Free != nil && s.Free(q) && n >= 0 {
			return nil
		}
		return s.inBounds(float64(n), strconv.Itoa(n))
	case reflect.Float64:
		x, err := s.parse(text)
		if err != nil {
			return err
		}
		v.SetFloat(x)
		return s.inBounds(x, numberOf(x))
	}
	v.SetString(s.plainly(s.expanded(text)))
	return s.allowed(v.String())
}

// plainly restores the spelling of choices given in another case, by synonym or before a colon.
func (s *Setting) plainly(text string) string {
	if s.List != "" {
		return text
	}
	for word, choice := range s.Also {
		if strings.EqualFold(word, text) {
			return choice
		}
	}
	if kind, value, given := strings.Cut(text, ":"); given {
		if start := document.Spelled(kind+":", s.Choices); slices.Contains(s.Choices, start) {
			return start + value
		}
	}
	starts := slices.ContainsFunc(s.Choices, func(choice string) bool { return strings.HasSuffix(choice, ":") })
	if s.Open && s.Check == nil && !starts { // it may be a file, whose name says what it is
		return text
	}
	return document.Spelled(text, s.Choices)
}

// parse reads a number, or a time with its unit.
func (s *Setting) parse(text string) (float64, error) {
	read, what := strconv.ParseFloat, "a number"
	if s.isTime() {
		read, what = func(text string, _ int) (float64, error) { return workload.ParseTime(text, s.Unit) }, "a time like 2s, 50ms or 300us, or a number of "+s.Unit
	}
	if s.Unit == percent {
		text = strings.TrimSuffix(text, "%")
	}
	x, err := read(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && s.Infinite: // no one means inf by it
		return 0, wrong(s.Name, s.bounds()+", not "+text)
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, wrong(s.Name, fmt.Sprintf("must be %s%s, not %q", what, s.orInfinite(), text))
	}
	return x, nil
}

// Units of times.
const (
	milliseconds = "ms"
	seconds      = "s"
)

// percent is a unit that may be written with a number.
const percent = "%"

// check reports a value that is out of bounds or not a choice; missing values pass.
func (s *Setting) check(q *Question) error {
	v := s.value(q)
	switch v.Kind() {
	case reflect.Int:
		if s.Optional && v.Int() == 0 || s.Free != nil && s.Free(q) {
			return nil
		}
		return s.inBounds(float64(v.Int()), strconv.FormatInt(v.Int(), 10))
	case reflect.Float64:
		if s.Optional && v.Float() == 0 {
			return nil
		}
		return s.inBounds(v.Float(), numberOf(v.Float()))
	case reflect.String:
		return s.allowed(v.String())
	}
	return nil
}

// inBounds refuses what is out of bounds, and what is no number at all.
func (s *Setting) inBounds(x float64, text string) error {
	low := x > s.Low || x == s.Low && !s.Above
	if low && (x < s.High || x == s.High && !s.Below || s.Infinite && math.IsInf(x, 1)) {
		return nil
	}
	return wrong(s.Name, s.bounds()+", not "+text)
}

// bounds says what a number must be.
func (s *Setting) bounds() string {
	unit := strings.TrimRight(" "+s.Unit, " ")
	if !s.Above && !s.Below {
		return fmt.Sprintf("must be from %s to %s%s%s", numberOf(s.Low), numberOf(s.High), unit, s.orInfinite())
	}
	low, high := "at least", "at most"
	if s.Above {
		low = "above"
	}
	if s.Below {
		high = "less than"
	}
	return fmt.Sprintf("must be %s %s and %s %s%s%s", low, numberOf(s.Low), high, numberOf(s.High), unit, s.orInfinite())
}

func (s *Setting) orInfinite() string {
	if s.Infinite {
		return ", or inf"
	}
	return ""
}

// numberOf is a number with all its digits; one of hundreds has an exponent.
func numberOf(x float64) string {
	const most = 24
	if text := strconv.FormatFloat(x, 'f', -1, 64); len(text) <= most {
		return text
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// allowed refuses what is none of the choices, unless others are allowed, too.
func (s *Setting) allowed(text string) error {
	if s.List == "" {
		return s.allowedWord(text)
	}
	var errs []error
	for _, word := range Words(text) {
		if s.List != Count {
			errs = append(errs, s.allowedWord(word))
		} else if n, err := strconv.Atoi(word); err == nil {
			errs = append(errs, s.inBounds(float64(n), word))
		} else {
			errs = append(errs, wrong(s.Name, fmt.Sprintf("must be whole numbers %s, not %q", strings.TrimPrefix(s.bounds(), "must be "), word)))
		}
	}
	return document.Join(errs...)
}

func (s *Setting) allowedWord(text string) error {
	switch {
	case text == "", slices.Contains(s.Choices, text) && !strings.HasSuffix(text, ":"): // which is only how a value starts
		return nil
	case len(s.Choices) > 0 && !s.Open:
		return wrong(s.Name, document.NotOneOf(text, s.Choices))
	case s.Check != nil:
		if err := s.Check(text); err != nil {
			return wrong(s.Name, err.Error())
		}
	}
	return nil
}

func Words(text string) []string {
	var out []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// Numbers are those of a list that has been checked.
func Numbers(text string) []int {
	var out []int
	for _, word := range Words(text) {
		n, _ := strconv.Atoi(word)
		out = append(out, n)
	}
	return out
}

// Words are the settings that have a value, as text, so that another command can be asked the same.
func (q Question) Words(of Command) map[string]string {
	if q.Context == 0 {
		n := q.Lengths()
		q.Input, q.Output = n.Input, n.Output
	}
	out := map[string]string{}
	for _, s := range Settings(of) {
		if text := s.Get(&q); text != "" && s.Kind() != Switch && !s.Apart {
			out[s.Name] = text
		}
	}
	return out
}
