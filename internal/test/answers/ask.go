package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Answer is the output of one command.
type Answer struct {
	Asked  string          `json:"asked"`
	Code   int             `json:"code"`
	Said   []string        `json:"said,omitempty"` // for people: warnings and problems
	Answer json.RawMessage `json:"answer,omitempty"`
}

// asker asks about one subject in its own folder, and keeps the answers.
type asker struct {
	ctx     context.Context
	program string
	dir     string
	name    string // of the question
	answers Answers
	cpu     time.Duration // that the program has taken
}

// ask runs a command of the program in the folder and keeps its answer; words is the question for
// people.
func (a *asker) ask(command, words string, args ...string) (*Answer, []byte) {
	cmd := exec.CommandContext(a.ctx, a.program, args...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.dir, &out, &said
	// Nothing of the user's own files and terminal may show in answers.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.dir, "TMPDIR=" + a.dir, "LC_ALL=C"}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		panic(failure{err})
	}
	if a.ctx.Err() != nil {
		panic(failure{a.ctx.Err()})
	}
	a.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	answer := &Answer{Asked: strings.TrimSpace(command + " " + words), Code: cmd.ProcessState.ExitCode(), Said: lines(said.String())}
	a.keep(command, answer)
	switch compact := new(bytes.Buffer); {
	case slices.Contains(args, "--csv"):
		answer.Answer = rows(out.Bytes(), nil)
	case !slices.Contains(args, "--json"):
		answer.Answer = marshal(lines(out.String()))
	case json.Compact(compact, out.Bytes()) == nil:
		answer.Answer = compact.Bytes() // refusals are on the other stream
	}
	return answer, out.Bytes()
}

// separator stands between the name of a question and the command in the key of an answer.
const separator = " | "

func (a *asker) keep(command string, answer *Answer) {
	key := a.name + separator + command
	if a.answers[key] != nil {
		panic(failure{fmt.Errorf("%s is asked twice", key)})
	}
	a.answers[key] = answer
}

// failure is an error of this program, not an answer of the other.
type failure struct{ error }

func (a *asker) path(name string) string { return filepath.Join(a.dir, name) }

// write writes a file that a command reads.
func (a *asker) write(name string, content []byte) string {
	if err := os.WriteFile(a.path(name), content, 0o644); err != nil {
		panic(failure{err})
	}
	return name
}

func (a *asker) writeJSON(name string, value any) string { return a.write(name, marshal(value)) }

func marshal(value any) []byte {
	src, err := json.Marshal(value)
	if err != nil {
		panic(failure{err})
	}
	return src
}

func lines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// question is asked of several commands.
type question struct {
	name string
	ask  func(*asker)
}

// ask asks a program all questions concurrently, and returns its processor time.
func ask(ctx context.Context, program string, workers int, only string) (all Answers, cpu time.Duration, err error) {
	program, err = filepath.Abs(program)
	if err != nil {
		return nil, 0, err
	}
	scratch, err := os.MkdirTemp("", "asked")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(scratch)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo := make(chan question)
	var mu sync.Mutex
	all = Answers{}
	var group sync.WaitGroup
	for range max(1, workers) {
		group.Go(func() {
			for q := range todo {
				a := &asker{ctx: ctx, program: program, name: q.name, answers: Answers{}}
				if err := a.run(q, scratch); err != nil {
					stop(fmt.Errorf("%s: %w", q.name, err))
					continue
				}
				mu.Lock()
				cpu += a.cpu
				for key, answer := range a.answers {
					all[key] = answer
				}
				mu.Unlock()
			}
		})
	}
	for _, q := range allQuestions() {
		if strings.HasPrefix(q.name, only) && ctx.Err() == nil {
			todo <- q
		}
	}
	close(todo)
	group.Wait()
	return all, cpu, context.Cause(ctx)
}

// run asks one question in a folder whose paths are the same on any machine: the repository's
// files, and measurements beside it.
func (a *asker) run(q question, scratch string) (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f.error
		default:
			panic(f)
		}
	}()
	beside, err := os.MkdirTemp(scratch, "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	a.dir = filepath.Join(beside, "work")
	if err := os.Mkdir(a.dir, 0o755); err != nil {
		return err
	}
	for name, at := range map[string]string{"work/configs": "configs", "work/measure": "measure", "work/internal": "internal", "shared": "../shared"} {
		target, err := filepath.Abs(at)
		if err == nil {
			err = os.Symlink(target, filepath.Join(beside, name))
		}
		if err != nil {
			return err
		}
	}
	q.ask(a)
	return nil
}
