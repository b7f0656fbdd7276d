//go:build unix

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
	"sync"
	"syscall"
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
	ready                     func() (patience time.Duration, err error)
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
		p := &listed{}
		if err := d.Decode(p); err != nil {
			return nil, err
		}
		folder := strings.TrimPrefix(p.ImportPath, module)
		p.ready = sync.OnceValues(func() (time.Duration, error) { return t.unchanged(ctx, folder) })
		t.packages[folder] = p
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
	slower     = 10 // times as long as without a change
	leastWait  = time.Minute
	mostMemory = 8 << 20 // KiB of address space
)

// unchanged runs the tests of a package without a change, which must pass, and says how long to
// wait for them.
func (t *tree) unchanged(ctx context.Context, folder string) (time.Duration, error) {
	start := time.Now()
	if out, err := t.test(ctx, folder, "", time.Hour); err != nil {
		return 0, fmt.Errorf("%s fails without a change: %w\n%s", folder, err, out)
	}
	return leastWait + slower*time.Since(start), nil
}

// test runs the tests of a package; overlay names a file of replacements, or is empty.
func (t *tree) test(ctx context.Context, folder, overlay string, patience time.Duration) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$@"`, mostMemory), "sh",
		"go", "test", "-count=1", "-vet=off", "-failfast", "-timeout="+patience.String(), "-overlay="+overlay, "./"+folder)
	// With the go command its tests end, too: alone it would leave them running.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// verdict finds out whether tests notice a mutant.
func (t *tree) verdict(ctx context.Context, m *mutant) (result, error) {
	if m.equivalent {
		return result{m, equivalent, ""}, nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	overlay, err := t.overlay(m, dir)
	if err != nil {
		return result{}, err
	}
	for _, folder := range append([]string{m.pkg}, t.others(m.pkg)...) {
		patience, err := t.packages[folder].ready()
		if err != nil {
			return result{}, err
		}
		out, err := t.test(ctx, folder, overlay, patience)
		switch {
		case ctx.Err() != nil:
			return result{}, ctx.Err()
		case err == nil:
		case strings.Contains(out, "[build failed]"): // tests build without a change
			return result{m, invalid, ""}, nil
		case strings.Contains(out, "panic: test timed out"):
			return result{m, timeout, folder}, nil
		default:
			return result{m, killed, folder}, nil
		}
	}
	return result{m, survived, ""}, nil
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
