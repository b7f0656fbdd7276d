package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
)

// settings are the flags that come from the table of settings.
type settings struct {
	of     question.Command
	flags  *pflag.FlagSet
	values []*settingFlag
}

// settingFlag keeps the value as written, so that all mistakes are reported together.
type settingFlag struct {
	*question.Setting
	flag  string // its name, or one of its aliases
	text  string
	times int // it is on the command line
}

func (f *settingFlag) String() string { return f.text }

// Set replaces a value; lists are appended to.
func (f *settingFlag) Set(text string) error {
	if f.times++; f.times > 1 && f.List != "" && strings.TrimSpace(text) != "" {
		text = f.text + cmp.Or(f.Joint, ",") + text
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

// addSettings defines a flag for each setting of a command, and hidden ones for its aliases.
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

// given reports whether a setting is on the command line, by any name.
func (s *settings) given(name string) bool {
	return slices.ContainsFunc(s.values, func(f *settingFlag) bool { return f.Name == name && s.flags.Changed(f.flag) })
}

// words returns the settings on the command line by flag name.
func (s *settings) words() map[string]string {
	out := map[string]string{}
	for _, f := range s.values {
		if s.flags.Changed(f.flag) {
			out[f.flag] = f.text
		}
	}
	return out
}

// read returns the question that the flags ask, and all their problems.
func (s *settings) read() (question.Question, error) {
	a := question.NewQuery(files.Machine, s.of, s.words())
	return a.Question, document.Join(emptyOutputs(s.flags), a.Wrong)
}

// fixed returns the question about one deployment.
func (s *settings) fixed() *question.Query {
	a := question.NewFixedQuery(files.Machine, s.of, s.words())
	s.checked(nil)(a)
	return a
}

// checked adds the problems of output flags; refuse receives the files that are read.
func (s *settings) checked(refuse func(reads []string) error) throughline.Option {
	return func(a *question.Query) {
		a.Wrong, a.Refuse = document.Join(emptyOutputs(s.flags), a.Wrong), refuse
	}
}

// note reports flags that have no effect beside the others.
func (s *settings) note(to Streams, l *question.Loaded) {
	showRemarks(to, question.NewQuery(files.Machine, s.of, s.words()).Ineffective(l))
}

func showRemarks(s Streams, remarks []question.Remark) {
	for _, r := range remarks {
		if r.Setting != "" {
			r.Setting = "--" + r.Setting
		}
		r.Text = settingName.ReplaceAllString(r.Text, "--$1")
		fmt.Fprintln(s.Err, r)
	}
}

// settingName matches settings in messages of libraries, which put their names in backquotes.
var settingName = regexp.MustCompile("`([a-z][a-z-]*)`")

// withFlags turns the settings that a message names into flags.
func withFlags(cmd *cobra.Command, message string) string {
	return settingName.ReplaceAllStringFunc(message, func(name string) string {
		if bare := strings.Trim(name, "`"); cmd.Flags().Lookup(bare) != nil {
			return "--" + bare
		}
		return name
	})
}

// asFlags shows the problems of settings as problems of flags.
func asFlags(cmd *cobra.Command, problems []document.Problem) []document.Problem {
	out := slices.Clone(problems)
	for i := range out {
		if p := &out[i]; p.File == "" && p.Path != "" && cmd.Flags().Lookup(p.Path) != nil {
			p.Path = "--" + p.Path
		}
		out[i].Message = withFlags(cmd, out[i].Message)
	}
	return out
}

func ofFlag(name string, err error) error { return question.OfSetting(name, err) }
