// Command release builds what users install: archives for six systems, Debian packages, a container
// image, a list of contents and checksums, equal byte for byte wherever the same commit is built.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"throughline/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := flag.String("out", "build/release", "folder of the release, which is made anew")
	only := flag.String("only", "", "build archives of these systems alone, such as linux/amd64,windows/arm64, and nothing else")
	flag.Parse()
	if err := release(ctx, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// source is the commit that a release is built from.
type source struct {
	number, revision string
	when             time.Time // of all files, so that archives are the same each time
}

// commit describes the working tree: its tag, or else the number of the next release.
func commit(ctx context.Context) (source, error) {
	git := func(args ...string) (string, error) {
		b, err := exec.CommandContext(ctx, "git", args...).Output()
		return strings.TrimSpace(string(b)), err
	}
	s := source{number: version.Number}
	if tag, err := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
		s.number = strings.TrimPrefix(tag, "v")
	}
	var err error
	if s.revision, err = git("rev-parse", "HEAD"); err != nil {
		return s, fmt.Errorf("releases are built from a git checkout: %w", err)
	}
	seconds, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return s, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, err
	}
	s.when = time.Unix(n, 0).UTC()
	changed, err := git("status", "--porcelain", "--untracked-files=no")
	if changed != "" {
		s.number += "+modified"
		fmt.Fprintln(os.Stderr, "release: the working tree is not that of the commit, and the version says so")
	}
	return s, err
}

func release(ctx context.Context, out, only string) error {
	s, err := commit(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	shared, err := contents(ctx)
	if err != nil {
		return err
	}
	built := map[target][]byte{}
	for _, t := range targets {
		if only != "" && !strings.Contains(","+only+",", ","+t.String()+",") {
			continue
		}
		program, err := s.build(ctx, t, filepath.Join(out, ".build"))
		if err != nil {
			return err
		}
		if err := check(program, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		built[t] = program
		if err := s.write(out, t, program, shared); err != nil {
			return err
		}
	}
	if only == "" {
		if err := s.rest(ctx, out, built); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(filepath.Join(out, ".build")); err != nil {
		return err
	}
	return sums(out)
}

// rest is what a release has besides archives and packages: image, contents, notes.
func (s source) rest(ctx context.Context, out string, built map[target][]byte) error {
	image, err := s.image(built)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, s.name()+"-oci.tar"), image, 0o666); err != nil {
		return err
	}
	for t := range built {
		if err := s.materials(ctx, filepath.Join(out, ".build"), t, filepath.Join(out, s.name()+"-"+t.dashed()+".cdx.json")); err != nil {
			return err
		}
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := section(string(changes), s.number)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "NOTES.md"), []byte(notes), 0o666)
}

// section is the part of the changelog about a version; builds before a release have its part.
func section(changes, number string) (string, error) {
	of, _, _ := strings.Cut(number, "+")
	of = strings.TrimSuffix(of, "-dev")
	_, rest, found := strings.Cut(changes, "\n## "+of)
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section %q", "## "+of)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return "# Throughline " + number + "\n\n" + strings.TrimSpace(text) + "\n", nil
}
