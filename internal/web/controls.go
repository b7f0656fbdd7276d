package web

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/internal/question"
	"throughline/model"
)

// control is a setting as part of the form.
type control struct {
	Before  string // the text of the sentence before it
	After   string // a comma that stays on its line
	Name    string
	Label   string
	Value   string
	Shown   string // in the sentence
	Hint    string
	Kind    string // text, number or switch
	List    string // id of a list of suggestions
	Choices []string
	On      bool      // a switch that is on
	Words   [2]string // of a switch that is off, and on
	Wrong   string
}

// group is settings that belong together.
type group struct {
	Name     string
	Controls []control
	Given    int // that differ from the usual
}

// controls are the words of the sentence, and all other settings in groups.
func (st *state) controls() (sentence []control, groups []group) {
	in := map[string]bool{}
	for _, p := range st.view.pieces {
		s, ok := question.Lookup(st.view.of, p.setting)
		if !ok || p.given && st.words[p.setting] == "" {
			continue
		}
		in[p.setting] = true
		c := st.control(s)
		c.Before = st.language.say(p.before)
		if rest := strings.TrimLeft(c.Before, ",，"); len(sentence) > 0 {
			sentence[len(sentence)-1].After, c.Before = strings.TrimSuffix(c.Before, rest), rest
		}
		if c.Shown = readable(st.words[p.setting]); c.Shown == "" {
			c.Shown = st.language.say(p.empty)
		}
		sentence = append(sentence, c)
	}
	byName := map[string]int{}
	all := question.Settings(st.view.of)
	slices.SortStableFunc(all, func(a, b *question.Setting) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, s := range all {
		if in[s.Name] || slices.Contains(leftOut, s.Name) {
			continue
		}
		name := s.Group
		at, ok := byName[name]
		if !ok {
			at, byName[name] = len(groups), len(groups)
			groups = append(groups, group{Name: st.language.say(name)})
		}
		c := st.control(s)
		if c.Value != "" && !(c.Kind == "switch" && !c.On) {
			groups[at].Given++
		}
		groups[at].Controls = append(groups[at].Controls, c)
	}
	return sentence, groups
}

var unit = regexp.MustCompile(`([0-9])(ms|us|s)\b`)

// readable is a word as a sentence has it: lists with spaces, times with units.
func readable(text string) string {
	return unit.ReplaceAllString(strings.ReplaceAll(text, ",", ", "), "$1 $2")
}

// leftOut are settings that pages have other ways for, or that are of the machine.
var leftOut = []string{"jobs", "from", "points", "top", "pools", "vary", "link", "where", "design", "samples", "timeline-every", "kernels"}

func (st *state) control(s *question.Setting) control {
	c := control{Name: s.Name, Label: s.Name, Value: st.words[s.Name], Hint: s.Help(st.view.of), Kind: "text"}
	usual := question.DefaultOf(st.view.of)
	if c.Value == "" {
		c.Value = s.Get(&usual)
	}
	switch {
	case s.Kind() == question.Switch:
		c.Kind, c.On, c.Words = "switch", c.Value == "true", [2]string{st.language.say("off"), st.language.say("on")}
	case s.Name == "model":
		c.List = "models"
	case s.Name == "system" || s.Name == "decode-system":
		c.List = "systems"
	case len(s.Choices) > 0 && !s.Open && len(s.Choices) <= 12 && s.List == "":
		c.Choices = s.Choices
	}
	if s.Unit != "" {
		c.Label += ", " + s.Unit
	}
	for _, p := range problemsOf(st.wrong) {
		if p.Path == s.Name {
			c.Wrong = p.Message
		}
	}
	return c
}

// Models and Systems are the built-in names, for suggestions.
func (p *page) Models() []string  { return model.Catalogue.Names() }
func (p *page) Systems() []string { return hardware.Catalogue.Names() }
