package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Planned is a row of a plan that can be launched.
type Planned struct {
	Name        string
	Script      string            // for bash, that starts all its servers
	URL         string            // for clients
	Backend     string            // as bench calls it
	Deployment  map[string]string // in the words of estimate
	Concurrency int
}

// requestsPerClient of a planned row: enough to be steady for most of the time.
const requestsPerClient = 8

// OfPlan is a file that measures rows of a plan, each under the load that it was planned for.
func OfPlan(rows []Planned, input, output int) *File {
	f := &File{}
	for i := range rows {
		p := &rows[i]
		s := Server{Name: p.Name, Command: Command{Words: []string{"bash", "-c", p.Script}}, URL: p.URL, Deployment: map[string]Word{}}
		s.SetDefaults()
		s.Ready.URL = p.URL + "/health" // which SGLang, vLLM and TensorRT-LLM have
		for name, text := range p.Deployment {
			s.Deployment[name] = Word(text)
		}
		c := Client{Name: fmt.Sprintf("%s_c%d", p.Name, p.Concurrency), Servers: []string{p.Name}, Bench: map[string]Word{
			"backend": Word(p.Backend), "random-input-len": wordOf(input), "random-output-len": wordOf(output),
			"max-concurrency": wordOf(p.Concurrency), "num-prompts": wordOf(requestsPerClient * p.Concurrency),
		}}
		c.SetDefaults()
		f.Servers, f.Clients = append(f.Servers, s), append(f.Clients, c)
	}
	return f
}

func wordOf(n int) Word { return Word(strconv.Itoa(n)) }

// Write writes a file as YAML for Read, without defaults.
func Write(w io.Writer, f *File) error {
	y := &yamlWriter{}
	if len(f.Servers) > 0 {
		y.line(0, "servers:")
	}
	for i := range f.Servers {
		s := &f.Servers[i]
		y.line(1, "- name: "+yamlText(s.Name))
		y.command(s.Command)
		y.words("environment", s.Environment)
		y.text(2, "folder", s.Folder)
		if s.URL != rootOf(s.Ready.URL) {
			y.text(2, "url", s.URL)
		}
		if s.Ready != (Ready{Timeout: Duration(usualReady)}) {
			y.line(2, "ready:")
			y.text(3, "line", s.Ready.Line)
			y.text(3, "url", s.Ready.URL)
			y.duration(3, "timeout", s.Ready.Timeout, usualReady)
		}
		if s.Stop != (Stop{usualSignal, Duration(usualGrace)}) {
			y.line(2, "stop:")
			y.text(3, "signal", s.Stop.Signal)
			y.duration(3, "grace", s.Stop.Grace, usualGrace)
		}
		y.text(2, "log", s.Log)
		y.words("deployment", s.Deployment)
		y.words("columns", s.Columns)
	}
	y.line(0, "clients:")
	for i := range f.Clients {
		c := &f.Clients[i]
		y.line(1, "- name: "+yamlText(c.Name))
		y.command(c.Command)
		y.words("bench", c.Bench)
		y.words("environment", c.Environment)
		y.text(2, "folder", c.Folder)
		y.duration(2, "timeout", c.Timeout, usualClient)
		if len(c.Servers) > 0 {
			y.line(2, "servers: "+yamlList(c.Servers))
		}
		y.words("columns", c.Columns)
	}
	_, err := w.Write(y.Bytes())
	return err
}

// yamlWriter writes lines, indented by two blanks per level.
type yamlWriter struct{ bytes.Buffer }

func (y *yamlWriter) line(level int, text string) {
	y.WriteString(strings.Repeat("  ", level) + text + "\n")
}

// text writes a text unless it is empty. Texts of several lines become blocks.
func (y *yamlWriter) text(level int, key, text string) {
	switch {
	case text == "":
	case strings.Contains(text, "\n") && text == strings.TrimSpace(text) && plainLines.MatchString(text):
		y.line(level, key+": |-")
		for line := range strings.SplitSeq(text, "\n") {
			y.line(level+1, line)
		}
	default:
		y.line(level, key+": "+yamlText(text))
	}
}

// scriptLines may be a block as well: names may be of any language.
var scriptLines = regexp.MustCompile(`^\S[\t\n\x20-\x7e\x{a0}-\x{2027}\x{202a}-\x{fefe}\x{ff00}-\x{fffd}]*$`)

// plainLines may be a block: it loses nothing and has no control characters.
var plainLines = regexp.MustCompile(`^\S[\x20-\x7e\n]*$`)

func (y *yamlWriter) command(c Command) {
	if !slices.ContainsFunc(c.Words, isScript) {
		if len(c.Words) > 0 {
			y.line(2, "command: "+yamlList(c.Words))
		}
		y.text(2, "command", c.Line)
		return
	}
	y.line(2, "command:")
	for _, w := range c.Words {
		if !isScript(w) {
			y.line(3, "- "+yamlText(w))
			continue
		}
		y.line(3, "- |")
		for line := range strings.SplitSeq(strings.TrimSuffix(w, "\n"), "\n") {
			y.line(4, line)
		}
	}
}

// isScript reports whether a word can be a block.
func isScript(word string) bool {
	return strings.HasSuffix(word, "\n") && !strings.HasSuffix(word, "\n\n") && strings.Count(word, "\n") > 1 && scriptLines.MatchString(word)
}

func (y *yamlWriter) words(key string, all map[string]Word) {
	if len(all) == 0 {
		return
	}
	y.line(2, key+":")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		y.line(3, yamlText(name)+": "+yamlWord(all[name]))
	}
}

func (y *yamlWriter) duration(level int, key string, d Duration, usual time.Duration) {
	if d != Duration(usual) && d != 0 {
		y.line(level, key+": "+time.Duration(d).String())
	}
}

func yamlList(all []string) string {
	var out []string
	for _, text := range all {
		out = append(out, yamlText(text))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// Texts that need no quotes, even within brackets, and texts that would be something else.
var (
	yamlPlain   = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./+ -]*$`)
	yamlSpecial = regexp.MustCompile(`(?i)^(null|true|false)$`)
)

// yamlWord is a word; numbers need no quotes.
func yamlWord(w Word) string {
	if n, err := strconv.Atoi(string(w)); err == nil && wordOf(n) == w {
		return string(w)
	}
	return yamlText(string(w))
}

// yamlText is a text in YAML.
func yamlText(text string) string {
	if yamlPlain.MatchString(text) && text == strings.TrimSpace(text) && !yamlSpecial.MatchString(text) {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a text
	}
	return strings.TrimSpace(b.String())
}
