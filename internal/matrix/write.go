package matrix

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// Write writes a file as YAML for Read, without defaults.
func Write(w io.Writer, f *File) error {
	out := File{Servers: slices.Clone(f.Servers), Clients: slices.Clone(f.Clients)}
	unless := func(d *Duration, usual time.Duration) {
		if *d == Duration(usual) {
			*d = 0
		}
	}
	for i := range out.Servers {
		s := &out.Servers[i]
		unless(&s.Ready.Timeout, usualReady)
		unless(&s.Stop.Grace, usualGrace)
		if s.Stop.Signal == usualSignal {
			s.Stop.Signal = ""
		}
		if s.URL == rootOf(s.Ready.URL) {
			s.URL = ""
		}
	}
	for i := range out.Clients {
		unless(&out.Clients[i].Timeout, usualClient)
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	return errors.Join(e.Encode(out), e.Close())
}

// MarshalYAML writes numbers without quotes.
func (w Word) MarshalYAML() (any, error) {
	if n, err := strconv.Atoi(string(w)); err == nil && wordOf(n) == w {
		return n, nil
	}
	return string(w), nil
}

func (c Command) IsZero() bool { return !c.given() }

// MarshalYAML writes the line or the words.
func (c Command) MarshalYAML() (any, error) {
	if c.Line != "" {
		return c.Line, nil
	}
	return c.Words, nil
}

func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }
