package api

import (
	"fmt"
	"strings"

	"throughline/internal/question"
)

// pythonCommands are the functions of the Python package that take settings.
var pythonCommands = []struct {
	question.Command
	about string
}{
	{question.Plan, "Find the best deployments of a model on a number of GPUs."},
	{question.Estimate, "Predict one deployment: what clients see, memory, power."},
	{question.Explain, "Explain where the time of one deployment goes."},
	{question.Simulate, "Send requests through one deployment, event by event."},
	{question.Compare, "Explain what was measured on one deployment."},
}

// Python is the functions of the Python package, with a keyword for each setting.
func Python() []byte {
	var b strings.Builder
	b.WriteString(`"""Questions as functions. Written from the table of settings; do not edit."""

from ._ask import ask

`)
	for _, c := range pythonCommands {
		writeFunction(&b, c.Command, c.about)
	}
	return []byte(b.String())
}

func writeFunction(b *strings.Builder, of question.Command, about string) {
	name, list := of.Paths()[0], Ranked(of)
	fmt.Fprintf(b, "\ndef %s(*, ", name)
	for _, s := range list {
		fmt.Fprintf(b, "%s=None, ", Keyword(s.Name))
	}
	fmt.Fprintf(b, "numbers=None, url=None, key=None, program=None):\n    \"\"\"%s\n\n", about)
	b.WriteString("    A list asks for each of its values, where the command does. What is None is left to the default.\n\n    Args:\n")
	group := ""
	for _, s := range list {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(b, "\n        %s\n", strings.ToUpper(group[:1])+group[1:])
		}
		fmt.Fprintf(b, "        %s: %s\n", Keyword(s.Name), strings.ReplaceAll(s.Help(of), `\`, `\\`))
	}
	b.WriteString(`
        Besides
        numbers: numbers of files to change, like {"sys.mem1.GBps": 6000}
        url: address of "throughline web", which is asked in place of the program
        key: its key (default: THROUGHLINE_KEY of the environment)
        program: the program to run (default: THROUGHLINE_PROGRAM of the environment, the one of this package, or throughline on the PATH)

    Returns:
        Answer
    """
`)
	fmt.Fprintf(b, "    return ask(%q, {", name)
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%q: %s", s.Name, Keyword(s.Name))
	}
	b.WriteString("}, numbers, url, key, program)\n\n")
}

// Keyword is what Python calls a setting: from is a word of the language.
func Keyword(name string) string {
	name = strings.ReplaceAll(name, "-", "_")
	if name == "from" {
		return "from_"
	}
	return name
}
