package question

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"throughline/engine"
	"throughline/internal/document"
	"throughline/internal/files"
)

// Query is a question as words for some settings of a command.
type Query struct {
	Question
	Of    Command
	Wrong error // all that is wrong with the words; answers report it together with what they find
	// Refuse checks the files that the question reads, for example against an output that would
	// overwrite one; nil: no check.
	Refuse func(reads []string) error

	given map[string]bool // by the names of settings
}

// EmptyQuery is a question of a command that nothing has been said of yet.
func EmptyQuery(in *files.Door, of Command) *Query {
	a := &Query{Question: DefaultOf(of), Of: of, given: map[string]bool{}}
	a.In = in
	return a
}

func NewQuery(in *files.Door, of Command, words map[string]string) *Query {
	a := EmptyQuery(in, of)
	a.Take(words)
	return a
}

// Take reads words, by the names of settings or their other names.
func (a *Query) Take(words map[string]string) {
	of := a.Of
	errs, named := []error{a.Wrong}, []error(nil)
	var known []string
	for _, s := range Settings(of) {
		by := ""
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			known = append(known, name)
			text, ok := words[name]
			if !ok {
				continue
			}
			if by != "" {
				errs = append(errs, wrong(by, "says the same as `"+name+"`; give one of them"))
			}
			by, a.given[s.Name] = name, true
			if text = strings.TrimSpace(text); text == "" || s.List != "" && len(Words(text)) == 0 {
				errs = append(errs, wrong(name, "is empty; give a value, or leave it out"))
			} else {
				errs = append(errs, renamed(s.Name, name, s.Set(&a.Question, text)))
			}
		}
	}
	for _, name := range known {
		if _, ok := words[name]; ok {
			named = append(named, a.Named(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if !slices.Contains(known, name) {
			named = append(named, unknown(of, name, known))
		}
	}
	a.Wrong = document.Join(append(errs, named...)...)
}

// unknown is the problem of a word for no setting of a command.
func unknown(of Command, name string, known []string) error {
	if s, ok := Lookup(All, name); ok {
		have := s.For
		for i := range settings {
			if settings[i].Name == s.Name { // commands may mean different things by a name
				have |= settings[i].For
			}
		}
		return fmt.Errorf("%s has no setting %s; these have: %s", strings.Join(of.Paths(), ", "), name, strings.Join(have.Paths(), ", "))
	}
	if near, ok := document.Nearest(name, known); ok {
		return fmt.Errorf("unknown setting %s; did you mean %s?", name, near)
	}
	return fmt.Errorf("unknown setting %s; there are %s", name, strings.Join(known, ", "))
}

// renamed makes the problems of a setting those of the name by which it was given.
func renamed(setting, name string, err error) error {
	var problems *document.Error
	if setting == name || !errors.As(err, &problems) {
		return err
	}
	out := &document.Error{Problems: slices.Clone(problems.Problems)}
	for i := range out.Problems {
		if p := &out.Problems[i]; p.Path == setting {
			p.Path = name
		}
	}
	return out
}

// NewFixedQuery is NewQuery for a command about one deployment, which may be a row of a plan.
func NewFixedQuery(in *files.Door, of Command, words map[string]string) *Query {
	a := EmptyQuery(in, of)
	a.TakeFixed(words)
	return a
}

// TakeFixed reads the words of one deployment, which may be a row of a plan.
func (a *Query) TakeFixed(words map[string]string) {
	a.Take(words)
	if a.From != "" {
		a.Wrong = document.Join(a.Wrong, a.TakeRow(a.From, a.Given))
	}
}

// Given reports whether there is a word for a setting, by whichever name.
func (a *Query) Given(setting string) bool { return a.given[setting] }

// Refused is what the one who asks finds wrong with the files of the question.
func (a *Query) Refused() error {
	if a.Refuse == nil {
		return nil
	}
	return a.Refuse(a.Files())
}

// Remark is something to know beside an answer.
type Remark struct {
	Kind    string // Warning, Note, or none
	Setting string // that it is about; empty: none
	Text    string
}

// Kinds of remarks.
const (
	Warning = "warning"
	Note    = "note"
)

func (r Remark) String() string {
	var b strings.Builder
	if r.Kind != "" {
		b.WriteString(r.Kind + ": ")
	}
	if r.Setting != "" {
		b.WriteString(r.Setting + " ")
	}
	return b.String() + r.Text
}

// Warnings are problems of files that do not keep a question from being answered.
func Warnings(problems []document.Problem) []Remark {
	var out []Remark
	for _, p := range problems {
		out = append(out, Remark{Kind: Warning, Text: p.String()})
	}
	return out
}

// Ineffective are notes on the words that change nothing beside the others.
func (a *Query) Ineffective(l *Loaded) []Remark {
	var out []Remark
	for _, p := range l.Idle(a.Of, a.Given) {
		out = append(out, Remark{Note, p.Path, p.Message})
	}
	if why := engine.StandIn(a.Engine); why != "" {
		out = append(out, Remark{Kind: Note, Text: why})
	}
	return out
}

// Workers is the processors of this machine to use.
func (q *Question) Workers() int { return cmp.Or(q.Jobs, runtime.GOMAXPROCS(0)) }

// OfSetting makes an error that of a setting.
func OfSetting(name string, err error) error {
	if err == nil {
		return nil
	}
	return wrong(name, err.Error())
}
