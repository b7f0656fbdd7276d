package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const module = "throughline/"

// listed is what the go command says of a package.
type listed struct {
	Dir, ImportPath, ForTest  string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	Deps                      []string
	TestImports, XTestImports []string
	importers                 []string // folders of packages with tests that import it, nearest first
	patience                  time.Duration
}

// tree is the packages of the module by their folders.
type tree struct {
	packages map[string]*listed
	asked    string // whose tests run besides those of the package
}

// load lists the packages of the module, and who imports whom.
func load(ctx context.Context, importers string) (*tree, error) {
	src, err := exec.CommandContext(ctx, "go", "list", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles,Deps,TestImports,XTestImports", "./...").Output()
	if err != nil {
		return nil, err
	}
	t := &tree{packages: map[string]*listed{}, asked: importers}
	for d := json.NewDecoder(bytes.NewReader(src)); d.More(); {
		p := &listed{patience: time.Hour}
		if err := d.Decode(p); err != nil {
			return nil, err
		}
		t.packages[strings.TrimPrefix(p.ImportPath, module)] = p
	}
	for folder, p := range t.packages {
		for other, q := range t.packages {
			if other != folder && len(q.TestGoFiles)+len(q.XTestGoFiles) > 0 && slices.Contains(slices.Concat(q.Deps, q.TestImports, q.XTestImports), p.ImportPath) {
				p.importers = append(p.importers, other)
			}
		}
		// One that knows fewer packages stands nearer, and its tests take less time.
		slices.SortFunc(p.importers, func(a, b string) int {
			return len(t.packages[a].Deps) - len(t.packages[b].Deps)
		})
	}
	return t, nil
}

//go:embed equivalent.csv
var known string

// reasons marks the mutants that are known to compute the same. A line that has gone is an error,
// lest the list outlives the code.
func (t *tree) reasons(all []*mutant) error {
	rows, err := csv.NewReader(strings.NewReader(known)).ReadAll()
	if err != nil {
		return fmt.Errorf("equivalent.csv: %w", err)
	}
	var errs []error
	for _, row := range rows[1:] {
		file, code, change, reason := row[0], row[1], row[2], row[3]
		found, looked := false, false
		for _, m := range all {
			looked = looked || m.file == file
			if m.file == file && m.code == code && m.change == change {
				m.equivalent, found = true, true
			}
		}
		if reason == "" || looked && !found {
			errs = append(errs, fmt.Errorf("equivalent.csv: %s: no mutant %s of %q, or no reason", file, change, code))
		}
	}
	return errors.Join(errs...)
}

// Bounds of a run of tests: a mutant may loop for ever, or allocate until the machine has no
// memory.
const (
	slower     = 20 // times as long as without a change
	leastWait  = 2 * time.Minute
	mostMemory = 8 << 20 // KiB of address space
)

// baseline runs the tests without a change, which must pass, and measures how long they take.
func (t *tree) baseline(ctx context.Context, packages []string) error {
	for _, folder := range packages {
		start := time.Now()
		if out, err := t.test(ctx, folder, "", time.Hour); err != nil {
			return fmt.Errorf("%s fails without a change: %w\n%s", folder, err, out)
		}
		t.packages[folder].patience = leastWait + slower*time.Since(start)
	}
	return nil
}

// test runs the tests of a package; overlay names a file of replacements, or is empty.
func (t *tree) test(ctx context.Context, folder, overlay string, patience time.Duration) (string, error) {
	return t.command(ctx, "go", "test", "-vet=off", "-failfast", "-timeout="+patience.String(), "-overlay="+overlay, "./"+folder)
}

func (t *tree) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$@"`, mostMemory), "sh"}, args...)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// verdict finds out whether tests notice a mutant.
func (t *tree) verdict(ctx context.Context, m *mutant) result {
	if m.equivalent {
		return result{m, equivalent, ""}
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return result{m, invalid, err.Error()}
	}
	defer os.RemoveAll(dir)
	overlay, err := t.overlay(m, dir)
	if err != nil {
		return result{m, invalid, err.Error()}
	}
	for _, folder := range append([]string{m.pkg}, t.others(m.pkg)...) {
		out, err := t.test(ctx, folder, overlay, t.packages[m.pkg].patience)
		switch {
		case ctx.Err() != nil:
			return result{m, "", ""}
		case err == nil:
		case strings.Contains(out, "[build failed]"): // tests alone build: see baseline
			return result{m, invalid, ""}
		case strings.Contains(out, "panic: test timed out"):
			return result{m, timeout, folder}
		default:
			return result{m, killed, folder}
		}
	}
	return result{m, survived, ""}
}

// others are the packages whose tests run after those of a package.
func (t *tree) others(folder string) []string {
	switch t.asked {
	case "all":
		return t.packages[folder].importers
	case "none":
		return nil
	}
	return slices.DeleteFunc(strings.Fields(t.asked), func(other string) bool { return other == folder })
}

// overlay writes the changed file and the list that the go command replaces files by.
func (t *tree) overlay(m *mutant, dir string) (string, error) {
	name := filepath.Join(t.packages[m.pkg].Dir, filepath.Base(m.file))
	src, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, slices.Concat(src[:m.from], []byte(m.text), src[m.to:]), 0o666); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{name: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o666)
}
