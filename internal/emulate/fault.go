package emulate

import (
	"fmt"
	"strconv"
	"strings"

	"throughline/internal/document"
	"throughline/workload"
)

// Fault is a requested failure: a kind and values by name, times in simulated seconds.
type Fault struct {
	Kind   string
	values map[string]float64
}

type faultKind struct {
	name   string
	bare   string // the value that needs no name, if any
	fields []field
}

type field struct {
	name      string
	kind      fieldKind
	required  bool
	low, high float64
}

type fieldKind string

const (
	share fieldKind = "a share"
	after fieldKind = "a time like 30s"
	count fieldKind = "a whole number"
)

const mostSeconds = 1e6

// faultKinds is the table of faults, which docs/emulate.md shows.
var faultKinds = []faultKind{
	// A share of requests is answered with an error at once.
	{"errors", "share", []field{{"share", share, true, 0, 1}, {"status", count, false, 400, 599}}},
	// A share of answers is cut: the connection closes in the middle.
	{"cut", "share", []field{{"share", share, true, 0, 1}}},
	// One or all replicas stall in the middle of a step, once or repeatedly.
	{"stall", "", []field{{"after", after, true, 0, mostSeconds}, {"for", after, true, 0, mostSeconds}, {"every", after, false, 1e-3, mostSeconds}, {"replica", count, false, 0, 1e6}}},
	// Neither health checks nor requests succeed before.
	{"slow-start", "for", []field{{"for", after, true, 0, mostSeconds}}},
	// A replica fails with all its requests; it may come back, empty.
	{"die", "", []field{{"replica", count, true, 0, 1e6}, {"after", after, true, 0, mostSeconds}, {"for", after, false, 0, mostSeconds}}},
}

// FaultNames are the prefixes of faults.
func FaultNames() []string {
	var out []string
	for _, k := range faultKinds {
		out = append(out, k.name+":")
	}
	return out
}

// ParseFaults reads words like errors:0.01 and die:replica=1; those without a kind continue the
// fault before them: die:replica=1,after=60s. It reports all problems.
func ParseFaults(words []string) ([]Fault, error) {
	var out []Fault
	var errs []error
	var kind *faultKind
	for _, word := range words {
		name, rest, starts := strings.Cut(word, ":")
		switch {
		case starts:
			if kind = findFault(name); kind == nil {
				errs = append(errs, fmt.Errorf("%s", document.NotOneOf(name+":", FaultNames())))
				continue
			}
			out = append(out, Fault{Kind: name, values: map[string]float64{}})
		case len(out) == 0 && kind == nil:
			errs = append(errs, fmt.Errorf("%q starts no fault: %s", word, document.NotOneOf(word, FaultNames())))
			continue
		case kind == nil:
			continue // of an unknown fault
		default:
			rest = word
		}
		if rest != "" {
			errs = append(errs, kind.read(rest, &out[len(out)-1]))
		}
	}
	read := document.Join(errs...) == nil // else a missing value may be the wrong one
	for i := range out {
		for _, f := range findFault(out[i].Kind).fields {
			if _, ok := out[i].values[f.name]; f.required && !ok && read {
				errs = append(errs, fmt.Errorf("%s needs %s: %s", out[i].Kind, f.name, f.kind))
			}
		}
	}
	return out, document.Join(errs...)
}

func findFault(name string) *faultKind {
	for i := range faultKinds {
		if faultKinds[i].name == name {
			return &faultKinds[i]
		}
	}
	return nil
}

// read reads name=value, or the value that needs no name.
func (k *faultKind) read(word string, to *Fault) error {
	name, text, named := strings.Cut(word, "=")
	if !named {
		name, text = k.bare, word
	}
	var names []string
	for _, f := range k.fields {
		names = append(names, f.name)
		if f.name != name {
			continue
		}
		v, err := f.parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		to.values[name] = v
		return nil
	}
	if !named {
		return fmt.Errorf("%s: %q needs a name, like %s=%s", k.name, word, names[0], word)
	}
	return fmt.Errorf("%s: %s", k.name, document.NotOneOf(name, names))
}

func (f *field) parse(text string) (float64, error) {
	var x float64
	var err error
	switch f.kind {
	case after:
		x, err = workload.ParseTime(text, "s")
	case count:
		var n int
		n, err = strconv.Atoi(text)
		x = float64(n)
	default:
		x, err = strconv.ParseFloat(text, 64)
	}
	if err != nil || !(x >= f.low && x <= f.high) {
		return 0, fmt.Errorf("%s must be %s from %g to %g, not %q", f.name, f.kind, f.low, f.high, text)
	}
	return x, nil
}

// or is a value, or a default.
func (f *Fault) or(name string, otherwise float64) float64 {
	if v, ok := f.values[name]; ok {
		return v
	}
	return otherwise
}

// CheckFaults rejects faults of replicas that do not exist.
func CheckFaults(faults []Fault, replicas int) error {
	var errs []error
	for _, f := range faults {
		if n := int(f.or("replica", 0)); n >= replicas {
			errs = append(errs, fmt.Errorf("%s: there is no replica %d; the last one is %d", f.Kind, n, replicas-1))
		}
	}
	return document.Join(errs...)
}
