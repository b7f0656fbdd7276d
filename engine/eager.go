package engine

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/op"
	"throughline/plan"
)

// Framework launches models operator by operator from the host, without fused kernels or graphs. It
// serves no requests: a batch is prefilled and decoded to its end.
type Framework struct {
	Name  string `json:"name" required:"true"`
	Title string `json:"title" required:"true"`

	LaunchSeconds float64 `json:"launch_seconds" required:"true" range:"[0,1]"` // of the host, per kernel
	// Cache: a step copies keys and values with the new ones, or writes these beside them.
	Cache  string `json:"cache" required:"true" enum:"copied,written"`
	Logits string `json:"logits" required:"true" enum:"all,last"` // prompt tokens that the output projection sees
	// Operators that are kernels of their own; Gated: in models with gated feed-forward blocks,
	// which have rotary positions and RMS norms.
	Operators map[string]op.Unfused `json:"operators" required:"true"`
	Gated     map[string]op.Unfused `json:"gated_operators" required:"true"`

	Sources map[string]string `json:"sources" required:"true"`
}

var frameworks = loadFrameworks("transformers")

func loadFrameworks(names ...string) (out []*Framework) {
	for _, name := range names {
		f := &Framework{}
		read(path.Join("data/eager", name+".json"), f)
		if _, err := f.Eager(); err != nil {
			panic(err)
		}
		out = append(out, f)
	}
	return out
}

// Runners are the names of frameworks, and that of no engine.
func Runners() (out []string) {
	for _, f := range frameworks {
		out = append(out, f.Name)
	}
	return append(out, Generic.Name)
}

// FindRunner is the framework of a name; nil for no engine: fused kernels without a host.
func FindRunner(name string) (*Framework, error) {
	for _, f := range frameworks {
		if f.Name == name {
			return f, nil
		}
	}
	if name == Generic.Name {
		return nil, nil
	}
	return nil, fmt.Errorf("%s", document.NotOneOf(name, Runners()))
}

// count sets how many calls launch operators, on all chips and by generation.
func (s *Scheduling) count(file document.Value) {
	s.counts = map[string]*plan.Launches{}
	for _, chips := range append([]string{anyChip}, slices.Sorted(maps.Keys(s.Launches))...) {
		of := plan.Launches{}
		if all := s.counts[anyChip]; all != nil {
			of = *all
		}
		for _, name := range slices.Sorted(maps.Keys(s.Launches[chips])) {
			kind, known := op.KindOf(name)
			n := s.Launches[chips][name]
			if !known || n < 0 || n >= math.MaxUint8 {
				file.Problemf("launches on %s: %d of %q: there is no such operator or number", chips, n, name)
			}
			of[kind] = uint8(n + 1)
		}
		s.counts[chips] = &of
	}
}

// launches is the calls that launch operators on a chip.
func (s *Scheduling) launches(sys *hardware.System) *plan.Launches {
	if sys != nil && s.counts[sys.Generation] != nil {
		return s.counts[sys.Generation]
	}
	return s.counts[anyChip]
}

// Eager is how operators run in the framework.
func (f *Framework) Eager() (*op.Eager, error) {
	e := &op.Eager{Launch: f.LaunchSeconds, GrowsCache: f.Cache == "copied", AllLogits: f.Logits == "all"}
	var unknown []string
	for _, table := range []struct {
		of   map[string]op.Unfused
		into *[op.KindCount]op.Unfused
	}{{f.Operators, &e.Kernels}, {f.Gated, &e.Gated}} {
		for name, u := range table.of {
			kind, ok := op.KindOf(name)
			if !ok {
				unknown = append(unknown, name)
			}
			table.into[kind] = u
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, fmt.Errorf("%s: no operators %s", f.Name, strings.Join(unknown, ", "))
	}
	return e, nil
}
