// Package matrix runs clients against servers in all combinations: it starts a server, waits until
// it is ready, runs a client, keeps the output of both and stops all processes. Results are rows of
// raw data with predictions. An interrupted run resumes where it was.
package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/rawdata"
	"throughline/internal/secret"
	"throughline/internal/shell"
)

type File struct {
	Servers []Server `json:"servers" yaml:",omitempty" doc:"servers; without any the clients run by themselves"`
	Clients []Client `json:"clients" yaml:",omitempty" required:"true" nonempty:"true" doc:"clients, each of which runs against each server"`
}

// Server is a program that serves, or the address of a running one.
type Server struct {
	Name        string          `json:"name" yaml:",omitempty" required:"true" nonempty:"true" doc:"name in results and logs"`
	Command     Command         `json:"command" yaml:",omitempty" doc:"command line for the shell, or a list of words; without one the server at url runs already"`
	Environment map[string]Word `json:"environment" yaml:",omitempty" doc:"variables besides those of this program"`
	Folder      string          `json:"folder" yaml:",omitempty" doc:"working directory of the command"`
	URL         string          `json:"url" yaml:",omitempty" doc:"address for clients: base-url of built-in ones, MATRIX_URL for commands (default: that of ready.url)"`
	Ready       Ready           `json:"ready" yaml:",omitempty" doc:"when clients may start"`
	Stop        Stop            `json:"stop" yaml:",omitempty" doc:"how the server is ended"`
	Log         string          `json:"log" yaml:",omitempty" doc:"file that the server itself writes; new lines of it count as its output"`
	Deployment  map[string]Word `json:"deployment" yaml:",omitempty" doc:"what it serves, in the words of estimate (model, system, engine, tp, …), for predictions"`
	Columns     map[string]Word `json:"columns" yaml:",omitempty" doc:"values of columns of the raw data that nothing else tells"`
}

// Ready is how a server shows that it is ready; both conditions must hold if given.
type Ready struct {
	Line    string   `json:"line" yaml:",omitempty" doc:"text that its output has"`
	URL     string   `json:"url" yaml:",omitempty" doc:"address that answers with a status of 200 to 299"`
	Timeout Duration `json:"timeout" yaml:",omitempty" doc:"the longest that this may take (default 30m)"`
}

type Stop struct {
	Signal string   `json:"signal" yaml:",omitempty" enum:"SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGKILL" doc:"first signal to its process group (default SIGTERM)"`
	Grace  Duration `json:"grace" yaml:",omitempty" doc:"time until what is left is killed (default 30s)"`
}

// Client is a program that sends requests to a server.
type Client struct {
	Name        string          `json:"name" yaml:",omitempty" required:"true" nonempty:"true" doc:"name in results and logs"`
	Command     Command         `json:"command" yaml:",omitempty" doc:"command line for the shell, or a list of words"`
	Bench       map[string]Word `json:"bench" yaml:",omitempty" doc:"options of throughline bench, in place of a command"`
	Environment map[string]Word `json:"environment" yaml:",omitempty" doc:"variables besides those of this program"`
	Folder      string          `json:"folder" yaml:",omitempty" doc:"working directory of the command"`
	Timeout     Duration        `json:"timeout" yaml:",omitempty" doc:"the longest that it may run (default 6h)"`
	Servers     []string        `json:"servers" yaml:",omitempty" doc:"names of the servers that it runs against (default: all)"`
	Columns     map[string]Word `json:"columns" yaml:",omitempty" doc:"values of columns of the raw data that nothing else tells"`
}

// Default timeouts.
const (
	usualReady  = 30 * time.Minute // large models load from slow disks
	usualGrace  = 30 * time.Second
	usualClient = 6 * time.Hour // as the requests of bench
	usualSignal = "SIGTERM"
)

func (s *Server) SetDefaults() {
	s.Ready.Timeout, s.Stop = Duration(usualReady), Stop{usualSignal, Duration(usualGrace)}
}

func (c *Client) SetDefaults() { c.Timeout = Duration(usualClient) }

// alone is the server of clients that need none.
const alone = "none"

// Word is a text that may be written as a number or boolean.
type Word string

// DecodeDocument takes any scalar.
func (w *Word) DecodeDocument(v document.Value) {
	switch v.Kind() {
	case document.String:
		s, _ := v.String()
		*w = Word(s)
	case document.Number, document.Bool:
		*w = Word(v.JSON())
	default:
		v.Problemf("must be a text, a number, true or false, not %s", v.Describe())
	}
}

func (*Word) DocumentSchema() map[string]any {
	return map[string]any{"type": []any{"string", "number", "boolean"}}
}

// Command is a shell line, or words.
type Command struct {
	Line  string
	Words []string
}

// DecodeDocument takes a text or a list of words.
func (c *Command) DecodeDocument(v document.Value) {
	if line, ok := v.String(); ok {
		if c.Line = strings.TrimSpace(line); c.Line == "" {
			v.Problemf("must not be empty")
		}
		return
	}
	if v.Kind() != document.List {
		v.Problemf("must be a command line or a list of words, not %s", v.Describe())
		return
	}
	for _, e := range v.Elements() {
		var w Word
		w.DecodeDocument(e)
		c.Words = append(c.Words, string(w))
	}
	if len(c.Words) == 0 {
		v.Problemf("must not be empty")
	}
}

func (*Command) DocumentSchema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "string", "minLength": 1},
		map[string]any{"type": "array", "minItems": 1, "items": (*Word)(nil).DocumentSchema()},
	}}
}

func (c *Command) given() bool { return c.Line != "" || len(c.Words) > 0 }

func (c *Command) String() string {
	if c.Line != "" {
		return c.Line
	}
	var out []string
	for _, w := range c.Words {
		out = append(out, shell.Quote(w))
	}
	return strings.Join(out, " ")
}

// Duration is seconds, or a text like 90s, 10m or 1h30m.
type Duration time.Duration

// longest duration: a week.
const longest = 7 * 24 * time.Hour

// DecodeDocument takes seconds or a text with units.
func (d *Duration) DecodeDocument(v document.Value) {
	var got time.Duration
	var err error
	if s, ok := v.String(); ok {
		got, err = time.ParseDuration(s)
	} else if x, ok := v.Float(); ok {
		got = time.Duration(min(max(x, -1), 2*longest.Seconds()) * float64(time.Second))
	} else {
		err = fmt.Errorf("no time")
	}
	if err != nil || got <= 0 || got > longest {
		v.Problemf("must be a time above 0 and at most a week, like 90s, 10m or 1h30m, or a number of seconds, not %s", v.Describe())
		return
	}
	*d = Duration(got)
}

func (*Duration) DocumentSchema() map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": longest.Seconds()},
		map[string]any{"type": "string", "pattern": "^([0-9.]+(ms|s|m|h))+$"}}}
}

func Schema() ([]byte, error) {
	return document.Schema("Throughline matrix", "matrix.schema.json", &File{})
}

func (f *File) Combinations() int { return len((&Runner{File: f}).combinations()) }

// Keys at the top of a file.
var Keys = []string{"servers", "clients"}

// Read reads and checks a file: names, commands, options of bench, columns and deployments.
func Read(name string, src []byte) (*File, []document.Problem, error) {
	doc := document.ParseYAML(name, src)
	f := &File{}
	doc.Decode(f)
	c := &checker{file: f, doc: doc}
	c.names()
	for i := range f.Servers {
		c.server(&f.Servers[i], fmt.Sprintf("servers[%d]", i))
	}
	for i := range f.Clients {
		c.client(&f.Clients[i], fmt.Sprintf("clients[%d]", i))
	}
	if err := doc.Err(); err != nil {
		return nil, doc.Warnings(), err
	}
	return f, doc.Warnings(), nil
}

// checker finds problems beyond the form of a file.
type checker struct {
	file *File
	doc  *document.File
}

var goodName = regexp.MustCompile(`^[A-Za-z0-9.+-]+(_[A-Za-z0-9.+-]+)*$`)

func (c *checker) names() {
	check := func(list string, names []string) {
		seen := map[string]bool{}
		for i, name := range names {
			path := fmt.Sprintf("%s[%d].name", list, i)
			if name == "" {
				continue // already reported
			}
			if !goodName.MatchString(name) {
				c.doc.Problemf(path, "%q must be letters, digits and . + - with single _ between them: logs are called SERVER__CLIENT", name)
			}
			if seen[name] {
				c.doc.Problemf(path, "%q is there twice", name)
			}
			seen[name] = true
		}
	}
	check("servers", c.serverNames())
	var clients []string
	for i := range c.file.Clients {
		clients = append(clients, c.file.Clients[i].Name)
	}
	check("clients", clients)
}

func (c *checker) serverNames() (out []string) {
	for i := range c.file.Servers {
		out = append(out, c.file.Servers[i].Name)
	}
	return out
}

func (c *checker) server(s *Server, path string) {
	c.url(path+".url", s.URL)
	c.url(path+".ready.url", s.Ready.URL)
	switch sound := c.doc.Sound(path); {
	case !sound:
	case !s.Command.given() && s.URL == "":
		c.doc.Problemf(path, "a command is missing, or the url of a server that runs already")
	case s.Command.given() && s.Ready == Ready{Timeout: s.Ready.Timeout}:
		c.doc.Problemf(path, "nothing says when it is ready: a line of its output (ready.line) or an address that answers (ready.url)")
	case !s.Command.given() && (s.Ready.Line != "" || s.Log != "" || len(s.Environment) > 0 || s.Folder != ""):
		c.doc.Problemf(path, "a server without a command is only asked: ready.line, log, environment and folder are of no use")
	}
	s.URL = cmp.Or(s.URL, rootOf(s.Ready.URL))
	c.environment(path, s.Environment)
	c.columns(path, s.Columns)
	c.deployment(path, s.Deployment)
}

// rootOf is an address without its path.
func rootOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (c *checker) url(path, address string) {
	if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		c.doc.Problemf(path, "must be an address like http://127.0.0.1:8000, not %q", secret.Shown(address))
	}
}

func (c *checker) environment(path string, all map[string]Word) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.ContainsAny(name, "=\x00") {
			c.doc.Problemf(path+".environment", "%q is no name of a variable", name)
		}
	}
}

func (c *checker) columns(path string, all map[string]Word) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := rawdata.NewRow().SetText(name, string(all[name])); err != nil {
			c.doc.Problemf(path+".columns."+name, "%s", err)
		}
	}
}

func (c *checker) client(k *Client, path string) {
	switch {
	case !c.doc.Sound(path):
	case k.Command.given() == (k.Bench != nil):
		c.doc.Problemf(path, "must have a command, or options of throughline bench, and not both")
	}
	for i, name := range k.Servers {
		if all := c.serverNames(); !slices.Contains(all, name) {
			c.doc.Problemf(fmt.Sprintf("%s.servers[%d]", path, i), "%s", document.NotOneOf(name, all))
		}
	}
	c.environment(path, k.Environment)
	c.columns(path, k.Columns)
	if k.Bench != nil {
		c.bench(k, path)
	}
}

// bench checks the options of a built-in client.
func (c *checker) bench(k *Client, path string) {
	q, ok := c.ask(question.Bench, path+".bench", k.Bench)
	if !ok {
		return
	}
	c.report(path+".bench", q.Check(question.Bench))
	if q.SelfCheck {
		c.doc.Problemf(path+".bench.self-check", "measures no server")
	}
	for i := range c.file.Servers {
		s := &c.file.Servers[i]
		switch {
		case k.BaseURL() != "" || !k.meets(s.Name):
		case s.URL == "":
			c.doc.Problemf(path+".bench", "the server %q has no url, and base-url is not given", s.Name)
		case strings.ContainsAny(s.URL, "?#"):
			c.doc.Problemf(path+".bench", "the url of the server %q has ? or #, and bench puts paths behind it; keys go into a header", s.Name)
		}
	}
	if len(c.file.Servers) == 0 && k.BaseURL() == "" {
		c.doc.Problemf(path+".bench", "there is no server, and base-url is not given")
	}
}

// BaseURL is the address in the options of a built-in client, if any.
func (k *Client) BaseURL() string { return string(k.Bench["base-url"]) }

func (k *Client) meets(server string) bool {
	return len(k.Servers) == 0 || slices.Contains(k.Servers, server)
}

// ask makes a question of words, and reports their problems.
func (c *checker) ask(of question.Command, path string, words map[string]Word) (question.Question, bool) {
	q := question.DefaultOf(of)
	q.In = files.Machine
	sound := true
	for _, name := range slices.Sorted(maps.Keys(words)) {
		s, ok := setting(of, name)
		if !ok {
			sound = false
			message := fmt.Sprintf("%s has no setting %q", strings.Join(of.Paths(), ", "), name)
			if near, ok := document.Nearest(name, question.Columns(of)); ok {
				message += fmt.Sprintf("; did you mean %q?", near)
			}
			c.doc.Problemf(path+"."+name, "%s", message)
			continue
		}
		if err := s.Set(&q, string(words[name])); err != nil {
			sound = false
			c.report(path, err)
		}
	}
	return q, sound
}

// setting finds one by its name or an alias.
func setting(of question.Command, name string) (*question.Setting, bool) {
	for _, s := range question.Settings(of) {
		if !s.Apart && (s.Name == name || slices.Contains(s.Aliases, name)) {
			return s, true
		}
	}
	return nil, false
}

// report places problems of settings.
func (c *checker) report(path string, err error) {
	var problems *document.Error
	switch {
	case err == nil:
	case errors.As(err, &problems):
		for _, p := range problems.Problems {
			at, message := path, p.Message
			if p.Path != "" && p.File == "" {
				at += "." + p.Path
			}
			if p.File != "" {
				message = p.String()
			}
			c.doc.Problemf(at, "%s", message)
		}
	default:
		c.doc.Problemf(path, "%s", err)
	}
}
