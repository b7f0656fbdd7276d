package main

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/internal/cli"
)

// Where the manual and completions are in an archive.
const (
	manuals     = "man/man1"
	completions = "completions"
)

// completionFiles is the name of each shell's file, as that shell looks for it.
var completionFiles = map[string]string{"bash": "throughline", "zsh": "_throughline", "fish": "throughline.fish", "powershell": "throughline.ps1"}

// manual is a page for each command, and the completions of shells.
func manual() ([]entry, error) {
	var out []entry
	root := cli.Commands()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c != root {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		out = append(out, entry{path.Join(manuals, name), 0o644, []byte(manPage(c))})
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
	for shell, write := range map[string]func(*bytes.Buffer) error{
		"bash":       func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) },
		"zsh":        func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"fish":       func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
		"powershell": func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return nil, err
		}
		out = append(out, entry{path.Join(completions, shell, completionFiles[shell]), 0o644, b.Bytes()})
	}
	return out, nil
}

func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", roff(strings.ToUpper(name)), roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(c.UseLine()))
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	// The help is laid out by hand, so that its lines stay as they are.
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(long))
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"OPTIONS", c.NonInheritedFlags()}, {"OPTIONS OF ALL COMMANDS", c.InheritedFlags()}} {
		if !part.flags.HasAvailableFlags() {
			continue
		}
		fmt.Fprintf(&b, ".SH %s\n", part.title)
		part.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				b.WriteString(option(f))
			}
		})
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			also = append(also, strings.ReplaceAll(below.CommandPath(), " ", "-"))
		}
	}
	if len(also) > 0 {
		for i := range also {
			also[i] = ".BR " + roff(also[i]) + " (1)"
		}
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, " ,\n"))
	}
	return b.String()
}

func option(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	kind, usage := pflag.UnquoteUsage(f)
	if kind != "" {
		name += " " + kind
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && !strings.Contains(usage, "(default") {
		usage += " (default " + f.DefValue + ")"
	}
	return fmt.Sprintf(".TP\n\\fB%s\\fR\n%s\n", roff(name), roff(usage))
}

// roff is text that the typesetter takes literally.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
