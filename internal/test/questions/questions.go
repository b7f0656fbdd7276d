// Package questions holds the questions of end-to-end tests: plans in the words of platform
// engineers, and deployments drawn from a seed. It imports no package of the program.
package questions

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed plans.txt
var plans string

// Plans are questions to plan, as arguments of its command line.
func Plans() []string {
	lines := strings.Split(strings.TrimSpace(plans), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") })
}

// Setting is a flag without its dashes, and its value.
type Setting struct{ Name, Value string }

// Settings are those of one question, in order.
type Settings []Setting

// Parse reads arguments such as "--model M --gpus 8".
func Parse(line string) Settings {
	var out Settings
	for _, part := range strings.Split(" "+line, " --")[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(part), " ")
		out = append(out, Setting{name, value})
	}
	return out
}

// Get returns the value of a setting, or "".
func (s Settings) Get(name string) string {
	for _, w := range s {
		if w.Name == name {
			return w.Value
		}
	}
	return ""
}

// With adds a setting, unless its value is empty.
func (s Settings) With(name, value string) Settings {
	if value == "" {
		return s
	}
	return append(slices.Clone(s), Setting{name, value})
}

// Without drops settings by name.
func (s Settings) Without(names ...string) Settings {
	return slices.DeleteFunc(slices.Clone(s), func(w Setting) bool { return slices.Contains(names, w.Name) })
}

// Only keeps settings by name.
func (s Settings) Only(names ...string) Settings {
	return slices.DeleteFunc(slices.Clone(s), func(w Setting) bool { return !slices.Contains(names, w.Name) })
}

// Args returns the settings as arguments of a command line.
func (s Settings) Args() []string {
	var out []string
	for _, w := range s {
		out = append(out, "--"+w.Name+"="+w.Value)
	}
	return out
}

func (s Settings) String() string { return strings.Join(s.Args(), " ") }
