package matrix

import (
	"fmt"
	"maps"
	"slices"

	"throughline/internal/question"
	"throughline/internal/secret"
	"throughline/internal/shell"
)

// secrets of a file and the environment of this program, which must not be written or printed.
func (f *File) secrets(environment []string) *secret.Set {
	s := &secret.Set{}
	s.Environment(environment)
	part := func(command Command, environment map[string]Word, addresses ...string) {
		hide(s, command)
		for name, w := range environment {
			s.Variable(name, string(w))
		}
		for _, a := range addresses {
			s.URL(a)
		}
	}
	for i := range f.Servers {
		k := &f.Servers[i]
		part(k.Command, k.Environment, k.URL, k.Ready.URL)
	}
	for i := range f.Clients {
		k := &f.Clients[i]
		part(k.Command, k.Environment, k.BaseURL())
		for _, header := range question.Words(string(k.Bench["header"])) {
			s.Words([]string{"header=" + header})
		}
	}
	return s
}

// hide removes secrets from a command, and remembers them.
func hide(s *secret.Set, c Command) Command {
	return Command{Line: s.Line(c.Line), Words: s.Words(c.Words)}
}

func (r *Runner) hidden(text string) string { return r.secrets.URL(r.secrets.Redact(text)) }

func (r *Runner) say(format string, args ...any) { r.Say(r.hidden(fmt.Sprintf(format, args...))) }

func (r *Runner) typed(environment map[string]Word, c Command) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		text += name + "=" + shell.Quote(r.secrets.Variable(name, string(environment[name]))) + " "
	}
	c = hide(r.secrets, c)
	return text + c.String()
}
