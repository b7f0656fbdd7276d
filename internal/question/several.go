package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/axis"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/workload"
)

// Curve is a setting that is given several values: a question for each.
type Curve struct {
	Name    string // by which it is given
	Setting *Setting
	*axis.Axis
}

// Curves finds the settings among the words of a command that are lists or ranges, in the order of
// the table. The others stay words.
func Curves(in *files.Door, of Command, words map[string]string) (curves []Curve, rest map[string]string, err error) {
	rest = map[string]string{}
	for name, text := range words {
		rest[name] = text
	}
	var errs []error
	for _, s := range Settings(of) {
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			text, ok := words[name]
			if !ok {
				continue
			}
			a, err := s.Several(in, text)
			if s.Each&of != 0 && axis.IsSeveral(text) {
				a, err = s.Listed(text)
			}
			if errs = append(errs, renamed(s.Name, name, err)); a != nil || err != nil {
				curves = append(curves, Curve{name, s, a})
				delete(rest, name)
			}
		}
	}
	return curves, rest, document.Join(errs...)
}

// Several reads a list or a range of values of the setting; nil: the text is one value. A setting
// that is a list by itself has one value, and so has what is a value as a whole, such as the
// assumptions physical,causal=false, the limit p99:2s or a file with a comma in its name.
func (s *Setting) Several(in *files.Door, text string) (*axis.Axis, error) {
	text = strings.TrimSpace(text)
	if s.List != "" || s.Apart || !axis.IsSeveral(text) || s.isOne(in, text) {
		return nil, nil
	}
	scratch := zeroQuestion
	a, err := s.reader(text).Parse(text)
	if err != nil {
		if own := s.Set(&scratch, text); s.Kind() == Text && own != nil {
			return nil, own // which says what a value looks like
		}
		return nil, wrong(s.Name, err.Error())
	}
	if a.Relative {
		return nil, wrong(s.Name, fmt.Sprintf("%q: multiples are for numbers of files, such as sys.mem1.GBps", text))
	}
	var errs []error
	for i := range a.Texts {
		errs = append(errs, s.Set(&scratch, a.Texts[i]))
	}
	return a, document.Join(errs...)
}

// Listed reads the values of a setting that is a list as one of several values.
func (s *Setting) Listed(text string) (*axis.Axis, error) {
	text = s.expanded(text)
	a, err := axis.Reader{Number: parseWatts}.Parse(text)
	if err != nil || s.Unit != watts {
		a, err = axis.Reader{}.Parse(text)
	}
	if err != nil {
		return nil, wrong(s.Name, err.Error())
	}
	return a, s.allowed(strings.Join(a.Texts, ","))
}

// isOne reports whether a text with commas or colons is one value.
func (s *Setting) isOne(in *files.Door, text string) bool {
	switch {
	case s.Kind() != Text:
		return false
	case s.Check != nil:
		return s.allowedWord(s.plainly(text)) == nil
	case len(s.Choices) > 0 && !s.Open:
		return false
	case !strings.Contains(text, ","):
		return true
	}
	_, err := in.Stat(text)
	return err == nil
}

// reader says how the values of a list or range are written.
func (s *Setting) reader(text string) axis.Reader {
	switch kind := s.Kind(); {
	case kind == Count || kind == Number || kind == Time:
		return axis.Reader{Whole: kind == Count, Number: func(text string) (float64, error) {
			scratch := zeroQuestion
			if err := s.Set(&scratch, text); err != nil {
				return 0, plainly(err)
			}
			if v := s.value(&scratch); v.CanInt() {
				return float64(v.Int()), nil
			}
			return s.value(&scratch).Float(), nil
		}}
	case s.Unit == milliseconds && !strings.Contains(text, ","): // a limit in words
		return axis.Reader{Number: func(text string) (float64, error) { return workload.ParseTime(text, milliseconds) }}
	}
	return axis.Reader{}
}

// plainly is an error without the setting that it is about.
func plainly(err error) error {
	if problems, ok := err.(*document.Error); ok && len(problems.Problems) == 1 {
		return fmt.Errorf("%s", problems.Problems[0].Message)
	}
	return err
}

// mostListed limits the values that a range adds to a list.
const mostListed = 10_000

// expanded writes out the ranges in a list of numbers.
func (s *Setting) expanded(text string) string {
	read := axis.Reader{Whole: true, Number: func(text string) (float64, error) { n, err := strconv.Atoi(text); return float64(n), err }}
	switch {
	case s.Unit == watts && s.List == Text:
		read = axis.Reader{Number: parseWatts}
	case s.List != Count:
		return text
	}
	var out []string
	for _, word := range Words(text) {
		a, err := read.Parse(word)
		if err != nil || !strings.Contains(word, ":") || a.Len() > mostListed || s.Check != nil && s.Check(word) == nil {
			out = append(out, word)
			continue
		}
		for i := range a.Len() {
			if text := a.Text(i); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, ",")
}

// Counted writes a number with its suffix out: k is 1024 tokens, and 1000 of anything else.
func Counted(text, unit string) string {
	digits, factor := text, 1.0
	for suffix, power := range map[string]int{"k": 1, "K": 1, "M": 2} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits, factor = rest, 1e3
			if unit == tokens {
				factor = 1 << 10
			}
			if power == 2 {
				factor *= factor
			}
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if digits == text || err != nil {
		return text
	}
	return strconv.FormatFloat(v*factor, 'f', -1, 64)
}

// Units of numbers.
const (
	tokens = "tokens"
	watts  = "W"
)
