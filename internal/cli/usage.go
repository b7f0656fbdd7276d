package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/table"
	"throughline/model"
	"throughline/workload"
)

// helpColumns is the width of the help; narrower terminals have it reflowed.
const helpColumns = 90

// fitHelp makes the help of a command and its subcommands fit a terminal, except for examples,
// which are to be pasted.
func fitHelp(cmd *cobra.Command, width int) {
	columns := helpColumns
	if width > 0 {
		columns = min(columns, width)
	}
	cmd.SetUsageFunc(func(c *cobra.Command) error { return write(c.OutOrStderr(), usage(c, columns)) })
	if columns == helpColumns {
		return
	}
	var reflow func(*cobra.Command)
	reflow = func(c *cobra.Command) {
		c.Long = reflowed(c.Long, table.View{Width: columns})
		for _, below := range c.Commands() {
			reflow(below)
		}
	}
	reflow(cmd)
}

// usage is what a command takes. The library would fill a template, for which the linker keeps all
// methods of the program.
func usage(c *cobra.Command, columns int) string {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		b.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	if c.HasExample() {
		b.WriteString("\n\nExamples:\n" + c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() || below.Name() == "help" {
				fmt.Fprintf(&b, "\n  %-*s %s", below.NamePadding(), below.Name(), below.Short)
			}
		}
	}
	for _, flags := range []struct {
		title string
		has   bool
		set   *pflag.FlagSet
	}{{"Flags", c.HasAvailableLocalFlags(), c.LocalFlags()}, {"Global Flags", c.HasAvailableInheritedFlags(), c.InheritedFlags()}} {
		if flags.has {
			b.WriteString("\n\n" + flags.title + ":\n" + strings.TrimRight(flags.set.FlagUsagesWrapped(columns), " \n"))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\n\"%s [command] --help\" says more about a command.", c.CommandPath())
	}
	return b.String() + "\n"
}

// entryOfHelp matches an indented line of the help: a name and its text.
var entryOfHelp = regexp.MustCompile(`^( +\S.*?  +)(\S.*)$`)

// reflowed breaks paragraphs anew, and the texts of indented list entries under each other.
func reflowed(text string, v table.View) string {
	var out, paragraph []string
	label := ""
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, v.WrapUnder(label, strings.Join(paragraph, " ")))
		}
		paragraph, label = nil, ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		entry := entryOfHelp.FindStringSubmatch(line)
		switch {
		case label != "" && entry == nil && strings.HasPrefix(line, strings.Repeat(" ", len(label))):
			paragraph = append(paragraph, strings.TrimSpace(line)) // continues an entry
		case entry != nil:
			flush()
			label, paragraph = entry[1], []string{entry[2]}
		case line == "" || strings.HasPrefix(line, " "):
			flush()
			out = append(out, v.Wrap(line))
		default:
			if label != "" {
				flush()
			}
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// knownCommand rejects an unknown command.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near, ok := document.Nearest(args[0], names); ok {
		return fmt.Errorf("unknown command %q; did you mean %q?", args[0], near)
	}
	return fmt.Errorf("unknown command %q; the commands are %s", args[0], strings.Join(names, ", "))
}

// onlyFlags rejects arguments and suggests the flag that takes a file.
func onlyFlags(fileFlag string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return nil
		case fileFlag == "" && !hasSettings(cmd):
			return fmt.Errorf("%s takes no arguments, but there is %q", cmd.Name(), args[0])
		case fileFlag == "":
			return fmt.Errorf("%s takes no arguments, but there is %q; %s", cmd.Name(), args[0], explainStray(args[0]))
		case len(args) == 1 && !cmd.Flags().Changed(fileFlag):
			flag := cmd.Flags().Lookup(fileFlag)
			return fmt.Errorf("%s takes its file after a flag; did you mean \"%s -%s %s\"?", cmd.Name(), cmd.CommandPath(), flag.Shorthand, args[0])
		}
		return fmt.Errorf("%s takes one file, after --%s; there is also %q", cmd.Name(), fileFlag, args[0])
	}
}

// hasSettings reports whether a command has flags that take values.
func hasSettings(cmd *cobra.Command) (has bool) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, setting := f.Value.(*settingFlag)
		has = has || setting
	})
	return has
}

// explainStray guesses the origin of an argument that belongs to no flag.
func explainStray(arg string) string {
	if _, unit := workload.TimeUnits[arg]; unit && arg != "" {
		return fmt.Sprintf("a time and its unit are one word, like 2%s", arg)
	}
	for _, of := range []struct {
		flag string
		set  catalogue.Set
	}{{"model", model.Catalogue}, {"system", hardware.Catalogue}} {
		if name, ok := of.set.Name(arg); ok {
			return fmt.Sprintf("did you mean --%s %s?", of.flag, name)
		}
	}
	return "a value stands after its flag, in quotes if it has spaces"
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one file, not %d", cmd.Name(), len(args))
	}
	return someFiles(cmd, args)
}

func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s needs a file, as in: %s FILE", cmd.Name(), cmd.CommandPath())
	}
	return nil
}

func oneOf(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s needs one of %s", cmd.Name(), document.QuoteList(cmd.ValidArgs))
	}
	if err := cobra.OnlyValidArgs(cmd, args); err != nil {
		return errors.New(document.NotOneOf(args[0], cmd.ValidArgs))
	}
	return nil
}

// flagError explains what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		if word := unknown.GetSpecifiedShortnames(); len(word) > 1 && cmd.Flags().Lookup(word) != nil {
			return fmt.Errorf("unknown flag -%s; did you mean --%s?", word, word)
		}
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	case errors.As(err, &noValue):
		return fmt.Errorf("--%s needs a value", noValue.GetFlag().Name)
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s must be %s, not %q", invalid.GetFlag().Name, kindOf(invalid.GetFlag()), invalid.GetValue())
	}
	return err
}

func unknownFlag(cmd *cobra.Command, name string) error {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	slices.Sort(names)
	dashes := "--"
	if len(name) == 1 {
		dashes = "-"
	}
	if setting, known := question.Lookup(question.All, name); known && len(name) > 1 {
		return fmt.Errorf("%s has no flag --%s; these have: %s", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), name, strings.Join(setting.For.Paths(), ", "))
	}
	if here := ownFlag(cmd, name); here != "" {
		return fmt.Errorf("unknown flag %s%s; here it is %s", dashes, name, here)
	}
	near, ok := document.Nearest(name, names)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }); i >= 0 && len(name) > 1 {
		near, ok = names[i], true
	}
	if ok {
		return fmt.Errorf("unknown flag %s%s; did you mean --%s?", dashes, name, near)
	}
	return fmt.Errorf("unknown flag %s%s; %s --help lists the flags", dashes, name, cmd.CommandPath())
}

// kindOf describes what the value of a flag must be.
func kindOf(f *pflag.Flag) string {
	kind := f.Value.Type()
	return cmp.Or(map[string]string{
		"bool": "true or false",
	}[kind], "a "+kind)
}
