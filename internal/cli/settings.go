package cli

import (
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
	text string
}

func (f *settingFlag) String() string        { return f.text }
func (f *settingFlag) Set(text string) error { f.text = text; return nil }
func (f *settingFlag) Type() string {
	return map[question.Kind]string{question.Text: "string", question.Number: "float", question.Count: "int", question.Time: "time", question.Switch: "bool"}[f.Kind()]
}

// addSettings defines a flag for each setting of a command.
func addSettings(cmd *cobra.Command, of question.Command) *settings {
	s := &settings{of: of, flags: cmd.Flags()}
	cmd.Flags().SortFlags = false
	usual := question.DefaultOf(of)
	for _, setting := range question.Settings(of) {
		f := &settingFlag{setting, setting.Get(&usual)}
		s.values = append(s.values, f)
		flag := cmd.Flags().VarPF(f, setting.Name, setting.Short, setting.Help(of))
		if setting.Kind() == question.Switch {
			flag.NoOptDefVal = "true"
		}
	}
	return s
}

// given reports whether a flag is on the command line.
func (s *settings) given(name string) bool { return s.flags.Changed(name) }

// read is the question that the flags ask, and all that is wrong with them.
func (s *settings) read() (question.Question, error) {
	q := question.DefaultOf(s.of)
	var errs []error
	for _, f := range s.values {
		if !s.given(f.Name) {
			continue
		}
		if err := f.Setting.Set(&q, strings.TrimSpace(f.text)); err != nil {
			errs = append(errs, err)
		}
	}
	return q, document.Join(errs...)
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
