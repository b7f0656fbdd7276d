package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tree is the source of the program at a commit, and what was built from it.
type tree struct {
	name    string
	dir     string // of the source
	program string
	scratch string // removed at the end
}

func (t *tree) remove() {
	if t != nil && t.scratch != "" {
		os.RemoveAll(t.scratch)
	}
}

// treeOf returns the tree of a commit; empty: the working tree.
func treeOf(ctx context.Context, commit string) (*tree, error) {
	if commit == "" {
		return workingTree(ctx)
	}
	name, err := output(ctx, ".", "git", "rev-parse", "--short", "--verify", commit+"^{commit}")
	if err != nil {
		return nil, err
	}
	t, err := newTree(strings.TrimSpace(name))
	if err != nil {
		return t, err
	}
	t.dir = filepath.Join(t.scratch, "source")
	archive := filepath.Join(t.scratch, "source.tar")
	if err := os.Mkdir(t.dir, 0o755); err != nil {
		return t, err
	}
	// An archive leaves nothing in the repository, as a worktree would if this program were killed.
	if _, err := output(ctx, ".", "git", "archive", "-o", archive, commit); err != nil {
		return t, err
	}
	if _, err := output(ctx, t.dir, "tar", "-xf", archive); err != nil {
		return t, err
	}
	return t, t.build(ctx)
}

func workingTree(ctx context.Context) (*tree, error) {
	t, err := newTree("working tree")
	if err != nil {
		return t, err
	}
	t.dir = "."
	return t, t.build(ctx)
}

func newTree(name string) (*tree, error) {
	if _, err := os.Stat("cmd/throughline"); err != nil {
		return nil, fmt.Errorf("run it in the root of the repository: %w", err)
	}
	scratch, err := os.MkdirTemp("", "answers")
	return &tree{name: name, scratch: scratch}, err
}

func (t *tree) build(ctx context.Context) error {
	t.program = filepath.Join(t.scratch, "throughline")
	_, err := output(ctx, t.dir, "go", "build", "-trimpath", "-buildvcs=false", "-o", t.program, "./cmd/throughline")
	return err
}

// output returns what a command prints, or its error.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaint strings.Builder
	cmd.Dir, cmd.Stderr = dir, &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, complaint.String())
	}
	return string(out), nil
}
