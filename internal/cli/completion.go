package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/internal/catalogue"
	"throughline/internal/question"
	"throughline/internal/result"
)

// completeIfAsked offers the values of flags to a shell that asks for them. Cobra keeps what is offered for as long as the process lives,
// which nobody else is to pay for.
func completeIfAsked(root *cobra.Command, args []string) {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		completeAll(root)
	}
}

// completeAll offers the values of all flags: the goals and numbers of explain, those of other settings by the table, files for what is
// a file, nothing for numbers.
func completeAll(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		setting, known := f.Value.(*settingFlag)
		switch {
		case known && f.Name == "until":
			complete(cmd, f.Name, goals(), true)
		case known && f.Name == "seek":
			completePaths(cmd)
		case known && setting.List != "" && len(setting.Choices) > 0:
			completeList(cmd, f.Name, setting.Choices)
		case known && len(setting.Choices) > 0:
			complete(cmd, f.Name, setting.Choices, setting.Open)
		case known && setting.Kind() != question.Text:
			completeNothing(cmd, f.Name)
		case known:
		default:
			completeOutput(cmd, f)
		}
	})
	for _, sub := range cmd.Commands() {
		completeAll(sub)
	}
}

// wordsOfBash is what the script for bash needs of the package bash-completion, for machines without it: the words up to
// the cursor, which = and : do not divide.
const wordsOfBash = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref()
{
    read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1)) cur=${words[-1]} prev=${words[-2]}
}

`

// addCompletion adds the command that prints the scripts. That for bash works by itself.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	must(err)
	completion.Args, completion.RunE = knownCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	bash, _, err := completion.Find([]string{"bash"})
	must(err)
	bash.Long = strings.Replace(bash.Long, `This script depends on the 'bash-completion' package.
If it is not installed already, you can install it via your OS's package manager.

`, "", 1)
	bash.PreRunE = func(cmd *cobra.Command, _ []string) error {
		_, err := io.WriteString(root.OutOrStdout(), wordsOfBash)
		return failed(err)
	}
}

// completeOutput offers the words of an output flag that has some.
func completeOutput(cmd *cobra.Command, f *pflag.Flag) {
	for i := range outputFlags {
		o := &outputFlags[i]
		if o.name != f.Name || o.words == nil {
			continue
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "throughline ")
		if f.Value.Type() == "stringSlice" {
			completeList(cmd, f.Name, o.words(path))
		} else {
			complete(cmd, f.Name, o.words(path), false)
		}
	}
}

// fieldNames are those of results, without their units.
func fieldNames() []string {
	var out []string
	for _, f := range result.Fields() {
		name, _, _ := strings.Cut(f.Name, "(")
		out = append(out, name)
	}
	return out
}

// completeList offers words for the last of a list.
func completeList(cmd *cobra.Command, flag string, words []string) {
	must(cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		at := strings.LastIndex(begun, ",") + 1
		var out []string
		for _, w := range starting(begun[at:], words) {
			out = append(out, begun[:at]+w)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}))
}

// complete offers words for a flag. Where these are not all that it takes, a file may take their place.
func complete(cmd *cobra.Command, flag string, words []string, open bool) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if open {
		directive = partly(words)
	}
	must(cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return starting(begun, words), directive
	}))
}

func completeNothing(cmd *cobra.Command, flag string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions))
}

// completeNames offers the names of built-in files as the argument of a command; a file may take their place.
func completeNames(set catalogue.Set) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return starting(begun, set.Names()), cobra.ShellCompDirectiveDefault
	}
}

// partly keeps the cursor behind words that are only the start of a value, like trace: or tpot=.
func partly(words []string) cobra.ShellCompDirective {
	for _, w := range words {
		if strings.HasSuffix(w, ":") || strings.HasSuffix(w, "=") {
			return cobra.ShellCompDirectiveNoSpace
		}
	}
	return cobra.ShellCompDirectiveDefault
}

// starting are the words that start like what has been typed, whatever the case.
func starting(begun string, words []string) []string {
	var out []string
	for _, w := range words {
		if len(w) >= len(begun) && strings.EqualFold(w[:len(begun)], begun) {
			out = append(out, w)
		}
	}
	return out
}

// must is for what fails only where a flag does not exist.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
