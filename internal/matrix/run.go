package matrix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"throughline/internal/bench"
	"throughline/internal/document"
	"throughline/internal/runs"
	"throughline/internal/secret"
)

type Runner struct {
	File  *File
	Dir   string // of the results
	Page  string // file of a report; empty: none
	Retry bool   // those that failed before
	// Bench is the command line of a built-in client, which appends its result to a file.
	Bench func(options map[string]Word, result string) []string
	Say   func(line string) // called with what happens

	secrets *secret.Set
	state   *State
	before  map[int]bool // children of this program that are not of the run
	cached  map[*Outcome]Result
}

// clientGrace is how long a client has to end once it is told to, or its server has ended.
const clientGrace = 5 * time.Second

// Patience is how long a run may take to end all its processes.
func (f *File) Patience() time.Duration {
	most := time.Duration(0)
	for i := range f.Servers {
		most = max(most, time.Duration(f.Servers[i].Stop.Grace))
	}
	return most + clientGrace + 4*killed
}

type combination struct {
	*Runner
	server *Server
	client *Client
	out    *Outcome
	began  bool // the client
	follow *following
	start  time.Time // of the server
}

// combinations of the file, in order.
func (r *Runner) combinations() (out []*combination) {
	servers := r.File.Servers
	if len(servers) == 0 {
		servers = []Server{{Name: alone}}
	}
	for i := range servers {
		for k := range r.File.Clients {
			if c := &r.File.Clients[k]; c.meets(servers[i].Name) {
				out = append(out, &combination{Runner: r, server: &servers[i], client: c})
			}
		}
	}
	return out
}

// Run runs all pending combinations, and writes the results, failures included, after each.
func (r *Runner) Run(ctx context.Context) ([]Result, error) {
	if err := os.MkdirAll(r.Dir, 0o777); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(r.Dir, logsName), ownersOnly|0o100); err != nil {
		return nil, err
	}
	free, err := lock(filepath.Join(r.Dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Dir, err)
	}
	defer free()
	if r.state, err = openState(r.Dir); err != nil {
		return nil, err
	}
	r.before, r.cached = adopt(), map[*Outcome]Result{}
	living.marked(r.state.Mark)
	defer living.marked("")
	r.secrets = r.File.secrets(os.Environ())
	known := readTrail(r.Dir)
	for _, note := range survivors(func() []stray { return strays(r.state.Mark, nil, known) }, r.hidden, clientGrace) {
		r.say("of a run that was killed: %s", note)
	}
	defer leaveTrail(r.Dir, r.before)()
	all := r.combinations()
	for _, c := range all {
		if err := c.runOnce(ctx); err != nil {
			return nil, err
		}
		if _, err := r.write(ctx, all); err != nil {
			return nil, err
		}
	}
	r.state.Running = ""
	if err := r.state.write(r.Dir); err != nil {
		return nil, err
	}
	return r.write(ctx, all)
}

// runOnce runs a combination unless it has been run.
func (c *combination) runOnce(ctx context.Context) error {
	name, print := runName(c.server.Name, c.client.Name), fingerprint(c.server, c.client)
	if c.out = c.state.find(name, print); c.out != nil && !(c.Retry && c.out.Verdict == Failed) {
		c.say("%s: %s before", name, c.out.Verdict)
		return nil
	}
	c.out = &Outcome{Server: c.server.Name, Client: c.client.Name, Fingerprint: print, Began: time.Now().UTC()}
	c.state.Running = name
	if err := c.state.write(c.Dir); err != nil {
		return err
	}
	if err := c.run(ctx); err != nil {
		return err
	}
	c.state.keep(c.out)
	c.state.Running = ""
	return c.state.write(c.Dir)
}

var logNames = []string{"server.log", "client.out.log", "client.err.log", "result.jsonl"}

func (c *combination) log(what string) string {
	return filepath.Join(c.Dir, logsName, c.out.Name()+"."+what)
}

// note adds a line to the transcript.
func (c *combination) note(format string, args ...any) {
	line := c.hidden(fmt.Sprintf(format, args...))
	c.Say(line)
	if c.began {
		c.out.After = append(c.out.After, line)
	} else {
		c.out.Before = append(c.out.Before, line)
	}
}

func (c *combination) remark(format string, args ...any) {
	c.out.Notes = append(c.out.Notes, c.hidden(fmt.Sprintf(format, args...)))
}

// fail makes the combination a failure; the first reason counts.
func (c *combination) fail(format string, args ...any) {
	c.out.Verdict = Failed
	if c.out.Problem == "" {
		c.out.Problem = c.hidden(fmt.Sprintf(format, args...))
	}
}

// run starts the server, waits, runs the client and stops all; it fails if interrupted.
func (c *combination) run(ctx context.Context) error {
	c.say("%s\n[COMBINATION] SERVER=%s  CLIENT=%s\n%[1]s", strings.Repeat("=", 80), c.server.Name, c.client.Name)
	c.out.Verdict = Done
	for _, what := range logNames {
		if err := os.Remove(c.log(what)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	server, err := c.startServer()
	if err != nil {
		return err
	}
	ready := c.out.Verdict == Done && c.waitReady(ctx, server)
	if ready {
		err = c.runClient(ctx, server)
	}
	c.stopServer(server)
	for _, note := range survivors(func() []stray { return strays(c.state.Mark, c.before, nil) }, c.hidden, time.Duration(c.server.Stop.Grace)) {
		c.remark("%s", note)
		c.note("[SERVER] %s", note)
	}
	for _, what := range logNames {
		err = errors.Join(err, c.secrets.File(c.log(what)))
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.out.Verdict == Done {
		c.figures()
	}
	c.out.Printed = c.printed()
	if c.out.Verdict == Failed {
		c.note("[FAILED] %s", c.out.Problem)
	}
	return nil
}

// startServer starts one that has a command; nil if there is none, or after a recorded failure.
func (c *combination) startServer() (*process, error) {
	s := c.server
	if !s.Command.given() {
		return nil, nil
	}
	if s.Ready.URL != "" && answers(s.Ready.URL) != 0 {
		c.fail("something answers at %s before the server is started: end it, or choose another port", s.Ready.URL)
		return nil, nil
	}
	f, err := os.OpenFile(c.log("server.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, ownersOnly)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c.out.ServerCommand = c.typed(nil, s.Command)
	c.note("[SERVER] starting %s: %s", s.Name, c.typed(s.Environment, s.Command))
	c.start = time.Now()
	p, err := part{s.Command, c.environment(s.Environment, serverPart), s.Folder, f, f}.start()
	if err != nil {
		c.fail("the server could not be started: %s", document.Reason(err))
		return nil, nil
	}
	return p, nil
}

// waitReady reports whether clients may start.
func (c *combination) waitReady(ctx context.Context, server *process) bool {
	s := c.server
	end := time.Now().Add(time.Duration(s.Ready.Timeout))
	c.follow = follow(c.log("server.log"), s.Log, s.Ready.Line)
	lined, reached := s.Ready.Line == "", s.Ready.URL == ""
	next := time.Now()
	for ctx.Err() == nil {
		if server != nil && server.ended() {
			c.fail("the server ended with %s before it was ready%s", server.how(), c.lastLine(c.log("server.log")))
			return false
		}
		lined = lined || c.follow.seen()
		if !reached && !time.Now().Before(next) {
			reached = answers(s.Ready.URL)/100 == 2
			next = time.Now().Add(answerPoll)
		}
		if lined && reached {
			if server != nil {
				c.out.ReadySeconds = time.Since(c.start).Seconds()
				c.note("[SERVER] %s is ready: %s", s.Name, s.Ready.how())
			}
			return true
		}
		if time.Now().After(end) {
			c.fail("the server was not ready after %v%s", time.Duration(s.Ready.Timeout), c.lastLine(c.log("server.log")))
			return false
		}
		select {
		case <-ctx.Done():
		case <-time.After(looked):
		}
	}
	return false
}

// how describes what makes a server ready.
func (r *Ready) how() string {
	switch {
	case r.URL == "":
		return r.Line
	case r.Line == "":
		return r.URL + " answers"
	}
	return r.Line + "; " + r.URL + " answers"
}

// answers is the status of an address; 0 if nothing answers.
func answers(address string) int {
	client := http.Client{
		Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect is no answer of the server
	}
	resp, err := client.Get(address)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// runClient runs the client until it ends or times out, the server ends or the run is interrupted.
func (c *combination) runClient(ctx context.Context, server *process) error {
	k := c.client
	command, environment := k.Command, c.environment(k.Environment, clientPart)
	if k.Bench != nil {
		options := map[string]Word{"base-url": Word(c.server.URL)}
		maps.Copy(options, k.Bench)
		if headers, ok := options["header"]; ok { // everybody can read a command line
			environment = append(environment, bench.HeaderVariable+"="+string(headers))
			delete(options, "header")
		}
		command = Command{Words: c.Bench(options, c.log("result.jsonl"))}
	}
	c.out.ClientCommand = c.typed(nil, command)
	c.note("[CLIENT] running %s: %s", k.Name, c.typed(k.Environment, command))
	c.began = true
	var files [2]*os.File
	for i, what := range []string{"client.out.log", "client.err.log"} {
		f, err := os.OpenFile(c.log(what), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, ownersOnly)
		if err != nil {
			return err
		}
		defer f.Close()
		files[i] = f
	}
	begin := time.Now()
	p, err := part{command, environment, k.Folder, files[0], files[1]}.start()
	if err != nil {
		c.fail("the client could not be started: %s", document.Reason(err))
		return nil
	}
	defer func() { c.out.ClientSeconds = time.Since(begin).Seconds() }()
	var crashed <-chan struct{}
	if server != nil {
		crashed = server.done
	}
	select {
	case <-p.done:
	case <-ctx.Done():
	case <-time.After(time.Duration(k.Timeout)):
		c.fail("the client was still running after %v", time.Duration(k.Timeout))
	case <-crashed:
		c.fail("the server ended with %s while the client ran%s", server.how(), c.lastLine(c.log("server.log")))
		select { // it may report what it saw
		case <-p.done:
		case <-time.After(clientGrace):
		case <-ctx.Done():
		}
	}
	bySelf := p.ended()
	if _, gone := p.stop(usualSignal, clientGrace); !gone {
		c.remark("the client cannot be ended")
	}
	if ctx.Err() != nil {
		return nil
	}
	c.note("[CLIENT] %s done, %s", k.Name, p.how())
	if bySelf && p.err != nil {
		c.fail("the client ended with %s%s", p.how(), c.lastLine(c.log("client.err.log")))
	}
	return nil
}

// stopServer ends the server and all of its group.
func (c *combination) stopServer(server *process) {
	if server == nil {
		return
	}
	s := c.server
	c.note("[SERVER] stopping %s", s.Name)
	crashed := server.ended()
	forced, gone := server.stop(s.Stop.Signal, time.Duration(s.Stop.Grace))
	if c.follow != nil {
		c.follow.copy()
	}
	note := ""
	switch {
	case !gone:
		note = "cannot be ended, also not by SIGKILL"
	case forced && s.Stop.Signal != "SIGKILL":
		note = fmt.Sprintf("did not end within %v of %s and was killed", time.Duration(s.Stop.Grace), s.Stop.Signal)
	case crashed:
		c.note("[SERVER] %s had ended with %s", s.Name, server.how())
		return
	default:
		c.note("[SERVER] %s ended", s.Name)
		return
	}
	c.remark("the server %s", note)
	c.note("[SERVER] %s %s", s.Name, note)
}

func (c *combination) environment(given map[string]Word, what string) []string {
	out := []string{
		marker + "=" + c.state.Mark + ":" + what, "MATRIX_SERVER=" + c.server.Name, "MATRIX_CLIENT=" + c.client.Name,
		"MATRIX_URL=" + c.server.URL, "MATRIX_RESULT=" + absolute(c.log("result.jsonl")),
	}
	for name, w := range given {
		out = append(out, name+"="+string(w))
	}
	return out
}

// absolute is a name that holds in any folder.
func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// figures reads what the client has measured: from its result file, or its output.
func (c *combination) figures() {
	if src, err := os.ReadFile(c.log("result.jsonl")); err == nil {
		if c.out.Figures, err = bench.ReadResult(src); err != nil {
			c.remark("the result file of the client: %s", err)
		} else if all, err := runs.Results(src); err == nil {
			c.out.Load, _ = runs.Of(all[len(all)-1]) // known whenever figures are
		}
	}
	if c.out.Figures == nil {
		c.out.Figures = bench.ReadPrinted(tail(c.log("client.out.log")))
	}
	switch n, ok := c.out.Figures["completed"]; {
	case c.out.Figures == nil:
		c.remark("what the client printed has no figures of a serving benchmark")
	case ok && n == 0:
		c.fail("no request of the client was answered")
	}
}
