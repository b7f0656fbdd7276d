// Command answers guards the answers of the program while its code changes. It asks a built binary
// hundreds of questions over its public command line, so that it works on any commit, and keeps its
// output:
//
//	answers write              writes answers of the working tree to build/answers.json
//	answers diff -base REV     lists what has moved since a commit, or since a file of answers
//	answers speed -base REV    measures both in turns
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"
)

// errMoved reports that answers differ, which has been printed.
var errMoved = errors.New("answers have moved")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	commands := map[string]func(context.Context, []string) error{"write": runWrite, "diff": runDiff, "speed": runSpeed}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: answers write|diff|speed [flags]; answers diff -help lists those of diff")
		os.Exit(2)
	}
	switch err := commands[os.Args[1]](ctx, os.Args[2:]); {
	case errors.Is(err, errMoved):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "answers:", err)
		os.Exit(2)
	}
}

// common are the flags of write and diff.
type common struct {
	out     string
	workers int
	only    string
}

func (c *common) flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ExitOnError)
	f.StringVar(&c.out, "out", "build/answers.json", "file of the answers of the working tree")
	f.IntVar(&c.workers, "workers", runtime.NumCPU(), "questions that are asked at a time")
	f.StringVar(&c.only, "only", "", "ask only questions whose names start so, such as plan or draw 01")
	return f
}

// answer asks a program, and reports how long that took.
func (c *common) answer(ctx context.Context, program, of string) (Answers, error) {
	start := time.Now()
	a, cpu, err := ask(ctx, program, c.workers, c.only)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "%s: %s, in %s (%s of CPU time)\n", of, a.count(), time.Since(start).Round(time.Second), cpu.Round(time.Second))
	return a, nil
}

func runWrite(ctx context.Context, args []string) error {
	var c common
	f := c.flags("write")
	program := f.String("program", "", "a built binary to ask (default: the working tree is built)")
	f.Parse(args)
	if *program == "" {
		tree, err := workingTree(ctx)
		defer tree.remove()
		if err != nil {
			return err
		}
		*program = tree.program
	}
	a, err := c.answer(ctx, *program, c.out)
	if err != nil {
		return err
	}
	return a.write(c.out)
}

func runDiff(ctx context.Context, args []string) error {
	var c common
	f := c.flags("diff")
	base := f.String("base", "HEAD", "a commit, or a file of answers, to compare with")
	with := f.String("with", "", "a file of answers in place of those of the working tree")
	tolerance := f.Float64("tolerance", 1e-12, "relative change of a number that is none")
	most := f.Int("show", 40, "fields to show, those that moved most first")
	f.Parse(args)
	before, err := c.of(ctx, *base)
	if err != nil {
		return err
	}
	var after Answers
	if *with != "" {
		after, err = read(*with)
	} else {
		after, err = c.of(ctx, "")
	}
	if err != nil {
		return err
	}
	d := compare(before, after, *tolerance)
	fmt.Print(d.text(*most))
	if d.moved() {
		return errMoved
	}
	return nil
}

// of returns the answers of a commit or a file; empty: of the working tree, which are kept.
func (c *common) of(ctx context.Context, base string) (Answers, error) {
	if strings.HasSuffix(base, ".json") {
		return read(base)
	}
	tree, err := treeOf(ctx, base)
	defer tree.remove()
	if err != nil {
		return nil, err
	}
	a, err := c.answer(ctx, tree.program, tree.name)
	if err == nil && base == "" {
		err = a.write(c.out)
	}
	return a, err
}
