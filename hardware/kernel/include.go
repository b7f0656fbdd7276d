package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// Benchmarks of engines time some kernels together with the operator before them. A model names
// what was measured with it, and that operator then takes no extra time.

// includes are what a kernel may have been measured with, by its name in a model.
var includes = map[string]Role{
	"quantise": Quantised, "routing": Routed, "gates": GatesMade, "rotary": Rotated,
}

// Includes is the sorted names of what kernels may have been measured with.
func Includes() []string {
	var out []string
	for name := range includes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Included reports whether the role is an operator measured with the kernel behind it.
func (r Role) Included() bool { return r >= Quantised && r <= Rotated }

func checkIncludes(names []string) error {
	for _, name := range names {
		if _, ok := includes[name]; !ok {
			return fmt.Errorf("includes %q, which is none of %s", name, strings.Join(Includes(), ", "))
		}
	}
	return nil
}

func (b *Base) measuredWith() []string { return b.Includes }

// Include notes what the kernel was measured with besides.
func (b *Base) Include(names ...string) { b.Includes = append(b.Includes, names...) }

// include adds what all of a binding's models were measured with, as the fastest of them counts.
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

// quantisedBytes is a 16-bit element read, an 8-bit one written, and its share of a scale.
const quantisedBytes = 2 + 1 + 4./128

// bare is the time of a product without the quantisation it was measured with.
type bare struct {
	Timing
	quantise Timing
}

func (t bare) Seconds(p *Pace, s *Shape) float64 {
	input := Shape{Rows: s.M, Moved: s.M * s.K * s.Count * quantisedBytes}
	return max(0, t.Timing.Seconds(p, s)-t.quantise.Seconds(p, &input))
}
