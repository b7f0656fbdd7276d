package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// Benchmarks of engines time some kernels together with what stands before them, which is an operator of its own here. A model
// says what was measured with it, and that operator then takes no time besides.

// includes are what a kernel may have been measured with, by the name of it in a model.
var includes = map[string]Role{
	"quantise": Quantised, "routing": Routed, "gates": GatesMade, "rotary": Rotated,
}

// Includes is the names of what kernels may have been measured with, sorted.
func Includes() []string {
	var out []string
	for name := range includes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Included reports whether an operator plays its part within a kernel that was measured with it, and behind it.
func (r Role) Included() bool { return r >= Quantised && r <= Rotated }

// checkIncludes says which names mean nothing.
func checkIncludes(names []string) error {
	for _, name := range names {
		if _, ok := includes[name]; !ok {
			return fmt.Errorf("includes %q, which is none of %s", name, strings.Join(Includes(), ", "))
		}
	}
	return nil
}

// measuredWith is the names of what the kernel was measured with.
func (b *Base) measuredWith() []string { return b.Includes }

// Include notes what the kernel was measured with besides.
func (b *Base) Include(names ...string) { b.Includes = append(b.Includes, names...) }

// include adds to a binding what all of its models were measured with: of several the fastest counts, whichever that is.
func (b *Binding) include(in *section, s *Set, keys []string) {
	for name, role := range includes {
		if !slices.ContainsFunc(keys, func(key string) bool {
			m, ok := in.get(s, key).(interface{ measuredWith() []string })
			return !ok || !slices.Contains(m.measuredWith(), name)
		}) {
			b.timing[role] = charged{}
		}
	}
}

// quantisedBytes is the bytes of an element of 16 bits that is read, of one of 8 bits that is written, and its share of a scale.
const quantisedBytes = 2 + 1 + 4./128

// bare is a product whose input comes quantised already, of a kernel that was measured with the quantisation: the time without
// it.
type bare struct {
	Timing
	quantise Timing
}

func (t bare) Seconds(p *Pace, s *Shape) float64 {
	input := Shape{Rows: s.M, Moved: s.M * s.K * s.Count * quantisedBytes}
	return max(0, t.Timing.Seconds(p, s)-t.quantise.Seconds(p, &input))
}
