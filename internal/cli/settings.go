package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/internal/document"
	"throughline/internal/question"
)

// settings are the flags of a command that come from the table of settings.
type settings struct {
	of     question.Command
	flags  *pflag.FlagSet
	values []*settingFlag
}

// settingFlag is the value of one of them. It is kept as it was written, so that all mistakes are found together.
type settingFlag struct {
	*question.Setting
	flag  string // its name, or one of its other names
	text  string
	times int // it is on the command line
}

func (f *settingFlag) String() string { return f.text }

// Set takes a value in place of the one before. Lists go on.
func (f *settingFlag) Set(text string) error {
	if f.times++; f.times > 1 && f.List != "" && strings.TrimSpace(text) != "" {
		text = f.text + "," + text
	}
	f.text = text
	return nil
}

func (f *settingFlag) Type() string {
	if f.List != "" {
		return "list"
	}
	return map[question.Kind]string{question.Text: "string", question.Number: "float", question.Count: "int", question.Time: "time", question.Switch: "bool"}[f.Kind()]
}

// addSettings defines a flag for each setting of a command, and hidden ones for its other names.
func addSettings(cmd *cobra.Command, of question.Command) *settings {
	s := &settings{of: of, flags: cmd.Flags()}
	cmd.Flags().SortFlags = false
	usual := question.DefaultOf(of)
	for _, setting := range question.Settings(of) {
		s.add(setting, setting.Name, setting.Short, setting.Get(&usual))
		for _, alias := range setting.Aliases {
			s.add(setting, alias, "", "").Hidden = true
		}
	}
	return s
}

func (s *settings) add(setting *question.Setting, name, short, usual string) *pflag.Flag {
	f := &settingFlag{Setting: setting, flag: name, text: usual}
	s.values = append(s.values, f)
	flag := s.flags.VarPF(f, name, short, setting.Help(s.of))
	if setting.Kind() == question.Switch {
		flag.NoOptDefVal = "true"
	}
	return flag
}

// given reports whether a setting is on the command line, by whichever name.
func (s *settings) given(name string) bool {
	return slices.ContainsFunc(s.values, func(f *settingFlag) bool { return f.Name == name && s.flags.Changed(f.flag) })
}

// read is the question that the flags ask, and all that is wrong with them.
func (s *settings) read() (question.Question, error) {
	q := question.DefaultOf(s.of)
	errs := []error{emptyOutputs(s.flags)}
	by := map[string]string{} // names of flags, of settings that are given
	for _, f := range s.values {
		if !s.flags.Changed(f.flag) {
			continue
		}
		if other, twice := by[f.Name]; twice {
			errs = append(errs, ofFlag(other, fmt.Errorf("says the same as --%s; give one of them", f.flag)))
		}
		by[f.Name] = f.flag
		text := strings.TrimSpace(f.text)
		if text == "" || f.List != "" && len(question.Words(text)) == 0 {
			errs = append(errs, ofFlag(f.flag, errors.New("is empty; give a value, or leave it out")))
			continue
		}
		errs = append(errs, named(f.Name, f.flag, f.Setting.Set(&q, text)))
	}
	for _, f := range s.values {
		if s.flags.Changed(f.flag) {
			errs = append(errs, q.Named(f.flag))
		}
	}
	return q, document.Join(errs...)
}

// named makes the problems of a setting those of the flag that gave it.
func named(setting, flag string, err error) error {
	var problems *document.Error
	if setting == flag || !errors.As(err, &problems) {
		return err
	}
	out := &document.Error{Problems: slices.Clone(problems.Problems)}
	for i := range out.Problems {
		if p := &out.Problems[i]; p.Path == setting {
			p.Path = flag
		}
	}
	return out
}

// note tells of flags that have no effect beside the others.
func (s *settings) note(to Streams, l *question.Loaded) {
	for _, p := range l.Idle(s.of, s.given) {
		fmt.Fprintf(to.Err, "note: --%s %s\n", p.Path, p.Message)
	}
}

// dashed shows the problems of settings as problems of flags.
func dashed(cmd *cobra.Command, problems []document.Problem) []document.Problem {
	out := slices.Clone(problems)
	for i := range out {
		if p := &out[i]; p.File == "" && p.Path != "" && cmd.Flags().Lookup(p.Path) != nil {
			p.Path = "--" + p.Path
		}
	}
	return out
}

// ofFlag makes an error that of a flag.
func ofFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return document.Join(&document.Error{Problems: []document.Problem{{Path: name, Message: err.Error()}}})
}
