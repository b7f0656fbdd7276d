package matrix

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// marker is the environment variable that identifies the processes of a run, wherever they have
// gone. Its value is the mark of the state, and the part.
const marker = "THROUGHLINE_MATRIX"

// Parts of a combination.
const serverPart, clientPart = "server", "client"

// Polling intervals of processes, logs and addresses.
const (
	looked     = 50 * time.Millisecond
	answerPoll = 250 * time.Millisecond
)

// killed is how long a killed process may take to vanish: one that waits for a disk may never.
const killed = 5 * time.Second

// process leads a group of processes.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the first process has ended
	err  error         // of its end
}

type part struct {
	command     Command
	environment []string // besides that of this program
	folder      string
	out, err    *os.File
}

// start starts a group of processes, with output to files: an open pipe would block everything.
func (p part) start() (*process, error) {
	words := p.command.Words
	if p.command.Line != "" {
		words = shellWords(p.command.Line)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(os.Environ(), p.environment...), p.folder, p.out, p.err
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	started := &process{cmd: cmd, done: make(chan struct{})}
	living.add(started)
	go func() {
		started.err = cmd.Wait()
		close(started.done)
	}()
	return started, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// how describes the end.
func (p *process) how() string {
	var exit *exec.ExitError
	switch {
	case !p.ended():
		return "no end"
	case p.err == nil:
		return "exit code 0"
	case errors.As(p.err, &exit):
		if code := exit.ExitCode(); code >= 0 {
			return fmt.Sprintf("exit code %d", code)
		}
		return exit.Error() // the signal that ended it
	}
	return p.err.Error()
}

// stop ends a group by a signal, then by force; it reports whether force was needed and all are
// gone.
func (p *process) stop(signal string, grace time.Duration) (forced, gone bool) {
	defer living.remove(p)
	p.signal(signal)
	if p.vanishes(grace) {
		return signal == "SIGKILL", true
	}
	p.signal("SIGKILL")
	return true, p.vanishes(killed)
}

// vanishes waits until no process of the group is left.
func (p *process) vanishes(within time.Duration) bool {
	for end := time.Now().Add(within); ; time.Sleep(looked) {
		if p.ended() && !p.hasGroup() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// survivors ends processes that have left their group, gently and then by force, and names them.
func survivors(find func() []stray, show func(string) string, grace time.Duration) (notes []string) {
	var names []string
	seen := map[int]bool{}
	for signal, end := "SIGTERM", time.Now().Add(min(grace, killed)); ; time.Sleep(looked) {
		left := find()
		if len(left) == 0 {
			break
		}
		late := time.Now().After(end)
		if late && signal == "SIGKILL" {
			notes = append(notes, fmt.Sprintf("processes that cannot be ended: %s", strayList(left, show)))
			break
		}
		if late {
			signal, end = "SIGKILL", time.Now().Add(killed)
		}
		for _, s := range left {
			if !seen[s.pid] {
				seen[s.pid] = true
				names = append(names, brief(show(s.name)))
				signalOne(s.pid, signal)
			} else if late {
				signalOne(s.pid, signal)
			}
		}
	}
	if len(names) > 0 {
		notes = append([]string{fmt.Sprintf("left its process group and was ended: %s", strings.Join(names, ", "))}, notes...)
	}
	return notes
}

// stray is a process outside of the group it was started in.
type stray struct {
	pid  int
	name string // its command line
}

func strayList(all []stray, show func(string) string) string {
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%s (%d)", brief(show(s.name)), s.pid))
	}
	return strings.Join(out, ", ")
}

// brief is the beginning of a command line.
func brief(name string) string {
	const most = 60
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

var living groups

type groups struct {
	mu   sync.Mutex
	all  map[*process]bool
	mark string
}

func (g *groups) add(p *process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[*process]bool{}
	}
	g.all[p] = true
}

func (g *groups) remove(p *process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, p)
}

func (g *groups) marked(mark string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mark = mark
}

// Abandon kills all processes of a run at once, for a program that ends without waiting.
func Abandon() {
	living.mu.Lock()
	defer living.mu.Unlock()
	for p := range living.all {
		p.signal("SIGKILL")
	}
	if living.mark != "" {
		for _, s := range strays(living.mark, nil, nil) {
			signalOne(s.pid, "SIGKILL")
		}
	}
}
