package engine

import (
	"fmt"
	"maps"
	"slices"
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

// At is the engine in an earlier version.
func (e *Engine) At(version string) (*Engine, error) {
	if _, ok := e.Versions[version]; ok {
		versions, err := e.versions()
		return versions[version], err
	}
	known := "none is known"
	if len(e.Versions) > 0 {
		known = "known are " + document.QuoteList(slices.Sorted(maps.Keys(e.Versions)))
	}
	return nil, fmt.Errorf("no earlier version %q of %s: %s", version, e.Title, known)
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

// decodeFacts reads the facts of one version, on all chips.
func (e *Engine) decodeFacts(file document.Value) {
	file.Decode(e)
	e.ports = map[string]*Scheduling{}
	for maker, port := range e.Ports {
		var on Engine
		file.Merged(port.Patch).Decode(&on)
		e.ports[maker] = &on.Scheduling
	}
	for i, f := range features {
		c, ok := e.Capabilities[f.key]
		if !ok {
			file.Problemf("nothing is said about %s among capabilities", f.key)
		}
		e.support[i] = c.Support
	}
}
