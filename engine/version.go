package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"throughline/hardware"
	"throughline/internal/document"
)

// Version is a JSON merge patch with the known differences of an earlier version.
type Version struct {
	Of     string         `json:"of"` // the version that it differs from; empty: that of the file
	Patch  document.Value `json:"patch" required:"true"`
	Source string         `json:"source" required:"true" nonempty:"true"`
}

// Port is a JSON merge patch for the chips of a maker, with sources of its own.
type Port struct {
	Title string         `json:"title" required:"true"`
	Patch document.Value `json:"patch" required:"true"`
}

// At is the engine in a version, or in the nearest known one that stands in for it.
func (e *Engine) At(version string) (*Engine, error) {
	if numbers(version) == nil {
		return nil, fmt.Errorf("%q is no version of %s: versions are numbers such as 0.11 or 0.5.9", version, e.Title)
	}
	known := e.Nearest(version)
	if known == "" {
		return e, nil
	}
	versions, err := e.versions()
	return versions[known], err
}

// Nearest is the known earlier version whose facts hold for a version: the first that is not before
// it, as each has what later releases changed. Empty: the current one.
func (e *Engine) Nearest(version string) (out string) {
	if _, known := e.Versions[version]; known {
		return version
	}
	wanted := numbers(version)
	for known := range e.Versions {
		if n := numbers(known); slices.Compare(wanted[:min(len(wanted), len(n))], n) <= 0 && (out == "" || before(n, numbers(out))) {
			out = known
		}
	}
	return out
}

// before orders known versions; a shorter one stands for all releases that begin so.
func before(a, b []int) bool {
	if short := min(len(a), len(b)); slices.Equal(a[:short], b[:short]) {
		return len(a) > len(b)
	}
	return slices.Compare(a, b) < 0
}

// numbers of a version: 0.5.10 of v0.5.10.post1; none: it is not one.
func numbers(version string) (out []int) {
	for _, part := range strings.Split(strings.TrimPrefix(version, "v"), ".") {
		digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
		n, err := strconv.Atoi(part[:digits])
		if err != nil {
			break
		}
		out = append(out, n)
		if digits < len(part) {
			break
		}
	}
	return out
}

// StandIn says that facts of another version stand in for the one that a name asks for; empty: no.
func StandIn(name string) string {
	of, version, named := strings.Cut(name, "@")
	e, err := Find(of)
	if !named || err != nil || e.Versions[version].Source != "" {
		return ""
	}
	stands := "now"
	if known := e.Nearest(version); known != "" {
		stands = known
	}
	return fmt.Sprintf("%s: what is known of %s %s stands in for it", name, e.Title, stands)
}

// on is the scheduling on a chip, with its port if there is one.
func (e *Engine) on(sys *hardware.System) *Scheduling {
	if sys != nil {
		if s, ok := e.ports[sys.Maker]; ok {
			return s
		}
	}
	return &e.Scheduling
}

// decode reads the facts of an engine; versions, which are rarely needed, are read on demand.
func (e *Engine) decode(file document.Value) error {
	bare := *e
	e.decodeFacts(file)
	e.versions = sync.OnceValues(func() (map[string]*Engine, error) {
		out := map[string]*Engine{}
		for version := range e.Versions {
			was, patched := bare, file
			was.version = version
			for _, v := range e.lineage(version) {
				patched = patched.Merged(e.Versions[v].Patch)
				was.Attention = was.Attention.at(v)
			}
			was.decodeFacts(patched)
			was.versions = e.versions
			out[version] = &was
		}
		return out, file.File().Err()
	})
	return file.File().Err()
}

// lineage is the versions whose patches make one, that one last.
func (e *Engine) lineage(version string) []string {
	out := []string{version}
	for of := e.Versions[version].Of; of != ""; of = e.Versions[of].Of {
		_, ok := e.Versions[of]
		switch patch := e.Versions[version].Patch; {
		case !ok:
			patch.Problemf("there is no version %q to differ from", of)
			return nil
		case slices.Contains(out, of):
			patch.Problemf("the version differs from itself")
			return nil
		}
		out = append(out, of)
	}
	slices.Reverse(out)
	return out
}

func (e *Engine) decodeFacts(file document.Value) {
	file.Decode(e)
	e.ports = map[string]*Scheduling{}
	for maker, port := range e.Ports {
		var on Engine
		file.Merged(port.Patch).Decode(&on)
		on.Scheduling.count(file)
		e.ports[maker] = &on.Scheduling
	}
	e.Scheduling.count(file)
	for i, f := range features {
		c, ok := e.Capabilities[f.key]
		if !ok {
			file.Problemf("nothing is said about %s among capabilities", f.key)
		}
		e.support[i] = c.Support
	}
}
