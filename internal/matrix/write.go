package matrix

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// Planned is a row of a plan that can be launched.
type Planned struct {
	Name        string
	Script      string            // for bash, that starts all its servers
	URL         string            // for clients
	Backend     string            // as bench calls it
	Deployment  map[string]string // in the words of estimate
	Concurrency int
}

// requestsPerClient of a planned row: enough to be steady for most of the time.
const requestsPerClient = 8

// OfPlan is a file that measures rows of a plan, each under the load that it was planned for.
func OfPlan(rows []Planned, input, output int) *File {
	f := &File{}
	for i := range rows {
		p := &rows[i]
		s := Server{Name: p.Name, Command: Command{Words: []string{"bash", "-c", p.Script}}, URL: p.URL, Deployment: map[string]Word{}}
		s.SetDefaults()
		s.Ready.URL = p.URL + "/health" // which SGLang, vLLM and TensorRT-LLM have
		for name, text := range p.Deployment {
			s.Deployment[name] = Word(text)
		}
		c := Client{Name: fmt.Sprintf("%s_c%d", p.Name, p.Concurrency), Servers: []string{p.Name}, Bench: map[string]Word{
			"backend": Word(p.Backend), "random-input-len": wordOf(input), "random-output-len": wordOf(output),
			"max-concurrency": wordOf(p.Concurrency), "num-prompts": wordOf(requestsPerClient * p.Concurrency),
		}}
		c.SetDefaults()
		f.Servers, f.Clients = append(f.Servers, s), append(f.Clients, c)
	}
	return f
}

func wordOf(n int) Word { return Word(strconv.Itoa(n)) }

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
