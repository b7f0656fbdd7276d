package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/internal/catalogue"
	"throughline/internal/question"
)

// completeOnRequest registers flag completions only for a shell that requests them:
// cobra keeps them for the life of the process, at a cost to every other command.
func completeOnRequest(root *cobra.Command, args []string) {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		completeAll(root)
	}
}

// completeAll completes all flags: goals and system numbers of explain, settings by their table,
// files where one is meant, nothing for numbers.
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

// wordsOfBash replaces what the bash script needs of the package bash-completion: the words up to
// the cursor, not split at = and :.
const wordsOfBash = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref()
{
    read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1)) cur=${words[-1]} prev=${words[-2]}
}

`

// addCompletion adds the command that prints the scripts; that for bash needs no package.
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

func completeList(cmd *cobra.Command, flag string, words []string) {
	must(cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		at := strings.LastIndex(begun, ",") + 1
		var out []string
		for _, w := range withPrefix(begun[at:], words) {
			out = append(out, begun[:at]+w)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}))
}

// complete completes a flag by words; an open one also takes a file.
func complete(cmd *cobra.Command, flag string, words []string, open bool) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if open {
		directive = completionDirective(words)
	}
	must(cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return withPrefix(begun, words), directive
	}))
}

func completeNothing(cmd *cobra.Command, flag string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions))
}

// completeNames completes an argument by built-in names or files.
func completeNames(set catalogue.Set) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return withPrefix(begun, set.Names()), cobra.ShellCompDirectiveDefault
	}
}

// completionDirective keeps the cursor after words that only start a value, like trace: or tpot=.
func completionDirective(words []string) cobra.ShellCompDirective {
	for _, w := range words {
		if strings.HasSuffix(w, ":") || strings.HasSuffix(w, "=") {
			return cobra.ShellCompDirectiveNoSpace
		}
	}
	return cobra.ShellCompDirectiveDefault
}

// withPrefix filters words by a prefix, ignoring case.
func withPrefix(begun string, words []string) []string {
	var out []string
	for _, w := range words {
		if len(w) >= len(begun) && strings.EqualFold(w[:len(begun)], begun) {
			out = append(out, w)
		}
	}
	return out
}

// must panics where a flag does not exist.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
