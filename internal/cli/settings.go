package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline"
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

// words are the settings on the command line, by the names of their flags.
func (s *settings) words() map[string]string {
	out := map[string]string{}
	for _, f := range s.values {
		if s.flags.Changed(f.flag) {
			out[f.flag] = f.text
		}
	}
	return out
}

// read is the question that the flags ask, and all that is wrong with them.
func (s *settings) read() (question.Question, error) {
	a := question.Ask(s.of, s.words())
	return a.Question, document.Join(emptyOutputs(s.flags), a.Wrong)
}

// fixed is the question that the flags ask about one deployment.
func (s *settings) fixed() *question.Asked {
	a := question.AskFixed(s.of, s.words())
	s.checked(nil)(a)
	return a
}

// checked adds to what is wrong with the words what is wrong with the flags of outputs; refuse knows the files that are read.
func (s *settings) checked(refuse func(reads []string) error) throughline.Option {
	return func(a *question.Asked) {
		a.Wrong, a.Refuse = document.Join(emptyOutputs(s.flags), a.Wrong), refuse
	}
}

// note tells of flags that have no effect beside the others.
func (s *settings) note(to Streams, l *question.Loaded) {
	tell(to, question.Ask(s.of, s.words()).Ineffective(l))
}

// tell shows remarks, with settings as flags.
func tell(s Streams, remarks []question.Remark) {
	for _, r := range remarks {
		if r.Setting != "" {
			r.Setting = "--" + r.Setting
		}
		fmt.Fprintln(s.Err, r)
	}
}

// mentioned are settings in the messages of libraries, which write their names in backquotes.
var mentioned = regexp.MustCompile("`([a-z][a-z-]*)`")

// flagged shows the settings that a message names as flags.
func flagged(cmd *cobra.Command, message string) string {
	return mentioned.ReplaceAllStringFunc(message, func(name string) string {
		if bare := strings.Trim(name, "`"); cmd.Flags().Lookup(bare) != nil {
			return "--" + bare
		}
		return name
	})
}

// dashed shows the problems of settings as problems of flags.
func dashed(cmd *cobra.Command, problems []document.Problem) []document.Problem {
	out := slices.Clone(problems)
	for i := range out {
		if p := &out[i]; p.File == "" && p.Path != "" && cmd.Flags().Lookup(p.Path) != nil {
			p.Path = "--" + p.Path
		}
		out[i].Message = flagged(cmd, out[i].Message)
	}
	return out
}

// ofFlag makes an error that of a flag.
func ofFlag(name string, err error) error { return question.OfSetting(name, err) }
