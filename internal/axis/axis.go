// Package axis reads lists and ranges of values, and spreads points over several of them.
package axis

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Grammar is how lists and ranges are written, for messages.
const Grammar = "a,b,c; a:b (whole numbers); a:b:N (N even values); a:b:logN; a:b:xF (each F times the one before)"

// Most limits the values of an axis.
const Most = 1_000_000_000

// Axis is the values of one number or word, in order.
type Axis struct {
	Texts []string // of a list, as written; nil: a range
	// Numbers are those of a list; nil where its values are words.
	Numbers   []float64
	Low, High float64
	Count     int     // values of a range
	Factor    float64 // between its values; 0: even steps or, if Log, even ratios
	Log       bool
	Whole     bool // values are rounded to whole numbers
	// Relative values are multiples of what is there.
	Relative bool
}

// Reader says what the values of an axis may be.
type Reader struct {
	// Number reads one value; nil: values are words.
	Number func(text string) (float64, error)
	Whole  bool
}

// IsSeveral reports whether a text is a list or a range rather than one value.
func IsSeveral(text string) bool { return strings.ContainsAny(text, ",:") }

// Parse reads a list or a range.
func (r Reader) Parse(text string) (*Axis, error) {
	if strings.Contains(text, ",") || !strings.Contains(text, ":") || r.Number == nil {
		return r.list(text)
	}
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return nil, fmt.Errorf("%q has %d colons; a range is a:b, a:b:N, a:b:logN or a:b:xF", text, len(parts)-1)
	}
	a := &Axis{Whole: r.Whole}
	var errs [2]error
	a.Relative = isMultiple(parts[0])
	if a.Relative != isMultiple(parts[1]) {
		return nil, fmt.Errorf("%q: both ends are multiples, like x0.5:x4:8, or neither is", text)
	}
	a.Low, errs[0] = r.one(parts[0])
	a.High, errs[1] = r.one(parts[1])
	switch err := inOneLine(text, errs[:]); {
	case err != nil:
		return nil, err
	case !(a.Low < a.High) || math.IsInf(a.Low, 0) || math.IsInf(a.High, 0):
		return nil, fmt.Errorf("%q: a range goes from a lower end to a higher one", text)
	case len(parts) == 2:
		return a.integers(text)
	}
	return a, a.step(text, strings.TrimSpace(parts[2]))
}

func isMultiple(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "x") }

func (r Reader) one(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if times, ok := strings.CutPrefix(text, "x"); ok {
		v, err := strconv.ParseFloat(times, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return 0, fmt.Errorf("%q is not a multiple like x2", text)
		}
		return v, nil
	}
	return r.Number(text)
}

func (r Reader) list(text string) (*Axis, error) {
	a := &Axis{Whole: r.Whole}
	var errs []error
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			return nil, fmt.Errorf("%q has an empty place between its commas", text)
		}
		if slices.Contains(a.Texts, word) {
			errs = append(errs, fmt.Errorf("%q is there twice", word))
		}
		a.Texts = append(a.Texts, word)
		if r.Number == nil {
			continue
		}
		if len(a.Texts) > 1 && a.Relative != isMultiple(word) {
			errs = append(errs, fmt.Errorf("%q: all values are multiples, like x0.5,x1,x2, or none is", text))
		}
		a.Relative = isMultiple(word)
		v, err := r.one(word)
		errs = append(errs, err)
		a.Numbers = append(a.Numbers, v)
	}
	return a, inOneLine(text, errs)
}

// inOneLine is all that is wrong with the values of a text, which are one problem of one setting.
func inOneLine(text string, errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	var said []string
	for _, err := range errs {
		said = append(said, err.Error())
	}
	return fmt.Errorf("%q: %s", text, strings.Join(said, "; "))
}

// integers is the range of all whole numbers between its ends.
func (a *Axis) integers(text string) (*Axis, error) {
	if a.Low != math.Trunc(a.Low) || a.High != math.Trunc(a.High) || a.Relative {
		return nil, fmt.Errorf("%q stands for whole numbers; between other ends say how many values: %s:5, %s:log5 or %s:x2", text, text, text, text)
	}
	a.Whole = true
	if n := a.High - a.Low + 1; n <= Most {
		a.Count = int(n)
		return a, nil
	}
	return nil, fmt.Errorf("%q has more than %d values", text, Most)
}

// step reads how the values of a range follow each other.
func (a *Axis) step(text, how string) error {
	factor, times := strings.CutPrefix(how, "x")
	count, log := strings.CutPrefix(how, "log")
	if (times || log) && !(a.Low > 0) {
		return fmt.Errorf("%q: ratios need a lower end above 0", text)
	}
	if times {
		f, err := strconv.ParseFloat(factor, 64)
		if err != nil || !(f > 1) || math.IsInf(f, 0) {
			return fmt.Errorf("%q: the factor must be above 1, like x2", text)
		}
		// A part in a billion lets a product that rounding put below the end still reach it.
		n := math.Floor(math.Log(a.High/a.Low)/math.Log(f)*(1+1e-9)) + 1
		if n > Most {
			return fmt.Errorf("%q has more than %d values", text, Most)
		}
		a.Count, a.Factor, a.Log = int(n), f, true
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 2 || n > Most {
		return fmt.Errorf("%q: the number of values must be a whole number from 2 to %d, not %q", text, Most, how)
	}
	if a.Log = log; a.Whole && float64(n) > a.High-a.Low+1 {
		return fmt.Errorf("%q: there are %g whole numbers between its ends, not %d", text, a.High-a.Low+1, n)
	}
	a.Count = n
	return nil
}

func (a *Axis) Len() int {
	if a.Texts != nil {
		return len(a.Texts)
	}
	return a.Count
}

func (a *Axis) IsNumeric() bool { return a.Texts == nil || a.Numbers != nil }

// At is a value; NaN for a word.
func (a *Axis) At(i int) float64 {
	switch {
	case a.Numbers != nil:
		return a.Numbers[i]
	case a.Texts != nil:
		return math.NaN()
	case a.Factor > 0:
		return a.rounded(a.Low * math.Pow(a.Factor, float64(i)))
	case i == a.Count-1:
		return a.High
	}
	return a.Between(float64(i) / float64(a.Count-1))
}

// Between is the value at a share of the way from the first to the last; of a list, one of its
// values.
func (a *Axis) Between(share float64) float64 {
	if a.Texts != nil {
		return a.At(a.Place(share))
	}
	v := a.Low + (a.High-a.Low)*share
	if a.Log {
		v = a.Low * math.Pow(a.High/a.Low, share)
	}
	return a.rounded(v)
}

// Place is the value of a list at a share of the way.
func (a *Axis) Place(share float64) int { return min(int(share*float64(a.Len())), a.Len()-1) }

// Share is where a value lies, from 0 to 1: what Between makes that value of again.
func (a *Axis) Share(text string, v float64) float64 {
	n := float64(a.Len())
	switch {
	case a.Numbers != nil:
		return (float64(slices.Index(a.Numbers, v)) + 0.5) / n
	case a.Texts != nil:
		return (float64(slices.Index(a.Texts, text)) + 0.5) / n
	case a.Log:
		return math.Log(v/a.Low) / math.Log(a.High/a.Low)
	}
	return (v - a.Low) / (a.High - a.Low)
}

// rounded is a whole number where the axis has those, or where a value misses one by its last
// digit.
func (a *Axis) rounded(v float64) float64 {
	if whole := math.Round(v); a.Whole || math.Abs(v-whole) < 1e-13*math.Abs(v) {
		return whole
	}
	return v
}

// Text is a value as it is written.
func (a *Axis) Text(i int) string {
	if a.Texts != nil {
		return a.Texts[i]
	}
	return a.Written(a.At(i))
}

// Written is any value of the axis as it is written.
func (a *Axis) Written(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if math.Abs(v) < 1e15 {
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if a.Relative {
		return "x" + text
	}
	return text
}
